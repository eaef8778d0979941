"""The documented charts of recommendation bias: heatmaps by prompt and pooled, bars over all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from .aggregation import BiasCell, BiasTables

Spec = dict[str, object]

COLOURS: Mapping[str, str] = MappingProxyType(
    {"***": "darkred", "**": "coral", "*": "lightsalmon", "": "steelblue"}
)
"""Marker → the documented colour of a bar."""

_FAILED = "#bdbdbd"
_SHADES = ("#fff7ec", "#fdd49e", "#fc8d59", "#d7301f", "#7f0000")
_DARK = 0.68
"""Normalised bias above which words in a cell are white."""

_ROW, _COLUMN, _BAR = 34, 92, 24
_LINE = 15
_LETTER = 7
"""Room for a letter of a column's name: wide enough that names side by side stay apart."""

_SCALE = 1.5
_LEGEND = "*** > 75 %, ** > 60 %, * > 50 % of the conditions with p < .05"
_SINGLE = "*** p < .05"


def bias_charts(tables: BiasTables, *, note: str = "") -> Mapping[str, bytes]:
    """The documented files, file name → PNG.

    ``disaggregated_prompt_<style>.png`` for each prompt style, ``aggregated_by_dataset.png``,
    ``aggregated_by_model.png``, ``aggregated_by_prompt.png`` and ``fully_aggregated.png``. Cells
    hold the published normalised bias and the marker; where a condition could not be computed they
    say so. ``note`` stands under every title: say there when subjects are simulated.
    """
    return {name: _png(spec) for name, spec in bias_specs(tables, note=note).items()}


def bias_specs(tables: BiasTables, *, note: str = "") -> Mapping[str, Spec]:
    """The charts as Vega-Lite specifications, under the same names."""
    specs: dict[str, Spec] = {}
    styles = dict.fromkeys(str(cell.prompt_style) for cell in tables.disaggregated)
    for style in styles:
        cells = [cell for cell in tables.disaggregated if cell.prompt_style == style]
        name = f"disaggregated_prompt_{_file_part(style)}"
        while f"{name}.png" in specs:  # two styles may come to the same file name
            name += "_"
        specs[f"{name}.png"] = _heatmap(
            cells,
            lambda cell: f"{cell.dataset}\n{cell.provider}",
            title=f"Normalised bias under “{style}”",
            legend=_SINGLE,
            note=note,
        )
    for name, words, group, column in (
        ("dataset", "dataset", tables.by_dataset, lambda cell: str(cell.dataset)),
        ("model", "model", tables.by_provider, lambda cell: str(cell.provider)),
        ("prompt", "prompt style", tables.by_prompt_style, lambda cell: str(cell.prompt_style)),
    ):
        specs[f"aggregated_by_{name}.png"] = _heatmap(
            group, column, title=f"Mean normalised bias by {words}", legend=_LEGEND, note=note
        )
    specs["fully_aggregated.png"] = _bars(tables.overall, note=note)
    return specs


def cell_words(cell: BiasCell) -> tuple[str, str]:
    """What a cell says, and its second line: that nothing, or not all of it, was computed."""
    if cell.failed == cell.conditions:
        return "failed", "" if cell.conditions == 1 else f"all {cell.conditions} conditions"
    said = f"{cell.normalized_bias:.2f} {cell.marker}".strip()
    return said, f"{cell.failed} of {cell.conditions} failed" if cell.failed else ""


def _heatmap(
    cells: Sequence[BiasCell],
    column: Callable[[BiasCell], str],
    *,
    title: str,
    legend: str,
    note: str,
) -> Spec:
    values: list[Spec] = []
    for cell in cells:
        said, below = cell_words(cell)
        failed = said == "failed"
        values.append(
            {
                "feature": _writable(cell.feature),
                "column": _writable(column(cell)),
                "bias": cell.normalized_bias,
                "failed": failed,
                "said": said,
                "below": below,
                "ink": "white" if cell.normalized_bias > _DARK and not failed else "#222222",
            }
        )
    features = list(dict.fromkeys(value["feature"] for value in values))
    columns = list(dict.fromkeys(value["column"] for value in values))
    longest = max(len(line) for name in columns for line in str(name).split("\n"))
    across: Spec = {
        "field": "column",
        "type": "nominal",
        "sort": columns,
        "axis": {
            "orient": "top",
            "title": None,
            "labelAngle": 0,
            # Further lines hang below the first one, into the cells, unless there is room.
            "labelPadding": 4 + _LINE * max(str(name).count("\n") for name in columns),
            "labelExpr": "split(datum.label, '\\n')",
            "labelLimit": 0,
            "labelOverlap": False,
        },
    }
    down: Spec = {
        "field": "feature",
        "type": "nominal",
        "sort": features,
        "axis": {"title": None, "labelLimit": 0, "labelOverlap": False},
    }
    shade: Spec = {
        "condition": {"test": "datum.failed", "value": _FAILED},
        "field": "bias",
        "type": "quantitative",
        "scale": {"domain": [0, 1], "range": list(_SHADES)},
        "legend": {
            "title": ["normalised bias", "0 lowest, 1 highest"],
            "gradientLength": 200,
        },
    }
    ink: Spec = {"field": "ink", "type": "nominal", "scale": None}
    return {
        **_frame(title, legend, note),
        "width": {"step": max(_COLUMN, _LETTER * longest)},
        "height": {"step": _ROW},
        "data": {"values": values},
        "encoding": {"x": across, "y": down},
        "layer": [
            {
                "mark": {"type": "rect", "stroke": "white"},
                "encoding": {"fill": shade},
            },
            {
                "transform": [{"filter": "datum.below == ''"}],
                **_text("said", 12, 0, ink),
            },
            {
                "transform": [{"filter": "datum.below != ''"}],
                **_text("said", 12, -7, ink),
            },
            {
                "transform": [{"filter": "datum.below != ''"}],
                **_text("below", 9.5, 8, ink),
            },
        ],
    }


def _bars(cells: Sequence[BiasCell], *, note: str) -> Spec:
    values: list[Spec] = []
    for cell in cells:
        said, below = cell_words(cell)
        failed = said == "failed"
        together = f"{said} ({below})" if below else said
        values.append(
            {
                "feature": _writable(cell.feature),
                "bias": 0.0 if failed else cell.normalized_bias,
                "said": together,
                "colour": _FAILED if failed else COLOURS[cell.marker],
            }
        )
    down: Spec = {
        "field": "feature",
        "type": "nominal",
        "sort": [value["feature"] for value in values],
        "axis": {"title": None, "labelLimit": 0, "labelOverlap": False},
    }
    across: Spec = {
        "field": "bias",
        "type": "quantitative",
        "scale": {"domain": [0, 1]},
        "axis": {"title": "mean normalised bias", "tickCount": 5},
    }
    mark: Spec = {"type": "text", "align": "left", "dx": 5, "fontSize": 12, "color": "#222222"}
    colours: Spec = {"field": "colour", "type": "nominal", "scale": None}
    legend = f"{_LEGEND}: dark red, coral, light salmon; steel blue: not significant"
    return {
        **_frame("Mean normalised bias over all conditions", legend, note),
        "width": 560,
        "height": {"step": _BAR},
        "data": {"values": values},
        "encoding": {"y": down, "x": across},
        "layer": [
            {"mark": {"type": "bar"}, "encoding": {"color": colours}},
            {"mark": mark, "encoding": {"text": {"field": "said", "type": "nominal"}}},
        ],
    }


def _text(field: str, size: float, dy: float, ink: Spec) -> Spec:
    return {
        "mark": {"type": "text", "fontSize": size, "dy": dy, "baseline": "middle"},
        "encoding": {"text": {"field": field, "type": "nominal"}, "color": ink},
    }


def _frame(title: str, legend: str, note: str) -> Spec:
    """What all charts share: title, what markers mean, and what the reader must know."""
    under = [_writable(line) for line in (note, f"As published. {legend}") if line]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "background": "white",
        "padding": 12,
        "title": {
            "text": _writable(title),
            "subtitle": under,
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
    }


def _writable(text: str) -> str:
    """Return text that can be written as UTF-8: half a surrogate pair becomes its escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _file_part(words: str) -> str:
    """A prompt style as part of a file name, whatever its author called it."""
    return "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in words)


def _png(spec: Spec) -> bytes:
    import vl_convert  # noqa: PLC0415  (90 MB of library, needed only to draw)

    png: bytes = vl_convert.vegalite_to_png(
        spec, vl_version="6.1", scale=_SCALE, allowed_base_urls=[]
    )
    return png
