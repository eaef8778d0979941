"""The document's own results, a JSON object a line, as a table of trials."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_bias import TableLayout, TableRow

_LEVELS = {"low-anchor-3mo": ("low", "3"), "high-anchor-9mo": ("high", "9")}
"""Level and the demand that it states, in months, by condition."""
_MEASURES = {
    "sentence_months": "result.sentenceMonths",
    "prosecutor_evaluation": "result.prosecutorEvaluation",
    "defence_evaluation": "result.defenseAttorneyEvaluation",
}
_RUN = ("model", "conditionId", "runIndex")


def results(rows: Sequence[TableRow]) -> tuple[Sequence[TableRow], str]:
    """One row per run: of several of one model, condition and index the last.

    A line with an ``error`` is a missing trial, and so is one whose reply repeats another demand
    than its condition stated, which is the condition's own where no ``params`` say it. A condition
    that stated none of ours keeps its name, and is refused.
    """
    last = {tuple(str(row.cells.get(name)) for name in _RUN): row for row in rows}
    again = len(rows) - len(last)
    note = f"{again} of {len(rows)} lines are runs that a later line repeats" if again else ""
    return [_trial(row) for row in last.values()], note


def _trial(row: TableRow) -> TableRow:
    cells = row.cells
    condition = cells.get("conditionId")
    level, demand = _LEVELS.get(str(condition), (condition, ""))
    told = _months(cells.get("params.prosecutorRecommendationMonths")) or demand
    echo = _months(cells.get("result.prosecutorRecommendationMonths"))
    missing = "error" if cells.get("error") else "wrong_echo" if echo not in ("", told) else ""
    measures = {ours: cells.get(name) for ours, name in _MEASURES.items()}
    return row._replace(
        cells={
            "model": cells.get("model"),
            "demand": level if told == demand else condition,
            "replicate": cells.get("runIndex"),
            **(dict.fromkeys(measures) if missing else measures),
            "missing": missing,
            "collected_at": cells.get("collectedAt"),
        }
    )


def _months(cell: object) -> str:
    """A number of months as its digits; empty where there is none."""
    return "" if cell is None else str(cell).removesuffix(".0")


DOCUMENTED = TableLayout(results, columns=_RUN)
"""JSON Lines as the document's program writes them to ``--out``."""
