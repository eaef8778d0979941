"""The cells of a design as numbers, and what each weighs in a linear contrast."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from ...errors import BadDesign
from ...experiments.design import Trial, frozen_mapping
from ...experiments.experiment import Experiment
from ...experiments.measures import MISSING
from ...experiments.records import CAP, Record, Records
from ...statistics.checks import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The values of one condition, exemplar and item.

    ``labels`` maps each factor to its level and the items' name to the item; ``members`` each
    factor that has exemplars to the one shown. ``values`` are the valid replies, in the plan's
    order (events are 0 and 1), ``reasons`` counts the trials without one.
    """

    labels: Mapping[str, str]
    members: Mapping[str, str]
    values: Floats = field(repr=False)
    reasons: Mapping[str, int]
    mean: float = field(init=False)
    """Mean of the valid replies; not to be asked for where there is none."""
    most: int = field(init=False)
    """Number of valid replies that are one and the same, the commonest."""

    def __post_init__(self) -> None:
        mean, most = 0.0, 0
        if values := self.values.tolist():
            mean = min(max(float(self.values.mean()), min(values)), max(values))
            most = max(Counter(values).values())
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "most", most)

    @property
    def missing(self) -> int:
        """Number of trials without a valid reply."""
        return sum(self.reasons.values())

    @property
    def name(self) -> str:
        """The cell in words, for messages."""
        return "/".join([*self.labels.values(), *self.members.values()])


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """All cells of a measure; ``flags`` when it is an event that happens or not."""

    cells: tuple[Cell, ...]
    bounds: tuple[float, float] | None
    flags: bool
    memo: dict[object, object] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What was worked out of these cells once, for the hypotheses that share it."""

    @property
    def width(self) -> float | None:
        """Width of the measure's scale; None where it has no ends."""
        return None if self.bounds is None else self.bounds[1] - self.bounds[0]

    @property
    def magnitude(self) -> float:
        """Largest absolute value, against which rounding is told from difference."""
        return max((float(np.abs(c.values).max()) for c in self.cells if c.values.size), default=0)

    def without(self, cells: Iterable[Cell]) -> Grid:
        """The grid without some of its cells."""
        gone = {id(cell) for cell in cells}
        return replace(self, cells=tuple(cell for cell in self.cells if id(cell) not in gone))


def grid_of(
    experiment: Experiment,
    records: Records,
    measure: str,
    at: Mapping[str, Sequence[str]] | None = None,
) -> Grid:
    """The cells of a measure in the plan's order, at some levels only where ``at`` names them.

    Raises BadDesign when the measure is a word, or of several types.
    """
    key = ("grid", measure)
    if key not in records.memo:
        records.memo[key] = _grid(experiment, records, measure)
    grid = cast("Grid", records.memo[key])
    if not at:
        return grid
    confined = ("at", *((name, tuple(levels)) for name, levels in sorted(at.items())))
    if confined not in grid.memo:
        grid.memo[confined] = grid.without(
            cell
            for cell in grid.cells
            if any(cell.labels[name] not in levels for name, levels in at.items())
        )
    return cast("Grid", grid.memo[confined])


def _grid(experiment: Experiment, records: Records, measure: str) -> Grid:
    kinds: set[type] = set()
    cells = tuple(_cell(experiment, rows, measure, kinds) for rows in _by_cell(records))
    if len(kinds) > 1 or not kinds <= {bool, float}:
        raise BadDesign(
            what=f"measure {measure!r}",
            problem="is compared as a number or an event, but holds words or several types",
        )
    flags = measure == MISSING or kinds == {bool}
    bounds = (0.0, 1.0) if flags else experiment.measure(measure).bounds
    return Grid(cells=cells, bounds=bounds, flags=flags)


def _by_cell(records: Records) -> list[list[Record]]:
    """The rows of each condition, exemplar and item; sorted out once for all measures."""
    if "cells" not in records.memo:
        found: dict[tuple[object, ...], list[Record]] = {}
        for row in records.rows:
            trial = row.trial
            key = (id(trial.condition), *trial.exemplars.values(), trial.item)
            found.setdefault(key, []).append(row)
        merged: dict[tuple[object, ...], list[Record]] = {}
        for rows in found.values():  # equal conditions need not be one and the same object
            trial = rows[0].trial
            key = (*trial.condition.levels.values(), *trial.exemplars.values(), trial.item)
            merged.setdefault(key, []).extend(rows)
        records.memo["cells"] = list(merged.values())
    return cast("list[list[Record]]", records.memo["cells"])


def _cell(experiment: Experiment, rows: list[Record], measure: str, kinds: set[type]) -> Cell:
    trial = rows[0].trial
    labels = dict(trial.condition.levels)
    if experiment.items is not None and trial.item is not None:
        labels[experiment.items.name] = trial.item
    if measure == MISSING:
        # Whether there is a valid reply; what a cap kept from being carried out is not known.
        known = [row.missing is not None for row in rows if row.missing != CAP]
        reasons = {CAP: len(rows) - len(known)} if len(rows) > len(known) else {}
        return _made(trial, labels, known, reasons)
    valid = [row.values[measure] for row in rows if row.missing is None]
    kinds.update(map(type, valid))
    numbers = [value for value in valid if isinstance(value, float | bool)]
    lost = [row.missing for row in rows if row.missing is not None]
    return _made(trial, labels, numbers, Counter(lost))


def _made(
    trial: Trial, labels: dict[str, str], values: Sequence[float], reasons: Mapping[str, int]
) -> Cell:
    return Cell(
        labels=labels,
        members=trial.exemplars,
        values=np.array(values, dtype=np.float64),
        reasons=reasons,
    )


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
