"""Adjusted p-values of a family of hypotheses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from .checks import bad, checked, probability, sample

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def _p_values(p: ArrayLike) -> NDArray[np.float64]:
    array = sample(p, "p")
    if array.size and (array.min() < 0 or array.max() > 1):
        raise bad("p", "is outside 0 to 1")
    return array


def _floored(p: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([probability(value) for value in p.tolist()], dtype=np.float64)


@checked
def holm(p: ArrayLike) -> NDArray[np.float64]:
    """Return step-down adjusted p-values, in the order given.

    Rejecting where they are at most alpha keeps the probability of any false rejection in the
    family at alpha, whatever the dependence. `p` has shape (m,); an empty family stays empty.
    Raises `BadStatisticInput` for NaN and values outside 0 to 1. Source: Holm (1979).
    """
    array = _p_values(p)
    order = np.argsort(array, kind="stable")
    steps = array[order] * np.arange(array.size, 0, -1)
    adjusted = np.empty_like(array)
    adjusted[order] = np.maximum.accumulate(steps)
    return _floored(adjusted)


@checked
def benjamini_hochberg(p: ArrayLike) -> NDArray[np.float64]:
    """Return p-values adjusted for the false discovery rate, in the order given.

    Rejecting where they are at most q keeps the expected share of false rejections at q for
    independent (or positively dependent) tests. For exploratory tables; never for a verdict.
    `p` has shape (m,); an empty family stays empty. Raises `BadStatisticInput` for NaN and values
    outside 0 to 1. Source: Benjamini & Hochberg (1995).
    """
    array = _p_values(p)
    if array.size == 0:
        return array
    return _floored(np.asarray(scipy.stats.false_discovery_control(array, method="bh")))
