"""Collection: carry out the trials that have no recording, and keep every reply at once.

One asyncio loop, one writer per cassette. Nothing is called for a trial that is recorded, and in a
trial that is recorded in part only the rest is called, so an interrupted recording resumes without
paying twice.
"""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from .cassettes.format import Provenance
from .cassettes.lock import recording_lock
from .cassettes.store import Cassette, Recorder, cassette_path
from .design import Trial
from .errors import BiasError, Unfinished
from .messages import Completion
from .providers.base import ProviderContext, is_simulated, open_provider, split_model
from .recording import Job, JobReport, Progress, Recording, Stop
from .replay import Lookup, Unrecorded, replay
from .settings import RecordMode

__all__ = ["CollectionReport", "Job", "JobReport", "Progress", "collect"]


@dataclass(slots=True)
class CollectionReport:
    """What came of a collection; ``interrupted`` after SIGINT or SIGTERM."""

    jobs: list[JobReport] = field(default_factory=list)
    interrupted: bool = False


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
    replies are kept; the second waits for nothing (KeyboardInterrupt). Problems of one job do not
    keep the others from being recorded.
    """
    report = CollectionReport()
    stop = Stop()
    with _handlers_restored():
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
    stop: Stop,
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
            except OSError as error:
                job_report.problems.append(f"{path}: {error.strerror or error}")


async def _collect_job(
    job: Job,
    mode: RecordMode,
    context: ProviderContext,
    progress: Progress,
    report: JobReport,
    stop: Stop,
) -> None:
    cassette = Cassette(report.cassette, anew=mode == "all")
    if mode != "all" and cassette.rerecording_path.exists():
        raise Unfinished(journal=cassette.rerecording_path)

    def lookup(key: str) -> Completion | None:
        # Under "all" only what this recording (or the one it resumes) added counts as recorded.
        if mode == "all" and not cassette.journalled(key):
            return None
        return cassette.lookup(key)

    wanted = [t for t in job.trials if not _is_recorded(job, t, lookup)]
    report.wanted = len(wanted)
    if not wanted:
        # All of it is there: a merge needs no provider, and so no key.
        if cassette.unmerged:
            cassette.merge(job.experiment.id, job.model)
        return
    progress(report)
    provider_name, model = split_model(job.model)
    provider = open_provider(provider_name, context)
    try:
        provenance = Provenance(
            simulated=is_simulated(job.model),
            wire=provider.wire(model),
            recorded_with=f"pytest-bias {version('pytest-bias')}",
        )
        recorder = Recorder(cassette, provenance)
        recording = Recording(job, model, provider, recorder, lookup, report, stop, progress)
        try:
            await recording.run(wanted)
        finally:
            # An unfinished "all" keeps its journal, or else its next run would pay again.
            done = report.recorded == report.wanted
            recorder.close(job.experiment.id, job.model, merge=mode != "all" or done)
    finally:
        await provider.aclose()


def _is_recorded(job: Job, trial: Trial, lookup: Lookup) -> bool:
    try:
        replay(job.experiment, job.model, trial, lookup)
    except Unrecorded:
        return False
    except BiasError:
        raise
    except Exception:  # noqa: BLE001  (the protocol's own error: its case will show it)
        return True
    return True


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def _signals(stop: Stop) -> Iterator[None]:
    """Turn SIGINT and SIGTERM into a request to stop, while calls are in flight."""
    loop = asyncio.get_running_loop()
    caught = []
    for number in _SIGNALS:
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


@contextmanager
def _handlers_restored() -> Iterator[None]:
    """Leave behind the signal handlers that were there: asyncio's own are the defaults."""
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            # One that Python did not set is None, and cannot be set by it.
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)
