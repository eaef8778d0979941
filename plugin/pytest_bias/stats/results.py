"""Results of statistical methods as values, loadable without any numerical library."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ..errors import BadStatisticInput

ALPHA = 0.05
"""Error rate of each null of the verdict rule; they meet at most at the margin, so not halved."""

LEVEL = 0.95
"""Confidence level of the intervals that are told where no other is asked for."""

POWER = 0.90
"""Probability of clearing where nothing differs that a ``clear`` claim is sized for."""

MOST_UNITS = 10**15
"""Largest count accepted: up to here a float counts units one by one."""

_LEAST_SHARE = 1e-14
"""Share of a scale below which a margin is none, up to rounding."""


Matters = Literal["either", "below", "above"]
"""On which side of no effect an estimate matters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A closed confidence interval from `low` to `high` at confidence `level` (0.95 = 95 %).

    Raises `BadStatisticInput` unless both bounds are finite, `low` is at most `high`, and `level`
    lies between 0 and 1.
    """

    low: float
    high: float
    level: float

    def __post_init__(self) -> None:
        """Check the bounds and the level."""
        if not (-math.inf < self.low <= self.high < math.inf and 0 < self.level < 1):
            raise BadStatisticInput(argument="Interval", problem=f"is none: {self}")

    def excludes(self, value: float) -> bool:
        """True if `value` lies outside; a bound itself lies inside."""
        return value < self.low or value > self.high

    def within(self, margin: float) -> bool:
        """True if the whole interval lies in the closed range from -margin to margin."""
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
class EffectSize:
    """Cohen's `d` with its interval, and Hedges' `g` = `j` d; in pooled standard deviations."""

    d: float
    g: float
    j: float
    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Permutation:
    """A permutation p-value; `exact` when every relabelling was counted."""

    p: float
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Bootstrap:
    """A bootstrap interval and all that is needed to reproduce it."""

    interval: Interval
    iterations: int
    seed: int
    method: Literal["percentile"] = "percentile"


@dataclass(frozen=True, slots=True, kw_only=True)
class Misclassified:
    """Rates at which an event is read as one, and anything else as none.

    ``sensitivity`` is the share of events that are read as such, ``specificity`` that of the
    others that are let pass; ``source`` says where they are from. The rates are taken as known.
    """

    sensitivity: float
    specificity: float
    source: str

    def __post_init__(self) -> None:
        for name in ("sensitivity", "specificity"):
            rate: object = getattr(self, name)
            if isinstance(rate, bool) or not (isinstance(rate, int | float) and 0 <= rate <= 1):
                problem = f"is no rate, a number from 0 to 1: {rate!r}"
                raise BadStatisticInput(argument=name, problem=problem)
        if self.lowest <= 0:
            problem = "add up to 1 or less: nothing is read from it"
            raise BadStatisticInput(argument="sensitivity, specificity", problem=problem)

    @property
    def lowest(self) -> float:
        """Sensitivity + specificity - 1: what is left of a difference (Youden 1950)."""
        return self.sensitivity + self.specificity - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """What a judge's error leaves of a difference: clearing takes that share of a margin."""

    lowest: float


def units_needed(margin: float, reach: float) -> int:
    """Return the fewest units a side with which anything can be cleared, at any spread.

    ``reach`` is how far a side's mean is from its value if all its units lay at the other end of
    the scale, in the unit of the margin: the width of the scale for a difference of means. Fewer
    units may all miss a share margin / reach of the population, with probability over .05.
    """
    if math.isinf(reach):
        return 0
    if margin >= reach:
        return 1
    if margin / reach < _LEAST_SHARE:
        return MOST_UNITS
    return math.ceil(math.log(ALPHA) / math.log1p(-margin / reach))


ALARMS = 0.05
"""The probability that a suite calls anything BIASED where nothing is, unless ``bias_alpha`` says
less; a verdict's own rule allows no more."""

SMALL_PART = 1e-3
"""An experiment with a smaller part of it calls little BIASED: a run's closing line names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """The part of a suite's false alarms that one experiment may use.

    ``alarms`` is the probability that the suite calls anything BIASED where nothing is, ``share``
    the experiment's share of it. ``families`` divide that alike, and each its part alike among its
    hypotheses.
    """

    alarms: float = ALARMS
    share: float = 1.0
    families: tuple[str, ...] = ()

    @property
    def alpha(self) -> float:
        """The probability that the experiment calls anything BIASED where nothing is."""
        return self.alarms * self.share

    @property
    def scale(self) -> float:
        """Divisor of p-values, so that a verdict's rule stays p <= .05."""
        return self.alpha / ALARMS
