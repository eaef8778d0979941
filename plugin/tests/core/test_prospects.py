"""What a design can clear and find before anything is paid for, in numbers and in words."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pytest_bias.verdicts.rule import too_few

from pytest_bias import (
    MISSING,
    GroupContrast,
    Interaction,
    MeanDifference,
    RateDifference,
    RateRatio,
    Selection,
    TotalGap,
)
from pytest_bias.contrasts import cells
from pytest_bias.contrasts.findings import Finding
from pytest_bias.contrasts.power import Prospect, prospect_of
from pytest_bias.errors import BadDesign
from pytest_bias.experiments.design import Design, Factor, Items
from pytest_bias.experiments.experiment import Experiment
from pytest_bias.experiments.measures import Measure
from pytest_bias.report.plan_text import prospect_words
from pytest_bias.stats.noninferiority_power import (
    power_to_pass_independent,
    power_to_pass_paired,
    power_to_pass_rates,
)
from pytest_bias.stats.power import verdict_chances
from pytest_bias.stats.rate_power import power_to_clear_rate
from pytest_bias.stats.results import Misclassified

from ..helpers import there
from .contrasts.designs import recorded
from .factories import experiment, rows

NAMES = {group: [f"{group} {n}" for n in range(5)] for group in ("a", "b", "c")}
PLAIN = experiment(measures=[Measure("score", unit="points", bounds=(0, 10))], replicates=120)
CROSSED = experiment(
    factors=[
        Factor("group", {g: g for g in NAMES}, exemplars=NAMES),
        Factor("tone", {"x": 1, "y": 2}),
    ],
    items=Items("seed", {f"s{n}": n for n in range(25)}),
    measures=[Measure("score", bounds=(0, 10)), Measure("flag", kind="flag")],
    replicates=2,
)


def difference(**changes: Any) -> MeanDifference:
    given: dict[str, Any] = {"high": "a", "low": "b", "margin": 0.6, "claim": "clear"}
    return MeanDifference("score", "group", **(given | changes))


def prospect(hypothesis: Any, of: Experiment = PLAIN, design: Design | None = None) -> Prospect:
    return prospect_of(hypothesis, of, design or of.design(), None)


def test_without_a_recording_the_largest_spread_that_clears_is_told() -> None:
    found = prospect(difference())
    assert (found.per_group, str(found.unit_name), found.paired) == (120, "replies", False)
    assert found.largest_sd is not None
    at_it = verdict_chances(120, sd=found.largest_sd, margin=0.6, difference=0.0)
    assert at_it[0] == pytest.approx(0.90, abs=1e-6)
    assert (found.outlooks, found.passing) == ((), ())
    assert there(found.gate_sd) < found.largest_sd
    words = prospect_words(found)
    assert "120 replies per group" in words
    assert f"at most {found.largest_sd:.3g} points, and an unchanged model passes up to" in words


def test_at_the_recorded_spread_the_chances_are_told() -> None:
    rng = np.random.default_rng(2)
    scores = {name: np.clip(rng.normal(5, 1, 120), 0, 10).tolist() for name in ("a", "b")}
    finding = difference().analyse(PLAIN, rows(PLAIN, scores))
    found = prospect_of(difference(), PLAIN, PLAIN.design(), finding)
    pooled = np.sqrt(sum(np.var(values, ddof=1) for values in scores.values()) / 2)
    assert found.sd == pytest.approx(pooled)
    expected = [
        verdict_chances(120, sd=float(pooled), margin=0.6, difference=effect)
        for effect in (0.0, 0.6, 1.2)
    ]
    for outlook, chances in zip(found.outlooks, expected, strict=True):
        assert (outlook.clear, outlook.biased) == pytest.approx(chances)
    assert "CLEAR 1.00 at no effect, BIASED" in prospect_words(found)


def test_at_a_recorded_spread_that_says_too_little_no_chances_are_told() -> None:
    """Three replies of thirty differ: by that spread they are CLEAR, and they are not."""
    of = replace(PLAIN, replicates=30)
    alike = [5.0] * 27 + [5.5] * 3
    finding = difference().analyse(of, rows(of, {"a": alike, "b": alike}))
    assert verdict_chances(30, sd=there(finding.se) * 15**0.5, margin=0.6, difference=0.0)[0] > 0.9
    assert there(finding.p_clear) > 0.05
    found = prospect_of(difference(), of, of.design(), finding)
    assert (found.doubt, found.sd, found.outlooks, found.passing) == ("spread", None, (), ())
    assert "No chances are given at the spread recorded" in prospect_words(found)


@pytest.mark.parametrize("unit", ["group", "seed"])
@pytest.mark.parametrize("share", [0.01, 1.0])
def test_at_a_spread_of_few_units_that_differ_no_chances_are_told(unit: str, share: float) -> None:
    """One in a hundred replies is 9, all others 0: by their spread most recordings are CLEAR."""
    of = experiment(
        factors=[Factor("group", {"a": "A", "b": "B"})],
        items=Items("seed", {f"s{n}": n for n in range(60)}),
        measures=[Measure("score", bounds=(0, 10))],
        replicates=2,
    )
    if unit == "group":
        names = {group: [f"{group}{n}" for n in range(60)] for group in ("a", "b")}
        of = replace(of, factors=[Factor("group", {"a": 1, "b": 2}, exemplars=names)], items=None)
    hypothesis = difference(margin=0.35, target="population", unit=unit)
    rng = np.random.default_rng(0)
    drawn = recorded(
        of,
        lambda _: (
            9.0 * (rng.random() < share) if share < 1 else float(np.clip(rng.normal(5, 1), 0, 10))
        ),
        "score",
    )
    finding = hypothesis.analyse(of, drawn)
    found = prospect_of(hypothesis, of, of.design(), finding)
    assert (found.doubt == "spread", found.sd is None, finding.settle is None) == (share < 1,) * 3
    told = "No chances are given at the spread recorded" in prospect_words(found)
    assert told == (share < 1)


@pytest.mark.parametrize(
    ("replicates", "rate", "margin"), [(15, 0.02, 0.15), (20, 0.02, 0.15), (12, 0.1, 0.2)]
)
def test_chances_of_one_group_against_many_are_those_of_its_real_sizes(
    replicates: int, rate: float, margin: float
) -> None:
    """As if two equal groups of harmonic size, they would be .10, .82 and .22."""
    of = experiment(
        factors=[Factor("group", {f"g{n}": n for n in range(10)})],
        measures=[Measure("yes", take=happened)],
        replicates=replicates,
    )
    hypothesis = GroupContrast("yes", "group", group="g0", margin=margin, claim="clear")
    layout = there(hypothesis.layout(of, of.design()))
    assert layout.sizes == (replicates, 9 * replicates)
    rng = np.random.default_rng(5)
    runs = 100
    findings = [
        hypothesis.analyse(
            of, recorded(of, lambda _: bool(rng.random() < rate), "yes").for_verdicts
        )
        for _ in range(runs)
    ]
    clear = sum((found.p_clear or 0) <= 0.05 for found in findings) / runs
    arms = replace(findings[0].arms[0], mean=rate), replace(findings[0].arms[1], mean=rate)
    found = prospect_of(hypothesis, of, of.design(), replace(findings[0], arms=arms))
    assert found.outlooks[0].clear == pytest.approx(clear, abs=0.13)


TONES = {f"t{n}": n for n in range(4)}


def clears(hypothesis: Any, of: Experiment, draw: Any, runs: int) -> tuple[float, Any]:
    """The share of recordings that are CLEAR, in every cell too, and the last one's finding."""
    found = [cells.found(hypothesis, of, recorded(of, draw)) for _ in range(runs)]
    cleared = [
        (each.p_clear or 0) <= 0.05 and (each.cells is None or each.cells.clear) for each in found
    ]
    return sum(cleared) / runs, found[-1]


def test_cells_that_a_claim_must_hold_in_are_counted() -> None:
    """On average it is CLEAR with .999 at that spread, and in all four tones with .90."""
    of = experiment(
        factors=[Factor("group", {"a": 1, "b": 2}), Factor("tone", TONES)],
        measures=[Measure("score")],
        replicates=40,
    )
    alone = difference(margin=4.0)
    hypothesis = replace(alone, within={"tone": 8.0})
    found = prospect(hypothesis, of)
    sd, without = found.largest_sd, prospect(alone, of).largest_sd
    assert sd is not None
    assert sd < 0.95 * there(without)
    assert found.cells == 4
    assert "in each of its 4 cells, too, is counted" in prospect_words(found)
    rng = np.random.default_rng(1)
    share, last = clears(hypothesis, of, lambda _: float(rng.normal(0, sd)), 60)
    assert share == pytest.approx(0.9, abs=0.12)
    at_it = prospect_of(hypothesis, of, of.design(), last)
    assert at_it.outlooks[0].clear < prospect_of(alone, of, of.design(), last).outlooks[0].clear


def test_cells_too_small_to_clear_leave_nothing_to_clear() -> None:
    of = experiment(
        factors=[Factor("group", {"a": 1, "b": 2}), Factor("tone", TONES)],
        measures=[Measure("score", bounds=(0, 10))],
        replicates=9,
    )
    assert prospect(difference(margin=2.0), of).clears
    found = prospect(difference(margin=2.0, within={"tone": 4.0}), of)
    assert (found.clears, found.largest_sd) == (False, None)
    assert "In cells of so few replies (within=) nothing can be cleared" in prospect_words(found)


def test_a_level_of_few_exemplars_is_what_a_pooled_side_is_planned_by() -> None:
    """Its verdict says that a group has three units, whatever the others of its side have."""
    names = {g: [f"{g}{n}" for n in range(size)] for g, size in (("a", 20), ("b", 20), ("c", 3))}
    of = experiment(
        factors=[Factor("group", dict.fromkeys(names, ""), exemplars=names)],
        measures=[Measure("score", bounds=(0, 10))],
        replicates=2,
    )
    pooled = difference(high=("b", "c"), low="a", target="population", unit="group")
    assert "3 exemplars of group in a group, 10 are needed" in prospect(pooled, of).problem
    with pytest.raises(BadDesign, match="3 exemplars of group in a group"):
        pooled.check(of)


def test_an_interaction_of_unequal_levels_is_planned_by_the_smaller_ones() -> None:
    names = {g: [f"{g}{n}" for n in range(size)] for g, size in (("a", 1), ("b", 12))}
    of = experiment(
        factors=[
            Factor("group", dict.fromkeys(names, ""), exemplars=names),
            Factor("tone", {"x": 1, "y": 2}),
        ],
        measures=[Measure("score")],
        replicates=4,
    )
    four = Interaction("score", {"group": ("a", "b"), "tone": ("x", "y")}, margin=2.0)
    layout = there(four.layout(of, of.design()))
    assert layout.sizes == (8, 8)
    rng = np.random.default_rng(1)
    finding = four.analyse(of, recorded(of, lambda _: float(rng.normal())))
    assert finding.fewest == 8
    assert not prospect(four, of).clears


def test_an_interaction_of_three_levels_against_one_is_judged_as_planned() -> None:
    """Three levels on a side weigh a third each: of five replies no whole number of them."""
    of = experiment(
        factors=[Factor("group", dict.fromkeys("abcd", "")), Factor("tone", {"x": 1, "y": 2})],
        measures=[Measure("score", bounds=(-10, 10))],
        replicates=5,
    )
    levels = {"group": (("b", "c", "d"), "a"), "tone": ("x", "y")}
    four = Interaction("score", levels, margin=8.0)
    layout = four.layout(of, of.design())
    rng = np.random.default_rng(1)
    finding = four.analyse(of, recorded(of, lambda _: float(rng.normal(0, 0.5))))
    assert finding.fewest == min(there(layout).sizes) == 10
    assert there(finding.p_clear) < 1e-6
    assert prospect_of(four, of, of.design(), finding).outlooks[0].clear > 0.99


@pytest.mark.parametrize(
    ("levels", "replicates", "least"),
    [
        ({"a": 1, "b": 1}, 5, 2 / 252),  # of two groups the smaller tail is doubled
        ({"a": 1, "b": 1, "c": 1}, 3, 1 / 84),  # three against six: no labels mirror them
        ({"a": 1, "b": 1, "c": 1}, 5, 0.0),  # 1 / 3003, of which the drawn may reach none
        ({"a": 2, "b": 20, "c": 1}, 3, 0.0),  # six against 63
    ],
)
def test_it_is_never_said_to_alarm_never_where_its_verdict_does(
    levels: dict[str, int], replicates: int, least: float
) -> None:
    names = {g: [f"{g}{n}" for n in range(size)] for g, size in levels.items()}
    of = experiment(
        factors=[Factor("group", dict.fromkeys(names, ""), exemplars=names)],
        measures=[Measure("score", bounds=(-10, 10))],
        replicates=replicates,
    )
    pooled = difference(
        high=tuple(levels)[1:], low="a", margin=2.0, claim="detect", null="zero", target="fixed"
    )
    layout = pooled.layout(of, of.design())
    assert there(layout).least_p == pytest.approx(least)
    rng = np.random.default_rng(1)
    apart = recorded(
        of, lambda t: float(rng.normal(-5 if t.condition.levels["group"] == "a" else 5, 0.05))
    )
    assert pooled.analyse(of, apart).p_alarm >= least * (1 - 1e-9)


def test_what_is_clear_is_not_planned_as_biased() -> None:
    """Of 120 replies a side without an event, a rate of the margin on one is cleared in .05."""
    rate = RateDifference("flag", "group", high="a", low="b", margin=0.1, claim="clear")
    of = replace(PLAIN, measures=[Measure("flag", kind="flag")])
    for each in prospect_of(rate, of, of.design(), None).outlooks:
        assert each.biased + each.clear <= 1 + 1e-9


def test_labels_exchanged_within_items_give_no_smaller_p_than_they_can() -> None:
    """Of three items with two replies a side 2 / 6³ is the smallest, and not 2 / C(12, 6)."""
    of = experiment(
        factors=[Factor("group", {"a": 1, "b": 2})],
        items=Items("seed", {f"s{n}": n for n in range(3)}),
        measures=[Measure("score")],
        replicates=2,
    )
    rng = np.random.default_rng(1)
    hypothesis = difference(margin=2.0, claim="detect")
    drawn = recorded(
        of, lambda t: float(rng.normal(9 if t.condition.levels["group"] == "a" else 0, 0.1))
    )
    finding = hypothesis.analyse(of, drawn)
    assert finding.p_alarm == pytest.approx(2 / 6**3, rel=0.2)
    found = prospect_of(hypothesis, of, of.design(), finding, alarm=0.005)
    assert found.least_p == pytest.approx(2 / 6**3)
    assert {each.biased for each in found.outlooks} == {0.0}


def test_cells_of_a_population_are_told_and_not_counted() -> None:
    population = difference(target="population", unit="seed", within={"tone": 2.0})
    found = prospect(population, CROSSED)
    assert found.largest_sd == prospect(replace(population, within={}), CROSSED).largest_sd
    assert "in each of its 2 cells, too, is not counted" in prospect_words(found)


def test_where_the_worst_case_of_what_is_missing_must_hold_no_chances_are_given() -> None:
    rng = np.random.default_rng(4)
    drawn = recorded(
        PLAIN, lambda _: None if rng.random() < 0.1 else float(np.clip(rng.normal(5, 1), 0, 10))
    )
    finding = difference().analyse(PLAIN, drawn)
    assert there(finding.worst_case).needed
    assert finding.settle is not None
    assert finding.enough is None
    found = prospect_of(difference(), PLAIN, PLAIN.design(), finding)
    assert (found.doubt, found.outlooks, found.passing, found.largest_sd) == (
        "missing",
        (),
        (),
        None,
    )
    assert "so much is missing" in prospect_words(found)


@pytest.mark.parametrize("sampled", [True, False])
def test_events_that_are_read_with_error_are_planned_as_they_are_read(*, sampled: bool) -> None:
    """Of a difference .75 is left: as if they were read without error it would be .89."""
    error = Misclassified(
        sensitivity=0.85, specificity=0.9, se=0.0, source="labels", sampled=sampled
    )
    of = experiment(measures=[Measure("yes", take=happened, error=error)], replicates=400)
    hypothesis = RateDifference("yes", "group", high="a", low="b", margin=0.1, claim="clear")
    outlook = next(
        each for each in prospect(hypothesis, of).outlooks if (each.rate, each.effect) == (0.1, 0)
    )
    read = 0.1 * 0.75 + 0.1
    assert outlook.clear == pytest.approx(
        power_to_clear_rate(400, 400, rate=read, margin=0.075), abs=1e-12
    )
    plain = replace(of, measures=[Measure("yes", take=happened)])
    assert outlook.clear < prospect(hypothesis, plain).outlooks[3].clear - 0.1
    rng = np.random.default_rng(2)
    runs = [
        hypothesis.analyse(of, recorded(of, lambda _: bool(rng.random() < read), "yes"))
        for _ in range(60)
    ]
    share = sum((each.p_clear or 0) <= 0.05 for each in runs) / 60
    assert outlook.clear == pytest.approx(share, abs=0.2)


@pytest.mark.parametrize(
    ("unit", "names", "least"), [("seed", 5, 2**-7), ("group", 5, 2 / 252), (None, 5, 2 / 252)]
)
def test_what_so_few_can_never_show_is_not_promised(
    unit: str | None, names: int, least: float
) -> None:
    """Eight seeds give no p below .0078, five against five no p below .0079."""
    members = {group: [f"{group}{n}" for n in range(names)] for group in ("a", "b")}
    exemplars = {"exemplars": members} if unit == "group" else {}
    of = experiment(
        factors=[Factor("group", {"a": 1, "b": 2}, **exemplars)],  # type: ignore[arg-type]  # none
        items=Items("seed", {f"s{n}": n for n in range(8)}) if unit == "seed" else None,
        measures=[Measure("score")],
        replicates=names,
    )
    how = {"target": "population", "unit": unit} if unit else {}
    hypothesis = difference(margin=2.0, claim="detect", **how)
    rng = np.random.default_rng(6)
    finding = hypothesis.analyse(of, recorded(of, lambda _: float(rng.normal(0, 0.3))))
    never = prospect_of(hypothesis, of, of.design(), finding, alarm=0.004)
    assert never.least_p == pytest.approx(least)
    assert [each.biased for each in never.outlooks] == [0.0] * 3
    assert not any(each.clear for each in never.outlooks)
    assert "alone it never alarms" in prospect_words(never)
    assert prospect_of(hypothesis, of, of.design(), finding).outlooks[2].biased > 0.9


@pytest.mark.parametrize(
    ("items", "replicates", "unit", "alarm"),
    [(0, 7, None, 0.002), (2, 4, None, 0.002), (9, 1, "seed", 0.005)],
    ids=["replies", "replies within items", "items"],
)
def test_few_are_promised_no_more_alarms_than_a_permutation_gives_too(
    items: int, replicates: int, unit: str | None, alarm: float
) -> None:
    """By t alone .11, .16 and .12 more."""
    of = experiment(
        factors=[Factor("group", {"a": 1, "b": 2})],
        items=Items("seed", {f"s{n}": n for n in range(items)}) if items else None,
        measures=[Measure("score")],
        replicates=replicates,
    )
    how = {"target": "population", "unit": unit} if unit else {}
    hypothesis = difference(margin=1.0, claim="detect", **how)
    rng = np.random.default_rng(5)
    sd = 0.35 if unit else 0.5

    def analysed() -> Finding:
        drawn = recorded(of, lambda t: float(rng.normal(t.condition.levels["group"] == "a", sd)))
        return hypothesis.analyse(of, drawn)

    findings = [analysed() for _ in range(300)]
    truth = sd * (2 / (replicates * (items or 1))) ** 0.5
    known = replace(findings[0], se=truth, settle=30)
    found = prospect_of(hypothesis, of, of.design(), known, alarm=alarm)
    share = np.mean([each.p_alarm <= alarm for each in findings])
    assert found.outlooks[1].biased == pytest.approx(share, abs=0.06)


def test_below_five_replies_a_side_no_verdict_is_possible() -> None:
    few = replace(PLAIN, replicates=4)
    found = prospect(difference(claim="detect"), few)
    assert "4 replies on a side, at least 5 are needed" in found.problem
    assert not prospect(difference(claim="detect"), replace(PLAIN, replicates=5)).problem


def test_rates_are_told_at_base_rates() -> None:
    flag = RateDifference("flag", "tone", high="x", low="y", margin=0.1, claim="clear")
    found = prospect(flag, CROSSED)
    assert {outlook.rate for outlook in found.outlooks} == {0.0, 0.1, 0.5}
    assert all(0 <= outlook.clear <= 1 and 0 <= outlook.biased <= 1 for outlook in found.outlooks)
    assert "At a base rate of 10 %: CLEAR" in prospect_words(found)
    missing = RateDifference(MISSING, "group", high="a", low="b", margin=0.1, claim="clear")
    assert len(prospect(missing).outlooks) == 9
    # A single event has a rate, where a single number has no variance.
    for measure in ("flag", MISSING):
        rest = GroupContrast(measure, "group", group="a", margin=0.1, claim="clear")
        assert prospect(rest, CROSSED, Design(1, exemplars=1)).problem == ""
    among = Interaction(MISSING, {"group": ("a", "b"), "tone": ("x", "y")}, margin=0.1)
    assert prospect(among, CROSSED).clears


@pytest.mark.parametrize("margin", [None, 1.0])
@pytest.mark.parametrize(
    "hypothesis",
    [
        TotalGap("score", "group", gaps=[("a", "b", 1.0), (("b", "c"), "a", 0.5)]),
        TotalGap("score", "group", gaps=[("a", ("b", "c"), 1.0)]),
        GroupContrast("score", "group"),
        Interaction("score", {"group": None, "tone": None}),
    ],
    ids=["gaps", "one gap", "any group", "largest interaction"],
)
def test_many_sides_of_too_few_replies_are_told_to_have_no_verdict(
    hypothesis: Any, margin: float | None
) -> None:
    hypothesis = replace(hypothesis, claim="detect", margin=margin)
    crossed = isinstance(hypothesis, Interaction)
    factors = [Factor("group", {"a": 1, "b": 2, "c": 3}), Factor("tone", {"x": 1, "y": 2})]
    factors = factors if crossed else factors[:1]
    of = replace(PLAIN, factors=factors, replicates=5)
    rng = np.random.default_rng(3)
    for replicates in (4, 5):
        design = Design(replicates, "gate")
        finding = hypothesis.analyse(
            replace(of, replicates=replicates),
            recorded(replace(of, replicates=replicates), lambda _: float(rng.normal(5, 1))),
        )
        found = prospect(hypothesis, of, design)
        assert (found.largest_sd, found.outlooks) == (None, ())
        assert bool(found.problem) == bool(too_few(finding))
        if margin is None or not crossed:  # each of its contrasts has several combinations a side
            assert bool(found.problem) == (replicates == 4)
        said = "no verdict is possible: gate design: 4 replies on a side, at least 5 are needed"
        assert (said if found.problem else "no power is computed") in prospect_words(found)
    single = prospect(hypothesis, replace(CROSSED, factors=factors), Design(1, "smoke"))
    assert ("one replicate" in single.problem) == crossed


@pytest.mark.parametrize(
    "hypothesis",
    [
        TotalGap("score", "group", gaps=[("a", "b", 1.0)], claim="detect"),
        GroupContrast("score", "group", claim="detect"),
    ],
)
def test_so_are_many_sides_of_too_few_units(hypothesis: Any) -> None:
    for unit in ("group", "seed"):
        of = replace(hypothesis, target="population", unit=unit)
        assert prospect(of, CROSSED, Design(2, "gate")).problem == ""
    of = replace(hypothesis, target="population", unit="group")
    few = prospect(of, CROSSED, Design(2, "smoke", exemplars=4))
    assert "4 exemplars of group in a group, 5 are needed for any verdict" in few.problem


def test_a_ratio_tells_its_units_only() -> None:
    ratio = RateRatio("flag", "tone", high="x", low="y", margin=1.25, claim="clear")
    found = prospect(ratio, CROSSED)
    assert found.largest_sd is None
    assert found.per_group == 3 * 5 * 25 * 2


def test_a_ratio_of_selection_has_a_margin_and_no_power() -> None:
    chosen = Selection(
        "score", "score", feature={"x": "f", "y": "m"}, group="f", margin=1.25, claim="clear"
    )
    words = prospect_words(prospect(chosen))
    assert "no power is computed" in words
    assert "no margin" not in words
    assert "unchanged model" not in words


@pytest.mark.parametrize(
    "hypothesis",
    [
        RateDifference("flag", "group", high="a", low="b", margin=0.1, claim="clear"),
        Interaction(
            "score", {"tone": ("x", "y"), "group": ("a", "b")}, margin=0.5, claim="detect"
        ),
    ],
)
def test_at_the_margin_a_fixed_set_of_names_seldom_alarms(hypothesis: Any) -> None:
    """There BIASED needs an effect beyond the margin: at it, half of .05 at most."""
    rng = np.random.default_rng(1)
    of = replace(CROSSED, replicates=4)
    drawn = recorded(
        of,
        lambda _: (
            bool(rng.random() < 0.5)
            if hypothesis.measure == "flag"
            else float(np.clip(rng.normal(5, 1), 0, 10))
        ),
        hypothesis.measure,
    )
    found = prospect_of(hypothesis, of, of.design(), hypothesis.analyse(of, drawn))
    at_margin = next(each for each in found.outlooks if each.effect == 1)
    assert at_margin.biased <= 0.03
    twice = next(each for each in found.outlooks if each.effect == 2)
    assert twice.biased > at_margin.biased


@pytest.mark.parametrize(
    "hypothesis", [difference(), GroupContrast("score", "group", group="a", margin=0.6)]
)
@pytest.mark.parametrize("bounds", [(0, 10), None])
def test_nothing_is_promised_to_clear_below_ten_replies(hypothesis: Any, bounds: Any) -> None:
    few = replace(PLAIN, replicates=9, measures=[Measure("score", bounds=bounds)])
    found = prospect(hypothesis, few)
    assert (found.clears, found.largest_sd) == (False, None)
    assert "With so few replies nothing can be cleared" in prospect_words(found)


def test_nothing_is_promised_to_clear_below_ten_units() -> None:
    names = prospect(difference(target="population", unit="group", claim="detect"), CROSSED)
    assert (names.clears, names.largest_sd) == (False, None)


def test_nothing_is_promised_to_clear_that_unseen_replies_could_undo() -> None:
    # Of 23 replies none need be of a kind that makes 12 %, which at an end of 0 to 10 reaches .6.
    assert prospect(difference(), replace(PLAIN, replicates=23)).largest_sd is None
    assert prospect(difference(), replace(PLAIN, replicates=24)).largest_sd is not None


@pytest.mark.parametrize("low", [None, 5], ids=["middle", "near an end"])
@pytest.mark.parametrize("wider", [0, 1])
@pytest.mark.parametrize(
    ("hypothesis", "farthest"),
    [
        (difference(high=("a", "c"), margin=2), 54),
        (GroupContrast("score", "group", group="a", margin=2), 54),
        (Interaction("score", {"group": ("a", "b"), "tone": ("x", "y")}, margin=2), 27),
    ],
    ids=["unequal sides", "group", "interaction"],
)
def test_what_is_promised_to_clear_is_cleared(
    hypothesis: Any, farthest: int, wider: int, low: int | None
) -> None:
    """Of 80 replies on the smaller side none need be of a kind that makes 3.7 %."""
    clears = not wider
    mean = farthest + wider if low is None else low
    of = experiment(
        factors=[
            Factor("group", {"a": "A", "b": "B", "c": "C"}),
            Factor("tone", {"x": 1, "y": 2}),
        ],
        measures=[Measure("score", bounds=(0, mean + farthest + wider))],
        replicates=40,
    )
    around = [mean + off for off in (-1.5, -0.5, 0.5, 1.5)]
    # What tones do by themselves moves no side.
    by = {each.id: 3 if each.levels["tone"] == "x" else -3 for each in of.conditions}
    replies = {name: [each + more for each in around] * 10 for name, more in by.items()}
    found = hypothesis.analyse(of, rows(of, replies))
    assert (found.p_clear <= 0.05) == clears
    assert prospect_of(hypothesis, of, of.design(), found).clears == clears
    if low is None:
        assert prospect(hypothesis, of).clears == clears


def test_unequal_sides_are_said_to_be_worth_equal_ones() -> None:
    rest = GroupContrast("score", "group", group="a", margin=1, target="population")
    assert "as precise as 7 exemplars of group per group" in prospect_words(
        prospect(rest, CROSSED)
    )


def test_a_design_that_can_decide_nothing_says_so() -> None:
    one = replace(CROSSED.design(), replicates=1)
    found = prospect(difference(), CROSSED, one)
    assert "one replicate has no variance" in found.problem
    assert "no verdict is possible" in prospect_words(found)


@pytest.mark.parametrize(("replicates", "clear"), [(28, 0.0), (29, 1.0)])
def test_too_few_trials_without_an_event_clear_nothing(replicates: int, clear: float) -> None:
    missing = RateDifference(MISSING, "group", high="a", low="b", margin=0.1, claim="clear")
    found = prospect(missing, design=Design(replicates))
    at_zero = next(each for each in found.outlooks if each.rate == 0 and each.effect == 0)
    assert at_zero.clear == pytest.approx(clear, abs=1e-9)


def scores(sd: float, *, high: float = 5.0, n: int = 120) -> Any:
    """A finding of two arms whose replies spread by ``sd`` to the digit."""
    rng = np.random.default_rng(3)
    drawn = {}
    for name, mean in (("a", high), ("b", 5.0)):
        values = rng.normal(0, 1, n)
        values = (values - values.mean()) / values.std(ddof=1)
        drawn[name] = np.clip(mean + sd * values, 0, 10).tolist()
    return difference().analyse(PLAIN, rows(PLAIN, drawn))


def test_the_upgrade_gates_chances_are_told_at_the_recorded_spread() -> None:
    found = prospect_of(difference(), PLAIN, PLAIN.design(), scores(1.0))
    se = np.sqrt(2 / 120)
    expected = [power_to_pass_independent(0.6 / se, effect / se, 238) for effect in (0.0, 1.2)]
    assert [each.passes for each in found.passing] == pytest.approx(expected, abs=1e-4)
    assert not found.pairs
    assert found.gate_sd == pytest.approx(1.012, abs=1e-3)
    words = prospect_words(found)
    assert "an unchanged model passes 0.98 without an effect and 0.91 with 2 margins." in words
    assert "an unchanged model passes up to 1.01." in words


def test_an_alarm_is_held_to_its_part_of_the_budget() -> None:
    """At .05 the chance would be too high: a part of a family has a part of that."""
    finding = scores(1.5)
    alarm = 0.05 / 6 / 2
    found = prospect_of(difference(), PLAIN, PLAIN.design(), finding, alarm=alarm)
    at_margin = [each.biased for each in found.outlooks]
    whole = prospect_of(difference(), PLAIN, PLAIN.design(), finding)
    assert all(a < b.biased for a, b in zip(at_margin, whole.outlooks, strict=True))
    sd, n = 1.5, 120
    _, power = verdict_chances(n, sd=sd, margin=0.6, difference=1.2, alarm_alpha=alarm)
    assert at_margin[-1] == pytest.approx(power, abs=1e-6)
    assert [o.clear for o in found.outlooks] == [o.clear for o in whole.outlooks]
    flag = RateDifference("flag", "tone", high="x", low="y", margin=0.1, claim="clear")
    rates = prospect_of(flag, CROSSED, CROSSED.design(), None, alarm=alarm)
    for less, more in zip(rates.outlooks, prospect(flag, CROSSED).outlooks, strict=True):
        assert (less.clear, less.rate) == (more.clear, more.rate)
        assert less.biased <= more.biased


def test_units_that_pair_are_told_for_models_that_have_nothing_in_common() -> None:
    population = difference(target="population", unit="seed")
    rng = np.random.default_rng(4)
    drawn = recorded(CROSSED, lambda _: float(np.clip(rng.normal(5, 1), 0, 10)), "score")
    finding = population.analyse(CROSSED, drawn)
    found = prospect_of(population, CROSSED, CROSSED.design(), finding)
    assert found.pairs
    se = there(found.sd) / 5
    expected = [power_to_pass_paired(0.6 / se, effect / se, 24) for effect in (0.0, 1.2)]
    assert [each.passes for each in found.passing] == pytest.approx(expected)
    assert f"unchanged model passes, unpaired, {expected[0]:.2f}" in prospect_words(found)
    names = prospect(difference(target="population", unit="group", claim="detect"), CROSSED)
    # What may only be found passes unless it is shown to be worse.
    assert (names.passing, names.gate_sd) == ((), None)


def test_rates_pass_the_gate_at_base_rates() -> None:
    flag = RateDifference("flag", "tone", high="x", low="y", margin=0.1, claim="clear")
    found = prospect(flag, CROSSED)
    assert [(each.rate, each.effect) for each in found.passing] == [
        (rate, effect) for rate in (0.0, 0.1, 0.5) for effect in (0.0, 2.0)
    ]
    n = there(found.per_group)
    assert found.passing[2].passes == power_to_pass_rates(n, n, rate=0.1, margin=0.1, effect=0.0)
    assert found.passing[3].passes == power_to_pass_rates(n, n, rate=0.1, margin=0.1, effect=0.2)
    assert re.search(
        r"At a base rate of 10 %: CLEAR [^.]*\.\d+ at no effect, .* an unchanged model passes",
        prospect_words(found),
    )


def test_a_recorded_ratio_tells_the_gates_chances() -> None:
    ratio = RateRatio("flag", "tone", high="x", low="y", margin=1.25, claim="clear")
    assert prospect(ratio, CROSSED).passing == ()
    rng = np.random.default_rng(1)
    drawn = recorded(CROSSED, lambda _: bool(rng.random() < 0.5), "flag")
    finding = ratio.analyse(CROSSED, drawn)
    found = prospect_of(ratio, CROSSED, CROSSED.design(), finding)
    expected = power_to_pass_independent(
        float(np.log(1.25)) / there(finding.se), 0.0, there(finding.df)
    )
    assert found.passing[0].passes == expected
    assert f"As recorded: an unchanged model passes {expected:.2f} without" in prospect_words(
        found
    )


def test_what_never_gates_has_no_gate() -> None:
    found = prospect(difference(claim="describe"))
    assert (found.passing, found.gate_sd) == ((), None)
    assert "unchanged model" not in prospect_words(found)


@pytest.mark.parametrize("target", ["population", "fixed"])
def test_levels_of_one_side_weigh_alike_however_many_exemplars_they_have(target: Any) -> None:
    """What is promised to clear with .90 is cleared as often."""
    sizes = {"a": 20, "b": 10, "c": 200}
    names = {group: [f"{group}{n}" for n in range(size)] for group, size in sizes.items()}
    of = experiment(
        factors=[Factor("group", dict.fromkeys(names, ""), exemplars=names)],
        measures=[Measure("score")],
        replicates=1 if target == "population" else 2,
    )
    rest = GroupContrast("score", "group", group="a", margin=1.0, target=target, claim="clear")
    found = prospect(rest, of)
    assert (found.per_group, found.equal) == (26 if target == "population" else 52, False)
    sd = there(found.largest_sd)
    rng = np.random.default_rng(1)
    drawn = (recorded(of, lambda _: float(rng.normal(0, sd))).for_verdicts for _ in range(100))
    cleared = [(rest.analyse(of, each).p_clear or 0) <= 0.05 for each in drawn]
    assert np.mean(cleared) > 0.9 - 3 * (0.9 * 0.1 / 100) ** 0.5


def happened(_: object) -> bool:
    return False


def test_of_events_nothing_is_promised_that_rare_ones_do_not_keep() -> None:
    factors = [Factor("group", {"a": 1, "b": 2, "c": 3}), Factor("tone", {"x": 1, "y": 2})]
    of = experiment(factors=factors, measures=[Measure("yes", take=happened)], replicates=6)
    never = recorded(of, lambda _: False, "yes")
    rest = GroupContrast("yes", "group", group="a", margin=0.2)
    pair = RateDifference("yes", "group", high="a", low="b", margin=0.2)
    for one in (rest, pair):
        assert (one.analyse(of, never).p_clear or 0) > 0.05
        found = prospect(one, of)
        assert found.largest_sd is None
        assert [each.clear for each in found.outlooks if each.rate == 0 == each.effect] == [0]
        assert "At a base rate of 0 %: CLEAR 0.00 at no effect" in prospect_words(found)
    four = Interaction("yes", {"group": ("a", "b"), "tone": ("x", "y")}, margin=0.3)
    assert (four.analyse(of, never).p_clear or 0) > 0.05
    words = prospect_words(prospect(four, of))
    assert "With so few replies nothing can be cleared" in words


def test_rates_of_pooled_levels_are_of_all_their_replies() -> None:
    """By the events among all: 80 against 288 are as precise as 125 against 125."""
    sizes = {"a": 40, "b": 4, "c": 140}
    names = {group: [f"{group}{n}" for n in range(size)] for group, size in sizes.items()}
    group = Factor("group", dict.fromkeys(names, ""), exemplars=names)
    of = experiment(factors=[group], measures=[Measure("yes", take=happened)], replicates=2)
    pair = RateDifference("yes", "group", high="a", low=("b", "c"), margin=0.2)
    rest = GroupContrast("yes", "group", group="a", margin=0.2)
    assert [prospect(one, of).per_group for one in (pair, rest)] == [125, 125]
    # Of a population each level's mean counts the same.
    assert prospect(replace(pair, target="population"), of).per_group == 22


def test_a_spread_is_not_doubted_because_no_number_of_replies_would_do() -> None:
    of = replace(PLAIN, measures=[Measure("score")], replicates=30)
    rng = np.random.default_rng(3)
    scores = {name: rng.normal(5, 3000, 30).tolist() for name in ("a", "b")}
    vain = difference(margin=0.001)
    finding = vain.analyse(of, rows(of, scores))
    found = prospect_of(vain, of, of.design(), finding)
    assert (finding.settle, found.doubt) == (None, "")
    assert found.outlooks[0].clear == pytest.approx(0, abs=1e-6)


def test_spreads_and_margins_of_a_small_scale_are_no_powers_of_ten() -> None:
    of = replace(PLAIN, measures=[Measure("score", bounds=(0, 0.001))])
    rng = np.random.default_rng(1)
    hypothesis = difference(margin=0.00002)
    finding = hypothesis.analyse(of, recorded(of, lambda _: float(rng.normal(0.0005, 0.00003))))
    words = prospect_words(prospect_of(hypothesis, of, of.design(), finding))
    assert "margin 0.00002)" in words
    assert re.search(r"At the SD recorded, 0\.0000(2|3)\d+: ", words)
    assert not re.search(r"\de-\d", words)
