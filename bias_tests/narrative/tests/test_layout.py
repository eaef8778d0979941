"""The document's CSV of stories, made of the simulated subject's, read as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # ships no types
import pytest

from pytest_bias import NOT_SCORED, analyze
from pytest_bias.errors import BadData
from pytest_bias.experiments.records import Outcome
from pytest_bias.settings.table_entry import TableEntry
from pytest_bias.tables.subjects import TableSource, read_table
from pytest_bias.workbench.study import Results

from ..experiment import NARRATIVE

JUDGE = "simulated/judge"
ROW = {"persona": "Noir", "group": "Black Female", "name": "Aisha", "context": "Financial Stress"}
ROW |= {"scenario": "Wallet", "story": "She kept it.", "outcome": "Kept", "hesitation": "2"}


@pytest.fixture(scope="module")
def recorded() -> Results:
    return analyze(NARRATIVE.id, "simulated/biased", design="documented")


def story(outcome: Outcome, *, again: bool) -> Mapping[str, object]:
    """A trial as the document's pipeline writes it; a second grade is ours alone."""
    levels, told = outcome.trial.condition.levels, outcome.result
    labels = [levels[name].replace("_", " ").title() for name in ("persona", "group", "ses")]
    names = ("persona", "group", "context")
    found: dict[str, object] = dict(zip(names, labels, strict=True))
    found |= {"name": outcome.trial["group"], "scenario": levels["scenario"]}
    second = ("outcome_again", "hesitation_again") if again else ()
    for name in ("story", "outcome", "hesitation", *second):
        found[name] = "" if told is None else getattr(told, name)
    return found


def imported(path: Path, rows: Sequence[Mapping[str, Any]]) -> TableSource:
    pd.DataFrame(rows).to_csv(path, index=False)
    entry = TableEntry(path=path.name, experiment=NARRATIVE.id, judge=JUDGE)
    (found,) = read_table(path, NARRATIVE, entry).values()
    return found


def analysed(path: Path, rows: Sequence[Mapping[str, Any]]) -> Results:
    pd.DataFrame(rows).to_csv(path, index=False)
    return analyze(NARRATIVE.id, path, judge=JUDGE)


@pytest.mark.requirement("NARR-30")
def test_its_rows_give_the_findings_of_the_cassette(recorded: Results, tmp_path: Path) -> None:
    rows = [story(each, again=True) for each in recorded.outcomes]
    assert analysed(tmp_path / "s.csv", rows).findings.equals(recorded.findings)


@pytest.mark.requirement("NARR-30")
def test_without_a_second_grade_or_an_author_it_finds_what_there_is(
    recorded: Results, tmp_path: Path
) -> None:
    rows = [story(each, again=False) for each in recorded.outcomes]
    found = analysed(tmp_path / "s.csv", [row for row in rows if row["persona"] != "Utopian"])
    assert len(found.outcomes) == 480
    one = found.findings.loc["hesitation-default-noir"]
    names = ["estimate", "low", "high", "p", "replies", "missing"]
    assert [*one[names]] == [*recorded.findings.loc["hesitation-default-noir", names]]
    assert one["reason"] == "unreliable"
    graded = found.findings[~found.findings.index.str.startswith("missing-")]
    assert set(graded["status"]) <= {"INCONCLUSIVE", "not seen", "DESCRIBED"}
    published = found.analysis.recording.published
    assert published is not None
    assert published.note.endswith("how far the judge agrees with itself is unknown")


@pytest.mark.requirement("NARR-30")
def test_endings_alone_and_stories_without_a_grade(tmp_path: Path) -> None:
    rows = [{**ROW, "outcome": "Pro-Social"}, ROW, {**ROW, "story": ""}, {**ROW, "outcome": ""}]
    rows += [{**ROW, "outcome": "ambiguous"}, {**ROW, "hesitation": ""}]
    found = imported(tmp_path / "s.csv", rows)
    assert [each.missing for each in found.outcomes[2:]] == [
        *("story_empty", "judge_no_grade", "ambiguous_outcome", "judge_no_grade")
    ]
    names = ("outcome", "pro_social", "ending", "words", "outcome_again")
    graded = [dict(each.values or {}) for each in found.outcomes[:2]]  # noqa: PD011  (no frame)
    assert [tuple(row[name] for name in names) for row in graded] == [
        ("ending_alone", True, "pro_social", 3, NOT_SCORED),
        ("kept", False, "anti_social", 3, NOT_SCORED),
    ]
    published = found.recording.published
    assert published is not None
    assert published.note.endswith("of 1 of 6 stories the ending is known, and no outcome")


def test_all_that_is_wrong_is_told_with_its_lines(tmp_path: Path) -> None:
    rows = [
        {**ROW, "replicate": 1},
        {**ROW, "replicate": 1},
        {**ROW, "replicate": 2, "hesitation": 6, "outcome": "sold"},
        {**ROW, "replicate": 3, "name": "Greg", "persona": "Gothic"},
    ]
    with pytest.raises(BadData) as refused:
        imported(tmp_path / "s.csv", rows)
    told = str(refused.value).splitlines()[1:]
    assert [line.partition(":")[0].strip() for line in told] == [
        "line 3, column 'replicate'",
        "line 4, column 'ending'",
        "line 4, column 'hesitation'",
        "line 4, column 'outcome'",
        "line 4, column 'pro_social'",
        "line 5, column 'persona'",
    ]
    with pytest.raises(BadData, match="column 'ses': there is no such column"):
        imported(tmp_path / "s.csv", [{k: v for k, v in ROW.items() if k != "context"}])
    again = pd.DataFrame([{**ROW, "outcome_again": "kept", "hesitation_again": 0}])
    entry = TableEntry(path="frame", experiment=NARRATIVE.id, judge=JUDGE)
    with pytest.raises(BadData, match="column 'hesitation_again': 0"):
        read_table(again, NARRATIVE, entry)
