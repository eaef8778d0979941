"""Checks of arguments, and small sums shared by the statistics: finite in, finite out.

A check knows the argument it is given and what is allowed; `checked` says whose argument it is.
"""

from __future__ import annotations

import functools
import math
import operator
import sys
from collections.abc import Callable, Collection, Hashable, Sequence, Sized
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import BadStatisticInput, NoVariance, TooFewUnits

Floats = NDArray[np.float64]

SMALLEST_P = sys.float_info.min
"""The floor of every p-value: the smallest positive float of full precision, about 2.2e-308."""

LARGEST = 1e100
"""Largest magnitude accepted: the squares, and ratios of squares, of such values stay finite.

Its inverse is the smallest spread that is told from none.
"""

MOST_UNITS = 10**15
"""Largest count accepted: up to here a float counts units one by one."""

ROUNDING = 1e-12
"""Values that differ by less than this share of their magnitude count as the same value.

Means of the same replies summed in another order differ in their last bits; a t statistic taken
of such "variance" is noise divided by noise, and can be as large as one likes.
"""

P = ParamSpec("P")
R = TypeVar("R")


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Have what is refused within `function` say that it was `function` that refused it."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except (BadStatisticInput, NoVariance) as refusal:
            refusal.refused_by(function.__qualname__)
            raise

    return call


def bad(argument: str, problem: str) -> BadStatisticInput:
    """Return the error of an argument outside its domain; `checked` adds the function."""
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


def samples(groups: Sequence[ArrayLike]) -> list[Floats]:
    """Return `sample` of each cell; all are checked at once, as there may be hundreds."""
    arrays = [g for g in groups if isinstance(g, np.ndarray) and g.dtype == np.float64]
    if groups and len(arrays) == len(groups):
        try:
            sample(np.concatenate(arrays), "cells")
        except (BadStatisticInput, ValueError):
            pass  # one by one says which
        else:
            return arrays
    return [sample(group, f"cells[{place}]") for place, group in enumerate(groups)]


def units(values: ArrayLike, argument: str, needed: int = 2) -> Floats:
    """Return `sample(values)` of at least `needed` units, or raise `TooFewUnits`."""
    array = sample(values, argument)
    enough(array.size, argument, needed)
    return array


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


def number(value: float, argument: str) -> float:
    """Return `value` as a finite float of magnitude at most `LARGEST`."""
    if not abs(value) <= LARGEST:  # also catches NaN
        raise bad(argument, f"{value} is not within ±{LARGEST:g}")
    return float(value)


def positive(value: float, argument: str) -> float:
    """Return `value` as a finite float above 0."""
    if not 1 / LARGEST <= value <= LARGEST:
        raise bad(argument, f"{value} is not a number above 0")
    return float(value)


def not_negative(value: float, argument: str) -> float:
    """Return `value` as a finite float of at least 0, where less than 1 / `LARGEST` is 0."""
    if not 0 <= value <= LARGEST:
        raise bad(argument, f"{value} is not a number from 0 up")
    return float(value) if value >= 1 / LARGEST else 0.0


def fraction(value: float, argument: str, below: float = 1.0) -> float:
    """Return `value` as a float strictly between 0 and `below`, told from 0 by 1 - `value`."""
    if not 0 < value < below or 1 - value == 1:
        raise bad(argument, f"{value} is not strictly between 0 and {below:g}")
    return float(value)


def matrix(values: ArrayLike, argument: str) -> Floats:
    """Return `values` as a 2-D float array; else as `sample`."""
    array = array_of(values, argument)
    if array.ndim != 2:  # noqa: PLR2004  (rows and columns)
        raise bad(argument, f"{array.ndim} dimensions instead of 2")
    return sample(array.ravel(), argument).reshape(array.shape)


def alike(given: Sized, argument: str, *, n: int, of: str = "units") -> None:
    """Refuse what does not hold one entry for each of `n` units."""
    if len(given) != n:
        raise bad(argument, f"{len(given)} for {n} {of}")


def known(value: Hashable, argument: str, among: Collection[Hashable]) -> None:
    """Refuse a word that is none of those an argument may be."""
    if value not in among:
        raise bad(argument, f"{value!r} is none of {', '.join(map(str, among))}")


def count(value: int, argument: str, needed: int = 0) -> int:
    """Return `value` as an integer of at least 0; a float raises, even a whole one.

    Below what is `needed` raises `TooFewUnits`.
    """
    try:
        whole = operator.index(value)
    except TypeError:
        raise bad(argument, f"{value!r} is not an integer") from None
    if not 0 <= whole <= MOST_UNITS:
        raise bad(argument, f"{whole} is not from 0 to {MOST_UNITS}")
    enough(whole, argument, needed)
    return whole


def scale_bounds(bounds: tuple[float, float]) -> tuple[float, float]:
    """Return the lowest and highest value a measure can take, checked to be in that order."""
    low, high = (number(bound, "bounds") for bound in bounds)
    if not low < high:
        raise bad("bounds", f"{low} is not below {high}")
    return low, high


def on_scale(values: Floats, bounds: tuple[float, float], argument: str) -> Floats:
    """Return `values` clipped of rounding beyond `bounds`; anything further out raises."""
    low, high = bounds
    slack = ROUNDING * max(abs(low), abs(high))
    if values.size and (values.min() < low - slack or values.max() > high + slack):
        raise bad(argument, f"has values outside {low} to {high}")
    clipped: Floats = np.clip(values, low, high)
    return clipped


def constant(values: Floats, *, magnitude: float | None = None) -> bool:
    """Tell whether all values are the same up to `ROUNDING` of `magnitude`.

    The magnitude is that of the largest value; of differences it has to be given, as it is that
    of the values subtracted.
    """
    if magnitude is None:
        magnitude = float(np.abs(values).max())
    return bool(np.ptp(values) <= max(ROUNDING * magnitude, 1 / LARGEST))


def mean_and_sd(values: Floats, *, magnitude: float | None = None) -> tuple[float, float]:
    """Return the mean and the SD (ddof = 1) of at least two values; exactly 0 when constant."""
    # A mean of equal values may round to outside of them.
    mean = float(np.clip(values.mean(), values.min(), values.max()))
    if constant(values, magnitude=magnitude):
        return mean, 0.0
    return mean, float(values.std(ddof=1))
