"""Before the first case runs: record what the selected cases lack, or say what that would take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from ..cassettes.files import write_atomically
from ..errors import BiasError
from ..report.escapes import say, terminal_text
from ..report.plan_text import plan_lines
from ..report.progress import recording_progress
from .jobs import record
from .plan import make_plan

if TYPE_CHECKING:
    from ..contrasts.cases import Case
    from ..recording.collector import CollectionReport
    from .session import BiasSession


def record_missing(state: BiasSession, session: pytest.Session, cases: Sequence[Case]) -> None:
    """Record what ``cases`` lack; a signal in the middle ends the session with exit status 2."""
    reporter = state.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and reporter.verbosity < 0:
        # Under -q pytest prints no header.
        for line in state.header():
            say(reporter, line)
    try:
        with recording_progress(reporter) as progress:
            report = record(state.run, cases, progress, progress.say, state.signals)
    except BiasError as error:
        state.ledger.problems.append(f"nothing was recorded: {error}")
        return
    _note(state, report)
    state.interrupted = report.interrupted
    if report.interrupted:
        unkept = sum(job.unkept for job in report.jobs)
        kept = f"{unkept} paid replies could not be kept" if unkept else "every paid reply is kept"
        kept = f"recording interrupted; {kept}"
        again = f"run again with --bias-record={state.settings.record}"
        what = f"{kept}; to go on, {again}"
        raise session.Interrupted(what)


def _note(state: BiasSession, report: CollectionReport) -> None:
    for job in report.jobs:
        where = f"recording {job.experiment_id} with {job.model}"
        state.ledger.problems.extend(f"{where}: {problem}" for problem in job.problems)
        state.notes += [f"{where}: {said}" for said in job.salvaged]
        for note in job.notes:
            lost = f"{len(job.lost)} of {job.wanted} trials are missing (cap)"
            state.notes.append(f"{where}: {note}; {lost}")


def print_plan(state: BiasSession, session: pytest.Session, cases: Sequence[Case]) -> None:
    """Print what a recording would do, write it as JSON where that was asked for, run nothing."""
    session.items.clear()
    reporter = state.config.pluginmanager.get_plugin("terminalreporter")
    path = state.settings.plan_json
    try:
        plan = make_plan(state.run, cases)
        if path is not None:
            write_atomically(path, plan.to_json().encode())
    except BiasError as error:
        raise pytest.UsageError(terminal_text(str(error))) from error
    except OSError as error:
        problem = f"{path} was not written: {error.strerror or error}"
        raise pytest.UsageError(terminal_text(problem)) from error
    if reporter is not None:
        for line in plan_lines(plan):
            say(reporter, line)
        if path is not None:
            say(reporter, f"written: {state.shown(path)}")
    if plan.problems:
        what = "the plan has problems"
        raise session.Failed(what)
