"""What is published under CC-BY-4.0: the files, and their numbers computed once more."""

from __future__ import annotations

import io
import itertools
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # ships no types
import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # ships no types

from pytest_bias import Record, Records
from pytest_bias.experiments.records import record_of

from ...charts import VegaChart
from ..experiment import LINGUISTIC_AUDIT
from ..exports import FACTORS, LICENCE, MEASURES, TERMS, export_files, replies_of, term_effects
from ..prompts import SEEDS
from .shipped import analysed, outcomes

MODELS = ("biased", "drifted", "even")
TERM_NAMES = [
    " x ".join(term) for size in (1, 2, 3) for term in itertools.combinations(FACTORS, size)
]


@cache
def of(subject: str) -> Records:
    measures = LINGUISTIC_AUDIT.measures
    return Records(tuple(record_of(each, measures) for each in outcomes(subject)))


@cache
def exported() -> Mapping[str, Any]:
    return export_files({f"simulated/{name}": of(name) for name in MODELS}).given


@cache
def terms() -> Any:
    return pd.read_csv(io.StringIO(exported()[TERMS])).set_index(["model", "measure", "term"])


@cache
def frame(subject: str) -> Any:
    rows = [
        {"seed": row.trial.item, **row.trial.condition.levels, **row.values}  # noqa: PD011
        for row in of(subject).rows
        if row.missing is None and row.trial.item in SEEDS
    ]
    table = pd.DataFrame(rows)
    for factor, (low, _) in FACTORS.items():
        table[f"sign {factor}"] = np.where(table[factor] == low, -1.0, 1.0)
    return table


@pytest.mark.requirement("AUDIT-32")
def test_the_files_and_their_licence() -> None:
    assert set(exported()) == {
        "LICENCE.txt",
        TERMS,
        "figures/terms",
        "figures/means_by_condition",
    }
    assert LICENCE == "CC-BY-4.0"
    assert LICENCE in exported()["LICENCE.txt"]
    for each in exported().values():
        assert isinstance(each, str) or each.licence == LICENCE
    assert len(terms()) == len(MODELS) * len(MEASURES) * 7


@pytest.mark.requirement("AUDIT-27", "AUDIT-28", "AUDIT-29")
@pytest.mark.parametrize("subject", MODELS)
@pytest.mark.parametrize("measure", MEASURES)
def test_terms_are_those_of_pandas_and_of_a_regression(subject: str, measure: str) -> None:
    table = frame(subject).astype({measure: float})
    means = table.groupby(["seed", *(f"sign {factor}" for factor in FACTORS)])[measure].mean()
    y = table[measure].to_numpy()
    columns = {"": np.ones(len(y))}
    for name in TERM_NAMES:
        signs = [table[f"sign {factor}"] for factor in name.split(" x ")]
        columns[name] = np.prod(np.array(signs), axis=0)
    x = np.column_stack(list(columns.values()))
    inverse = np.linalg.inv(x.T @ x)
    fitted = inverse @ x.T @ y
    variance = ((y - x @ fitted) ** 2).sum() / (len(y) - 8)
    for place, name in enumerate(TERM_NAMES, start=1):
        row = terms().loc[f"simulated/{subject}", measure, name]
        factors = name.split(" x ")
        sign = np.prod([means.index.get_level_values(f"sign {f}") for f in factors], axis=0)
        by_seed = (means * sign).groupby("seed").sum() / 2 ** (3 - len(factors))
        expected = stats.ttest_1samp(by_seed, 0).confidence_interval(0.95)
        assert row.estimate == pytest.approx(by_seed.mean(), abs=1e-9)
        assert (row.low, row.high) == pytest.approx((expected.low, expected.high), abs=1e-9)
        if measure != "is_refusal":
            f = fitted[place] ** 2 / (variance * inverse[place, place])
            p = stats.f.sf(f, 1, len(y) - 8)
            assert (row.statistic, row.p) == pytest.approx((f, p), rel=1e-6)
        elif len(factors) == 1:
            counts = pd.crosstab(table[name], table[measure])
            chi2, p, *_ = stats.chi2_contingency(counts, correction=False)
            assert (row.statistic, row.p) == pytest.approx((chi2, p), rel=1e-9)
        else:
            assert np.isnan(row.statistic)


@pytest.mark.requirement("AUDIT-24")
@pytest.mark.parametrize(
    ("verdict", "measure", "term"),
    [
        ("is_refusal-english", "is_refusal", "english"),
        ("is_refusal-articles", "is_refusal", "articles"),
        ("is_refusal-name_type-x-english", "is_refusal", "english x name_type"),
    ],
)
def test_what_the_hypotheses_ask_has_the_same_answer(
    verdict: str, measure: str, term: str
) -> None:
    (found,) = (each for each in analysed("even").verdicts if each.id == verdict)
    assert found.finding is not None
    row = terms().loc["simulated/even", measure, term]
    assert row.estimate == pytest.approx(found.finding.estimate, abs=1e-9)


@pytest.mark.requirement("AUDIT-26", "AUDIT-32")
def test_the_plots_show_what_the_table_says() -> None:
    chart = exported()["figures/terms"]
    assert isinstance(chart, VegaChart)
    assert len(chart.body["concat"]) == len(MEASURES)
    for part, measure in zip(chart.body["concat"], MEASURES, strict=True):
        assert len(part["data"]["values"]) == len(MODELS) * 7
        for value in part["data"]["values"]:
            row = terms().loc[value["model"], measure, value["term"].replace("×", "x")]
            drawn = (value["estimate"], value["low"], value["high"])
            assert drawn == pytest.approx((row.estimate, row.low, row.high), abs=1e-9)
    panels = exported()["figures/means_by_condition"].body["concat"]
    for panel in panels:
        for tile in panel["data"]["values"]:
            levels = tile["column"].replace(" ", "_").split("\n")
            some = frame(tile["row"].partition("/")[2])
            for factor, level in zip(FACTORS, levels, strict=True):
                some = some[some[factor] == level]
            mean = some[panel["title"]["text"]].astype(float).mean()
            assert tile["value"] == pytest.approx(mean, abs=1e-9)


def test_a_seed_without_a_reply_in_a_condition_is_left_out_and_counted() -> None:
    lost = Records(
        tuple(
            Record(row.trial, {}, "empty")
            if row.trial.item == "s01_rye_bread" and row.trial["english"] == "as written"
            else row
            for row in of("even").rows
        )
    )
    (first, *_) = term_effects("sentiment", replies_of(lost, "sentiment"))
    assert (first.seeds, first.left_out) == (24, 1)


def test_without_any_reply_nothing_is_estimated_and_nothing_is_0() -> None:
    for measure in MEASURES:
        for each in term_effects(measure, replies_of(Records(()), measure)):
            assert (each.estimate, each.low, each.statistic, each.p) == (None,) * 4
            assert (each.seeds, each.left_out, each.method) == (0, 25, "")
