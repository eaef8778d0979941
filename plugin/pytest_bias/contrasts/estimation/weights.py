"""Linear contrasts: what each level weighs, and what each cell then does."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...experiments.design import frozen_mapping
from .cells import Cell, Grid


@dataclass(frozen=True, slots=True)
class Weights:
    """A contrast as a product: factor → level → weight; the weights of each factor sum to 0.

    One factor compares levels (``{"demand": {"high": 1, "low": -1}}``), two are an interaction:
    a difference of differences. A level that is not named weighs 0. ``factors`` may name the items
    as well.
    """

    parts: Mapping[str, Mapping[str, float]]

    def __post_init__(self) -> None:
        parts = {factor: frozen_mapping(levels) for factor, levels in self.parts.items()}
        object.__setattr__(self, "parts", frozen_mapping(parts))

    @property
    def reach(self) -> float:
        """Width of the contrast in widths of the measure's scale: 1 for a difference of means."""
        sums = (math.fsum(map(abs, levels.values())) for levels in self.parts.values())
        return round(math.prod(sums) / 2, 12)

    def of(self, cell: Cell) -> float:
        """The weight of a cell's combination of levels."""
        return math.prod(
            levels.get(cell.labels[factor], 0.0) for factor, levels in self.parts.items()
        )

    def combination(self, cell: Cell) -> tuple[str, ...]:
        """A cell's levels of the factors compared."""
        return tuple(cell.labels[factor] for factor in self.parts)

    def used(self, grid: Grid) -> Grid:
        """The grid without the cells that weigh nothing."""
        return grid.without(cell for cell in grid.cells if not self.of(cell))

    def coefficients(self, cells: Sequence[Cell]) -> list[float]:
        """Return the factor of each cell's mean: cells of a combination count alike."""
        sizes = Counter(map(self.combination, cells))
        return [self.of(cell) / sizes[self.combination(cell)] for cell in cells]


def pairwise(factor: str, high: Sequence[str], low: Sequence[str]) -> Weights:
    """The mean of the ``high`` levels minus the mean of the ``low`` ones."""
    weights = dict.fromkeys(high, 1 / len(high)) | dict.fromkeys(low, -1 / len(low))
    return Weights({factor: weights})


def level_against_rest(factor: str, group: str, levels: Sequence[str]) -> Weights:
    """One level minus the mean of all others."""
    return pairwise(factor, [group], [level for level in levels if level != group])
