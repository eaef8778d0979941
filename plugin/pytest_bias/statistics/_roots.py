"""Where a monotone function crosses 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ABSOLUTE, RELATIVE = 1e-15, 1e-14


def crossing(monotone: Callable[[float], float], low: float, high: float) -> float:
    """Return the place between `low` and `high` at which the function crosses 0, by bisection.

    It has other signs at the two ends; which is the positive one does not matter. The place is
    exact to 1e-15 or to 1e-14 of itself, whichever is more. (`scipy.optimize` would take fewer
    steps, and half a second to import.)
    """
    rising = monotone(low) < 0
    while True:
        middle = low + (high - low) / 2
        if abs(high - low) <= max(ABSOLUTE, RELATIVE * abs(middle)) or middle in (low, high):
            return middle
        if (monotone(middle) < 0) == rising:
            low = middle
        else:
            high = middle
