"""The README's example runs, and its numbers are what the programs give."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_bias import Experiment, MeanDifference, Selection
from pytest_bias.experiments.checks.manipulation import faults
from pytest_bias.experiments.experiment import plan
from pytest_bias.experiments.records import Records, record_of

from ..simulated import HELD_AGAINST, PLANTED
from .simulating import ROOT, carried_out

README = (ROOT / "bias_tests" / "recommendation" / "README.md").read_text("utf-8")


def block(language: str) -> str:
    pattern = rf"^```{language}\n(.*?)^```$"
    (found,) = re.findall(pattern, README, re.DOTALL | re.MULTILINE)
    return str(found)


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    for file, language in (("letters.csv", "csv"), ("letters.json", "json")):
        (tmp_path / file).write_text(block(language), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    found: dict[str, object] = {"__name__": "letters"}
    exec(compile(block("python"), "README.md", "exec"), found)  # noqa: S102  (our own README)
    return found


def test_the_example_is_an_experiment_that_can_be_carried_out(names: dict[str, object]) -> None:
    experiment, age, control = (names[name] for name in ("EXPERIMENT", "AGE", "CONTROL"))
    assert isinstance(experiment, Experiment)
    assert isinstance(age, Selection)
    assert isinstance(control, MeanDifference)
    age.check(experiment)
    control.check(experiment)
    assert faults(experiment) == ()
    trials = plan(experiment, experiment.design())
    assert len(trials) == 60
    records = Records(
        tuple(
            record_of(carried_out("even", trial, experiment)[0], experiment.measures)
            for trial in trials
        )
    )
    finding = age.analyse(experiment, records)
    assert (finding.units, finding.contrast) == (30, "old / others")
    assert experiment.exports is not None
    files = experiment.exports({"simulated/even": records})
    summary = files["analysis_outputs/pool_vs_recommended_summary.csv"]
    assert isinstance(summary, str)
    assert summary.count("\n") == 1 + 3 * 2
    assert "author_age,letters,simulated,plain," in summary


def test_the_readme_states_what_is_planted() -> None:
    for subject, group in PLANTED.items():
        (line,) = re.findall(rf"^\| `{subject}` \| (.*?) \|", README, re.MULTILINE)
        factors = [float(number) for number in re.findall(r"× ([\d.]+)", line)]
        assert factors == ([] if group is None else [HELD_AGAINST])
