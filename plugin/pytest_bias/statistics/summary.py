"""Descriptions of one sample."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .checks import checked, mean_and_sd, units
from .results import Description

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@checked
def describe(values: ArrayLike) -> Description:
    """Describe one sample, shape (n,), n >= 1, in the unit of its values.

    The SD has ddof = 1, the standard error is SD / sqrt(n); both are None for one value. The
    quartiles are of type 7 (Hyndman & Fan 1996): linear between order statistics, the default of
    R and numpy. Values that differ only by rounding have an SD of 0.

    Raises `TooFewUnits` for an empty sample and `BadStatisticInput` for NaN and infinities.
    """
    array = units(values, "values", needed=1)
    minimum, q1, median, q3, maximum = np.quantile(array, (0, 0.25, 0.5, 0.75, 1)).tolist()
    if array.size == 1:
        mean, sd, se = minimum, None, None
    else:
        mean, sd = mean_and_sd(array)
        se = sd / math.sqrt(array.size)
    return Description(
        n=array.size,
        mean=mean,
        median=median,
        sd=sd,
        se=se,
        minimum=minimum,
        q1=q1,
        q3=q3,
        maximum=maximum,
    )
