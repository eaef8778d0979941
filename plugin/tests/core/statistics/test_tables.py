"""Tests and association measures of contingency tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.errors import BadStatisticInput, BiasError, NoVariance
from pytest_bias.statistics.counts import _noncentrality, chi_square

from .reference import REFERENCE, assert_sound, line_of

if TYPE_CHECKING:
    from collections.abc import Callable

JOB = REFERENCE["data"]["JobSatisfaction4x4"]
TEA = [[3, 1], [1, 3]]
RAGGED: Any = [[1, 2], [3]]
UCB = np.array(REFERENCE["data"]["UCBAdmissions"]["Freq"], dtype=int).reshape(6, 2, 2)

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


def test_measures_of_a_larger_table_as_scipy() -> None:
    found = chi_square(JOB, yates=True)
    assert found.cramers_v == pytest.approx(stats.contingency.association(np.array(JOB)))
    assert found.smallest_expected == pytest.approx(20 * 4 / 96)
    assert (found.df, found.phi, found.yates) == (9, None, False)


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
    assert np.mean([one.interval.low == 0 for one in found]) > 0.9


def test_interval_of_v_is_that_of_the_noncentrality() -> None:
    found = chi_square(JOB, level=0.9)
    largest = found.n * 3
    assert found.interval.low == 0
    assert stats.ncx2.cdf(found.chi2, 9, found.interval.high**2 * largest) == pytest.approx(0.05)
    strong = chi_square([[30, 10], [10, 30]])
    low, high = (v**2 * strong.n for v in (strong.interval.low, strong.interval.high))
    assert stats.ncx2.cdf(strong.chi2, 1, low) == pytest.approx(0.975)
    assert stats.ncx2.cdf(strong.chi2, 1, high) == pytest.approx(0.025)


def test_interval_of_v_goes_on_where_scipys_series_ends() -> None:
    for share in (0.025, 0.975):
        below, above = (_noncentrality(chi2, 9, share) for chi2 in (0.999e9, 1.001e9))
        assert above - below == pytest.approx(0.002e9, rel=1e-3)
    assert_sound(chi_square([[10**14, 1], [1, 10**14]]))


def test_empty_rows_and_columns_are_dropped() -> None:
    found = chi_square([[3, 0, 1], [0, 0, 0], [1, 0, 3]], yates=True)
    assert found.yates
    assert found.p == chi_square(TEA, yates=True).p


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: chi_square([[1, 2]]), NoVariance),
        (lambda: chi_square([[1, 2], [0, 0]]), NoVariance),
        (lambda: chi_square([[0, 0], [0, 0]]), NoVariance),
        (lambda: chi_square([[1.0, 2.0], [3.0, 4.0]]), BadStatisticInput),
        (lambda: chi_square([[1, -2], [3, 4]]), BadStatisticInput),
        (lambda: chi_square([1, 2]), BadStatisticInput),
        (lambda: chi_square([]), BadStatisticInput),
        (lambda: chi_square(RAGGED), BadStatisticInput),
        (lambda: chi_square([[10**15, 1], [1, 1]]), BadStatisticInput),
        (lambda: chi_square(TEA, level=0), BadStatisticInput),
    ],
    ids=line_of,
)
def test_bad_input(call: Callable[[], object], error: type[BiasError]) -> None:
    with pytest.raises(error):
        call()


@given(table=full, random=st.randoms(use_true_random=False), yates=st.booleans())
def test_measures_do_not_depend_on_the_order_of_rows_and_columns(
    table: Any, random: Any, *, yates: bool
) -> None:
    found = chi_square(table, yates=yates)
    assert_sound(found)
    assert 0 <= found.cramers_v <= 1
    assert 0 <= found.bergsma_v <= 1
    assert 0 <= found.interval.low <= found.interval.high <= 1
    rows, columns = (random.sample(range(size), size) for size in table.shape)
    for turned in (
        chi_square(table[rows][:, columns], yates=yates),
        chi_square(table.T, yates=yates),
    ):
        assert turned.chi2 == pytest.approx(found.chi2, abs=1e-9)
        assert turned.cramers_v == pytest.approx(found.cramers_v, abs=1e-6)
        assert turned.bergsma_v == pytest.approx(found.bergsma_v, abs=1e-6)
        assert turned.interval.high == pytest.approx(found.interval.high, abs=1e-6)


@given(st.lists(st.integers(0, 10**12), min_size=4, max_size=4))
def test_phi_changes_its_sign_with_the_rows(counts: list[int]) -> None:
    table = np.reshape(counts, (2, 2))
    try:
        found = chi_square(table)
    except NoVariance:
        return
    assert_sound(found)
    assert found.phi is not None
    assert abs(found.phi) == pytest.approx(found.cramers_v)
    swapped = chi_square(table[::-1]).phi
    assert swapped == pytest.approx(-found.phi, abs=1e-6)
