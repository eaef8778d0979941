"""The README's example runs: a user's own variants, scaffold and hypothesis."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from pytest_bias import Experiment, MeanDifference, PositiveControl, Subject
from pytest_bias.experiments.checks.manipulation import faults
from pytest_bias.experiments.driver import drive_at_once
from pytest_bias.experiments.experiment import plan
from pytest_bias.stats.equivalence import SideSummary
from pytest_bias.stats.power import Chances, verdict_chances
from pytest_bias.verdicts.analysis import analyse
from tests import forked
from tests.core.factories import Script
from tests.core.in_memory import NOTHING_KEPT

from ..measures import Measures
from ..screening import STIMULI
from ..simulated import SHIFT
from .simulating import CASSETTES, carried_out

README = (STIMULI.folder.with_name("README.md")).read_text("utf-8")


def blocks(language: str) -> list[str]:
    pattern = rf"^```{language}\n(.*?)^```$"
    return [str(found) for found in re.findall(pattern, README, re.DOTALL | re.MULTILINE)]


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    (variants,) = blocks("json")
    _, example = blocks("python")
    (tmp_path / "my_variants.json").write_text(variants, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    found: dict[str, object] = {"__name__": "second_look"}
    exec(compile(example, "README.md", "exec"), found)  # noqa: S102  (our own README)
    return found


@pytest.mark.requirement("CV-44", "CV-45")
def test_the_example_makes_an_experiment_with_a_fifth_scaffold(names: dict[str, object]) -> None:
    experiment = names["SECOND_LOOK"]
    assert isinstance(experiment, Experiment)
    assert list(experiment.factor("scaffold").levels)[-1] == "second_look"
    assert list(experiment.factor("group").levels) == ["white_female", "hispanic_female"]
    assert len(plan(experiment, experiment.design())) == 2 * 2 * 2 * 5 * 12
    assert faults(experiment) == ()


def test_the_example_is_carried_out_and_cleared(names: dict[str, object]) -> None:
    """It has the size and the control that a claim to be clear needs."""
    experiment, hypothesis, control = (names[n] for n in ("SECOND_LOOK", "HYPOTHESIS", "CONTROL"))
    assert isinstance(experiment, Experiment)
    assert isinstance(hypothesis, MeanDifference)
    assert isinstance(control, MeanDifference)
    trials = plan(experiment, experiment.design())
    analysis = analyse(
        experiment,
        experiment.design(),
        "simulated/even",
        [carried_out("even", trial, experiment)[0] for trial in trials],
        hypotheses=[hypothesis],
        controls=[PositiveControl(control)],
        recording=NOTHING_KEPT,
    )
    (verdict,) = analysis.verdicts
    assert verdict.finding is not None
    assert verdict.finding.replies == 480
    assert (verdict.status, verdict.claim) == ("CLEAR", "clear")


CASES = (
    "from pytest_bias import conditions, hypotheses, positive_control\n\n"
    "@conditions(SECOND_LOOK)\ndef test_rated(): ...\n\n"
    "@positive_control(SECOND_LOOK, CONTROL)\ndef test_qualifications(): ...\n\n"
    "@hypotheses(SECOND_LOOK, HYPOTHESIS)\ndef test_names(): ...\n"
)


@pytest.mark.requirement("CV-39", "CV-44", "CV-45")
def test_its_commands_record_and_analyse_it_with_groups_and_scaffolds_of_its_own(
    tmp_path: Path,
) -> None:
    (variants,) = blocks("json")
    _, example = blocks("python")
    (tmp_path / "my_variants.json").write_text(variants, encoding="utf-8")
    (tmp_path / "my_suite").mkdir()
    (tmp_path / "my_suite" / "__init__.py").touch()
    (tmp_path / "my_suite" / "second_look.py").write_text(example + CASES, encoding="utf-8")
    (commands,) = (block for block in blocks("sh") if "my_suite" in block)
    environ = {name: value for name, value in os.environ.items() if name != "CI"}
    environ["PYTHONPATH"] = str(CASSETTES.parents[1])
    said = ""
    for line in commands.replace("pytest-bias", "pytest_bias.cli.commands").splitlines():
        command = [forked.python(), "-m", *line.split()]
        done = subprocess.run(  # noqa: S603  (our own README)
            command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        said += done.stdout
    assert "CLEAR within ±0.25 for these names and CVs" in said
    made = tmp_path / "figures" / "cv-screening-second-look"
    heatmaps = (made / "figures" / "bias_heatmaps.svg").read_text("utf-8")
    assert all(f">{words}<" in heatmaps for words in ("White − Hispanic", "second look"))


@pytest.mark.requirement("CV-44")
def test_the_second_scaffold_asks_twice(names: dict[str, object]) -> None:
    experiment = names["SECOND_LOOK"]
    assert isinstance(experiment, Experiment)
    trial = next(
        t
        for t in plan(experiment, experiment.design(replicates=1))
        if t.condition.levels["scaffold"] == "second_look"
    )
    script = Script(lambda *_: '{"rating": 2}')
    drive_at_once(experiment.protocol(trial, Subject()), script)
    assert [len(request.messages) for request in script.requests] == [1, 3]


def test_the_readme_states_what_is_planted() -> None:
    for subject, (whole, criterion) in SHIFT.items():
        (line,) = re.findall(rf"^\| `{subject}` \| (.*?) \| (.*?) \|", README, re.MULTILINE)
        for shift, words in zip((whole, criterion), line, strict=True):
            expected = [f"−{-points:g}" for points in shift.values()]
            assert re.findall(r"−[\d.]+", words) == expected


@pytest.mark.requirement("CV-42")
def test_the_example_of_published_measures_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the shipped cassettes: the documented design of two models, and one criterion of it."""
    example, _ = blocks("python")
    monkeypatch.chdir(CASSETTES.parents[1])
    found: dict[str, object] = {"__name__": "published"}
    exec(compile(example, "README.md", "exec"), found)  # noqa: S102  (our own README)
    measures, by_criterion = found["measures"], found["by_criterion"]
    assert isinstance(measures, Measures)
    assert isinstance(by_criterion, Measures)
    assert (measures.rated, by_criterion.rated) == (1680, 840)
    assert by_criterion.by_model[0].quality is None
    assert measures.by_model[0].quality is not None


def chances(n: int, sd: float, difference: float) -> Chances:
    """Of two groups of ratings, at a difference of their means."""
    sides = [
        SideSummary(weight=weight, mean=mean, variance=sd**2, n=n, low=1.0, high=4.0)
        for weight, mean in ((1.0, 2.5 + difference), (-1.0, 2.5))
    ]
    return verdict_chances(sides, df=2 * n - 2, margin=0.25, alpha=0.05, beyond=0.25)


@pytest.mark.parametrize(
    ("row", "sizes"),
    [
        ("White − Black and other races", (288, 240)),
        ("male − female", (432, 360)),
    ],
)
def test_the_stated_chances_are_those_of_the_tests(row: str, sizes: tuple[int, int]) -> None:
    (stated,) = re.findall(rf"^\| {row} \| ([\d./ |]*) \|$", README, re.MULTILINE)
    numbers = [float(number) for number in re.findall(r"[\d.]+", stated)]
    expected = []
    for n in sizes:
        for sd in (0.5, 0.7, 1.0):
            expected += [chances(n, sd, 0.0).clear, chances(n, sd, 0.5).biased]
    assert numbers == pytest.approx(expected, abs=0.0051)
