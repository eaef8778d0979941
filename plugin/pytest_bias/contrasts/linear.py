"""Linear contrasts: weighted sums of means of levels, all kinds but selections from pools.

What a contrast declares and what a design gives it, then its analysis: records to an estimate.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, ClassVar

from ..errors import NoFinding, TooFewUnits
from ..experiments.canonical import digest
from ..experiments.design import Design
from ..experiments.experiment import Experiment
from ..experiments.measures import MISSING, MeasureKind
from ..experiments.records import Records
from ..stats.results import Matters, units_needed
from .declared import Hypothesis, levels_of
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
from .published import Pooled, bracketed, keep_published, published_column
from .reach import (
    FEWEST_TO_CLEAR,
    Parts,
    cells_of,
    departing,
    has_exemplars,
    items_of,
    names_of,
    reach_of,
    stimuli,
    weights_between,
    why_no_verdict,
)
from .units import REPLIES, Group, Layout, Units

if TYPE_CHECKING:
    from .estimation.cells import Cell, Grid, Weights
    from .estimation.largest import Scaled
    from .estimation.sample import Sample, Unit

DIGITS = 16
"""Hexadecimal digits of a digest that stand for a unit."""

_NAMED = 3
"""Strata that are named; of more only the number is said."""

_LONGEST = 80
_LISTED = 3  # cells without a valid reply that are named
"""Characters up to which an exemplar names its unit; of longer ones a digest does."""


_INSTEAD: Mapping[MeasureKind | None, str] = {
    "number": "is a number: compare its means (MeanDifference), not its rates",
    "flag": "is a flag: compare its rates (RateDifference), not its means",
    "category": "is a category: compare the rates of a flag made of it, such as "
    "Measure(…, lambda result: result.… == …, kind='flag')",
    None: "does not say what it is: declare Measure(…, kind='number') or kind='flag'",
}
"""What to do with a measure of a kind that a contrast does not compare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a contrast: factor → its levels, and the words for it."""

    words: str
    levels: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class LinearContrast(Hypothesis):
    """A difference, or a ratio, of weighted means of a measure; or the largest of several."""

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
        """Return the number it is compared with, 0 for a difference."""
        return 0.0

    @property
    def matters(self) -> Matters:
        """Return the side of the number on which it matters."""
        return "either"

    @property
    def outcome(self) -> str:
        """Return the measure it compares."""
        return self.measure

    @abstractmethod
    def sides_by_factor(self, experiment: Experiment) -> Mapping[str, Sequence[Side]]:
        """The sides of each factor it compares: high and low, or of the largest every level."""

    def sides(self, experiment: Experiment) -> tuple[Side, ...]:
        """Return the sides of the contrast: of an interaction every combination."""
        return tuple(
            Side(
                words=" × ".join(side.words for side in each),
                levels={name: at for side in each for name, at in side.levels.items()},
            )
            for each in product(*self.sides_by_factor(experiment).values())
        )

    def contrast_words(self, experiment: Experiment, at: str) -> str:  # noqa: ARG002
        """Return the comparison in print; of the largest of several that is ``at`` one of them."""
        sides = (bracketed(side.words) for side in self.sides(experiment))
        return (" / " if self.scale == "ratio" else " − ").join(sides)

    compares: ClassVar[tuple[MeasureKind, ...]] = ("number", "flag")
    """Kinds of measures it is of."""

    def compared(self, experiment: Experiment) -> Mapping[str, Sequence[str]]:
        """Return the levels it compares, by factor or items."""
        return {
            factor: [level for side in sides for level in side.levels[factor]]
            for factor, sides in self.sides_by_factor(experiment).items()
        }

    def parts(self, experiment: Experiment) -> Parts:
        """The weights of the levels; of the largest of several contrasts those of the first."""
        if self.largest:
            levels = self.compared(experiment)
            return departing(levels, [among[0] for among in levels.values()])
        found: dict[str, Mapping[str, float]] = {}
        for factor, (high, low) in self.sides_by_factor(experiment).items():
            found |= weights_between(factor, high.levels[factor], low.levels[factor])
        return found

    def contrasts(self, experiment: Experiment) -> dict[str, Scaled]:
        """Those it is the largest of, by words."""
        from .estimation.largest import departures  # noqa: PLC0415  (numpy)

        return departures(self.compared(experiment))

    def is_event(self, experiment: Experiment) -> bool:
        """Return whether its measure is an event that happens or not."""
        return self.measure == MISSING or experiment.measure(self.measure).kind == "flag"

    def check(self, experiment: Experiment) -> None:
        """Raise BadDesign or UnknownName when ``experiment`` cannot answer this."""
        self._check_measure(experiment)
        self._check_own(experiment)
        for factor, sides in self.sides_by_factor(experiment).items():
            levels = [level for side in sides for level in side.levels[factor]]
            self.require(all(side.levels[factor] for side in sides), "a side has no level")
            self.require(len({*levels}) == len(levels), "compares a level with itself")
        undirected = not self.largest or self.direction is None
        self.require(undirected, "the largest of several contrasts has no direction")
        self.check_levels(experiment)
        self._check_margin(experiment)
        self.where(experiment)
        self._check_eligible(experiment)
        self._check_units(experiment)
        self.check_answered(experiment)

    def _check_own(self, experiment: Experiment) -> None:
        """Refuse what only this kind cannot test."""

    def _check_measure(self, experiment: Experiment) -> None:
        """Refuse a measure it does not compare, and a number without the bounds it needs."""
        about = None if self.measure == MISSING else experiment.measure(self.measure)
        kind = "flag" if about is None else about.kind
        self.require(kind in self.compares, f"measure {self.measure!r} {_INSTEAD[kind]}")
        if about is not None and kind == "number" and self.gates:
            hidden = "what replies that are all alike may hide depends on them"
            problem = f"measure {self.measure!r} declares no bounds; {hidden}"
            self.require(about.bounds is not None, problem)

    def _check_margin(self, experiment: Experiment) -> None:
        """Refuse a margin that no difference of rates reaches, and one of no ratio."""
        if self.margin is None:
            return
        if self.scale == "ratio":
            self.require(self.margin > 1, "margin is the larger limit of a ratio, above 1")
        elif self.is_event(experiment):
            reach = reach_of(self.parts(experiment))
            problem = f"its measure is an event: margin is a share, below {reach:.3g}"
            self.require(self.margin < reach, problem)

    def _check_eligible(self, experiment: Experiment) -> None:
        """Refuse an ``eligible`` flag that is not decided before the compared levels part."""
        if self.eligible is None:
            return
        unknown = "of a trial without a valid reply nobody knows whether it is eligible"
        self.require(self.measure != MISSING, unknown)
        is_flag = experiment.measure(self.eligible).kind == "flag"
        self.require(is_flag, f"eligible={self.eligible!r} is no flag")
        if compared := self.compared(experiment):
            from ..experiments.checks.eligibility import not_before  # noqa: PLC0415  (rehearsals)

            problem = not_before(experiment, self.eligible, compared)
            self.require(not problem, f"eligible={self.eligible!r} {problem}")

    def _check_units(self, experiment: Experiment) -> None:
        """Refuse units that the design does not have."""
        compared = self.compared(experiment)
        units = self.units_of(experiment)
        if units is None:
            self.require(self.unit is None, "unit= is of a population: target is 'fixed'")
            sampled = any(has_exemplars(experiment, name) for name in compared)
            self.require(
                not (self.gates and self.margin is None and sampled),
                "between fixed sets of exemplars some difference is certain: ask of a population "
                "(target='population'), or against a margin",
            )
            return
        for name in units:
            experiment.levels(name)
            apart = name not in compared or has_exemplars(experiment, name)
            self.require(apart, f"unit={name!r} is compared and has no exemplars")
        alone = len(units) == 1 or {*units}.isdisjoint(compared)
        self.require(alone, "exemplars of what is compared are units by themselves")

    def where(self, experiment: Experiment) -> dict[str, tuple[str, ...]]:
        """Return ``at``, and with a control level what it is met with alone: all first levels."""
        at = {name: levels_of(levels) for name, levels in self.at.items()}
        compared = self.compared(experiment)
        items = items_of(experiment)
        controls = [
            name
            for name, levels in compared.items()
            if name not in items and not {*experiment.control_levels(name)}.isdisjoint(levels)
        ]
        if not controls:
            return at
        first = {
            name: experiment.levels(name)[:1]
            for name in names_of(experiment)
            if name not in controls
        }
        for name, (only,) in first.items():
            if name in compared or only not in at.get(name, first[name]):
                problem = f"control levels of {controls[0]!r} are met with {name}={only} alone"
                raise self.refused(problem=problem)
        return at | first

    def units_of(self, experiment: Experiment) -> tuple[str, ...] | None:
        """Return the names whose combinations are the units of a population; None of a fixed set.

        Raises BadDesign when there is nothing to be a unit.
        """
        if self.target == "fixed":
            return None
        if self.unit is not None:
            return levels_of(self.unit)
        compared = self.compared(experiment)
        if sampled := [name for name in compared if has_exemplars(experiment, name)]:
            return (sampled[0],)
        if (items := items_of(experiment)) and items[0] not in compared:
            return items
        raise self.refused(
            problem="one stimulus is no sample of a population: target must be 'fixed', or the "
            "design needs items or exemplars"
        )

    def layout(self, experiment: Experiment, design: Design) -> Layout:
        """Return the observations ``design`` gives it; of the largest those of the first."""
        parts, event = self.parts(experiment), self.is_event(experiment)
        at = self.where(experiment)
        low, high = 0.0, 1.0
        if not event:
            low, high = experiment.measure(self.measure).bounds or (-math.inf, math.inf)
        reach = (high - low) * reach_of(parts)
        units = self.units_of(experiment)
        nested = [name for name in units or () if name in parts]
        if units is None:
            groups, unit_name = _replies(experiment, design, parts, at), REPLIES
        elif nested:
            groups = tuple(
                Group(weight=weight, cells=1, size=stimuli(experiment, design, nested[0], [level]))
                for level, weight in parts[nested[0]].items()
                if weight
            )
            unit_name = Units("groups", (nested[0],))
            low, high = (low, high) if len(parts) == 1 else (-reach / 2, reach / 2)
        else:
            size = math.prod(stimuli(experiment, design, name, at.get(name, ())) for name in units)
            groups = (Group(weight=1.0, cells=1, size=size),)
            exemplars = has_exemplars(experiment, units[0])
            unit_name = Units.within(units, exemplars=exemplars)
            low, high = (-reach, reach) if parts else (low, high)
        needed = FEWEST_TO_CLEAR
        if self.margin is not None and self.scale != "ratio" and math.isfinite(reach):
            left = shrinkage(experiment, self.measure)
            needed = max(needed, units_needed(self.margin * left, reach))
        found = Layout(
            groups=groups,
            unit_name=unit_name,
            low=low,
            high=high,
            event=event and units is None,
            ratio=self.scale == "ratio",
            largest=self.largest,
            number=self.number,
            matters=self.matters,
            needed=needed,
        )
        return replace(found, problem=why_no_verdict(found, design))

    def weights(self, experiment: Experiment) -> Weights:
        """Return the weights of levels; of the largest of several contrasts each level it uses."""
        from .estimation.cells import Weights  # noqa: PLC0415  (numpy)

        parts = self.parts(experiment)
        if self.largest:
            parts = {name: dict.fromkeys(levels, 1.0) for name, levels in parts.items()}
        return Weights(parts)

    def analyse(self, experiment: Experiment, records: Records) -> Estimate:
        """Estimate and test it; NoFinding of too few replies, or of a condition without any."""
        from .estimation.cells import collapsed, grid_of  # noqa: PLC0415  (numpy)
        from .estimation.largest import LARGEST_AT  # noqa: PLC0415

        weights, names = self.weights(experiment), self.units_of(experiment)
        compared, sides = tuple(weights.parts), self.sides(experiment)
        grid = grid_of(experiment, records, self.measure, self.where(experiment), self.eligible)
        grid, ineligible = _without_ineligible(weights, grid)
        every = weights.used(grid)
        pooled = Pooled(
            cells=grid.cells, sides={side.words: every.at(side.levels).cells for side in sides}
        )
        published = published_column(self.published, pooled)
        if names is None:
            grid = collapsed(grid, [*compared, *items_of(experiment)])
            grid = collapsed(grid, compared)
        whole = weights.used(grid)
        grid, bare = _without_bare_items(weights, grid, experiment)
        used = weights.used(grid)
        cells = [(side, used.at(side.levels).cells) for side in sides]
        with keep_published(published):
            _check_complete(experiment, weights, names, used, cells)
            finding = self._tested(experiment, weights, names, grid)
        notes = [*finding.notes]
        if left_out := sum(cell.left_out for cell in used.cells):
            unless = experiment.measure(self.measure).unless
            notes.append(f"{left_out} replies are left out: {unless}")
        if bare:
            left = f"{len(bare)} of the items are left out, as a condition has no reply to them"
            notes.append(f"{left}: {', '.join(bare)}")
        if self.eligible is not None:
            notes += _eligible_notes(self.eligible, used, ineligible)
        finding = replace(
            finding,
            quantity=self.quantity_of_largest if self.largest else self.quantity,
            contrast=self.contrast_words(experiment, str(finding.extras.get(LARGEST_AT, ""))),
            measure=self.measure,
            unit="" if grid.flags else experiment.measure(self.measure).unit,
            factor=" × ".join(compared),
            arms=_arms(experiment, cells, whole, finding),
            target=self.target,
            scope=self.scope,
            replies=sum(cell.values.size for cell in used.cells),
            over=_over(every, compared),
            published=published,
            notes=tuple(notes),
        )
        single = names is None and not self.largest
        return replace(
            finding,
            lost=self._lost(experiment, records, whole, finding),
            items=self._heterogeneity(experiment, used, finding)
            if single and not records.lean
            else None,
        )

    def _tested(
        self, experiment: Experiment, weights: Weights, names: Sequence[str] | None, grid: Grid
    ) -> Estimate:
        """Return the tested estimate with the units of a single contrast."""
        from .estimation.estimator import estimate  # noqa: PLC0415  (numpy)
        from .estimation.largest import largest_of  # noqa: PLC0415
        from .estimation.sample import sample_of  # noqa: PLC0415

        margin, null, ratio = self.margin, self.null_of(experiment), self.scale == "ratio"
        shrink = shrinkage(experiment, self.measure, ratio=ratio)
        if self.largest:
            contrasts = self.contrasts(experiment)
            return largest_of(contrasts, grid, names, margin=margin, null=null, shrink=shrink)
        sample = sample_of(grid, weights, names).less(self.number)
        finding = estimate(
            sample, margin=margin, null=null, shrink=shrink, matters=self.matters, ratio=ratio
        )
        return replace(finding, by_unit=_unit_groups(experiment, sample))

    def _lost(
        self, experiment: Experiment, records: Records, used: Grid, finding: Estimate
    ) -> MissingReplies | None:
        """Return the missing replies, and what would undo a CLEAR; None where all are valid."""
        if self.measure == MISSING or not any(cell.missing for cell in used.cells):
            return None
        from .estimation.cells import collapsed, grid_of  # noqa: PLC0415  (numpy)
        from .estimation.estimator import estimate  # noqa: PLC0415
        from .estimation.sample import sample_of  # noqa: PLC0415

        sides = [used.at(side.levels).cells for side in self.sides(experiment)]
        by_side = tuple(
            math.fsum(cell.missing / max(cell.trials, 1) for cell in cells) / len(cells)
            for cells in sides
        )
        p_beyond = 1.0  # p is above .5 where the shares differ by less
        if max(by_side) - min(by_side) > UNEQUAL:
            weights = self.weights(experiment)
            contrasts = self.contrasts(experiment) if self.largest else {"": (weights, 1.0)}
            grid = grid_of(experiment, records, MISSING, self.where(experiment))
            grid = grid.of(cell for cell in grid.cells if cell.values.size)
            grid = collapsed(grid, tuple(weights.parts))
            with suppress(NoFinding):
                each = [
                    estimate(
                        sample_of(grid, each_of, None),
                        margin=UNEQUAL * reach_of(each_of.parts),
                        null="margin",
                    )
                    for each_of, _ in contrasts.values()
                ]
                p_beyond = min(1.0, len(each) * min(one.p_alarm for one in each) / 2)
        return MissingReplies(
            shares=by_side, p_beyond=p_beyond, tips=_tips(finding, used, by_side)
        )

    def _heterogeneity(
        self, experiment: Experiment, used: Grid, finding: Estimate
    ) -> Heterogeneity | None:
        """Return the spread of the effects of a fixed set's items; None without several."""
        weights, items = self.weights(experiment), "".join(items_of(experiment))
        apart = items in used.cells[0].labels and items not in weights.parts
        if not apart or finding.scale != "difference":
            return None
        from .estimation.estimator import estimate  # noqa: PLC0415  (numpy)
        from .estimation.sample import sample_of  # noqa: PLC0415

        names = dict.fromkeys(cell.labels[items] for cell in used.cells)
        each = []
        for name in names:
            part = used.at({items: (name,)})
            if all(cell.values.size for cell in part.cells) and not weights.absent(part, ()):
                sample = sample_of(part, weights, None).less(self.number)
                margin, matters = finding.margin, self.matters
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


def _replies(
    experiment: Experiment, design: Design, parts: Parts, at: Mapping[str, Sequence[str]]
) -> tuple[Group, ...]:
    groups = []
    for levels in product(*parts.values()):
        own = dict(zip(parts, levels, strict=True))
        weight = math.prod(parts[name][level] for name, level in own.items())
        if weight:
            here = {**at, **{name: (level,) for name, level in own.items()}}
            cells, size = cells_of(experiment, design, here), design.replicates
            if size == 1:  # cells of a single trial are joined
                cells, size = 1, cells
            groups.append(Group(weight=weight, cells=cells, size=size))
    return tuple(groups)


def _without_bare_items(
    weights: Weights, grid: Grid, experiment: Experiment
) -> tuple[Grid, tuple[str, ...]]:
    """Return the grid without the items that lack a reply in a cell, and their names.

    An item that one condition has no value of is no like to compare. Where more than a fifth of
    the items are such, all stay, and the design is incomplete.
    """
    items = "".join(items_of(experiment))
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


def _without_ineligible(weights: Weights, grid: Grid) -> tuple[Grid, tuple[str, ...]]:
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


def _eligible_notes(flag: str, used: Grid, left_out: Sequence[str]) -> Iterator[str]:
    """Yield how many valid trials the question applies to, and where to none."""
    counted = sum(cell.values.size for cell in used.cells)
    of = counted + sum(cell.ineligible for cell in used.cells)
    yield f"asked of {counted:,} of {of:,} valid trials: those with {flag}"
    if left_out:
        more = f" and {len(left_out) - _NAMED} more" if len(left_out) > _NAMED else ""
        yield f"left out, as no trial has it at some level: {', '.join(left_out[:_NAMED])}{more}"


def shrinkage(experiment: Experiment, measure: str, *, ratio: bool = False) -> float:
    """Share of a difference that the error of reading ``measure`` leaves; 1 without.

    It leaves nothing for sure of a ``ratio``: of rare events most may be read wrongly.
    """
    error = None if measure == MISSING else experiment.measure(measure).error
    if error is None:
        return 1.0
    return 0.0 if ratio and error.lowest < 1 else error.lowest


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
    experiment: Experiment,
    by_side: Sequence[tuple[Side, Sequence[Cell]]],
    whole: Grid,
    finding: Estimate,
) -> tuple[Arm, ...]:
    """Return the sides with their means (cells weigh alike) and what ``whole`` has missing."""
    arms = []
    for side, cells in by_side:
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
                value=_printed_level(experiment, side),
                units=units,
                replies=replies,
                missing=missing,
                ineligible=sum(cell.ineligible for cell in cells),
                mean=math.fsum(valid) / len(valid),
            )
        )
    return tuple(arms)


def _printed_level(experiment: Experiment, side: Side) -> str:
    """Return the value of a single level for print; its label where prompts are not kept."""
    names = [(name, level) for name, levels in side.levels.items() for level in levels]
    if len(names) != 1:
        return side.words
    name, level = names[0]
    factors = {factor.name: {**factor.levels, **factor.controls} for factor in experiment.factors}
    value = factors[name][level] if name in factors else level
    return str(value) if experiment.retention == "raw" or isinstance(value, int | float) else level


def _unit_groups(experiment: Experiment, sample: Sample) -> tuple[UnitGroup, ...]:
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


def _check_complete(
    experiment: Experiment,
    weights: Weights,
    names: Sequence[str] | None,
    used: Grid,
    by_side: Sequence[tuple[Side, Sequence[Cell]]],
) -> None:
    """Refuse an empty side, and to pool over conditions (or cells of a set) without a reply.

    Items that are units of a population are no conditions: one that misses a cell is left out.
    """
    empty = [
        [f"{name}={' + '.join(levels)}" for name, levels in side.levels.items()]
        for side, cells in by_side
        if not any(cell.values.size for cell in cells)
    ]
    if any(len(parts) > 1 for parts in empty):  # sides of an interaction are cells of the design
        raise _incomplete(map(" × ".join, empty))
    if empty:
        raise TooFewUnits(group=", ".join(empty[0]), found=0, needed=1)
    whole, units = names is None, names or ()
    if absent := weights.absent(used, units):
        raise _incomplete(absent)
    if all(cell.values.size for cell in used.cells):
        return
    replies: Counter[str] = Counter()
    items = items_of(experiment)
    for cell in used.cells:
        labels = [at for name, at in cell.labels.items() if name not in items or name not in units]
        replies[cell.name if whole else "/".join(labels)] += cell.values.size
    if bare := [name for name, count in replies.items() if not count]:
        raise _incomplete(bare)


def _incomplete(cells: Iterable[str]) -> NoFinding:
    """The error for cells a contrast pools over that have no valid reply."""
    first, rest = (every := list(cells))[:_LISTED], every[_LISTED:]
    names = f"{', '.join(first)}{f' and {len(rest)} more' * bool(rest)}"
    return NoFinding(f"incomplete design: no valid reply in {names}, so nothing is pooled over it")
