"""Too little, too constant, too damaged: raised, never returned as a number."""

from __future__ import annotations

import sys
from dataclasses import FrozenInstanceError
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pytest_bias.errors import BadStatisticInput, NoVariance, TooFewUnits
from pytest_bias.statistics.checks import probability
from pytest_bias.statistics.counts import newcombe, wilson
from pytest_bias.statistics.effect_size import cohen_d, standardized_difference
from pytest_bias.statistics.means import (
    describe,
    p_from_t,
    welch,
)
from pytest_bias.statistics.permutation import label_permutation
from pytest_bias.statistics.resampling import (
    bootstrap_difference,
)
from pytest_bias.statistics.results import Interval
from pytest_bias.statistics.simultaneous import (
    holm,
    welch_group_contrasts,
)

if TYPE_CHECKING:
    from collections.abc import Callable

NAN, INF = float("nan"), float("inf")

TWO_GROUPS: dict[str, Callable[..., object]] = {
    "welch": welch,
    "cohen_d": cohen_d,
    "standardized_difference": standardized_difference,
    "bootstrap_difference": lambda a, b: bootstrap_difference(a, b, iterations=100, seed=1),
}
DIVIDING = {name: test for name, test in TWO_GROUPS.items() if name != "bootstrap_difference"}


@pytest.mark.parametrize("name", TWO_GROUPS)
@pytest.mark.parametrize(("a", "b", "short"), [([], [1, 2], "a"), ([1, 2], [3], "b")])
def test_too_few_units(name: str, a: list[float], b: list[float], short: str) -> None:
    with pytest.raises(TooFewUnits) as raised:
        TWO_GROUPS[name](a, b)
    assert (raised.value.group, raised.value.needed) == (short, 2)


@pytest.mark.parametrize("name", TWO_GROUPS)
@pytest.mark.parametrize(
    "bad",
    [
        [1, NAN],
        [1, INF],
        [[1, 2], [3, 4]],
        5,
        ["a", "b"],
        [None, 1],
        [1j, 2],
        [[1], [2, 3]],
        [1e101, 1],
    ],
)
def test_damaged_values(name: str, bad: object) -> None:
    with pytest.raises(BadStatisticInput) as raised:
        TWO_GROUPS[name]([1, 2], bad)
    assert (raised.value.function, raised.value.argument) == (name, "b")


@pytest.mark.parametrize("name", DIVIDING)
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([3, 3, 3], [3, 3]),
        ([9, 9], [3, 3]),
        ([0.1] * 10, [0.3] * 7),
        # means of the same replies summed in another order
        ([0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1], [0.6, 0.6]),
        ([1e-200, 2e-200], [0, 0]),
    ],
)
def test_constant_groups_have_no_test(name: str, a: list[float], b: list[float]) -> None:
    with pytest.raises(NoVariance):
        DIVIDING[name](a, b)


def test_p_values_that_underflow_are_floored() -> None:
    a = 1e6 + np.linspace(-1, 1, 500)
    found = welch(a, -a)
    assert found.p == sys.float_info.min
    assert welch(a, a).tost(1e6).p == sys.float_info.min
    assert p_from_t(1e90, 1e90) == sys.float_info.min
    assert newcombe(5000, 5000, 0, 5000).p == sys.float_info.min


def test_rates_near_1_of_huge_groups_keep_their_digits() -> None:
    hits = newcombe(5, 5 * 10**14, 45, 5 * 10**14)
    misses = newcombe(5 * 10**14 - 5, 5 * 10**14, 5 * 10**14 - 45, 5 * 10**14)
    assert misses.p == pytest.approx(hits.p, rel=1e-12)
    assert hits.p == pytest.approx(1.5417e-8, rel=1e-4)


def test_probability() -> None:
    assert probability(0) == probability(-1e-20) == sys.float_info.min
    assert probability(1 + 1e-15) == 1
    assert probability(0.25) == 0.25
    with pytest.raises(BadStatisticInput):
        probability(NAN)


def test_describe() -> None:
    with pytest.raises(TooFewUnits):
        describe([])
    single = describe([4.5])
    assert (single.n, single.mean, single.q1, single.sd, single.se) == (1, 4.5, 4.5, None, None)
    level = describe([0.1] * 3)
    assert (level.mean, level.sd, level.se) == (0.1, 0, 0)
    with pytest.raises(BadStatisticInput):
        describe([1, NAN])


def test_interval() -> None:
    interval = Interval(low=-1, high=2, level=0.95)
    assert not interval.excludes(-1)
    assert not interval.excludes(2)
    assert interval.excludes(2.01)
    assert interval.excludes(-1.01)
    assert interval.within(2)
    assert not interval.within(1.99)
    with pytest.raises(FrozenInstanceError):
        interval.low = 0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("low", "high", "level"),
    [(2, 1, 0.95), (1, 2, 0), (1, 2, 1), (NAN, 1, 0.9), (1, INF, 0.9), (1, 2, NAN)],
)
def test_bad_interval(low: float, high: float, level: float) -> None:
    with pytest.raises(BadStatisticInput):
        Interval(low=low, high=high, level=level)


@pytest.mark.parametrize("successes", [0, 30])
def test_rates_at_the_end_of_the_scale_have_a_width(successes: int) -> None:
    assert wilson(successes, 30).high - wilson(successes, 30).low > 0.1
    found = newcombe(successes, 30, successes, 30)
    assert (found.difference, found.p, found.test) == (0, 1, "fisher")
    assert found.interval.high == pytest.approx(-found.interval.low)
    assert found.interval.high > 0.1


def test_bootstrap_is_seeded_and_chunked() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(1, 1, 40_000), rng.normal(0, 1, 30_000)
    found = bootstrap_difference(a, b, iterations=200, seed=11)
    assert found == bootstrap_difference(a, b, iterations=200, seed=11)
    assert found.interval != bootstrap_difference(a, b, iterations=200, seed=12).interval
    expected = welch(a, b).interval
    assert found.interval.low == pytest.approx(expected.low, abs=0.005)
    assert found.interval.high == pytest.approx(expected.high, abs=0.005)


def test_inputs_are_not_changed() -> None:
    a, b = np.array([1.0, 2, 3]), np.array([4.0, 5, 7])
    before = a.copy(), b.copy()
    standardized_difference(a, b)
    holm(a / 10)
    assert (a == before[0]).all()
    assert (b == before[1]).all()


def test_label_permutation_of_many_units_is_reproducible_and_never_zero() -> None:
    a, b = list(range(30)), list(range(100, 140))
    found = label_permutation(a, b, seed=1, resamples=999)
    assert not found.exact
    assert found.p == pytest.approx(2 / 1000)
    assert found == label_permutation(a, b, seed=1, resamples=999)


@pytest.mark.parametrize("shift", [0, 1e3, 1e5, 1e6])
def test_label_permutation_counts_ties_wherever_the_values_lie(shift: float) -> None:
    a, b = np.array([1, 2, 3, 1, 5]) / 10, np.array([3, 4, 2, 6, 5]) / 10
    # 27 of the 252 choices of five of these tenths have a sum of 12 or less
    assert label_permutation(a + shift, b + shift, seed=1).p == pytest.approx(2 * 27 / 252)


def test_rounding_beside_values_of_another_group_is_no_variance() -> None:
    a, b = [1.0, 1, 1, 1], [0, 1e-17, 0, 0]
    for function in (welch, cohen_d):
        with pytest.raises(NoVariance):
            function(a, b)
    with pytest.raises(NoVariance):
        welch_group_contrasts([*a, *b], list("aaaabbbb"))
