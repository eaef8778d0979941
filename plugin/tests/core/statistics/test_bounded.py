"""Clearing on a bounded scale: exact special cases, and replies that hide a rare far one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.errors import NoVariance
from pytest_bias.statistics.bounded import bounded_equivalence, deterministic_difference, skewness
from pytest_bias.statistics.means import welch

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
