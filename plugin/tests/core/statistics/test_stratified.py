"""Contrasts over fixed cells: against Welch, by hand, by symmetry and in simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bias.errors import BadStatisticInput, NoVariance, TooFewUnits
from pytest_bias.statistics.means import stratified_contrast, welch

from .reference import SLEEP, TOOTH_GROWTH, assert_sound

close = pytest.approx
readings = st.integers(-80, 80).map(lambda i: i / 8)
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
