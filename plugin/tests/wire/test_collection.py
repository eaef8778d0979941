"""Recording from end to end: calls in process or over loopback HTTP, cassettes in a folder."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from bias_tests.anchoring.experiment import ANCHORING

from pytest_bias.cassettes.recorded_trials import is_recorded
from pytest_bias.cassettes.recorder import Recorder, recording_lock
from pytest_bias.cassettes.store import REJOURNAL_SUFFIX, Cassette, cassette_path
from pytest_bias.experiments.design import Design, Trial
from pytest_bias.experiments.experiment import Experiment, ModelRoles, plan
from pytest_bias.experiments.messages import Place, trial_seed
from pytest_bias.experiments.protocol import Subject
from pytest_bias.experiments.records import Outcome
from pytest_bias.experiments.replay import replay
from pytest_bias.experiments.simulated import SimulatedPrompt
from pytest_bias.providers.base import ProviderContext
from pytest_bias.providers.simulated import WIRE
from pytest_bias.recording.caller import Progress, Retries, Terms, silent
from pytest_bias.recording.collector import CollectionReport, collect
from pytest_bias.recording.job import Job, JobReport
from pytest_bias.settings.settings import Limits, RecordMode

from ..core.factories import Score, ask_once, ask_twice, experiment
from ..helpers import Endpoint
from ..support.server import over_http, serving
from .processes import CONCURRENCY, MODEL, REPOSITORY

QUICK = Retries(base=0.001, ceiling=0.001)
"""Tries again at once: the waits themselves are tested on a clock of their own."""


At = str | Endpoint | None
"""What simulated subjects are: the URL of a server, or an endpoint that answers in process."""


def terms(folder: Path, at: At, **given: Any) -> Terms:
    """Terms with retries that wait for next to nothing.

    ``environ``, ``answers`` and other terms of providers go to the context, ``concurrency`` and
    other limits to the limits.
    """
    own = {
        each.name: given.pop(each.name) for each in fields(ProviderContext) if each.name in given
    }
    answers = [at] if isinstance(at, Endpoint) else []
    over = over_http(at) if isinstance(at, str) else {}
    context = ProviderContext(**{"environ": {}, "answers": answers, "providers": over, **own})
    limits = {each.name: given.pop(each.name) for each in fields(Limits) if each.name in given}
    return Terms(
        mode=given.pop("mode", "missing"),
        folder=folder,
        context=context,
        limits=Limits(**{"concurrency": CONCURRENCY, **limits}),
        retries=QUICK,
        **given,
    )


def job_of(
    of: Experiment,
    model: str = MODEL,
    judge: str | None = None,
    *,
    trials: Sequence[Trial] | None = None,
) -> Job:
    """The trials of an experiment, all unless given."""
    return Job(of, ModelRoles(model, judge), plan(of, of.design()) if trials is None else trials)


def collected(
    jobs: Sequence[Job],
    folder: Path,
    at: At,
    progress: Progress = silent,
    **given: Any,
) -> CollectionReport:
    """Record ``jobs`` on terms that are those of :func:`terms`."""
    return collect(jobs, terms(folder, at, **given), progress)


def recorded(
    of: Experiment,
    folder: Path,
    at: At,
    *,
    model: str = MODEL,
    trials: Sequence[Trial] | None = None,
    **given: Any,
) -> tuple[JobReport, CollectionReport]:
    """Record one experiment; the report of the job and of the whole."""
    report = collected([job_of(of, model, trials=trials)], folder, at, **given)
    return report.jobs[0], report


def outcomes(
    of: Experiment, folder: Path, model: str = MODEL, *, trials: Sequence[Trial] | None = None
) -> list[Outcome]:
    """Trials as they replay."""
    lookup = Cassette(cassette_path(folder, of.id, model)).lookup
    return [replay(of, model, trial, lookup) for trial in job_of(of, trials=trials).trials]


def unrecorded(of: Experiment, folder: Path, model: str = MODEL) -> set[str]:
    """Ids of the trials that do not replay."""
    cassette, roles = Cassette(cassette_path(folder, of.id, model)), ModelRoles(model)
    trials = plan(of, of.design())
    return {t.id for t in trials if not is_recorded(of, roles, t, cassette)}


def is_whole(of: Experiment, folder: Path, model: str = MODEL) -> bool:
    """Whether every trial replays."""
    return not unrecorded(of, folder, model)


def files(folder: Path) -> set[str]:
    """What stands in the folder, lock files apart."""
    names = {path.name for path in folder.rglob("*") if path.is_file()}
    return {name for name in names if not name.endswith(".lock")}


def test_every_trial_is_recorded_and_paid_once(tmp_path: Path) -> None:
    of, endpoint = experiment(ask_twice, replicates=20), Endpoint()
    job, report = recorded(of, tmp_path, endpoint)
    assert (job.wanted, job.recorded, job.calls, job.problems) == (40, 40, 80, [])
    assert not report.interrupted
    places = [Place((), turn, 1) for turn in (1, 2)]
    seeds = {trial_seed(of.id, t, place) for t in plan(of, of.design()) for place in places}
    assert endpoint.answered == Counter(seeds)
    (provenance,) = Cassette(job.cassette).provenances
    assert (provenance.simulated, provenance.wire) == (True, WIRE)
    assert provenance.recorded_with.startswith("pytest-bias ")
    assert files(tmp_path) == {"simulated--even.jsonl"}
    before = cassette_path(tmp_path, of.id, MODEL).read_bytes()
    job, _ = recorded(of, tmp_path, endpoint)
    assert (job.wanted, job.calls, job.problems) == (0, 0, [])
    assert cassette_path(tmp_path, of.id, MODEL).read_bytes() == before
    assert endpoint.answered.total() == 80
    assert is_whole(of, tmp_path)


@pytest.mark.parametrize(
    ("fails", "words"),
    [
        (lambda: 1 / 0, "the simulated subject failed: ZeroDivisionError: division by zero"),
        (dict, "simulated=broken: gave a dict; text"),
        (Event().wait, "the simulated subject did not answer within 0.1 s (bias_timeout)"),
    ],
)
def test_a_simulated_subject_that_fails_is_named_at_once(
    tmp_path: Path, fails: Callable[[], Any], words: str
) -> None:
    def broken(_: SimulatedPrompt) -> Any:
        return fails()

    job, report = recorded(experiment(), tmp_path, None, answers=[broken], timeout=0.1)
    assert (job.recorded, report.tallies[0].failures) == (0, {"fatal": 1})
    assert words in job.problems[0]


@pytest.mark.requirement("ANCHOR-14")
def test_invalid_replies_are_kept_and_the_run_goes_on(tmp_path: Path) -> None:
    of = experiment(replicates=4)

    def say(prompt: SimulatedPrompt) -> str:
        return "I cannot." if "Ada" in prompt.messages[-1].text else '{"score": 5}'

    job, _ = recorded(of, tmp_path, Endpoint(say))
    assert (job.recorded, job.calls, job.problems) == (8, 4 * 3 + 4, [])
    assert [o.missing for o in outcomes(of, tmp_path)] == ["refusal"] * 4 + [None] * 4


def _scoring(score: int, _: SimulatedPrompt) -> str:
    return f'{{"score": {score}}}'


def scores(of: Experiment, folder: Path, *, trials: Sequence[Trial] | None = None) -> list[Any]:
    """Every trial's result, replayed."""
    found = outcomes(of, folder, trials=trials)
    return [outcome.result.score for outcome in found]  # type: ignore[attr-defined]


def test_an_interrupted_all_is_not_mixed_with_what_was_recorded(tmp_path: Path) -> None:
    of = experiment(replicates=3)
    recorded(of, tmp_path, Endpoint())
    path = cassette_path(tmp_path, of.id, MODEL)
    before = path.read_bytes()
    recorded(of, tmp_path, Endpoint(partial(_scoring, 9)), mode="all", max_calls=2)
    journal = path.with_name(path.name + REJOURNAL_SUFFIX)
    assert journal.exists()
    assert scores(of, tmp_path) == [5] * 6
    assert Cassette(path).interrupted == 0
    kept = journal.read_bytes()
    problem = refused(tmp_path, at=Endpoint())
    assert f"{journal} is left of an interrupted --bias-record=all" in problem
    assert "--bias-record=all, or delete the file" in problem
    assert (path.read_bytes(), journal.read_bytes()) == (before, kept)
    job, _ = recorded(of, tmp_path, Endpoint(partial(_scoring, 9)), mode="all")
    assert (job.calls, job.problems) == (4, [])
    assert scores(of, tmp_path) == [9] * 6
    assert files(tmp_path) == {path.name}


def killed(
    monkeypatch: pytest.MonkeyPatch,
    of: Experiment,
    folder: Path,
    at: At,
    **given: Any,
) -> JobReport:
    """Record, and be killed before anything is merged."""

    def close(self: Recorder, *_: object, **__: object) -> None:
        if self._file is not None:
            self._file.close()

    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "close", close)
        return recorded(of, folder, at, **given)[0]


def test_what_is_journalled_is_merged_without_a_provider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = experiment(replicates=3)
    for mode in ("missing", "all"):
        killed(monkeypatch, of, tmp_path, Endpoint(), mode=mode)
        with monkeypatch.context() as patch:
            patch.delattr("pytest_bias.recording.caller.open_provider")
            job, _ = recorded(of, tmp_path, None, mode=mode)
        assert (job.calls, job.wanted, job.problems) == (0, 0, [])
        assert files(tmp_path) == {"simulated--even.jsonl"}
        (provenance,) = Cassette(job.cassette).provenances
        assert (provenance.simulated, provenance.wire) == (True, WIRE)


def first_turns_only(prompt: SimulatedPrompt) -> str | None:
    return None if prompt.messages[-1].text == "Now rate." else "Kind."


def test_a_trial_recorded_in_part_pays_only_the_rest(tmp_path: Path) -> None:
    of = experiment(ask_twice, replicates=4)

    endpoint = Endpoint(first_turns_only)
    job, _ = recorded(of, tmp_path, endpoint)
    assert job.recorded == 0
    assert "no simulated subject recognises this prompt" in job.problems[0]
    assert job.calls == 1  # such an error is every trial's
    job, _ = recorded(of, tmp_path, Endpoint())
    assert (job.recorded, job.calls, job.problems) == (8, 15, [])


@pytest.mark.usefixtures("handlers")
@pytest.mark.parametrize(
    ("numbers", "mode", "retention"),
    [
        ([signal.SIGINT], "missing", "raw"),
        ([signal.SIGTERM], "missing", "measures"),
        # A terminal that ends sends more than one, and abandons nothing.
        ([signal.SIGHUP] * 3, "missing", "raw"),
        ([signal.SIGINT, signal.SIGHUP, signal.SIGHUP], "all", "raw"),
    ],
)
def test_the_first_signal_drains_and_keeps(
    tmp_path: Path, numbers: list[signal.Signals], mode: RecordMode, retention: str
) -> None:
    """Where only whole trials count, every trial that has begun comes to its end."""

    def interrupt(call: int) -> None:
        if 10 <= call < 10 + len(numbers):
            os.kill(os.getpid(), numbers[call - 10])

    of, endpoint = (
        experiment(ask_twice, replicates=30, retention=retention),
        Endpoint(on_call=interrupt),
    )
    job, report = recorded(of, tmp_path, endpoint, mode=mode)
    assert report.interrupted
    assert job.problems == []
    assert 9 + len(numbers) < job.calls < 120
    kept = len(Cassette(job.cassette, anew=mode == "all"))
    kept *= 1 if retention == "raw" else 2
    assert endpoint.answered.total() == job.calls == kept
    job, report = recorded(of, tmp_path, endpoint, mode=mode)
    assert not report.interrupted
    assert set(endpoint.answered.values()) == {1}
    assert endpoint.answered.total() == 120
    assert files(tmp_path) == {job.cassette.name}
    assert is_whole(of, tmp_path)


@pytest.mark.usefixtures("handlers")
def test_a_hang_up_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    """As under nohup."""
    of = experiment()
    endpoint = Endpoint(on_call=lambda n: os.kill(os.getpid(), signal.SIGHUP) if n == 2 else None)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        job, report = recorded(of, tmp_path, endpoint)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
    assert not report.interrupted
    assert (job.recorded, job.problems) == (6, [])


def interrupt_twice(call: int) -> None:
    if call == 20 + CONCURRENCY:  # all that may be under way is held
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.usefixtures("handlers")
def test_the_second_signal_waits_for_nothing_and_loses_nothing(tmp_path: Path) -> None:
    of = experiment(ask_twice, replicates=30)
    endpoint = Endpoint(limit=20, on_call=interrupt_twice)
    said = list[str]()
    with serving(endpoint) as server:
        with pytest.raises(KeyboardInterrupt):
            collect([job_of(of)], terms(tmp_path, server.url), lambda _: None, said.append)
        assert "the same command goes on" in said[-1]
        assert endpoint.answered.total() == 20
        assert len(Cassette(cassette_path(tmp_path, of.id, MODEL))) == 20


def test_a_protocol_with_a_state_of_its_own_costs_one_trial(tmp_path: Path) -> None:
    numbers = itertools.count()

    async def stateful(trial: Trial, subject: Subject) -> Score:
        prompt = f"Rate {trial['group']}, for the {next(numbers)}th time."
        return (await subject.ask(prompt, reply=Score)).value

    of, endpoint = experiment(stateful, replicates=50), Endpoint()
    job, _ = recorded(of, tmp_path, endpoint)
    assert job.recorded == 0
    assert job.calls == endpoint.answered.total() == len(Cassette(job.cassette)) == 1
    assert len(job.problems) == 1
    assert re.match("tiny, trial .#[0-9]+: replaying it straight away differs", job.problems[0])
    assert "its question at turn 1 is another" in job.problems[0]


async def _sleeps(trial: Trial, subject: Subject) -> None:
    await ask_once(trial, subject)
    await asyncio.sleep(0)


async def _times_out(trial: Trial, subject: Subject) -> None:
    async with asyncio.timeout(60):
        await ask_once(trial, subject)


async def _breaks(trial: Trial, subject: Subject) -> None:
    await ask_once(trial, subject)
    raise KeyError(trial.id)


BROKEN = {
    "sleep": (_sleeps, 1, f"the protocol _sleeps() awaits a bare yield* at {__file__}"),
    # Seen before anything is asked, so in a rehearsal without a simulated subject too.
    "timeout": (_times_out, 0, f"the protocol _times_out() awaits asyncio (* at {__file__}"),
    "error": (_breaks, 1, "tiny, trial *: KeyError: '"),
}


@pytest.mark.parametrize(("protocol", "calls", "problem"), BROKEN.values(), ids=BROKEN)
def test_a_broken_protocol_costs_one_trial_at_most_and_loses_no_reply(
    tmp_path: Path, protocol: Any, calls: int, problem: str
) -> None:
    of, endpoint = experiment(protocol, replicates=50), Endpoint()
    job, _ = recorded(of, tmp_path, endpoint)
    assert job.recorded == 0
    assert job.calls == endpoint.answered.total() == len(Cassette(job.cassette)) == calls
    for part in problem.split("*"):
        assert part in job.problems[0]
    assert files(tmp_path) == ({job.cassette.name} if calls else set())
    if protocol is not _breaks:
        # With a simulated subject a trial is carried out and replayed before anything is called.
        of, endpoint = replace(of, simulated=lambda _: '{"score": 5}'), Endpoint()
        job, _ = recorded(of, tmp_path / "rehearsed", endpoint)
        assert (job.recorded, job.calls, endpoint.arrived.total()) == (0, 0, 0)
        assert "a protocol may await only" in job.problems[0]


def refused(tmp_path: Path, **given: Any) -> str:
    job, _ = recorded(experiment(), tmp_path, given.pop("at", None), **given)
    assert (job.calls, job.recorded, len(job.problems)) == (0, 0, 1)
    return job.problems[0]


def test_another_recorder(tmp_path: Path) -> None:
    path = cassette_path(tmp_path, "tiny", MODEL)
    with recording_lock(path):
        assert "is being recorded by another process" in refused(tmp_path, at=Endpoint())
    assert files(tmp_path) == set()


def test_a_damaged_cassette_is_left_as_it_is(tmp_path: Path) -> None:
    path = cassette_path(tmp_path, "tiny", MODEL)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"half a head")
    for mode in ("missing", "all"):
        assert "line 1: no reply in it is intact" in refused(tmp_path, mode=mode)
    assert path.read_bytes() == b"half a head"


def test_the_shipped_cassettes_can_be_recorded_again(tmp_path: Path) -> None:
    model = "simulated/drifted"
    trials, answers = plan(ANCHORING, Design(10)), [ANCHORING.simulated]
    job, _ = recorded(ANCHORING, tmp_path, None, model=model, trials=trials, answers=answers)
    assert job.problems == []
    again = {i.key: i for i in Cassette(job.cassette).interactions()}
    shipped_path = cassette_path(REPOSITORY / "cassettes", ANCHORING.id, model)
    shipped = {i.key: i for i in Cassette(shipped_path).interactions()}
    assert len(again) >= 60
    for key, interaction in again.items():
        ours, theirs = interaction.completion, shipped[key].completion
        assert (ours.text, ours.finish, ours.usage) == (theirs.text, theirs.finish, theirs.usage)
        assert json.dumps(dict(ours.body)) == json.dumps(dict(theirs.body))
        assert interaction.messages == shipped[key].messages
