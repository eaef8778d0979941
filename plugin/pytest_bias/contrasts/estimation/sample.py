"""From the cells of a design to the independent units of one contrast.

About a fixed set of stimuli the units are replies, in groups of a cell each. About a population
they are items, exemplars or blocks: crossed with what is compared each unit has one value, the
contrast within it; nested in it each has its mean, in groups of a level each.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...errors import TooFewUnits
from ...stats.checks import Floats
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
    infinite without bounds. ``by_unit`` is group → weight and values by unit, empty of replies;
    ``dropped`` counts units that lack a reply in some cell. ``magnitude`` is that of the values
    from which the units' come, against which rounding is told from difference.
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
    by_unit: Mapping[str, tuple[float, Mapping[Unit, float]]] = field(
        default_factory=dict, repr=False
    )
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
        by_unit = {
            group: (weight, {unit: value - number for unit, value in values.items()})
            for group, (weight, values) in self.by_unit.items()
        }
        return replace(
            self,
            values=tuple(values - number for values in self.values),
            low=self.low - number,
            high=self.high - number,
            magnitude=max(self.magnitude, abs(number)),
            by_unit=by_unit,
        )

    @property
    def size(self) -> int:
        """Number of units."""
        return sum(each.size for each in self.values)


def sample_of(grid: Grid, weights: Weights, names: Names) -> Sample:
    """Return the units of a contrast; TooFewUnits where a group has none."""
    if names is None:
        return _replies(grid, weights)
    if nested := [name for name in names if name in weights.parts]:
        return _nested(grid, weights, nested[0])
    return _crossed(grid, weights, names)


def _scale(grid: Grid) -> tuple[float, float]:
    return (-math.inf, math.inf) if grid.bounds is None else grid.bounds


def _replies(grid: Grid, weights: Weights) -> Sample:
    weighed = weights.on(grid)
    low, high = _scale(grid)
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
        reach=(high - low) * weights.reach,
        unit_name=REPLIES,
        flags=grid.flags,
        magnitude=grid.magnitude,
    )


def unit_key(cell: Cell, names: Sequence[str]) -> Unit:
    """The unit a cell belongs to: its level, item or exemplar of each name."""
    return tuple((name, cell.labels[name], cell.members.get(name, "")) for name in names)


def _whole_units(
    grid: Grid, weights: Weights, names: Sequence[str]
) -> tuple[dict[Unit, list[Cell]], int]:
    """The cells of each unit that meets every level compared, and how many units miss one."""
    by_unit: dict[Unit, list[Cell]] = {}
    for cell in weights.used(grid).cells:
        by_unit.setdefault(unit_key(cell, names), []).append(cell)
    most = max(map(len, by_unit.values()), default=0)
    whole = {
        key: cells
        for key, cells in by_unit.items()
        if len(cells) == most and all(cell.values.size for cell in cells)
    }
    return whole, len(by_unit) - len(whole)


def _crossed(grid: Grid, weights: Weights, names: Sequence[str]) -> Sample:
    whole, dropped = _whole_units(grid, weights, names)
    values = {key: weights.sum_of(cells) for key, cells in whole.items()}
    exemplars = any(names[0] in cell.members for cell in grid.cells)
    name = Units.within(names, exemplars=exemplars)
    if not values:
        raise TooFewUnits(group=str(name), found=0, needed=1)
    low, high = _scale(grid)
    reach = (high - low) * weights.reach
    return Sample(
        keys=(tuple(values),),
        values=(np.array([*values.values()]),),
        weights=(1.0,),
        labels=("",),
        strata=((),),
        low=-reach if weights.parts else low,
        high=reach if weights.parts else high,
        reach=reach,
        unit_name=name,
        flags=False,
        magnitude=grid.magnitude,
        by_unit={str(name): (1.0, values)},
        dropped=dropped,
    )


def _nested(grid: Grid, weights: Weights, factor: str) -> Sample:
    others = Weights({name: part for name, part in weights.parts.items() if name != factor})
    whole, dropped = _whole_units(grid, weights, [factor])
    groups: dict[str, dict[Unit, float]] = {}
    for key, cells in whole.items():
        groups.setdefault(cells[0].labels[factor], {})[key] = others.sum_of(cells)
    part = {level: weight for level, weight in weights.parts[factor].items() if weight}
    for level in part:
        if level not in groups:
            raise TooFewUnits(group=f"{factor}={level}", found=0, needed=1)
    low, high = _scale(grid)
    reach = (high - low) * weights.reach
    if others.parts:  # each unit's value is a contrast, and moves the whole by half its reach
        low, high = -reach / 2, reach / 2
    return Sample(
        keys=tuple(part),
        values=tuple(np.array([*groups[level].values()]) for level in part),
        weights=tuple(part.values()),
        labels=tuple(f"{factor}={level}" for level in part),
        strata=((),) * len(part),
        low=low,
        high=high,
        reach=reach,
        unit_name=Units("groups", (factor,)),
        flags=False,
        magnitude=grid.magnitude,
        by_unit={f"{factor}={level}": (weight, groups[level]) for level, weight in part.items()},
        dropped=dropped,
    )


def centred(sample: Sample) -> list[Floats]:
    """The values of each group as if nothing but the contrast told the groups apart.

    Strata may differ, levels of one side may, and factors may have effects beside their
    interaction: a permutation of all labels would take these for noise.
    """
    within: dict[object, list[Floats]] = {}
    for values, stratum in zip(sample.values, sample.strata, strict=True):
        within.setdefault(stratum, []).append(values)
    common = {stratum: np.concatenate(each).mean() for stratum, each in within.items()}
    parts: Counter[object] = Counter()
    squares: Counter[object] = Counter()
    triples = [*zip(sample.values, sample.weights, sample.strata, strict=True)]
    for values, weight, at in triples:
        parts[at] += weight * float(values.mean() - common[at])  # type: ignore[assignment]
        squares[at] += weight**2  # type: ignore[assignment]
    return [
        values - values.mean() + weight * parts[at] / squares[at] for values, weight, at in triples
    ]
