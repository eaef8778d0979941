"""Sizes without a sign: exchanging two models within units, against counting by hand."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pytest_bias.errors import BadStatisticInput
from pytest_bias.statistics.resampling import exchange_size, spread_of_means, sum_of_gaps

GAPS = np.array([[1.0, 0.5], [-1.0, 0.5], [0.0, -1.0]])
SIZES: dict[str, Any] = {"spread": spread_of_means, "gaps": sum_of_gaps(GAPS)}


def crossed(n: int, seed: int, more: float = 0.0) -> dict[str, Any]:
    """Every unit meets three groups; the candidate's first group has ``more``."""
    rng = np.random.default_rng(seed)
    own = np.repeat(rng.normal(0, 1, n), 3)
    shift = np.tile([1.0, 0.0, 0.0], n)
    return {
        "candidate": own + rng.normal(0, 0.4, 3 * n) + more * shift,
        "baseline": own + rng.normal(0, 0.4, 3 * n),
        "groups": list(range(3)) * n,
        "units": [unit for unit in range(n) for _ in range(3)],
    }


def means(values: NDArray[np.float64], groups: list[int]) -> NDArray[np.float64]:
    of = np.array(groups)
    return np.array([values[of == g].mean() for g in range(3)])


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_the_share_of_exchanges_that_reach_the_difference(size: Any) -> None:
    given = crossed(7, 1, more=0.3)
    statistics = []
    for swaps in product([False, True], repeat=7):
        swapped = np.repeat(swaps, 3)
        first = np.where(swapped, given["baseline"], given["candidate"])
        second = np.where(swapped, given["candidate"], given["baseline"])
        of = given["groups"]
        statistics.append(float(size(means(first, of)) - size(means(second, of))))
    exact = np.mean(np.array(statistics) >= statistics[0] - 1e-12)
    found = exchange_size(**given, size=size, seed=1)
    assert 0.02 < exact < 0.98
    assert abs(found.p - exact) < 4 * found.error + 1e-4
    assert exchange_size(**given, size=size, seed=1) == found


def test_a_larger_size_is_found_and_a_smaller_one_is_not() -> None:
    larger = crossed(20, 2, more=3.0)
    assert exchange_size(**larger, size=spread_of_means, seed=1).p < 0.001
    swapped = larger | {"candidate": larger["baseline"], "baseline": larger["candidate"]}
    assert exchange_size(**swapped, size=spread_of_means, seed=1).p > 0.99


def test_two_models_that_say_the_same_are_not_told_apart() -> None:
    same = crossed(6, 3)
    same["baseline"] = same["candidate"]
    assert exchange_size(**same, size=spread_of_means, seed=1).p == 1


def test_units_that_are_in_one_group_only_are_exchanged_alone() -> None:
    given = crossed(5, 4, more=2.0)
    nested = given | {"units": list(range(15))}
    apart, together = (
        exchange_size(**each, size=SIZES["gaps"], seed=1) for each in (nested, given)
    )
    assert apart.p != together.p


def test_no_more_false_alarms_than_promised() -> None:
    alarms = [
        exchange_size(**crossed(8, seed), size=spread_of_means, resamples=200, seed=1).p <= 0.05
        for seed in range(1_000)
    ]
    assert np.mean(alarms) <= 0.0638  # .05 and two standard errors


@pytest.mark.parametrize(
    "changes",
    [
        {"baseline": [1.0]},
        {"groups": [0]},
        {"units": [0]},
        {"groups": [0] * 15},
        {"groups": [0, 2, 2] * 5},
        {"candidate": [float("nan")] * 15},
    ],
    ids=str,
)
def test_bad_arguments(changes: dict[str, Any]) -> None:
    given = crossed(5, 5) | {"size": spread_of_means, "seed": 1}
    with pytest.raises(BadStatisticInput):
        exchange_size(**(given | changes))
