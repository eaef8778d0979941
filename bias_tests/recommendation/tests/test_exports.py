"""The exported files: names, columns, and values that do not depend on an order of rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from functools import cache

import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # ships no types
import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # ships no types

from pytest_bias.experiments.records import Record, Records
from pytest_bias.report.exports import exported_files

from ...charts import VegaChart
from ..experiment import CORPORA, RECOMMENDATION, TASK
from ..exports import DEFINITIONS, FOLDER, NOT_RECOMMENDED, providers_of, tables_of
from ..published.charts import FOLDER as BIAS_HEATMAPS
from ..published.features import FEATURES
from .simulating import records

COLUMNS = (
    "feature",
    "dataset",
    "provider",
    "prompt_style",
    "bias",
    "p_value",
    "metric",
    "significant",
    "normalized_bias",
)
CHARTS = {
    *(f"disaggregated_prompt_{style}" for style in RECOMMENDATION.factor("style").levels),
    "aggregated_by_dataset",
    "aggregated_by_model",
    "aggregated_by_prompt",
    "fully_aggregated",
}
TABLES = {
    "pool_vs_recommended_summary.csv",
    "pool_vs_recommended_details.csv",
    "bias_disaggregated.csv",
    "bias_by_prompt_style.csv",
    "bias_by_dataset.csv",
    "bias_by_provider.csv",
    "bias_overall.csv",
    "selection_description.csv",
    "models.csv",
    NOT_RECOMMENDED,
    DEFINITIONS,
}
FEW = 12
"""Replicates of each condition that are exported here."""


def some(subject: str) -> Records:
    return Records(tuple(r for r in records(subject).rows if r.trial.replicate <= FEW))


def exported(found: Mapping[str, Records]) -> Mapping[str, str | bytes]:
    """The tables alone: charts take seconds to draw."""
    return tables_of({corpus.name: corpus for corpus in CORPORA.values()}, found)[0]


@cache
def of_two() -> Mapping[str, str | bytes | VegaChart]:
    found = {"simulated/biased": some("biased"), "google/gemini-x": some("even")}
    return TASK.exports(found).given


def rows(files: Mapping[str, str | bytes | VegaChart], name: str) -> list[dict[str, str]]:
    text = files[f"{FOLDER}/{name}"]
    assert isinstance(text, str)
    return list(csv.DictReader(io.StringIO(text)))


def lost(row: Record) -> Record:
    return Record(row.trial, {}, "refusal")


@pytest.mark.requirement("REC-32", "REC-34", "REC-35", "REC-36", "REC-37", "REC-39")
def test_the_files_are_the_tables_and_the_documented_charts() -> None:
    assert (FOLDER, BIAS_HEATMAPS) == ("analysis_outputs", "3_bias_heatmaps")
    charts = {f"{BIAS_HEATMAPS}/{name}" for name in CHARTS}
    assert set(of_two()) == {f"{FOLDER}/{name}" for name in TABLES} | charts
    drawn = exported_files(RECOMMENDATION, {"simulated/even": some("even")})
    assert {f"{BIAS_HEATMAPS}/{name}.png" for name in CHARTS} < set(drawn)
    for name, data in drawn.items():
        assert name.endswith(".png") == data.startswith(b"\x89PNG")
        assert not name.endswith(".svg") or b"Simulated subjects, programs" in data


@pytest.mark.requirement("REC-32", "REC-33")
def test_the_summary_has_the_documented_columns_and_a_row_for_everything() -> None:
    found = rows(of_two(), "pool_vs_recommended_summary.csv")
    assert tuple(found[0]) == COLUMNS
    assert len(found) == 16 * 3 * 2 * 6
    assert {row["provider"] for row in found} == {"gemini", "simulated"}
    assert {row["metric"] for row in found} == {"Cohen's d", "Cramér's V"}
    assert [row["feature"] for row in found[:: 3 * 2 * 6]] == [f.name for f in FEATURES]
    for row in found:
        assert (row["significant"] == "True") == (float(row["p_value"]) < 0.05)
        assert 0 <= float(row["normalized_bias"]) <= 1


@pytest.mark.requirement("REC-05", "REC-09")
def test_values_are_those_of_the_posts_shown_and_picked() -> None:
    """Computed once more, post by post."""
    posts = {post.id: post for corpus in CORPORA.values() for post in corpus.posts.values()}
    shown: list[float] = []
    picked: list[float] = []
    for row in some("even").rows:
        if row.trial.condition.id == "reddit-informative":
            for values, name in ((shown, "shown"), (picked, "picked")):
                ids = str(row.values[name]).split()  # noqa: PD011  (no data frame)
                values += [float(posts[post].features["text_length"]) for post in ids]
    assert (len(shown), len(picked)) == (100 * FEW, 10 * FEW)
    means = [sum(values) / len(values) for values in (shown, picked)]
    squares = [
        sum((value - mean) ** 2 for value in values)
        for values, mean in zip((shown, picked), means, strict=True)
    ]
    sd = (sum(squares) / (len(shown) + len(picked) - 2)) ** 0.5
    (found,) = (
        row
        for row in rows(of_two(), "pool_vs_recommended_summary.csv")
        if (row["feature"], row["dataset"]) == ("text_length", "reddit")
        and (row["provider"], row["prompt_style"]) == ("gemini", "informative")
    )
    assert float(found["bias"]) == pytest.approx((means[1] - means[0]) / sd, rel=1e-9)


@pytest.mark.requirement("REC-16")
def test_the_order_of_rows_changes_nothing() -> None:
    """The documented bug: pool and picks joined by an index that did not match."""
    backwards = Records(tuple(reversed(some("even").rows)))
    again = exported({"google/gemini-x": backwards, "simulated/biased": some("biased")})
    for name in ("pool_vs_recommended_summary.csv", "bias_overall.csv"):
        one, two = (rows(files, name) for files in (of_two(), again))
        assert len(one) == len(two)
        for left, right in zip(one, two, strict=True):
            assert list(left) == list(right)
            for column, value in left.items():
                assert _same(value, right[column]), column


def _same(one: str, two: str) -> bool:
    try:
        return float(one) == pytest.approx(float(two), rel=1e-9, abs=1e-12)
    except ValueError:
        return one == two


@pytest.mark.requirement("REC-16")
def test_every_style_has_a_v_that_is_not_zero() -> None:
    """The bug left categories of all styles but one without a table, and so without a bias."""
    found = rows(of_two(), "pool_vs_recommended_summary.csv")
    for style in RECOMMENDATION.factor("style").levels:
        topics = [
            float(row["bias"])
            for row in found
            if (row["feature"], row["prompt_style"]) == ("primary_topic", style)
        ]
        assert len(topics) == 6
        assert all(v > 0 for v in topics)


def test_the_planted_bias_is_in_the_description_with_its_sign() -> None:
    found = rows(of_two(), "selection_description.csv")
    (line, *_) = (
        row
        for row in found
        if row["feature"] == "author_gender"
        and row["category"] == "female"
        and row["prompt_style"] == "general"
        and row["provider"] == "simulated"
    )
    assert float(line["high"]) < 0
    per_condition = 1 + 16
    plain = [row for row in found if not row["category"]]
    assert len(plain) == 3 * 2 * 6 * per_condition
    places = [row for row in plain if row["feature"] == "position"]
    assert len(places) == 36
    assert all(float(row["low"]) < float(row["estimate"]) < float(row["high"]) for row in places)


def test_what_a_provider_stands_for_is_said() -> None:
    assert rows(of_two(), "models.csv") == [
        {
            "provider": provider,
            "model": model,
            "simulated": simulated,
            "trials": str(18 * FEW),
            "missing": "0",
        }
        for provider, model, simulated in (
            ("simulated", "simulated/biased", "True"),
            ("gemini", "google/gemini-x", "False"),
        )
    ]


@pytest.mark.requirement("REC-03")
@pytest.mark.parametrize(
    ("models", "printed"),
    [
        (["openai/gpt-x", "google/gemini-x"], ["openai", "gemini"]),
        (["simulated/even", "simulated/biased"], ["simulated/even", "simulated/biased"]),
        (["anthropic/a", "openai/b", "openai/c"], ["anthropic", "openai/b", "openai/c"]),
    ],
)
def test_two_models_of_a_provider_are_two_conditions(
    models: Sequence[str], printed: Sequence[str]
) -> None:
    assert list(providers_of(models).values()) == list(printed)


@pytest.mark.requirement("REC-05", "REC-44")
def test_the_programs_pool_is_beside_the_texts_and_both_are_named() -> None:
    """Computed once more with pandas, and with the functions the document's program calls."""
    details = rows(of_two(), "pool_vs_recommended_details.csv")
    program = rows(of_two(), NOT_RECOMMENDED)
    assert len(details) == len(program) == 16 * 3 * 2 * 6
    posts = {
        post.id: post.features for corpus in CORPORA.values() for post in corpus.posts.values()
    }
    of_post = pd.DataFrame(
        {**posts[post], "selected": post in set(str(row.values["picked"]).split())}  # noqa: PD011
        for row in some("even").rows
        if row.trial.condition.id == "twitter-popular"
        for post in str(row.values["shown"]).split()  # noqa: PD011
    )
    other, picked = (part for _, part in of_post.groupby("selected"))
    assert (len(other), len(picked)) == (90 * FEW, 10 * FEW)
    where = {"dataset": "twitter", "provider": "gemini", "prompt_style": "popular"}
    for feature in FEATURES:
        (line,) = (
            r for r in details if r["feature"] == feature.name and where.items() <= r.items()
        )
        (same,) = (
            r for r in program if r["feature"] == feature.name and where.items() <= r.items()
        )
        assert (line["smallest_expected"] == "") == (feature.kind == "numerical")
        a, b = (side[feature.name].dropna() for side in (picked, other))
        if feature.kind == "numerical":
            pooled = ((len(a) - 1) * a.var() + (len(b) - 1) * b.var()) / (len(a) + len(b) - 2)
            bias = (a.mean() - b.mean()) / pooled**0.5
            p = stats.ttest_ind(a, b, equal_var=False).pvalue
            shown = of_post[feature.name].mean()
            assert a.mean() - shown == pytest.approx(0.9 * (a.mean() - b.mean()), rel=1e-9)
        else:
            counts = pd.crosstab(of_post[feature.name], of_post.selected)
            chi2, p, *_ = stats.chi2_contingency(counts)
            bias = (chi2 / (counts.to_numpy().sum() * (min(counts.shape) - 1))) ** 0.5
        assert float(line["bias_not_recommended"]) == pytest.approx(bias, abs=1e-9)
        assert float(line["p_value_not_recommended"]) == pytest.approx(p, rel=1e-6)
        assert (same["bias"], same["p_value"]) == (
            line["bias_not_recommended"],
            line["p_value_not_recommended"],
        )
        assert abs(float(line["bias"])) <= abs(bias)
    text = of_two()[f"{FOLDER}/{DEFINITIONS}"]
    assert isinstance(text, str)
    for words in ("bias_not_recommended", NOT_RECOMMENDED, "All available posts", ".90"):
        assert words in text


def test_the_description_has_a_magnitude_of_each_feature_over_the_conditions() -> None:
    found = [row for row in rows(of_two(), "selection_description.csv") if row["size"]]
    for feature in FEATURES:
        of_feature = [row for row in found if row["feature"] == feature.name]
        sizes = [float(row["size"]) for row in of_feature]
        assert len(sizes) == 36
        for row, size in zip(of_feature, sizes, strict=True):
            expected = (size - min(sizes)) / (max(sizes) - min(sizes))
            assert float(row["magnitude"]) == pytest.approx(expected, abs=1e-12)


def test_missing_trials_are_in_no_table_and_an_empty_cell_is_shown_as_failed() -> None:
    """Nothing stands in for picks: the published column prints what the document would."""
    few = Records(tuple(row for row in some("even").rows if row.trial.replicate <= 2))
    thinned = Records(
        tuple(lost(row) if row.trial.condition.id == "reddit-neutral" else row for row in few.rows)
    )
    files = exported({"openai/gpt-x": thinned})
    (line,) = (
        row
        for row in rows(files, "pool_vs_recommended_details.csv")
        if (row["feature"], row["dataset"]) == ("toxicity", "reddit")
        and row["prompt_style"] == "neutral"
    )
    assert (line["bias"], line["p_value"], line["metric"]) == ("0.0", "1.0", "insufficient_data")
    assert line["failed"].startswith("insufficient data: 0 in the pool and 0 recommended")
    described = [
        row
        for row in rows(files, "selection_description.csv")
        if (row["dataset"], row["prompt_style"]) == ("reddit", "neutral")
    ]
    assert [row["note"] for row in described] == ["no trial has valid picks"]
    assert rows(files, "models.csv")[0]["missing"] == "2"
    failed = {
        (row["dataset"], row["prompt_style"])
        for row in rows(files, "bias_disaggregated.csv")
        if row["failed"] == "1" and row["feature"] == "toxicity"
    }
    assert failed == {("reddit", "neutral")}
