"""Standardised mean differences: Cohen's d, Hedges' g, and the exact interval of d."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from ..errors import NoVariance
from ._distributions import crossing
from .checks import LARGEST, bad, checked, mean_and_sd, units
from .results import LEVEL, EffectSize, Interval

SERIES_LIMIT = 100.0  # scipy's noncentral t keeps ten digits up to here, for a few units or many

_Z = np.linspace(-9.0, 9.0, 2001)  # the normal density beyond is below 1e-18
_Z_WEIGHTS = np.exp(-(_Z**2) / 2) / math.sqrt(2 * math.pi) * (_Z[1] - _Z[0])


def _d_and_sizes(a: ArrayLike, b: ArrayLike) -> tuple[float, int, int]:
    first = units(a, "a")
    second = units(b, "b")
    magnitude = float(max(np.abs(first).max(), np.abs(second).max()))
    mean_a, sd_a = mean_and_sd(first, magnitude=magnitude)
    mean_b, sd_b = mean_and_sd(second, magnitude=magnitude)
    df_a, df_b = first.size - 1, second.size - 1
    pooled = math.sqrt((df_a * sd_a**2 + df_b * sd_b**2) / (df_a + df_b))
    if pooled == 0:
        raise NoVariance
    return (mean_a - mean_b) / pooled, first.size, second.size


@checked
def cohen_d(a: ArrayLike, b: ArrayLike) -> float:
    """Return (mean(a) - mean(b)) / pooled SD.

    Estimand: the difference of two population means in units of their common SD. `a` has shape
    (n_a,), `b` (n_b,), each at least 2. Assumes independent groups of equal variance.

    Raises `TooFewUnits` below two units in a group, `NoVariance` when both groups are constant,
    `BadStatisticInput` for NaN and infinities. Source: Cohen (1988).
    """
    return _d_and_sizes(a, b)[0]


@checked
def hedges_j(df: float) -> float:
    """Return the exact small-sample correction of Cohen's d at `df` > 1 degrees of freedom.

    J = gamma(df/2) / (sqrt(df/2) gamma((df-1)/2)), not its approximation 1 - 3/(4 df - 1). It is
    between 0 and 1; at df <= 1 d has no finite mean. Source: Hedges (1981).
    """
    if not 1 < df <= LARGEST:
        raise bad("df", f"{df} is not a number above 1")
    # The Pochhammer symbol is that ratio of gamma functions, without their overflow.
    return min(1.0, float(special.poch((df - 1) / 2, 0.5)) / math.sqrt(df / 2))


def _tails(t: float, df: float) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """Return P(T <= t) and P(T > t) as functions of the noncentrality, for t >= 0.

    scipy's noncentral t is NaN for large t and in some far tails. There the tail of
    T = (Z + nc) / sqrt(V / df) is averaged over Z instead, given which it is a chi-square tail;
    that is smooth in Z where t is not small beside sqrt(df), so an evenly spaced sum serves.
    """
    series = t <= max(SERIES_LIMIT, 0.02 * math.sqrt(df))

    def tail(
        nc: float, from_series: Callable[..., float], from_chi_square: Callable[..., Any]
    ) -> float:
        p = from_series(nc) if series else math.nan
        if math.isnan(p):
            ratio = np.maximum(0.0, (_Z + nc) / max(t, 1 / LARGEST))
            p = float(_Z_WEIGHTS @ from_chi_square(df, df * ratio**2))
        return p

    def below(nc: float) -> float:
        return float(special.nctdtr(df, nc, t))

    def above(nc: float) -> float:
        p = float(special.nctdtr(df, -nc, -t))  # more precise in its tail than the complement
        return 1 - below(nc) if math.isnan(p) else p

    return (
        lambda nc: tail(nc, below, special.chdtrc),
        lambda nc: tail(nc, above, special.chdtr),
    )


def _noncentrality(tail: Callable[[float], float], p: float, start: float, step: float) -> float:
    """Return the noncentrality at which a tail monotone in it is `p`, searched from `start`.

    `step` leads to where the tail is below `p`.
    """
    while tail(start + step) > p:
        step *= 2
    return crossing(lambda nc: tail(nc) - p, start, start + step)


def effect_size_of(d: float, *, unit: float, df: int) -> EffectSize:
    """Return what belongs to a `d` of `df` degrees of freedom whose t statistic is d / `unit`."""
    t = abs(d) / unit
    below, above = _tails(t, df)
    step = 3 * math.sqrt(1 + t**2 / df)
    half = (1 - LEVEL) / 2
    # From beyond the other side, since at the estimate itself a tail may be below a wide `half`.
    near = _noncentrality(above, half, t + step, -2 * step) * unit
    far = _noncentrality(below, half, t - step, 2 * step) * unit
    if d < 0:
        near, far = -far, -near
    j = hedges_j(df)
    return EffectSize(d=d, g=d * j, j=j, interval=Interval(low=near, high=far, level=LEVEL))


@checked
def standardized_difference(a: ArrayLike, b: ArrayLike) -> EffectSize:
    """Return Cohen's d, Hedges' g and J, and the interval of d in one pass.

    g is unbiased under normal groups of equal variance, under which the interval is exact: it
    holds the noncentralities at which the observed t is in neither tail of .025, times
    sqrt(1/n_a + 1/n_b).
    Source: Hedges (1981); Steiger & Fouladi (1997); Cumming & Finch (2001).
    """
    d, n_a, n_b = _d_and_sizes(a, b)
    return effect_size_of(d, unit=math.sqrt(1 / n_a + 1 / n_b), df=n_a + n_b - 2)
