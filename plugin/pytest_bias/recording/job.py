"""The recording of one experiment with one model: what it lacks, trial by trial, and keeping it.

Of a trial every reply is kept as it comes, or the measures once it is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from ..cassettes.files import is_there, refuse_links, remove_leftovers
from ..cassettes.format import measured_trial
from ..cassettes.recorded_trials import is_recorded, own_words
from ..cassettes.recorder import Recorder
from ..cassettes.store import Cassette, journals_of, packed_path, standing
from ..errors import (
    BiasError,
    CallFailed,
    CopiedReply,
    DamagedCassette,
    ForeignAwait,
    InvalidReply,
    JudgeNotBlind,
    NotWritten,
    ReplayDiffers,
)
from ..experiments.copies import Copies
from ..experiments.design import Design, Trial
from ..experiments.driver import drive
from ..experiments.experiment import Experiment, Players, plan
from ..experiments.keys import seed_of_trial, trial_seed
from ..experiments.measures import Measure
from ..experiments.messages import Completion, Place, Request
from ..experiments.records import Origin, Outcome
from ..experiments.replay import (
    Lookup,
    PendingRequest,
    Tracer,
    check_replay,
    place_order,
    reply_origin,
)
from ..providers.completion import has_half_a_character, with_whole_characters
from ..settings.settings import RecordMode
from .caller import Caller, CallTerms
from .limits import Capped, Halted, PromisedCalls, Stop, Throttle, wake
from .process import ends_the_process


@dataclass(frozen=True, slots=True)
class KeepsReplies:
    """Keeps every reply of a trial, on disk before the next is counted.

    ``whole`` is whether a trial that has begun must end, because a part of it cannot be kept. One
    serves for all trials: it has no state.
    """

    recorder: Recorder
    recorded: Lookup
    whole: ClassVar[bool] = False

    def begin(self) -> Kept:
        """Begin a trial."""
        return self

    def lookup(self, key: str) -> Completion | None:
        """The reply under ``key``, recorded before or just now."""
        return self.recorded(key)

    async def keep(self, wanted: PendingRequest, completion: Completion) -> None:
        """Take a reply."""
        await self.recorder.keep(wanted, completion)

    async def end(self, outcome: Outcome) -> None:
        """Take the outcome of the whole trial, replayed; there is nothing left to keep."""

    @property
    def unkept(self) -> int:
        """Number of replies that are paid, and kept only if the trial comes to its end."""
        return 0

    def words(self, error: BaseException) -> str:
        """Return an error of the trial in words that may be said, for it may quote a reply."""
        return str(error) if isinstance(error, BiasError) else f"{type(error).__name__}: {error}"


@dataclass(frozen=True, slots=True)
class KeepsMeasures:
    """Keeps the measures of whole trials; of the text nothing."""

    recorder: Recorder
    measures: Sequence[Measure]
    judge: str = ""

    def begin(self) -> Kept:
        """Begin a trial."""
        return _InMemory(self)


@dataclass(slots=True)
class _InMemory:
    """The replies of one trial, which never reach the disk as they are."""

    keeping: KeepsMeasures
    whole: ClassVar[bool] = True
    _replies: dict[str, tuple[PendingRequest, Completion]] = field(
        default_factory=dict, repr=False
    )

    def lookup(self, key: str) -> Completion | None:
        found = self._replies.get(key)
        return None if found is None else found[1]

    async def keep(self, wanted: PendingRequest, completion: Completion) -> None:
        self._replies[wanted.key] = wanted, completion

    async def end(self, outcome: Outcome) -> None:
        keeping = self.keeping
        ordered = sorted(self._replies.values(), key=lambda pair: place_order(pair[0].place))
        measured = measured_trial(
            outcome,
            keeping.measures,
            ordered,
            judge=keeping.judge,
        )
        self._replies.clear()  # from here on the recorder has them
        await keeping.recorder.keep_measured(measured)

    @property
    def unkept(self) -> int:
        return len(self._replies)

    def words(self, error: BaseException) -> str:
        """Words of our own: a provider's may quote what was asked, a protocol's what it got."""
        return own_words(error)


Kept = KeepsReplies | _InMemory
"""What is kept of one trial while it is carried out."""

Keeping = KeepsReplies | KeepsMeasures
"""What becomes of the replies of a job; one :data:`Kept` per trial."""


_FAILURES_IN_A_ROW = 5
_IN_TURN = 3
"""Trials that take turns at the beginning, at most."""


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
    user asked for and got; ``salvaged`` what of an earlier recording is damaged or will not
    count.
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


Teller = Callable[[Experiment, Outcome], None]
"""Called with every trial when it has been recorded."""


def untold(_experiment: Experiment, _outcome: Outcome) -> None:
    """Tell nobody."""


@dataclass(slots=True, kw_only=True, eq=False)
class JobRecording:
    """The recording of one job.

    ``callers`` holds the subject's and the judge's, by model; ``keeping`` says what becomes of
    replies; ``rehearsed`` is the number of calls of a trial that was carried out and replayed
    before anything was called; at 0 the first trial goes alone. ``gates`` is whether a verdict
    rests on it: then a reply of another model than the one asked for ends it, and a copy. Those
    ``copies`` were told of before are of trials that are recorded.
    """

    job: Job
    callers: Mapping[str, Caller]
    keeping: Keeping
    report: JobReport
    stop: Stop
    rehearsed: int
    gates: bool = True
    told: Teller = untold
    _throttle: Throttle = field(init=False)
    copies: Copies = field(default_factory=Copies)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _answered: set[str] = field(default_factory=set, init=False)
    _failures_in_a_row: int = field(default=0, init=False)
    _exhausted: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._throttle = self.callers[self.job.model].throttle

    async def run(self, trials: Sequence[Trial]) -> None:
        """Record ``trials`` in their order, as many at once as the model takes."""
        queue = iter(trials)
        ceiling = min(self._throttle.concurrency.ceiling, len(trials))
        workers = [self._work(number, queue) for number in range(ceiling)]
        # All of them end before the journal is closed, whatever ends one of them.
        for ended in await asyncio.gather(*workers, return_exceptions=True):
            if isinstance(ended, BaseException):
                raise ended
        if self.report.lost and not self.report.done:  # failures may have used up the cap
            words = self.keeping.begin().words
            failures = [each.failed for each in self.callers.values() if each.failed]
            self.report.notes += [f"before that a call failed: {words(each)}" for each in failures]

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
                self.check_replies()  # the judge of this job may be asked by others too
                self.stop.check()
                await self._record(trial)
        except Halted:
            return
        finally:
            # However it ended: nobody may wait for one that is gone.
            self._exhausted = True
            wake(self._throttle.growth)

    def _may_begin(self, number: int) -> bool:
        """Return whether a worker may begin: one alone, until a trial shows the protocol sound.

        While it is not known whether a cache answers, as many as take turns then.
        """
        if not self.rehearsed:
            return number < 1
        return number < (_IN_TURN if self.in_turn else int(self._throttle.concurrency.limit))

    @property
    def in_turn(self) -> bool:
        """Return whether calls are made one after another, as it is not known if a cache answers.

        The first two trials ask the same (:func:`same_first`). Where both get one id, the third,
        which asks something else, shows whether this server's ids vary at all.
        """
        return len(self._answered) < (_IN_TURN if self.copies.unsure else _IN_TURN - 1)

    def answered(self, trial: Trial, origin: Origin) -> None:
        """Take note of a reply; once one may not count, nothing more is paid."""
        self.report.calls += 1
        self.copies.add(trial.id, origin)
        self._answered.add(trial.id)
        caller = self.callers[self.job.players.model(origin.to)]
        if caller.copied is None and (found := self.copies.of(origin.to)):
            caller.copied = CopiedReply(
                model=caller.name, wire=caller.wire, trial=found[0].trial, sign=found[0].sign
            )
        self.check_replies()
        if not self.in_turn:
            wake(self._throttle.growth)

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
        except (ReplayDiffers, ForeignAwait, NotWritten) as error:
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
        self.told(job.experiment, live)
        if len(report.done) == 1:
            wake(self._throttle.growth)
        caller = self.callers[job.model]
        caller.tally.trials += 1
        caller.progress(caller.tally)

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
    def wrong(self) -> BiasError | None:
        """That another model answered, or a cache, here or in a recording before."""
        callers = self.callers.values() if self.gates else ()
        wrong = (each for caller in callers for each in (caller.other, caller.copied) if each)
        return next(wrong, None)

    def check_replies(self) -> None:
        """Once another has answered, nothing more is paid, in trials under way neither."""
        if self.wrong is not None:
            self._give_up(str(self.wrong))

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
        self._half_told = False
        # A trial that is kept as a whole ends as a whole, once it has begun.
        self._stop = Stop(recording.stop, promise) if kept.whole else recording.stop

    def release(self) -> None:
        """Let go of what was held for this trial alone."""
        if self._kept.whole:
            self._stop.release()

    async def perform(self, request: Request, place: Place) -> Completion:
        wanted = self.note(request, place)
        completion = self._kept.lookup(wanted.key)
        if completion is None:
            # What a model wrote may be quoted to it or to the judge; its key is that of the whole.
            sent = with_whole_characters(request) if self._half_told else request
            completion = await self._called(sent, wanted)
        self._half_told |= has_half_a_character(completion.text)
        return completion

    async def _called(self, request: Request, wanted: PendingRequest) -> Completion:
        recording, place = self._recording, wanted.place
        seed = trial_seed(self.experiment.id, self.trial, place)
        trial = seed_of_trial(self.experiment.id, self.trial)
        asked = CallTerms(seed, frozenset({*self.experiment.may_drop, "schema"}), trial)
        caller = recording.callers[self.players.model(request.to)]
        # Who waits for a turn gets it in the order of asking.
        async with recording.turn if recording.in_turn else nullcontext():
            completion = await caller.call(request, asked, self._stop)
            await self._kept.keep(wanted, completion)
            recording.answered(self.trial, reply_origin(wanted, completion))
        return completion

    async def gather(self, awaitables: Sequence[Awaitable[object]]) -> list[object]:
        return list(await asyncio.gather(*awaitables, return_exceptions=True))


def same_first(trials: Sequence[Trial]) -> list[Trial]:
    """``trials`` with two replicates in front, one after the other, and one that asks otherwise.

    Where no two are of one cell, they stay as they are: no copy of one would be given another.
    """
    before: dict[object, Trial] = {}
    for trial in trials:
        twin = before.setdefault(trial.cell, trial)
        if twin is not trial:
            other = next((each for each in trials if each.cell != trial.cell), None)
            first = [twin, trial] + ([] if other is None else [other])
            return [*first, *(each for each in trials if all(each is not it for it in first))]
    return list(trials)


def missing(job: Job, path: Path, *, anew: bool) -> tuple[Cassette, list[Trial], Copies]:
    """The cassette of a job, the trials that have no recording, or only a part of one; its copies.

    Raises FileProblem when what is missing cannot be told from what is being recorded anew, or
    nothing can be written, because a file of it is a link.
    """
    refuse_links(path, packed_path(path), *journals_of(path))
    remove_leftovers(path)
    cassette = Cassette(path, anew=anew)
    if not anew and cassette.unfinished:
        raise cassette.unfinished_error()
    copies = Copies()
    wanted = [each for each in job.trials if not _recorded(job, each, cassette, copies)]
    return cassette, wanted, copies


def is_whole(job: Job, path: Path, mode: RecordMode) -> bool:
    """Return whether there is nothing to do at all, not even to merge: then nothing is locked."""
    if mode == "all" or standing(path) is None or any(map(is_there, journals_of(path))):
        return False
    try:
        cassette = Cassette(path)
    except DamagedCassette:  # what is lost of it is recorded again
        return False
    if cassette.lost & {trial.id for trial in job.trials}:
        return False
    copies = Copies()
    whole = all(_recorded(job, each, cassette, copies) for each in job.trials)
    return whole and not copies.found


def is_finished(job: Job, cassette: Cassette) -> bool:
    """Return whether all to be recorded anew is, in this run and in those it goes on with."""
    scope = cassette.scope | {trial.id for trial in job.trials}
    highest = max(int(name.rpartition("#")[2]) for name in scope)
    trials = plan(job.experiment, Design(highest, controls=highest))
    scoped = (each for each in trials if each.id in scope)
    return all(_recorded(job, each, cassette) for each in scoped)


def _recorded(job: Job, trial: Trial, cassette: Cassette, copies: Copies | None = None) -> bool:
    players = job.players
    return is_recorded(job.experiment, players, trial, cassette, copies)
