"""Sums of absolute gaps, beside what they come to when there is no difference at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...statistics.permutation import gap_permutation
from ..findings import CHANCE
from .cells import Grid
from .groups import labelled
from .tested import RESAMPLES, SEED, Tested

WeightedGap = tuple[dict[str, float], float]
"""Weight of each level, and what the absolute gap is multiplied by."""


def total_gap(
    grid: Grid, factor: str, gaps: Sequence[WeightedGap], unit: Sequence[str] | None
) -> Tested:
    """Test a sum of absolute gaps by permuting labels within strata, or within units.

    The sum is above 0 even without any difference, so the null's mean stands beside it. One-sided:
    only a large sum counts.
    """
    levels = tuple(dict.fromkeys(level for weights, _ in gaps for level in weights))
    data = labelled(grid, factor, levels, unit)
    found = gap_permutation(
        data.values, data.labels, gaps, blocks=data.blocks, resamples=RESAMPLES, seed=SEED
    )
    times = {
        level: tuple(times * weights.get(level, 0.0) for weights, times in gaps)
        for level in levels
    }
    tested = data.tested(found.total, found.permutation, data.parts(factor, times))
    return replace(
        tested,
        method=f"{tested.method}, one-sided",
        extras={CHANCE: found.null_mean, "its 95th centile": found.null_q95},
    )
