"""Bootstraps: against scipy's, closed forms, and coverage."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.errors import BadStatisticInput, NoVariance
from pytest_bias.statistics.means import welch
from pytest_bias.statistics.resampling import (
    bootstrap_difference,
    bootstrap_log_ratio,
    bootstrap_t_equivalence,
)

POOLS: dict[str, Any] = {
    "selected_in": [2, 0, 3, 1, 4, 2],
    "shown_in": [5, 4, 6, 5, 7, 5],
    "selected_out": [8, 9, 7, 9, 6, 8],
    "shown_out": [15, 16, 14, 15, 13, 15],
}


@pytest.mark.parametrize("repeated", [True, False])
def test_the_interval_is_that_of_resampling_each_value(*, repeated: bool) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(6, 2, size=60), rng.normal(5, 1, size=80)
    if repeated:
        a, b = a.round(), b.round()
    found = bootstrap_difference(a, b, iterations=20_000, seed=1)
    scipys = stats.bootstrap(
        (a, b),
        lambda first, second, axis: first.mean(axis=axis) - second.mean(axis=axis),
        n_resamples=20_000,
        vectorized=True,
        method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval
    assert found.interval.low == pytest.approx(scipys.low, abs=0.03)
    assert found.interval.high == pytest.approx(scipys.high, abs=0.03)
    assert (found.iterations, found.seed, found.method) == (20_000, 1, "percentile")
    assert found == bootstrap_difference(a, b, iterations=20_000, seed=1)


def test_constants_have_no_width() -> None:
    other = bootstrap_difference([0.3] * 7, [0.1] * 9, iterations=200, seed=1)
    assert other.interval.low == other.interval.high == 0.3 - 0.1


def test_the_log_ratio_of_sums() -> None:
    found = bootstrap_log_ratio(**POOLS, iterations=5000, seed=1)
    assert found.log_ratio == pytest.approx(math.log((12 / 32) / (47 / 88)))
    interval = found.at_level(0.95)
    assert interval.low < found.log_ratio < interval.high
    assert found == bootstrap_log_ratio(**POOLS, iterations=5000, seed=1)
    turned = bootstrap_log_ratio(
        POOLS["selected_out"],
        POOLS["shown_out"],
        POOLS["selected_in"],
        POOLS["shown_in"],
        iterations=5000,
        seed=1,
    )
    assert turned.log_ratio == pytest.approx(-found.log_ratio)
    assert turned.at_level(0.9).low == pytest.approx(-found.at_level(0.9).high)


def test_shares_beyond_bounds_count_one_draw_more() -> None:
    found = bootstrap_log_ratio(**POOLS, iterations=999, seed=1)
    assert len(found.draws) == 999
    assert list(found.draws) == sorted(found.draws)
    for bound in (math.log(0.8), found.draws[10], 0.0, 5.0, -5.0):
        below = sum(draw <= bound for draw in found.draws)
        above = sum(draw >= bound for draw in found.draws)
        assert found.share_below(bound) == (below + 1) / 1000
        assert found.share_above(bound) == (above + 1) / 1000


def test_a_sum_of_zero_counts_as_a_half() -> None:
    found = bootstrap_log_ratio([0, 0], [3, 2], [1, 2], [4, 4], iterations=100, seed=1)
    assert found.log_ratio == pytest.approx(math.log((0.5 / 5) / (3 / 8)))
    assert all(math.isfinite(draw) for draw in found.draws)


@given(
    st.lists(
        st.tuples(*[st.integers(0, 9)] * 4).map(lambda c: (c[0], c[0] + c[1], c[2], c[2] + c[3])),
        min_size=2,
        max_size=6,
    )
)
def test_any_counts_give_finite_draws_or_an_error(pools: list[tuple[int, ...]]) -> None:
    columns = [list(column) for column in zip(*pools, strict=True)]
    if not (sum(columns[1]) and sum(columns[3])):
        with pytest.raises(BadStatisticInput):
            bootstrap_log_ratio(*columns, iterations=100, seed=1)
        return
    try:
        found = bootstrap_log_ratio(*columns, iterations=100, seed=1)
    except NoVariance:  # as of pools that never select from a group: no draw differs
        return
    assert min(found.draws) < max(found.draws)
    assert all(math.isfinite(draw) for draw in (*found.draws, found.log_ratio))


@pytest.mark.parametrize(
    "bad",
    [
        {"selected_in": [6, 0, 3, 1, 4, 2]},
        {"selected_in": [-1, 0, 3, 1, 4, 2]},
        {"selected_out": [0.5, 9, 7, 9, 6, 8]},
        {"selected_in": [0] * 6, "shown_in": [0] * 6},
        {"shown_out": [15, 16]},
    ],
)
def test_bad_input(bad: dict[str, Any]) -> None:
    with pytest.raises(BadStatisticInput) as raised:
        bootstrap_log_ratio(**{**POOLS, **bad}, seed=1)
    assert raised.value.function == "bootstrap_log_ratio"


def test_the_bootstrap_t_of_every_resample() -> None:
    values, margin, n = np.array([0.1, 0.15, -0.3, 0.2]), 0.25, 4
    observed = values.std(ddof=1) / 2
    below = above = 0
    for drawn in itertools.product(values, repeat=n):
        off, se = np.mean(drawn) - values.mean(), np.std(drawn, ddof=1) / 2
        t = off / se if se > 1e-12 else math.copysign(math.inf, off)
        below += t <= (values.mean() - margin) / observed
        above += t >= (values.mean() + margin) / observed
    expected = max(below, above) / n**n
    found = bootstrap_t_equivalence([values], [1.0], margin=margin, resamples=40_000, seed=1)
    assert found == pytest.approx(expected, abs=4 * math.sqrt(0.25 / 40_000))
    turned = bootstrap_t_equivalence([-values], [1.0], margin=margin, resamples=40_000, seed=2)
    assert turned == pytest.approx(expected, abs=4 * math.sqrt(0.25 / 40_000))


def test_the_bootstrap_t_of_many_normal_values_is_welchs() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(0.1, 1.0, 400), rng.normal(0.0, 2.0, 300)
    expected = welch(a, b).tost(0.3).p
    found = bootstrap_t_equivalence([a, b], [1.0, -1.0], margin=0.3, seed=1)
    assert 0.01 < expected < 0.2
    assert found == pytest.approx(expected, abs=0.01)
