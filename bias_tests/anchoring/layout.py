"""The document's own results, a JSON object a line, as a table of trials."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_bias import TableLayout, TableRow

_LEVELS = {"low-anchor-3mo": "low", "high-anchor-9mo": "high"}
_MEASURES = {
    "sentence_months": "result.sentenceMonths",
    "prosecutor_evaluation": "result.prosecutorEvaluation",
    "defence_evaluation": "result.defenseAttorneyEvaluation",
}
_RUN = ("model", "conditionId", "runIndex")


def results(rows: Sequence[TableRow]) -> tuple[Sequence[TableRow], str]:
    """One row per run: of several of one model, condition and index the last.

    A line with an ``error`` is a missing trial, and so is one whose reply repeats another demand
    than its condition stated.
    """
    last = {tuple(str(row.cells.get(name)) for name in _RUN): row for row in rows}
    again = len(rows) - len(last)
    note = f"{again} of {len(rows)} lines are runs that a later line repeats" if again else ""
    return [_trial(row) for row in last.values()], note


def _trial(row: TableRow) -> TableRow:
    cells = row.cells
    condition = cells.get("conditionId")
    told = cells.get("params.prosecutorRecommendationMonths")
    echo = cells.get("result.prosecutorRecommendationMonths")
    missing = "error" if cells.get("error") else "wrong_echo" if echo not in (None, told) else ""
    measures = {ours: cells.get(name) for ours, name in _MEASURES.items()}
    return row._replace(
        cells={
            "model": cells.get("model"),
            "demand": _LEVELS.get(str(condition), condition),
            "replicate": cells.get("runIndex"),
            **(dict.fromkeys(measures) if missing else measures),
            "missing": missing,
            "collected_at": cells.get("collectedAt"),
        }
    )


DOCUMENTED = TableLayout(results)
"""JSON Lines as the document's program writes them to ``--out``."""
