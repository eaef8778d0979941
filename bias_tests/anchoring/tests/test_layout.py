"""The document's JSON Lines, made of the simulated subject's replies, read as a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # ships no types
import pytest

from pytest_bias import analyze
from pytest_bias.errors import BadData
from pytest_bias.experiments.records import Outcome
from pytest_bias.tables.subjects import TableSource, read_table
from pytest_bias.workbench.study import Results

from ..experiment import ALL_IN_ONE

SUBJECT = "simulated/drifted"
IDS = {"low": "low-anchor-3mo", "high": "high-anchor-9mo"}
DEMANDS = {"low": 3, "high": 9}


@pytest.fixture(scope="module")
def recorded() -> Results:
    return analyze(ALL_IN_ONE.id, SUBJECT, design="documented")


def line(outcome: Outcome) -> dict[str, object]:
    """A trial as the document's program writes it."""
    level = outcome.trial.condition.id
    values = {m.name: m.of(outcome.result) for m in ALL_IN_ONE.measures}
    return {
        "experimentId": "any",
        "model": SUBJECT,
        "conditionId": IDS[level],
        "runIndex": outcome.trial.replicate,
        "params": {"prosecutorRecommendationMonths": DEMANDS[level]},
        "result": {
            "prosecutorRecommendationMonths": DEMANDS[level],
            "prosecutorEvaluation": values["prosecutor_evaluation"],
            "defenseAttorneyEvaluation": values["defence_evaluation"],
            "sentenceMonths": values["sentence_months"],
        },
        "collectedAt": "2026-02-05T13:51:23.941Z",
    }


def written(path: Path, lines: Sequence[object]) -> Path:
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def imported(path: Path, lines: Sequence[object]) -> TableSource:
    (found,) = read_table(written(path, lines), ALL_IN_ONE).values()
    return found


@pytest.mark.requirement("ANCHOR-45")
def test_its_lines_give_the_findings_of_the_cassette(recorded: Results, tmp_path: Path) -> None:
    path = written(tmp_path / "results.jsonl", [line(each) for each in recorded.outcomes])
    # How a demand was repeated at first is not in them: they hold valid replies alone.
    echo = "prosecutor_months-high-low"
    found = analyze(ALL_IN_ONE.id, path).findings
    assert found.loc[echo, "status"] == "not asked"
    assert found.drop(echo).equals(recorded.findings.drop(echo))


@pytest.mark.requirement("ANCHOR-45")
def test_the_last_line_of_a_run_counts_and_an_error_is_a_missing_trial(
    recorded: Results, tmp_path: Path
) -> None:
    first, second = (line(each) for each in recorded.outcomes[:2])
    failed = {**second, "result": None, "error": "no JSON"}
    found = imported(tmp_path / "r.jsonl", [failed, {**first, "error": "x"}, first])
    assert [outcome.missing for outcome in found.outcomes] == ["error", None]
    published = found.recording.published
    assert published is not None
    assert published.note.split("; ", 1)[1] == "1 of 3 lines are runs that a later line repeats"
    result = first["result"]
    assert isinstance(result, dict)
    echo = {**first, "result": {**result, "prosecutorRecommendationMonths": 12}}
    for each, missing in (
        (echo, "wrong_echo"),
        ({**echo, "params": None}, "wrong_echo"),
        ({**first, "params": None}, None),
    ):
        (outcome,) = imported(tmp_path / "r.jsonl", [each]).outcomes
        assert outcome.missing == missing
    with pytest.raises(BadData, match="line 1, column 'demand': 'mid' is no level of demand"):
        imported(tmp_path / "r.jsonl", [{**first, "conditionId": "mid"}])
    other = {**echo, "params": {"prosecutorRecommendationMonths": 12}}
    with pytest.raises(BadData, match=r"-anchor-.mo' is no level of demand"):
        imported(tmp_path / "r.jsonl", [other])


@pytest.mark.parametrize("column", [{}, {"missing": None}])
def test_failures_that_were_left_out_of_a_table_are_not_cleared(
    column: dict[str, None],
) -> None:
    values = {"prosecutor_evaluation": "just right", "defence_evaluation": "just right"}
    rows = [
        {"demand": demand, **values, "sentence_months": 5 + number % 2, **column}
        for demand, count in (("low", 300), ("high", 150))
        for number in range(count)
    ]
    verdicts = analyze(ALL_IN_ONE.id, pd.DataFrame(rows)).verdicts
    (verdict,) = (each for each in verdicts if each.id.startswith("missing"))
    if column:
        assert verdict.status == "CLEAR"
    else:
        assert verdict.status == "INCONCLUSIVE"
        assert "the table does not say what failed" in verdict.detail
