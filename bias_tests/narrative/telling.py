"""The protocol: a story, then a judge who reads it twice, without name and gender."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

from pytest_bias import (
    NOT_SCORED,
    InvalidReply,
    Refusals,
    Subject,
    Trial,
    count_words,
    masked,
    together,
)

from .grading import (
    AMBIGUOUS,
    GRADES,
    PRO_SOCIAL,
    PROTAGONIST,
    SCENARIOS,
    STIMULI,
    Grade,
    question,
)

SHORTEST = 40
"""Words below which a reply is no story: half of the least that is asked for."""

STORY_PROMPT = STIMULI.template("story", "name", "context", "situation")
PERSONAS: Mapping[str, str] = MappingProxyType(STIMULI.json("personas", dict[str, str]))
CONTEXTS: Mapping[str, str] = MappingProxyType(STIMULI.json("contexts", dict[str, str]))

# each begins with its mark, by which it is soon found
_SPEECH = re.compile(r'"[^"]*"|“[^”]*”|‘(?<!\w‘)[^’]*’(?!\w)')
_FIRST = re.compile(r".*?[.!?](?=\s|$)|.+", re.DOTALL)
_REFUSALS = Refusals(min_words=0)

_words = STIMULI.json("origins", list[str])
_longest_first = "|".join(map(re.escape, sorted(_words, key=len, reverse=True)))
_initials = "".join(sorted({word[0] for word in _words}))  # by which a word is soon found
_ORIGIN = re.compile(rf"(?=[{_initials}])\b(?:{_longest_first})s?\b".replace("\\ ", r"\s+"))

GROUP = "[GROUP]"
"""What stands in place of words that say a protagonist's race or origin."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Told:
    """A story with its two grades; ``again`` is None where the second is not valid."""

    scenario: str
    grade: Grade
    again: Grade | None
    story: str = field(repr=False)

    @property
    def outcome(self) -> str:
        """How the story ends: one of the scenario's outcomes."""
        return self.grade.outcome

    @property
    def pro_social(self) -> bool:
        """Whether that is pro-social; else it is anti-social."""
        return PRO_SOCIAL[self.scenario][self.grade.outcome]

    @property
    def ending(self) -> str:
        """The same as a word: ``pro_social`` or ``anti_social``."""
        return _ending(self.scenario, self.grade)

    @property
    def hesitation(self) -> int:
        """How hard the protagonist struggles, from 1 to 5."""
        return self.grade.hesitation

    @property
    def words(self) -> int:
        """Number of words of the story."""
        return count_words(self.story)

    @property
    def outcome_again(self) -> str:
        """The outcome by the second grade, ``ambiguous`` among them."""
        return NOT_SCORED if self.again is None else self.again.outcome

    @property
    def ending_again(self) -> str:
        """The ending by the second grade, ``ambiguous`` among them."""
        return NOT_SCORED if self.again is None else _ending(self.scenario, self.again)

    @property
    def hesitation_again(self) -> str:
        """The hesitation by the second grade."""
        return NOT_SCORED if self.again is None else str(self.again.hesitation)


def _ending(scenario: str, grade: Grade) -> str:
    """What a grade counts as, in the words of the document; an ambiguous one stays what it is."""
    counts = PRO_SOCIAL[scenario].get(grade.outcome)
    return AMBIGUOUS if counts is None else "pro_social" if counts else "anti_social"


Blinded = Callable[[str, str], str]
"""From a story and the protagonist's name to what the judge reads of it."""


def read_blind(story: str, name: str) -> str:
    """``story`` as the judge reads it: without the name, gendered words, and words for a group.

    The words for groups are those of ``stimuli/origins.json``; "black" and "white" with a small
    letter are colours but before people.
    """
    return _ORIGIN.sub(GROUP, masked(story, name))


async def tell(
    trial: Trial, subject: Subject, judge: Subject, *, blinded: Blinded = read_blind
) -> Told:
    """One trial.

    Raises
    ------
    InvalidReply
        ``story_…`` where there is no story, ``judge_…`` where there is no valid grade,
        ``ambiguous_outcome`` where the judge finds that no outcome fits. A second grade that is
        not valid loses no trial.
    """
    scenario, name = trial.condition.levels["scenario"], str(trial["group"])
    story = await _story(trial, subject)
    read = blinded(story, name)
    grade, again = await together(_grade(judge, scenario, read), _again(judge, scenario, read))
    if grade is None or grade.outcome == AMBIGUOUS:
        raise InvalidReply("ambiguous_outcome")
    return Told(scenario, grade, again, story)


def story_prompt(trial: Trial) -> str:
    """What the subject is asked in a trial, beside the persona."""
    name, levels = str(trial["group"]), trial.condition.levels
    return STORY_PROMPT.fill(
        name=name,
        context=CONTEXTS[levels["ses"]].replace(PROTAGONIST, name),
        situation=SCENARIOS[levels["scenario"]].situation.replace(PROTAGONIST, name),
    )


def refused(text: str) -> bool:
    """Whether the narrator begins by refusing; what people in a story say is no refusal."""
    first = _FIRST.match(_SPEECH.sub(" ", text).strip())
    return first is not None and _REFUSALS.matches(first.group())


async def _story(trial: Trial, subject: Subject) -> str:
    """The story. It is asked for once: asked again until it came, a refusal would not show."""
    system = PERSONAS[trial.condition.levels["persona"]]
    asked = subject.ask(story_prompt(trial), system=system, attempts=1)
    text = (await _under("story", asked)).text
    if refused(text):
        raise InvalidReply("story_refusal")
    if count_words(text) < SHORTEST:
        raise InvalidReply("story_too_short")
    return text


async def _grade(judge: Subject, scenario: str, read: str) -> Grade | None:
    """The grade that counts."""
    asked = judge.ask(question(scenario, read), reply=GRADES[scenario])
    return (await _under("judge", asked)).value


async def _again(judge: Subject, scenario: str, read: str) -> Grade | None:
    """The grade that the other is compared with; None where none is valid."""
    asked = judge.ask(question(scenario, read, reverse=True), reply=GRADES[scenario])
    try:
        return (await asked).value
    except InvalidReply:
        return None


async def _under(who: str, asked: Coroutine[Any, Any, Value]) -> Value:
    """What ``asked`` gives; the reason of an invalid reply says whose it was."""
    try:
        return await asked
    except InvalidReply as invalid:
        reason = f"{who}_{invalid.reason}"
        raise InvalidReply(reason, invalid.detail) from invalid
