"""What is planted in the simulated subjects is what their replies show, and nothing else."""

from __future__ import annotations

import json
import statistics
from functools import cache

import pytest

from pytest_bias.experiments.design import Condition, Trial
from pytest_bias.experiments.driver import drive_at_once
from pytest_bias.experiments.messages import Message, Place, trial_seed
from pytest_bias.experiments.protocol import Subject
from pytest_bias.experiments.simulated import SimulatedPrompt
from pytest_bias.providers.simulated import SUBJECTS, dice
from tests.core.factories import Script

from ..experiment import ANCHORING
from ..simulated import CENTRE, INVALID_SHARE, PULL, SD, answer

SEEDS = 4000
MARGIN = 0.6


@cache
def conversation(level: str) -> tuple[tuple[Message, ...], ...]:
    """The three requests of a trial, with fixed replies in between."""
    condition = next(c for c in ANCHORING.conditions if c.id == level)
    ruling = json.dumps(
        {
            "prosecutorRecommendationMonths": condition["demand"],
            "prosecutorEvaluation": "too low",
            "defenseAttorneyEvaluation": "too low",
            "sentenceMonths": 5,
        }
    )
    replies = {
        1: "The prosecutor's demand is too high, I find.",
        2: "The defence attorney's demand is too low, I find.",
        3: ruling,
    }
    script = Script(lambda _, place: replies[place.turn])
    drive_at_once(ANCHORING.protocol(Trial(condition), Subject()), script)
    return tuple(request.messages for request in script.requests)


@cache
def replies(subject: str, level: str, turn: int) -> tuple[str, ...]:
    messages = conversation(level)[turn - 1]
    texts = [answer(SimulatedPrompt(subject, messages, seed)) for seed in range(SEEDS)]
    return tuple(text for text in texts if text is not None)


@cache
def months(subject: str, level: str) -> tuple[int, ...]:
    found = []
    for text in replies(subject, level, 3):
        try:
            ruling = json.loads(text)
        except ValueError:
            continue
        assert ruling["prosecutorRecommendationMonths"] == {"low": 3, "high": 9}[level]
        assert ruling["prosecutorEvaluation"] == "too high"
        assert ruling["defenseAttorneyEvaluation"] == "too low"
        found.append(ruling["sentenceMonths"])
    return tuple(found)


@pytest.mark.parametrize("subject", SUBJECTS)
@pytest.mark.parametrize("level", ["low", "high"])
def test_the_declared_spread(subject: str, level: str) -> None:
    found = statistics.stdev(months(subject, level))
    assert found == pytest.approx((SD**2 + 1 / 12) ** 0.5, abs=0.05)  # Sheppard's correction
    assert 1.0 <= found <= 1.25


@pytest.mark.parametrize(
    ("subject", "planted"), [("even", 0.0), ("biased", 1.8), ("drifted", 3.0)]
)
def test_the_planted_effects(subject: str, planted: float) -> None:
    found = statistics.fmean(months(subject, "high")) - statistics.fmean(months(subject, "low"))
    assert found == pytest.approx(planted, abs=0.1)
    assert PULL[subject] * 6 == pytest.approx(planted)


def test_what_is_planted_is_at_least_two_margins_or_nothing() -> None:
    assert set(PULL) == set(SUBJECTS)
    for pull in PULL.values():
        assert pull == 0 or pull * 6 >= 2 * MARGIN


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_centre_is_that_of_the_two_demands(subject: str) -> None:
    both = [*months(subject, "low"), *months(subject, "high")]
    assert statistics.fmean(both) == pytest.approx(CENTRE, abs=0.06)


@pytest.mark.parametrize("subject", SUBJECTS)
@pytest.mark.parametrize("level", ["low", "high"])
def test_one_final_reply_in_fifty_is_invalid(subject: str, level: str) -> None:
    share = 1 - len(months(subject, level)) / SEEDS
    assert share == pytest.approx(INVALID_SHARE, abs=0.008)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_control_is_planted_in_all_of_them(subject: str) -> None:
    def too_high(level: str) -> float:
        return sum("is too high" in text for text in replies(subject, level, 1)) / SEEDS

    assert too_high("low") < 0.1
    assert too_high("high") > 0.8


def test_evaluations_do_not_depend_on_the_subject_or_the_demand_heard_before() -> None:
    """What is planted is a pull on the sentence alone."""

    def shares(subject: str, level: str, turn: int) -> list[float]:
        texts = replies(subject, level, turn)
        options = ("too low", "too high", "just right")
        return [sum(f"is {o}," in text for text in texts) / SEEDS for o in options]

    for subject in SUBJECTS:
        assert sum(shares(subject, "low", 2)) == 1.0
        assert shares(subject, "low", 2) == pytest.approx(shares(subject, "high", 2), abs=0.04)
        assert shares(subject, "low", 1) == pytest.approx(shares("even", "low", 1), abs=0.04)


def test_replies_are_a_function_of_subject_prompt_and_seed() -> None:
    messages = conversation("high")[2]
    once = [answer(SimulatedPrompt(s, messages, seed)) for s in SUBJECTS for seed in range(50)]
    again = [answer(SimulatedPrompt(s, messages, seed)) for s in SUBJECTS for seed in range(50)]
    assert once == again
    assert len(set(once)) > 5


def test_dice_never_change() -> None:
    """A change here makes every shipped recording another one."""
    assert dice("even", 1).random() == 0.26448748356318763
    assert dice("even", 1).random() != dice("biased", 1).random() != dice("even", 2).random()


def test_no_seed_was_searched_for() -> None:
    """Seeds are hashes of the experiment's id, the trial and the place in it, of nothing else."""
    condition = Condition({"demand": "low"}, {"demand": 3})
    seed = trial_seed(ANCHORING.id, Trial(condition, replicate=1), Place((), 1, 1))
    assert seed == 894895593798397539
