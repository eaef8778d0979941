"""What each statistic refuses: too little, too constant, damaged, or outside of its domain."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

from pytest_bias.errors import BadStatisticInput, BiasError, NoVariance, TooFewUnits
from pytest_bias.stats.agreement import cohen_kappa, krippendorff_alpha
from pytest_bias.stats.blocks import cohen_dz, one_sample, sign_flip
from pytest_bias.stats.bounded import bounded_equivalence, skewness
from pytest_bias.stats.checks import probability
from pytest_bias.stats.counts import chi_square, newcombe, wilson
from pytest_bias.stats.effect_size import cohen_d, hedges_j, standardized_difference
from pytest_bias.stats.means import (
    StudentEstimate,
    describe,
    difference_of,
    p_from_t,
    se_from_t,
    stratified_contrast,
    welch,
)
from pytest_bias.stats.noninferiority_power import power_to_pass, power_to_pass_rates
from pytest_bias.stats.permutation import label_permutation
from pytest_bias.stats.power import (
    detectable_effect,
    largest_sd_to_clear,
    units_to_clear,
    units_unseen,
    verdict_chances,
)
from pytest_bias.stats.ranks import mann_whitney, vargha_delaney
from pytest_bias.stats.rate_power import power_to_alarm_rate, power_to_clear_rate
from pytest_bias.stats.resampling import (
    LogRatioBootstrap,
    bootstrap_difference,
    bootstrap_log_ratio,
    bootstrap_t_equivalence,
)
from pytest_bias.stats.results import Interval
from pytest_bias.stats.simultaneous import (
    benjamini_hochberg,
    holm,
    max_t,
    sign_flip_max_t,
    welch_group_contrasts,
)

from .reference import line_of

NAN, INF = float("nan"), float("inf")
NOISE = [0.1, 0.1 + 1e-16, 0.1 - 3e-17, 0.1]
"""Units that differ by rounding only."""

ESTIMATES = {
    "first": 2, "se_first": 0, "df_first": 9, "second": 1, "se_second": 1, "df_second": 9
}  # fmt: skip
FOUND = StudentEstimate(estimate=0.1, se=0.1, df=9.0)
PASSING: dict[str, Any] = {"sd": 1, "margin": 1, "effect": 0, "design": "paired", "paired": True}

REFUSED: Mapping[type[BiasError], Sequence[Callable[[], object]]] = {
    NoVariance: [
        lambda: krippendorff_alpha([[1, 1], [1, 1]]),
        lambda: krippendorff_alpha([[1, 1, 2], [1, 1, None]]),
        lambda: cohen_kappa([1, 1], [1, 1]),
        lambda: chi_square([[1, 2]]),
        lambda: chi_square([[1, 2], [0, 0]]),
        lambda: chi_square([[0, 0], [0, 0]]),
        lambda: difference_of(**{**ESTIMATES, "se_second": 0}),
        lambda: one_sample(NOISE),
        lambda: one_sample([0.0, 1e-14, -1e-14], magnitude=100),
        lambda: cohen_dz(NOISE),
        lambda: one_sample([0, 0]),
        lambda: cohen_dz([2, 2, 2, 2]),
        lambda: stratified_contrast([[0.1 + 0.2, 0.3], [1, 1], [2]], [1, 1, -2]),
        lambda: welch_group_contrasts([1, 1, 4, 4], list("aabb")),
        lambda: bootstrap_t_equivalence([[1.0, 1.0]], [1.0], margin=2, seed=1),
        lambda: bootstrap_log_ratio([1, 1], [2, 2], [1, 1], [2, 2], seed=1),
        lambda: bootstrap_log_ratio(
            [1, 2], [2, 4], [1, 2], [2, 4], seed=1
        ),  # unlike, but of one ratio
    ],
    TooFewUnits: [
        lambda: krippendorff_alpha([[1, 2]]),
        lambda: krippendorff_alpha([]),
        lambda: krippendorff_alpha([[], []], level="ordinal"),
        lambda: krippendorff_alpha([[1, 2, None], [1, None, 3]]),
        lambda: cohen_kappa([1], [2]),
        lambda: mann_whitney([1], [2, 3]),
        lambda: vargha_delaney([], [2]),
        lambda: verdict_chances(1, sd=1, margin=1, difference=1),
        lambda: wilson(0, 0),
        lambda: newcombe(0, 3, 0, 0),
        lambda: one_sample([1]),
        lambda: sign_flip([1], seed=0),
        lambda: cohen_dz([1, 2]),
        lambda: power_to_clear_rate(0, 5, rate=0.1, margin=0.1),
        lambda: power_to_alarm_rate(5, 0, rate=0.1, difference=0.1, alpha=0.05),
        lambda: power_to_pass(1, **PASSING),
        lambda: power_to_pass_rates(1, 5, rate=0.1, margin=0.1, effect=0),
        lambda: skewness([]),
        lambda: bounded_equivalence([], bounds=(-12, 12), margin=1, seed=1),
        lambda: bounded_equivalence([1], [], bounds=(0, 12), margin=1, seed=1),
        lambda: max_t([], [[]], 5, seed=1),
        lambda: bootstrap_log_ratio([3], [3], [3], [3], seed=1),
        lambda: bootstrap_t_equivalence([[1.0]], [1.0], margin=2, seed=1),
    ],
    BadStatisticInput: [
        lambda: krippendorff_alpha([[1, 2], [1]]),
        lambda: krippendorff_alpha([["a", "b"], ["a", "b"]], level="ordinal"),
        lambda: krippendorff_alpha([[1, INF], [1, 2]], level="ratio"),
        lambda: krippendorff_alpha([[1, -1], [1, 2]], level="ratio"),
        lambda: cohen_kappa([1, 2], [1]),
        lambda: cohen_kappa([1, NAN], [1, 2]),
        lambda: cohen_kappa([1, 2], [1, None]),
        lambda: mann_whitney([1, NAN], [2, 3]),
        lambda: vargha_delaney([1], [INF]),
        lambda: chi_square([[1.0, 2.0], [3.0, 4.0]]),
        lambda: chi_square([[1, -2], [3, 4]]),
        lambda: chi_square([1, 2]),
        lambda: chi_square([]),
        lambda: chi_square([[1, 2], [3]]),
        lambda: chi_square([[10**15, 1], [1, 1]]),
        lambda: verdict_chances(5, sd=0, margin=1, difference=1),
        lambda: verdict_chances(5, sd=1, margin=1, difference=NAN),
        lambda: verdict_chances(5, sd=1, margin=0, difference=1),
        lambda: largest_sd_to_clear(5, margin=0, design="paired"),
        lambda: units_to_clear(sd=1, margin=0, design="paired"),
        lambda: detectable_effect(1, df=9, alpha=0.9),
        lambda: detectable_effect(0, df=9),
        lambda: FOUND.at_level(1),
        lambda: FOUND.at_level(NAN),
        lambda: FOUND.tost(0),
        lambda: FOUND.tost(NAN),
        lambda: Interval(low=0, high=1, level=0.9).within(-1),
        lambda: Interval(low=0, high=1, level=0.9).excludes(NAN),
        lambda: hedges_j(1),
        lambda: hedges_j(NAN),
        lambda: se_from_t(difference=2, t=0),
        lambda: se_from_t(difference=0, t=2),
        lambda: p_from_t(NAN, 3),
        lambda: p_from_t(1, 0),
        lambda: difference_of(**{**ESTIMATES, "df_second": 0}),
        lambda: difference_of(**{**ESTIMATES, "first": NAN}),
        lambda: wilson(3, 2),
        lambda: wilson(-1, 2),
        lambda: wilson(0.5, 2),  # type: ignore[arg-type]
        lambda: newcombe(1, 2, 3, 2),
        lambda: holm([0.5, NAN]),
        lambda: holm([1.5]),
        lambda: benjamini_hochberg([-0.1]),
        lambda: units_unseen(1e-14),
        lambda: units_unseen(0),
        lambda: units_unseen(1e-5, width=1e30),
        lambda: sign_flip_max_t([[1, 2], [3]], seed=1),
        lambda: newcombe(3, 10**15, 2, 10**15),  # rare events of countless units: not awaited
        lambda: one_sample([1, NAN]),
        lambda: one_sample([1, 2], magnitude=-1),
        lambda: one_sample([1, 2]).at_level(1),
        lambda: one_sample([1, 2]).tost(0),
        lambda: power_to_clear_rate(5, 5, rate=0.1, margin=1),
        lambda: power_to_alarm_rate(5, 5, rate=0.9, difference=0.2, alpha=0.05),
        lambda: power_to_pass(10, **PASSING | {"sd": 0}),
        lambda: power_to_pass(10, **PASSING | {"margin": 0}),
        lambda: power_to_pass(10, **PASSING | {"effect": NAN}),
        lambda: power_to_pass_rates(10, 10, rate=0.95, margin=0.1, effect=0.1),
        lambda: power_to_pass_rates(10, 10, rate=-0.1, margin=0.1, effect=0.0),
        lambda: power_to_pass_rates(10, 10, rate=1.1, margin=0.1, effect=-0.2),
        lambda: stratified_contrast([[1, 2], [3, 4]], [1]),
        lambda: stratified_contrast([[1, 2], [3, 4]], [0, 0]),
        lambda: stratified_contrast([[1, 2], [3, NAN]], [1, -1]),
        lambda: stratified_contrast([[1, 2], [3, 4]], [1, INF]),
        lambda: bounded_equivalence([1, 13], [3, 4], bounds=(0, 12), margin=1, seed=1),
        lambda: bounded_equivalence([1, 2], [-1, 1], bounds=(0, 12), margin=1, seed=1),
        lambda: bounded_equivalence([1, NAN], [3, 4], bounds=(0, 12), margin=1, seed=1),
        lambda: bounded_equivalence([1, 2], [3, 4], bounds=(12, 0), margin=1, seed=1),
        lambda: bounded_equivalence([1, 2], [3, 4], bounds=(0, 12), margin=0, seed=1),
        lambda: bounded_equivalence([13], bounds=(-12, 12), margin=1, seed=1),
        lambda: welch_group_contrasts([1, 2, NAN, 4], list("aabb")),
        lambda: welch_group_contrasts([1, 2, 3, 4], ["a"]),
        lambda: welch_group_contrasts([[1, 2]], list("aabb")),
        lambda: holm([0.1, 0.2], [1]),
        lambda: holm([0.1, 0.2], [1, 0]),
        lambda: holm([0.1, 0.2], [1, -1]),
        lambda: holm([0.1, 0.2], [1, NAN]),
        lambda: LogRatioBootstrap(log_ratio=0.0, draws=(0.0,)).share_below(NAN),
        lambda: bootstrap_t_equivalence([[1.0, 2.0]], [1.0, -1.0], margin=2, seed=1),
    ],
}


@pytest.mark.parametrize(
    ("error", "call"), [(error, call) for error in REFUSED for call in REFUSED[error]], ids=line_of
)
def test_what_cannot_be_told_is_raised(error: type[BiasError], call: Callable[[], object]) -> None:
    with pytest.raises(error):
        call()


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
