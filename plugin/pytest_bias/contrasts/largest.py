"""Largest of several contrasts: a group's departure, an interaction, a sum of absolute gaps.

Each is the largest of absolute values of linear contrasts, and is within a margin where all of
these are. So it is cleared where each is, at .05 without adjustment (intersection-union: Berger
1982). That none differs from 0 is tested by their joint distribution (max-T), that none lies
beyond the margin by Bonferroni.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.special import stdtrit  # type: ignore[import-untyped, unused-ignore]

from ..stats.checks import Floats
from ..stats.equivalence import moments
from ..stats.results import LEVEL, Interval
from ..stats.simultaneous import max_t
from .cells import Grid, Weights
from .estimate import ALPHA, LARGEST_AT, Estimate, p_text
from .estimator import SEED, Names, Sample, estimate, sample_of
from .layout import Null, Scaled


def largest_of(
    contrasts: Mapping[str, Scaled],
    grid: Grid,
    names: Names,
    *,
    margin: float | None,
    null: Null,
    shrink: float,
) -> Estimate:
    """Estimate and test the largest of the absolute values of ``contrasts``, by words.

    ``names`` are those of the units of a population, None for a fixed set. Raises NoFinding where
    one contrast does.
    """
    samples = {
        words: sample_of(grid, Weights(parts), names) for words, (parts, _) in contrasts.items()
    }
    times = {words: scale for words, (_, scale) in contrasts.items()}
    each = {
        words: estimate(
            sample,
            margin=None if margin is None else margin / times[words],
            null=null,
            shrink=shrink,
        )
        for words, sample in samples.items()
    }
    sizes = {words: abs(times[words] * one.estimate) for words, one in each.items()}
    named = max(sizes, key=sizes.__getitem__)
    p_alarm, how = min(1.0, len(each) * min(one.p_alarm for one in each.values())), "Bonferroni"
    if null == "zero" or margin is None:  # the sampled one misses Bonferroni's where it is small
        p_alarm, how = min(p_alarm, _joint([*samples.values()], [*each.values()])), "max-T"
    clearing = [one.p_clear for one in each.values() if one.p_clear is not None]
    shown = {
        words: f"{times[words] * one.estimate:+z.3f}, {p_text(one.p_alarm)}"
        for words, one in each.items()
    }

    def ends(intervals: Mapping[str, Interval | None]) -> tuple[float, float]:
        """Return how far from 0 some interval lies as a whole, and how far any reaches."""
        scaled = [
            (times[words] * each.low, times[words] * each.high)
            for words, each in intervals.items()
            if each is not None
        ]
        least = max(max(low, -high) for low, high in scaled)
        return max(least, 0.0), max(max(high, -low) for low, high in scaled)

    def at_level(level: float) -> Interval:
        """Return the farthest end of all intervals, and the farthest lower one (Bonferroni)."""
        joint = 1 - (1 - level) / len(each)
        _, most = ends({words: one.at(level) for words, one in each.items()})
        least, _ = ends({words: one.at(joint) for words, one in each.items()})
        return Interval(low=min(least, most), high=most, level=level)

    _, most = ends({words: one.clearing for words, one in each.items()})
    return replace(
        each[named],
        estimate=sizes[named],
        interval=at_level(LEVEL),
        clearing=Interval(low=0.0, high=most, level=1 - 2 * ALPHA),
        p_alarm=p_alarm,
        p_clear=max(clearing, default=None),
        margin=margin,
        scale="size",
        method=f"the largest of {len(each)} ({how}): each {each[named].method}",
        units=max(one.units for one in each.values()),
        fewest=min(one.fewest for one in each.values()),
        needed=max(one.needed for one in each.values()),
        effect_size=None,
        extras={LARGEST_AT: named, **shown},
        notes=tuple(dict.fromkeys(note for one in each.values() for note in one.notes)),
        at_level=at_level,
    )


def _joint(samples: Sequence[Sample], each: Sequence[Estimate]) -> float:
    """Return the p-value of the largest |t| of contrasts of the same units.

    Each |t| is the one that has the contrast's own p-value, which may be of further units or a
    permutation.
    """
    covariance = _covariance(samples)
    ses = np.sqrt(np.diag(covariance))
    if not (ses > 0).all():
        return 1.0
    df = min(one.df or math.inf for one in each)
    statistics = np.abs(stdtrit(df, np.array([one.p_alarm for one in each]) / 2))
    return min(max_t(statistics, covariance / np.outer(ses, ses), df, seed=SEED))


def _covariance(samples: Sequence[Sample]) -> Floats:
    """Return the covariance of the estimates of contrasts of the same units."""
    if samples[0].paired:
        rows = np.array([sample.values[0] for sample in samples])
        return np.asarray(np.atleast_2d(np.cov(rows)) / rows.shape[1], dtype=np.float64)
    variances: dict[object, float] = {}
    for sample in samples:
        sizes, _, variance = moments(sample.values, sample.magnitude)
        variances |= zip(sample.keys, (variance / sizes).tolist(), strict=True)
    places = {key: at for at, key in enumerate(variances)}
    coefficients = np.zeros((len(samples), len(places)))
    for row, sample in zip(coefficients, samples, strict=True):
        row[[places[key] for key in sample.keys]] = sample.weights
    found: Floats = (coefficients * np.array([*variances.values()])) @ coefficients.T
    return found
