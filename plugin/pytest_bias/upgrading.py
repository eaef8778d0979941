"""The comparison with an old model at the end of a run, from its books."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from .comparing import is_file, unasked, upgrade_of
from .covering import is_part
from .workspace import Workspace, analysis_from

if TYPE_CHECKING:
    from .analysis import Analysis
    from .session import BiasSession
    from .upgrade_table import Upgrade


def upgrade_of_run(state: BiasSession, analyses: Iterable[Analysis]) -> Upgrade | None:
    """How the verdicts compare with the old model's; None where none was named.

    What is wrong with the books, and what the old model's file has and a run of the whole suite
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
    if upgrade is not None:
        ledger.problems += _unasked(state)
    return upgrade


def _unasked(state: BiasSession) -> tuple[str, ...]:
    """What the baseline file has and a run of the whole suite does not ask.

    Where a case has no result it is not known what it asked; the run fails for that already.
    """
    old, results = str(state.settings.baseline), state.ledger.results
    if is_part(state) or not is_file(old) or not results.keys() >= set(state.ledger.selected):
        return ()
    asked = {(r["experiment"], r["id"]) for r in results.values() if r["kind"] == "hypothesis"}
    return unasked(Path(old), asked, "this suite")
