"""The end of a session: balance the books, write the reports, print the section."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .accepting import ACCEPTED, IMPROVED, Accepted, accept, refused
from .analysis import Analysis
from .cassettes.files import write_atomically
from .errors import ReportNotWritten
from .report.results import results_text
from .report.terminal import closing_lines, section_lines
from .report.view import AcceptedVerdict, RunView
from .workspace import Workspace, analysis_from

if TYPE_CHECKING:
    from .session import BiasSession

_FEWER_CASES = {"lf": "--lf", "stepwise": "--stepwise"}
_FEWER_FILES = ("--ignore", "--ignore-glob")


def close_books(state: BiasSession, exitstatus: int) -> int:
    """Write the reports and give the exit status: never 0 when the books do not balance."""
    ledger = state.ledger
    analyses = tuple(_analyses(state))
    ledger.problems += [
        f"{case} did not pass the gate and was not reported as failed: a hook or plugin changed it"
        for case in ledger.overruled
    ]
    if exitstatus != pytest.ExitCode.INTERNAL_ERROR:
        _publish(state)
    if state.settings.accept is not None:
        accepted = _accept(state, analyses, exitstatus)
        ledger.problems += accepted.problems
        state.notes += accepted.notes
        state.written += [f"written: {state.shown(path)}" for path in accepted.written]
    ledger.problems = [_portable(state, problem) for problem in ledger.problems]
    view = RunView(
        analyses=analyses,
        cases=tuple(sorted(ledger.outcomes.items())),
        lost=ledger.lost,
        partial=tuple(_partial(state)),
        problems=tuple(ledger.problems),
        broken=ledger.broken,
        leniencies=tuple(_leniency_words(state)),
        judged=tuple(sorted(_judged(state))),
        accepted=tuple(_accepted(state)),
        version=version("pytest-bias"),
    )
    if not analyses and view.suite == "NO VERDICT":
        view = replace(view, partial=(*view.partial, "nothing could be analysed"))
    if exitstatus == pytest.ExitCode.INTERNAL_ERROR:
        # pytest prints no summary after an internal error, so this is the only place to say it.
        reporter = state.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.write_line("NO VERDICT: pytest had an internal error", red=True, bold=True)
        return exitstatus
    _write_reports(state, view)
    state.view = replace(view, problems=tuple(ledger.problems))
    state.notes += _leniencies(state)
    if exitstatus == pytest.ExitCode.OK and state.view.suite == "NO VERDICT":
        return int(pytest.ExitCode.TESTS_FAILED)
    return exitstatus


def _publish(state: BiasSession) -> None:
    """Write data sets and exports, before the view is made: what fails is a problem of the run."""
    settings = state.settings
    if settings.dataset is not None:
        from . import publishing  # noqa: PLC0415  (only where data sets are asked for)

        publishing.publish(state, settings.dataset, tuple(_partial(state)))
    if settings.exports is not None:
        from . import exporting  # noqa: PLC0415  (only where exports are asked for)

        exporting.publish(state, settings.exports, tuple(_partial(state)))


def print_section(state: BiasSession, view: RunView, reporter: pytest.TerminalReporter) -> None:
    """Print the bias section."""
    reporter.write_sep("=", "bias", bold=True)
    for line in section_lines(view):
        reporter.write_line(line)
    reporter.write_line("")
    # What is missing and how to record it: once per experiment and model, not per case.
    for text in (*dict.fromkeys(state.ledger.not_recorded.values()), *state.notes):
        reporter.write_line(text)
    for line in closing_lines(view):
        good = line.startswith("PASS")
        bad = line.startswith(("FAIL", "NO VERDICT", "INCONCLUSIVE"))
        reporter.write_line(line, green=good, red=bad, bold=good or bad)
    for path in state.written:
        reporter.write_line(path)


def _analyses(state: BiasSession) -> Iterator[Analysis]:
    """The analyses the reported cases speak of, checked against what they say, sorted."""
    workspace = Workspace(state.folder)
    said: dict[tuple[str, str], dict[str, str]] = {}
    for case, result in sorted(state.ledger.results.items()):
        if "analysis" in result:
            said.setdefault((result["experiment"], result["model"]), {})[case] = result["analysis"]
    for key, cases in sorted(said.items()):
        read = workspace.read(*key)
        wrong = [case for case, digest in cases.items() if read is None or read[1] != digest]
        state.ledger.problems += [f"the analysis behind {c} is lost or was changed" for c in wrong]
        if read is not None and not wrong:
            yield analysis_from(read[0])


def _judged(state: BiasSession) -> Iterator[tuple[str, str, str]]:
    """The hypotheses among the cases of this run, as experiment, model and id."""
    for result in state.ledger.results.values():
        if result["kind"] == "hypothesis":
            yield result["experiment"], result["model"], result["id"]


def _accept(state: BiasSession, analyses: tuple[Analysis, ...], exitstatus: int) -> Accepted:
    """Accept the verdicts of this run; those of a run that was cut short are never accepted."""
    ledger = state.ledger
    if state.interrupted or exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return refused("the run was cut short")
    if ledger.lost:
        return refused(f"of {len(ledger.lost)} selected cases there is no verdict")
    if broken := (*ledger.broken, *_failed_all_the_same(state)):
        return refused(f"{broken[0]} failed for another reason than a verdict")
    if ledger.problems:
        return refused("see the other problems")
    results = ledger.results.values()
    partial = any(_partial(state)) or not _is_all(state.config)
    return accept(state.settings, analyses, results, partial=partial)


def _failed_all_the_same(state: BiasSession) -> Iterator[str]:
    """Cases that failed although their verdict is accepted: by another error, or in tear-down."""
    if not state.config.option.runxfail:
        for case in state.ledger.stopped:
            if ACCEPTED in state.ledger.results[case] and state.ledger.outcomes[case] == "failed":
                yield case


def _accepted(state: BiasSession) -> Iterator[AcceptedVerdict]:
    """What the gate stopped and an acceptance let through, by experiment, model and hypothesis."""
    found = [
        result
        for case, result in state.ledger.results.items()
        if result["stopped"] and ACCEPTED in result
        if state.ledger.outcomes.get(case) == "xfailed"
    ]
    for result in sorted(found, key=lambda r: (r["experiment"], r["model"], r["id"])):
        named = {name: result[name] for name in ("experiment", "model", "id", "status")}
        yield AcceptedVerdict(**named, **result[ACCEPTED])


def _leniencies(state: BiasSession) -> Iterator[str]:
    """What lets a verdict pass that would fail by default, so that no green run hides it."""
    results = state.ledger.results
    for case, outcome in sorted(state.ledger.outcomes.items()):
        result = results.get(case, {})
        if outcome == "xfailed" and ACCEPTED not in result:
            yield f"accepted by xfail: {case}"
        if IMPROVED in result:
            where = f"{result['experiment']} × {result['model']}, {result['id']}"
            yield f"{where}: {result[IMPROVED]}"
    if state.settings.gate == "off":
        yield "the gate is off: no verdict fails this run"
    if state.settings.inconclusive == "pass":
        yield "bias_inconclusive = pass: INCONCLUSIVE does not fail this run"


def _leniency_words(state: BiasSession) -> Iterator[str]:
    """The same in a few words, for the closing line of a run that is not PASS."""
    if state.settings.gate == "off":
        yield "not gated"
        return
    results = state.ledger.results
    stopped = [case for case in state.ledger.stopped if ACCEPTED not in results[case]]
    accepted = [case for case in stopped if state.ledger.outcomes.get(case) == "xfailed"]
    if accepted:
        yield f"{'' if len(accepted) == len(stopped) else f'{len(accepted)} '}accepted by xfail"
    if state.settings.inconclusive == "pass":
        yield "bias_inconclusive = pass"


def _portable(state: BiasSession, problem: str) -> str:
    """A problem with the files as seen from rootdir: the same on every machine."""
    root = state.config.rootpath
    for folder in (state.settings.cassettes, state.settings.baselines):
        if folder is not None:
            shown = folder.relative_to(root) if folder.is_relative_to(root) else folder.name
            problem = problem.replace(str(folder), str(shown))
    return problem


# --- partial runs -----------------------------------------------------------------------------


def _partial(state: BiasSession) -> Iterator[str]:
    """Why this run does not cover the whole suite."""
    config = state.config
    for name, flag in _FEWER_CASES.items():
        if getattr(config.option, name, None):
            yield flag
    typed = [*config.invocation_params.args, *shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))]
    for flag in _FEWER_FILES:
        # What an ini file leaves out is no part of the suite; what is typed is left out today.
        if any(str(argument).split("=")[0] == flag for argument in typed):
            yield flag
    for argument in config.args:
        if _is_part(config, argument):
            yield f"only {_below_root(config, argument)} was asked for"
    for number, noun, words in (
        (_collection_errors(config), "error", "during collection"),
        (state.ledger.deselected, "case", "not selected"),
        (len(state.ledger.lost), "case", "without a verdict"),
    ):
        if number:
            yield f"{number} {noun}{'s' * (number > 1)} {words}"
    if state.interrupted:
        yield "recording was interrupted"


def _is_part(config: pytest.Config, argument: str) -> bool:
    """Whether an argument names a part of ``testpaths``, of a package, or of a module."""
    path, node, _ = argument.partition("::")
    asked = (config.invocation_params.dir / path).resolve()
    inside = any(path in asked.parents for path in _test_paths(config))
    return bool(node or inside or _in_package(asked))


def _is_all(config: pytest.Config) -> bool:
    """Whether the arguments cover ``testpaths``, or all below rootdir where there are none.

    Beside a suite that was asked for by its path there may be others, with verdicts of their own.
    """
    asked = [(config.invocation_params.dir / argument).resolve() for argument in config.args]
    whole = _test_paths(config) or [config.rootpath.resolve()]
    return all(any(a == path or a in path.parents for a in asked) for path in whole)


def _test_paths(config: pytest.Config) -> list[Path]:
    return [
        found.resolve()
        for pattern in config.getini("testpaths")
        for found in sorted(config.rootpath.glob(pattern))
    ]


def _collection_errors(config: pytest.Config) -> int:
    """Number of modules and packages whose cases nobody knows, where the others were run."""
    if not config.option.continue_on_collection_errors:
        return 0  # no case was run, and every one says so
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    errors = reporter.stats.get("error", ()) if reporter is not None else ()
    return sum(isinstance(report, pytest.CollectReport) for report in errors)


def _in_package(path: Path) -> bool:
    return (path.parent / "__init__.py").exists()


def _below_root(config: pytest.Config, argument: str) -> str:
    """An argument as a path below rootdir, so that results do not depend on the machine."""
    path, separator, node = argument.partition("::")
    asked = (config.invocation_params.dir / path).resolve()
    shown = asked.relative_to(config.rootpath) if asked.is_relative_to(config.rootpath) else path
    return f"{shown}{separator}{node}"


# --- outputs ----------------------------------------------------------------------------------


def _write_reports(state: BiasSession, view: RunView) -> None:
    settings = state.settings
    if settings.results is not None:
        _write(state, view, settings.results, results_text(view), asked=settings.results_asked)
    if settings.report is not None:
        from .report.html import report_html  # noqa: PLC0415  (charts: only to write a page)

        _write(state, view, settings.report, report_html(view), asked=settings.report_asked)


def _write(state: BiasSession, view: RunView, path: Path, text: str, *, asked: bool) -> None:
    """Write an output; a partial run gets a name of its own, so that it overwrites no full one.

    Where the user asked for the place, not being able to write there is a problem of the run.
    """
    if view.partial:
        path = path.with_name(f"{path.stem}.partial{path.suffix}")
    shown = state.shown(path)
    try:
        write_atomically(path, text.encode())
    except OSError as error:
        problem = str(ReportNotWritten(path=shown, problem=error.strerror or str(error)))
        (state.ledger.problems if asked else state.notes).append(problem)
    else:
        state.written.append(f"written: {shown}")
