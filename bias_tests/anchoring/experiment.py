"""Englich, Mussweiler & Strack (2006), Study 2: its data, and its two protocols.

A judge hears a prosecutor's demand and evaluates it, hears the defence attorney's demand and
evaluates it, then decides: in a conversation of three turns, or all in one prompt. Only the
prosecutor's demand, the anchor, varies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Literal, cast, get_args

from pydantic import BaseModel, ConfigDict, Field

from pytest_bias import (
    Design,
    Experiment,
    Factor,
    HumanStudy,
    InvalidReply,
    Measure,
    Parameters,
    Stimuli,
    Subject,
    Trial,
    Within,
)

from .simulated import answer

CITATION = (
    "Englich, B., Mussweiler, T., & Strack, F. (2006). Playing dice with criminal sentences: The "
    "influence of irrelevant anchors on experts' judicial decision making. Personality and Social "
    "Psychology Bulletin, 32(2), 188–200. https://doi.org/10.1177/0146167205282152"
)

PEOPLE = HumanStudy(
    low=4.00, high=6.05, t=2.10, df=37, n=39, similar_within=0.5, citation=CITATION
)
"""Study 2: 39 legal professionals, months on probation."""

Evaluation = Literal["too low", "too high", "just right"]
_ORDER = ("too low", "just right", "too high")

LONGEST = 12
"""Longest sentence in months that is taken as an answer; no prompt names it."""


class Unanchored(BaseModel):
    """The reply where no prosecutor has made a demand: exactly these two keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    defence_evaluation: Evaluation = Field(alias="defenseAttorneyEvaluation")
    sentence_months: Annotated[int, Within(0, LONGEST)] = Field(alias="sentenceMonths")


class Ruling(Unanchored):
    """The judge's final reply: exactly these four keys."""

    prosecutor_months: int = Field(alias="prosecutorRecommendationMonths")
    prosecutor_evaluation: Evaluation = Field(alias="prosecutorEvaluation")


_STIMULI = Stimuli(__file__)
_DEFENCE = "1 month"
_VIGNETTE = _STIMULI.template("vignette").fill()
GRAVITY = {"grave": "6, in a grave case", "trivial": "6, in a trivial case"}
"""The control levels: another case each, in which the prosecutor demands six months."""

_CONTROLS = {told: _STIMULI.template(f"vignette_{name}").fill() for name, told in GRAVITY.items()}
_CONTROL_DEMAND = 6
_PROSECUTOR = _STIMULI.template("prosecutor", "vignette", "demand")
_PLEA = _STIMULI.template("defence", "defence").fill(defence=_DEFENCE)
_SENTENCE = _STIMULI.template("sentence").fill()
_SENTENCE_UNANCHORED = _STIMULI.template("sentence_unanchored").fill()
_ALL_IN_ONE = _STIMULI.template("all_in_one", "vignette", "demand", "defence", "sentence")


def case_of(level: object) -> tuple[str, object]:
    """The vignette, and what the prosecutor demands: at a control level both are its own."""
    if (vignette := _CONTROLS.get(str(level))) is not None:
        return vignette, _CONTROL_DEMAND
    return _VIGNETTE, level


async def in_turns(trial: Trial, subject: Subject) -> Unanchored:
    """Demand, plea and sentence in a conversation; without a demand it begins with the plea."""
    vignette, demand = case_of(trial["demand"])
    if demand is None:
        heard = await subject.ask(f"{vignette}\n\n{_PLEA}")
        return (await subject.ask(_SENTENCE_UNANCHORED, after=heard, reply=Unanchored)).value
    accused = await subject.ask(_PROSECUTOR.fill(vignette=vignette, demand=demand))
    heard = await subject.ask(_PLEA, after=accused)
    final = await subject.ask(_SENTENCE, after=heard, reply=Ruling, check=_echo(demand))
    return final.value


async def at_once(trial: Trial, subject: Subject) -> Ruling:
    """All three steps in one prompt."""
    vignette, demand = case_of(trial["demand"])
    told = _ALL_IN_ONE.fill(vignette=vignette, demand=demand, defence=_DEFENCE, sentence=_SENTENCE)
    return (await subject.ask(told, reply=Ruling, check=_echo(demand))).value


def _echo(demand: object) -> Callable[[Ruling], None]:
    """Return the check that a ruling repeats the demand its condition stated."""

    def echoes_the_demand(ruling: Ruling) -> None:
        if ruling.prosecutor_months != demand:
            raise InvalidReply("wrong_echo", "prosecutorRecommendationMonths")

    return echoes_the_demand


DEMAND = Factor("demand", {"low": 3, "high": 9}, unit="months on probation", controls=GRAVITY)

SENTENCE = Measure(
    "sentence_months",
    unit="months on probation",
    bounds=(0, LONGEST),
    integer=True,
    meaning="the judge's final sentence",
)
DEFENCE = Measure(
    "defence_evaluation",
    meaning="what the judge thinks of the plea",
    categories=get_args(Evaluation),
)

ANCHORING = Experiment(
    id="anchoring-prosecutor-sentencing",
    name="Anchoring Bias - Prosecutor Sentencing Recommendation",
    factors=[DEMAND],
    protocol=in_turns,
    measures=[
        SENTENCE,
        Measure(
            "prosecutor_evaluation",
            meaning="what the judge thinks of the demand",
            categories=get_args(Evaluation),
        ),
        DEFENCE,
        Measure(
            "prosecutor_evaluation_ordinal",
            lambda ruling: float(_ORDER.index(ruling.prosecutor_evaluation) - 1),
            bounds=(-1, 1),
            meaning="what the judge thinks of the demand: -1 too low, 0 just right, 1 too high",
        ),
    ],
    replicates=156,
    controls=24,
    designs={"documented": Design(replicates=30), "screen": Design(replicates=24)},
    parameters=Parameters(temperature=1.0, max_output_tokens=400),
    source=CITATION,
    metadata={
        "response_type": "integer, months on probation, 0 to 12",
        "anchor_derivation": (
            "the prosecutor's demand was randomly determined: 3 or 9 months on probation; it has "
            "no evidential connection to the case"
        ),
        "limitations": [
            (
                "Incomplete case materials: the vignette is written anew from the published "
                "description; the original study's witness statements and expert reports are not "
                "available, which limits how exactly its context can be replicated."
            ),
            (
                "No legal qualifications: the original participants were 39 legal professionals "
                "with 13 years of experience on average; a model has none, so its answers cannot "
                "be equated with theirs, though patterns of anchoring can be compared."
            ),
        ],
    },
    simulated=answer,
)

ALL_IN_ONE = replace(
    ANCHORING,
    id="anchoring-prosecutor-sentencing-all-in-one",
    name="Anchoring Bias - Prosecutor Sentencing Recommendation, all in one prompt",
    protocol=at_once,
    parameters=Parameters(),  # command-line agents take neither a temperature nor a limit
    metadata={
        **ANCHORING.metadata,
        "protocol": "all three steps in one prompt, answered with one JSON object",
        "sampling": (
            "the experiment sets neither temperature nor output limit, as the Codex CLI takes "
            "neither: they are the provider's own, or what the roster says of the model"
        ),
        "limitations": [
            *cast("Sequence[str]", ANCHORING.metadata["limitations"]),
            (
                "One completion: the sentence is written in the same reply as the evaluations, "
                "with every demand and the final question already read, so it is another "
                "instrument than the conversation and its figures cannot be set beside it."
            ),
        ],
    },
)
