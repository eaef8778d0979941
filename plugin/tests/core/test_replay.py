"""Trials carried out again from what is recorded, and the records that become of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_bias.errors import DamagedCassette, InvalidReply
from pytest_bias.experiments.design import Trial
from pytest_bias.experiments.experiment import ModelRoles
from pytest_bias.experiments.measures import Measure
from pytest_bias.experiments.messages import Completion, Parameters, Place
from pytest_bias.experiments.protocol import Subject, together
from pytest_bias.experiments.records import Config, Outcome, Record, Records, record_of
from pytest_bias.experiments.replay import (
    PendingRequest,
    Unrecorded,
    place_order,
    rehearse,
    replay,
)

from .factories import (
    MODEL,
    Score,
    ask_once,
    ask_twice,
    completion,
    condition,
    experiment,
    recording,
)


class Tape:
    """Replies to whatever is asked, in the order in which it is asked, and notes the keys."""

    def __init__(self, *texts: str | None) -> None:
        self.texts = list(texts)
        self.keys: list[str] = []

    def lookup(self, key: str) -> Completion | None:
        self.keys.append(key)
        text = self.texts.pop(0)
        return None if text is None else completion(text)


def first() -> Trial:
    return Trial(experiment().conditions[0])


def test_an_outcome() -> None:
    tape = Tape("Ada is kind.", '{"score": 7}')
    outcome = replay(experiment(ask_twice), MODEL, first(), tape.lookup)
    assert outcome.result == Score(score=7)
    assert outcome.missing is None
    assert outcome.prompts == ("Be brief.", "What of Ada?", "Now rate.")
    assert (outcome.interactions, outcome.invalid) == (2, ())
    assert len(set(tape.keys)) == 2


@pytest.mark.parametrize(
    ("protocol", "told"),
    [(ask_once, ("Rate Ada.",)), (ask_twice, ("Be brief.", "What of Ada?", "Now rate."))],
)
def test_a_model_that_is_always_told_something_is_told_the_same_by_an_experiment(
    protocol: Any, told: tuple[str, ...]
) -> None:
    fair = ModelRoles(MODEL, subject_system="Be fair.")
    tape, bare = Tape("7", '{"score": 7}'), Tape("7", '{"score": 7}')
    told_so = replay(experiment(protocol), fair, first(), tape.lookup)
    assert told_so.prompts == told
    assert replay(experiment(protocol), MODEL, first(), bare.lookup).prompts == told
    assert not {*tape.keys} & {*bare.keys}


def test_an_invalid_trial_is_missing_with_its_last_reason() -> None:
    outcome = replay(experiment(), MODEL, first(), Tape("?", "", "[1]").lookup)
    assert outcome.result is None
    assert outcome.missing == "wrong_type"
    assert outcome.invalid == ("no_number", "empty", "wrong_type")


@pytest.mark.parametrize(
    ("texts", "place"),
    [
        ((None,), Place((), 1, 1)),
        (("Kind.", None), Place((), 2, 1)),
        (("Kind.", "?", None), Place((), 2, 2)),
    ],
    ids=["first", "second turn", "second attempt"],
)
def test_what_is_not_recorded_is_named(texts: tuple[str | None, ...], place: Place) -> None:
    with pytest.raises(Unrecorded) as caught:
        replay(experiment(ask_twice), MODEL, first(), Tape(*texts).lookup)
    wanted: PendingRequest = caught.value.pending
    assert (wanted.place, wanted.trial) == (place, first())
    assert "a#1" in str(caught.value)


def test_damage_is_not_mistaken_for_a_missing_recording() -> None:
    damaged = DamagedCassette(path="x", line=3, problem="bad")

    def lookup(_key: str) -> Completion | None:
        raise damaged

    async def careless(trial: Trial, subject: Subject) -> object:
        try:
            return await together(ask_once(trial, subject), ask_once(trial, subject))
        except Exception:  # noqa: BLE001  (a careless protocol)
            return None

    with pytest.raises(DamagedCassette):
        replay(experiment(careless), MODEL, first(), lookup)


def test_a_branch_stands_where_it_began() -> None:
    places = [
        Place((), 1, 1),
        Place((), 1, 2),
        Place((2, 1), 1, 1),
        Place((2, 1), 2, 1),
        Place((2, 2), 1, 1),
        Place((), 3, 1),
    ]
    assert sorted([*places[3:], *places[:3]], key=place_order) == places


def test_a_check_of_plain_text_holds_on_replay_and_in_rehearsal_too() -> None:
    def never(_: str) -> None:
        raise InvalidReply("unfit")

    async def checked(trial: Trial, subject: Subject) -> str:
        return (await subject.ask(f"What of {trial['group']}?", check=never)).value

    of = experiment(checked, simulated=lambda _: "Kind.")
    outcome = replay(of, MODEL, first(), Tape("Kind.", "Kind.", "Kind.").lookup)
    assert (outcome.missing, outcome.invalid) == ("unfit", ("unfit",) * 3)
    assert rehearse(of, ModelRoles(MODEL), first()) == 3


async def _tell_and_grade(_trial: Trial, subject: Subject, judge: Subject) -> Score:
    story = await subject.ask("Tell a story.", attempts=1)
    return (await judge.ask(f"Grade: {story.value}", reply=Score, attempts=4)).value


def test_a_recording_says_on_what_terms_its_players_were_asked() -> None:
    of = experiment(_tell_and_grade, judge=Parameters(temperature=0.0))
    roles = ModelRoles(MODEL, judge="openai/strict", subject_defaults=Parameters(temperature=0.7))
    outcome = replay(of, roles, first(), Tape("Once.", '{"score": 7}').lookup)
    refused = replay(of, roles, first(), Tape("").lookup)
    config = of.config_of(roles)
    known = recording(config=config).attempted([refused, outcome, refused]).config
    assert known["subject"] == Config(parameters=Parameters(temperature=0.7), attempts=1)
    assert known["judge"] == Config(parameters=Parameters(temperature=0.0), attempts=4)
    # where no story came, nobody was asked to grade one
    assert recording(config=config).attempted([refused]).config["judge"].attempts is None
    assert recording().attempted([outcome]).config == {}


TINY = experiment()


def outcome(missing: str | None, *invalid: str, interactions: int = 1) -> Outcome:
    trial = Trial(condition(TINY, "a"))
    result = None if missing else Score(score=4)
    return Outcome(trial, result, missing, invalid, interactions, ("a prompt",))


def test_a_valid_outcome_becomes_values() -> None:
    record = record_of(
        outcome(None, "empty", interactions=2),
        [Measure("score"), Measure("high", lambda score: score.score > 3)],
    )
    assert record.values == {"score": 4.0, "high": True}
    assert record.missing is None
    assert (record.invalid, record.interactions) == (("empty",), 2)
    with pytest.raises(TypeError):
        record.values["score"] = 0  # type: ignore[index]


def test_a_reply_outside_a_measures_bounds_is_a_missing_one() -> None:
    measures = [Measure("high", lambda score: score.score > 3), Measure("score", bounds=(0, 3))]
    record = record_of(outcome(None, "empty", interactions=2), measures)
    assert (record.values, record.missing) == ({}, "out_of_bounds_score")
    assert (record.invalid, record.interactions) == (("empty",), 2)
    # Of what was measured before, the bounds that are declared now hold as well.
    kept = replace(outcome(None), result=None, values={"high": True, "score": 4.0})
    assert record_of(kept, measures).missing == "out_of_bounds_score"


def test_an_error_in_a_measure_is_no_missing_reply() -> None:
    with pytest.raises(ZeroDivisionError):
        record_of(outcome(None), [Measure("score", lambda score: score.score / 0, bounds=(0, 3))])


def test_completeness_adds_up() -> None:
    trial = Trial(condition(TINY, "a"))
    records = Records(
        (
            Record(trial, {"score": 1.0}, None),
            Record(trial, {"score": 1.0}, None, ("empty", "not_json"), 3),
            Record(trial, {}, "refusal", ("refusal",) * 3, 3),
            Record(trial, {}, "empty", ("not_json", "empty", "empty"), 3),
        )
    )
    count = records.count("a")
    assert (count.planned, count.ok, count.errors, count.interactions) == (4, 2, 2, 10)
    assert dict(count.missing) == {"empty": 1, "refusal": 1}
    assert list(count.invalid.items()) == [("empty", 3), ("not_json", 2), ("refusal", 3)]
    assert count.planned == count.ok + sum(count.missing.values())
