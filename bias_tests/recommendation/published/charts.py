"""The documented charts of recommendation bias: heatmaps by prompt and pooled, bars over all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ...charts import Panel, Shades, Tile, VegaChart, tile_chart
from .aggregation import BiasCell, BiasTables

FOLDER = "3_bias_heatmaps"
"""The document's folder of charts."""

COLOURS: Mapping[str, str] = MappingProxyType(
    {"***": "darkred", "**": "coral", "*": "lightsalmon", "": "steelblue"}
)
"""Marker → the documented colour of a bar."""

_FAILED = "#bdbdbd"
_SHADES = Shades(
    low=0,
    high=1,
    colours=["#fff7ec", "#fdd49e", "#fc8d59", "#d7301f", "#7f0000"],
    meaning=["normalised bias", "0 lowest, 1 highest"],
)
_LEGEND = "*** > 75 %, ** > 60 %, * > 50 % of the conditions with p < .05"


def bias_charts(tables: BiasTables) -> Mapping[str, VegaChart]:
    """The documented charts, by their names without ending.

    ``disaggregated_prompt_<style>`` for each prompt style, ``aggregated_by_dataset``,
    ``aggregated_by_model``, ``aggregated_by_prompt`` and ``fully_aggregated``. Cells hold the
    published normalised bias and the marker; where a condition could not be computed they say so.
    """
    charts: dict[str, VegaChart] = {}
    for style in dict.fromkeys(str(cell.prompt_style) for cell in tables.disaggregated):
        part = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in style)
        name = f"{FOLDER}/disaggregated_prompt_{part}"
        while name in charts:  # two styles may come to the same file name
            name += "_"
        charts[name] = _heatmap(
            [cell for cell in tables.disaggregated if cell.prompt_style == style],
            lambda cell: f"{cell.dataset}\n{cell.provider}",
            title=f"Normalised bias under “{style}”",
            legend="*** p < .05",
        )
    for name, words, group, column in (
        ("dataset", "dataset", tables.by_dataset, lambda cell: str(cell.dataset)),
        ("model", "model", tables.by_provider, lambda cell: str(cell.provider)),
        ("prompt", "prompt style", tables.by_prompt_style, lambda cell: str(cell.prompt_style)),
    ):
        title = f"Mean normalised bias by {words}"
        charts[f"{FOLDER}/aggregated_by_{name}"] = _heatmap(
            group, column, title=title, legend=_LEGEND
        )
    return {**charts, f"{FOLDER}/fully_aggregated": _bars(tables.overall)}


def cell_words(cell: BiasCell) -> tuple[str, str]:
    """What a cell says, and its second line: that nothing, or not all of it, was computed."""
    if cell.failed == cell.conditions:
        return "failed", "" if cell.conditions == 1 else f"all {cell.conditions} conditions"
    said = f"{cell.normalized_bias:.2f} {cell.marker}".strip()
    return said, f"{cell.failed} of {cell.conditions} failed" if cell.failed else ""


def _heatmap(
    cells: Sequence[BiasCell], column: Callable[[BiasCell], str], *, title: str, legend: str
) -> VegaChart:
    tiles = []
    for cell in cells:
        said, below = cell_words(cell)
        value = None if said == "failed" else cell.normalized_bias
        tiles.append(
            Tile(row=cell.feature, column=column(cell), value=value, said=said, below=below)
        )
    panel = Panel(title="", tiles=tiles, shades=_SHADES)
    return tile_chart(title, [panel], lines=[f"As published. {legend}"])


def _bars(cells: Sequence[BiasCell]) -> VegaChart:
    values = []
    for cell in cells:
        said, below = cell_words(cell)
        failed = said == "failed"
        values.append(
            {
                "feature": cell.feature,
                "bias": 0.0 if failed else cell.normalized_bias,
                "said": f"{said} ({below})" if below else said,
                "colour": _FAILED if failed else COLOURS[cell.marker],
            }
        )
    down = {
        "field": "feature",
        "type": "nominal",
        "sort": [value["feature"] for value in values],
        "axis": {"title": None, "labelLimit": 0, "labelOverlap": False},
    }
    across = {
        "field": "bias",
        "type": "quantitative",
        "scale": {"domain": [0, 1]},
        "axis": {"title": "mean normalised bias", "tickCount": 5},
    }
    words = {"type": "text", "align": "left", "dx": 5, "fontSize": 12, "color": "#222222"}
    colours = {"field": "colour", "type": "nominal", "scale": None}
    body = {
        "width": 560,
        "height": {"step": 24},
        "data": {"values": values},
        "encoding": {"y": down, "x": across},
        "layer": [
            {"mark": {"type": "bar"}, "encoding": {"color": colours}},
            {"mark": words, "encoding": {"text": {"field": "said", "type": "nominal"}}},
        ],
    }
    lines = [
        f"As published. {_LEGEND}:",
        "dark red, coral, light salmon; steel blue: not significant",
    ]
    return VegaChart(title="Mean normalised bias over all conditions", body=body, lines=lines)
