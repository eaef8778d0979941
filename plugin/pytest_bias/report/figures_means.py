"""Means: a point with its 95 % interval per level, one series per level of another factor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..experiments.figures import Illustration, Spot
from .figures import NARROW, WIDE, Chart
from .figures_heatmap import spaced
from .numbers import plain_number, rate_end, value_words
from .vega import LETTER, SIDE, Plane, Spec, chart, layer, line, padded, point, to_svg, words

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
COLOURS = 6
"""Colours of series: ``--series-0`` to ``--series-5`` of the page."""

_GUTTER = 178
_SERIES, _PAD, _NAME, _KEY = 20, 14, 20, 22


def means_chart(shown: Illustration, *, label: str) -> Chart | None:
    """Every level with its means and intervals; None where no reply is valid."""
    if all(spot.value is None for spot in shown.spots):
        return None
    wide, narrow = (to_svg(means_spec(shown, width=width)) for width in (WIDE, NARROW))
    return Chart(label, wide, narrow)


def means_spec(shown: Illustration, *, width: int) -> Spec:
    """A block of lines per level, one line per series; rates are in percent."""
    gutter = _GUTTER if width > NARROW else 0
    plot = width - SIDE - gutter - 1
    factor = 100.0 if shown.flag else 1.0
    domain = _domain(shown, factor)
    series = (None,) if shown.by is None else shown.by.levels
    layers: list[Spec] = []
    top = 4.0
    if shown.by is not None:
        keys, top = _keys([spaced(level or "") for level in series], gutter, plot, top)
        layers += keys
    at = {(spot.x, spot.by): spot for spot in shown.spots}
    for level in shown.x.levels:
        block = max(_SERIES * len(series) + _PAD, 40 if gutter else 0)
        layers.append(_rule(domain, top))
        alone = at[level, None] if shown.by is None else None
        if gutter:
            layers += _name(shown, level, alone, gutter, top + block / 2)
        else:
            said = f": {spot_words(alone, flag=shown.flag)}" if alone is not None else ""
            layers.append(words(f"{spaced(level)}{said}", 0, top + 13))
            top += _NAME
        first = top + (block - _SERIES * (len(series) - 1)) / 2
        for place, one in enumerate(series):
            layers += _spot(at[level, one], place, first + place * _SERIES, factor, domain)
        top += block
    title = f"{shown.measure} (%)" if shown.flag else shown.unit or shown.measure
    return chart(
        layers, domain=domain, title=title, plot=plot, height=round(top + 4), gutter=gutter
    )


def spot_words(spot: Spot, *, flag: bool) -> str:
    """``2.47 [2.31, 2.62]``, or why it is less than that."""
    if spot.value is None:
        return "none"
    said = value_words(spot.value, flag=flag)
    if spot.interval is None:
        return said
    end_words = rate_end if flag else plain_number
    low, high = (end_words(end) for end in (spot.interval.low, spot.interval.high))
    return f"{said} [{low}, {high}]"


def _domain(shown: Illustration, factor: float) -> tuple[float, float]:
    ends = [
        end * factor
        for spot in shown.spots
        if spot.value is not None
        for end in (
            (spot.value,)
            if spot.interval is None
            else (spot.interval.low, spot.value, spot.interval.high)
        )
    ]
    return padded(min(ends), max(ends))


def _name(
    shown: Illustration, level: str, alone: Spot | None, gutter: int, middle: float
) -> Iterator[Spec]:
    """A level's name left of the plot; with its numbers where it has one series only."""
    most = gutter // LETTER - 1
    name = spaced(level)
    name = name if len(name) <= most else f"{name[: most - 1]}…"
    yield words(name, -gutter, middle - (9 if alone is not None else 0), bold=True)
    if alone is not None:
        said = spot_words(alone, flag=shown.flag)
        yield words(said, -gutter, middle + 9, quiet=True)


def _keys(series: Sequence[str], gutter: int, plot: int, top: float) -> tuple[list[Spec], float]:
    """Return the key of shapes and colours, and where it ends."""
    layers: list[Spec] = []
    x, y = float(-gutter), top + 8
    for place, name in enumerate(series):
        room = len(name) * LETTER + 34
        if x > -gutter and x + room > plot:
            x, y = float(-gutter), y + _KEY
        key: Spec = {"x": x + 6, "y": y}
        drawn = layer([key], _mark(place), "x", "y", plane=Plane.POINTS, pixels=True)
        layers += [drawn, words(name, x + 18, y)]
        x += room
    return layers, y + _KEY


def _rule(domain: tuple[float, float], at: float) -> Spec:
    across: Spec = {"x": domain[0], "x2": domain[1], "y": at}
    return layer([across], line("var(--line)"), "x", "x2", "y", plane=Plane.RULES)


def _spot(
    spot: Spot, place: int, at: float, factor: float, domain: tuple[float, float]
) -> Iterator[Spec]:
    if spot.value is None:
        where: Spec = {"x": domain[0], "y": at, "words": "none"}
        mark: Spec = {"type": "text", "align": "left", "baseline": "middle", "dx": 6}
        quiet: Spec = {**mark, "color": "var(--muted)"}
        yield layer([where], quiet, "x", "y", plane=Plane.WORDS, text="words")
        return
    if spot.interval is not None:
        low, high = spot.interval.low * factor, spot.interval.high * factor
        stroke, colour = line(width=2), _colour(place)
        across: Spec = {"x": low, "x2": high, "y": at, "colour": colour}
        yield layer([across], stroke, "x", "x2", "y", plane=Plane.LINES, colour="colour")
        caps: list[Spec] = [
            {"x": end, "y": at - 5, "y2": at + 5, "colour": colour} for end in (low, high)
        ]
        yield layer(caps, stroke, "x", "y", "y2", plane=Plane.LINES, colour="colour")
    where = {"x": spot.value * factor, "y": at}
    yield layer([where], _mark(place), "x", "y", plane=Plane.POINTS)


def _mark(place: int) -> Spec:
    # Another shape with each round of the colours, so that no two of 36 series look the same.
    return point(SHAPES[(place + place // COLOURS) % len(SHAPES)], _colour(place), 110)


def _colour(place: int) -> str:
    return f"var(--series-{place % COLOURS})"
