"""Missing, partly missing, changed and damaged recordings."""

from __future__ import annotations

import pytest

from .suites import Suite, section

pytestmark = pytest.mark.fail_closed

DRIFTED = "--bias-model=simulated/drifted"


@pytest.mark.parametrize("workers", [None, 1])
def test_model_without_a_cassette(suite: Suite, workers: int | None) -> None:
    result = suite.run("--bias-model=simulated/even", DRIFTED, workers=workers)
    assert result.ret == 1
    # The fixtures of two cases need recordings, the others are judged after their body.
    result.assert_outcomes(passed=4, failed=1, errors=3)
    short = "NotRecorded: no recordings of game-coin with simulated/drifted"
    assert result.outlines.count(short) == 4
    lines = section(result)
    (at,) = [i for i, line in enumerate(lines) if "there is no cassette" in line]
    assert lines[at].startswith("game-coin × simulated/drifted: there is no cassette ")
    assert lines[at].endswith("cassettes/game-coin/simulated--drifted.jsonl.")
    assert lines[at + 1] == "  Recorded are: simulated--biased, simulated--even"
    assert lines[at + 2].endswith("--bias-model simulated/drifted --bias-record=missing")
    results = suite.results()
    assert results["lost"] == []
    assert results["suite"] == "NO VERDICT"
    assert "NO VERDICT: 4 cases failed for another reason than a verdict" in lines
    assert [analysis["model"] for analysis in results["analyses"]] == ["simulated/even"]


def test_partly_recorded(suite: Suite) -> None:
    result = suite.run("--bias-replicates=14")
    assert result.ret == 1
    lines = section(result)
    assert [
        line
        for line in lines
        if line.startswith("4 of 28 trials of game-coin with simulated/even are not recorded: ")
    ]
    assert "  Nearest recording: the same condition, recorded up to replicate 12." in lines
    result.stdout.fnmatch_lines(
        ["NotRecorded: 2 of 14 trials of game-coin with simulated/even are not recorded"]
    )


def test_changed_prompt(suite: Suite) -> None:
    suite.change("bias_tests/coin/experiment.py", "Reply with JSON", "Answer in JSON")
    result = suite.run("-k", "asked and low")
    assert result.ret == 1
    lines = section(result)
    at = next(i for i, line in enumerate(lines) if "message 1 (user) has changed:" in line)
    assert lines[at + 1 : at + 3] == [
        "    -Game coin. The cue is low. Reply with JSON: number, cue.",
        "    +Game coin. The cue is low. Answer in JSON: number, cue.",
    ]


def test_changed_model_is_another_recording(suite: Suite) -> None:
    folder = suite.cassettes / "game-coin"
    (folder / "simulated--even.jsonl").rename(folder / "simulated--drifted.jsonl")
    result = suite.run(DRIFTED)
    assert result.ret == 1
    assert "passed" not in result.parseoutcomes()
