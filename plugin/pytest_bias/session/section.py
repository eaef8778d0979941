"""The bias section at the end of pytest's output."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from ..report.escapes import say, terminal_line
from ..report.terminal import closing_lines, section_lines

if TYPE_CHECKING:
    from ..errors.said import Said
    from ..report.view import RunView
    from .ledger import Ledger
    from .state import State


def print_section(
    state: State, view: RunView, told: Said, reporter: pytest.TerminalReporter
) -> None:
    """Print the bias section."""
    reporter.write_sep("=", "bias", bold=True)
    for line in _lines(view):
        say(reporter, terminal_line(line))
    # What is missing and how to record it: once per experiment and model, not per case.
    for text in (
        *_first_failure(state.ledger),
        *dict.fromkeys(state.ledger.not_recorded.values()),
        *told.notes,
    ):
        say(reporter, text)
    for line in closing_lines(view):
        good = line.startswith("PASS")
        bad = line.startswith(("FAIL", "NO VERDICT", "INCONCLUSIVE"))
        say(reporter, line, green=good, red=bad, bold=good or bad)
    for path in told.written:
        say(reporter, f"written: {state.shown(path)}")
    if state.settings.annotations:
        from .ci import workflow_commands  # noqa: PLC0415  (only in a job that takes them)

        for command in workflow_commands(state, view):
            reporter.write_line(command)  # escaped, and to be obeyed


def _lines(view: RunView) -> Iterator[str]:
    yield from (*section_lines(view), "")
    if view.upgrade is not None:
        from ..report.upgrade_text import upgrade_lines  # noqa: PLC0415  (only for an upgrade)

        yield from (*upgrade_lines(view.upgrade), "")
    for section in view.sections:
        yield from (section.title, *(f"  {line}" for line in section.lines), "")


def _first_failure(ledger: Ledger) -> Iterator[str]:
    """Yield what failed first in a run that did not come to its end."""
    first = next((case for case, outcome in ledger.outcomes.items() if outcome == "failed"), None)
    if ledger.lost and first is not None:
        result = ledger.results.get(first)
        stopped = result is not None and result.stopped
        words = (result.status or "a control that was not seen") if result and stopped else ""
        yield f"failed first: {first}{f' ({words})' if words else ''}"
