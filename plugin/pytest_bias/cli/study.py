"""The commands ``pytest-bias plan``, ``run``, ``analyze`` and ``accept``: without pytest."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import wraps
from io import FileIO
from pathlib import Path
from typing import Any

from ..baselines.accept import accept
from ..baselines.accepted import Baselines
from ..contrasts.cases import Case
from ..errors import BadSetting, BiasError, NotRecorded, NotWritten
from ..experiments.experiment import Experiment
from ..experiments.measures import kind_of
from ..experiments.records import Outcome, Records, missing_by_cap, record_of
from ..providers.base import is_simulated
from ..providers.roles import check_models
from ..report.exports import exported_files, write_exports
from ..report.page import report_html
from ..report.paper import brief_of, write_paper
from ..report.recording_text import StreamTerminal, plan_lines, recording_progress
from ..report.replies import replies_of
from ..report.run import RunResult, results_text
from ..report.terminal import section_lines
from ..report.wording import closing_lines
from ..settings.roster import is_tabled
from ..workbench.plans import make_plan, recording_diagnostics, terms_of
from ..workbench.project import Project
from ..workbench.study import (
    Results,
    analyze_table,
    open_project,
    record_project,
    results_of,
    trial_row,
    view_of_all,
)
from . import from_here, tell, write
from .commands import LIMITS
from .files import tell_paper

_FIGURES = Path("figures")
_TEXTS = ("design", "replicates", "judge", "cassettes", "env_file")
_ACCEPTED = ("accept", "accept_reason", "accept_owner", "accept_until", "baseline", "baselines")


def _typed_here(work: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """Have the errors of a command name options as they are typed here."""

    @wraps(work)
    def typed(given: argparse.Namespace) -> int:
        try:
            return work(given)
        except BiasError as error:
            text = error.explanation if isinstance(error, NotRecorded) else str(error)
            tell(f"pytest-bias: {_typed(text, given)}", wrong=True)
            return 2

    return typed


def _typed(text: str, given: argparse.Namespace) -> str:
    """``text`` with options and commands as they are typed here, where each has one but the gate.

    What records several experiments is a command of pytest's.
    """
    if len(given.experiments) == 1:
        text = text.replace("pytest <the same arguments", "pytest-bias run <the same arguments")
        text = text.replace(", no --bias-plan>", ">")
    text = text.replace("--bias-gate=off", "bias_gate=off in the ini file")
    lines = text.split("\n")
    return "\n".join(e if "pytest <" in e else re.sub("--bias-(accept-)?", "--", e) for e in lines)


def _asked(given: argparse.Namespace) -> dict[str, Any]:
    names = (*_TEXTS, *_ACCEPTED, *LIMITS, "model", "record", "record_in_ci")
    return {name: getattr(given, name) for name in names if getattr(given, name, None) is not None}


def _project(given: argparse.Namespace) -> Project:
    return open_project(given.experiments, given.suite, **_asked(given))


@_typed_here
def _plan(given: argparse.Namespace) -> int:
    project = _project(given)
    plan = make_plan(project, project.cases)
    for line in [plan.to_json()] if given.json else plan_lines(plan):
        tell(_typed(line, given))
    return 2 if plan.problems else 0


def _record(project: Project, given: argparse.Namespace, lines: _TrialLines) -> int:
    """Record, with progress on standard error; 2 where something of it went wrong."""
    with recording_progress(StreamTerminal(sys.stderr)) as display:
        report = record_project(project, display, lines)
    recorded = recording_diagnostics(report)
    for line in (*recorded.notes, *(f"problem: {problem}" for problem in recorded.errors)):
        tell(_typed(line, given), wrong=True)
    if report.interrupted:
        tell("recording interrupted; the same command goes on with what is kept", wrong=True)
        return 130
    return 2 if recorded.errors else 0


class _TrialLines:
    """Trials as JSON Lines, each written at once; what cannot be written stops no recording."""

    def __init__(self, file: FileIO | None, case: Case) -> None:
        self.problem = ""
        self.written = set[str]()
        self._file, self._of = file, {"model": case.model, "design": case.design.name}

    def __call__(self, experiment: Experiment, outcome: Outcome, error: str = "") -> None:
        self.written.add(outcome.trial.id)
        row: dict[str, object] = {"experiment": experiment.id, **self._of}
        row |= trial_row(experiment, outcome)
        for measure in experiment.measures:
            value = row[measure.name]
            if isinstance(value, float) and value.is_integer():  # more than a type may promise
                whole = kind_of(measure, experiment.protocol) is int
                row[measure.name] = int(value) if whole else value
        if error or row["missing"] is not None:
            row["error"] = error or row["missing"]
        if self.problem:
            return
        line = f"{json.dumps(row)}\n".encode()
        try:
            if self._file is None:
                tell(line.decode().rstrip())
            elif self._file.write(line) != len(line):
                self.problem = "only a part of a line was written"
        except OSError as failed:
            self.problem = failed.strerror or str(failed)


def _opened(path: Path) -> FileIO:
    try:
        return path.open("wb", buffering=0)
    except OSError as error:
        raise NotWritten(path=path, problem=error.strerror or str(error)) from None


def _check_output(path: Path, cassettes: Path) -> None:
    """Refuse a file that cannot be written, or is a recording, before anything is paid for."""
    problem = "is a folder" if path.is_dir() else ""
    if path.resolve().is_relative_to(cassettes.resolve()):
        problem = "is in the folder of the recordings, of which none is written over"
    if not path.parent.is_dir():
        problem = f"there is no folder {path.parent}"
    elif not os.access(path if path.exists() else path.parent, os.W_OK):
        problem = "may not be written"
    if problem:
        raise NotWritten(path=path, problem=problem)


@_typed_here
def _run(given: argparse.Namespace) -> int:
    project = _project(given)
    if len(project.cases) != 1:
        names = ", ".join(sorted({f"{c.experiment.id} × {c.model}" for c in project.cases}))
        tell(f"pytest-bias: name one experiment and one model: {names}", wrong=True)
        return 2
    outputs = [each for each in (given.out, given.analysis, given.report) if each is not None]
    for path in outputs:
        _check_output(path, project.settings.cassettes)
    (case,) = project.cases
    writer = _writer(given, project)
    with nullcontext() if given.out is None else _opened(given.out) as file:
        lines = _TrialLines(file, case)
        status = _write_trials(project, given, lines)
    if status == 130:  # noqa: PLR2004  (interrupted)
        return status
    results = results_of(project, case)
    if given.analysis is not None:
        write(given.analysis, results.to_json())
    for line in closing_lines(results.view):
        tell(line, wrong=True)
    marked = 0
    if writer and (given.report is not None or given.out is not None or not lines.problem):
        brief = brief_of(results.analysis, case.experiment, results.view.version)
        experiments = (each.experiment for each in project.registry)
        terms = terms_of(project, experiments, project.settings.limits)
        marked = tell_paper(write_paper(brief, writer, terms), given.report)
    return status or results.view.exit_status or marked


def _write_trials(project: Project, given: argparse.Namespace, lines: _TrialLines) -> int:
    """Record what is missing of a project's one case, and write the trials that are not yet."""
    (case,), status = project.cases, 0
    if given.record == "none":
        project.recordings.replayed(case)  # refused where a trial is missing
    else:
        status = _record(project, given, lines)
    known, missing = project.recordings.source_of(case).known(case.design)
    for outcome in (each for each in known if each.trial.id not in lines.written):
        lines(case.experiment, outcome)
    for pending in missing:
        lines(case.experiment, missing_by_cap(pending.trial), "not recorded")
    if lines.problem:
        path = given.out or "standard output"
        problem = f"{NotWritten(path=path, problem=lines.problem)}; every reply is recorded"
        tell(f"pytest-bias: {problem}: the same command writes it again, no call", wrong=True)
        status = status or 2
    return status


def _writer(given: argparse.Namespace, project: Project) -> str:
    """The model that writes the paper: the one under test, unless another is named; "" for none.

    A simulated subject or a table writes only where it is named. Where nothing is called, a paper
    must be requested.
    """
    model, settings = project.cases[0].model, project.settings
    stands_in = is_simulated(model) or is_tabled(model)
    would = settings.record != "none" and not stands_in
    if given.no_report or not (given.writer or given.report or would):
        return ""
    if stands_in and not given.writer:
        problem = f"{model} is no model that could write it; name one with --writer"
        raise BadSetting(option="--report", value=given.report, problem=problem)
    # The writer may change from day to day: no verdict is about it.
    check_models(replace(settings, gate="off"), project.recordings.roster, [given.writer or model])
    return given.writer or model


@_typed_here
def _accept(given: argparse.Namespace) -> int:
    project = _project(given)
    recordings, analyses, judged = project.recordings, [], {}
    baselines = Baselines(project.settings, recordings.source_of)
    for case in project.cases:
        analyses.append(results_of(project, case).analysis)
        roles = recordings.roles(case.experiment, case.model)
        for contrast in project.registry[case.experiment.id].hypotheses.values():
            named = case.experiment.id, case.model, contrast.id
            judged[named] = baselines.fingerprint(replace(case, contrast=contrast), roles)
    whole = len(project.cases) == len([*project.registry]) * len(project.settings.models)
    partial = bool(given.experiments) or not whole
    accepted = accept(project.settings, analyses, judged, partial=partial)
    for line in (*accepted.notes, *(f"written: {from_here(path)}" for path in accepted.written)):
        tell(line)
    for problem in accepted.errors:
        tell(f"pytest-bias: {_typed(problem, given)}", wrong=True)
    return 2 if accepted.errors else 0


@_typed_here
def _analyze(given: argparse.Namespace) -> int:
    results = _results(given)
    view = view_of_all(results)
    if given.json:
        tell(results_text(view).rstrip())
    else:
        for line in (*section_lines(view), "", *closing_lines(view)):
            tell(line)
    if given.methodology:
        for line in (line for each in results for line in _methods(each)):
            tell(line, wrong=given.json)
    # As the document's program: figures are written where nothing else is requested.
    folder = given.output or (None if given.no_plots or given.json else _FIGURES)
    if folder is not None:
        _write_files(results, view, folder, plots=not given.no_plots)
    return view.exit_status


def _results(given: argparse.Namespace) -> list[Results]:
    """Analyses of the recordings of a study, or of a table."""
    if given.table is None:
        project = _project(given)
        return [results_of(project, case) for case in project.cases]
    if given.model is not None:
        problem = "a table names its own models: leave out one of the two"
        raise BadSetting(option="--model", value=given.model[0], problem=problem)
    asked = {name: value for name, value in _asked(given).items() if name != "model"}
    return analyze_table(given.experiments[0], given.table, given.suite, **asked)


def _write_files(results: list[Results], view: RunResult, folder: Path, *, plots: bool) -> None:
    """Write results, page and the experiments' own files into a folder."""
    files = {"bias-results.json": results_text(view).encode()}
    if plots:
        replies = [
            replies_of(each.experiment, each.analysis.model, each.outcomes) for each in results
        ]
        files["bias-report.html"] = report_html(view, replies).encode()
    for path in write_exports(folder, files | _exports(results, plots=plots), from_here):
        tell(f"written: {path}", wrong=True)


def _exports(results: list[Results], *, plots: bool) -> dict[str, bytes]:
    """The experiments' own files, over all models of each."""
    declared = {each.experiment.id: each.experiment for each in results}
    records: dict[str, dict[str, Records]] = {}
    for each in results:
        rows = tuple(record_of(outcome, each.experiment.measures) for outcome in each.outcomes)
        records.setdefault(each.experiment.id, {})[each.analysis.model] = Records(rows)
    return {
        f"{id_}/{name}": data
        for id_, of_models in records.items()
        for name, data in exported_files(declared[id_], of_models, plots=plots).items()
    }


def _methods(results: Results) -> list[str]:
    source = f" ({results.analysis.source})" if results.analysis.source else ""
    lines = ["", f"Method: {results.analysis.name}{source}"]
    for verdict in results.verdicts:
        if (of := verdict.finding) is not None:
            lines.append(f"  {verdict.id}: {of.method}; {of.target}; {of.scope}")
            why = f": {verdict.why}" if verdict.why else ""
            lines += [f"    margin {of.margin:g}{why}"] * (of.margin is not None)
    return lines
