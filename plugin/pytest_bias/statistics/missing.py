"""What missing replies could do to a difference, assuming nothing about why they are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pytest_bias.errors import TooFewUnits

from ._arrays import count, on_scale, sample, scale_bounds

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def worst_case(
    a: ArrayLike,
    b: ArrayLike,
    *,
    missing_a: int,
    missing_b: int,
    bounds: tuple[float, float],
) -> tuple[
    tuple[NDArray[np.float64], NDArray[np.float64]],
    tuple[NDArray[np.float64], NDArray[np.float64]],
]:
    """Return the fillings with the smallest and the largest possible mean(a) - mean(b).

    The result is ((a_low, b_low), (a_high, b_high)) with shapes (n_a + missing_a,) and
    (n_b + missing_b,): the observed values, then the filled ones. In the first the missing of `a`
    are at the lower bound and those of `b` at the upper; in the second the other way round. `a`
    and `b` hold the observed values, without NaN; `bounds` are the lowest and highest value the
    measure can take. A conclusion that holds in both holds for every way the missing replies
    could have come out.

    Raises `TooFewUnits` for a group with nothing observed and nothing missing; `BadStatisticInput`
    for NaN, values outside the bounds, bounds out of order and negative counts.
    Source: Manski (1990).
    """
    function = "worst_case"
    low, high = scale_bounds(bounds, function=function)
    filled = {}
    for argument, values, missing in (("a", a, missing_a), ("b", b, missing_b)):
        observed = sample(values, function=function, argument=argument)
        observed = on_scale(observed, (low, high), function=function, argument=argument)
        gaps = count(missing, function=function, argument=f"missing_{argument}")
        if observed.size + gaps == 0:
            raise TooFewUnits(group=argument, found=0, needed=1)
        filled[argument] = tuple(
            np.concatenate([observed, np.full(gaps, bound)]) for bound in (low, high)
        )
    (a_low, a_high), (b_low, b_high) = filled["a"], filled["b"]
    return (a_low, b_high), (a_high, b_low)
