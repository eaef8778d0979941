"""What else can go wrong while a recording runs: nobody else's replies are lost by it."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_bias.cassettes.recorded_trials import is_recorded
from pytest_bias.cassettes.recorder import Recorder
from pytest_bias.cassettes.spill import spill, spill_path, take_over
from pytest_bias.cassettes.store import REJOURNAL_SUFFIX, Cassette, cassette_path
from pytest_bias.experiments.design import Trial
from pytest_bias.experiments.experiment import Experiment, plan
from pytest_bias.experiments.messages import Completion, Parameters, Request
from pytest_bias.experiments.protocol import Subject
from pytest_bias.providers.base import Call, ProviderContext
from pytest_bias.recording.caller import CallCounts, Progress, silent
from pytest_bias.recording.collector import CollectionReport
from pytest_bias.recording.job import JobReport

from ..core.factories import Score, ask_once, ask_twice, experiment
from .test_collection import collected, files, is_whole, job_of, recorded

MODEL = "openai/one"
OTHER = "anthropic/two"
SECRET = "sk-planted-in-the-words-of-an-error"  # noqa: S105  (planted)


class Acme:
    """A provider in memory: counts its calls, and gives what ``usage`` says."""

    def __init__(
        self,
        *,
        usage: dict[str, int] | None = None,
        on_close: Exception | None = None,
        served: str | None = None,
        says: str = '{"score": 5}',
    ) -> None:
        self.calls = 0
        self.asked: list[Request] = []
        self._says = says
        self._served = served
        self._usage = {"input": 1, "output": 1} if usage is None else usage
        self._on_close = on_close

    def wire(self, model: str) -> str:
        return f"acme, {model}"

    async def complete(self, model: str, request: Request, call: Call) -> Completion:  # noqa: ARG002
        self.calls += 1
        self.asked.append(request)
        await asyncio.sleep(0.001)
        served = model if self._served is None else self._served
        return Completion(self._says, "stop", served, self._usage)

    async def aclose(self) -> None:
        if self._on_close is not None:
            raise self._on_close


@dataclass
class Desk:
    """Where recordings are made in ``folder``, by providers that are handed in."""

    folder: Path
    patch: pytest.MonkeyPatch

    def serve(self, **providers: object) -> None:
        """Have providers opened from these; an exception among them is raised."""

        def opened(name: str, _: ProviderContext) -> object:
            found = providers[name]
            if isinstance(found, Exception):
                raise found
            return found

        self.patch.setattr("pytest_bias.recording.caller.open_provider", opened)

    def record(
        self,
        *jobs: tuple[Experiment, str],
        progress: Progress = silent,
        **given: Any,
    ) -> CollectionReport:
        """Record whole experiments, each with a model."""
        return collected([job_of(*each) for each in jobs], self.folder, None, progress, **given)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(tmp_path, monkeypatch)


class _Cancelled(Acme):
    async def complete(self, model: str, request: Request, call: Call) -> Completion:  # noqa: ARG002
        raise asyncio.CancelledError


# What is wrong with one provider, and what its job says.
BROKEN: dict[str, tuple[object, str]] = {
    "cannot be opened": (ImportError(f"no socks for {SECRET}"), "ImportError in "),
    "is cancelled from within": (_Cancelled(), "CancelledError"),
    "does not close": (Acme(on_close=RuntimeError("no")), ""),
}


@pytest.mark.parametrize(("broken", "problem"), BROKEN.values(), ids=BROKEN)
def test_a_provider_that_fails_costs_no_other_model_a_reply(
    desk: Desk, broken: object, problem: str
) -> None:
    """As an SDK does for a proxy it cannot use, or a third party's factory."""
    of, acme = experiment(replicates=40), Acme()
    desk.serve(openai=acme, anthropic=broken)
    fine, other = desk.record((of, MODEL), (of, OTHER)).jobs
    assert (fine.recorded, fine.calls, fine.problems, acme.calls) == (80, 80, [], 80)
    assert is_whole(of, desk.folder, MODEL)
    assert len(other.problems) == bool(problem)
    assert problem in "".join(other.problems)
    assert SECRET not in str(other.problems)


def test_a_display_that_fails_loses_no_reply(desk: Desk) -> None:
    """``pytest … | head``: the pipe is gone, and what is paid for is kept."""
    seen = 0

    def fragile(_: CallCounts) -> None:
        nonlocal seen
        seen += 1
        if seen > 7:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    of, acme = experiment(ask_twice, replicates=20), Acme()
    desk.serve(openai=acme)
    (job,) = desk.record((of, MODEL), progress=fragile).jobs
    assert (job.recorded, job.calls, job.problems) == (40, 80, [])
    assert (acme.calls, seen) == (80, 8)  # not asked again


def test_inside_an_event_loop_recording_is_refused(desk: Desk) -> None:
    async def within() -> None:
        desk.record((experiment(), MODEL))

    with pytest.raises(Exception, match="pytest runs inside an event loop"):
        asyncio.run(within())


class _Full:
    """A disk with room for so many writes, and no further one."""

    def __init__(self, writes: int) -> None:
        self.left = writes

    def stand_in(self, patch: pytest.MonkeyPatch) -> None:
        written = Recorder._put

        def put(of: Recorder, data: bytes) -> None:
            if self.left <= 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self.left -= 1
            written(of, data)

        patch.setattr(Recorder, "_put", put)


@pytest.mark.parametrize("spills", [True, False])
def test_a_full_disk_stops_the_recording_and_loses_nothing_while_there_is_another(
    desk: Desk,
    tmp_path: Path,
    *,
    spills: bool,
) -> None:
    spare = tmp_path / "spare"
    desk.patch.setattr(tempfile, "tempdir", str(spare))
    if spills:
        spare.mkdir()
    disk, acme = _Full(writes=2), Acme()
    desk.serve(openai=acme)
    disk.stand_in(desk.patch)
    of = experiment(replicates=100)
    (job,) = desk.record((of, MODEL), concurrency=8).jobs
    kept = len(Cassette(job.cassette))
    assert 0 < acme.calls < 200
    waiting = acme.calls - kept
    assert (job.unkept, job.calls) == (0 if spills else waiting, kept)
    told = [problem for problem in job.problems if "No space left" in problem]
    assert len(told) == 1
    if spills:
        (file,) = spare.iterdir()
        said = f"{waiting} paid replies wait in {file}: make room for the cassette"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    else:
        said = f"{waiting} paid replies could not be kept"
    assert [problem for problem in job.problems if problem.startswith(said)]
    disk.left = 1_000
    (job,) = desk.record((of, MODEL), concurrency=8).jobs
    assert (job.unkept, job.problems) == (0, [])
    assert job.calls == 200 - (kept + waiting if spills else kept)
    assert not spills or [*spare.iterdir()] == []
    assert is_whole(of, desk.folder, MODEL)


def test_a_disk_that_is_full_for_the_cassette_keeps_the_journal_and_says_so(desk: Desk) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    of = experiment()
    desk.serve(openai=Acme())
    with desk.patch.context() as patch:
        patch.setattr("pytest_bias.cassettes.store.write_content", full)
        (job,) = desk.record((of, MODEL)).jobs
    (problem,) = job.problems
    kept = f"every reply that was kept stands in {job.cassette.name}.recording"
    assert f"No space left on device; {kept}. Run again, and nothing is paid twice" in problem
    (job,) = desk.record((of, MODEL)).jobs
    assert (job.calls, job.problems) == (0, [])


def test_replies_wait_for_room_on_a_disk_that_is_full_for_a_while(desk: Desk) -> None:
    """The last chance is when the journal is closed."""
    of = experiment(replicates=1)
    disk = _Full(writes=0)
    desk.serve(openai=Acme())
    disk.stand_in(desk.patch)
    close = Recorder.close

    def after_a_while(self: Recorder, *args: Any, **kwargs: Any) -> None:
        disk.left = 10
        close(self, *args, **kwargs)

    desk.patch.setattr(Recorder, "close", after_a_while)
    (job,) = desk.record((of, MODEL), concurrency=1).jobs
    assert (job.unkept, len(Cassette(job.cassette))) == (0, 1)
    assert "No space left" in job.problems[0]


@pytest.mark.parametrize("before", [0, 1])
def test_what_is_pulled_in_meanwhile_is_not_written_over(desk: Desk, before: int) -> None:
    of, theirs = experiment(replicates=3), desk.folder / "theirs"
    trials = plan(of, of.design())

    def record(folder: Path, number: int, by: Acme) -> JobReport:
        desk.serve(openai=by)
        return recorded(of, folder, None, model=MODEL, trials=trials[:number])[0]

    pulled = record(theirs, 2, Acme(says='{"score": 3}')).cassette.read_bytes()
    ours = record(desk.folder, before, Acme()).cassette

    class Pulls(Acme):
        async def complete(self, model: str, request: Request, call: Call) -> Completion:
            ours.write_bytes(pulled)
            return await super().complete(model, request, call)

    (problem,) = record(desk.folder, 6, Pulls()).problems
    assert "it was changed meanwhile" in problem
    assert f"every reply that was kept stands in {ours.name}.recording" in problem
    assert ours.read_bytes() == pulled
    job = record(desk.folder, 6, Acme())
    assert (job.calls, job.problems) == (0, [])
    (note,) = job.salvaged
    assert f"{2 - before} of the replies in {ours.name}.recording will not count" in note
    said = [json.loads(each.completion.text)["score"] for each in Cassette(ours).interactions()]
    assert sorted(said) == [3, 3, 5, 5, 5, 5]


def test_what_is_recorded_anew_replaces_the_old_only_as_a_whole(desk: Desk) -> None:
    """Else one condition would be half of yesterday's model, and the other all of today's."""
    desk.serve(openai=Acme())
    of = experiment(replicates=4)
    desk.record((of, MODEL))
    path = cassette_path(desk.folder, of.id, MODEL)
    before = path.read_bytes()
    halves = [[t for t in plan(of, of.design()) if t.condition.id == c] for c in ("a", "b")]

    def anew(trials: Any, **limits: Any) -> Any:
        given = {"model": MODEL, "mode": "all", **limits}
        return recorded(of, desk.folder, None, trials=trials, **given)[0]

    job = anew(halves[0], max_calls=2, concurrency=1)
    assert "the old recording counts" in job.problems[0]
    job = anew(halves[1])
    assert "the old recording counts" in job.problems[0]
    assert path.read_bytes() == before
    assert path.with_name(path.name + REJOURNAL_SUFFIX).exists()
    job = anew(halves[0])
    assert (job.calls, job.problems) == (2, [])
    assert files(desk.folder) == {path.name}
    assert len(Cassette(path)) == 8


def test_a_cap_begins_no_trial_that_could_not_end_where_whole_ones_count(desk: Desk) -> None:
    """Else all the calls would be paid, nothing kept, and the next run would do the same."""
    acme = Acme()
    desk.serve(openai=acme)
    of = experiment(
        ask_twice, replicates=50, retention="measures", simulated=lambda _: '{"score": 5}'
    )
    (job,) = desk.record((of, MODEL), max_calls=31, concurrency=100).jobs
    assert (job.recorded, acme.calls, job.unkept, job.problems) == (15, 30, 0, [])
    assert job.notes == ["--bias-max-calls=31 leaves no room for a whole trial"]
    assert len(job.lost) == 100 - 15
    (job,) = desk.record((of, MODEL)).jobs
    assert (job.recorded, acme.calls) == (85, 200)


def test_a_protocol_that_fails_as_a_test_does_stops_its_own_experiment_only(
    desk: Desk,
) -> None:
    """Such outcomes are no Exceptions; nobody waits for the worker that met one."""

    async def gives_up(trial: Trial, subject: Subject) -> None:
        await ask_once(trial, subject)
        pytest.fail("as in a test")

    desk.serve(openai=Acme(), anthropic=Acme())
    broken, whole = experiment(gives_up, id="broken", replicates=40), experiment(replicates=40)
    first, second = desk.record((broken, MODEL), (whole, OTHER)).jobs
    assert (first.recorded, first.calls, second.recorded) == (0, 1, 80)
    assert "as in a test" in first.problems[0]
    assert second.problems == []


@pytest.mark.parametrize("retention", ["raw", "measures"])
def test_a_recording_ends_with_the_first_reply_of_another_model(
    desk: Desk, retention: str
) -> None:
    """What was answered is kept, and no other experiment asks that model again.

    A trial under way is not carried on, unless what was paid of it would be lost.
    """

    async def ask_often(trial: Trial, subject: Subject) -> Score:
        heard = await ask_twice(trial, subject)
        for turn in range(3, 11):
            await subject.ask(f"{turn}. What of {trial['group']}?")
        return heard

    acme = Acme(served="two")
    desk.serve(openai=acme)
    first = experiment(
        ask_often,
        replicates=200,
        retention=retention,
        simulated=lambda _: '{"score": 5}',  # rehearsed: several begin at once
    )
    second = experiment(id="later", replicates=200)
    one, later = desk.record((first, MODEL), (second, MODEL), concurrency=16).jobs
    (problem,) = one.problems
    assert problem.startswith(f"two answered where {MODEL} was asked for.")
    assert 'add served = ["two"] under [models."openai/one"]' in problem
    assert one.unkept == 0
    assert one.calls == acme.calls
    if retention == "raw":
        assert one.recorded == 0
        assert 1 <= acme.calls <= 16
    else:
        assert 1 <= one.recorded <= 16
        assert acme.calls == 10 * one.recorded
    assert (later.problems, later.calls) == ([problem], 0)
    assert not later.cassette.exists()


def test_half_a_character_in_a_reply_stops_no_trial_that_quotes_it(desk: Desk) -> None:
    """It is kept as it came, and sent as what UTF-8 can write; when a recording goes on, too."""

    async def quoted(trial: Trial, subject: Subject, judge: Subject) -> Score:
        told = await subject.ask(f"What of {trial['group']}?")
        again = await subject.ask("And?", after=told)
        await subject.ask(f"You said: {again.text}")
        return (await judge.ask(f"Grade {told.text}.", reply=Score)).value

    subject, judge = Acme(says="Hm \ud83d"), Acme()
    desk.serve(openai=subject, anthropic=judge)
    of = experiment(quoted, replicates=1, judge=Parameters())
    job = job_of(of, MODEL, OTHER)
    collected([job], desk.folder, None, max_calls=1)
    (report,) = collected([job], desk.folder, None).jobs
    assert (report.problems, subject.calls, judge.calls) == ([], 6, 2)
    sent = [message.text for each in subject.asked + judge.asked for message in each.messages]
    assert {"Hm \ufffd", "You said: Hm \ufffd", "Grade Hm \ufffd."} <= set(sent)
    cassette = Cassette(report.cassette)
    assert all(is_recorded(of, job.roles, trial, cassette) for trial in job.trials)
    said = {each.completion.text for each in cassette.interactions()}
    assert said == {"Hm \ud83d", '{"score": 5}'}


def test_no_link_in_the_temporary_folder_is_followed(desk: Desk, tmp_path: Path) -> None:
    desk.patch.setattr(tempfile, "tempdir", str(tmp_path))
    journal, target = tmp_path / "cassette.jsonl.recording", tmp_path / "target"
    target.write_text("as it was", "utf-8")
    spill_path(journal).symlink_to(target)
    assert spill(journal, b"line\n") is None
    assert not take_over(journal)
    assert target.read_text("utf-8") == "as it was"
    assert not journal.exists()
