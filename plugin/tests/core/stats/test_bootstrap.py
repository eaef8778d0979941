"""Bootstraps, and clearing on a bounded scale: against scipy, closed forms, and coverage."""

from __future__ import annotations

import itertools
import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.errors import BadStatisticInput, NoVariance, TooFewUnits
from pytest_bias.stats.bounded import (
    bounded_equivalence,
    deterministic_difference,
    skewness,
    unseen_p,
)
from pytest_bias.stats.means import welch
from pytest_bias.stats.power import units_unseen
from pytest_bias.stats.resampling import (
    bootstrap_difference,
    bootstrap_log_ratio,
    bootstrap_t_equivalence,
    exact_separation_p,
)

from ...helpers import there

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


MARGIN, WIDTH = 0.6, 12.0
SCALE = (0.0, WIDTH)
ERROR = 0.015  # four standard errors of a share of 20,000


@pytest.mark.parametrize(("n", "below", "margin"), [(20, 15, 0.2), (60, 29, 0.3), (40, 40, 0.05)])
def test_two_valued_differences_are_a_binomial_test(n: int, below: int, margin: float) -> None:
    found = bounded_equivalence(
        [-1] * below + [1] * (n - below), bounds=(-1, 1), margin=margin, seed=1
    )
    rate = (1 + margin) / 2
    expected = max(stats.binom.cdf(seen, n, rate) for seen in (below, n - below))
    assert found == pytest.approx(expected, abs=ERROR)


@pytest.mark.parametrize(("x", "y"), [(3, 9), (7, 7), (0, 4), (12, 15)])
def test_two_rates_at_a_vanishing_margin_are_fishers_exact_test(x: int, y: int) -> None:
    a, b = [1] * x + [0] * (15 - x), [1] * y + [0] * (18 - y)
    found = bounded_equivalence(a, b, bounds=(0, 1), margin=1e-9, seed=2)
    table = [[x, 15 - x], [y, 18 - y]]
    expected = max(
        float(stats.fisher_exact(table, alternative=side).pvalue) for side in ("less", "greater")
    )
    assert found == pytest.approx(expected, abs=ERROR)


def test_identical_differences_are_bounded_as_identical_replies_are() -> None:
    found = bounded_equivalence([0] * 60, bounds=(-12, 12), margin=MARGIN, seed=3)
    expected = deterministic_difference([5] * 60, [5] * 60, bounds=SCALE, margin=MARGIN).p_clear
    assert found == pytest.approx(expected, abs=ERROR)


def test_the_draws_by_distinct_value_are_those_by_reply() -> None:
    a, b = [3.0, 3.0, 3.0, 4.0, 6.0] * 8, [3.0, 4.0, 4.0, 5.0] * 9
    margin = 1.2
    found = bounded_equivalence(a, b, bounds=SCALE, margin=margin, seed=4)
    rng = np.random.default_rng(5)

    def means(values: list[float], end: float) -> NDArray[np.float64]:
        weights = rng.dirichlet(np.ones(len(values) + 1), size=20_000)
        return np.asarray(weights @ np.array([*values, end]))

    upper = np.mean(means(a, WIDTH) - means(b, 0) >= margin)
    lower = np.mean(means(a, 0) - means(b, WIDTH) <= -margin)
    assert found == pytest.approx(max(upper, lower), abs=ERROR * 1.5)


def test_many_replies_without_far_ones_are_cleared_and_few_are_not() -> None:
    replies = [4.0, 5.0, 5.0, 6.0] * 100
    assert bounded_equivalence(replies, replies, bounds=SCALE, margin=MARGIN, seed=1) < 0.001
    few = bounded_equivalence(replies[:12], replies[:12], bounds=SCALE, margin=MARGIN, seed=1)
    assert few > 0.3


def test_p_is_never_zero() -> None:
    found = bounded_equivalence([5] * 5000, [5] * 5000, bounds=SCALE, margin=6, seed=1)
    assert found == 1 / 20_001
    impossible = bounded_equivalence([0], [12], bounds=SCALE, margin=13, resamples=999, seed=1)
    assert impossible == 1 / 1000


@given(
    st.lists(st.integers(0, 24).map(lambda i: i / 2), min_size=1, max_size=12),
    st.lists(st.integers(0, 24).map(lambda i: i / 2), min_size=1, max_size=12),
    st.floats(0.01, 12),
    st.floats(1, 3),
)
def test_margins_and_mirrors(a: list[float], b: list[float], margin: float, factor: float) -> None:
    found = bounded_equivalence(a, b, bounds=SCALE, margin=margin, resamples=400, seed=7)
    again = bounded_equivalence(a, b, bounds=SCALE, margin=margin, resamples=400, seed=7)
    wide = bounded_equivalence(a, b, bounds=SCALE, margin=margin * factor, resamples=400, seed=7)
    assert found == again
    assert 1 / 401 <= wide <= found <= 1
    if abs(np.mean(a) - np.mean(b)) >= margin:
        # the observed difference lies beyond: never cleared
        assert found > 0.05
    far = bounded_equivalence(a, b, bounds=(-12, 24), margin=margin, resamples=400, seed=7)
    assert far >= found


def false_clear(*, n: int, share: float, sd: float, runs: int) -> dict[str, float]:
    """Shares of false CLEAR at a difference equal to the margin, made by a rare far reply."""
    rng = np.random.default_rng(round(1e6 * share) + n)
    far = min(MARGIN / share, WIDTH - 1)
    shift = (MARGIN - share * far) / (1 - share)
    found = {"skewed_or_narrow": 0, "always": 0}
    for seed in range(runs):
        a, b = 0.5 + np.round(rng.normal(scale=sd, size=(2, n)) * 10) / 10
        a = np.where(rng.random(n) < share, 0.5 + far, a + shift).clip(*SCALE)
        b = b.clip(*SCALE)
        try:
            p = welch(a, b).tost(MARGIN).p
        except NoVariance:
            continue
        if p > 0.05:
            continue
        bounded = bounded_equivalence(a, b, bounds=SCALE, margin=MARGIN, resamples=500, seed=seed)
        cleared = bounded <= 0.05
        skewed = max(abs(skewness(a)), abs(skewness(b))) > 1
        narrow = min(a.std(ddof=1), b.std(ddof=1)) < MARGIN
        found["skewed_or_narrow"] += cleared if skewed or narrow else 1
        found["always"] += cleared
    return {rule: wrong / runs for rule, wrong in found.items()}


@pytest.mark.parametrize("n", [10, 30, 120])
@pytest.mark.parametrize("share", [0.01, 0.02, 0.05, 0.08, 0.15])
def test_a_rare_far_reply_is_not_cleared_falsely(n: int, share: float) -> None:
    found = false_clear(n=n, share=share, sd=0.1, runs=200)
    # .05 plus some three standard errors of 200 runs
    assert found["always"] <= 0.095
    assert found["skewed_or_narrow"] <= 0.095


def test_skewness() -> None:
    assert skewness([0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1, 0.6]) == 0
    assert skewness([7]) == 0
    assert skewness([1, 2, 3]) == pytest.approx(0)
    # k ones among n: (1 - 2 q) / sqrt(q (1 - q))
    assert skewness([0] * 9 + [1]) == pytest.approx(0.8 / 0.3)
    values = np.random.default_rng(1).exponential(size=50)
    assert skewness(values) == pytest.approx(float(stats.skew(values)))
    assert skewness(-values * 1e90) == pytest.approx(-skewness(values))


ALPHA = 0.05


def test_25_identical_replies_bound_the_difference_at_113_thousandths_of_the_scale() -> None:
    found = deterministic_difference([3.0] * 25, [3.0] * 25, bounds=(1, 5), margin=None)
    assert found.difference == 0
    assert found.interval.high == -found.interval.low == pytest.approx(4 * 0.1129, abs=5e-4)
    assert found.interval.level == 0.95
    assert found.p_alarm == 1
    assert found.p_clear is None


def test_unequal_constants_alarm_with_a_permutation_p_and_never_clear_beyond_the_margin() -> None:
    found = deterministic_difference([9] * 30, [3] * 30, bounds=(0, 12), margin=0.6)
    assert found.difference == 6
    assert found.p_alarm == exact_separation_p(30, 30)
    assert 0 < found.p_alarm < 1e-10
    assert found.p_clear == 1
    assert found.interval.excludes(0.6)
    assert found.interval.low < 6 < found.interval.high


def test_a_small_difference_inside_the_margin_can_clear() -> None:
    found = deterministic_difference([4.1] * 60, [4.0] * 60, bounds=(0, 12), margin=1)
    assert found.p_clear == pytest.approx((11 / 11.9) ** 60)
    assert found.p_alarm == exact_separation_p(60, 60)


def test_a_margin_wider_than_the_scale_clears_with_the_floor() -> None:
    found = deterministic_difference([1.0], [0.0], bounds=(0, 1), margin=2)
    assert 0 < there(found.p_clear) < 1e-300


def test_constants_that_differ_by_rounding_are_equal() -> None:
    found = deterministic_difference(
        [0.1 + 0.2] * 9 + [0.3], [0.3] * 10, bounds=(0, 0.3), margin=None
    )
    assert (found.difference, found.p_alarm) == (0, 1)


@pytest.mark.parametrize(("n_a", "n_b"), [(2, 2), (5, 5), (5, 9), (6, 6), (8, 8), (25, 25)])
def test_exact_error_rates_over_two_point_populations(n_a: int, n_b: int) -> None:
    """Enumerate pairs of two-point populations: neither the interval nor clearing errs more."""
    points, margin = np.array([0, 0.2, 0.5, 1]), 0.2
    shares = []
    for q, (i, j) in product(np.linspace(0, 1, 101), product(range(4), repeat=2)):
        if i != j:
            share = np.zeros(4)
            share[i], share[j] = 1 - q, q
            shares.append(share)
    masses = np.array(shares)
    means = masses @ points
    true = means[:, None] - means[None, :]
    missed = np.zeros_like(true)
    cleared = np.zeros_like(true)
    for (i, x), (j, y) in product(enumerate(points), repeat=2):
        found = deterministic_difference([x] * n_a, [y] * n_b, bounds=(0, 1), margin=margin)
        seen = np.outer(masses[:, i] ** n_a, masses[:, j] ** n_b)
        outside = (true < found.interval.low - 1e-12) | (true > found.interval.high + 1e-12)
        missed += seen * outside
        cleared += seen * ((np.abs(true) >= margin - 1e-12) & (there(found.p_clear) <= ALPHA))
    assert missed.max() <= ALPHA
    assert cleared.max() <= ALPHA


@pytest.mark.parametrize(("margin", "units"), [(0.1, 29), (0.05, 59), (2, 1)])
def test_units_of_which_none_differs(margin: float, units: int) -> None:
    assert units_unseen(margin) == units_unseen(margin * 3, width=3) == units
    if units > 1:
        shape = {"width": 1, "margin": margin, "difference": 0}
        assert unseen_p(n=units, **shape) <= ALPHA < unseen_p(n=units - 1, **shape)


@pytest.mark.parametrize(("n", "total"), [(1, 2), (2, 6), (5, 252), (12, 2_704_156)])
def test_separation_p_counts_relabellings(n: int, total: int) -> None:
    assert exact_separation_p(n, n) == pytest.approx(min(1, 2 / total))


def test_separation_p_of_unequal_groups_doubles_and_is_symmetric() -> None:
    assert exact_separation_p(2, 5) == exact_separation_p(5, 2) == pytest.approx(2 / 21)
    assert exact_separation_p(1, 19) == pytest.approx(0.1)


def test_separation_p_is_floored() -> None:
    assert 0 < exact_separation_p(100_000, 100_000) < 1e-300


@pytest.mark.parametrize(
    ("a", "b", "changes", "problem"),
    [
        ([1, 2], [1, 1], {}, "not all the same"),
        ([1, 1], [1, 2], {}, "not all the same"),
        ([1, 1], [7, 7], {}, "outside 0.0 to 5.0"),
        ([1, 1], [1, 1], {"bounds": (5, 0)}, "not below"),
        ([1, 1], [1, 1], {"margin": 0}, "above 0"),
        ([1, float("nan")], [1, 1], {}, "NaN"),
    ],
)
def test_what_is_no_bounded_difference(
    a: list[float], b: list[float], changes: dict[str, Any], problem: str
) -> None:
    arguments: dict[str, Any] = {"bounds": (0, 5), "margin": 1, **changes}
    with pytest.raises(BadStatisticInput, match=problem):
        deterministic_difference(a, b, **arguments)


def test_empty_group() -> None:
    with pytest.raises(TooFewUnits, match="a: 0 unit"):
        deterministic_difference([], [1], bounds=(0, 5), margin=1)
    with pytest.raises(TooFewUnits, match="n_b: 0 unit"):
        exact_separation_p(3, 0)
