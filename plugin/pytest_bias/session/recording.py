"""Before the first case runs: record what the selected cases lack, or print the plan of that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from ..contrasts.cases import Case
from ..errors import BiasError, Diagnostics
from ..report.escapes import say, terminal_text
from ..report.recording_text import plan_lines, recording_progress
from ..workbench.plans import make_plan, record, recording_diagnostics, shard_diagnostics
from .items import case_of
from .options import is_planning

if TYPE_CHECKING:
    from .run import Run
    from .state import State


def plan_or_record(
    state: State,
    run: Run,
    session: pytest.Session,
    header: Sequence[str],
) -> None:
    """Print the plan, or record what the selected cases lack, and print ``header`` under -q.

    Nothing is planned or recorded after errors during collection. A signal in the middle ends the
    session with status 2.
    """
    cases = [case for item in session.items if (case := case_of(item)) is not None]
    failed = session.testsfailed and not session.config.option.continue_on_collection_errors
    if is_planning(state.config):
        if not failed:
            _print_plan(state, run, session, cases)
        return
    if failed and cases:
        state.add(notes=["nothing was recorded: there were errors during collection"])
    if failed or not cases:
        return
    diagnostics, why = _recorded(state, run, cases, header)
    state.add(notes=diagnostics.notes, errors=diagnostics.errors)
    sharded = state.settings.shard is not None
    if sharded:
        _print_shard(state)
        session.items.clear()
    if why:
        state.interrupted = True
        raise session.Interrupted(why)
    if sharded and state.diagnostics.errors:
        what = "the shard is not recorded as a whole"
        raise session.Failed(what)
    if sharded:
        state.end_with(session, 0)


def _recorded(
    state: State, run: Run, cases: Sequence[Case], header: Sequence[str]
) -> tuple[Diagnostics, str]:
    """Record, and give why the session must end where a signal came in the middle."""
    settings = state.settings
    reporter = state.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and reporter.verbosity < 0:
        # Under -q pytest prints no header.
        for line in header:
            say(reporter, line)
    try:
        with recording_progress(reporter) as progress:
            report = record(run.project, cases, progress, progress.say, state.signals)
    except BiasError as error:
        return Diagnostics(errors=(f"nothing was recorded: {error}",)), ""
    diagnostics = recording_diagnostics(report)
    if settings.shard is not None:
        diagnostics += shard_diagnostics(report, settings.shard)
    if not report.interrupted:
        return diagnostics, ""
    unkept = sum(job.unkept for job in report.jobs)
    kept = f"{unkept} paid replies could not be kept" if unkept else "every paid reply is kept"
    again = f"run again with --bias-record={settings.record}"
    return diagnostics, f"recording interrupted; {kept}; to go on, {again}"


def _print_shard(state: State) -> None:
    """Print what was recorded of a shard: there is no report that could."""
    reporter = state.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        for problem in state.diagnostics.errors:
            say(reporter, f"problem: {state.portable(problem)}", red=True)
        for note in state.diagnostics.notes:
            say(reporter, note)


def _print_plan(state: State, run: Run, session: pytest.Session, cases: Sequence[Case]) -> None:
    """Print what a recording would do, and run nothing."""
    session.items.clear()
    reporter = state.config.pluginmanager.get_plugin("terminalreporter")
    try:
        plan = make_plan(run.project, cases)
    except BiasError as error:
        raise pytest.UsageError(terminal_text(str(error))) from error
    if reporter is not None:
        for line in plan_lines(plan):
            say(reporter, line)
    if plan.problems:
        what = "the plan has problems"
        raise session.Failed(what)
