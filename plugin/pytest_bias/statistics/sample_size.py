"""How many units would settle a question."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import scipy  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.errors import BadStatisticInput

from ._arrays import count, fraction, number, positive, scale_bounds
from ._distributions import normal_isf, normal_ppf
from ._power import (
    LARGEST_ALPHA,
    MOST_POWER,
    Design,
    Null,
    alarm_power,
    checked_plan,
    clear_power,
    one_sided_power,
    plan,
)
from .deterministic import unseen_p

SMALLEST_GROUP = 2  # an SD needs two values
LARGEST_GROUP = 1e12  # beyond, rounding decides which whole number is the smallest

Sides = Literal["two-sided", "one-sided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settling:
    """The fewest units that settle a question, and how: by clearing or by an alarm."""

    units: int
    outcome: Literal["clear", "alarm"]
    power: float


def _whole(n: float, *, function: str) -> int:
    if n > LARGEST_GROUP:
        raise BadStatisticInput(
            function=function,
            argument="margin",
            problem=f"would need more than {LARGEST_GROUP:g} units",
        )
    return math.ceil(n)


def units_per_group(*, sd: float, margin: float, alpha: float = 0.05, power: float = 0.90) -> int:
    """Return the units per group for a difference of two means judged against `margin`.

    n = 2 (z(1 - alpha) + z(power))^2 sd^2 / margin^2, rounded up and at least 2: the size at which
    a one-sided test at `alpha` finds a difference of `margin` with probability `power`, which is
    17.1 / d^2 at the defaults with d = margin / sd. `sd` (of units within a group) and `margin`
    are in the unit of the values. Normal approximation for equal groups and variances. Clearing
    at no difference needs both one-sided tests and has a power of 2 power - 1: .80 at .90.

    Raises `BadStatisticInput` for an SD or margin that is not above 0, for alpha or power outside
    (0, 1) or with power <= alpha, and where more than 1e12 units would be needed.
    Source: Julious (2004); Chow, Shao & Wang (2008).
    """
    function = "units_per_group"
    ratio = positive(sd, function=function, argument="sd") / positive(
        margin, function=function, argument="margin"
    )
    alpha = fraction(alpha, function=function, argument="alpha")
    power = fraction(power, function=function, argument="power")
    if power <= alpha:
        raise BadStatisticInput(
            function=function, argument="power", problem=f"{power} is not above alpha = {alpha}"
        )
    z = normal_isf(alpha) + normal_ppf(power)
    return max(SMALLEST_GROUP, _whole(2 * z * z * ratio * ratio, function=function))


def deterministic_units(
    *, bounds: tuple[float, float], margin: float, difference: float, alpha: float = 0.05
) -> int | None:
    """Return the identical replies per group that clear `difference` within `margin`.

    The smallest n at which `deterministic_difference` gives p_clear <= alpha, or None where
    |difference| >= margin and no number would. `margin` and `difference` are in the unit of
    `bounds`, the lowest and highest value of the measure.

    Raises `BadStatisticInput` for bounds out of order, a margin that is not above 0, a difference
    larger than the bounds allow, an alpha outside (0, 1), and where more than 1e12 replies would
    be needed. Source: see `deterministic_difference`.
    """
    function = "deterministic_units"
    low, high = scale_bounds(bounds, function=function)
    width = high - low
    margin = positive(margin, function=function, argument="margin")
    alpha = fraction(alpha, function=function, argument="alpha")
    if abs(number(difference, function=function, argument="difference")) > width:
        raise BadStatisticInput(
            function=function, argument="difference", problem=f"{difference} is wider than bounds"
        )
    if abs(difference) >= margin:
        return None
    share = unseen_p(n=1, width=width, margin=margin, difference=difference)
    if share <= alpha:
        return 1
    if share == 1:  # a margin past the difference in the last bit only
        return _whole(math.inf, function=function)
    n = _whole(math.log(alpha) / math.log(share), function=function)
    # The quotient of logarithms may round across an integer: settle it by the p-value itself.
    return next(k for k in (n - 1, n, n + 1) if share**k <= alpha)


def _levels(*, alpha: float, power: float, function: str) -> tuple[float, float]:
    alpha = fraction(alpha, function=function, argument="alpha", below=LARGEST_ALPHA)
    power = fraction(power, function=function, argument="power", below=MOST_POWER)
    if power <= alpha:
        raise BadStatisticInput(
            function=function, argument="power", problem=f"{power} is not above alpha = {alpha}"
        )
    return alpha, power


def _test_power(n: float, *, effect: float, alpha: float, design: Design, sides: Sides) -> float:
    """Return the power of a t test at a size that may be fractional; `effect` is in SDs."""
    found = plan(n, design=design)
    shift = effect / found.se
    if sides == "one-sided":
        return one_sided_power(shift, alpha=alpha, df=found.df)
    return alarm_power(shift, start=0, alpha=alpha, df=found.df)


def fractional_units_for_t(
    effect: float, *, alpha: float, power: float, design: Design, sides: Sides
) -> float:
    """Return the size, with its fraction, at which a t test finds `effect` > 0 SDs.

    2 where two units are enough. Arguments and errors are those of `units_for_t`: it rounds up.
    """
    effect = positive(effect, function="units_for_t", argument="effect")
    alpha, power = _levels(alpha=alpha, power=power, function="units_for_t")

    def missing(n: float) -> float:
        return _test_power(n, effect=effect, alpha=alpha, design=design, sides=sides) - power

    low = float(SMALLEST_GROUP)
    if missing(low) >= 0:
        return low
    while missing(2 * low) < 0:
        low *= 2
        _whole(low, function="units_for_t")
    return float(scipy.optimize.brentq(missing, low, 2 * low, xtol=1e-10, rtol=1e-13))


def units_for_t(
    *,
    sd: float,
    difference: float,
    alpha: float = 0.05,
    power: float = 0.90,
    sides: Sides = "two-sided",
    design: Design = "independent",
) -> int:
    """Return the units per group (or pairs) with which a t test finds `difference`.

    The smallest n of at least 2 whose exact power is `power`; `sd` is that of the units within a
    group, or of the pair differences, in the unit of `difference`, whose sign is ignored.

    Raises `BadStatisticInput` for an SD that is not above 0, a difference of 0, an alpha outside
    (0, 0.5), a power that is not above alpha or too near 1, an unknown design, and where more than
    1e12 units would be needed. Source: Owen (1965); Cohen (1988).
    """
    function = "units_for_t"
    alpha, power = _levels(alpha=alpha, power=power, function=function)
    checked_plan(SMALLEST_GROUP, design=design, strata=1, function=function)
    _known(sides, ("two-sided", "one-sided"), function=function, argument="sides")
    effect = positive(abs(difference), function=function, argument="difference") / positive(
        sd, function=function, argument="sd"
    )
    return _whole(
        fractional_units_for_t(effect, alpha=alpha, power=power, design=design, sides=sides),
        function=function,
    )


def _known(value: str, known: tuple[str, ...], *, function: str, argument: str) -> None:
    if value not in known:
        raise BadStatisticInput(
            function=function, argument=argument, problem=f"{value!r} is not one of {known}"
        )


def units_paired(*, sd: float, margin: float, alpha: float = 0.05, power: float = 0.90) -> int:
    """Return the pairs for a mean pair difference judged against `margin`.

    The size at which a one-sided paired t test at `alpha` finds a difference of `margin` with
    probability `power`: the question of `units_per_group`, answered exactly. `sd` is that of the
    pair differences (the contrasts of units), in the unit of `margin`. Errors and source are
    those of `units_for_t`.
    """
    positive(margin, function="units_paired", argument="margin")
    return units_for_t(
        sd=sd, difference=margin, alpha=alpha, power=power, sides="one-sided", design="paired"
    )


def fractional_units_for_rates(
    rate_a: float, rate_b: float, *, alpha: float = 0.05, power: float = 0.90
) -> float:
    """Return the size, with its fraction, that `units_for_rates` rounds up."""
    function = "units_for_rates"
    alpha, power = _levels(alpha=alpha, power=power, function=function)
    for argument, rate in (("rate_a", rate_a), ("rate_b", rate_b)):
        if not 0 <= number(rate, function=function, argument=argument) <= 1:
            raise BadStatisticInput(
                function=function, argument=argument, problem=f"{rate} is not from 0 to 1"
            )
    difference = positive(abs(rate_a - rate_b), function=function, argument="rate_a - rate_b")
    pooled = (rate_a + rate_b) / 2
    null = math.sqrt(2 * pooled * (1 - pooled))
    own = math.sqrt(rate_a * (1 - rate_a) + rate_b * (1 - rate_b))
    z_alpha, z_power = normal_isf(alpha / 2), normal_ppf(power)
    return ((z_alpha * null + z_power * own) / difference) ** 2


def units_for_rates(
    rate_a: float, rate_b: float, *, alpha: float = 0.05, power: float = 0.90
) -> int:
    """Return the units per group with which two rates are found to differ, two-sided.

    Normal approximation to the score test (Pearson's chi-square) of two equal independent groups;
    at least 2. Raises `BadStatisticInput` for rates that are equal or outside [0, 1], an alpha
    outside (0, 0.5), a power that is not above alpha, and more than 1e12 units.
    Source: Fleiss, Levin & Paik (2003), equation 4.14 without continuity correction.
    """
    n = fractional_units_for_rates(rate_a, rate_b, alpha=alpha, power=power)
    return max(SMALLEST_GROUP, _whole(n, function="units_for_rates"))


def _fewest(power_at: Callable[[int], float], *, power: float, smallest: int) -> int | None:
    """Return the smallest n from `smallest` up with that power; None past `LARGEST_GROUP`."""
    low, high = smallest - 1, smallest
    while power_at(high) < power:
        low, high = high, 2 * high
        if high > LARGEST_GROUP:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if power_at(middle) < power:
            low = middle
        else:
            high = middle
    return high


def units_to_settle(
    *,
    estimate: float,
    sd: float,
    margin: float,
    alpha: float = 0.05,
    power: float = 0.90,
    design: Design = "independent",
    null: Null = "zero",
    strata: int = 1,
) -> Settling | None:
    """Return the fewest units that clear or alarm if the true difference is the `estimate`.

    Units per group, or pairs; in a stratified design all strata together, each costing one degree
    of freedom per group. `sd` is that of units within a group and stratum, or of the pair
    differences; `estimate`, `sd` and `margin` are in one unit. Clearing is by `power_to_clear`,
    alarming by `power_to_alarm` against `null`. None where 1e12 units would do neither.

    Raises `BadStatisticInput` for values outside their domain. Source: Phillips (1990).
    """
    function = "units_to_settle"
    alpha, power = _levels(alpha=alpha, power=power, function=function)
    _known(null, ("zero", "margin"), function=function, argument="null")
    smallest = count(strata, function=function, argument="strata") + 1
    checked_plan(smallest, design=design, strata=strata, function=function)
    sd = positive(sd, function=function, argument="sd")
    effect = number(estimate, function=function, argument="estimate") / sd
    width = positive(margin, function=function, argument="margin") / sd

    def clearing(n: int) -> float:
        found = plan(n, design=design, strata=strata)
        return clear_power(effect / found.se, margin=width / found.se, alpha=alpha, df=found.df)

    def alarming(n: int) -> float:
        found = plan(n, design=design, strata=strata)
        start = width / found.se if null == "margin" else 0.0
        return alarm_power(effect / found.se, start=start, alpha=alpha, df=found.df)

    found: list[Settling] = []
    if abs(effect) < width and (n := _fewest(clearing, power=power, smallest=smallest)):
        found.append(Settling(units=n, outcome="clear", power=clearing(n)))
    if abs(effect) > (width if null == "margin" else 0) and (
        n := _fewest(alarming, power=power, smallest=smallest)
    ):
        found.append(Settling(units=n, outcome="alarm", power=alarming(n)))
    return min(found, key=lambda settling: settling.units, default=None)
