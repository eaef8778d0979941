"""The example of docs/experiments.md runs: it collects, it replays, it is given a verdict."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ..runs import run_here

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
