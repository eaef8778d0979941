"""Hypotheses as data, checked before any reply is paid for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

from ..errors import BadDesign, NoFinding
from ..experiments.design import LABEL, frozen_mapping
from ..experiments.fields import (
    need,
    need_mapping,
    need_number,
    need_several,
    need_text,
    shortened,
    wrong,
)
from ..experiments.measures import MISSING
from .layout import Null, has_exemplars, items_of, names_of, why_not_clear

if TYPE_CHECKING:
    from ..experiments.design import Design
    from ..experiments.experiment import Experiment
    from ..experiments.records import Records
    from .estimate import Estimate
    from .layout import Layout
    from .published import PublishedMethod

Claim = Literal["clear", "detect", "describe"]
Target = Literal["fixed", "population"]
Direction = Literal["positive", "negative"]
Levels = str | Sequence[str]

_WORDS: Mapping[str, tuple[str | None, ...]] = {
    "claim": (None, *get_args(Claim)),
    "target": get_args(Target),
    "direction": (None, *get_args(Direction)),
    "null": (None, *get_args(Null)),
}
_TEXTS = ("scope", "family", "name", "title", "why")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis(ABC):
    """A question as data; the parameters that all kinds of them share.

    Parameters
    ----------
    margin
        Largest effect that does not matter, in the measure's unit (for rates as a share: 0.1 is
        ten points; for ratios the larger limit: 1.25 is 0.80 to 1.25). None: it cannot be cleared.
    claim
        ``"clear"``: INCONCLUSIVE fails; ``"detect"``: only a difference can be shown;
        ``"describe"``: it is reported and never gates; None for a positive control.
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
        Name of its family: families share the α of their experiment equally, and the hypotheses
        of each share its part (Holm 1979).
    at
        Factor → level or levels to which the question is confined.
    eligible
        A flag: only valid trials that have it count, such as those answered rightly before a user
        doubts. It must be decided before the prompts of the compared levels differ, which a
        rehearsal with the simulated subject shows.
    within
        Factor (or the items' name) → the margin, no narrower than ``margin``, that must hold at
        each of its levels too: an average over few levels may hide what happens under one.
    null
        Null hypothesis: ``"zero"``, no effect, or ``"margin"``, an effect within the margin. By
        default the margin where a fixed set compares exemplars, since some effect is
        certain there, and zero elsewhere.
    name
        Short name of the contrast, in the id instead of its levels.
    published
        The source's own method, computed as it states and reported with the verdict.
    title
        What it asserts, in one sentence: its heading wherever people read. By default the first
        paragraph of the docstring of its test function; ``id`` stays its name.
    why
        Why this margin, in one sentence; reported with it in plan, report and results.
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

    @property
    @abstractmethod
    def outcome(self) -> str:
        """Return the measure it says something of."""

    @property
    def measures(self) -> frozenset[str]:
        """All measures it reads."""
        return frozenset({self.outcome})

    @abstractmethod
    def check(self, experiment: Experiment) -> None:
        """Raise BadDesign or UnknownName when ``experiment`` cannot answer this."""

    @abstractmethod
    def layout(self, experiment: Experiment, design: Design) -> Layout:
        """Return the observations ``design`` gives it."""

    @abstractmethod
    def analyse(self, experiment: Experiment, records: Records) -> Estimate:
        """Return the estimate; NoFinding when there is too little to compute one."""

    def estimate(self, experiment: Experiment, records: Records) -> Estimate:
        """Analyse it, and each cell in which it must hold too; one with too little is bare.

        Raises NoFinding when there is too little to compute the whole.
        """
        finding = self.analyse(experiment, records)
        if not self.within:
            return finding
        cells, bare, records = {}, [], records.for_verdicts
        for name, _, confined in self.confined(experiment):
            try:
                cells[name] = confined.analyse(experiment, records)
            except NoFinding:
                bare.append(name)
        return replace(finding, cells=cells, bare_cells=tuple(bare))

    def compared(self, experiment: Experiment) -> Mapping[str, Sequence[str]]:  # noqa: ARG002
        """The levels it compares, by factor or items: of none where it compares no levels."""
        return {}

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

    def confined(self, experiment: Experiment) -> Iterator[tuple[str, float, Self]]:
        """Return each cell that must hold too: its name, its margin, and the contrast in it."""
        for factor, margin in self.within.items():
            for level in experiment.levels(factor):
                changes: dict[str, Any] = {"at": {**self.at, factor: level}, "margin": margin}
                cell = replace(self, published=None, within={}, null="margin", **changes)
                yield f"{factor}={level}", margin, cell

    @property
    def gates(self) -> bool:
        """True if its verdict can fail a run: a control's or a description's cannot."""
        return self.claim in ("clear", "detect")

    def null_of(self, experiment: Experiment) -> Null:
        """Return the null hypothesis."""
        if self.null is not None:
            return self.null
        sampled = any(has_exemplars(experiment, name) for name in self.compared(experiment))
        fixed = self.target == "fixed" and self.margin is not None
        return "margin" if fixed and sampled else "zero"

    def names_control(self, experiment: Experiment, name: str) -> frozenset[str]:
        """Return the control levels of a factor, or control items, that it names."""
        named = {*levels_of(self.at.get(name, ())), *self.compared(experiment).get(name, ())}
        return frozenset(named.intersection(experiment.control_levels(name)))

    def refused(self, *, problem: str) -> BadDesign:
        """Return the error of this declaration."""
        return BadDesign(what=self.id, problem=problem)

    def require(self, condition: object, problem: str) -> None:
        """Refuse this declaration where a condition does not hold."""
        if not condition:
            raise self.refused(problem=problem)

    def _resolve(self) -> None:  # noqa: B027  (some kinds have nothing of their own)
        """Check and freeze what only this kind has."""

    def _set(self, **fields: object) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __post_init__(self) -> None:
        self._resolve()
        what = self.id
        need_mapping(what, "at", self.at, "a mapping, factor → level or levels")
        at = {factor: levels_of(levels) for factor, levels in self.at.items()}
        for factor, levels in at.items():
            self.require(levels, f"at={factor!r} names no level")
        unit = None if self.unit is None else levels_of(self.unit)
        self.require(unit != (), "unit= names nothing")
        stimuli = "these stimuli" if self.target == "fixed" else "stimuli like these"
        need_text(what, **{name: getattr(self, name) for name in _TEXTS})
        self._set(at=frozen_mapping(at), unit=unit, scope=self.scope or stimuli)
        for name, known in _WORDS.items():
            words = " or ".join(map(repr, known))
            self.require(getattr(self, name) in known, f"{name} must be {words}")
        labels = map(LABEL.fullmatch, self.name.split("-"))
        self.require(not self.name or all(labels), f"name={self.name!r} is not lower-case words")
        method: object = self.published
        if method is not None and (isinstance(method, type) or not hasattr(method, "statistics")):
            raise wrong(what, "published", method, "a method, such as WelchTest()")
        self._resolve_margins()

    def _resolve_margins(self) -> None:
        need_mapping(self.id, "within", self.within, "a mapping, factor → margin")
        self._set(within=frozen_mapping(self.within))
        if self.margin is None:
            self.require(self.claim != "clear", "claim='clear' needs a margin")
            self.require(self.null != "margin", "null='margin' needs a margin")
            self.require(not self.within, "within= needs a margin")
            return
        expected = "a finite number above 0 (for rates a share: 0.15 is 15 points)"
        self._set(margin=need_number(self.id, "margin", self.margin, expected))
        if self.margin <= 0:
            raise wrong(self.id, "margin", self.margin, expected)
        for name, wider in self.within.items():
            wide = need_number(self.id, "within", wider) >= self.margin
            self.require(wide, f"within={name!r} must be no narrower than the margin it goes with")

    def check_levels(self, experiment: Experiment) -> None:
        """Refuse levels there are not, and to be confined to, or to hold within, what it compares.

        Each cell that must hold too is checked by itself.
        """
        compared = self.compared(experiment)
        for factor, levels in (*compared.items(), *self.at.items()):
            known = (*experiment.levels(factor), *experiment.control_levels(factor))
            for level in levels:
                there = f"is no level of {factor!r}; there are: {', '.join(known)}"
                self.require(level in known, f"{shortened(level)} {there}")
        for factor, levels in self.at.items():
            self.require(factor not in compared, f"at={factor!r} is what it compares")
            met = {*levels}.intersection(experiment.control_levels(factor))
            alone = not met or factor in items_of(experiment)
            is_control = f"{'+'.join(met)} is a control level, to be compared itself"
            self.require(alone, f"at={factor!r}: {is_control}")
        for factor in self.within:
            held = factor in compared or factor in self.at or len(experiment.levels(factor)) == 1
            self.require(not held, f"within={factor!r} is nothing it is averaged over")
        for _, _, confined in self.confined(experiment):
            confined.check(experiment)

    def check_answered(self, experiment: Experiment) -> None:
        """Refuse what the gate design can never answer: a claim to be clear, or any."""
        if not self.gates:
            return
        gate = experiment.design()
        layout = self.layout(experiment, gate)
        problem = why_not_clear(layout, gate) if self.claim == "clear" else layout.problem
        where = "".join(f" at {name}={'+'.join(at)}" for name, at in self.at.items())
        self.require(not problem, f"{problem}{where}")


@dataclass(frozen=True, slots=True)
class PositiveControl:
    """A known difference that a subject must show, and what follows from it.

    Parameters
    ----------
    contrast
        The known difference.
    licenses
        The measures of which something can be CLEAR where it is seen; by default its own. Of
        another's measure it licenses claims only where no control of that measure's own was
        recorded.
    if_not_seen
        What it means for a model that it is not seen, as one clause: "its ratings do not tell the
        good CV from the borderline ones, so that it rates names alike says nothing".
    """

    contrast: Hypothesis
    licenses: Sequence[str] = ()
    if_not_seen: str = ""

    def __post_init__(self) -> None:
        what = f"PositiveControl({shortened(self.contrast)})"
        need(what, "contrast", self.contrast, Hypothesis, "a contrast, such as MeanDifference(…)")
        named = need_several(what, "licenses", self.licenses, str, "names of measures")
        need_text(what, if_not_seen=self.if_not_seen)
        object.__setattr__(self, "licenses", named or (self.contrast.outcome,))

    @property
    def id(self) -> str:
        """That of its contrast."""
        return self.contrast.id

    def check(self, experiment: Experiment) -> None:
        """Raise BadDesign or UnknownName when ``experiment`` cannot answer this."""
        self.contrast.check(experiment)
        for name in self.licenses:
            experiment.measure(name)

    def is_in(self, experiment: Experiment, design: Design) -> bool:
        """True if ``design`` has trials at all the levels it names, and its measures."""
        if self.contrast.measures - {each.name for each in experiment.measures} - {MISSING}:
            return False
        names = names_of(experiment)
        controls = any(self.contrast.names_control(experiment, name) for name in names)
        return bool(design.controls) or not controls


def levels_of(levels: Levels) -> tuple[str, ...]:
    """One level or several, as several; BadDesign for what is no name."""
    if isinstance(levels, str):
        return (levels,)
    if isinstance(levels, float):
        problem = f"a level is a name; to compare with a number: Rate(…, equals={levels}), or Mean"
        raise BadDesign(what="contrast", problem=problem)
    return need_several("contrast", "levels", levels, str, "names, or one name")
