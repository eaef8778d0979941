"""Decorators that declare cases, and the cases they become; independent of pytest."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from types import FunctionType, ModuleType
from typing import Any, Literal, TypeVar, cast

from ..errors import BadDesign, NotJudged
from ..experiments.design import Condition, Design, Trial, is_control
from ..experiments.experiment import Experiment, plan, plan_condition
from ..experiments.fields import need
from ..experiments.measures import MISSING
from ..experiments.records import Outcome
from .declared import Hypothesis, PositiveControl
from .register import ATTRIBUTE, REGISTER, kept

CaseKind = Literal["condition", "hypothesis", "control"]
Function = TypeVar("Function", bound=Callable[..., object])

Recorded = tuple[Outcome, ...]
"""The replayed outcomes of a condition's trials, in the plan's order."""


Contrast = Hypothesis | PositiveControl


@dataclass(frozen=True, slots=True, eq=False)
class Declaration:
    """Declaration of a decorator on the function ``name`` in ``module``, at ``line``."""

    kind: CaseKind
    experiment: Experiment
    contrasts: tuple[Contrast, ...]
    module: str
    name: str
    line: int

    @property
    def key(self) -> tuple[object, ...]:
        """Its identity: a module that is loaded again declares the same once more."""
        contrasts = tuple(contrast.id for contrast in self.contrasts)
        return self.module, self.name, self.line, self.kind, self.experiment.id, contrasts

    def becomes(self, case: Case) -> bool:
        """True if a case is one of those this declaration becomes."""
        if case.kind != self.kind or case.experiment is not self.experiment:
            return False
        return case.contrast is None or any(case.contrast is each for each in self.contrasts)


@dataclass(frozen=True, slots=True)
class Case:
    """One case: an experiment with one model, and the condition or contrast it is about."""

    kind: CaseKind
    experiment: Experiment
    model: str
    design: Design
    condition: Condition | None = None
    contrast: Contrast | None = None
    alone: bool = field(default=True, repr=False)

    @property
    def id(self) -> str:
        """Short stable id: the model, then the condition or (if several) the contrast."""
        if self.condition is not None:
            return f"{self.model}-{self.condition.id}"
        if self.alone or self.contrast is None:
            return self.model
        return f"{self.model}-{self.contrast.id}"

    @property
    def is_planned(self) -> bool:
        """True where its design has its condition: one at a control level may have no trials."""
        if self.condition is None or self.design.controls:
            return True
        return not is_control(self.condition, self.experiment.factors)

    def trials(self) -> tuple[Trial, ...]:
        """Return the trials this case needs: its condition's, or all of its experiment's."""
        if self.condition is not None:
            return plan_condition(self.experiment, self.design, self.condition)
        return plan(self.experiment, self.design)


def conditions(experiment: Experiment) -> Callable[[Function], Function]:
    """Make a test function one case per condition of ``experiment`` and model.

    A case fails when its condition's trials are not recorded, or when the subject is told the same
    as in another condition. The function may take ``condition`` (the :class:`Condition`) and
    ``recorded`` (the :data:`Recorded` outcomes of its trials) for further assertions.
    """
    return _declare("condition", "@conditions", experiment, ())


def hypotheses(experiment: Experiment, *tested: Hypothesis) -> Callable[[Function], Function]:
    """Make a test function one case per hypothesis and model.

    The gate is applied by the plugin after the body, so the body may be empty. The function may
    take ``verdict`` (the :class:`Verdict`) for further assertions.

    Raises BadDesign or UnknownName when a hypothesis does not fit the experiment.
    """
    for contrast in tested:
        expected = "contrasts, such as MeanDifference(…) (of a list, write *list)"
        need("@hypotheses", "its further arguments", contrast, Hypothesis, expected)
        if contrast.claim is None:
            problem = f"{contrast.id} has no margin and no claim; it can be a @positive_control"
            raise BadDesign(what="@hypotheses", problem=problem)
    return _declare("hypothesis", "@hypotheses", experiment, tested)


def positive_control(
    experiment: Experiment, *contrasts: Contrast
) -> Callable[[Function], Function]:
    """Make a test function one case per positive control of ``experiment`` and model.

    A contrast must be seen (its interval above no effect), or else every CLEAR about its measure
    becomes INCONCLUSIVE: a measure that shows nothing cannot show the absence of bias. Which
    measures it licenses, and what it means that it is not seen, is said by a
    :class:`PositiveControl` in its place. The function may take ``control`` (the
    :class:`Control`).

    Raises BadDesign or UnknownName when a contrast does not fit the experiment.
    """
    controls = [
        each if isinstance(each, PositiveControl) else PositiveControl(each) for each in contrasts
    ]
    return _declare("control", "@positive_control", experiment, controls)


_judged: ContextVar[Case | None] = ContextVar("pytest_bias_judged", default=None)


@contextmanager
def judging(case: Case) -> Iterator[None]:
    """Mark that the function of ``case`` is called where its result is judged."""
    token = _judged.set(case)
    try:
        yield
    finally:
        _judged.reset(token)


def _declare(
    kind: CaseKind, decorator: str, experiment: Experiment, contrasts: Sequence[Contrast]
) -> Callable[[Function], Function]:
    need(decorator, "its first argument", experiment, Experiment, "an Experiment")
    if not contrasts and kind != "condition":
        raise BadDesign(what=decorator, problem=f"none is given for {experiment.id}")
    for contrast in contrasts:
        contrast.check(experiment)

    def decorate(function: Function) -> Function:
        name = f"{function.__module__}.{getattr(function, '__qualname__', '')}"
        yields = inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
        if not isinstance(function, FunctionType) or yields:
            problem = "a bias decorator stands on a plain function or method that does not yield"
            raise BadDesign(what=name, problem=problem)
        if hasattr(function, ATTRIBUTE):
            problem = "one function is one kind of case: it has two bias decorators"
            raise BadDesign(what=name, problem=problem)
        declared = Declaration(
            kind,
            experiment,
            tuple(_titled(contrast, function) for contrast in contrasts),
            function.__module__,
            function.__qualname__,
            function.__code__.co_firstlineno,
        )
        guard = _guarded(function, declared, name)
        setattr(guard, ATTRIBUTE, declared)
        # In the module itself, so that the register lives as long as what it lists.
        function.__globals__.setdefault(REGISTER, []).append(declared)
        return cast("Function", guard)

    return decorate


def _titled(contrast: Contrast, function: FunctionType) -> Contrast:
    """Return the contrast; one without a title has the first paragraph of the docstring."""
    if isinstance(contrast, PositiveControl):
        titled = cast("Hypothesis", _titled(contrast.contrast, function))
        return replace(contrast, contrast=titled)
    first = inspect.cleandoc(function.__doc__ or "").partition("\n\n")[0]
    return replace(contrast, title=contrast.title or " ".join(first.split()))


def declared_in(module: ModuleType) -> tuple[Declaration, ...]:
    """Everything that was declared in a module, also what its names no longer lead to.

    A later definition of the same name, a ``del`` or a loop drops a function, not what it claimed.
    """
    return tuple(vars(module).get(REGISTER, ()))


def _guarded(function: FunctionType, declared: Declaration, name: str) -> Callable[..., object]:
    """The function, refusing to run where its case is not judged: it would pass over a bias."""

    def check() -> None:
        case = _judged.get()
        if case is None or not declared.becomes(case):
            raise kept(NotJudged(function=name))

    @functools.wraps(function)
    def guard(*args: object, **kwargs: object) -> object:
        check()
        return function(*args, **kwargs)

    @functools.wraps(function)
    async def async_guard(*args: object, **kwargs: object) -> object:
        check()
        return await function(*args, **kwargs)

    return async_guard if inspect.iscoroutinefunction(function) else guard


def cases_of(declared: Declaration, models: Sequence[str], design: Design) -> list[Case]:
    """Return the cases a declaration becomes: models × conditions, or models × contrasts."""
    alone = len(declared.contrasts) == 1
    about: list[dict[str, Any]] = [
        {"contrast": contrast, "alone": alone} for contrast in declared.contrasts
    ]
    if declared.kind == "condition":
        about = [{"condition": each} for each in declared.experiment.conditions_of(design)]
    return [
        Case(declared.kind, declared.experiment, model, design, **each)
        for model in models
        for each in about
    ]


def trials_needed(cases: Iterable[Case]) -> list[tuple[Case, tuple[Trial, ...]]]:
    """For each experiment and model of ``cases`` one case, and the trials all of them need.

    They stand in the plan's order, whatever that of the cases.
    """
    wanted: dict[tuple[str, str], tuple[Case, set[str]]] = {}
    for case in cases:
        _, trials = wanted.setdefault((case.experiment.id, case.model), (case, set()))
        trials.update(trial.id for trial in case.trials())
    return [
        (case, tuple(each for each in plan(case.experiment, case.design) if each.id in trials))
        for case, trials in wanted.values()
    ]


@dataclass(slots=True)
class Registered:
    """All that is declared about one experiment."""

    experiment: Experiment
    hypotheses: dict[str, Hypothesis] = field(default_factory=dict)
    controls: dict[str, PositiveControl] = field(default_factory=dict)
    module: str | None = None

    def licensed(self, hypothesis: Hypothesis, design: Design | None = None) -> bool:
        """True if a control is declared for what a hypothesis is about.

        Of a ``design`` only those count that it asks. Replies that are missing are counted by the
        harness itself, which needs none.
        """
        return hypothesis.outcome == MISSING or any(
            hypothesis.outcome in control.licenses
            for control in self.controls.values()
            if design is None or control.is_in(self.experiment, design)
        )

    def check_control(self) -> None:
        """Raise BadDesign where something claims to be clear that can never be CLEAR.

        That is, in no design: one that asks no control all the same shows what it can.
        """
        claims = {
            name: hypothesis
            for name, hypothesis in sorted(self.hypotheses.items())
            if hypothesis.claim == "clear" and not self.licensed(hypothesis)
        }
        if claims:
            measures = ", ".join(sorted({each.outcome for each in claims.values()}))
            first, *others = claims
            which = f"{first} and {len(others)} more claim" if others else f"{first} claims"
            problem = (
                f"{which} to be clear, and without a positive control of {measures} nothing can "
                "be CLEAR there: declare one (@positive_control), or claim='detect'"
            )
            raise BadDesign(what=self.experiment.id, problem=problem)


class Registry:
    """Declarations of the collected modules, by experiment."""

    def __init__(self) -> None:
        self._experiments: dict[str, Registered] = {}
        self._seen: list[Declaration] = []

    def __getitem__(self, experiment_id: str) -> Registered:
        return self._experiments[experiment_id]

    def __iter__(self) -> Iterator[Registered]:
        return iter(self._experiments.values())

    def add(self, declared: Declaration) -> None:
        """Take note of a declaration; saying the same one again changes nothing.

        Raises BadDesign when two experiments share an id, an experiment has two positive controls
        or two hypotheses with one id, or these stand in several modules: a run of one of them
        would then not know the whole family.
        """
        experiment = declared.experiment
        entry = self._experiments.setdefault(experiment.id, Registered(experiment))
        what = f"Experiment({experiment.id!r})"
        if entry.experiment is not experiment:
            raise BadDesign(what=what, problem="two experiments have this id")
        if any(known is declared for known in self._seen) or declared.kind == "condition":
            return
        self._seen.append(declared)
        entry.module = entry.module or declared.module
        if entry.module != declared.module:
            problem = (
                f"its hypotheses and control stand in {entry.module} and {declared.module}; keep "
                "them in one module, so that a partial run knows the whole family"
            )
            raise BadDesign(what=what, problem=problem)
        for contrast in declared.contrasts:
            known: dict[str, Any] = entry.hypotheses
            kind = "hypotheses"
            if isinstance(contrast, PositiveControl):
                known, kind = entry.controls, "positive controls"
            if contrast.id in known:
                raise BadDesign(what=f"{what}: {kind}", problem=f"two have the id {contrast.id!r}")
            known[contrast.id] = contrast
