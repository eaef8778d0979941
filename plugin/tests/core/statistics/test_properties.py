"""Properties that hold for any data: shifts, scales, swaps, margins, and finite results."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_bias.errors import BiasError, NoVariance
from pytest_bias.statistics.bounded import deterministic_difference
from pytest_bias.statistics.counts import newcombe, wilson
from pytest_bias.statistics.effect_size import hedges_j, standardized_difference
from pytest_bias.statistics.means import describe, welch
from pytest_bias.statistics.power import units_unseen
from pytest_bias.statistics.resampling import bootstrap_difference, exact_separation_p
from pytest_bias.statistics.simultaneous import benjamini_hochberg, holm

from ...helpers import there
from .reference import assert_sound

# a grid, so that shifting and scaling do not turn differences into rounding
readings = st.integers(-1000, 1000).map(lambda i: i / 8)
groups = st.lists(readings, min_size=2, max_size=12)
varied = groups.filter(lambda values: len(set(values)) > 1)
anything = st.lists(
    st.floats(allow_nan=False, allow_infinity=False, min_value=-1e100, max_value=1e100),
    min_size=1,
    max_size=8,
)
probabilities = st.floats(0, 1)
same = pytest.approx


@given(varied, groups, st.integers(-50, 50), st.sampled_from([0.25, 2, 64]))
def test_shift_and_scale(a: list[float], b: list[float], shift: int, scale: float) -> None:
    before = welch(a, b)
    after = welch(np.array(a) * scale + shift, np.array(b) * scale + shift)
    assert after.t == same(before.t, rel=1e-6, abs=1e-9)
    assert after.p == same(before.p, rel=1e-6)
    assert after.estimate == same(before.estimate * scale, rel=1e-6, abs=1e-9)
    assert after.interval.low == same(before.interval.low * scale, rel=1e-6, abs=1e-6)
    effect = standardized_difference(a, b)
    moved = standardized_difference(np.array(a) * scale + shift, np.array(b) * scale + shift)
    assert moved.d == same(effect.d, rel=1e-6, abs=1e-9)
    assert moved.interval.high == same(effect.interval.high, rel=1e-5, abs=1e-6)


@given(varied, groups)
def test_swap(a: list[float], b: list[float]) -> None:
    one, other = welch(a, b), welch(b, a)
    assert one.p == same(other.p)
    assert one.interval.low == same(-other.interval.high)
    tost, back = one.tost(1), other.tost(1)
    assert tost.p == same(back.p)
    assert tost.t_lower == same(-back.t_upper)
    effect, mirrored = standardized_difference(a, b), standardized_difference(b, a)
    assert effect.d == same(-mirrored.d)
    assert effect.interval.low == same(-mirrored.interval.high, rel=1e-6, abs=1e-9)


@given(varied, groups, st.floats(0.5, 0.999))
def test_intervals_contain_the_estimate_and_agree_with_p(
    a: list[float], b: list[float], level: float
) -> None:
    found = welch(a, b)
    assert not found.at_level(level).excludes(found.estimate)
    if abs(found.p - (1 - level)) > 1e-9:
        assert found.at_level(level).excludes(0) == (found.p < 1 - level)
    effect = standardized_difference(a, b)
    assert not effect.interval.excludes(effect.d)
    assert abs(effect.g) <= abs(effect.d)
    for result in (found, effect):
        assert_sound(result)


@given(varied, groups, st.floats(0.01, 200), st.floats(1, 3))
def test_equivalence(a: list[float], b: list[float], margin: float, factor: float) -> None:
    narrow = welch(a, b).tost(margin)
    assert welch(a, b).tost(margin * factor).p <= narrow.p
    assert_sound(narrow)
    if abs(narrow.p - 0.05) > 1e-9:
        assert narrow.interval.within(margin) == (narrow.p < 0.05)


@given(anything, anything)
def test_any_finite_data_give_finite_results_or_an_error(a: list[float], b: list[float]) -> None:
    assert_sound(describe(a))
    for statistic in (
        welch,
        standardized_difference,
        lambda a, b: welch(a, b).tost(1e-3),
        lambda a, b: bootstrap_difference(a, b, iterations=100, seed=1),
    ):
        try:
            result = statistic(a, b)
        except BiasError:
            continue
        assert_sound(result)


@given(anything)
def test_description_is_ordered(values: list[float]) -> None:
    found = describe(values)
    ordered = [found.minimum, found.q1, found.median, found.q3, found.maximum]
    assert ordered == sorted(ordered)
    assert found.minimum <= found.mean <= found.maximum
    assert (found.sd is None) == (len(values) == 1)


@example([], Random(0))  # noqa: S311  (no secret)
@given(st.lists(probabilities, max_size=20), st.randoms(use_true_random=False))
def test_adjusted_p_values(p: list[float], random: Random) -> None:
    raw = np.array(p)
    of_holm, of_bh = holm(raw), benjamini_hochberg(raw)
    assert of_holm.shape == of_bh.shape == raw.shape
    assert ((of_holm > 0) & (of_holm <= 1) & (of_bh > 0) & (of_bh <= 1)).all()
    assert (of_holm >= raw).all()
    assert (of_bh >= raw * (1 - 1e-12)).all()
    assert (of_holm >= of_bh * (1 - 1e-12)).all()
    by_size = np.argsort(raw)
    assert (np.diff(of_holm[by_size]) >= 0).all()
    order = random.sample(range(raw.size), raw.size)
    assert holm(raw[order]).tolist() == of_holm[order].tolist()
    assert benjamini_hochberg(raw[order]).tolist() == same(of_bh[order].tolist())


@given(st.data(), st.integers(1, 400), st.integers(1, 400), st.floats(0.5, 0.999))
def test_rates(data: st.DataObject, n_a: int, n_b: int, level: float) -> None:
    x = data.draw(st.integers(0, n_a))
    y = data.draw(st.integers(0, n_b))
    rate = wilson(x, n_a, level=level)
    assert 0 <= rate.low <= x / n_a <= rate.high <= 1
    assert rate.low < rate.high
    found, back = newcombe(x, n_a, y, n_b), newcombe(y, n_b, x, n_a)
    assert_sound(found)
    assert not found.interval.excludes(found.difference)
    assert -1 <= found.interval.low < found.interval.high <= 1
    assert found.p == same(back.p)
    assert found.interval.low == same(-back.interval.high, abs=1e-12)


@given(
    st.integers(1, 300),
    st.integers(1, 300),
    st.integers(0, 40),
    st.integers(0, 40),
    st.floats(0.1, 50),
    st.floats(1, 3),
)
def test_identical_replies(
    n_a: int, n_b: int, x: int, y: int, margin: float, factor: float
) -> None:
    a, b = [float(x)] * n_a, [float(y)] * n_b
    found = deterministic_difference(a, b, bounds=(0, 40), margin=margin)
    wide = deterministic_difference(a, b, bounds=(0, 40), margin=margin * factor)
    back = deterministic_difference(b, a, bounds=(0, 40), margin=margin)
    assert_sound(found)
    assert not found.interval.excludes(found.difference)
    assert -40 <= found.interval.low < found.interval.high <= 40
    assert found.interval.low == same(-back.interval.high)
    assert (found.p_alarm, found.p_clear) == (back.p_alarm, back.p_clear)
    assert found.p_clear is not None
    assert there(wide.p_clear) <= found.p_clear
    if found.interval.within(margin):
        assert found.p_clear <= 0.05 * (1 + 1e-9)
    if x == y:
        needed = units_unseen(margin, width=40)
        assert (min(n_a, n_b) >= needed) == (found.p_clear <= 0.05)


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_separation(n_a: int, n_b: int) -> None:
    assert 0 < exact_separation_p(n_a, n_b) <= 1
    assert exact_separation_p(n_a, n_b) >= exact_separation_p(n_a + 1, n_b)


@given(st.floats(1.001, 1e100), st.floats(1, 10))
def test_hedges_j_grows_to_one(df: float, factor: float) -> None:
    assert 0 < hedges_j(df) <= 1
    assert hedges_j(df) <= hedges_j(min(1e100, df * factor)) * (1 + 1e-9)


@given(st.integers(2, 200), st.floats(-8, 12))
def test_d_interval_from_tiny_to_enormous_effects(n: int, exponent: float) -> None:
    spread = np.linspace(-1, 1, n) * 10**-exponent
    a, b = 1 + spread, spread
    try:
        found = standardized_difference(a, b)
    except NoVariance:
        return
    assert found.interval.low < found.interval.high
    assert not found.interval.excludes(found.d)
