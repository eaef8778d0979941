"""Comparisons of levels as weights of their means."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Parts = Mapping[str, Mapping[str, float]]
"""A contrast as a product: factor → level → weight."""


def weights_between(factor: str, high: Sequence[str], low: Sequence[str]) -> Parts:
    """The mean of the ``high`` levels minus that of the ``low`` ones."""
    return {factor: dict.fromkeys(high, 1 / len(high)) | dict.fromkeys(low, -1 / len(low))}


def departing(levels: Mapping[str, Sequence[str]], place: Sequence[str]) -> Parts:
    """The departure of a ``place``, a level of each factor, from what all do on average."""
    return {
        factor: {level: (level == own) - 1 / len(among) for level in among}
        for (factor, among), own in zip(levels.items(), place, strict=True)
    }


def reach_of(parts: Parts) -> float:
    """Width of a contrast in widths of its measure's scale: 1 for means and differences."""
    if not parts:
        return 1.0
    sums = (math.fsum(map(abs, levels.values())) for levels in parts.values())
    return round(math.prod(sums) / 2, 12)
