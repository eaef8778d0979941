"""The recording of one experiment with one model: trial by trial, each replayed at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import (
    BiasError,
    CallFailed,
    ForeignAwait,
    InvalidReply,
    JudgeNotBlind,
    NotKept,
    OtherModel,
    ReplayDiffers,
)
from ..experiments.design import Trial
from ..experiments.driver import drive
from ..experiments.experiment import Experiment, Players
from ..experiments.keys import trial_seed
from ..experiments.messages import Completion, Place, Request
from ..experiments.records import Outcome
from ..experiments.replay import Tracer, check_replay
from .budget import Capped, PromisedCalls, StopBeforeFirst
from .caller import Caller, CallTerms, Tally
from .keeper import Keeping, Kept
from .process import ends_the_process
from .stop import Halted, Stop, wake

_FAILURES_IN_A_ROW = 5


@dataclass(frozen=True, slots=True)
class Job:
    """Trials of one experiment to be recorded with one model (and the judge beside it)."""

    experiment: Experiment
    players: Players
    trials: Sequence[Trial]

    @property
    def model(self) -> str:
        """``provider/model`` of the subject."""
        return self.players.subject


@dataclass(slots=True)
class JobReport:
    """The outcome of a job: ids of trials recorded now, of those lost to a cap, what went wrong.

    ``calls`` counts the replies that were paid and kept, ``unkept`` those that could not be
    written. ``problems`` leave the recording without what it should have; ``notes`` say what the
    user asked for and got; ``salvaged`` what was found lost of an earlier recording's journal.
    """

    experiment_id: str
    model: str
    cassette: Path
    wanted: int = 0
    calls: int = 0
    done: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    unkept: int = 0
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    salvaged: list[str] = field(default_factory=list)

    @property
    def recorded(self) -> int:
        """Number of trials recorded now."""
        return len(self.done)

    def problem(self, text: str) -> None:
        """Note a problem, once."""
        if text not in self.problems:
            self.problems.append(text)


Progress = Callable[[Tally], None]
"""Called with the books of a model whenever they have changed."""


class JobRecording:
    """The recording of one job.

    ``callers`` holds the subject's and the judge's, by model; ``keeping`` says what becomes of
    replies; ``progress`` is called after every reply and trial; ``rehearsed`` is the number of
    calls of a trial that was carried out and replayed before anything was called; at 0 the first
    trial goes alone. ``gates`` is whether a verdict rests on it: then a reply of another model
    than the one asked for ends it.
    """

    def __init__(
        self,
        *,
        job: Job,
        callers: Mapping[str, Caller],
        keeping: Keeping,
        report: JobReport,
        stop: Stop,
        progress: Progress,
        rehearsed: int,
        gates: bool = True,
    ) -> None:
        self.job = job
        self.callers = callers
        self.keeping = keeping
        self.report = report
        self.stop = stop
        self.progress = progress
        self.rehearsed = rehearsed
        self._gates = gates
        self._throttle = callers[job.model].throttle
        self._failures_in_a_row = 0
        self._exhausted = False

    async def run(self, trials: Sequence[Trial]) -> None:
        """Record ``trials`` in their order, as many at once as the model takes."""
        queue = iter(trials)
        ceiling = min(self._throttle.concurrency.ceiling, len(trials))
        workers = [self._work(number, queue) for number in range(ceiling)]
        # All of them end before the journal is closed, whatever ends one of them.
        for ended in await asyncio.gather(*workers, return_exceptions=True):
            if isinstance(ended, BaseException):
                raise ended

    async def _work(self, number: int, queue: Iterator[Trial]) -> None:
        """Record trials while there are any; begins when so many calls may be in flight."""
        try:
            while not self._exhausted:
                if not self._may_begin(number):
                    await self.stop.wait(until=self._throttle.growth)
                    continue
                trial = next(queue, None)
                if trial is None:
                    return
                self.stop.check()
                await self._record(trial)
                if self.other is not None:
                    self._give_up(str(self.other))
        except Halted:
            return
        finally:
            # However it ended: nobody may wait for one that is gone.
            self._exhausted = True
            wake(self._throttle.growth)

    def _may_begin(self, number: int) -> bool:
        """Return whether a worker may begin: one alone, until a trial shows the protocol sound."""
        sound = bool(self.rehearsed)
        return number < (int(self._throttle.concurrency.limit) if sound else 1)

    async def _record(self, trial: Trial) -> None:
        job, report = self.job, self.report
        kept = self.keeping.begin()
        try:
            live = await self._carried_out(trial, kept)
            # In a thread without an event loop: an asyncio.timeout() fails there as it will later.
            await asyncio.to_thread(self._check, trial, kept, live)
            await kept.end(live)
        except Capped as capped:
            report.lost.add(trial.id)
            if capped.what not in report.notes:
                report.notes.append(capped.what)
            return
        except CallFailed as failed:
            self._failed(kept.words(failed), fatal=failed.fatal)
            return
        except JudgeNotBlind as error:
            # One story that slipped through a mask ends no recording: the others are whole.
            self._failed(kept.words(error))
            return
        except (ReplayDiffers, ForeignAwait, NotKept) as error:
            self._give_up(kept.words(error))
            return
        except Halted:
            raise
        except BaseException as error:  # pytest.fail() and its like are no Exceptions
            if ends_the_process(error):
                raise
            self._give_up(f"{job.experiment.id}, trial {trial.id}: {kept.words(error)}")
            return
        finally:
            # Of a trial that is kept as a whole, and did not come to its end.
            report.unkept += kept.unkept
        self._failures_in_a_row = 0
        self.rehearsed = self.rehearsed or live.interactions
        report.done.add(trial.id)
        if len(report.done) == 1:
            wake(self._throttle.growth)
        tally = self.callers[job.model].tally
        tally.trials += 1
        self.progress(tally)

    async def _carried_out(self, trial: Trial, kept: Kept) -> Outcome:
        """The outcome of a trial, live; one that is kept as a whole begins only if it can end."""
        spending = self.callers[self.job.model].spending
        with spending.promising(self.rehearsed if kept.whole else 0) as promise:
            executor = _LiveExecutor(self, trial, kept, promise)
            try:
                result = await drive(executor.start(), executor)
            except InvalidReply as invalid:
                return executor.outcome(None, invalid.reason)
            finally:
                executor.release()
            return executor.outcome(result, None)

    def _check(self, trial: Trial, kept: Kept, live: Outcome) -> None:
        experiment = self.job.experiment
        try:
            check_replay(experiment, self.job.players, trial, kept.lookup, live)
        except BiasError:
            raise
        except Exception as error:
            raise ReplayDiffers(
                experiment=experiment.id, trial=trial.id, problem=kept.words(error)
            ) from error

    @property
    def other(self) -> OtherModel | None:
        """That another model answered than the one asked for, here or in a recording before."""
        others = [caller.other for caller in self.callers.values() if caller.other is not None]
        return others[0] if others and self._gates else None

    def _failed(self, text: str, *, fatal: bool = False) -> None:
        """Note a problem of one trial; so many in a row, and nothing more is paid."""
        self._failures_in_a_row += 1
        self.report.problem(text)
        if fatal or self._failures_in_a_row >= _FAILURES_IN_A_ROW:
            self.stop.request()

    def _give_up(self, text: str) -> None:
        """Note a problem that the next trial would have too; nothing more is paid."""
        self.report.problem(text)
        self.stop.request()


class _LiveExecutor(Tracer):
    """Carries out one trial by calling the provider for what is not recorded."""

    def __init__(
        self, recording: JobRecording, trial: Trial, kept: Kept, promise: PromisedCalls
    ) -> None:
        super().__init__(recording.job.experiment, recording.job.players, trial)
        self._recording = recording
        self._kept = kept
        # A trial that is kept as a whole ends as a whole, once it has begun.
        self._stop = StopBeforeFirst(recording.stop, promise) if kept.whole else recording.stop

    def release(self) -> None:
        """Let go of what was held for this trial alone."""
        if isinstance(self._stop, StopBeforeFirst):
            self._stop.release()

    async def perform(self, request: Request, place: Place) -> Completion:
        wanted = self.note(request, place)
        recording = self._recording
        recorded = self._kept.lookup(wanted.key)
        if recorded is not None:
            return recorded
        seed = trial_seed(self.experiment.id, self.trial, place)
        asked = CallTerms(seed, frozenset({*self.experiment.may_drop, "schema"}))
        caller = recording.callers[self.players.model(request.to)]
        try:
            completion = await caller.call(request, asked, self._stop)
            await self._kept.keep(wanted, completion)
            recording.report.calls += 1
        finally:
            recording.progress(caller.tally)
        return completion

    async def gather(self, awaitables: Sequence[Awaitable[object]]) -> list[object]:
        return list(await asyncio.gather(*awaitables, return_exceptions=True))
