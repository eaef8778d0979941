"""Chances of a verdict, before there are replies or after a few: one t formula.

The estimate is normal, its standard error is estimated as s times the true one, independently,
with s^2 chi-square over its degrees of freedom. Given s, clearing and rejecting each have a
normal probability; their mean over s is that of the noncentral t distribution (Owen 1965, Phillips
1990), here of both one-sided tests at once, each with its further unit a side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import chdtri, ndtr, stdtrit  # type: ignore[import-untyped, unused-ignore]

from .checks import Floats
from .equivalence import SideSummary, contrast_of, log_ratio_of
from .results import ALPHA, Interval, Matters

_PLACES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(64)
"""Standard normal numbers and their weights; s is the quantile that each of them stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chances:
    """Probabilities of CLEAR and, else, of BIASED."""

    clear: float
    biased: float


@lru_cache(maxsize=64)
def _spreads(df: float) -> Floats:
    """Return s = estimated / true standard error at each node."""
    return np.asarray(np.sqrt(chdtri(df, ndtr(-_PLACES)) / df))


def _mean(chances: Floats) -> float:
    return min(1.0, float(chances @ _WEIGHTS / _WEIGHTS.sum()))


def _chances(
    effect: float,
    se: float,
    *,
    above: Floats,
    below: Floats,
    alarms: tuple[Floats, Floats],
    margin: float | None,
) -> Chances:
    """Average over s: ``above`` and ``below`` are the half-widths of the clearing interval.

    ``alarms`` are the distances from no effect at which one is raised, on either side.
    """
    se = max(se, 1e-12)
    high, low = (np.full(_PLACES.size, -math.inf), np.full(_PLACES.size, math.inf))
    if margin is not None:
        high, low = margin - above, below - margin
    open_ = low >= high
    clear = np.where(open_, 0.0, ndtr((high - effect) / se) - ndtr((low - effect) / se))
    beyond = np.where(open_, alarms[0], np.maximum(alarms[0], high))
    under = np.where(open_, -alarms[1], np.minimum(-alarms[1], low))
    biased = ndtr((effect - beyond) / se) + ndtr((under - effect) / se)
    return Chances(clear=_mean(clear), biased=_mean(biased))


def verdict_chances(
    sides: Sequence[SideSummary],
    *,
    df: float,
    margin: float | None,
    alpha: float,
    beyond: float = 0.0,
    flags: bool = False,
    matters: Matters = "either",
    ratio: bool = False,
) -> Chances:
    """Return the chances of a planned contrast of ``sides``, whose means and variances are true.

    ``df`` are those of its standard error, ``margin`` what clears it (None: nothing does), in the
    unit of the contrast, logarithms where it is a ``ratio``. The null, an effect no larger than
    ``beyond``, is tested two-sided at ``alpha``. Of events (``flags``) s varies as the sample
    variance of 0 and 1 does, and that test has a further unit a side, too. Normal theory: of
    counts below 5 a side it may be off by .02. Only an effect on the side that ``matters`` is
    rejected, or keeps from clearing.
    """
    of = log_ratio_of if ratio else contrast_of
    effect, se = of(sides)
    if not math.isfinite(se):
        return Chances(clear=0.0, biased=0.0)
    s = _spreads(_event_df(sides) if flags else df)
    t, t_alarm = float(stdtrit(df, 1 - ALPHA)), float(stdtrit(df, 1 - alpha / 2))
    up, down = (_half_width(of, sides, sign) for sign in (1, -1))
    alarms = (beyond + t_alarm * se * s,) * 2
    if flags:
        alarms = (beyond + down(t_alarm, s), beyond + up(t_alarm, s))
    above, below, never = up(t, s), down(t, s), np.full(_PLACES.size, math.inf)
    if matters == "below":
        above, alarms = -never, (never, alarms[1])
    elif matters == "above":
        below, alarms = -never, (alarms[0], never)
    return _chances(effect, se, above=above, below=below, alarms=alarms, margin=margin)


def _half_width(
    of: Callable[[Sequence[SideSummary]], tuple[float, float]],
    sides: Sequence[SideSummary],
    sign: int,
) -> Callable[[float, Floats], Floats]:
    """Return the distance from an estimate to its end with a further unit, by t and s."""
    shifted, se = of([side.further(sign) for side in sides])
    _, added = of([replace(side, variance=0.0).further(sign) for side in sides])
    shift = abs(shifted - of(sides)[0])
    varies = max(se**2 - added**2, 0.0)
    return lambda t, s: shift + t * np.sqrt(varies * s**2 + added**2)


def _event_df(sides: Sequence[SideSummary]) -> float:
    """Degrees of freedom at which chi-square varies as the sample variance of 0 and 1 does."""
    n = math.fsum(side.n for side in sides)
    variance = math.fsum(side.n * side.variance for side in sides) / n
    excess = 1 - 4 * variance
    return min(max(2 * n * variance / excess, 1.0), n) if excess > 0 else n


def settling_chances(
    estimate: float,
    se: float,
    times: float,
    *,
    clearing: Interval | None,
    margin: float,
    df: float,
    alpha: float,
    beyond: float,
) -> Chances:
    """Return the chances of a recording so many ``times`` as large, if the effect is as estimated.

    ``estimate``, its standard error ``se`` on ``df`` degrees of freedom and its ``clearing``
    interval are those of what is recorded; None where it is so small that nothing is cleared.
    They are in the unit of the margin, of a ratio logarithms. Error and interval shrink with the
    root of the size, which for the further unit in the interval is too slow.
    """
    s = (_spreads(round(df * times, 3)) if se else np.ones(_PLACES.size)) / math.sqrt(times)
    distance = beyond + float(stdtrit(df * times, 1 - alpha / 2)) * se * s
    never = np.full(_PLACES.size, math.inf)
    return _chances(
        estimate,
        se / math.sqrt(times),
        above=never if clearing is None else (clearing.high - estimate) * s,
        below=never if clearing is None else (estimate - clearing.low) * s,
        alarms=(distance, distance) if se else (never, never),
        margin=margin,
    )
