"""The two-sign rule, and its power: by definition, at its boundary, and simulated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.errors import NoVariance
from pytest_bias.stats.means import StudentEstimate, difference_of
from pytest_bias.stats.noninferiority import (
    non_inferior_from_estimates,
    non_inferior_paired_groups,
)

from .reference import assert_sound

close = pytest.approx
Groups = list[tuple[float, Any, Any]]


def of(estimate: float, se: float, df: float) -> StudentEstimate:
    return StudentEstimate(estimate=estimate, se=se, df=df)


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


@pytest.mark.parametrize("size", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_unchanged_size_is_seldom_called_larger_and_a_larger_one_mostly(
    size: float, sign: float
) -> None:
    """2,000 draws: false at most .05 (Monte Carlo error .005), and four standard errors found."""
    rng = np.random.default_rng(12)
    rates = []
    for truth in (size, size + 4 * math.hypot(0.5, 0.4)):
        ours, theirs = rng.normal(sign * truth, 0.4, 2_000), rng.normal(size, 0.5, 2_000)
        found = [
            non_inferior_from_estimates(of(a, 0.4, 40), of(b, 0.5, 40), margin=None).larger
            for a, b in zip(ours.tolist(), theirs.tolist(), strict=True)
        ]
        rates.append(np.mean(found))
    assert rates[0] <= 0.05 + 2 * 0.005
    assert rates[1] >= 0.9


def test_what_cannot_be_tested() -> None:
    same = np.arange(6.0)
    with pytest.raises(NoVariance):
        non_inferior_paired_groups([(1, same, same), (-1, same, same + 1)], margin=1)


def test_independent_estimates_use_welch_and_satterthwaite() -> None:
    both = of(-0.4, 0.2, 20), of(0.3, 0.1, 30)
    found = non_inferior_from_estimates(*both, margin=0.5)
    assert found.bound == close(difference_of(of(0.4, 0.2, 20), both[1]).interval.high)
    assert found.margin == 0.5
    assert not found.non_inferior
    assert non_inferior_from_estimates(*both, margin=0.56).non_inferior
