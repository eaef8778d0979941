"""Rank tests, and the probability that a value of one group is above one of the other.

Values that differ by rounding only (see `snapped`) are ties: means of the same replies summed in
another order must not be ranked.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .checks import EQUAL, Floats, probability, two_samples

MOST_EXACT = 50  # units (per group) up to which p-values are exact, as in R


@dataclass(frozen=True, slots=True, kw_only=True)
class MannWhitney:
    """`u` counts the pairs with a above b, ties as one half; `above` is its share of all pairs.

    `p` is two-sided, corrected for continuity and ties; `p_exact` is None with ties or more than
    50 units in a group.
    """

    u: float
    above: float
    p: float
    p_exact: float | None


def mann_whitney(a: ArrayLike, b: ArrayLike) -> MannWhitney:
    """Test that a and b are exchangeable, by the number of pairs in which a is above b.

    Estimand: P(a > b) + P(a = b) / 2, from 0 to 1, and 1/2 without an effect (the A of Vargha &
    Delaney 2000). `a` has shape (n_a,), `b` (n_b,), at least 2 independent units each. Null: both
    come from one distribution. All values equal give p = 1.

    Raises `TooFewUnits` below two units in a group and `BadStatisticInput` for NaN and
    infinities. Source: Mann & Whitney (1947); correction for ties as in Lehmann (1975).
    """
    from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415

    first, second, _ = two_samples(a, b)
    pooled = snapped(np.concatenate([first, second]))
    first, second = pooled[: first.size], pooled[first.size :]
    distinct = np.unique(pooled).size
    p_exact = None
    if distinct == pooled.size and max(first.size, second.size) <= MOST_EXACT:
        p_exact = probability(stats.mannwhitneyu(first, second, method="exact").pvalue)
    found = stats.mannwhitneyu(first, second, method="asymptotic")
    u = float(found.statistic)
    return MannWhitney(
        u=u,
        above=u / (first.size * second.size),
        p=probability(found.pvalue) if distinct > 1 else 1.0,
        p_exact=p_exact,
    )


def snapped(values: Floats) -> Floats:
    """Return `values` with those that differ by rounding only made equal."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    size = np.maximum(np.abs(ordered[1:]), np.abs(ordered[:-1]))
    steps = np.diff(ordered) > EQUAL * size
    first_of_tie = np.concatenate([[0], np.flatnonzero(steps) + 1])
    result = np.empty_like(ordered)
    result[order] = ordered[first_of_tie[np.concatenate([[0], np.cumsum(steps)])]]
    return result
