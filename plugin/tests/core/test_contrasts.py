from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.contrasts.differences import MeanDifference
from pytest_bias.contrasts.estimate import Estimate
from pytest_bias.contrasts.people import Human
from pytest_bias.experiments.design import Factor
from pytest_bias.experiments.measures import Measure
from pytest_bias.stats.results import Interval

from ..helpers import there
from .factories import experiment, rows
from .stats.reference import SLEEP, TOOTH_GROWTH, values

WIDE = Measure("score", unit="points", bounds=(-100, 100))
TINY = experiment(
    factors=[Factor("demand", {"low": 3, "high": 9}, unit="months")], measures=[WIDE]
)
PEOPLE = Human.tested(
    low=4.00, high=6.05, t=2.10, df=37, n=39, similar_within=0.5, citation="Englich et al. 2006"
)


def interval_of(found: Any) -> Interval:
    assert isinstance(found.interval, Interval)
    return found.interval


def difference(**changes: Any) -> MeanDifference:
    given: dict[str, Any] = {"high": "high", "low": "low", "margin": 0.6, "claim": "clear"}
    return MeanDifference("score", "demand", **(given | changes))


def analysed(
    high: Sequence[float | None], low: Sequence[float | None], **changes: Any
) -> Estimate:
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
    assert found.lost is None
    assert found.published is not None
    assert found.published.statistics["t"] == pytest.approx(welch.statistic, rel=1e-9)
    assert found.published.statistics["df"] == pytest.approx(welch.df, rel=1e-9)


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


@pytest.mark.requirement("ANCHOR-26")
def test_the_bootstrap_says_how_to_repeat_it() -> None:
    first, again = analysed(HIGH, LOW).bootstrap, analysed(HIGH, LOW).bootstrap
    assert first == again
    assert first is not None
    assert (first.iterations, first.seed, first.method) == (10_000, 1, "percentile")
    assert interval_of(first).low < np.mean(HIGH) - np.mean(LOW) < interval_of(first).high


@pytest.mark.requirement("ANCHOR-15")
def test_missing_replies_are_counted_and_never_zeros() -> None:
    found = analysed([*HIGH, None], [None, *LOW, None])
    assert (found.arms[0].missing, found.arms[1].missing) == ({"refusal": 1}, {"refusal": 2})
    assert found.estimate == analysed(HIGH, LOW).estimate
    assert found.units == 75


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
    sharp = replace(PEOPLE, se=0.05)
    spread = [-0.5, -0.25, 0.0, 0.25, 0.5] * 20
    human = there(analysed([7.05 + x for x in spread], [5 + x for x in spread], human=sharp).human)
    assert human.primary == "SIMILAR"
