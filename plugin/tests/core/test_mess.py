"""The messy subject: as ``even``, with the ordinary mess of a model laid over it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from pytest_bias.experiments.messages import Message
from pytest_bias.experiments.replies import bare_json
from pytest_bias.experiments.simulated import (
    FENCED,
    MESSY,
    MESSY_JUDGE,
    REFUSAL,
    REFUSED,
    SimulatedPrompt,
    simulated_text,
)
from pytest_bias.providers.roles import SAME, judge_of
from pytest_bias.settings.roster import Roster

MESSAGES = (Message("user", "How many?"),)
TRIALS, CALLS = 2000, 3


def number(prompt: SimulatedPrompt) -> str:
    """An experiment's own subject, which knows nothing of a mess."""
    assert prompt.subject in ("even", "judge")
    return json.dumps({"number": prompt.seed % 7})


def said(trial: int, subject: str = MESSY) -> Iterator[str | None]:
    """What a program says in all calls of a trial."""
    for call in range(CALLS):
        prompt = SimulatedPrompt(subject, MESSAGES, trial * CALLS + call, trial=trial)
        yield simulated_text(number, prompt)


def test_a_trial_is_refused_at_every_attempt_or_at_none() -> None:
    trials = [[*said(trial)] for trial in range(TRIALS)]
    refused = [replies for replies in trials if REFUSAL in replies]
    assert all({*replies} == {REFUSAL} for replies in refused)
    assert len(refused) / TRIALS == pytest.approx(REFUSED, abs=0.015)
    assert trials == [[*said(trial)] for trial in range(TRIALS)]


def test_some_json_replies_stand_in_a_fence_and_no_other_text_does() -> None:
    replies = [text for trial in range(TRIALS) for text in said(trial) if text != REFUSAL]
    fenced = [inside for text in replies if text and (inside := bare_json(text)) is not None]
    assert len(fenced) / len(replies) == pytest.approx(FENCED, abs=0.015)
    assert all("number" in json.loads(text) for text in fenced)
    prompts = [SimulatedPrompt(MESSY, MESSAGES, seed) for seed in range(TRIALS)]
    words = {simulated_text(lambda _: "A goose egg takes longer.", prompt) for prompt in prompts}
    assert words == {"A goose egg takes longer.", REFUSAL}


def test_its_judge_refuses_nothing_and_is_told_that_it_is_messy() -> None:
    assert judge_of(f"simulated/{MESSY}", None, Roster()) == f"simulated/{MESSY_JUDGE}"
    assert judge_of(f"simulated/{MESSY}", SAME, Roster()) == f"simulated/{MESSY}"
    replies = [text for trial in range(TRIALS) for text in said(trial, MESSY_JUDGE)]
    assert all("number" in json.loads(text) for text in replies if text)

    def told(prompt: SimulatedPrompt) -> str:
        return f"{prompt.subject} {prompt.messy}"

    assert {
        simulated_text(told, SimulatedPrompt(subject, MESSAGES, 1))
        for subject in ("even", "judge", MESSY_JUDGE)
    } == {"even False", "judge False", "judge True"}
