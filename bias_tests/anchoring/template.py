"""The templates of anchoring experiments: a vignette, anchors and questions in, an experiment out.

A judge hears a prosecutor's demand and evaluates it, hears the defence attorney's demand and
evaluates it, then decides: in a conversation of three turns, or all in one prompt. Only the
prosecutor's demand, the anchor, varies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

from pytest_bias import (
    Design,
    Experiment,
    Factor,
    InvalidReply,
    Measure,
    Parameters,
    PromptTemplate,
    SimulatedAnswer,
    Subject,
    Trial,
)

Evaluation = Literal["too low", "too high", "just right"]

LONGEST = 12
"""Longest sentence in months that is taken as an answer. No prompt and no reply schema names it:
a stated range is itself an anchor."""

NO_DEMAND = "none"
"""Level of the opt-in arm in which no prosecutor speaks."""


class Unanchored(BaseModel):
    """The reply where no prosecutor has made a demand: exactly these two keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    defence_evaluation: Evaluation = Field(alias="defenseAttorneyEvaluation")
    sentence_months: int = Field(alias="sentenceMonths")

    @field_validator("sentence_months")
    @classmethod
    def _possible(cls, months: int) -> int:
        # A validator and not a bound of the field: bounds would go into the schema models see.
        if not 0 <= months <= LONGEST:
            raise PydanticCustomError("out_of_range", "not a possible sentence")
        return months


class Ruling(Unanchored):
    """The judge's final reply: exactly these four keys."""

    prosecutor_months: int = Field(alias="prosecutorRecommendationMonths")
    prosecutor_evaluation: Evaluation = Field(alias="prosecutorEvaluation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """The stimuli, as text with ``$variables``.

    ``vignette`` has none; ``prosecutor`` uses ``$vignette`` and ``$demand`` (months), ``defence``
    uses ``$defence`` (an amount of time in words); ``sentence`` and ``sentence_unanchored`` have
    none.
    """

    vignette: str
    prosecutor: str
    defence: str
    sentence: str
    sentence_unanchored: str


def anchoring_experiment(  # noqa: PLR0913  (each is a part of the experiment a reader should see)
    *,
    id: str,  # noqa: A002  (the experiment's own word)
    name: str,
    anchors: Mapping[str, int],
    defence_demand: str,
    questions: Questions,
    source: str,
    metadata: Mapping[str, object],
    replicates: int,
    designs: Mapping[str, Design],
    simulated: SimulatedAnswer | None = None,
    control_arm: bool = False,
) -> Experiment:
    """Make an anchoring experiment.

    Parameters
    ----------
    id, name, source, metadata, replicates, designs, simulated
        As for :class:`pytest_bias.Experiment`.
    anchors
        Label of each level → the prosecutor's demand in months.
    defence_demand
        The defence attorney's demand, the same in every condition ("1 month").
    questions
        The stimuli.
    control_arm
        Adds a condition ``none`` in which no prosecutor speaks. It is off by default, so that N
        replicates of two anchors are 2 N trials.

    Raises
    ------
    BadTemplate
        When a stimulus uses a variable that does not exist, or leaves one unused.
    """
    vignette = PromptTemplate("vignette", questions.vignette).fill().strip()
    prosecutor = PromptTemplate("prosecutor", questions.prosecutor, {"vignette", "demand"})
    defence = PromptTemplate("defence", questions.defence, {"defence"})
    sentence = PromptTemplate("sentence", questions.sentence).fill().strip()
    unanchored = PromptTemplate("sentence_unanchored", questions.sentence_unanchored).fill()
    plea = defence.fill(defence=defence_demand).strip()

    async def rule(trial: Trial, subject: Subject) -> Unanchored:
        demand = trial["demand"]
        if demand is None:
            heard = await subject.ask(f"{vignette}\n\n{plea}")
            return (await subject.ask(unanchored.strip(), after=heard, reply=Unanchored)).value
        accused = await subject.ask(prosecutor.fill(vignette=vignette, demand=demand).strip())
        heard = await subject.ask(plea, after=accused)
        final = await subject.ask(sentence, after=heard, reply=Ruling, check=_echo(demand))
        return final.value

    levels: dict[str, object] = dict(anchors)
    if control_arm:
        levels[NO_DEMAND] = None
    return Experiment(
        id=id,
        name=name,
        factors=[Factor("demand", levels, unit="months on probation")],
        protocol=rule,
        measures=_measures(control_arm=control_arm),
        replicates=replicates,
        designs=designs,
        parameters=Parameters(temperature=1.0, max_output_tokens=400),
        source=source,
        metadata=metadata,
        simulated=simulated,
    )


def all_in_one_experiment(  # noqa: PLR0913  (each is a part of the experiment a reader should see)
    *,
    id: str,  # noqa: A002  (the experiment's own word)
    name: str,
    anchors: Mapping[str, int],
    defence_demand: str,
    questions: Questions,
    all_in_one: str,
    source: str,
    metadata: Mapping[str, object],
    replicates: int,
    designs: Mapping[str, Design],
    simulated: SimulatedAnswer | None = None,
) -> Experiment:
    """Make an anchoring experiment whose three steps stand in one prompt, answered at once.

    Neither a temperature nor a limit on the reply is asked for: command-line agents take none.

    Parameters
    ----------
    id, name, source, metadata, replicates, designs, simulated, anchors, defence_demand
        As for :func:`anchoring_experiment`.
    questions
        The stimuli of the conversation; its vignette and its request for the sentence are used.
    all_in_one
        The prompt, with ``$vignette``, ``$demand`` (months), ``$defence`` (an amount of time in
        words) and ``$sentence`` (the request for the sentence).

    Raises
    ------
    BadTemplate
        When a stimulus uses a variable that does not exist, or leaves one unused.
    """
    vignette = PromptTemplate("vignette", questions.vignette).fill().strip()
    sentence = PromptTemplate("sentence", questions.sentence).fill().strip()
    prompt = PromptTemplate(
        "all_in_one", all_in_one, {"vignette", "demand", "defence", "sentence"}
    )

    async def rule(trial: Trial, subject: Subject) -> Ruling:
        demand = trial["demand"]
        told = prompt.fill(
            vignette=vignette, demand=demand, defence=defence_demand, sentence=sentence
        )
        return (await subject.ask(told.strip(), reply=Ruling, check=_echo(demand))).value

    return Experiment(
        id=id,
        name=name,
        factors=[Factor("demand", anchors, unit="months on probation")],
        protocol=rule,
        measures=_measures(control_arm=False),
        replicates=replicates,
        designs=designs,
        parameters=Parameters(),
        source=source,
        metadata=metadata,
        simulated=simulated,
    )


def _echo(demand: object) -> Callable[[Ruling], None]:
    """The check that a ruling repeats the demand its condition stated."""

    def echoes_the_demand(ruling: Ruling) -> None:
        if ruling.prosecutor_months != demand:
            raise InvalidReply("wrong_echo", "prosecutorRecommendationMonths")

    return echoes_the_demand


def _measures(*, control_arm: bool) -> Sequence[Measure]:
    sentence = Measure(
        "sentence_months",
        unit="months on probation",
        bounds=(0, LONGEST),
        meaning="the judge's final sentence",
    )
    evaluations = get_args(Evaluation)
    defence = Measure(
        "defence_evaluation",
        meaning="what the judge thinks of the plea",
        categories=evaluations,
    )
    if control_arm:
        # Without a prosecutor there is no evaluation of one: only what all arms have is measured.
        return [sentence, defence]
    return [
        sentence,
        Measure(
            "prosecutor_evaluation",
            meaning="what the judge thinks of the demand",
            categories=evaluations,
        ),
        defence,
        Measure(
            "prosecutor_too_high",
            lambda ruling: ruling.prosecutor_evaluation == "too high",
            meaning="whether the judge calls the prosecutor's demand too high",
        ),
    ]
