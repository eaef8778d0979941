"""From the cells of a design to the independent units of one contrast.

About a fixed set of stimuli the units are replies, in groups of a cell each. About a population
they are items, exemplars or blocks: crossed with what is compared each unit has one value, the
contrast within it; nested in it each has its mean, in groups of a level each.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...errors import TooFewUnits
from ...stats.checks import Floats
from ..reach import reach_of
from ..units import REPLIES, Units
from .cells import Cell, Grid, Weights

Unit = tuple[tuple[str, str, str], ...]
"""A unit as the combination of (factor or items, level or item, exemplar or nothing)."""

Names = Sequence[str] | None
"""What the units of a population are named after; None of a fixed set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Groups of independent units; the contrast is the weighted sum of the groups' means.

    ``keys`` tell the groups apart between contrasts of the same cells, ``labels`` are the levels
    compared and ``strata`` what groups share with those they are compared with. ``low`` and
    ``high`` are the ends of a unit's scale and ``reach`` how far one unit can move the contrast,
    infinite without bounds. ``units`` are those of each group, empty of replies; ``dropped``
    counts units that lack a reply in some cell. ``magnitude`` is that of the values from which
    the units' come, against which rounding is told from difference.
    """

    keys: tuple[object, ...]
    values: tuple[Floats, ...] = field(repr=False)
    weights: tuple[float, ...]
    labels: tuple[str, ...]
    strata: tuple[object, ...]
    low: float
    high: float
    reach: float
    unit_name: Units
    flags: bool
    magnitude: float
    units: tuple[Sequence[Unit], ...] = field(default=(), repr=False)
    dropped: int = 0

    @property
    def paired(self) -> bool:
        """True where each unit is compared with itself."""
        return len(self.values) == 1

    @property
    def single(self) -> bool:
        """Return whether it is several groups on one side, whose labels cannot be exchanged."""
        return not self.paired and min(self.weights) > 0

    def less(self, number: float) -> Sample:
        """Return the sample of the differences to ``number``, where all are on one side."""
        return replace(
            self,
            values=tuple(values - number for values in self.values),
            low=self.low - number,
            high=self.high - number,
            magnitude=max(self.magnitude, abs(number)),
        )

    @property
    def size(self) -> int:
        """Number of units."""
        return sum(each.size for each in self.values)


def sample_of(grid: Grid, weights: Weights, names: Names) -> Sample:
    """Return the units of a contrast; TooFewUnits where a group has none."""
    low, high = (-math.inf, math.inf) if grid.bounds is None else grid.bounds
    reach = (high - low) * reach_of(weights.parts)
    if names is not None:
        return _of_population(grid, weights, names, low=low, high=high, reach=reach)
    weighed = weights.on(grid)
    return Sample(
        keys=weighed.places,
        values=tuple(cell.values for cell in weights.used(grid).cells),
        weights=weighed.coefficients,
        labels=tuple(
            ", ".join(f"{name}={level}" for name, level in zip(weights.parts, levels, strict=True))
            for levels in weighed.combinations
        ),
        strata=weighed.strata,
        low=low,
        high=high,
        reach=reach,
        unit_name=REPLIES,
        flags=grid.flags,
        magnitude=grid.magnitude,
    )


def _of_population(
    grid: Grid, weights: Weights, names: Sequence[str], *, low: float, high: float, reach: float
) -> Sample:
    """Return units with a contrast each, in a group for each level that they are nested in."""
    nested = [name for name in names if name in weights.parts][:1]
    within = Weights({name: part for name, part in weights.parts.items() if name not in nested})
    whole, dropped = _whole_units(grid, weights, nested or names)
    if nested:
        unit_name = Units("groups", tuple(nested))
        levels = {level: weight for level, weight in weights.parts[nested[0]].items() if weight}
    else:
        exemplars = any(names[0] in cell.members for cell in grid.cells)
        unit_name, levels = Units.within(names, exemplars=exemplars), {"": 1.0}
    groups: dict[str, dict[Unit, float]] = {level: {} for level in levels}
    for unit, cells in whole.items():
        level = cells[0].labels[nested[0]] if nested else ""
        groups[level][unit] = within.sum_of(cells)
    labels = {level: f"{nested[0]}={level}" if nested else str(unit_name) for level in levels}
    for level, units in groups.items():
        if not units:
            raise TooFewUnits(group=labels[level], found=0, needed=1)
    if within.parts:  # of two groups, each moves the whole by half its reach
        high = reach / 2 if nested else reach
        low = -high
    return Sample(
        keys=tuple(levels),
        values=tuple(np.array([*units.values()]) for units in groups.values()),
        weights=tuple(levels.values()),
        labels=tuple(labels.values()),
        strata=((),) * len(levels),
        low=low,
        high=high,
        reach=reach,
        unit_name=unit_name,
        flags=False,
        magnitude=grid.magnitude,
        units=tuple([*units] for units in groups.values()),
        dropped=dropped,
    )


def _whole_units(
    grid: Grid, weights: Weights, names: Sequence[str]
) -> tuple[dict[Unit, list[Cell]], int]:
    """The cells of each unit that meets every level compared, and how many units miss one."""
    by_unit: dict[Unit, list[Cell]] = {}
    for cell in weights.used(grid).cells:
        unit = tuple((name, cell.labels[name], cell.members.get(name, "")) for name in names)
        by_unit.setdefault(unit, []).append(cell)
    most = max(map(len, by_unit.values()), default=0)
    whole = {
        key: cells
        for key, cells in by_unit.items()
        if len(cells) == most and all(cell.values.size for cell in cells)
    }
    return whole, len(by_unit) - len(whole)


def centred(sample: Sample) -> list[Floats]:
    """Return the values of each group as if nothing but the contrast told the groups apart.

    Strata may differ, levels of one side may, and factors may have effects beside their
    interaction: a permutation of all labels would take these for noise.
    """
    within: dict[object, list[Floats]] = {}
    for values, stratum in zip(sample.values, sample.strata, strict=True):
        within.setdefault(stratum, []).append(values)
    common = {stratum: np.concatenate(each).mean() for stratum, each in within.items()}
    parts: defaultdict[object, float] = defaultdict(float)
    squares: defaultdict[object, float] = defaultdict(float)
    triples = [*zip(sample.values, sample.weights, sample.strata, strict=True)]
    for values, weight, at in triples:
        parts[at] += weight * float(values.mean() - common[at])
        squares[at] += weight**2
    return [
        values - values.mean() + weight * parts[at] / squares[at] for values, weight, at in triples
    ]
