"""Boundaries against tables and another integration; betting against simulated gamblers."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.errors import BadStatisticInput, TooFewUnits
from pytest_bias.statistics.sequential import betting_p, obrien_fleming_boundaries

Side = Literal["two-sided", "greater", "less"]


def test_boundaries_of_the_specification() -> None:
    found = obrien_fleming_boundaries()
    assert found.constant == pytest.approx(2.040073, abs=5e-7)
    assert found.z == pytest.approx([2.040073 * math.sqrt(5 / k) for k in range(1, 6)], rel=1e-6)
    assert found.p == pytest.approx([2 * stats.norm.sf(z) for z in found.z])


@pytest.mark.parametrize(
    ("looks", "constant"), [(1, 1.960), (2, 1.977), (3, 2.004), (4, 2.024), (10, 2.087)]
)
def test_constants_of_the_published_table(looks: int, constant: float) -> None:
    assert obrien_fleming_boundaries(looks=looks).constant == pytest.approx(constant, abs=6e-4)


@pytest.mark.parametrize("alpha", [0.001, 0.05, 0.2])
def test_three_looks_leave_a_three_dimensional_normal(alpha: float) -> None:
    found = obrien_fleming_boundaries(looks=3, alpha=alpha)
    covariance = [[math.sqrt(min(i, j) / max(i, j)) for i in (1, 2, 3)] for j in (1, 2, 3)]
    inside = stats.multivariate_normal(cov=covariance, seed=1).cdf(
        np.array(found.z), lower_limit=-np.array(found.z)
    )
    assert 1 - inside == pytest.approx(alpha, abs=2e-5)


def test_five_looks_alarm_as_often_as_they_say() -> None:
    rng, runs = np.random.default_rng(4), 40_000
    z = rng.standard_normal((runs, 5)).cumsum(axis=1) / np.sqrt(np.arange(1, 6))
    alarms = (np.abs(z) >= obrien_fleming_boundaries().z).any(axis=1).mean()
    assert alarms == pytest.approx(0.05, abs=0.0035)
    assert (np.abs(z) >= 1.96).any(axis=1).mean() > 0.13


def test_extreme_boundaries_are_found() -> None:
    for alpha in (1e-6, 0.01, 0.499):
        constants = [
            obrien_fleming_boundaries(looks=looks, alpha=alpha).constant
            for looks in (1, 2, 5, 20, 100)
        ]
        assert constants == sorted(constants)
        assert constants[-1] < stats.norm.isf(alpha / 4)


def test_boundaries_refuse_values_outside_their_domain() -> None:
    for looks, alpha in ((0, 0.05), (101, 0.05), (5, 0.5), (5, 1e-7)):
        with pytest.raises(BadStatisticInput):
            obrien_fleming_boundaries(looks=looks, alpha=alpha)


@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_peeking_after_every_value_keeps_the_error_rate(side: Side, rate: float) -> None:
    rng, runs = np.random.default_rng(12), 600
    alarms = sum(
        betting_p(rng.random(150) < rate, mean=rate, bounds=(0, 1), alternative=side).p <= 0.05
        for _ in range(runs)
    )
    assert alarms / runs <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / runs)


def test_ratings_under_the_null_keep_the_error_rate_and_a_shift_is_found() -> None:
    rng, runs = np.random.default_rng(7), 400
    ratings = rng.choice([1.0, 2, 3, 4, 5], p=[0.1, 0.2, 0.4, 0.2, 0.1], size=(runs, 120))
    alarms = sum(betting_p(row, mean=3, bounds=(1, 5)).p <= 0.05 for row in ratings)
    assert alarms / runs <= 0.0718
    shifted = np.minimum(ratings + 1, 5)
    found = sum(betting_p(row, mean=3, bounds=(1, 5)).p <= 0.05 for row in shifted)
    assert found / runs > 0.95
    wrong = sum(
        betting_p(row, mean=3, bounds=(1, 5), alternative="less").p <= 0.05 for row in shifted
    )
    assert wrong == 0


def test_the_e_value_is_a_fair_bet() -> None:
    # every sequence of 8 coins, weighted by its probability: the mean e-value is exactly 1
    rate, n = 0.3, 8
    for side in ("two-sided", "greater", "less"):
        mean = 0.0
        for code in range(2**n):
            coins = [(code >> i) & 1 for i in range(n)]
            weight = rate ** sum(coins) * (1 - rate) ** (n - sum(coins))
            found = betting_p(coins, mean=rate, bounds=(0, 1), alternative=side)
            mean += weight * math.exp(found.log_e)
        assert mean == pytest.approx(1)


grids = st.lists(st.integers(0, 8).map(lambda i: i / 8), min_size=1, max_size=30)


@given(grids, st.integers(1, 15).map(lambda i: i / 16))
def test_sides_scales_and_more_values(coins: list[float], mean: float) -> None:
    greater = betting_p(coins, mean=mean, bounds=(0, 1), alternative="greater")
    mirrored = betting_p(
        [5 - 2 * c for c in coins], mean=5 - 2 * mean, bounds=(3, 5), alternative="less"
    )
    assert mirrored.log_e == pytest.approx(greater.log_e, abs=1e-9)
    assert 0 < greater.p <= 1
    assert greater.log_e_max >= max(0.0, greater.log_e)
    assert greater.p == pytest.approx(math.exp(-greater.log_e_max))
    longer = betting_p([*coins, 0.5], mean=mean, bounds=(0, 1), alternative="greater")
    assert longer.p <= greater.p
    if greater.stopped:
        stopped = betting_p(
            coins[: greater.stopped], mean=mean, bounds=(0, 1), alternative="greater"
        )
        assert stopped.log_e == pytest.approx(greater.log_e_max)


def test_overwhelming_evidence_is_not_a_p_value_of_zero() -> None:
    found = betting_p([1] * 5000, mean=1e-10, bounds=(0, 1))
    assert found.p > 0
    assert math.isfinite(found.log_e)


def test_betting_refuses_values_outside_its_domain() -> None:
    with pytest.raises(TooFewUnits):
        betting_p([], mean=0.5, bounds=(0, 1))
    for coins, mean in (([0.0, 1.5], 0.5), ([0.0], 0.0), ([0.0], 1.0), ([math.nan], 0.5)):
        with pytest.raises(BadStatisticInput):
            betting_p(coins, mean=mean, bounds=(0, 1))
    with pytest.raises(BadStatisticInput):
        betting_p([0.5], mean=0.5, bounds=(1, 0))
    with pytest.raises(BadStatisticInput):
        betting_p([0.5], mean=0.5, bounds=(0, 1), alternative="up")  # type: ignore[arg-type]  # wrong on purpose
