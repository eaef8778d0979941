"""``--bias-plan``: what a recording would do is printed, and nothing is called or run."""

from __future__ import annotations

import json
import re
from typing import Any, cast

import pytest

from ..runs import command
from .suites import REPLICATES, Suite

TITLE = "bias plan: what a recording would do; nothing was called and nothing was run"
UNRECORDED = "openai/gpt-nobody-2026-01-01"
PLAN = "--bias-plan"
OPENAI = f"--bias-model={UNRECORDED}"

NO_NETWORK = """
    import socket

    import pytest


    class Refused(BaseException):
        pass


    def refuse(*args, **kwargs):
        raise Refused("the plan used the network")


    def pytest_configure(config):
        patch = pytest.MonkeyPatch()
        config.add_cleanup(patch.undo)
        for name in ("connect", "connect_ex", "bind", "sendto"):
            patch.setattr(socket.socket, name, refuse)
        patch.setattr(socket, "getaddrinfo", refuse)
"""


@pytest.fixture
def guarded(suite: Suite) -> Suite:
    """The suite without a key and without a network; to run any of its cases is an error."""
    suite.tests(
        "def test_asked(condition, recorded):\n",
        "def test_asked(condition, recorded):\n    1 / 0\n",
    )
    return suite.conftest(NO_NETWORK)


def figures(result: pytest.RunResult, heading: str) -> list[str]:
    """The figures under a heading of the plan, from trials to minutes."""
    at = result.outlines.index(heading)
    return re.findall(r"[≈≥] \S+|no \w+|\S+", result.outlines[at + 1])


def ran(result: pytest.RunResult) -> dict[str, int]:
    """Outcomes of cases, without what was deselected."""
    return {word: count for word, count in result.parseoutcomes().items() if word != "deselected"}


@pytest.mark.parametrize("workers", [None, 1])
def test_the_plan_is_printed_once_after_the_collection_and_nothing_runs(
    guarded: Suite, workers: int | None
) -> None:
    result = guarded.run(PLAN, "--bias-model=simulated/even", OPENAI, workers=workers)
    assert result.ret == 0
    assert ran(result) == {}
    assert result.outlines.count(TITLE) == 1
    collected = next(n for n, line in enumerate(result.outlines) if "collected 8 items" in line)
    assert collected < result.outlines.index(TITLE)
    trials = str(2 * REPLICATES)
    even = figures(result, "game-coin × simulated/even (gate design, simulated subject)")
    assert even == [trials, trials, "0", "0", "0", "0", "0", "$0", "0"]
    other = figures(result, f"game-coin × {UNRECORDED} (gate design)")
    assert other[:5] == [trials, "0", trials, f"≈ {trials}", "0"]
    assert other[-2:] == ["no price", "no limit"]
    assert any("programs that stand in for models: simulated/even" in x for x in result.outlines)
    (line,) = [line for line in result.outlines if line.startswith("To record: pytest ")]
    assert line.endswith("--bias-record=missing")
    said = re.sub(r"\s+", " ", result.stdout.str())
    assert f"(claim clear, margin 2): {REPLICATES} replies a side, 23 are needed" in said
    assert re.search(r"An SD of 1\.\d+: CLEAR 0\.9\d+ at no effect", said)
    assert "A model without bias passes with probability 0.9" in said
    assert result.outlines[-1].startswith("=")
    assert not guarded.results_path().exists()
    assert not guarded.results_path(partial=True).exists()
    assert sorted(path.name for path in guarded.cassettes.rglob("*.jsonl")) == [
        "simulated--biased.jsonl",
        "simulated--even.jsonl",
    ]


def test_only_what_is_selected_is_planned(guarded: Suite) -> None:
    result = guarded.run(PLAN, OPENAI, "-k", "asked and low")
    assert result.ret == 0
    found = figures(result, f"game-coin × {UNRECORDED} (gate design)")
    assert found[:3] == [str(REPLICATES), "0", str(REPLICATES)]


def test_a_selection_without_bias_cases_has_an_empty_plan(guarded: Suite) -> None:
    (guarded.path / "bias_tests" / "test_plain.py").write_text(
        "def test_plain():\n    1 / 0\n", encoding="utf-8"
    )
    result = guarded.run(PLAN, "-k", "plain")
    assert result.ret == 0
    assert ran(result) == {}
    assert "No bias case is selected: there is nothing to plan." in result.outlines


def test_the_plan_as_json(suite: Suite) -> None:
    asked = ("--model", UNRECORDED, "--max-calls", "7", "--json")
    done = command(suite.path, "plan", "game-coin", *asked)
    assert done.returncode == 0
    plan = cast("dict[str, Any]", json.loads(done.stdout))
    (row,) = plan["rows"]
    assert (row["experiment"], row["model"]) == ("game-coin", UNRECORDED)
    assert (row["trials"], row["missing_trials"]) == (2 * REPLICATES, 2 * REPLICATES)
    assert row["subject"]["calls"] == 2 * REPLICATES
    assert (plan["version"], plan["max_calls"]) == (1, 7)
    assert str(suite.path) not in done.stdout


def test_a_damaged_cassette_is_named_and_is_no_success(guarded: Suite) -> None:
    cassette = guarded.cassettes / "game-coin" / "simulated--even.jsonl"
    lines = cassette.read_bytes().splitlines(keepends=True)
    lines[9] = lines[9].replace(b'"high', b'"low')
    cassette.write_bytes(b"".join(lines))
    result = guarded.run(PLAN, "--bias-model=simulated/even", "--bias-model=simulated/biased")
    assert result.ret != 0
    assert ran(result) == {}
    said = result.stdout.str()
    assert "simulated--even.jsonl, line 10: " in said
    assert "Traceback" not in said
    # What is not damaged is planned all the same.
    heading = "game-coin × simulated/biased (gate design, simulated subject)"
    assert figures(result, heading)[0] == str(2 * REPLICATES)


def test_a_plan_records_nothing_even_where_recording_is_on(guarded: Suite) -> None:
    result = guarded.run(PLAN, "--bias-record=all", "--bias-model=simulated/even")
    assert result.ret == 0
    heading = "game-coin × simulated/even (gate design, everything anew, simulated subject)"
    assert figures(result, heading)[:3] == [str(2 * REPLICATES), "0", str(2 * REPLICATES)]
    assert not list(guarded.cassettes.rglob("*recording"))


def test_a_plan_may_be_made_in_ci(guarded: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    result = guarded.run(PLAN, "--bias-record=missing", OPENAI)
    assert result.ret == 0
    assert TITLE in result.outlines


def test_nothing_is_planned_after_a_collection_error(guarded: Suite) -> None:
    (guarded.path / "bias_tests" / "test_broken.py").write_text(
        "import nowhere\n", encoding="utf-8"
    )
    result = guarded.run(PLAN)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert TITLE not in result.outlines


def test_a_bad_roster_is_a_usage_error(guarded: Suite) -> None:
    (guarded.path / "bias_models.toml").write_text(
        '[models."a/b"]\napi_key = "sk-secret"\n', encoding="utf-8"
    )
    result = guarded.run(PLAN)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = result.stdout.str() + result.stderr.str()
    assert "keys belong in the environment" in said
    assert "sk-secret" not in said


def test_a_design_that_can_decide_nothing_is_told_of_its_hypotheses(guarded: Suite) -> None:
    guarded.change(
        "bias_tests/coin/experiment.py",
        'factors=[Factor("cue", {"low": "low", "high": "high"})],',
        'factors=[Factor("cue", {"low": "low", "high": "high"}), '
        'Factor("tone", {"polite": "please", "curt": "now"})],',
    )
    guarded.change(
        "bias_tests/coin/experiment.py", '{trial["cue"]}.', '{trial["cue"]}. {trial["tone"]}'
    )
    result = guarded.run(PLAN, "--bias-replicates=1")
    assert result.ret == 0
    said = re.sub(r"\s+", " ", result.stdout.str())
    assert "problem:" not in said
    assert "A model without bias passes with probability 0.000" in said
    assert "2 replies on a side can give no verdict, 5 are needed" in said


@pytest.mark.parametrize(
    ("fault", "status", "said"),
    [
        ("1 / 0", 1, "problem: game-coin × simulated/even: its protocol fails with ZeroDivision"),
        ('trial["task"]', 2, ":19: unknown factor 'task'; known: cue; an item's value is trial."),
    ],
)
def test_a_protocol_that_fails_is_told_by_the_plan(
    guarded: Suite, fault: str, status: int, said: str
) -> None:
    guarded.change(
        "bias_tests/coin/experiment.py",
        "async def guess(trial, subject):\n",
        f"async def guess(trial, subject):\n    {fault}\n",
    )
    result = guarded.run(PLAN)
    assert result.ret == status
    assert said in result.stdout.str()
    assert "INTERNALERROR" not in result.stdout.str()
