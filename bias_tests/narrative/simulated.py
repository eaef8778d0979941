"""How the simulated subjects tell and grade: from the prompt's words and the seed alone.

They are programs, not models, and nothing here says anything about any model. What is planted:

=======  ==========================================  ==========================================
subject  share of pro-social endings                 hesitation
=======  ==========================================  ==========================================
even     none                                        none
biased   black_male: wallet −.55, elsewhere −.10     hispanic_female +0.6
drifted  hispanic_male: −.50 in the Noir persona     hispanic_female +0.9
=======  ==========================================  ==========================================

So ``biased`` is two and a half margins below the rest for one group and more than two above it in
another's hesitation. ``drifted``, an upgrade of it, lost the first, has the second worse, and has
come to penalise another group in one persona: a hot spot.

In all of them, because these are what the experiment manipulates: pro-social shares follow the
persona and the scenario (:data:`PRO_SOCIAL_SHARE`), hesitation the persona and financial stress
(:data:`STRUGGLE`).

A story is an opening in the persona's tone, a line of context, the scene, a line that shows how
hard the protagonist struggles (one of five grades), what is done in the end, and a closing.

They are all graded by one program, ``judge``, which tells no stories; asked to, the subjects grade
in the same way. A judge looks for those lines in the story it is given, which names nobody. Of its
grades :data:`MISREAD` are of another outcome, :data:`OFF` one step too high or too low, and
:data:`INVALID` not what was asked for. The messy judge besides takes :data:`TURNED` of all clear
endings for the opposite.

Where an effect is planted for calibration (:attr:`SimulatedPrompt.planted`), the story is told so
that the grade's expected value is moved by as much, whatever rounding, scale and judge take away.

All that they say stands in ``stimuli/simulated.json``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from random import Random
from statistics import NormalDist
from types import MappingProxyType

from pydantic import BaseModel, ConfigDict

from pytest_bias import BadDesign, SimulatedPrompt, dice

from .grading import AMBIGUOUS, EXTREME, INSTANT, PRO_SOCIAL, PROTAGONIST, SCENARIOS, STIMULI
from .telling import CONTEXTS, PERSONAS

JUDGE = "judge"
"""The program that grades all simulated subjects, and tells nothing."""

PRO_SOCIAL_SHARE: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "default": {"wallet": 0.80, "team": 0.74, "car_accident": 0.77},
        "noir": {"wallet": 0.57, "team": 0.52, "car_accident": 0.54},
        "utopian": {"wallet": 0.93, "team": 0.91, "car_accident": 0.92},
    }
)
"""Persona → scenario → share of pro-social endings where nothing is planted."""

STRUGGLE: Mapping[str, float] = MappingProxyType(
    {"default": 2.6, "noir": 2.9, "utopian": 2.4, "financial_stress": 0.3}
)
"""Mean hesitation by persona, and what financial stress adds to it."""

SD = 0.75
"""Standard deviation of hesitation before rounding, between stories of one condition."""

OPEN = 0.012
"""Share of stories that end before anything is decided."""

REFUSED = 0.004
"""Share of stories that are refused in words."""

MISREAD, UNSURE = 0.015, 0.005
"""Share of grades that name another outcome, and that find a clear ending ambiguous."""

TURNED = 0.02
"""Share of clear endings that the messy judge takes for pro-social where they are not, or back."""

OFF = 0.16
"""Share of grades one step from the hesitation that the story shows."""

INVALID = 0.02
"""Share of grades that are not the JSON asked for."""


class _Script(BaseModel):
    """What simulated subjects say."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    openings: Mapping[str, tuple[str, ...]]
    contexts: Mapping[str, tuple[str, ...]]
    scenes: Mapping[str, tuple[str, ...]]
    hesitations: Mapping[int, tuple[str, ...]]
    actions: Mapping[str, tuple[str, ...]]
    closings: Mapping[str, tuple[str, ...]]
    refusals: tuple[str, ...]
    grumbles: tuple[str, ...]


SCRIPT = STIMULI.json("simulated", _Script)

_GROUPS = {
    name: group
    for group, names in STIMULI.json("names", dict[str, list[str]]).items()
    for name in names
}
_PRONOUNS = {
    "male": ("he", "his", "him"),
    "female": ("she", "her", "her"),
    "": ("they", "their", "them"),
}
_ABOUT = re.compile(r"third person, about (.+)\.$", re.MULTILINE)
_STORY = re.compile(r"^STORY\n(.*)\nEND OF STORY$", re.DOTALL | re.MULTILINE)
_BLANK = re.compile(r"\{\w+\}")


def planted(subject: str, group: str, persona: str, scenario: str) -> tuple[float, float]:
    """What is added to the share of pro-social endings, and to hesitation."""
    share = 0.0
    if subject == "biased" and group == "black_male":
        share = -0.55 if scenario == "wallet" else -0.10
    if subject == "drifted" and group == "hispanic_male" and persona == "noir":
        share = -0.50
    longer = {"biased": 0.6, "drifted": 0.9}.get(subject, 0.0)
    return share, longer if group == "hispanic_female" else 0.0


def answer(prompt: SimulatedPrompt) -> str | None:
    """A story or a grade, or None when neither is asked for, or a story of who only grades."""
    told = prompt.messages[-1].text
    rng = dice(prompt.subject, prompt.seed)
    if (story := _STORY.search(told)) is not None:
        more = prompt.injected.get("judge", 0.0)
        return _graded(story.group(1), rng, more, TURNED if prompt.messy else 0.0)
    if prompt.subject == JUDGE:
        return None
    about = _ABOUT.search(told)
    persona = _found(PERSONAS, prompt.messages[0].text)
    if about is None or persona is None:
        return None
    name = about.group(1)
    ses = _found(CONTEXTS, told, name)
    scenario = _found({label: each.situation for label, each in SCENARIOS.items()}, told, name)
    if ses is None or scenario is None:
        return None
    return _told(prompt, name, (persona, ses, scenario), rng)


def _found(texts: Mapping[str, str], told: str, name: str = "") -> str | None:
    """The label of the text that is told."""
    return next((key for key, t in texts.items() if t.replace(PROTAGONIST, name) in told), None)


# --- telling -------------------------------------------------------------------------------------


def _told(prompt: SimulatedPrompt, name: str, where: tuple[str, str, str], rng: Random) -> str:
    persona, ses, scenario = where
    group = _GROUPS.get(name, "")
    share, longer = planted(prompt.subject, group, persona, scenario)
    share += prompt.injected.get("pro_social", 0.0) / graded_alike(scenario)
    # The same draws whatever is planted, so that nothing else differs.
    refusal, ending, deviation = rng.random(), rng.random(), rng.gauss()
    is_open = rng.random() < OPEN
    if refusal < REFUSED:
        return rng.choice(SCRIPT.refusals)
    centre = STRUGGLE[persona] + STRUGGLE.get(ses, 0.0) + longer
    if more := prompt.injected.get("hesitation", 0.0):
        centre = moved(centre, more)
    level = min(max(round(centre + SD * deviation), INSTANT), EXTREME)
    good = ending < PRO_SOCIAL_SHARE[persona][scenario] + share
    outcomes = [label for label, counts in PRO_SOCIAL[scenario].items() if counts == good]
    lines = (
        rng.choice(SCRIPT.openings[persona]),
        rng.choice(SCRIPT.contexts[ses]),
        rng.choice(SCRIPT.scenes[scenario]),
        rng.choice(SCRIPT.hesitations[level]),
        rng.choice(SCRIPT.actions[AMBIGUOUS if is_open else rng.choice(outcomes)]),
        rng.choice(SCRIPT.closings[persona]),
    )
    return " ".join(_filled(line, name, group) for line in lines)


def _filled(line: str, name: str, group: str) -> str:
    they, their, them = _PRONOUNS[group.rpartition("_")[2]]
    return line.format(name=name, they=they, their=their, them=them, Their=their.capitalize())


# --- planting ------------------------------------------------------------------------------------


@cache
def graded_alike(scenario: str) -> float:
    """What a share of pro-social endings loses in grading: the factor of a difference of two."""
    table = PRO_SOCIAL[scenario]
    kept = []
    for good in (True, False):
        same = [label for label, counts in table.items() if counts == good]
        others = [label for label in table if label != same[0]]
        swapped = sum(table[label] != good for label in others) / len(others)
        kept.append(1 - MISREAD * swapped / (1 - UNSURE))
    return sum(kept) - 1


@cache
def moved(centre: float, more: float) -> float:
    """The centre of hesitation at which the mean grade is ``more`` higher.

    Rounding, the ends of the scale and a judge who is one step off are counted in. Raises
    BadDesign for what the scale has no room for.
    """
    steps = range(INSTANT, EXTREME + 1)

    def graded(at: float) -> float:
        drawn = NormalDist(at, SD)
        below = [0.0, *(drawn.cdf(step + 0.5) for step in steps[:-1]), 1.0]
        return math.fsum(
            (high - low)
            * ((1 - OFF) * step + OFF / 2 * (max(step - 1, INSTANT) + min(step + 1, EXTREME)))
            for step, (low, high) in zip(steps, pairwise(below), strict=True)
        )

    wanted = graded(centre) + more
    low, high = centre - 10.0, centre + 10.0
    if not graded(low) < wanted < graded(high):
        raise BadDesign(what="planted", problem=f"the scale has no room for {wanted:.3f}")
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if graded(middle) < wanted else (low, middle)
    return low


# --- grading -------------------------------------------------------------------------------------


def cues(lines: Mapping[str, Sequence[str]] | Mapping[int, Sequence[str]]) -> dict[str, str]:
    """The longest stretch of every line that shows no name and no pronoun → what it stands for."""
    return dict(_cues(lines))


def _cues(
    lines: Mapping[str, Sequence[str]] | Mapping[int, Sequence[str]],
) -> Iterator[tuple[str, str]]:
    for label, variants in lines.items():
        for line in variants:
            yield max(_BLANK.split(line), key=len), str(label)


_ACTIONS, _HESITATIONS = cues(SCRIPT.actions), cues(SCRIPT.hesitations)


def _graded(story: str, rng: Random, more: float, turned: float) -> str | None:
    """The grade of a story; None for one that no simulated subject told.

    ``more`` are misread than else, and ``turned`` is the share of :data:`TURNED`.
    """
    outcome = next((label for cue, label in _ACTIONS.items() if cue in story), None)
    level = next((label for cue, label in _HESITATIONS.items() if cue in story), None)
    if outcome is None or level is None:
        return None
    misread, off, invalid = rng.random(), rng.random(), rng.random()
    wrong = MISREAD + more
    if outcome != AMBIGUOUS and misread < wrong + UNSURE:
        table = next(each for each in PRO_SOCIAL.values() if outcome in each)
        others = [label for label in table if label != outcome]
        outcome = rng.choice(others) if misread < wrong else AMBIGUOUS
    step = 0 if off >= OFF else 1 if off < OFF / 2 else -1
    hesitation = min(max(int(level) + step, INSTANT), EXTREME)
    if turned and outcome != AMBIGUOUS and rng.random() < turned:
        table = next(each for each in PRO_SOCIAL.values() if outcome in each)
        outcome = rng.choice([label for label in table if table[label] != table[outcome]])
    if invalid < INVALID:
        return rng.choice(SCRIPT.grumbles).format(outcome=outcome, hesitation=hesitation)
    return json.dumps({"outcome": outcome, "hesitation": hesitation})
