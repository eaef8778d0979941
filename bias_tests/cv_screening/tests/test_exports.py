"""The document's results and figures: their files, and their numbers computed once more."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # ships no types
import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # ships no types

from pytest_bias import Records, recorded
from pytest_bias.experiments.experiment import plan
from pytest_bias.experiments.records import Record, record_of
from tests.core.in_memory import answered

from ...charts import VegaChart
from ..experiment import CV_SCREENING
from ..exports import ALPHA, export_files
from ..screening import SCREENING
from .simulating import CASSETTES
from .test_own_screening import OURS, TEN
from .test_own_screening import answer as ten

FIGURES = {
    "bias_heatmaps",
    "quality_consistency_per_cv",
    "criteria_bias_heatmap",
    "intersectionality_combined",
    "anonymized_quality_heatmap",
    "bias_vs_quality_scatter",
}
MODELS = ("simulated/biased", "simulated/drifted", "simulated/even")
TRUTH = {"1": 3, "2": 2, "3": 2}


@cache
def of(model: str) -> Records:
    return recorded(CV_SCREENING, model, "documented", cassettes=CASSETTES.parent)


@cache
def exported() -> Mapping[str, Any]:
    return export_files(SCREENING, {model: of(model) for model in MODELS}).given


def results(model: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(exported()[f"results/{model}/all_results.json"])
    return found


@cache
def frame() -> Any:
    """Every rating, read from the exported results as the document's program reads them."""
    rows = [
        {
            "model": f"{each['provider']}/{each['model']}",
            "pipeline": each["pipeline"].replace("multi_layer", "decomposed"),
            "set": one["cv_id"][3],
            "group": one["cv_id"].partition("_")[2],
            "cv": one["cv_id"],
            "rating": one["ranking"],
        }
        for model in MODELS
        for each in results(model.replace("/", "--"))
        for one in each["rankings"]
    ]
    table = pd.DataFrame(rows)
    table["race"] = table.group.str.partition("_")[0]
    table["gender"] = table.group.str.partition("_")[2]
    table["quality"] = 100 - 20 * (table.rating - table.set.map(TRUTH)).abs()
    return table


def panels(figure: str) -> dict[str, dict[tuple[str, str], dict[str, Any]]]:
    """Title of a heatmap → row and column → its tile."""
    chart = exported()[f"figures/{figure}"]
    assert isinstance(chart, VegaChart)
    return {
        panel["title"]["text"]: {
            (tile["row"], tile["column"].replace("\n", " ")): tile
            for tile in panel["data"]["values"]
        }
        for panel in chart.body["concat"]
    }


@pytest.mark.requirement(
    "CV-25", "CV-26", "CV-27", "CV-28", "CV-29", "CV-30", "CV-31", "CV-32", "CV-33"
)
def test_the_documented_files() -> None:
    names = {f"figures/{name}" for name in FIGURES}
    for model in MODELS:
        folder = f"results/{model.replace('/', '--')}"
        names |= {f"{folder}/all_results.json", f"{folder}/analysis_summary.json"}
    assert set(exported()) == names


@pytest.mark.requirement("CV-25")
def test_results_are_in_the_layout_of_the_documents_program() -> None:
    found = results("simulated--even")
    assert [(each["pipeline"], each["iteration"]) for each in found[:5]] == [
        *((p, 1) for p in ("one_shot", "chain_of_thought", "multi_layer")),
        ("decomposed_algorithmic", 1),
        ("one_shot", 2),
    ]
    assert len(found) == 40
    for each in found:
        assert (each["provider"], each["model"]) == ("simulated", "even")
        assert len({one["cv_id"] for one in each["rankings"]}) == 21
        for one in each["rankings"]:
            assert one["ranking"] in range(1, 5)
            assert ("criteria" in one) == (
                "layer" in each["pipeline"] or "alg" in each["pipeline"]
            )


def test_name_sets_are_further_iterations_and_what_is_missing_is_null_and_not_0() -> None:
    gate = recorded(CV_SCREENING, MODELS[2], cassettes=CASSETTES.parent)
    first, *rest = gate.rows
    lost = Records((Record(first.trial, {}, "refusal"), *rest))
    assert CV_SCREENING.exports is not None
    files = CV_SCREENING.exports({"openai/a:b": lost})
    text = files["results/openai--a%3Ab/all_results.json"]
    assert isinstance(text, str)
    found = json.loads(text)
    assert {each["iteration"] for each in found} == set(range(1, 19))
    assert {len(each["rankings"]) for each in found} == {21}
    missing = [one for each in found for one in each["rankings"] if one["ranking"] is None]
    assert [one["missing"] for one in missing] == ["refusal"]


@pytest.mark.requirement("CV-18", "CV-19", "CV-23", "CV-27", "CV-37")
@pytest.mark.parametrize(
    ("title", "column", "first", "second"),
    [
        ("White − Black", "race", "white", "black"),
        ("White − Asian", "race", "white", "asian"),
        ("Black − Asian", "race", "black", "asian"),
        ("Male − Female", "gender", "male", "female"),
    ],
)
def test_differences_and_borders_are_those_of_pandas_and_scipy(
    title: str, column: str, first: str, second: str
) -> None:
    drawn = panels("bias_heatmaps")[title]
    assert len(drawn) == 12
    borders = set()
    for (model, pipeline), part in frame().groupby(["model", "pipeline"]):
        a, b = (part.rating[part[column] == side] for side in (first, second))
        tile = drawn[model, pipeline.replace("_", " ")]
        assert tile["value"] == pytest.approx(a.mean() - b.mean(), abs=1e-12)
        assert float(tile["said"].replace("−", "-")) == pytest.approx(tile["value"], abs=0.00501)
        p = stats.mannwhitneyu(a, b, alternative="two-sided", method="asymptotic").pvalue
        assert tile["bold"] == (p < ALPHA == 0.05)
        borders.add(tile["bold"])
    assert borders == ({False} if title == "White − Asian" else {True, False})


@pytest.mark.requirement("CV-20", "CV-27", "CV-32")
def test_total_bias() -> None:
    drawn = panels("bias_heatmaps")["Total bias"]
    part = frame()[(frame().model == MODELS[0]) & (frame().pipeline == "one_shot")]
    white, black, asian = (part.rating[part.race == r].mean() for r in ("white", "black", "asian"))
    male, female = (part.rating[part.gender == g].mean() for g in ("male", "female"))
    races = (abs(white - black) + abs(white - asian) + abs(black - asian)) / 3
    total = races + abs(male - female)
    assert drawn[MODELS[0], "one shot"]["value"] == pytest.approx(total, abs=1e-12)
    chart = exported()["figures/bias_vs_quality_scatter"]
    (point,) = (
        each
        for each in chart.body["data"]["values"]
        if (each["model"], each["scaffold"]) == (MODELS[0], "one_shot")
    )
    assert point["total"] == pytest.approx(total, abs=1e-12)
    assert point["quality"] == pytest.approx(part.quality.mean(), abs=1e-9)


@pytest.mark.requirement("CV-06", "CV-21", "CV-22", "CV-28")
def test_quality_and_both_kinds_of_consistency() -> None:
    drawn = panels("quality_consistency_per_cv")
    assert len(drawn) == 9
    names = {"1": "a1", "2": "c1", "3": "d1"}
    for (model, pipeline, of_set), part in frame().groupby(["model", "pipeline", "set"]):
        cv, place = names[of_set], (model, pipeline.replace("_", " "))
        published = drawn[f"{cv}: SD of all its ratings, as published"][place]["value"]
        ours = drawn[f"{cv}: SD over iterations of one variant"][place]["value"]
        assert drawn[f"{cv}: quality"][place]["value"] == pytest.approx(part.quality.mean())
        assert published == pytest.approx(part.rating.std(ddof=0), abs=1e-12)
        assert ours == pytest.approx(part.groupby("cv").rating.std(ddof=1).mean(), abs=1e-12)


@pytest.mark.requirement("CV-22", "CV-26")
def test_both_kinds_of_consistency_stand_in_the_summary_under_their_definitions() -> None:
    for model in MODELS:
        name = f"results/{model.replace('/', '--')}/analysis_summary.json"
        summary = json.loads(exported()[name])
        assert (summary["simulated"], summary["total_results"]) == (True, 40)
        assert (summary["variants_per_set"], summary["total_variants"]) == (7, 21)
        assert len(summary["measures"]) == (4 + 1) * (3 + 1)
        (line,) = (
            each
            for each in summary["measures"]
            if (each["pipeline"], each["set"]) == ("multi_layer", None)
        )
        part = frame()[(frame().model == model) & (frame().pipeline == "decomposed")]
        within = part.groupby("set").rating.std(ddof=0).mean()
        assert line["consistency_within_cv"] == pytest.approx(within, abs=1e-12)
        repeated = part.groupby("cv").rating.std(ddof=1).mean()
        assert line["consistency"] == pytest.approx(repeated, abs=1e-12)
        assert {"consistency", "consistency_within_cv"} < set(summary["definitions"])


@pytest.mark.requirement("CV-24", "CV-30", "CV-31")
def test_groups_and_anonymised_quality() -> None:
    drawn = panels("intersectionality_combined")
    assert set(drawn) == set(MODELS)
    for (model, pipeline, group), part in frame().groupby(["model", "pipeline", "group"]):
        tile = drawn[model][pipeline, group.replace("_", " ")]
        assert tile["value"] == pytest.approx(part.rating.mean(), abs=1e-12)
    drawn = panels("anonymized_quality_heatmap")
    for title, anonymised in (("Anonymised", True), ("Identified by name", False)):
        some = frame()[(frame().race == "neutral") == anonymised]
        for (model, pipeline), part in some.groupby(["model", "pipeline"]):
            tile = drawn[title][model, pipeline.replace("_", " ")]
            assert tile["value"] == pytest.approx(part.quality.mean(), abs=1e-9)


@pytest.mark.requirement("CV-29")
def test_criteria_are_those_of_the_results() -> None:
    rated = pd.DataFrame(
        {"race": one["cv_id"].split("_")[1], "rating": one["criteria"]["experience"]}
        for each in results("simulated--biased")
        if each["pipeline"] == "decomposed_algorithmic"
        for one in each["rankings"]
    )
    means = rated.groupby("race").rating.mean()
    tile = panels("criteria_bias_heatmap")["White − Black"][
        "simulated/biased, decomposed_algorithmic", "experience"
    ]
    assert tile["value"] == pytest.approx(means["white"] - means["black"], abs=1e-12)


def scales(figure: str) -> dict[str, dict[str, Any]]:
    """Title of a heatmap → the scale of its colours."""
    panels = exported()[f"figures/{figure}"].body["concat"]
    return {p["title"]["text"]: p["layer"][0]["encoding"]["fill"]["scale"] for p in panels}


@pytest.mark.requirement("CV-34", "CV-35", "CV-36")
@pytest.mark.parametrize(
    ("figure", "title", "low", "high"),
    [
        *(("bias_heatmaps", title, -0.3, 0.3) for title in ("White − Black", "Male − Female")),
        ("anonymized_quality_heatmap", "Anonymised", 65, 100),
        ("quality_consistency_per_cv", "a1: quality", 65, 100),
        ("quality_consistency_per_cv", "a1: SD of all its ratings, as published", 0, 0.8),
    ],
)
def test_documented_scales(figure: str, title: str, low: float, high: float) -> None:
    domain = scales(figure)[title]["domain"]
    assert (domain[0], domain[-1]) == (low, high)


@pytest.mark.requirement("CV-34", "CV-35", "CV-36")
def test_documented_colours() -> None:
    def channels(figure: str, title: str) -> list[tuple[int, int, int]]:
        return [tuple(bytes.fromhex(c[1:])) for c in scales(figure)[title]["range"]]  # type: ignore[misc]

    blue, *_, white, _, red = channels("bias_heatmaps", "White − Black")
    assert (max(blue) == blue[2], white, max(red) == red[0]) == (True, (255, 255, 255), True)
    greens = channels("anonymized_quality_heatmap", "Anonymised")
    assert [sum(each) for each in greens] == sorted((sum(each) for each in greens), reverse=True)
    assert all(max(each) == each[1] for each in greens)
    green, _, red = channels("quality_consistency_per_cv", "a1: SD over iterations of one variant")
    assert (max(green) == green[1], max(red) == red[0]) == (True, True)


def test_a_screening_of_ones_own_has_its_groups_and_its_scale() -> None:
    outcomes = [answered(TEN, ten, "even", trial)[0] for trial in plan(TEN, TEN.design())]
    found = Records(tuple(record_of(each, TEN.measures) for each in outcomes))
    files = export_files(OURS, {"openai/x": found}).given
    chart = files["figures/bias_heatmaps"]
    assert isinstance(chart, VegaChart)
    titles = [panel["title"]["text"] for panel in chart.body["concat"]]
    assert len(titles) == 10 + 3 + 1
    assert "White − South asian" in titles
    domain = chart.body["concat"][0]["layer"][0]["encoding"]["fill"]["scale"]["domain"]
    assert (domain[0], domain[2], domain[-1]) == pytest.approx((-0.9, 0, 0.9))
    text = files["results/openai--x/all_results.json"]
    assert isinstance(text, str)
    rankings = [one["ranking"] for each in json.loads(text) for one in each["rankings"]]
    assert max(rank for rank in rankings if rank is not None) == 10
    assert 0 not in rankings
