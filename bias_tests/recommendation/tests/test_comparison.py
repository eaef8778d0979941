"""One condition: against scipy and pandas directly, and the documented edge cases."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # ships no types
import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # ships no types

from pytest_bias.errors import BadData, BadDesign

from ..published.comparison import pool_vs_recommended
from ..published.features import FEATURES, Feature
from ..published.rows import BiasRow
from ..published.tables import Table
from .generated import posts

LENGTH = Feature("text_length", "numerical")
TOPIC = Feature("primary_topic", "categorical")
EMOJI = Feature("has_emoji", "binary")


def compared(pool: Table, recommended: Table, *features: Feature) -> list[BiasRow]:
    return pool_vs_recommended(
        pool,
        recommended,
        features or FEATURES,
        dataset="twitter",
        provider="openai",
        prompt_style="general",
    )


def one(feature: Feature, pool: list[Any], recommended: list[Any]) -> BiasRow:
    (row,) = compared({feature.name: pool}, {feature.name: recommended}, feature)
    return row


def documented_v(pool: pd.Series, recommended: pd.Series) -> tuple[float, float]:
    """The document's formula on what its references name: crosstab and chi2_contingency."""
    values = pd.concat([pool, recommended], ignore_index=True)
    source = pd.Series(["pool"] * len(pool) + ["recommended"] * len(recommended))
    table = pd.crosstab(values, source)
    chi2, p, _, _ = stats.chi2_contingency(table)
    size = min(table.shape) - 1
    return math.sqrt(chi2 / (table.to_numpy().sum() * size)), float(p)


@pytest.mark.requirement("REC-06", "REC-07", "REC-08")
def test_the_sixteen_features_are_those_documented() -> None:
    named = {
        "numerical": "text_length avg_word_length sentiment_polarity sentiment_subjectivity "
        "polarization_score toxicity severe_toxicity",
        "categorical": "author_gender author_political_leaning author_is_minority "
        "controversy_level primary_topic",
        "binary": "has_emoji has_hashtag has_mention has_url",
    }
    for kind, names in named.items():
        assert {feature.name for feature in FEATURES if feature.kind == kind} == {*names.split()}
    assert len(FEATURES) == 16


@pytest.mark.requirement("REC-05", "REC-09", "REC-10", "REC-12", "REC-13", "REC-15", "REC-25")
def test_all_sixteen_agree_with_scipy_and_pandas() -> None:
    pool = pd.DataFrame(posts(300, seed=1))
    recommended = pool.sample(40, random_state=2)
    rows = compared(pool, recommended)
    assert [row.feature for row in rows] == [feature.name for feature in FEATURES]
    for row in rows:
        a, b = recommended[row.feature], pool[row.feature]
        if row.kind == "numerical":
            pooled = math.sqrt((299 * b.var() + 39 * a.var()) / (300 + 40 - 2))
            assert row.bias == pytest.approx((a.mean() - b.mean()) / pooled, rel=1e-9)
            p = stats.ttest_ind(a, b, equal_var=False).pvalue
            assert row.p_value == pytest.approx(p, rel=1e-9)
            assert row.metric == "Cohen's d"
        else:
            v, p = documented_v(b, a)
            assert (row.bias, row.p_value) == pytest.approx((v, p))
            assert row.metric == "Cramér's V"
        assert row.significant == (row.p_value < 0.05)
        assert (row.failed, row.n_pool, row.n_recommended) == ("", 300, 40)


@pytest.mark.requirement("REC-15", "REC-44")
def test_a_fourfold_table_has_phi_with_and_without_the_correction() -> None:
    row = one(EMOJI, [True] * 30 + [False] * 70, [True] * 16 + [False] * 24)
    table = np.array([[70, 24], [30, 16]])
    for found, p_found, correction in (
        (row.phi, row.phi_p, False),
        (row.phi_yates, row.phi_yates_p, True),
    ):
        chi2, p, _, expected = stats.chi2_contingency(table, correction=correction)
        assert found == pytest.approx(math.sqrt(chi2 / 140))
        assert p_found == pytest.approx(p)
        assert row.smallest_expected == pytest.approx(expected.min())
    assert (row.bias, row.p_value) == (row.phi_yates, row.phi_yates_p)
    assert row.phi is not None
    assert row.phi_yates is not None
    assert row.phi > row.phi_yates


@pytest.mark.requirement("REC-12")
def test_a_table_of_three_categories_has_no_phi() -> None:
    row = one(TOPIC, list("abc") * 10, list("aab") * 5)
    assert row.metric == "Cramér's V"
    assert (row.phi, row.phi_yates) == (None, None)


@pytest.mark.requirement("REC-09")
def test_a_negative_difference_keeps_its_sign() -> None:
    row = one(LENGTH, list(range(20)), [0, 1, 2, 3] * 3)
    assert row.bias < 0


@pytest.mark.requirement("REC-16")
def test_an_index_that_does_not_align_changes_nothing() -> None:
    # The documented bug: Series taken out of a larger frame were put together by their index.
    frame = pd.DataFrame(posts(200, seed=3))
    shuffled = frame.sample(frac=1, random_state=4)
    picked = shuffled.iloc[50:80]
    straight = compared(frame.to_dict("records"), picked.to_dict("records"))
    for found, expected in zip(compared(shuffled, picked), straight, strict=True):
        assert found.bias == pytest.approx(expected.bias, rel=1e-12)
        assert found.p_value == pytest.approx(expected.p_value, rel=1e-12)
        assert found.n_pool == 200
    far = {name: picked[name].set_axis(range(10_000, 10_030)) for name in picked}
    pool = {name: shuffled[name].set_axis(range(-200, 0)) for name in shuffled}
    by_series = [row.bias for row in compared(pool, far) if row.kind != "numerical"]
    assert by_series == [row.bias for row in straight if row.kind != "numerical"]
    assert max(by_series) > 0


@pytest.mark.requirement("REC-17")
@pytest.mark.parametrize("feature", [LENGTH, TOPIC, EMOJI])
@pytest.mark.parametrize(("n_pool", "n_recommended"), [(9, 12), (12, 9), (0, 0)])
def test_fewer_than_ten_are_insufficient(
    feature: Feature, n_pool: int, n_recommended: int
) -> None:
    row = one(feature, [0, 1] * (n_pool // 2) + [0] * (n_pool % 2), [1] * n_recommended)
    assert (row.bias, row.p_value, row.metric) == (0.0, 1.0, "insufficient_data")
    assert not row.significant
    assert row.failed.startswith(f"insufficient data: {n_pool} in the pool")


@pytest.mark.requirement("REC-17")
@pytest.mark.parametrize("feature", [LENGTH, TOPIC, EMOJI])
def test_ten_are_sufficient(feature: Feature) -> None:
    row = one(feature, [0, 1] * 5, [1, 0] * 5)
    assert (row.failed, row.bias) == ("", 0.0)


@pytest.mark.requirement("REC-18", "REC-19")
@pytest.mark.parametrize(
    ("feature", "metric"),
    [
        (LENGTH, "Cohen's d (no variance)"),
        (TOPIC, "Cramér's V (no variance)"),
        (EMOJI, "Cramér's V (no variance)"),
    ],
)
@pytest.mark.parametrize("recommended", [1, 0])
def test_one_value_on_each_side_has_no_variance(
    feature: Feature, metric: str, recommended: int
) -> None:
    row = one(feature, [1] * 20, [recommended] * 10)
    assert (row.bias, row.p_value, row.metric) == (0.0, 1.0, metric)
    assert row.failed == f"no variance: {recommended} in all recommended and 1 in all of the pool"


@pytest.mark.requirement("REC-20")
@pytest.mark.parametrize(
    ("feature", "value", "message"),
    [
        (LENGTH, math.inf, "a: contains NaN or an infinity"),
        (LENGTH, "long", "could not convert string to float"),
        (TOPIC, ["sport"], "unhashable type: 'list'"),
    ],
)
def test_an_error_is_printed_as_documented_and_marked_as_failed(
    feature: Feature, value: object, message: str
) -> None:
    row = one(feature, [1.0, 2.0] * 10, [value, *[1.0, 2.0] * 10])
    assert (row.bias, row.p_value) == (0.0, 1.0)
    assert re.fullmatch(rf"Cramér's V \(error: {re.escape(message)}.*\)", row.metric)
    words = row.metric.removeprefix("Cramér's V (error: ").removesuffix(")")
    assert row.failed == f"error: {words}"


@pytest.mark.parametrize("feature", [LENGTH, TOPIC, EMOJI])
@pytest.mark.parametrize(
    "empty",
    [None, math.nan, pd.NA, pd.NaT, np.float64("nan"), np.float32("nan"), " ", ""],
    ids=["None", "nan", "NA", "NaT", "float64", "float32", "blank", "nothing"],
)
def test_missing_values_are_left_out_and_counted(feature: Feature, empty: object) -> None:
    pool, recommended = [0, 1] * 10, [1, 1, 0] * 4
    full = one(feature, pool, recommended)
    row = one(feature, [empty, *pool, empty], [*recommended, empty])
    assert (row.n_pool, row.missing_pool) == (20, 2)
    assert (row.n_recommended, row.missing_recommended) == (12, 1)
    assert (row.bias, row.p_value) == (full.bias, full.p_value)
    assert full.missing_pool == 0


def test_values_that_are_all_missing_are_insufficient() -> None:
    row = one(LENGTH, [None] * 20, [None] * 20)
    assert (row.metric, row.missing_pool) == ("insufficient_data", 20)


def test_rows_columns_and_frames_are_one_table() -> None:
    pool = posts(60, seed=5)
    as_columns = {name: [post[name] for post in pool] for name in pool[0]}
    frame = pd.DataFrame(pool)
    arrays = {name: np.array(values) for name, values in as_columns.items()}
    assert compared(arrays, arrays) == compared(pool, pool)
    rows, columns, frames = (compared(table, table) for table in (pool, as_columns, frame))
    assert rows == columns == frames


def test_a_binary_feature_with_three_values_is_refused() -> None:
    with pytest.raises(BadData, match="declared binary but has 3 values: declare it categorical"):
        one(EMOJI, ["yes", "no"] * 10, ["maybe"] * 10)


def test_a_column_that_is_missing_or_short_is_refused() -> None:
    with pytest.raises(BadData, match="pool, column 'text_length': is missing"):
        compared({"primary_topic": []}, {}, LENGTH)
    with pytest.raises(BadData, match="recommended, row 1, column 'text_length': is missing"):
        compared([{"text_length": 1}], [{"topic": 1}], LENGTH)
    with pytest.raises(BadData, match="has 1 rows, text_length 2"):
        compared({"text_length": [1, 2], "primary_topic": [1]}, {}, LENGTH, TOPIC)


def test_a_kind_that_is_not_known_is_refused() -> None:
    with pytest.raises(BadDesign, match="'ordinal' is none of numerical, categorical, binary"):
        Feature("age", "ordinal")  # type: ignore[arg-type]  # as a user without a type checker
