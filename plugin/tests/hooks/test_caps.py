"""Trials that a cap kept from being recorded: missing, and no hole through which a fault slips."""

from __future__ import annotations

import shutil
from itertools import count
from pathlib import Path
from random import Random

import pytest

from pytest_bias.verdicts.wording import INVALID_STEP

from .suites import REPLICATES, Suite, section

pytestmark = pytest.mark.fail_closed

SHIPPED = Path(__file__).parents[3]
RECORD = ("--bias-model=simulated/even", "--bias-record=missing", "--bias-concurrency=1")
LEVELS = ("low", "high", "same")


@pytest.fixture
def twins(suite: Suite) -> Suite:
    """Two of the three conditions tell the subject the very same.

    The subject that answers in memory is not among the simulated ones, so only recordings show it.
    """
    shutil.rmtree(suite.cassettes)
    suite.change("bias_tests/coin/experiment.py", '{"even": 0, "biased": 6', '{"biased": 0')
    return suite.change(
        "bias_tests/coin/experiment.py",
        '{"low": "low", "high": "high"}',
        '{"low": "low", "high": "high", "same": "high"}',
    )


def order_that_ends_with(last: str) -> int:
    """An order seed under which the trial ``last`` is recorded after all others."""
    for seed in count():
        trials = [f"{level}#{n}" for level in LEVELS for n in range(1, REPLICATES + 1)]
        Random(f"{seed} game-coin simulated/biased").shuffle(trials)  # noqa: S311  (no secret)
        if trials[-1] == last:
            return seed
    raise AssertionError(last)


@pytest.mark.parametrize("lost", ["high#1", "same#1", "low#1"])
def test_conditions_that_tell_the_same_fail_whatever_a_cap_took(twins: Suite, lost: str) -> None:
    calls = len(LEVELS) * REPLICATES - 1
    capped = (f"--bias-max-calls={calls}", f"--bias-order-seed={order_that_ends_with(lost)}")
    biased = "--bias-model=simulated/biased"
    record = (biased, *RECORD[1:], *capped)
    for result in (twins.run(*record), twins.run(biased)):  # and as recorded, offline
        assert result.ret == 1
        said = result.stdout.str()
        assert "conditions 'high' and 'same' put the same prompt before" in said
        assert any("NO VERDICT: " in line for line in section(result))


@pytest.mark.parametrize("same", ["high", "other"])
def test_first_trials_that_end_before_the_cue_tell_nothing(twins: Suite, same: str) -> None:
    """Whether conditions tell the same is seen where both have a valid reply."""
    file = "bias_tests/coin/experiment.py"
    twins.change(file, '"same": "high"', f'"same": "{same}"')
    ready = 'class Ready(BaseModel, extra="forbid"):\n    ready: bool\n\n\n'
    twins.change(file, "async def", f"{ready}async def")
    ready = 'f"Game coin. Ready for {trial.replicate}?", reply=Ready, attempts=1'
    twins.change(file, "    reply =", f"    await subject.ask({ready})\n    reply =")
    said = "'no' if 'for 1?' in told else '{\"ready\": true}'"
    twins.change(file, "    cue =", f'    if "Ready" in told:\n        return {said}\n    cue =')
    twins.tests('all(condition["cue"] in outcome.prompts[0] for outcome in recorded)', "recorded")
    biased = "--bias-model=simulated/biased"
    for result in (twins.run(biased, *RECORD[1:]), twins.run(biased)):
        found = "conditions 'high' and 'same' put the same prompt before" in result.stdout.str()
        assert found is (same == "high")
        assert any("NO VERDICT: " in line for line in section(result)) is found


@pytest.mark.parametrize("without", ["the function", "its cases"])
def test_hypotheses_fail_where_no_case_of_a_condition_runs(twins: Suite, without: str) -> None:
    options = ["--bias-model=simulated/biased"]
    if without == "the function":
        twins.tests("@conditions(GAME)\ndef test_", "def ")
    else:
        options += ["-k", "not asked"]
    for result in (twins.run(*options, *RECORD[1:]), twins.run(*options)):  # and offline
        assert result.ret == 1
        result.assert_outcomes(failed=1, errors=1, deselected=3 * (without == "its cases"))
        assert "conditions 'high' and 'same' put the same prompt before" in result.stdout.str()


def test_a_condition_of_which_nothing_is_recorded_fails(suite: Suite) -> None:
    shutil.rmtree(suite.cassettes)
    result = suite.run(*RECORD, "--bias-max-calls=0")
    said = result.stdout.str()
    assert result.ret == 1
    for level in ("low", "high"):
        assert f"nothing is recorded of condition {level} of game-coin" in said
    assert f"all of its {REPLICATES} trials" in said
    assert "--bias-max-calls=0 is reached; 60 of 60 trials are missing (cap)" in said
    result = suite.run(*RECORD)
    assert result.ret == 0


def test_the_shipped_suite_under_a_cap_is_inconclusive(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its bodies look at what was asked: of what was not asked there is nothing to look at."""
    monkeypatch.chdir(suite.path)
    shutil.rmtree(suite.path / "bias_tests")
    shutil.copytree(
        SHIPPED / "bias_tests",
        suite.path / "bias_tests",
        ignore=shutil.ignore_patterns("__pycache__", "tests"),
    )
    result = suite.run(
        "bias_tests/anchoring/test_anchoring.py",
        "--bias-model=simulated/even",
        "--bias-record=missing",
        "--bias-max-calls=600",
        "--bias-concurrency=1",  # one trial after another: what is missing is the same every time
    )
    assert result.ret == 1
    result.assert_outcomes(passed=8, failed=1)
    said = result.stdout.str()
    assert "too few valid replies: 89 of 180" in said
    assert f"  {INVALID_STEP}\n" in said
    assert " cap; low (3): " in said
    assert "INCONCLUSIVE: 2 hypotheses, 1 CLEAR, 1 INCONCLUSIVE" in section(result)
