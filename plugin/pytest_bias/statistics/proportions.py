"""Rates and differences of two rates, with intervals that keep a width at 0 % and 100 %."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from ..errors import TooFewUnits
from ._distributions import normal_isf, normal_sf
from .checks import bad, checked, count, fraction, probability
from .results import Interval

SMALLEST_EXPECTED = 5  # Cochran (1954)
MOST_EXACT_UNITS = 10**9  # with more, scipy's exact test takes minutes and longer


@dataclass(frozen=True, slots=True, kw_only=True)
class RateDifferenceResult:
    """Rate a minus rate b, with the `test` behind `p`."""

    difference: float
    interval: Interval
    p: float
    test: Literal["fisher", "pearson"]
    rate_a: float
    rate_b: float


def _counts(successes: int, n: int, *, group: str) -> tuple[int, int]:
    suffix = f"_{group}" if group else ""
    n = count(n, f"n{suffix}")
    successes = count(successes, f"successes{suffix}")
    if n < 1:
        raise TooFewUnits(group=group or "n", found=n, needed=1)
    if successes > n:
        argument = f"successes{suffix}"
        raise bad(argument, f"{successes} successes of {n}")
    return successes, n


@checked
def wilson(successes: int, n: int, *, level: float = 0.95) -> Interval:
    """Return the Wilson score interval of a rate, without continuity correction.

    Estimand: a probability between 0 and 1, from `successes` of `n` >= 1 independent units. It is
    never of zero width and never leaves [0, 1].

    Raises `TooFewUnits` for n = 0 and `BadStatisticInput` for counts that are not integers, are
    negative or exceed n, and for a level outside (0, 1).
    Source: Wilson (1927); method 3 of Newcombe (1998, Statistics in Medicine 17, 857-872).
    """
    successes, n = _counts(successes, n, group="")
    level = fraction(level, "level")
    z = normal_isf((1 - level) / 2)
    middle = (successes + z**2 / 2) / (n + z**2)
    half = z * math.sqrt(successes * (n - successes) / n + z**2 / 4) / (n + z**2)
    rate = successes / n  # the score interval contains it; rounding at 0 and 1 may not
    return Interval(
        low=min(rate, max(0.0, middle - half)),
        high=max(rate, min(1.0, middle + half)),
        level=level,
    )


@checked
def newcombe(
    successes_a: int, n_a: int, successes_b: int, n_b: int, *, level: float = 0.95
) -> RateDifferenceResult:
    """Return rate a - rate b with its hybrid score interval and a two-sided p-value.

    Estimand: the difference of two probabilities, from independent units in independent groups of
    at least 1. The interval combines the two Wilson intervals, and the p-value is Fisher's exact
    one when an expected count is below 5 (also where no unit or every unit is a success, giving
    1), else that of Pearson's chi-square without Yates' correction; `test` says which. Interval
    and p-value are of different construction and may disagree at their edges.

    Raises `TooFewUnits` for an empty group and `BadStatisticInput` for counts that are not
    integers, are negative or exceed their n, for a level outside (0, 1), and for more than 10^9
    units where an expected count is below 5.
    Source: method 10 of Newcombe (1998, Statistics in Medicine 17, 873-890); Cochran (1954) for
    the choice of test.
    """
    successes_a, n_a = _counts(successes_a, n_a, group="a")
    successes_b, n_b = _counts(successes_b, n_b, group="b")
    first, second = wilson(successes_a, n_a, level=level), wilson(successes_b, n_b, level=level)
    rate_a, rate_b = successes_a / n_a, successes_b / n_b
    difference = rate_a - rate_b
    interval = Interval(
        # the limits of -1 and 1 only undo rounding
        low=max(-1.0, difference - math.hypot(rate_a - first.low, second.high - rate_b)),
        high=min(1.0, difference + math.hypot(first.high - rate_a, rate_b - second.low)),
        level=level,
    )

    units, events = n_a + n_b, successes_a + successes_b
    test: Literal["fisher", "pearson"]
    if min(n_a, n_b) * min(events, units - events) / units < SMALLEST_EXPECTED:
        if units > MOST_EXACT_UNITS:
            raise bad("n_a, n_b", f"over {MOST_EXACT_UNITS} units")
        table = np.array([[successes_a, n_a - successes_a], [successes_b, n_b - successes_b]])
        test, p = "fisher", float(scipy.stats.fisher_exact(table).pvalue)
    else:
        # in whole numbers up to the root: rates near 1 lose their digits
        lead = successes_a * n_b - successes_b * n_a
        z = lead / math.sqrt(n_a * n_b * events * (units - events) / units)
        test, p = "pearson", 2 * normal_sf(abs(z))  # z squared is Pearson's chi-square
    return RateDifferenceResult(
        difference=difference,
        interval=interval,
        p=probability(p),
        test=test,
        rate_a=rate_a,
        rate_b=rate_b,
    )
