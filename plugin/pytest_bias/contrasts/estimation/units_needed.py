"""The number of units an open question lacks."""

from __future__ import annotations

import math

from ...statistics.power import deterministic_units, units_to_settle
from ..findings import ALPHA, Null
from .cells import Grid
from .tested import FEW_UNITS, Tested

POWER = 0.90

NEGLIGIBLE = 1e-6
"""Distance from a limit, in margins, that no number of units could settle."""


def units_needed(
    tested: Tested, grid: Grid, *, margin: float | None, null: Null, reach: float = 1.0
) -> int | None:
    """Units per group that would settle the question if estimate and spread are the truth.

    With power .90 for the easier of the two statements at the estimate found, never fewer than
    clearing it at no effect would take, and never fewer than can clear anything. ``reach`` is the
    width of the contrast in widths of the scale. None when more units would not help.
    """
    if margin is None:
        return None
    distance = abs(tested.estimate)
    if tested.deterministic:
        if grid.bounds is None or grid.width is None or null == "margin":
            return None
        width = grid.width * reach
        return deterministic_units(
            bounds=(-width / 2, width / 2), margin=margin, difference=min(distance, width)
        )
    if tested.se is None:
        return None
    sd = tested.se * math.sqrt(tested.fewest / 2)  # of one value, were it two groups of this size
    if abs(distance - margin) <= NEGLIGIBLE * margin:
        distance = margin  # nothing tells which side of the margin it is on
    at_estimate, at_no_effect = (
        units_to_settle(
            estimate=estimate, sd=sd, margin=margin, alpha=ALPHA, power=POWER, null=null
        )
        for estimate in (distance, 0.0)
    )
    if at_estimate is None or at_no_effect is None:
        return None
    return max(at_estimate.units, at_no_effect.units, FEW_UNITS)
