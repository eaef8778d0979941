"""The anchoring experiment whose three steps stand in one prompt, and how it is simulated."""

from __future__ import annotations

import json
import statistics
from functools import cache
from typing import Any

import pytest

from pytest_bias.contrasts.register import ATTRIBUTE
from pytest_bias.experiments.design import Design, Trial
from pytest_bias.experiments.driver import drive_at_once
from pytest_bias.experiments.experiment import Experiment, plan
from pytest_bias.experiments.messages import Completion, Message, Parameters, Request
from pytest_bias.experiments.protocol import Subject
from pytest_bias.experiments.replay import replay
from pytest_bias.experiments.simulated import SimulatedPrompt
from pytest_bias.providers.simulated import SUBJECTS
from tests.core.factories import Script, completion

from .. import test_all_in_one as at_once
from .. import test_anchoring as in_turns
from ..experiment import ALL_IN_ONE, ANCHORING, CITATION
from ..simulated import CENTRE, INVALID_SHARE, SD, answer

SEEDS = 4000
RULING = (
    '{"prosecutorRecommendationMonths": %s, "prosecutorEvaluation": "too low", '
    '"defenseAttorneyEvaluation": "too low", "sentenceMonths": %s}'
)
DEMANDS = {"low": 3, "high": 9}


def trial(of: Experiment, level: str) -> Trial:
    return next(t for t in plan(of, Design(1)) if t.condition.id == level)


def asked(of: Experiment, level: str, *replies: str) -> tuple[object, list[Request]]:
    given = iter(replies)
    script = Script(lambda *_: next(given))
    return drive_at_once(
        of.protocol(trial(of, level), Subject(of.parameters)), script
    ), script.requests


@cache
def prompt(level: str) -> str:
    """The one prompt of a trial."""
    (request,) = asked(ALL_IN_ONE, level, RULING % (DEMANDS[level], 5))[1]
    (message,) = request.messages
    assert message.role == "user"
    return message.text


@cache
def conversation(level: str) -> list[str]:
    """What the conversation's three turns ask."""
    replies = ("Too high.", "Too low.", RULING % (DEMANDS[level], 5))
    return [r.messages[-1].text for r in asked(ANCHORING, level, *replies)[1]]


# --- the prompt ----------------------------------------------------------------------------------


@pytest.mark.requirement("ANCHOR-08")
@pytest.mark.parametrize("level", DEMANDS)
def test_one_prompt_and_one_reply_per_trial(level: str) -> None:
    result: Any
    result, requests = asked(ALL_IN_ONE, level, RULING % (DEMANDS[level], 5))
    assert (result.sentence_months, result.prosecutor_months) == (5, DEMANDS[level])
    assert [len(request.messages) for request in requests] == [1]


@pytest.mark.requirement("ANCHOR-05")
@pytest.mark.parametrize("level", DEMANDS)
def test_facts_demands_and_final_question_are_the_conversations_words(level: str) -> None:
    first, second, third = conversation(level)
    vignette, told, accusation, _ = first.split("\n\n")
    plea, _ = second.split("\n\n")
    for words in (vignette, told, accusation, plea, third):
        assert words in prompt(level)
    assert "$" not in prompt(level)


@pytest.mark.requirement("ANCHOR-01")
def test_the_steps_stand_in_their_order() -> None:
    steps = [
        "The prosecutor demands 9 months on probation.",
        "First: in your judgement, is the prosecutor's demand of 9 months on probation too low",
        "The defence attorney demands 1 month on probation.",
        "Second: in your judgement, is the defence attorney's demand of 1 month on probation too",
        "Third: As the judge in this case, now decide",
        "Reply with a single JSON object and nothing else",
    ]
    found = [prompt("high").index(step) for step in steps]
    assert found == sorted(found)


@pytest.mark.requirement("ANCHOR-06")
def test_only_the_demand_differs_between_conditions() -> None:
    assert prompt("low") != prompt("high")
    assert prompt("low").replace("3 months", "9 months") == prompt("high")


def test_the_prompt_states_the_range() -> None:
    assert "in whole months from 0 to 12?" in prompt("high")


@pytest.mark.requirement("ANCHOR-17")
def test_nothing_is_asked_for_that_codex_does_not_take() -> None:
    assert ALL_IN_ONE.parameters == Parameters(None, None, seeded=False)
    (request,) = asked(ALL_IN_ONE, "low", RULING % (3, 5))[1]
    assert request.parameters == Parameters()
    assert "Codex" in str(ALL_IN_ONE.metadata["sampling"])


# --- replies -------------------------------------------------------------------------------------


@pytest.mark.requirement("ANCHOR-09", "ANCHOR-13")
@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("wrong_echo", RULING % (3, 5)),
        ("out_of_range", RULING % (9, 13)),
        ("wrong_type", RULING % (9, 5.5)),
        ("not_json", f"```json\n{RULING % (9, 5)}\n```"),
        ("extra_field", (RULING % (9, 5)).replace("}", ', "reason": "x"}')),
        ("missing_field", '{"sentenceMonths": 5}'),
        ("empty", ""),
    ],
)
def test_invalid_replies_are_tried_three_times_and_then_missing(reason: str, text: str) -> None:
    calls: list[str] = []

    def lookup(key: str) -> Completion:
        calls.append(key)
        return completion(text)

    outcome = replay(ALL_IN_ONE, "codex/m", trial(ALL_IN_ONE, "high"), lookup)
    assert outcome.missing == reason
    assert outcome.invalid == (reason,) * 3
    assert len(set(calls)) == 3


# --- another experiment than the conversation ---------------------------------------------------


def test_it_is_an_experiment_of_its_own_with_the_same_measures_and_sizes() -> None:
    assert ALL_IN_ONE.id == "anchoring-prosecutor-sentencing-all-in-one"
    assert ALL_IN_ONE.id != ANCHORING.id
    assert ALL_IN_ONE.name == f"{ANCHORING.name}, all in one prompt"
    assert [c["demand"] for c in ALL_IN_ONE.conditions] == [3, 9]
    assert [m.name for m in ALL_IN_ONE.measures] == [m.name for m in ANCHORING.measures]
    assert ALL_IN_ONE.source == CITATION
    for design, trials in (("gate", 408), ("documented", 60)):
        assert len(plan(ALL_IN_ONE, ALL_IN_ONE.design(design))) == trials
        assert len(plan(ANCHORING, ANCHORING.design(design))) == trials
    limitations: Any = ALL_IN_ONE.metadata["limitations"]
    shared: Any = ANCHORING.metadata["limitations"]
    assert list(limitations[:-1]) == list(shared)
    assert "One completion" in limitations[-1]


@pytest.mark.requirement("ANCHOR-23")
def test_both_verdicts_are_decided_by_the_same_rule() -> None:
    first, second = (
        vars(function)[ATTRIBUTE]
        for function in (
            in_turns.test_random_demand_does_not_move_the_sentence,
            at_once.test_random_demand_does_not_move_the_sentence_given_at_once,
        )
    )
    assert (first.experiment, second.experiment) == (ANCHORING, ALL_IN_ONE)
    assert first.contrasts == second.contrasts
    assert (second.contrasts[0].margin, second.contrasts[0].claim) == (0.6, "clear")


# --- simulated subjects --------------------------------------------------------------------------


@cache
def rulings(subject: str, level: str) -> tuple[dict[str, Any], ...]:
    """The valid replies of many seeds."""
    found = []
    for seed in range(SEEDS):
        text = answer(SimulatedPrompt(subject, (Message("user", prompt(level)),), seed))
        assert text is not None
        try:
            found.append(json.loads(text))
        except ValueError:
            continue
    return tuple(found)


def months(subject: str, level: str) -> list[int]:
    return [ruling["sentenceMonths"] for ruling in rulings(subject, level)]


@pytest.mark.parametrize(
    ("subject", "planted"), [("even", 0.0), ("biased", 1.8), ("drifted", 3.0)]
)
def test_the_planted_effects_are_the_conversations(subject: str, planted: float) -> None:
    low, high = months(subject, "low"), months(subject, "high")
    assert statistics.fmean(high) - statistics.fmean(low) == pytest.approx(planted, abs=0.1)
    assert statistics.fmean([*low, *high]) == pytest.approx(CENTRE, abs=0.06)
    assert statistics.stdev(low) == pytest.approx((SD**2 + 1 / 12) ** 0.5, abs=0.05)


@pytest.mark.parametrize("subject", SUBJECTS)
@pytest.mark.parametrize("level", DEMANDS)
def test_one_reply_in_fifty_is_invalid_and_all_others_echo_the_demand(
    subject: str, level: str
) -> None:
    assert 1 - len(rulings(subject, level)) / SEEDS == pytest.approx(INVALID_SHARE, abs=0.008)
    echoes = {ruling["prosecutorRecommendationMonths"] for ruling in rulings(subject, level)}
    assert echoes == {DEMANDS[level]}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_control_is_planted_in_all_of_them(subject: str) -> None:
    def too_high(level: str) -> float:
        found = [r["prosecutorEvaluation"] for r in rulings(subject, level)]
        return found.count("too high") / len(found)

    assert too_high("low") < 0.1
    assert too_high("high") > 0.8


def test_evaluations_do_not_depend_on_the_subject_or_the_other_demand() -> None:
    def shares(subject: str, level: str) -> list[float]:
        found = [r["defenseAttorneyEvaluation"] for r in rulings(subject, level)]
        return [found.count(o) / len(found) for o in ("too low", "too high", "just right")]

    for subject in SUBJECTS:
        assert sum(shares(subject, "low")) == pytest.approx(1.0)
        assert shares(subject, "low") == pytest.approx(shares("even", "high"), abs=0.04)


def test_replies_are_a_function_of_subject_prompt_and_seed() -> None:
    messages = (Message("user", prompt("high")),)
    once = [answer(SimulatedPrompt(s, messages, seed)) for s in SUBJECTS for seed in range(50)]
    again = [answer(SimulatedPrompt(s, messages, seed)) for s in SUBJECTS for seed in range(50)]
    assert once == again
    assert len(set(once)) > 5
