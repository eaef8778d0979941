"""Tests and association measures of contingency tables."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.errors import BadStatisticInput, BiasError, NoVariance, TooFewUnits
from pytest_bias.statistics._freeman_halton import enumerated_p, sampled_p
from pytest_bias.statistics.exact_tables import fisher_exact, fisher_freeman_halton
from pytest_bias.statistics.tables import (
    _noncentrality,
    chi_square,
    equal_proportions,
    mcnemar,
)

from .reference import REFERENCE, values
from .test_properties import assert_sound

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


def test_chi_square_as_r() -> None:
    expected, pooled = values("ucb"), UCB.sum(axis=0)
    found, corrected = chi_square(pooled), chi_square(pooled, yates=True)
    assert (found.chi2, found.p) == close((expected["pooled_chi2"], expected["pooled_p"]))
    assert found.phi == close(expected["pooled_phi_V"])
    assert found.cramers_v == close(expected["pooled_phi_V"])
    assert corrected.chi2 == close(expected["pooled_chi2_yates"])
    assert corrected.p == close(expected["pooled_p_yates"])
    assert corrected.phi == close(math.sqrt(expected["pooled_chi2_yates"] / 4526))
    assert corrected.bergsma_v == found.bergsma_v
    assert (found.df, found.n, found.yates, corrected.yates) == (1, 4526, False, True)


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


def test_empty_rows_and_columns_are_dropped_and_counted() -> None:
    found = chi_square([[3, 0, 1], [0, 0, 0], [1, 0, 3]], yates=True)
    assert (found.dropped_rows, found.dropped_columns) == (1, 1)
    assert found.yates
    assert found.p == chi_square(TEA, yates=True).p


def test_fisher_as_r() -> None:
    expected = values("fisher_tea")
    assert fisher_exact(TEA).p == close(expected["p_two"])
    assert fisher_exact(TEA, alternative="greater").p == close(expected["p_greater"])
    assert fisher_exact(TEA).odds_ratio == 9
    assert fisher_exact([[3, 0], [1, 3]]).odds_ratio is None
    assert fisher_exact([[0, 0], [1, 3]]).p == 1


def test_freeman_halton_as_r_exactly() -> None:
    found = fisher_freeman_halton(JOB, seed=1)
    assert found.p == pytest.approx(values("fisher_job4x4")["p"], rel=1e-10)
    assert found.exact
    assert found.error == 0


def test_freeman_halton_of_a_fourfold_table_is_fishers() -> None:
    for table in (TEA, [[30, 3], [1, 8]], [[700, 300], [200, 900]]):
        assert fisher_freeman_halton(table, seed=1).p == pytest.approx(fisher_exact(table).p)


def test_freeman_halton_of_rare_tables_does_not_underflow() -> None:
    found = fisher_freeman_halton([[80, 0, 0], [0, 80, 0]], seed=1)
    assert found.p == pytest.approx(2 / math.comb(160, 80), rel=1e-9)
    assert fisher_freeman_halton([[2000, 0], [0, 2000]], seed=1).p > 0


def test_tables_too_many_to_list_are_not_listed() -> None:
    assert enumerated_p(np.full((3, 3), 300)) is None
    assert enumerated_p(np.full((5, 5), 9)) is None
    assert enumerated_p(np.eye(70, dtype=np.int64)) is None


def test_freeman_halton_draws_tables_where_there_are_too_many() -> None:
    table = np.random.default_rng(1).poisson(25, (20, 20))
    found = fisher_freeman_halton(table, resamples=400, seed=2)
    assert not found.exact
    assert 0.02 < found.p < 0.98  # scipy's own drawn p-value is 1 here
    assert found.error == pytest.approx(math.sqrt(found.p * (1 - found.p) / 400))
    assert found == fisher_freeman_halton(table, resamples=400, seed=2)


def listed_p(table: np.ndarray[Any, np.dtype[np.int64]]) -> float:
    """Sum the probabilities of all tables with the same margins, one by one."""
    rows, columns = table.sum(axis=1), table.sum(axis=0)

    def probability(one: np.ndarray[Any, np.dtype[np.int64]]) -> float:
        factorials = [math.factorial(int(t)) for t in (*rows, *columns)]
        under = [math.factorial(int(x)) for x in one.ravel()]
        return math.prod(factorials) / (math.factorial(int(one.sum())) * math.prod(under))

    found = []
    free = [range(min(r, c) + 1) for r in rows[:-1] for c in columns[:-1]]
    for inner in itertools.product(*free):
        one = np.zeros_like(table)
        one[:-1, :-1] = np.reshape(inner, (len(rows) - 1, len(columns) - 1))
        one[:-1, -1] = rows[:-1] - one[:-1].sum(axis=1)
        one[-1] = columns - one[:-1].sum(axis=0)
        if one.min() >= 0:
            found.append(probability(one))
    assert sum(found) == pytest.approx(1)
    return sum(p for p in found if p <= probability(table) * (1 + 1e-7))


small = st.tuples(st.integers(2, 3), st.integers(2, 3)).flatmap(
    lambda shape: st.lists(
        st.lists(st.integers(0, 3), min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    ).map(np.array)
)


@settings(max_examples=40, deadline=None)
@given(small.filter(lambda t: bool(t.any(axis=0).all() and t.any(axis=1).all())))
def test_freeman_halton_is_the_sum_over_all_tables(table: Any) -> None:
    found = enumerated_p(table)
    assert found == pytest.approx(listed_p(table), rel=1e-9)
    assert enumerated_p(table.T) == pytest.approx(found, rel=1e-9)


def test_drawn_p_agrees_with_the_enumerated_one() -> None:
    table = np.array([[10, 2, 3, 1], [1, 8, 4, 2], [3, 3, 3, 9]])
    exact = fisher_freeman_halton(table, seed=1)
    drawn = sampled_p(table, resamples=20_000, rng=np.random.default_rng(3))
    assert exact.exact
    assert drawn == pytest.approx(exact.p, abs=4 * math.sqrt(exact.p / 20_000) + 1 / 20_000)


def test_mcnemar_as_r() -> None:
    expected = values("mcnemar_agresti")
    found = mcnemar(150, 86)
    assert (found.chi2, found.p) == close((expected["chi2_cc"], expected["p_cc"]))
    assert found.p_exact == close(expected["p_exact"])
    assert mcnemar(86, 150).p_exact == found.p_exact


def test_mcnemar_of_equal_changes_shows_nothing() -> None:
    found = mcnemar(4, 4)
    assert (found.chi2, found.p, found.p_exact) == (0, 1, 1)
    with pytest.raises(TooFewUnits, match="pairs that changed"):
        mcnemar(0, 0)


def test_equal_proportions_as_r() -> None:
    expected = values("smokers_prop")
    found = equal_proportions([83, 90, 129, 70], [86, 93, 136, 82])
    assert (found.chi2, found.p) == close((expected["chi2"], expected["p"]))
    assert found.df == 3
    assert found.rates == pytest.approx((83 / 86, 90 / 93, 129 / 136, 70 / 82))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: chi_square([[1, 2]]), NoVariance),
        (lambda: chi_square([[1, 2], [0, 0]]), NoVariance),
        (lambda: chi_square([[0, 0], [0, 0]]), NoVariance),
        (lambda: fisher_freeman_halton([[1, 2], [0, 0]], seed=1), NoVariance),
        (lambda: equal_proportions([3, 2], [3, 2]), NoVariance),
        (lambda: equal_proportions([0, 0], [3, 2]), NoVariance),
        (lambda: equal_proportions([1], [3]), TooFewUnits),
        (lambda: equal_proportions([1, 0], [3, 0]), TooFewUnits),
        (lambda: equal_proportions([1, 4], [3, 3]), BadStatisticInput),
        (lambda: equal_proportions([1, 2], [3]), BadStatisticInput),
        (lambda: chi_square([[1.0, 2.0], [3.0, 4.0]]), BadStatisticInput),
        (lambda: chi_square([[1, -2], [3, 4]]), BadStatisticInput),
        (lambda: chi_square([1, 2]), BadStatisticInput),
        (lambda: chi_square([]), BadStatisticInput),
        (lambda: chi_square(RAGGED), BadStatisticInput),
        (lambda: chi_square([[10**15, 1], [1, 1]]), BadStatisticInput),
        (lambda: chi_square(TEA, level=0), BadStatisticInput),
        (lambda: fisher_exact(JOB), BadStatisticInput),
        (lambda: fisher_exact([[10**9, 1], [1, 1]]), BadStatisticInput),
        (lambda: fisher_exact(TEA, alternative="both"), BadStatisticInput),  # type: ignore[arg-type]  # wrong on purpose
        (lambda: fisher_freeman_halton(JOB, seed=-1), BadStatisticInput),
        (lambda: fisher_freeman_halton(JOB, seed=1, resamples=99), BadStatisticInput),
        (lambda: fisher_freeman_halton([[10**6, 1], [1, 1]], seed=1), BadStatisticInput),
        (lambda: mcnemar(-1, 2), BadStatisticInput),
        (lambda: mcnemar(1.0, 2), BadStatisticInput),  # type: ignore[arg-type]  # wrong on purpose
    ],
    ids=lambda case: f"line-{case.__code__.co_firstlineno}" if hasattr(case, "__code__") else "",
)
def test_bad_input(call: Callable[[], object], error: type[BiasError]) -> None:
    with pytest.raises(error):
        call()


@settings(max_examples=60, deadline=None)
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


@settings(max_examples=60, deadline=None)
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


@settings(max_examples=40, deadline=None)
@given(full)
def test_freeman_halton_is_sound_and_close_to_chi_square_in_order(table: Any) -> None:
    found = fisher_freeman_halton(table, resamples=100, seed=1)
    assert_sound(found)
    if found.exact:
        turned = fisher_freeman_halton(table[::-1], resamples=100, seed=1)
        assert turned.p == pytest.approx(found.p)
