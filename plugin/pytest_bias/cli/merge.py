"""``pytest-bias merge``: the results of jobs that each ran a part of the suite, as one run."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from ..errors import BadSetting, DamagedResults
from ..experiments.canonical import digest
from ..report.results import results_text, view_of
from ..report.step_summary import summary_markdown
from ..report.terminal import closing_lines, section_lines
from ..report.upgrade_text import upgrade_lines
from ..report.view import RunView
from ..session.ci import add_to_job_summary
from . import Commands, tell, write
from .merged_run import PartialRun, merged


def add_merging(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command ``merge``."""
    command = commands.add_parser(
        "merge",
        help="put the results of several jobs together: one verdict, one report",
        description="Put the results of jobs that each ran a part of the suite (some paths, a -k, "
        "one of several models) together. The exit status is 0 where one run of it all had "
        "passed, 1 where it had not or gives no verdict, 2 where these are no parts of one run.",
    )
    command.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="RESULTS",
        help="bias-results.json or bias-results.partial.json of a job",
    )
    command.add_argument("--results", type=Path, metavar="OUT.json", help="write the results here")
    command.add_argument("--report", type=Path, metavar="OUT.html", help="write the report here")
    command.add_argument(
        "--summary",
        type=Path,
        metavar="OUT.md",
        help="write a summary in Markdown here; on GitHub Actions the job shows it in any case",
    )
    command.add_argument(
        "--shards",
        type=int,
        metavar="N",
        help="how many parts there are to be: with one missing there is no verdict",
    )
    command.set_defaults(run=_merge)


def _merge(given: argparse.Namespace) -> int:
    if given.shards is not None and given.shards < 1:
        raise BadSetting(option="--shards", value=given.shards, problem="must be from 1 up")
    parts = [_part(path) for path in sorted(given.files)]
    view = merged(parts, version=version("pytest-bias"), expected=given.shards)
    written = _write_reports(given, view)
    text = summary_markdown(view, written)
    if given.summary is not None:
        write(given.summary, text)
        written.append(str(given.summary))
    if job := os.environ.get("GITHUB_STEP_SUMMARY"):
        for why in add_to_job_summary(Path(job), text):
            tell(why, wrong=True)
    _print(parts, view, written)
    return view.exit_status


def _part(path: Path) -> PartialRun:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        problem = f"it cannot be read ({error.strerror or error})"
        raise DamagedResults(path=path, problem=problem) from error
    except UnicodeDecodeError as error:
        raise DamagedResults(path=path, problem="it is no UTF-8 text") from error
    return PartialRun(name=path.as_posix(), digest=digest(text), view=view_of(text, str(path)))


def _write_reports(given: argparse.Namespace, view: RunView) -> list[str]:
    """Write what was asked for; says where."""
    written: list[str] = []
    if given.results is not None:
        write(given.results, results_text(view))
        written.append(str(given.results))
    if given.report is not None:
        from ..report.html import report_html  # noqa: PLC0415  (charts: only to write a page)

        write(given.report, report_html(view))
        written.append(str(given.report))
    return written


def _print(parts: Sequence[PartialRun], view: RunView, written: Sequence[str]) -> None:
    lines = [f"merged: {', '.join(part.name for part in parts)}", *section_lines(view), ""]
    if view.upgrade is not None:
        lines += [*upgrade_lines(view.upgrade), ""]
    lines += [*closing_lines(view), *(f"written: {place}" for place in written)]
    tell("\n".join(lines))
