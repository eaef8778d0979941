"""The charts of the page: intervals over the margin, and the values of each condition."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ..contrasts.findings import HumanComparison, MeasureSummary
from ..statistics.results import Interval
from .vega import (
    LETTER,
    SIDE,
    Plane,
    Spec,
    chart,
    layer,
    line,
    multiples,
    padded,
    point,
    round_step,
    to_svg,
    words,
)

WIDE, NARROW = 780, 320
"""Widths of the two versions of each chart: the page shows the one that fits."""

_GUTTER = 178
_ROW, _HEAD, _STRIP = 54, 24, 13
_HISTOGRAM, _BARS, _FOOT = 132, 78, 18
_MOST_BARS = 40
_MOST_NUMBERED = 12
"""Conditions above which bars go without their numbers: nobody reads thousands, and drawing
letters is what takes the time. The raw values below the chart have them all."""


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
    """Estimates with their intervals, over the band of effects that do not matter."""
    wide, narrow = (
        to_svg(interval_spec(rows, band=band, title=title, width=width, no_effect=no_effect))
        for width in (WIDE, NARROW)
    )
    return Chart(label, wide, narrow)


def histogram_chart(summaries: Sequence[MeasureSummary], *, title: str, label: str) -> Chart:
    """The values of one measure, condition by condition, over one axis."""
    wide, narrow = (
        to_svg(histogram_spec(summaries, title=title, width=width)) for width in (WIDE, NARROW)
    )
    return Chart(label, wide, narrow)


def human_interval(human: HumanComparison) -> tuple[float, float]:
    """The 95 % interval of people's difference: its standard error times t of n − 2."""
    from scipy.special import stdtrit  # type: ignore[import-untyped] # noqa: PLC0415  (slow)

    half = human.se * float(stdtrit(human.n - 2, 0.975))
    return human.difference - half, human.difference + half


def interval_spec(
    rows: Sequence[Row], *, band: Band | None, title: str, width: int, no_effect: float = 0.0
) -> Spec:
    """One line per row over the band; its words stand left of it, or above where narrow."""
    gutter = _GUTTER if width > NARROW else 0
    plot = width - SIDE - gutter - 1
    height = _HEAD + _ROW * len(rows) + 4
    lines = [_HEAD + _ROW * number + (24 if gutter else 36) for number in range(len(rows))]
    ends = [no_effect, *(end for row in rows for end in (row.low, row.high))]
    ends += [] if band is None else [band.low, band.high]
    domain = padded(min(ends), max(ends))
    # Where words stand above the lines, nothing else is drawn behind them.
    strips = [(_HEAD - 6, height)] if gutter else [(at - _STRIP, at + _STRIP) for at in lines]
    layers = list(_reference(band, no_effect, strips))
    if band is not None:
        text = f"margin {band.words}"
        half = len(text) * LETTER / 2
        middle = plot * (no_effect - domain[0]) / (domain[1] - domain[0])
        at = min(max(middle, half), plot - half)
        layers.append(words(text, at, 6, align="center", quiet=True))
    for row, at in zip(rows, lines, strict=True):
        layers += _interval(row, at)
        if gutter:
            layers.append(words(row.name, -gutter, at - 9, bold=True))
            layers.append(words(row.numbers, -gutter, at + 9, quiet=True))
        else:
            layers.append(words(f"{row.name}: {row.numbers}", 0, at - 26))
    return chart(layers, domain=domain, title=title, plot=plot, height=height, gutter=gutter)


def histogram_spec(summaries: Sequence[MeasureSummary], *, title: str, width: int) -> Spec:
    """One row of bars per condition, one scale for all rows, a triangle under each mean."""
    plot = width - SIDE - 1
    edges, whole = bins([value for summary in summaries for value in summary.values])
    tables = [counted(summary.values, edges) for summary in summaries]
    most = max(max(table) for table in tables)
    domain = padded(edges[0], edges[-1])
    gap = (edges[1] - edges[0]) * (0.12 if whole else 0.03)
    wide_enough = plot / (len(edges) - 1) >= 3 * LETTER
    numbered = wide_enough and len(summaries) <= _MOST_NUMBERED
    layers: list[Spec] = []
    for number, (summary, table) in enumerate(zip(summaries, tables, strict=True)):
        base = _HISTOGRAM * (number + 1) - _FOOT
        bars: list[Spec] = [
            {
                "x": start + gap,
                "x2": end - gap,
                "y": base,
                "y2": base - _BARS * count / most,
                "middle": (start + end) / 2,
                "count": count,
            }
            for (start, end), count in zip(pairwise(edges), table, strict=True)
            if count
        ]
        layers += _histogram(summary, bars, base, domain, numbered=numbered)
    height = _HISTOGRAM * len(summaries)
    return chart(layers, domain=domain, title=title, plot=plot, height=height)


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
    band: Band | None, no_effect: float, strips: Sequence[tuple[float, float]]
) -> Iterator[Spec]:
    """The margin's band with its edges, and where there is no effect."""
    spans: list[Spec] = [{"y": top, "y2": bottom} for top, bottom in strips]
    if band is not None:
        inside: list[Spec] = [{"x": band.low, "x2": band.high, **span} for span in spans]
        ground: Spec = {"type": "rect", "color": "var(--band)"}
        yield layer(inside, ground, "x", "x2", "y", "y2", plane=Plane.GROUND)
        edges: list[Spec] = [
            {"x": edge, **span} for edge in (band.low, band.high) for span in spans
        ]
        dashed = line("var(--band-edge)", dash=(4, 3))
        yield layer(edges, dashed, "x", "y", "y2", plane=Plane.RULES)
    middle: list[Spec] = [{"x": no_effect, **span} for span in spans]
    yield layer(middle, line("var(--ink)"), "x", "y", "y2", plane=Plane.RULES)


def _interval(row: Row, at: float) -> Iterator[Spec]:
    stroke = line(width=2)
    whole: Spec = {"x": row.low, "x2": row.high, "y": at, "colour": row.colour}
    caps: list[Spec] = [
        {"x": end, "y": at - 6, "y2": at + 6, "colour": row.colour} for end in (row.low, row.high)
    ]
    yield layer([whole], stroke, "x", "x2", "y", plane=Plane.LINES, colour="colour")
    yield layer(caps, stroke, "x", "y", "y2", plane=Plane.LINES, colour="colour")
    if row.inner is not None:
        inner = whole | {"x": row.inner.low, "x2": row.inner.high}
        yield layer([inner], line(width=6), "x", "x2", "y", plane=Plane.BOLD, colour="colour")
    if row.point is not None:
        mark = point(row.shape, row.colour, 140)
        yield layer([{"x": row.point, "y": at}], mark, "x", "y", plane=Plane.POINTS)


def _histogram(
    summary: MeasureSummary,
    bars: Sequence[Spec],
    base: float,
    domain: tuple[float, float],
    *,
    numbered: bool,
) -> Iterator[Spec]:
    text = f"n = {len(summary.values)}"
    if summary.description is not None:
        text += f", mean {summary.description.mean:.2f}"
    yield words(f"{summary.condition}: {text}", 0, base - _BARS - 26)
    bar_mark: Spec = {"type": "rect", "color": "var(--bar)"}
    yield layer(bars, bar_mark, "x", "x2", "y", "y2", plane=Plane.GROUND)
    floor: Spec = {"x": domain[0], "x2": domain[1], "y": base}
    yield layer([floor], line("var(--rule)"), "x", "x2", "y", plane=Plane.RULES)
    if numbered:
        tops: list[Spec] = [
            {"x": bar["middle"], "y": bar["y2"], "n": bar["count"]} for bar in bars
        ]
        mark: Spec = {"type": "text", "dy": -7, "fontSize": 11.5, "color": "var(--muted)"}
        yield layer(tops, mark, "x", "y", plane=Plane.WORDS, text="n")
    if summary.description is not None:
        mean: Spec = {"x": summary.description.mean, "y": base + 7}
        triangle = point("triangle-up", "var(--ink)", 90)
        yield layer([mean], triangle, "x", "y", plane=Plane.POINTS)
