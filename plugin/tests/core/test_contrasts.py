from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pytest_bias.contrasts.estimation.tested import FEW_UNITS
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.contrasts.findings import Finding, HumanStudy
from pytest_bias.contrasts.pairs import MeanDifference, RateDifference
from pytest_bias.errors import BadDesign, TooFewUnits
from pytest_bias.experiments.design import Factor
from pytest_bias.experiments.measures import Measure
from pytest_bias.stats.results import Interval

from ..helpers import there
from .factories import experiment, rows
from .stats.reference import SLEEP, TOOTH_GROWTH, values

WIDE = Measure("score", unit="points", bounds=(-100, 100))
FLAG = Measure("score", kind="flag")
TINY = experiment(
    factors=[Factor("demand", {"low": 3, "high": 9}, unit="months")], measures=[WIDE]
)
PEOPLE = HumanStudy(
    low=4.00, high=6.05, t=2.10, df=37, n=39, similar_within=0.5, citation="Englich et al. 2006"
)


def interval_of(found: Any) -> Interval:
    assert isinstance(found.interval, Interval)
    return found.interval


def difference(**changes: Any) -> MeanDifference:
    given: dict[str, Any] = {"high": "high", "low": "low", "margin": 0.6, "claim": "clear"}
    return MeanDifference("score", "demand", **(given | changes))


def analysed(high: Sequence[float | None], low: Sequence[float | None], **changes: Any) -> Finding:
    of = changes.pop("of", TINY)
    return difference(**changes).analyse(of, rows(of, {"high": high, "low": low}))


RNG = np.random.default_rng(3)
HIGH = RNG.normal(6.0, 1.2, 40).round(2).tolist()
LOW = RNG.normal(5.0, 0.8, 35).round(2).tolist()


@pytest.mark.requirement("ANCHOR-24")
def test_a_mean_difference_is_welchs() -> None:
    found = analysed(HIGH, LOW)
    welch = stats.ttest_ind(HIGH, LOW, equal_var=False)
    interval = welch.confidence_interval()
    assert found.estimate == pytest.approx(np.mean(HIGH) - np.mean(LOW), rel=1e-12)
    assert found.p_alarm == pytest.approx(welch.pvalue, rel=1e-9)
    assert (interval_of(found).low, interval_of(found).high) == pytest.approx(
        (interval.low, interval.high), rel=1e-9
    )
    assert interval_of(found).level == 0.95
    assert (found.arms[0].units, found.arms[1].units, found.units) == (40, 35, 75)
    assert (found.arms[0].mean, found.arms[1].mean) == pytest.approx((np.mean(HIGH), np.mean(LOW)))
    assert (found.arms[0].level, found.arms[0].value, found.unit) == ("high", "9", "points")
    assert not found.deterministic
    assert found.worst_case is None
    assert found.published is not None
    assert found.published.statistics["t"] == pytest.approx(welch.statistic, rel=1e-9)
    assert found.published.statistics["df"] == pytest.approx(welch.df, rel=1e-9)


@pytest.mark.parametrize("margin", [0.7, 1.2, 2.0])
def test_clearing_is_two_one_sided_tests(margin: float) -> None:
    of = experiment(factors=TINY.factors, measures=[replace(WIDE, bounds=(1, 9))])
    found = analysed(HIGH, LOW, of=of, margin=margin)
    below = stats.ttest_ind(
        np.array(HIGH) + margin, LOW, equal_var=False, alternative="greater"
    ).pvalue
    above = stats.ttest_ind(
        np.array(HIGH) - margin, LOW, equal_var=False, alternative="less"
    ).pvalue
    assert found.p_clear == pytest.approx(max(below, above), rel=1e-9)
    assert (there(found.equivalence).interval.within(margin)) == (max(below, above) <= 0.05)


@pytest.mark.parametrize(("replies", "cleared"), [(58, False), (59, True)])
def test_so_few_replies_that_unseen_ones_could_make_the_margin_clear_nothing(
    replies: int, *, cleared: bool
) -> None:
    """As of events that never came: (1 - .6 / 12)^58 > .05 >= (1 - .6 / 12)^59."""
    of = experiment(factors=TINY.factors, measures=[replace(WIDE, bounds=(0, 12))])
    narrow = [0.0, 0.01, 0.02] * 20
    high, low = narrow[:replies], narrow[1 : replies + 1]
    found = analysed(high, low, of=of)
    assert there(found.equivalence).p < 1e-9
    assert (there(found.p_clear) <= 0.05) == cleared
    assert any("rare values" in note for note in found.notes) != cleared


@pytest.mark.requirement("ANCHOR-24", "ANCHOR-25")
@pytest.mark.parametrize(("data", "name"), [(SLEEP, "sleep"), (TOOTH_GROWTH, "toothgrowth")])
def test_published_data(data: tuple[list[float], list[float]], name: str) -> None:
    """As R's t.test() has them."""
    found = analysed(*data, margin=2)
    expected = values(f"{name}_welch")
    assert found.published is not None
    assert found.published.statistics["t"] == pytest.approx(expected["t"], rel=1e-6)
    assert found.published.statistics["df"] == pytest.approx(expected["df"], rel=1e-6)
    assert found.p_alarm == pytest.approx(expected["p"], rel=1e-6)
    assert interval_of(found).low == pytest.approx(expected["ci_lo"], rel=1e-6)
    assert interval_of(found).high == pytest.approx(expected["ci_hi"], rel=1e-6)
    effect = values(f"effect_d_{name}")
    assert found.effect_size is not None
    assert found.effect_size.d == pytest.approx(effect["cohen_d"], rel=1e-6)
    assert found.effect_size.g == pytest.approx(effect["hedges_g"], rel=1e-6)
    assert found.effect_size.interval.low == pytest.approx(effect["d_ci_lo"], rel=1e-6)


def test_published_equivalence() -> None:
    found = analysed(*SLEEP, margin=2)
    published = values("tost_sleep_welch_pm2")["p_tost"]
    assert there(found.equivalence).p == pytest.approx(published, rel=1e-6)
    assert (found.p_clear or 0) > 0.99  # ten replies on a scale of 200


@pytest.mark.requirement("ANCHOR-26")
def test_the_bootstrap_says_how_to_repeat_it() -> None:
    first, again = analysed(HIGH, LOW).bootstrap, analysed(HIGH, LOW).bootstrap
    assert first == again
    assert first is not None
    assert (first.iterations, first.seed, first.method) == (10_000, 1, "percentile")
    assert interval_of(first).low < np.mean(HIGH) - np.mean(LOW) < interval_of(first).high


def test_the_anchoring_index_is_per_unit_of_the_factor() -> None:
    found = analysed(HIGH, LOW)
    assert found.index is not None
    assert found.index.span == 6
    assert found.index.estimate == pytest.approx(found.estimate / 6)
    assert found.index.interval.low == pytest.approx(interval_of(found).low / 6)
    words = experiment(
        factors=[Factor("demand", {"low": "little", "high": "much"})], measures=[WIDE]
    )
    assert analysed(HIGH, LOW, of=words).index is None


def test_the_index_of_a_falling_factor_keeps_its_interval_in_order() -> None:
    falling = experiment(factors=[Factor("demand", {"low": 9, "high": 3})], measures=[WIDE])
    index = there(analysed(HIGH, LOW, of=falling).index)
    assert index.interval.low < index.estimate < index.interval.high < 0


@pytest.mark.requirement("ANCHOR-15")
def test_missing_replies_are_counted_and_never_zeros() -> None:
    found = analysed([*HIGH, None], [None, *LOW, None])
    assert (found.arms[0].missing, found.arms[1].missing) == ({"refusal": 1}, {"refusal": 2})
    assert found.estimate == analysed(HIGH, LOW).estimate
    assert found.units == 75


def test_worst_cases_are_the_extreme_fillings() -> None:
    of = experiment(factors=TINY.factors, measures=[replace(WIDE, bounds=(0, 12))])
    found = analysed([*HIGH, None, None, None], [*LOW, None], of=of)
    worst = there(found.worst_case)
    assert worst.needed  # 3 of 43
    low = stats.ttest_ind([*HIGH, 0, 0, 0], [*LOW, 12], equal_var=False)
    high = stats.ttest_ind([*HIGH, 12, 12, 12], [*LOW, 0], equal_var=False)
    assert worst.lowest == pytest.approx(np.mean([*HIGH, 0, 0, 0]) - np.mean([*LOW, 12]))
    assert worst.highest == pytest.approx(np.mean([*HIGH, 12, 12, 12]) - np.mean([*LOW, 0]))
    assert worst.p_alarm == pytest.approx(max(low.pvalue, high.pvalue))


@pytest.mark.parametrize(
    ("high", "low", "group"),
    [([], LOW, "high"), ([None], LOW, "high"), ([1.0], LOW, "high"), (HIGH, [2.0, None], "low")],
    ids=["none", "only missing", "one", "one and missing"],
)
def test_too_few_units_are_no_zeros(high: Any, low: Any, group: str) -> None:
    with pytest.raises(TooFewUnits, match=f"demand={group}"):
        analysed(high, low)


def test_identical_replies_that_are_equal() -> None:
    of = experiment(factors=TINY.factors, measures=[replace(WIDE, bounds=(0, 12))])
    found = analysed([5.0] * 120, [5.0] * 120, of=of)
    assert found.deterministic
    assert found.estimate == 0
    assert found.p_alarm == 1.0
    assert found.p_clear == pytest.approx((1 - 0.6 / 12) ** 120)
    assert interval_of(found).low == -interval_of(found).high < 0
    assert set(there(found.published).statistics) == {"not defined"}
    assert found.effect_size is None
    assert "deterministic replies" in found.notes[0]


def test_few_identical_replies_clear_nothing() -> None:
    of = experiment(factors=TINY.factors, measures=[replace(WIDE, bounds=(0, 12))])
    found = analysed([5.0] * 5, [5.0] * 5, of=of)
    assert there(found.p_clear) > 0.05
    assert found.settle is not None
    again = analysed([5.0] * found.settle, [5.0] * found.settle, of=of)
    assert there(again.p_clear) <= 0.05


def test_identical_replies_that_differ_are_never_p_0() -> None:
    found = analysed([6.0] * 120, [5.0] * 120)
    assert found.deterministic
    assert found.estimate == 1.0
    assert 0 < found.p_alarm < 1e-6
    assert found.p_clear == 1.0
    assert interval_of(found).low < 1 < interval_of(found).high


def test_one_group_may_be_identical() -> None:
    found = analysed([6.0] * 10, LOW)
    assert not found.deterministic
    welch = stats.ttest_1samp(LOW, 6.0)
    assert found.p_alarm == pytest.approx(welch.pvalue, rel=1e-9)


@pytest.mark.requirement("ANCHOR-29")
def test_beside_people() -> None:
    human = there(analysed(HIGH, LOW, human=PEOPLE).human)
    assert human.difference == pytest.approx(2.05)
    assert human.se == pytest.approx(0.976, abs=5e-4)
    assert human.p == pytest.approx(0.0426, abs=5e-5)
    assert (human.people.low, human.people.high) == pytest.approx((0.072, 4.028), abs=5e-4)
    assert human.estimate == pytest.approx(np.mean(HIGH) - np.mean(LOW) - 2.05)
    assert analysed(HIGH, LOW).human is None


RELATIONS = {
    # shift of the high group: (as published, primary)
    -6.0: ("LESS", "LESS"),
    0.05: ("LESS", "not distinguishable"),
    1.05: ("SIMILAR", "not distinguishable"),
    2.0: ("GREATER", "not distinguishable"),
    8.0: ("GREATER", "GREATER"),
}


@pytest.mark.requirement("ANCHOR-30", "ANCHOR-31")
@pytest.mark.parametrize(("shift", "relations"), RELATIONS.items(), ids=map(str, RELATIONS))
def test_less_similar_or_greater(shift: float, relations: tuple[str, str]) -> None:
    spread = [-0.5, -0.25, 0.0, 0.25, 0.5] * 20
    human = there(
        analysed([6 + shift + x for x in spread], [5 + x for x in spread], human=PEOPLE).human
    )
    assert (human.published, human.primary) == relations


@pytest.mark.requirement("ANCHOR-30")
def test_similar_is_only_what_is_shown_to_be() -> None:
    sharp = replace(PEOPLE, t=40.0)
    spread = [-0.5, -0.25, 0.0, 0.25, 0.5] * 20
    human = there(analysed([7.05 + x for x in spread], [5 + x for x in spread], human=sharp).human)
    assert human.primary == "SIMILAR"


def rate(high: Sequence[bool | None], low: Sequence[bool | None]) -> Finding:
    of = experiment(factors=TINY.factors, measures=[FLAG])
    records = rows(of, {"high": high, "low": low})
    return RateDifference("score", "demand", high="high", low="low").analyse(of, records)


def test_rare_events_are_tested_exactly() -> None:
    found = rate([True] * 3 + [False] * 17, [False] * 20)
    assert "Fisher" in found.method
    fisher = stats.fisher_exact([[3, 17], [0, 20]])
    assert found.p_alarm == pytest.approx(fisher.pvalue, rel=1e-9)


def test_rates_need_flags_and_replies() -> None:
    of = experiment(factors=TINY.factors, measures=[FLAG])
    contrast = RateDifference("score", "demand", high="high", low="low")
    with pytest.raises(BadDesign, match="True or False"):
        contrast.analyse(of, rows(of, {"high": [1.0], "low": [0.0]}))
    with pytest.raises(BadDesign, match="several types"):
        contrast.analyse(of, rows(of, {"high": [1.0], "low": [True]}))
    with pytest.raises(BadDesign, match="words"):
        contrast.analyse(of, rows(of, {"high": ["one"], "low": ["two"]}))
    with pytest.raises(TooFewUnits, match="demand=low"):
        rate([True], [None])


@pytest.mark.parametrize("more", [[], [Factor("tone", {"x": 1, "y": 2})]], ids=["two", "four"])
@pytest.mark.parametrize(
    "replies",
    [[5.0] * 18 + [6.0] * 2, [4.9] * 8 + [5.1] * 8 + [6.5] * 4],
    ids=["alike", "skewed"],
)
def test_no_number_would_settle_what_a_doubted_spread_does_not(
    replies: list[float], more: list[Factor]
) -> None:
    """24 rule out what could be unseen, and do not clear: that is asked of the scale, not of t."""
    of = experiment(
        factors=[*TINY.factors, *more], measures=[replace(WIDE, bounds=(0, 10))], replicates=20
    )
    each = {cell.id: replies[:: 1 + len(more)] for cell in of.conditions}
    found = difference().analyse(of, rows(of, each))
    assert there(found.equivalence).p <= 0.05 < (found.p_clear or 0)
    assert found.settle is None


def test_what_would_settle_it_is_never_fewer_than_can_clear_anything() -> None:
    def alternating(number: int, bounds: tuple[float, float] | None) -> Finding:
        of = experiment(factors=TINY.factors, measures=[replace(WIDE, bounds=bounds)])
        a, b = [5.0, 5.01] * number, [5.01, 5.0] * number
        return analysed(a[:number], b[:number], of=of, margin=0.6)

    found = alternating(6, None)
    assert found.p_clear == 1.0
    assert found.notes
    assert found.settle == FEW_UNITS
    # So few may all miss some at the far end of the scale that make the margin by themselves.
    settle = alternating(6, (-100, 100)).settle
    assert settle == alternating(60, (-100, 100)).settle == 523
    assert [(alternating(n, (-100, 100)).p_clear or 0) > 0.05 for n in (settle - 1, settle)] == [
        *(True, False)
    ]
