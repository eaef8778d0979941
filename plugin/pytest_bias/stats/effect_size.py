"""Standardised mean differences: Cohen's d, Hedges' g, and the exact interval of d."""

from __future__ import annotations

import math

from numpy.typing import ArrayLike
from scipy.special import chdtri, nctdtr, poch  # type: ignore[import-untyped, unused-ignore]

from ..errors import NoVariance
from .checks import enough, mean_and_sd, two_samples
from .means import mean_sd_n
from .results import LEVEL, EffectSize, Interval

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
