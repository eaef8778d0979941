"""The recording of one experiment with one model: trial by trial, each replayed at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .cassettes.store import Recorder
from .design import Trial
from .driver import drive
from .errors import BiasError, CallFailed, ForeignAwait, InvalidReply, ReplayDiffers
from .experiment import Experiment
from .keys import trial_seed
from .messages import Completion, Place, Request
from .protocol import Subject
from .providers.base import Call, Provider
from .records import Outcome
from .replay import Lookup, Tracer, Unrecorded, replay

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


Progress = Callable[[JobReport], None]
"""Called after every trial of a job and once before the first."""


class _Stopped(BiasError):
    """No further call is to be made; what is in flight ends."""


class Stop:
    """Whether new calls may start, and why not."""

    def __init__(self) -> None:
        self.requested = False
        self.signalled = False

    def on_signal(self) -> None:
        """Start nothing new; the second signal waits for nothing either."""
        if self.signalled:
            raise KeyboardInterrupt
        self.requested = True
        self.signalled = True


class Recording:
    """The recording of one job."""

    def __init__(
        self,
        job: Job,
        model: str,
        provider: Provider,
        recorder: Recorder,
        lookup: Lookup,
        report: JobReport,
        stop: Stop,
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
            self._give_up(str(error))
            return
        except Exception as error:  # noqa: BLE001  (whatever a protocol raises, replies are kept)
            self._give_up(
                f"{self.job.experiment.id}, trial {trial.id}: {type(error).__name__}: {error}"
            )
            return
        self.failures_in_a_row = 0
        self.report.recorded += 1
        self.progress(self.report)

    def _replayed(self, trial: Trial) -> Outcome:
        cassette = self.recorder.cassette
        try:
            return replay(self.job.experiment, self.job.model, trial, cassette.lookup)
        except Unrecorded as unrecorded:
            raise self._differs(
                trial, f"its question at turn {unrecorded.wanted.place.turn} is another"
            ) from unrecorded
        except BiasError:
            raise
        except Exception as error:
            raise self._differs(trial, f"{type(error).__name__}: {error}") from error

    def _differs(self, trial: Trial, problem: str) -> ReplayDiffers:
        return ReplayDiffers(experiment=self.job.experiment.id, trial=trial.id, problem=problem)

    def _give_up(self, text: str) -> None:
        """Note a problem that the next trial would have too; nothing more is paid."""
        self._problem(text)
        self.stop.requested = True

    def _problem(self, text: str) -> None:
        if text not in self.report.problems:
            self.report.problems.append(text)


class _LiveExecutor(Tracer):
    """Carries out one trial by calling the provider for what is not recorded."""

    def __init__(self, recording: Recording, trial: Trial) -> None:
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
        completion = await recording.provider.complete(recording.model, request, Call(seed))
        recording.recorder.add(wanted, completion)
        recording.report.calls += 1
        return completion

    async def gather(self, awaitables: Sequence[Awaitable[object]]) -> list[object]:
        return list(await asyncio.gather(*awaitables, return_exceptions=True))


async def _live_outcome(recording: Recording, trial: Trial) -> Outcome:
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
