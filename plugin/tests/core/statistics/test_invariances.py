"""What must not change a finding, and what must change it in a known way, for every hypothesis."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bias.contrasts.findings import Finding
from pytest_bias.contrasts.groups import GroupContrast, TotalGap
from pytest_bias.contrasts.interactions import Interaction
from pytest_bias.contrasts.pairs import MeanDifference, RateDifference, RateRatio
from pytest_bias.contrasts.selection import Selection
from pytest_bias.experiments.design import Trial
from pytest_bias.experiments.experiment import Experiment
from pytest_bias.experiments.measures import Measure, MeasureValue
from pytest_bias.experiments.records import Records
from pytest_bias.statistics import permutation
from pytest_bias.statistics.results import Interval

from ...helpers import fewer, there
from .test_edge_cases import (
    KIND_OF_POST,
    NUMERIC,
    POOLS,
    RATES,
    SELECTION,
    THREE,
    any_pools,
    design,
    judged,
    records_of,
    seeds,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_bias.contrasts.declared import Target

    from .test_edge_cases import Case, Hypothesis

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
