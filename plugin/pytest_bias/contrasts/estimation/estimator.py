"""The one estimator: a weighted sum of means of units, its t test, and the clearing rule."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import partial

import numpy as np

from ...errors import NoVariance, TooFewUnits
from ...stats.checks import EQUAL
from ...stats.effect_size import cohen_dz, standardized_difference
from ...stats.equivalence import (
    SideSummary,
    clearing_interval,
    clearing_p,
    contrast_of,
    log_ratio_of,
    sides_of,
)
from ...stats.means import p_from_t, t_interval
from ...stats.resampling import contrast_permutation, sign_flip
from ...stats.results import LEVEL, EffectSize, Interval, Permutation, units_needed
from ..findings import ALPHA, Estimate, Matters, Null
from .sample import Sample, centred

SEED = 1
"""Seed of all resampling; fixed, not searched."""

FEW_UNITS = 10
"""Units of a side below which an alarm is a permutation's, and nothing is cleared."""

FEW_NOTE = f"fewer than {FEW_UNITS} units on a side can show bias but cannot clear it"


def estimate(
    sample: Sample,
    *,
    margin: float | None,
    null: Null = "zero",
    shrink: float = 1.0,
    matters: Matters = "either",
) -> Estimate:
    """Estimate and test a weighted sum of means.

    ``margin`` is in the unit of the contrast, ``shrink`` what is left of a difference in how its
    values are read (1 of those read without error): the margin is tested at that share of it.
    Where only what lies below or above no effect ``matters``, the other neither alarms nor keeps
    from clearing. An alarm is raised by the t test (of events with one further unit a side at the
    end nearer no effect, of fewer than 10 units a side by permutation), clearing by
    :mod:`...stats.equivalence`.
    """
    sides, df = _sides(sample)
    value, se = contrast_of(sides)
    if abs(value) <= EQUAL * sample.magnitude:
        value = 0.0
    limit = None if margin is None else margin * shrink
    fewest = _fewest(sides)
    few = fewest < FEW_UNITS
    needed = 0 if limit is None else max(FEW_UNITS, units_needed(limit, sample.reach))
    p_clear = None
    if limit is not None:
        blocked = fewest < needed
        low = -math.inf if matters == "above" else -limit
        high = math.inf if matters == "below" else limit
        p_clear = 1.0 if blocked else clearing_p(sides, low=low, high=high, df=df)
    beyond = limit if null == "margin" and limit is not None else 0.0
    p_alarm, how = _alarm(sample, sides, value, se, df, beyond=beyond, few=few)
    if (matters == "above" and value < 0) or (matters == "below" and value > 0):
        p_alarm = 1.0
    shown = se > 0 and not sample.flags
    return Estimate(
        estimate=value,
        interval=(
            t_interval(value, se, df, level=LEVEL)
            if shown
            else clearing_interval(sides, df=df, level=LEVEL)
        ),
        clearing=clearing_interval(sides, df=df),
        p_alarm=p_alarm,
        p_clear=p_clear,
        margin=margin,
        null=null,
        matters=matters,
        shrink=shrink,
        method=how if margin is None else f"{how}; two one-sided t tests at the margin",
        units=sample.size,
        fewest=fewest,
        needed=needed,
        unit_name=sample.unit_name,
        se=se or None,
        df=df,
        effect_size=_effect_size(sample),
        notes=_notes(sample, few=few and margin is not None),
        at_level=partial(_t_at, value, se, df) if shown else partial(_at, sides, df),
    )


def estimate_ratio(sample: Sample, *, margin: float | None, null: Null = "zero") -> Estimate:
    """Estimate and test the ratio of two rates, on the log scale (delta method).

    ``margin`` is the larger limit. A side without any event has half an event added, as the other
    has (Haldane 1956), in the estimate alone. Raises NoVariance without any event at all.
    """
    sides, df = _sides(sample)
    if not any(side.mean for side in sides):
        raise NoVariance(statistic="the ratio of rates")
    near = [_with_half(side) for side in sides] if any(s.mean == 0 for s in sides) else sides
    log, se = log_ratio_of(near)
    limit = None if margin is None else math.log(margin)
    fewest = _fewest(sides)
    few = fewest < FEW_UNITS
    p_clear = None
    if limit is not None:
        p_clear = 1.0 if few else clearing_p(sides, low=-limit, high=limit, df=df, ratio=True)
    beyond = limit if null == "margin" and limit is not None else 0.0
    nearer = [side.further(-1 if log > 0 else 1) for side in sides]
    toward, its_se = log_ratio_of(nearer)
    distance = max(math.copysign(1, log) * toward - beyond, 0.0) if abs(log) > EQUAL else 0.0
    interval, clearing = (
        _exponent(clearing_interval(sides, df=df, level=level, ratio=True))
        for level in (LEVEL, 1 - 2 * ALPHA)
    )
    how = "t test of the log ratio, with one further unit a side"
    return Estimate(
        estimate=math.exp(log),
        interval=interval,
        clearing=clearing,
        p_alarm=p_from_t(distance / its_se, df) if math.isfinite(its_se) and its_se else 1.0,
        p_clear=p_clear,
        margin=margin,
        null=null,
        scale="ratio",
        method=how if margin is None else f"{how}; two one-sided t tests at its limits",
        units=sample.size,
        fewest=fewest,
        needed=FEW_UNITS,
        unit_name=sample.unit_name,
        se=se,
        df=df,
        notes=_notes(sample, few=few and margin is not None),
        at_level=partial(_ratio_at, sides, df),
    )


def _sides(sample: Sample) -> tuple[tuple[SideSummary, ...], float]:
    """Return both sides with their df; TooFewUnits where no group of a side has two units."""
    for sign in (1, -1):
        side = [
            (values.size, label)
            for values, weight, label in zip(
                sample.values, sample.weights, sample.labels, strict=True
            )
            if weight * sign > 0
        ]
        if side and max(side)[0] < 2:  # noqa: PLR2004  (a variance)
            group = max(side)[1] or str(sample.unit_name)
            raise TooFewUnits(group=group, found=max(side)[0], needed=2)
    return sides_of(
        sample.values,
        sample.weights,
        low=sample.low,
        high=sample.high,
        magnitude=sample.magnitude,
    )


def _fewest(sides: Sequence[SideSummary]) -> int:
    return int(min(side.n for side in sides) + 1e-9)


def _alarm(
    sample: Sample,
    sides: Sequence[SideSummary],
    value: float,
    se: float,
    df: float,
    *,
    beyond: float,
    few: bool,
) -> tuple[float, str]:
    """Return the two-sided p of an effect no larger than ``beyond``, and its method in words."""
    if value == 0 or abs(value) <= beyond:
        return 1.0, "t test of the weighted sum of means"
    if sample.flags:
        toward, its_se = contrast_of([side.further(-1 if value > 0 else 1) for side in sides])
        distance = max(math.copysign(1, value) * toward - beyond, 0.0)
        p, how = p_from_t(distance / its_se, df), "t test of rates with one further unit a side"
    elif se > 0:
        p, how = p_from_t((abs(value) - beyond) / se, df), "t test of the weighted sum of means"
    else:
        p, how = 0.0, ""
    if beyond or not (few or se == 0) or sample.single:
        # Values that are all the same and lie beyond a margin have nothing else to be tested by.
        return (p, how) if how else _constant(sides, value, df, beyond)
    permuted = _permuted(sample)
    words = "sign flips" if sample.paired else "label permutation"
    how = f"{how} and {words}, the larger p" if how else words
    return max(p, permuted.p), how


def _constant(
    sides: Sequence[SideSummary], value: float, df: float, beyond: float
) -> tuple[float, str]:
    toward, se = contrast_of([side.further(-1 if value > 0 else 1) for side in sides])
    distance = max(math.copysign(1, value) * toward - beyond, 0.0)
    return p_from_t(distance / se, df) if se else 1.0, "t test with one further unit a side"


def _permuted(sample: Sample) -> Permutation:
    if sample.paired:
        return sign_flip(sample.values[0], seed=SEED)
    weights: Counter[str] = Counter()
    for label, weight in zip(sample.labels, sample.weights, strict=True):
        weights[label] += weight  # type: ignore[assignment]
    sizes = [each.size for each in sample.values]
    pairs = [*zip(sample.labels, sample.strata, sizes, strict=True)]
    return contrast_permutation(
        np.concatenate(centred(sample)),
        [label for label, _, size in pairs for _ in range(size)],
        dict(weights),
        blocks=[stratum for _, stratum, size in pairs for _ in range(size)],
        seed=SEED,
    )


def _t_at(value: float, se: float, df: float, level: float) -> Interval:
    return t_interval(value, se, df, level=level)


def _at(sides: Sequence[SideSummary], df: float, level: float) -> Interval | None:
    return clearing_interval(sides, df=df, level=level)


def _ratio_at(sides: Sequence[SideSummary], df: float, level: float) -> Interval | None:
    return _exponent(clearing_interval(sides, df=df, level=level, ratio=True))


def _exponent(interval: Interval | None) -> Interval | None:
    if interval is None:
        return None
    return Interval(low=math.exp(interval.low), high=math.exp(interval.high), level=interval.level)


def _with_half(side: SideSummary) -> SideSummary:
    """Return the side with half an event among one further unit."""
    n = side.n
    mean = (n * side.mean + 0.5) / (n + 1)
    return SideSummary(
        weight=side.weight,
        mean=mean,
        variance=mean * (1 - mean) * (n + 1) / n,
        n=n + 1,
        low=side.low,
        high=side.high,
    )


def _effect_size(sample: Sample) -> EffectSize | None:
    """Return Cohen's d of two groups, or of one of differences; None where it has no SD."""
    if sample.flags or sample.single:
        return None
    try:
        if sample.paired:
            return cohen_dz(sample.values[0])
        if len(sample.values) == 2:  # noqa: PLR2004  (two groups)
            first, second = sample.values if sample.weights[0] > 0 else sample.values[::-1]
            return standardized_difference(first, second)
    except NoVariance:
        pass
    return None


def _notes(sample: Sample, *, few: bool) -> tuple[str, ...]:
    name = sample.unit_name
    called = str(name) if sample.dropped == 1 else name.several
    left_out = f"{sample.dropped} {called} left out: not every condition has a reply"
    return (*([FEW_NOTE] if few else []), *([left_out] if sample.dropped else []))
