"""The end of a session: balance the books, write the reports, print the section."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..baselines.accept import Accepted, accept, refused
from ..baselines.accepted import ACCEPTED, EXPIRED, IMPROVED, ends_soon
from ..cassettes.files import write_atomically
from ..errors import ReportNotWritten
from ..report.escapes import say, terminal_line
from ..report.results import results_text
from ..report.terminal import closing_lines, section_lines
from ..report.view import AcceptedVerdict, RunView
from ..verdicts.analysis import Analysis
from .run import STALE
from .scope import is_all, partial_words, scope_of
from .workspace import Workspace, analysis_from

if TYPE_CHECKING:
    from ..baselines.table import Upgrade
    from .session import BiasSession


def close_books(state: BiasSession, exitstatus: int) -> int:
    """Write the reports and give the exit status: never 0 when the books do not balance."""
    ledger = state.ledger
    analyses = tuple(_analyses(state))
    ledger.problems += [
        f"{case} did not pass the gate and was not reported as failed: a hook or plugin changed it"
        for case in ledger.overruled
    ]
    scope, partial = scope_of(state), tuple(partial_words(state))
    fewer = tuple(words for words in partial if words not in scope.varied)
    is_part = bool(fewer)
    upgrade = _upgrade(state, analyses, is_part=is_part)
    unasked = _unasked(state, is_part=is_part)
    if exitstatus != pytest.ExitCode.INTERNAL_ERROR:
        _publish(state, fewer)
    if state.settings.accept is not None:
        accepted = _accept(state, analyses, exitstatus, is_part=is_part)
        ledger.problems += accepted.problems
        state.notes += accepted.notes
        state.written += [f"written: {state.shown(path)}" for path in accepted.written]
    ledger.problems = [_portable(state, problem) for problem in ledger.problems]
    let = tuple(_accepted(state, ACCEPTED, "xfailed"))
    view = RunView(
        analyses=analyses,
        cases=tuple(sorted(ledger.outcomes.items())),
        lost=ledger.lost,
        partial=partial,
        problems=tuple(ledger.problems),
        broken=ledger.broken,
        leniencies=tuple(_leniency_words(state)),
        judged=tuple(sorted(_judged(state))),
        accepted=let,
        ending=tuple(each for each in let if ends_soon(each.until, state.settings.today)),
        expired=tuple(_accepted(state, EXPIRED, "failed")),
        failing=tuple(sorted(_failing(state))),
        scope=scope,
        upgrade=upgrade,
        stale=tuple(sorted(set(_stale(state)))),
        failures=tuple(sorted(ledger.failures)),
        unasked=unasked,
        version=version("pytest-bias"),
    )
    if not analyses and view.suite == "NO VERDICT":
        view = replace(view, partial=(*view.partial, "nothing could be analysed"))
    if exitstatus == pytest.ExitCode.INTERNAL_ERROR:
        # pytest prints no summary after an internal error, so this is the only place to say it.
        reporter = state.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            say(reporter, "NO VERDICT: pytest had an internal error", red=True, bold=True)
        return exitstatus
    state.view = _write_all(state, view, exitstatus)
    state.notes += _leniencies(state)
    return state.view.exit_status


def _settled(state: BiasSession, view: RunView, exitstatus: int) -> RunView:
    """The run with all its problems so far, and the exit status that follows from it."""
    view = replace(view, problems=tuple(state.ledger.problems))
    bad = exitstatus == pytest.ExitCode.OK and not view.passes
    return replace(view, exit_status=int(pytest.ExitCode.TESTS_FAILED if bad else exitstatus))


def _write_all(state: BiasSession, view: RunView, exitstatus: int) -> RunView:
    """Write reports and summary; what they say is what the run ends with.

    Where one of them could not be written, and is missed, the reports are written again: they then
    say so.
    """
    first = _settled(state, view, exitstatus)
    _write_reports(state, first)
    if state.settings.summary is not None or state.settings.job_summary is not None:
        _summarise(state, _settled(state, view, exitstatus))
    last = _settled(state, view, exitstatus)
    if last != first:
        _write_reports(state, last)
    return last


def _publish(state: BiasSession, fewer: tuple[str, ...]) -> None:
    """Write data sets and exports, before the view is made: what fails is a problem of the run."""
    settings = state.settings
    if settings.dataset is not None:
        from . import datasets as publishing  # noqa: PLC0415  (only where data sets are asked for)

        publishing.publish(state, settings.dataset, fewer)
    if settings.exports is not None:
        from . import exports as exporting  # noqa: PLC0415  (only where exports are asked for)

        exporting.publish(state, settings.exports, fewer)


def print_section(state: BiasSession, view: RunView, reporter: pytest.TerminalReporter) -> None:
    """Print the bias section."""
    reporter.write_sep("=", "bias", bold=True)
    for line in section_lines(view):
        say(reporter, terminal_line(line))
    say(reporter, "")
    if view.upgrade is not None:
        from ..report.upgrade_text import upgrade_lines  # noqa: PLC0415  (only for an upgrade)

        for line in upgrade_lines(view.upgrade):
            say(reporter, terminal_line(line))
        say(reporter, "")
    # What is missing and how to record it: once per experiment and model, not per case.
    for text in (
        *_first_failure(state),
        *dict.fromkeys(state.ledger.not_recorded.values()),
        *state.notes,
    ):
        say(reporter, text)
    for line in closing_lines(view):
        good = line.startswith("PASS")
        bad = line.startswith(("FAIL", "NO VERDICT", "INCONCLUSIVE"))
        say(reporter, line, green=good, red=bad, bold=good or bad)
    for path in state.written:
        say(reporter, path)
    if state.settings.annotations:
        from .ci import workflow_commands  # noqa: PLC0415  (only in a job that takes them)

        for command in workflow_commands(state, view):
            reporter.write_line(command)  # escaped, and to be obeyed


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


def _failing(state: BiasSession) -> Iterator[tuple[str, str, str]]:
    """The hypotheses that the gate stopped and nothing let through, named like the judged."""
    for case in state.ledger.stopped:
        result = state.ledger.results[case]
        if result["kind"] == "hypothesis" and state.ledger.outcomes.get(case) == "failed":
            yield result["experiment"], result["model"], result["id"]


def _stale(state: BiasSession) -> Iterator[str]:
    """Which recordings no longer represent their model, where the gate is off."""
    for result in state.ledger.results.values():
        if STALE in result:
            yield _portable(state, result[STALE])


def _upgrade(
    state: BiasSession, analyses: tuple[Analysis, ...], *, is_part: bool
) -> Upgrade | None:
    """How the verdicts compare with the old model's, where one was named."""
    if state.settings.baseline is None:
        return None
    from .upgrade import upgrade_of_run  # noqa: PLC0415  (only for an upgrade)

    return upgrade_of_run(state, analyses, is_part=is_part)


def _unasked(state: BiasSession, *, is_part: bool) -> tuple[tuple[str, str, str], ...]:
    """What accepted baselines claim and this run did not ask: of a whole suite, a problem."""
    from .upgrade import unasked_of_run, unasked_problems  # noqa: PLC0415  (scipy, below)

    unasked = tuple(unasked_of_run(state))
    if not is_part:
        state.ledger.problems += unasked_problems(state, unasked)
    return unasked


def _accept(
    state: BiasSession, analyses: tuple[Analysis, ...], exitstatus: int, *, is_part: bool
) -> Accepted:
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
    is_part = is_part or not is_all(state.config)
    return accept(state.settings, analyses, results, partial=is_part)


def _failed_all_the_same(state: BiasSession) -> Iterator[str]:
    """Cases that failed although their verdict is accepted: by another error, or in tear-down."""
    if not state.config.option.runxfail:
        for case in state.ledger.stopped:
            if ACCEPTED in state.ledger.results[case] and state.ledger.outcomes[case] == "failed":
                yield case


def _accepted(state: BiasSession, fact: str, outcome: str) -> Iterator[AcceptedVerdict]:
    """What the gate stopped and an acceptance let through, or did before, sorted."""
    found = [
        result
        for case, result in state.ledger.results.items()
        if result["stopped"] and fact in result
        if state.ledger.outcomes.get(case) == outcome
    ]
    for result in sorted(found, key=lambda r: (r["experiment"], r["model"], r["id"])):
        named = {name: result[name] for name in ("experiment", "model", "id", "status")}
        yield AcceptedVerdict(**named, **result[fact])


def _leniencies(state: BiasSession) -> Iterator[str]:
    """What lets a verdict pass that would fail by default, so that no green run hides it."""
    results = state.ledger.results
    for case, outcome in sorted(state.ledger.outcomes.items()):
        result = results.get(case, {})
        if outcome == "xfailed" and not _is_known(result):
            yield f"accepted by xfail: {case}"
        if IMPROVED in result and "upgrade" not in result:  # its table says so
            where = f"{result['experiment']} × {result['model']}, {result['id']}"
            yield f"{where}: {result[IMPROVED]}"
    if state.settings.gate == "off":
        yield "the gate is off: no verdict fails this run"
    if state.settings.inconclusive == "pass":
        yield "bias_inconclusive = pass: INCONCLUSIVE does not fail this run"


def _first_failure(state: BiasSession) -> Iterator[str]:
    """What failed first in a run that did not come to its end."""
    ledger = state.ledger
    first = next((case for case, outcome in ledger.outcomes.items() if outcome == "failed"), None)
    if ledger.lost and first is not None:
        result = ledger.results.get(first, {})
        words = (
            result.get("status", "a control that was not seen") if result.get("stopped") else ""
        )
        yield f"failed first: {first}{f' ({words})' if words else ''}"


def _is_known(result: Mapping[str, Any]) -> bool:
    """Whether a case says itself why it passes: an acceptance, or what the old model shows too."""
    return ACCEPTED in result or bool(result.get("upgrade", {}).get("row", {}).get("tolerated"))


def _leniency_words(state: BiasSession) -> Iterator[str]:
    """The same in a few words, for the closing line of a run that is not PASS."""
    if state.settings.gate == "off":
        yield "not gated"
        return
    results = state.ledger.results
    stopped = [case for case in state.ledger.stopped if not _is_known(results[case])]
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


# --- outputs ----------------------------------------------------------------------------------


def _write_reports(state: BiasSession, view: RunView) -> None:
    settings = state.settings
    if settings.results is not None:
        _write(state, view, settings.results, results_text(view), asked=settings.results_asked)
    if settings.report is not None:
        from ..report.html import report_html  # noqa: PLC0415  (charts: only to write a page)

        _write(state, view, settings.report, report_html(view), asked=settings.report_asked)


def _summarise(state: BiasSession, view: RunView) -> None:
    """Write the summary: last, so that it says where the reports are."""
    from ..report.step_summary import summary_markdown  # noqa: PLC0415
    from .ci import add_to_job_summary  # noqa: PLC0415  (only where a summary is wanted)

    settings = state.settings
    places = [words.removeprefix("written: ") for words in state.written]
    text = summary_markdown(view, places)
    if settings.summary is not None:
        _write(state, view, settings.summary, text, asked=True)
    if settings.job_summary is not None:
        state.notes += add_to_job_summary(settings.job_summary, text)


def _write(state: BiasSession, view: RunView, path: Path, text: str, *, asked: bool) -> None:
    """Write an output; a partial run gets a name of its own, so that it overwrites no full one.

    Not being able to is a problem of the run where the user asked for the place, and where an
    earlier run's output stays that would be taken for this one's.
    """
    if view.partial:
        path = path.with_name(f"{path.stem}.partial{path.suffix}")
    shown = state.shown(path)
    try:
        write_atomically(path, text.encode())
    except OSError as error:
        problem = str(ReportNotWritten(path=shown, problem=error.strerror or str(error)))
        said = state.ledger.problems if asked or path.is_file() else state.notes
        said += [problem] * (problem not in said)
    else:
        words = f"written: {shown}"
        state.written += [words] * (words not in state.written)
