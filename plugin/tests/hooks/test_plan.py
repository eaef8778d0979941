"""``--bias-plan`` and shards: what a recording would do, and one that is done in parts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_bias.cli.commands import main

from .suites import REPLICATES, Scenario, Suite, scenarios

TRIALS = str(2 * REPLICATES)
TITLE = "bias plan: what a recording would do; nothing was called and nothing was run"
UNRECORDED = "openai/gpt-nobody-2026-01-01"
EVEN, BIASED = "--bias-model=simulated/even", "--bias-model=simulated/biased"
OPENAI = f"--bias-model={UNRECORDED}"
FILE = "bias_tests/coin/experiment.py"

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
    head = "def test_asked(condition, recorded):\n"
    return suite.tests(head, f"{head}    1 / 0\n").conftest(NO_NETWORK)


def figures(result: pytest.RunResult, heading: str) -> list[str]:
    """The figures under a heading of the plan, from trials to minutes."""
    (at,) = (n for n, line in enumerate(result.outlines) if line.startswith(heading))
    return re.findall(r"[≈≥] \S+|no \w+|\S+", result.outlines[at + 1])


def plain(suite: Suite) -> None:
    suite.file("bias_tests/test_plain.py", "def test_plain():\n    1 / 0\n")


def damaged(suite: Suite) -> None:
    cassette = suite.cassettes / "game-coin" / "simulated--even.jsonl"
    lines = cassette.read_bytes().splitlines(keepends=True)
    lines[9] = lines[9].replace(b'"high', b'"low')
    cassette.write_bytes(b"".join(lines))


def in_ci(suite: Suite) -> None:
    suite.monkeypatch.setenv("CI", "true")


def broken(suite: Suite) -> None:
    suite.file("bias_tests/test_broken.py", "import nowhere\n")


def undecided(suite: Suite) -> None:
    old = 'Factor("cue", {"low": "low", "high": "high"})'
    suite.change(FILE, old, f'{old}, Factor("tone", {{"polite": "please", "curt": "now"}})')
    suite.change(FILE, '{trial["cue"]}.', '{trial["cue"]}. {trial["tone"]}')


def fault(suite: Suite, code: str) -> None:
    head = "async def guess(trial, subject):\n"
    suite.change(FILE, head, f"{head}    {code}\n")


COLLECTED = "collected 8 items"
PLANS = {
    "two models": Scenario(None, f"{EVEN} {OPENAI}", 0, "", TITLE, COLLECTED),
    "no bias case": Scenario(plain, "-k plain", 0, "", "No bias case is selected"),
    "damage": Scenario(damaged, f"{EVEN} {BIASED}", 1, "", "simulated--even.jsonl, line 10: "),
    "recording on": Scenario(None, f"--bias-record=all {EVEN}", 0, "", TITLE),
    "in CI": Scenario(in_ci, f"--bias-record=missing {OPENAI}", 0, "", TITLE),
    "collection error": Scenario(broken, "", 2, "", f"!{TITLE}"),
    "undecided": Scenario(undecided, "--bias-replicates=1", 0, "", "!problem:"),
    "failing": Scenario(
        lambda suite: fault(suite, "1 / 0"), "", 1, "", "problem: … its protocol fails with Zero"
    ),
    "unknown factor": Scenario(
        lambda suite: fault(suite, 'trial["task"]'), "", 2, "", ":19: unknown factor 'task'"
    ),
}


@scenarios(PLANS, "two models")
def test_a_plan_is_printed_once_and_nothing_runs_and_nothing_is_written(
    guarded: Suite, scenario: Scenario
) -> None:
    before = sorted(guarded.cassettes.rglob("*.jsonl*"))
    result = scenario.check(guarded, "--bias-plan")
    assert {*result.parseoutcomes()} <= {"deselected", "errors"}
    assert result.outlines.count(TITLE) <= 1
    assert scenario.change is broken or "Traceback" not in result.stdout.str()
    assert "INTERNALERROR" not in result.stdout.str()
    assert sorted(guarded.cassettes.rglob("*.jsonl*")) == before
    assert not [*guarded.path.glob("bias-results*")]


def test_what_is_planned_is_what_is_selected_and_missing(guarded: Suite) -> None:
    def planned(options: str, heading: str) -> list[str]:
        return figures(guarded.check(f"--bias-plan {options}", 0), f"game-coin × {heading}")

    even = planned(f"{EVEN} {OPENAI}", "simulated/even (gate design, simulated subject)")
    assert even == [TRIALS, TRIALS, "0", "0", "0", "0", "0", "$0", "0"]
    other = planned(f"{EVEN} {OPENAI}", f"{UNRECORDED} (gate design)")
    assert other[:5] == [TRIALS, "0", TRIALS, f"≈ {TRIALS}", "0"]
    assert other[-2:] == ["no price", "no limit"]
    part = planned(f"{OPENAI} -k 'asked and low'", UNRECORDED)
    assert part[:3] == [str(REPLICATES), "0", str(REPLICATES)]
    anew = planned(f"{EVEN} --bias-record=all", "simulated/even (gate design, everything anew")
    assert anew[:3] == [TRIALS, "0", TRIALS]
    shards = [
        int(planned(f"{DRIFTED} --bias-shard={n}/2", "simulated/drifted")[2]) for n in (1, 2)
    ]
    assert (sum(shards), min(shards) > 0) == (int(TRIALS), True)


# --- shards --------------------------------------------------------------------------------------

DRIFTED = "--bias-model=simulated/drifted"
RECORD = f"{DRIFTED} --bias-record=missing"


def lines(folder: Path) -> dict[str, Any]:
    """Key → what was asked and replied, without what is of the moment: times, and ids of calls."""
    found = {}
    text = (folder / "game-coin" / "simulated--drifted.jsonl").read_text(encoding="utf-8")
    for value in map(json.loads, text.splitlines()):
        if "key" in value:
            for name in ("latency", "recorded_at", "body"):
                del value["reply"][name]
            del value["sum"]
            found[value["key"]] = value
    return found


def test_two_shards_are_the_recording_of_one_process(suite: Suite) -> None:
    suite.check(f"{RECORD} --bias-cassettes=one", 1)  # drifted is biased
    folders = [suite.path / f"part{number}" for number in (1, 2)]
    for number, folder in enumerate(folders, start=1):
        shard = f"{RECORD} --bias-shard={number}/2 --bias-cassettes={folder.name}"
        alone = "NO RESULT: a shard is a part; join"
        suite.check(shard, 0, "", alone, workers=1 if number == 1 else None)
        assert 0 < len(lines(folder)) < int(TRIALS)
        assert not suite.results_path(partial=True).exists()
        suite.check(shard, 0, "", f"shard {number}/2: 0 of 0 missing trials are recorded")
    assert main(["cassettes", "join", *map(str, folders), "--into", str(suite.path / "all")]) == 0
    assert lines(suite.path / "all") == lines(suite.path / "one")
    assert len(lines(suite.path / "all")) == int(TRIALS)
    suite.check(f"{DRIFTED} --bias-cassettes=all", 1, "3 passed, 1 failed")


ENDING = """
    import os
    def pytest_runtest_protocol(item): ...
    def pytest_collection_finish(session): os._exit(0)
    """
NOT_WHOLE = {
    "cap": Scenario(None, "--bias-max-calls=3", 1, "", "problem: shard 1/2: 3 of "),
    "folder": Scenario(
        None, "--bias-cassettes=pytest.ini/below", 1, "", "problem: recording game-coin with"
    ),
    "ended": Scenario(lambda suite: suite.conftest(ENDING), "", 1, process=True),
}


@scenarios(NOT_WHOLE)
def test_a_shard_that_is_not_whole_is_no_success(suite: Suite, scenario: Scenario) -> None:
    scenario.check(suite, f"{RECORD} --bias-shard=1/2")
