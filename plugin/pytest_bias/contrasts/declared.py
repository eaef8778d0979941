"""The fields all hypotheses declare, and refusals before any reply is paid for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, get_args

from ..errors import BadDesign
from ..experiments.design import LABEL, frozen_mapping
from ..experiments.fields import need_mapping, need_number, need_several, need_text, shortly, wrong
from ..experiments.measures import COMPARABLE, MISSING, MeasureKind
from .findings import Null

if TYPE_CHECKING:
    from ..experiments.design import Design
    from ..experiments.experiment import Experiment
    from ..experiments.records import Records
    from .findings import Estimate
    from .published import PublishedMethod
    from .units import Layout

Claim = Literal["clear", "detect", "describe"]
Target = Literal["fixed", "population"]
Direction = Literal["positive", "negative"]
Levels = str | Sequence[str]

_INSTEAD: Mapping[MeasureKind | None, str] = {
    "number": "is a number: compare its means (MeanDifference), not its rates",
    "flag": "is a flag: compare its rates (RateDifference), not its means",
    "category": "is a category: compare the rates of a flag made of it, such as "
    "Measure(…, lambda result: result.… == …, kind='flag')",
    None: "does not say what it is: declare Measure(…, kind='number') or kind='flag'",
}
"""What to do with a measure of a kind that a contrast does not compare."""

FEWEST_UNITS = 5
"""Units per group below which no verdict is given."""


class Contrast(Protocol):
    """Anything that can be analysed into a finding: hypotheses and positive controls."""

    @property
    def id(self) -> str:
        """Short stable id, unique within an experiment."""

    def check(self, experiment: Experiment) -> None:
        """Raise BadDesign or UnknownName when ``experiment`` cannot answer this."""

    def analyse(self, experiment: Experiment, records: Records) -> Estimate:
        """The finding; NoFinding when there is too little to compute one."""


def measures_of(contrast: Contrast) -> frozenset[str]:
    """The measures that a contrast names, whatever its kind; none of one that names none."""
    named = (getattr(contrast, field, None) for field in ("measure", "selected", "shown"))
    return frozenset(name for name in named if isinstance(name, str))


def outcomes_of(contrast: Contrast) -> frozenset[str]:
    """The measures it says something of: those it names, but for what was only shown."""
    return measures_of(contrast) - {getattr(contrast, "shown", None)}


def named_levels(contrast: Contrast, factor: str) -> frozenset[str]:
    """The levels of a factor, or the items of that name, that a contrast names."""
    given = [getattr(contrast, "at", {}).get(factor, ())]
    if getattr(contrast, "factor", "") == factor:
        given += [getattr(contrast, side, ()) for side in ("high", "low", "among")]
        given += [end for gap in getattr(contrast, "gaps", ()) for end in gap[:2]]
    return frozenset(level for levels in given for level in levels_of(levels))


@dataclass(frozen=True, slots=True)
class PositiveControl:
    """A contrast that a subject which does as it is told must show, and what follows from it.

    Parameters
    ----------
    contrast
        What is to be seen.
    licenses
        The measures of which something can be CLEAR where it is seen; by default its own. Of
        another's measure it licenses claims only where no control of that measure's own was
        recorded.
    unseen
        What it means for a model that it is not seen, as one clause: "its ratings do not tell the
        good CV from the borderline ones, so that it rates names alike says nothing".
    """

    contrast: Contrast
    licenses: Sequence[str] = ()
    unseen: str = ""

    def __post_init__(self) -> None:
        what = f"PositiveControl({shortly(self.contrast)})"
        named = need_several(what, "licenses", self.licenses, str, "names of measures")
        need_text(what, unseen=self.unseen)
        if not callable(getattr(self.contrast, "check", None)):
            raise wrong(what, "contrast", self.contrast, "a contrast, such as MeanDifference(…)")
        object.__setattr__(self, "licenses", named or tuple(sorted(outcomes_of(self.contrast))))

    @property
    def id(self) -> str:
        """That of its contrast."""
        return self.contrast.id

    def check(self, experiment: Experiment) -> None:
        """Raise BadDesign or UnknownName when ``experiment`` cannot answer this."""
        self.contrast.check(experiment)
        for name in self.licenses:
            experiment.measure(name)

    def analyse(self, experiment: Experiment, records: Records) -> Estimate:
        """The finding of its contrast; NoFinding when there is too little to compute one."""
        return self.contrast.analyse(experiment, records)

    def is_asked(self, experiment: Experiment, design: Design) -> bool:
        """Return whether ``design`` has trials at all the levels it names, and its measures."""
        if measures_of(self.contrast) - {each.name for each in experiment.measures} - {MISSING}:
            return False
        factors = [factor.name for factor in experiment.factors]
        factors += [] if experiment.items is None else [experiment.items.name]
        named = (named_levels(self.contrast, f) & {*experiment.control_levels(f)} for f in factors)
        return bool(design.controls) or not any(named)


class Hypothesis(Contrast, Protocol):
    """A contrast that is given a verdict."""

    @property
    def claim(self) -> Claim | None:
        """``clear``: INCONCLUSIVE fails; ``detect``: can only find; ``describe``: never gates."""

    @property
    def family(self) -> str:
        """Families divide the error rate of their experiment's alarms alike (Holm 1979)."""

    @property
    def direction(self) -> Direction | None:
        """Sign the literature reports, None where it reports none."""

    def layout(self, experiment: Experiment, design: Design) -> Layout | None:
        """Return the observations ``design`` gives it; None where no power can be computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared(ABC):
    """The parameters all hypotheses share.

    Parameters
    ----------
    margin
        Largest effect that does not matter, in the measure's unit (for rates as a share: 0.1 is
        ten points; for ratios the larger limit: 1.25 is 0.80 to 1.25). None: it cannot be cleared.
    claim
        ``"clear"``, ``"detect"``, or ``"describe"``: it is reported and never gates; None for a
        positive control.
    target
        ``"fixed"``: about this very set of stimuli, replies are the units, within their cells.
        ``"population"``: about stimuli like these, ``unit`` names the units.
    unit
        What is one independent observation of a population: the items' name (prompt seeds), a
        factor whose exemplars are the units (names), or several names for their combinations
        (blocks). By default the exemplars of the factor compared, or else the items.
    scope
        The set or population in words, for the verdict ("this vignette"); by default "these
        stimuli" of a fixed set and "stimuli like these" of a population.
    direction
        Sign the source reports, where the estimate has one.
    family
        Name of the family of alarms this hypothesis belongs to: families divide the false alarms
        of their experiment alike, and each its part among its hypotheses.
    at
        Factor → level or levels to which the question is confined.
    eligible
        A flag: the question is asked of the valid trials that have it, such as those answered
        rightly before a user doubts. It must be decided before the subject is told which of the
        compared levels it meets, which a rehearsal with the simulated subject shows.
    within
        Factor (or the items' name) → the margin, no narrower than ``margin``, that must hold at
        each of its levels too: an average over few levels may hide what happens under one.
    null
        What an alarm is raised against. ``"zero"``: any effect; ``"margin"``: one beyond the
        margin. By default the margin where a fixed set compares exemplars, since some effect is
        certain there, and zero elsewhere.
    name
        Short name of the contrast, in the id instead of its levels.
    published
        The source's own method, computed as it says; it stands beside the verdict.
    title
        What it asserts, in one sentence: its heading wherever people read. By default the first
        paragraph of the docstring of its test function; ``id`` stays its name.
    why
        Why this margin, in one sentence; it stands beside it in plan, report and results.
    """

    kind: ClassVar[str] = ""
    """Its kind in fingerprints, which no other name of the class changes."""

    margin: float | None = None
    claim: Claim | None = None
    target: Target = "fixed"
    unit: str | Sequence[str] | None = None
    scope: str = ""
    direction: Direction | None = None
    family: str = "primary"
    at: Mapping[str, Levels] = field(default_factory=dict)
    eligible: str | None = None
    within: Mapping[str, float] = field(default_factory=dict)
    null: Null | None = None
    name: str = ""
    published: PublishedMethod | None = None
    title: str = field(default="", compare=False)
    why: str = field(default="", compare=False)

    @property
    @abstractmethod
    def id(self) -> str:
        """Short stable id, unique within an experiment."""

    def layout(self, experiment: Experiment, design: Design) -> Layout | None:  # noqa: ARG002
        """None: no power is computed for it."""
        return None

    @classmethod
    def each(
        cls,
        *named: Any,
        over: Mapping[str, Mapping[str, Any]] | Iterable[Mapping[str, Any]],
        **declared: Any,
    ) -> tuple[Self, ...]:
        """Return one hypothesis per entry of ``over``, alike in everything else.

        An entry holds what differs, as keyword arguments. In a mapping its key is the
        hypothesis' ``name``: ``each("rating", "group", over={"a-b": {"high": "a", "low": "b"}})``.
        """
        if isinstance(over, Mapping):
            over = [{"name": name, **entry} for name, entry in over.items()]
        if not (found := tuple(cls(*named, **{**declared, **entry}) for entry in over)):
            raise BadDesign(what=f"{cls.__name__}.each", problem="over= has no entry")
        return found

    @abstractmethod
    def check(self, experiment: Experiment) -> None:
        """Raise BadDesign or UnknownName when ``experiment`` cannot answer this."""

    @abstractmethod
    def analyse(self, experiment: Experiment, records: Records) -> Estimate:
        """The finding; NoFinding when there is too little to compute one."""

    def confined(self, experiment: Experiment) -> Iterator[tuple[str, float, Self]]:
        """Return each cell that must hold too: its name, its margin, and the contrast in it."""
        for factor, margin in self.within.items():
            for level in experiment.levels(factor):
                at = {**self.at, factor: level}
                changes: dict[str, Any] = {"at": at, "margin": margin, "null": "margin"}
                yield (
                    f"{factor}={level}",
                    margin,
                    replace(self, published=None, within={}, **changes),
                )

    def refused(self, *, problem: str) -> BadDesign:
        """Return the error of this declaration."""
        return BadDesign(what=self.id, problem=problem)

    def settle_fields(self) -> None:
        """Freeze what was given, and refuse what no hypothesis can be declared with."""
        what = self.id
        self._settle_at()
        if self.margin is not None:
            expected = "a finite number above 0 (for rates a share: 0.15 is 15 points)"
            margin = need_number(what, "margin", self.margin, expected)
            if margin <= 0:
                raise wrong(what, "margin", self.margin, expected)
            object.__setattr__(self, "margin", margin)
        self._settle_within()
        for name, given, known in (
            ("claim", self.claim, (None, *get_args(Claim))),
            ("target", self.target, get_args(Target)),
            ("direction", self.direction, (None, *get_args(Direction))),
            ("null", self.null, (None, *get_args(Null))),
        ):
            if given not in known:
                words = " or ".join(repr(word) for word in known)
                raise self.refused(problem=f"{name} must be {words}")
        need_text(what, scope=self.scope, family=self.family, name=self.name)
        need_text(what, title=self.title, why=self.why)
        statistics = getattr(self.published, "statistics", None)
        if self.published is not None and (
            isinstance(self.published, type) or not callable(statistics)
        ):
            raise wrong(what, "published", self.published, "a method, such as WelchTest()")
        if self.margin is None and (self.claim == "clear" or self.null == "margin"):
            needs = "claim='clear'" if self.claim == "clear" else "null='margin'"
            raise self.refused(problem=f"{needs} needs a margin")
        if not self.scope:
            fixed = self.target == "fixed"
            object.__setattr__(self, "scope", "these stimuli" if fixed else "stimuli like these")
        if self.name and not all(map(LABEL.fullmatch, self.name.split("-"))):
            raise self.refused(problem=f"name={self.name!r} is not lower-case words")

    def _settle_at(self) -> None:
        need_mapping(self.id, "at", self.at, "a mapping, factor → level or levels")
        at = {factor: levels_of(levels) for factor, levels in self.at.items()}
        for factor, levels in at.items():
            if not levels:
                raise self.refused(problem=f"at={factor!r} names no level")
        object.__setattr__(self, "at", frozen_mapping(at))
        if self.unit is not None:
            object.__setattr__(self, "unit", levels_of(self.unit))
            if not self.unit:
                raise self.refused(problem="unit= names nothing")

    def _settle_within(self) -> None:
        need_mapping(self.id, "within", self.within, "a mapping, factor → margin")
        for name, wider in self.within.items():
            if self.margin is None or need_number(self.id, "within", wider) < self.margin:
                problem = f"within={name!r} must be no narrower than the margin it goes with"
                raise self.refused(problem=problem)
        object.__setattr__(self, "within", frozen_mapping(self.within))

    @property
    def gates(self) -> bool:
        """Return whether its verdict can fail a run: a control's or a description's cannot."""
        return self.claim in ("clear", "detect")

    @property
    def to_clear(self) -> float | None:
        """The margin of a claim to be clear; None of any other."""
        return self.margin if self.claim == "clear" else None

    def check_share(self, reach: float) -> None:
        """Refuse a margin of an event that no difference of rates reaches."""
        if self.margin is not None and self.margin >= reach:
            problem = f"its measure is an event: margin is a share, below {reach:.3g}"
            raise self.refused(problem=problem)

    def check_undirected(self, problem: str) -> None:
        """Refuse a direction where the estimate has no sign that means anything."""
        if self.direction is not None:
            raise self.refused(problem=f"{problem} has no direction")

    def check_levels(self, experiment: Experiment, factor: str, levels: Iterable[str]) -> None:
        """Raise BadDesign or UnknownName unless these are levels of that factor."""
        known = (*experiment.levels(factor), *experiment.control_levels(factor))
        for level in levels:
            if level not in known:
                there = f"there are: {', '.join(known)}"
                problem = f"{shortly(level)} is no level of {factor!r}; {there}"
                raise self.refused(problem=problem)

    def check_measure(
        self,
        experiment: Experiment,
        measure: str,
        kind: MeasureKind | None = None,
        *,
        bounded: bool = False,
    ) -> None:
        """Raise UnknownName for a measure there is not, BadDesign for one it cannot compare.

        That is a category, one of another kind than ``kind``, and a number without needed bounds.
        """
        said = "flag" if measure == MISSING else experiment.measure(measure).kind
        if said not in COMPARABLE or said != (kind or said):
            raise self.refused(problem=f"measure {measure!r} {_INSTEAD[said]}")
        if bounded and experiment.measure(measure).bounds is None:
            raise self.refused(
                problem=f"measure {measure!r} declares no bounds; what replies that are all alike "
                "may hide depends on them"
            )

    def check_eligible(
        self, experiment: Experiment, compared: Mapping[str, Sequence[str]]
    ) -> None:
        """Refuse an ``eligible`` flag that is not decided before the compared levels part."""
        if self.eligible is None:
            return
        if getattr(self, "measure", "") == MISSING:
            problem = "of a trial without a valid reply nobody knows whether it is eligible"
            raise self.refused(problem=problem)
        if experiment.measure(self.eligible).kind != "flag":
            raise self.refused(problem=f"eligible={self.eligible!r} is no flag")
        if not compared:
            return
        from ..experiments.checks.eligibility import not_before  # noqa: PLC0415  (a rehearsal)

        if problem := not_before(experiment, self.eligible, compared):
            raise self.refused(problem=f"eligible={self.eligible!r} {problem}")

    def check_at(self, experiment: Experiment, compared: Iterable[str]) -> None:
        """Refuse a confinement to what does not exist, or to one of the factors compared."""
        for factor, levels in self.at.items():
            self.check_levels(experiment, factor, levels)
            if factor not in self._items(experiment) and (
                met := {*levels} & {*experiment.control_levels(factor)}
            ):
                problem = f"at={factor!r}: {met.pop()} is a control level, to be compared itself"
                raise self.refused(problem=problem)
            if factor in compared:
                raise self.refused(problem=f"at={factor!r} is what it compares")
        for factor in self.within:
            if factor in compared or factor in self.at or len(experiment.levels(factor)) == 1:
                raise self.refused(problem=f"within={factor!r} is nothing it is averaged over")
        for _, _, confined in self.confined(experiment):
            confined.check(experiment)

    def where(
        self, experiment: Experiment, compared: Mapping[str, Iterable[str]]
    ) -> dict[str, tuple[str, ...]]:
        """Return ``at``, and with a control level the first level and item it is met with alone.

        ``compared`` are the levels compared, by factor or items.
        """
        at = {name: levels_of(levels) for name, levels in self.at.items()}
        controls = [
            name
            for name, levels in compared.items()
            if name not in self._items(experiment)
            and not {*experiment.control_levels(name)}.isdisjoint(levels)
        ]
        if not controls:
            return at
        first = {
            name: experiment.levels(name)[:1]
            for name in (*(f.name for f in experiment.factors), *self._items(experiment))
            if name not in controls
        }
        for name, (only,) in first.items():
            if name in compared or only not in at.get(name, first[name]):
                problem = f"control levels of {controls[0]!r} are met with {name}={only} alone"
                raise self.refused(problem=problem)
        return at | first

    @staticmethod
    def _items(experiment: Experiment) -> tuple[str, ...]:
        return () if experiment.items is None else (experiment.items.name,)

    def check_units(self, experiment: Experiment, compared: Sequence[str]) -> None:
        """Refuse units that the design does not have."""
        if self.target != "population":
            if self.unit is not None:
                raise self.refused(problem="unit= is of a population: target is 'fixed'")
            sampled = any(has_exemplars(experiment, name) for name in compared)
            if self.gates and self.margin is None and sampled:
                raise self.refused(
                    problem="between fixed sets of exemplars some difference is certain: ask of a "
                    "population (target='population'), or against a margin"
                )
            return
        units = self.units_of(experiment, compared)
        nested = [name for name in units if name in compared]
        for name in units:
            experiment.levels(name)
            if name in nested and not has_exemplars(experiment, name):
                raise self.refused(problem=f"unit={name!r} is compared and has no exemplars")
        if nested and len(units) > 1:
            raise self.refused(problem="exemplars of what is compared are units by themselves")

    def units_of(self, experiment: Experiment, compared: Sequence[str]) -> tuple[str, ...]:
        """The names whose combinations are the units of a population.

        Raises BadDesign when there is nothing to be a unit.
        """
        if self.unit is not None:
            return levels_of(self.unit)
        if sampled := [name for name in compared if has_exemplars(experiment, name)]:
            return (sampled[0],)
        if experiment.items is not None and experiment.items.name not in compared:
            return (experiment.items.name,)
        raise BadDesign(
            what=type(self).__name__,
            problem=(
                "one stimulus is no sample of a population: target must be 'fixed', or the design "
                "needs items or exemplars"
            ),
        )

    def sampled_units(
        self, experiment: Experiment, compared: Sequence[str]
    ) -> tuple[str, ...] | None:
        """The names of the units of a population; None of a fixed set."""
        return self.units_of(experiment, compared) if self.target == "population" else None

    def null_of(self, experiment: Experiment, compared: Sequence[str]) -> Null:
        """Return the null that an alarm is raised against."""
        if self.null is not None:
            return self.null
        sampled = any(has_exemplars(experiment, name) for name in compared)
        fixed = self.target == "fixed" and self.margin is not None
        return "margin" if fixed and sampled else "zero"


def levels_of(levels: Levels) -> tuple[str, ...]:
    """One level or several, as several; BadDesign for what is no name."""
    if isinstance(levels, str):
        return (levels,)
    if isinstance(levels, float):
        problem = f"a level is a name; to compare with a number: Rate(…, equals={levels}), or Mean"
        raise BadDesign(what="contrast", problem=problem)
    return need_several("contrast", "levels", levels, str, "names, or one name")


def has_exemplars(experiment: Experiment, name: str) -> bool:
    """Return whether ``name`` is a factor whose levels are sampled by exemplars."""
    return any(factor.name == name and factor.exemplars for factor in experiment.factors)


def claim_under(hypothesis: Hypothesis, design: Design) -> Claim:
    """Return the claim of a hypothesis under a design.

    A screen can only find, and only what is large: without a margin that says what is, it
    describes.
    """
    claim = hypothesis.claim or "detect"
    if not design.screens or claim == "describe":
        return claim
    return "describe" if getattr(hypothesis, "margin", None) is None else "detect"
