"""The template: a number is estimated after an anchor that is said to be random.

Who is asked evaluates the anchor, evaluates another figure, which is the same for all, and then
estimates: in a conversation of three turns, or all in one prompt. Only the anchor varies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import SimpleNamespace
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, create_model

from pytest_bias import (
    MISSING,
    BadDesign,
    Experiment,
    Factor,
    Human,
    InvalidReply,
    MeanDifference,
    Measure,
    PositiveControl,
    PromptTemplate,
    RateDifference,
    Reply,
    Stimuli,
    Subject,
    Trial,
)

_UNANCHORED = "estimate_unanchored"
_VARIABLES = {
    "anchor": ("vignette", "anchor"),
    "comparison": ("comparison",),
    "estimate": ("low", "high"),
    _UNANCHORED: ("low", "high"),
    "all_in_one": ("vignette", "anchor", "comparison", "estimate"),
}


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
        (the third, with ``$low`` and ``$high``, the ``bounds``; it names the four keys of the
        reply), ``all_in_one.txt`` with ``$vignette``, ``$anchor``, ``$comparison`` and
        ``$estimate``; with an anchor of None ``estimate_unanchored.txt``, which has the bounds and
        two keys. A dollar sign is written ``$$``.
    anchors
        Label → anchor, at least two; None is an arm without one.
    comparison
        The other figure, as prompts show it.
    bounds
        The smallest and the largest number that is taken as an answer; prompt and reply schema
        name both.
    unit
        Unit of anchors and answers, in print.
    echo, anchor_evaluation, comparison_evaluation, estimate
        The four parts of the reply, which asks for them in this order. The echo must be the
        condition's anchor; measured is how the first reply that could be read repeated it, or the
        nearer end of the scale of anchors and answers where that lies beyond.
    evaluations
        The three words of an evaluation: of too low a figure, of a right one, of too high a one.
    factor
        Name of the factor whose levels are the anchors.
    whole
        Whether answers and anchors are whole numbers.
    form
        How prompts show anchors and bounds (``","``: 80,000), as Python formats numbers.
    controls
        Label → another case, with a ``vignette`` file of its own.
    spread
        Standard deviation of the estimates after one anchor that a plan counts on.

    Raises
    ------
    BadDesign
        For anchors that are not two different numbers or more, bounds that do not rise, words or
        names that are not different.
    BadData
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
    spread: float | None = None
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
        for name in ("vignette", *cases, *_VARIABLES):
            if (self.stimuli.folder / f"{name}.txt").exists():
                self._text(name)  # what is wrong with it shows at import

    def experiment(
        self, *, at_once: bool = False, metadata: Mapping[str, object], **given: Any
    ) -> Experiment:
        """Return an experiment of this; ``given`` are its id, name and what else it has.

        ``at_once``: all is asked in one prompt. Raises BadData for a text that is not there,
        BadDesign for one that asks for other keys.
        """
        bare = (_UNANCHORED,) if None in self.anchors.values() else ()
        cases = (each.vignette for each in self.controls.values())
        steps = ("all_in_one",) if at_once else ("anchor", "comparison", *bare)
        for name in ("vignette", "estimate", *steps, *cases):
            self._text(name)
        if at_once and bare:
            problem = "all in one prompt there is no arm without an anchor"
            raise BadDesign(what=f"Anchoring({self.estimate.name!r})", problem=problem)
        self._check_keys("estimate", self.anchored)
        for name in bare:
            self._check_keys(name, self.unanchored)
        low, high = self.bounds
        kind = "integer" if self.whole else "number"
        return Experiment(
            factors=[self.levels],
            protocol=self.at_once if at_once else self.in_turns,
            measures=self.measures,
            metadata={"response_type": f"{kind}, {self.unit}, {low:g} to {high:g}", **metadata},
            **given,
        )

    def _check_keys(self, name: str, reply: type[BaseModel]) -> None:
        """Refuse a text that does not ask for the keys of ``reply``, in their order."""
        text = self._text(name).text
        keys = [str(field.alias) for field in reply.model_fields.values()]
        places = [text.find(f'"{key}"') for key in keys]
        problem = ""
        if -1 in places:
            problem = f'{name}.txt does not ask for the key "{keys[places.index(-1)]}"'
        elif places != sorted(places):
            problem = f"{name}.txt asks for keys in another order than {', '.join(keys)}"
        if problem:
            raise BadDesign(what=f"Anchoring({self.estimate.name!r})", problem=problem)

    @property
    def levels(self) -> Factor:
        """The factor: the anchors, and the control cases."""
        told = {label: each.told for label, each in self.controls.items()}
        return Factor(self.factor, self.anchors, unit=self.unit, controls=told)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The estimate, both evaluations, that of the anchor from -1 to 1, and the echo.

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
            spread=self.spread,
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
        echo = Measure(
            self.echo.name,
            unit=self.unit,
            bounds=self._span,
            integer=self.whole,
            optional=True,
            meaning=self.echo.meaning,
        )
        anchor, comparison = map(evaluation, (self.anchor_evaluation, self.comparison_evaluation))
        return estimate, anchor, comparison, ordinal, echo

    # --- what is asked of the replies -----------------------------------------------------------

    def _label(self, choose: Callable[[Iterable[float]], float]) -> str:
        """Return the label of the highest or the lowest anchor."""
        known = {each: label for label, each in self.anchors.items() if each is not None}
        return known[choose(known)]

    def moved(
        self, *, margin: float, why: str, scope: str, human: Human | None = None
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
        """Return the hypothesis that the anchor does not decide whether there is a valid reply.

        It finds differences beyond the margin.
        """
        return RateDifference(
            MISSING,
            self.factor,
            high=self._label(max),
            low=self._label(min),
            margin=margin,
            why=why,
            null="margin",
            claim="detect",
            scope=scope,
            family="refusals",
        )

    def read(self, *, if_not_seen: str, scope: str) -> PositiveControl:
        """Return the control that a higher anchor is repeated as higher, at the first attempt.

        It licenses the estimate. ``if_not_seen`` is what it means for a model that it is not seen.
        """
        return self._follows(self.echo.name, if_not_seen=if_not_seen, scope=scope)

    def evaluated(self, *, if_not_seen: str, scope: str) -> PositiveControl:
        """Return the control that a higher anchor is evaluated as higher.

        It licenses the estimate. ``if_not_seen`` is what it means for a model that it is not seen.
        """
        ordinal = f"{self.anchor_evaluation.name}_ordinal"
        return self._follows(ordinal, if_not_seen=if_not_seen, scope=scope)

    def _follows(self, measure: str, *, if_not_seen: str, scope: str) -> PositiveControl:
        seen = MeanDifference(
            measure, self.factor, high=self._label(max), low=self._label(min), scope=scope
        )
        return PositiveControl(
            seen, licenses=(measure, self.estimate.name), if_not_seen=if_not_seen
        )

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
            last = self._question(_UNANCHORED)
            return (await subject.ask(last, after=heard, reply=self.unanchored)).value
        shown = format(anchor, self.form)
        accused = await subject.ask(self._text("anchor").fill(vignette=vignette, anchor=shown))
        heard = await subject.ask(comparison, after=accused)
        return await self._answered(subject, self._question("estimate"), anchor, heard)

    async def at_once(self, trial: Trial, subject: Subject) -> object:
        """Ask for all three steps in one prompt."""
        vignette, anchor = self.case_of(trial[self.factor])
        told = self._text("all_in_one").fill(
            vignette=vignette,
            anchor=format(anchor, self.form),
            comparison=self.comparison,
            estimate=self._question("estimate"),
        )
        return await self._answered(subject, told, anchor)

    async def _answered(
        self, subject: Subject, told: str, anchor: float, after: Reply[str] | None = None
    ) -> object:
        """Ask for the reply after an anchor: its parts, but of the echo the first there was.

        A reply that repeats another anchor than its condition stated is asked for again, so that
        the echo of the valid reply says nothing of whether the anchor was read.
        """
        echoes: list[float] = []

        def echoes_the_anchor(reply: BaseModel) -> None:
            echoes.append(getattr(reply, self.echo.name))
            if echoes[-1] != anchor:
                raise InvalidReply("wrong_echo", self.echo.key)

        found = await subject.ask(told, after=after, reply=self.anchored, check=echoes_the_anchor)
        least, most = self._span
        echo = min(max(echoes[0], least), most)
        return SimpleNamespace(**{**dict(found.value), self.echo.name: echo})

    @property
    def _span(self) -> tuple[float, float]:
        """The scale of echoes: answers and all anchors; what lies beyond counts as its end."""
        numbers = [each for each in self.anchors.values() if each is not None]
        numbers += [*self.bounds, *(each.anchor for each in self.controls.values())]
        return min(numbers), max(numbers)

    def _question(self, name: str) -> str:
        """Return the question for the estimate, which names the bounds."""
        low, high = (format(bound, self.form) for bound in self.bounds)
        return self._text(name).fill(low=low, high=high)

    def _text(self, name: str) -> PromptTemplate:
        """Return a text of the case, read once."""
        if name not in self._texts:
            self._texts[name] = self.stimuli.template(name, *_VARIABLES.get(name, ()))
        return self._texts[name]

    @cached_property
    def anchored(self) -> type[BaseModel]:
        """The reply after an anchor: exactly four keys, in the order of the prompt."""
        echoed = int if self.whole else float
        parts = {self.echo: echoed, self.anchor_evaluation: self._words}
        return _exactly("Ruling", {**parts, **self._without_anchor})

    @cached_property
    def unanchored(self) -> type[BaseModel]:
        """The reply where there is no anchor: exactly two keys."""
        return _exactly("Unanchored", self._without_anchor)

    @property
    def _without_anchor(self) -> dict[Part, object]:
        """The parts that every reply has, and what each holds."""
        low, high = self.bounds
        number: Any = int if self.whole else float
        bounded: Any = Annotated[number, Field(ge=low, le=high)]
        return {self.comparison_evaluation: self._words, self.estimate: bounded}

    @property
    def _words(self) -> object:
        low, right, high = self.evaluations
        return Literal[low, high, right]


def _exactly(name: str, parts: Mapping[Part, object]) -> type[BaseModel]:
    """Return the model of a reply that has these parts alone."""
    fields: Any = {part.name: (kind, Field(alias=part.key)) for part, kind in parts.items()}
    return create_model(name, __config__=ConfigDict(extra="forbid", frozen=True), **fields)
