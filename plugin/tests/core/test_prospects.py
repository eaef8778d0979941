"""What a design clears and finds, before anything is paid for, in numbers and in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pytest_bias import (
    GroupContrast,
    Interaction,
    MeanDifference,
    RateDifference,
    RateRatio,
    Selection,
)
from pytest_bias.contrasts.estimate import Estimate
from pytest_bias.contrasts.power import Prospect, passes, prospect_of, replicates_needed
from pytest_bias.errors import BadDesign
from pytest_bias.experiments.design import Design, Factor, Items
from pytest_bias.experiments.experiment import Experiment
from pytest_bias.experiments.measures import Measure
from pytest_bias.report.recording_text import prospects_text
from pytest_bias.stats.results import Misclassified

from ..helpers import there
from .contrasts.designs import recorded
from .factories import experiment, rows


def happened(found: Any) -> bool:
    return bool(found)


NAMES = {group: [f"{group} {n}" for n in range(12)] for group in ("a", "b", "c")}
PLAIN = experiment(
    measures=[Measure("score", unit="points", bounds=(0, 10), spread=1.0)], replicates=120
)
CROSSED = experiment(
    factors=[
        Factor("group", {g: g for g in NAMES}, exemplars=NAMES),
        Factor("tone", {"x": 1, "y": 2}),
    ],
    items=Items("seed", {f"s{n}": n for n in range(25)}),
    measures=[Measure("score", bounds=(0, 10)), Measure("flag", take=happened)],
    replicates=2,
)
ALARM = 0.05 / 24


def difference(**changes: Any) -> MeanDifference:
    given: dict[str, Any] = {"high": "a", "low": "b", "margin": 0.6, "claim": "clear"}
    return MeanDifference("score", "group", **(given | changes))


def prospect(
    hypothesis: Any, of: Experiment = PLAIN, design: Design | None = None, **given: Any
) -> Prospect:
    options: dict[str, Any] = {"found": None, "alarm": ALARM} | given
    return there(
        prospect_of(hypothesis, of, design or of.design(), options.pop("found"), **options)
    )


def words(found: Prospect) -> str:
    return " ".join(prospects_text([found]))


def test_at_the_spread_that_is_declared_chances_are_told() -> None:
    found = prospect(difference())
    assert (found.units, str(found.unit_name), found.needed, found.spread) == (
        (120, 120), "replies", 49, 1.0,
    )  # fmt: skip
    whole, missing = there(found.clear)
    assert 0.95 < missing < whole < 1
    one, two = there(found.biased)
    assert 0.9 < one < two
    said = words(found)
    assert "120 replies a side, 49 are needed to clear anything." in said
    assert "An SD of 1 points: CLEAR 0.97" in said


def test_what_is_recorded_goes_before_what_is_declared() -> None:
    rng = np.random.default_rng(2)
    scores = {name: np.clip(rng.normal(5, 2, 120), 0, 10).tolist() for name in ("a", "b")}
    finding = difference().analyse(PLAIN, rows(PLAIN, scores))
    found = prospect(difference(), found=finding)
    pooled = math.sqrt(sum(np.var(values, ddof=1) for values in scores.values()) / 2)
    assert found.spread == pytest.approx(pooled)
    assert there(found.clear)[0] < 0.3
    alike = difference().analyse(PLAIN, rows(PLAIN, {"a": [5.0] * 120, "b": [5.0] * 120}))
    never = prospect(difference(), found=alike)
    assert (never.spread, never.clear) == (0.0, (1.0, 1.0))


PAIR: Mapping[str, Any] = {"high": "a", "low": "b"}
RECORDED: list[Any] = [
    difference(margin=2.0),
    difference(margin=2.0, high=("b", "c"), low="a"),
    difference(margin=4.0, target="population"),
    difference(margin=3.0, target="population", unit="seed"),
    RateDifference("flag", "group", margin=0.1, claim="clear", **PAIR),
    RateRatio("flag", "group", margin=1.5, claim="clear", **PAIR),
    GroupContrast("score", "group", group="a", margin=2.0, claim="clear"),
    GroupContrast("flag", "group", group="a", margin=0.1, claim="clear"),
    Interaction("score", {"group": ("a", "b"), "tone": ("x", "y")}, margin=2.0, claim="clear"),
]


@pytest.mark.parametrize(
    "hypothesis", RECORDED, ids=lambda each: f"{each.id} {each.target} {each.unit}"
)
def test_units_needed_and_spread_are_those_of_the_analysis(hypothesis: Any) -> None:
    """Chances at the spread of a recording are those that the spread drawn from gives."""
    rng = np.random.default_rng(1)
    hypothesis.check(CROSSED)
    event = hypothesis.measure == "flag"
    drawn = recorded(
        CROSSED,
        lambda _: bool(rng.random() < 0.3) if event else float(np.clip(rng.normal(5, 1), 0, 10)),
        hypothesis.measure,
    )
    finding = hypothesis.analyse(CROSSED, drawn)
    layout = there(hypothesis.layout(CROSSED, CROSSED.design()))
    assert layout.fewest == finding.fewest
    assert layout.needed == max(10, finding.needed)
    assert 1 / layout.df == pytest.approx(1 / there(finding.df), abs=0.01)
    assert layout.unit_name == finding.unit_name
    if hypothesis.target == "fixed":
        expected = 0.3 if event else 1.0
        found = prospect(hypothesis, CROSSED, found=finding)
        assert found.spread == pytest.approx(expected, rel=0.1)


def test_pools_are_the_units_of_a_selection() -> None:
    of = experiment(
        measures=[
            Measure("picked", categories=[*"pqrs"], spread=0.8),
            Measure("shown", categories=[*"pqrs"]),
        ],
        replicates=120,
    )
    feature = {"p": "x", "q": "x", "r": "y", "s": "y"}
    chosen = Selection("picked", "shown", feature=feature, group="x", margin=1.25, claim="clear")
    found = prospect(chosen, of)
    assert (found.units, found.needed, found.spread) == ((240,), 30, 0.8)
    assert there(found.clear)[0] > 0.95
    with pytest.raises(BadDesign, match="it needs 30 pools, and has 20"):
        chosen.check(replace(of, replicates=10))


def test_what_the_gate_design_can_never_clear_is_refused() -> None:
    few = replace(PLAIN, replicates=48)
    with pytest.raises(BadDesign, match="needs 49 replies a side, and has 48"):
        difference().check(few)
    difference(claim="detect").check(few)
    difference().check(replace(PLAIN, replicates=49))
    found = prospect(difference(), PLAIN, Design(30, "documented"))
    assert words(found).endswith(
        "The documented design cannot clear it: it needs 49 replies a side, and has 30."
    )
    assert passes([found]) == (0.0, 0.0)


def test_a_reading_that_errs_leaves_less_of_the_margin() -> None:
    error = Misclassified(sensitivity=0.9, specificity=0.9, source="labels")
    flag = RateDifference("flag", "group", margin=0.1, claim="clear", **PAIR)
    erring = replace(PLAIN, measures=[Measure("flag", spread=0.05, error=error)], replicates=400)
    right = replace(erring, measures=[Measure("flag", spread=0.05)])
    assert there(prospect(flag, erring).clear)[0] < there(prospect(flag, right).clear)[0]
    assert prospect(flag, erring).needed > prospect(flag, right).needed


# --- the suite ----------------------------------------------------------------------------------


def test_false_alarms_of_what_may_only_be_found_are_taken_off() -> None:
    clear = prospect(difference())
    found = prospect(difference(claim="detect"))
    assert there(passes([clear, found]))[0] == pytest.approx(there(clear.clear)[0] - ALARM)
    told = prospect(difference(claim="describe"))
    assert passes([clear, told]) == passes([clear])


# --- what settles it ----------------------------------------------------------------------------


def seen(shift: float, sd: float, n: int = 30, **changes: Any) -> Estimate:
    """A recording of two groups whose means differ by just so much."""
    even = np.linspace(-1, 1, n)
    even *= sd / even.std(ddof=1)
    scores = {"a": (5 + shift + even).tolist(), "b": (5 + even).tolist()}
    return difference(**changes).analyse(PLAIN, rows(PLAIN, scores))


@pytest.mark.parametrize(
    ("shift", "null", "decided"),
    [(0.0, "zero", "clear"), (1.2, "margin", "biased")],
)
def test_the_replicates_that_settle_it_do_so_nine_times_in_ten(
    shift: float, null: str, decided: str
) -> None:
    of = difference(null=null)
    found = seen(shift, 1.5, null=null)
    n = there(replicates_needed(found, 30, alpha=ALARM))
    rng, draws = np.random.default_rng(4), 300
    settled = 0
    for _ in range(draws):
        scores = {
            name: np.clip(rng.normal(5 + at, 1.5, n), 0, 10).tolist()
            for name, at in (("a", shift), ("b", 0.0))
        }
        each = of.analyse(PLAIN, rows(PLAIN, scores).for_verdicts)
        settled += (each.p_clear or 0) <= 0.05 if decided == "clear" else each.p_alarm <= ALARM
    assert settled / draws == pytest.approx(0.93, abs=0.06)


def test_an_effect_as_large_as_the_margin_is_settled_by_no_number() -> None:
    assert replicates_needed(seen(0.6, 1.5, null="margin"), 30, alpha=ALARM) is None
    assert replicates_needed(seen(0.0, 1.5, margin=None, claim="detect"), 30, alpha=ALARM) is None


def test_replicates_settle_nothing_about_a_population() -> None:
    rng = np.random.default_rng(1)
    named = difference(target="population", margin=3.0)
    found = named.analyse(CROSSED, recorded(CROSSED, lambda _: float(rng.normal(5, 1)), "score"))
    assert replicates_needed(found, 2, alpha=ALARM) is None
