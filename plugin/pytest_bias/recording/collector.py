"""Collection: carry out the trials that have no recording, and keep every reply at once.

One asyncio loop, one writer per cassette, one throttle per model, one purse for all. Nothing is
called for a trial that is recorded, and in a trial that is recorded in part only the rest is
called, so an interrupted recording resumes without paying twice.
"""

from __future__ import annotations

import asyncio
import gc
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack, ExitStack, suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from random import Random

from ..cassettes.format import Provenance, combined, serving
from ..cassettes.recorder import Recorder, recording_lock, salvage
from ..cassettes.store import Cassette, cassette_path
from ..errors import BiasError, DamagedCassette, RecordingRefused
from ..experiments.copies import Copies
from ..experiments.design import Trial
from ..experiments.messages import DROPPABLE, Completion, Request
from ..experiments.replay import rehearse
from ..providers.base import (
    Provider,
    ProviderContext,
    is_simulated,
    open_provider,
    split_model,
)
from ..settings.model_names import SERVED_BY
from ..settings.roster import FREE, ModelEntry, Roster
from ..settings.settings import Limits, RecordMode
from .caller import Caller, CallTerms, Progress, Retries, Tally, silent
from .estimate import asked_of
from .held_signals import HeldSignals, handlers_restored
from .job import (
    Job,
    JobRecording,
    JobReport,
    Keeping,
    KeepsMeasures,
    KeepsReplies,
    Teller,
    is_finished,
    is_whole,
    missing,
    same_first,
    untold,
)
from .limits import Spending, Stop, Throttle
from .process import (
    ends_the_process,
    in_event_loop,
    quiet_sdks,
    signals_told,
)

_OLD_COUNTS = (
    "what is recorded anew is kept apart until all that was begun is; until then "
    "(--bias-record=all again) the old recording counts"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The terms on which models are called.

    ``order_seed`` shuffles the trials of each experiment and model, so that what drifts while a
    recording runs (load, latency) is not confounded with a condition. ``gates`` is whether
    verdicts rest on what is recorded, so that nothing is paid for that another model answers.
    ``told`` is called with every trial when it is recorded, and must not raise.
    """

    mode: RecordMode
    folder: Path
    context: ProviderContext
    roster: Roster = field(default_factory=Roster)
    limits: Limits = field(default_factory=Limits)
    retries: Retries = field(default_factory=Retries)
    order_seed: int = 0
    gates: bool = True
    told: Teller = untold


@dataclass(slots=True)
class CollectionReport:
    """The outcome of a collection; ``interrupted`` after SIGINT, SIGTERM or SIGHUP."""

    jobs: list[JobReport] = field(default_factory=list)
    tallies: list[Tally] = field(default_factory=list)
    interrupted: bool = False


def collect(
    jobs: Sequence[Job],
    terms: Terms,
    progress: Progress,
    say: Callable[[str], None] = lambda _: None,
    held: HeldSignals | None = None,
) -> CollectionReport:
    """Record what ``jobs`` lack: models side by side, the experiments of one model in turn.

    The first SIGINT, SIGTERM or SIGHUP starts nothing new and waits for the calls in flight, whose
    replies are kept; the second waits for nothing (KeyboardInterrupt). Problems of one job do not
    keep the others from being recorded. ``say`` is told what a signal did; after an interruption
    further signals are left ``held``.
    """
    report = CollectionReport()
    if in_event_loop():
        raise RecordingRefused("pytest runs inside an event loop; run it from a shell")
    with handlers_restored(held, lambda: report.interrupted), quiet_sdks():
        asyncio.run(_Collector(terms, progress, report, say, held).run(jobs))
    # Transports are freed here, not in the middle of somebody's test under -W error.
    gc.collect()
    return report


@dataclass(eq=False)
class _Collector:
    """The state of one collection; made before its event loop, used inside it."""

    terms: Terms
    progress: Progress
    report: CollectionReport
    say: Callable[[str], None]
    held: HeldSignals | None

    def __post_init__(self) -> None:
        self.stop = Stop()
        limits = self.terms.limits
        self.spending = Spending(limits.max_calls, limits.budget, cap=limits.cap)
        self._abandoned = False
        self._providers: dict[str, Provider] = {}
        self._callers: dict[str, Caller] = {}

    async def run(self, jobs: Sequence[Job]) -> None:
        by_model: dict[str, list[tuple[Job, JobReport]]] = {}
        for job in jobs:
            path = cassette_path(self.terms.folder, job.experiment.id, job.model)
            job_report = JobReport(job.experiment.id, job.model, path)
            self.report.jobs.append(job_report)
            by_model.setdefault(job.model, []).append((job, job_report))
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._close)
            stack.enter_context(signals_told(self._on_signal, self._hold))
            await asyncio.gather(*(self._model(pairs) for pairs in by_model.values()))

    async def _model(self, pairs: Sequence[tuple[Job, JobReport]]) -> None:
        """The jobs of one model, one after another; whatever ends one is a problem of it."""
        for job, report in pairs:
            if self.report.interrupted:
                report.problems.append("not begun: the recording was interrupted")
                continue
            try:
                await self._job(job, report)
            except BiasError as error:
                report.problem(str(error))
            except OSError as error:
                report.problem(f"{error.filename or report.cassette}: {error.strerror or error}")
            except BaseException as error:  # the others' replies are paid, and are kept
                if ends_the_process(error):
                    raise
                report.problem(unexpected(error))
            if report.unkept:
                replies = "reply" if report.unkept == 1 else "replies"
                report.problem(f"{report.unkept} paid {replies} could not be kept")

    async def _job(self, job: Job, report: JobReport) -> None:
        # Threads without an event loop: reading holds up no other model, and an asyncio.timeout()
        # in a protocol fails there as it will on replay.
        if await asyncio.to_thread(is_whole, job, report.cassette, self.terms.mode):
            return
        with recording_lock(report.cassette):
            await self._record(job, report)

    async def _record(self, job: Job, report: JobReport) -> None:
        mode = self.terms.mode
        anew = mode == "all"
        cassette, wanted, copies = await asyncio.to_thread(self._found, job, report, anew=anew)
        report.wanted = len(wanted)
        if cassette.outdone:
            report.salvaged.append(
                f"{cassette.outdone} of the replies in {cassette.recording_path.name} will not "
                "count: the cassette holds others in their place, as after a pull"
            )
        if not wanted:
            # All of it is there: a merge needs no provider, and so no key.
            cassette.lost -= {trial.id for trial in job.trials}
            if not anew or await asyncio.to_thread(is_finished, job, cassette):
                cassette.merge(job.experiment.id, job.model)
            else:
                report.problem(_OLD_COUNTS)
            return
        seed = f"{self.terms.order_seed} {job.experiment.id} {job.model}"
        Random(seed).shuffle(wanted)  # noqa: S311  (no secret)
        wanted = same_first(wanted)
        rehearsed = await asyncio.to_thread(rehearse, job.experiment, job.players, wanted[0])
        callers = self._callers_of(job)
        tally = callers[job.model].tally
        tally.doing, tally.wanted = job.experiment.id, tally.wanted + len(wanted)
        self._show(tally)
        scope = {trial.id for trial in job.trials} if anew else ()
        for caller in callers.values():
            await caller.prepare()
            if not anew:
                _check_served_alike(caller, cassette)
        recorder = Recorder(cassette, self._provenance(callers.values()), scope)
        recording = JobRecording(
            job=job,
            callers=callers,
            keeping=self._keeping(job, recorder, anew=anew),
            report=report,
            stop=Stop(self.stop),
            rehearsed=rehearsed,
            gates=self.terms.gates,
            told=self.terms.told,
            copies=Copies() if anew else copies,
        )
        if recording.wrong is not None:
            raise recording.wrong
        try:
            recorder.open()
            with ExitStack() as held:
                for caller in callers.values():
                    qpm = self._qpm(caller.entry, job)
                    held.enter_context(caller.throttle.pace.at_most(qpm))
                await recording.run(wanted)
        finally:
            done = not anew or await asyncio.to_thread(is_finished, job, cassette)
            try:
                # An unfinished "all" keeps its journal, or else its next run would pay again.
                await asyncio.to_thread(
                    recorder.close,
                    job.experiment.id,
                    job.model,
                    merge=done,
                    lost=report.lost,
                    requested=[trial.id for trial in wanted],
                )
            finally:
                report.unkept += recorder.unkept
        if not done and not self.report.interrupted:
            report.problem(_OLD_COUNTS)

    def _found(
        self, job: Job, report: JobReport, *, anew: bool
    ) -> tuple[Cassette, list[Trial], Copies]:
        """What is recorded of a job, and what is not; what is damaged or copied is dropped."""
        try:
            found = missing(job, report.cassette, anew=anew)
        except DamagedCassette:
            report.salvaged = salvage(report.cassette, anew=anew)
            found = missing(job, report.cassette, anew=anew)
        cassette, _, copies = found
        copied = {copy.trial for copy in copies.found}
        if not copied or anew or not self.terms.gates:
            return found
        cassette.drop(copied, job.experiment.id, job.model)
        rest = "trial in {} rests" if len(copied) == 1 else "trials in {} rest"
        report.salvaged.append(
            f"{len(copied)} {rest.format(cassette.path.name)} on copies that a cache gave, to be "
            "recorded again"
        )
        return missing(job, report.cassette, anew=anew)

    def _show(self, tally: Tally) -> None:
        """Show progress; a display that fails is not asked again, and costs no reply."""
        try:
            self.progress(tally)
        except Exception:  # noqa: BLE001  (a terminal that has gone away, whatever it raises)
            self.progress = silent

    def _keeping(self, job: Job, recorder: Recorder, *, anew: bool) -> Keeping:
        """Return the keeper of this job's replies."""
        if job.experiment.retention == "raw":
            cassette = recorder.cassette
            return KeepsReplies(recorder, cassette.lookup_new if anew else cassette.lookup)
        judge = job.experiment.judged_by(job.players)
        measures = job.experiment.measured_with(job.players)
        return KeepsMeasures(recorder, measures, judge)

    # --- models -------------------------------------------------------------------------------

    def _callers_of(self, job: Job) -> dict[str, Caller]:
        """The callers of a job's subject and judge, by model."""
        asked = asked_of(job.experiment, job.players)
        callers = {model: self._caller(model) for model in dict(asked)}
        for caller in callers.values():
            caller.check_keeps(job.experiment.retention)
        for model, parameters in asked:
            callers[model].check_bounded(parameters)
        return callers

    def _caller(self, name: str) -> Caller:
        if name not in self._callers:
            provider = self._provider(split_model(name, self.terms.context.own)[0])
            caller = self._callers[name] = caller_of(name, provider, self.terms, self.spending)
            caller.progress = self._show
            self.report.tallies.append(caller.tally)
        return self._callers[name]

    def _qpm(self, entry: ModelEntry, job: Job) -> int | None:
        """Requests per minute: the user's or else the experiment's, not above the roster's."""
        limits = (self.terms.limits.qpm or job.experiment.qpm, entry.requests_per_minute)
        return min((each for each in limits if each is not None), default=None)

    def _provider(self, name: str) -> Provider:
        if name not in self._providers:
            self._providers[name] = open_provider(name, self.terms.context)
        return self._providers[name]

    async def _close(self) -> None:
        for provider in self._providers.values():
            # What is recorded is recorded: a connection that does not close harms nobody.
            with suppress(Exception):
                await provider.aclose()

    def _provenance(self, callers: Iterable[Caller]) -> Provenance:
        with_version = f"pytest-bias {version('pytest-bias')}"
        return combined(
            [Provenance(is_simulated(each.name), each.wire, with_version) for each in callers]
        )

    # --- signals ------------------------------------------------------------------------------

    def _on_signal(self) -> None:
        """Start nothing new; the second signal waits for nothing either."""
        number = sum(caller.in_flight for caller in self._callers.values())
        calls = "1 call in flight is" if number == 1 else f"{number} calls in flight are"
        if self._abandoned:
            return  # already on its way out
        if self.report.interrupted:
            self._abandoned = True
            kept = "what came before is kept, and the same command goes on with it"
            self._tell(f"{calls} abandoned, and may have to be paid; {kept}")
            raise KeyboardInterrupt
        self.report.interrupted = True
        self._tell(
            f"stopping: nothing new is called, and {calls} waited for, so that what "
            "is paid is kept; once more (Ctrl-C) abandons them"
        )
        self.stop.request()

    def _hold(self) -> None:
        """After an interruption nothing is to break off what is still closed."""
        if self.report.interrupted and self.held is not None:
            self.held.hold()

    def _tell(self, text: str) -> None:
        with suppress(Exception):  # a terminal that has gone away
            self.say(text)


def caller_of(name: str, provider: Provider, terms: Terms, spending: Spending) -> Caller:
    """Return the caller of the model ``name`` within the running event loop."""
    entry = terms.roster.entry(name)
    if is_simulated(name) and entry.price is None:
        entry = replace(entry, price=FREE)
    most = terms.limits.concurrency
    # A provider's own ceiling is one of this machine.
    own = getattr(provider, "concurrency", most)
    ceiling = min(most, entry.concurrency or most, own)
    clock = asyncio.get_running_loop().time
    throttle = Throttle(ceiling=ceiling, tpm=entry.tokens_per_minute, clock=clock)
    return Caller(
        name=name,
        provider=provider,
        entry=entry,
        throttle=throttle,
        spending=spending,
        timeout=terms.limits.timeout,
        rng=Random(f"{terms.order_seed} {name}"),  # noqa: S311  (no secret)
        retries=terms.retries,
    )


def _check_served_alike(caller: Caller, cassette: Cassette) -> None:
    """Refuse to record beside what other weights, or another build, answered under this name.

    A local server calls itself as the roster does, so that its name tells nothing.
    """
    _, _, served = caller.wire.partition(SERVED_BY)
    before = serving(cassette.provenance)
    if served and before and served not in before:
        then = "; ".join(sorted(before))
        why = (
            f"what {cassette.path} holds of {caller.name} was served by {then}, and now it is "
            f"{served}: record it all anew (--bias-record=all), or under a name of its own"
        )
        raise RecordingRefused(why)


def unexpected(error: BaseException) -> str:
    """An error nobody foresaw, by its kind and place: its words may hold a key."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}, line {last.lineno}"
    return f"{type(error).__name__} in {where}; nothing more of this is called"


def answer_of(model: str, request: Request, terms: Terms) -> Completion:
    """The reply of ``model`` (``provider/model``) to one request.

    Limits, budget and retries are those of ``terms``; what the model refuses is left out.

    Raises BiasError when no reply comes back: a failed call, a cap, a missing key or package.
    """
    with quiet_sdks():
        return asyncio.run(_answer(model, request, terms))


async def _answer(model: str, request: Request, terms: Terms) -> Completion:
    provider = open_provider(split_model(model, terms.context.own)[0], terms.context)
    try:
        spending = Spending(terms.limits.max_calls, terms.limits.budget)
        caller = caller_of(model, provider, terms, spending)
        await caller.prepare()
        caller.check_bounded(request.parameters)
        asked = CallTerms(terms.order_seed, DROPPABLE)
        with caller.throttle.pace.at_most(terms.limits.qpm):
            return await caller.call(request, asked, Stop())
    finally:
        with suppress(Exception):  # as in a recording: what was answered is answered
            await provider.aclose()
