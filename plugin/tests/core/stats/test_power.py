"""Power and sizes, of rates too: against quadratures, simulations, and every count tried."""

from __future__ import annotations

import itertools
import math
from functools import partial
from itertools import product
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import (  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types
    integrate,
    optimize,
    special,
    stats,
)

from pytest_bias.stats._old.blocks import sign_flip
from pytest_bias.stats._old.counts import newcombe
from pytest_bias.stats._old.means import stratified_contrast, welch
from pytest_bias.stats._old.permutation import contrast_permutation, label_permutation
from pytest_bias.stats._old.score import score_difference, score_difference_p, tost_rates
from pytest_bias.stats.few_power import few_alarm_power, few_flips_power
from pytest_bias.stats.power import (
    detectable_effect,
    largest_sd_to_clear,
    units_to_clear,
    units_unseen,
    verdict_chances,
)
from pytest_bias.stats.rate_power import (
    LARGEST_EXACT,
    power_to_alarm_rate,
    power_to_clear_rate,
    score_se,
)

from ...helpers import there

Design = Literal["independent", "paired"]


def close(expected: float) -> object:
    return pytest.approx(expected, rel=1e-6)


def power_to_clear(n: int, *, difference: float = 0.0, **given: Any) -> float:
    return verdict_chances(n, difference=difference, **given)[0]


def power_to_alarm(n: int, *, difference: float, margin: float = 1e-60, **given: Any) -> float:
    """Of a margin that nothing is cleared within; or against the margin itself."""
    return verdict_chances(n, difference=difference, margin=margin, **given)[1]


@pytest.mark.parametrize("n", [2, 3, 10, 120, 5000, 10**7])
@pytest.mark.parametrize("effect", [0.0, 0.5, 2.0, 4.0])
def test_power_of_the_t_test_is_the_noncentral_t(n: int, effect: float) -> None:
    df, difference = 2 * n - 2, effect * math.sqrt(2 / n)
    t = stats.t.isf(0.025, df)
    both = stats.nct.sf(t, df, effect) + stats.nct.cdf(-t, df, effect)
    assert power_to_alarm(n, sd=1, difference=difference) == pytest.approx(both, abs=1e-10)
    assert power_to_alarm(n, sd=1, difference=-difference) == pytest.approx(both, abs=1e-10)


@pytest.mark.parametrize(
    ("sizes", "strata", "alpha"),
    [((6, 6), 1, 0.005), ((5, 9), 1, 0.01), ((8, 8), 2, 0.003), ((9, 9), 3, 0.004)],
)
def test_few_units_differ_as_often_as_t_and_permutation_say(
    sizes: tuple[int, int], strata: int, alpha: float
) -> None:
    rng = np.random.default_rng(2)
    first = sizes[0]
    shift = 3.5 * math.sqrt(1 / first + 1 / sizes[1])
    labels = np.repeat(["a", "b"], sizes).tolist()
    blocks = [place % strata for n in sizes for place in range(n)]
    places = [*itertools.product(range(strata), "ab")]

    def p_of(values: Any) -> float:
        if strata == 1:
            a, b = values[:first], values[first:]
            return max(welch(a, b).p, label_permutation(a, b, seed=1).p)
        cells = [
            [v for v, *at in zip(values, blocks, labels, strict=True) if at == [*p]]
            for p in places
        ]
        by_t = stratified_contrast(
            cells, [1 / strata if at == "a" else -1 / strata for _, at in places]
        )
        weights = {"a": 1.0, "b": -1.0}
        return max(by_t.p, contrast_permutation(values, labels, weights, blocks=blocks, seed=1).p)

    drawn = rng.standard_normal((300, sum(sizes))) + np.repeat([shift, 0.0], sizes)
    found = sum(p_of(each) <= alpha for each in drawn)
    power = few_alarm_power(sizes, effect=3.5, alpha=alpha, strata=strata)
    assert power == pytest.approx(found / 300, abs=0.07)


@pytest.mark.parametrize(("sizes", "strata"), [((7, 8), 1), ((8, 7), 1), ((6, 12), 2)])
def test_labels_as_they_are_are_not_among_those_that_are_drawn(
    sizes: tuple[int, int], strata: int
) -> None:
    assert few_alarm_power(sizes, effect=30, alpha=3.9e-4, strata=strata) > 0.99


@pytest.mark.parametrize(("n", "alpha"), [(6, 0.05), (8, 0.01), (9, 0.005)])
def test_few_units_differ_as_often_as_their_signs_say(n: int, alpha: float) -> None:
    rng = np.random.default_rng(4)
    drawn = rng.standard_normal((400, n)) + 4 / math.sqrt(n)
    found = np.mean([sign_flip(each, seed=1).p <= alpha for each in drawn])
    assert few_flips_power(n, effect=4, alpha=alpha) == pytest.approx(found, abs=0.06)
    # Of as many flips as there are, so many reach the one that was seen.
    level = math.floor(alpha * 2 ** (n - 1)) / 2 ** (n - 1)
    assert few_flips_power(n, effect=0, alpha=alpha) == pytest.approx(level, abs=0.02)


def test_power_stays_a_probability_where_the_noncentral_t_fails() -> None:
    assert math.isnan(stats.nct.cdf(-stats.t.isf(0.025, 1), 1, 40))
    found = power_to_alarm(2, sd=1, difference=40 / math.sqrt(2), design="paired")
    assert found == pytest.approx(0.998, abs=0.001)
    assert 1 - 1e-15 <= power_to_alarm(2, sd=1e-60, difference=1e60) <= 1
    assert power_to_clear(2, sd=1e60, margin=1e-60) == 0
    assert power_to_alarm(10**15, sd=1, difference=0) == close(0.05)


@pytest.mark.parametrize("n", [2, 5, 30, 400])
@pytest.mark.parametrize("difference", [0.0, 0.3, 0.9, 1.5])
def test_power_of_the_equivalence_test_is_an_integral_over_the_sd(
    n: int, difference: float
) -> None:
    margin, df = 0.9, n - 1
    se, t = 1 / math.sqrt(n), stats.t.isf(0.05, n - 1)

    def density(s: float) -> float:
        half = margin / se - t * s
        inside = special.ndtr(half - difference / se) - special.ndtr(-half - difference / se)
        return float(inside * stats.chi.pdf(s * math.sqrt(df), df) * math.sqrt(df))

    top = margin / se / t
    parts = (0, min(top, 0.5), min(top, 1), min(top, 1.5), min(top, 9))
    expected = sum(
        integrate.quad(density, low, high, epsabs=1e-11)[0]
        for low, high in itertools.pairwise(parts)
    )
    found = power_to_clear(n, sd=1, margin=margin, difference=difference, design="paired")
    assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(
    ("n", "sd", "clear", "at_margin", "at_twice"),
    [
        (30, 0.8, 0.78, 0.82, 1),
        (30, 1.0, 0.49, 0.63, 0.99),
        (30, 1.25, 0.16, 0.45, 0.96),
        (120, 1.0, 1, 0.95, 1),
        (120, 1.25, 0.96, 0.95, 1),
        (120, 2.0, 0.50, 0.64, 1),
    ],
)
def test_the_table_of_the_specification(
    n: int, sd: float, clear: float, at_margin: float, at_twice: float
) -> None:
    assert power_to_clear(n, sd=sd, margin=0.6) == pytest.approx(clear, abs=0.02)
    for difference, expected in ((0.6, at_margin), (1.2, at_twice)):
        found = verdict_chances(n, sd=sd, margin=0.6, difference=difference)
        assert found[1] == pytest.approx(expected, abs=0.02)


def test_verdict_chances_are_those_of_simulated_experiments() -> None:
    rng, runs, n, margin = np.random.default_rng(8), 20_000, 12, 0.9
    d = rng.normal(0.5, 1 / math.sqrt(n), runs)
    se = np.sqrt(rng.chisquare(n - 1, runs) / (n - 1) / n)
    clear = np.abs(d) + stats.t.isf(0.05, n - 1) * se <= margin
    alarm = np.abs(d) > stats.t.isf(0.025, n - 1) * se
    found = verdict_chances(n, sd=1, margin=margin, difference=0.5, design="paired")
    assert found == pytest.approx((clear.mean(), (alarm & ~clear).mean()), abs=0.012)
    beyond = np.abs(d) > margin + stats.t.isf(0.025, n - 1) * se
    strict = verdict_chances(
        n, sd=1, margin=margin, difference=0.5, design="paired", null="margin"
    )
    assert strict[1] == pytest.approx(beyond.mean(), abs=0.012)


@given(
    n=st.integers(3, 300),
    sd=st.floats(0.01, 10),
    difference=st.floats(-3, 3),
    margin=st.floats(0.01, 3),
)
def test_chances_are_coherent(n: int, sd: float, difference: float, margin: float) -> None:
    found = verdict_chances(n, sd=sd, margin=margin, difference=difference)
    clear, biased = found
    assert min(clear, biased, 1 - clear - biased) >= 0
    alarm = power_to_alarm(n, sd=sd, difference=difference)
    assert biased <= alarm + 1e-9
    assert clear + biased >= alarm - 1e-9
    opposite = verdict_chances(n, sd=sd, margin=margin, difference=-difference)
    assert opposite == pytest.approx(found, abs=1e-9)
    beyond = power_to_alarm(n, sd=sd, difference=difference, null="margin", margin=margin)
    assert beyond <= alarm + 1e-9
    assert power_to_clear(n, sd=sd, margin=margin, difference=margin) <= 0.05 + 1e-9


@pytest.mark.parametrize("design", ["independent", "paired"])
def test_the_largest_sd_has_the_power_asked_for(design: Design) -> None:
    sd = largest_sd_to_clear(25, margin=0.25, design=design)
    assert power_to_clear(25, sd=sd, margin=0.25, design=design) == pytest.approx(0.9)


@pytest.mark.parametrize("design", ["independent", "paired"])
@pytest.mark.parametrize("margin", [0.1, 0.6, 3.0])
def test_clearing_takes_no_unit_more_than_needed(design: Design, margin: float) -> None:
    n = there(units_to_clear(sd=1, margin=margin, design=design))
    assert power_to_clear(n, sd=1, margin=margin, design=design) >= 0.9
    assert n == 2 or power_to_clear(n - 1, sd=1, margin=margin, design=design) < 0.9


def test_a_margin_that_no_number_of_units_clears() -> None:
    assert units_to_clear(sd=1, margin=1e-9, design="paired") is None


@pytest.mark.parametrize("df", [20, 60, 1000])
@pytest.mark.parametrize("alpha", [0.05, 0.001])
def test_the_smallest_effect_found_has_that_power_by_the_noncentral_t(
    df: int, alpha: float
) -> None:
    effect = detectable_effect(0.2, df=df, alpha=alpha)
    edge = stats.t.isf(alpha / 2, df)
    found = stats.nct.sf(edge, df, effect / 0.2) + stats.nct.cdf(-edge, df, effect / 0.2)
    assert found == pytest.approx(0.9, abs=1e-6)


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
