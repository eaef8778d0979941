"""Rank tests and the probability of superiority."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.statistics.ranks import mann_whitney, vargha_delaney

from .reference import assert_sound

ratings = st.integers(1, 5).map(float)
groups = st.lists(ratings, min_size=2, max_size=9)
anything = st.lists(st.floats(-1e100, 1e100), min_size=2, max_size=8)


def test_mann_whitney_exact_p_counts_relabellings() -> None:
    assert mann_whitney([1, 2, 3], [4, 5, 6]).p_exact == pytest.approx(2 / 20)
    assert mann_whitney([1, 2, 4], [3, 5, 6]).p_exact == pytest.approx(4 / 20)
    assert mann_whitney(range(51), np.arange(51) + 0.5).p_exact is None


def test_values_that_differ_by_rounding_are_ties() -> None:
    assert mann_whitney([0.3, 0.1 + 0.2], [0.3, 0.1 + 0.2]).p_exact is None
    assert vargha_delaney([0.1 + 0.2], [0.3]) == 0.5


@given(st.lists(st.integers(0, 6), min_size=2), st.lists(st.integers(0, 6), min_size=2))
def test_p_and_u_are_those_of_scipy(a: list[int], b: list[int]) -> None:
    assume(len({*a, *b}) > 1)
    theirs = stats.mannwhitneyu(a, b, method="asymptotic")
    found = mann_whitney(a, b)
    assert found.u == theirs.statistic
    assert found.p == pytest.approx(theirs.pvalue, rel=1e-13)


def test_equal_values_everywhere() -> None:
    found = mann_whitney([3, 3], [3, 3, 3])
    assert (found.u, found.p, found.p_exact) == (3, 1, None)


@given(groups, groups)
def test_two_groups_exchanged_and_rescaled(a: list[float], b: list[float]) -> None:
    one, other = mann_whitney(a, b), mann_whitney(b, a)
    assert_sound(one)
    assert one.u + other.u == pytest.approx(len(a) * len(b))
    assert one.p == pytest.approx(other.p)
    assert 0 <= vargha_delaney(a, b) <= 1
    pairs = [(x > y) + (x == y) / 2 for x, y in itertools.product(a, b)]
    assert vargha_delaney(a, b) == pytest.approx(np.mean(pairs))
    assert mann_whitney(np.exp(a), np.exp(b)) == one
    assert mann_whitney(sorted(a), b) == one


@given(anything, anything)
def test_any_finite_values_give_finite_results(a: list[float], b: list[float]) -> None:
    assert_sound(mann_whitney(a, b))
