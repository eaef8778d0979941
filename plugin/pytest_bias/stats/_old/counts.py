"""Counts: rates and their difference, with intervals at 0 % and 100 %, and tables of counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import NoVariance
from ._distributions import chi_square_sf, crossing, normal_isf, normal_sf
from .checks import MOST_UNITS, array_of, bad, checked, count, enough, fraction, probability
from .results import LEVEL, Interval

SMALLEST_EXPECTED = 5  # Cochran (1954)
MOST_EXACT_UNITS = 10**9  # of more there may be too many tables to weigh
_TIED = 1e-9  # chances that differ by less are the same but for rounding
MOST_TABLES = 10**6  # tables of the same margins that are weighed one by one

FOURFOLD = (2, 2)
FEWEST = 2  # rows, columns or samples that can differ


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
    enough(n, group or "n", 1)
    if successes > n:
        argument = f"successes{suffix}"
        raise bad(argument, f"{successes} successes of {n}")
    return successes, n


@checked
def wilson(successes: int, n: int, *, level: float = LEVEL) -> Interval:
    """Return the Wilson score interval of a rate, without continuity correction.

    From `successes` of `n` >= 1 independent units. It is never of zero width and never leaves [0,
    1].
    Source: Wilson (1927); method 3 of Newcombe (1998, Statistics in Medicine 17, 857-872).
    """
    successes, n = _counts(successes, n, group="")
    z = normal_isf((1 - fraction(level, "level")) / 2)
    middle = (successes + z**2 / 2) / (n + z**2)
    half = z * math.sqrt(successes * (n - successes) / n + z**2 / 4) / (n + z**2)
    rate = successes / n  # the score interval contains it; rounding at 0 and 1 may not
    return Interval(
        low=min(rate, max(0.0, middle - half)),
        high=max(rate, min(1.0, middle + half)),
        level=level,
    )


@checked
def newcombe(successes_a: int, n_a: int, successes_b: int, n_b: int) -> RateDifferenceResult:
    """Return rate a - rate b with its hybrid score interval and a two-sided p-value.

    From independent units in independent groups of at least 1. The interval combines the two
    Wilson intervals; p is Fisher's exact one when an expected count is below 5 (1 where no unit or
    every unit is a success; `BadStatisticInput` beyond 10^9 units), else that of Pearson's
    chi-square without Yates' correction. Being of different construction they may disagree at
    their edges.
    Source: method 10 of Newcombe (1998, Statistics in Medicine 17, 873-890); Cochran (1954) for
    the choice of test.
    """
    successes_a, n_a = _counts(successes_a, n_a, group="a")
    successes_b, n_b = _counts(successes_b, n_b, group="b")
    first, second = wilson(successes_a, n_a), wilson(successes_b, n_b)
    rate_a, rate_b = successes_a / n_a, successes_b / n_b
    difference = rate_a - rate_b
    interval = Interval(
        # the limits of -1 and 1 only undo rounding
        low=max(-1.0, difference - math.hypot(rate_a - first.low, second.high - rate_b)),
        high=min(1.0, difference + math.hypot(first.high - rate_a, rate_b - second.low)),
        level=LEVEL,
    )

    units, events = n_a + n_b, successes_a + successes_b
    test: Literal["fisher", "pearson"]
    if min(n_a, n_b) * min(events, units - events) / units < SMALLEST_EXPECTED:
        if units > MOST_EXACT_UNITS:
            raise bad("n_a, n_b", f"over {MOST_EXACT_UNITS} units")
        test, p = "fisher", _fisher(successes_a, n_a, successes_b, n_b)
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


def _log_chances(n_a: int, n_b: int, events: int) -> NDArray[np.float64]:
    """Return the logarithms of the chances of each possible count in a, up to a constant."""
    # Of ratios of neighbours, whose sum is exact to more digits than differences of factorials.
    count_a = np.arange(max(0, events - n_b), min(n_a, events), dtype=np.float64)
    left = events - count_a
    ratios = (n_a - count_a) / (count_a + 1) * (left / (n_b - left + 1))
    return np.concatenate([[0.0], np.log(ratios).cumsum()])


def _fisher(successes_a: int, n_a: int, successes_b: int, n_b: int) -> float:
    """Return Fisher's two-sided p, as `scipy.stats` does, which takes a third of a second to load.

    The chance of all tables that are no more likely than the one seen.
    """
    events = successes_a + successes_b
    logs = _log_chances(n_a, n_b, events)
    chances = np.exp(logs - logs.max())
    seen = chances[successes_a - max(0, events - n_b)]
    return min(1.0, float(chances[chances <= seen * (1 + _TIED)].sum() / chances.sum()))


@dataclass(frozen=True, slots=True, kw_only=True)
class OddsRatio:
    """Odds a over odds b given the margins, from `low` to `high` at 95 %; p is Fisher's.

    `estimate` and `low` are 0, or `estimate` and `high` infinite, where the events of one group
    are as few, or as many, as the margins allow.
    """

    estimate: float
    low: float
    high: float
    p: float


@checked
def conditional_odds_ratio(successes_a: int, n_a: int, successes_b: int, n_b: int) -> OddsRatio:
    """Return the conditional maximum-likelihood odds ratio with its exact interval and p-value.

    From independent units in independent groups of at least 1, given how many successes there are
    in all: the successes of a are then noncentral hypergeometric. Each bound leaves .025 beyond
    the count seen. p is that of Fisher's exact test, and may disagree with
    the interval at its edges. R's `fisher.test` finds the bounds to some four digits only.

    Raises `NoVariance` where no unit or every unit is a success, and `BadStatisticInput` beyond
    10^6 possible tables. Source: Fisher (1935); Cornfield (1956).
    """
    successes_a, n_a = _counts(successes_a, n_a, group="a")
    successes_b, n_b = _counts(successes_b, n_b, group="b")
    events = successes_a + successes_b
    fewest, most = max(0, events - n_b), min(n_a, events)
    if fewest == most:
        raise NoVariance
    if most - fewest >= MOST_TABLES:
        raise bad("n_a, n_b", f"over {MOST_TABLES} possible tables")
    possible, weights = np.arange(fewest, most + 1), _log_chances(n_a, n_b, events)

    def solved(value: NDArray[np.int64] | NDArray[np.bool_], target: float) -> float:
        """The odds ratio at which a value of the count, which grows with it, has that mean."""

        def lacking(log_odds: float) -> float:
            tilted = weights + possible * log_odds
            chances = np.exp(tilted - tilted.max())
            return float(chances @ value / chances.sum()) - target

        reach = 1.0
        while lacking(-reach) > 0 or lacking(reach) < 0:
            reach *= 2
        return math.exp(crossing(lacking, -reach, reach))

    tail = (1 - LEVEL) / 2
    at_fewest, at_most = successes_a == fewest, successes_a == most
    estimate = math.inf if at_most else 0.0
    if not (at_fewest or at_most):
        estimate = solved(possible, successes_a)
    return OddsRatio(
        estimate=estimate,
        low=0.0 if at_fewest else solved(possible >= successes_a, tail),
        high=math.inf if at_most else solved(possible > successes_a, 1 - tail),
        p=probability(_fisher(successes_a, n_a, successes_b, n_b)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChiSquare:
    """Pearson's chi-square of a table without its empty rows and columns, and effect sizes."""

    chi2: float
    df: int
    p: float
    smallest_expected: float
    cramers_v: float
    bergsma_v: float


def _table(table: ArrayLike) -> NDArray[np.int64]:
    """Return a 2-D table as counts, or raise `BadStatisticInput`."""
    array = array_of(table, "table")
    if array.dtype.kind not in "iu" or array.size == 0:
        raise bad("table", f"{array.dtype} of shape {array.shape} instead of integers")
    if array.min() < 0:
        raise bad("table", "has a count below 0")
    if array.astype(np.float64).sum() > MOST_UNITS:
        raise bad("table", f"counts more than {MOST_UNITS} units")
    if array.ndim != len(FOURFOLD):
        raise bad("table", f"shape {array.shape} is not 2 dimensions")
    return array.astype(np.int64)


def _bergsma_v(phi2: float, rows: int, columns: int, n: int) -> float:
    """Return Bergsma's V, 0 where the correction leaves nothing of phi squared."""
    corrected = phi2 - (rows - 1) * (columns - 1) / (n - 1)
    if corrected <= 0 or n <= max(rows, columns):  # one unit per row makes it 0 / 0
        return 0.0
    size = min(side - 1 - (side - 1) ** 2 / (n - 1) for side in (rows, columns))
    return min(1.0, math.sqrt(corrected / size))


def _pearson(counts: NDArray[np.float64], expected: NDArray[np.float64]) -> float:
    """Return the chi-square, as `scipy.stats` does, which takes a second to import."""
    return float(((counts - expected) ** 2 / expected).sum())


@checked
def chi_square(table: ArrayLike, *, yates: bool = False) -> ChiSquare:
    """Test that rows and columns are independent, and measure their association.

    Estimand of the effect sizes: Cramér's V of the population's table, from 0 to 1. `table` has
    shape (r, c) and counts independent units as integers. Empty rows and columns are dropped.
    Yates' correction is applied to what is a 2 × 2 table then, and to no other; it goes into V
    (there also called phi), not into Bergsma's. V of an independent table is not 0 on average;
    `bergsma_v` corrects that. The p-value needs expected counts of 5 or so: see
    `smallest_expected`.

    Raises `NoVariance` when fewer than two rows or columns have any units, `BadStatisticInput`
    for counts that are not integers or are negative.
    Source: Pearson (1900), Yates (1934), Cramér (1946), Bergsma (2013).
    """
    array = _table(table)
    kept = array[array.any(axis=1)][:, array.any(axis=0)]
    rows, columns = kept.shape
    if min(rows, columns) < FEWEST:
        raise NoVariance
    n = int(kept.sum())
    counts = kept.astype(np.float64)
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0, keepdims=True) / counts.sum()
    plain = chi2 = _pearson(counts, expected)
    if yates and kept.shape == FOURFOLD:
        off = expected - counts
        chi2 = _pearson(counts + np.minimum(0.5, np.abs(off)) * np.sign(off), expected)
    df = (rows - 1) * (columns - 1)
    return ChiSquare(
        chi2=chi2,
        df=df,
        p=probability(chi_square_sf(chi2, df)),
        smallest_expected=float(expected.min()),
        cramers_v=min(1.0, math.sqrt(chi2 / (n * (min(rows, columns) - 1)))),
        bergsma_v=_bergsma_v(plain / n, rows, columns, n),
    )
