"""Rank tests, and the probability that a value of one group is above one of the other.

Values that differ by rounding only (see `snapped`) are ties: means of the same replies summed in
another order must not be ranked.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._distributions import normal_sf
from .checks import ROUNDING, Floats, checked, probability, units

MOST_EXACT = 50  # units (per group) up to which p-values are exact, as in R


@dataclass(frozen=True, slots=True, kw_only=True)
class MannWhitney:
    """`u` counts the pairs with a above b, ties as one half.

    `p` is two-sided, corrected for continuity and ties; `p_exact` is None with ties or more than
    50 units in a group.
    """

    u: float
    p: float
    p_exact: float | None


@checked
def mann_whitney(a: ArrayLike, b: ArrayLike) -> MannWhitney:
    """Test that a and b are exchangeable, by the number of pairs in which a is above b.

    Estimand: that of `vargha_delaney`. `a` has shape (n_a,), `b` (n_b,), at least 2
    independent units each. Null: both come from one distribution. All values equal give p = 1,
    as every relabelling gives the same U.

    Raises `TooFewUnits` below two units in a group and `BadStatisticInput` for NaN and
    infinities. Source: Mann & Whitney (1947); correction for ties as in Lehmann (1975).
    """
    first, second = two_samples(a, b)
    pooled = np.concatenate([first, second])
    _, ties = np.unique(pooled, return_counts=True)
    u, p, p_exact = pairs_above(first, second), 1.0, None
    if ties.size > 1:
        p = _normal_p(u, first.size, second.size, ties)
    if ties.size == pooled.size and max(first.size, second.size) <= MOST_EXACT:
        from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415

        p_exact = probability(float(stats.mannwhitneyu(first, second, method="exact").pvalue))
    return MannWhitney(u=u, p=probability(p), p_exact=p_exact)


def _normal_p(u: float, n_a: int, n_b: int, ties: NDArray[np.int_]) -> float:
    """Return the two-sided p of U by the normal approximation, with corrections.

    For ties (how many units share each value) and for continuity; as
    `scipy.stats.mannwhitneyu`, which takes half a second to import.
    """
    n = n_a + n_b
    tied = (ties**3 - ties).sum()
    spread = np.sqrt(n_a * n_b / 12 * ((n + 1) - tied / (n * (n - 1))))
    beyond = max(u, n_a * n_b - u) - n_a * n_b / 2 - 0.5
    return min(2 * normal_sf(beyond / spread), 1.0)


def snapped(values: Floats) -> Floats:
    """Return `values` with those that differ by rounding only made equal."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    size = np.maximum(np.abs(ordered[1:]), np.abs(ordered[:-1]))
    steps = np.diff(ordered) > ROUNDING * size
    first_of_tie = np.concatenate([[0], np.flatnonzero(steps) + 1])
    result = np.empty_like(ordered)
    result[order] = ordered[first_of_tie[np.concatenate([[0], np.cumsum(steps)])]]
    return result


def two_samples(a: ArrayLike, b: ArrayLike, *, needed: int = 2) -> tuple[Floats, Floats]:
    """Return both samples, checked, with ties between them made equal."""
    first = units(a, "a", needed=needed)
    second = units(b, "b", needed=needed)
    pooled = snapped(np.concatenate([first, second]))
    return pooled[: first.size], pooled[first.size :]


def pairs_above(first: Floats, second: Floats) -> float:
    """Return the number of pairs with the first above the second, ties as one half."""
    ordered = np.sort(second)
    below = np.searchsorted(ordered, first, "left")
    up_to = np.searchsorted(ordered, first, "right")
    return float(below.sum() + up_to.sum()) / 2


@checked
def vargha_delaney(a: ArrayLike, b: ArrayLike) -> float:
    """Return A: the share of pairs in which a is above b, ties counted as one half.

    Estimand: P(a > b) + P(a = b) / 2, from 0 to 1, and 1/2 without an effect, of at least 1 unit
    each.
    Source: Vargha & Delaney (2000).
    """
    first, second = two_samples(a, b, needed=1)
    return pairs_above(first, second) / (first.size * second.size)
