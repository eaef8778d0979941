"""How the simulated subjects answer the audit: from the prompt's words and the per-trial seed.

They are programs, not models, and nothing here says anything about any model. What is planted
(log length and rates as differences between the two levels; in parentheses, in margins):

========  =====================  ==================  ==========================  ==============
subject   learner's English:     learner's English:  articles left out:          names
          log length (.105)      refusals (.10)      sentiment (.10)
========  =====================  ==================  ==========================  ==============
even      0                      0                   0                           0
biased    -0.25 (2.4)            +0.25 (2.5)         0                           0
drifted   -0.40 (3.8)            0                   -0.29 (2.9)                 0
========  =====================  ==================  ==========================  ==============

So ``drifted``, an upgrade of ``biased``, has refusals mended, lengths worse, and a bias that is
new. Nothing is planted in names, in any interaction, in latency or in replies without text.

A reply is an opening, sentences of no sentiment until a drawn length is reached, and a closing
that carries the sentiment. Log length has a standard deviation of .35 around a mean that
depends on what is asked for: two sentences, full detail, or neither. A planted refusal opens with
a phrase of refusal and goes on in general words, as long as any other reply and closed like one,
so that length and sentiment do not depend on it. One reply in two hundred is a brush-off of a few
words, under every condition; with these the standard deviation is about .39.

Where an effect is planted for calibration (:attr:`SimulatedPrompt.planted`), it is added to the
mean log length, to the share of refusals, or, divided by what a warm closing is worth
(:data:`WARMTH`), to the share of warm closings; a little more, as brush-offs have none of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from random import Random

from pydantic import BaseModel, ConfigDict

from pytest_bias import SimulatedPrompt, Stimuli, dice

from .learner import l2_english

CHARACTERS: Mapping[str, float] = {"brief": 330.0, "plain": 900.0, "detailed": 1600.0}
"""Median length of a reply, by what the prompt asks for."""

SD = 0.35
"""Standard deviation of log length among replies to one prompt."""

REFUSALS = 0.03
"""Share of replies that open with a refusal where nothing is planted."""

BRUSH_OFFS = 0.005
"""Share of replies of a few words, under every condition."""

WARM = 0.6
"""Share of replies with a warm closing where nothing is planted."""

GLAD, SORRY, DECLINED = "best news", "worst news", "without her knowledge"
"""Words of prompts that ask for glad news, for sorry news, and for what is to be declined."""

FOLLOWED = 0.95
"""Share of replies to these that are as asked for: warm, cool, and a refusal."""

WARMTH = 0.51
"""What a warm closing in place of a cool one adds to the mean sentiment of a reply."""

SHORTER: Mapping[str, float] = {"even": 0.0, "biased": -0.25, "drifted": -0.40}
"""What a learner's English adds to log length."""

REFUSED: Mapping[str, float] = {"even": 0.0, "biased": 0.25, "drifted": 0.0}
"""What a learner's English adds to the share of refusals."""

COOLER: Mapping[str, float] = {"even": 0.0, "biased": 0.0, "drifted": -0.57}
"""What articles left out add to the share of warm closings."""


class _Script(BaseModel):
    """Of what replies are made, and by which words of a prompt its things are known."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    about: str
    things: dict[str, list[str]]
    whatever: list[str]
    openings: list[str]
    refusals: list[str]
    sentences: list[str]
    shorts: list[str]
    warm: list[str]
    cool: list[str]
    brush_offs: list[str]


_SCRIPT = Stimuli(__file__).json("simulated_replies", _Script)

_INTRODUCED = re.compile(r"^My name is \w+ \w+\b")
_ARTICLE = re.compile(r"\b(?:an?|the)\b", re.IGNORECASE)


def answer(prompt: SimulatedPrompt) -> str | None:
    """The reply, or None when the prompt is not one of this audit's."""
    told = prompt.messages[-1].text
    heard = told.lower()
    things = next((found for word, found in _SCRIPT.things.items() if word.lower() in heard), None)
    if things is None or len(prompt.messages) > 1 or not _INTRODUCED.search(told):
        return None
    learner = not l2_english(told).edits  # there is nothing left to get wrong
    return _answered(prompt, things, learner=learner, bare=not _ARTICLE.search(told))


def answering(altered: Mapping[str, tuple[bool, bool]]) -> Callable[[SimulatedPrompt], str | None]:
    """How they answer other prompts: each text → what is planted in it.

    That is what is planted in a learner's English, and what in articles left out.
    """

    def answer_these(prompt: SimulatedPrompt) -> str | None:
        planted = altered.get(prompt.messages[-1].text)
        if planted is None or len(prompt.messages) > 1:
            return None
        return _answered(prompt, _SCRIPT.whatever, learner=planted[0], bare=planted[1])

    return answer_these


def _answered(prompt: SimulatedPrompt, things: Sequence[str], *, learner: bool, bare: bool) -> str:
    told = prompt.messages[-1].text
    rng = dice(prompt.subject, prompt.seed)
    # The same number of draws whatever is found, so that nothing but what is planted differs.
    brush_off, refusal, warm, deviation = rng.random(), rng.random(), rng.random(), rng.gauss()
    if brush_off < BRUSH_OFFS:
        return _filled(rng, _SCRIPT.brush_offs, things)
    planted = {name: much / (1 - BRUSH_OFFS) for name, much in prompt.injected.items()}
    refusals = FOLLOWED if DECLINED in told else REFUSALS
    refusals += planted.get("is_refusal", 0.0)
    refuses = refusal < refusals + (REFUSED[prompt.subject] if learner else 0.0)
    warmth = FOLLOWED if GLAD in told else 1 - FOLLOWED if SORRY in told else WARM
    warmth += planted.get("sentiment", 0.0) / WARMTH
    is_warm = warm < warmth + (COOLER[prompt.subject] if bare else 0.0)
    level = (SHORTER[prompt.subject] if learner else 0.0) + planted.get("log_length", 0.0)
    length = math.exp(math.log(CHARACTERS[_asked(told)]) + level + SD * deviation)
    return _reply(rng, things, length, refuses=refuses, warm=is_warm)


def _asked(told: str) -> str:
    if "two sentences" in told:
        return "brief"
    return "detailed" if "full detail" in told else "plain"


def _reply(rng: Random, things: Sequence[str], length: float, *, refuses: bool, warm: bool) -> str:
    """A reply of about ``length`` characters."""
    parts = [_filled(rng, _SCRIPT.refusals if refuses else _SCRIPT.openings, things)]
    end = rng.choice(_SCRIPT.warm if warm else _SCRIPT.cool)
    missing = length - len(parts[0]) - len(end) - 1
    sentences: list[str] = []
    while missing > 0:
        if not sentences:  # none comes twice before all have come once
            sentences = rng.sample(_SCRIPT.sentences, len(_SCRIPT.sentences))
        sentence = sentences.pop().format(thing=rng.choice(things))
        if len(sentence) + 1 > missing:
            parts += _last(rng, missing)
            break
        parts.append(sentence)
        missing -= len(sentence) + 1
    return " ".join([*parts, end])


def _last(rng: Random, missing: float) -> list[str]:
    """The short sentence that comes closest to what is missing, if any brings it closer."""
    options = rng.sample(_SCRIPT.shorts, len(_SCRIPT.shorts))
    best = min(options, key=lambda option: abs(missing - len(option) - 1))
    return [best] if abs(missing - len(best) - 1) < missing else []


def _filled(rng: Random, sentences: Sequence[str], things: Sequence[str]) -> str:
    return rng.choice(sentences).format(thing=rng.choice(things))
