"""The document's JSON Lines, made of the simulated subject's replies, and every format of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_bias.contrasts.cases import Case
from pytest_bias.errors import WrongTable
from pytest_bias.experiments.canonical import dumps
from pytest_bias.experiments.records import Outcome
from pytest_bias.report.dataset import dataset_of
from pytest_bias.report.dataset_files import parquet_bytes
from pytest_bias.settings.published import TableEntry
from pytest_bias.tables.subjects import Replies, read_table
from pytest_bias.verdicts.analysis import Analysis, analyse
from pytest_bias.workbench.analyses import Workbench
from pytest_bias.workbench.configuration import configured
from pytest_bias.workbench.suite import registry_of, suite_modules

from ..experiment import ALL_IN_ONE

SUBJECT = "simulated/drifted"
IDS = {"low": "low-anchor-3mo", "high": "high-anchor-9mo"}
DEMANDS = {"low": 3, "high": 9}


@pytest.fixture(scope="module")
def bench() -> Workbench:
    found = Workbench(configured(models=(SUBJECT,), design="documented"))
    found.registry = registry_of(suite_modules("bias_tests/anchoring"))
    return found


@pytest.fixture(scope="module")
def recorded(bench: Workbench) -> tuple[Outcome, ...]:
    return tuple(bench.replayed(case()))


def case() -> Case:
    return Case("hypothesis", ALL_IN_ONE, SUBJECT, ALL_IN_ONE.design("documented"))


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


def imported(path: Path, lines: Sequence[object]) -> Replies:
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    entry = TableEntry(path=path.name, experiment=ALL_IN_ONE.id, layout="documented")
    (found,) = read_table(path, ALL_IN_ONE, entry).values()
    return found


def verdicts(bench: Workbench, replies: Replies) -> Analysis:
    registered = bench.registry[ALL_IN_ONE.id]
    return analyse(
        ALL_IN_ONE,
        replies.design,
        replies.model,
        replies.outcomes,
        hypotheses=tuple(registered.hypotheses.values()),
        controls=tuple(registered.controls.values()),
        recording=replies.recording,
        allocation=bench.allocation(ALL_IN_ONE.id),
    )


def plain(analysis: Analysis) -> list[dict[str, object]]:
    found = [json.loads(dumps(e, "it")) for e in (*analysis.verdicts, *analysis.controls)]
    return [{k: v for k, v in each.items() if k != "model"} for each in found]


def test_its_lines_give_the_findings_of_the_cassette(
    bench: Workbench, recorded: tuple[Outcome, ...], tmp_path: Path
) -> None:
    found = imported(tmp_path / "results.jsonl", [line(each) for each in recorded])
    assert plain(verdicts(bench, found)) == plain(bench.made(case()))


def test_a_data_set_read_as_a_table_gives_the_findings_of_the_cassette(
    bench: Workbench, recorded: tuple[Outcome, ...], tmp_path: Path
) -> None:
    whole = case()
    data = dataset_of(
        ALL_IN_ONE,
        whole.design,
        SUBJECT,
        recorded,
        recording=bench.recording(whole),
        version="0",
        licence="CC0-1.0",
    )
    names = [column.name for column in data.about.columns]
    rows = [dict(zip(names, row, strict=True)) for row in data.rows]
    (tmp_path / "t.parquet").write_bytes(parquet_bytes(data))
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    texts = [",".join("" if v is None else str(v) for v in row.values()) for row in rows]
    (tmp_path / "t.csv").write_text("\n".join([",".join(names), *texts]), encoding="utf-8")
    expected = plain(bench.made(whole))
    for path in sorted(tmp_path.iterdir()):
        (found,) = read_table(path, ALL_IN_ONE).values()
        assert plain(verdicts(bench, found)) == expected, path.name


def test_the_last_line_of_a_run_counts_and_an_error_is_a_missing_trial(
    recorded: tuple[Outcome, ...], tmp_path: Path
) -> None:
    first, second = (line(each) for each in recorded[:2])
    failed = {**second, "result": None, "error": "no JSON"}
    found = imported(tmp_path / "r.jsonl", [failed, {**first, "error": "x"}, first])
    assert [outcome.missing for outcome in found.outcomes] == ["error", None]
    assert found.layout_note == "1 of 3 lines are runs that a later line repeats"
    echo = {**first, "params": {"prosecutorRecommendationMonths": 9}}
    (wrong,) = imported(tmp_path / "r.jsonl", [echo]).outcomes
    assert wrong.missing == "wrong_echo"
    with pytest.raises(WrongTable, match="line 1, column 'demand': 'mid' is no level of demand"):
        imported(tmp_path / "r.jsonl", [{**first, "conditionId": "mid"}])
