"""``pytest-bias plan``, ``record``, ``run`` and ``analyze``: a study without pytest."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import BiasError, NotRecorded, ReportNotWritten
from ..experiments.experiment import Experiment
from ..experiments.records import Outcome, Records, lost_to_cap, record_of
from ..report.ci import summary_markdown
from ..report.exports import exported_files, write_exports
from ..report.page import report_html
from ..report.plan_text import plan_lines
from ..report.progress import StreamTerminal, recording_progress
from ..report.results import results_text
from ..report.terminal import closing_lines, section_lines
from ..workbench.plans import make_plan, told
from ..workbench.study import Results, Study, analyze_table, trial_row, view_of_all
from ..workbench.suite import SUITE
from . import Commands, tell, write
from .paths import from_here

_LIMITS = ("qpm", "concurrency", "max_calls", "budget")
_TEXTS = ("design", "replicates", "judge", "cassettes", "env_file")


def add_study(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the four commands."""
    plan = commands.add_parser(
        "plan",
        help="say what recording would take",
        description="Say what recording would take, as --bias-plan does; nothing is called.",
    )
    plan.add_argument("--json", action="store_true", help="print it as JSON")
    _common(plan, "*", _plan)
    record = commands.add_parser(
        "record",
        help="record what is missing",
        description="Call models for what is not recorded, as --bias-record does, and keep every "
        "reply at once.",
    )
    _common(record, "*", _record, records=("missing", "all"))
    run = commands.add_parser(
        "run",
        help="record what is missing of an experiment, and analyse it",
        description="Call the model for what is not recorded, then analyse. Trials go to --out, "
        "or else to standard output, as JSON Lines, each when it is recorded; the report goes to "
        "--report, or else between two lines of dashes. The exit status is 1 where the gate "
        "would fail. Whatever cannot be written, every paid reply is in its cassette.",
    )
    for option, text in (
        ("--out", "trials, as JSON Lines"),
        ("--analysis", "all that was found, as JSON"),
        ("--report", "the report, in Markdown"),
    ):
        run.add_argument(option, type=Path, metavar="FILE", help=text)
    _common(run, None, _run, records=("missing", "all", "none"))
    analyze = commands.add_parser(
        "analyze",
        help="analyse recorded replies, or a table of them",
        description="Analyse replies; nothing is called. The exit status is 1 where the gate "
        "would fail.",
    )
    analyze.add_argument("--table", type=Path, metavar="PATH", help="a table of replies")
    analyze.add_argument("--output", type=Path, metavar="DIR", help="write report and files here")
    analyze.add_argument("--no-plots", action="store_true", help="write no figure and no page")
    analyze.add_argument("--methodology", action="store_true", help="say how it was tested")
    analyze.add_argument("--json", action="store_true", help="print all that was found as JSON")
    _common(analyze, None, _analyze)


def _common(
    command: argparse.ArgumentParser,
    nargs: str | None,
    work: Callable[[argparse.Namespace], int],
    records: tuple[str, ...] = (),
) -> None:
    command.add_argument(
        "experiments",
        nargs=nargs or 1,
        metavar="EXPERIMENT",
        help="its id, or its folder" + "; by default all" * (nargs == "*"),
    )
    command.add_argument("--model", action="append", metavar="PROVIDER/MODEL", help="model asked")
    command.add_argument("--suite", default=SUITE, help=f"package of experiments ({SUITE})")
    command.add_argument("--design", metavar="NAME", help="size that the experiments declare")
    command.add_argument(
        "--runs", "--replicates", dest="replicates", metavar="N", help="replicates"
    )
    command.add_argument("--judge", metavar="PROVIDER/MODEL", help="model that grades")
    command.add_argument("--cassettes", metavar="DIR", help="folder of the recordings")
    command.add_argument(
        "--env-file", metavar="PATH", help="take keys from this .env file as well"
    )
    command.set_defaults(run=lambda given: _told(work, given))
    for name in _LIMITS if records or work is _plan else ():
        command.add_argument(
            f"--{name.replace('_', '-')}", metavar="N", help="limit, as of pytest"
        )
    if records:
        command.add_argument(
            "--record", choices=records, default=records[0], help="what is called"
        )
        command.add_argument("--record-in-ci", action="store_true", help="also where CI is set")


def _told(work: Callable[[argparse.Namespace], int], given: argparse.Namespace) -> int:
    """Do the work; errors name options as they are typed here."""
    try:
        return work(given)
    except BiasError as error:
        text = error.explanation if isinstance(error, NotRecorded) else str(error)
        named = " ".join(given.experiments)
        text = text.replace("pytest <the same arguments>", f"pytest-bias record {named}")
        tell(f"pytest-bias: {re.sub('--bias-', '--', text)}", wrong=True)
        return 2


def _asked(given: argparse.Namespace) -> dict[str, Any]:
    names = (*_TEXTS, *_LIMITS, "model", "record", "record_in_ci")
    return {name: getattr(given, name) for name in names if getattr(given, name, None) is not None}


def _study(given: argparse.Namespace) -> Study:
    return Study(given.experiments, given.suite, **_asked(given))


def _plan(given: argparse.Namespace) -> int:
    study = _study(given)
    plan = make_plan(study.bench, study.cases, from_here)
    for line in [plan.to_json().rstrip()] if given.json else plan_lines(plan):
        tell(line)
    return 2 if plan.problems else 0


def _record(given: argparse.Namespace) -> int:
    return _recorded(_study(given), lambda _experiment, _outcome: None)


def _recorded(study: Study, teller: Callable[[Experiment, Outcome], None]) -> int:
    """Record, with progress on standard error; 2 where something of it went wrong."""
    with recording_progress(StreamTerminal(sys.stderr)) as display:
        report = study.record(display, teller)
    said = told(report)
    for words in (*said.notes, *(f"problem: {problem}" for problem in said.problems)):
        tell(words, wrong=True)
    if report.interrupted:
        return 130
    return 2 if said.problems else 0


class _Lines:
    """Trials as JSON Lines, each whole and at once; what cannot be written stops no recording."""

    def __init__(self, path: Path | None, model: str, design: str) -> None:
        self.path, self.problem = path, ""
        self._of = {"model": model, "design": design}
        self._end = 0
        try:
            self._file = sys.stdout.fileno() if path is None else _opened(path)
        except OSError as error:
            raise ReportNotWritten(path=str(path), problem=error.strerror or "") from None

    def __call__(self, experiment: Experiment, outcome: Outcome, error: str = "") -> None:
        row: dict[str, object] = {"experiment": experiment.id, **self._of}
        row |= trial_row(experiment, outcome)
        if error or row["missing"] is not None:
            row["error"] = error or row["missing"]
        line = f"{json.dumps(row)}\n".encode()
        written = 0
        while not self.problem and written < len(line):
            try:
                written += os.write(self._file, line[written:])
            except OSError as failed:
                self.problem = failed.strerror or str(failed)
                with suppress(OSError):  # a pipe has no end to go back to
                    os.ftruncate(self._file, self._end)
        self._end += written


def _opened(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)


def _check_place(path: Path | None) -> None:
    """Refuse a file that cannot be written before anything is paid for."""
    if path is None:
        return
    problem = "is a folder" if path.is_dir() else ""
    if not path.parent.is_dir():
        problem = f"there is no folder {path.parent}"
    elif not os.access(path if path.exists() else path.parent, os.W_OK):
        problem = "may not be written"
    if problem:
        raise ReportNotWritten(path=path, problem=problem)


def _run(given: argparse.Namespace) -> int:  # noqa: C901  (one thing after another)
    study = _study(given)
    if len(study.cases) != 1:
        names = ", ".join(sorted({f"{c.experiment.id} × {c.model}" for c in study.cases}))
        tell(f"pytest-bias: name one experiment and one model: {names}", wrong=True)
        return 2
    for path in (given.out, given.analysis, given.report):
        _check_place(path)
    (case,) = study.cases
    lines, status = _Lines(given.out, case.model, case.design.name), 0
    if given.record != "all":
        for outcome in study.bench.replayed(case) if given.record == "none" else _known(study):
            lines(case.experiment, outcome)
    if given.record != "none":
        status = _recorded(study, lines)
    for wanted in () if given.record == "none" else study.bench.known(case)[1]:
        lines(case.experiment, lost_to_cap(wanted.trial), "not recorded")
    if lines.problem:
        place = given.out or "standard output"
        words = f"{ReportNotWritten(path=place, problem=lines.problem)}; every reply is recorded"
        tell(f"pytest-bias: {words}: the same command writes it again without a call", wrong=True)
        status = status or 2
    if status == 130:  # noqa: PLR2004  (interrupted)
        return status
    results = study.results(case)
    if given.analysis is not None:
        write(given.analysis, results.to_json())
    report = summary_markdown(results.view)
    if given.report is not None:
        write(given.report, report)
    elif not lines.problem or given.out is not None:
        tell(f"----- BEGIN REPORT -----\n{report.rstrip()}\n----- END REPORT -----")
    return status or results.view.exit_status


def _known(study: Study) -> tuple[Outcome, ...]:
    return study.bench.known(study.cases[0])[0]


def _analyze(given: argparse.Namespace) -> int:
    if given.table is not None:
        asked = {name: value for name, value in _asked(given).items() if name != "model"}
        found = analyze_table(given.experiments[0], given.table, given.suite, **asked)
    else:
        study = _study(given)
        found = [study.results(case) for case in study.cases]
    view = view_of_all(found)
    if given.json:
        tell(results_text(view).rstrip())
    else:
        for line in (*section_lines(view), "", *closing_lines(view)):
            tell(line)
    if given.methodology:
        for line in (line for each in found for line in _methods(each)):
            tell(line, wrong=given.json)
    if given.output is not None:
        files = {"bias-results.json": results_text(view).encode()}
        if not given.no_plots:
            files["bias-report.html"] = report_html(view).encode()
        files |= _exports(found, plots=not given.no_plots)
        for path in write_exports(given.output, files, from_here):
            tell(f"written: {path}", wrong=True)
    return view.exit_status


def _exports(found: list[Results], *, plots: bool) -> dict[str, bytes]:
    """The experiments' own files, over all models of each."""
    declared = {each.experiment.id: each.experiment for each in found}
    records: dict[str, dict[str, Records]] = {}
    for each in found:
        rows = tuple(record_of(outcome, each.experiment.measures) for outcome in each.outcomes)
        records.setdefault(each.experiment.id, {})[each.analysis.model] = Records(rows)
    return {
        f"{id_}/{name}": data
        for id_, of_models in records.items()
        for name, data in exported_files(declared[id_], of_models, plots=plots).items()
    }


def _methods(results: Results) -> list[str]:
    lines = ["", f"Method: {results.analysis.name} ({results.analysis.source})"]
    for verdict in results.verdicts:
        if (found := verdict.finding) is not None:
            lines.append(f"  {verdict.id}: {found.method}; {found.target}; {found.scope}")
            lines += [f"    margin {found.margin:g}: {verdict.why}"] * (found.margin is not None)
    return lines
