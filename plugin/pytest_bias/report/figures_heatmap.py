"""Heatmaps: coloured cells that print their value; a cell without any is hatched, never 0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..experiments.figures import Illustration, Spot
from .figures import NARROW, WIDE, Chart
from .numbers import end_words, value_words, writable
from .vega import LETTER, Plane, Spec, layer, line, plate, to_svg, words

STEPS = 9
"""Colours of the scale: ``--heat-0`` to ``--heat-8`` of the page, each with its own ink."""

_GUTTER = 178
_HEADING, _NAME, _LINE = 28, 20, 16
_HIGH, _GAP, _LEGEND = 32, 14, 34
_WIDEST, _LEAST, _HATCH = 110, 30, 8
_MOST_LINES, _LONGEST = 3, 16


@dataclass(frozen=True, slots=True)
class _Box:
    """A rectangle in pixels."""

    x: float
    y: float
    width: float
    height: float


def heatmap_chart(shown: Illustration, *, label: str) -> Chart:
    """The cells of each panel, one panel below the other, over one scale of colours."""
    wide, narrow = (to_svg(heatmap_spec(shown, width=width)) for width in (WIDE, NARROW))
    return Chart(label, wide, narrow)


def heatmap_spec(shown: Illustration, *, width: int) -> Spec:
    """One panel per level of ``by``; what has too many columns for a line goes on below it."""
    gutter = _GUTTER if width > NARROW else 0
    plot = width - 2 - gutter
    longest = max(
        (len(value_words(s.value, flag=shown.flag)) for s in shown.spots if s.value is not None),
        default=0,
    )
    most = max(1, plot // max(_LEAST, longest * LETTER + 6))
    layers: list[Spec] = []
    top = 0.0
    for level, spots in shown.panels():
        if shown.by is not None:
            layers.append(words(f"{shown.by.name}: {spaced(level or '')}", 0, top + 10, bold=True))
            top += _HEADING
        for columns in _blocks(shown.x.levels, most):
            drawn, top = _block(shown, spots, columns, top, gutter, plot)
            layers += drawn
            top += _GAP
    layers += _legend(shown, gutter, top + 4)
    empty = any(spot.value is None for spot in shown.spots)
    height = round(top + _LEGEND + (_LINE + 8 if empty else 0))
    return plate(layers, width=width, height=height)


def step_of(value: float, scale: tuple[float, float]) -> int:
    """Return the number of a value's colour."""
    low, high = scale
    return min(STEPS - 1, max(0, int(STEPS * (value - low) / (high - low))))


def spaced(label: str) -> str:
    """A label in words: ``black female``."""
    return label.replace("_", " ")


def _blocks(levels: Sequence[str], most: int) -> list[Sequence[str]]:
    """The columns in lines of about the same length, none of more than ``most``."""
    lines = -(-len(levels) // most)
    size = -(-len(levels) // lines)
    return [levels[start : start + size] for start in range(0, len(levels), size)]


def _block(
    shown: Illustration,
    spots: Sequence[Spot],
    columns: Sequence[str],
    top: float,
    gutter: int,
    plot: int,
) -> tuple[list[Spec], float]:
    """The cells of some columns, and where they end."""
    assert shown.y is not None  # noqa: S101  (every heatmap has rows)
    across = min(_WIDEST, plot // len(columns))
    layers: list[Spec] = []
    if gutter:
        layers.append(words(spaced(shown.x.name), gutter, top + 8, quiet=True))
    else:
        axes = f"{spaced(shown.y.name)} (rows) by {spaced(shown.x.name)} (columns)"
        layers.append(words(axes, 0, top + 8, quiet=True))
    heads, top = _heads(columns, across, gutter, top + _NAME)
    layers += heads
    if gutter:
        layers.append(words(spaced(shown.y.name), 0, top - 10, quiet=True))
    at = {(spot.x, spot.y): spot for spot in spots}
    boxes: list[tuple[_Box, Spot]] = []
    for row in shown.y.levels:
        if gutter:
            layers.append(words(_cut(spaced(row), gutter - 8), 0, top + _HIGH / 2, bold=True))
        else:
            layers.append(words(_cut(spaced(row), plot), 0, top + 9))
            top += _NAME
        for place, column in enumerate(columns):
            box = _Box(gutter + place * across, top, across - 2, _HIGH - 2)
            boxes.append((box, at[column, row]))
        top += _HIGH
    return [*layers, *_cells(shown, boxes)], top


def _heads(
    columns: Sequence[str], across: int, gutter: int, top: float
) -> tuple[list[Spec], float]:
    """The columns' names: in lines where their words fit, else upright; and where they end."""
    wrapped = [_wrapped(spaced(column), across // LETTER) for column in columns]
    middles = [gutter + place * across + (across - 2) / 2 for place in range(len(columns))]
    mark: Spec = {"type": "text", "fontSize": 12, "color": "var(--ink)"}
    if all(wrapped):
        deep = max(map(len, wrapped))
        bottom = top + deep * _LINE
        heads: list[Spec] = [
            {"x": middle, "y": bottom - (len(lines) - place) * _LINE + 7, "head": writable(text)}
            for middle, lines in zip(middles, wrapped, strict=True)
            for place, text in enumerate(lines)
        ]
        upright: Spec = {"align": "center", "baseline": "middle"}
    else:
        names = [_cut(spaced(column), _LONGEST * LETTER) for column in columns]
        bottom = top + max(map(len, names)) * LETTER + 4
        heads = [
            {"x": middle, "y": bottom - 6, "head": writable(name)}
            for middle, name in zip(middles, names, strict=True)
        ]
        upright = {"align": "left", "baseline": "middle", "angle": 270}
    return [
        layer(heads, {**mark, **upright}, "x", "y", plane=Plane.WORDS, text="head")
    ], bottom + 2


def _cells(shown: Illustration, boxes: Sequence[tuple[_Box, Spot]]) -> Iterator[Spec]:
    filled: list[Spec] = []
    texts: list[Spec] = []
    for box, spot in boxes:
        if spot.value is None:
            yield from _hatched(box)
            continue
        step = step_of(spot.value, shown.scale)
        filled.append(_sides(box) | {"fill": f"var(--heat-{step})"})
        texts.append(
            {
                "x": box.x + box.width / 2,
                "y": box.y + box.height / 2,
                "words": value_words(spot.value, flag=shown.flag),
                "ink": f"var(--heat-ink-{step})",
            }
        )
    mark: Spec = {"type": "rect", "cornerRadius": 2, "stroke": "var(--line)", "strokeWidth": 1}
    yield layer(filled, mark, "x", "x2", "y", "y2", plane=Plane.GROUND, colour="fill")
    text: Spec = {"type": "text", "align": "center", "baseline": "middle", "fontSize": 12.5}
    yield layer(texts, text, "x", "y", plane=Plane.WORDS, text="words", colour="ink")


def _hatched(box: _Box, *, text: str = "none") -> Iterator[Spec]:
    """A cell in which there is nothing to show."""
    lines: list[Spec] = []
    for start in range(-int(box.height) + _HATCH // 2, int(box.width), _HATCH):
        left, right = max(0, start), min(box.width, box.height + start)
        lines.append(
            {
                "x": box.x + left,
                "x2": box.x + right,
                "y": box.y + left - start,
                "y2": box.y + right - start,
            }
        )
    yield layer(lines, line("var(--rule)"), "x", "x2", "y", "y2", plane=Plane.GROUND)
    frame: Spec = {"type": "rect", "fill": None, "stroke": "var(--rule)", "strokeDash": [3, 2]}
    yield layer([_sides(box)], frame, "x", "x2", "y", "y2", plane=Plane.RULES)
    if text:
        middle, half = box.x + box.width / 2, len(text) * LETTER / 2
        behind = _Box(middle - half, box.y + box.height / 2 - 8, 2 * half, 16)
        plain: Spec = {"type": "rect", "color": "var(--paper)"}
        yield layer([_sides(behind)], plain, "x", "x2", "y", "y2", plane=Plane.BOLD)
        yield words(text, middle, box.y + box.height / 2, align="center", quiet=True)


def _legend(shown: Illustration, gutter: int, top: float) -> Iterator[Spec]:
    """The colours from the lowest to the highest, and what hatching means."""
    low, high = (end_words(end, flag=shown.flag) for end in shown.scale)
    side = 20
    left = gutter + len(low) * LETTER + 8
    yield words(low, gutter, top + 8, quiet=True)
    strip: list[Spec] = [
        _sides(_Box(left + step * side, top + 1, side, 14)) | {"fill": f"var(--heat-{step})"}
        for step in range(STEPS)
    ]
    rect: Spec = {"type": "rect"}
    yield layer(strip, rect, "x", "x2", "y", "y2", plane=Plane.GROUND, colour="fill")
    frame: Spec = {"type": "rect", "fill": None, "stroke": "var(--rule)", "strokeWidth": 1}
    whole = _sides(_Box(left, top + 1, STEPS * side, 14))
    yield layer([whole], frame, "x", "x2", "y", "y2", plane=Plane.RULES)
    unit = f" {shown.unit}" if shown.unit else ""
    yield words(f"{high}{unit}", left + STEPS * side + 8, top + 8, quiet=True)
    if any(spot.value is None for spot in shown.spots):
        yield from _hatched(_Box(gutter, top + _LINE + 9, 26, 14), text="")
        yield words("none: no valid reply", gutter + 34, top + _LINE + 16, quiet=True)


def _sides(box: _Box) -> Spec:
    return {"x": box.x, "x2": box.x + box.width, "y": box.y, "y2": box.y + box.height}


def _wrapped(text: str, letters: int) -> list[str]:
    """``text`` in a few lines of at most so many letters; empty where it does not fit."""
    lines: list[str] = []
    for word in text.split():
        if len(word) > letters:
            return []
        if lines and len(lines[-1]) + 1 + len(word) <= letters:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines if len(lines) <= _MOST_LINES else []


def _cut(text: str, width: float) -> str:
    most = int(width // LETTER)
    return text if len(text) <= most else f"{text[: most - 1]}…"
