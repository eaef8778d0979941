"""The figures an experiment asks for: each as a chart, a caption, and a table of its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..experiments.figures import Illustration, Spot
from ..experiments.measures import MISSING
from .figures import Chart
from .figures_heatmap import heatmap_chart, spaced
from .figures_means import means_chart, spot_words
from .numbers import end_words, reasons_words, table_words
from .page_replies import Cells

_MOST_SAID = 40
_NONE = "none"


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
    said = [f"{_place(spot)}: {_said(shown, spot)}" for spot in shown.spots]
    start = f"{shown.title}. {_quantity(shown)}"
    if len(said) <= _MOST_SAID:
        return f"{start}. {'. '.join(said)}."
    text = f"{start}, at {len(shown.spots)} combinations"
    if found:
        by_value = sorted(found, key=lambda spot: spot.value or 0.0)
        low, high = (
            f"{_said(shown, spot)} ({_place(spot)})" for spot in (by_value[0], by_value[-1])
        )
        text += f", from {low} to {high}"
    empty = len(shown.spots) - len(found)
    text += f"; {empty} without any" if empty else ""
    return f"{text}. All numbers stand in the table."


def _place(spot: Spot) -> str:
    return ", ".join(spaced(level) for level in (spot.by, spot.y, spot.x) if level is not None)


def _said(shown: Illustration, spot: Spot) -> str:
    if spot.value is None:
        return _NONE
    return spot_words(spot, flag=shown.flag)


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
