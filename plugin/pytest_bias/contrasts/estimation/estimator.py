"""The one estimator: a weighted sum of means of units, its t test, and the clearing rule."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ...errors import NoVariance, TooFewUnits
from ...stats.checks import EQUAL, Floats
from ...stats.effect_size import cohen_dz, standardized_difference
from ...stats.equivalence import (
    SideSummary,
    beyond_p,
    clearing_interval,
    clearing_p,
    contrast_of,
    df_of,
    further_of,
    log_ratio_of,
    sides_of,
)
from ...stats.means import p_from_t, t_interval
from ...stats.resampling import contrast_permutation, sign_flip
from ...stats.results import LEVEL, EffectSize, Interval, Matters, Permutation, units_needed
from ..estimate import Estimate, Null
from ..reach import FEWEST_TO_CLEAR
from ..units import REPLIES
from .sample import Sample, centred

SEED = 1
"""Seed of all resampling; fixed, not searched."""

_LARGER = 1.5  # units of the other side, from which on an alarm must hold at one variance, too
_MEANS = "t test of the weighted sum of means"
_FURTHER = "t test of the weighted sum of means with one further unit a side"
_RATIO = "t test of the log ratio with one further unit a side"


def estimate(
    sample: Sample,
    *,
    margin: float | None,
    null: Null = "zero",
    shrink: float = 1.0,
    matters: Matters = "either",
    ratio: bool = False,
) -> Estimate:
    """Estimate and test a weighted sum of means, or the ``ratio`` of two rates by its logarithm.

    ``margin`` is in the unit of the contrast, of a ratio its larger limit. ``shrink`` is what is
    left of a difference in how its values are read (1 of those read without error): clearing is
    tested at that share of the margin, an alarm against the whole of it. Where only what lies
    below or above no effect ``matters``, the other neither alarms nor keeps from clearing. An
    alarm is raised by the t test (of events with one further unit a side at the end nearer no
    effect, of fewer than 10 units a side by permutation as well), clearing by
    :mod:`...stats.equivalence`. Of a ratio a side without any event has half an event added, as
    the other has (Haldane 1956), in the estimate alone.

    Raises TooFewUnits where no group of a side has two units, NoVariance of a ratio without any
    event at all.
    """
    sides, df, df_alarm = _sides(sample)
    value, se = _log_ratio(sides) if ratio else contrast_of(sides)
    if abs(value) <= EQUAL * (1.0 if ratio else sample.magnitude):
        value = 0.0
    whole = math.log(margin) if ratio and margin is not None else margin
    limit = None if whole is None else whole * shrink
    fewest = int(min(side.n for side in sides) + 1e-9)
    needed = FEWEST_TO_CLEAR
    if limit is not None and not ratio:
        needed = max(needed, units_needed(limit, sample.reach))
    further = further_of(sides, ratio=ratio)
    p_clear = None
    if limit is not None:
        low = -math.inf if matters == "above" else -limit
        high = math.inf if matters == "below" else limit
        p_clear = 1.0 if fewest < needed else clearing_p(further, low=low, high=high, df=df)
    beyond = whole if null == "margin" and whole is not None else 0.0
    few = fewest < FEWEST_TO_CLEAR and not ratio
    tests = [(se, df), *_one_variance(sample, sides)]
    if sample.flags or (se == 0 and (beyond or sample.single)):
        p_alarm = beyond_p(further, value, beyond=beyond, df=df_alarm)
        how = _RATIO if ratio else _FURTHER
    elif se > 0:
        distance, how = max(abs(value) - beyond, 0.0), _MEANS
        p_alarm = max(p_from_t(distance / each, on) for each, on in tests)
    else:  # values that are all the same and differ
        p_alarm, how = 0.0, ""
    if value and (few or se == 0) and not (beyond or sample.single):
        words = "sign flips" if sample.paired else "label permutation"
        how = f"{how} and {words}, the larger p" if how else words
        p_alarm = max(p_alarm, _permuted(sample).p)
    if (matters == "above" and value < 0) or (matters == "below" and value > 0) or not value:
        p_alarm = 1.0

    def at_level(level: float) -> Interval | None:
        if se > 0 and not sample.flags:
            each = [t_interval(value, se, df, level=level) for se, df in tests]
            return max(each, key=lambda one: one.high)
        return clearing_interval(further, df=df_alarm, level=level, ratio=ratio)

    return Estimate(
        estimate=math.exp(value) if ratio else value,
        interval=at_level(LEVEL),
        clearing=clearing_interval(further, df=df, ratio=ratio),
        p_alarm=p_alarm,
        p_clear=p_clear,
        margin=margin,
        null=null,
        matters=matters,
        shrink=shrink,
        scale="ratio" if ratio else "difference",
        method=how if margin is None else f"{how}; two one-sided t tests at the margin",
        units=sample.size,
        fewest=fewest,
        needed=needed,
        unit_name=sample.unit_name,
        se=se or None,
        df=df_alarm,
        effect_size=_effect_size(sample),
        notes=_notes(sample),
        at_level=at_level,
    )


def _sides(sample: Sample) -> tuple[tuple[SideSummary, ...], float, float]:
    """Return the sides, and the df of clearing and of an alarm."""
    for sign in (1, -1):
        groups = zip(sample.values, sample.weights, sample.labels, strict=True)
        side = [(values.size, label) for values, weight, label in groups if weight * sign > 0]
        if side and max(side)[0] < 2:  # noqa: PLR2004  (a variance)
            found, group = max(side)
            units = "valid replies" if sample.unit_name == REPLIES else "units"
            raise TooFewUnits(group=group, found=found, needed=2, units=units)
    sides, df = sides_of(
        sample.values,
        sample.weights,
        low=sample.low,
        high=sample.high,
        magnitude=sample.magnitude,
    )
    if not sample.flags:
        return sides, df, df
    # By the cells' variances one event in a cell of two leaves one df, and clears less than none.
    parts = [side.weight**2 / side.n for side in sides]
    of_sides = df_of(np.array(parts), _freedom(sample), cells=len(sides))
    return sides, of_sides, min(df, of_sides)


def _freedom(sample: Sample) -> Floats:
    """Return the degrees of freedom of each side, the higher first."""
    of = [*zip(sample.values, sample.weights, strict=True)]
    found = [sum(x.size - 1.0 for x, weight in of if weight * sign > 0) for sign in (1, -1)]
    return np.array([each for each in found if each])


def _one_variance(sample: Sample, sides: Sequence[SideSummary]) -> Iterator[tuple[float, float]]:
    """Yield standard error and df at one variance, where few units may be alike by chance."""
    if max(side.n for side in sides) >= _LARGER * min(side.n for side in sides):
        freedom = _freedom(sample)
        variance = float(freedom @ [side.variance for side in sides]) / freedom.sum()
        yield math.sqrt(variance * sum(s.weight**2 / s.n for s in sides)), float(freedom.sum())


def _log_ratio(sides: Sequence[SideSummary]) -> tuple[float, float]:
    if not any(side.mean for side in sides):
        raise NoVariance(statistic="the ratio of rates")
    alike = all(side.mean for side in sides)
    return log_ratio_of(sides if alike else [_with_half(side) for side in sides])


def _permuted(sample: Sample) -> Permutation:
    if sample.paired:
        return sign_flip(sample.values[0], seed=SEED)
    weights: defaultdict[str, float] = defaultdict(float)
    for label, weight in zip(sample.labels, sample.weights, strict=True):
        weights[label] += weight
    sizes = [each.size for each in sample.values]
    pairs = [*zip(sample.labels, sample.strata, sizes, strict=True)]
    return contrast_permutation(
        np.concatenate(centred(sample)),
        [label for label, _, size in pairs for _ in range(size)],
        weights,
        blocks=[stratum for _, stratum, size in pairs for _ in range(size)],
        seed=SEED,
    )


def _with_half(side: SideSummary) -> SideSummary:
    """Return the side with half an event among one further unit."""
    n = side.n
    mean = (n * side.mean + 0.5) / (n + 1)
    return replace(side, mean=mean, variance=mean * (1 - mean) * (n + 1) / n, n=n + 1)


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


def _notes(sample: Sample) -> tuple[str, ...]:
    if not sample.dropped:
        return ()
    called = str(sample.unit_name) if sample.dropped == 1 else sample.unit_name.several
    return (f"{sample.dropped} {called} left out: not every condition has a reply",)
