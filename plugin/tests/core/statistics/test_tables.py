"""Tests and association measures of contingency tables."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.errors import BadStatisticInput, NoVariance
from pytest_bias.statistics.counts import chi_square, conditional_odds_ratio

from .reference import REFERENCE, assert_sound

JOB = REFERENCE["data"]["JobSatisfaction4x4"]
TEA = [[3, 1], [1, 3]]

cells = st.integers(0, 12)
tables = st.tuples(st.integers(2, 4), st.integers(2, 4)).flatmap(
    lambda shape: st.lists(
        st.lists(cells, min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    ).map(np.array)
)
full = tables.filter(lambda t: min((t.sum(axis=1) > 0).sum(), (t.sum(axis=0) > 0).sum()) > 1)


def close(expected: Any) -> object:
    return pytest.approx(expected, rel=1e-6)


def tails(odds: float) -> tuple[float, float, float]:
    """P(10 or more), P(10 or fewer) and the mean of the twins' count, in whole numbers."""
    chances = {
        k: math.comb(13, k) * math.comb(17, 12 - k) * Fraction(odds) ** k for k in range(13)
    }
    total = Fraction(sum(chances.values()))
    return (
        float(sum(c for k, c in chances.items() if k >= 10) / total),
        float(sum(c for k, c in chances.items() if k <= 10) / total),
        float(sum(k * c for k, c in chances.items()) / total),
    )


def test_convictions_of_twins_as_r_gives_them() -> None:
    # fisher.test(Convictions): like-sex twins of criminals, monozygotic and dizygotic
    found = conditional_odds_ratio(10, 13, 2, 17)
    assert (found.estimate, found.low) == close((21.30533, 2.753383))
    assert found.p == pytest.approx(0.0005367, abs=5e-8)
    # R finds the inverse of the upper bound, to .Machine$double.eps^0.25
    assert 1 / found.high == pytest.approx(1 / 300.6828, abs=2**-13)
    # exactly, at the numbers found here: below R's upper bound there are .02511
    assert tails(found.low)[0] == pytest.approx(0.025, rel=1e-9)
    assert tails(found.high)[1] == pytest.approx(0.025, rel=1e-9)
    assert tails(found.estimate)[2] == pytest.approx(10, rel=1e-9)
    assert tails(300.6828)[1] == pytest.approx(0.02511, abs=5e-6)


@given(st.integers(1, 40), st.integers(1, 40), st.data())
def test_conditional_odds_ratios_as_scipy(n_a: int, n_b: int, data: st.DataObject) -> None:
    a, b = data.draw(st.integers(0, n_a)), data.draw(st.integers(0, n_b))
    if a + b in {0, n_a + n_b}:
        with pytest.raises(NoVariance):
            conditional_odds_ratio(a, n_a, b, n_b)
        return
    found = conditional_odds_ratio(a, n_a, b, n_b)
    expected = stats.contingency.odds_ratio([[a, n_a - a], [b, n_b - b]], kind="conditional")
    interval = expected.confidence_interval(0.95)
    assert (found.estimate, found.low, found.high) == close(
        (expected.statistic, interval.low, interval.high)
    )
    swapped = conditional_odds_ratio(b, n_b, a, n_a)
    assert (found.p, found.high) == close(
        (swapped.p, 1 / swapped.low if swapped.low else math.inf)
    )


def test_odds_of_many_units_are_the_sample_s() -> None:
    found = conditional_odds_ratio(30_000, 50_000, 24_000, 50_000)
    assert found.estimate == pytest.approx(300 * 260 / (200 * 240), rel=1e-4)
    with pytest.raises(BadStatisticInput, match="possible tables"):
        conditional_odds_ratio(10**7, 2 * 10**7, 10**7, 2 * 10**7)


def test_measures_of_a_larger_table_as_scipy() -> None:
    found = chi_square(JOB, yates=True)
    assert found.cramers_v == pytest.approx(stats.contingency.association(np.array(JOB)))
    assert found.smallest_expected == pytest.approx(20 * 4 / 96)
    assert found.df == 9
    assert found == chi_square(JOB)


def test_bergsma_v_by_hand() -> None:
    # phi² = 1/9, n = 36: (1/9 - 1/35) / (1 - 1/35)
    found = chi_square([[12, 6], [6, 12]])
    assert found.cramers_v == pytest.approx(1 / 3)
    assert found.bergsma_v == pytest.approx(math.sqrt((1 / 9 - 1 / 35) / (34 / 35)))
    assert chi_square([[5, 5], [5, 5]]).bergsma_v == 0
    assert chi_square([[1, 0], [0, 1]]).bergsma_v == 0
    assert chi_square([[9, 0], [0, 9]]).bergsma_v == pytest.approx(1)


def test_bergsma_v_is_nearly_unbiased_where_v_is_not() -> None:
    rng = np.random.default_rng(1)
    drawn = stats.random_table([20, 20, 20], [20, 20, 20]).rvs(200, random_state=rng)
    found = [chi_square(table) for table in drawn]
    phi = [one.cramers_v**2 for one in found]
    assert np.mean(phi) > 2 * np.mean([one.bergsma_v**2 for one in found])


def test_counts_of_very_many_units_are_sound() -> None:
    assert_sound(chi_square([[10**14, 1], [1, 10**14]]))


def test_empty_rows_and_columns_are_dropped() -> None:
    found = chi_square([[3, 0, 1], [0, 0, 0], [1, 0, 3]], yates=True)
    assert found.p == chi_square(TEA, yates=True).p


@given(table=full, random=st.randoms(use_true_random=False), yates=st.booleans())
def test_measures_do_not_depend_on_the_order_of_rows_and_columns(
    table: Any, random: Any, *, yates: bool
) -> None:
    found = chi_square(table, yates=yates)
    assert_sound(found)
    assert 0 <= found.cramers_v <= 1
    assert 0 <= found.bergsma_v <= 1
    rows, columns = (random.sample(range(size), size) for size in table.shape)
    for turned in (
        chi_square(table[rows][:, columns], yates=yates),
        chi_square(table.T, yates=yates),
    ):
        assert turned.chi2 == pytest.approx(found.chi2, abs=1e-9)
        assert turned.cramers_v == pytest.approx(found.cramers_v, abs=1e-6)
        assert turned.bergsma_v == pytest.approx(found.bergsma_v, abs=1e-6)
