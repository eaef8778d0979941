"""Before the first case runs: record what the selected cases lack, or say what that would take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from ..contrasts.cases import Case
from ..errors import BiasError
from ..errors.said import Said
from ..recording.held_signals import HeldSignals
from ..report.escapes import say, terminal_text
from ..report.plan_text import plan_lines
from ..report.progress import recording_progress
from ..workbench.plans import make_plan, record, recorded_words, shard_words
from .run import Run

if TYPE_CHECKING:
    from .state import State


def record_missing(
    state: State, run: Run, cases: Sequence[Case], signals: HeldSignals, header: Sequence[str]
) -> tuple[Said, str]:
    """Record what ``cases`` lack.

    And why the session must end, where a signal came in the middle.
    """
    reporter = state.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and reporter.verbosity < 0:
        # Under -q pytest prints no header.
        for line in header:
            say(reporter, line)
    try:
        with recording_progress(reporter) as progress:
            report = record(run.project, cases, progress, progress.say, signals)
    except BiasError as error:
        return Said(problems=(f"nothing was recorded: {error}",)), ""
    said = recorded_words(report)
    if state.settings.shard is not None:
        said += shard_words(report, state.settings.shard)
    if not report.interrupted:
        return said, ""
    unkept = sum(job.unkept for job in report.jobs)
    kept = f"{unkept} paid replies could not be kept" if unkept else "every paid reply is kept"
    again = f"run again with --bias-record={state.settings.record}"
    return said, f"recording interrupted; {kept}; to go on, {again}"


def print_shard(state: State) -> None:
    """Say what was recorded of a shard: there is no report that could."""
    reporter = state.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        for problem in state.said.problems:
            say(reporter, f"problem: {state.portable(problem)}", red=True)
        for note in state.said.notes:
            say(reporter, note)


def print_plan(state: State, run: Run, session: pytest.Session, cases: Sequence[Case]) -> None:
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
