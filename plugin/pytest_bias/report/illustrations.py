"""The figures an experiment asks for: each as a chart, a caption, and a table of its numbers.

Heatmaps are coloured cells that print their value; a cell without any is hatched, never 0. Means
are points with their 95 % interval per level, one series per level of another factor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..experiments.figures import Illustration, Spot
from ..experiments.measures import MISSING
from .figures import NARROW, WIDE, Chart
from .numbers import end_words, plain_number, rate_end, reasons_words, table_words, value_words
from .page_replies import Cells
from .svg import LETTER, QUIET, SIDE, Drawing, Plane, Plot, fitting, padded

STEPS = 9
"""Colours of the scale: ``--heat-0`` to ``--heat-8`` of the page, each with its own ink."""

_GUTTER = 178
_HEADING, _NAME, _LINE = 28, 20, 16
_HIGH, _GAP, _LEGEND = 32, 14, 34
_WIDEST, _LEAST, _HATCH = 110, 30, 8
_MOST_LINES, _LONGEST, _STEP = 3, 16, 20
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
COLOURS = 6
"""Colours of series: ``--series-0`` to ``--series-5`` of the page."""
_SERIES, _PAD, _KEY = 20, 14, 22
_MOST_SAID = 40
_NONE = "none"


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
            drawing.words(fitting(spaced(row), gutter - 8), 0, top + _HIGH / 2, bold=True)
        else:
            drawing.words(fitting(spaced(row), plot), 0, top + 9)
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
        names = [fitting(spaced(column), _LONGEST * LETTER) for column in columns]
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
    name = fitting(spaced(level), gutter - LETTER)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FigurePage:
    """One figure, as the templates need it; ``chart`` is None where there is nothing to draw."""

    title: str
    chart: Chart | None
    caption: str
    header: Cells
    rows: tuple[Cells, ...]


def figure_page(shown: Illustration) -> FigurePage:
    """Draw a figure, and say what it shows."""
    draw = heatmap_chart if shown.kind == "heatmap" else means_chart
    return FigurePage(
        title=shown.title,
        chart=draw(shown, label=_label(shown)),
        caption=" ".join(_caption(shown)),
        header=tuple(_header(shown)),
        rows=tuple(tuple(_row(shown, spot)) for spot in shown.spots),
    )


def _quantity(shown: Illustration) -> str:
    if shown.measure == MISSING:
        return "Share of trials without a valid reply"
    if shown.flag:
        return f"Share of valid replies with {shown.measure}"
    unit = f", in {shown.unit}" if shown.unit else ""
    return f"Mean of {shown.measure} over the valid replies{unit}"


def _caption(shown: Illustration) -> Iterator[str]:
    """Say what is shown, what n counts, what the colours run over, and what is missing."""
    least, most = (f(spot.replies for spot in shown.spots) for f in (min, max))
    n = f"n = {most}" if least == most else f"n = {least} to {most}"
    each = "cell" if shown.kind == "heatmap" else "point"
    yield f"{_quantity(shown)}; {n} replies in each {each}, for this very set of stimuli."
    if shown.kind == "heatmap":
        low, high = (end_words(end, flag=shown.flag) for end in shown.scale)
        of = "values shown" if shown.bounds is None else "whole scale"
        yield f"The colours run over the {of}, from {low} to {high}."
    else:
        how = "Wilson" if shown.flag else "t, from the variance within cells"
        yield f"Lines are 95 % intervals ({how}); replies are the units, not names or prompts."
    if any(spot.why for spot in shown.spots):
        yield "A point without a line has no interval; the table says why."
    lost = sum(spot.lacking for spot in shown.spots)
    if lost:
        yield f"{lost} trial{'s are' if lost > 1 else ' is'} missing; the table says where."
    yield "It describes, and has no part in any verdict."


def _label(shown: Illustration) -> str:
    """The numbers in words; of many the lowest and the highest, as the table has them all."""
    found = [spot for spot in shown.spots if spot.value is not None]
    said = [f"{_place(spot)}: {spot_words(spot, flag=shown.flag)}" for spot in shown.spots]
    start = f"{shown.title}. {_quantity(shown)}"
    if len(said) <= _MOST_SAID:
        return f"{start}. {'. '.join(said)}."
    text = f"{start}, at {len(shown.spots)} combinations"
    if found:
        by_value = sorted(found, key=lambda spot: spot.value or 0.0)
        low, high = (
            f"{spot_words(spot, flag=shown.flag)} ({_place(spot)})"
            for spot in (by_value[0], by_value[-1])
        )
        text += f", from {low} to {high}"
    empty = len(shown.spots) - len(found)
    text += f"; {empty} without any" if empty else ""
    return f"{text}. All numbers stand in the table."


def _place(spot: Spot) -> str:
    return ", ".join(spaced(level) for level in (spot.by, spot.y, spot.x) if level is not None)


def _header(shown: Illustration) -> Iterator[str]:
    for axis in (shown.by, shown.y, shown.x):
        if axis is not None:
            yield spaced(axis.name).capitalize()
    yield "Rate" if shown.flag else "Mean"
    if shown.kind == "means":
        yield "95 % interval"
    yield "n"
    yield "Missing"


def _row(shown: Illustration, spot: Spot) -> Iterator[str]:
    for level in (spot.by, spot.y, spot.x):
        if level is not None:
            yield spaced(level)
    yield _NONE if spot.value is None else table_words(spot.value, flag=shown.flag)
    if shown.kind == "means":
        if spot.interval is not None:
            low, high = (
                table_words(end, flag=shown.flag)
                for end in (spot.interval.low, spot.interval.high)
            )
            yield f"{low} to {high}"
        else:
            yield f"none: {spot.why}" if spot.why else _NONE
    yield str(spot.replies)
    yield reasons_words(spot.missing)
