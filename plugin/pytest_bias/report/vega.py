"""Pieces of Vega-Lite specifications, and their rendering to SVG.

Specifications are plain dictionaries. Nothing in them depends on the fonts of a machine (no
automatic sizing, own ticks), so the same numbers give the same bytes. Colours are the page's CSS
variables, which follow light and dark mode. Vertical positions are pixels from the top.
"""

from __future__ import annotations

import json
import math
import re
import string
from collections.abc import Mapping, Sequence
from enum import IntEnum
from html import escape
from typing import cast

from .numbers import writable

Spec = dict[str, object]

SIDE = 14
"""Space right of a plot, in pixels: half a label of the axis may stand there."""

LETTER = 7
"""Width of a letter, generously; it decides what fits, never where it stands."""

_BELOW = 46


class Plane(IntEnum):
    """A plane of layers. On one plane nothing overlaps, so layers alike are drawn as one."""

    GROUND = 0
    """Bands, bars and cells."""
    RULES = 1
    """Edges, floors and frames."""
    LINES = 2
    """Intervals with their caps."""
    BOLD = 3
    """Inner intervals, and what keeps words apart from lines."""
    POINTS = 4
    WORDS = 5


def to_svg(spec: Spec) -> str:
    """The chart as SVG to stand in a page: without a size of its own, hidden from readers.

    Its numbers are to be given in words beside it.
    """
    import vl_convert  # noqa: PLC0415  (90 MB of library, needed only to write a page)

    short, texts = _abbreviated(spec)
    svg = vl_convert.vegalite_to_svg(short, vl_version="6.1", allowed_base_urls=[])
    head, _, body = svg.partition(">")
    box = head.partition('viewBox="')[2].partition('"')[0]
    body = _TEXT.sub(lambda found: f">{texts.get(found[1], found[1])}</text>", body)
    return f'<svg viewBox="{box}" aria-hidden="true" focusable="false">{body}'


def chart(
    layers: Sequence[Spec],
    *,
    domain: tuple[float, float],
    title: str,
    plot: int,
    height: int,
    gutter: int = 0,
) -> Spec:
    """Layers over one x axis; ``gutter`` is space for words left of the plot.

    Grid lines are drawn only beside a gutter: without one, words stand inside the plot.
    """
    longest = plot // LETTER
    axis: Spec = {
        "values": ticks(*domain, about=plot // 70),
        "labelExpr": "format(datum.value, '.12~g')",
        "grid": gutter > 0,
        "labelOverlap": False,
        "labelBound": False,
        "labelFlush": False,
        "title": writable(title if len(title) <= longest else f"{title[: longest - 1]}…"),
    }
    across: Spec = {"domain": list(domain), "nice": False, "zero": False}
    down: Spec = {"domain": [0, height], "range": [0, height], "nice": False}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": plot,
        "height": height,
        "autosize": "none",
        "padding": {"left": 1 + gutter, "right": SIDE, "top": 4, "bottom": _BELOW},
        "background": None,
        "encoding": {
            "x": {"type": "quantitative", "axis": axis, "scale": across},
            "y": {"type": "quantitative", "axis": None, "scale": down},
        },
        "layer": _drawn(layers),
        "config": _CONFIG,
    }


def plate(layers: Sequence[Spec], *, width: int, height: int) -> Spec:
    """Layers over no axis at all: both positions are pixels, from the left and from the top."""
    across, down = (
        {
            "type": "quantitative",
            "axis": None,
            "scale": {"domain": [0, size], "range": [0, size], "nice": False},
        }
        for size in (width - 2, height)
    )
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": width - 2,
        "height": height,
        "autosize": "none",
        "padding": {"left": 1, "right": 1, "top": 4, "bottom": 4},
        "background": None,
        "encoding": {"x": across, "y": down},
        "layer": _drawn(layers),
        "config": _CONFIG,
    }


def layer(
    values: Sequence[Spec],
    mark: Spec,
    *channels: str,
    plane: Plane,
    text: str = "",
    colour: str = "",
    pixels: bool = False,
) -> Spec:
    """Marks on a plane that read each channel from the field of the same name.

    ``colour`` names the field that holds each mark's own colour. ``pixels``: x counts pixels from
    the left of the plot, whatever the axis says.
    """
    encoding: dict[str, Spec] = {
        name: {"field": name} if name.endswith("2") else {"field": name, "type": "quantitative"}
        for name in channels
    }
    if pixels:
        encoding["x"] |= {"scale": None, "axis": None}
    if text:
        encoding["text"] = {"field": text, "type": "nominal"}
    if colour:
        encoding["color"] = {"field": colour, "type": "nominal", "scale": None}
    return {"data": {"values": list(values)}, "mark": mark, "encoding": encoding, _PLANE: plane}


def line(colour: str = "", *, width: float = 1, dash: Sequence[int] = (1, 0)) -> Spec:
    """The mark of a straight line; without a colour where each has its own."""
    mark: Spec = {"type": "rule", "strokeWidth": width, "strokeDash": list(dash)}
    return mark | ({"color": colour} if colour else {})


def point(shape: str, colour: str, size: int) -> Spec:
    """The mark of a filled point, with a rim that sets it off from what it lies on."""
    return {
        "type": "point",
        "shape": shape,
        "filled": True,
        "size": size,
        "color": colour,
        "opacity": 1,
        "stroke": "var(--card)",
        "strokeWidth": 1.5,
    }


def words(
    text: str, x: float, y: float, *, align: str = "left", quiet: bool = False, bold: bool = False
) -> Spec:
    """Words at a place in pixels; they are data, so nothing in them is ever evaluated."""
    mark: Spec = {
        "type": "text",
        "align": align,
        "baseline": "middle",
        "fontSize": 13,
        "fontWeight": 600 if bold else 400,
        "color": "var(--muted)" if quiet else "var(--ink)",
    }
    said: Spec = {"x": x, "y": y, "words": writable(text)}
    return layer([said], mark, "x", "y", plane=Plane.WORDS, text="words", pixels=True)


def ticks(low: float, high: float, *, about: int) -> list[float]:
    """Round numbers from ``low`` to ``high``, about so many of them."""
    step = round_step((high - low) / max(about, 2))
    return multiples(step, math.ceil(low / step), math.floor(high / step))


def padded(low: float, high: float) -> tuple[float, float]:
    """A little more than from ``low`` to ``high``."""
    # Beside a very large value half a unit is nothing, and an axis needs two ends.
    pad = (high - low) * 0.04 or max(0.5, abs(low) * 1e-9)
    return low - pad, high + pad


def round_step(least: float) -> float:
    """The smallest 1, 2 or 5 times a power of ten that is not below ``least``."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-9))


def multiples(step: float, first: int, last: int) -> list[float]:
    """``first`` to ``last`` times ``step``, without the noise of floating-point products."""
    digits = max(0, 1 - math.floor(math.log10(step)))
    return [round(index * step, digits) + 0.0 for index in range(first, last + 1)]


def _drawn(layers: Sequence[Spec]) -> list[Spec]:
    """The layers from the lowest plane up, those alike as one: each costs its own compilation."""
    found: dict[str, Spec] = {}
    for each in sorted(layers, key=lambda each: cast("Plane", each[_PLANE])):
        alike = json.dumps([each[_PLANE], each["mark"], each["encoding"]], sort_keys=True)
        shared = found.setdefault(
            alike,
            {"data": {"values": []}, "mark": each["mark"], "encoding": each["encoding"]},
        )
        _values(shared).extend(_values(each))
    return list(found.values())


def _abbreviated(spec: Spec) -> tuple[Spec, Mapping[str, str]]:
    """The same chart with a letter or two for every text, and what each stands for, escaped.

    The renderer measures every text, 0.2 ms per letter, and nothing here depends on its width:
    charts have no automatic size, and SVG itself centres what is centred.
    """
    texts: dict[str, str] = {}

    def letters(text: object) -> str:
        number, found = len(texts), ""
        while number >= 0:
            number, place = divmod(number, len(string.ascii_letters))
            found += string.ascii_letters[place]
            number -= 1
        texts[found] = escape(str(text), quote=False)
        return found

    def shortened(each: Spec) -> Spec:
        channel = cast("dict[str, Spec]", each["encoding"]).get("text")
        if channel is None:
            return each
        name = str(channel["field"])
        values = [value | {name: letters(value[name])} for value in _values(each)]
        return each | {"data": {"values": values}}

    layers = [shortened(each) for each in cast("list[Spec]", spec["layer"])]
    encoding = cast("dict[str, Spec]", spec["encoding"])
    axis = cast("Spec | None", encoding["x"]["axis"])
    if axis is not None:
        across = encoding["x"] | {"axis": axis | {"title": letters(axis["title"])}}
        encoding = encoding | {"x": across}
    return spec | {"layer": layers, "encoding": encoding}, texts


def _values(of: Spec) -> list[Spec]:
    return cast("dict[str, list[Spec]]", of["data"])["values"]


_PLANE = "plane"

_TEXT = re.compile(r">([A-Za-z]+)</text>")

_CONFIG: Spec = {
    "aria": False,
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {
        "domainColor": "var(--rule)",
        "tickColor": "var(--rule)",
        "gridColor": "var(--grid)",
        "labelColor": "var(--muted)",
        "titleColor": "var(--muted)",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 8,
    },
}
