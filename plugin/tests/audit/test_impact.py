"""Impact ratios against the examples that the rule itself prints, and against other counts."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_bias import (
    BiasError,
    Experiment,
    Factor,
    Items,
    Measure,
    RateRatio,
    Record,
    Records,
    plan,
)
from pytest_bias_audit import Impact, declare_impacts
from pytest_bias_audit.impact import NONE_SELECTED, UNEQUAL, impact_ratios, impact_rows

from ..core import factories

Counts = dict[tuple[str, ...], tuple[int, int]]
TABLES = {
    "sex": [(1390, 667, 1.00), (1181, 555, 0.979)],
    # Hispanic, White, Black, Pacific Islander, Asian, Native American, two or more races.
    "race": [
        *((408, 204, 0.97), (797, 412, 1.00), (390, 170, 0.84), (119, 52, 0.85)),
        *((616, 302, 0.95), (41, 18, 0.85), (213, 96, 0.87)),
    ],
    # The same of men, then of women.
    "intersection": [
        *((205, 90, 0.841), (412, 215, 1.000), (226, 95, 0.806), (87, 37, 0.815)),
        *((321, 167, 0.997), (24, 11, 0.878), (115, 52, 0.866)),
        *((190, 82, 0.827), (385, 197, 0.981), (164, 75, 0.876), (32, 15, 0.898)),
        *((295, 135, 0.877), (17, 7, 0.789), (98, 44, 0.860)),
    ],
    # By race again; those above the median are its scoring rates times applicants.
    "scoring": [
        *((28, 18, 1.00), (40, 15, 0.58), (32, 16, 0.78), (8, 5, 0.97)),
        *((24, 10, 0.65), (16, 10, 0.97), (20, 10, 0.78)),
    ],
}
"""6 RCNY § 5-301 (b) and (d), examples: applicants, selected, impact ratio."""


@pytest.mark.parametrize("name", TABLES)
def test_the_rules_own_examples(name: str) -> None:
    printed = TABLES[name]
    counts: Counts = {(str(place),): (n, chosen) for place, (n, chosen, _) in enumerate(printed)}
    for row, (_, _, ratio) in zip(impact_rows(counts, fewest=0), printed, strict=True):
        assert row["ratio"] == pytest.approx(ratio, abs=0.0051), row
    total = sum(n for n, _, _ in printed)
    small = [n / total < 0.02 for n, _, _ in printed]
    assert [row["left_out"] for row in impact_rows(counts)] == small
    assert any(small) == (name in ("race", "intersection"))


def test_a_category_under_two_percent_is_neither_divided_nor_divided_by() -> None:
    counts: Counts = {("few",): (1, 1), ("many",): (98, 49), ("none",): (3, 0)}
    few, many, none = impact_rows(counts)
    assert (few["rate"], few["ratio"], few["left_out"]) == (1.0, None, True)
    assert (many["ratio"], none["ratio"], none["below"]) == (1.0, 0.0, "estimated")
    assert [r["ratio"] for r in impact_rows({("a",): (9, 0), ("b",): (9, 0)})] == [None, None]
    assert [r["rate"] for r in impact_rows({("a",): (0, 0), ("b",): (9, 3)})] == [None, 1 / 3]


OF = {
    "sex": {"wf": "female", "wm": "male", "bf": "female", "bm": "male"},
    "race": {"wf": "white", "wm": "white", "bf": "black", "bm": "black"},
}
WINS = {"wf": 3, "wm": 6, "bf": 1, "bm": 5, "anonymous": 8}
"""Level → of ten scores, how many are 9 and not 2."""


def people(**declared: Any) -> Experiment:
    measures = [Measure("score", bounds=(0, 10)), Measure("fit", kind="flag")]
    measures += map(Measure, ("ids", "shown"))
    group = Factor("group", list(WINS))
    return factories.experiment(factors=[group], measures=measures, replicates=10, **declared)


def rows(experiment: Experiment) -> Records:
    found = []
    for trial in plan(experiment, experiment.design()):
        won = trial.replicate <= WINS[trial.condition.levels["group"]]
        ids = "bf" if trial.replicate == 1 and not won else "wm"
        picked = {"shown": "wf wm bf bm", "ids": ids}
        found.append(Record(trial, {"score": 9.0 if won else 2.0, "fit": won, **picked}, None))
    return Records(tuple(found))


def counted(table: dict[str, Any]) -> Counts:
    return {(*row["category"],): (row["assessed"], row["selected"]) for row in table["rows"]}


@pytest.mark.parametrize("measure", ["fit", "score"])
def test_people_are_counted_by_their_level_and_the_interval_is_that_of_the_hypothesis(
    measure: str,
) -> None:
    of = people()
    found = impact_ratios(Impact(measure, "group", OF), of, rows(of))
    sex, _, both = found["tables"]
    # The median is of those who have a category: of 40 scores 15 are 9.
    assert (found["median"], found["missing"]) == (2.0 if measure == "score" else None, 0)
    assert (counted(sex), sex["unknown"]) == ({("female",): (20, 4), ("male",): (20, 11)}, 10)
    assert both["axes"] == ["sex", "race"]
    ratios = {(*row["category"],): row["ratio"] for row in both["rows"]}
    assert ratios["female", "black"] == pytest.approx(1 / 6)
    asked = RateRatio("fit", "group", high=["wf", "bf"], low=["wm", "bm"])
    interval = asked.analyse(of, rows(of)).interval
    assert interval is not None
    first = sex["rows"][0]
    assert (first["interval"]["low"], first["interval"]["high"]) == (interval.low, interval.high)
    assert first["below"] == ("shown" if interval.high < 0.8 else "estimated")


def test_the_favourable_value_the_confinement_and_what_is_missing() -> None:
    at = {"group": ["wf", "wm"]}
    declared = Impact("fit", "group", {"sex": OF["sex"]}, selected=False, at=at)
    of = people()
    first, *rest = rows(of).rows
    lost = Records((Record(first.trial, {}, "not_json"), *rest))
    found = impact_ratios(declared, of, lost)
    assert found["missing"] == 1
    assert counted(found["tables"][0]) == {("female",): (9, 7), ("male",): (10, 4)}


def test_items_of_pools_are_counted_as_often_as_they_are_shown() -> None:
    of = people()
    sex, race, _ = impact_ratios(Impact("ids", "shown", OF), of, rows(of))["tables"]
    assert counted(sex) == {("female",): (100, 0), ("male",): (100, 50)}
    assert [row["selected"] for row in race["rows"]] == [50, 0]
    assert sex["rows"][0]["interval"] is None
    assert sex["rows"][0]["no_interval"] == NONE_SELECTED
    assert sex["rows"][1]["no_interval"] == ""


@pytest.mark.parametrize(
    ("asked", "ratio", "why"),
    [
        ((40, 40, 40, 40), 0.5, ""),
        ((40, 100, 90, 40), 0.83, UNEQUAL),  # hidden by the tone
        ((40, 40, 0, 40), 0.2, "no valid reply in b/easy"),
    ],
)
def test_an_interval_that_is_not_of_the_ratio_is_none_and_the_record_says_why(
    asked: tuple[int, ...], ratio: float, why: str
) -> None:
    """Of those who are black half as many are selected in either tone, asked so often."""
    factors = [Factor("group", ["w", "b"]), Factor("tone", ["easy", "hard"])]
    of = factories.experiment(
        factors=factors, measures=[Measure("fit", kind="flag")], replicates=100
    )
    rates = zip(of.conditions, asked, (0.8, 0.2, 0.4, 0.1), strict=True)
    often = {condition.id: (most, rate * most) for condition, most, rate in rates}
    found = []
    for trial in plan(of, of.design()):
        most, selected = often[trial.condition.id]
        if trial.replicate <= most:
            found.append(Record(trial, {"fit": trial.replicate <= selected}, None))
    declared = Impact("fit", "group", {"race": {"w": "white", "b": "black"}})
    (table,) = impact_ratios(declared, of, Records(tuple(found)))["tables"]
    row = table["rows"][1]
    assert row["category"] == ["black"]
    assert row["ratio"] == pytest.approx(ratio, abs=0.005)
    assert (row["interval"] is None) == bool(why)
    assert why in row["no_interval"]


def test_what_cannot_be_counted_is_refused_where_it_is_declared() -> None:
    unknown = {"sex": {**OF["sex"], "x": "female"}}
    for measure, among, of in (("fit", "group", unknown), ("fit", "x", OF), ("x", "group", OF)):
        with pytest.raises(BiasError, match="'x'"):
            declare_impacts(people(), Impact(measure, among, of))


def test_items_may_be_people() -> None:
    of = people(items=Items("cv", {"wf": "A", "wm": "B"}))
    declared = Impact("fit", "cv", {"sex": {"wf": "female", "wm": "male"}})
    (table,) = impact_ratios(declared, of, rows(of))["tables"]
    assert [assessed for assessed, _ in counted(table).values()] == [50, 50]
