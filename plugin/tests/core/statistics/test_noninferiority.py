"""The two-sign rule: against its definition, by symmetry, and at its boundary."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.errors import BadStatisticInput, NoVariance, TooFewUnits
from pytest_bias.statistics.means import compare_differences
from pytest_bias.statistics.noninferiority import (
    NonInferiority,
    non_inferior_from_estimates,
    non_inferior_paired_groups,
)

from .reference import assert_sound

if TYPE_CHECKING:
    from numpy.typing import NDArray

close = pytest.approx
readings = st.integers(-80, 80).map(lambda i: i / 8)
paired = st.lists(st.tuples(readings, readings), min_size=3, max_size=10).filter(
    lambda pairs: len({x - y for x, y in pairs}) > 1 and len({x + y for x, y in pairs}) > 1
)
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


def by_definition(
    candidate: NDArray[np.float64], baseline: NDArray[np.float64], margin: float
) -> bool:
    n = candidate.size
    t = stats.t.isf(0.025, n - 1)

    def upper(a: int, b: int) -> float:
        both = a * candidate - b * baseline
        return float(both.mean() + t * both.std(ddof=1) / math.sqrt(n))

    return all(any(upper(a, b) < margin for b in (1, -1)) for a in (1, -1))


@settings(max_examples=60)
@given(paired, st.floats(0.05, 30))
def test_the_rule_and_its_p_value_agree(pairs: list[tuple[float, float]], margin: float) -> None:
    candidate, baseline = np.array(pairs).T
    found = non_inferior_paired(candidate, baseline, margin=margin)
    assert_sound(found)
    if abs(found.bound - margin) > 1e-9:
        assert found.non_inferior == by_definition(candidate, baseline, margin)
    if abs(found.p - 0.05) > 1e-9:
        assert found.non_inferior == (found.p < 0.05)
    assert found.bound == max(found.bounds)
    assert found.bound >= abs(found.candidate) - abs(found.baseline)


@settings(max_examples=60)
@given(paired, st.floats(0.05, 30), st.sampled_from([0.25, 2.0, 64.0]), st.data())
def test_signs_scale_and_order_do_not_matter(
    pairs: list[tuple[float, float]], margin: float, scale: float, data: st.DataObject
) -> None:
    candidate, baseline = np.array(pairs).T
    found = non_inferior_paired(candidate, baseline, margin=margin)
    flipped = non_inferior_paired(-candidate, baseline, margin=margin)
    assert (flipped.p, flipped.bound) == close((found.p, found.bound))
    assert flipped.bounds == close(found.bounds[::-1])
    other = non_inferior_paired(candidate, -baseline, margin=margin)
    assert (other.p, *other.bounds) == close((found.p, *found.bounds))
    scaled = non_inferior_paired(candidate * scale, baseline * scale, margin=margin * scale)
    assert scaled.p == close(found.p)
    order = data.draw(st.permutations(range(len(pairs))))
    shuffled = non_inferior_paired(candidate[order], baseline[order], margin=margin)
    assert shuffled.p == close(found.p)
    wider = non_inferior_paired(candidate, baseline, margin=1.5 * margin)
    assert wider.p <= found.p
    assert wider.non_inferior >= found.non_inferior


def test_independent_estimates_use_welch_and_satterthwaite() -> None:
    found = non_inferior_from_estimates(**ESTIMATES, margin=0.5)
    worst = compare_differences(
        first=0.4,
        se_first=0.2,
        df_first=20,
        second=0.3,
        se_second=0.1,
        df_second=30,
    )
    assert found.bound == close(worst.interval.high)
    t = (0.1 - 0.5) / worst.se
    assert found.p == close(2 * stats.t.cdf(t, worst.df))
    assert (found.candidate, found.baseline, found.margin) == (-0.4, 0.3, 0.5)
    assert not found.non_inferior
    assert non_inferior_from_estimates(**ESTIMATES, margin=0.56).non_inferior


def test_less_bias_than_before_is_not_inferior_whatever_its_sign() -> None:
    before = np.random.default_rng(1).normal(2, 0.3, 30)
    after = np.random.default_rng(2).normal(-0.5, 0.3, 30)
    assert non_inferior_paired(after, before, margin=0.1).non_inferior
    assert not non_inferior_paired(before, after, margin=0.1).non_inferior
    assert non_inferior_paired(before, after, margin=0.1).p > 0.99


def test_constant_baselines_and_constant_pairs() -> None:
    fixed = non_inferior_from_estimates(**{**ESTIMATES, "se_baseline": 0}, margin=1)
    assert fixed.p < 0.05
    with pytest.raises(NoVariance):
        non_inferior_from_estimates(**{**ESTIMATES, "se_baseline": 0, "se_candidate": 0}, margin=1)
    for same in ([1.0, 2.0, 4.0], [1.1, 2.1, 4.1], [-1.0, -2.0, -4.0]):
        with pytest.raises(NoVariance):
            non_inferior_paired(same, [1.0, 2.0, 4.0], margin=1)


def test_bad_arguments() -> None:
    with pytest.raises(TooFewUnits):
        non_inferior_paired([1], [2], margin=1)
    for changed in ({"margin": 0.0}, {"alpha": 0.0}, {"alpha": 1.0}):
        with pytest.raises(BadStatisticInput):
            non_inferior_paired([1, 2, 3], [2, 2, 5], **{"margin": 1.0, **changed})
    with pytest.raises(BadStatisticInput):
        non_inferior_paired([1, 2, 3], [2, 2], margin=1)
    for name in ("df_candidate", "df_baseline"):
        with pytest.raises(BadStatisticInput):
            non_inferior_from_estimates(**{**ESTIMATES, name: 0}, margin=1)


@pytest.mark.parametrize(
    ("candidate", "baseline"), [(0.5, 0.0), (0.6, 0.1), (-0.9, 0.4), (1.5, -1.0)]
)
def test_false_non_inferiority_at_the_boundary(candidate: float, baseline: float) -> None:
    rng = np.random.default_rng(30)
    runs, n = 2_000, 25
    shared = rng.normal(0, 0.5, (runs, n))
    of_candidate = shared + rng.normal(candidate, 0.8, (runs, n))
    of_baseline = shared + rng.normal(baseline, 0.8, (runs, n))
    passed = [
        non_inferior_paired(ours, theirs, margin=0.5).non_inferior
        for ours, theirs in zip(of_candidate, of_baseline, strict=True)
    ]
    assert np.mean(passed) <= 0.06
