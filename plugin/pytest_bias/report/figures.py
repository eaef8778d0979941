"""The charts of the page: intervals over the margin, and the values of each condition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ..contrasts.findings import HumanComparison, MeasureSummary
from ..statistics.results import Interval
from .svg import LETTER, QUIET, SIDE, Plane, Plot, multiples, padded, round_step

WIDE, NARROW = 780, 320
"""Widths of the two versions of each chart: the page shows the one that fits."""

_GUTTER = 178
_ROW, _HEAD, _STRIP = 54, 24, 13
_HISTOGRAM, _BARS, _FOOT = 132, 78, 18
_MOST_BARS = 40
_MOST_NUMBERED = 12
"""Conditions above which bars go without their numbers: nobody reads thousands. The raw values
below the chart have them all."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart in both widths, and its numbers in words for those who do not see it."""

    label: str
    wide: str = field(repr=False)
    narrow: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of an interval chart; ``inner`` is drawn thicker on the same line."""

    name: str
    numbers: str
    low: float
    high: float
    point: float | None = None
    shape: str = "circle"
    colour: str = "var(--accent)"
    inner: Interval | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """The estimates that do not matter, with the words for them."""

    low: float
    high: float
    words: str


def interval_chart(
    rows: Sequence[Row],
    *,
    band: Band | None,
    title: str,
    label: str,
    no_effect: float = 0.0,
) -> Chart:
    """Estimates with their intervals, over the band of effects that do not matter.

    One line per row; its words stand left of it, or above where narrow.
    """
    wide, narrow = (
        _intervals(rows, band=band, title=title, width=width, no_effect=no_effect)
        for width in (WIDE, NARROW)
    )
    return Chart(label, wide, narrow)


def histogram_chart(summaries: Sequence[MeasureSummary], *, title: str, label: str) -> Chart:
    """The values of one measure: a row of bars per condition over one scale, and its mean."""
    wide, narrow = (_histograms(summaries, title=title, width=width) for width in (WIDE, NARROW))
    return Chart(label, wide, narrow)


def human_interval(human: HumanComparison) -> tuple[float, float]:
    """The 95 % interval of people's difference: its standard error times t of n − 2."""
    from scipy.special import stdtrit  # type: ignore[import-untyped] # noqa: PLC0415  (slow)

    half = human.se * float(stdtrit(human.n - 2, 0.975))
    return human.difference - half, human.difference + half


def _intervals(
    rows: Sequence[Row], *, band: Band | None, title: str, width: int, no_effect: float
) -> str:
    gutter = _GUTTER if width > NARROW else 0
    height = _HEAD + _ROW * len(rows) + 4
    lines = [_HEAD + _ROW * number + (24 if gutter else 36) for number in range(len(rows))]
    ends = [no_effect, *(end for row in rows for end in (row.low, row.high))]
    ends += [] if band is None else [band.low, band.high]
    plot = Plot(
        padded(min(ends), max(ends)), width - SIDE - gutter - 1, title=title, gutter=gutter
    )
    # Where words stand above the lines, nothing else is drawn behind them.
    strips = [(_HEAD - 6, height)] if gutter else [(at - _STRIP, at + _STRIP) for at in lines]
    _reference(plot, band, no_effect, strips)
    for row, at in zip(rows, lines, strict=True):
        _interval(plot, row, at)
        if gutter:
            plot.words(row.name, -gutter, at - 9, bold=True)
            plot.words(row.numbers, -gutter, at + 9, colour=QUIET)
        else:
            plot.words(f"{row.name}: {row.numbers}", 0, at - 26)
    return plot.charted(height)


def _histograms(summaries: Sequence[MeasureSummary], *, title: str, width: int) -> str:
    edges, whole = bins([value for summary in summaries for value in summary.values])
    tables = [counted(summary.values, edges) for summary in summaries]
    most = max(max(table) for table in tables)
    plot = Plot(padded(edges[0], edges[-1]), width - SIDE - 1, title=title)
    gap = (edges[1] - edges[0]) * (0.12 if whole else 0.03)
    wide_enough = plot.plot / (len(edges) - 1) >= 3 * LETTER
    numbered = wide_enough and len(summaries) <= _MOST_NUMBERED
    for number, (summary, table) in enumerate(zip(summaries, tables, strict=True)):
        base = _HISTOGRAM * (number + 1) - _FOOT
        text = f"n = {len(summary.values)}"
        if summary.description is not None:
            mean = summary.description.mean
            text += f", mean {mean:.2f}"
            plot.point("triangle-up", plot.at(mean), base + 7, "var(--ink)", 90)
        plot.words(f"{summary.condition}: {text}", 0, base - _BARS - 26)
        plot.line((0, plot.plot), (base, base), "var(--rule)", Plane.RULES)
        for (start, end), count in zip(pairwise(edges), table, strict=True):
            if count:
                x, top = (plot.at(start + gap), plot.at(end - gap)), base - _BARS * count / most
                plot.rect(x, (top, base), Plane.GROUND, fill="var(--bar)")
                if numbered:
                    middle = sum(x) / 2
                    plot.words(
                        str(count), middle, top - 9, align="middle", colour=QUIET, size=11.5
                    )
    return plot.charted(_HISTOGRAM * len(summaries))


def bins(values: Sequence[float]) -> tuple[list[float], bool]:
    """Edges of the bars, and whether each bar is one whole number."""
    low, high = min(values), max(values)
    if all(value.is_integer() for value in values) and high - low < _MOST_BARS:
        return [low - 0.5 + index for index in range(int(high - low) + 2)], True
    step = round_step((high - low) / 24 or 1.0)
    first = math.floor(low / step)
    first -= first * step > low  # the division rounds a value just below an edge onto it
    return multiples(step, first, max(math.floor(high / step), first) + 1), False


def counted(values: Sequence[float], edges: Sequence[float]) -> list[int]:
    """Count the values from each edge up to, and without, the next; the last takes its end."""
    counts = [0] * (len(edges) - 1)
    width = (edges[-1] - edges[0]) / len(counts)
    for value in values:
        index = min(max(int((value - edges[0]) / width), 0), len(counts) - 1)
        # The division may land beside the bin when a value lies on an edge.
        while index > 0 and value < edges[index]:
            index -= 1
        while index < len(counts) - 1 and value >= edges[index + 1]:
            index += 1
        counts[index] += 1
    return counts


def _reference(
    plot: Plot, band: Band | None, no_effect: float, strips: Sequence[tuple[float, float]]
) -> None:
    """Draw the margin's band with its edges and words, and where there is no effect."""
    middle = plot.at(no_effect)
    for strip in strips:
        if band is not None:
            edges = (plot.at(band.low), plot.at(band.high))
            plot.rect(edges, strip, Plane.GROUND, fill="var(--band)")
            for edge in edges:
                plot.line((edge, edge), strip, "var(--band-edge)", Plane.RULES, dashed=True)
        plot.line((middle, middle), strip, "var(--ink)", Plane.RULES)
    if band is not None:
        text = f"margin {band.words}"
        half = len(text) * LETTER / 2
        at = min(max(middle, half), plot.plot - half)
        plot.words(text, at, 6, align="middle", colour=QUIET)


def _interval(plot: Plot, row: Row, at: float) -> None:
    ends = plot.at(row.low), plot.at(row.high)
    plot.line(ends, (at, at), row.colour, Plane.LINES, width=2)
    for end in ends:
        plot.line((end, end), (at - 6, at + 6), row.colour, Plane.LINES, width=2)
    if row.inner is not None:
        inner = plot.at(row.inner.low), plot.at(row.inner.high)
        plot.line(inner, (at, at), row.colour, Plane.BOLD, width=6)
    if row.point is not None:
        plot.point(row.shape, plot.at(row.point), at, row.colour, 140)
