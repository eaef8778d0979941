"""``--bias-dataset``: what a run writes, alone and with workers, and what it refuses."""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from pytest_bias.cassettes.store import Cassette

from .suites import BOTH, Suite, files_below, section
from .test_fail_closed import BIASED

pq = import_module("pyarrow.parquet")  # it has no types

DATASET = "--bias-dataset=data"
REPOSITORY = Path(__file__).parents[3]


def files(suite: Suite, folder: str = "data") -> dict[str, bytes]:
    return files_below(suite.path / folder)


def rows(suite: Suite, name: str = "simulated--even") -> list[dict[str, Any]]:
    table = pq.read_table(suite.path / f"data/game-coin/{name}.parquet")
    found: list[dict[str, Any]] = table.to_pylist()
    return found


def test_models_one_after_the_other_give_what_they_give_together_with_workers(
    suite: Suite,
) -> None:
    assert suite.run(DATASET).ret == 0
    assert suite.run(BIASED, DATASET).ret == 1
    result = suite.run(*BOTH, "--bias-dataset=together", workers=2)
    assert result.ret == 0
    assert [line for line in section(result) if "written: together" in line] == [
        f"written: together/game-coin/{name}"
        for name in ("simulated--biased.parquet", "simulated--even.parquet", "README.md")
    ]
    assert files(suite) == files(suite, "together")
    assert len(files(suite)) == 3
    page = (suite.path / "data/game-coin/README.md").read_text(encoding="utf-8")
    assert "stand in for models: simulated/biased, simulated/even." in page


def test_by_ini_and_without_any_prompt_or_reply(suite: Suite) -> None:
    keys = "bias_report = off\nbias_dataset = data\nbias_dataset_license = CC0-1.0"
    suite.change("pytest.ini", "bias_report = off", keys)
    assert suite.run().ret == 0
    assert b"`CC0-1.0`" in files(suite)["game-coin/README.md"]
    cassette = Cassette(suite.cassettes / "game-coin" / "simulated--even.jsonl")
    replies = {each.completion.text for each in cassette.interactions()}
    texts = {*cassette.texts().values(), *replies, "The cue is"}
    assert any("Game coin. The cue is" in text for text in texts)
    for content in files(suite).values():
        for text in texts:
            assert text.encode() not in content
            assert json.dumps(text).strip('"').encode() not in content


def test_a_partial_run_writes_whole_files_and_says_that_it_was_partial(suite: Suite) -> None:
    result = suite.run(DATASET, "-k", "asked and high")
    assert result.ret == 0
    assert len(rows(suite)) == 24
    assert {row["cue"] for row in rows(suite)} == {"low", "high"}
    (note,) = [line for line in section(result) if line.startswith("data sets: only of")]
    assert "3 cases not selected" in note
    assert "each has all trials of its design" in note


def test_there_is_none_of_what_is_not_recorded_in_full(suite: Suite) -> None:
    result = suite.run("--bias-replicates=13", DATASET)
    assert result.ret == 1
    assert any(line.startswith("data sets: none of what is not") for line in section(result))
    assert not (suite.path / "data").exists()


def test_a_place_that_cannot_be_written_is_a_problem_of_the_run(suite: Suite) -> None:
    result = suite.run("--bias-dataset=pytest.ini/below")
    assert result.ret == 1
    result.assert_outcomes(passed=4)
    lines = section(result)
    assert [line for line in lines if line.startswith("problem: pytest.ini/below/game-coin/simul")]
    assert "NO VERDICT: see the problems above" in lines


def test_without_pyarrow_nothing_is_run(suite: Suite) -> None:
    hide = "import sys\nsys.modules['pyarrow'] = None\n"
    (suite.path / "hide_pyarrow.py").write_text(hide, encoding="utf-8")
    result = suite.run("-p", "hide_pyarrow", DATASET, process=True)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*pyarrow is not installed*pytest-bias?dataset?*"])


@pytest.mark.requirement("AUDIT-16", "AUDIT-17")
@pytest.mark.parametrize(
    ("folder", "experiment", "trials", "mark"),
    [
        ("anchoring/test_anchoring.py", "anchoring-prosecutor-sentencing", 360, "Lena M."),
        ("linguistic_audit", "linguistic-audit", 2064, "volcano for"),
    ],
)
def test_shipped_experiments(
    suite: Suite, folder: str, experiment: str, trials: int, mark: str
) -> None:
    result = suite.run(
        "-c",
        str(REPOSITORY / "pyproject.toml"),
        f"--rootdir={REPOSITORY}",
        "-p",
        "no:cacheprovider",
        "--bias-results=off",
        "--bias-report=off",
        f"--bias-dataset={suite.path / 'data'}",
        str(REPOSITORY / "bias_tests" / folder),
    )
    assert result.ret == 0
    assert set(files(suite)) == {
        f"{experiment}/README.md",
        f"{experiment}/simulated--even.parquet",
    }
    table = pq.read_table(suite.path / "data" / experiment / "simulated--even.parquet")
    assert table.num_rows == trials
    content = b"".join(files(suite).values())
    assert mark.encode() not in content
    for machine in (os.fspath(REPOSITORY), os.fspath(suite.path), sys.prefix):
        assert machine.encode() not in content
