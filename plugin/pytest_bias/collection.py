"""Collection: carry out the trials that have no recording, and keep every reply at once.

One asyncio loop, one writer per cassette. Nothing is called for a trial that is recorded, and in a
trial that is recorded in part only the rest is called, so an interrupted recording resumes without
paying twice.
"""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from .cassettes.format import Provenance
from .cassettes.store import Cassette, Recorder, cassette_path, recording_lock
from .design import Trial
from .errors import BiasError, CallFailed, ForeignAwait, InvalidReply, ReplayDiffers
from .experiment import Experiment
from .keys import trial_seed
from .protocol import Completion, Place, Request, Subject, drive
from .providers.base import Provider, ProviderContext, is_simulated, open_provider, split_model
from .records import Outcome
from .replay import Lookup, Tracer, Unrecorded, replay

RecordMode = Literal["none", "missing", "all"]

CONCURRENCY = 16
"""Trials under way at once."""

_FAILURES_IN_A_ROW = 5


@dataclass(frozen=True, slots=True)
class Job:
    """Trials of one experiment to be recorded with one model."""

    experiment: Experiment
    model: str
    trials: Sequence[Trial]


@dataclass(slots=True)
class JobReport:
    """What came of a job: calls paid, trials recorded now, and what went wrong."""

    experiment_id: str
    model: str
    cassette: Path
    wanted: int
    calls: int = 0
    recorded: int = 0
    problems: list[str] = field(default_factory=list)


@dataclass(slots=True)
class CollectionReport:
    """What came of a collection; ``interrupted`` after SIGINT or SIGTERM."""

    jobs: list[JobReport] = field(default_factory=list)
    interrupted: bool = False


Progress = Callable[[JobReport], None]
"""Called after every trial of a job and once before the first."""


class _Stopped(BiasError):
    """No further call is to be made; what is in flight ends."""


class _Stop:
    """Whether new calls may start, and why not."""

    def __init__(self) -> None:
        self.requested = False
        self.signalled = False

    def on_signal(self) -> None:
        self.requested = True
        self.signalled = True


def collect(
    jobs: Sequence[Job],
    *,
    mode: RecordMode,
    folder: Path,
    context: ProviderContext,
    progress: Progress,
) -> CollectionReport:
    """Record what ``jobs`` lack.

    The first SIGINT or SIGTERM starts nothing new and waits for the calls in flight, whose
    replies are kept. Problems of one job do not keep the others from being recorded.
    """
    report = CollectionReport()
    stop = _Stop()
    asyncio.run(_collect(jobs, mode, folder, context, progress, report, stop))
    report.interrupted = stop.signalled
    # Transports are freed here, not in the middle of somebody's test under -W error.
    gc.collect()
    return report


async def _collect(
    jobs: Sequence[Job],
    mode: RecordMode,
    folder: Path,
    context: ProviderContext,
    progress: Progress,
    report: CollectionReport,
    stop: _Stop,
) -> None:
    with _signals(stop):
        for job in jobs:
            path = cassette_path(folder, job.experiment.id, job.model)
            job_report = JobReport(job.experiment.id, job.model, path, 0)
            report.jobs.append(job_report)
            if stop.signalled:
                job_report.problems.append("not begun: the recording was interrupted")
                continue
            stop.requested = False
            try:
                with recording_lock(path):
                    await _collect_job(job, mode, context, progress, job_report, stop)
            except BiasError as error:
                job_report.problems.append(str(error))


async def _collect_job(
    job: Job,
    mode: RecordMode,
    context: ProviderContext,
    progress: Progress,
    report: JobReport,
    stop: _Stop,
) -> None:
    cassette = Cassette(report.cassette)

    def lookup(key: str) -> Completion | None:
        # Under "all" only what this recording (or the one it resumes) added counts as recorded.
        if mode == "all" and not cassette.journalled(key):
            return None
        return cassette.lookup(key)

    wanted = [t for t in job.trials if not _is_recorded(job, t, lookup)]
    report.wanted = len(wanted)
    if not wanted and not cassette.interrupted:
        return
    progress(report)
    provider_name, model = split_model(job.model)
    provider = open_provider(provider_name, context)
    try:
        provenance = Provenance(
            simulated=is_simulated(job.model),
            wire=provider.wire,
            recorded_with=f"pytest-bias {version('pytest-bias')}",
        )
        recorder = Recorder(cassette, provenance)
        try:
            await _Recording(job, model, provider, recorder, lookup, report, stop, progress).run(
                wanted
            )
        finally:
            recorder.close(job.experiment.id, job.model)
    finally:
        await provider.aclose()


def _is_recorded(job: Job, trial: Trial, lookup: Lookup) -> bool:
    try:
        replay(job.experiment, job.model, trial, lookup)
    except Unrecorded:
        return False
    return True


class _Recording:
    """The recording of one job."""

    def __init__(
        self,
        job: Job,
        model: str,
        provider: Provider,
        recorder: Recorder,
        lookup: Lookup,
        report: JobReport,
        stop: _Stop,
        progress: Progress,
    ) -> None:
        self.job = job
        self.model = model
        self.provider = provider
        self.recorder = recorder
        self.lookup = lookup
        self.report = report
        self.stop = stop
        self.progress = progress
        self.failures_in_a_row = 0

    async def run(self, trials: Sequence[Trial]) -> None:
        """Record ``trials``: the first alone, so that a broken protocol costs one trial."""
        if not trials:
            return
        await self._record(trials[0])
        queue = iter(trials[1:])
        await asyncio.gather(*(self._work(queue) for _ in range(CONCURRENCY)))

    async def _work(self, queue: Iterator[Trial]) -> None:
        for trial in queue:
            if self.stop.requested:
                return
            await self._record(trial)

    async def _record(self, trial: Trial) -> None:
        try:
            live = await _live_outcome(self, trial)
            # In a thread without an event loop: an asyncio.timeout() fails there as it will later.
            again = await asyncio.to_thread(self._replayed, trial)
            _compare(self.job.experiment.id, trial, live, again)
        except _Stopped:
            return
        except CallFailed as failed:
            self.failures_in_a_row += 1
            self._problem(str(failed))
            if failed.fatal or self.failures_in_a_row >= _FAILURES_IN_A_ROW:
                self.stop.requested = True
            return
        except (ReplayDiffers, ForeignAwait) as error:
            self._problem(str(error))
            self.stop.requested = True
            return
        self.failures_in_a_row = 0
        self.report.recorded += 1
        self.progress(self.report)

    def _replayed(self, trial: Trial) -> Outcome:
        cassette = self.recorder.cassette
        try:
            return replay(self.job.experiment, self.job.model, trial, cassette.lookup)
        except BiasError:
            raise
        except Exception as error:
            raise ReplayDiffers(
                experiment=self.job.experiment.id,
                trial=trial.id,
                problem=f"{type(error).__name__}: {error}",
            ) from error

    def _problem(self, text: str) -> None:
        if text not in self.report.problems:
            self.report.problems.append(text)


class _LiveExecutor(Tracer):
    """Carries out one trial by calling the provider for what is not recorded."""

    def __init__(self, recording: _Recording, trial: Trial) -> None:
        super().__init__(recording.job.experiment, recording.job.model, trial)
        self._recording = recording

    async def perform(self, request: Request, place: Place) -> Completion:
        wanted = self.note(request, place)
        recording = self._recording
        recorded = recording.lookup(wanted.key)
        if recorded is not None:
            return recorded
        if recording.stop.requested:
            raise _Stopped
        seed = trial_seed(self.experiment.id, self.trial, place)
        completion = await recording.provider.complete(recording.model, request, seed)
        recording.recorder.add(wanted, completion)
        recording.report.calls += 1
        return completion

    async def gather(self, awaitables: Sequence[Awaitable[object]]) -> list[object]:
        return list(await asyncio.gather(*awaitables, return_exceptions=True))


async def _live_outcome(recording: _Recording, trial: Trial) -> Outcome:
    executor = _LiveExecutor(recording, trial)
    experiment = recording.job.experiment
    try:
        result = await drive(experiment.protocol(trial, Subject(experiment.parameters)), executor)
    except InvalidReply as invalid:
        return executor.outcome(None, invalid.reason)
    return executor.outcome(result, None)


def _compare(experiment_id: str, trial: Trial, live: Outcome, again: Outcome) -> None:
    for what in ("missing", "invalid", "interactions", "prompts", "result"):
        if getattr(live, what) != getattr(again, what):
            raise ReplayDiffers(
                experiment=experiment_id, trial=trial.id, problem=f"its {what} is another"
            )


@contextmanager
def _signals(stop: _Stop) -> Iterator[None]:
    """Turn SIGINT and SIGTERM into a request to stop, while calls are in flight."""
    loop = asyncio.get_running_loop()
    caught: list[signal.Signals] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, stop.on_signal)
        except (NotImplementedError, RuntimeError, ValueError):
            # Not the main thread, or a platform without it: the default handlers stay.
            continue
        caught.append(number)
    try:
        yield
    finally:
        for number in caught:
            loop.remove_signal_handler(number)
