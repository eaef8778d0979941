"""Power of verdicts on rates, against every count tried by the tests themselves."""

from __future__ import annotations

import math
from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy import (  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types
    optimize,
    special,
    stats,
)

from pytest_bias.statistics.counts import newcombe
from pytest_bias.statistics.power import units_unseen
from pytest_bias.statistics.rate_power import (
    LARGEST_EXACT,
    power_to_alarm_rate,
    power_to_clear_rate,
    score_se,
)
from pytest_bias.statistics.score import score_difference, score_difference_p, tost_rates


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.6])
@pytest.mark.parametrize(("n", "m"), [(11, 11), (8, 26), (26, 8)])
def test_power_of_rates_adds_up_the_counts_that_the_tests_clear_or_flag(
    n: int, m: int, rate: float
) -> None:
    gap, margin, fewer, all_ = 0.2, 0.3, min(n, m), n + m
    clear = alarm = 0.0
    for a, b in product(range(n + 1), range(m + 1)):
        mass = stats.binom.pmf(a, n, rate + gap) * stats.binom.pmf(b, m, rate)
        alike = a + b in (0, all_) and fewer < units_unseen(margin)
        clear += mass * (tost_rates(a, n, b, m, margin=margin).p <= 0.05 and not alike)
        # Where less than 5 are expected anywhere they are judged by Fisher's test.
        rare = fewer * min(a + b, all_ - a - b) < 5 * all_
        p = newcombe(a, n, b, m).p if rare else score_difference(a, n, b, m).p
        alarm += mass * (p <= 0.05)
    found = power_to_clear_rate(n, m, rate=rate, margin=margin, difference=gap)
    assert found == pytest.approx(clear, abs=1e-9)
    flagged = power_to_alarm_rate(n, m, rate=rate, difference=gap, alpha=0.05)
    assert flagged == pytest.approx(alarm, abs=1e-9)


@pytest.mark.parametrize(
    ("a", "b", "null"),
    [(7 / 20, 3 / 20, 0.1), (1, 16 / 20, -0.1), (0.5, 0.4, -0.2), (0, 0.8, 0.3)],
)
def test_the_null_variance_is_at_the_likeliest_rates(a: float, b: float, null: float) -> None:
    n = 20

    def unlikely(p: float) -> float:
        q = p - null
        return -float(
            n * (special.xlogy(a, p) + special.xlog1py(1 - a, -p))
            + n * (special.xlogy(b, q) + special.xlog1py(1 - b, -q))
        )

    p = optimize.minimize_scalar(
        unlikely,
        bounds=(max(0, null), min(1, 1 + null)),
        method="bounded",
        options={"xatol": 1e-10},
    ).x
    variance = (p * (1 - p) + (p - null) * (1 - p + null)) / n * 40 / 39
    found = score_se(np.array(a), np.array(b), sizes=(n, n), null=null)
    assert float(found) == pytest.approx(math.sqrt(variance), rel=1e-5)


def test_the_normal_approximation_takes_over_without_a_step() -> None:
    for rate, gap in ((0.1, 0.0), (0.4, 0.02), (0.3, 0.1)):
        for power in (
            partial(power_to_clear_rate, margin=0.1),
            partial(power_to_alarm_rate, alpha=0.05),
            partial(power_to_alarm_rate, alpha=0.05, margin=0.02),
        ):
            exact, normal = (
                power(*sizes, rate=rate, difference=gap) for sizes in ((400, 400), (400, 401))
            )
            assert normal == pytest.approx(exact, abs=0.03)
    assert LARGEST_EXACT == 400 * 400


@pytest.mark.parametrize(
    ("strata", "each", "rate", "margin"),
    [(25, 1, 0.3, 0.3), (100, 1, 0.3, 0.2), (30, 2, 0.1, 0.15), (20, 3, 0.1, 0.15)],
)
def test_few_units_of_a_stratum_clear_as_often_as_computed(
    strata: int, each: int, rate: float, margin: float
) -> None:
    """Pooled they would clear .54, .86, .68 and .68 of the time."""
    n, sizes = strata * each, [each] * strata
    rng, runs = np.random.default_rng(strata), 300
    drawn = rng.binomial(each, rate, (runs, 2, strata)).tolist()
    cleared = sum(tost_rates(a, sizes, b, sizes, margin=margin).p <= 0.05 for a, b in drawn) / runs
    power = power_to_clear_rate(n, n, rate=rate, margin=margin, strata=strata)
    assert power == pytest.approx(cleared, abs=0.09)
    assert power < power_to_clear_rate(n, n, rate=rate, margin=margin) - 0.08


@pytest.mark.parametrize("sizes", [(60, 60), (20, 140), (140, 20)])
def test_beyond_the_margin_it_adds_up_what_the_score_test_at_it_flags(
    sizes: tuple[int, int],
) -> None:
    n, m = sizes
    rate, gap, margin, alpha = 0.05, 0.2, 0.1, 0.02
    alarm = 0.0
    for a, b in product(range(n + 1), range(m + 1)):
        mass = stats.binom.pmf(a, n, rate + gap) * stats.binom.pmf(b, m, rate)
        if mass > 1e-9:
            p = min(
                score_difference_p(a, n, b, m, null=margin, alternative="greater"),
                score_difference_p(a, n, b, m, null=-margin, alternative="less"),
            )
            alarm += mass * (2 * p <= alpha)
    found = power_to_alarm_rate(n, m, rate=rate, difference=gap, alpha=alpha, margin=margin)
    assert found == pytest.approx(alarm, abs=1e-6)


def test_rates_that_cannot_vary_have_a_certain_verdict() -> None:
    for n in (40, 4000):
        assert power_to_clear_rate(n, n, rate=0, margin=0.1) == pytest.approx(1)
        assert power_to_alarm_rate(n, n, rate=0, difference=0, alpha=0.05) == 0
        assert power_to_alarm_rate(n, n, rate=0, difference=1, alpha=0.05) == pytest.approx(1)
    assert power_to_clear_rate(10, 10, rate=0, margin=0.1) == 0
