"""Score tests of two rates: against published tables, libraries, likelihoods and symmetry."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats  # type: ignore[import-untyped, unused-ignore]  # no types

from pytest_bias.errors import BadStatisticInput, NoVariance, TooFewUnits
from pytest_bias.statistics.score import (
    LARGEST_RATIO,
    checked_strata,
    score_difference,
    score_difference_p,
    score_ratio,
    score_ratio_p,
    tost_rates,
    tost_ratio,
    z_difference,
    z_ratio,
)

from .reference import assert_sound

close = pytest.approx
nulls = st.integers(-98, 98).map(lambda i: i / 100)
# Strata that contradict one another may, very rarely, break what holds otherwise.
steadily = settings(derandomize=True)
TABLES = [(7, 30, 3, 28), (15, 40, 16, 35), (29, 30, 20, 25), (1, 20, 5, 50), (56, 70, 48, 80)]


@st.composite
def strata(draw: st.DrawFn) -> tuple[list[int], list[int], list[int], list[int]]:
    n_a = draw(st.lists(st.integers(1, 40), min_size=1, max_size=4))
    n_b = [draw(st.integers(1, 40)) for _ in n_a]
    return [draw(st.integers(0, n)) for n in n_a], n_a, [draw(st.integers(0, n)) for n in n_b], n_b


def swapped(counts: tuple[Any, Any, Any, Any]) -> tuple[Any, Any, Any, Any]:
    x_a, n_a, x_b, n_b = counts
    return x_b, n_b, x_a, n_a


def failures(counts: tuple[Any, Any, Any, Any]) -> tuple[Any, Any, Any, Any]:
    x_a, n_a, x_b, n_b = (np.array(each) for each in counts)
    return n_a - x_a, n_a, n_b - x_b, n_b


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        # method 5 of Newcombe (1998, Statistics in Medicine 17, 873-890, table II)
        ((56, 70, 48, 80), 0.0528, 0.3382),
        ((9, 10, 3, 10), 0.1700, 0.8406),
        ((6, 7, 2, 7), 0.0342, 0.8534),
        ((5, 56, 0, 29), -0.0326, 0.1933),
        ((0, 10, 0, 20), -0.1658, 0.2844),
        ((0, 10, 0, 10), -0.2879, 0.2879),
        ((10, 10, 0, 20), 0.7156, 1.0000),
        ((10, 10, 0, 10), 0.6636, 1.0000),
        # R's PropCIs::diffscoreci
        ((7, 34, 1, 34), 0.02704, 0.34529),
    ],
)
def test_published_intervals(counts: tuple[int, int, int, int], low: float, high: float) -> None:
    found = score_difference(*counts)
    assert (found.interval.low, found.interval.high) == close((low, high), abs=5.1e-5)


@pytest.mark.parametrize("counts", TABLES)
def test_against_statsmodels(counts: tuple[int, int, int, int]) -> None:
    # statsmodels 0.15 takes a wrong restricted estimate for differences other than 0 (a count for
    # a size in the cubic), so that only its test of no difference and its ratio serve.
    from statsmodels.stats import proportion  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415  (statsmodels takes a second to import)

    tested = proportion.test_proportions_2indep(*counts, method="score", compare="diff")
    assert score_difference(*counts).p == close(tested.pvalue, rel=1e-9)
    ratio = score_ratio(*counts)
    expected = proportion.confint_proportions_2indep(*counts, method="score", compare="ratio")
    assert (ratio.interval.low, ratio.interval.high) == close(expected, rel=1e-6)
    assert ratio.p == close(tested.pvalue, rel=1e-9)
    for null in (0.5, 2.0):
        z = proportion.test_proportions_2indep(
            *counts, value=null, method="score", compare="ratio"
        ).statistic
        assert z_ratio(checked_strata(*counts), null) == close(z)


def test_no_difference_is_the_chi_square_test_with_n_minus_1() -> None:
    table = np.array([[15, 25], [16, 19]])
    chi_square = stats.chi2_contingency(table, correction=False).statistic * 74 / 75
    assert score_difference(15, 40, 16, 35).p == close(stats.chi2.sf(chi_square, 1))


def log_likelihood(x: int, n: int, rate: float) -> float:
    return float(stats.binom.logpmf(x, n, min(1.0, max(0.0, rate))))


@given(st.data(), st.integers(1, 60), st.integers(1, 60), nulls)
def test_restricted_rates_maximise_the_likelihood(
    data: st.DataObject, n_a: int, n_b: int, null: float
) -> None:
    x_a, x_b = data.draw(st.integers(0, n_a)), data.draw(st.integers(0, n_b))

    best = optimize.minimize_scalar(
        lambda rate: -log_likelihood(x_a, n_a, rate + null) - log_likelihood(x_b, n_b, rate),
        bounds=(max(0.0, -null), min(1.0, 1 - null)),
        method="bounded",
        options={"xatol": 1e-12},
    ).x
    rate_a, total = best + null, n_a + n_b
    variance = rate_a * (1 - rate_a) / n_a + best * (1 - best) / n_b
    expected = (x_a / n_a - x_b / n_b - null) / math.sqrt(variance * total / (total - 1))
    found = z_difference(checked_strata(x_a, n_a, x_b, n_b), null)
    assert found == close(expected, rel=1e-4, abs=1e-4)


@steadily
@given(strata(), st.floats(0.5, 0.999))
def test_differences(counts: tuple[Any, Any, Any, Any], level: float) -> None:
    found = score_difference(*counts, level=level)
    assert_sound(found)
    assert -1 <= found.interval.low < found.interval.high <= 1
    assert not found.interval.excludes(found.estimate)
    assert found.estimate == close(found.rate_a - found.rate_b)
    if abs(found.p - (1 - level)) > 1e-6:
        assert found.interval.excludes(0) == (found.p < 1 - level)
    back = score_difference(*swapped(counts), level=level)
    assert (back.estimate, back.p) == close((-found.estimate, found.p), abs=1e-12)
    assert back.interval.low == close(-found.interval.high, abs=1e-6)
    other = score_difference(*failures(counts), level=level)
    assert (other.estimate, other.p) == close((-found.estimate, found.p), abs=1e-9)
    assert other.interval.low == close(-found.interval.high, abs=1e-6)
    turned = score_difference(*(each[::-1] for each in counts), level=level)
    assert (turned.interval.low, turned.p) == close((found.interval.low, found.p), abs=1e-9)


@steadily
@given(strata(), st.floats(0.5, 0.999))
def test_ratios(counts: tuple[Any, Any, Any, Any], level: float) -> None:
    if sum(counts[0]) + sum(counts[2]) == 0:
        with pytest.raises(NoVariance):
            score_ratio(*counts)
        return
    found = score_ratio(*counts, level=level)
    assert_sound(found)
    assert 0 <= found.interval.low < found.interval.high <= LARGEST_RATIO
    assert not found.interval.excludes(found.estimate)
    if abs(found.p - (1 - level)) > 1e-6:
        assert found.interval.excludes(1) == (found.p < 1 - level)
    back = score_ratio(*swapped(counts), level=level)
    assert back.p == close(found.p)
    if found.rate_a > 0 and found.rate_b > 0:
        assert back.estimate == close(1 / found.estimate)
        assert back.interval.low == close(1 / found.interval.high, rel=1e-6)


@steadily
@given(strata(), st.floats(0.02, 0.45), st.floats(1, 2))
def test_equivalence_of_rates(
    counts: tuple[Any, Any, Any, Any], margin: float, factor: float
) -> None:
    narrow = tost_rates(*counts, margin=margin)
    assert_sound(narrow)
    assert narrow.p == max(
        score_difference_p(*counts, null=-margin, alternative="greater"),
        score_difference_p(*counts, null=margin, alternative="less"),
    )
    assert tost_rates(*counts, margin=margin * factor).p <= narrow.p * (1 + 1e-6)
    assert tost_rates(*swapped(counts), margin=margin).p == close(narrow.p, rel=1e-5)
    if abs(narrow.p - 0.05) > 1e-6:
        assert narrow.interval.within(margin) == (narrow.p < 0.05)


@steadily
@given(strata(), st.floats(1.05, 3))
def test_equivalence_of_ratios(counts: tuple[Any, Any, Any, Any], margin: float) -> None:
    if sum(counts[0]) + sum(counts[2]) == 0:
        with pytest.raises(NoVariance):
            tost_ratio(*counts, margin=margin)
        return
    found = tost_ratio(*counts, margin=margin)
    assert_sound(found)
    assert found.p == max(
        score_ratio_p(*counts, null=1 / margin, alternative="greater"),
        score_ratio_p(*counts, null=margin, alternative="less"),
    )
    if abs(found.p - 0.05) > 1e-6:
        inside = 1 / margin <= found.interval.low and found.interval.high <= margin
        assert inside == (found.p < 0.05)
    assert tost_ratio(*counts, margin=2 * margin).p <= found.p * (1 + 1e-6)
    assert tost_ratio(*swapped(counts), margin=margin).p == close(found.p, rel=1e-5)


def test_a_null_that_differs_from_0_by_rounding_only_is_no_evidence() -> None:
    for counts in ((5, 5, 5, 5), (0, 5, 0, 5)):
        for null in (1e-20, -1e-20, 1e-13):
            assert score_difference_p(*counts, null=null, alternative="two-sided") > 0.999


def test_one_and_two_sided_p_values() -> None:
    greater = score_difference_p(7, 34, 1, 34, null=0.02, alternative="greater")
    less = score_difference_p(7, 34, 1, 34, null=0.02, alternative="less")
    assert greater + less == close(1)
    both = score_difference_p(7, 34, 1, 34, null=0.02, alternative="two-sided")
    assert both == close(2 * min(greater, less))
    bound = score_difference(7, 34, 1, 34).interval.low
    assert score_difference_p(7, 34, 1, 34, null=bound, alternative="two-sided") == close(0.05)


def test_every_stratum_counts_the_same() -> None:
    uneven = score_difference([1, 4], [2, 8], [1, 1], [2, 4])
    assert uneven.estimate == close(np.mean([0.5 - 0.5, 0.5 - 0.25]))
    ratio = score_ratio([1, 4], [2, 8], [1, 1], [2, 4])
    assert ratio.estimate == close(0.5 / 0.375)


def test_numpy_counts_serve() -> None:
    arrays = (np.array([1, 4]), np.array([2, 8]), np.array([2, 1]), np.array([2, 4]))
    assert score_difference(*arrays) == score_difference([1, 4], [2, 8], [2, 1], [2, 4])


def test_no_refusal_anywhere_still_leaves_a_width() -> None:
    cells = 72
    zeros, twos = [0] * cells, [2] * cells
    found = score_difference(zeros, twos, zeros, twos)
    assert (found.estimate, found.p) == (0, 1)
    assert 0.01 < found.interval.high == -found.interval.low < 0.1
    cleared = tost_rates(zeros, twos, zeros, twos, margin=0.1)
    assert cleared.p < 0.05
    assert tost_rates(0, 10, 0, 10, margin=0.1).p > 0.05


def test_ratios_without_an_event_in_one_group() -> None:
    without_b = score_ratio(5, 30, 0, 30)
    assert without_b.estimate == without_b.interval.high == LARGEST_RATIO
    assert 1 < without_b.interval.low < 2
    without_a = score_ratio(0, 30, 5, 30)
    assert (without_a.estimate, without_a.interval.low) == (0, 0)
    assert without_a.interval.high < LARGEST_RATIO
    assert without_a.interval.high == close(1 / without_b.interval.low)
    assert without_a.p == close(without_b.p)


def test_stratified_tests_keep_their_size_where_strata_differ() -> None:
    rng = np.random.default_rng(6)
    rates = np.array([0.02, 0.1, 0.3, 0.5, 0.8, 0.95])
    n = np.array([6, 6, 6, 6, 6, 6])
    found = [
        score_difference_p(
            rng.binomial(n, rates), n, rng.binomial(n, rates), n, null=0, alternative="two-sided"
        )
        for _ in range(1_500)
    ]
    size = np.mean(np.array(found) <= 0.05)
    assert abs(size - 0.05) <= 2.5 * math.sqrt(0.05 * 0.95 / 1_500)


def test_bad_counts_and_arguments() -> None:
    bad: list[tuple[Any, type[Exception]]] = [
        ((0, 0, 1, 2), TooFewUnits),
        (([1, 0], [2, 0], [1, 1], [2, 2]), TooFewUnits),
        (([], [], [], []), TooFewUnits),
        ((3, 2, 1, 2), BadStatisticInput),
        ((-1, 2, 1, 2), BadStatisticInput),
        ((1.0, 2, 1, 2), BadStatisticInput),
        (([1, 1], [2, 2], [1], [2]), BadStatisticInput),
        (([[1]], [[2]], [[1]], [[2]]), BadStatisticInput),
    ]
    for counts, error in bad:
        for function in (score_difference, score_ratio):
            with pytest.raises(error):
                function(*counts)
    good = (1, 4, 2, 4)
    for call in (
        lambda: score_difference(*good, level=1),
        lambda: score_difference_p(*good, null=1, alternative="less"),
        lambda: score_difference_p(*good, null=math.nan, alternative="less"),
        lambda: tost_rates(*good, margin=0),
        lambda: tost_rates(*good, margin=1),
        lambda: tost_ratio(*good, margin=1),
        lambda: tost_ratio(*good, margin=math.inf),
    ):
        with pytest.raises(BadStatisticInput):
            call()
    with pytest.raises(TooFewUnits, match="b in stratum 1"):
        score_difference([1, 1], [2, 2], [1, 0], [2, 0])
