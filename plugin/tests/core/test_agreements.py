"""A judge that does not agree with itself decides nothing; people's labels are reported."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_bias import NOT_SCORED, Agreement, Experiment, Measure, Parameters, scored_again
from pytest_bias.contrasts.declared import PositiveControl
from pytest_bias.contrasts.differences import MeanDifference, RateDifference
from pytest_bias.errors import BadData, BadDesign, UnknownName
from pytest_bias.experiments.design import Design, Factor
from pytest_bias.experiments.experiment import plan
from pytest_bias.experiments.measures import MeasureValue
from pytest_bias.experiments.messages import Place
from pytest_bias.experiments.records import Exchange, Outcome, Records, record_of
from pytest_bias.stats.agreement import krippendorff_alpha, labelled_youden, retest_youden
from pytest_bias.stats.results import Reliability
from pytest_bias.verdicts.analysis import Analysis, analyse
from pytest_bias.verdicts.judge_agreement import (
    AgreementResult,
    Label,
    Labels,
    with_errors,
)
from pytest_bias.workbench.datasets import labels_path, read_labels

from ..helpers import there
from .factories import experiment as tiny
from .factories import recording

MODEL = "openai/tiny"
RECORDING = recording(judge="openai/judge")
MEASURES = [
    Measure("score", bounds=(1, 5)),
    Measure("kind", kind="category"),
    Measure("much", kind="flag"),
    Measure("score_again"),
    Measure("kind_again"),
    Measure("much_again"),
    Measure("length", bounds=(0, 100)),
]
OF_SCORE = Agreement("score", "score_again", "ordinal")
OF_MUCH = Agreement("much", "much_again")
CONTROL = PositiveControl(
    RateDifference("much", "group", high="b", low="a", target="fixed"),
    licenses=["score", "length"],
)
SCORE = MeanDifference("score", "group", high="b", low="a", margin=3.5, claim="clear")
# Of 20 replies a side none need be of a kind that makes 14 %, which reaches 7.7 of a length of 45.
LENGTH = MeanDifference("length", "group", high="b", low="a", margin=10, claim="clear")


@dataclass(frozen=True)
class Rated:
    """What a judge said of a trial, and what it said again."""

    score: float
    score_again: str = NOT_SCORED
    kind: str = "one"
    kind_again: str = NOT_SCORED
    much: bool = False
    much_again: str = NOT_SCORED
    length: float = 50.0


def judged(*agreements: Agreement, **changes: Any) -> Experiment:
    given: dict[str, Any] = {
        "measures": MEASURES,
        "replicates": 20,
        "judge": Parameters(),
        "agreements": agreements,
    }
    return tiny(**(given | changes))


def ratings(seed: int = 1, *, noise: float = 0.0, twice: int = 40) -> list[Rated]:
    """40 ratings of two groups, of which the first so many stand again, with noise."""
    rng = np.random.default_rng(seed)
    rated = []
    for number in range(40):
        score = float(rng.integers(1, 6))
        again = float(rng.integers(1, 6)) if rng.random() < noise else score
        rated.append(
            Rated(
                score=score,
                score_again=f"{again:g}" if number < twice else NOT_SCORED,
                kind="even" if score % 2 == 0 else "odd",
                kind_again=("even" if again % 2 == 0 else "odd") if number < twice else NOT_SCORED,
                much=number >= 20,
                much_again=str(number >= 20) if number < twice else NOT_SCORED,
                length=45 + number % 20 / 2,
            )
        )
    return rated


def analysed(of: Experiment, rated: Sequence[Rated | None], **changes: Any) -> Analysis:
    trials = plan(of, of.design())
    assert len(trials) == len(rated)
    outcomes = [
        Outcome(trial, each, None if each else "judge_failed", (), 1, ())
        for trial, each in zip(trials, rated, strict=True)
    ]
    given: dict[str, Any] = {"hypotheses": [LENGTH, SCORE], "controls": [CONTROL]}
    return analyse(of, of.design(), MODEL, outcomes, recording=RECORDING, **(given | changes))


def found(of: Experiment, rated: Sequence[Rated | None], **changes: Any) -> AgreementResult:
    (one,) = analysed(of, rated, **changes).agreements
    return one


def records_of(of: Experiment, rated: Sequence[Rated]) -> Records:
    """The records of these ratings, in the plan's order."""
    outcomes = zip(plan(of, of.design()), rated, strict=True)
    return Records(
        tuple(
            record_of(Outcome(trial, each, None, (), 1, ()), of.measures)
            for trial, each in outcomes
        )
    )


def left_of(of: Experiment, rated: Sequence[Rated], said: Labels | None = None) -> float:
    """What the judge's error on ``much`` leaves, as second ratings have it, or people's labels."""
    return lowest(with_errors(of, records_of(of, rated), said))


def lowest(of: Experiment) -> float:
    """What is left of a difference of ``much``."""
    error = of.measure("much").error
    assert isinstance(error, Reliability)
    return error.lowest


def beside(found: int, events: int, passed: int, others: int) -> Any:
    """What so many labels of people leave of a difference."""
    left = labelled_youden(found=found, events=events, passed=passed, others=others)
    return pytest.approx(left, rel=1e-12)


def twice(differ: int, pairs: int) -> Any:
    """What so many ratings of which so many differ leave of a difference."""
    return pytest.approx(retest_youden(differ=differ, pairs=pairs), rel=1e-12)


def test_agreements_an_experiment_cannot_have_are_refused() -> None:
    for agreement in (
        Agreement("mark", "score_again"),
        Agreement("score", "mark"),
        Agreement("score", "score_again", governs=["mark"]),
    ):
        with pytest.raises(UnknownName, match="unknown measure 'mark'; known: kind, kind_again"):
            judged(agreement)
    with pytest.raises(BadDesign, match="again is 'length', which has bounds; it must be a text"):
        judged(Agreement("score", "length"))
    with pytest.raises(BadDesign, match="a measure has one agreement at most"):
        judged(OF_SCORE, Agreement("score", "kind_again"))
    with pytest.raises(BadDesign, match="a second rating cannot be a first one as well"):
        judged(OF_SCORE, Agreement("score_again", "kind_again"))


def test_the_share_that_is_scored_again_is_fixed_by_what_a_trial_is() -> None:
    of = tiny(factors=[Factor("group", {f"g{n}": n for n in range(8)})], replicates=100)
    trials = plan(of, of.design())
    chosen = [trial for trial in trials if scored_again(trial, 0.2)]
    assert chosen == [trial for trial in trials if scored_again(replace(trial), 0.2)]
    assert 0.15 < len(chosen) / len(trials) < 0.25
    # Who is chosen at a share is chosen at every larger one.
    assert all(scored_again(trial, 0.5) for trial in chosen)
    assert not any(scored_again(trial, 0) for trial in trials)
    assert all(scored_again(trial, 1) for trial in trials)
    small = plan(of, Design(3))
    assert [t for t in small if scored_again(t, 0.2)] == [t for t in chosen if t.replicate <= 3]


def test_a_judge_that_agrees_with_itself_lets_its_verdicts_stand() -> None:
    rated = ratings(noise=0.1)
    analysis = analysed(judged(OF_SCORE), rated)
    (agreed,) = analysis.agreements
    pairs = [[each.score for each in rated], [float(each.score_again) for each in rated]]
    expected = krippendorff_alpha(pairs, level="ordinal").alpha
    assert agreed.alpha == pytest.approx(expected, rel=1e-12)
    assert agreed.alpha is not None
    assert agreed.interval is not None
    assert agreed.alpha > 0.8
    assert agreed.interval.low < agreed.alpha < agreed.interval.high
    assert agreed.trials == 40
    assert agreed.holds
    assert agreed.why == ""
    # The judge's reliability is part of the margin of what rests on its grades.
    finding = there(analysis.verdict(SCORE.id).finding)
    assert finding.shrink == pytest.approx(agreed.interval.low)


@pytest.mark.parametrize("twice", [0, 1, 19])
def test_few_trials_scored_twice_say_too_little(twice: int) -> None:
    agreed = found(judged(OF_SCORE), ratings(twice=twice))
    assert agreed.trials == twice
    counted = "1 trial was" if twice == 1 else f"{twice} trials were"
    assert agreed.why == (
        f"the judge's error on score is not known: {counted} scored twice, and it takes 20"
    )
    assert (agreed.alpha is None) == (twice < 2)
    assert found(judged(OF_SCORE), ratings(twice=20)).holds


def test_a_control_on_a_rating_that_is_not_relied_on_is_not_seen() -> None:
    rated = [replace(each, much_again=NOT_SCORED) for each in ratings()]
    analysis = analysed(judged(OF_MUCH), rated)
    (control,) = analysis.controls
    assert not control.seen
    assert "the judge's error on much is not known" in control.reason


def labels(
    measure: str, values: Sequence[MeasureValue | str], of: Experiment | None = None
) -> Labels:
    """Labels of the first trials, a line each."""
    of = of or judged()
    trials = plan(of, of.design())
    cells = tuple(
        Label(line, trial.id, measure, str(value))
        for line, (trial, value) in enumerate(zip(trials, values, strict=False), start=2)
    )
    return Labels("labels/tiny/openai--tiny.csv", "tiny/openai--tiny.csv", (measure,), cells)


def test_numbers_are_compared_as_numbers() -> None:
    rated = ratings()
    said = ["3.0" if each.score == 3 else f"{each.score:g}" for each in rated]
    agreed = found(judged(), rated, labels=labels("score", said))
    assert (agreed.against, agreed.level, agreed.alpha) == ("people", "interval", 1.0)
    assert (agreed.trials, agreed.same) == (40, 40)
    assert agreed.source == "tiny/openai--tiny.csv"
    own, people = analysed(judged(OF_SCORE), rated, labels=labels("score", said)).agreements
    assert own.level == people.level == "ordinal"


def test_people_name_no_category_beyond_a_closed_set() -> None:
    closed = replace(judged().measure("kind"), categories=["odd", "even", "other"])
    of = judged(measures=[closed if m.name == "kind" else m for m in MEASURES])
    assert found(of, ratings(), labels=labels("kind", ["odd", "other", "even odd"])).trials == 3
    with pytest.raises(BadData) as caught:
        analysed(of, ratings(), labels=labels("kind", ["odd", "evn"]))
    assert str(caught.value) == (
        "labels/tiny/openai--tiny.csv, line 3, column 'kind': 'evn' is no rating of this measure: "
        "one of 'even', 'odd', 'other'"
    )


@pytest.mark.parametrize(
    ("measure", "value", "wanted"),
    [
        ("score", "high", "'high' is no rating of this measure: a number from 1 to 5"),
        ("score", "6", "'6' is no rating of this measure: a number from 1 to 5"),
        ("score", "inf", "'inf' is no rating of this measure: a number from 1 to 5"),
        ("much", "perhaps", "'perhaps' is no rating of this measure: yes or no"),
        ("kind", "Odd", "'Odd' is no rating of this measure: 'odd', as the judge writes it"),
    ],
)
def test_a_bad_label_is_named_with_its_line_and_column(
    measure: str, value: str, wanted: str
) -> None:
    with pytest.raises(BadData) as caught:
        analysed(judged(), ratings(), labels=labels(measure, [value]))
    where = f"labels/tiny/openai--tiny.csv, line 2, column {measure!r}"
    assert str(caught.value) == f"{where}: {wanted}"


KEYS = {"a#1": "0123456789ab", "b#2": "ba9876543210", "b#3": ""}


def read(folder: Path, data: str | bytes, of: Experiment | None = None) -> Labels:
    """What is read of a file with this in it."""
    of = of or judged()
    path = labels_path(folder, of.id, MODEL)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    told = read_labels(folder, of, of.design(), MODEL, KEYS)
    return there(told)


def test_a_file_of_labels_is_read_cell_by_cell(tmp_path: Path) -> None:
    told = read(
        tmp_path,
        "\N{ZERO WIDTH NO-BREAK SPACE}kind,trial,score\r\n"
        '"the\r\nfirst",a#1, 3 \r\n\r\n,b#2,4\r\n',
    )
    assert told.path == str(tmp_path / "tiny" / "openai--tiny.csv")
    assert (told.source, told.measures) == ("tiny/openai--tiny.csv", ("kind", "score"))
    assert told.cells == (
        Label(2, "a#1", "kind", "the\r\nfirst"),
        Label(2, "a#1", "score", "3"),
        Label(5, "b#2", "score", "4"),
    )


def test_labels_are_of_the_reply_that_is_recorded_and_notes_are_for_people(
    tmp_path: Path,
) -> None:
    told = read(
        tmp_path,
        "trial,reply key,kind,score,reviewer note\n"
        "a#1,0123456789ab,'=odd,3,'@all\na#999,ffffffffffff,'even,,\n",
    )
    assert told.measures == ("kind", "score")
    assert [(each.trial, each.measure, each.text) for each in told.cells] == [
        ("a#1", "kind", "=odd"),
        ("a#1", "score", "3"),
        ("a#999", "kind", "'even"),
    ]


def test_the_key_of_a_reply_is_of_what_was_asked_and_said_and_of_nothing_else() -> None:
    (trial, *_) = plan(judged(), judged().design())
    said = Exchange(
        to="subject", place=Place((), 1, 1), reply="so", latency=1.0, key="aa",
    )  # fmt: skip
    graded = replace(said, to="judge", reply="5")

    def key(*exchanges: Exchange) -> str:
        return Outcome(trial, None, None, (), 1, (), exchanges=exchanges).reply_key

    assert re.fullmatch("r[0-9a-f]{12}", key(said))  # which no spreadsheet takes for a number
    assert key(said) == key(replace(said, latency=2.0, served_model="n"), graded)
    others = [replace(said, reply="so "), replace(said, key="ab")]
    assert len({key(said), *map(key, others), key(said, said)}) == 4
    assert key() == key(graded) == ""


def test_a_file_of_labels_that_is_named_after_no_model_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "tiny" / "openai-tiny.csv"
    other.parent.mkdir()
    other.write_text("trial,score\na#1,3\n", encoding="utf-8")
    of = judged()
    with pytest.raises(BadData, match="is named after no model; labels of"):
        read_labels(tmp_path, of, of.design(), MODEL, KEYS)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ("trial,score\nc#1,3\n", "line 2, column 'trial': 'c#1' is no trial of the experiment"),
        ("trial,score\na#01,3\n", "line 2, column 'trial': 'a#01' is no trial of the experiment"),
        (
            "trial,score\na#1,3\nb#1,2\na#1,3\n",
            "line 4, column 'trial': 'a#1' is labelled twice, first on line 2",
        ),
        ("trial,mark\na#1,3\n", "line 1, column 'mark': tiny has no such measure; it has score,"),
        ("trial,score,score\n", "column 'score': two columns have this name"),
        ("trial\na#1\n", "line 1: needs a column 'trial' and one or more named after measures"),
        ("", "it holds no rows below the names of its columns"),
        (
            "trial,reply key,score\na#1,0123456789ab,1\nb#2,0123456789ab,3\n",
            "line 3, column 'reply key': '0123456789ab' is of another reply than the",
        ),
        (
            "trial,reply key,score\na#1,,1\n",
            "line 2, column 'reply key': '' is of another reply than the recorded",
        ),
        (
            "trial,reply key,score\nb#3,0123456789ab,1\n",
            "line 2, column 'reply key': '0123456789ab' cannot be checked, as no text of",
        ),
        (
            "trial,reply key,reviewer note\na#1,0123456789ab,so\n",
            "line 1: needs a column 'trial' and one or more named after measures",
        ),
        ("trial;score\na#1;2,5\n", "the cells are separated by ';': save it with commas"),
        ("trial,score\na#1,3,4\n", "line 2: has 3 cells, and the first line names 2 columns"),
    ],
)
def test_a_file_that_is_none_is_named_with_its_line(
    tmp_path: Path, data: str | bytes, problem: str
) -> None:
    with pytest.raises(BadData) as caught:
        read(tmp_path, data)
    said = str(caught.value).removeprefix(str(tmp_path / "tiny" / "openai--tiny.csv"))
    assert said.lstrip(",: ").startswith(problem)


def two_rated_otherwise() -> list[Rated]:
    """40 flags, each given twice, and two of them otherwise the second time."""
    rated = [replace(each, much_again=str(each.much)) for each in ratings()]
    for number in (3, 30):
        rated[number] = replace(rated[number], much_again=str(not rated[number].much))
    return rated


def test_what_a_judge_leaves_of_a_flag_is_the_least_of_its_pairs_and_of_people() -> None:
    of, rated = judged(OF_MUCH), two_rated_otherwise()
    assert left_of(of, rated) == twice(2, 40)
    said = ["yes", *("yes" if each.much else "no" for each in rated[1:])]  # the judge said no
    assert left_of(of, rated, labels("much", said)) == beside(20, 21, 19, 19)


@pytest.mark.parametrize("other", [None, Agreement("score", "score_again", governs=["much"])])
@pytest.mark.parametrize("again", [False, True])
def test_what_a_rating_stands_for_is_learnt_from_controls_and_every_agreement(
    other: Agreement | None, *, again: bool
) -> None:
    """The judge finds every second event, and says "open" of a control alone; people do not."""
    group = Factor("group", {"a": 1, "b": 2}, controls={"grave": 3, "trivial": 4})
    by_kind = Agreement("kind", "kind_again", governs=["much"])
    asked = [by_kind, other] if other else [by_kind]
    of = judged(*asked, factors=[group], replicates=60, controls=20)
    rated, said = [], []
    for number, trial in enumerate(plan(of, of.design())):
        level = trial.condition.levels["group"]
        events = {"a": 8, "b": 12, "grave": 20, "trivial": 0}[level]
        event, found = number % 20 < events, number % 2 == 0 or level == "grave"
        kind = ("open" if level == "grave" else "hidden") if event and found else "fair"
        said.append("open" if event and not found else kind)
        score = 1.0 + number % 2
        second = said[-1] if again and number % 7 == 0 else kind
        rated.append(Rated(score, f"{score:g}", kind, second, kind != "fair", ""))
    every = records_of(of, rated)
    rows = tuple(row for row in every.rows if row.trial.condition.levels["group"] in "ab")
    counted = replace(every, rows=rows)
    people = None if again else labels("kind", said, of)
    left = lowest(with_errors(of, counted, people, every))
    differ = sum(each.kind != each.kind_again for each in rated[:120])
    assert left == (twice(differ, 120) if again else beside(30, 60, 60, 60))


@pytest.mark.parametrize(
    ("rating", "no", "yes", "unseen"),
    [
        (Agreement("kind", "kind_again"), "cold", "warm", "curt"),
        (Agreement("score", "score_again"), 3.0, 5.0, 4.0),
        (Agreement("score", "score_again", "interval"), 3.0, 4.0, 5.0),
    ],
)
def test_a_judge_that_never_sees_what_people_see_clears_nothing(
    rating: Agreement, no: MeasureValue, yes: MeasureValue, unseen: MeasureValue
) -> None:
    """Though all events are 5 % of the labels, and the judge is right about the others."""
    of = judged(replace(rating, governs=["much"]), replicates=200)
    judge = [yes if number == 1 else no for number in range(400)]
    said = [no if number % 20 else unseen for number in range(400)]
    changes: list[dict[str, Any]] = [
        {"much": each == yes, rating.measure: each, rating.again: str(each)} for each in judge
    ]
    rated = [replace(Rated(1.0), **each) for each in changes]
    assert left_of(of, rated) > 0.99
    assert left_of(of, rated, labels(rating.measure, said, of)) == 0


@pytest.mark.parametrize("people", [False, True])
def test_a_flag_that_is_read_no_better_than_by_chance_clears_nothing(*, people: bool) -> None:
    chance = ["yes" if number % 2 else "no" for number in range(40)]
    rated = [
        replace(each, much=number % 4 == 0, much_again=str(number % 4 == 0) if people else again)
        for number, (each, again) in enumerate(zip(ratings(), chance, strict=True))
    ]
    on_much = RateDifference("much", "group", high="b", low="a", margin=0.9, claim="clear")
    said = labels("much", chance) if people else None
    analysis = analysed(
        judged(OF_MUCH), rated, labels=said, hypotheses=[on_much, LENGTH], controls=[]
    )
    verdict = analysis.verdict(on_much.id)
    assert (verdict.status, verdict.reason_text) == (
        "INCONCLUSIVE",
        "the judge's error may hide any effect: nothing is left of the margin",
    )
    assert analysis.verdict(LENGTH.id).reason_text != verdict.reason_text
    assert analysis.agreements[-1].slight == people
