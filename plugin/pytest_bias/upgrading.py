"""The comparison with an old model at the end of a run, from its books."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from .comparing import read_file, unasked, upgrade_of
from .covering import is_all, partial_words
from .upgrade_table import unasked_words
from .workspace import Workspace, analysis_from

if TYPE_CHECKING:
    from .analysis import Analysis
    from .session import BiasSession
    from .upgrade_table import Named, Upgrade


def upgrade_of_run(state: BiasSession, analyses: Iterable[Analysis]) -> Upgrade | None:
    """How the verdicts compare with the old model's; None where none was named.

    What is wrong with the books, and what the old model's file claims and a run of the whole suite
    does not ask, goes to the problems of the run.
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
        tolerated=lambda case: ledger.outcomes.get(case) == "xfailed",
        new=lambda experiment, model: known.get((experiment, model)),
        old=old,
    )
    if upgrade is None or not upgrade.file:
        return upgrade
    lacking = _unasked(state)
    ledger.problems += unasked_words(_expected(state, lacking), upgrade.old, "this suite")
    return replace(upgrade, unasked=lacking)


def _unasked(state: BiasSession) -> tuple[Named, ...]:
    """What the baseline file claims and this run does not ask.

    Where a case has no result it is not known what it asked; the run fails for that already.
    """
    ledger = state.ledger
    if state.settings.gate == "off" or not ledger.results.keys() >= set(ledger.selected):
        return ()
    results = ledger.results.values()
    asked = {(r["experiment"], r["id"]) for r in results if r["kind"] == "hypothesis"}
    return unasked(read_file(Path(str(state.settings.baseline))), asked)


def _expected(state: BiasSession, lacking: Iterable[Named]) -> Iterator[Named]:
    """What of it this run should have asked: nothing where it is a part.

    Without ``testpaths`` nobody knows what else there is: then only of the experiments it tests.
    """
    if any(partial_words(state)):
        return
    tested = {result["experiment"] for result in state.ledger.results.values()}
    for experiment, name in lacking:
        if experiment in tested or is_all(state.config):
            yield experiment, name
