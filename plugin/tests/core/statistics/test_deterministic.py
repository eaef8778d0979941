"""Identical replies: the bounds hold in the worst case, exactly and in simulation."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from pytest_bias.errors import BadStatisticInput, TooFewUnits
from pytest_bias.statistics.bounded import deterministic_difference, unseen_p
from pytest_bias.statistics.power import units_unseen
from pytest_bias.statistics.resampling import exact_separation_p

from ...helpers import there

ALPHA = 0.05


def test_25_identical_replies_bound_the_difference_at_113_thousandths_of_the_scale() -> None:
    found = deterministic_difference([3.0] * 25, [3.0] * 25, bounds=(1, 5), margin=None)
    assert found.difference == 0
    assert found.interval.high == -found.interval.low == pytest.approx(4 * 0.1129, abs=5e-4)
    assert found.interval.level == 0.95
    assert found.p_alarm == 1
    assert found.p_clear is None


def test_unequal_constants_alarm_with_a_permutation_p_and_never_clear_beyond_the_margin() -> None:
    found = deterministic_difference([9] * 30, [3] * 30, bounds=(0, 12), margin=0.6)
    assert found.difference == 6
    assert found.p_alarm == exact_separation_p(30, 30)
    assert 0 < found.p_alarm < 1e-10
    assert found.p_clear == 1
    assert found.interval.excludes(0.6)
    assert found.interval.low < 6 < found.interval.high


def test_a_small_difference_inside_the_margin_can_clear() -> None:
    found = deterministic_difference([4.1] * 60, [4.0] * 60, bounds=(0, 12), margin=1)
    assert found.p_clear == pytest.approx((11 / 11.9) ** 60)
    assert found.p_alarm == exact_separation_p(60, 60)


def test_a_margin_wider_than_the_scale_clears_with_the_floor() -> None:
    found = deterministic_difference([1.0], [0.0], bounds=(0, 1), margin=2)
    assert 0 < there(found.p_clear) < 1e-300


def test_constants_that_differ_by_rounding_are_equal() -> None:
    found = deterministic_difference(
        [0.1 + 0.2] * 9 + [0.3], [0.3] * 10, bounds=(0, 0.3), margin=None
    )
    assert (found.difference, found.p_alarm) == (0, 1)


@pytest.mark.parametrize(("n_a", "n_b"), [(2, 2), (5, 5), (5, 9), (6, 6), (8, 8), (25, 25)])
def test_exact_error_rates_over_two_point_populations(n_a: int, n_b: int) -> None:
    """Enumerate pairs of two-point populations: neither the interval nor clearing errs more."""
    points, margin = np.array([0, 0.2, 0.5, 1]), 0.2
    shares = []
    for q, (i, j) in product(np.linspace(0, 1, 101), product(range(4), repeat=2)):
        if i != j:
            share = np.zeros(4)
            share[i], share[j] = 1 - q, q
            shares.append(share)
    masses = np.array(shares)
    means = masses @ points
    true = means[:, None] - means[None, :]
    missed = np.zeros_like(true)
    cleared = np.zeros_like(true)
    for (i, x), (j, y) in product(enumerate(points), repeat=2):
        found = deterministic_difference([x] * n_a, [y] * n_b, bounds=(0, 1), margin=margin)
        seen = np.outer(masses[:, i] ** n_a, masses[:, j] ** n_b)
        outside = (true < found.interval.low - 1e-12) | (true > found.interval.high + 1e-12)
        missed += seen * outside
        cleared += seen * ((np.abs(true) >= margin - 1e-12) & (there(found.p_clear) <= ALPHA))
    assert missed.max() <= ALPHA
    assert cleared.max() <= ALPHA


@pytest.mark.parametrize(("margin", "units"), [(0.1, 29), (0.05, 59), (2, 1)])
def test_units_of_which_none_differs(margin: float, units: int) -> None:
    assert units_unseen(margin) == units_unseen(margin * 3, width=3) == units
    if units > 1:
        shape = {"width": 1, "margin": margin, "difference": 0}
        assert unseen_p(n=units, **shape) <= ALPHA < unseen_p(n=units - 1, **shape)


@pytest.mark.parametrize(("n", "total"), [(1, 2), (2, 6), (5, 252), (12, 2_704_156)])
def test_separation_p_counts_relabellings(n: int, total: int) -> None:
    assert exact_separation_p(n, n) == pytest.approx(min(1, 2 / total))


def test_separation_p_of_unequal_groups_doubles_and_is_symmetric() -> None:
    assert exact_separation_p(2, 5) == exact_separation_p(5, 2) == pytest.approx(2 / 21)
    assert exact_separation_p(1, 19) == pytest.approx(0.1)


def test_separation_p_is_floored() -> None:
    assert 0 < exact_separation_p(100_000, 100_000) < 1e-300


@pytest.mark.parametrize(
    ("a", "b", "changes", "problem"),
    [
        ([1, 2], [1, 1], {}, "not all the same"),
        ([1, 1], [1, 2], {}, "not all the same"),
        ([1, 1], [7, 7], {}, "outside 0.0 to 5.0"),
        ([1, 1], [1, 1], {"bounds": (5, 0)}, "not below"),
        ([1, 1], [1, 1], {"margin": 0}, "above 0"),
        ([1, float("nan")], [1, 1], {}, "NaN"),
    ],
)
def test_bad_input(a: list[float], b: list[float], changes: dict[str, Any], problem: str) -> None:
    arguments: dict[str, Any] = {"bounds": (0, 5), "margin": 1, **changes}
    with pytest.raises(BadStatisticInput, match=problem):
        deterministic_difference(a, b, **arguments)


def test_empty_group() -> None:
    with pytest.raises(TooFewUnits, match="a: 0 unit"):
        deterministic_difference([], [1], bounds=(0, 5), margin=1)
    with pytest.raises(TooFewUnits, match="n_b: 0 unit"):
        exact_separation_p(3, 0)
