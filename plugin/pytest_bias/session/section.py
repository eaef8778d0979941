"""The bias section at the end of pytest's output, and what stands in a CI job's log for it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import pytest

from ..report.ci import FileLine, workflow_commands
from ..report.escapes import say, terminal_line
from ..report.terminal import brief_lines
from ..report.wording import OUTCOMES, closing_lines

if TYPE_CHECKING:
    from ..report.run import RunResult
    from ..verdicts.verdict import HypothesisName
    from .state import Ledger, State


def print_section(state: State, run: RunResult, reporter: pytest.TerminalReporter) -> None:
    """Print the bias section."""
    reporter.write_sep("=", "bias", bold=True)
    verbosity = state.config.option.verbose
    more = ["Every estimate here: -v"] if verbosity == 0 and run.analyses else []
    for line in (*brief_lines(run, verbosity), *more, ""):
        _say_verdict(reporter, terminal_line(line))
    # What is missing and how to record it: once per experiment and model, not per case.
    missing = dict.fromkeys(state.ledger.not_recorded.values())
    for text in (*_first_failure(state.ledger), *missing, *run.notes):
        say(reporter, text)
    for line in closing_lines(run):
        _say_verdict(reporter, line)
    for path in run.written:
        say(reporter, f"written: {state.shown(path)}")
    if state.settings.annotations:
        for command in workflow_commands(run, dict(_places(state))):
            reporter.write_line(command)  # escaped, and to be obeyed


def _say_verdict(reporter: pytest.TerminalReporter, line: str) -> None:
    """Write a line, in its colour where it begins with an outcome."""
    good = line.startswith(OUTCOMES["PASS"])
    bad = (
        line.startswith(tuple(word for words in OUTCOMES.values() for word in words)) and not good
    )
    say(reporter, line, green=good, red=bad, bold=good or bad)


def _first_failure(ledger: Ledger) -> Iterator[str]:
    """Yield what failed first in a run that did not come to its end."""
    first = next((case for case, outcome in ledger.outcomes.items() if outcome == "failed"), None)
    if ledger.lost and first is not None:
        result = ledger.results.get(first)
        stopped = result is not None and result.stopped
        words = (result.status or "a control that was not seen") if result and stopped else ""
        yield f"failed first: {first}{f' ({words})' if words else ''}"


def _places(state: State) -> Iterator[tuple[HypothesisName, FileLine]]:
    """Where the functions of hypotheses and controls stand, as seen from the repository's root."""
    prefix = below_repository(state.config.rootpath, state.settings.environ)
    for case, result in sorted(state.ledger.results.items()):
        if result.id and case in state.ledger.places:
            file, line = state.ledger.places[case]
            yield result.named, (PurePath(os.path.normpath(prefix / file)).as_posix(), line)


def below_repository(root: Path, environ: Mapping[str, str]) -> PurePath:
    """A folder as seen from the root of the repository it is in, or of the job's workspace."""
    for folder in (root, *root.parents):
        if (folder / ".git").exists():
            return root.relative_to(folder)
    workspace = environ.get("GITHUB_WORKSPACE")
    if workspace and root.is_relative_to(workspace):
        return root.relative_to(workspace)
    return PurePath()
