"""Stale, missing and damaged recordings in whole runs: no verdict is given."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from pytest_bias import SimulatedPrompt
from pytest_bias.cassettes.format import Provenance
from pytest_bias.cassettes.recorder import Recorder
from pytest_bias.cassettes.store import Cassette, cassette_path
from pytest_bias.experiments.experiment import plan
from pytest_bias.experiments.messages import Completion
from pytest_bias.experiments.replay import PendingRequest, carry_out

from .suites import ACCEPT, REPLICATES, Scenario, Suite, experiment_source, game_of, scenarios

pytestmark = pytest.mark.fail_closed

MODEL = "openai/coin-1"
AS_IT = f"--bias-model={MODEL}"
AGED = f"{AS_IT} --bias-max-age=30"
DRIFTED = "--bias-model=simulated/drifted"
BY_HAND = Provenance(simulated=False, wire="made by hand", recorded_with="the tests")
SEEDS = 500
YEARS_AGO = "2001-02-03T04:05:06+00:00"
SUMMARY = f"recordings of game-coin no longer represent this model, {MODEL}:"


def aged(
    suite: Suite,
    *,
    served: str = "coin-1",
    id_of: Callable[[int], str] = str,
) -> Suite:
    """Have recordings as a real model's would be: of long ago, all served under one name."""
    of = game_of(experiment_source())
    assert of.simulated is not None
    answer_as = of.simulated
    recorder = Recorder(Cassette(cassette_path(suite.cassettes, of.id, MODEL)), BY_HAND)
    for number, trial in enumerate(plan(of, of.design())):

        def answer(wanted: PendingRequest, number: int = number) -> Completion:
            said = answer_as(SimulatedPrompt("even", wanted.request.messages, number + SEEDS))
            assert said is not None
            body = {"id": id_of(number)}
            completion = Completion(said, "stop", served, recorded_at=YEARS_AGO, body=body)
            recorder.add(wanted, completion)
            return completion

        carry_out(of, MODEL, trial, answer)
    recorder.close(merge=True)
    return suite


def marked(suite: Suite) -> None:
    aged(suite).mark("@pytest.mark.xfail")


def copied(suite: Suite) -> None:
    aged(suite, id_of=lambda number: f"reply-{number // 2}c").mark("@pytest.mark.xfail")


def by_another(suite: Suite) -> None:
    aged(suite, served="dice-9")


def allow(suite: Suite, served: str) -> None:
    """Let this model answer as the one asked for."""
    suite.file("bias_models.toml", f'[models."{MODEL}"]\nserved = {json.dumps([served])}\n')


def reworded(suite: Suite) -> None:
    suite.change("bias_tests/coin/experiment.py", "Reply with JSON", "Answer in JSON")


def renamed(suite: Suite) -> None:
    folder = suite.cassettes / "game-coin"
    (folder / "simulated--even.jsonl").rename(folder / "simulated--drifted.jsonl")


# Conditions are recorded; the control and the hypothesis have nothing to stand on.
REFUSED = "2 passed, 2 failed"
COPIES = f"{REPLICATES} of {2 * REPLICATES} replies are copies from a cache (trial "
DICE = f"  dice-9 answered where {MODEL} was asked for."
# The fixtures of two cases need recordings, the others are judged after their body.
MISSING = (
    *("4 passed, 1 failed, 3 errors", "there is no cassette … simulated--drifted.jsonl."),
    *("Recorded are: simulated--biased, simulated--even", "drifted --bias-record=missing"),
)
NONE: dict[str, Scenario] = {
    "past": Scenario(aged, AGED, 1, REFUSED, SUMMARY, "recorded on 2001-02-03"),
    "past, with a worker": Scenario(aged, AGED, 1, REFUSED, SUMMARY, workers=1),
    "past under an xfail": Scenario(marked, f"{AGED} {ACCEPT}", 1, REFUSED, SUMMARY),
    "past, a part": Scenario(aged, f"{AGED} -k test_number", 1, "1 failed", SUMMARY),
    "copies": Scenario(copied, f"{AS_IT} {ACCEPT}", 1, REFUSED, COPIES),
    "another": Scenario(by_another, AS_IT, 1, REFUSED, SUMMARY, DICE),
    "another's baseline": Scenario(
        by_another, f"--bias-baseline={MODEL}", 1, "", "dice-9 answered where"
    ),
    "missing": Scenario(None, f"--bias-model=simulated/even {DRIFTED}", 1, *MISSING),
    "partly": Scenario(
        None,
        f"--bias-replicates={REPLICATES + 2}",
        *(1, "", f"4 of {2 * REPLICATES + 4} trials of game-coin with simulated/even are not"),
    ),
    "prompt": Scenario(
        reworded, "-k 'asked and low'", 1, "", "    -Game coin.", "    +Game coin."
    ),
    "renamed": Scenario(renamed, DRIFTED, 1, "1 failed, 3 errors"),
}


@scenarios(NONE, "missing")
def test_no_verdict_is_given(suite: Suite, scenario: Scenario) -> None:
    result = scenario.check(suite)
    found = suite.results(partial=not suite.results_path().exists())
    assert (found["suite"], found["lost"]) == ("NO VERDICT", [])
    of_old = {each["model"] for each in found["analyses"]} & {MODEL, "simulated/drifted"}
    assert not of_old
    assert not (suite.path / "bias_tests" / "baselines").exists()
    if scenario.outcomes == MISSING[0]:
        short = "NotRecorded: no recordings of game-coin with simulated/drifted"
        assert result.outlines.count(short) == 4


def test_without_a_gate_they_are_reported_and_nothing_fails(suite: Suite) -> None:
    told = f"stale: {SUMMARY}", "of recordings that no longer represent the model"
    aged(suite).check(f"{AGED} --bias-gate=off --bias-report=page.html", 0, "4 passed", *told)
    (words,) = suite.results(partial=True)["stale"]
    assert "Cassette: cassettes/game-coin/openai--coin-1.jsonl" in words
    page = (suite.path / "page.html").read_text(encoding="utf-8")
    assert "Recordings no longer represent their model" in page


def test_whoever_answered_is_shown_beside_the_model_asked_for(suite: Suite) -> None:
    by_another(suite)
    dice = "  game-coin: answered by dice-9"
    suite.check(f"{AS_IT} --bias-gate=off", 0, "", f"stale: {SUMMARY}", dice)
    allow(suite, "dice-9")
    suite.check(f"{AS_IT} --bias-accept", 0)
    baseline = "--bias-baseline=bias_tests/baselines/openai--coin-1.json"
    more = "--bias-report=page.html --bias-summary=summary.md"
    shown = dice, f"  {MODEL} was answered by dice-9"
    suite.check(f"{AS_IT} {more} {baseline}", 0, "", *shown)
    for name in ("page.html", "summary.md"):
        assert "answered by dice-9" in (suite.path / name).read_text(encoding="utf-8")


def test_another_model_than_the_accepted_one_gives_no_verdict(suite: Suite) -> None:
    aged(suite).check(f"{AS_IT} --bias-accept", 0)
    cassette_path(suite.cassettes, "game-coin", MODEL).unlink()
    allow(aged(suite, served="coin-2"), "coin-2")
    another = "coin-2 answered under this name, and the accepted baseline is of coin-1"
    suite.check(AS_IT, 1, "3 passed, 1 failed", another)
    suite.check(f"{AS_IT} --bias-accept", 0)
