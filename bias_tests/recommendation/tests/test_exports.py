"""The exported files: names, columns, and values that do not depend on an order of rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from functools import cache

import pytest

from pytest_bias import VegaChart
from pytest_bias.experiments.records import Record, Records

from ..experiment import CORPORA, RECOMMENDATION
from ..exports import SIMULATED, note_on, providers_of, tables_of
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
    *(f"disaggregated_prompt_{style}.png" for style in RECOMMENDATION.factor("style").levels),
    "aggregated_by_dataset.png",
    "aggregated_by_model.png",
    "aggregated_by_prompt.png",
    "fully_aggregated.png",
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
    assert RECOMMENDATION.exports is not None
    return RECOMMENDATION.exports(
        {"simulated/biased": some("biased"), "google/gemini-x": some("even")}
    )


def rows(files: Mapping[str, str | bytes | VegaChart], name: str) -> list[dict[str, str]]:
    text = files[name]
    assert isinstance(text, str)
    return list(csv.DictReader(io.StringIO(text)))


def lost(row: Record) -> Record:
    return Record(row.trial, {}, "refusal")


def test_the_files_are_the_tables_and_the_documented_charts() -> None:
    assert set(of_two()) == TABLES | CHARTS
    for name in CHARTS:
        data = of_two()[name]
        assert isinstance(data, bytes)
        assert data.startswith(b"\x89PNG")


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


def test_values_are_those_of_the_posts_shown_and_picked() -> None:
    """Computed once more, post by post."""
    posts = {post.id: post for corpus in CORPORA.values() for post in corpus.posts.values()}
    shown: list[float] = []
    picked: list[float] = []
    for row in some("even").rows:
        if row.trial.condition.id == "reddit-informative":
            for values, name in ((shown, "shown"), (picked, "picked")):
                ids = str(row.values[name]).split()
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


def test_charts_say_which_subjects_are_programs() -> None:
    assert note_on({"openai/a": "openai", "google/b": "gemini"}) == ""
    assert note_on({"simulated/even": "simulated"}) == SIMULATED
    note = note_on({"simulated/even": "simulated", "openai/a": "openai"})
    assert note.startswith("Programs, not models: simulated. ")
    assert "nothing here says anything about a model" not in note


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
