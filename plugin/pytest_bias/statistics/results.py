"""Results of statistical methods as values, loadable without any numerical library."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ..errors import BadStatisticInput


def _bad(function: str, argument: str, problem: str) -> BadStatisticInput:
    return BadStatisticInput(function=function, argument=argument, problem=problem)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A closed confidence interval from `low` to `high` at confidence `level` (0.95 = 95 %).

    Raises `BadStatisticInput` when a bound is not finite, `low` is above `high`, or `level` is
    not strictly between 0 and 1.
    """

    low: float
    high: float
    level: float

    def __post_init__(self) -> None:
        """Check the bounds and the level."""
        if not (math.isfinite(self.low) and math.isfinite(self.high)):
            raise _bad("Interval", "low, high", "a bound is not finite")
        if self.low > self.high:
            raise _bad("Interval", "low", f"{self.low} is above {self.high}")
        if not 0 < self.level < 1:
            raise _bad("Interval", "level", "must lie between 0 and 1")

    def excludes(self, value: float) -> bool:
        """Tell whether `value` lies outside; a bound itself lies inside. NaN raises."""
        if math.isnan(value):
            raise _bad("Interval.excludes", "value", "is NaN")
        return value < self.low or value > self.high

    def within(self, margin: float) -> bool:
        """Tell whether the whole interval lies in the closed range from -margin to margin."""
        if not (math.isfinite(margin) and margin > 0):
            raise _bad("Interval.within", "margin", "must be above 0")
        return -margin <= self.low and self.high <= margin


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """Location and spread of `n` values, in their own unit; `sd` and `se` need two values."""

    n: int
    mean: float
    median: float
    sd: float | None
    se: float | None
    minimum: float
    q1: float
    q3: float
    maximum: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Tost:
    """Two one-sided t tests against -margin (lower) and +margin (upper).

    `p` is the larger of the two; it is at most alpha exactly where `interval`, at level
    1 - 2 alpha, lies within the margin.
    """

    t_lower: float
    p_lower: float
    t_upper: float
    p_upper: float
    p: float
    df: float
    interval: Interval
    margin: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectSize:
    """Cohen's `d` with its interval, and Hedges' `g` = `j` d; in pooled standard deviations."""

    d: float
    g: float
    j: float
    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Permutation:
    """A permutation p-value; `exact` when every relabelling was counted.

    `error` is the Monte Carlo standard error of `p`: 0 where it is exact.
    """

    p: float
    exact: bool
    resamples: int
    seed: int
    error: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bootstrap:
    """A bootstrap interval and all that is needed to reproduce it."""

    interval: Interval
    iterations: int
    seed: int
    method: Literal["percentile"] = "percentile"
