"""Output of a run: its reports, its summary, and the terminal's section."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ..cassettes.files import write_atomically
from ..errors import Diagnostics, NotWritten
from ..report.escapes import say, terminal_line
from ..report.run import results_text
from ..report.terminal import brief_lines, summary_markdown
from ..report.wording import OUTCOMES, closing_lines
from ..settings.given import is_place

if TYPE_CHECKING:
    from ..report.run import RunResult
    from ..verdicts.analysis import Analysis
    from .state import State


def write_all(
    state: State, run: RunResult, diagnostics: Diagnostics, exitstatus: int
) -> tuple[RunResult, Diagnostics]:
    """Write reports and summary; what they say is what the run ends with.

    Where one of them could not be written, and is missed, the reports are written again: they then
    say so.
    """
    first = _with_status(run, diagnostics, exitstatus)
    diagnostics += _write_reports(state, first)
    if state.settings.summary is not None or state.settings.job_summary is not None:
        diagnostics += _summarise(
            state, _with_status(run, diagnostics, exitstatus), diagnostics.written
        )
    last = _with_status(run, diagnostics, exitstatus)
    if last != first:
        diagnostics += _write_reports(state, last)
    return last, diagnostics


def _with_status(run: RunResult, diagnostics: Diagnostics, exitstatus: int) -> RunResult:
    """The run with all its problems so far, and the exit status that follows from it."""
    run = replace(run, problems=diagnostics.errors)
    bad = exitstatus == pytest.ExitCode.OK and not run.passes
    return replace(run, exit_status=int(pytest.ExitCode.TESTS_FAILED if bad else exitstatus))


def _write_reports(state: State, run: RunResult) -> Diagnostics:
    settings, diagnostics = state.settings, Diagnostics()
    if settings.results is not None:
        path = _output_path(state, run, "results", settings.results)
        diagnostics += _write_file(state, path, results_text(run), asked=settings.results_asked)
    if settings.report is not None:
        from ..report.page import report_html  # noqa: PLC0415  (jinja2: only to write a page)
        from ..report.replies import TrialBlock  # noqa: PLC0415  (as the page)

        trials = [TrialBlock(**each) for each in state.workspace.left("replies")]
        page = report_html(run, trials, _compared_analyses(state, run))
        path = _output_path(state, run, "report", settings.report)
        diagnostics += _write_file(state, path, page, asked=settings.report_asked)
    return diagnostics


def _compared_analyses(state: State, run: RunResult) -> list[Analysis]:
    """The analyses of the model that the run is compared with; none where that is a file."""
    if run.upgrade is None or run.upgrade.file:
        return []
    experiments = dict.fromkeys(analysis.experiment for analysis in run.analyses)
    made = (state.workspace.read(each, run.upgrade.old) for each in experiments)
    return [each.analysis for each in made if each is not None]


def _summarise(state: State, run: RunResult, written: tuple[Path, ...]) -> Diagnostics:
    """Write the summary: last, so that it says where the reports are."""
    settings, diagnostics = state.settings, Diagnostics()
    text = summary_markdown(run, [state.shown(path) for path in written])
    asked, job = settings.summary, settings.job_summary
    is_jobs = asked is not None and job is not None and asked.resolve() == job.resolve()
    if asked is not None and not is_jobs:
        path = _output_path(state, run, "summary", asked)
        diagnostics += _write_file(state, path, text, asked=True)
    if job is not None:
        why = add_to_job_summary(job, text)
        diagnostics += Diagnostics(errors=why) if is_jobs else Diagnostics(notes=why)
    return diagnostics


def _output_path(state: State, run: RunResult, name: str, path: Path) -> Path:
    """The place of an output: a partial run overwrites no full one, unless its path was typed."""
    if not run.partial or name in state.settings.typed or not is_place(path):
        return path
    return path.with_name(f"{path.stem}.partial{path.suffix}")


def _write_file(state: State, path: Path, text: str, *, asked: bool) -> Diagnostics:
    """Write a file.

    Not being able to is a problem of the run where the user asked for the place, and where an
    earlier run's output stays that would be taken for this one's.
    """
    try:
        write_atomically(path, text.encode())
    except OSError as error:
        problem = error.strerror or str(error)
        stays = path.is_file() or path in dict(state.moved)
        words = (str(NotWritten(path=state.shown(path), problem=problem)),)
        return Diagnostics(errors=words) if asked or stays else Diagnostics(notes=words)
    return Diagnostics(written=(path,))


def add_to_job_summary(path: Path, text: str) -> tuple[str, ...]:
    """Add ``text`` to the file a CI service shows beside a job; says why it could not.

    What other steps have written stays.
    """
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(f"\n{text}\n")
    except OSError as error:
        return (f"the job's summary was not written: {error.strerror or error}",)
    return ()


# --- the terminal ------------------------------------------------------------------------------


def print_section(state: State, run: RunResult, reporter: pytest.TerminalReporter) -> None:
    """Print the bias section."""
    reporter.write_sep("=", "bias", bold=True)
    verbosity = state.config.option.verbose
    more = ["Every estimate here: -v"] if verbosity == 0 and run.analyses else []
    for line in (*brief_lines(run, verbosity), *more, ""):
        _write_outcome(reporter, terminal_line(line))
    # What is missing and how to record it: once per experiment and model, not per case.
    missing = dict.fromkeys(state.reported.not_recorded.values())
    for text in (*missing, *run.notes):
        say(reporter, text)
    for line in closing_lines(run):
        _write_outcome(reporter, line)
    for path in run.written:
        say(reporter, f"written: {state.shown(path)}")


def _write_outcome(reporter: pytest.TerminalReporter, line: str) -> None:
    """Write a line, in its colour where it begins with an outcome."""
    good = line.startswith(OUTCOMES["PASS"])
    bad = (
        line.startswith(tuple(word for words in OUTCOMES.values() for word in words)) and not good
    )
    say(reporter, line, green=good, red=bad, bold=good or bad)
