"""Relabellings and exchanges counted by hand, by their counts, and under nulls that hold."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from collections import Counter
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.errors import BadStatisticInput, TooFewUnits
from pytest_bias.stats import _relabelling as counting
from pytest_bias.stats import _relabelling as relabelling
from pytest_bias.stats.permutation import (
    contrast_permutation,
    gap_permutation,
    group_permutation,
    label_permutation,
    label_shuffle_ratio,
    profile_permutation,
)
from pytest_bias.stats.resampling import (
    exact_separation_p,
    exchange_size,
    spread_of_means,
    sum_of_gaps,
)

from .reference import assert_sound

Floats = NDArray[np.float64]


A_LESS_B = {"a": 1.0, "b": -1.0}
THREE = ["a"] * 3 + ["b"] * 3 + ["c"] * 2
VALUES = [1.0, 2.5, 3.0, 4.0, 4.5, 7.0, 2.0, 9.0]


def orders_of(labels: list[str]) -> list[tuple[str, ...]]:
    return sorted(set(itertools.permutations(labels)))


def mean_of(values: list[float], labels: tuple[str, ...] | list[str], label: str) -> float:
    return float(np.mean([v for v, name in zip(values, labels, strict=True) if name == label]))


def test_a_contrast_counts_every_relabelling() -> None:
    weights = {"a": 1.0, "b": -0.5, "c": -0.5}

    def contrast(labels: tuple[str, ...] | list[str]) -> float:
        return abs(sum(w * mean_of(VALUES, labels, name) for name, w in weights.items()))

    every = [contrast(labels) for labels in orders_of(THREE)]
    expected = np.mean([one >= contrast(THREE) - 1e-12 for one in every])
    found = contrast_permutation(VALUES, THREE, weights, seed=1)
    assert found.p == pytest.approx(expected, rel=1e-12)
    assert (found.exact, found.error, found.seed) == (True, 0, 1)


def test_units_without_weight_take_no_part() -> None:
    found = contrast_permutation(VALUES, THREE, {**A_LESS_B, "c": 0.0}, seed=1)
    assert found.p == contrast_permutation(VALUES[:6], THREE[:6], A_LESS_B, seed=1).p


def test_one_way_f_and_studentised_max_t_by_hand() -> None:
    values, labels = VALUES[:7], ["a", "a", "b", "b", "b", "c", "c"]

    def statistics(order: tuple[str, ...] | list[str]) -> list[float]:
        groups = [
            np.array([v for v, name in zip(values, order, strict=True) if name == g])
            for g in "abc"
        ]
        means = [g.mean() for g in groups]
        found = [float(stats.f_oneway(*groups).statistic)]
        for i in range(3):
            j, k = [other for other in range(3) if other != i]
            of = [g.var(ddof=1) / g.size for g in groups]
            difference = means[i] - (means[j] + means[k]) / 2
            found.append(abs(difference) / math.sqrt(of[i] + (of[j] + of[k]) / 4))
        return found

    observed = statistics(labels)
    null = np.array([statistics(order) for order in orders_of(labels)])
    found = group_permutation(values, labels, seed=3)
    slack = 1 - 1e-9
    assert found.omnibus.p == pytest.approx(np.mean(null[:, 0] >= observed[0] * slack))
    for i, name in enumerate("abc", start=1):
        group = found.groups[name]
        assert group.p == pytest.approx(np.mean(null[:, i] >= observed[i] * slack))
        joint = np.mean(null[:, 1:].max(axis=1) >= observed[i] * slack)
        assert group.p_max_t == pytest.approx(joint)
    rest = (mean_of(values, labels, "b") + mean_of(values, labels, "c")) / 2
    assert found.groups["a"].difference == pytest.approx(mean_of(values, labels, "a") - rest)


def test_two_groups_agree_with_label_permutation() -> None:
    a, b = VALUES[:4], VALUES[4:]
    expected = label_permutation(a, b, seed=1)
    found = group_permutation(VALUES, ["a"] * 4 + ["b"] * 4, seed=1)
    assert found.omnibus.p == pytest.approx(expected.p)
    assert found.groups["a"].p == pytest.approx(expected.p)
    assert expected.error == 0
    apart = label_permutation([1, 2, 3, 4, 5], [6, 7, 8, 9, 10], seed=1)
    assert apart.p == pytest.approx(exact_separation_p(5, 5))


def test_a_drawn_label_permutation_gives_its_error() -> None:
    rng = np.random.default_rng(2)
    found = label_permutation(rng.normal(size=30), rng.normal(size=30), resamples=400, seed=5)
    tail = found.p / 2
    assert not found.exact
    assert (found.p > 0.1, found.resamples) == (True, 100)
    assert found.error == pytest.approx(2 * math.sqrt(tail * (1 - tail) / 101))


@pytest.mark.parametrize("sizes", [(3, 6), (9, 10)])
def test_relabellings_of_two_groups_are_counted_as_scipy_counts_them(
    sizes: tuple[int, int],
) -> None:
    rng = np.random.default_rng(7)
    a, b = (
        rng.integers(0, 5, size) / 8 + shift for size, shift in zip(sizes, (0.3, 0), strict=True)
    )
    found = label_permutation(a, b, seed=1)
    expected = stats.permutation_test(
        (a, b),
        lambda one, two, axis: one.mean(axis) - two.mean(axis),
        vectorized=True,
        n_resamples=np.inf,
    )
    assert found.exact
    assert found.p == pytest.approx(expected.pvalue, rel=1e-12)


def test_blocks_of_several_sizes_and_blocks_of_one_label() -> None:
    labels = ["a", "b", "a", "a", "b", "b", "a", "a"]
    blocks = ["x", "x", "y", "y", "y", "y", "z", "z"]
    found = contrast_permutation(VALUES, labels, A_LESS_B, blocks=blocks, seed=1)
    every = [
        (*x, *y, "a", "a") for x in orders_of(["a", "b"]) for y in orders_of(["a", "a", "b", "b"])
    ]
    gaps = [abs(mean_of(VALUES, order, "a") - mean_of(VALUES, order, "b")) for order in every]
    least = abs(mean_of(VALUES, labels, "a") - mean_of(VALUES, labels, "b"))
    assert found.p == pytest.approx(np.mean([gap >= least - 1e-12 for gap in gaps]))


def test_drawn_relabellings_agree_with_all_of_them() -> None:
    rng = np.random.default_rng(8)
    values, labels = rng.normal(size=20).tolist(), ["a", "b"] * 10  # 184,756 relabellings
    blocks = ["x"] * 8 + ["y"] * 12  # 64,680
    for of_blocks in (None, blocks):
        drawn = contrast_permutation(values, labels, A_LESS_B, blocks=of_blocks, seed=1)
        every = contrast_permutation(
            values, labels, A_LESS_B, blocks=of_blocks, seed=1, resamples=200_000
        )
        assert (drawn.exact, every.exact) == (False, True)
        assert drawn.error > 0
        assert abs(drawn.p - every.p) < 4 * drawn.error
        assert drawn == contrast_permutation(values, labels, A_LESS_B, blocks=of_blocks, seed=1)


def test_p_is_never_zero() -> None:
    values = np.concatenate([np.zeros(50), np.ones(50)])
    labels = ["a"] * 50 + ["b"] * 50
    found = group_permutation(values, labels, resamples=999, seed=1)
    assert found.omnibus.p == found.groups["a"].p == found.groups["a"].p_max_t == 1 / 1000
    assert found.groups["b"].difference == 1


def test_constant_values_show_nothing() -> None:
    found = group_permutation([0.1] * 8, THREE, seed=1)
    assert found.omnibus.p == 1
    assert {(g.difference, g.p, g.p_max_t) for g in found.groups.values()} == {(0, 1, 1)}
    assert contrast_permutation([0.1] * 8, THREE, A_LESS_B, seed=1).p == 1
    gap = gap_permutation([0.1] * 8, THREE, [(A_LESS_B, 1)], seed=1)
    assert (gap.total, gap.null_mean, gap.null_q95, gap.permutation.p) == (0, 0, 0, 1)


def test_parallel_profiles_do_not_interact() -> None:
    levels = np.array([0.1, 0.7, 3.3, 1e3, 2.0, 5.0])
    profiles = levels[:, None] + np.array([0.1, 0.2, 0.7])
    found = profile_permutation(profiles, ["a", "b"] * 3, seed=1)
    assert found.omnibus.p == 1
    assert {cell.p_max_t for cell in found.cells.values()} == {1}


def test_an_interaction_is_found_in_its_cells_and_not_a_level() -> None:
    rng = np.random.default_rng(4)
    labels = [name for name in "abcd" for _ in range(8)]
    profiles = rng.normal(scale=0.2, size=(32, 3)) + rng.normal(scale=3, size=(32, 1))
    profiles[:8, 1] += 1.0
    found = profile_permutation(profiles, labels, resamples=1000, seed=1)
    assert found.omnibus.p < 0.01
    assert found.cells["a", 1].p_max_t < 0.01
    centred = profiles - profiles.mean(axis=1, keepdims=True)
    expected = centred[:8, 1].mean() - np.mean([centred[i : i + 8, 1].mean() for i in (8, 16, 24)])
    assert found.cells["a", 1].estimate == pytest.approx(expected)
    moved = profile_permutation(profiles + np.arange(32)[:, None], labels, resamples=1000, seed=1)
    assert moved.omnibus.p == found.omnibus.p


def test_two_conditions_are_a_permutation_of_differences() -> None:
    rng = np.random.default_rng(6)
    profiles = rng.normal(size=(9, 2))
    labels = ["a"] * 4 + ["b"] * 5
    found = profile_permutation(profiles, labels, seed=1)
    alone = group_permutation(profiles[:, 0] - profiles[:, 1], labels, seed=1)
    assert found.omnibus.p == alone.omnibus.p
    assert found.cells["a", 0].p_max_t == alone.groups["a"].p_max_t
    assert found.cells["a", 0].estimate == pytest.approx(alone.groups["a"].difference / 2)


def test_a_total_gap_stands_beside_what_chance_makes_of_it() -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(12, 6))
    gaps = [(A_LESS_B, 1.0), ({"a": 1.0, "c": -1.0}, 2.0)]
    labels = ["a", "a", "b", "b", "c", "c"]
    found = gap_permutation(rows, labels, gaps, resamples=2000, seed=1)
    means = {name: rows[:, [i for i in range(6) if labels[i] == name]].mean() for name in "abc"}
    expected = abs(means["a"] - means["b"]) + 2 * abs(means["a"] - means["c"])
    assert found.total == pytest.approx(expected)
    assert 0 < found.null_mean < found.null_q95
    assert found.permutation.p > 0.05
    flat = gap_permutation(
        rows.ravel(),
        labels * 12,
        gaps,
        blocks=[i for i in range(12) for _ in range(6)],
        resamples=2000,
        seed=1,
    )
    assert flat == found
    rows[:, :2] += 2
    assert gap_permutation(rows, labels, gaps, resamples=2000, seed=1).permutation.p == 1 / 2001


def test_an_exact_gap_by_hand() -> None:
    rows = [[1.0, 2.0], [3.0, 7.0], [4.0, 4.5]]
    found = gap_permutation(rows, ["a", "b"], [(A_LESS_B, 3.0)], seed=1)
    totals = [abs(x * 1 + y * 4 + z * 0.5) for x, y, z in itertools.product((-1, 1), repeat=3)]
    assert found.permutation.exact
    assert found.total == pytest.approx(5.5)
    assert found.null_mean == pytest.approx(np.mean(totals))
    assert found.null_q95 == pytest.approx(np.quantile(totals, 0.95))
    assert found.permutation.p == pytest.approx(2 / 8)


def test_shuffled_features_by_hand() -> None:
    selected, shown = [3, 1, 0, 4, 2], [5, 4, 6, 5, 3]
    group = [True, False, False, True, False]

    def ratio(inside: tuple[int, ...]) -> float:
        outside = [i for i in range(5) if i not in inside]

        def log(counts: list[int], items: tuple[int, ...] | list[int]) -> float:
            return math.log(max(sum(counts[i] for i in items), 0.5))

        return (log(selected, inside) - log(shown, inside)) - (
            log(selected, outside) - log(shown, outside)
        )

    null = np.array([ratio(pair) for pair in itertools.combinations(range(5), 2)])
    observed = ratio((0, 3))
    tails = np.mean(null >= observed - 1e-9), np.mean(null <= observed + 1e-9)
    found = label_shuffle_ratio(selected, shown, group, seed=1)
    assert found.exact
    assert found.p == pytest.approx(2 * min(tails))
    turned = label_shuffle_ratio(selected, shown, [not flag for flag in group], seed=1)
    assert turned.p == pytest.approx(found.p)


def test_no_selection_at_all_is_finite() -> None:
    found = label_shuffle_ratio([0] * 6, [4, 1, 3, 5, 2, 2], [True, True] + [False] * 4, seed=1)
    assert 0 < found.p <= 1


def test_null_p_values_are_not_too_small() -> None:
    rng = np.random.default_rng(11)
    runs, alarms, family, feature = 300, 0, 0, 0
    for seed in range(runs):
        values = rng.exponential(size=24)
        found = group_permutation(values, list("abcd") * 6, resamples=199, seed=seed)
        alarms += found.omnibus.p <= 0.05
        family += min(group.p_max_t for group in found.groups.values()) <= 0.05
        shown = rng.integers(1, 20, size=30)
        selected = rng.binomial(shown, rng.beta(1, 3, size=30))
        ratio = label_shuffle_ratio(
            selected, shown, (np.arange(30) % 5 == 0).tolist(), resamples=199, seed=seed
        )
        feature += ratio.p <= 0.05
    # .05 plus three standard errors of 300 runs
    assert max(alarms, family, feature) / runs <= 0.088


@given(
    st.lists(st.integers(-40, 40).map(lambda i: i / 8), min_size=6, max_size=9),
    st.integers(-50, 50),
    st.sampled_from([0.25, 2.0, 1e90]),
)
def test_shift_and_scale_change_no_p(values: list[float], shift: int, scale: float) -> None:
    labels = (["a", "b", "c"] * 3)[: len(values)]
    moved = (np.array(values) + shift) * scale
    before = group_permutation(values, labels, seed=1, resamples=100)
    after = group_permutation(moved, labels, seed=1, resamples=100)
    assert after.omnibus.p == before.omnibus.p
    for name, group in before.groups.items():
        other = after.groups[name]
        assert (other.p, other.p_max_t) == (group.p, group.p_max_t)
        assert other.difference == pytest.approx(
            group.difference * scale, rel=1e-9, abs=scale / 1e9
        )
        assert 0 < group.p <= group.p_max_t <= 1
    gap = gap_permutation(values, labels, [(A_LESS_B, 1.0)], seed=1)
    contrast = contrast_permutation(values, labels, {**A_LESS_B, "c": 0.0}, seed=1)
    assert 0 < contrast.p <= 1
    assert_sound(gap)


GOOD: dict[str, Callable[..., object]] = {
    "group_permutation": lambda **given: group_permutation(
        **{"values": VALUES, "labels": THREE, "seed": 1, **given}
    ),
    "contrast_permutation": lambda **given: contrast_permutation(
        **{"values": VALUES, "labels": THREE, "weights": A_LESS_B, "seed": 1, **given}
    ),
    "gap_permutation": lambda **given: gap_permutation(
        **{"values": VALUES, "labels": THREE, "gaps": [(A_LESS_B, 1)], "seed": 1, **given}
    ),
    "profile_permutation": lambda **given: profile_permutation(
        **{
            "profiles": [[1, 2], [3, 5], [4, 4], [0, 9]],
            "labels": list("abab"),
            "seed": 1,
            **given,
        }
    ),
    "label_shuffle_ratio": lambda **given: label_shuffle_ratio(
        **{
            "selected": [1, 2, 0, 1],
            "shown": [3, 3, 3, 3],
            "in_group": [True, True, False, False],
            "seed": 1,
            **given,
        }
    ),
}


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("group_permutation", {"values": [1.0, math.nan, *VALUES[2:]]}),
        ("group_permutation", {"labels": THREE[1:]}),
        ("group_permutation", {"blocks": ["x"]}),
        ("contrast_permutation", {"weights": {"a": 1.0}}),
        ("contrast_permutation", {"weights": {"a": 0.0}}),
        ("contrast_permutation", {"weights": {"a": 1.0, "z": -1.0}}),
        ("contrast_permutation", {"weights": {"a": math.inf, "b": -math.inf}}),
        ("contrast_permutation", {"labels": THREE[1:]}),
        ("contrast_permutation", {"blocks": ["x"]}),
        ("gap_permutation", {"gaps": []}),
        ("gap_permutation", {"gaps": [(A_LESS_B, -1.0)]}),
        ("gap_permutation", {"values": [[1.0, 2.0], [3.0]]}),
        ("gap_permutation", {"values": [[[1.0]]]}),
        ("gap_permutation", {"values": [[1.0, 2.0]] * 8, "labels": ["a"]}),
        ("gap_permutation", {"values": [[1.0, 2.0]], "labels": ["a", "b"], "blocks": ["x"]}),
        ("profile_permutation", {"profiles": [1.0, 2.0, 3.0, 4.0]}),
        ("label_shuffle_ratio", {"selected": [1, 2, 0, 4]}),
        ("label_shuffle_ratio", {"selected": [1, 2, 0, 0.5]}),
        ("label_shuffle_ratio", {"selected": [1, 2, 0, -1]}),
        ("label_shuffle_ratio", {"shown": [3, 3, 3]}),
        ("label_shuffle_ratio", {"shown": [3, 3, 3, 1e12]}),
        ("label_shuffle_ratio", {"in_group": [True]}),
    ],
)
def test_bad_input(name: str, bad: dict[str, Any]) -> None:
    with pytest.raises(BadStatisticInput) as raised:
        GOOD[name](**bad)
    assert raised.value.function == name


@pytest.mark.parametrize(
    ("name", "short", "group"),
    [
        ("group_permutation", {"labels": ["a"] * 8}, "labels"),
        ("group_permutation", {"labels": ["a"] * 7 + ["b"]}, "b"),
        ("group_permutation", {"values": [], "labels": []}, "labels"),
        ("contrast_permutation", {"labels": ["a"] * 7 + ["b"]}, "b"),
        ("gap_permutation", {"labels": ["a"] * 8}, "labels"),
        ("profile_permutation", {"profiles": [[1], [2], [3], [4]]}, "conditions"),
        ("profile_permutation", {"labels": list("aaab")}, "b"),
        ("label_shuffle_ratio", {"in_group": [True] * 4}, "labels"),
        ("label_shuffle_ratio", {"in_group": [True] * 3 + [False]}, "out"),
    ],
)
def test_too_few_units(name: str, short: dict[str, Any], group: str) -> None:
    with pytest.raises(TooFewUnits) as raised:
        GOOD[name](**short)
    assert raised.value.group == group


def test_blocks_of_one_label_each_leave_nothing_to_exchange() -> None:
    found = contrast_permutation(VALUES, THREE, {**A_LESS_B, "c": 0.0}, blocks=THREE, seed=1)
    assert (found.p, found.exact) == (1, True)


def test_kinds_of_items_are_dealt_as_if_every_item_were_moved() -> None:
    rng = np.random.default_rng(5)
    n = 2_400  # more than are moved one by one
    shown = rng.integers(4, 8, n)
    selected = np.minimum(rng.integers(0, 3, n), shown)
    group = np.arange(n) < 360
    dealt = label_shuffle_ratio(selected, shown, list(group), resamples=9_999, seed=3)
    moved = []
    for _ in range(4_000):
        mixed = rng.permutation(group)
        sums = [part[side].sum() for side in (mixed, ~mixed) for part in (selected, shown)]
        moved.append(np.log(sums[0] / sums[1]) - np.log(sums[2] / sums[3]))
    sums = [part[side].sum() for side in (group, ~group) for part in (selected, shown)]
    observed = np.log(sums[0] / sums[1]) - np.log(sums[2] / sums[3])
    tail = min(np.mean(np.array(moved) <= observed), np.mean(np.array(moved) >= observed))
    assert dealt.p == pytest.approx(2 * tail, abs=0.05)  # three standard errors of 4,000 moves


@pytest.mark.parametrize(("rate", "drawn"), [(1, 1_000), (3, 10_000)])
def test_few_relabellings_are_drawn_where_they_say_enough(rate: int, drawn: int) -> None:
    n = 2_400
    selected = (np.arange(n) % 60 == 0).astype(int)
    group = np.arange(n) % 5 == 1
    selected[group] = np.arange(group.sum()) % (60 // rate) == 0
    found = label_shuffle_ratio(selected, np.ones(n, dtype=int), group.tolist(), seed=4)
    assert (found.resamples, found.exact) == (drawn, False)
    # The number selected in the group is hypergeometric.
    inside, of = int(selected[group].sum()), int(selected.sum())
    law = stats.hypergeom(n, of, int(group.sum()))
    p = min(1, 2 * min(law.cdf(inside), law.sf(inside - 1)))
    assert found.p == pytest.approx(p, abs=4 * found.error + 2 / drawn)
    assert (found.p > 0.1) == (drawn < 10_000)
    # Of single events a contrast of means has the same law, two-sided by their absolute size.
    labels = np.where(group, "a", "b").tolist()
    contrast = contrast_permutation(selected, labels, A_LESS_B, seed=4)
    assert (contrast.resamples, contrast.exact) == (drawn, False)
    events = np.arange(of + 1)
    gaps = np.abs(events / group.sum() - (of - events) / (~group).sum())
    p = law.pmf(events)[gaps >= gaps[inside] - 1e-9].sum()
    assert contrast.p == pytest.approx(p, abs=4 * contrast.error + 2 / drawn)


GAPS = np.array([[1.0, 0.5], [-1.0, 0.5], [0.0, -1.0]])
SIZES: dict[str, Any] = {"spread": spread_of_means, "gaps": sum_of_gaps(GAPS)}


def crossed(n: int, seed: int, more: float = 0.0) -> dict[str, Any]:
    """Every unit meets three groups; the candidate's first group has ``more``."""
    rng = np.random.default_rng(seed)
    own = np.repeat(rng.normal(0, 1, n), 3)
    shift = np.tile([1.0, 0.0, 0.0], n)
    return {
        "candidate": own + rng.normal(0, 0.4, 3 * n) + more * shift,
        "baseline": own + rng.normal(0, 0.4, 3 * n),
        "groups": list(range(3)) * n,
        "units": [unit for unit in range(n) for _ in range(3)],
    }


def means(values: NDArray[np.float64], groups: list[int]) -> NDArray[np.float64]:
    of = np.array(groups)
    return np.array([values[of == g].mean() for g in range(3)])


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_the_share_of_exchanges_that_reach_the_difference(size: Any) -> None:
    given = crossed(7, 1, more=0.3)
    statistics = []
    for swaps in product([False, True], repeat=7):
        swapped = np.repeat(swaps, 3)
        first = np.where(swapped, given["baseline"], given["candidate"])
        second = np.where(swapped, given["candidate"], given["baseline"])
        of = given["groups"]
        statistics.append(float(size(means(first, of)) - size(means(second, of))))
    exact = np.mean(np.array(statistics) >= statistics[0] - 1e-12)
    found = exchange_size(**given, size=size, seed=1)
    assert 0.02 < exact < 0.98
    assert abs(found.p - exact) < 4 * found.error + 1e-4
    assert exchange_size(**given, size=size, seed=1) == found


def test_a_larger_size_is_found_and_a_smaller_one_is_not() -> None:
    larger = crossed(20, 2, more=3.0)
    assert exchange_size(**larger, size=spread_of_means, seed=1).p < 0.001
    swapped = larger | {"candidate": larger["baseline"], "baseline": larger["candidate"]}
    assert exchange_size(**swapped, size=spread_of_means, seed=1).p > 0.99


def test_two_models_that_say_the_same_are_not_told_apart() -> None:
    same = crossed(6, 3)
    same["baseline"] = same["candidate"]
    assert exchange_size(**same, size=spread_of_means, seed=1).p == 1


def test_units_that_are_in_one_group_only_are_exchanged_alone() -> None:
    given = crossed(5, 4, more=2.0)
    nested = given | {"units": list(range(15))}
    apart, together = (
        exchange_size(**each, size=SIZES["gaps"], seed=1) for each in (nested, given)
    )
    assert apart.p != together.p


def test_no_more_false_alarms_than_promised() -> None:
    alarms = [
        exchange_size(**crossed(8, seed), size=spread_of_means, resamples=200, seed=1).p <= 0.05
        for seed in range(1_000)
    ]
    assert np.mean(alarms) <= 0.0638  # .05 and two standard errors


@pytest.mark.parametrize(
    "changes",
    [
        {"baseline": [1.0]},
        {"groups": [0]},
        {"units": [0]},
        {"groups": [0] * 15},
        {"groups": [0, 2, 2] * 5},
        {"candidate": [float("nan")] * 15},
    ],
    ids=str,
)
def test_bad_arguments(changes: dict[str, Any]) -> None:
    given = crossed(5, 5) | {"size": spread_of_means, "seed": 1}
    with pytest.raises(BadStatisticInput):
        exchange_size(**(given | changes))


RESAMPLES = 10_000


def units_of(*sizes: int) -> tuple[list[str], list[int]]:
    """Labels a to d in unequal shares within blocks of these sizes."""
    labels = ["aabbbcddd"[i % 9] for size in sizes for i in range(size)]
    return labels, [block for block, size in enumerate(sizes) for _ in range(size)]


def null_means(values: Floats, labels: list[str], blocks: list[int] | None, seed: int) -> Floats:
    units = relabelling.Relabelling(
        labels,
        blocks,
        n=values.size,
        fewest=1,
        resamples=RESAMPLES,
        seed=seed,
    )
    null: Floats = units.null_of_means(values, np.asarray)[1]
    return null


def shuffling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relabelling, "MANY", 10**9)


def ratings(blocks: list[int], seed: int) -> Floats:
    """Ratings from 1 to 5 about their blocks' means, in units of their range."""
    rng = np.random.default_rng(seed)
    found = rng.choice([1.0, 2.0, 3.0, 4.0, 5.0], size=len(blocks), p=[0.4, 0.3, 0.2, 0.07, 0.03])
    of = np.array(blocks)
    for block in set(blocks):
        found[of == block] -= found[of == block].mean()
    scaled: Floats = found / np.ptp(found)
    return scaled


@pytest.mark.parametrize("sizes", [(900, 700, 500), (1500, 600, 27, 27, 27)])
def test_the_null_is_that_of_shuffling(
    sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    labels, blocks = units_of(*sizes)
    values = ratings(blocks, seed=1)
    if len(sizes) > 3:  # one block of continuous values among the counted ones
        values[:1500] = np.random.default_rng(2).uniform(size=1500)
    counted = null_means(values, labels, blocks, seed=3)
    shuffling(monkeypatch)
    shuffled = null_means(values, labels, blocks, seed=4)
    spread = shuffled.std(axis=0)
    assert (np.abs(counted.mean(axis=0) - shuffled.mean(axis=0)) < 0.06 * spread).all()
    assert np.cov(counted.T) == pytest.approx(np.cov(shuffled.T), abs=0.06 * spread.max() ** 2)
    for quantile in (0.005, 0.025, 0.5, 0.975, 0.995):
        bound = np.quantile(shuffled, quantile, axis=0)
        below = (counted <= bound).mean(axis=0)
        error = 2**0.5 * (quantile * (1 - quantile) / RESAMPLES) ** 0.5
        ties = (np.abs(counted - bound) < 1e-9).mean(axis=0)
        assert (np.abs(below - quantile) < 4 * error + ties).all()
    # every relabelling deals out the same values
    sizes_of = [labels.count(name) for name in dict.fromkeys(labels)]
    assert counted @ sizes_of == pytest.approx(np.full(RESAMPLES, values.sum()), abs=1e-9)


def test_the_counts_of_a_small_block_have_the_chances_of_its_relabellings() -> None:
    values, labels = [0.0, 0.0, 0.5, 0.5, 1.0, 0.5], [0, 0, 1, 1, 1, 2]
    every = Counter(
        tuple(sum(v for v, name in zip(values, order, strict=True) if name == g) for g in range(3))
        for order in itertools.permutations(labels)
    )
    sums = np.zeros((RESAMPLES, 3, 2))
    support, counts = counting.tally_of(np.array(values))
    assert counts.tolist() == [1, 2, 3]
    powers = support[:, None] ** [1, 2]
    counting.add_counted(sums, powers, counts, [2, 3, 1], np.random.default_rng(5))
    assert sums.sum(axis=1) == pytest.approx(np.tile(powers.T @ counts, (RESAMPLES, 1)))
    found = Counter(map(tuple, sums[..., 0].tolist()))
    assert found.keys() == every.keys()
    total = sum(every.values())
    squares = sum(
        (found[key] - RESAMPLES * times / total) ** 2 / (RESAMPLES * times / total)
        for key, times in every.items()
    )
    df = len(every) - 1
    assert squares < df + 4 * (2 * df) ** 0.5


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=5),
    st.lists(st.integers(0, 9), min_size=2, max_size=4),
    st.integers(0, 99),
)
def test_counts_deal_out_all_values_to_labels_of_any_size(
    counts: list[int], sizes: list[int], seed: int
) -> None:
    units = sum(counts)
    sizes = [*sizes, max(0, units - sum(sizes))]
    counts[0] += sum(sizes) - units
    support = np.arange(len(counts), dtype=np.float64)
    sums = np.zeros((20, len(sizes), 1))
    rng = np.random.default_rng(seed)
    counting.add_counted(sums, support[:, None], np.array(counts), sizes, rng)
    sums = sums[..., 0]
    assert (sums.sum(axis=1) == support @ counts).all()
    assert (sums >= 0).all()
    assert (sums <= np.array(sizes) * support[-1]).all()


def test_values_apart_by_rounding_are_one_and_runs_of_neighbours_are_not() -> None:
    third = np.array([0.1 + 0.2, 0.3, 1.0, 0.3, 1.0 - 1e-15])
    support, counts = counting.tally_of(third)
    assert support == pytest.approx([1.0, 0.3])
    assert counts.tolist() == [2, 3]
    run = np.arange(50) * counting.SAME / 2
    assert counting.tally_of(run)[0].size == 50


def test_an_effect_beyond_all_relabellings_has_the_smallest_p() -> None:
    labels, values = ["a", "b"] * 2000, [1.0, 0.0] * 2000
    found = contrast_permutation(values, labels, A_LESS_B, seed=1)
    assert (found.p, found.exact) == (1 / 10_001, False)
    assert gap_permutation(values, labels, [(A_LESS_B, 1.0)], seed=1).permutation == found
    assert contrast_permutation(values, labels, A_LESS_B, seed=1) == found
    flat = group_permutation([0.1] * 4000, labels, seed=1)
    assert (flat.omnibus.p, flat.groups["a"].p_max_t) == (1, 1)


def test_units_in_blocks_of_one_label_keep_their_values() -> None:
    labels = ["a", "b"] * 1200 + ["a"] * 300
    blocks = ["x"] * 2400 + ["y"] * 300
    values = np.tile([0.0, 1.0, 1.0], 900)
    values[2400:] = 0.25
    rng = np.random.default_rng(7)
    null = null_means(values, labels, [int(block == "x") for block in blocks], seed=1)
    base = 300 * 0.25 / 1500
    ones = rng.hypergeometric(1600, 800, 1200, size=RESAMPLES)
    assert null[:, 0].mean() == pytest.approx(base + ones.mean() / 1500, abs=1e-3)
    assert (null @ [1500, 1200]) == pytest.approx(np.full(RESAMPLES, values.sum()))


def test_a_hundred_thousand_replies_take_little_memory_and_no_shuffling(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    labels, blocks = units_of(*[10_000] * 10)
    values = ratings(blocks, seed=8)
    monkeypatch.delattr(relabelling.Relabelling, "_random")
    tracemalloc.start()
    try:
        group_permutation(values, labels, blocks=blocks, seed=1)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 60 * 2**20  # all relabelled values at once would take 8 GB


@pytest.mark.parametrize("sizes", [(40,), (9, 9, 12), (5,) * 30])
def test_orders_that_are_kept_for_the_next_test_are_those_that_are_drawn(
    sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    labels, blocks = units_of(*sizes)
    rng = np.random.default_rng(1)
    one, two = (rng.normal(size=len(labels)) for _ in range(2))
    first, kept = (null_means(values, labels, blocks, seed=3) for values in (one, two))
    monkeypatch.setattr(relabelling, "KEPT", 0)
    assert np.array_equal(kept, null_means(two, labels, blocks, seed=3))
    assert np.array_equal(first, null_means(one, labels, blocks, seed=3))
    assert not np.array_equal(first, null_means(one, labels, blocks, seed=4))


def test_orders_of_more_units_than_a_short_number_counts_are_whole() -> None:
    n = 80_000
    units = relabelling.Relabelling(
        ["a"] * 40_000 + ["b"] * 40_000, None, n=n, fewest=2, resamples=150, seed=1
    )
    for rows in units.rearranged(np.arange(n)):
        assert all(np.array_equal(np.sort(row), np.arange(n)) for row in rows[1:3])
