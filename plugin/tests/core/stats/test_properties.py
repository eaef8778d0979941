"""What holds of each statistic for any data: one property a function, beside a library's."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import (  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types
    stats,
)

from pytest_bias.stats.agreement import (
    retest_youden,
)
from pytest_bias.stats.equivalence import (
    clearing_interval,
    clearing_p,
    contrast_of,
    further_of,
    sides_of,
)
from pytest_bias.stats.means import welch
from pytest_bias.stats.resampling import (
    bootstrap_difference,
    contrast_permutation,
    label_shuffle_ratio,
    sign_flip,
)
from pytest_bias.stats.results import units_needed
from pytest_bias.stats.simultaneous import holm

from .reference import TOOTH_GROWTH

readings = st.integers(-1000, 1000).map(lambda i: i / 8)
# scipy warns where a group is constant, which is no refusal of ours
pytestmark = pytest.mark.filterwarnings("ignore:Precision loss occurred:RuntimeWarning")

few = st.lists(readings, min_size=2, max_size=6)
p_values = st.lists(st.floats(1e-12, 1), min_size=1, max_size=9)
counts = st.integers(0, 12)


# --- means ---------------------------------------------------------------------------------------


# --- equivalence ---------------------------------------------------------------------------------


ratings = st.lists(st.integers(0, 10).map(float), min_size=2, max_size=30)


@given(ratings, ratings, st.floats(0.5, 5))
def test_no_data_clear_where_two_sides_that_are_all_alike_do_not(
    a: list[float], b: list[float], margin: float
) -> None:
    def p_of(first: list[float], second: list[float]) -> float:
        cells = [np.array(first), np.array(second)]
        sides, df = sides_of(cells, [1.0, -1.0], low=0.0, high=10.0)
        p = clearing_p(further_of(sides), low=-margin, high=margin, df=df)
        interval = clearing_interval(further_of(sides), df=df)
        assert interval is not None
        if abs(p - 0.05) > 1e-9:
            assert interval.within(margin) == (p < 0.05)
        assert not interval.excludes(contrast_of(sides)[0])
        return p

    alike = p_of([5.0] * len(a), [5.0] * len(b))
    if p_of(a, b) <= 0.05:
        assert alike <= 0.05


@given(st.floats(0.01, 0.9), st.floats(1, 3))
def test_fewer_units_may_all_miss_an_effect_of_the_margin(margin: float, reach: float) -> None:
    n = units_needed(margin, reach)
    assert (1 - margin / reach) ** n <= 0.05 * (1 + 1e-9)
    assert n == 1 or (1 - margin / reach) ** (n - 1) > 0.05 * (1 - 1e-9)
    assert units_needed(margin, math.inf) == 0
    assert units_needed(reach, reach) == 1


# --- counts and ranks ----------------------------------------------------------------------------


# --- several hypotheses --------------------------------------------------------------------------


@given(p_values, st.data())
def test_weighted_holm_is_the_closed_weighted_bonferroni_test(
    p: list[float], data: st.DataObject
) -> None:
    """Of each p the largest over all sets it is in of min p / weight, times the set's weight."""
    assume(len(p) <= 6)
    weights = data.draw(st.lists(st.floats(0.1, 5), min_size=len(p), max_size=len(p)))
    every = [s for n in range(1, len(p) + 1) for s in itertools.combinations(range(len(p)), n)]
    of_set = {s: sum(weights[i] for i in s) * min(p[i] / weights[i] for i in s) for s in every}
    expected = [max(of_set[s] for s in every if i in s) for i in range(len(p))]
    assert holm(p, weights, capped=False) == pytest.approx(expected)
    assert holm(p, weights) == pytest.approx(np.minimum(expected, 1))


# --- resampling ----------------------------------------------------------------------------------


@given(st.lists(st.integers(-9, 9).map(float), min_size=2, max_size=7))
def test_sign_flips_count_every_flip(differences: list[float]) -> None:
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    found = sign_flip(differences, seed=1)
    if any(differences):
        assert found.p == pytest.approx(np.mean(np.array(sums) >= sums[0] - 1e-9))
    assert sign_flip([*reversed(differences)], seed=2).p == found.p


def t_squared(a: Any, b: Any, axis: int) -> Any:
    means = (a.mean(axis=axis) - b.mean(axis=axis)) ** 2
    variance = a.var(axis=axis, ddof=1) / a.shape[axis] + b.var(axis=axis, ddof=1) / b.shape[axis]
    whole = means + variance
    return np.divide(means, whole, out=np.zeros_like(whole), where=whole > 1e-12)


@given(few, few)
def test_label_permutations_count_every_relabelling(a: list[float], b: list[float]) -> None:
    assume(len({*a, *b}) > 1)
    labels = ["a"] * len(a) + ["b"] * len(b)
    found = contrast_permutation([*a, *b], labels, {"a": 1, "b": -1}, seed=1)
    theirs = stats.permutation_test(
        (a, b), t_squared, vectorized=True, alternative="greater", n_resamples=np.inf
    )
    assert found.exact
    assert found.p == pytest.approx(float(theirs.pvalue))


def test_a_permutation_p_is_uniform_where_groups_are_exchangeable() -> None:
    rng = np.random.default_rng(4)
    labels = [*"aaaaabbbbbccccc"]
    weights = {"a": 1.0, "b": -0.5, "c": -0.5}
    found = [
        contrast_permutation(rng.gamma(1, 1, 15), labels, weights, resamples=999, seed=seed).p
        for seed in range(400)
    ]
    assert np.mean(np.array(found) <= 0.05) <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 400)


def test_labels_of_items_are_shuffled_with_their_counts() -> None:
    selected, shown = [9, 8, 1, 0, 2, 1], [10, 10, 10, 9, 10, 10]
    flags = [True, True, False, False, False, False]

    def log_ratio(inside: tuple[int, ...]) -> float:
        parts = [[0.0, 0.0], [0.0, 0.0]]
        for item in range(6):
            part = parts[item not in inside]
            part[0] += selected[item]
            part[1] += shown[item]
        return math.log(parts[0][0] / parts[0][1]) - math.log(parts[1][0] / parts[1][1])

    every = np.array([log_ratio(pair) for pair in itertools.combinations(range(6), 2)])
    found = label_shuffle_ratio(selected, shown, flags, seed=1)
    assert found.exact
    assert found.p == pytest.approx(2 * np.mean(every >= log_ratio((0, 1)) - 1e-9))
    many = label_shuffle_ratio(selected * 20, shown * 20, flags * 20, resamples=999, seed=1)
    assert not many.exact
    assert many.p == pytest.approx(2 / 1000)
    even = label_shuffle_ratio([1] * 900, [9] * 900, [True, False] * 450, seed=1)
    assert even.p == 1


def test_the_bootstrap_interval_is_seeded_and_close_to_students() -> None:
    found = bootstrap_difference(*TOOTH_GROWTH, seed=11)
    assert found == bootstrap_difference(*TOOTH_GROWTH, seed=11)
    assert found.interval != bootstrap_difference(*TOOTH_GROWTH, seed=12).interval
    expected = welch(*TOOTH_GROWTH).interval
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (expected.low, expected.high), abs=0.4
    )
    constant = bootstrap_difference([3.0, 3.0], [1.0, 1.0], seed=1).interval
    assert (constant.low, constant.high) == (2, 2)


# --- agreement and errors of reading -------------------------------------------------------------


def test_two_readings_that_err_alike_differ_as_often_as_one_of_them_errs() -> None:
    differ = 2 * 0.03 * (1 - 0.03)
    left = retest_youden(differ=round(differ * 1_000_000), pairs=1_000_000)
    youden = 1 - 2 * 0.03
    limit = 1.645 * math.sqrt(differ * (1 - differ) / 1e6) / youden
    assert youden - left == pytest.approx(limit, rel=0.01)
    assert retest_youden(differ=10, pairs=20) == 0
    assert retest_youden(differ=0, pairs=20) == pytest.approx(math.sqrt(2 * 0.05**0.05 - 1))
