"""Counts of values drawn in place of orders of units: the same null, without the shuffling."""

from __future__ import annotations

import itertools
import tracemalloc
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bias.statistics import _relabelling as counting
from pytest_bias.statistics import _relabelling as relabelling
from pytest_bias.statistics.permutation import (
    contrast_permutation,
    gap_permutation,
    group_permutation,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

A_LESS_B = {"a": 1.0, "b": -1.0}
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
