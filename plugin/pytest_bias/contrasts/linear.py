"""From a linear contrast's declaration and the records to its finding."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import IncompleteDesign, TooFewUnits
from ..experiments.canonical import digest
from ..experiments.experiment import Experiment
from ..experiments.measures import MISSING
from ..experiments.records import Records
from .declared import Declared, levels_of
from .findings import Arm, Finding, Null, Scale, UnitGroup, WorstCase
from .published import Pooled, beside_none, bracketed, published_column
from .units import REPLIES

if TYPE_CHECKING:
    from .estimation.cells import Cell, Grid, Weights
    from .estimation.largest import Linear
    from .estimation.tested import Tested, Unit

DIGITS = 16
"""Hexadecimal digits of a digest that stand for a unit."""

_LONGEST = 80
"""Characters up to which an exemplar names its unit; of longer ones a digest does."""

_TAKEN_OVER = (
    *("estimate", "interval", "p_alarm", "p_clear", "method", "units", "fewest", "unit_name"),
    *("se", "df", "deterministic", "effect_size", "extras", "notes", "at_level"),
    "tolerance",
)

Engine = Callable[["Grid", "Weights"], "Tested"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a contrast: factor → its levels, and the words for it."""

    words: str
    levels: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A linear contrast as the analysis needs it."""

    declared: Declared
    measure: str
    quantity: str
    weights: Weights
    sides: tuple[Side, ...]
    scale: Scale = "difference"
    flags: bool | None = None
    """Whether its measure must be an event (or must not); None: it may be either."""
    contrasts: Callable[[Grid], Mapping[str, Linear]] | None = None
    """Those it is the largest of, by words, of a quantity that has no sides of its own."""

    @property
    def compared(self) -> tuple[str, ...]:
        """Names of the factors compared."""
        return tuple(self.weights.parts)


@dataclass(frozen=True, slots=True)
class Found:
    """A finding, and what it was made from."""

    finding: Finding
    tested: Tested
    grid: Grid


def analyse_linear(
    asked: Asked, experiment: Experiment, records: Records, engine: Engine | None = None
) -> Found:
    """The finding of a linear contrast, tested by ``engine`` (or else as all like it are).

    Of the largest of several ``engine`` tests that none of them differs from 0.

    Raises NoFinding when there are too few replies, or a condition has none.
    """
    from .estimation.cells import grid_of  # noqa: PLC0415  (numpy)
    from .estimation.tested import units_to_settle  # noqa: PLC0415

    declared, weights = asked.declared, asked.weights
    at = {name: levels_of(levels) for name, levels in declared.at.items()}
    grid = grid_of(experiment, records, asked.measure, at)
    used = weights.used(grid)
    cells = [used.at(side.levels).cells for side in asked.sides]
    pooled = Pooled(
        cells=grid.cells,
        flags=grid.flags,
        sides={side.words: found for side, found in zip(asked.sides, cells, strict=True)},
    )
    published = published_column(declared.published, pooled)
    with beside_none(published):
        _check_complete(asked, experiment, used, cells)
    if asked.flags is False and grid.flags:
        raise declared.refused(problem="its measure is an event: compare its rates")
    if asked.flags and not grid.flags:
        raise declared.refused(problem="its measure must be True or False")
    rates = bool(asked.flags)
    if grid.flags and declared.target == "fixed" and asked.scale == "difference":
        declared.check_share(weights.reach)
    engine = engine or standard_engine(declared, experiment, asked.compared, rates=rates)
    if asked.scale == "difference":
        engine = corrected_engine(engine, declared, asked.measure, experiment, asked.compared)
    margin = declared.margin
    null = declared.null_of(experiment, asked.compared)
    with beside_none(published):
        tested, worst = _tested(asked, grid, engine, null=null, lean=records.lean)
    finding = Finding(
        quantity=asked.quantity,
        contrast=" − ".join(bracketed(side.words) for side in asked.sides),
        measure=asked.measure,
        unit="" if grid.flags else experiment.measure(asked.measure).unit,
        factor=" × ".join(asked.compared),
        arms=_arms(asked, experiment, cells, tested),
        margin=margin,
        target=declared.target,
        scope=declared.scope,
        replies=sum(cell.values.size for cell in used.cells),
        over=_over(used, asked.compared),
        scale=asked.scale,
        null=null,
        # A ratio's standard error is that of its logarithm, its margin is not.
        settle=None
        if asked.scale == "ratio" or asked.contrasts is not None or records.lean
        else units_to_settle(tested, grid, margin=margin, reach=weights.reach),
        equivalence=tested.tost,
        worst_case=worst,
        published=published,
        by_unit=_named(experiment, tested),
        **taken_over(tested),
    )
    return Found(finding, tested, grid)


def _tested(
    asked: Asked, grid: Grid, engine: Engine, *, null: Null, lean: bool
) -> tuple[Tested, WorstCase | None]:
    """Return what is tested, and what is missing at its worst."""
    from .estimation.largest import largest_of, worst_of  # noqa: PLC0415  (numpy)
    from .estimation.tested import worst_case  # noqa: PLC0415

    weights, declared, clear = asked.weights, asked.declared, asked.declared.to_clear

    def test(of: Grid) -> Tested:
        return engine(of, weights)

    if asked.contrasts is not None:
        contrasts, alarm = partial(asked.contrasts, grid), partial(test, grid)
        tested = largest_of(grid, contrasts, alarm, margin=declared.margin, null=null)
        return tested, worst_of(grid, weights, contrasts(), margin=clear, tips=not lean)
    tested = test(grid)
    worst = worst_case(
        grid,
        weights,
        test,
        margin=clear,
        no_effect=1.0 if asked.scale == "ratio" else 0.0,
        always=not lean,
        tips=not lean,
    )
    return tested, worst


def _over(used: Grid, compared: Sequence[str]) -> str:
    """Name what a contrast is an average over, with the number of each: ``cv (3)``."""
    from .estimation.cells import once  # noqa: PLC0415  (numpy)

    def counted() -> str:
        levels: dict[str, set[str]] = {}
        exemplars: dict[str, dict[str, set[str]]] = {}
        for cell in used.cells:
            for name, level in cell.labels.items():
                levels.setdefault(name, set()).add(level)
            for name, member in cell.members.items():
                exemplars.setdefault(name, {}).setdefault(cell.labels[name], set()).add(member)
        counts = {name: len(found) for name, found in levels.items() if name not in compared}
        counts |= {
            f"exemplars of {name}": max(map(len, by_level.values()))
            for name, by_level in exemplars.items()
        }
        return " × ".join(f"{name} ({count})" for name, count in counts.items() if count > 1)

    return once(used.shape, ("over", tuple(compared)), counted)


def corrected_engine(
    engine: Engine,
    declared: Declared,
    measure: str,
    experiment: Experiment,
    compared: Sequence[str],
) -> Engine:
    """Return the test of a difference, of rates corrected for how their event is read."""
    from .estimation.misclassified import corrected  # noqa: PLC0415

    error = None if measure == MISSING else experiment.measure(measure).error
    if error is None:
        return engine
    margin, null = declared.margin, declared.null_of(experiment, compared)

    def tested(grid: Grid, weights: Weights) -> Tested:
        if not grid.flags:
            return engine(grid, weights)
        # the interval's width is the standard error that is corrected
        whole = replace(grid, imagined=False) if grid.imagined else grid
        return corrected(engine(whole, weights), error, margin=margin, null=null)

    return tested


def taken_over(tested: Tested) -> dict[str, Any]:
    """Return the fields of a finding that are those of what was tested, by name."""
    return {name: getattr(tested, name) for name in _TAKEN_OVER}


def standard_engine(
    declared: Declared, experiment: Experiment, compared: Sequence[str], *, rates: bool
) -> Engine:
    """Return the test of a contrast: for this set, as rates or means, or for a population."""
    from .estimation import fixed, units  # noqa: PLC0415

    margin, null = declared.margin, declared.null_of(experiment, compared)
    if declared.target == "population":
        names = declared.units_of(experiment, compared)
        if nested := [name for name in names if name in compared]:
            return lambda grid, weights: units.nested_contrast(
                grid, weights, nested[0], margin=margin
            )
        return lambda grid, weights: units.crossed_contrast(grid, weights, names, margin=margin)
    if rates:
        return lambda grid, weights: fixed.rate_difference(grid, weights, margin=margin, null=null)
    return lambda grid, weights: fixed.fixed_contrast(grid, weights, margin=margin, null=null)


def _arms(
    asked: Asked, experiment: Experiment, by_side: Sequence[Sequence[Cell]], tested: Tested
) -> tuple[Arm, ...]:
    """The sides with their means (every cell counts the same) and what is missing in them."""
    arms = []
    for place, (side, cells) in enumerate(zip(asked.sides, by_side, strict=True)):
        valid = [cell.mean for cell in cells if cell.values.size]
        replies = sum(cell.values.size for cell in cells)
        missing: Counter[str] = Counter()
        for cell in cells:
            if cell.reasons:
                missing.update(cell.reasons)
        arms.append(
            Arm(
                level=side.words,
                value=_shown(experiment, side),
                units=replies if tested.unit_name == REPLIES else _unit_count(cells, tested),
                missing=missing,
                mean=tested.sides[place] if tested.sides else math.fsum(valid) / len(valid),
            )
        )
    return tuple(arms)


def _unit_count(cells: Sequence[Cell], tested: Tested) -> int:
    """Units of a side: its exemplars where these are the units, else all, as they meet it all."""
    if tested.unit_name.kind != "groups":
        return tested.units
    (factor,) = tested.unit_name.names
    return len({(cell.labels[factor], cell.members[factor]) for cell in cells})


def _named(experiment: Experiment, tested: Tested) -> tuple[UnitGroup, ...]:
    """Return each unit's contribution, by a name that is the same for every model."""
    return tuple(
        UnitGroup(
            group=part.group,
            weight=part.weight,
            values={_unit_name(experiment, unit): value for unit, value in part.values.items()},
            gaps=part.gaps,
        )
        for part in tested.by_unit
    )


def _unit_name(experiment: Experiment, unit: Unit) -> str:
    """``name=level`` or ``name=level/exemplar`` of each name.

    Exemplars and items are digests where no text is kept; long exemplars are, too.
    """
    raw = experiment.retention == "raw"
    items = experiment.items.name if experiment.items is not None else ""
    parts = []
    for name, level, member in unit:
        label = level if raw or name != items else digest(level)[:DIGITS]
        shown = member if raw and len(member) <= _LONGEST else digest(member)[:DIGITS]
        parts.append(f"{name}={label}/{shown}" if member else f"{name}={label}")
    return " × ".join(parts)


def _check_complete(
    asked: Asked, experiment: Experiment, used: Grid, by_side: Sequence[Sequence[Cell]]
) -> None:
    """Refuse an empty side, and to pool over conditions (or cells of a set) without a reply.

    Items that are units of a population are no conditions: one that misses a cell is left out.
    """
    empty = [
        [f"{name}={' + '.join(levels)}" for name, levels in side.levels.items()]
        for side, cells in zip(asked.sides, by_side, strict=True)
        if not any(cell.values.size for cell in cells)
    ]
    if any(len(parts) > 1 for parts in empty):  # sides of an interaction are cells of the design
        raise IncompleteDesign(cells=map(" × ".join, empty))
    if empty:
        raise TooFewUnits(group=", ".join(empty[0]), found=0, needed=1)
    whole = asked.declared.target == "fixed"
    units = () if whole else asked.declared.units_of(experiment, asked.compared)
    compared = asked.weights.parts.items()
    controls = any({*part} & {*experiment.control_levels(name)} for name, part in compared)
    # Controls are asked with the first of all else alone.
    if not controls and (absent := asked.weights.absent(used, units)):
        raise IncompleteDesign(cells=absent)
    if all(cell.values.size for cell in used.cells):
        return
    replies: Counter[str] = Counter()
    items = experiment.items.name if experiment.items is not None else ""
    for cell in used.cells:
        labels = [at for name, at in cell.labels.items() if name != items or name not in units]
        replies[cell.name if whole else "/".join(labels)] += cell.values.size
    if bare := [name for name, count in replies.items() if not count]:
        raise IncompleteDesign(cells=bare)


def _shown(experiment: Experiment, side: Side) -> str:
    """The value of a single level for print; its label where a prompt's words are not kept."""
    names = [(name, level) for name, levels in side.levels.items() for level in levels]
    if len(names) != 1:
        return side.words
    name, level = names[0]
    factors = {factor.name: {**factor.levels, **factor.controls} for factor in experiment.factors}
    value = factors[name][level] if name in factors else level
    return str(value) if experiment.retention == "raw" or isinstance(value, int | float) else level
