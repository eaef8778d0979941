"""Latency as a measure: recorded once, the same on every replay, with text kept or without."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bias.cassettes.places import cassette_path
from pytest_bias.cassettes.recorded_trials import reread
from pytest_bias.cassettes.recorder import Recorder
from pytest_bias.cassettes.store import Cassette
from pytest_bias.experiments.design import Trial
from pytest_bias.experiments.driver import drive_at_once
from pytest_bias.experiments.experiment import Players, SimulatedPrompt, plan
from pytest_bias.experiments.measures import Measure
from pytest_bias.experiments.messages import Completion, Place, Request
from pytest_bias.experiments.protocol import Reply, Subject
from pytest_bias.experiments.records import Outcome, record_of
from pytest_bias.experiments.replay import check_replay, rehearse, replay

from . import factories
from .factories import MODEL, PROVENANCE, completion, experiment
from .test_measured import kept, record, values

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
    check_replay(of, Players(MODEL), trial, recorder.cassette.lookup, first)
    recorder.close(of.id, MODEL)
    again = reread(of, MODEL, trial, Cassette(recorder.cassette.path))
    assert again == first
    assert record_of(again, of.measures).values == {"latency": latency}


@pytest.mark.requirement("AUDIT-14")
def test_without_text_the_value_is_kept(tmp_path: Path) -> None:
    of = kept("measures", seconds_alone, measures=[SECONDS])
    path = record(tmp_path, of)
    assert values(of, path) == [{"latency": 0.25}] * 6


def test_of_several_attempts_the_last_counts(tmp_path: Path) -> None:
    def say(_: Request, place: Place) -> str:
        return "" if place.attempt < 3 else "Kind."

    of = experiment(seconds_alone, measures=[SECONDS])
    path = factories.record(tmp_path, of, say)
    for outcome in factories.outcomes_of(of, path):
        assert outcome.interactions == 3
        assert record_of(outcome, of.measures).values == {"latency": 0.25}


def test_a_rehearsal_takes_no_time() -> None:
    seen: list[float] = []

    async def noting(trial: Trial, subject: Subject) -> float:
        seen.append(await seconds_alone(trial, subject))
        return seen[-1]

    def answer(_: SimulatedPrompt) -> str:
        return "Kind."

    of = experiment(noting, simulated=answer, measures=[SECONDS])
    assert rehearse(of, Players(MODEL), plan(of, of.design())[0]) == 1
    assert seen == [0.0, 0.0]


def test_a_latency_nobody_knows_makes_the_trial_missing(tmp_path: Path) -> None:
    of = experiment(seconds_alone, measures=[SECONDS])
    path = factories.record(tmp_path, of)
    cassette = Cassette(path)

    def lookup(key: str) -> Completion | None:
        found = cassette.lookup(key)
        return None if found is None else replace(found, latency=None)

    outcome = replay(of, MODEL, plan(of, of.design())[0], lookup)
    assert (outcome.missing, outcome.invalid, outcome.interactions) == ("no_latency", (), 1)


@given(st.floats(0, 1e6))
def test_any_latency_comes_through_a_measure_as_it_is(seconds: float) -> None:
    assert SECONDS.of(Reply("a", "a", (), seconds).latency) == seconds
