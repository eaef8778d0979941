"""Heatmaps: coloured cells that print their value; a cell without any is hatched, never 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..experiments.figures import Illustration, Spot
from .figures import NARROW, WIDE, Chart
from .numbers import end_words, value_words
from .svg import LETTER, QUIET, Drawing, Plane

STEPS = 9
"""Colours of the scale: ``--heat-0`` to ``--heat-8`` of the page, each with its own ink."""

_GUTTER = 178
_HEADING, _NAME, _LINE = 28, 20, 16
_HIGH, _GAP, _LEGEND = 32, 14, 34
_WIDEST, _LEAST, _HATCH = 110, 30, 8
_MOST_LINES, _LONGEST, _STEP = 3, 16, 20


@dataclass(frozen=True, slots=True)
class _Box:
    """A rectangle in pixels: its ends each way."""

    x: tuple[float, float]
    y: tuple[float, float]

    @property
    def middle(self) -> tuple[float, float]:
        return sum(self.x) / 2, sum(self.y) / 2


def heatmap_chart(shown: Illustration, *, label: str) -> Chart:
    """The cells of each panel, one panel below the other, over one scale of colours."""
    wide, narrow = (_heatmap(shown, width=width) for width in (WIDE, NARROW))
    return Chart(label, wide, narrow)


def _heatmap(shown: Illustration, *, width: int) -> str:
    """One panel per level of ``by``; what has too many columns for a line goes on below it."""
    gutter = _GUTTER if width > NARROW else 0
    drawing = Drawing(width - 2)
    plot = width - 2 - gutter
    longest = max(
        (len(value_words(s.value, flag=shown.flag)) for s in shown.spots if s.value is not None),
        default=0,
    )
    most = max(1, plot // max(_LEAST, longest * LETTER + 6))
    top = 0.0
    for level, spots in shown.panels():
        if shown.by is not None:
            drawing.words(f"{shown.by.name}: {spaced(level or '')}", 0, top + 10, bold=True)
            top += _HEADING
        for columns in _blocks(shown.x.levels, most):
            top = _block(drawing, shown, spots, columns, top, gutter) + _GAP
    _legend(drawing, shown, gutter, top + 4)
    empty = any(spot.value is None for spot in shown.spots)
    return drawing.svg(round(top + _LEGEND + (_LINE + 8 if empty else 0)))


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
    drawing: Drawing,
    shown: Illustration,
    spots: Sequence[Spot],
    columns: Sequence[str],
    top: float,
    gutter: int,
) -> float:
    """Draw the cells of some columns; return where they end."""
    assert shown.y is not None  # noqa: S101  (every heatmap has rows)
    plot = int(drawing.plot) - gutter
    across = min(_WIDEST, plot // len(columns))
    rows, heads = spaced(shown.y.name), spaced(shown.x.name)
    axes = heads if gutter else f"{rows} (rows) by {heads} (columns)"
    drawing.words(axes, gutter, top + 8, colour=QUIET)
    top = _heads(drawing, columns, across, gutter, top + _NAME)
    if gutter:
        drawing.words(rows, 0, top - 10, colour=QUIET)
    at = {(spot.x, spot.y): spot for spot in spots}
    for row in shown.y.levels:
        if gutter:
            drawing.words(_cut(spaced(row), gutter - 8), 0, top + _HIGH / 2, bold=True)
        else:
            drawing.words(_cut(spaced(row), plot), 0, top + 9)
            top += _NAME
        for place, column in enumerate(columns):
            left = gutter + place * across
            box = _Box((left, left + across - 2), (top, top + _HIGH - 2))
            _cell(drawing, shown, box, at[column, row])
        top += _HIGH
    return top


def _heads(
    drawing: Drawing, columns: Sequence[str], across: int, gutter: int, top: float
) -> float:
    """Write the columns' names, in lines where they fit, else upright; return where they end."""
    wrapped = [_wrapped(spaced(column), across // LETTER) for column in columns]
    middles = [gutter + place * across + (across - 2) / 2 for place in range(len(columns))]
    if all(wrapped):
        bottom = top + max(map(len, wrapped)) * _LINE
        for middle, lines in zip(middles, wrapped, strict=True):
            for place, text in enumerate(lines):
                y = bottom - (len(lines) - place) * _LINE + 7
                drawing.words(text, middle, y, align="middle", size=12)
    else:
        names = [_cut(spaced(column), _LONGEST * LETTER) for column in columns]
        bottom = top + max(map(len, names)) * LETTER + 4
        for middle, name in zip(middles, names, strict=True):
            drawing.words(name, middle, bottom - 6, size=12, upright=True)
    return bottom + 2


def _cell(drawing: Drawing, shown: Illustration, box: _Box, spot: Spot) -> None:
    if spot.value is None:
        _hatch(drawing, box, text="none")
        return
    step = step_of(spot.value, shown.scale)
    fill = f"var(--heat-{step})"
    drawing.rect(box.x, box.y, Plane.GROUND, fill=fill, stroke="var(--line)", corner=2)
    ink, (x, y) = f"var(--heat-ink-{step})", box.middle
    said = value_words(spot.value, flag=shown.flag)
    drawing.words(said, x, y, align="middle", colour=ink, size=12.5)


def _hatch(drawing: Drawing, box: _Box, *, text: str = "") -> None:
    """Draw a cell in which there is nothing to show."""
    (left, right), (top, bottom) = box.x, box.y
    width, height = right - left, bottom - top
    for start in range(-int(height) + _HATCH // 2, int(width), _HATCH):
        first, last = max(0, start), min(width, height + start)
        across, down = (left + first, left + last), (top + first - start, top + last - start)
        drawing.line(across, down, "var(--rule)", Plane.GROUND)
    drawing.rect(box.x, box.y, Plane.RULES, stroke="var(--rule)", dashed=True)
    if text:
        (x, y), half = box.middle, len(text) * LETTER / 2
        drawing.rect((x - half, x + half), (y - 8, y + 8), Plane.BOLD, fill="var(--paper)")
        drawing.words(text, x, y, align="middle", colour=QUIET)


def _legend(drawing: Drawing, shown: Illustration, gutter: int, top: float) -> None:
    """Draw the colours from the lowest to the highest, and what hatching means."""
    low, high = (end_words(end, flag=shown.flag) for end in shown.scale)
    left = gutter + len(low) * LETTER + 8
    right, strip = left + STEPS * _STEP, (top + 1, top + 15)
    drawing.words(low, gutter, top + 8, colour=QUIET)
    for step in range(STEPS):
        start = left + step * _STEP
        fill = f"var(--heat-{step})"
        drawing.rect((start, start + _STEP), strip, Plane.GROUND, fill=fill)
    drawing.rect((left, right), strip, Plane.RULES, stroke="var(--rule)")
    unit = f" {shown.unit}" if shown.unit else ""
    drawing.words(f"{high}{unit}", right + 8, top + 8, colour=QUIET)
    if any(spot.value is None for spot in shown.spots):
        below = top + _LINE + 9
        _hatch(drawing, _Box((gutter, gutter + 26), (below, below + 14)))
        drawing.words("none: no valid reply", gutter + 34, below + 7, colour=QUIET)


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
