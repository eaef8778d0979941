"""The template: a number is estimated after an anchor that is said to be random.

Who is asked evaluates the anchor, evaluates another figure, which is the same for all, and then
estimates: in a conversation of three turns, or all in one prompt. Only the anchor varies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, create_model

from pytest_bias import (
    MISSING,
    BadDesign,
    Experiment,
    Factor,
    HumanStudy,
    InvalidReply,
    MeanDifference,
    Measure,
    PositiveControl,
    PromptTemplate,
    RateDifference,
    Stimuli,
    Subject,
    Trial,
    Within,
)

_VARIABLES = {
    "anchor": ("vignette", "anchor"),
    "comparison": ("comparison",),
    "all_in_one": ("vignette", "anchor", "comparison", "estimate"),
}
_UNANCHORED = "estimate_unanchored"


class Part(NamedTuple):
    """A part of the reply: its name as a measure, its key in the reply, and what it means."""

    name: str
    key: str
    meaning: str = ""


class ControlCase(NamedTuple):
    """Another case, for a control: how its level is told, its vignette's file, its anchor."""

    told: str
    vignette: str
    anchor: float


@dataclass(frozen=True, kw_only=True)
class Anchoring:
    """A case, anchors, and the number that is asked for; the parts of an experiment follow.

    Parameters
    ----------
    stimuli
        The texts: ``vignette.txt`` (the case), ``anchor.txt`` with ``$vignette`` and ``$anchor``
        (the first turn), ``comparison.txt`` with ``$comparison`` (the second), ``estimate.txt``
        (the third, which names the four keys of the reply), ``all_in_one.txt`` with all four
        variables; with an anchor of None ``estimate_unanchored.txt``, which names two keys. A
        dollar sign is written ``$$``. No text should name ``bounds``: a range is itself an anchor.
    anchors
        Label → anchor, at least two; None is an arm without one.
    comparison
        The other figure, as prompts show it.
    bounds
        The smallest and the largest number that is taken as an answer.
    unit
        Unit of anchors and answers, in print.
    echo, anchor_evaluation, comparison_evaluation, estimate
        The four parts of the reply. The echo must be the condition's anchor, and is no measure.
    evaluations
        The three words of an evaluation: of too low a figure, of a right one, of too high a one.
    factor
        Name of the factor whose levels are the anchors.
    whole
        Whether answers and anchors are whole numbers.
    form
        How prompts show an anchor (``","``: 80,000), as Python formats numbers.
    controls
        Label → another case, with a ``vignette`` file of its own.

    Raises
    ------
    BadDesign
        For anchors that are not two different numbers or more, bounds that do not rise, words or
        names that are not different.
    BadTemplate
        For a text that lacks a variable or has one too many.
    """

    stimuli: Stimuli = field(repr=False)
    anchors: Mapping[str, float | None]
    comparison: str
    bounds: tuple[float, float]
    unit: str
    echo: Part
    anchor_evaluation: Part
    comparison_evaluation: Part
    estimate: Part
    evaluations: tuple[str, str, str] = ("too low", "just right", "too high")
    factor: str = "anchor"
    whole: bool = True
    form: str = ""
    controls: Mapping[str, ControlCase] = field(default_factory=dict)
    _texts: dict[str, PromptTemplate] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        parts = (self.echo, self.anchor_evaluation, self.comparison_evaluation, self.estimate)
        numbers = [each for each in self.anchors.values() if each is not None]
        kinds = (int,) if self.whole else (int, float)
        whole = "whole " if self.whole else ""
        for wrong, problem in (
            (len(set(numbers)) < 2, "needs two different anchors or more"),  # noqa: PLR2004
            (len(set(numbers)) < len(numbers), "two anchors are the same number"),
            (
                any(type(each) not in kinds for each in (*numbers, *self.bounds)),
                f"anchors and bounds must be {whole}numbers",
            ),
            (not self.bounds[0] < self.bounds[1], "bounds must rise"),
            (len({*self.evaluations}) != 3, "needs three different words of evaluation"),  # noqa: PLR2004
            (len({p.key for p in parts}) < len(parts), "two parts have one key"),
            (len({p.name for p in parts}) < len(parts), "two parts have one name"),
        ):
            if wrong:
                raise BadDesign(what=f"Anchoring({self.estimate.name!r})", problem=problem)
        cases = (each.vignette for each in self.controls.values())
        for name in ("vignette", "estimate", *cases, *_VARIABLES, _UNANCHORED):
            if (self.stimuli.folder / f"{name}.txt").exists():
                self._text(name)  # what is wrong with it shows at import

    def experiment(
        self, *, at_once: bool = False, metadata: Mapping[str, object], **given: Any
    ) -> Experiment:
        """Return an experiment of this; ``given`` are its id, name and what else it has.

        ``at_once``: all is asked in one prompt. Raises BadStimuli for a text that is not there,
        BadDesign for one that asks for other keys.
        """
        bare = (_UNANCHORED,) if None in self.anchors.values() else ()
        cases = (each.vignette for each in self.controls.values())
        steps = ("all_in_one",) if at_once else ("anchor", "comparison", *bare)
        for name in ("vignette", "estimate", *steps, *cases):
            self._text(name)
        parts = (self.echo, self.anchor_evaluation, self.comparison_evaluation, self.estimate)
        unnamed = [p.key for p in parts if f'"{p.key}"' not in self._text("estimate").text]
        if unnamed:
            problem = f'estimate.txt does not ask for the key "{unnamed[0]}"'
            raise BadDesign(what=f"Anchoring({self.estimate.name!r})", problem=problem)
        if at_once and bare:
            problem = "all in one prompt there is no arm without an anchor"
            raise BadDesign(what=f"Anchoring({self.estimate.name!r})", problem=problem)
        low, high = self.bounds
        kind = "integer" if self.whole else "number"
        return Experiment(
            factors=[self.levels],
            protocol=self.at_once if at_once else self.in_turns,
            measures=self.measures,
            metadata={"response_type": f"{kind}, {self.unit}, {low:g} to {high:g}", **metadata},
            **given,
        )

    @property
    def levels(self) -> Factor:
        """The factor: the anchors, and the control cases."""
        told = {label: each.told for label, each in self.controls.items()}
        return Factor(self.factor, self.anchors, unit=self.unit, controls=told)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The estimate, both evaluations, and that of the anchor as a number from -1 to 1.

        Of an arm without an anchor there are the estimate and the evaluation of the comparison.
        """
        words, name = self.evaluations, self.anchor_evaluation.name

        def evaluation(of: Part) -> Measure:
            return Measure(of.name, meaning=of.meaning, categories=words)

        estimate = Measure(
            self.estimate.name,
            unit=self.unit,
            bounds=self.bounds,
            integer=self.whole,
            meaning=self.estimate.meaning,
        )
        if None in self.anchors.values():
            return estimate, evaluation(self.comparison_evaluation)
        low, right, high = words
        ordinal = Measure(
            f"{name}_ordinal",
            lambda reply: float(words.index(getattr(reply, name)) - 1),
            bounds=(-1, 1),
            meaning=f"{self.anchor_evaluation.meaning}: -1 {low}, 0 {right}, 1 {high}",
        )
        anchor, comparison = map(evaluation, (self.anchor_evaluation, self.comparison_evaluation))
        return estimate, anchor, comparison, ordinal

    # --- what is asked of the replies -----------------------------------------------------------

    def _label(self, choose: Callable[[Iterable[float]], float]) -> str:
        """Return the label of the highest or the lowest anchor."""
        known = {each: label for label, each in self.anchors.items() if each is not None}
        return known[choose(known)]

    def moved(
        self, *, margin: float, why: str, scope: str, human: HumanStudy | None = None
    ) -> MeanDifference:
        """Return the primary hypothesis: the anchor does not move the estimate by ``margin``.

        A tenth of what the two anchors differ by is an anchoring index of .10.
        """
        return MeanDifference(
            self.estimate.name,
            self.factor,
            high=self._label(max),
            low=self._label(min),
            margin=margin,
            why=why,
            claim="clear",
            scope=scope,
            direction="positive",
            human=human,
        )

    def unanswered(self, *, margin: float, why: str, scope: str) -> RateDifference:
        """Return the hypothesis that the anchor does not decide whether there is a valid reply."""
        return RateDifference(
            MISSING,
            self.factor,
            high=self._label(max),
            low=self._label(min),
            margin=margin,
            why=why,
            claim="clear",
            scope=scope,
            family="refusals",
        )

    def heard(self, *, unseen: str, scope: str) -> PositiveControl:
        """Return the control that a higher anchor is evaluated as higher.

        It licenses the estimate. ``unseen`` is what it means for a model that it is not seen.
        """
        ordinal = f"{self.anchor_evaluation.name}_ordinal"
        seen = MeanDifference(
            ordinal, self.factor, high=self._label(max), low=self._label(min), scope=scope
        )
        return PositiveControl(seen, licenses=(ordinal, self.estimate.name), unseen=unseen)

    # --- the protocols --------------------------------------------------------------------------

    def case_of(self, level: object) -> tuple[str, Any]:
        """Return the vignette and the anchor of a level: at a control level both are its own."""
        for each in self.controls.values():
            if level == each.told:
                return self._text(each.vignette).fill(), each.anchor
        return self._text("vignette").fill(), level

    async def in_turns(self, trial: Trial, subject: Subject) -> object:
        """Ask in a conversation of three turns; without an anchor it begins with the second."""
        vignette, anchor = self.case_of(trial[self.factor])
        comparison = self._text("comparison").fill(comparison=self.comparison)
        if anchor is None:
            heard = await subject.ask(f"{vignette}\n\n{comparison}")
            last = self._text(_UNANCHORED).fill()
            return (await subject.ask(last, after=heard, reply=self.unanchored)).value
        shown = format(anchor, self.form)
        accused = await subject.ask(self._text("anchor").fill(vignette=vignette, anchor=shown))
        heard = await subject.ask(comparison, after=accused)
        last, check = self._text("estimate").fill(), self._echoed(anchor)
        return (await subject.ask(last, after=heard, reply=self.anchored, check=check)).value

    async def at_once(self, trial: Trial, subject: Subject) -> object:
        """Ask for all three steps in one prompt."""
        vignette, anchor = self.case_of(trial[self.factor])
        told = self._text("all_in_one").fill(
            vignette=vignette,
            anchor=format(anchor, self.form),
            comparison=self.comparison,
            estimate=self._text("estimate").fill(),
        )
        return (await subject.ask(told, reply=self.anchored, check=self._echoed(anchor))).value

    def _echoed(self, anchor: float) -> Callable[[BaseModel], None]:
        """Return the check that a reply repeats the anchor its condition stated."""

        def echoes_the_anchor(reply: BaseModel) -> None:
            if getattr(reply, self.echo.name) != anchor:
                raise InvalidReply("wrong_echo", self.echo.key)

        return echoes_the_anchor

    def _text(self, name: str) -> PromptTemplate:
        """Return a text of the case, read once."""
        if name not in self._texts:
            self._texts[name] = self.stimuli.template(name, *_VARIABLES.get(name, ()))
        return self._texts[name]

    @cached_property
    def unanchored(self) -> type[BaseModel]:
        """The reply where there is no anchor: exactly two keys."""
        answer: Any = Annotated[float, Within(*self.bounds)]
        if self.whole:
            answer = Annotated[int, Within(*self.bounds)]
        return create_model(
            "Unanchored",
            __config__=ConfigDict(extra="forbid", frozen=True),
            **self._fields({self.comparison_evaluation: self._words, self.estimate: answer}),
        )

    @cached_property
    def anchored(self) -> type[BaseModel]:
        """The reply after an anchor: exactly four keys."""
        echoed = int if self.whole else float
        fields = self._fields({self.echo: echoed, self.anchor_evaluation: self._words})
        return create_model("Ruling", __base__=self.unanchored, **fields)

    @property
    def _words(self) -> object:
        low, right, high = self.evaluations
        return Literal[low, high, right]

    def _fields(self, kinds: Mapping[Part, object]) -> dict[str, Any]:
        return {part.name: (kind, Field(alias=part.key)) for part, kind in kinds.items()}
