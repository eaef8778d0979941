"""Means: a point with its 95 % interval per level, one series per level of another factor."""

from __future__ import annotations

from collections.abc import Sequence

from ..experiments.figures import Illustration, Spot
from .figures import NARROW, WIDE, Chart
from .figures_heatmap import spaced
from .numbers import plain_number, rate_end, value_words
from .svg import LETTER, QUIET, SIDE, Plane, Plot, padded

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
COLOURS = 6
"""Colours of series: ``--series-0`` to ``--series-5`` of the page."""

_GUTTER = 178
_SERIES, _PAD, _NAME, _KEY = 20, 14, 20, 22


def means_chart(shown: Illustration, *, label: str) -> Chart | None:
    """Every level with its means and intervals; None where no reply is valid."""
    if all(spot.value is None for spot in shown.spots):
        return None
    wide, narrow = (_means(shown, width=width) for width in (WIDE, NARROW))
    return Chart(label, wide, narrow)


def _means(shown: Illustration, *, width: int) -> str:
    """A block of lines per level, one line per series; rates are in percent."""
    gutter = _GUTTER if width > NARROW else 0
    factor = 100.0 if shown.flag else 1.0
    title = f"{shown.measure} (%)" if shown.flag else shown.unit or shown.measure
    plot = Plot(_domain(shown, factor), width - SIDE - gutter - 1, title=title, gutter=gutter)
    series = (None,) if shown.by is None else shown.by.levels
    top = 4.0
    if shown.by is not None:
        top = _keys(plot, [spaced(level or "") for level in series], gutter, top)
    at = {(spot.x, spot.by): spot for spot in shown.spots}
    for level in shown.x.levels:
        block = max(_SERIES * len(series) + _PAD, 40 if gutter else 0)
        plot.line((0, plot.plot), (top, top), "var(--line)", Plane.RULES)
        alone = at[level, None] if shown.by is None else None
        if gutter:
            _name(plot, shown, level, alone, gutter, top + block / 2)
        else:
            said = f": {spot_words(alone, flag=shown.flag)}" if alone is not None else ""
            plot.words(f"{spaced(level)}{said}", 0, top + 13)
            top += _NAME
        first = top + (block - _SERIES * (len(series) - 1)) / 2
        for place, one in enumerate(series):
            _spot(plot, at[level, one], place, first + place * _SERIES, factor)
        top += block
    return plot.charted(round(top + 4))


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
    plot: Plot, shown: Illustration, level: str, alone: Spot | None, gutter: int, middle: float
) -> None:
    """Write a level's name left of the plot; with its numbers where it has one series only."""
    most = gutter // LETTER - 1
    name = spaced(level)
    name = name if len(name) <= most else f"{name[: most - 1]}…"
    plot.words(name, -gutter, middle - (9 if alone is not None else 0), bold=True)
    if alone is not None:
        said = spot_words(alone, flag=shown.flag)
        plot.words(said, -gutter, middle + 9, colour=QUIET)


def _keys(plot: Plot, series: Sequence[str], gutter: int, top: float) -> float:
    """Show which shape and colour stand for what; return where that ends."""
    x, y = float(-gutter), top + 8
    for place, name in enumerate(series):
        room = len(name) * LETTER + 34
        if x > -gutter and x + room > plot.plot:
            x, y = float(-gutter), y + _KEY
        _mark(plot, place, x + 6, y)
        plot.words(name, x + 18, y)
        x += room
    return y + _KEY


def _spot(plot: Plot, spot: Spot, place: int, at: float, factor: float) -> None:
    if spot.value is None:
        plot.words("none", 6, at, colour=QUIET)
        return
    if spot.interval is not None:
        ends = plot.at(spot.interval.low * factor), plot.at(spot.interval.high * factor)
        plot.line(ends, (at, at), _colour(place), Plane.LINES, width=2)
        for end in ends:
            plot.line((end, end), (at - 5, at + 5), _colour(place), Plane.LINES, width=2)
    _mark(plot, place, plot.at(spot.value * factor), at)


def _mark(plot: Plot, place: int, x: float, y: float) -> None:
    # Another shape with each round of the colours, so that no two of 36 series look the same.
    plot.point(SHAPES[(place + place // COLOURS) % len(SHAPES)], x, y, _colour(place), 110)


def _colour(place: int) -> str:
    return f"var(--series-{place % COLOURS})"
