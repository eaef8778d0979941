"""The description over pools: held against plain sums and scipy, and calibrated by simulation."""

from __future__ import annotations

import math
import statistics as plain
from random import Random
from typing import Any, cast

import numpy as np
import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # ships no types
import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # ships no types

from pytest_bias.errors import BadData, TooFewUnits

from ..published.description import magnitudes, selection_description
from ..published.features import FEATURES, Feature
from ..published.tables import PoolTrial, stacked
from .generated import posts, trials

LENGTH = Feature("text_length", "numerical")
TOPIC = Feature("primary_topic", "categorical")
EMOJI = Feature("has_emoji", "binary")


def shown(trial: PoolTrial, name: str) -> list[Any]:
    return [cast("Any", post)[name] for post in trial.pool]


def test_a_numerical_feature_is_the_t_test_of_pools() -> None:
    made = trials(12, 1, lean=0.3, size=40)
    differences = []
    for trial in made:
        values = shown(trial, "text_length")
        picked = [values[pick] for pick in trial.picks]
        differences.append((plain.fmean(picked) - plain.fmean(values)) / plain.stdev(values))
    expected = stats.ttest_1samp(differences, 0)
    low, high = expected.confidence_interval()
    found = selection_description(made).feature("text_length")
    assert found.estimate == pytest.approx(plain.fmean(differences))
    assert found.size == found.estimate
    assert found.p == pytest.approx(expected.pvalue)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high))
    assert (found.pools, found.constant, found.lost, found.missing) == (12, 0, 0, 0)


@pytest.mark.parametrize("unit", [2.0**1010, 2.0**500, 2.0**-900, 2.0**-1050])
def test_the_unit_of_a_feature_does_not_matter(unit: float) -> None:
    """Neither do squares of large values overflow, nor those of small ones vanish."""
    pools = [[float(n) for n in sample] for sample in ([1, 2, 3, 9], [4, 4, 6, 1], [2, 8, 8, 5])]

    def described(scale: float) -> Any:
        made = [
            PoolTrial({"text_length": [value * scale for value in pool]}, [2]) for pool in pools
        ]
        return selection_description(made, [LENGTH]).feature("text_length")

    assert described(unit) == described(1.0)
    assert described(1.0).estimate != 0


def test_categories_are_t_tests_of_shares() -> None:
    made = trials(15, 2, size=30)
    found = selection_description(made).feature("primary_topic")
    ps = []
    for each in found.categories:
        differences = []
        for trial in made:
            values = shown(trial, "primary_topic")
            picked = [values[pick] for pick in trial.picks]
            share = picked.count(each.category) / len(picked)
            differences.append(share - values.count(each.category) / len(values))
        assert each.estimate == pytest.approx(plain.fmean(differences))
        assert each.p == pytest.approx(stats.ttest_1samp(differences, 0).pvalue)
        ps.append(each.p)
    assert [each.category for each in found.categories] == ["a", "b", "c"]
    assert sum(each.estimate for each in found.categories) == pytest.approx(0)
    assert found.p == pytest.approx(min(1.0, 3 * min(p for p in ps if p is not None)))
    assert found.estimate is None
    assert found.size == pytest.approx(sum(abs(each.estimate) for each in found.categories) / 2)


def test_a_binary_feature_is_that_of_its_second_value() -> None:
    found = selection_description(trials(15, 3, size=30)).feature("has_emoji")
    no, yes = found.categories
    assert (no.category, yes.category) == ("0", "1")
    assert (found.estimate, found.p, found.interval) == (yes.estimate, yes.p, yes.interval)
    assert no.estimate == pytest.approx(-yes.estimate)


def test_adjusted_p_values_are_over_all_features_that_have_one() -> None:
    made = trials(20, 4, lean=0.3, size=40)
    found = selection_description(made)
    ps = [each.p for each in found.features]
    assert len(ps) == len(FEATURES) == 16
    assert [each.p_bh for each in found.features] == pytest.approx(
        stats.false_discovery_control(ps).tolist()
    )
    order = sorted(range(16), key=lambda place: ps[place] or 0)
    running = 0.0
    for rank, place in enumerate(order):
        running = max(running, min(1.0, (ps[place] or 0) * (16 - rank)))
        assert found.features[place].p_holm == pytest.approx(running)


def test_bergsmas_v_is_of_picked_against_passed_over() -> None:
    made = trials(20, 5, size=40)
    pool, picked = stacked(made, [TOPIC])
    names = sorted(set(map(str, pool["primary_topic"])))
    table = np.array(
        [
            [
                picked["primary_topic"].count(name),
                pool["primary_topic"].count(name) - picked["primary_topic"].count(name),
            ]
            for name in names
        ]
    )
    n, (rows, columns) = table.sum(), table.shape
    phi2 = stats.chi2_contingency(table, correction=False).statistic / n
    corrected = max(0.0, phi2 - (rows - 1) * (columns - 1) / (n - 1))
    size = min(side - 1 - (side - 1) ** 2 / (n - 1) for side in (rows, columns))
    found = selection_description(made, [TOPIC]).feature("primary_topic")
    assert found.bergsma_v == pytest.approx(math.sqrt(corrected / size))


def small(values: list[Any], picks: list[int], feature: Feature = LENGTH) -> PoolTrial:
    return PoolTrial({feature.name: values}, picks)


def test_constant_pools_say_nothing_and_are_counted() -> None:
    made = [small([3.0] * 5, [0]), small([1.0, 2.0, 3.0], [2]), small([1.0, 2.0, 9.0], [2])]
    found = selection_description(made, [LENGTH]).feature("text_length")
    assert (found.pools, found.constant) == (2, 1)
    nothing = selection_description(made[:1] * 4, [LENGTH]).feature("text_length")
    assert (nothing.estimate, nothing.size, nothing.p, nothing.p_holm) == (None,) * 4
    assert (nothing.pools, nothing.constant) == (0, 4)
    assert nothing.note
    alike = selection_description([small(["x"] * 4, [1], TOPIC)] * 3, [TOPIC]).features[0]
    assert (alike.size, alike.p, alike.bergsma_v, alike.constant) == (None, None, None, 3)


def test_missing_values_are_left_out_and_counted() -> None:
    made = [
        small([1.0, None, 3.0], [2]),
        small([1.0, 2.0, math.nan], [2]),
        small([5.0, 6.0, 8.0], [0]),
    ]
    found = selection_description(made, [LENGTH]).feature("text_length")
    assert (found.pools, found.lost, found.missing) == (2, 1, 2)
    topics = [small(["a", "", "b"], [0, 1], TOPIC), small(["a", None, "b"], [1], TOPIC)]
    described = selection_description(topics, [TOPIC]).feature("primary_topic")
    assert (described.pools, described.lost, described.missing) == (1, 1, 2)
    assert [each.estimate for each in described.categories] == [0.5, -0.5]
    assert described.note


def test_pools_that_all_differ_alike_have_no_interval_and_an_exact_p() -> None:
    found = selection_description([small([1.0, 2.0, 3.0], [2])] * 6, [LENGTH]).features[0]
    assert found.estimate == pytest.approx(1.0)
    assert (found.interval, found.p) == (None, 2**-5)
    none = selection_description([small([1.0, 2.0, 3.0], [1])] * 6, [LENGTH]).features[0]
    assert (none.estimate, none.interval, none.p) == (0.0, None, 1.0)
    many = selection_description([small([1.0, 2.0, 3.0], [2])] * 2000, [LENGTH]).features[0]
    assert many.p is not None
    assert many.p > 0


def test_one_pool_has_an_estimate_only() -> None:
    found = selection_description([small([1.0, 2.0, 3.0], [2])], [LENGTH])
    (feature,) = found.features
    assert (feature.estimate, feature.interval, feature.p, feature.p_bh) == (1.0, None, None, None)
    assert found.position is not None
    assert (found.position.mean, found.position.p) == (1.0, None)
    assert feature.note
    assert found.position.note


def test_position_bias_is_the_t_test_of_mean_places() -> None:
    rng = Random(6)  # noqa: S311  (made-up picks, no secret)
    made = [small(list(range(50)), sorted(rng.sample(range(30), 5))) for _ in range(25)]
    places = [sum(trial.picks) / 5 / 49 for trial in made]
    found = selection_description(made, [LENGTH]).position
    assert found is not None
    assert found.mean == pytest.approx(plain.fmean(places))
    assert found.mean < 0.5
    assert found.p == pytest.approx(stats.ttest_1samp(places, 0.5).pvalue)
    low, high = stats.ttest_1samp(places, 0.5).confidence_interval()
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high))
    assert selection_description([small([1.0], [0])], [LENGTH]).position is None


def test_picking_at_random_is_significant_at_its_rate() -> None:
    # Simulated: 400 conditions of 20 pools, nothing is preferred.
    rng = np.random.default_rng(7)
    alarms = places = 0
    for _ in range(400):
        made = [
            small(rng.exponential(size=30).tolist(), rng.permutation(30)[:5].tolist())
            for _ in range(20)
        ]
        found = selection_description(made, [LENGTH])
        p = found.features[0].p
        assert p is not None
        assert found.position is not None
        assert found.position.p is not None
        alarms += p < 0.05
        places += found.position.p < 0.05
    assert alarms / 400 <= 0.0718
    assert places / 400 <= 0.0718


def test_magnitudes_scale_sizes_over_conditions_and_lose_the_sign() -> None:
    described = {
        name: selection_description(trials(8, 8, lean=lean, size=30), [LENGTH, TOPIC])
        for name, lean in (("down", -1.0), ("none", 0.0), ("up", 0.4))
    }
    sizes = {name: found.feature("text_length").size or 0 for name, found in described.items()}
    found = magnitudes(described)
    low, high = min(sizes.values()), max(sizes.values())
    for name, size in sizes.items():
        assert found[name]["text_length"] == pytest.approx((size - low) / (high - low))
    assert found["down"]["text_length"] == 1
    assert (described["down"].feature("text_length").estimate or 0) < 0
    nothing = selection_description([small([3.0] * 5, [0])] * 3, [LENGTH])
    assert magnitudes({"a": nothing}) == {"a": {"text_length": None}}


def test_a_trial_can_be_made_of_ids() -> None:
    corpus = {f"p{n}": {"text_length": n} for n in range(5)}
    trial = PoolTrial.of(["p3", "p0", "p4"], ["p4", "p3"], corpus)
    assert trial.picks == (2, 0)
    assert stacked([trial, trial], [LENGTH]) == (
        {"text_length": [3, 0, 4, 3, 0, 4]},
        {"text_length": [4, 3, 4, 3]},
    )
    for shown, picked, says in (
        (["p3", "p9"], ["p3"], "'p9' is not in the corpus"),
        (["p3", "p1"], ["p2"], "'p2' was picked, but not shown"),
        (["p3", "p3"], ["p3"], "names a post twice"),
        (["p3", "p1"], ["p3", "p3"], "names a post twice"),
        (["p3", "p1"], [], "is empty"),
    ):
        with pytest.raises(BadData, match=says):
            PoolTrial.of(shown, picked, corpus)
    with pytest.raises(BadData, match="outside the 2 that were shown"):
        small([1, 2], [2])
    with pytest.raises(BadData, match="must be whole numbers"):
        small([1, 2], cast("Any", ["p1"]))
    assert "text_length" not in repr(trial)


def test_pools_may_be_frames() -> None:
    pool = posts(30, 9)
    by_rows = PoolTrial(pool, range(10))
    by_frame = PoolTrial(pd.DataFrame(pool, index=range(100, 130)), range(10))
    other = PoolTrial(posts(30, 10), range(10))
    assert selection_description([by_rows, other]) == selection_description([by_frame, other])


@pytest.mark.parametrize(
    ("trial", "feature", "says"),
    [
        (small([1.0, math.inf], [0]), LENGTH, "contains an infinity"),
        (small([1.0, "long"], [0]), LENGTH, "could not convert"),
        (small(["a", ["b"]], [0], TOPIC), TOPIC, "unhashable"),
        (small(["a", "b", "c"], [0], EMOJI), EMOJI, "declared binary but has 3 values"),
        (small(["a", "b"], [0], TOPIC), LENGTH, "is missing"),
    ],
)
def test_pools_that_cannot_be_read_are_refused(
    trial: PoolTrial, feature: Feature, says: str
) -> None:
    with pytest.raises(BadData, match=says):
        selection_description([trial], [feature])


def test_without_a_trial_nothing_is_described() -> None:
    with pytest.raises(TooFewUnits):
        selection_description([])
