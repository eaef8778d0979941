"""The one estimator, held beside scipy and sums worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]

from pytest_bias import Measure, RateDifference
from pytest_bias.contrasts.cells import (
    Grid,
    Weights,
    grid_of,
)
from pytest_bias.contrasts.estimate import Estimate
from pytest_bias.contrasts.estimator import estimate, sample_of
from pytest_bias.contrasts.largest import largest_of
from pytest_bias.contrasts.layout import departures, signed_sums, weights_between
from pytest_bias.errors import NoFinding, NoVariance
from pytest_bias.stats.equivalence import clearing_p, further_of, sides_of

from .designs import Floats, asked, at, cell, grid, groups, items, level, recorded, study

RNG = np.random.default_rng(20261128)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def _the_same_draws_in_any_order() -> None:
    RNG.bit_generator.state = START


def two(a: Any, b: Any, **given: Any) -> Grid:
    return grid([cell(a, tone="high"), cell(b, tone="low")], **given)


HIGH_LOW = Weights(weights_between("tone", ["high"], ["low"]))


def difference(of: Grid, margin: float | None = 0.6, **given: Any) -> Estimate:
    return estimate(sample_of(of, HIGH_LOW, None), margin=margin, **given)


def test_the_further_unit_is_one_more_reply_at_the_end_of_the_scale() -> None:
    a, b = RNG.normal(5, 1, 80), RNG.normal(5, 1, 80)
    found = difference(two(a, b))
    tails = []
    for sign, (high, low) in ((1, (12, 0)), (-1, (0, 12))):
        more_a, more_b = np.append(a, high), np.append(b, low)
        value = sign * (more_a.mean() - more_b.mean())
        se = math.sqrt(more_a.var(ddof=1) / 81 + more_b.var(ddof=1) / 81)
        tails.append(stats.t.cdf((value - 0.6) / se, found.df))
    assert found.p_clear == pytest.approx(max(tails), rel=1e-9)


def test_strata_are_weighed_alike_with_the_variance_within_them() -> None:
    cells, means, variances = [], {}, 0.0
    for tone in ("high", "low"):
        each = []
        for style, n in (("plain", 12), ("formal", 30)):
            values = RNG.normal(6 if style == "plain" else 3, 1, n)
            each.append(values.mean())
            variances += values.var(ddof=1) / n / 4
            cells.append(cell(values, tone=tone, style=style))
        means[tone] = np.mean(each)
    found = difference(grid(cells))
    assert found.estimate == pytest.approx(means["high"] - means["low"], rel=1e-12)
    assert found.se == pytest.approx(math.sqrt(variances), rel=1e-12)
    assert found.fewest == int(4 / (1 / 12 + 1 / 30))  # so many alike ones have that error


def test_a_population_crossed_with_what_is_compared_is_one_value_a_unit() -> None:
    of = study(items=items(24), replicates=3)
    noise = {f"s{i}": RNG.normal(0, 1) for i in range(24)}
    records = recorded(
        of,
        lambda t: 2 * (level(t, "tone") == "high") + noise[t.item or ""] + RNG.normal(0, 0.3),
    )
    found = asked(target="population", unit="seed", margin=1.0).analyse(of, records)
    differences = [
        at(records, seed=f"s{i}", tone="high").mean()
        - at(records, seed=f"s{i}", tone="low").mean()
        for i in range(24)
    ]
    test = stats.ttest_1samp(differences, 0)
    assert found.estimate == pytest.approx(np.mean(differences))
    assert found.se == pytest.approx(np.std(differences, ddof=1) / math.sqrt(24))
    assert found.p_alarm == pytest.approx(test.pvalue, rel=0.05)
    (group,) = found.by_unit
    assert np.mean(list(group.values.values())) == pytest.approx(found.estimate)
    assert (found.units, str(found.unit_name)) == (24, "seed")


def test_exemplars_of_what_is_compared_are_units_of_their_groups() -> None:
    of = study(factors=[groups({"a": 12, "b": 12, "c": 15})], replicates=4)
    own: dict[object, float] = {}
    records = recorded(
        of,
        lambda t: own.setdefault(t.exemplars["group"], RNG.normal(0, 1)) + RNG.normal(0, 0.2),
    )
    weights = Weights(weights_between("group", ["a"], ["b", "c"]))
    found = estimate(sample_of(grid_of(of, records, "score"), weights, ("group",)), margin=1.0)
    means = {
        name: [at(records, group=name, who=f"{name} {i}").mean() for i in range(n)]
        for name, n in (("a", 12), ("b", 12), ("c", 15))
    }
    value = np.mean(means["a"]) - (np.mean(means["b"]) + np.mean(means["c"])) / 2
    variance = sum(
        w**2 * np.var(means[name], ddof=1) / len(means[name])
        for name, w in (("a", 1), ("b", 0.5), ("c", 0.5))
    )
    assert found.estimate == pytest.approx(value)
    assert found.se == pytest.approx(math.sqrt(variance))
    assert (found.units, found.fewest) == (39, 12)


def test_few_units_show_bias_by_a_permutation_and_clear_nothing() -> None:
    found = difference(two([9, 9, 8, 9, 9, 9], [1, 2, 1, 1, 1, 1]), margin=11.0)
    assert found.p_alarm == pytest.approx(2 / math.comb(12, 6))
    assert (found.p_clear, found.needed) == (1.0, 10)


@pytest.mark.parametrize("n", [12, 200])
def test_replies_that_are_all_alike_and_differ_are_shown_to(n: int) -> None:
    found = difference(two([8.0] * n, [5.0] * n))
    assert (found.estimate, found.se) == (3.0, None)
    assert found.p_alarm < 0.001
    assert found.interval is not None
    assert found.interval.low < 3 < found.interval.high


def rates(high: int, low: int, n: int = 100) -> Grid:
    return two([1.0] * high + [0.0] * (n - high), [1.0] * low + [0.0] * (n - low), flags=True)


def test_rates_alarm_with_one_further_reply_nearer_to_no_effect() -> None:
    found = difference(rates(12, 0), margin=0.1)
    high, low = np.array([1.0] * 12 + [0.0] * 89), np.array([1.0] + [0.0] * 100)
    se = math.sqrt(high.var(ddof=1) / 101 + low.var(ddof=1) / 101)
    assert found.estimate == 0.12
    assert found.p_alarm == pytest.approx(2 * stats.t.sf((11 / 101) / se, found.df), rel=1e-9)
    assert found.interval is not None
    assert difference(rates(0, 0), margin=0.1).interval is not None  # never of zero width


def test_at_one_variance_the_test_is_students() -> None:
    a, b = RNG.normal(5, 1, 12), RNG.normal(6, 3, 40)
    found = difference(two(a, b))
    both = [stats.ttest_ind(a, b, equal_var=equal).pvalue for equal in (False, True)]
    assert found.p_alarm == pytest.approx(max(both), rel=1e-9)
    assert both[1] > both[0]
    few = difference(two(a, b[:17]))
    assert few.p_alarm == pytest.approx(stats.ttest_ind(a, b[:17], equal_var=False).pvalue)


def test_df_of_rates_are_those_of_the_sides_to_clear_and_no_more_to_alarm() -> None:
    """To clear, as if both had one variance; an alarm takes the smaller of these and Welch's."""
    flags = {"bounds": (0, 1), "flags": True}
    a, b = [True, False] * 30, [True, *[False] * 29] * 6
    found = difference(two(a, b, **flags), 0.5)
    parts = (1 / 60, 1 / 180)
    df = sum(parts) ** 2 / (parts[0] ** 2 / 59 + parts[1] ** 2 / 179)
    further = further_of(
        sides_of([np.array(a, float), np.array(b, float)], [1, -1], low=0, high=1)[0]
    )
    assert found.p_clear == pytest.approx(clearing_p(further, low=-0.5, high=0.5, df=df))
    welch = stats.ttest_ind(a, b, equal_var=False)
    assert found.df == pytest.approx(welch.df)
    assert welch.df < df


def test_a_ratio_is_of_the_means_of_rates_on_the_log_scale() -> None:
    found = difference(rates(60, 40), margin=1.25, ratio=True)
    assert found.estimate == pytest.approx(1.5)
    variance = sum(p * (1 - p) / 99 / p**2 for p in (0.6, 0.4))
    assert found.se == pytest.approx(math.sqrt(variance), rel=1e-9)
    assert found.interval is not None
    assert found.interval.low < 1.5 < found.interval.high
    with pytest.raises(NoVariance):
        difference(rates(0, 0), margin=1.25, ratio=True)
    none = difference(rates(9, 0), margin=1.25, ratio=True)
    assert none.estimate == pytest.approx((9.5 / 101) / (0.5 / 101))
    assert none.p_clear == 1.0


def of_groups(means: dict[str, float]) -> tuple[Grid, dict[str, Floats]]:
    values = {name: RNG.normal(mean, 1, 30) for name, mean in means.items()}
    return grid([cell(of, tone=name) for name, of in values.items()]), values


def test_the_largest_departure_is_adjusted_over_all_of_them() -> None:
    of, values = of_groups({"a": 5.0, "b": 5.6, "c": 5.1})
    found = largest_of(
        departures({"tone": ["a", "b", "c"]}), of, None, margin=None, null="zero", shrink=1.0
    )
    grand = np.mean([each.mean() for each in values.values()])
    sizes = {name: abs(each.mean() - grand) for name, each in values.items()}
    assert found.estimate == pytest.approx(max(sizes.values()))
    alone = min(
        estimate(sample_of(of, Weights(parts), None), margin=None).p_alarm
        for parts, _ in departures({"tone": ["a", "b", "c"]}).values()
    )
    assert alone <= found.p_alarm <= 3 * alone + 1e-9  # between no adjustment and Bonferroni


def test_an_interaction_of_two_levels_each_is_one_contrast() -> None:
    cells = [
        cell(RNG.normal(mean, 1, 40), tone=tone, style=style)
        for (tone, style), mean in {
            ("high", "plain"): 5,
            ("high", "formal"): 4,
            ("low", "plain"): 5,
            ("low", "formal"): 5,
        }.items()
    ]
    of = grid(cells)
    each = departures({"tone": ["high", "low"], "style": ["plain", "formal"]})
    found = largest_of(each, of, None, margin=0.5, null="zero", shrink=1.0)
    (only,) = each.values()
    alone = estimate(sample_of(of, Weights(only[0]), None), margin=0.5)
    assert found.estimate == pytest.approx(abs(alone.estimate))
    assert found.p_alarm == pytest.approx(alone.p_alarm, abs=0.01)
    assert found.p_clear == alone.p_clear


def test_a_sum_of_gaps_is_the_largest_of_its_signed_sums() -> None:
    of, values = of_groups({"a": 5.0, "b": 5.5, "c": 4.8})
    gaps = [
        ({"a": 1.0, "b": -1.0}, 0.5),
        ({"a": 1.0, "c": -1.0}, 0.5),
    ]
    found = largest_of(signed_sums("tone", gaps), of, None, margin=2.0, null="zero", shrink=1.0)
    mean = {name: each.mean() for name, each in values.items()}
    total = 0.5 * abs(mean["a"] - mean["b"]) + 0.5 * abs(mean["a"] - mean["c"])
    assert found.estimate == pytest.approx(total)


def test_a_margin_is_tested_at_what_an_error_of_reading_leaves_of_it() -> None:
    of = rates(30, 24, 400)
    assert difference(of, margin=0.1, shrink=0.8).p_clear == pytest.approx(
        difference(of, margin=0.08).p_clear or 0
    )
    assert difference(of, margin=0.1, shrink=0.8).margin == 0.1
    assert difference(of, margin=0.1, shrink=0.8, null="margin").p_alarm == (
        difference(of, margin=0.1, null="margin").p_alarm
    )


def test_a_missing_reply_may_count_as_an_event_that_did_not_happen() -> None:
    """Of 40 replies a tone the high one lacks 10: while valid both rates are 1."""
    for missing_as, expected in ((None, 0.0), (False, -0.25)):
        of = study(measures=[Measure("yes", kind="flag", missing_as=missing_as)], replicates=20)
        records = recorded(
            of,
            lambda t: None if level(t, "tone") == "high" and t.replicate <= 5 else True,
            "yes",
        )
        question = RateDifference("yes", "tone", high="high", low="low", margin=0.1)
        found = question.analyse(of, records)
        assert found.estimate == pytest.approx(expected)
        assert found.missing == (10 if missing_as is None else 0)


def test_an_item_that_a_condition_has_no_reply_to_leaves_the_battery() -> None:
    of = study(items=items(10), replicates=4)

    def draw(bare: int) -> Estimate:
        lost = {f"s{n}" for n in range(bare)}
        records = recorded(
            of,
            lambda t: None if t.item in lost and level(t, "tone") == "high" else RNG.normal(),
        )
        return asked(margin=3.0).analyse(of, records)

    found = draw(2)
    assert "2 of the items are left out" in found.notes[0]
    assert "s0, s1" in found.notes[0]
    assert found.replies == 8 * 16
    assert found.lost is not None
    assert found.lost.shares == pytest.approx((0.2, 0.0))  # of all items there were
    assert found.missing == 16  # of 2 items, 2 styles and 4 replicates
    with pytest.raises(NoFinding, match="incomplete design"):
        draw(3)
