"""The same analysis with every missing reply at its worst (Manski 1990)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...errors import NoFinding
from ..findings import WorstCase
from .cells import Cell, Grid, Weights
from .tested import Tested

TOLERATED_MISSING = 0.05
"""Share of missing trials, and difference of shares, above which worst cases must agree."""


def worst_case(
    grid: Grid,
    weights: Weights,
    analyse: Callable[[Grid], Tested],
    *,
    no_effect: float = 0.0,
) -> WorstCase | None:
    """Both extreme fillings of what is missing; None when nothing is.

    Above 5 % missing on a side (then only can the shares differ by more) a verdict must hold under
    both. A scale without ends has no worst case, nor has a quantity without sides (the spread of
    groups, the largest of many contrasts), which no filling moves furthest: so nothing holds.
    """
    cells = weights.used(grid).cells
    if not any(cell.missing for cell in cells):
        return None
    signed = any(weights.of(cell) < 0 for cell in cells)
    trials: Counter[tuple[object, ...]] = Counter()
    missing: Counter[tuple[object, ...]] = Counter()
    for cell in cells:
        side = _side(cell, weights) if signed else weights.combination(cell)
        missing[side] += cell.missing
        trials[side] += cell.missing + cell.values.size
    needed = any(missing[side] > TOLERATED_MISSING * trials[side] for side in trials)
    if grid.bounds is None or not signed:
        return WorstCase(needed=needed, lowest=None, highest=None, p_alarm=1.0, p_clear=1.0)
    try:
        lowest, highest = (analyse(_filled(grid, weights, sign)) for sign in (-1, 1))
    except NoFinding:
        return WorstCase(needed=needed, lowest=None, highest=None, p_alarm=1.0, p_clear=1.0)
    same_side = (lowest.estimate - no_effect) * (highest.estimate - no_effect) > 0
    clear = [each.p_clear for each in (lowest, highest) if each.p_clear is not None]
    return WorstCase(
        needed=needed,
        lowest=lowest.estimate,
        highest=highest.estimate,
        p_alarm=max(lowest.p_alarm, highest.p_alarm) if same_side else 1.0,
        p_clear=max(clear) if clear else None,
    )


def _side(cell: Cell, weights: Weights) -> tuple[bool, ...]:
    """Return the side of each comparison a cell is on: an interaction has four, not two."""
    return tuple(levels[cell.labels[factor]] > 0 for factor, levels in weights.parts.items())


def _filled(grid: Grid, weights: Weights, sign: int) -> Grid:
    """The grid with every missing reply where it moves the contrast furthest to one side."""
    assert grid.bounds is not None  # noqa: S101  (the caller has looked)
    low, high = grid.bounds
    cells = tuple(
        replace(
            cell,
            values=np.concatenate(
                [cell.values, np.full(cell.missing, high if weights.of(cell) * sign > 0 else low)]
            ),
            reasons={},
        )
        for cell in grid.cells
    )
    return replace(grid, cells=cells)
