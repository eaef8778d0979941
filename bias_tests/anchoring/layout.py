"""The document's own results, a JSON object a line, as a table of trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_bias import TableLayout, TableRow

_LEVELS = {("low-anchor-3mo", 3.0): "low", ("high-anchor-9mo", 9.0): "high"}
"""Level by condition and the demand that it states."""
_MEASURES = {
    "sentence_months": "result.sentenceMonths",
    "prosecutor_evaluation": "result.prosecutorEvaluation",
    "defence_evaluation": "result.defenseAttorneyEvaluation",
}
_RUN = ("model", "conditionId", "runIndex")


def results(rows: Sequence[TableRow]) -> tuple[Sequence[TableRow], str]:
    """One row per run: of several of one model, condition and index the last.

    A line with an ``error`` is a missing trial, and so is one whose reply repeats another demand
    than its condition stated. A condition that stated none of ours keeps its name, and is refused.
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
            "demand": next((level for of, level in _LEVELS.items() if _is(cells, of)), condition),
            "replicate": cells.get("runIndex"),
            **(dict.fromkeys(measures) if missing else measures),
            "missing": missing,
            "collected_at": cells.get("collectedAt"),
        }
    )


def _is(cells: Mapping[str, object], of: tuple[str, float]) -> bool:
    told = cells.get("params.prosecutorRecommendationMonths")
    stated = told in (None, "") or str(told).removesuffix(".0") == f"{of[1]:g}"
    return cells.get("conditionId") == of[0] and stated


DOCUMENTED = TableLayout(results, columns=_RUN)
"""JSON Lines as the document's program writes them to ``--out``."""
