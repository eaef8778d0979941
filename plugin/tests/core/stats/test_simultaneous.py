"""Each group against the rest, and max-T adjustment: against scipy, and limiting cases."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types
from statsmodels.stats.multitest import (  # type: ignore[import-untyped, unused-ignore]  # no types
    multipletests,
)

from pytest_bias.errors import BadStatisticInput, TooFewUnits
from pytest_bias.stats.simultaneous import holm, max_t, welch_group_contrasts

RNG = np.random.default_rng(5)
VALUES = RNG.normal(size=20).tolist()
LABELS = list("aaaaabbbbbccccccdddd")


def against_rest(groups: int) -> Any:
    """Correlation of estimates that compare each of equal groups with the rest."""
    return (groups * np.eye(groups) - 1) / (groups - 1)


def error(p_values: tuple[float, ...]) -> float:
    """The largest Monte Carlo standard error of adjusted p-values."""
    return max(math.sqrt(p * (1 - p) / 100_000) for p in p_values)


def test_two_groups_are_welchs_t_test() -> None:
    a, b = VALUES[:8], VALUES[8:]
    found = welch_group_contrasts(VALUES, ["a"] * 8 + ["b"] * 12)
    expected = stats.ttest_ind(a, b, equal_var=False)
    first, second = found
    assert (first.group, second.group) == ("a", "b")
    assert first.df == pytest.approx(float(expected.df))
    assert first.t == pytest.approx(float(expected.statistic))
    assert first.p == second.p == pytest.approx(float(expected.pvalue))
    interval = expected.confidence_interval(0.95)
    assert (first.interval.low, first.interval.high) == pytest.approx(
        (interval.low, interval.high)
    )


def test_a_group_against_the_equal_weight_mean_of_the_rest() -> None:
    found = welch_group_contrasts(VALUES, LABELS)
    groups = {
        g: np.array([v for v, k in zip(VALUES, LABELS, strict=True) if k == g]) for g in "abcd"
    }
    for contrast in found:
        own = groups[contrast.group]
        rest = [g for name, g in groups.items() if name != contrast.group]
        assert contrast.estimate == pytest.approx(own.mean() - np.mean([g.mean() for g in rest]))
        terms = [own.var(ddof=1) / own.size, *(g.var(ddof=1) / g.size / 9 for g in rest)]
        assert contrast.se == pytest.approx(math.sqrt(sum(terms)))
        freedom = [own.size - 1, *(g.size - 1 for g in rest)]
        squares = sum(term**2 / df for term, df in zip(terms, freedom, strict=True))
        assert contrast.df == pytest.approx(sum(terms) ** 2 / squares)
        assert contrast.t == pytest.approx(contrast.estimate / contrast.se)
        assert not contrast.interval.excludes(contrast.estimate)


def test_one_constant_group_is_fine() -> None:
    assert welch_group_contrasts([1, 1, 2, 4], list("aabb"))[0].df == 1


@pytest.mark.parametrize(
    ("labels", "group"),
    [(["a"] * 4, "labels"), (["a", "a", "a", "b"], "b")],
)
def test_too_few_units(labels: list[str], group: str) -> None:
    with pytest.raises(TooFewUnits) as raised:
        welch_group_contrasts([1, 2, 3, 4], labels)
    assert raised.value.group == group


def test_a_single_contrast_is_not_adjusted() -> None:
    found = max_t([2.1], [[1.0]], 12, seed=1)
    expected = 2 * float(stats.t.sf(2.1, 12))
    assert expected <= found[0] < expected + 4 * error(found)


def test_the_same_contrast_twice_is_one() -> None:
    found = max_t([2.1, -2.1], [[1, -1], [-1, 1]], 12, seed=1)
    assert found[0] == found[1] == pytest.approx(2 * float(stats.t.sf(2.1, 12)), abs=0.002)


def test_independent_contrasts_at_large_df_are_adjusted_as_sidak_does() -> None:
    found = max_t([2.5, 1.0, 0.0], np.eye(3), 1e6, seed=2)
    for t, p in zip([2.5, 1.0, 0.0], found, strict=True):
        assert p == pytest.approx(1 - (1 - 2 * float(stats.norm.sf(t))) ** 3, abs=4 * error(found))


def test_adjustment_agrees_with_the_integral_of_the_multivariate_t() -> None:
    correlation = np.array([[1, 0.5, 0.3], [0.5, 1, 0.4], [0.3, 0.4, 1]])
    found = max_t([2.2, 0.5, -3.0], correlation, 10, seed=3)
    for t, p in zip([2.2, 0.5, 3.0], found, strict=True):
        inside = stats.multivariate_t.cdf(
            [t] * 3, shape=correlation, df=10, lower_limit=[-t] * 3, random_state=1
        )
        assert p == pytest.approx(1 - float(inside), abs=4 * error(found) + 1e-4)


def test_the_family_errs_as_often_as_it_says_where_nothing_differs() -> None:
    rng = np.random.default_rng(12)
    runs, wrong = 200, 0
    for seed in range(runs):
        groups = rng.normal(size=(6, 4))
        pooled = groups.var(axis=1, ddof=1).mean() * (1 / 4 + 1 / 20)
        t = against_rest(6) @ groups.mean(axis=1) / math.sqrt(pooled)
        wrong += min(max_t(t, against_rest(6), 18, resamples=1000, seed=seed)) <= 0.05
    assert 0 < wrong / runs <= 0.097  # three standard errors


def test_extremes_stay_finite_and_above_zero() -> None:
    found = max_t([1e90, 0.0], np.eye(2), 3, resamples=999, seed=1)
    assert found == (1 / 1000, 1.0)
    assert max_t([5.0, 1.0], np.eye(2), 1e-3, resamples=999, seed=1)[0] > 0.9


@given(st.lists(st.floats(-6, 6), min_size=4, max_size=4), st.floats(1, 200), st.integers(0, 99))
def test_adjusted_p_is_above_the_unadjusted_and_below_bonferroni(
    t: list[float], df: float, seed: int
) -> None:
    correlation = against_rest(4)
    found = max_t(t, correlation, df, resamples=2000, seed=seed)
    assert found == max_t(t, correlation, df, resamples=2000, seed=seed)
    for one, p in zip(t, found, strict=True):
        alone = 2 * float(stats.t.sf(abs(one), df))
        assert max(alone, 1 / 2001) * (1 - 1e-9) <= p <= 1
        bonferroni = min(1.0, 4 * alone)
        spread = math.sqrt(bonferroni * (1 - bonferroni) / 2000)
        assert p <= min(1.0, bonferroni + 6 * spread + 6 / 2001)
    order = np.argsort(np.abs(t))
    assert (np.diff(np.array(found)[order]) <= 0).all()


@pytest.mark.parametrize(
    "bad",
    [
        {"t": [1.0, math.nan]},
        {"correlation": [[1, 0.5]]},
        {"correlation": [[1, 0.5], [0.5]]},
        {"correlation": [[1, 0.5], [0.4, 1]]},
        {"correlation": [[1, 0.5], [0.5, 2]]},
        {"correlation": [[1, 1.5], [1.5, 1]]},
        {"correlation": [[1, math.nan], [math.nan, 1]]},
        {"t": [1, 2, 3], "correlation": [[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]]},
        {"df": 0},
    ],
)
def test_bad_max_t(bad: dict[str, Any]) -> None:
    good: dict[str, Any] = {"t": [1.0, 2.0], "correlation": np.eye(2), "df": 5, "seed": 1}
    with pytest.raises(BadStatisticInput):
        max_t(**{**good, **bad})


@given(st.lists(st.floats(1e-12, 1), min_size=1, max_size=9))
def test_equal_weights_are_holm_as_statsmodels_has_it(p: list[float]) -> None:
    expected = multipletests(p, method="holm")[1]
    assert holm(p) == pytest.approx(expected)
    assert holm(p, [0.2] * len(p)) == pytest.approx(expected)


@given(
    st.lists(st.tuples(st.floats(1e-9, 1), st.floats(0.01, 1)), min_size=1, max_size=6),
    st.floats(0.001, 0.5),
)
def test_unequal_weights_are_the_closed_test_of_weighted_bonferroni(
    given_: list[tuple[float, float]], alpha: float
) -> None:
    """A hypothesis falls where every set of hypotheses it is in does (Marcus et al. 1976)."""
    p, weights = zip(*given_, strict=True)
    every = range(len(p))
    sets = [s for size in range(1, len(p) + 1) for s in combinations(every, size)]
    of = {s: min(p[i] * sum(weights[k] for k in s) / weights[i] for i in s) for s in sets}
    closed = [min(1.0, max(value for s, value in of.items() if i in s)) for i in every]
    assert holm(p, weights) == pytest.approx(closed)
    assert [each <= alpha for each in holm(p, weights)] == [each <= alpha for each in closed]


def test_not_capped_it_gives_the_level_of_each_test() -> None:
    adjusted = holm([0.001, 0.9], [1, 3], capped=False)
    assert adjusted == pytest.approx([0.004, 0.9])
    assert [0.05 * p / a for p, a in zip([0.001, 0.9], adjusted, strict=True)] == pytest.approx(
        [0.05 / 4, 0.05]
    )
