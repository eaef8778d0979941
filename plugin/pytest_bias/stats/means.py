"""Means: described, compared by t tests, and as standardised differences.

scipy tests the difference of two samples but gives no standard error, and none of summary numbers
without their SDs; so all forms go through one small sum here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri, nctdtr, poch, stdtr, stdtrit  # type: ignore[import-untyped, unused-ignore]

from ..errors import NoVariance
from .checks import enough, mean_and_sd, probability, two_samples, units
from .results import LEVEL, Description, EffectSize, Interval


def describe(values: ArrayLike) -> Description:
    """Describe one sample of n >= 1 values, in their unit.

    The SD has ddof = 1, the standard error is SD / sqrt(n); both are None for one value. The
    quartiles are of type 7 (Hyndman & Fan 1996). Values that differ only by rounding have an SD of
    0.
    """
    array = units(values, "values", needed=1)
    minimum, q1, median, q3, maximum = np.quantile(array, (0, 0.25, 0.5, 0.75, 1)).tolist()
    mean, sd = (minimum, None) if array.size == 1 else mean_and_sd(array)
    return Description(
        n=array.size,
        mean=mean,
        median=median,
        sd=sd,
        se=None if sd is None else sd / math.sqrt(array.size),
        minimum=minimum,
        q1=q1,
        q3=q3,
        maximum=maximum,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StudentEstimate:
    """An estimate that Student's t tests: its standard error and degrees of freedom.

    Assumes that (estimate - truth) / se is close to Student's t. Only a part of a difference may
    have a standard error of 0.
    """

    estimate: float
    se: float
    df: float

    @property
    def t(self) -> float:
        """Return the statistic of no effect."""
        return self.estimate / self.se

    @property
    def p(self) -> float:
        """Return the two-sided p-value of no effect, floored."""
        return p_from_t(self.t, self.df)

    @property
    def interval(self) -> Interval:
        """Return the two-sided interval at 95 %."""
        return self.at_level(LEVEL)

    def times(self, sign: float) -> StudentEstimate:
        """Return the same of the other sign where `sign` is -1."""
        return replace(self, estimate=sign * self.estimate)

    def at_level(self, level: float) -> Interval:
        """Return the two-sided interval at a confidence level."""
        return t_interval(self.estimate, self.se, self.df, level=level)


def t_interval(estimate: float, se: float, df: float, *, level: float) -> Interval:
    """Return the two-sided Student t interval of an estimate."""
    half = se * float(stdtrit(df, (1 + level) / 2))
    return Interval(low=estimate - half, high=estimate + half, level=level)


def p_from_t(t: float, df: float) -> float:
    """Return the two-sided p-value, floored, of a t statistic on `df` > 0 degrees of freedom."""
    return probability(2 * float(stdtr(df, -abs(t))))


def difference_of(first: StudentEstimate, second: StudentEstimate) -> StudentEstimate:
    """Return first - second, independent estimates such as a model's and the one of people.

    Each is close to normal with its standard error and degrees of freedom, in one unit. One
    standard error may be 0 (a constant); where both are, `NoVariance`.
    Source: Satterthwaite (1946); Welch (1947).
    """
    se = math.hypot(first.se, second.se)
    if se == 0:
        raise NoVariance
    # in shares of the variance rather than in variances: their squares would under- or overflow
    share_first, share_second = (first.se / se) ** 2, (second.se / se) ** 2
    df = 1 / (share_first**2 / first.df + share_second**2 / second.df)
    return StudentEstimate(estimate=first.estimate - second.estimate, se=se, df=df)


def welch(a: ArrayLike, b: ArrayLike) -> StudentEstimate:
    """Test mean(a) - mean(b) without assuming equal variances.

    Estimand: the difference of the two population means, in the unit of the values. `a` has shape
    (n_a,), `b` (n_b,), each at least 2 independent units. Assumes independent groups and means
    that are close to normal. One constant group is fine: it contributes no variance; two (up to
    rounding) raise `NoVariance`: a zero standard error would clear whatever lies inside a margin.
    Source: Welch (1947).
    """
    first, second, magnitude = two_samples(a, b)
    means = []
    for group in (first, second):
        mean, sd = mean_and_sd(group, magnitude=magnitude)
        se = sd / math.sqrt(group.size)
        means.append(StudentEstimate(estimate=mean, se=se, df=group.size - 1))
    return difference_of(*means)


def mean_sd_n(differences: ArrayLike, *, magnitude: float = 0.0) -> tuple[float, float, int]:
    """Return mean, SD and number of units' differences; `NoVariance` where they are constant."""
    values = units(differences, "differences")
    mean, sd = mean_and_sd(values, magnitude=magnitude)
    if sd == 0:
        raise NoVariance
    return mean, sd, values.size


def one_sample(differences: ArrayLike, *, magnitude: float = 0.0) -> StudentEstimate:
    """Test the mean of unit-level differences by Student's t.

    Estimand: the mean difference over units like these, in the unit of the values. `differences`
    has shape (n,), n >= 2, one per independent unit. `magnitude` is that of the values that were
    subtracted: differences that vary by less than rounding of it count as constant (`NoVariance`).
    Assumes that their mean is close to normal. Source: Student (1908).
    """
    mean, sd, n = mean_sd_n(differences, magnitude=magnitude)
    return StudentEstimate(estimate=mean, se=sd / math.sqrt(n), df=float(n - 1))


STEP = 3.0  # about as far as Z moves a noncentrality


def cohen_d(a: ArrayLike, b: ArrayLike) -> float:
    """Return (mean(a) - mean(b)) / pooled SD.

    Estimand: the difference of two population means in units of their common SD. `a` has shape
    (n_a,), `b` (n_b,), each at least 2. Assumes independent groups of equal variance.

    Raises `TooFewUnits` below two units in a group, `NoVariance` when both groups are constant,
    `BadStatisticInput` for NaN and infinities. Source: Cohen (1988).
    """
    first, second, magnitude = two_samples(a, b)
    mean_a, sd_a = mean_and_sd(first, magnitude=magnitude)
    mean_b, sd_b = mean_and_sd(second, magnitude=magnitude)
    df_a, df_b = first.size - 1, second.size - 1
    pooled = math.sqrt((df_a * sd_a**2 + df_b * sd_b**2) / (df_a + df_b))
    if pooled == 0:
        raise NoVariance
    return (mean_a - mean_b) / pooled


def standardized_difference(a: ArrayLike, b: ArrayLike) -> EffectSize:
    """Return Cohen's d, Hedges' g and J, and the interval of d.

    g is unbiased under normal groups of equal variance, under which the interval is exact: it
    holds the noncentralities at which the observed t is in neither tail of .025, times
    sqrt(1/n_a + 1/n_b). Errors as in `cohen_d`.
    Source: Hedges (1981); Steiger & Fouladi (1997); Cumming & Finch (2001).
    """
    first, second, _ = two_samples(a, b)
    n_a, n_b = first.size, second.size
    return _effect_size(cohen_d(a, b), unit=math.sqrt(1 / n_a + 1 / n_b), df=n_a + n_b - 2)


def cohen_dz(differences: ArrayLike) -> EffectSize:
    """Return mean / SD of unit-level differences, bias-corrected too, with its exact interval.

    Estimand: the mean difference in units of the SD of differences (not of replies: it is larger
    than Cohen's d where the two sides of a unit are correlated). `g` is d times the exact J of
    n - 1 degrees of freedom, and the interval comes from the noncentral t distribution of
    sqrt(n) d. n >= 3, as J needs two degrees of freedom; normal differences.
    Source: Cohen (1988); Hedges (1981); Cumming & Finch (2001).
    """
    mean, sd, n = mean_sd_n(differences)
    enough(n, "differences", 3)
    return _effect_size(mean / sd, unit=1 / math.sqrt(n), df=n - 1)


def _effect_size(d: float, *, unit: float, df: int) -> EffectSize:
    """Return what belongs to a `d` of `df` >= 2 degrees of freedom whose t is d / `unit`.

    J = gamma(df/2) / (sqrt(df/2) gamma((df-1)/2)), not its approximation 1 - 3/(4 df - 1).
    """
    t, tail = abs(d) / unit, (1 - LEVEL) / 2
    near, far = (_noncentrality(t, df, p) * unit for p in (1 - tail, tail))
    low, high = (near, far) if d >= 0 else (-far, -near)
    j = min(1.0, float(poch((df - 1) / 2, 0.5)) / math.sqrt(df / 2))
    return EffectSize(d=d, g=d * j, j=j, interval=Interval(low=low, high=high, level=LEVEL))


def _noncentrality(t: float, df: int, p: float) -> float:
    """Return the noncentrality at which a noncentral t is below `t` >= 0 with probability `p`."""
    from scipy.optimize import brentq  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415

    # T is (Z + nc) / S: without Z, of which a large t makes nothing, S alone has this quantile.
    near = t * math.sqrt(float(chdtri(df, p)) / df)
    low, high = near - STEP, near + STEP
    while nctdtr(df, low, t) < p:  # falls as the noncentrality grows
        low -= STEP
    while nctdtr(df, high, t) > p:
        high += STEP
    try:
        return float(brentq(lambda nc: nctdtr(df, nc, t) - p, low, high, xtol=1e-12, rtol=1e-14))
    except ValueError:  # of so large a t scipy has no value
        return near
