"""Impact ratios against the examples that the rule itself prints, and against other counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pytest_bias import BadDesign, Factor, Impact, Items, Measure, RateRatio, Record, Records
from pytest_bias.contrasts.impact import UNEQUAL, impact_rows, impacts_of
from pytest_bias.errors import BiasError, UnknownName
from pytest_bias.experiments.experiment import plan
from tests.core import factories

SELECTED = {
    "sex": {"Male": (1390, 667, 1.00), "Female": (1181, 555, 0.979)},
    "race": {
        "Hispanic or Latino": (408, 204, 0.97),
        "White": (797, 412, 1.00),
        "Black or African American": (390, 170, 0.84),
        "Native Hawaiian or Pacific Islander": (119, 52, 0.85),
        "Asian": (616, 302, 0.95),
        "Native American or Alaska Native": (41, 18, 0.85),
        "Two or More Races": (213, 96, 0.87),
    },
    "intersection": {
        "Hispanic male": (205, 90, 0.841),
        "Hispanic female": (190, 82, 0.827),
        "White male": (412, 215, 1.000),
        "Black male": (226, 95, 0.806),
        "Pacific male": (87, 37, 0.815),
        "Asian male": (321, 167, 0.997),
        "Native male": (24, 11, 0.878),
        "Two male": (115, 52, 0.866),
        "White female": (385, 197, 0.981),
        "Black female": (164, 75, 0.876),
        "Pacific female": (32, 15, 0.898),
        "Asian female": (295, 135, 0.877),
        "Native female": (17, 7, 0.789),
        "Two female": (98, 44, 0.860),
    },
}
"""6 RCNY § 5-301 (b), example: applicants, selected, impact ratio."""

SCORED = {
    "Hispanic or Latino": (28, 18, 1.00),
    "White": (40, 15, 0.58),
    "Black or African American": (32, 16, 0.78),
    "Native Hawaiian or Pacific Islander": (8, 5, 0.97),
    "Asian": (24, 10, 0.65),
    "Native American or Alaska Native": (16, 10, 0.97),
    "Two or More Races": (20, 10, 0.78),
}
"""6 RCNY § 5-301 (d), example; those above the median are its scoring rates times applicants."""

TABLES = {**SELECTED, "scoring": SCORED}


def counts(table: Mapping[str, tuple[int, int, float]]) -> dict[tuple[str, ...], tuple[int, int]]:
    return {(name,): (n, selected) for name, (n, selected, _) in table.items()}


@pytest.mark.parametrize("name", TABLES)
def test_the_rules_own_examples(name: str) -> None:
    printed = TABLES[name]
    for row in impact_rows(counts(printed), fewest=0):
        assert row.ratio == pytest.approx(printed[row.category[0]][2], abs=0.0051), row
    small = {r.category[0] for r in impact_rows(counts(printed)) if r.left_out}
    total = sum(n for n, _, _ in printed.values())
    assert small == {each for each, (n, _, _) in printed.items() if n / total < 0.02}
    assert bool(small) == (name in ("race", "intersection"))


def test_a_category_under_two_percent_is_neither_divided_nor_divided_by() -> None:
    few, many, none = impact_rows({("few",): (1, 1), ("many",): (98, 49), ("none",): (3, 0)})
    assert (few.rate, few.ratio, few.left_out) == (1.0, None, True)
    assert (many.ratio, none.ratio, none.below) == (1.0, 0.0, "estimated")
    assert [r.ratio for r in impact_rows({("a",): (9, 0), ("b",): (9, 0)})] == [None, None]
    assert [r.rate for r in impact_rows({("a",): (0, 0), ("b",): (9, 3)})] == [None, 1 / 3]


OF = {
    "sex": {"wf": "female", "wm": "male", "bf": "female", "bm": "male"},
    "race": {"wf": "white", "wm": "white", "bf": "black", "bm": "black"},
}
WINS = {"wf": 3, "wm": 6, "bf": 1, "bm": 5, "anonymous": 8}
"""Level → of ten scores, how many are 9 and not 2."""


def people(**declared: Any) -> Any:
    return factories.experiment(
        factors=[Factor("group", list(WINS))],
        measures=[
            Measure("score", bounds=(0, 10)),
            Measure("fit"),
            Measure("ids"),
            Measure("shown"),
        ],
        replicates=10,
        **declared,
    )


def rows(experiment: Any) -> Records:
    found = []
    for trial in plan(experiment, experiment.design()):
        won = trial.replicate <= WINS[trial.condition.levels["group"]]
        values: dict[str, float | str | bool] = {
            "score": 9.0 if won else 2.0,
            "fit": won,
            "shown": "wf wm bf bm",
            "ids": "wm",
        }
        if trial.replicate == 1 and not won:
            values["ids"] = "bf"
        found.append(Record(trial, values, None))
    return Records(tuple(found))


@pytest.mark.parametrize("measure", ["fit", "score"])
def test_people_are_counted_by_their_level_and_the_interval_is_that_of_the_hypothesis(
    measure: str,
) -> None:
    of = people(impacts=[Impact(measure, "group", OF)])
    (found,) = impacts_of(of, rows(of))
    sex, _, both = found.tables
    # The median is of those who have a category: of 40 scores 15 are 9.
    assert (found.median, found.missing, sex.unknown) == (
        2.0 if measure == "score" else None,
        0,
        10,
    )
    assert [(r.category, r.assessed, r.selected) for r in sex.rows] == [
        (("female",), 20, 4),
        (("male",), 20, 11),
    ]
    assert both.axes == ("sex", "race")
    assert {r.category: r.ratio for r in both.rows}["female", "black"] == pytest.approx(1 / 6)
    asked = RateRatio("fit", "group", high=["wf", "bf"], low=["wm", "bm"])
    interval = asked.analyse(of, rows(of)).interval
    assert sex.rows[0].interval == interval
    assert interval is not None
    assert sex.rows[0].below == ("shown" if interval.high < 0.8 else "estimated")


def test_the_favourable_value_the_confinement_and_what_is_missing() -> None:
    declared = Impact(
        "fit", "group", {"sex": OF["sex"]}, selected=False, at={"group": ["wf", "wm"]}
    )
    of = people(impacts=[declared])
    first, *rest = rows(of).rows
    lost = Records((Record(first.trial, {}, "not_json"), *rest))
    (found,) = impacts_of(of, lost)
    (table,) = found.tables
    assert found.missing == 1
    assert {r.category[0]: (r.assessed, r.selected) for r in table.rows} == {
        "female": (9, 7),
        "male": (10, 4),
    }


def test_items_of_pools_are_counted_as_often_as_they_are_shown() -> None:
    of = people(impacts=[Impact("ids", "shown", OF)])
    (found,) = impacts_of(of, rows(of))
    sex, race, _ = found.tables
    assert {r.category[0]: (r.assessed, r.selected) for r in sex.rows} == {
        "female": (100, 0),
        "male": (100, 50),
    }
    assert [r.selected for r in race.rows] == [50, 0]
    assert sex.rows[0].interval is None  # pools that are all alike say nothing of their spread
    assert "is the same" in sex.rows[0].no_interval
    assert sex.rows[1].no_interval == ""


@pytest.mark.parametrize(
    ("white", "black", "ratio", "why"),
    [
        ((40, 40), (40, 40), 0.5, ""),
        ((40, 100), (90, 40), 0.83, UNEQUAL),
        ((40, 40), (0, 40), 0.2, "no valid reply in b/easy"),
    ],
    ids=["alike", "hidden by the tone", "never asked"],
)
def test_an_interval_that_is_not_of_the_ratio_is_none_and_the_record_says_why(
    white: tuple[int, int], black: tuple[int, int], ratio: float, why: str
) -> None:
    """Of those who are black half as many are selected in either tone, asked so often."""
    cells = [("w", "easy"), ("w", "hard"), ("b", "easy"), ("b", "hard")]
    asked = dict(zip(cells, zip((*white, *black), (0.8, 0.2, 0.4, 0.1), strict=True), strict=True))
    of = factories.experiment(
        factors=[Factor("group", ["w", "b"]), Factor("tone", ["easy", "hard"])],
        measures=[Measure("fit")],
        replicates=100,
        impacts=[Impact("fit", "group", {"race": {"w": "white", "b": "black"}})],
    )
    found = []
    for trial in plan(of, of.design()):
        levels = trial.condition.levels
        most, rate = asked[levels["group"], levels["tone"]]
        if trial.replicate <= most:
            found.append(Record(trial, {"fit": trial.replicate <= rate * most}, None))
    ((table,),) = (each.tables for each in impacts_of(of, Records(tuple(found))))
    row = table.rows[1]
    assert row.category == ("black",)
    assert row.ratio == pytest.approx(ratio, abs=0.005)
    assert (row.interval is None) == bool(why)
    assert why in row.no_interval


WRONG: Mapping[str, tuple[Any, type[BiasError], str]] = {
    "one category": (lambda: Impact("fit", "group", {"sex": {"wf": "f"}}), BadDesign, "two cat"),
    "no level": (
        lambda: Impact("fit", "group", {"sex": {**OF["sex"], "x": "f"}}),
        BadDesign,
        "'x'",
    ),
    "no factor": (lambda: Impact("fit", "tone", OF), UnknownName, "'tone'"),
    "no measure": (lambda: Impact("love", "group", OF), UnknownName, "'love'"),
    "no impact": (lambda: "fit", BadDesign, "impacts must be a list of"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_counted_is_refused_where_it_is_declared(name: str) -> None:
    made, error, words = WRONG[name]
    with pytest.raises(error, match=words):
        people(impacts=[made()])


def test_items_may_be_people() -> None:
    of = people(
        items=Items("cv", {"wf": "A", "wm": "B"}),
        impacts=[Impact("fit", "cv", {"sex": {"wf": "female", "wm": "male"}})],
    )
    (found,) = impacts_of(of, rows(of))
    assert [r.assessed for r in found.tables[0].rows] == [50, 50]
