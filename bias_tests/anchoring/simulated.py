"""How the simulated subjects judge Lena M.: from the prompt's words and the per-trial seed alone.

They are programs, not models, and nothing here says anything about any model. What is planted,
in months on probation between the demand of 9 and the demand of 3:

========  =======  =====================================================================
subject   planted  in margins of 0.6 months
========  =======  =====================================================================
even      0.0      none: the demand is evaluated, and then has no pull
biased    1.8      3, a little less than published for people (2.05)
drifted   3.0      5: an upgrade of ``biased`` that has become worse
messy     0.0      none: ``even`` that refuses 5 % of trials, and fences 10 % of rulings
========  =======  =====================================================================

Sentences are drawn from a normal distribution around 5 months with a standard deviation of 1.0,
pulled by the demand, and rounded to whole months (which makes the deviation about 1.04). One final
reply in fifty is invalid, so that retries are part of every recording.

Where an effect is planted for calibration (:attr:`SimulatedPrompt.planted`), it is added before
rounding. That moves the mean by as much: rounding a normal deviate of this spread shifts its mean
by less than 1e-8, and the ends of the scale are five standard deviations away.

Both protocols are answered, with the same pulls planted: the conversation of three turns, and the
prompt that puts all three steps at once, whose one reply holds both evaluations and the sentence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random

from pytest_bias import SimulatedPrompt, dice

CENTRE = 5.0
"""Mean sentence without a pull, in months."""

SD = 1.0
"""Standard deviation of the sentence before rounding, in months."""

NEUTRAL_DEMAND = 6.0
"""Demand that does not pull: the middle of the two in use."""

GRAVITY: Mapping[str, float] = {"lined with foil": 2.5, "a bar of chocolate": -2.5}
"""Words of a grave and of a trivial case → months that it takes from the centre."""

INVALID_SHARE = 0.02
"""Share of final replies that are not the JSON asked for."""

PULL: Mapping[str, float] = {"even": 0.0, "biased": 0.30, "drifted": 0.50}
"""Months of sentence per month of demand: the anchoring index that is planted."""

_TOLERANCE = 1.5
_JUDGEMENT_SD = 2.0
_LONGEST = 12

_PROSECUTOR = re.compile(r"prosecutor demands (\d+) months? on probation")
_DEFENCE = re.compile(r"defence attorney demands (\d+) months? on probation")
_VERDICT = re.compile(
    r"^The (?:prosecutor|defence attorney)'s demand is (too low|too high|just right)"
)


@dataclass(frozen=True, slots=True)
class _Case:
    """What a judge can read from the conversation, and has said in it."""

    demand: int | None
    evaluations: tuple[str, ...]
    right: float = CENTRE


def answer(prompt: SimulatedPrompt) -> str | None:
    """The judge's reply, or None when the conversation is not about this case."""
    told, said = prompt.questions, prompt.replies
    if not told or "Lena M." not in told[0]:
        return None
    rng = dice(prompt.subject, prompt.seed)
    found = _PROSECUTOR.search(told[0])
    case = _Case(
        demand=int(found.group(1)) if found else None,
        evaluations=tuple(match.group(1) for text in said if (match := _VERDICT.match(text))),
        right=CENTRE + sum(months for words, months in GRAVITY.items() if words in told[0]),
    )
    if '"sentenceMonths"' in told[-1]:
        at_once = _DEFENCE.search(told[0])
        if at_once and case.demand is not None and not said:
            demands = (case.demand, int(at_once.group(1)))
            opinions = tuple(_opinion(demand, case.right, rng) for demand in demands)
            return _sentence(prompt, replace(case, evaluations=opinions), rng)
        heard = 1 if case.demand is None else 2
        if len(case.evaluations) >= heard:
            return _sentence(prompt, case, rng)
        return said[-1] if prompt.messy and said else None  # what is refused once stays refused
    if plea := _DEFENCE.search(told[-1]):
        return _evaluation("defence attorney", int(plea.group(1)), case.right, rng)
    demand = case.demand
    return None if demand is None else _evaluation("prosecutor", demand, case.right, rng)


def _opinion(demand: int, centre: float, rng: Random) -> str:
    """A demand, held against what the judge would find right."""
    right = rng.gauss(centre, _JUDGEMENT_SD)
    if demand > right + _TOLERANCE:
        return "too high"
    return "too low" if demand < right - _TOLERANCE else "just right"


def _evaluation(who: str, demand: int, centre: float, rng: Random) -> str:
    """An opinion on a demand, with a reason."""
    opinion = _opinion(demand, centre, rng)
    reason = rng.choice(
        (
            "considering how often the defendant has offended before",
            "given the value of the goods and that they were returned",
            "weighing the confession against the earlier convictions",
        )
    )
    return f"The {who}'s demand is {opinion}, {reason}."


def _sentence(prompt: SimulatedPrompt, case: _Case, rng: Random) -> str:
    pull = PULL[prompt.subject] * ((case.demand or NEUTRAL_DEMAND) - NEUTRAL_DEMAND)
    pull += prompt.injected.get("sentence_months", 0.0)
    months = min(max(round(rng.gauss(case.right + pull, SD)), 0), _LONGEST)
    ruling: dict[str, object] = {}
    opinions = list(case.evaluations)
    if case.demand is not None:
        ruling["prosecutorRecommendationMonths"] = case.demand
        ruling["prosecutorEvaluation"] = opinions[0]
    ruling["defenseAttorneyEvaluation"] = opinions[-1]
    ruling["sentenceMonths"] = months
    text = json.dumps(ruling)
    if rng.random() < INVALID_SHARE:
        return rng.choice(
            (
                f"Here is my ruling:\n```json\n{text}\n```",
                "A sentence must be found by a court after hearing everyone involved.",
                text[:-1],
            )
        )
    return text
