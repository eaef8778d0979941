"""The probability that a value of one group is above one of the other.

Values that differ by rounding only (see `snapped`) are ties.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from ._arrays import ROUNDING, units

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def snapped(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `values` with those that differ by rounding only made equal."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    size = np.maximum(np.abs(ordered[1:]), np.abs(ordered[:-1]))
    steps = np.diff(ordered) > ROUNDING * size
    first_of_tie = np.concatenate([[0], np.flatnonzero(steps) + 1])
    result = np.empty_like(ordered)
    result[order] = ordered[first_of_tie[np.concatenate([[0], np.cumsum(steps)])]]
    return result


def two_samples(
    a: ArrayLike, b: ArrayLike, *, function: str, needed: int = 2
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both samples, checked, with ties between them made equal."""
    first = units(a, function=function, argument="a", needed=needed)
    second = units(b, function=function, argument="b", needed=needed)
    pooled = snapped(np.concatenate([first, second]))
    return pooled[: first.size], pooled[first.size :]


def pairs_above(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return the number of pairs with the first above the second, ties as one half."""
    ranks = scipy.stats.rankdata(np.concatenate([first, second]))[: first.size]
    return float(ranks.sum()) - first.size * (first.size + 1) / 2


def share_above(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return `pairs_above` as a share of all pairs."""
    return pairs_above(first, second) / (first.size * second.size)


def vargha_delaney(a: ArrayLike, b: ArrayLike) -> float:
    """Return A: the share of pairs in which a is above b, ties counted as one half.

    Estimand: P(a > b) + P(a = b) / 2, from 0 to 1, and 1/2 without an effect. `a` has shape
    (n_a,), `b` (n_b,), at least 1 unit each. Raises `TooFewUnits` for an empty group and
    `BadStatisticInput` for NaN and infinities. Source: Vargha & Delaney (2000).
    """
    return share_above(*two_samples(a, b, function="vargha_delaney", needed=1))
