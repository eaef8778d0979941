"""Comparison with an old model at the end of a run, and what baselines claim and nobody asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from ..baselines.accepted import read_baseline
from ..baselines.table import to_ask, unasked_of_models, unasked_words, uncompared_words
from ..baselines.text import DamagedBaseline
from ..baselines.upgrade import check_old, unasked, upgrade_of
from ..errors.said import Said

if TYPE_CHECKING:
    from ..baselines.table import Claimed, Upgrade
    from ..verdicts.analysis import Analysis
    from .ledger import Ledger
    from .scope import Coverage
    from .state import State


def upgrade_of_run(
    state: State, analyses: Iterable[Analysis], coverage: Coverage
) -> tuple[Upgrade | None, Said]:
    """Compare the verdicts with the old model's; None where none was named.

    And what is wrong with the books, and what the old model's file claims and a run of the whole
    suite does not ask.
    """
    ledger, settings = state.ledger, state.settings
    if settings.baseline is None:
        return None, Said()
    known = {(analysis.experiment, analysis.model): analysis for analysis in analyses}
    problems: list[str] = []
    accepted = check_old(settings)

    def old(experiment: str, model: str, digest: str) -> Analysis | None:
        made = state.workspace.read(experiment, model)
        if made is not None and made.digest == digest:
            return made.analysis
        problems.append(f"the analysis of {experiment} with {model} is lost or was changed")
        return None

    upgrade = upgrade_of(
        settings,
        ledger.results,
        accepted=accepted,
        tolerated=lambda case: ledger.outcomes.get(case) == "xfailed",
        new=lambda experiment, model: known.get((experiment, model)),
        old=old,
    )
    if upgrade is None:
        return None, Said(problems=tuple(problems))
    if not coverage.is_part and _is_complete(ledger):
        problems += uncompared_words(upgrade)
    if accepted is not None:
        lacking: tuple[Claimed, ...] = ()
        if settings.gate != "off" and _is_complete(ledger):
            lacking = unasked(accepted, _asked(ledger))
        if not coverage.is_part:
            expected = to_ask(lacking, _tested(ledger), elsewhere=not coverage.is_all)
            problems += unasked_words(expected, upgrade.old, "this suite")
        upgrade = replace(upgrade, unasked=lacking)
    return upgrade, Said(problems=tuple(problems))


def unasked_of_run(
    state: State, coverage: Coverage
) -> tuple[tuple[tuple[str, str, str], ...], Said]:
    """Return what accepted baselines of the models claim and this run did not ask.

    As experiment, model and hypothesis; of a run of the whole suite it is a problem.
    """
    settings, ledger = state.settings, state.ledger
    if settings.baselines is None or settings.baseline or settings.accept is not None:
        return (), Said()
    if settings.gate == "off" or not _is_complete(ledger):
        return (), Said()
    found: list[tuple[str, str, str]] = []
    for model in settings.models:
        try:
            accepted = read_baseline(settings.baselines, model)
        except DamagedBaseline:
            continue  # its cases say so
        if accepted is not None:
            lacking = unasked(accepted, _asked(ledger, model))
            found += [(experiment, model, name) for experiment, name in lacking]
    if coverage.is_part:
        return tuple(found), Said()
    words = unasked_of_models(found, _tested(ledger), elsewhere=not coverage.is_all)
    return tuple(found), Said(problems=tuple(words))


def _is_complete(ledger: Ledger) -> bool:
    """Return true where every case has a result.

    Of one that has none it is not known what it asked; the run fails for that already.
    """
    return ledger.results.keys() >= set(ledger.selected)


def _asked(ledger: Ledger, model: str = "") -> Collection[Claimed]:
    """Experiment and hypothesis of what was asked, of ``model`` where one is given."""
    return {
        (result.experiment, result.id)
        for result in ledger.results.values()
        if result.kind == "hypothesis" and model in ("", result.model)
    }


def _tested(ledger: Ledger) -> Collection[str]:
    return {result.experiment for result in ledger.results.values()}
