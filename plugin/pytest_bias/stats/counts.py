"""Counts: the interval of a rate, and tables of counts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import NoVariance
from .checks import array_of, bad, enough, probability
from .results import LEVEL, MOST_UNITS, Interval

FEWEST = 2  # rows or columns that can differ


def wilson(successes: int, n: int, *, level: float = LEVEL) -> Interval:
    """Return the Wilson score interval of a rate, without continuity correction.

    From `successes` of `n` >= 1 independent units. It is never of zero width and never leaves [0,
    1]. Source: Wilson (1927); method 3 of Newcombe (1998, Statistics in Medicine 17, 857-872).
    """
    from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415

    enough(n, "n", 1)
    if not 0 < level < 1:
        raise bad("level", f"{level} is not strictly between 0 and 1")
    found = stats.binomtest(successes, n).proportion_ci(level, method="wilson")
    rate = successes / n  # the score interval contains it; rounding at 0 and 1 may not
    low, high = min(rate, float(found.low)), max(rate, float(found.high))
    return Interval(low=low, high=high, level=level)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChiSquare:
    """Pearson's chi-square of a table without its empty rows and columns, and effect sizes."""

    chi2: float
    df: int
    p: float
    smallest_expected: float
    cramers_v: float
    bergsma_v: float


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
    from scipy.stats import contingency  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415

    counts = _table(table)
    counts = counts[counts.any(axis=1)][:, counts.any(axis=0)]
    if min(counts.shape) < FEWEST:
        raise NoVariance
    found = contingency.chi2_contingency(counts, correction=yates)
    plain = contingency.chi2_contingency(counts, correction=False)
    n, (rows, columns) = int(counts.sum()), counts.shape
    return ChiSquare(
        chi2=float(found.statistic),
        df=int(found.dof),
        p=probability(found.pvalue),
        smallest_expected=float(found.expected_freq.min()),
        cramers_v=min(1.0, float(contingency.association(counts, correction=yates))),
        bergsma_v=_bergsma_v(float(plain.statistic) / n, rows, columns, n),
    )


def _table(table: ArrayLike) -> NDArray[np.int64]:
    """Return a 2-D table as counts, or raise `BadStatisticInput`."""
    array = array_of(table, "table")
    if array.dtype.kind not in "iu" or array.ndim != FEWEST or array.size == 0:
        raise bad("table", f"{array.dtype} of shape {array.shape} instead of integers in 2-D")
    if array.min() < 0:
        raise bad("table", "has a count below 0")
    if array.sum(dtype=np.float64) > MOST_UNITS:
        raise bad("table", f"counts more than {MOST_UNITS} units")
    return array.astype(np.int64)


def _bergsma_v(phi2: float, rows: int, columns: int, n: int) -> float:
    """Return Bergsma's V, 0 where the correction leaves nothing of phi squared."""
    corrected = phi2 - (rows - 1) * (columns - 1) / (n - 1)
    if corrected <= 0 or n <= max(rows, columns):  # one unit per row makes it 0 / 0
        return 0.0
    size = min(side - 1 - (side - 1) ** 2 / (n - 1) for side in (rows, columns))
    return min(1.0, math.sqrt(corrected / size))
