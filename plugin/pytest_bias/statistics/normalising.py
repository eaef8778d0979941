"""Bringing biases in different units onto one scale, for heatmaps; no test rests on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._arrays import constant, units

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def min_max(values: ArrayLike) -> NDArray[np.float64]:
    """Return (value - smallest) / (largest - smallest): the scaling published with the audit.

    `values` has shape (n,), one bias per condition of one feature, in the feature's own unit; the
    result has the same order, from 0 to 1. As documented, all values become 0 where they are all
    the same, or where none is above 0.

    It is for the published column only: where biases have both signs it maps no bias away from 0
    and the strongest negative bias onto 0, and what it gives one condition depends on the others.
    `signed_magnitude` does neither.

    Raises `TooFewUnits` without a value and `BadStatisticInput` for values that are not finite.
    Source: the recommendation audit's methodology, section 3.2 (min-max scaling per feature).
    """
    array = units(values, function="min_max", argument="values", needed=1)
    if constant(array) or array.max() <= 0:
        return np.zeros_like(array)
    scaled: NDArray[np.float64] = (array - array.min()) / np.ptp(array)
    return scaled


def signed_magnitude(values: ArrayLike) -> NDArray[np.float64]:
    """Return value / largest absolute value: from -1 to 1, where no bias stays 0.

    `values` has shape (n,), one bias per condition of one feature, in the feature's own unit; the
    result has the same order and signs. Show it on a diverging scale centred on 0; its absolute
    value is the normalised magnitude. Values that are all 0 stay 0.

    Raises `TooFewUnits` without a value and `BadStatisticInput` for values that are not finite.
    """
    array = units(values, function="signed_magnitude", argument="values", needed=1)
    largest = float(np.abs(array).max())
    if not largest:
        return np.zeros_like(array)
    scaled: NDArray[np.float64] = np.clip(array / largest, -1, 1)
    return scaled
