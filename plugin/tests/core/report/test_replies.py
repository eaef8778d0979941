"""The trials as the page carries them."""

from __future__ import annotations

import json
import zlib
from base64 import b64decode
from typing import Any

import pytest

from pytest_bias.experiments.experiment import Experiment, plan
from pytest_bias.experiments.messages import Completion, Message, Place
from pytest_bias.experiments.records import Outcome
from pytest_bias.experiments.replay import carry_out
from pytest_bias.report.replies import replies_of

from ..factories import ask_twice, completion, experiment

MODEL = "simulated/even"


def carried(of: Experiment, *replies: str) -> list[Outcome]:
    """Every trial of the design, with these replies one after another, again and again."""
    outcomes = []
    for trial in plan(of, of.design()):
        said = iter(replies * 9)

        def answer(_: object, said: Any = said) -> Completion:
            return completion(next(said))

        outcomes.append(carry_out(of, MODEL, trial, answer))
    return outcomes


def block(of: Experiment, outcomes: list[Outcome], **options: Any) -> dict[str, Any]:
    made = replies_of(of, MODEL, outcomes, **options)
    assert (made.experiment, made.model, made.dates) == (of.id, MODEL, "2026-01-02")
    found: dict[str, Any] = json.loads(zlib.decompress(b64decode(made.block)))
    return found


def test_every_trial_has_its_levels_its_measures_and_all_that_was_said() -> None:
    of = experiment()
    outcomes = carried(of, "{}", '{"score": 7}')
    found = block(of, outcomes)
    (group,), (score,) = found["factors"], found["measures"]
    assert [group["levels"][at] for at in group["at"]] == ["a"] * 3 + ["b"] * 3
    assert found["replicate"] == [1, 2, 3] * 2
    assert (score["name"], score["kind"], score["values"]) == ("score", "number", [7] * 6)
    assert found["invalid"] == [1] * 6

    def text(number: int) -> str:
        lines = found["texts"][number]
        lines = lines if isinstance(lines, list) else [lines]
        return "\n".join(found["lines"][line] for line in lines)

    for outcome, said in zip(outcomes, found["said"], strict=True):
        first, second = said
        told = [(first[1][i], text(first[1][i + 1])) for i in range(0, len(first[1]), 2)]
        asked = outcome.exchanges[0].told
        assert told == [(message.role[0], message.text) for message in asked]
        assert [text(each[2]) for each in said] == ["{}", '{"score": 7}']
        assert text(first[9]) == outcome.invalid[0]
        assert first[7:9] == [1, outcome.exchanges[0].place.of]
        assert second[1] == []  # the same question again
        assert (text(second[3]), second[4], second[5]) == ("tiny-1", 1767323045, 0.25)


@pytest.mark.parametrize(
    ("retention", "text", "kept"),
    [("raw", True, True), ("raw", False, False), ("measures", True, False)],
)
def test_no_text_is_there_where_none_is_kept(retention: Any, *, text: bool, kept: bool) -> None:
    outcomes = carried(experiment(), '{"score": 7}')
    found = block(experiment(retention=retention), outcomes, text=text)
    assert bool(found["texts"]) is bool(found["lines"]) is bool(found["said"]) is kept
    assert found["measures"][0]["values"] == [7] * 6


@pytest.mark.parametrize(
    ("retention", "told"), [("raw", "I won't, Ada"), ("measures", "unspecified")]
)
def test_a_reason_is_told_in_words_of_a_reply_only_where_these_are_kept(
    retention: Any, told: str
) -> None:
    of = experiment(retention=retention)
    (first, *_) = carried(experiment(), '{"score": 7}')
    missing = [
        Outcome(trial, None, "I won't, Ada", (), 1, (), origins=first.origins)
        for trial in plan(of, of.design())
    ]
    found = block(of, missing)
    assert found["reasons"] == [told]
    assert found["missing"] == [0] * 6
    assert found["measures"][0]["values"] == [None] * 6


def test_in_a_conversation_each_question_tells_what_is_new_in_it() -> None:
    (outcome, *_) = carried(experiment(ask_twice), "Fine.", '{"score": 7}')
    first, second = outcome.exchanges
    assert first.told == (Message("system", "Be brief."), Message("user", "What of Ada?"))
    assert second.told == (Message("user", "Now rate."),)
    assert [said.reply for said in outcome.exchanges] == ["Fine.", '{"score": 7}']
    assert [said.place for said in outcome.exchanges] == [Place((), 1, 1), Place((), 2, 1)]
