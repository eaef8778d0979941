"""An experiment: a factorial design with its stimuli, protocol and measures, as data."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from ..errors import BadDesign, BadSetting, UnknownName
from ..stats.results import ALARMS
from .canonical import compact, digest, plain
from .design import (
    Condition,
    Design,
    Factor,
    Items,
    Trial,
    control_conditions,
    cross,
    frozen,
    frozen_mapping,
    trials_of,
)
from .fields import (
    forbid,
    need,
    need_function,
    need_mapping,
    need_several,
    need_text,
    shortened,
    takes,
)
from .figures import Figure, Heatmap, Means
from .judges import Agreement, texts_hidden
from .layouts import TableLayout
from .measures import FORMAT, FORMAT_KEPT, MISSING, Measure, check_declared, with_kind
from .messages import DROPPABLE, ModelRole, Parameters
from .protocol import Protocol, Subject
from .records import Config, Retention
from .replies import ReplyPolicy
from .simulated import SimulatedAnswer

if TYPE_CHECKING:
    from .records import Outcome, Records

Named = TypeVar("Named", Factor, Measure, Factor | Items)

_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LONGEST_ID = 200


MOST_TRIALS = 1_000_000
"""Trials that a design may have: more are a typing error, and do not fit into memory."""

GATE = "gate"
"""Name of the design that is run unless another is asked for."""


Exports = Callable[[Mapping[str, "Records"]], Mapping[str, str | bytes]]
"""From model → its records to file name → contents, or a chart, named without its ending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A factorial design with its stimuli, protocol and measures.

    Parameters
    ----------
    id
        Unique kebab-case id; names the cassettes' folder and enters every key.
    name
        Human-readable name.
    factors
        What is manipulated; conditions are all combinations of their levels.
    protocol
        ``async (trial, subject) -> result``; awaits only ``subject.ask()`` and ``together()``.
    replicates
        Repetitions of every condition × exemplar × item in the gate design.
    designs
        Further named designs (``{"documented": Design(replicates=30)}``); ``gate`` is given by
        ``replicates`` and meets all exemplars. A design may be larger than the gate's in one way
        and smaller in another: one cassette serves all of them.
    controls
        Repetitions of every control level and item in the gate design (see :class:`.Design`).
    items
        What every condition is crossed with.
    measures
        What is taken from a trial's result.
    parameters
        Sampling parameters of the subject. What is None is taken from the roster of models, or
        else left to the provider.
    judge
        Sampling parameters of the judge, where a judge grades replies. The protocol then takes it
        as its third argument: ``async (trial, subject, judge) -> result``.
    version
        Raise it when the instrument changes in a way that no prompt or schema shows, such as the
        order of a schema's keys: recordings of another version are not taken for those of this.
    may_drop
        What need not be sent to a model that refuses it (``temperature``, ``max_output_tokens``,
        ``seeded``); the ``schema`` of structured replies never need be, as every reply is checked.
        The recording says what was left out.
    qpm
        Requests per minute that are not to be exceeded unless the user asks for more.
    retention
        What recordings keep: ``raw`` (requests and replies) or ``measures`` (one row of measures
        per trial, no text).
    replies
        ``lenient`` takes a structured reply out of a code fence or prose around one JSON value,
        and measures as ``format_kept`` whether those of a trial came bare; ``strict``, the
        default, lets nothing stand around it. Thoughts before a reply are taken off either way.
    source
        Citation of what the experiment replicates.
    alpha
        Probability that the experiment calls anything BIASED where nothing is, its part of the
        suite's ``bias_alpha``; by default that is divided alike.
    agreements
        Ratings the judge gives twice: where it does not agree with itself, hypotheses on them are
        INCONCLUSIVE.
    blind
        Factors that the judge must not be told: of the trial in hand, no exemplar (nor, of a
        factor without exemplars, any text of its level's value) may stand in what it is sent.
    metadata
        Anything a reader should know (response type, limitations …), JSON types only.
    simulated
        How simulated subjects answer this experiment's prompts.
    figures
        What the report draws beside its own charts: :class:`~pytest_bias.Heatmap` and
        :class:`~pytest_bias.Means`.
    exports
        From all records of each model to files, file name → contents; called and written where
        the user asks for it (``--bias-exports``). It must depend on nothing but the records.
    layouts
        Name → a layout of tables of replies to it, where a row of theirs is no trial.

    Attributes
    ----------
    conditions
        Every combination of levels, in declared order.
    control_conditions
        Those at control levels.
    """

    id: str
    name: str
    factors: Sequence[Factor]
    protocol: Protocol = field(repr=False)
    measures: Sequence[Measure]
    replicates: int
    designs: Mapping[str, Design] = field(default_factory=dict)
    controls: int = 0
    items: Items | None = None
    parameters: Parameters = field(default_factory=Parameters)
    judge: Parameters | None = None
    version: int = 1
    may_drop: Sequence[str] = ()
    qpm: int | None = None
    retention: Retention = "raw"
    replies: ReplyPolicy = "strict"
    alpha: float | None = None
    agreements: Sequence[Agreement] = ()
    blind: Sequence[str] = ()
    source: str = ""
    metadata: Mapping[str, object] = field(default_factory=dict, repr=False)
    simulated: SimulatedAnswer | None = field(default=None, repr=False)
    figures: Sequence[Figure] = field(default=(), repr=False)
    exports: Exports | None = field(default=None, repr=False)
    layouts: Mapping[str, TableLayout] = field(default_factory=dict, repr=False)
    conditions: tuple[Condition, ...] = field(init=False, repr=False, compare=False)
    control_conditions: tuple[Condition, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        what = f"Experiment({shortened(self.id)})"
        need_text(what, id=self.id, name=self.name, source=self.source)
        forbid(what, not _ID.fullmatch(self.id), "id must be lower-case words joined by '-'")
        problem = f"id must have {_LONGEST_ID} characters at most: folders are named after it"
        forbid(what, len(self.id) > _LONGEST_ID, problem)
        if not _is_async(self.protocol):
            raise BadDesign(what=what, problem="protocol must be an async function")
        need(what, "judge", self.judge, (Parameters, NoneType), "Parameters(…)")
        need(what, "parameters", self.parameters, Parameters, "Parameters(…)")
        factors = need_several(
            what, "factors", self.factors, Factor, "Factor(name, {label: value})"
        )
        measures = need_several(what, "measures", self.measures, Measure, "Measure(…)")
        measures = tuple(
            with_kind(each, self.protocol) for each in measures if each.name != FORMAT_KEPT
        )
        need(what, "items", self.items, (Items, NoneType), "Items(name, {label: value})")
        forbid(what, not factors, "needs at least one factor")
        forbid(what, not measures, "needs at least one measure")
        crossed = [factor.name for factor in factors]
        crossed += [self.items.name] if self.items is not None else []
        measured = [measure.name for measure in measures]
        for measure in measures:
            if measure.unless and measure.unless not in {*measured} - {measure.name}:
                raise UnknownName(kind="measure", name=measure.unless, known=measured)
        for kind, given in (("factor and item", crossed), ("measure", measured)):
            same = len(set(given)) != len(given)
            forbid(what, same, f"{kind} names must differ from each other")
        self._check_recording(what)
        need_mapping(what, "metadata", self.metadata, "a mapping")
        plain(self.metadata, f"metadata of {what}")
        object.__setattr__(self, "factors", factors)
        object.__setattr__(self, "conditions", cross(factors))
        object.__setattr__(self, "control_conditions", control_conditions(factors))
        formats = (FORMAT,) if self.replies == "lenient" else ()
        object.__setattr__(self, "measures", measures + formats)
        object.__setattr__(self, "agreements", self._checked_agreements(what))
        object.__setattr__(self, "blind", self._checked_blind(what))
        object.__setattr__(self, "designs", frozen_mapping(self._named_designs(what)))
        object.__setattr__(self, "metadata", frozen(self.metadata))
        object.__setattr__(self, "figures", self._checked_figures(what))
        expected = "a mapping, name → TableLayout(rows)"
        need_mapping(what, "layouts", self.layouts, expected)
        for each in self.layouts.values():
            need(what, "each layout", each, TableLayout, "TableLayout(rows)")
        object.__setattr__(self, "layouts", frozen_mapping(self.layouts))
        self._check_called(what)

    def _checked_agreements(self, what: str) -> tuple[Agreement, ...]:
        """The agreements, of measures that there are, each rated in another one again."""
        expected = "Agreement(…)"
        agreements = need_several(what, "agreements", self.agreements, Agreement, expected)
        for each in agreements:
            for name in each.governs:
                self.measure(name)
            problem = f"again is {each.again!r}, which has bounds; it must be a text measure"
            bounds = self.measure(each.again).bounds
            forbid(f"Agreement({each.measure!r})", bounds is not None, problem)
        firsts = {each.measure for each in agreements}
        forbid(what, len(firsts) != len(agreements), "a measure has one agreement at most")
        problem = "a second rating cannot be a first one as well"
        forbid(what, firsts & {each.again for each in agreements}, problem)
        return agreements

    def _checked_blind(self, what: str) -> tuple[str, ...]:
        """The factors that the judge must not know; each has a text that would tell its level."""
        blind = need_several(what, "blind", self.blind, str, "names of factors")
        no_judge = blind and self.judge is None
        forbid(what, no_judge, "blind= is about a judge, and there is none")
        for name in blind:
            factor = self.factor(name)
            problem = f"blind={name!r}: it has no exemplars, and no level that is text"
            forbid(what, not any(texts_hidden(factor, level) for level in factor.levels), problem)
        return blind

    def _checked_figures(self, what: str) -> tuple[Figure, ...]:
        """The figures; each shows measures and factors of the experiment."""
        expected = "Heatmap(…) or Means(…)"
        figures = need_several(what, "figures", self.figures, (Heatmap, Means), expected)
        for figure in figures:
            if figure.measure != MISSING:
                self.measure(figure.measure)
            for name in figure.factor_names:
                self.levels(name)
            twice = len({*figure.factor_names}) < len(figure.factor_names)
            shown = f"{type(figure).__name__}({figure.measure!r})"
            forbid(shown, twice, "shows one factor in two ways")
        return figures

    def _check_called(self, what: str) -> None:
        """Refuse what cannot be called as protocols, simulated subjects and exports are."""
        arguments = ["trial", "subject", *(["judge"] if self.judge is not None else [])]
        mend = "" if self.judge is not None else "; a judge comes with judge=Parameters(…)"
        problem = f"protocol must take {len(arguments)} arguments: {', '.join(arguments)}{mend}"
        forbid(what, not takes(self.protocol, len(arguments)), problem)
        need_function(what, "simulated", self.simulated)
        forbid(what, _is_async(self.simulated), "simulated must be a function without async")
        need_function(what, "exports", self.exports)

    def _named_designs(self, what: str) -> dict[str, Design]:
        """The further designs, each called by its name."""
        need_mapping(what, "designs", self.designs, "a mapping, name → Design(…)")
        for name, each in self.designs.items():
            need(what, f"design {name!r}", each, Design, "Design(replicates)")
        forbid(what, GATE in self.designs, "the gate design is given by replicates=")
        # Refuses what is no number of replicates.
        Design(self.replicates, f"{GATE} of {self.id}", controls=self.controls)
        sampled = any(factor.exemplars for factor in self.factors)
        for name, each in self.designs.items():
            problem = f"design {name!r} limits exemplars, and no factor has any"
            forbid(what, each.exemplars is not None and not sampled, problem)
        return {name: replace(design, name=name) for name, design in self.designs.items()}

    def _check_recording(self, what: str) -> None:
        """Refuse what a recording could not be made with."""
        may_drop = need_several(what, "may_drop", self.may_drop, str, "names of parameters")
        for name in sorted({*may_drop} - DROPPABLE):
            raise BadDesign(what=what, problem=f"may_drop names no parameter: {name!r}")
        numbers: dict[str, object] = {"version": self.version}
        numbers |= {} if self.qpm is None else {"qpm": self.qpm}
        for name, number in numbers.items():
            whole = type(number) is int and number >= 1
            forbid(what, not whole, f"{name} must be a whole number from 1 up")
        alpha = ALARMS if self.alpha is None else self.alpha
        valid = type(alpha) in (int, float) and 0 < alpha <= ALARMS
        forbid(what, not valid, f"alpha must be above 0, at most {ALARMS:g}")
        known = get_args(Retention)
        forbid(what, self.retention not in known, f"retention must be one of {', '.join(known)}")
        known = get_args(ReplyPolicy)
        forbid(what, self.replies not in known, "replies must be strict or lenient")
        if self.retention != "raw":
            check_declared(self.measures, self.protocol)
        object.__setattr__(self, "may_drop", may_drop)

    def start(self, trial: Trial, roles: ModelRoles) -> Coroutine[Any, Any, object]:
        """The coroutine of one trial, with who answers in it."""
        terms, lenient = self.terms(roles), self.read_leniently(roles)
        system = roles.subject_system
        subject = Subject(terms["subject"], system=system, lenient="subject" in lenient)
        if self.judge is None:
            return self.protocol(trial, subject)
        judge = Subject(terms["judge"], "judge", lenient="judge" in lenient)
        return self.protocol(trial, subject, judge)

    def terms(self, roles: ModelRoles) -> dict[ModelRole, Parameters]:
        """Return how the subject is asked, and the judge where there is one."""
        subject = self.parameters.filled(roles.subject_defaults)
        if self.judge is None:
            return {"subject": subject}
        return {"subject": subject, "judge": self.judge.filled(roles.judge_defaults)}

    def read_leniently(self, roles: ModelRoles) -> frozenset[ModelRole]:
        """Return whose replies are read leniently, by the experiment or by the roster."""
        return frozenset(get_args(ModelRole)) if self.replies == "lenient" else roles.lenient

    @property
    def instrument(self) -> str:
        """The id as it enters keys: from the second version of the instrument on with its number.

        No id has an ``@``.
        """
        return self.id if self.version == 1 else f"{self.id}@{self.version}"

    def as_read(self, outcomes: Iterable[Outcome]) -> Experiment:
        """The experiment as its trials were read.

        It measures their format if they do, and no optional measure that their table lacks.
        """
        outcomes = tuple(outcomes)
        read = any(outcome.format_kept is not None for outcome in outcomes)
        of = replace(self, replies="lenient") if read and self.replies == "strict" else self
        given = (o for o in outcomes if o.published and not o.missing)
        valid = [o.values for o in given if o.values is not None]
        kept = [m for m in of.measures if not m.optional or all(m.name in v for v in valid)]
        return of if len(kept) == len(of.measures) else replace(of, measures=kept)

    def measured_with(self, roles: ModelRoles) -> tuple[Measure, ...]:
        """The measures of a trial with ``roles``: of what is read leniently its format, too."""
        known = tuple(self.measures)
        read = "subject" in self.read_leniently(roles)
        return (*known, FORMAT) if read and FORMAT not in known else known

    def parameters_text(self, roles: ModelRoles) -> str:
        """Say with which parameters the subject is asked, and after which system prompt."""
        sent = self.terms(roles)["subject"]
        warmth, limit = sent.temperature, sent.max_output_tokens
        words = [
            "the provider's own temperature" if warmth is None else f"temperature {warmth:g}",
            "the provider's own limit" if limit is None else f"at most {limit:,} tokens",
        ]
        if sent.seeded:
            words.append("a seed for each trial")
        if sent.extra:
            words.append(f"and {sent.extra}")
        if roles.subject_system is not None:
            words.append(f"a system prompt of the model's own ({digest(roles.subject_system)})")
        if "subject" in self.read_leniently(roles):
            words.append("replies taken out of what stands around them")
        return ", ".join(words)

    def config_of(self, roles: ModelRoles) -> dict[ModelRole, Config]:
        """Return on what terms the subject is asked, and the judge where there is one."""
        return {who: Config(parameters=terms) for who, terms in self.terms(roles).items()}

    def judged_by(self, roles: ModelRoles) -> str:
        """Name the judge of a trial and its terms, as text that changes with them; '' if none."""
        if self.judge is None:
            return ""
        terms = plain(self.terms(roles)["judge"])
        lenient = ["lenient"] if "judge" in self.read_leniently(roles) else []
        return compact([roles.model("judge"), terms, *lenient])

    def factor(self, name: str) -> Factor:
        """The factor called ``name``; UnknownName if there is none."""
        return _named("factor", name, self.factors)

    def measure(self, name: str) -> Measure:
        """The measure called ``name``; UnknownName if there is none."""
        return _named("measure", name, self.measures)

    def levels(self, name: str) -> tuple[str, ...]:
        """The levels of the factor ``name``, or the labels of the items of that name."""
        crossed = _named("factor", name, self._crossed)
        return tuple(crossed.items if isinstance(crossed, Items) else crossed.levels)

    def control_levels(self, name: str) -> tuple[str, ...]:
        """The control levels of the factor ``name``, or the control items of that name."""
        return tuple(_named("factor", name, self._crossed).controls)

    @property
    def _crossed(self) -> list[Factor | Items]:
        return [*self.factors, *([] if self.items is None else [self.items])]

    def conditions_of(self, design: Design) -> tuple[Condition, ...]:
        """The conditions that have trials under ``design``: those at control levels last."""
        return self.conditions + (self.control_conditions if design.controls else ())

    def design(self, name: str = GATE, replicates: int | None = None) -> Design:
        """The design called ``name``, with another number of replicates where one is given.

        It repeats no control more often than that. Raises BadSetting where it has more than
        :data:`MOST_TRIALS` trials.
        """
        gate = Design(self.replicates, GATE, controls=self.controls)
        designs = {GATE: gate, **self.designs}
        if name not in designs:
            raise UnknownName(kind=f"design of {self.id}", name=name, known=designs)
        if replicates is None or replicates == designs[name].replicates:
            return designs[name]
        one = sum(1 for _ in plan(self, replace(designs[name], replicates=1, controls=0)))
        if one * replicates > MOST_TRIALS:
            problem = f"makes {one * replicates:,} trials of {self.id}"
            hint = f"{MOST_TRIALS // one:,} replicates are the most"
            raise BadSetting(option="replicates", value=replicates, problem=f"{problem}; {hint}")
        called = f"{name}, {replicates} replicates"
        controls = min(designs[name].controls, replicates)
        return replace(designs[name], replicates=replicates, controls=controls, name=called)


@dataclass(frozen=True, slots=True)
class ModelRoles:
    """The subject and the judge of a trial, each as ``provider/model``.

    The defaults are what the roster says of each model; they fill what the experiment leaves open.
    ``subject_system`` is a system prompt the subject is always given. Replies of the ``lenient``
    are read leniently, whatever the experiment says.
    """

    subject: str
    judge: str | None = None
    subject_defaults: Parameters = field(default_factory=Parameters)
    judge_defaults: Parameters = field(default_factory=Parameters)
    subject_system: str | None = field(default=None, repr=False)
    lenient: frozenset[ModelRole] = frozenset()

    def model(self, role: ModelRole) -> str:
        """The model of ``role``; BadDesign for a judge nobody named."""
        if role == "subject":
            return self.subject
        if self.judge is None:
            raise BadDesign(what="judge", problem="no model is named that grades replies")
        return self.judge


def plan(experiment: Experiment, design: Design) -> tuple[Trial, ...]:
    """The trials of ``experiment`` under ``design``: sorted, and the same in every process."""
    return tuple(
        trial
        for condition in experiment.conditions_of(design)
        for trial in plan_condition(experiment, design, condition)
    )


def plan_condition(
    experiment: Experiment, design: Design, condition: Condition
) -> tuple[Trial, ...]:
    """The trials of one condition."""
    return tuple(trials_of(condition, experiment.factors, experiment.items, design))


def plan_all(experiment: Experiment, *designs: Design) -> tuple[Trial, ...]:
    """The trials of ``designs`` and of all that ``experiment`` has, each of them once.

    None of these need hold the others: one may have more replicates, another more exemplars.
    """
    every = (experiment.design(), *experiment.designs.values(), *designs)
    sizes = {(each.replicates, each.exemplars, each.controls): each for each in every}
    trials = {trial.id: trial for each in sizes.values() for trial in plan(experiment, each)}
    return tuple(trials.values())


def _is_async(function: object) -> bool:
    """Return whether calling ``function`` gives a coroutine."""
    called = getattr(function, "__call__", None)  # noqa: B004  (an object whose call is async)
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)


def _named(kind: str, name: str, given: Sequence[Named]) -> Named:
    for thing in given:
        if thing.name == name:
            return thing
    raise UnknownName(kind=kind, name=name, known=[thing.name for thing in given])
