"""The example of docs/experiments.md runs: it collects, it replays, it is given a verdict."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ..runs import run_here
from .report.reading import inflated

PAGE = Path(__file__).parents[3] / "docs" / "experiments.md"


def example() -> str:
    found = re.findall(
        r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    assert len(found) == 1, "a new example on the page needs a test of its own"
    return str(found[0])


def test_the_example_records_and_passes(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    pytester.makepyfile(test_eggs=example())
    recording = run_here(
        pytester, "--bias-model=simulated/even", "--bias-record=missing", "--bias-report=off"
    )
    recording.assert_outcomes(passed=5)
    offline = run_here(pytester, "-v", "--bias-model=simulated/even", "--bias-report=off")
    offline.assert_outcomes(passed=5)
    offline.stdout.fnmatch_lines(["*CLEAR within ±1 for these stimuli*", "PASS: 1 hypothesis*"])


def test_one_absurd_reply_to_the_example_is_one_missing_reply(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is valid by its schema and outside the measure's bounds: 100000 minutes for an egg."""
    monkeypatch.delenv("CI", raising=False)
    absurd = """
def absurd(prompt: SimulatedPrompt) -> str | None:
    told = answer(prompt)
    if told is None or "Could you please" not in prompt.messages[-1].text:
        return told
    return '{"minutes": 100000}' if prompt.seed == min(_SEEDS) else told


"""
    text = example().replace("simulated=answer,", "simulated=absurd,")
    text = text.replace("EGGS = Experiment(", f"{absurd}EGGS = Experiment(")
    seeds = """
from pytest_bias.experiments.experiment import plan
from pytest_bias.experiments.messages import trial_seed
from pytest_bias.experiments.messages import Place

_SEEDS = [
    trial_seed(EGGS.id, trial, Place((), 1, 1))
    for trial in plan(EGGS, EGGS.design())
    if trial.condition.levels["request"] == "polite"
]
"""
    pytester.makepyfile(test_eggs=text + seeds)
    for recording in (["--bias-record=missing"], []):
        done = run_here(pytester, "-v", "--bias-model=simulated/even", *recording)
        done.assert_outcomes(passed=5)
        done.stdout.fnmatch_lines(["*(gate design, 239 of 240 trials valid, 1 missing: 1 *)"])
    report = inflated((pytester.path / "bias-report.html").read_text("utf-8"))
    assert '{"out_of_bounds_minutes": 1}' in report
