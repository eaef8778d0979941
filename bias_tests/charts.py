"""Charts in a source's own form: Vega-Lite specifications, drawn as PNG and SVG by vl-convert.

The kind that most sources ask for, heatmaps side by side, is put together from tiles.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from struct import pack
from typing import Any
from xml.sax.saxutils import escape
from zlib import crc32

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_INK, _PAPER = "#222222", "white"
_NONE = "#d0d0d0"
_BORDER = "#111111"
_ROW, _COLUMN = 34, 76
_LINE = 15
_LETTER = 7
"""Room for a letter of a column's name: wide enough that names side by side stay apart."""
_SCALE = 1.5
_PNG_HEAD = 33
"""Bytes of a PNG's signature and first chunk, which others must follow."""
_IDS = re.compile(r'(id="|url\(#)((gradient_|clip)\d+)')


@dataclass(frozen=True, slots=True, kw_only=True)
class VegaChart:
    """A chart among the files of an export, drawn as PNG and as SVG.

    ``body`` is a Vega-Lite specification without title and configuration, ``lines`` what stands
    below the title. A ``licence`` stands below the chart and in the metadata of both files.
    """

    title: str
    body: Mapping[str, Any] = field(repr=False)
    lines: Sequence[str] = ()
    licence: str = ""

    def spec(self, note: str = "") -> dict[str, Any]:
        """The whole specification; ``note`` is what must be known of all that is drawn."""
        lines = [note, *self.lines, f"Licence: {self.licence}" if self.licence else ""]
        return {
            "$schema": _SCHEMA,
            "background": _PAPER,
            "padding": 12,
            "title": {
                "text": self.title,
                "subtitle": [line for line in lines if line],
                "anchor": "start",
                "fontSize": 15,
                "subtitleFontSize": 11.5,
                "subtitleColor": "#444444",
                "offset": 12,
            },
            "config": {
                "font": "sans-serif",
                "axis": {"labelFontSize": 12, "domain": False, "ticks": False, "grid": False},
                "view": {"stroke": None},
            },
            **self.body,
        }

    def png(self, note: str) -> bytes:
        """Draw the chart as PNG; ``note`` as in :meth:`spec`."""
        png: bytes = _vl_convert().vegalite_to_png(self.spec(note), scale=_SCALE, **_OFFLINE)
        # The format's own place for a licence: iTXt (PNG, third edition, 11.3.3.4).
        chunk = b"iTXt" + b"Copyright\0\0\0\0\0" + self.licence.encode()
        made = pack(">I", len(chunk) - 4) + chunk + pack(">I", crc32(chunk))
        return png[:_PNG_HEAD] + made + png[_PNG_HEAD:] if self.licence else png

    def svg(self, note: str) -> str:
        """Draw the chart as SVG; ``note`` as in :meth:`spec`."""
        svg: str = _vl_convert().vegalite_to_svg(self.spec(note), **_OFFLINE)
        # The library counts on from chart to chart; equal charts are to be equal bytes.
        ids: dict[str, str] = {}
        svg = _IDS.sub(lambda m: m[1] + ids.setdefault(m[2], f"{m[3]}{len(ids)}"), svg)
        head, end, rest = svg.partition(">")
        metadata = f"<metadata>{escape(self.licence)}</metadata>" if self.licence else ""
        return f"{head}{end}{metadata}{rest}"


_OFFLINE = {"vl_version": "6.1", "allowed_base_urls": []}


def _vl_convert() -> Any:
    try:
        import vl_convert  # noqa: PLC0415  (90 MB of library, needed only to draw)
    except ModuleNotFoundError:
        words = "vl-convert-python draws the charts: pip install 'pytest-bias[suite]'"
        raise ModuleNotFoundError(words) from None
    return vl_convert


class Drawn(Mapping[str, str | bytes]):
    """Files of an export: texts as ``given``, and of each chart a PNG and an SVG.

    A chart is drawn when its file is read. ``models`` are those whose replies are shown: of
    simulated ones each chart says that they are programs.
    """

    def __init__(self, given: Mapping[str, str | VegaChart], models: Iterable[str]) -> None:
        self.given = given
        programs = ", ".join(each for each in models if each.startswith("simulated/"))
        note = programs and (
            f"Simulated subjects, programs that stand in for models: {programs}. "
            "Nothing about them says anything about a real model."
        )
        self._files: dict[str, Callable[[], str | bytes]] = {}
        for name, each in given.items():
            if isinstance(each, VegaChart):
                self._files[f"{name}.png"] = partial(each.png, note)
                self._files[f"{name}.svg"] = partial(each.svg, note)
            else:
                self._files[name] = partial(str, each)

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, name: str) -> str | bytes:
        return self._files[name]()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One cell of a heatmap.

    ``said`` stands in it, and ``below`` that in small letters. Without a ``value`` (None) it is
    grey, whatever the scale; ``bold`` gives it a border.
    """

    row: str
    column: str
    value: float | None
    said: str
    below: str = ""
    bold: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Shades:
    """The colours (``#rrggbb``) from ``low`` to ``high``; what lies outside has the end's.

    ``meaning`` is the legend's title, a line each.
    """

    low: float
    high: float
    colours: Sequence[str]
    meaning: Sequence[str]

    @property
    def places(self) -> list[float]:
        """The values of the colours, evenly from low to high."""
        step = (self.high - self.low) / (len(self.colours) - 1)
        return [*(self.low + n * step for n in range(len(self.colours) - 1)), self.high]

    def ink(self, value: float | None) -> str:
        """The colour in which words can be read where ``value`` is drawn."""
        if value is None:
            return _INK
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        last = len(self.colours) - 1
        place = min(int(share * last), last - 1)
        ends = [bytes.fromhex(each.removeprefix("#")) for each in self.colours[place : place + 2]]
        part = share * last - place
        red, green, blue = (a + part * (b - a) for a, b in zip(*ends, strict=True))
        # Rec. 601's weights of how bright the three look.
        return _INK if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else _PAPER  # noqa: PLR2004


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One heatmap of a chart; rows and columns stand in the order in which tiles name them."""

    title: str
    tiles: Sequence[Tile]
    shades: Shades


def tile_chart(
    title: str,
    panels: Sequence[Panel],
    *,
    lines: Sequence[str] = (),
    across: int = 1,
    licence: str = "",
) -> VegaChart:
    """Heatmaps as one chart, ``across`` of them beside each other."""
    drawn = [_panel(panel) for panel in panels]
    body: dict[str, Any] = {
        "concat": drawn,
        "columns": across,
        "spacing": 28,
        "resolve": {"scale": {"fill": "independent", "x": "independent", "y": "independent"}},
    }
    return VegaChart(title=title, body=body, lines=lines, licence=licence)


def _panel(panel: Panel) -> dict[str, Any]:
    values = [{**asdict(tile), "ink": panel.shades.ink(tile.value)} for tile in panel.tiles]
    rows, columns = (list(dict.fromkeys(str(v[name]) for v in values)) for name in _NAMES)
    longest = max((len(line) for name in columns for line in name.split("\n")), default=0)
    axis: dict[str, Any] = {"title": None, "labelLimit": 0, "labelOverlap": False}
    top: dict[str, Any] = {
        "orient": "top",
        "labelAngle": 0,
        # Further lines hang below the first one, into the tiles, unless there is room.
        "labelPadding": 4 + _LINE * max((name.count("\n") for name in columns), default=0),
        "labelExpr": r"split(datum.label, '\n')",
    }
    fill: dict[str, Any] = {
        "condition": {"test": "!isValid(datum.value)", "value": _NONE},
        "field": "value",
        "type": "quantitative",
        "scale": {
            "domain": panel.shades.places,
            "range": list(panel.shades.colours),
            "interpolate": "rgb",
            "clamp": True,
        },
        "legend": {
            "title": list(panel.shades.meaning),
            "gradientLength": max(2 * _ROW, _ROW * (len(rows) - 1)),
        },
    }
    return {
        "title": {"text": panel.title, "anchor": "start", "fontSize": 13},
        "width": {"step": max(_COLUMN, _LETTER * longest)},
        "height": {"step": _ROW},
        "data": {"values": values},
        "encoding": {
            "x": {"field": "column", "type": "nominal", "sort": columns, "axis": axis | top},
            "y": {"field": "row", "type": "nominal", "sort": rows, "axis": axis},
        },
        "layer": [
            {
                # Else what has no value is left out: white, as no difference is on some scales.
                "mark": {"type": "rect", "stroke": _PAPER, "invalid": "show"},
                "encoding": {"fill": fill},
            },
            {
                "transform": [{"filter": "datum.bold"}],
                "mark": {"type": "rect", "fill": None, "stroke": _BORDER, "strokeWidth": 3},
            },
            _words("said", "datum.below == ''", 12, 0),
            _words("said", "datum.below != ''", 12, -7),
            _words("below", "datum.below != ''", 9.5, 8),
        ],
    }


_NAMES = ("row", "column")


def _words(name: str, where: str, size: float, down: float) -> dict[str, Any]:
    return {
        "transform": [{"filter": where}],
        "mark": {"type": "text", "fontSize": size, "dy": down, "baseline": "middle"},
        "encoding": {
            "text": {"field": name, "type": "nominal"},
            "color": {"field": "ink", "type": "nominal", "scale": None},
        },
    }
