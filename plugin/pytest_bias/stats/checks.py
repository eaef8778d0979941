"""Checks of arguments, and small sums shared by the statistics: finite in, finite out."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import BadStatisticInput, TooFewUnits

Floats = NDArray[np.float64]

SMALLEST_P = sys.float_info.min
"""The floor of every p-value: the smallest positive float of full precision, about 2.2e-308."""

LARGEST = 1e100
"""Largest magnitude accepted: the squares, and ratios of squares, of such values stay finite.

Its inverse is the smallest spread that is told from none.
"""

EQUAL = 32 * sys.float_info.epsilon
"""Values that differ by less than this share of their magnitude count as the same value.

Means of the same replies summed in another order differ in their last bits; a t statistic taken
of such "variance" is noise divided by noise, and can be as large as one likes.
"""


def bad(argument: str, problem: str) -> BadStatisticInput:
    """Return the error of an argument outside its domain."""
    return BadStatisticInput(argument=argument, problem=problem)


def array_of(values: ArrayLike, argument: str) -> NDArray[Any]:
    """Return `values` as an array of whatever shape and kind; ragged nesting raises."""
    try:
        return np.asarray(values)
    except ValueError:
        raise bad(argument, "rows of different lengths") from None


def sample(values: ArrayLike, argument: str) -> Floats:
    """Return `values` as a 1-D float array; it may be empty.

    Raises `BadStatisticInput` when it is not 1-D, not numeric, or holds NaN, an infinity or a
    magnitude over `LARGEST`: missing replies are dropped by the caller, explicitly, or not at all.
    """
    array = array_of(values, argument)
    if array.ndim != 1:
        raise bad(argument, f"{array.ndim} dimensions instead of 1")
    if array.dtype.kind not in "biuf":
        raise bad(argument, f"{array.dtype} instead of real numbers")
    floats = array.astype(np.float64)
    if not np.isfinite(floats).all():
        raise bad(argument, "contains NaN or an infinity")
    if floats.size and np.abs(floats).max() > LARGEST:
        raise bad(argument, f"contains a magnitude over {LARGEST:g}")
    return floats


def units(values: ArrayLike, argument: str, needed: int = 2) -> Floats:
    """Return `sample(values)` of at least `needed` units, or raise `TooFewUnits`."""
    array = sample(values, argument)
    enough(array.size, argument, needed)
    return array


def two_samples(a: ArrayLike, b: ArrayLike, *, needed: int = 2) -> tuple[Floats, Floats, float]:
    """Return `units` of both, and their largest magnitude: beside it rounding is no variance."""
    first, second = units(a, "a", needed), units(b, "b", needed)
    return first, second, float(max(np.abs(first).max(), np.abs(second).max()))


def enough(found: int, group: str, needed: int = 2) -> None:
    """Raise `TooFewUnits` for fewer units of a group than are needed."""
    if found < needed:
        raise TooFewUnits(group=group, found=found, needed=needed)


def probability(p: float) -> float:
    """Return `p` clipped into (0, 1], with `SMALLEST_P` as its floor.

    No exact or asymptotic p-value is 0; one that prints as 0 has underflowed. The floor is above
    every value it replaces, so it never makes evidence stronger. Rounding above 1 becomes 1. NaN
    raises `BadStatisticInput`. This is the only place where p-values are floored.
    """
    if math.isnan(p):
        raise bad("p", "is NaN")
    return min(1.0, max(SMALLEST_P, float(p)))


def constant(values: Floats, *, magnitude: float = 0.0) -> bool:
    """True if all values are the same up to `EQUAL` of the largest value, or `magnitude`.

    The magnitude of differences is that of the values subtracted, which has to be given.
    """
    largest = max(magnitude, float(np.abs(values).max()))
    return bool(np.ptp(values) <= max(EQUAL * largest, 1 / LARGEST))


def mean_and_sd(values: Floats, *, magnitude: float = 0.0) -> tuple[float, float]:
    """Return the mean and the SD (ddof = 1) of at least two values; exactly 0 when constant."""
    # A mean of equal values may round to outside of them.
    mean = float(np.clip(values.mean(), values.min(), values.max()))
    if constant(values, magnitude=magnitude):
        return mean, 0.0
    return mean, float(values.std(ddof=1))
