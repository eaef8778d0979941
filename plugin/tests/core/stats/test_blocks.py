"""One contrast per unit, and contrasts over fixed cells: against R, scipy and brute force."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.errors import BadStatisticInput, NoVariance, TooFewUnits
from pytest_bias.stats.blocks import cohen_dz, one_sample, sign_flip
from pytest_bias.stats.means import stratified_contrast, welch

from .reference import SLEEP, TOOTH_GROWTH, assert_sound

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


grids = st.lists(st.lists(readings, min_size=1, max_size=5), min_size=3, max_size=7).filter(
    lambda cells: sum(len(set(cell)) > 1 for cell in cells) >= 2
)


@pytest.mark.parametrize("data", [SLEEP, TOOTH_GROWTH])
def test_two_cells_are_a_welch_test_but_for_the_df(data: tuple[list[float], list[float]]) -> None:
    expected = welch(*data)
    found = stratified_contrast(data, [1, -1])
    assert (found.estimate, found.se, found.t) == close(
        (expected.estimate, expected.se, expected.t)
    )
    assert min(len(group) for group in data) - 1 <= found.df <= sum(map(len, data)) - 2


def test_a_small_example_by_hand() -> None:
    # variances 50, 1 and .5 on 1, 2 and 1 degrees of freedom
    found = stratified_contrast([[0, 10], [4, 5, 6], [0, 1]], [0.5, 0.5, -1])
    terms = np.array([0.25 * 50 / 2, 0.25 * 1 / 3, 1 * 0.5 / 2])
    assert found.estimate == close(0.5 * 5 + 0.5 * 5 - 0.5)
    assert found.se == close(math.sqrt(terms.sum()))
    assert found.df == close(terms.sum() ** 2 / (terms**2 @ [1 / 3, 1 / 4, 1 / 3]) - 2)
    assert 1 < found.df < 4
    assert found.pooled_sd == close(math.sqrt((50 + 2 * 1 + 0.5) / 4))


def test_the_df_stay_between_the_smallest_and_the_sum() -> None:
    alike = stratified_contrast([[0, 1], [0, 1], [0, 1], [0, 1]], [1, 1, -1, -1])
    assert alike.df == 4
    lone = stratified_contrast([[0, 1], [5, 5, 5, 5], [2, 2, 2, 2]], [1, -1, -1])
    assert lone.df == 1


def test_a_single_reply_takes_the_pooled_variance_and_adds_no_df() -> None:
    cells = [[1.0, 2.0, 4.0], [3.0, 3.5], [2.0]]
    pooled = (np.var(cells[0], ddof=1) * 2 + np.var(cells[1], ddof=1)) / 3
    found = stratified_contrast(cells, [1, 0.5, -1.5])
    expected = np.var(cells[0], ddof=1) / 3 + 0.25 * np.var(cells[1], ddof=1) / 2 + 2.25 * pooled
    assert found.se == close(math.sqrt(expected))
    assert found.df <= 3
    assert found.pooled_sd == close(math.sqrt(pooled))


def test_a_cell_without_weight_takes_no_part() -> None:
    with_it = stratified_contrast([[1, 3], [100, 900], [4, 8], []], [1, 0, -1, 0])
    assert with_it == stratified_contrast([[1, 3], [4, 8]], [1, -1])


def test_an_empty_cell_is_named() -> None:
    with pytest.raises(BadStatisticInput, match=r"cells\[2\].*empty"):
        stratified_contrast([[1, 2], [3, 4], []], [1, 1, -2])


def test_too_little_to_go_by() -> None:
    with pytest.raises(TooFewUnits) as raised:
        stratified_contrast([[1, 2], [3], [4]], [1, 1, -2])
    assert (raised.value.found, raised.value.needed) == (1, 2)


@given(grids, st.integers(-20, 20), st.sampled_from([0.25, 2.0, 64.0]), st.data())
def test_shift_scale_swap_and_order(
    cells: list[list[float]], shift: int, scale: float, data: st.DataObject
) -> None:
    drawn = data.draw(st.lists(st.integers(1, 6), min_size=len(cells), max_size=len(cells)))
    weights = np.array(drawn) - np.mean(drawn) if len(set(drawn)) > 1 else np.array(drawn)
    try:
        before = stratified_contrast(cells, weights)
    except (TooFewUnits, NoVariance):  # cells of weight 0 may be those that vary
        return
    assert_sound(before)
    assert not before.interval.excludes(before.estimate)
    slack = 1e-9
    scaled = stratified_contrast([np.array(cell) * scale for cell in cells], weights)
    assert (scaled.p, scaled.df) == close((before.p, before.df))
    assert scaled.estimate == close(before.estimate * scale, abs=slack)
    moved = stratified_contrast([np.array(cell) + shift for cell in cells], weights)
    assert moved.estimate == close(before.estimate + shift * weights.sum(), abs=slack)
    assert moved.se == close(before.se)
    swapped = stratified_contrast(cells, -weights)
    assert (swapped.estimate, swapped.p) == close((-before.estimate, before.p))
    order = data.draw(st.permutations(range(len(cells))))
    shuffled = stratified_contrast([cells[i][::-1] for i in order], weights[list(order)])
    assert (shuffled.estimate, shuffled.se, shuffled.df) == close(
        (before.estimate, before.se, before.df), abs=slack
    )
    doubled = stratified_contrast(cells, 2 * weights)
    assert (doubled.t, doubled.se) == close((before.t, 2 * before.se))


def test_enormous_and_tiny_values_stay_finite() -> None:
    for unit in (1e-90, 1e100):
        found = stratified_contrast([[0, unit], [unit, unit], [unit, 0]], [1e100, 1e-100, -1e100])
        assert_sound(found)


def test_two_replies_in_each_of_144_cells_keep_the_nominal_size() -> None:
    rng = np.random.default_rng(20)
    levels = rng.normal(0, 3, 144)
    levels[72:] = rng.permutation(levels[:72])  # the same mean on both sides: no effect
    spread = np.repeat([0.3, 0.7, 1.5], 48)
    weights = np.repeat([1 / 72, -1 / 72], 72)
    runs = 1_500
    found = [
        stratified_contrast(list(rng.normal(levels, spread, (2, 144)).T), weights)
        for _ in range(runs)
    ]
    size = np.mean([each.p <= 0.05 for each in found])
    assert abs(size - 0.05) <= 2.5 * math.sqrt(0.05 * 0.95 / runs)
    assert 30 < np.median([each.df for each in found]) <= 144
