"""Files of a run: its reports, and its summary, which a CI service is given as well."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ..cassettes.files import write_atomically
from ..errors import NotWritten
from ..errors.said import Said
from ..report.results import results_text
from ..settings.given import is_place
from .upgrade import accepted_of

if TYPE_CHECKING:
    from ..report.view import RunView
    from ..settings.settings import Settings
    from ..verdicts.analysis import Analysis
    from ..verdicts.verdict import HypothesisName
    from .state import State


def write_all(state: State, view: RunView, said: Said, exitstatus: int) -> tuple[RunView, Said]:
    """Write reports and summary; what they say is what the run ends with.

    Where one of them could not be written, and is missed, the reports are written again: they then
    say so.
    """
    first = _settled(view, said, exitstatus)
    said += _write_reports(state, first)
    if state.settings.summary is not None or state.settings.job_summary is not None:
        said += _summarise(state, _settled(view, said, exitstatus), said.written)
    last = _settled(view, said, exitstatus)
    if last != first:
        said += _write_reports(state, last)
    return last, said


def _settled(view: RunView, said: Said, exitstatus: int) -> RunView:
    """The run with all its problems so far, and the exit status that follows from it."""
    view = replace(view, problems=said.problems)
    bad = exitstatus == pytest.ExitCode.OK and not view.passes
    return replace(view, exit_status=int(pytest.ExitCode.TESTS_FAILED if bad else exitstatus))


def _write_reports(state: State, view: RunView) -> Said:
    settings, said = state.settings, Said()
    if settings.results is not None:
        asked, results = settings.results_asked, results_text(view)
        said += _write(state, view, settings.results, results, asked=asked)
    if settings.report is not None:
        said += _write_page(state, view, settings.report)
    return said


def _write_page(state: State, view: RunView, path: Path) -> Said:
    """Write the page, and trials in a folder beside it where they are too large for it.

    What an earlier run has left in that folder goes.
    """
    from ..report.page import LARGEST, clear, report_files  # noqa: PLC0415  (jinja2: only to write a page)
    from ..report.replies import TrialBlock  # noqa: PLC0415  (as the page)

    asked, path = state.settings.report_asked, _placed(view, path)
    folder = path.with_name(f"{path.stem}-data")
    replies = state.settings.report_replies
    page, beside = report_files(
        view,
        [TrialBlock(**each) for each in state.workspace.left("replies")],
        _old(state, view),
        _history(state.settings, view.models),
        folder=folder.name,
        largest={"inline": math.inf, "beside": 0}.get(replies, LARGEST),
    )
    said, size = Said(), len(page.encode())
    if replies == "inline" and size > LARGEST:
        why = "--bias-report-replies=inline keeps its trials in it"
        said += Said(notes=(f"{state.shown(path)} has {size / 1e6:.1f} MB: {why}",))
    for name, text in beside.items():
        said += _put(state, folder / name, text, asked=asked)
    said = replace(said, written=said.written and (folder,))
    clear(folder, beside)
    return said + _put(state, path, page, asked=asked)


def _history(settings: Settings, models: Iterable[str]) -> dict[HypothesisName, list[str]]:
    """The verdicts accepted of models, oldest first, where somebody had to answer for any."""
    found: dict[HypothesisName, list[str]] = {}
    for model in models:
        baseline = accepted_of(settings, model)
        for (experiment, name), entry in (baseline.claimed if baseline else {}).items():
            if entry.history or entry.accepted:
                found[experiment, model, name] = [*map(str, (*entry.history, entry))]
    return found


def _old(state: State, view: RunView) -> list[Analysis]:
    """The analyses of the model that the run is held against; none where that is a file."""
    if view.upgrade is None or view.upgrade.file:
        return []
    experiments = dict.fromkeys(analysis.experiment for analysis in view.analyses)
    made = (state.workspace.read(each, view.upgrade.old) for each in experiments)
    return [each.analysis for each in made if each is not None]


def _summarise(state: State, view: RunView, written: tuple[Path, ...]) -> Said:
    """Write the summary: last, so that it says where the reports are."""
    from ..report.ci import summary_markdown  # noqa: PLC0415  (only where one is wanted)

    settings, said = state.settings, Said()
    text = summary_markdown(view, [state.shown(path) for path in written])
    asked, job = settings.summary, settings.job_summary
    is_jobs = asked is not None and job is not None and asked.resolve() == job.resolve()
    if asked is not None and not is_jobs:
        said += _write(state, view, asked, text, asked=True)
    if job is not None:
        why = add_to_job_summary(job, text)
        said += Said(problems=why) if is_jobs else Said(notes=why)
    return said


def _write(state: State, view: RunView, path: Path, text: str, *, asked: bool) -> Said:
    """Write an output; a partial run gets a name of its own, so that it overwrites no full one."""
    return _put(state, _placed(view, path), text, asked=asked)


def _placed(view: RunView, path: Path) -> Path:
    partial = view.partial and is_place(path)
    return path.with_name(f"{path.stem}.partial{path.suffix}") if partial else path


def _put(state: State, path: Path, text: str, *, asked: bool) -> Said:
    """Write a file.

    Not being able to is a problem of the run where the user asked for the place, and where an
    earlier run's output stays that would be taken for this one's.
    """
    try:
        write_atomically(path, text.encode())
    except OSError as error:
        problem = error.strerror or str(error)
        words = (str(NotWritten(path=state.shown(path), problem=problem)),)
        return Said(problems=words) if asked or path.is_file() else Said(notes=words)
    return Said(written=(path,))


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
