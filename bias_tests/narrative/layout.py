"""The document's CSV, one row per story with its grade, as a table of trials."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pytest_bias import NOT_SCORED, TableLayout, TableRow, count_words

from .grading import AMBIGUOUS, ENDING_ALONE, PRO_SOCIAL

_COLUMNS = ("persona", "group", "name", "context", "scenario", "story", "outcome", "hesitation")
_AGAIN = ("outcome_again", "hesitation_again")
_KEPT = ("model", "replicate", "collected_at", "served")
_ENDINGS = {True: "pro_social", False: "anti_social"}


def stories(rows: Sequence[TableRow]) -> tuple[Sequence[TableRow], str]:
    """One row per story; labels may be written as words ("Financial Stress").

    An outcome is one of its scenario's, or pro-social or anti-social alone. A story that is empty,
    has no grade or an ambiguous one is a missing trial. A second grade stands in columns more.
    """
    trials = [row._replace(cells=_trial(row.cells)) for row in rows]
    notes = []
    if not any(row.cells.get(name) for row in rows for name in _AGAIN):
        notes.append(
            "no story has a second grade: how far the judge agrees with itself is unknown"
        )
    if bare := sum(row.cells["outcome"] == ENDING_ALONE for row in trials):
        notes.append(f"of {bare} of {len(rows)} stories the ending is known, and no outcome")
    return trials, "; ".join(notes)


def _trial(cells: Mapping[str, object]) -> dict[str, object]:
    story, hesitation = str(cells["story"] or ""), cells["hesitation"]
    persona, group, context, scenario, told = (
        _label(cells[name]) for name in ("persona", "group", "context", "scenario", "outcome")
    )
    outcome, ending = _graded(scenario, told)
    told_again = (cells.get(name) for name in _AGAIN)
    again, hesitation_again = (NOT_SCORED if x in (None, "") else x for x in told_again)
    second = (again, again) if again == NOT_SCORED else _graded(scenario, _label(again))
    missing = cells.get("missing")
    if not missing and not story.strip():
        missing = "story_empty"
    elif not missing and (told == "" or hesitation in (None, "")):
        missing = "judge_no_grade"
    elif not missing and told == AMBIGUOUS:
        missing = "ambiguous_outcome"
    measures = {
        "pro_social": {name: value for value, name in _ENDINGS.items()}.get(ending),
        "hesitation": hesitation,
        "outcome": outcome,
        "ending": ending,
        "words": count_words(story),
        "outcome_again": second[0],
        "ending_again": second[1],
        "hesitation_again": hesitation_again,
    }
    return {
        **{name: cells[name] for name in _KEPT if name in cells},
        "persona": persona,
        "group": group,
        "group_exemplar": cells["name"],
        "ses": context,
        "scenario": scenario,
        **(dict.fromkeys(measures) if missing else measures),
        "missing": missing,
    }


def _graded(scenario: str, outcome: str) -> tuple[str, str]:
    """Outcome and ending of a grade, which may name the ending alone."""
    if outcome in _ENDINGS.values():
        return ENDING_ALONE, outcome
    counts = PRO_SOCIAL.get(scenario, {}).get(outcome)
    return outcome, outcome if counts is None else _ENDINGS[counts]


def _label(cell: object) -> str:
    """Words as the label they make."""
    return re.sub(r"[^a-z0-9]+", "_", str(cell or "").lower()).strip("_")


DOCUMENTED = TableLayout(stories, columns=_COLUMNS)
"""CSV as the document's pipeline leaves it."""
