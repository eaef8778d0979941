"""Where a monotone function crosses 0."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..errors import BadStatisticInput

if TYPE_CHECKING:
    from collections.abc import Callable

CLOSE = 4e-16
"""How near the place is found: this share of the larger end, at least of 1."""


def crossing(monotone: Callable[[float], float], low: float, high: float) -> float:
    """Return the place between `low` and `high` at which the function crosses 0.

    Found by the ITP method, whose steps are those of bisection at worst and far fewer on smooth
    functions; `scipy.optimize` has a like one, and takes half a second to import. An end at which
    the function is 0 is returned.

    Raises `BadStatisticInput` when the function has no sign at an end (NaN), or the same at both.
    Source: Oliveira & Takahashi (2020, ACM Transactions on Mathematical Software 47, 5).
    """
    low, high = min(low, high), max(low, high)
    at_low, at_high = monotone(low), monotone(high)
    if at_low == 0 or at_high == 0:
        return low if at_low == 0 else high
    if not (at_low < 0 < at_high or at_high < 0 < at_low):
        problem = f"no crossing: {at_low} at {low} and {at_high} at {high}"
        raise BadStatisticInput(function="crossing", argument="monotone", problem=problem)
    close = CLOSE * max(1.0, abs(low), abs(high))
    turned = math.copysign(1.0, at_high)  # the function, or its negative, rises
    width = high - low
    left = math.ceil(math.log2(width / (2 * close))) + 1
    while high - low > 2 * close:
        middle, half = (low + high) / 2, (high - low) / 2
        reach = close * 2.0**left - half
        secant = (at_high * low - at_low * high) / (at_high - at_low)
        if not math.isfinite(secant):
            secant = middle
        towards = math.copysign(1.0, middle - secant)
        step = 0.2 * (high - low) ** 2 / width
        inner = secant + towards * step if step <= abs(middle - secant) else middle
        place = inner if abs(inner - middle) <= reach else middle - towards * reach
        if not low < place < high:
            place = middle
        found = monotone(place)
        if found == 0 or place in (low, high):
            return place
        if turned * found < 0:
            low, at_low = place, found
        else:
            high, at_high = place, found
        left -= 1
    return (low + high) / 2
