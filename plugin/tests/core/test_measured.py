"""Trials of which only the measures are kept: lines and reading."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bias.cassettes.measured import (
    UNSPECIFIED,
    MeasuredTrial,
    decode_measured,
    encode_measured,
)
from pytest_bias.cassettes.misses import not_recorded
from pytest_bias.cassettes.recorded_trials import is_recorded, reread, safe_message
from pytest_bias.cassettes.recorder import Recorder
from pytest_bias.cassettes.store import Cassette, cassette_path
from pytest_bias.errors import (
    BadDesign,
    CallFailed,
    FileProblem,
    InvalidReply,
    UnknownName,
)
from pytest_bias.experiments.design import Trial
from pytest_bias.experiments.driver import drive_at_once
from pytest_bias.experiments.experiment import Experiment, ModelRoles, plan
from pytest_bias.experiments.measures import Measure
from pytest_bias.experiments.messages import Parameters, Place, Request
from pytest_bias.experiments.protocol import Subject, together
from pytest_bias.experiments.records import Outcome, record_of
from pytest_bias.experiments.replay import PendingRequest, Unrecorded
from pytest_bias.recording.job import Job
from pytest_bias.recording.job_recording import TrialReplies

from . import factories
from .factories import MODEL, PROVENANCE, Score, always_five, experiment

CANARY = "PLANTED-7"


def kept(of: str = "measures", protocol: Any = factories.ask_once, **changes: Any) -> Experiment:
    """A small experiment that keeps no text."""
    return experiment(protocol, retention=of, **changes)


def record(
    folder: Path,
    of: Experiment,
    say: factories.Say = always_five,
    *,
    trials: Sequence[Trial] | None = None,
    anew: bool = False,
    merge: bool = True,
) -> Path:
    """Record as the experiment says, without any provider; the cassette's path."""
    if of.retention == "raw":
        return factories.record(folder, of, say, trials=trials, merge=merge)
    path = cassette_path(folder, of.id, MODEL)
    recorder = Recorder(Cassette(path, anew=anew), PROVENANCE)
    for trial in plan(of, of.design()) if trials is None else trials:
        each = TrialReplies(Job(of, ModelRoles(MODEL), ()), recorder, anew=anew)
        taker = factories.Taker(of, trial, say, each.add)
        result: object = None
        missing = None
        try:
            result = drive_at_once(taker.start(), taker)
        except InvalidReply as invalid:
            missing = invalid.reason
        asyncio.run(each.end(taker.outcome(result, missing)))
    recorder.close(merge=merge)
    return path


def read(of: Experiment, path: Path) -> list[Outcome]:
    cassette = Cassette(path)
    return [reread(of, MODEL, trial, cassette) for trial in plan(of, of.design())]


def values(of: Experiment, path: Path) -> list[dict[str, object]]:
    return [dict(record_of(outcome, of.measures).values) for outcome in read(of, path)]


def explained(of: Experiment, path: Path) -> str:
    """What is said of the trials that are missing."""
    cassette, misses = Cassette(path), []
    for trial in plan(of, of.design()):
        try:
            reread(of, MODEL, trial, cassette)
        except Unrecorded as unrecorded:
            misses.append(unrecorded.pending)
    missing = not_recorded(
        experiment_id=of.id, model=MODEL, cassette=cassette, misses=misses, planned=6
    )
    return missing.explanation


def lines(path: Path, start: bytes) -> list[tuple[int, bytes]]:
    """The lines that begin so, with their numbers."""
    data = path.read_bytes().splitlines()
    return [(n, line) for n, line in enumerate(data, start=1) if line.startswith(start)]


TEXTS = st.text(st.characters(exclude_categories=()), max_size=20)
JSON_CALLS = st.dictionaries(TEXTS, st.none() | st.booleans() | st.integers() | TEXTS, max_size=4)
MEASURED = st.builds(
    MeasuredTrial,
    key=st.text("0123456789abcdef", min_size=64, max_size=64),
    trial=st.dictionaries(TEXTS, TEXTS | st.integers() | st.none(), max_size=4),
    values=st.dictionaries(
        TEXTS, st.floats(allow_nan=False, allow_infinity=False) | TEXTS | st.booleans(), max_size=4
    ),
    missing=st.none() | TEXTS,
    invalid=st.lists(TEXTS, max_size=3).map(tuple),
    versions=st.dictionaries(TEXTS, st.integers(), max_size=4),
    calls=st.lists(JSON_CALLS, max_size=3).map(tuple),
)


@given(MEASURED)
def test_a_measured_line_comes_back_as_it_was(measured: MeasuredTrial) -> None:
    again = decode_measured(encode_measured(measured), "file", 1)
    assert again == measured
    # True is 1.0 to ==, and a float that comes back as an int prints otherwise.
    assert repr(dict(again.values)) == repr(dict(measured.values))


def test_text_that_is_not_declared_is_neither_kept_nor_read(tmp_path: Path) -> None:
    def said(*categories: str) -> Experiment:
        return kept(measures=[Measure("said", lambda _: CANARY, categories=categories)])

    with pytest.raises(BadDesign, match=r"'said'\): gives text, and of text only"):
        record(tmp_path, said())
    assert CANARY not in "".join(path.read_text() for path in tmp_path.rglob("*.*"))
    path = record(tmp_path, said(CANARY))
    assert values(said(CANARY), path)[0] == {"said": CANARY}
    with pytest.raises(BadDesign, match=r"'said'\): gives text, and of text only"):
        values(said(), path)  # a cassette that was recorded before


def test_no_word_of_questions_and_replies_is_kept(tmp_path: Path) -> None:
    async def planted(trial: Trial, subject: Subject) -> Score:
        heard = await subject.ask(f"Tell of {CANARY} {trial['group']}.", system=f"Be {CANARY}.")
        return (await subject.ask(f"Now {CANARY}.", after=heard, reply=Score)).value

    of = kept(protocol=planted)

    def say(request: Request, _: Place) -> str:
        return '{"score": 4}' if request.schema else f"said {CANARY}"

    path = record(tmp_path, of, say)
    assert values(of, path) == [{"score": 4.0}] * 6
    assert CANARY.encode() not in path.read_bytes()
    assert b"Ada" not in path.read_bytes()


def test_calls_keep_tokens_place_and_player(tmp_path: Path) -> None:
    async def graded(trial: Trial, subject: Subject, judge: Subject) -> Score:
        said, _ = await together(subject.ask(f"Of {trial['group']}?"), subject.ask("And you?"))
        return (await judge.ask(f"Grade {said.text}", reply=Score)).value

    of = kept(protocol=graded, judge=Parameters())
    path = cassette_path(tmp_path, of.id, MODEL)
    roles = ModelRoles(MODEL, "openai/judge")
    recorder = Recorder(Cassette(path), PROVENANCE)
    each = TrialReplies(Job(of, roles, ()), recorder, anew=False)
    trial = plan(of, of.design())[0]

    taker = factories.Taker(of, trial, always_five, each.add, roles)
    asyncio.run(each.end(taker.outcome(drive_at_once(taker.start(), taker), None)))
    recorder.close()
    (measured,) = Cassette(path).measured_trials()
    assert [(call["to"], call["place"]) for call in measured.calls] == [
        ("subject", [[1, 1], 1, 1]),
        ("subject", [[1, 2], 1, 1]),
        ("judge", [[], 2, 1]),
    ]
    assert [call["usage"] for call in measured.calls] == [{"input": 3, "output": 1}] * 3
    assert reread(of, roles, trial, Cassette(path)).interactions == 3
    # Another judge, or the same asked otherwise, may find another measure.
    for other in (
        replace(roles, judge="openai/other"),
        replace(roles, judge_defaults=Parameters(temperature=0.0)),
    ):
        with pytest.raises(Unrecorded):
            reread(of, other, trial, Cassette(path))


def test_invalid_replies_and_reasons_survive(tmp_path: Path) -> None:
    def say(request: Request, place: Place) -> str:
        if "Ada" in request.messages[-1].text:
            return "I cannot."
        return '{"score": 5}' if place.attempt == 3 else "hm, 4 or 5"

    of, raw = kept(), experiment()
    found = read(of, record(tmp_path / "measures", of, say))
    expected = factories.outcomes_of(raw, record(tmp_path / "raw", raw, say))
    for one, other in zip(found, expected, strict=True):
        assert (one.missing, one.invalid, one.interactions) == (
            other.missing,
            other.invalid,
            other.interactions,
        )
        assert record_of(one, of.measures) == record_of(other, raw.measures)
    assert found[0].missing == "refusal"
    assert found[-1].invalid == ("not_json", "not_json")


@pytest.mark.parametrize("reason", [f"it said {CANARY}", "x" * 41, "Diagnostics", ""])
def test_a_reason_that_may_be_a_replys_own_words_is_not_kept(tmp_path: Path, reason: str) -> None:
    def check(_: Score) -> None:
        raise InvalidReply(reason)

    async def picky(trial: Trial, subject: Subject) -> Score:
        return (await subject.ask(f"Rate {trial['group']}.", reply=Score, check=check)).value

    of = kept(protocol=picky)
    path = record(tmp_path, of)
    assert read(of, path)[0].missing == UNSPECIFIED
    assert read(of, path)[0].invalid == (UNSPECIFIED,) * 3
    assert CANARY.encode() not in path.read_bytes()


@pytest.mark.parametrize(
    "other",
    [
        kept(measures=[Measure("score", bounds=(0, 10), version=2)]),
        kept(measures=[Measure("score"), Measure("id", id)]),
        experiment(),
    ],
    ids=["a raised version", "another measure", "text kept again"],
)
def test_what_was_measured_otherwise_is_not_recorded_and_says_so(
    tmp_path: Path, other: Experiment
) -> None:
    words = explained(other, record(tmp_path, kept()))
    assert "6 of 6 trials of tiny with openai/tiny are not recorded" in words
    assert "the same trial, measured in these versions: score 1." in words
    assert "nothing can be measured again" in words


def test_a_changed_prompt_is_a_miss_that_shows_no_text(tmp_path: Path) -> None:
    async def otherwise(trial: Trial, subject: Subject) -> Score:
        return (await subject.ask(f"{CANARY} {trial['group']}.", reply=Score)).value

    words = explained(kept(protocol=otherwise), record(tmp_path, kept()))
    assert "Its first question, a measure, the retention, the judge or how" in words
    assert CANARY not in words


def test_text_in_the_cassette_of_an_experiment_that_keeps_none_is_an_error(tmp_path: Path) -> None:
    path = factories.record(tmp_path, experiment())
    of = kept()
    with pytest.raises(FileProblem, match='its experiment has retention="measures"'):
        read(of, path)
    trial = plan(of, of.design())[0]
    with pytest.raises(FileProblem, match="as text"):
        is_recorded(of, ModelRoles(MODEL, "openai/judge"), trial, Cassette(path))


async def same(_: Trial, subject: Subject) -> Score:
    return (await subject.ask("Rate.", reply=Score)).value


async def later(trial: Trial, subject: Subject) -> Score:
    heard = await subject.ask("Hello.")
    return (await subject.ask(f"Rate {trial['group']}.", after=heard, reply=Score)).value


@pytest.mark.parametrize(("protocol", "prompts"), [(factories.ask_once, 2), (later, 2), (same, 1)])
def test_conditions_are_told_apart_by_digests(tmp_path: Path, protocol: Any, prompts: int) -> None:
    of = kept(protocol=protocol)
    found = {outcome.prompts for outcome in read(of, record(tmp_path, of))}
    assert len(found) == prompts
    assert "Ada" not in repr(found)


def _raised(raise_: Callable[[], object]) -> Exception:
    with pytest.raises(Exception) as caught:  # noqa: PT011  (whatever a protocol raises)
        raise_()
    return caught.value


def _throw(error: Exception) -> None:
    raise error


@pytest.mark.parametrize(
    ("raise_", "words"),
    [
        (partial(_throw, ValueError(CANARY)), "ValueError; this experiment keeps no text"),
        (partial(Measure, CANARY), "BadDesign; this experiment"),
        (partial(_throw, OSError(28, CANARY)), "OSError: No space left on device; this"),
        (
            partial(
                _throw, CallFailed(model="m/x", problem="", kind="parameter", parameter=CANARY)
            ),
            "m/x: a call failed (parameter); this experiment keeps no text",
        ),
        (
            partial(Measure("score", cast("Any", lambda _: [CANARY])).of, Score(score=7)),
            "Measure('score'): gave a list; a finite number, str or bool is needed",
        ),
    ],
)
def test_an_error_is_told_in_words_of_our_own(raise_: Callable[[], object], words: str) -> None:
    said = safe_message(_raised(raise_))
    assert said.startswith(words)
    assert CANARY not in said


def test_a_label_of_ours_is_not_taken_for_words_of_ours() -> None:
    error = _raised(partial(kept().measure, CANARY))
    assert isinstance(error, UnknownName)
    assert CANARY in str(error)
    assert CANARY not in safe_message(error)


def test_wanted_shows_no_text_in_tracebacks(tmp_path: Path) -> None:
    of = kept()
    with pytest.raises(Unrecorded) as caught:
        reread(of, MODEL, plan(of, of.design())[0], Cassette(tmp_path / "none.jsonl"))
    wanted: PendingRequest = caught.value.pending
    assert "Ada" not in repr(wanted)
