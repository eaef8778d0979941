"""From a linear contrast's declaration and the records to its finding."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, ClassVar

from ..errors import IncompleteDesign, NoFinding, TooFewUnits
from ..experiments.canonical import digest
from ..experiments.experiment import Experiment
from ..experiments.measures import MISSING
from ..experiments.records import Records
from ..stats.results import Matters
from .declared import Hypothesis
from .estimate import (
    ALPHA,
    LEAST_VALID,
    UNEQUAL,
    Arm,
    Estimate,
    Heterogeneity,
    MissingReplies,
    Scale,
    UnitGroup,
)
from .published import Pooled, beside_none, bracketed, published_column
from .reach import items_of
from .units import REPLIES
from .weights import reach_of

if TYPE_CHECKING:
    from .estimation.cells import Cell, Grid, Weights
    from .estimation.largest import Scaled
    from .estimation.sample import Sample, Unit

DIGITS = 16
"""Hexadecimal digits of a digest that stand for a unit."""

_NAMED = 3
"""Strata that are named; of more only the number is said."""

_LONGEST = 80
"""Characters up to which an exemplar names its unit; of longer ones a digest does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a contrast: factor → its levels, and the words for it."""

    words: str
    levels: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class LinearHypothesis(Hypothesis):
    """A question about weighted means of a measure, as far as its analysis reads it."""

    measure: str

    scale: ClassVar[Scale] = "difference"
    quantity: ClassVar[str] = ""
    """What its estimate is, in print."""
    quantity_of_largest: ClassVar[str] = ""

    @property
    def largest(self) -> bool:
        """Return whether it is the largest of several contrasts, a size that has no sign."""
        return False

    @property
    def number(self) -> float:
        """The number it is compared with, 0 for a difference."""
        return 0.0

    @property
    def matters(self) -> Matters:
        """The side of the number on which it matters."""
        return "either"

    @property
    def outcome(self) -> str:
        """The measure it compares."""
        return self.measure

    @abstractmethod
    def sides_by_factor(self, experiment: Experiment) -> Mapping[str, Sequence[Side]]:
        """The sides of each factor it compares: high and low, or of the largest every level."""

    def sides(self, experiment: Experiment) -> tuple[Side, ...]:
        """The sides of the contrast: of an interaction every combination."""
        return tuple(
            Side(
                words=" × ".join(side.words for side in each),
                levels={name: at for side in each for name, at in side.levels.items()},
            )
            for each in product(*self.sides_by_factor(experiment).values())
        )

    def contrast_words(self, experiment: Experiment, at: str) -> str:  # noqa: ARG002
        """The comparison in print; of the largest of several that is ``at`` one of them."""
        sides = (bracketed(side.words) for side in self.sides(experiment))
        return (" / " if self.scale == "ratio" else " − ").join(sides)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A linear contrast, or the largest of several, with its levels in an experiment."""

    declared: LinearHypothesis
    experiment: Experiment
    at: Mapping[str, Sequence[str]]
    """The levels to which it is confined, by factor."""
    names: Sequence[str] | None
    """What the units of a population are named after; None of a fixed set."""
    weights: Weights
    sides: tuple[Side, ...]
    contrasts: Mapping[str, Scaled] | None = None
    """Those it is the largest of, by words, of a quantity that has no sides of its own."""

    @property
    def compared(self) -> tuple[str, ...]:
        """Names of the factors compared."""
        return tuple(self.weights.parts)


def analyse_linear(asked: Asked, records: Records) -> Estimate:
    """The estimate of a linear contrast, or of the largest of several.

    Raises NoFinding when there are too few replies, or a condition has none.
    """
    from .estimation.cells import collapsed, grid_of  # noqa: PLC0415  (numpy)
    from .estimation.largest import LARGEST_AT  # noqa: PLC0415

    declared, experiment, weights = asked.declared, asked.experiment, asked.weights
    grid = grid_of(experiment, records, declared.measure, asked.at, declared.eligible)
    grid, unmet = _with_eligible(weights, grid)
    every = weights.used(grid)
    pooled = Pooled(
        cells=grid.cells,
        sides={side.words: every.at(side.levels).cells for side in asked.sides},
    )
    published = published_column(declared.published, pooled)
    if asked.names is None:
        grid = collapsed(grid, [*asked.compared, *items_of(experiment)])
        grid = collapsed(grid, asked.compared)
    whole = weights.used(grid)
    grid, bare = _with_replies(weights, grid, experiment)
    used = weights.used(grid)
    cells = [used.at(side.levels).cells for side in asked.sides]
    with beside_none(published):
        _check_complete(asked, used, cells)
        finding = _estimated(asked, grid)
    notes = [*finding.notes]
    if left_out := sum(cell.left_out for cell in used.cells):
        unless = experiment.measure(declared.measure).unless
        notes.append(f"{left_out} replies are left out: {unless}")
    if bare:
        items_words = f"{len(bare)} of the items are left out, as a condition has no reply to them"
        notes.append(f"{items_words}: {', '.join(bare)}")
    if declared.eligible is not None:
        notes += _eligible(declared, used, unmet)
    finding = replace(
        finding,
        quantity=declared.quantity_of_largest if declared.largest else declared.quantity,
        contrast=declared.contrast_words(experiment, str(finding.extras.get(LARGEST_AT, ""))),
        measure=declared.measure,
        unit="" if grid.flags else experiment.measure(declared.measure).unit,
        factor=" × ".join(asked.compared),
        arms=_arms(asked, cells, whole, finding),
        target=declared.target,
        scope=declared.scope,
        replies=sum(cell.values.size for cell in used.cells),
        over=_over(every, asked.compared),
        published=published,
        notes=tuple(notes),
    )
    return replace(
        finding,
        lost=_lost(asked, records, whole, finding),
        items=None if records.lean else _heterogeneity(asked, used, finding),
    )


def _with_replies(
    weights: Weights, grid: Grid, experiment: Experiment
) -> tuple[Grid, tuple[str, ...]]:
    """Return the grid without the items that lack a reply in a cell, and their names.

    An item that one condition has no value of is no like to compare. Where more than a fifth of
    the items are such, all stay, and the design is incomplete.
    """
    items = "" if experiment.items is None else experiment.items.name
    cells = weights.used(grid).cells
    full = all(cell.values.size for cell in cells)
    if full or items in weights.parts or items not in cells[0].labels:
        return grid, ()
    every = tuple(dict.fromkeys(cell.labels[items] for cell in cells))
    bare = {cell.labels[items] for cell in cells if not cell.values.size}
    kept = tuple(item for item in every if item not in bare)
    if len(kept) < LEAST_VALID * len(every):
        return grid, ()
    return grid.at({items: kept}), tuple(item for item in every if item in bare)


def _with_eligible(weights: Weights, grid: Grid) -> tuple[Grid, tuple[str, ...]]:
    """Return the grid without the strata in which a level has no eligible trial, and their names.

    Who is eligible is decided before the levels part, so that nothing else is compared for it.
    """
    cells = [*zip(weights.used(grid).cells, weights.on(grid).strata, strict=True)]
    bare = {
        stratum: "/".join(level for _, level in stratum)
        for cell, stratum in cells
        if cell.ineligible and not cell.values.size
    }
    if not bare:
        return grid, ()
    return grid.of(cell for cell, stratum in cells if stratum not in bare), (*bare.values(),)


def _eligible(declared: Hypothesis, used: Grid, unmet: Sequence[str]) -> Iterator[str]:
    """Yield how many valid trials the question applies to, and where to none."""
    counted = sum(cell.values.size for cell in used.cells)
    of = counted + sum(cell.ineligible for cell in used.cells)
    yield f"asked of {counted:,} of {of:,} valid trials: those with {declared.eligible}"
    if unmet:
        more = f" and {len(unmet) - _NAMED} more" if len(unmet) > _NAMED else ""
        yield f"left out, as no trial has it at some level: {', '.join(unmet[:_NAMED])}{more}"


def _estimated(asked: Asked, grid: Grid) -> Estimate:
    """Return the tested estimate with the units of a single contrast."""
    from .estimation.estimator import estimate  # noqa: PLC0415  (numpy)
    from .estimation.largest import largest_of  # noqa: PLC0415
    from .estimation.sample import sample_of  # noqa: PLC0415

    declared, names = asked.declared, asked.names
    margin, null = declared.margin, declared.null_of(asked.experiment)
    ratio = declared.scale == "ratio"
    shrink = shrinkage(asked.experiment, declared.measure, ratio=ratio)
    if asked.contrasts is not None:
        return largest_of(asked.contrasts, grid, names, margin=margin, null=null, shrink=shrink)
    sample = sample_of(grid, asked.weights, names).less(declared.number)
    finding = estimate(
        sample, margin=margin, null=null, shrink=shrink, matters=declared.matters, ratio=ratio
    )
    return replace(finding, by_unit=_named(asked.experiment, sample))


def shrinkage(experiment: Experiment, measure: str, *, ratio: bool = False) -> float:
    """Share of a difference that the error of reading ``measure`` leaves; 1 without.

    It leaves nothing for sure of a ``ratio``: of rare events most may be read wrongly.
    """
    error = None if measure == MISSING else experiment.measure(measure).error
    if error is None:
        return 1.0
    return 0.0 if ratio and error.lowest < 1 else error.lowest


def _lost(asked: Asked, records: Records, used: Grid, finding: Estimate) -> MissingReplies | None:
    """Return what the contrast lacks, and what it would take to undo a CLEAR; None of nothing."""
    if asked.declared.measure == MISSING or not any(cell.missing for cell in used.cells):
        return None
    from .estimation.cells import collapsed, grid_of  # noqa: PLC0415  (numpy)
    from .estimation.estimator import estimate  # noqa: PLC0415
    from .estimation.sample import sample_of  # noqa: PLC0415

    sides = [used.at(side.levels).cells for side in asked.sides]
    by_side = tuple(
        math.fsum(cell.missing / max(cell.trials, 1) for cell in cells) / len(cells)
        for cells in sides
    )
    p_beyond = 1.0  # p is above .5 where the shares differ by less
    if max(by_side) - min(by_side) > UNEQUAL:
        contrasts = asked.contrasts or {"": (asked.weights, 1.0)}
        grid = grid_of(asked.experiment, records, MISSING, asked.at)
        grid = collapsed(grid.of(cell for cell in grid.cells if cell.values.size), asked.compared)
        with suppress(NoFinding):
            each = [
                estimate(
                    sample_of(grid, weights, None),
                    margin=UNEQUAL * reach_of(weights.parts),
                    null="margin",
                )
                for weights, _ in contrasts.values()
            ]
            p_beyond = min(1.0, len(each) * min(one.p_alarm for one in each) / 2)
    return MissingReplies(shares=by_side, p_beyond=p_beyond, tips=_tips(finding, used, by_side))


def _tips(finding: Estimate, used: Grid, shares: Sequence[float]) -> float | None:
    """By how many SDs one side's missing replies must differ for a CLEAR not to hold."""
    interval, margin = finding.clearing, finding.margin
    if interval is None or margin is None or not max(shares):
        return None
    squares = math.fsum(cell.squares for cell in used.cells)
    sd = math.sqrt(squares / sum(cell.values.size for cell in used.cells))
    if not sd:
        return None
    if finding.scale == "ratio":
        room = math.log(margin) - max(abs(math.log(interval.low)), math.log(interval.high))
        sd /= max(math.fsum(arm.mean for arm in finding.arms) / len(finding.arms), 1e-9)
    else:
        ends = {"either": max(-interval.low, interval.high)}
        ends |= {"below": -interval.low, "above": interval.high}
        room = margin * finding.shrink - ends[finding.matters]
    return room / (max(shares) * sd) if room >= 0 else None


def _heterogeneity(asked: Asked, used: Grid, finding: Estimate) -> Heterogeneity | None:
    """Spread of the items of a fixed set; None without several, or of a size."""
    experiment, declared = asked.experiment, asked.declared
    items = "" if experiment.items is None else experiment.items.name
    fixed = asked.names is None and asked.contrasts is None
    apart = items in used.cells[0].labels and items not in asked.compared
    if not (fixed and apart and finding.scale == "difference"):
        return None
    from .estimation.estimator import estimate  # noqa: PLC0415  (numpy)
    from .estimation.sample import sample_of  # noqa: PLC0415

    names = dict.fromkeys(cell.labels[items] for cell in used.cells)
    each = []
    for name in names:
        part = used.at({items: (name,)})
        if all(cell.values.size for cell in part.cells) and not asked.weights.absent(part, ()):
            sample = sample_of(part, asked.weights, None).less(declared.number)
            margin, matters = finding.margin, declared.matters
            with suppress(TooFewUnits):  # an item with a single reply a side
                each.append(estimate(sample, margin=margin, null="margin", matters=matters))
    if len(each) < 2:  # noqa: PLR2004  (one item differs from none)
        return None
    effects = [one.estimate for one in each]
    mean = math.fsum(effects) / len(effects)
    seen = math.fsum((effect - mean) ** 2 for effect in effects) / (len(effects) - 1)
    noise = math.fsum((one.se or 0.0) ** 2 for one in each) / len(each)
    tested = each if finding.margin is not None else []
    beyond = [one.estimate for one in tested if one.p_alarm * len(each) <= ALPHA]
    return Heterogeneity(
        items=len(each),
        sd=math.sqrt(max(seen - noise, 0.0)),
        beyond=len(beyond),
        opposite=bool(beyond) and min(beyond) < 0 < max(beyond),
    )


def _over(used: Grid, compared: Sequence[str]) -> str:
    """Name what a contrast is an average over, with the number of each: ``cv (3)``."""
    labels, members = used.cells[0].labels, used.cells[0].members
    counts = {
        name: len({cell.labels[name] for cell in used.cells})
        for name in labels
        if name not in compared
    }
    for name in members:
        shown = {(cell.labels[name], cell.members[name]) for cell in used.cells}
        counts[f"exemplars of {name}"] = max(Counter(level for level, _ in shown).values())
    return " × ".join(f"{name} ({count})" for name, count in counts.items() if count > 1)


def _arms(
    asked: Asked, by_side: Sequence[Sequence[Cell]], whole: Grid, finding: Estimate
) -> tuple[Arm, ...]:
    """The sides with their means (every cell counts the same) and what is missing of the whole."""
    arms = []
    for side, cells in zip(asked.sides, by_side, strict=True):
        valid = [cell.mean for cell in cells if cell.values.size]
        replies = sum(cell.values.size for cell in cells)
        units = replies if finding.unit_name == REPLIES else finding.units
        if finding.unit_name.kind == "groups":  # others meet both sides
            (factor,) = finding.unit_name.names
            units = len({(cell.labels[factor], cell.members[factor]) for cell in cells})
        missing: Counter[str] = Counter()
        for cell in whole.at(side.levels).cells:
            missing.update(cell.reasons)
        arms.append(
            Arm(
                level=side.words,
                value=_shown(asked.experiment, side),
                units=units,
                replies=replies,
                missing=missing,
                ineligible=sum(cell.ineligible for cell in cells),
                mean=math.fsum(valid) / len(valid),
            )
        )
    return tuple(arms)


def _named(experiment: Experiment, sample: Sample) -> tuple[UnitGroup, ...]:
    """Return each unit's contribution, by a name that is the same for every model."""
    return tuple(
        UnitGroup(
            group=group,
            weight=weight,
            values={
                _unit_name(experiment, unit): value
                for unit, value in zip(units, values.tolist(), strict=True)
            },
        )
        for group, weight, units, values in zip(
            sample.labels, sample.weights, sample.units, sample.values, strict=False
        )
    )


def _unit_name(experiment: Experiment, unit: Unit) -> str:
    """``name=level`` or ``name=level/exemplar`` of each name.

    Exemplars and items are digests where no text is kept; long exemplars are, too.
    """
    raw = experiment.retention == "raw"
    items, parts = items_of(experiment), []
    for name, level, member in unit:
        label = level if raw or name not in items else digest(level)[:DIGITS]
        shown = member if raw and len(member) <= _LONGEST else digest(member)[:DIGITS]
        parts.append(f"{name}={label}/{shown}" if member else f"{name}={label}")
    return " × ".join(parts)


def _check_complete(asked: Asked, used: Grid, by_side: Sequence[Sequence[Cell]]) -> None:
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
    whole, units = asked.names is None, asked.names or ()
    if absent := asked.weights.absent(used, units):
        raise IncompleteDesign(cells=absent)
    if all(cell.values.size for cell in used.cells):
        return
    replies: Counter[str] = Counter()
    items = items_of(asked.experiment)
    for cell in used.cells:
        labels = [at for name, at in cell.labels.items() if name not in items or name not in units]
        replies[cell.name if whole else "/".join(labels)] += cell.values.size
    if bare := [name for name, count in replies.items() if not count]:
        raise IncompleteDesign(cells=bare)


def with_cells(contrast: Hypothesis, experiment: Experiment, records: Records) -> Estimate:
    """The estimate of a contrast with those of the cells it is declared to hold in.

    Raises NoFinding when there is too little to compute it; a cell for which there is too little
    is one that is not clear.
    """
    finding = contrast.analyse(experiment, records)
    if not contrast.within:
        return finding
    cells, bare, records = {}, [], records.for_verdicts
    for name, _, confined in contrast.confined(experiment):
        try:
            cells[name] = confined.analyse(experiment, records)
        except NoFinding:
            bare.append(name)
    return replace(finding, cells=cells, bare_cells=tuple(bare))


def _shown(experiment: Experiment, side: Side) -> str:
    """The value of a single level for print; its label where a prompt's words are not kept."""
    names = [(name, level) for name, levels in side.levels.items() for level in levels]
    if len(names) != 1:
        return side.words
    name, level = names[0]
    factors = {factor.name: {**factor.levels, **factor.controls} for factor in experiment.factors}
    value = factors[name][level] if name in factors else level
    return str(value) if experiment.retention == "raw" or isinstance(value, int | float) else level
