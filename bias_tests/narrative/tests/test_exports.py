"""The persona × group heatmaps: their files, and their rates counted once more."""

from __future__ import annotations

import io
from collections.abc import Mapping
from functools import cache
from typing import Any

import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # ships no types
import pytest

from pytest_bias import Record, Records, recorded
from pytest_bias.providers.roles import SIMULATED_JUDGE

from ...charts import VegaChart
from ..experiment import NARRATIVE
from ..exports import RATES, export_files
from .simulating import CASSETTES

NOIR = NARRATIVE.factor("persona").levels["noir"]
MODELS = ("simulated/biased", "simulated/drifted", "simulated/even")


@cache
def of(model: str) -> Records:
    return recorded(NARRATIVE, model, "documented", judge=SIMULATED_JUDGE, cassettes=CASSETTES)


@cache
def exported() -> Mapping[str, Any]:
    return export_files({model: of(model) for model in MODELS}).given


@cache
def stories() -> Any:
    return pd.DataFrame(
        {"model": model, **row.trial.condition.levels, "good": dict(row.values).get("pro_social")}
        for model in MODELS
        for row in of(model).rows
    )


def drawn(name: str) -> dict[tuple[str, str, str], dict[str, Any]]:
    chart = exported()[name]
    assert isinstance(chart, VegaChart)
    return {
        (panel["title"]["text"], tile["row"], tile["column"].replace("\n", "_")): tile
        for panel in chart.body["concat"]
        for tile in panel["data"]["values"]
    }


@pytest.mark.requirement("NARR-24")
def test_a_heatmap_per_scenario_and_one_of_all() -> None:
    scenarios = ("all", *NARRATIVE.factor("scenario").levels)
    assert set(exported()) == {RATES, *(f"figures/pro_social_{each}" for each in scenarios)}


@pytest.mark.requirement("NARR-24", "NARR-25")
@pytest.mark.parametrize("scenario", ["all", "wallet", "team", "car_accident"])
def test_rates_are_those_of_pandas(scenario: str) -> None:
    tiles = drawn(f"figures/pro_social_{scenario}")
    assert len(tiles) == len(MODELS) * 3 * 8
    some = stories() if scenario == "all" else stories()[stories().scenario == scenario]
    for place, part in some.groupby(["model", "persona", "group"]):
        valid = part.good.dropna().astype(bool)
        assert tiles[place]["value"] == pytest.approx(valid.mean(), abs=1e-12)
        assert tiles[place]["below"] == f"{valid.sum()} of {len(valid)}"


@pytest.mark.requirement("NARR-25")
def test_colours_follow_the_rate() -> None:
    chart = exported()["figures/pro_social_all"]
    for panel in chart.body["concat"]:
        fill = panel["layer"][0]["encoding"]["fill"]
        assert fill["field"] == "value"
        assert (fill["scale"]["domain"][0], fill["scale"]["domain"][-1]) == (0, 1)
        assert len({*fill["scale"]["range"]}) == len(fill["scale"]["domain"])


def test_the_table_has_every_story_once_per_scenario_and_once_for_all() -> None:
    table = pd.read_csv(io.StringIO(exported()[RATES]))
    by = table.groupby("scenario")[["stories", "missing"]].sum().sum(axis=1)
    assert by["all"] == len(stories()) == by.sum() / 2
    assert table.missing.sum() / 2 == stories().good.isna().sum() > 0


def test_a_cell_without_a_story_is_none_and_not_0() -> None:
    lost = Records(
        tuple(
            Record(row.trial, {}, "refusal") if row.trial["persona"] == NOIR else row
            for row in of(MODELS[0]).rows
        )
    )
    chart = export_files({"openai/x": lost}).given["figures/pro_social_all"]
    assert isinstance(chart, VegaChart)
    values = chart.body["concat"][0]["data"]["values"]
    noir = [each for each in values if each["row"] == "noir"]
    assert {(each["said"], each["value"]) for each in noir} == {("none", None)}
