"""The documented charts: their files, what stands in their cells, and that they can be drawn."""

from __future__ import annotations

from typing import Any

import pytest

from ...charts import VegaChart
from ..published.aggregation import bias_tables
from ..published.charts import COLOURS, FOLDER, bias_charts
from .generated import Row, generated_rows


def charts(rows: list[Row]) -> dict[str, VegaChart]:
    """The charts without their folder, which all have."""
    found = bias_charts(bias_tables(rows))
    assert {name.rpartition("/")[0] for name in found} == {FOLDER}
    return {name.rpartition("/")[2]: chart for name, chart in found.items()}


def values(chart: VegaChart) -> list[dict[str, Any]]:
    (part,) = chart.body.get("concat", [chart.body])
    found: list[dict[str, Any]] = part["data"]["values"]
    return found


@pytest.mark.requirement("REC-34", "REC-35", "REC-36", "REC-37", "REC-39")
def test_the_documented_files_and_their_cells() -> None:
    specs = charts(generated_rows())
    styles = ("general", "popular", "engaging", "informative", "controversial", "neutral")
    sizes = {f"disaggregated_prompt_{style}": (16, 9) for style in styles}
    sizes |= {
        "aggregated_by_dataset": (16, 3),
        "aggregated_by_model": (16, 3),
        "aggregated_by_prompt": (16, 6),
    }
    assert list(specs) == [*sizes, "fully_aggregated"]
    for name, (rows, columns) in sizes.items():
        cells = values(specs[name])
        assert len(cells) == rows * columns
        assert len({cell["row"] for cell in cells}) == rows
        assert len({cell["column"] for cell in cells}) == columns
    assert values(specs["disaggregated_prompt_general"])[0]["column"] == "twitter\nopenai"
    assert len(values(specs["fully_aggregated"])) == 16


@pytest.mark.requirement("REC-35", "REC-36", "REC-37", "REC-38")
@pytest.mark.parametrize(
    ("chart", "level", "column", "conditions"),
    [
        ("dataset", "by_dataset", "dataset", 18),
        ("model", "by_provider", "provider", 18),
        ("prompt", "by_prompt_style", "prompt_style", 9),
    ],
)
def test_cells_print_value_and_marker(
    chart: str, level: str, column: str, conditions: int
) -> None:
    cells = getattr(bias_tables(generated_rows()), level)
    spec = charts(generated_rows())[f"aggregated_by_{chart}"]
    for cell, drawn in zip(cells, values(spec), strict=True):
        assert (drawn["row"], drawn["column"]) == (cell.feature, getattr(cell, column))
        assert drawn["value"] == cell.normalized_bias
        assert drawn["said"] == f"{cell.normalized_bias:.2f} {cell.marker}".strip()
        assert drawn["below"] == (f"{cell.failed} of {conditions} failed" if cell.failed else "")


@pytest.mark.requirement("REC-39")
def test_bars_are_as_long_as_the_bias_and_end_in_its_marker() -> None:
    chart = charts(generated_rows())["fully_aggregated"]
    for cell, bar in zip(bias_tables(generated_rows()).overall, values(chart), strict=True):
        assert (bar["feature"], bar["bias"]) == (cell.feature, cell.normalized_bias)
        printed = f"{cell.normalized_bias:.2f} {cell.marker}".strip()
        assert bar["said"].split(" (")[0] == printed
    across = chart.body["encoding"]["x"]
    assert (across["field"], across["scale"]["domain"]) == ("bias", [0, 1])
    assert chart.body["encoding"]["y"]["field"] == "feature"


@pytest.mark.requirement("REC-40")
def test_bars_have_the_documented_colours() -> None:
    assert list(COLOURS.values()) == ["darkred", "coral", "lightsalmon", "steelblue"]
    tables = bias_tables(generated_rows())
    drawn = values(charts(generated_rows())["fully_aggregated"])
    colours = [COLOURS[cell.marker] for cell in tables.overall]
    assert [bar["colour"] for bar in drawn] == colours
    assert set(colours) == set(COLOURS.values())


def few(metric: str) -> list[Row]:
    """Two features under two conditions; what is computed of one is said by ``metric``."""
    kept = [
        row
        for row in generated_rows()
        if row["feature"] in {"text_length", "has_url"}
        and (row["dataset"], row["prompt_style"]) == ("twitter", "general")
        and row["provider"] != "google"
    ]
    for row in kept:
        failed = row["feature"] == "has_url"
        row.update({"bias": 0.0, "p_value": 1.0, "significant": False} if failed else {})
        row["metric"] = metric if failed else "Cohen's d"
    return kept


@pytest.mark.requirement("REC-21")
def test_what_failed_is_shown_as_failed_and_not_as_0() -> None:
    specs = charts(few("insufficient_data"))
    single = values(specs["disaggregated_prompt_general"])
    failed = [cell for cell in single if cell["row"] == "has_url"]
    assert [(cell["said"], cell["value"]) for cell in failed] == [("failed", None)] * 2
    (pooled,) = (
        cell for cell in values(specs["aggregated_by_dataset"]) if cell["row"] == "has_url"
    )
    assert (pooled["said"], pooled["below"]) == ("failed", "all 2 conditions")
    (bar,) = (bar for bar in values(specs["fully_aggregated"]) if bar["feature"] == "has_url")
    assert bar["said"] == "failed (all 2 conditions)"
    assert bar["colour"] not in COLOURS.values()


def test_the_scale_says_what_it_shows() -> None:
    (panel,) = charts(few("Cramér's V"))["aggregated_by_dataset"].body["concat"]
    legend = panel["layer"][0]["encoding"]["fill"]["legend"]
    assert legend["title"] == ["normalised bias", "0 lowest, 1 highest"]


def test_long_names_of_models_have_room_beside_each_other() -> None:
    names = ("anthropic/claude-sonnet-4-20250514", "anthropic/claude-opus-4-20250514")
    named = dict(zip(("openai", "google"), names, strict=True))
    rows = [
        row | {"provider": named[row["provider"]]}
        for row in generated_rows()
        if row["provider"] in named
    ]
    specs = charts(rows)
    for name, chart in specs.items():
        if name.startswith("disaggregated") or name == "aggregated_by_model":
            assert chart.body["concat"][0]["width"]["step"] >= 7 * len(names[0])
    assert specs["aggregated_by_prompt"].body["concat"][0]["width"]["step"] < 7 * len(names[0])


def test_a_style_of_any_name_gives_a_file_in_the_folder() -> None:
    rows = [
        row | {"prompt_style": style}
        for style in ("../a b", "../a/b")
        for row in few("Cramér's V")
    ]
    assert list(charts(rows))[:2] == [
        "disaggregated_prompt____a_b",
        "disaggregated_prompt____a_b_",
    ]
