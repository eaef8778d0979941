"""Collection: carry out the trials that have no recording, and store every reply at once.

One asyncio loop, one writer per cassette, one throttle per model, one budget for all. Nothing is
called for a trial that is recorded, and in a trial that is recorded in part only the rest is
called, so an interrupted recording resumes without paying twice.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import BiasError
from ..experiments.messages import DROPPABLE, Completion, Request
from ..providers.base import Call
from .caller import CallCounts, Callers, Progress, Terms, silent
from .job import Job, JobReport, report_of
from .job_recording import JobRecording
from .limits import Stop
from .signals import (
    DeferredSignals,
    ends_the_process,
    handlers,
    in_event_loop,
    on_signals,
    restore,
)

_SDK_LOGGERS = ("anthropic", "google_genai", "httpcore2", "httpx2", "openai")
"""Loggers of the SDKs and what they call through."""


@dataclass(slots=True)
class CollectionReport:
    """The outcome of a collection; ``interrupted`` after SIGINT, SIGTERM or SIGHUP."""

    jobs: list[JobReport] = field(default_factory=list)
    tallies: list[CallCounts] = field(default_factory=list)
    interrupted: bool = False


def collect(
    jobs: Sequence[Job],
    terms: Terms,
    progress: Progress,
    say: Callable[[str], None] = lambda _: None,
    held: DeferredSignals | None = None,
) -> CollectionReport:
    """Record what ``jobs`` lack: models at the same time, the experiments of one model in turn.

    The first SIGINT, SIGTERM or SIGHUP starts nothing new and waits for the calls in flight, whose
    replies are stored; the second waits for nothing (KeyboardInterrupt). Problems of one job do
    not keep the others from being recorded. ``say`` prints what a signal did; after an
    interruption further signals are left ``held``.
    """
    report = CollectionReport()
    if in_event_loop():
        problem = "recording refused: pytest runs inside an event loop; run it from a shell"
        raise BiasError(problem)
    before = handlers()
    try:
        with quiet_sdks():
            asyncio.run(_Collector(terms, progress, report, say, held).run(jobs))
    finally:
        if held is not None and report.interrupted:
            held.hold(before)
        else:
            restore(before)
    # Transports are freed here, not in the middle of a test under -W error.
    gc.collect()
    return report


@contextmanager
def quiet_sdks() -> Iterator[None]:
    """Keep SDKs from logging requests: a URL or a header in a captured log may hold a key.

    Google's also warns that it takes another key than the one it gets.
    """
    loggers = [logging.getLogger(name) for name in _SDK_LOGGERS]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(max(logging.ERROR, logger.level))
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


class _Collector:
    """The state of one collection; made before its event loop, used inside it."""

    def __init__(
        self,
        terms: Terms,
        progress: Progress,
        report: CollectionReport,
        say: Callable[[str], None],
        held: DeferredSignals | None,
    ) -> None:
        self.progress, self.report, self.say, self.held = progress, report, say, held
        self.terms = terms
        self.stop = Stop()
        self.callers = Callers(terms, self._show, report.tallies)
        self._abandoned = False

    async def run(self, jobs: Sequence[Job]) -> None:
        by_model: dict[str, list[JobRecording]] = {}
        for job in jobs:
            report = report_of(job, self.terms.folder)
            self.report.jobs.append(report)
            recording = JobRecording(job, report, self.terms, self.callers, self.stop)
            by_model.setdefault(job.model, []).append(recording)
        try:
            with on_signals(self._on_signal):
                await asyncio.gather(*map(self._record_in_turn, by_model.values()))
        finally:
            # After an interruption nothing is to break off what is still closed.
            if self.report.interrupted and self.held is not None:
                self.held.hold()
            await self.callers.aclose()

    async def _record_in_turn(self, recordings: Sequence[JobRecording]) -> None:
        """The jobs of one model, one after another; whatever ends one is a problem of it."""
        for recording in recordings:
            report = recording.report
            if self.report.interrupted:
                report.problems.append("not begun: the recording was interrupted")
                continue
            try:
                await recording.run()
            except BiasError as error:
                report.problem(str(error))
            except OSError as error:
                report.problem(f"{error.filename or report.cassette}: {error.strerror or error}")
            except BaseException as error:  # the others' replies are paid, and are stored
                if ends_the_process(error):
                    raise
                report.problem(unexpected(error))
            if report.unkept:
                replies = "reply" if report.unkept == 1 else "replies"
                report.problem(f"{report.unkept} paid {replies} could not be kept")

    def _show(self, tally: CallCounts) -> None:
        """Show progress; a display that fails is not used again, and costs no reply."""
        try:
            self.progress(tally)
        except Exception:  # noqa: BLE001  (a terminal that has gone away, whatever it raises)
            self.progress = silent

    def _on_signal(self) -> None:
        """Start nothing new; the second signal waits for nothing either."""
        if self._abandoned:
            return  # already on its way out
        number = self.callers.in_flight
        calls = "1 call in flight is" if number == 1 else f"{number} calls in flight are"
        if self.report.interrupted:
            self._abandoned = True
            kept = "what came before is kept, and the same command goes on with it"
            self._print(f"{calls} abandoned, and may have to be paid; {kept}")
            raise KeyboardInterrupt
        self.report.interrupted = True
        self._print(
            f"stopping: nothing new is called, and {calls} waited for, so that what "
            "is paid is kept; once more (Ctrl-C) abandons them"
        )
        self.stop.request()

    def _print(self, text: str) -> None:
        with suppress(Exception):  # a terminal that has gone away
            self.say(text)


def unexpected(error: BaseException) -> str:
    """An error that no code foresees, by its kind and line: its message may hold a key."""
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
    callers = Callers(terms, silent, [])
    try:
        caller = callers.of(model)
        await caller.prepare()
        caller.check_bounded(request.parameters)
        with caller.throttle.pace.at_most(terms.limits.qpm):
            return await caller.call(request, Call(terms.order_seed), Stop(), DROPPABLE)
    finally:
        await callers.aclose()
