"""Power of verdicts on rates, against every count tried by the tests themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import (  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types
    optimize,
    special,
    stats,
)

from pytest_bias.errors import BadStatisticInput, TooFewUnits
from pytest_bias.statistics.rate_power import (
    power_to_alarm_rate,
    power_to_clear_rate,
    score_se,
    units_for_zero_events,
)
from pytest_bias.statistics.score import score_difference, tost_rates


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.6])
def test_power_of_rates_adds_up_the_counts_that_the_score_tests_clear_or_flag(rate: float) -> None:
    n_a, n_b, gap, margin = 9, 12, 0.2, 0.3
    clear = alarm = 0.0
    for a in range(n_a + 1):
        for b in range(n_b + 1):
            mass = stats.binom.pmf(a, n_a, rate + gap) * stats.binom.pmf(b, n_b, rate)
            clear += mass * (tost_rates(a, n_a, b, n_b, margin=margin).p <= 0.05)
            alarm += mass * (score_difference(a, n_a, b, n_b).p <= 0.05)
    found = power_to_clear_rate(n_a, n_b, rate=rate, margin=margin, difference=gap)
    assert found.power == pytest.approx(clear, abs=1e-9)
    assert found.method == "exact"
    flagged = power_to_alarm_rate(n_a, n_b, rate=rate, difference=gap)
    assert flagged.power == pytest.approx(alarm, abs=1e-9)


@pytest.mark.parametrize(
    ("a", "b", "null"),
    [(7 / 20, 3 / 25, 0.1), (1, 20 / 25, -0.1), (0.5, 0.4, -0.2), (0, 0.8, 0.3)],
)
def test_the_null_variance_is_at_the_likeliest_rates(a: float, b: float, null: float) -> None:
    n_a, n_b = 20, 25

    def unlikely(p: float) -> float:
        q = p - null
        return -float(
            n_a * (special.xlogy(a, p) + special.xlog1py(1 - a, -p))
            + n_b * (special.xlogy(b, q) + special.xlog1py(1 - b, -q))
        )

    p = optimize.minimize_scalar(
        unlikely,
        bounds=(max(0, null), min(1, 1 + null)),
        method="bounded",
        options={"xatol": 1e-10},
    ).x
    variance = (p * (1 - p) / n_a + (p - null) * (1 - p + null) / n_b) * 45 / 44
    found = score_se(np.array(a), np.array(b), n_a=n_a, n_b=n_b, null=null)
    assert float(found) == pytest.approx(math.sqrt(variance), rel=1e-5)


def test_the_normal_approximation_takes_over_without_a_step() -> None:
    for rate, gap in ((0.1, 0.0), (0.4, 0.02), (0.3, 0.1)):
        exact = power_to_clear_rate(400, 400, rate=rate, difference=gap, margin=0.1)
        normal = power_to_clear_rate(401, 401, rate=rate, difference=gap, margin=0.1)
        assert (exact.method, normal.method) == ("exact", "normal")
        assert normal.power == pytest.approx(exact.power, abs=0.03)
        exact = power_to_alarm_rate(400, 400, rate=rate, difference=gap)
        normal = power_to_alarm_rate(401, 401, rate=rate, difference=gap)
        assert (exact.method, normal.method) == ("exact", "normal")
        assert normal.power == pytest.approx(exact.power, abs=0.03)


def test_rates_that_cannot_vary_have_a_certain_verdict() -> None:
    for n in (40, 4000):
        assert power_to_clear_rate(n, n, rate=0, margin=0.1).power == pytest.approx(1)
        assert power_to_alarm_rate(n, n, rate=0, difference=0).power == 0
        assert power_to_alarm_rate(n, n, rate=0, difference=1).power == pytest.approx(1)
    assert power_to_clear_rate(10, 10, rate=0, margin=0.1).power == 0


def test_rate_power_refuses_values_outside_its_domain() -> None:
    with pytest.raises(TooFewUnits):
        power_to_clear_rate(0, 5, rate=0.1, margin=0.1)
    with pytest.raises(BadStatisticInput):
        power_to_clear_rate(5, 5, rate=0.1, margin=1)
    with pytest.raises(BadStatisticInput):
        power_to_alarm_rate(5, 5, rate=0.9, difference=0.2)


@given(st.floats(1e-4, 0.9), st.floats(1e-6, 0.5))
def test_units_without_an_event_are_the_fewest(margin: float, alpha: float) -> None:
    n = units_for_zero_events(margin, alpha=alpha)
    assert (1 - margin) ** n <= alpha * (1 + 1e-9)
    assert (1 - margin) ** (n - 1) > alpha * (1 - 1e-9)


def test_units_without_an_event_of_the_specification() -> None:
    assert units_for_zero_events(0.10) == 29
    assert units_for_zero_events(0.5, alpha=0.25) == 2
    with pytest.raises(BadStatisticInput):
        units_for_zero_events(1)
    with pytest.raises(BadStatisticInput):
        units_for_zero_events(1e-14)
