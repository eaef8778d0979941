"""The README's example runs: a user's own names, and claims about names like them."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest

from pytest_bias import Experiment
from pytest_bias.experiments.experiment import plan

from ..grading import STIMULI
from ..names import ENOUGH, GROUPS
from .simulating import carried_out, judged

README = STIMULI.folder.with_name("README.md").read_text("utf-8")


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    (example,) = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    letters = itertools.product("BDKLM", "aeio", "npstrvz", "aou")
    made_up = map("".join, letters)
    names = {group: list(itertools.islice(made_up, ENOUGH)) for group in GROUPS}
    (tmp_path / "my_names.json").write_text(json.dumps(names), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    found: dict[str, object] = {"__name__": "my_names"}
    exec(compile(example, "README.md", "exec"), found)  # noqa: S102  (our own README)
    return found


def test_the_example_is_carried_out_and_judged_by_names(shown: dict[str, object]) -> None:
    experiment, hypotheses = shown["MORE_NAMES"], shown["HYPOTHESES"]
    assert isinstance(experiment, Experiment)
    assert isinstance(hypotheses, tuple)
    trials = plan(experiment, experiment.design())
    assert len(trials) == 144 * ENOUGH * 2
    found = tuple(carried_out("even", trial, experiment) for trial in trials)
    assert len(hypotheses) == 16
    verdicts = judged(found, hypotheses, experiment).verdicts
    for verdict in verdicts:
        assert verdict.claim == "clear"
        assert verdict.status == "CLEAR", verdict.words
        assert verdict.finding is not None
        assert verdict.finding.target == "population"
        assert str(verdict.finding.unit_name) == "exemplars of group"
        # A name without a valid story in one of its 18 conditions is no unit.
        assert verdict.finding.units > 0.97 * len(GROUPS) * ENOUGH


def test_the_numbers_of_the_readme_are_those_of_the_design() -> None:
    assert "144 × 5 names × 8 = 5,760" in README
    assert f"at least {ENOUGH} names" in " ".join(README.split())
