"""Rank tests and the probability of superiority."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.errors import BadStatisticInput, BiasError, NoVariance, TooFewUnits
from pytest_bias.statistics.ranks import friedman, kruskal, mann_whitney, signed_rank
from pytest_bias.statistics.superiority import brunner_munzel, cliff_delta, vargha_delaney

from .reference import REFERENCE, split, values
from .test_properties import assert_sound

if TYPE_CHECKING:
    from collections.abc import Callable

MAY = split("airquality_ozone", "Ozone", "Month", 5.0)
AUGUST = split("airquality_ozone", "Ozone", "Month", 8.0)
NAN = float("nan")
RAGGED: Any = [[1, 2, 3], [1, 2]]

ratings = st.integers(1, 5).map(float)
groups = st.lists(ratings, min_size=2, max_size=9)
anything = st.lists(st.floats(-1e100, 1e100), min_size=2, max_size=8)


def close(expected: float) -> object:
    return pytest.approx(expected, rel=1e-6)


def test_mann_whitney_as_r() -> None:
    expected = values("mwu_airquality")
    found = mann_whitney(MAY, AUGUST)
    assert found.u == expected["U"]
    assert found.p == close(expected["p_cc"])
    assert found.p_uncorrected == close(expected["p_nocc"])
    assert found.p_exact is None
    assert found.superiority == vargha_delaney(MAY, AUGUST) == close(expected["A12"])
    assert cliff_delta(MAY, AUGUST) == close(expected["cliff_delta"])


def test_mann_whitney_exact_p_counts_relabellings() -> None:
    assert mann_whitney([1, 2, 3], [4, 5, 6]).p_exact == pytest.approx(2 / 20)
    assert mann_whitney([1, 2, 4], [3, 5, 6]).p_exact == pytest.approx(4 / 20)
    assert mann_whitney(range(51), np.arange(51) + 0.5).p_exact is None


def test_signed_rank_as_r() -> None:
    data = REFERENCE["data"]["depression"]
    expected = values("signedrank_depression")
    found = signed_rank(np.subtract(data["x"], data["y"]))
    assert found.v == expected["V"]
    assert found.p_greater == close(expected["p_greater_exact"])
    assert found.p == close(2 * expected["p_greater_exact"])
    assert (found.exact, found.n, found.zeros) == (True, 9, 0)


def test_signed_rank_with_ties_tries_every_sign() -> None:
    differences = np.array([1.0, 1, 2, -2, 3, 3, -1])
    ranks = stats.rankdata(np.abs(differences))
    v = ranks[differences > 0].sum()
    sums = [ranks @ np.array(signs) for signs in itertools.product([0, 1], repeat=7)]
    found = signed_rank([*differences, 0.0])
    assert found.v == v
    assert found.p_greater == pytest.approx(np.mean([s >= v for s in sums]))
    assert found.p_less == pytest.approx(np.mean([s <= v for s in sums]))
    assert (found.exact, found.n, found.zeros) == (True, 7, 1)


def test_signed_rank_of_many_differences_is_normal() -> None:
    differences = [1.0, 2, -1] * 17
    found = signed_rank(differences)
    assert not found.exact
    normal = stats.wilcoxon(differences, correction=True, method="asymptotic")
    assert found.p == pytest.approx(normal.pvalue)


def test_signed_rank_is_exact_up_to_50_tied_differences() -> None:
    # ranks of 10.5 for the twenty ones and 35.5 for the thirty twos, each of a random sign
    found = signed_rank([1.0, 2, -1, -2, 2] * 10)
    ones, twos = np.arange(21), np.arange(31)
    chances = np.outer(stats.binom.pmf(ones, 20, 0.5), stats.binom.pmf(twos, 30, 0.5))
    sums = np.add.outer(10.5 * ones, 35.5 * twos)
    assert found.exact
    assert found.v == 10 * 10.5 + 20 * 35.5
    assert found.p_greater == pytest.approx(chances[sums >= found.v].sum())
    assert found.p_less == pytest.approx(chances[sums <= found.v].sum())


def test_signed_rank_without_ties_is_exact_as_scipy() -> None:
    differences = [1.0, -2, 3, 4, -5, 6, 7, 8.5]
    found = signed_rank(differences)
    for p, side in ((found.p, "two-sided"), (found.p_greater, "greater"), (found.p_less, "less")):
        assert p == pytest.approx(stats.wilcoxon(differences, alternative=side).pvalue)


def test_signed_rank_takes_rounding_for_zero_where_it_knows_the_magnitude() -> None:
    rounding = 0.1 + 0.2 - 0.3
    assert signed_rank([1.0, rounding, 2.0]).zeros == 0
    assert signed_rank([1.0, rounding, 2.0], magnitude=0.3).zeros == 1


def test_brunner_munzel_as_published() -> None:
    data, expected = REFERENCE["data"]["pain"], values("brunner_munzel_pain")
    found = brunner_munzel(data["n"], data["y"])
    assert found.t == close(expected["stat"])
    assert found.df == close(expected["df"])
    assert found.p == close(expected["p"])
    assert found.superiority == close(expected["p_hat"])
    assert found.interval.excludes(0.5)
    assert found.p == close(float(stats.brunnermunzel(data["n"], data["y"]).pvalue))


def test_brunner_munzel_of_separated_groups_is_a_sign_test() -> None:
    found = brunner_munzel([4, 5, 6, 7, 8], [1, 2, 3, 2, 1, 1, 1])
    assert (found.test, found.t, found.df) == ("sign", None, None)
    assert found.superiority == 1
    assert found.p == pytest.approx(2 / 2**5)
    assert found.interval.low == pytest.approx(0.025 ** (1 / 5))
    assert found.interval.high == 1
    mirrored = brunner_munzel([1, 2, 3, 2, 1, 1, 1], [4, 5, 6, 7, 8])
    assert mirrored.interval.high == pytest.approx(1 - found.interval.low)
    assert brunner_munzel([2.0] * 2000, [1.0] * 2000).p > 0


def test_the_sign_statement_keeps_its_level_where_it_is_sharp() -> None:
    # b is -1 or 1 with equal probability, a is always 0: the estimand is exactly 1/2
    n = 4
    outcomes = list(itertools.product([-1.0, 1.0], repeat=n))
    rejected = [
        found.test == "sign" and found.p <= 2 / 2**n
        for found in (brunner_munzel([0.0] * n, b) for b in outcomes)
    ]
    assert np.mean(rejected) == 2 / 2**n


def test_kruskal_as_scipy_and_of_two_groups_as_mann_whitney() -> None:
    months = [split("airquality_ozone", "Ozone", "Month", m) for m in (5.0, 8.0, 7.0)]
    months = [month for month in months if month]
    expected = stats.kruskal(*months)
    found = kruskal(months)
    assert (found.h, found.p) == pytest.approx((expected.statistic, expected.pvalue))
    assert found.df == len(months) - 1
    assert found.epsilon_squared == pytest.approx(found.h / (found.n - 1))
    assert kruskal([MAY, AUGUST]).p == pytest.approx(mann_whitney(MAY, AUGUST).p_uncorrected)


def test_friedman_of_blocks_that_all_agree() -> None:
    found = friedman([[1, 2, 3], [4, 5, 6], [1, 5, 9], [0, 1, 2]])
    assert (found.chi2, found.kendall_w) == pytest.approx((8, 1))
    assert found.p == pytest.approx(math.exp(-4))
    assert (found.df, found.blocks) == (2, 4)


def test_values_that_differ_by_rounding_are_ties() -> None:
    assert mann_whitney([0.3, 0.1 + 0.2], [0.3, 0.1 + 0.2]).p_exact is None
    assert vargha_delaney([0.1 + 0.2], [0.3]) == 0.5
    with pytest.raises(NoVariance):
        kruskal([[0.3, 0.1 + 0.2], [0.3, 0.3]])
    with pytest.raises(NoVariance):
        friedman([[0.3, 0.1 + 0.2, 0.3]] * 5)


def test_equal_values_everywhere() -> None:
    found = mann_whitney([3, 3], [3, 3, 3])
    assert (found.u, found.p, found.p_uncorrected, found.p_exact) == (3, 1, 1, None)
    for undefined in (
        lambda: kruskal([[1, 1], [1, 1]]),
        lambda: friedman([[1, 1, 1], [2, 2, 2]]),
        lambda: signed_rank([0, 0, 0]),
        lambda: brunner_munzel([2, 2], [2, 2]),
    ):
        with pytest.raises(NoVariance):
            undefined()


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: mann_whitney([1], [2, 3]), TooFewUnits),
        (lambda: vargha_delaney([], [2]), TooFewUnits),
        (lambda: brunner_munzel([1, 2], [2]), TooFewUnits),
        (lambda: kruskal([[1, 2]]), TooFewUnits),
        (lambda: kruskal([[1, 2], [1]]), TooFewUnits),
        (lambda: friedman([[1, 2], [2, 1]]), TooFewUnits),
        (lambda: friedman([[1, 2, 3]]), TooFewUnits),
        (lambda: signed_rank([1]), TooFewUnits),
        (lambda: mann_whitney([1, NAN], [2, 3]), BadStatisticInput),
        (lambda: cliff_delta([1], [math.inf]), BadStatisticInput),
        (lambda: friedman([[1.0, 2.0, NAN], [1.0, 2.0, 3.0]]), BadStatisticInput),
        (lambda: friedman([1, 2, 3]), BadStatisticInput),
        (lambda: friedman(RAGGED), BadStatisticInput),
        (lambda: signed_rank([1, 2], magnitude=-1), BadStatisticInput),
        (lambda: brunner_munzel([1, 2], [2, 1], level=1), BadStatisticInput),
    ],
    ids=lambda case: f"line-{case.__code__.co_firstlineno}" if hasattr(case, "__code__") else "",
)
def test_bad_input(call: Callable[[], object], error: type[BiasError]) -> None:
    with pytest.raises(error):
        call()


@settings(max_examples=60, deadline=None)
@given(groups, groups)
def test_two_groups_exchanged_and_rescaled(a: list[float], b: list[float]) -> None:
    one, other = mann_whitney(a, b), mann_whitney(b, a)
    assert_sound(one)
    assert one.u + other.u == pytest.approx(len(a) * len(b))
    assert one.p == pytest.approx(other.p)
    assert 0 <= vargha_delaney(a, b) <= 1
    assert cliff_delta(a, b) == pytest.approx(-cliff_delta(b, a))
    pairs = [(x > y) + (x == y) / 2 for x, y in itertools.product(a, b)]
    assert vargha_delaney(a, b) == pytest.approx(np.mean(pairs))
    assert mann_whitney(np.exp(a), np.exp(b)) == one
    assert mann_whitney(sorted(a), b) == one


@settings(max_examples=60, deadline=None)
@given(groups, groups)
def test_brunner_munzel_exchanged(a: list[float], b: list[float]) -> None:
    assume(len({*a, *b}) > 1)
    one, other = brunner_munzel(a, b), brunner_munzel(b, a)
    assert_sound(one)
    assert one.p == pytest.approx(other.p)
    assert one.superiority == pytest.approx(1 - other.superiority)
    assert one.interval.low == pytest.approx(1 - other.interval.high)
    assert not one.interval.excludes(one.superiority)
    if abs(one.p - 0.05) > 1e-9:
        assert one.interval.excludes(0.5) == (one.p < 0.05)


@settings(max_examples=60, deadline=None)
@given(st.lists(groups, min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_order_of_groups_does_not_matter_to_kruskal(
    some: list[list[float]], random: np.random.Generator
) -> None:
    assume(len({value for group in some for value in group}) > 1)
    found = kruskal(some)
    assert_sound(found)
    assert 0 <= found.epsilon_squared <= 1
    random.shuffle(some)
    assert kruskal(some).p == pytest.approx(found.p)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(3, 5).flatmap(
        lambda k: st.lists(st.lists(ratings, min_size=k, max_size=k), min_size=2, max_size=6)
    )
)
def test_order_of_blocks_and_treatments_does_not_matter_to_friedman(
    blocks: list[list[float]],
) -> None:
    assume(any(len(set(block)) > 1 for block in blocks))
    found = friedman(blocks)
    assert_sound(found)
    assert 0 <= found.kendall_w <= 1
    turned = friedman(np.array(blocks)[::-1, ::-1] * 3 + 1)
    assert (turned.chi2, turned.p) == pytest.approx((found.chi2, found.p))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-4, 4).map(float), min_size=2, max_size=16))
def test_signed_rank_mirrored(differences: list[float]) -> None:
    assume(any(differences))
    found, mirrored = signed_rank(differences), signed_rank(np.negative(differences))
    assert_sound(found)
    assert 0 < min(found.p_greater, found.p_less) <= 1
    assert found.p == pytest.approx(mirrored.p)
    assert found.p_greater == pytest.approx(mirrored.p_less)
    assert found.v + mirrored.v == found.n * (found.n + 1) / 2
    assert found.n + found.zeros == len(differences)


@settings(max_examples=60, deadline=None)
@given(anything, anything)
def test_any_finite_values_give_finite_results_or_an_error_of_ours(
    a: list[float], b: list[float]
) -> None:
    for test in (mann_whitney, brunner_munzel, lambda x, y: kruskal([x, y])):
        try:
            assert_sound(test(a, b))
        except BiasError:
            assert test is not mann_whitney
