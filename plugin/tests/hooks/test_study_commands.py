"""``pytest-bias plan``, ``record``, ``run`` and ``analyze`` as processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .suites import Suite

ROOT = Path(__file__).parents[3]


def _command(suite: Suite, *arguments: str) -> pytest.RunResult:
    return suite.pytester.run(sys.executable, "-m", "pytest_bias.cli.entry", *arguments)


def test_a_run_writes_its_files_and_its_trials_are_a_table(suite: Suite) -> None:
    (suite.cassettes / "game-coin" / "simulated--even.jsonl").unlink()
    model = ("--model", "simulated/even")
    files = ("--out", "t.jsonl", "--analysis", "a.json", "--report", "r.md")
    refused = _command(suite, "run", "game-coin", *model, "--out", "no/t.jsonl")
    assert refused.ret == 2
    assert "there is no folder no" in refused.stderr.str()
    assert not (suite.cassettes / "game-coin" / "simulated--even.jsonl").exists()
    ran = _command(suite, "run", "game-coin", *model, *files)
    assert (ran.ret, ran.outlines) == (0, [])
    rows = [json.loads(line) for line in (suite.path / "t.jsonl").read_text().splitlines()]
    assert len({row["trial"] for row in rows}) == 24
    found = json.loads((suite.path / "a.json").read_text())
    assert "PASS" in (suite.path / "r.md").read_text()
    tabled = _command(suite, "analyze", "game-coin", "--table", "t.jsonl", "--json")
    (analysis,) = json.loads(tabled.stdout.str())["analyses"]
    (recorded,) = found["analyses"]
    names = ("estimate", "interval", "p_alarm", "p_clear")
    for one, other in zip(analysis["verdicts"], recorded["verdicts"], strict=True):
        assert [one["finding"][n] for n in names] == [other["finding"][n] for n in names]


def test_without_plots_the_other_files_are_written_and_nothing_is_drawn(suite: Suite) -> None:
    command = [sys.executable, "-m", "pytest_bias.cli.entry", "analyze", "cv-screening"]
    where = ("--model", "simulated/even", "--output", suite.path / "o")
    done = subprocess.run(  # noqa: S603  (our own command)
        [*command, *where, "--no-plots", "--methodology"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "margin 0.25: " in done.stdout
    names = {path.suffix for path in (suite.path / "o").rglob("*") if path.is_file()}
    assert ".json" in names
    assert not names & {".png", ".svg", ".html"}


def test_wrong_and_missing_ends_with_2_and_a_bias_with_1(suite: Suite) -> None:
    missing = _command(suite, "analyze", "game-coin", "--model", "simulated/drifted")
    assert missing.ret == 2
    assert "pytest-bias record game-coin --model simulated/drifted" in missing.stderr.str()
    nobody = _command(suite, "analyze", "game-coin", "--model", "nobody")
    assert nobody.ret == 2
    assert "write it as provider/model" in nobody.stderr.str()
    near = _command(suite, "plan", "game-con", "--model", "simulated/even")
    assert near.ret == 2
    assert "did you mean 'game-coin'" in near.stderr.str()
    biased = _command(suite, "analyze", "coin", "--model", "simulated/biased", "--output", "o")
    assert biased.ret == 1
    assert (suite.path / "o" / "bias-report.html").exists()
    full = _command(suite, "run", "coin", "--model", "simulated/even", "--out", "/dev/full")
    assert full.ret == 2
    assert "every reply is recorded" in full.stderr.str()
    record = _command(suite, "record", "game-coin", "--model", "simulated/even")
    plan = _command(suite, "plan", "game-coin", "--model", "simulated/even")
    assert (record.ret, plan.ret) == (0, 0)
    plan.stdout.fnmatch_lines(["bias plan:*"])
