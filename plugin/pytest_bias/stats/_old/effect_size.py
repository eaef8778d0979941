"""Standardised mean differences: Cohen's d, Hedges' g, and the exact interval of d."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from ...errors import NoVariance
from ..power import NODES, STEEP, average, spreads
from ._distributions import crossing, gamma_ratio, normal_cdf
from .checks import LARGEST, bad, checked, mean_and_sd, units
from .results import LEVEL, EffectSize, Interval

_SMOOTH = 4.0  # times sqrt(df): a t up to which no edge is as sharp as the nodes are dense


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
    return min(1.0, gamma_ratio((df - 1) / 2) / math.sqrt(df / 2))


def _tails(t: float, df: float) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """Return P(T <= t) and P(T > t) as functions of the noncentrality, for t >= 0.

    T is (Z + nc) / S with S the estimated in true SDs, given which a tail is a normal one: it is
    averaged over S, as power is. scipy's noncentral t is NaN for large t and in some far tails.
    """
    if t <= _SMOOTH * math.sqrt(df):
        s, mass = spreads(df, (1.0,), nodes=NODES)  # the same for all noncentralities
        return (
            lambda nc: float(mass @ normal_cdf(t * s - nc)),
            lambda nc: float(mass @ normal_cdf(nc - t * s)),
        )

    def edges(nc: float) -> list[float]:
        return [(nc + reach) / t for reach in (-STEEP, 0, STEEP)]

    return (
        lambda nc: average(lambda s: normal_cdf(t * s - nc), df, edges(nc)),
        lambda nc: average(lambda s: normal_cdf(nc - t * s), df, edges(nc)),
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
