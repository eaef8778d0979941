"""Measures: what they take, what is no value, and latency, the same on every replay."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Literal

import numpy as np
import pytest

from pytest_bias.cassettes.recorded_trials import reread
from pytest_bias.cassettes.recorder import Recorder
from pytest_bias.cassettes.store import Cassette, cassette_path
from pytest_bias.errors import BadDesign, InvalidReply
from pytest_bias.experiments.design import Trial
from pytest_bias.experiments.driver import drive_at_once
from pytest_bias.experiments.experiment import ModelRoles, plan
from pytest_bias.experiments.measures import Measure, check_declared
from pytest_bias.experiments.messages import Completion
from pytest_bias.experiments.protocol import Reply, Subject
from pytest_bias.experiments.records import Outcome, record_of
from pytest_bias.experiments.replay import check_replay, replay

from . import factories
from .factories import MODEL, PROVENANCE, completion, experiment
from .test_measured import kept, record, values


class Word(enum.StrEnum):
    HIGH = "too high"


TAKEN = {
    "int": (5, 5.0),
    "float": (0.5, 0.5),
    "numpy float": (np.float64(0.5), 0.5),
    "numpy int": (np.int64(5), 5.0),
    "numpy flag": (np.bool_(1), True),
    "flag": (True, True),
    "text": ("too high", "too high"),
    "member of an enum": (Word.HIGH, "too high"),
}


@pytest.mark.parametrize(("given", "value"), TAKEN.values(), ids=TAKEN)
def test_values(given: object, value: object) -> None:
    taken = Measure("score").of(SimpleNamespace(score=given))
    assert taken == value
    assert type(taken) is type(value)


@pytest.mark.parametrize(
    "given",
    [math.nan, math.inf, None, [1], {}, np.float64(math.nan), np.arange(2), 1j],
    ids=lambda value: type(value).__name__ + str(value)[:4],
)
def test_what_is_no_value(given: object) -> None:
    with pytest.raises(BadDesign, match=r"Measure\('score'\): gave a"):
        Measure("score").of(SimpleNamespace(score=given))


@pytest.mark.parametrize("value", [-0.1, 10.1, 11, 10**400, math.inf, -math.inf])
def test_a_value_outside_its_bounds_is_the_replys_fault(value: float) -> None:
    with pytest.raises(InvalidReply, match=r"^out_of_bounds_score$"):
        Measure("score", bounds=(0, 10)).of(SimpleNamespace(score=value))
    with pytest.raises(InvalidReply, match=r"^out_of_bounds_score$"):
        Measure("score").of(SimpleNamespace(score=10**400))


WORDS = ["low", "too high", "not scored"]


@pytest.mark.parametrize("value", ["high", "", "Low", "low  low", "low SECRET", "too", "low\n"])
def test_other_text_is_the_replys_fault(value: str) -> None:
    with pytest.raises(InvalidReply, match=r"^undeclared_score$"):
        Measure("score", categories=WORDS).of(SimpleNamespace(score=value))


class _Graded:
    words: str
    maybe: str | None
    named: Word
    closed: Literal["low", "high"]
    score: int
    flag: bool
    grade: Literal[1, 2]


async def _graded() -> _Graded:
    raise NotImplementedError


@pytest.mark.parametrize("name", ["words", "maybe", "named", "closed"])
def test_text_that_is_not_declared_is_known_by_its_annotation(name: str) -> None:
    with pytest.raises(BadDesign, match=rf"^Measure\('{name}'\): gives text, .* say categories="):
        check_declared([Measure("score"), Measure(name)], _graded)
    check_declared([Measure(name, categories=["low"])], _graded)


@pytest.mark.parametrize("value", [24.5, -0.5, np.float64(0.25)])
def test_what_counts_and_is_not_whole_is_missing(value: float) -> None:
    with pytest.raises(InvalidReply, match="not_whole_length"):
        Measure("length", lambda _: value, integer=True).of(None)


AWKWARD = [0.0, 0.1 + 0.2, 1e-6, 123456.789012, 1 / 3, 5]


@dataclass(frozen=True, slots=True)
class Timed:
    """What the protocol gives: the reply itself, too."""

    reply: Reply[str]
    latency: float


async def timed(trial: Trial, subject: Subject) -> Timed:
    reply = await subject.ask(f"What of {trial['group']}?")
    return Timed(reply, reply.latency)


async def seconds_alone(trial: Trial, subject: Subject) -> float:
    return (await subject.ask(f"What of {trial['group']}?")).latency


LATENCY = Measure("latency", unit="seconds")
SECONDS = Measure("latency", take=lambda result: result, unit="seconds")


@pytest.mark.requirement("AUDIT-14")
@pytest.mark.parametrize("latency", AWKWARD)
def test_a_replay_has_the_latency_that_was_recorded(tmp_path: Path, latency: float) -> None:
    of = experiment(timed, measures=[LATENCY])
    trial = plan(of, of.design())[0]
    recorder = Recorder(Cassette(cassette_path(tmp_path, of.id, MODEL)), PROVENANCE)
    said = replace(completion("Kind."), latency=latency)
    live = factories.Taker(of, trial, lambda *_: said, recorder.add)
    first: Outcome = live.outcome(drive_at_once(live.start(), live), None)
    assert record_of(first, of.measures).values == {"latency": latency}
    check_replay(of, ModelRoles(MODEL), trial, recorder.cassette.lookup, first)
    recorder.close()
    again = reread(of, MODEL, trial, Cassette(recorder.cassette.path))
    assert again == first
    assert record_of(again, of.measures).values == {"latency": latency}


@pytest.mark.requirement("AUDIT-14")
def test_without_text_the_value_is_kept(tmp_path: Path) -> None:
    of = kept("measures", seconds_alone, measures=[SECONDS])
    path = record(tmp_path, of)
    assert values(of, path) == [{"latency": 0.25}] * 6


def test_a_latency_nobody_knows_makes_the_trial_missing(tmp_path: Path) -> None:
    of = experiment(seconds_alone, measures=[SECONDS])
    path = factories.record(tmp_path, of)
    cassette = Cassette(path)

    def lookup(key: str) -> Completion | None:
        found = cassette.lookup(key)
        return None if found is None else replace(found, latency=None)

    outcome = replay(of, MODEL, plan(of, of.design())[0], lookup)
    assert (outcome.missing, outcome.invalid, outcome.interactions) == ("no_latency", (), 1)
