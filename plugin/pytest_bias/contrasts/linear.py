"""Linear contrasts: weighted sums of means of levels, all kinds but selections from pools.

What a contrast declares, and the observations that a design gives it.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar

from ..experiments.design import Design
from ..experiments.experiment import Experiment
from ..experiments.measures import MISSING, MeasureKind
from ..experiments.records import Records
from ..stats.results import Matters, units_needed
from .declared import Hypothesis, levels_of
from .estimate import LARGEST_AT, Estimate, Scale
from .layout import (
    FEWEST_TO_CLEAR,
    REPLIES,
    Group,
    Layout,
    Parts,
    ResolvedContrast,
    Scaled,
    Side,
    Units,
    cells_of,
    departing,
    departures,
    has_exemplars,
    items_of,
    names_of,
    reach_of,
    stimuli,
    weights_between,
    why_no_verdict,
)
from .published import bracketed

_INSTEAD: Mapping[MeasureKind | None, str] = {
    "number": "is a number: compare its means (MeanDifference), not its rates",
    "flag": "is a flag: compare its rates (RateDifference), not its means",
    "category": "is a category: compare the rates of a flag made of it, such as "
    "Measure(…, lambda result: result.… == …, kind='flag')",
    None: "does not say what it is: declare Measure(…, kind='number') or kind='flag'",
}
"""What to do with a measure of a kind that a contrast does not compare."""


@dataclass(frozen=True, slots=True)
class LinearContrast(Hypothesis):
    """A difference, or a ratio, of weighted means of a measure; or the largest of several."""

    measure: str

    scale: ClassVar[Scale] = "difference"
    quantity: ClassVar[str] = ""
    """What its estimate is, in print."""
    quantity_of_largest: ClassVar[str] = ""
    bootstrapped: ClassVar[bool] = False
    """True where the estimate of two cells has a bootstrap interval, too."""

    @property
    def largest(self) -> bool:
        """True if it is the largest of several contrasts, a size that has no sign."""
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

    def contrast_text(self, experiment: Experiment, at: str) -> str:  # noqa: ARG002
        """Return the resolved in print; of the largest of several that is ``at`` one of them."""
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
        return departures(self.compared(experiment))

    def is_event(self, experiment: Experiment) -> bool:
        """True if its measure is an event that happens or not."""
        return self.measure == MISSING or experiment.measure(self.measure).kind == "flag"

    def check(self, experiment: Experiment) -> None:
        """Raise BadDesign or UnknownName when ``experiment`` cannot answer this."""
        self._check_measure(experiment)
        self._check_fields(experiment)
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

    def _check_fields(self, experiment: Experiment) -> None:
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
        unknown = "whether a trial without a valid reply is eligible is unknown"
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

    def resolved(self, experiment: Experiment) -> ResolvedContrast:
        """Return the contrast as an experiment resolves it."""
        ratio = self.scale == "ratio"
        return ResolvedContrast(
            measure=self.measure,
            parts=self.parts(experiment),
            largest_of=self.contrasts(experiment) if self.largest else {},
            sides=self.sides(experiment),
            units=self.units_of(experiment),
            at=self.where(experiment),
            eligible=self.eligible,
            margin=self.margin,
            null=self.null_of(experiment),
            shrink=shrinkage(experiment, self.measure, ratio=ratio),
            number=self.number,
            matters=self.matters,
            ratio=ratio,
            bootstrapped=self.bootstrapped,
        )

    def analyse(self, experiment: Experiment, records: Records) -> Estimate:
        """Estimate and test it; NoFinding of too few replies, or of a condition without any."""
        from .linear_estimate import estimate_of  # noqa: PLC0415  (numpy)

        found = estimate_of(self.resolved(experiment), self.published, experiment, records)
        return replace(
            found,
            quantity=self.quantity_of_largest if self.largest else self.quantity,
            contrast=self.contrast_text(experiment, str(found.extras.get(LARGEST_AT, ""))),
            target=self.target,
            scope=self.scope,
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


def shrinkage(experiment: Experiment, measure: str, *, ratio: bool = False) -> float:
    """Share of a difference that the error of reading ``measure`` leaves; 1 without.

    It leaves nothing for sure of a ``ratio``: of rare events most may be read wrongly.
    """
    error = None if measure == MISSING else experiment.measure(measure).error
    if error is None:
        return 1.0
    return 0.0 if ratio and error.lowest < 1 else error.lowest
