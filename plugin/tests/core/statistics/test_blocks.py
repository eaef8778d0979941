"""One contrast per unit: against R, scipy, brute force, and by symmetry."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.statistics.blocks import cohen_dz, one_sample, sign_flip

from .reference import SLEEP, assert_sound

close = pytest.approx
# a grid, so that ties are ties and shifting and scaling are exact
readings = st.integers(-80, 80).map(lambda i: i / 8)
varied = st.lists(readings, min_size=3, max_size=9).filter(lambda found: len(set(found)) > 1)
FIRST, SECOND = (np.array(group) for group in SLEEP)
PAIRS = FIRST - SECOND


def brute_force(differences: list[float]) -> float:
    values = np.array(differences)
    sums = [abs(float(np.dot(signs, values))) for signs in product((1, -1), repeat=values.size)]
    return float(np.mean([each >= abs(values.sum()) - 1e-9 for each in sums]))


def test_one_sample_is_the_paired_t_test() -> None:
    expected = stats.ttest_rel(FIRST, SECOND)
    found = one_sample(PAIRS)
    assert (found.t, found.df, found.p) == close((expected.statistic, 9, expected.pvalue))
    for level in (0.9, 0.95):
        interval, ours = expected.confidence_interval(level), found.at_level(level)
        assert (ours.low, ours.high) == close((interval.low, interval.high))
    assert (found.estimate, found.se) == close((-1.58, PAIRS.std(ddof=1) / math.sqrt(10)))


@pytest.mark.parametrize("n", [2, 3, 5, 10, 16])
def test_units_of_one_sign_give_two_of_all_flips(n: int) -> None:
    found = sign_flip(np.arange(1.0, n + 1), seed=0)
    assert found.exact
    assert found.p == 2.0 ** (1 - n)
    assert found.error == 0


@given(differences=st.lists(readings, min_size=2, max_size=8))
def test_every_flip_is_counted(differences: list[float]) -> None:
    found = sign_flip(differences, seed=3)
    assert found.exact
    assert found.p == close(brute_force(differences))


def test_ties_count_as_extreme_in_spite_of_rounding() -> None:
    # 0.1 + 0.2 and 0.3 differ in the last bit: 4 flips out of 8 tie with the observed sum of 0
    assert sign_flip([0.1, 0.2, -0.3], seed=0).p == 1


def test_nothing_but_zeros_is_no_evidence() -> None:
    assert sign_flip([0.0] * 20, resamples=200, seed=0).p == 1


def test_random_flips_come_close_to_all_flips_and_say_how_close() -> None:
    differences = np.random.default_rng(4).normal(0.35, 1, 18)
    every = sign_flip(differences, resamples=2**17, seed=1)
    some = sign_flip(differences, resamples=5_000, seed=1)
    assert every.exact
    assert not some.exact
    assert 0.01 < every.p < 0.5
    assert abs(some.p - every.p) < 4 * some.error
    assert some.error == close(math.sqrt(some.p * (1 - some.p) / 5_000))
    assert some == sign_flip(differences, resamples=5_000, seed=1)


def test_random_flips_never_give_zero_and_do_not_depend_on_the_order_of_units() -> None:
    assert sign_flip(np.ones(300), resamples=999, seed=5).p == 1 / 1000
    rng = np.random.default_rng(8)
    differences = rng.normal(0.2, 1, 60)
    once = sign_flip(differences, resamples=2_000, seed=5)
    assert sign_flip(rng.permutation(differences), resamples=2_000, seed=5) == once
    assert sign_flip(-differences, resamples=2_000, seed=5) == once


def test_sign_flips_keep_their_size_where_units_differ_in_spread() -> None:
    rng = np.random.default_rng(12)
    spread = np.array([0.1, 0.1, 0.5, 1, 1, 2, 4, 8])
    p = np.array([sign_flip(rng.normal(0, spread), seed=1).p for _ in range(1_500)])
    assert (p <= 0.05).mean() <= 0.05 + 2 * 0.0057


@given(varied, st.sampled_from([0.25, 2.0, 64.0]), st.integers(-20, 20))
def test_shift_scale_and_swap(differences: list[float], scale: float, shift: int) -> None:
    values = np.array(differences)
    before = one_sample(values)
    assert_sound(before)
    scaled = one_sample(values * scale)
    assert scaled.p == close(before.p)
    assert scaled.estimate == close(before.estimate * scale, abs=1e-12)
    assert one_sample(values + shift).se == close(before.se)
    swapped = one_sample(-values)
    assert (swapped.estimate, swapped.p) == close((-before.estimate, before.p))
    assert swapped.interval.low == close(-before.interval.high, abs=1e-12)
    flipped = sign_flip(values, seed=2).p
    assert sign_flip(values * scale, seed=2).p == sign_flip(-values, seed=2).p == flipped


@given(varied, st.sampled_from([0.25, 2.0, 64.0]))
def test_standardised_mean(differences: list[float], scale: float) -> None:
    found = cohen_dz(differences)
    assert_sound(found)
    tested = one_sample(differences)
    assert found.d == close(tested.t / math.sqrt(len(differences)))
    assert found.g == close(found.d * found.j)
    assert not found.interval.excludes(found.d)
    if abs(tested.p - 0.05) > 1e-6:
        assert found.interval.excludes(0) == (tested.p < 0.05)
    scaled = cohen_dz(np.array(differences) * scale)
    assert scaled.interval.high == close(found.interval.high, rel=1e-6, abs=1e-9)
    swapped = cohen_dz([-each for each in differences])
    assert swapped.interval.low == close(-found.interval.high, rel=1e-6, abs=1e-9)


def test_the_standardised_interval_ends_where_the_observed_t_is_in_a_tail() -> None:
    found = cohen_dz(PAIRS)
    t, root = found.d * math.sqrt(10), math.sqrt(10)
    assert stats.nct.sf(t, 9, found.interval.low * root) == close(0.025, rel=1e-6)
    assert stats.nct.cdf(t, 9, found.interval.high * root) == close(0.025, rel=1e-6)
    assert found.j == close(math.gamma(4.5) / (math.sqrt(4.5) * math.gamma(4)))
