"""The README's example runs: a user's own variants, scaffold and hypothesis."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bias_tests.cv_screening.experiment import STIMULI
from bias_tests.cv_screening.simulated import SHIFT

from pytest_bias import Experiment, MeanDifference, Subject, plan
from pytest_bias.driver import run
from pytest_bias.manipulation import faults
from pytest_bias.records import Records, record_of
from pytest_bias.screening import Screening
from pytest_bias.statistics import verdict_chances

from ..factories import Script
from .simulating import carried_out, outcomes

README = (STIMULI.parent / "README.md").read_text("utf-8")


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


def test_the_example_makes_an_experiment_with_a_fifth_scaffold(names: dict[str, object]) -> None:
    experiment = names["SECOND_LOOK"]
    assert isinstance(experiment, Experiment)
    assert list(experiment.factor("scaffold").levels)[-1] == "second_look"
    assert list(experiment.factor("group").levels) == ["white_female", "hispanic_female"]
    assert len(plan(experiment, experiment.design())) == 2 * 2 * 5 * 6
    assert faults(experiment) == ()


def test_the_example_is_carried_out_and_analysed(names: dict[str, object]) -> None:
    experiment, hypothesis = names["SECOND_LOOK"], names["HYPOTHESIS"]
    assert isinstance(experiment, Experiment)
    assert isinstance(hypothesis, MeanDifference)
    hypothesis.check(experiment)
    trials = plan(experiment, experiment.design())
    found = [carried_out("even", trial, experiment)[0] for trial in trials]
    rows = [record_of(outcome, experiment.measures) for outcome in found]
    finding = hypothesis.analyse(experiment, Records(tuple(rows)))
    assert finding.replies == 120
    assert finding.estimate == pytest.approx(0, abs=0.3)


def test_the_second_scaffold_asks_twice(names: dict[str, object]) -> None:
    experiment = names["SECOND_LOOK"]
    assert isinstance(experiment, Experiment)
    trial = next(
        t
        for t in plan(experiment, experiment.design(replicates=1))
        if t.condition.levels["scaffold"] == "second_look"
    )
    script = Script(lambda *_: '{"rating": 2}')
    run(experiment.protocol(trial, Subject()), script)
    assert [len(request.messages) for request in script.requests] == [1, 3]


def test_the_readme_states_what_is_planted() -> None:
    for subject, (whole, criterion) in SHIFT.items():
        (line,) = re.findall(rf"^\| `{subject}` \| (.*?) \| (.*?) \|", README, re.MULTILINE)
        for shift, words in zip((whole, criterion), line, strict=True):
            expected = [f"−{-points:g}" for points in shift.values()]
            assert re.findall(r"−[\d.]+", words) == expected


def test_the_example_of_published_measures_runs() -> None:
    example, _ = blocks("python")
    found: dict[str, object] = {"outcomes": outcomes("even", "documented")}
    exec(compile(example, "README.md", "exec"), found)  # noqa: S102  (our own README)
    measures, by_criterion = found["measures"], found["by_criterion"]
    assert isinstance(measures, Screening)
    assert isinstance(by_criterion, Screening)
    assert (measures.rated, by_criterion.rated) == (840, 420)
    assert by_criterion.by_model[0].quality is None
    assert measures.by_model[0].quality is not None


@pytest.mark.parametrize(
    ("row", "sizes"),
    [
        ("White − Black and other races", (288, 240)),
        ("male − female", (432, 360)),
        ("a race contrast by scaffold", (36, 30)),
    ],
)
def test_the_stated_chances_are_those_of_the_tests(row: str, sizes: tuple[int, int]) -> None:
    (stated,) = re.findall(rf"^\| {row} \| ([\d./ |]*) \|$", README, re.MULTILINE)
    numbers = [float(number) for number in re.findall(r"[\d.]+", stated)]
    expected = []
    for n in sizes:
        for sd in (0.5, 0.7, 1.0):
            at = [
                verdict_chances(n, sd=sd, margin=0.25, difference=difference, null="margin")
                for difference in (0.0, 0.5)
            ]
            expected += [at[0].clear, at[1].biased]
    assert numbers == pytest.approx(expected, abs=0.0051)
