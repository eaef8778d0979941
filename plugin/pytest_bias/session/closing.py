"""The end of a session: balance the books, hear everybody, say how it ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Literal

import pytest

from ..baselines.accept import accept, refused
from ..baselines.accepted import ends_soon
from ..errors.said import Said
from ..report.view import AcceptedVerdict, RunView
from ..verdicts.analysis import Analysis
from .outputs import write_all
from .scope import Coverage, coverage_of
from .upgrade import unasked_of_run, upgrade_of_run

if TYPE_CHECKING:
    from ..baselines.case_report import CaseReport
    from ..report.view import Section
    from .ledger import Ledger
    from .state import State


@dataclass(frozen=True, slots=True)
class Closed:
    """How a run ended: the exit status, all that is to be said, and what the reports show.

    ``view`` is None after an internal error of pytest, after which it shows no summary.
    """

    status: int
    said: Said
    view: RunView | None


def close_books(state: State, exitstatus: int) -> Closed:
    """Write the reports and give the exit status: never 0 when the books do not balance."""
    internal_error = exitstatus == pytest.ExitCode.INTERNAL_ERROR
    coverage = coverage_of(state)
    analyses, lacking = _analyses(state)
    said = state.said + lacking + Said(problems=tuple(_unbalanced(state.ledger)))
    upgrade, of_old = upgrade_of_run(state, analyses, coverage)
    unasked, of_accepted = unasked_of_run(state, coverage)
    said += of_old + of_accepted
    let = tuple(_let_through(state.ledger, "accepted", "xfailed"))
    view = RunView(
        analyses=analyses,
        cases=tuple(sorted(state.ledger.outcomes.items())),
        lost=state.ledger.lost,
        partial=coverage.partial,
        problems=said.problems,
        broken=state.ledger.broken,
        leniencies=tuple(_leniencies_shortly(state)),
        judged=tuple(sorted(_judged(state.ledger))),
        accepted=let,
        ending=tuple(each for each in let if ends_soon(each.until, state.settings.today)),
        expired=tuple(_let_through(state.ledger, "expired", "failed")),
        failing=tuple(sorted(_failing(state.ledger))),
        scope=coverage.scope,
        upgrade=upgrade,
        stale=tuple(sorted({state.portable(r.stale) for r in _results(state) if r.stale})),
        failures=tuple(sorted(state.ledger.failures)),
        unasked=unasked,
        version=version("pytest-bias"),
    )
    if not internal_error:
        said += _told_by_plugins(state.config, view)
    if state.settings.accept is not None:
        said += _accept(state, analyses, coverage, exitstatus, said.problems)
    said = replace(said, problems=tuple(map(state.portable, said.problems)))
    view = replace(view, problems=said.problems)
    if not analyses and view.suite == "NO VERDICT":
        view = replace(view, partial=(*view.partial, "nothing could be analysed"))
    if internal_error:
        return Closed(exitstatus, said, None)
    sections, of_sections = _sections(state.config, view)
    said += of_sections
    view, said = write_all(state, replace(view, sections=sections), said, exitstatus)
    return Closed(view.exit_status, said + Said(notes=tuple(_leniencies(state))), view)


# --- the books --------------------------------------------------------------------------------


def _results(state: State) -> Iterator[CaseReport]:
    return iter(state.ledger.results.values())


def _unbalanced(ledger: Ledger) -> Iterator[str]:
    """What is wrong with the reports of cases."""
    for case, words in sorted(ledger.damaged.items()):
        yield f"{case}: {words}"
    for case in ledger.overruled:
        yield (
            f"{case} did not pass the gate and was not reported as failed: a hook or plugin "
            "changed it"
        )


def _analyses(state: State) -> tuple[tuple[Analysis, ...], Said]:
    """The analyses the reported cases speak of, checked against what they say, sorted."""
    told: dict[tuple[str, str], dict[str, str]] = {}
    for case, result in sorted(state.ledger.results.items()):
        if result.analysis:
            told.setdefault((result.experiment, result.model), {})[case] = result.analysis
    found, wrong = [], []
    for key, cases in sorted(told.items()):
        made = state.workspace.read(*key)
        differ = [case for case, digest in cases.items() if made is None or made.digest != digest]
        wrong += [f"the analysis behind {case} is lost or was changed" for case in differ]
        if made is not None and not differ:
            found.append(made.analysis)
    return tuple(found), Said(problems=tuple(wrong))


def _judged(ledger: Ledger) -> Iterator[tuple[str, str, str]]:
    """The hypotheses among the cases of this run, as experiment, model and id."""
    return (each.named for each in ledger.results.values() if each.kind == "hypothesis")


def _failing(ledger: Ledger) -> Iterator[tuple[str, str, str]]:
    """The hypotheses that the gate stopped and nothing let through, named like the judged."""
    for case in ledger.stopped:
        result = ledger.results[case]
        if result.kind == "hypothesis" and ledger.outcomes.get(case) == "failed":
            yield result.named


def _let_through(
    ledger: Ledger, how: Literal["accepted", "expired"], outcome: str
) -> Iterator[AcceptedVerdict]:
    """What the gate stopped and an acceptance let through, or did before, sorted."""
    found = [
        (result, acceptance)
        for case, result in ledger.results.items()
        if result.stopped and (acceptance := getattr(result.standing, how)) is not None
        if ledger.outcomes.get(case) == outcome
    ]
    for result, acceptance in sorted(found, key=lambda pair: pair[0].named):
        assert result.status is not None  # noqa: S101  (only hypotheses are accepted)
        yield AcceptedVerdict(
            experiment=result.experiment,
            model=result.model,
            id=result.id,
            status=result.status,
            reason=acceptance.reason,
            owner=acceptance.owner,
            until=acceptance.until,
        )


def _accept(
    state: State,
    analyses: tuple[Analysis, ...],
    coverage: Coverage,
    exitstatus: int,
    problems: tuple[str, ...],
) -> Said:
    """Accept the verdicts of this run; those of a run that was cut short are never accepted."""
    ledger = state.ledger
    if state.interrupted or exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return refused("the run was cut short")
    if ledger.lost:
        return refused(f"of {len(ledger.lost)} selected cases there is no verdict")
    if broken := (*ledger.broken, *_failed_all_the_same(state)):
        return refused(f"{broken[0]} failed for another reason than a verdict")
    if problems:
        return refused("see the other problems")
    is_part = coverage.is_part or not coverage.is_all
    return accept(state.settings, analyses, _results(state), partial=is_part)


def _failed_all_the_same(state: State) -> Iterator[str]:
    """Cases that failed although their verdict is accepted: by another error, or in tear-down."""
    ledger = state.ledger
    if not state.config.option.runxfail:
        for case in ledger.stopped:
            accepted = ledger.results[case].standing.accepted
            if accepted is not None and ledger.outcomes[case] == "failed":
                yield case


def _leniencies(state: State) -> Iterator[str]:
    """What lets a verdict pass that would fail by default, so that no green run hides it."""
    for case, outcome in sorted(state.ledger.outcomes.items()):
        result = state.ledger.results.get(case)
        if outcome == "xfailed" and not (result is not None and result.known):
            yield f"accepted by xfail: {case}"
        if result is not None and result.standing.improved and result.standing.upgrade is None:
            where = f"{result.experiment} × {result.model}, {result.id}"
            yield f"{where}: {result.standing.improved}"  # of an upgrade its table says so
    if state.settings.gate == "off":
        yield "the gate is off: no verdict fails this run"
    if state.settings.inconclusive == "pass":
        yield "bias_inconclusive = pass: INCONCLUSIVE does not fail this run"


def _leniencies_shortly(state: State) -> Iterator[str]:
    """The same in a few words, for the closing line of a run that is not PASS."""
    if state.settings.gate == "off":
        yield "not gated"
        return
    ledger = state.ledger
    stopped = [case for case in ledger.stopped if not ledger.results[case].known]
    accepted = [case for case in stopped if ledger.outcomes.get(case) == "xfailed"]
    if accepted:
        yield f"{'' if len(accepted) == len(stopped) else f'{len(accepted)} '}accepted by xfail"
    if state.settings.inconclusive == "pass":
        yield "bias_inconclusive = pass"


# --- other plugins ----------------------------------------------------------------------------


def _told_by_plugins(config: pytest.Config, view: RunView) -> Said:
    """What plugins say of the results; an error of one of them is a problem of the run."""
    try:
        answers = config.hook.pytest_bias_results(config=config, view=view)
    except Exception as error:  # noqa: BLE001  (a plugin's code: anything)
        return _failed("pytest_bias_results", error)
    return sum((answer for answer in answers if isinstance(answer, Said)), start=Said())


def _sections(config: pytest.Config, view: RunView) -> tuple[tuple[Section, ...], Said]:
    """The sections plugins add to the reports."""
    try:
        answers = config.hook.pytest_bias_report_sections(config=config, view=view)
        return tuple(section for answer in answers for section in answer), Said()
    except Exception as error:  # noqa: BLE001  (a plugin's code: anything)
        return (), _failed("pytest_bias_report_sections", error)


def _failed(hook: str, error: Exception) -> Said:
    return Said(problems=(f"{hook} of a plugin failed with {type(error).__name__}: {error}",))
