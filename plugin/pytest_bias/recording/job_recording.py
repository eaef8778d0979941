"""The recording of one experiment with one model: what of it is missing, trial by trial.

Of a trial every reply is stored as it comes, or the measures once it is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.metadata import version
from random import Random
from typing import Any

from ..cassettes.format import Provenance, combined, serving
from ..cassettes.maintenance import salvage
from ..cassettes.measured import measured_trial
from ..cassettes.recorded_trials import safe_message
from ..cassettes.recorder import Recorder, recording_lock
from ..cassettes.servers import mixed_hosts
from ..cassettes.spill import take_over
from ..cassettes.staleness import CUT_HINT, Copies, is_cut
from ..cassettes.store import Cassette, journals_of
from ..errors import (
    BiasError,
    CallFailed,
    DamagedCassette,
    InvalidReply,
    JudgeNotBlind,
    NotReplayable,
    NotWritten,
)
from ..experiments.design import Trial
from ..experiments.driver import drive
from ..experiments.experiment import Experiment
from ..experiments.messages import Completion, Place, Request, seed_of_trial, trial_seed
from ..experiments.protocol import Reply
from ..experiments.records import Exchange, Outcome
from ..experiments.replay import (
    PendingRequest,
    Tracer,
    check_replay,
    exchange_of,
    place_order,
    rehearse,
    replay_differs,
)
from ..providers.base import Call, is_simulated
from ..providers.failures import has_half_a_character, with_valid_characters
from ..settings.model_names import SERVED_BY
from .caller import Caller, Callers, Terms
from .estimate import called_models
from .job import Job, JobReport, is_complete, is_finished, missing, replicates_first
from .limits import Capped, Halted, Stop, wake
from .readable import Readability
from .signals import ends_the_process

_FAILURES_IN_A_ROW = 5

_OLD_COUNTS = (
    "what is recorded anew is kept apart until all that was begun is; until then "
    "(--bias-record=all again) the old recording counts"
)


class TrialReplies:
    """The replies of one trial: stored one by one, or in memory until their measures are.

    Where they ``are_stored`` what is recorded of the trial counts. Else it counts only as a whole,
    and those ``unstored`` are lost if it does not end.
    """

    def __init__(self, job: Job, recorder: Recorder, *, anew: bool) -> None:
        self.are_stored = job.experiment.retention == "raw"
        self.unstored: dict[str, tuple[PendingRequest, Completion]] = {}
        self._job, self._recorder = job, recorder
        self._recorded = recorder.cassette.lookup_new if anew else recorder.cassette.lookup

    def lookup(self, key: str) -> Completion | None:
        """The reply under ``key``, recorded before or just now."""
        if self.are_stored:
            return self._recorded(key)
        return self.unstored[key][1] if key in self.unstored else None

    async def add(self, wanted: PendingRequest, completion: Completion) -> None:
        """Add a reply; when this returns it is on disk, or in memory for its measures."""
        if self.are_stored:
            await self._recorder.keep(wanted, completion)
        else:
            self.unstored[wanted.key] = wanted, completion

    async def end(self, outcome: Outcome) -> None:
        """Store the measures of the trial, where its replies are not."""
        if self.are_stored:
            return
        experiment, roles = self._job.experiment, self._job.roles
        ordered = sorted(self.unstored.values(), key=lambda pair: place_order(pair[0].place))
        measures, judge = experiment.measured_with(roles), experiment.judged_by(roles)
        measured = measured_trial(outcome, measures, ordered, judge=judge)
        self.unstored.clear()  # from here on the recorder has them
        await self._recorder.keep_measured(measured)


@dataclass(slots=True, eq=False)
class JobRecording:
    """The recording of one job, by the callers of a ``pool``.

    ``stop`` stops all that is under way when nothing more may be paid. ``rehearsed`` is the
    number of calls of a trial that was carried out and replayed before anything was called; at 0
    the first trial goes alone. The first two trials always do, one after the other: they make the
    same requests (:func:`replicates_first`), so that a cache on the way is noticed.
    """

    job: Job
    report: JobReport
    terms: Terms
    pool: Callers
    above: Stop
    stop: Stop = field(init=False)
    callers: dict[str, Caller] = field(default_factory=dict, init=False)
    copies: Copies = field(default_factory=Copies, init=False)
    rehearsed: int = field(default=0, init=False)
    _answered: set[str] = field(default_factory=set, init=False)
    _failures_in_a_row: int = field(default=0, init=False)
    _exhausted: bool = field(default=False, init=False)
    readability: Readability = field(init=False)

    def __post_init__(self) -> None:
        self.stop = Stop(self.above)

    @property
    def _anew(self) -> bool:
        return self.terms.mode == "all"

    async def run(self) -> None:
        """Record what is missing."""
        # Threads without an event loop: reading holds up no other model, and an asyncio.timeout()
        # in a protocol fails there as it will on replay.
        path = self.report.cassette
        if await asyncio.to_thread(is_complete, self.job, path, self.terms.mode):
            return
        with recording_lock(path):
            await asyncio.to_thread(take_over, journals_of(path)[self._anew])
            cassette, wanted = await asyncio.to_thread(self._read)
            if wanted:
                await self._record(cassette, wanted)

    def _read(self) -> tuple[Cassette, list[Trial]]:
        """The cassette, and the trials it lacks; what is damaged or copied is dropped."""
        job, report, anew = self.job, self.report, self._anew
        try:
            cassette, wanted, copies = missing(job, report.cassette, anew=anew)
        except DamagedCassette:
            report.salvaged = salvage(report.cassette, anew=anew)
            cassette, wanted, copies = missing(job, report.cassette, anew=anew)
        copied = {copy.trial for copy in copies.found}
        if copied and self.terms.gates and not anew:
            cassette.drop(copied)
            rest = "trial in {} rests" if len(copied) == 1 else "trials in {} rest"
            report.salvaged.append(
                f"{len(copied)} {rest.format(cassette.path.name)} on copies that a cache gave, to "
                "be recorded again"
            )
            cassette, wanted, copies = missing(job, report.cassette, anew=anew)
        if not anew:
            self.copies = copies
        report.wanted = len(wanted)
        self.readability = Readability(
            known=len(wanted) < len(job.trials), quotes=job.experiment.retention == "raw"
        )
        if cassette.outdone:
            report.salvaged.append(
                f"{cassette.outdone} of the replies in {cassette.recording_path.name} will not "
                "count: the cassette holds others in their place, as after a pull"
            )
        if not wanted:
            # All of it is there: a merge needs no provider, and so no key.
            cassette.lost -= {trial.id for trial in job.trials}
            if not anew or is_finished(job, cassette):
                cassette.merge()
            else:
                report.problem(_OLD_COUNTS)
        return cassette, wanted

    async def _record(self, cassette: Cassette, wanted: list[Trial]) -> None:
        job, report, anew = self.job, self.report, self._anew
        seed = f"{self.terms.order_seed} {job.experiment.id} {job.model}"
        Random(seed).shuffle(wanted)  # noqa: S311  (no secret)
        wanted = replicates_first(wanted)
        self.rehearsed = await asyncio.to_thread(rehearse, job.experiment, job.roles, wanted[0])
        models = called_models(job.experiment, job.roles)
        self.callers = {model: self.pool.of(model) for model in dict(models)}
        for caller in self.callers.values():
            caller.check_keeps(job.experiment.retention)
        for model, parameters in models:
            self.callers[model].check_bounded(parameters)
        subject = self.callers[job.model]
        subject.tally.doing = job.experiment.id
        subject.tally.wanted += len(wanted)
        subject.progress(subject.tally)
        for caller in self.callers.values():
            await caller.prepare()
            if not anew:
                _check_served_alike(caller, cassette)
        with_version = f"pytest-bias {version('pytest-bias')}"
        provenance = combined(
            [
                Provenance(is_simulated(each.name), each.wire, with_version)
                for each in self.callers.values()
            ]
        )
        recorder = Recorder(cassette, provenance, {t.id for t in job.trials} if anew else ())
        if self.wrong:
            raise BiasError(self.wrong)
        try:
            recorder.open()
            with ExitStack() as paced:
                for caller in self.callers.values():
                    # The user's or else the experiment's, not above the roster's.
                    limits = (
                        self.terms.limits.qpm or job.experiment.qpm,
                        caller.entry.requests_per_minute,
                    )
                    qpm = min((each for each in limits if each is not None), default=None)
                    paced.enter_context(caller.throttle.pace.at_most(qpm))
                await self._record_all(wanted, recorder)
        finally:
            done = not anew or await asyncio.to_thread(is_finished, job, cassette)
            try:
                # An unfinished "all" keeps its journal, or else its next run would pay again.
                await asyncio.to_thread(
                    recorder.close,
                    merge=done,
                    lost=report.lost,
                    requested=[trial.id for trial in wanted],
                )
            finally:
                report.unkept += recorder.unkept
                if recorder.spilled is not None:
                    file, number = recorder.spilled
                    replies = "reply waits" if number == 1 else "replies wait"
                    report.problem(
                        f"{number} paid {replies} in {file}: make room for the cassette, then run "
                        "the same command again, which takes them over"
                    )
        if not done and not self.above.requested:
            report.problem(_OLD_COUNTS)

    # --- trials -------------------------------------------------------------------------------

    async def _record_all(self, trials: Sequence[Trial], recorder: Recorder) -> None:
        """Record ``trials`` in their order, as many at once as the model takes."""
        queue = iter(trials)
        ceiling = self.callers[self.job.model].throttle.concurrency.ceiling
        workers = [
            self._work(number, queue, recorder) for number in range(min(ceiling, len(trials)))
        ]
        # All of them end before the journal is closed, whatever ends one of them.
        for ended in await asyncio.gather(*workers, return_exceptions=True):
            if isinstance(ended, BaseException):
                raise ended
        if self.report.lost and not self.report.done:  # failures may have used up the cap
            failures = [each.failed for each in self.callers.values() if each.failed]
            messages = [_message(self.job.experiment, each) for each in failures]
            self.report.notes += [f"before that a call failed: {each}" for each in messages]

    async def _work(self, number: int, queue: Iterator[Trial], recorder: Recorder) -> None:
        """Record trials while there are any; begins when so many calls may be in flight."""
        throttle = self.callers[self.job.model].throttle
        try:
            while not self._exhausted:
                if number >= (1 if self._one_by_one else int(throttle.concurrency.limit)):
                    await self.stop.wait(until=throttle.growth)
                    continue
                trial = next(queue, None)
                if trial is None:
                    return
                self.check_replies()  # other jobs may call the judge of this one too
                self.stop.check()
                await self._record_trial(trial, TrialReplies(self.job, recorder, anew=self._anew))
        except Halted:
            return
        finally:
            # However it ended: no other may wait for one that is gone.
            self._exhausted = True
            wake(throttle.growth)

    @property
    def _one_by_one(self) -> bool:
        """True until a trial shows the protocol sound, and the replies of two that none is a copy.

        Where both have the same id, a third trial shows whether ids vary at all on this server.
        """
        return not self.rehearsed or len(self._answered) < (3 if self.copies.unsure else 2)

    def answered(self, trial: Trial, exchange: Exchange) -> None:
        """Note a reply; once one may not count, nothing more is paid."""
        self.report.calls += 1
        self.copies.add(trial.id, exchange)
        self._answered.add(trial.id)
        caller = self.callers[self.job.roles.model(exchange.to)]
        if not caller.unusable and is_cut(exchange):
            caller.unusable = (
                f"{caller.name} ({caller.wire}) does not get the whole prompt: the server counts "
                f"{exchange.counted:,} tokens in {exchange.size:,} characters. {CUT_HINT}"
            )
        if exchange.host and exchange.to == "subject" and not caller.unusable:
            caller.hosts.add(exchange.host)
            caller.unusable = mixed_hosts(sorted(caller.hosts), caller.name, caller.entry)
        if not caller.unusable and (copies := self.copies.of(exchange.to)):
            caller.unusable = (
                f"{caller.name} ({caller.wire}) is answered from a cache: the reply in trial "
                f"{copies[0].trial} is a copy, as {copies[0].sign}. Copies are no replies of the "
                "model's, so nothing more is called. Switch the cache of responses off for these "
                "calls (in LiteLLM's proxy: cache: false under litellm_settings), then run the "
                "same command again: it records the copies again, and keeps the other replies"
            )
        self.check_replies()
        if not self._one_by_one:
            wake(self.callers[self.job.model].throttle.growth)

    async def _record_trial(self, trial: Trial, replies: TrialReplies) -> None:
        job, report = self.job, self.report
        try:
            live = await self._carry_out(trial, replies)
            # In a thread without an event loop: an asyncio.timeout() fails there as it will later.
            await asyncio.to_thread(self._check, trial, replies, live)
            await replies.end(live)
        except Capped as capped:
            report.lost.add(trial.id)
            if str(capped) not in report.notes:
                report.notes.append(str(capped))
            return
        except (CallFailed, JudgeNotBlind) as failed:
            # One story that slipped through a mask ends no recording: the others are whole.
            report.problem(_message(job.experiment, failed))
            self._failures_in_a_row += 1
            fatal = isinstance(failed, CallFailed) and failed.fatal
            if fatal or self._failures_in_a_row >= _FAILURES_IN_A_ROW:
                self.stop.request()
            return
        except (NotReplayable, NotWritten) as error:
            self.give_up(_message(job.experiment, error))
            return
        except Halted:
            raise
        except BaseException as error:  # pytest.fail() and its like are no Exceptions
            if ends_the_process(error):
                raise
            self.give_up(
                f"{job.experiment.id}, trial {trial.id}: {_message(job.experiment, error)}"
            )
            return
        finally:
            report.unkept += len(replies.unstored)
        self._count(trial, live)

    def _count(self, trial: Trial, live: Outcome) -> None:
        """Count a recorded trial, and stop where nothing that comes can be read."""
        job, report = self.job, self.report
        self._failures_in_a_row = 0
        self.rehearsed = self.rehearsed or live.interactions
        report.done.add(trial.id)
        self.terms.on_trial(job.experiment, live)
        caller = self.callers[job.model]
        if len(report.done) == 1:
            wake(caller.throttle.growth)
        caller.tally.trials += 1
        caller.progress(caller.tally)

    async def _carry_out(self, trial: Trial, replies: TrialReplies) -> Outcome:
        """The outcome of a trial, live; one that counts as a whole begins only if it can end."""
        whole = not replies.are_stored
        stop = Stop(self.stop, whole=whole)
        spending = self.callers[self.job.model].spending
        with spending.reserve_calls(stop, self.rehearsed if whole else 0):
            executor = _LiveExecutor(self, trial, replies, stop)
            try:
                result = await drive(executor.start(), executor)
            except InvalidReply as invalid:
                return executor.outcome(None, invalid.reason)
            return executor.outcome(result, None)

    def _check(self, trial: Trial, replies: TrialReplies, live: Outcome) -> None:
        experiment = self.job.experiment
        try:
            check_replay(experiment, self.job.roles, trial, replies.lookup, live)
        except BiasError:
            raise
        except Exception as error:
            raise replay_differs(experiment, trial, _message(experiment, error)) from error

    @property
    def wrong(self) -> str:
        """Why replies do not count: of another model, of a cache, or to a prompt that was cut."""
        callers = self.callers.values() if self.terms.gates else ()
        return next((w for each in callers for w in (each.other, each.unusable) if w), "")

    def check_replies(self) -> None:
        """Once another has answered, nothing more is paid, in trials under way neither."""
        if self.wrong:
            self.give_up(self.wrong)

    def give_up(self, text: str) -> None:
        """Note a problem that the next trial would have too; nothing more is paid."""
        self.report.problem(text)
        self.stop.request()


class _LiveExecutor(Tracer):
    """Carries out one trial by calling the provider for what is not recorded."""

    def __init__(
        self, recording: JobRecording, trial: Trial, replies: TrialReplies, stop: Stop
    ) -> None:
        super().__init__(recording.job.experiment, recording.job.roles, trial)
        self._recording = recording
        self._replies = replies
        self._stop = stop
        self._has_half_character = False

    async def perform(self, request: Request, place: Place) -> Completion:
        wanted = self.note(request, place)
        completion = self._replies.lookup(wanted.key)
        if completion is None:
            # What a model wrote may be quoted to it or to the judge; its key is that of the whole.
            sent = with_valid_characters(request) if self._has_half_character else request
            completion = await self._call(sent, wanted)
        self._has_half_character |= has_half_a_character(completion.text)
        return completion

    async def _call(self, request: Request, wanted: PendingRequest) -> Completion:
        recording, experiment = self._recording, self.experiment
        call = Call(
            trial_seed(experiment.id, self.trial, wanted.place),
            trial=seed_of_trial(experiment.id, self.trial),
        )
        may_drop = frozenset({*experiment.may_drop, "schema"})
        caller = recording.callers[self.roles.model(request.to)]
        completion = await caller.call(request, call, self._stop, may_drop)
        await self._replies.add(wanted, completion)
        recording.answered(self.trial, exchange_of(wanted, completion))
        return completion

    def accept(self, request: Request, reply: Reply[Any]) -> None:
        super().accept(request, reply)
        self._recording.readability.read(request.to)

    def reject(self, place: Place, invalid: InvalidReply) -> None:
        super().reject(place, invalid)
        recording = self._recording
        wanted = next(each for each in reversed(self.interactions) if each.place == place)
        completion, role = self._replies.lookup(wanted.key), wanted.request.to
        text = completion.text if completion is not None else ""
        if why := recording.readability.not_read(role, invalid.reason, text):
            recording.give_up(f"{self.roles.model(role)}: {why}")

    async def gather(self, awaitables: Sequence[Awaitable[object]]) -> list[object]:
        return list(await asyncio.gather(*awaitables, return_exceptions=True))


def _message(experiment: Experiment, error: BaseException) -> str:
    """An error of a trial without what may quote text that is not stored."""
    if experiment.retention != "raw":
        return safe_message(error)
    return str(error) if isinstance(error, BiasError) else f"{type(error).__name__}: {error}"


def _check_served_alike(caller: Caller, cassette: Cassette) -> None:
    """Refuse to add to what other weights, or another build, answered under this name.

    A local server calls itself as the roster does, so that its name shows nothing.
    """
    _, _, served = caller.wire.partition(SERVED_BY)
    before = serving(cassette.provenance)
    if served and before and served not in before:
        then = "; ".join(sorted(before))
        problem = (
            f"recording refused: what {cassette.path} holds of {caller.name} was served by {then}"
            f", and now it is {served}: record it all anew (--bias-record=all), or under a name "
            "of its own"
        )
        raise BiasError(problem)
