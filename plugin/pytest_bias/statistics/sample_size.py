"""How many units would settle a question."""

from __future__ import annotations

import math

from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.errors import BadStatisticInput

from ._arrays import fraction, number, positive, scale_bounds
from .deterministic import unseen_p

SMALLEST_GROUP = 2  # an SD needs two values
LARGEST_GROUP = 1e12  # beyond, rounding decides which whole number is the smallest


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
    z = float(stats.norm.isf(alpha)) + float(stats.norm.ppf(power))
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
