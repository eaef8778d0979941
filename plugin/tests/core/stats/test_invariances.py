"""What must not change a finding or a statistic, and what must change it in a known way."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_bias.contrasts.declared import Target
from pytest_bias.contrasts.findings import Finding
from pytest_bias.contrasts.groups import GroupContrast, TotalGap
from pytest_bias.contrasts.interactions import Interaction
from pytest_bias.contrasts.pairs import MeanDifference, RateDifference, RateRatio
from pytest_bias.contrasts.selection import Selection
from pytest_bias.errors import BiasError, NoVariance
from pytest_bias.experiments.design import Trial
from pytest_bias.experiments.experiment import Experiment
from pytest_bias.experiments.measures import Measure, MeasureValue
from pytest_bias.experiments.records import Records
from pytest_bias.stats import permutation
from pytest_bias.stats.bounded import deterministic_difference
from pytest_bias.stats.counts import newcombe, wilson
from pytest_bias.stats.effect_size import hedges_j, standardized_difference
from pytest_bias.stats.means import describe, welch
from pytest_bias.stats.power import units_unseen
from pytest_bias.stats.resampling import bootstrap_difference, exact_separation_p
from pytest_bias.stats.results import Interval
from pytest_bias.stats.simultaneous import benjamini_hochberg, holm

from ...helpers import fewer, there
from .reference import assert_sound
from .test_edge_cases import (
    KIND_OF_POST,
    NUMERIC,
    POOLS,
    RATES,
    SELECTION,
    THREE,
    Case,
    Hypothesis,
    any_pools,
    design,
    judged,
    records_of,
    seeds,
)

MONTE_CARLO = 0.03
"""Six standard errors of a p-value near .5 that 10,000 resamples give."""

draws = st.integers(0, 10_000)
EVERY: dict[str, Case] = {
    **{f"numbers, {name}": case for name, case in NUMERIC.items()},
    **{f"flags, {name}": case for name, case in RATES.items()},
}
SIDED = [n for n, (_, h) in EVERY.items() if isinstance(h, MeanDifference | RateDifference)]
DIFFERENCES = [n for n in SIDED if n.startswith("numbers")]
JUDGEABLE = [n for n, (_, h) in EVERY.items() if h.margin is not None]
OF_A_POPULATION = [n for n, (_, h) in EVERY.items() if h.target == "population"]
few = fewer(16)


@pytest.fixture(autouse=True, scope="module")
def _all_resamples() -> Iterator[None]:
    """Rest p-values above 0.1 on all resamples, too: so that chance may change little."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(permutation, "FIRST", 1)
        yield


def drawn(
    of: Experiment, seed: int, *, effect: float = 0.0, flags: bool = False, gone: float = 0.0
) -> Records:
    """Replies of every trial on a grid of eighths from 0 to 10, or events; some are missing."""
    rng = np.random.default_rng(seed)

    def value(trial: Trial) -> MeasureValue | None:
        shift = effect * (trial.condition.levels["group"] == "b")
        number = float(np.clip(round(8 * rng.normal(5 + shift, 1)), 0, 80)) / 8
        if rng.random() < gone:
            return None
        return number > 5 if flags else number

    return records_of(of, value)


def mapped(rows: Records, change: Callable[[float], float]) -> Records:
    """The same rows with every number changed."""
    return Records(
        tuple(
            replace(row, values={name: change(float(v)) for name, v in row.values.items()})
            for row in rows.rows
        )
    )


def same(found: float | None, expected: float | None) -> None:
    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)


def same_within_chance(found: Finding, expected: Finding) -> None:
    """Equal numbers; where p-values are drawn, equal up to what another draw may change."""
    same(found.estimate, expected.estimate)
    is_drawn = "resamples" in expected.method or "Gaffke" in "".join(expected.notes)
    error = MONTE_CARLO if is_drawn else 1e-9
    assert found.p_alarm == pytest.approx(expected.p_alarm, rel=1e-6, abs=error)
    if expected.p_clear is None:
        assert found.p_clear is None
    else:
        assert found.p_clear == pytest.approx(expected.p_clear, rel=1e-6, abs=error)
    if all(abs(p - 0.05) > error for p in (expected.p_alarm, expected.p_clear or 1)):
        assert judged(found).status == judged(expected).status


def mirrored(found: Interval | None, expected: Interval | None) -> None:
    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        same(found.low, -expected.high)
        same(found.high, -expected.low)


# --- relabelling ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SIDED)
@few
@given(seed=draws, effect=st.sampled_from([0.0, 1.0, 4.0]))
def test_swapping_the_sides_negates(name: str, seed: int, effect: float) -> None:
    of, hypothesis = EVERY[name]
    assert isinstance(hypothesis, MeanDifference | RateDifference)
    rows = drawn(of, seed, effect=effect, flags=name.startswith("flags"))
    found = hypothesis.analyse(of, rows)
    swapped = replace(hypothesis, high=hypothesis.low, low=hypothesis.high)
    back = swapped.analyse(of, rows)
    same_within_chance(replace(back, estimate=-back.estimate), found)
    mirrored(back.interval, found.interval)


@few
@given(seed=draws)
def test_swapping_the_sides_of_a_ratio_inverts_it(seed: int) -> None:
    for name in ("ratio", "ratio in strata"):
        of, hypothesis = RATES[name]
        assert isinstance(hypothesis, RateRatio)
        rows = drawn(of, seed, flags=True)
        found = hypothesis.analyse(of, rows)
        back = replace(hypothesis, high=hypothesis.low, low=hypothesis.high).analyse(of, rows)
        assert 0 < found.estimate < 1e6  # events on both sides
        same(back.estimate, 1 / found.estimate)
        same(back.p_alarm, found.p_alarm)
        same(back.p_clear, found.p_clear)
        assert there(back.interval).high == pytest.approx(1 / there(found.interval).low, rel=1e-5)


@pytest.mark.parametrize(
    "name", ["interaction", "interaction over items", "interaction of exemplars"]
)
@few
@given(seed=draws)
def test_swapping_the_levels_of_a_factor_negates_an_interaction(name: str, seed: int) -> None:
    of, hypothesis = NUMERIC[name]
    assert isinstance(hypothesis, Interaction)
    rows = drawn(of, seed)
    found = hypothesis.analyse(of, rows)
    back = replace(hypothesis, factors={**hypothesis.factors, "style": ("x", "y")}).analyse(
        of, rows
    )
    same_within_chance(replace(back, estimate=-back.estimate), found)
    mirrored(back.interval, found.interval)
    turned = replace(hypothesis, factors=dict(reversed(list(hypothesis.factors.items()))))
    same(turned.analyse(of, rows).estimate, found.estimate)


@few
@given(seed=draws)
def test_the_names_of_the_other_groups_do_not_matter(seed: int) -> None:
    for name, (of, hypothesis) in NUMERIC.items():
        if not isinstance(hypothesis, GroupContrast):
            continue
        rows = drawn(of, seed, effect=1)
        found = hypothesis.analyse(of, rows)
        turned = replace(hypothesis, among=["c", "b", "a"]).analyse(of, rows)
        same_within_chance(turned, found)
        assert (turned.interval is None) == ("any" in name)


@few
@given(seed=draws)
def test_a_total_of_gaps_has_no_sign(seed: int) -> None:
    fixed = design(THREE, replicates=3)
    sown = design(THREE, items=seeds(4), replicates=1)
    designs: list[tuple[Target, Experiment]] = [("fixed", fixed), ("population", sown)]
    for target, of in designs:
        rows = drawn(of, seed)
        gaps = [("a", "b", 1.0), ("c", "a", 0.5)]
        hypothesis = TotalGap("score", "group", gaps=gaps, claim="detect", target=target)
        found = hypothesis.analyse(of, rows)
        turned = [(low, high, times) for high, low, times in gaps]
        back = replace(hypothesis, gaps=turned).analyse(of, rows)
        assert "(exact)" in found.method
        same(back.estimate, found.estimate)
        same(back.p_alarm, found.p_alarm)
        assert found.estimate > 0


@few
@given(seed=draws)
def test_selecting_the_others_inverts_the_ratio(seed: int) -> None:
    rows = any_pools(np.random.default_rng(seed))
    found = SELECTION.analyse(POOLS, rows)
    back = replace(SELECTION, group="m").analyse(POOLS, rows)
    same(back.estimate, 1 / found.estimate)
    same(back.p_alarm, found.p_alarm)
    same(back.p_clear, found.p_clear)
    other = {item: {"f": "m", "m": "f"}[kind] for item, kind in KIND_OF_POST.items()}
    same(replace(SELECTION, feature=other).analyse(POOLS, rows).estimate, back.estimate)


# --- order, shifts and scales --------------------------------------------------------------------


def shuffled(rows: Records, seed: int) -> Records:
    order = np.random.default_rng(seed).permutation(len(rows.rows)).tolist()
    return Records(tuple(rows.rows[i] for i in order))


@pytest.mark.parametrize("name", EVERY)
@few
@given(seed=draws, effect=st.sampled_from([0.0, 3.0]))
def test_the_order_of_rows_does_not_matter(name: str, seed: int, effect: float) -> None:
    of, hypothesis = EVERY[name]
    rows = drawn(of, seed, effect=effect, flags=name.startswith("flags"))
    found = hypothesis.analyse(of, rows)
    other = hypothesis.analyse(of, shuffled(rows, seed))
    if "largest" in name:  # of two levels, both depart by as much: either may be the one named
        other = replace(other, estimate=math.copysign(other.estimate, found.estimate))
    same_within_chance(other, found)
    assert (other.interval is None) == (found.interval is None)
    if found.interval is not None and other.interval is not None:
        same(other.interval.low, found.interval.low)
        same(other.interval.high, found.interval.high)


@few
@given(seed=draws)
def test_the_order_of_pools_does_not_matter(seed: int) -> None:
    rows = any_pools(np.random.default_rng(seed), gone=0.1)
    found = SELECTION.analyse(POOLS, rows)
    same_within_chance(SELECTION.analyse(POOLS, shuffled(rows, seed)), found)


@pytest.mark.parametrize("name", DIFFERENCES)
@few
@given(seed=draws, scale=st.sampled_from([0.25, 2.0, 64.0]), shift=st.sampled_from([-8, 0, 512]))
def test_a_mean_difference_moves_with_unit_and_origin(
    name: str, seed: int, scale: float, shift: int
) -> None:
    of, hypothesis = EVERY[name]
    assert isinstance(hypothesis, MeanDifference)
    rows = drawn(of, seed, effect=0.5)
    found = hypothesis.analyse(of, rows)
    measure = Measure("score", bounds=(shift, 10 * scale + shift))
    moved = replace(of, measures=[measure])
    margin = None if hypothesis.margin is None else hypothesis.margin * scale
    other = replace(hypothesis, margin=margin).analyse(
        moved, mapped(rows, lambda value: value * scale + shift)
    )
    same_within_chance(replace(other, estimate=other.estimate / scale), found)
    assert found.interval is not None
    assert other.interval is not None
    same(other.interval.low / scale, found.interval.low)
    same(other.interval.high / scale, found.interval.high)
    same((other.se or 0) / scale, found.se)
    assert other.settle == found.settle


# --- margins and replicates ----------------------------------------------------------------------


def with_margin(hypothesis: Hypothesis, margin: float) -> Hypothesis:
    assert isinstance(
        hypothesis,
        MeanDifference | RateDifference | RateRatio | GroupContrast | Interaction | Selection,
    )
    return replace(hypothesis, margin=margin)


def assert_monotone(of: Experiment, hypothesis: Hypothesis, rows: Records, start: float) -> None:
    """A larger margin never clears less, and a CLEAR stays one."""
    ratio = start > 1
    margins = [start + (start - ratio) * k for k in (0, 0.5, 2)]
    found = [with_margin(hypothesis, margin).analyse(of, rows) for margin in margins]
    p = [finding.p_clear for finding in found if finding.p_clear is not None]
    assert len(p) == 3
    assert p == sorted(p, reverse=True)
    clear = [judged(finding).status == "CLEAR" for finding in found]
    assert clear == sorted(clear)
    if found[0].null == "zero":
        assert {finding.p_alarm for finding in found} == {found[0].p_alarm}
    else:
        alarms = [finding.p_alarm for finding in found]
        assert alarms == sorted(alarms)
    assert len({finding.estimate for finding in found}) == 1


@pytest.mark.parametrize("name", JUDGEABLE)
@few
@given(seed=draws, gone=st.sampled_from([0.0, 0.02]), small=st.booleans())
def test_a_larger_margin_never_clears_less(
    name: str, seed: int, gone: float, *, small: bool
) -> None:
    of, hypothesis = EVERY[name]
    rows = drawn(
        of, seed, flags=name.startswith("flags"), gone=0 if of.replicates == 1 else gone / 2
    )
    start = 0.1 if small else 0.3
    assert_monotone(
        of, hypothesis, rows, 1 + start if isinstance(hypothesis, RateRatio) else start
    )


@few
@given(seed=draws)
def test_a_larger_margin_of_a_selection_never_clears_less(seed: int) -> None:
    rows = any_pools(np.random.default_rng(seed))
    assert_monotone(POOLS, SELECTION, rows, 1.2)


@pytest.mark.parametrize("name", OF_A_POPULATION)
@few
@given(seed=draws, effect=st.sampled_from([0.0, 2.0]))
def test_more_of_the_same_replies_are_no_more_units(name: str, seed: int, effect: float) -> None:
    of, hypothesis = EVERY[name]
    rows = drawn(of, seed, effect=effect, flags=name.startswith("flags"))
    twice = Records(
        tuple(
            replace(row, trial=replace(row.trial, replicate=row.trial.replicate + again))
            for row in rows.rows
            for again in (0, of.replicates)
        )
    )
    found = hypothesis.analyse(of, rows)
    other = hypothesis.analyse(of, twice)
    same(other.estimate, found.estimate)
    same(other.p_alarm, found.p_alarm)
    same(other.p_clear, found.p_clear)
    assert (other.units, other.fewest) == (found.units, found.fewest)
    assert other.replies == 2 * found.replies
    assert judged(other).status == judged(found).status


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


@given(varied, groups, st.integers(-50, 50), st.sampled_from([0.25, 2, 64]))
def test_shift_and_scale(a: list[float], b: list[float], shift: int, scale: float) -> None:
    before = welch(a, b)
    after = welch(np.array(a) * scale + shift, np.array(b) * scale + shift)
    assert after.t == pytest.approx(before.t, rel=1e-6, abs=1e-9)
    assert after.p == pytest.approx(before.p, rel=1e-6)
    assert after.estimate == pytest.approx(before.estimate * scale, rel=1e-6, abs=1e-9)
    assert after.interval.low == pytest.approx(before.interval.low * scale, rel=1e-6, abs=1e-6)
    effect = standardized_difference(a, b)
    moved = standardized_difference(np.array(a) * scale + shift, np.array(b) * scale + shift)
    assert moved.d == pytest.approx(effect.d, rel=1e-6, abs=1e-9)
    assert moved.interval.high == pytest.approx(effect.interval.high, rel=1e-5, abs=1e-6)


@given(varied, groups)
def test_swap(a: list[float], b: list[float]) -> None:
    one, other = welch(a, b), welch(b, a)
    assert one.p == pytest.approx(other.p)
    assert one.interval.low == pytest.approx(-other.interval.high)
    tost, back = one.tost(1), other.tost(1)
    assert tost.p == pytest.approx(back.p)
    assert tost.t_lower == pytest.approx(-back.t_upper)
    effect, mirrored = standardized_difference(a, b), standardized_difference(b, a)
    assert effect.d == pytest.approx(-mirrored.d)
    assert effect.interval.low == pytest.approx(-mirrored.interval.high, rel=1e-6, abs=1e-9)


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
    assert benjamini_hochberg(raw[order]).tolist() == pytest.approx(of_bh[order].tolist())


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
    assert found.p == pytest.approx(back.p)
    assert found.interval.low == pytest.approx(-back.interval.high, abs=1e-12)


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
    assert found.interval.low == pytest.approx(-back.interval.high)
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
