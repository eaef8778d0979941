"""Sample sizes: the units that would settle a question."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ._power import (
    LARGEST_ALPHA,
    MOST_POWER,
    PowerDesign,
    PowerNull,
    alarm_power,
    checked_plan,
    clear_power,
    power_plan,
)
from .checks import bad, checked, count, fraction, known, number, positive, scale_bounds
from .deterministic import unseen_p

LARGEST_GROUP = 1e12  # beyond, rounding decides which whole number is the smallest


@dataclass(frozen=True, slots=True, kw_only=True)
class Settling:
    """The fewest units that settle a question, and how: by clearing or by an alarm."""

    units: int
    outcome: Literal["clear", "alarm"]
    power: float


def _whole(n: float) -> int:
    if n > LARGEST_GROUP:
        raise bad("margin", f"would need more than {LARGEST_GROUP:g} units")
    return math.ceil(n)


@checked
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
    low, high = scale_bounds(bounds)
    width = high - low
    margin = positive(margin, "margin")
    alpha = fraction(alpha, "alpha")
    if abs(number(difference, "difference")) > width:
        raise bad("difference", f"{difference} is wider than bounds")
    if abs(difference) >= margin:
        return None
    share = unseen_p(n=1, width=width, margin=margin, difference=difference)
    if share <= alpha:
        return 1
    if share == 1:  # a margin past the difference in the last bit only
        return _whole(math.inf)
    n = _whole(math.log(alpha) / math.log(share))
    # The quotient of logarithms may round across an integer: settle it by the p-value itself.
    return next(k for k in (n - 1, n, n + 1) if share**k <= alpha)


def _levels(*, alpha: float, power: float) -> tuple[float, float]:
    alpha = fraction(alpha, "alpha", below=LARGEST_ALPHA)
    power = fraction(power, "power", below=MOST_POWER)
    if power <= alpha:
        raise bad("power", f"{power} is not above alpha = {alpha}")
    return alpha, power


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


@checked
def units_to_settle(
    *,
    estimate: float,
    sd: float,
    margin: float,
    alpha: float = 0.05,
    power: float = 0.90,
    design: PowerDesign = "independent",
    null: PowerNull = "zero",
    strata: int = 1,
) -> Settling | None:
    """Return the fewest units that clear or alarm if the true difference is the `estimate`.

    Units per group, or pairs; in a stratified design all strata together, each costing one degree
    of freedom per group. `sd` is that of units within a group and stratum, or of the pair
    differences; `estimate`, `sd` and `margin` are in one unit. Clearing is by the equivalence
    test, alarming by `power_to_alarm` against `null`. None where 1e12 units would do neither.

    Raises `BadStatisticInput` for values outside their domain. Source: Phillips (1990).
    """
    alpha, power = _levels(alpha=alpha, power=power)
    known(null, "null", ("zero", "margin"))
    smallest = count(strata, "strata") + 1
    checked_plan(smallest, design=design, strata=strata)
    sd = positive(sd, "sd")
    effect = number(estimate, "estimate") / sd
    width = positive(margin, "margin") / sd

    def clearing(n: int) -> float:
        found = power_plan(n, design=design, strata=strata)
        return clear_power(effect / found.se, margin=width / found.se, alpha=alpha, df=found.df)

    def alarming(n: int) -> float:
        found = power_plan(n, design=design, strata=strata)
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
