"""What a run publishes in the document's form: pro-social rates as persona × group heatmaps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_bias import Record, Records, csv_text

from ..charts import Drawn, Panel, Shades, Tile, VegaChart, tile_chart

RATES = "pro_social_rates.csv"
OVER_ALL = "all"
"""Stands for all scenarios together."""

_RATE = Shades(
    low=0,
    high=1,
    colours=["#ffffff", "#9ecae1", "#3182bd", "#08306b"],
    meaning=["pro-social", "share"],
)
_LINES = (
    "Share of the stories with a valid grade that end pro-socially, and how many do of how many.",
    "Every story counts the same; both circumstances and all names of a group together.",
    "It describes: nothing here is tested, and some cells stand out by chance.",
)

Cell = tuple[str, str, str, str]
"""Model, scenario, persona and group."""


def export_files(records: Mapping[str, Records]) -> Drawn:
    """The files of a run: texts and charts by their names.

    ``figures/pro_social_<scenario>`` for each scenario, and for all of them together, has a
    heatmap per model, groups across and personas down, as the document asks; ``RATES`` holds the
    counts. Stories without a valid grade are in no rate, and counted beside.
    """
    cells: dict[Cell, list[int]] = {}
    for model, found in records.items():
        for row in found.rows:
            for cell in _cells(model, row):
                counts = cells.setdefault(cell, [0, 0, 0])
                value = row.values.get("pro_social")
                counts[0] += value is not None
                counts[1] += bool(value)
                counts[2] += value is None
    lines: list[list[str | int | float | None]] = [
        ["model", "scenario", "persona", "group", "stories", "pro_social", "rate", "missing"]
    ]
    for cell, (stories, good, missing) in cells.items():
        lines.append([*cell, stories, good, good / stories if stories else None, missing])
    scenarios = dict.fromkeys(scenario for _, scenario, _, _ in cells)
    charts = {f"figures/pro_social_{each}": _chart(each, cells) for each in scenarios}
    return Drawn({RATES: csv_text(lines), **charts}, records)


def _cells(model: str, row: Record) -> Iterator[Cell]:
    levels = row.trial.condition.levels
    for scenario in (OVER_ALL, levels["scenario"]):
        yield model, scenario, levels["persona"], levels["group"]


def _chart(scenario: str, cells: Mapping[Cell, list[int]]) -> VegaChart:
    tiles: dict[str, list[Tile]] = {}
    for (model, of, persona, group), (stories, good, _) in cells.items():
        if of == scenario:
            rate = good / stories if stories else None
            tile = Tile(
                row=persona,
                column=group.replace("_", "\n"),
                value=rate,
                said="none" if rate is None else f"{rate:.0%}",
                below=f"{good} of {stories}",
            )
            tiles.setdefault(model, []).append(tile)
    panels = [Panel(title=model, tiles=each, shades=_RATE) for model, each in tiles.items()]
    of = "in all scenarios" if scenario == OVER_ALL else f"in the scenario “{scenario}”"
    return tile_chart(f"Pro-social outcomes by persona and group, {of}", panels, lines=_LINES)
