"""The comparison with an old model at the end of a run, from its books."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ..baselines.accepted import read_baseline
from ..baselines.table import to_ask, unasked_words, uncompared_words
from ..baselines.text import DamagedBaseline
from ..baselines.upgrade import unasked, upgrade_of
from .scope import is_all
from .workspace import Workspace, analysis_from

if TYPE_CHECKING:
    from ..baselines.entries import Baseline
    from ..baselines.table import Claimed, Upgrade
    from ..verdicts.analysis import Analysis
    from .session import BiasSession


def upgrade_of_run(
    state: BiasSession, analyses: Iterable[Analysis], *, is_part: bool
) -> Upgrade | None:
    """How the verdicts compare with the old model's; None where none was named.

    What is wrong with the books, and what the old model's file claims and a run of the whole suite
    does not ask (``is_part``: it runs but a part), goes to the problems of the run.
    """
    ledger, workspace = state.ledger, Workspace(state.folder)
    known = {(analysis.experiment, analysis.model): analysis for analysis in analyses}

    def old(experiment: str, model: str, digest: str) -> Analysis | None:
        read = workspace.read(experiment, model)
        if read is not None and read[1] == digest:
            return analysis_from(read[0])
        lost = f"the analysis of {experiment} with {model} is lost or was changed"
        ledger.problems.append(lost)
        return None

    upgrade = upgrade_of(
        state.settings,
        ledger.results,
        accepted=state.run.old_file,
        tolerated=lambda case: ledger.outcomes.get(case) == "xfailed",
        new=lambda experiment, model: known.get((experiment, model)),
        old=old,
    )
    if upgrade is not None and not is_part and ledger.results.keys() >= set(ledger.selected):
        ledger.problems += uncompared_words(upgrade)
    if upgrade is None or state.run.old_file is None:
        return upgrade
    lacking = _unasked(state, state.run.old_file)
    if not is_part:
        ledger.problems += unasked_words(_expected(state, lacking), upgrade.old, "this suite")
    return replace(upgrade, unasked=lacking)


def unasked_of_run(state: BiasSession) -> Iterator[tuple[str, str, str]]:
    """What accepted baselines of the models claim and this run did not ask.

    As experiment, model and hypothesis.
    """
    settings = state.settings
    if settings.baselines is None or settings.baseline or settings.accept is not None:
        return
    for model in settings.models:
        try:
            accepted = read_baseline(settings.baselines, model)
        except DamagedBaseline:
            continue  # its cases say so
        if accepted is not None:
            for experiment, name in _unasked(state, accepted, model):
                yield experiment, model, name


def unasked_problems(state: BiasSession, unasked: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """The same in words, of what a run of the whole suite should have asked."""
    by_model: dict[str, list[Claimed]] = {}
    for experiment, model, name in unasked:
        by_model.setdefault(model, []).append((experiment, name))
    for model, found in by_model.items():
        yield from unasked_words(_expected(state, found), model, "this suite")


def _unasked(state: BiasSession, old: Baseline, model: str = "") -> tuple[Claimed, ...]:
    """What a baseline claims and this run does not ask (of ``model`` where one is given).

    Where a case has no result it is not known what it asked; the run fails for that already.
    """
    ledger = state.ledger
    if state.settings.gate == "off" or not ledger.results.keys() >= set(ledger.selected):
        return ()
    asked = {
        (result["experiment"], result["id"])
        for result in ledger.results.values()
        if result["kind"] == "hypothesis" and model in ("", result["model"])
    }
    return unasked(old, asked)


def _expected(state: BiasSession, lacking: Iterable[Claimed]) -> Iterator[Claimed]:
    """What of it a run of the whole suite should have asked."""
    tested = {result["experiment"] for result in state.ledger.results.values()}
    return to_ask(lacking, tested, elsewhere=not is_all(state.config))
