"""Shards of a recording: each records its own trials, judges nothing, and all of them are one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bias.cli.entry import main

from .suites import REPLICATES, Suite
from .test_plan import figures

RECORD = ("--bias-model=simulated/drifted", "--bias-record=missing")
TRIALS = 2 * REPLICATES


def lines(path: Path) -> dict[str, Any]:
    """Key → what was asked and replied, without what is of the moment: times, and ids of calls."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        value = json.loads(line)
        if "key" in value:
            for name in ("latency", "recorded_at", "body"):
                del value["reply"][name]
            del value["sum"]
            found[value["key"]] = value
    return found


def cassette(folder: Path) -> Path:
    return folder / "game-coin" / "simulated--drifted.jsonl"


def test_three_shards_are_the_recording_of_one_process(suite: Suite) -> None:
    assert suite.run(*RECORD, "--bias-cassettes=one").ret == 1  # drifted is biased
    folders = [f"part{number}" for number in (1, 2, 3)]
    for number, folder in enumerate(folders, start=1):
        shard = (f"--bias-shard={number}/3", f"--bias-cassettes={folder}")
        result = suite.run(*RECORD, *shard, workers=1 if number == 1 else None)
        assert result.ret == 0
        own = len(lines(cassette(suite.path / folder)))
        assert 0 < own < TRIALS
        result.stdout.fnmatch_lines(
            [
                f"bias: recording (missing, shard {number}/3) into {folder}",
                f"shard {number}/3: {own} of {own} missing trials are recorded",
                "NO VERDICT: a shard is a part; join all of them with pytest-bias cassettes join",
            ]
        )
        assert not suite.results_path(partial=True).exists()
        again = suite.run(*RECORD, *shard)
        assert again.ret == 0
        again.stdout.fnmatch_lines([f"shard {number}/3: 0 of 0 missing trials are recorded"])
    paths = [str(suite.path / folder) for folder in folders]
    assert main(["cassettes", "join", *paths, "--into", str(suite.path / "all")]) == 0
    assert lines(cassette(suite.path / "all")) == lines(cassette(suite.path / "one"))
    assert len(lines(cassette(suite.path / "all"))) == TRIALS
    replayed = suite.run("--bias-model=simulated/drifted", "--bias-cassettes=all")
    assert replayed.ret == 1
    replayed.assert_outcomes(passed=3, failed=1)


def test_a_plan_of_a_shard_counts_its_own_trials(suite: Suite) -> None:
    found = []
    for number in (1, 2):
        shard = f"--bias-shard={number}/2"
        model = "--bias-model=simulated/drifted"
        result = suite.run(model, "--bias-plan", shard)
        assert result.ret == 0
        heading = "game-coin × simulated/drifted (gate design, simulated subject)"
        _, _, missing, *_ = figures(result, heading)
        found.append(int(missing))
    assert sum(found) == TRIALS
    assert min(found) > 0


def test_a_shard_that_is_not_whole_is_no_success(suite: Suite) -> None:
    capped = suite.run(*RECORD, "--bias-shard=1/2", "--bias-max-calls=3")
    assert capped.ret == 1
    said = [line for line in capped.outlines if "missing trials are recorded" in line]
    assert [line.partition("3 of")[0] for line in said] == ["problem: shard 1/2: "]
    failed = suite.run(*RECORD, "--bias-shard=1/2", "--bias-cassettes=pytest.ini/below")
    assert failed.ret == 1
    failed.stdout.fnmatch_lines(["problem: recording game-coin with simulated/drifted: *"])


def test_a_process_that_ends_before_the_shard_is_said_ends_badly(suite: Suite) -> None:
    suite.conftest(
        """
        import os
        def pytest_runtest_protocol(item): ...
        def pytest_collection_finish(session): os._exit(0)
        """
    )
    assert suite.run(*RECORD, "--bias-shard=1/2", process=True).ret == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--bias-shard=1/2",), "goes with --bias-record=missing or --bias-plan"),
        (("--bias-shard=3/2", "--bias-record=missing"), "must be K/N"),
        (("--bias-shard=1/2", "--bias-record=all"), "does not go with --bias-record=all"),
    ],
)
def test_what_is_no_shard_is_a_usage_error(
    suite: Suite, options: tuple[str, ...], words: str
) -> None:
    result = suite.run("--bias-model=simulated/drifted", *options)
    assert result.ret == 4
    assert words in result.stderr.str()
    assert not cassette(suite.cassettes).exists()
