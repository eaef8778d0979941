"""Stale, missing and damaged recordings in whole runs: no verdict is given."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_bias import SimulatedPrompt
from pytest_bias.cassettes.format import Provenance
from pytest_bias.cassettes.places import cassette_path
from pytest_bias.cassettes.recorder import Recorder
from pytest_bias.cassettes.store import Cassette
from pytest_bias.experiments.experiment import plan
from pytest_bias.experiments.messages import Completion
from pytest_bias.experiments.replay import Wanted, carry_out

from .suites import REPLICATES, Suite, experiment_source, game_of, section
from .test_baselines import WORDS

pytestmark = pytest.mark.fail_closed

MODEL = "openai/coin-1"
AS_IT = f"--bias-model={MODEL}"
BY_HAND = Provenance(simulated=False, wire="made by hand", recorded_with="the tests")
SEEDS = 500
YEARS_AGO = "2001-02-03T04:05:06+00:00"
SUMMARY = f"recordings of game-coin no longer represent this model, {MODEL}:"


def record(
    folder: Path,
    *,
    served: Callable[[int], str] = lambda _: "coin-1",
    id_of: Callable[[int], str] = str,
) -> None:
    """Recordings as a real model's would be: of long ago, each served as ``served`` says."""
    of = game_of(experiment_source())
    assert of.simulated is not None
    answer_as = of.simulated
    recorder = Recorder(Cassette(cassette_path(folder, of.id, MODEL)), BY_HAND)
    for number, trial in enumerate(plan(of, of.design())):

        def answer(wanted: Wanted, number: int = number) -> Completion:
            said = answer_as(SimulatedPrompt("even", wanted.request.messages, number + SEEDS))
            assert said is not None
            body = {"id": id_of(number)}
            completion = Completion(said, "stop", served(number), recorded_at=YEARS_AGO, body=body)
            recorder.add(wanted, completion)
            return completion

        carry_out(of, MODEL, trial, answer)
    recorder.close(of.id, MODEL, merge=True)


@pytest.fixture
def aged(suite: Suite) -> Suite:
    """The suite with recordings of a real model's name."""
    record(suite.cassettes)
    return suite


def told(result: pytest.RunResult) -> list[str]:
    """The lines of the section about stale recordings, from the first of each message."""
    return [line for line in section(result) if "no longer represent" in line]


@pytest.mark.parametrize("workers", [None, 1])
def test_recordings_past_their_age_give_no_verdict(aged: Suite, workers: int | None) -> None:
    result = aged.run(AS_IT, "--bias-max-age=30", workers=workers)
    assert result.ret == 1
    # Conditions are recorded; the control and the hypothesis have nothing to stand on.
    result.assert_outcomes(passed=2, failed=2)
    lines = section(result)
    assert told(result) == [SUMMARY]
    at = lines.index(SUMMARY)
    assert "recorded on 2001-02-03, more than 30 days ago (bias_max_age)" in lines[at + 1]
    assert lines[at + 2].endswith("cassettes/game-coin/openai--coin-1.jsonl")
    assert lines[at + 3].endswith(f"--bias-model {MODEL} --bias-record=all")
    found = aged.results(partial=True)
    assert (found["suite"], found["analyses"]) == ("NO VERDICT", [])


def test_no_xfail_covers_them_and_nothing_is_accepted(aged: Suite) -> None:
    aged.mark("@pytest.mark.xfail")
    result = aged.run(AS_IT, "--bias-max-age=30", *WORDS)
    assert result.ret == 1
    result.assert_outcomes(passed=2, failed=2)
    assert told(result) == [SUMMARY]
    assert not (aged.path / "bias_tests" / "baselines").exists()


def test_a_part_of_the_suite_is_as_stale_as_the_whole(aged: Suite) -> None:
    result = aged.run(AS_IT, "--bias-max-age=30", "-k", "test_number")
    assert result.ret == 1
    result.assert_outcomes(failed=1, deselected=3)
    assert told(result) == [SUMMARY]


def test_without_a_gate_they_are_reported_and_nothing_fails(aged: Suite) -> None:
    result = aged.run(AS_IT, "--bias-max-age=30", "--bias-gate=off", "--bias-report=page.html")
    assert result.ret == 0
    result.assert_outcomes(passed=4)
    lines = section(result)
    assert f"stale: {SUMMARY}" in lines
    assert [line for line in lines if "of recordings that no longer represent the model" in line]
    (words,) = aged.results(partial=True)["stale"]
    assert "Cassette: cassettes/game-coin/openai--coin-1.jsonl" in words
    page = (aged.path / "page.partial.html").read_text(encoding="utf-8")
    assert "Recordings no longer represent their model" in page


def test_copies_give_no_verdict_and_no_xfail_covers_them(suite: Suite) -> None:
    record(suite.cassettes, id_of=lambda number: f"reply-{number // 2}c")
    suite.mark("@pytest.mark.xfail")
    result = suite.run(AS_IT, *WORDS)
    assert result.ret == 1
    result.assert_outcomes(passed=2, failed=2)
    (line,) = told(result)
    lines = section(result)
    why = lines[lines.index(line) + 1]
    number = 2 * REPLICATES
    assert f"{number // 2} of {number} replies are copies from a cache (trial " in why
    assert "it has the id and creation time of a reply in " in why
    assert "--bias-record=missing records these trials again" in why
    found = suite.results(partial=True)
    assert (found["suite"], found["analyses"]) == ("NO VERDICT", [])
    suite.run(AS_IT, "--bias-gate=off")
    ((verdict,),) = (each["verdicts"] for each in suite.results(partial=True)["analyses"])
    assert (verdict["status"], verdict["reason"]) == ("INCONCLUSIVE", "copies")


def allow(suite: Suite, *served: str) -> None:
    """Let these answer as the model."""
    text = f'[models."{MODEL}"]\nserved = {json.dumps(served)}\n'
    (suite.path / "bias_models.toml").write_text(text, encoding="utf-8")


@pytest.fixture
def answered_by_another(suite: Suite) -> Suite:
    """The suite with recordings that another model answered, one reply like the other."""
    record(suite.cassettes, served=lambda _: "dice-9")
    return suite


def test_another_model_than_the_one_asked_for_gives_no_verdict(
    answered_by_another: Suite,
) -> None:
    suite = answered_by_another
    result = suite.run(AS_IT)
    assert result.ret == 1
    result.assert_outcomes(passed=2, failed=2)
    assert told(result) == [SUMMARY]
    words = f"  dice-9 answered where {MODEL} was asked for."
    assert [line for line in section(result) if line.startswith(words)]
    found = suite.results(partial=True)
    assert (found["suite"], found["analyses"]) == ("NO VERDICT", [])
    # An old model is held to the same.
    result = suite.run("--bias-model=simulated/even", f"--bias-baseline={MODEL}")
    assert result.ret == 1
    assert "dice-9 answered where" in result.stdout.str()


def test_whoever_answered_is_shown_beside_the_model_asked_for(
    answered_by_another: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = answered_by_another
    allow(suite, "dice-9")
    summary = suite.path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert suite.run(AS_IT, "--bias-accept").ret == 0
    summary.unlink()
    accepted = "--bias-baseline=bias_tests/baselines/openai--coin-1.json"
    result = suite.run(AS_IT, "--bias-report=page.html", accepted)
    assert result.ret == 0
    assert "  game-coin: answered by dice-9" in section(result)
    assert f"  {MODEL} was answered by dice-9" in section(result)
    page = (suite.path / "page.html").read_text(encoding="utf-8")
    assert "answered by dice-9" in page
    markdown = summary.read_text(encoding="utf-8")
    assert "- game-coin: answered by dice-9" in markdown
    assert f"- {MODEL} was answered by dice-9" in markdown


def test_without_a_gate_another_model_is_shown_and_warned_of(answered_by_another: Suite) -> None:
    result = answered_by_another.run(AS_IT, "--bias-gate=off")
    assert result.ret == 0
    assert f"stale: {SUMMARY}" in section(result)
    assert "  game-coin: answered by dice-9" in section(result)


def test_another_model_than_the_accepted_one_gives_no_verdict(aged: Suite) -> None:
    assert aged.run(AS_IT, "--bias-accept").ret == 0
    cassette_path(aged.cassettes, "game-coin", MODEL).unlink()
    record(aged.cassettes, served=lambda _: "coin-2")
    allow(aged, "coin-2")
    result = aged.run(AS_IT)
    assert result.ret == 1
    result.assert_outcomes(passed=3, failed=1)
    (line,) = [line for line in section(result) if "answered under this name" in line]
    assert "coin-2 answered under this name, and the accepted baseline is of coin-1" in line
    assert aged.run(AS_IT, "--bias-accept").ret == 0


def test_the_plan_lists_them(aged: Suite) -> None:
    result = aged.run(AS_IT, "--bias-max-age=30", "--bias-plan")
    assert result.ret == 0
    words = " ".join(result.stdout.str().split())
    assert "Stale recordings, which no longer represent this model: the oldest reply that" in words
    # Of a part that is recorded the age is known as well.
    result = aged.run(
        AS_IT, "--bias-max-age=30", "--bias-plan", f"--bias-replicates={REPLICATES + 2}"
    )
    assert "Stale recordings" in result.stdout.str()
    assert "Stale recordings" not in aged.run(AS_IT, "--bias-plan").stdout.str()


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
    of_even = "game-coin with simulated/even are not recorded"
    result = suite.run(f"--bias-replicates={REPLICATES + 2}")
    assert result.ret == 1
    lines = section(result)
    assert [
        line
        for line in lines
        if line.startswith(f"4 of {2 * REPLICATES + 4} trials of {of_even}: ")
    ]
    assert (
        f"  Nearest recording: the same condition, recorded up to replicate {REPLICATES}." in lines
    )
    result.stdout.fnmatch_lines([f"NotRecorded: 2 of {REPLICATES + 2} trials of {of_even}"])


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
