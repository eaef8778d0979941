"""Progress of a recording on the terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..collection import JobReport

_STEPS = 10


def progress_printer(reporter: Any) -> Callable[[JobReport], None]:
    """A function that prints a job's progress: in place on a terminal, else line by line.

    ``reporter`` is pytest's terminal reporter, or None when it is switched off.
    """
    if reporter is None:
        return lambda _report: None
    in_place = bool(reporter.isatty)
    printed: dict[int, int] = {}

    def show(report: JobReport) -> None:
        step = report.recorded * _STEPS // report.wanted if report.wanted else _STEPS
        done = report.recorded == report.wanted
        text = (
            f"bias: recording {report.experiment_id} with {report.model}: "
            f"{report.recorded}/{report.wanted} trials, {report.calls} calls"
        )
        if in_place:
            reporter.rewrite(text, erase=True)
            if done:
                reporter.write_line("")
        elif printed.get(id(report)) != step:
            printed[id(report)] = step
            reporter.write_line(text)

    return show
