"""Cells of a design as numbers, and what each weighs in a linear contrast."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import TypeVar, cast

import numpy as np

from ..errors import BadDesign
from ..experiments.experiment import Experiment
from ..experiments.measures import COMPARABLE, MISSING
from ..experiments.records import CAP, Record, Records
from ..stats.checks import Floats

T = TypeVar("T")
Stratum = tuple[tuple[str, str], ...]


def once(memo: dict[object, object], key: object, make: Callable[[], T]) -> T:
    """Return the result of ``make``, made on the first question only."""
    if key not in memo:
        memo[key] = make()
    return cast("T", memo[key])


@dataclass(frozen=True, kw_only=True)
class Cell:
    """Values of one condition, exemplar and item.

    ``labels`` maps each factor to its level and the items' name to the item; ``members`` each
    factor that has exemplars to the one shown. ``values`` are the valid replies, in the plan's
    order (events are 0 and 1), ``reasons`` counts the trials without one, ``left_out`` the valid
    replies that the measure is not about, ``ineligible`` those to which the question is not.
    """

    labels: Mapping[str, str]
    members: Mapping[str, str]
    values: Floats = field(repr=False)
    reasons: Mapping[str, int]
    left_out: int = 0
    ineligible: int = 0

    @cached_property
    def mean(self) -> float:
        """Mean of the valid replies; not to be asked for where there is none."""
        values = self.values.tolist()
        return min(max(float(self.values.mean()), min(values)), max(values)) if values else 0.0

    @cached_property
    def squares(self) -> float:
        """Sum of squared deviations of the valid replies from their mean."""
        return float(self.values.var()) * self.values.size if self.values.size else 0.0

    @cached_property
    def missing(self) -> int:
        """Number of trials without a valid reply."""
        return sum(self.reasons.values())

    @property
    def trials(self) -> int:
        """Number of all its trials, those that do not count included."""
        return self.values.size + self.missing + self.left_out + self.ineligible

    @property
    def name(self) -> str:
        """Return the cell in words, for messages."""
        return "/".join([*self.labels.values(), *self.members.values()])


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """All cells of a measure; ``flags`` when it is an event that happens or not."""

    cells: tuple[Cell, ...]
    bounds: tuple[float, float] | None
    flags: bool
    memo: dict[object, object] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What was worked out of these cells once, for the hypotheses that share it."""
    labelled: dict[object, object] = field(default_factory=dict, repr=False, compare=False)
    """The same of their labels alone, shared by all measures of these cells."""

    @property
    def magnitude(self) -> float:
        """Return the largest absolute value, beside which rounding is no difference."""
        sizes = (float(np.abs(cell.values).max()) for cell in self.cells if cell.values.size)
        return once(self.memo, "magnitude", lambda: max(sizes, default=0.0))

    def at(self, levels: Mapping[str, Sequence[str]]) -> Grid:
        """Return the cells at some levels only, of those factors that are named."""
        key = ("at", *((name, tuple(among)) for name, among in sorted(levels.items())))

        def found() -> Grid:
            cells = (
                cell
                for cell in self.cells
                if all(cell.labels[name] in among for name, among in levels.items())
            )
            return self.of(cells, once(self.labelled, key, dict))

        return once(self.memo, key, found)

    def of(self, cells: Iterable[Cell], labelled: dict[object, object] | None = None) -> Grid:
        """The grid of other cells; ``labelled`` is theirs where other measures have them too."""
        return replace(self, cells=tuple(cells), labelled={} if labelled is None else labelled)


def collapsed(grid: Grid, kept: Sequence[str]) -> Grid:
    """Return the grid, cells joined where each is of a single trial, or one has no value.

    Such cells have no variance. Single trials are joined over all but the factors ``kept``, others
    over exemplars. The variance of joined cells is larger by what they differ in, so that nothing
    is shown too soon (collapsed strata: Cochran 1977, Sampling Techniques, 5A.12).
    """
    if any(cell.trials != 1 for cell in grid.cells):
        if all(cell.values.size for cell in grid.cells):
            return grid
        kept = [*grid.cells[0].labels]

    def joined() -> Grid:
        groups: dict[tuple[str, ...], list[Cell]] = {}
        for cell in grid.cells:
            groups.setdefault(tuple(cell.labels.get(name, "") for name in kept), []).append(cell)
        return grid.of(
            Cell(
                labels={name: at for name, at in group[0].labels.items() if name in kept},
                members={},
                values=np.concatenate([cell.values for cell in group]),
                reasons=sum((Counter(cell.reasons) for cell in group), Counter()),
                left_out=sum(cell.left_out for cell in group),
                ineligible=sum(cell.ineligible for cell in group),
            )
            for group in groups.values()
        )

    return once(grid.memo, ("collapsed", *kept), joined)


def grid_of(
    experiment: Experiment,
    records: Records,
    measure: str,
    at: Mapping[str, Sequence[str]] | None = None,
    eligible: str | None = None,
) -> Grid:
    """The cells of a measure in the plan's order, at some levels only where ``at`` names them.

    Of the trials only those with the flag ``eligible`` count, where it is given.

    Raises BadDesign when the measure is neither a number nor a flag.
    """
    grid = once(
        records.memo,
        ("grid", measure, eligible),
        lambda: _grid(experiment, records, measure, eligible),
    )
    return grid.at(at) if at else grid


def _grid(experiment: Experiment, records: Records, measure: str, eligible: str | None) -> Grid:
    if measure != MISSING and (kind := experiment.measure(measure).kind) not in COMPARABLE:
        problem = f"is compared as a number or a flag, and is {kind or 'of no declared kind'}"
        raise BadDesign(what=f"measure {measure!r}", problem=problem)
    cells = tuple(_cell(experiment, rows, measure, eligible) for rows in _by_cell(records))
    flags = measure == MISSING or kind == "flag"
    bounds = (0.0, 1.0) if flags else experiment.measure(measure).bounds
    labelled: dict[object, object] = once(records.memo, "labelled", dict)
    return Grid(cells=cells, bounds=bounds, flags=flags, labelled=labelled)


def _by_cell(records: Records) -> list[list[Record]]:
    """Return the rows of each condition, exemplar and item; sorted out once for all measures."""

    def sorted_out() -> list[list[Record]]:
        found: dict[tuple[object, ...], list[Record]] = {}
        for row in records.rows:
            trial = row.trial
            key = (*trial.condition.levels.values(), *trial.exemplars.values(), trial.item)
            found.setdefault(key, []).append(row)
        return list(found.values())

    return once(records.memo, "cells", sorted_out)


def _cell(experiment: Experiment, rows: list[Record], measure: str, eligible: str | None) -> Cell:
    trial = rows[0].trial
    labels = dict(trial.condition.levels)
    if experiment.items is not None and trial.item is not None:
        labels[experiment.items.name] = trial.item
    left_out = ineligible = 0
    if measure == MISSING:
        # Whether there is a valid reply; what a cap kept from being carried out is not known.
        values = [row.missing is not None for row in rows if row.missing != CAP]
        lost = [CAP] * (len(rows) - len(values))
    else:
        about = experiment.measure(measure)
        valid = [row.values for row in rows if row.missing is None]
        there = [row for row in valid if eligible is None or row[eligible]]
        ineligible = len(valid) - len(there)
        values = cast("list[bool]", [row[measure] for row in there if about.has_value(row)])
        left_out = len(there) - len(values)
        lost = [row.missing for row in rows if row.missing is not None]
        if about.missing_as is not None and eligible is None:
            values += [about.missing_as] * sum(reason != CAP for reason in lost)
            lost = [reason for reason in lost if reason == CAP]
    return Cell(
        labels=labels,
        members=trial.exemplars,
        values=np.array(values, dtype=np.float64),
        reasons=Counter(lost),
        left_out=left_out,
        ineligible=ineligible,
    )


@dataclass(frozen=True, slots=True)
class Weighed:
    """Cells of a grid that a contrast weighs, and what it makes of each.

    ``places`` are theirs in the grid, ``coefficients`` the weights of their means: cells of a
    combination of levels count alike. A ``stratum`` is what a cell shares with those it is
    compared with: all levels but those compared.
    """

    places: tuple[int, ...]
    coefficients: tuple[float, ...]
    combinations: tuple[tuple[str, ...], ...]
    strata: tuple[Stratum, ...]


@dataclass(frozen=True, slots=True)
class Weights:
    """A contrast as a product: factor → level → weight; the weights of each factor sum to 0.

    One factor compares levels (``{"demand": {"high": 1, "low": -1}}``), two are an interaction:
    a difference of differences, and none is the mean of all. A level that is not named weighs 0.
    ``factors`` may name the items as well.
    """

    parts: Mapping[str, Mapping[str, float]]

    @property
    def key(self) -> tuple[object, ...]:
        """Tells it from other weights."""
        return tuple((factor, tuple(levels.items())) for factor, levels in self.parts.items())

    def of(self, cell: Cell) -> float:
        """Return the weight of a cell's combination of levels."""
        return math.prod(
            levels.get(cell.labels[factor], 0.0) for factor, levels in self.parts.items()
        )

    def combination(self, cell: Cell) -> tuple[str, ...]:
        """A cell's levels of the factors compared."""
        return tuple(cell.labels[factor] for factor in self.parts)

    def used(self, grid: Grid) -> Grid:
        """Return the grid without the cells that weigh nothing."""

        def found() -> Grid:
            cells = (grid.cells[place] for place in self.on(grid).places)
            return grid.of(cells, once(grid.labelled, ("used", self.key), dict))

        return once(grid.memo, self.key, found)

    def on(self, grid: Grid) -> Weighed:
        """Return the cells of a grid that it weighs."""

        def weighed() -> Weighed:
            every = map(self.of, grid.cells)
            weights = {place: weight for place, weight in enumerate(every) if weight}
            cells = [grid.cells[place] for place in weights]
            combinations = [*map(self.combination, cells)]
            sizes = Counter(combinations)
            return Weighed(
                places=tuple(weights),
                coefficients=tuple(
                    weight / sizes[levels]
                    for weight, levels in zip(weights.values(), combinations, strict=True)
                ),
                combinations=tuple(combinations),
                strata=tuple(map(self._stratum, cells)),
            )

        return once(grid.labelled, self.key, weighed)

    def _stratum(self, cell: Cell) -> Stratum:
        return tuple(
            (name, at)
            for given in (cell.labels, cell.members)
            for name, at in given.items()
            if name not in self.parts
        )

    def absent(self, used: Grid, units: Sequence[str]) -> list[str]:
        """Name what no trial is of, among all levels compared at all else that any of them has.

        A level that is absent would count as a mean of 0, and one that lacks an item would be
        compared with others that have it. What ``units`` names is no condition.
        """

        def named() -> list[str]:
            others = [n for n in used.cells[0].labels if n not in {*self.parts, *units}]
            there = {
                (self.combination(cell), tuple(cell.labels[name] for name in others))
                for cell in used.cells
            }
            weighed = ([at for at in part if part[at]] for part in self.parts.values())
            strata = dict.fromkeys(stratum for _, stratum in there)
            every = product(product(*weighed), strata)
            return sorted("/".join((*at, *rest)) for at, rest in every if (at, rest) not in there)

        return once(used.labelled, ("absent", self.key, tuple(units)), named)

    def sum_of(self, cells: Sequence[Cell]) -> float:
        """Return the weighted sum of the cells' means: cells of a combination count alike."""
        sizes = Counter(map(self.combination, cells))
        return math.fsum(
            self.of(cell) / sizes[self.combination(cell)] * cell.mean for cell in cells
        )
