"""Judges that disagree with themselves or see a name, and labels of people, as pytest runs."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_bias.experiments.canonical import digest

from ..core.report.reading import inflated
from .conftest import Once
from .suites import INI, Suite, record

EXPERIMENT = '''\
"""Stories of two groups, and a judge that rates them twice."""

import json

from pydantic import BaseModel, ConfigDict

from pytest_bias import (
    NOT_SCORED, Agreement, Experiment, Factor, InvalidReply, Measure, Parameters, dice, masked,
    scored_again,
)

NAMES = {"first": ["Greg", "Todd", "Brad"], "second": ["Mei", "Li", "Xiu"]}


class Grade(BaseModel):
    model_config = ConfigDict(extra="forbid")
    hesitation: int


class Graded(BaseModel):
    hesitation: float
    hesitation_again: str
    words: float


async def tell(trial, subject, judge):
    story = (await subject.ask(f'A story about {trial["group"]}.')).text
    told = masked(story, str(trial["group"]))
    first = await judge.ask(f"Grade 1: {told}", reply=Grade)
    again = NOT_SCORED
    if scored_again(trial, 0.75):
        second = await judge.ask(f"Grade 2: {told}", reply=Grade)
        again = str(second.value.hesitation)
    return Graded(
        hesitation=first.value.hesitation, hesitation_again=again, words=len(told.split())
    )


def simulated(prompt):
    told = prompt.messages[-1].text
    draw = dice(prompt.subject, prompt.seed)
    if told.startswith("A story about "):
        name = told.removeprefix("A story about ").rstrip(".")
        return f"{name} saw the wallet. {'He waited. ' * draw.randint(1, 5)}"
    if told.startswith("Grade "):
        said = told.count("They waited.")
        return json.dumps({"hesitation": draw.randint(1, 5) if NOISY else said})
    return None


NOISY = False
GAME = Experiment(
    id="game-stories",
    name="Stories",
    factors=[Factor("group", {"first": 1, "second": 2}, exemplars=NAMES)],
    protocol=tell,
    measures=[
        Measure("hesitation", bounds=(1, 5)),
        Measure("hesitation_again", categories=[*"12345", NOT_SCORED]),
        Measure("words", bounds=(0, 100)),
    ],
    judge=Parameters(),
    blind=["group"],
    agreements=[Agreement("hesitation", "hesitation_again", "ordinal")],
    retention="RETENTION",
    replicates=10,
    simulated=simulated,
)
'''
TESTS = '''\
"""The cases."""

from pytest_bias import MeanDifference, conditions, hypotheses

from .experiment import GAME

BETWEEN = {"high": "first", "low": "second", "margin": 3.9}


@conditions(GAME)
def test_told(condition, recorded):
    assert recorded


@hypotheses(GAME, MeanDifference("hesitation", "group", claim="detect", **BETWEEN))
def test_hesitation():
    pass


@hypotheses(GAME, MeanDifference("words", "group", claim="detect", **BETWEEN))
def test_words():
    pass
'''


def source(*, noisy: bool = False, retention: str = "raw") -> str:
    """The module that declares the experiment."""
    text = EXPERIMENT.replace("RETENTION", retention)
    return text.replace("NOISY = False", f"NOISY = {noisy}")


def stories(suite: Suite, text: str) -> Suite:
    """A suite of this experiment; nothing is recorded."""
    ini = INI.replace("bias_report = off\n", "")
    return suite.write(name="stories", tests=TESTS, ini=ini, source=text)


@pytest.fixture
def cassettes(once: Once) -> Path:
    """By the digest of the module that declares the experiment, the folders of its recordings."""

    def fill(folder: Path) -> None:
        for text in (source(), source(noisy=True), source(noisy=True, retention="measures")):
            own = folder / digest(text)
            record(own, [text], models=["simulated/even"], judge="simulated/judge")

    return once("stories", fill)


def recorded(suite: Suite, cassettes: Path, **changes: Any) -> Suite:
    """The suite with its recordings."""
    text = source(**changes)
    shutil.copytree(cassettes / digest(text), suite.cassettes)
    return stories(suite, text)


def agreements(suite: Suite) -> list[dict[str, Any]]:
    (analysis,) = suite.results()["analyses"]
    found: list[dict[str, Any]] = analysis["agreements"]
    return found


def why_open(suite: Suite) -> dict[str, str]:
    """Measure → why its verdict is open."""
    (analysis,) = suite.results()["analyses"]
    return {
        verdict["finding"]["measure"]: verdict["reason_text"] for verdict in analysis["verdicts"]
    }


@pytest.mark.parametrize(("retention", "workers"), [("raw", 2), ("measures", 0)])
def test_a_judge_that_disagrees_with_itself_clears_nothing(
    empty: Suite, cassettes: Path, retention: str, workers: int
) -> None:
    suite = recorded(empty, cassettes, noisy=True, retention=retention)
    why = "the judge's error may hide any effect: nothing is left of the margin"
    again = "judge's agreement with itself on hesitation: α = 0.0"
    suite.check("-v --bias-report=off", 0, "", again, why, workers=workers)
    (found,) = agreements(suite)
    assert (found["against"], found["level"]) == ("the judge again", "ordinal")
    assert (found["trials"] >= 30, found["alpha"] < 0.2) == (True, True)
    few = "too few replies: 30 a side, and it takes 76 to clear anything"
    assert why_open(suite) == {"hesitation": why, "words": few}


def test_a_judge_that_agrees_and_the_labels_of_people_are_reported_the_same_everywhere(
    empty: Suite, cassettes: Path
) -> None:
    suite = recorded(empty, cassettes)
    path = suite.path / "bias_tests" / "labels" / "game-stories" / "simulated--even.csv"
    path.parent.mkdir(parents=True)
    rows = [f"first/Greg#{n},{n % 5 + 1}" for n in range(1, 9)]
    path.write_text("\n".join(["trial,hesitation", *rows]), encoding="utf-8")
    results = []
    for workers, report in ((0, "bias-report.html"), (2, "off")):
        shown = (
            "with itself on hesitation: α = 1.00",
            "people on hesitation: α = … 8 trials labelled",
        )
        suite.check(f"-v --bias-report={report}", 0, "", *shown, workers=workers)
        results.append(suite.results_path().read_bytes())
    assert results[0] == results[1]
    own, people = agreements(suite)
    assert (own["alpha"], own["holds"]) == (1.0, True)
    assert (people["against"], people["trials"]) == ("people", 8)
    assert people["source"] == "game-stories/simulated--even.csv"
    page = inflated((suite.path / "bias-report.html").read_text(encoding="utf-8"))
    assert "game-stories/simulated--even.csv" in page
    suite.check("--bias-labels=off --bias-report=off", 0)
    assert len(agreements(suite)) == 1


def test_labels_that_cannot_be_read_fail_every_verdict(empty: Suite, cassettes: Path) -> None:
    suite = recorded(empty, cassettes)
    path = suite.path / "people" / "game-stories" / "simulated--even.csv"
    path.parent.mkdir(parents=True)
    path.write_text("trial,hesitation\nfirst/Greg#1,3\nfirst/Ann#1,3\n", encoding="utf-8")
    wrong = "simulated--even.csv, line 3, column 'trial': 'first/Ann#1' is no trial of the"
    suite.check("--bias-labels=people", 1, "2 passed, 2 failed", wrong)
    assert suite.results(partial=True)["suite"] == "NO VERDICT"


@pytest.mark.parametrize("option", ["--bias-plan", "--bias-record=missing"])
def test_a_judge_that_would_see_a_name_stops_all_before_a_call(empty: Suite, option: str) -> None:
    suite = stories(empty, source()).change(
        "bias_tests/stories/experiment.py", 'masked(story, str(trial["group"]))', "story"
    )
    result = suite.check(option, 2)
    told = (
        "game-stories, trial first/Greg#1: the judge would be told 'Greg' (factor 'group', level "
        "'first'; in message 1 (user)), to which it must be blind; nothing is sent."
    )
    assert sum(line.startswith(told) for line in result.outlines) == 1
    assert not list(suite.path.rglob("*.jsonl"))


def test_a_story_that_slips_through_a_mask_ends_no_recording_and_is_mended_by_one_call(
    empty: Suite,
) -> None:
    suite = stories(empty, source())
    file = "bias_tests/stories/experiment.py"
    mask = 'story.replace(trial["group"], "X")'
    suite.change(file, 'masked(story, str(trial["group"]))', mask)
    # Now and then a name is written so that this mask does not know it; never in rehearsal.
    suite.change(
        file,
        'return f"{name} saw',
        """odd = prompt.subject == "biased" and draw.randint(1, 12) == 1
        return f"{name[0] + chr(0x200b) * odd + name[1:]} saw""",
    )
    record = "--bias-record=missing --bias-model=simulated/biased --bias-report=off"
    result = suite.check(record, 1)
    told = [line for line in result.outlines if "the judge would be told '" in line]
    odd = {line.partition(", trial ")[2].partition(":")[0] for line in told}
    assert 1 < len(odd) < 10
    assert suite.results(partial=True)["suite"] == "NO VERDICT"
    (cassette,) = suite.path.rglob("*.jsonl")

    def replies() -> set[str]:
        lines = cassette.read_text(encoding="utf-8").splitlines()
        return {line for line in lines if '"trial":' in line}

    before = replies()
    suite.check(record, 1, "", "the judge would be told '")
    assert replies() == before
    suite.change(file, mask, mask.replace("story", 'story.replace(chr(0x200b), "")'))
    suite.check(record, 0, "4 passed")
    assert before < replies()
    assert len(odd) <= len(replies() - before) <= 2 * len(odd)
