"""The two-sign rule, and its power: by definition, at its boundary, and simulated."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.errors import NoVariance
from pytest_bias.stats._old.counts import newcombe
from pytest_bias.stats.means import difference_of
from pytest_bias.stats.noninferiority import (
    NonInferiority,
    non_inferior_from_estimates,
    non_inferior_paired_groups,
)
from pytest_bias.stats.noninferiority_power import (
    DRAWS,
    largest_sd_to_pass,
    power_to_pass,
    power_to_pass_independent,
    power_to_pass_paired,
    power_to_pass_rates,
)
from pytest_bias.stats.power import PowerDesign

from .reference import assert_sound

close = pytest.approx
Groups = list[tuple[float, Any, Any]]


def by_definition(groups: Groups, a: int, b: int) -> tuple[float, float, float]:
    """Estimate, standard error and degrees of freedom for one pair of signs."""
    estimate, variances, dfs = 0.0, [], []
    for weight, ours, theirs in groups:
        both = a * np.asarray(ours) - b * np.asarray(theirs)
        estimate += weight * both.mean()
        variances.append(weight**2 * both.var(ddof=1) / both.size)
        dfs.append(both.size - 1)
    total = sum(variances)
    df = total**2 / sum(v**2 / d for v, d in zip(variances, dfs, strict=True))
    return estimate, math.sqrt(total), df


def drawn(seed: int, sizes: tuple[int, ...] = (6, 9, 5)) -> Groups:
    rng = np.random.default_rng(seed)
    weights = rng.choice([-1.0, -0.5, 0.25, 1.0], len(sizes))
    return [
        (float(w), rng.normal(0.3, 1, n), rng.normal(0.1, 0.6, n))
        for w, n in zip(weights, sizes, strict=True)
    ]


@given(st.integers(0, 10_000), st.floats(0.05, 10), st.sampled_from([(6, 9, 5), (8,)]))
def test_the_rule_is_the_one_defined(seed: int, margin: float, sizes: tuple[int, ...]) -> None:
    groups = drawn(seed, sizes)
    found = non_inferior_paired_groups(groups, margin=margin)
    assert_sound(found)
    bounds, ps = [], []
    for a in (1, -1):
        each = [by_definition(groups, a, b) for b in (1, -1)]
        bounds.append(min(e + stats.t.isf(0.025, df) * se for e, se, df in each))
        ps.append(min(stats.t.cdf((e - margin) / se, df) for e, se, df in each))
    assert found.bound == close(max(bounds), rel=1e-9, abs=1e-12)
    candidate = sum(float(w * np.mean(c)) for w, c, _ in groups)
    baseline = sum(float(w * np.mean(b)) for w, _, b in groups)
    assert found.bound >= abs(candidate) - abs(baseline)
    if abs(found.bound - margin) > 1e-9:
        assert found.non_inferior == (max(bounds) < margin) == (2 * max(ps) < 0.05)


@given(st.integers(0, 10_000), st.sampled_from([0.05, 0.01]))
def test_larger_is_the_same_rule_the_other_way_round(seed: int, alpha: float) -> None:
    groups = drawn(seed)
    found = non_inferior_paired_groups(groups, margin=None, alpha_larger=alpha)
    bounds, ps = [], []
    for b in (1, -1):
        each = [by_definition(groups, a, b) for a in (1, -1)]
        bounds.append(max(e - stats.t.isf(alpha / 2, df) * se for e, se, df in each))
        ps.append(min(stats.t.sf(e / se, df) for e, se, df in each))
    assert found.least == close(min(bounds), rel=1e-9, abs=1e-12)
    assert found.larger == (found.least > 0) == (2 * max(ps) <= alpha)
    assert found.least < found.bound
    assert (found.non_inferior, found.margin) == (False, None)


@pytest.mark.parametrize("size", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_unchanged_size_is_seldom_called_larger_and_a_larger_one_mostly(
    size: float, sign: float
) -> None:
    """2,000 draws: false at most .05 (Monte Carlo error .005), and four standard errors found."""
    rng = np.random.default_rng(12)
    given: dict[str, Any] = {"se_baseline": 0.5, "df_candidate": 40, "df_baseline": 40}
    rates = []
    for truth in (size, size + 4 * math.hypot(0.5, 0.4)):
        ours, theirs = rng.normal(sign * truth, 0.4, 2_000), rng.normal(size, 0.5, 2_000)
        found = [
            non_inferior_from_estimates(
                candidate=a, baseline=b, se_candidate=0.4, margin=None, **given
            ).larger
            for a, b in zip(ours.tolist(), theirs.tolist(), strict=True)
        ]
        rates.append(np.mean(found))
    assert rates[0] <= 0.05 + 2 * 0.005
    assert rates[1] >= 0.9


def test_a_constant_group_adds_its_mean_and_no_variance() -> None:
    groups = drawn(4)
    constant = [*groups, (0.5, np.full(7, 2.0), np.full(7, 1.0))]
    found = non_inferior_paired_groups(constant, margin=1.0)
    bounds = []
    for a in (1, -1):
        each = []
        for b in (1, -1):
            estimate, se, df = by_definition(groups, a, b)
            each.append(estimate + 0.5 * (2 * a - b) + stats.t.isf(0.025, df) * se)
        bounds.append(min(each))
    assert found.bound == close(max(bounds))


def test_what_cannot_be_tested() -> None:
    same = np.arange(6.0)
    with pytest.raises(NoVariance):
        non_inferior_paired_groups([(1, same, same), (-1, same, same + 1)], margin=1)


ESTIMATES: dict[str, Any] = {
    "candidate": -0.4,
    "se_candidate": 0.2,
    "df_candidate": 20,
    "baseline": 0.3,
    "se_baseline": 0.1,
    "df_baseline": 30,
}


def non_inferior_paired(candidate: Any, baseline: Any, **given: float) -> NonInferiority:
    """The rule on one group of units."""
    return non_inferior_paired_groups([(1.0, candidate, baseline)], **given)


def test_independent_estimates_use_welch_and_satterthwaite() -> None:
    found = non_inferior_from_estimates(**ESTIMATES, margin=0.5)
    worst = difference_of(0.4, 0.2, 20, 0.3, 0.1, 30)
    assert found.bound == close(worst.interval.high)
    assert (found.se, found.df) == close((worst.se, worst.df))
    assert found.margin == 0.5
    assert not found.non_inferior
    assert non_inferior_from_estimates(**ESTIMATES, margin=0.56).non_inferior


def test_constant_baselines_and_constant_pairs() -> None:
    fixed = non_inferior_from_estimates(**{**ESTIMATES, "se_baseline": 0}, margin=1)
    assert fixed.non_inferior
    with pytest.raises(NoVariance):
        non_inferior_from_estimates(**{**ESTIMATES, "se_baseline": 0, "se_candidate": 0}, margin=1)
    for same in ([1.0, 2.0, 4.0], [1.1, 2.1, 4.1], [-1.0, -2.0, -4.0]):
        with pytest.raises(NoVariance):
            non_inferior_paired(same, [1.0, 2.0, 4.0], margin=1)


RUNS = 100_000


def near(power: float, runs: int = RUNS) -> object:
    """Within four Monte Carlo standard errors."""
    return pytest.approx(power, abs=4 * math.sqrt(power * (1 - power) / runs) + 1e-9)


def pairs_pass(
    n: int, sd: float = 1.0, margin: float = 0.6, effect: float = 0.0, correlation: float = 0.0
) -> float:
    se = sd / math.sqrt(n)
    return power_to_pass_paired(margin / se, effect / se, n - 1, correlation=correlation)


def bounds_of(
    values: np.ndarray[tuple[int, int], np.dtype[np.float64]],
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], ...]:
    """Upper bounds of the mean of each row, and of minus it."""
    n = values.shape[1]
    half = stats.t.isf(0.025, n - 1) * values.std(axis=1, ddof=1) / math.sqrt(n)
    return values.mean(axis=1) + half, half - values.mean(axis=1)


@pytest.mark.parametrize(
    ("n", "correlation", "effect"),
    [(5, 0.0, 0.0), (5, 0.8, 2.0), (5, -0.5, 0.4), (12, 0.3, 0.3), (25, 0.6, -1.0)],
)
def test_paired_contrasts_pass_as_often_as_computed(
    n: int, correlation: float, effect: float
) -> None:
    rng = np.random.default_rng(n)
    sd, runs = 1.3, 20_000
    shared = rng.normal(0, math.sqrt(abs(correlation)), (runs, n))
    own = math.sqrt(1 - abs(correlation))
    theirs = effect + sd * (shared + rng.normal(0, own, (runs, n)))
    mirrored = math.copysign(1, correlation) * shared
    ours = effect + sd * (mirrored + rng.normal(0, own, (runs, n)))
    (d_up, d_down), (s_up, s_down) = bounds_of(ours - theirs), bounds_of(ours + theirs)
    passed = (np.minimum(d_up, s_up) < 1) & (np.minimum(d_down, s_down) < 1)
    for row in range(25):  # that is the gate's own rule
        found = non_inferior_paired_groups([(1.0, ours[row], theirs[row])], margin=1.0)
        assert found.non_inferior == passed[row]
    assert passed.mean() == near(pairs_pass(n, sd, 1.0, effect, correlation), runs)


@pytest.mark.parametrize(
    ("se", "df", "effect"),
    [(0.13, 238, 0.0), (0.2, 8, 0.1), (0.15, 4, -0.3), (0.3, 58, 1.0), (0.5, 20, 0.0)],
)
def test_independent_estimates_pass_as_often_as_computed(
    se: float, df: float, effect: float
) -> None:
    rng = np.random.default_rng(7)
    ours, theirs = rng.normal(effect, se, (2, RUNS))
    own, other = se**2 * rng.chisquare(df, (2, RUNS)) / df
    dfs = (own + other) ** 2 / (own**2 / df + other**2 / df)
    passed = np.abs(ours) - np.abs(theirs) + stats.t.isf(0.025, dfs) * np.sqrt(own + other) < 0.6
    for row in range(25):
        found = non_inferior_from_estimates(
            candidate=ours[row],
            se_candidate=math.sqrt(own[row]),
            df_candidate=df,
            baseline=theirs[row],
            se_baseline=math.sqrt(other[row]),
            df_baseline=df,
            margin=0.6,
        )
        assert found.non_inferior == passed[row]
    assert passed.mean() == near(power_to_pass_independent(0.6 / se, effect / se, df))


def test_the_anchors_of_the_specification_on_anchoring() -> None:
    """30 and 120 replies an arm, ±0.6 months, at a standard deviation of 1: .27 and .98."""
    found = [
        power_to_pass(n, sd=1, margin=0.6, effect=0, design="independent", paired=False)
        for n in (30, 120)
    ]
    # Simulated ones, of 2,000 runs and two digits.
    assert found[0] == pytest.approx(0.27, abs=2 * 0.01 + 0.005)
    assert found[0] == pytest.approx(0.2800, abs=1e-3)
    assert found[1] == pytest.approx(0.98, abs=0.005)


@pytest.mark.parametrize(("replicates", "published"), [(1, 0.48), (3, 0.98)])
def test_the_anchors_of_the_specification_on_length(replicates: int, published: float) -> None:
    """Laid out as in the power table: 25 seeds × 16 cells, SD .35, seed × factor SD .05.

    The latter is shared by the models. One replicate comes out at .51, which is as near as the
    power table's own rows are held to be (.03).
    """
    of_replies = 4 * 0.35**2 / (16 * replicates)
    variance = of_replies + 0.05**2
    power = pairs_pass(25, math.sqrt(variance), 0.105, correlation=0.05**2 / variance)
    assert power == pytest.approx(published, abs=0.035)


def test_the_anchor_of_the_specification_on_screening() -> None:
    """12 blocks × 2 genders × 10 iterations, ±0.25, reply SD .7, cell SD .2 shared: .63.

    Which spreads it rests on is not said; of those in the power table these give it.
    """
    of_cells, of_replies = 2 * 0.2**2 / 2, 2 * 0.7**2 / 20
    variance = of_cells + of_replies
    power = pairs_pass(12, math.sqrt(variance), 0.25, correlation=of_cells / variance)
    assert power == pytest.approx(0.63, abs=0.005)


def test_power_rises_with_units_and_likeness_and_falls_with_spread() -> None:
    units = [pairs_pass(n) for n in (5, 10, 20, 40, 80)]
    assert units == sorted(units)
    alike = [pairs_pass(20, effect=1.2, correlation=r) for r in (-0.5, 0, 0.5)]
    assert alike == sorted(alike)
    floor, *more = (pairs_pass(20, correlation=r) for r in (0, -0.5, 0.5))
    assert floor < more[0] == pytest.approx(more[1], abs=1e-12)  # signs mean nothing there
    spread = [pairs_pass(20, sd) for sd in (0.2, 0.5, 1, 2, 5)]
    assert spread == sorted(spread, reverse=True)
    assert pairs_pass(20, effect=-2) == pytest.approx(pairs_pass(20, effect=2), abs=1e-12)
    both = {"sd": 1.0, "margin": 0.6, "effect": 0.0, "paired": True}
    groups = power_to_pass(20, design="independent", **both)  # type: ignore[arg-type]  # numbers
    assert groups < power_to_pass(20, design="paired", **both) == pairs_pass(20)  # type: ignore[arg-type]  # numbers


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("design", ["paired", "independent"])
def test_the_largest_spread_that_passes_gives_its_power(
    design: PowerDesign, *, paired: bool
) -> None:
    sd = largest_sd_to_pass(20, margin=0.6, design=design, paired=paired)
    found = [
        power_to_pass(20, sd=sd, margin=0.6, effect=effect, design=design, paired=paired)
        for effect in (0.0, 1.2)
    ]
    assert min(found) == pytest.approx(0.9, abs=1e-9)


@cache
def rate_of(events: tuple[int, int], n: int, m: int) -> tuple[float, float]:
    """The difference and the standard error that the gate reads from its interval."""
    found = newcombe(events[0], n, events[1], m)
    z = stats.norm.isf(0.025)
    return found.difference, (found.interval.high - found.interval.low) / (2 * z)


@pytest.mark.parametrize(
    ("sizes", "rate", "effect"),
    [
        ((30, 30), 0.1, 0.0),
        ((30, 30), 0.02, 0.1),
        ((120, 120), 0.1, 0.0),
        ((120, 120), 0.02, 0.2),
        ((30, 270), 0.05, 0.1),
        ((270, 30), 0.05, 0.1),
    ],
)
def test_rates_pass_as_often_as_computed(
    sizes: tuple[int, int], rate: float, effect: float
) -> None:
    n, m = sizes
    least = n + m - 2
    rng = np.random.default_rng(n)
    runs = 3_000
    counts = rng.binomial([n, m] * 2, [rate + effect, rate] * 2, (runs, 4)).tolist()
    passed = 0
    dfs = np.linspace(least, 2 * least, 50)
    t = stats.t.isf(0.025, dfs)
    for a, b, c, d in counts:
        (ours, se_ours), (theirs, se_theirs) = rate_of((a, b), n, m), rate_of((c, d), n, m)
        own, other = se_ours**2, se_theirs**2
        df = least * (own + other) ** 2 / (own**2 + other**2)
        half = float(np.interp(df, dfs, t)) * math.sqrt(own + other)
        passed += abs(ours) - abs(theirs) + half < 0.1
    power = power_to_pass_rates(n, m, rate=rate, margin=0.1, effect=effect)
    # both are drawn
    error = math.sqrt(power * (1 - power) * (1 / runs + 1 / DRAWS))
    assert passed / runs == pytest.approx(power, abs=4 * error + 1e-9)
    assert power_to_pass_rates(n, m, rate=rate, margin=0.1, effect=effect) == power


def test_without_any_event_the_intervals_decide() -> None:
    def passes(n: int, rate: float, margin: float) -> float:
        return power_to_pass_rates(n, n, rate=rate, margin=margin, effect=0)

    assert passes(30, 0, 0.1) == 0
    assert passes(120, 0, 0.1) == passes(120, 1, 0.1) == passes(10**6, 0, 0.05) == 1
    se = rate_of((0, 0), 120, 120)[1]
    bound = stats.t.isf(0.025, 2 * 238) * se * math.sqrt(2)
    assert passes(120, 0, bound * 1.001) == 1
    assert passes(120, 0, bound * 0.999) == 0


def test_rates_of_many_replies_are_normal() -> None:
    n, rate, margin = 10_000, 0.5, 0.01
    se = math.sqrt(2 * rate * (1 - rate) / n)
    normal = power_to_pass_independent(margin / se, 0.0, 2.0 * n - 2)
    assert power_to_pass_rates(n, n, rate=rate, margin=margin, effect=0) == near(normal, DRAWS)
