"""A run beside an old model: the table of its upgrade, and what it should have asked as well."""

from __future__ import annotations

import glob
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ..baselines.accepted import old_baseline, read_baseline
from ..baselines.entries import Baseline, Claimed, entry_of
from ..cassettes.store import SUFFIX, place_of
from ..errors import Diagnostics, NotReadable
from ..report.upgrade_table import Upgrade, UpgradeRow, row_of, worst_first
from ..report.wording import unasked_text, uncompared_text
from ..settings.model_names import answered_text, file_stem
from ..verdicts.analysis import Analysis

if TYPE_CHECKING:
    from ..report.run import RunResult
    from ..settings.settings import Settings
    from .state import ReportedCases, State


def upgrade_of_run(state: State, run: RunResult) -> tuple[Upgrade | None, Diagnostics]:
    """Compare the verdicts with the old model's; None where none was named.

    And what is wrong with the books, and what was accepted of the old model and a run of the whole
    suite does not ask.
    """
    reported, settings = state.reported, state.settings
    if settings.baseline is None:
        return None, Diagnostics()
    accepted = old_baseline(settings)
    name = settings.baseline if accepted is None else accepted.model
    known = {(each.experiment, each.model): each for each in run.analyses}
    rows = worst_first(_rows(reported, known))
    new = [known[key] for key in sorted({(row.experiment, row.model) for row in rows})]
    old, lost = _old_analyses(state, name)
    answered = [] if accepted is None else [(name, who) for who in accepted.served]
    answered += [(each.model, who) for each in (*new, *old) for who in each.recording.served]
    notes = answered_text(answered)
    if accepted is None:
        alone = {r.experiment for r in reported.results.values() if r.comparison.old == ""}
        words = f"{name} has no recordings of {{}}: its hypotheses are judged by themselves"
        notes += tuple(map(words.format, sorted(alone)))
    upgrade = Upgrade(
        old=name,
        new=settings.models,
        file=accepted is not None,
        rows=rows,
        notes=notes,
        simulated=tuple(sorted({e.model for e in (accepted, *new, *old) if e and e.simulated})),
    )
    problems = [f"the analysis of {each} with {name} is lost or was changed" for each in lost]
    if _is_complete(reported) and not run.fewer:
        claims, tested = accepted or accepted_of(settings, name), _tested(reported)
        lacking = () if claims is None else claims.unasked(_requested(reported))
        if accepted is None and tested:
            lacking += _untested(settings, name, tested)
        problems += uncompared_text(upgrade)
        problems += unasked_text(_expected(state, lacking), name, "this suite")
    return upgrade, Diagnostics(errors=tuple(problems))


def _rows(
    reported: ReportedCases, known: Mapping[tuple[str, str], Analysis]
) -> Iterator[UpgradeRow]:
    """The hypotheses that gate; what the gate stops is tolerated where its case says so."""
    for case, result in reported.results.items():
        analysis = known.get((result.experiment, result.model))
        if result.comparison.old is None or analysis is None:
            continue
        verdict, comparison = analysis.verdict(result.id), result.comparison
        if verdict.gates:
            let = not result.stopped or reported.outcomes.get(case) == "xfailed"
            yield row_of(
                verdict.named,
                entry_of(verdict, analysis.recording, {}),
                replace(comparison, tolerated=comparison.tolerated and let),
                stops=result.stopped,
                verdict=verdict,
            )


def _old_analyses(state: State, name: str) -> tuple[list[Analysis], list[str]]:
    """The old model's analyses that cases speak of, and the experiments whose is another now."""
    found, lost = [], []
    compared = {
        (r.experiment, r.comparison.old)
        for r in state.reported.results.values()
        if r.comparison.old
    }
    for experiment, digest in sorted(compared):
        made = state.workspace.read(experiment, name)
        if made is not None and made.digest == digest:
            found.append(made.analysis)
        else:
            lost.append(experiment)
    return found, lost


def not_collected_in_run(state: State, run: RunResult) -> Diagnostics:
    """Name what accepted baselines claim and this run of the whole suite did not ask."""
    settings, reported = state.settings, state.reported
    problems: list[str] = []
    if settings.baseline or settings.accept is not None or run.fewer:
        return Diagnostics()
    if settings.gate == "off" or not _is_complete(reported):
        return Diagnostics()
    for model in settings.models:
        accepted = accepted_of(settings, model)
        if accepted is not None:
            lacking = _expected(state, accepted.unasked(_requested(reported, model)))
            problems += unasked_text(lacking, model, "this suite")
    return Diagnostics(errors=tuple(problems))


def _expected(state: State, claimed: Iterable[Claimed]) -> Iterator[Claimed]:
    """Select the claims that a whole suite should have asked.

    Where there may be others only of the experiments it tests: their hypotheses stand in one
    module.
    """
    is_all, tested = state.suite.is_all, _tested(state.reported)
    return (named for named in claimed if is_all or named[0] in tested)


def _untested(settings: Settings, old: str, tested: Collection[str]) -> tuple[Claimed, ...]:
    """The experiments that nobody tests though the model is recorded, each without a hypothesis.

    All recordings in the folder count: another suite keeps its own in another.
    """
    recorded = settings.cassettes.glob(f"*/{glob.escape(file_stem(old))}{SUFFIX}*")
    found = {path.parent.name for path in recorded if place_of(path).suffix == SUFFIX}
    return tuple((experiment, "") for experiment in sorted(found - {*tested}))


def accepted_of(settings: Settings, model: str) -> Baseline | None:
    """The accepted baseline of a model; None without one, or where its cases say what it is."""
    try:
        return read_baseline(settings.baselines, model) if settings.baselines else None
    except NotReadable:
        return None


def _is_complete(reported: ReportedCases) -> bool:
    """True if every case has a result.

    Of one that has none it is not known what it asked; the run fails for that already.
    """
    return reported.results.keys() >= set(reported.selected)


def _requested(reported: ReportedCases, model: str = "") -> Collection[Claimed]:
    """Experiment and hypothesis of what was asked, of ``model`` where one is given."""
    return {
        (result.experiment, result.id)
        for result in reported.results.values()
        if result.kind == "hypothesis" and model in ("", result.model)
    }


def _tested(reported: ReportedCases) -> Collection[str]:
    return {result.experiment for result in reported.results.values()}
