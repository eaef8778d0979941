"""Descriptions of one sample, and its collapse to one value per unit."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pytest_bias.errors import BadStatisticInput
from pytest_bias.estimates import Description

from ._arrays import mean_and_sd, units

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def describe(values: ArrayLike) -> Description:
    """Describe one sample, shape (n,), n >= 1, in the unit of its values.

    The SD has ddof = 1, the standard error is SD / sqrt(n); both are None for one value. The
    quartiles are of type 7 (Hyndman & Fan 1996): linear between order statistics, the default of
    R and numpy. Values that differ only by rounding have an SD of 0.

    Raises `TooFewUnits` for an empty sample and `BadStatisticInput` for NaN and infinities.
    """
    array = units(values, function="describe", argument="values", needed=1)
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


def unit_means(values: ArrayLike, unit: Sequence[Hashable]) -> dict[Hashable, float]:
    """Collapse replicates: the mean of the values of each unit, in the order units first occur.

    `values` has shape (n,), `unit` names the unit of each value. Whatever is computed from the
    result counts units, so that replicates of one unit add precision but no independence.

    Raises `BadStatisticInput` for NaN, infinities and sequences of different lengths,
    `TooFewUnits` for an empty sample. Source: Hurlbert (1984) on pseudoreplication.
    """
    array = units(values, function="unit_means", argument="values", needed=1)
    if len(unit) != array.size:
        raise BadStatisticInput(
            function="unit_means",
            argument="unit",
            problem=f"{len(unit)} names for {array.size} values",
        )
    places: dict[Hashable, list[int]] = {}
    for place, name in enumerate(unit):
        places.setdefault(name, []).append(place)
    return {name: float(array[at].mean()) for name, at in places.items()}
