"""The end of a session: balance the books, write the reports, print the section."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .analysis import Analysis
from .cassettes.store import write_atomically
from .errors import ReportNotWritten
from .report.results import results_text
from .report.terminal import closing_lines, section_lines
from .report.view import RunView
from .workspace import analysis_from

if TYPE_CHECKING:
    from .session import BiasSession

_NARROWING = {
    "keyword": "-k",
    "markexpr": "-m",
    "lf": "--lf",
    "deselect": "--deselect",
    "ignore": "--ignore",
    "ignore_glob": "--ignore-glob",
    "stepwise": "--stepwise",
}


def close_books(state: BiasSession, session: pytest.Session, exitstatus: int) -> int:
    """Write the reports and give the exit status: never 0 when the books do not balance."""
    analyses = _analyses(state)
    state.partial = _partial(state, session)
    state.view = RunView(
        analyses=analyses,
        cases=tuple(sorted(state.ledger.outcomes.items())),
        lost=state.ledger.lost,
        partial=tuple(state.partial),
        problems=tuple(state.ledger.problems),
        version=version("pytest-bias"),
    )
    if exitstatus == pytest.ExitCode.INTERNAL_ERROR:
        # pytest prints no summary after an internal error, so this is the only place to say it.
        reporter = state.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.write_line("NO VERDICT: pytest had an internal error", red=True, bold=True)
        return exitstatus
    if analyses:
        _write_reports(state, state.view)
    if exitstatus == pytest.ExitCode.OK and (state.ledger.lost or state.ledger.problems):
        return int(pytest.ExitCode.TESTS_FAILED)
    return exitstatus


def print_section(state: BiasSession, reporter: pytest.TerminalReporter) -> None:
    """Print the bias section."""
    view = state.view
    if view is None:
        return
    reporter.section("bias", bold=True)
    for line in section_lines(view):
        reporter.write_line(line)
    reporter.write_line("")
    for explanation in state.explanations():
        reporter.write_line(explanation)
    for note in state.notes:
        reporter.write_line(note)
    for line in closing_lines(view):
        good = line.startswith("PASS")
        bad = line.startswith(("FAIL", "NO VERDICT", "INCONCLUSIVE"))
        reporter.write_line(line, green=good, red=bad, bold=good or bad)
    for path in state.written:
        reporter.write_line(path)


def _analyses(state: BiasSession) -> tuple[Analysis, ...]:
    """The analyses the reported cases speak of, checked against what they say."""
    from .workspace import Workspace  # noqa: PLC0415

    workspace = Workspace(state.folder)
    analyses: dict[tuple[str, str], Analysis] = {}
    for case, result in sorted(state.ledger.results.items()):
        if "analysis" not in result:
            continue
        key = (result["experiment"], result["model"])
        read = workspace.read(*key)
        if read is None or read[1] != result["analysis"]:
            state.ledger.problems.append(f"the analysis behind {case} is lost or was changed")
        elif key not in analyses:
            analyses[key] = analysis_from(read[0])
    return tuple(analyses[key] for key in sorted(analyses))


def _partial(state: BiasSession, session: pytest.Session) -> list[str]:
    """Why this run does not cover the whole suite."""
    option = state.config.option
    reasons = [flag for name, flag in _NARROWING.items() if getattr(option, name, None)]
    if state.deselected:
        reasons.append(f"{state.deselected} cases deselected")
    reasons += [
        f"only {argument} was asked for"
        for argument in state.config.args
        if "::" in argument or _below_testpaths(state.config, argument)
    ]
    if session.shouldstop or session.shouldfail:
        reasons.append("stopped early")
    if state.ledger.lost:
        reasons.append(f"{len(state.ledger.lost)} cases without a report")
    if state.collection is not None and state.collection.interrupted:
        reasons.append("recording was interrupted")
    return reasons


def _below_testpaths(config: pytest.Config, argument: str) -> bool:
    """Whether an argument names a part of one of the configured ``testpaths``."""
    asked = (config.invocation_params.dir / argument).resolve()
    whole = [(config.rootpath / path).resolve() for path in config.getini("testpaths")]
    return any(path in asked.parents for path in whole)


def _write_reports(state: BiasSession, view: RunView) -> None:
    settings = state.settings
    if settings.results is not None:
        _write(state, settings.results, results_text(view), asked=settings.results_asked)
    if settings.report is not None:
        from .report.html import report_html  # noqa: PLC0415  (charts: only to write a page)

        _write(state, settings.report, report_html(view), asked=settings.report_asked)


def _write(state: BiasSession, path: Path, text: str, *, asked: bool) -> None:
    """Write an output; a partial run gets a name of its own, so that it overwrites no full one."""
    if state.partial:
        path = path.with_name(f"{path.stem}.partial{path.suffix}")
    try:
        write_atomically(path, text.encode())
    except OSError as error:
        problem = str(ReportNotWritten(path=path, problem=error.strerror or str(error)))
        (state.ledger.problems if asked else state.notes).append(problem)
    else:
        state.written.append(f"written: {state.shown(path)}")
