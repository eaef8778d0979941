"""Data sets of the shipped experiments, read as tables: as from the cassette, in all formats."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # ships no types
import pytest

from pytest_bias import analyze
from pytest_bias.contrasts.cases import Registry
from pytest_bias.report.dataset import DataValue, dataset_of
from pytest_bias.report.dataset_files import parquet_bytes
from pytest_bias.settings.published import TableEntry
from pytest_bias.tables.subjects import read_table
from pytest_bias.workbench.study import StudyOptions
from pytest_bias.workbench.suite import declared_for

SUBJECT = "simulated/drifted"
DOCUMENTED: StudyOptions = {"design": "documented"}


@pytest.fixture(scope="module")
def registry() -> Registry:
    return declared_for([], "bias_tests")[0]


def cell(value: DataValue) -> str:
    text = "" if value is None else str(value)
    return f'"{text}"' if "," in text else text


# The gate design, but of narrative: 5,760 stories take ten times the time of 720.
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("anchoring-prosecutor-sentencing", {}),
        ("anchoring-prosecutor-sentencing-all-in-one", {}),
        ("cv-screening", {}),
        ("linguistic-audit", {}),
        ("narrative-personas", DOCUMENTED),
        ("recommendation", {}),
    ],
)
def test_a_data_set_read_as_a_table_gives_the_findings_of_the_cassette(
    registry: Registry, name: str, options: StudyOptions, tmp_path: Path
) -> None:
    experiment = registry[name].experiment
    recorded = analyze(name, SUBJECT, **options)
    data = dataset_of(
        experiment,
        experiment.design(recorded.analysis.design),
        SUBJECT,
        recorded.outcomes,
        recording=recorded.analysis.recording,
        version="0",
        licence="CC0-1.0",
    )
    (tmp_path / "t.parquet").write_bytes(parquet_bytes(data))
    names = [column.name for column in data.about.columns]
    rows = [dict(zip(names, row, strict=True)) for row in data.rows]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    texts = [",".join(map(cell, row)) for row in (names, *data.rows)]
    (tmp_path / "t.csv").write_text("\n".join(texts), encoding="utf-8")
    tabled = analyze(name, tmp_path / "t.parquet")
    assert tabled.findings.equals(recorded.findings)
    assert tabled.analysis.recording.judge == recorded.analysis.recording.judge
    given = TableEntry(path="t", experiment=name, judge=recorded.analysis.recording.judge)
    frame = pd.DataFrame(rows)
    twins = tmp_path / "t.csv", tmp_path / "t.jsonl", frame, frame.convert_dtypes()
    for twin in twins:  # the same trials, of which findings are a function
        (found,) = read_table(twin, experiment, given).values()
        assert found.outcomes == tabled.outcomes
