"""Differences of two means: Welch's t, from data or from published summaries.

scipy tests a difference from summaries but gives neither its degrees of freedom nor its interval,
and warns on nearly constant data; so both forms go through one small sum here, and scipy supplies
the t distribution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import NoVariance, TooFewUnits
from ._arrays import (
    count,
    fraction,
    mean_and_sd,
    not_negative,
    number,
    positive,
    probability,
    units,
)
from ._distributions import t_isf, t_sf
from .results import Interval

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

SMALLEST_GROUP = 2  # an SD needs two values


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """A difference of two means with its standard error and degrees of freedom."""

    difference: float
    se: float
    df: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Welch:
    """Welch's t test of mean(a) - mean(b) against 0, two-sided, with its interval."""

    difference: float
    se: float
    df: float
    t: float
    p: float
    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceOfDifferences:
    """First minus second difference, with the two-sided p-value of their being equal."""

    estimate: float
    se: float
    df: float
    interval: Interval
    p: float


def satterthwaite(se_a: float, df_a: float, se_b: float, df_b: float) -> tuple[float, float]:
    """Return SE and df of a difference of two independent estimates (Satterthwaite 1946).

    In shares of the variance rather than in variances: their squares would under- or overflow.
    """
    se = math.hypot(se_a, se_b)
    share_a, share_b = (se_a / se) ** 2, (se_b / se) ** 2
    return se, 1 / (share_a**2 / df_a + share_b**2 / df_b)


def t_interval(estimate: float, se: float, df: float, *, level: float) -> Interval:
    """Return the two-sided Student t interval of an estimate."""
    half = se * t_isf((1 - level) / 2, df)
    return Interval(low=estimate - half, high=estimate + half, level=level)


def two_sided_p(t: float, df: float) -> float:
    """Return the two-sided p-value of a t statistic, floored."""
    return probability(2 * t_sf(abs(t), df))


def moments_from_summary(
    *,
    mean_a: float,
    sd_a: float,
    n_a: int,
    mean_b: float,
    sd_b: float,
    n_b: int,
    function: str,
) -> Moments:
    """Check two group summaries and return what Welch's t and its equivalence test share."""
    for argument, n in (("a", n_a), ("b", n_b)):
        if count(n, function=function, argument=f"n_{argument}") < SMALLEST_GROUP:
            raise TooFewUnits(group=argument, found=n, needed=SMALLEST_GROUP)
    se_a = not_negative(sd_a, function=function, argument="sd_a") / math.sqrt(n_a)
    se_b = not_negative(sd_b, function=function, argument="sd_b") / math.sqrt(n_b)
    if max(se_a, se_b) == 0:
        raise NoVariance(statistic=function)
    se, df = satterthwaite(se_a, n_a - 1, se_b, n_b - 1)
    difference = number(mean_a, function=function, argument="mean_a") - number(
        mean_b, function=function, argument="mean_b"
    )
    return Moments(difference=difference, se=se, df=df)


def moments(a: ArrayLike, b: ArrayLike, *, function: str) -> Moments:
    """Return the Welch moments of two samples."""
    first = units(a, function=function, argument="a")
    second = units(b, function=function, argument="b")
    # Beside values of the other group, rounding of values near 0 is no variance either.
    magnitude = float(max(np.abs(first).max(), np.abs(second).max()))
    mean_a, sd_a = mean_and_sd(first, magnitude=magnitude)
    mean_b, sd_b = mean_and_sd(second, magnitude=magnitude)
    return moments_from_summary(
        mean_a=mean_a,
        sd_a=sd_a,
        n_a=first.size,
        mean_b=mean_b,
        sd_b=sd_b,
        n_b=second.size,
        function=function,
    )


def _welch(found: Moments, *, level: float, function: str) -> Welch:
    level = fraction(level, function=function, argument="level")
    t = found.difference / found.se
    return Welch(
        difference=found.difference,
        se=found.se,
        df=found.df,
        t=t,
        p=two_sided_p(t, found.df),
        interval=t_interval(found.difference, found.se, found.df, level=level),
    )


def welch(a: ArrayLike, b: ArrayLike, *, level: float = 0.95) -> Welch:
    """Test mean(a) - mean(b) against 0 without assuming equal variances.

    Estimand: the difference of the two population means, in the unit of the values. `a` has shape
    (n_a,), `b` (n_b,), each at least 2 independent units. Assumes independent groups and means
    that are close to normal. One constant group is fine: it contributes no variance.

    Raises `TooFewUnits` below two units in a group, `NoVariance` when both groups are constant
    (up to rounding), `BadStatisticInput` for NaN, infinities and a level outside (0, 1).
    Source: Welch (1947).
    """
    return _welch(moments(a, b, function="welch"), level=level, function="welch")


def se_from_t(*, difference: float, t: float) -> float:
    """Return the standard error that a published difference and its t statistic imply: |d / t|.

    In the unit of the difference. Signs are ignored, as publications print t either way round.
    Raises `BadStatisticInput` when either is 0 (the standard error is then not determined).
    """
    function = "se_from_t"
    return positive(
        abs(number(difference, function=function, argument="difference")),
        function=function,
        argument="difference",
    ) / positive(abs(number(t, function=function, argument="t")), function=function, argument="t")


def p_from_t(t: float, df: float) -> float:
    """Return the two-sided p-value of a t statistic with `df` > 0 degrees of freedom."""
    return two_sided_p(
        number(t, function="p_from_t", argument="t"),
        positive(df, function="p_from_t", argument="df"),
    )


def compare_differences(
    *,
    first: float,
    se_first: float,
    df_first: float,
    second: float,
    se_second: float,
    df_second: float,
    level: float = 0.95,
) -> DifferenceOfDifferences:
    """Compare two independent differences, such as a model's and the published human one.

    Estimand: first - second, in their unit, with the Welch-Satterthwaite interval and two-sided
    p-value. Assumes independent estimates, each close to normal with the given standard error and
    degrees of freedom. One standard error may be 0 (a constant), not both: `NoVariance`. Raises
    `BadStatisticInput` for values outside their domain.
    Source: Satterthwaite (1946); Welch (1947).
    """
    function = "compare_differences"
    se_1 = not_negative(se_first, function=function, argument="se_first")
    se_2 = not_negative(se_second, function=function, argument="se_second")
    if max(se_1, se_2) == 0:
        raise NoVariance(statistic=function)
    se, df = satterthwaite(
        se_1,
        positive(df_first, function=function, argument="df_first"),
        se_2,
        positive(df_second, function=function, argument="df_second"),
    )
    estimate = number(first, function=function, argument="first") - number(
        second, function=function, argument="second"
    )
    level = fraction(level, function=function, argument="level")
    return DifferenceOfDifferences(
        estimate=estimate,
        se=se,
        df=df,
        interval=t_interval(estimate, se, df, level=level),
        p=two_sided_p(estimate / se, df),
    )
