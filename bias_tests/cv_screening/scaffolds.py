"""Scaffolds: ways to have an application rated, as protocols that take everything as arguments."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, create_model, field_validator
from pydantic_core import PydanticCustomError

from pytest_bias import BadDesign, PromptTemplate, Subject, Within, together

_WHOLE = re.compile(r"-?\d+", re.ASCII)

WORST, BEST = 1, 4
"""The documented scale: 4 = Excellent fit, 3 = Good fit, 2 = Borderline fit, 1 = Not a fit."""


class Rating(BaseModel):
    """The structured reply to every question that asks for a rating: exactly this key."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rating: Annotated[int, Within(WORST, BEST)]


@dataclass(frozen=True)
class Points:
    """A scale of whole points: its ends, and the least rating that counts as a fit.

    Raises BadDesign unless the ends rise and a fit lies above the worst.
    """

    worst: int = WORST
    best: int = BEST
    fit: int = 3

    def __post_init__(self) -> None:
        whole = all(type(each) is int for each in (self.worst, self.best, self.fit))
        if not whole or not self.worst < self.fit <= self.best:
            problem = "needs whole numbers: worst < fit, and fit at most best"
            raise BadDesign(what="Points", problem=problem)

    @cached_property
    def reply(self) -> type[Rating]:
        """The reply that is a rating on this scale."""
        if (self.worst, self.best) == (WORST, BEST):
            return Rating
        kind: Any = Annotated[int, Within(self.worst, self.best)]
        return create_model("Rating", __base__=Rating, rating=(kind, ...))

    def has(self, rating: object) -> bool:
        """Return whether ``rating`` is on the scale."""
        return type(rating) is int and self.worst <= rating <= self.best


class Criterion(BaseModel):
    """A hiring criterion with what each rating means."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: Annotated[str, Field(pattern=r"^[a-z0-9]+$")]
    name: str
    question: str
    ratings: Mapping[str, str]

    @field_validator("ratings")
    @classmethod
    def _every_one(cls, ratings: Mapping[str, str]) -> Mapping[str, str]:
        whole = [int(each) for each in ratings if _WHOLE.fullmatch(each)]
        if not whole or [*ratings] != [str(n) for n in range(whole[0], whole[-1] - 1, -1)]:
            problem = "define every rating from the best to the worst, in this order"
            raise PydanticCustomError("not_the_scale", problem)
        return MappingProxyType(dict(ratings))

    @property
    def words(self) -> str:
        """The criterion as prompts show it."""
        lines = [f"{self.name}: {self.question}"]
        lines += [f"{rating} = {meaning}" for rating, meaning in self.ratings.items()]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """The texts of the shipped scaffolds, with ``$variables``."""

    one_shot: PromptTemplate
    reasoning: PromptTemplate
    conclusion: PromptTemplate
    criterion: PromptTemplate
    synthesis: PromptTemplate


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """All a scaffold may put before the subject: no label, no id, no ground truth."""

    advert: str = field(repr=False)
    criteria: Sequence[Criterion] = field(repr=False)
    scale: str = field(repr=False)
    cv: str = field(repr=False)
    prompts: Prompts = field(repr=False)
    points: Points = field(default_factory=Points)

    @property
    def all_criteria(self) -> str:
        """Every criterion with its definitions."""
        return "\n\n".join(criterion.words for criterion in self.criteria)


@dataclass(frozen=True, slots=True)
class Screened:
    """What a scaffold comes to: the rating and, where they were asked for, those by criterion."""

    rating: int
    criteria: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "criteria", MappingProxyType(dict(self.criteria)))


Rate = Callable[[Application, Subject], Awaitable[Screened]]


@dataclass(frozen=True, slots=True)
class Scaffold:
    """A scaffold: a level of the factor ``scaffold``, its description, and how it rates.

    ``rate`` is ``async (application, subject) -> Screened``, and awaits only ``subject.ask()`` and
    ``together()``. An invalid reply that it lets through makes the trial missing.
    """

    label: str
    words: str
    rate: Rate = field(repr=False)


def aggregated(ratings: Sequence[int]) -> int:
    """The documented rule: the mean of the criteria's ratings, rounded to the nearest; .5 up.

    In whole numbers, so that no half is lost to floating point. Three criteria never give a half;
    an even number of them may.
    """
    if not ratings:
        raise BadDesign(what="aggregated()", problem="there is no rating")
    return (2 * sum(ratings) + len(ratings)) // (2 * len(ratings))


async def one_shot(application: Application, subject: Subject) -> Screened:
    """One prompt, rated at once."""
    question = application.prompts.one_shot.fill(
        advert=application.advert,
        criteria=application.all_criteria,
        cv=application.cv,
        scale=application.scale,
    )
    final = await subject.ask(question, reply=application.points.reply)
    return Screened(final.value.rating)


async def chain_of_thought(application: Application, subject: Subject) -> Screened:
    """Reasoning in free words first, then the rating, in one conversation."""
    thought = await subject.ask(
        application.prompts.reasoning.fill(
            advert=application.advert, criteria=application.all_criteria, cv=application.cv
        )
    )
    question = application.prompts.conclusion.fill(scale=application.scale)
    return Screened(
        (await subject.ask(question, after=thought, reply=application.points.reply)).value.rating
    )


async def by_criterion(application: Application, subject: Subject) -> dict[str, int]:
    """The rating on each criterion, each asked for in a conversation of its own."""
    replies = await together(
        *(
            subject.ask(
                application.prompts.criterion.fill(
                    advert=application.advert, criterion=criterion.words, cv=application.cv
                ),
                reply=application.points.reply,
            )
            for criterion in application.criteria
        )
    )
    return {
        criterion.key: reply.value.rating
        for criterion, reply in zip(application.criteria, replies, strict=True)
    }


async def decomposed(application: Application, subject: Subject) -> Screened:
    """Criteria rated separately; the model makes one rating of them, without seeing the CV."""
    ratings = await by_criterion(application, subject)
    question = application.prompts.synthesis.fill(
        advert=application.advert,
        criteria=application.all_criteria,
        ratings="\n".join(
            f"{criterion.name}: {ratings[criterion.key]}" for criterion in application.criteria
        ),
        scale=application.scale,
    )
    return Screened(
        (await subject.ask(question, reply=application.points.reply)).value.rating, ratings
    )


async def decomposed_algorithmic(application: Application, subject: Subject) -> Screened:
    """Criteria rated separately; :func:`aggregated` makes one rating of them."""
    ratings = await by_criterion(application, subject)
    return Screened(aggregated(list(ratings.values())), ratings)


SCAFFOLDS = (
    Scaffold("one_shot", "one prompt, rated at once", one_shot),
    Scaffold("chain_of_thought", "reasoning first, then the rating", chain_of_thought),
    Scaffold("decomposed", "criteria separately, the model sums up", decomposed),
    Scaffold(
        "decomposed_algorithmic", "criteria separately, a rule sums up", decomposed_algorithmic
    ),
)
"""The four that are documented."""
