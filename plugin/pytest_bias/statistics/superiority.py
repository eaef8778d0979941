"""The probability that a value of one group is above one of the other.

Values that differ by rounding only (see `snapped`) are ties.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import scipy  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.errors import NoVariance
from pytest_bias.estimates import Interval

from ._arrays import ROUNDING, fraction, probability, units
from .means import satterthwaite, t_interval, two_sided_p

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class BrunnerMunzel:
    """`superiority` is the probability that a is above b, plus half that of ties.

    `t` and `df` are None where `test` is "sign": the groups do not overlap.
    """

    superiority: float
    interval: Interval
    p: float
    t: float | None
    df: float | None
    test: Literal["t", "sign"]


def snapped(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `values` with those that differ by rounding only made equal."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    size = np.maximum(np.abs(ordered[1:]), np.abs(ordered[:-1]))
    steps = np.diff(ordered) > ROUNDING * size
    first_of_tie = np.concatenate([[0], np.flatnonzero(steps) + 1])
    result = np.empty_like(ordered)
    result[order] = ordered[first_of_tie[np.concatenate([[0], np.cumsum(steps)])]]
    return result


def two_samples(
    a: ArrayLike, b: ArrayLike, *, function: str, needed: int = 2
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both samples, checked, with ties between them made equal."""
    first = units(a, function=function, argument="a", needed=needed)
    second = units(b, function=function, argument="b", needed=needed)
    pooled = snapped(np.concatenate([first, second]))
    return pooled[: first.size], pooled[first.size :]


def pairs_above(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return the number of pairs with the first above the second, ties as one half."""
    ranks = scipy.stats.rankdata(np.concatenate([first, second]))[: first.size]
    return float(ranks.sum()) - first.size * (first.size + 1) / 2


def share_above(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return `pairs_above` as a share of all pairs."""
    return pairs_above(first, second) / (first.size * second.size)


def vargha_delaney(a: ArrayLike, b: ArrayLike) -> float:
    """Return A: the share of pairs in which a is above b, ties counted as one half.

    Estimand: P(a > b) + P(a = b) / 2, from 0 to 1, and 1/2 without an effect. `a` has shape
    (n_a,), `b` (n_b,), at least 1 unit each. Raises `TooFewUnits` for an empty group and
    `BadStatisticInput` for NaN and infinities. Source: Vargha & Delaney (2000).
    """
    return share_above(*two_samples(a, b, function="vargha_delaney", needed=1))


def cliff_delta(a: ArrayLike, b: ArrayLike) -> float:
    """Return P(a > b) - P(a < b) = 2 A - 1, from -1 to 1; else as `vargha_delaney`.

    Source: Cliff (1993).
    """
    return 2 * share_above(*two_samples(a, b, function="cliff_delta", needed=1)) - 1


def brunner_munzel(a: ArrayLike, b: ArrayLike, *, level: float = 0.95) -> BrunnerMunzel:
    """Test P(a > b) + P(a = b) / 2 = 1/2 without assuming equal variances or shapes.

    Estimand: that probability, as in `vargha_delaney`. `a` has shape (n_a,), `b` (n_b,), at least
    2 independent units each, better 10 (below, the t approximation is rough). The interval is cut
    at 0 and 1. Groups that all but separate are beyond the approximation however large: with one
    tie of 10 against 10 p is 2e-23, below any permutation p-value and that of no overlap at all.

    Groups that do not overlap have no variance of placements, and scipy gives NaN. Of n =
    min(n_a, n_b) independent pairs all then go one way, which has probability at most q^n where
    the estimand (of that way) is q. So p = 2^(1 - n), and the interval is ((1 - level) / 2)^(1/n)
    to 1 or its mirror image: valid, and sharp for one constant group. A permutation p-value would
    be smaller, but its null is that of `mann_whitney`.

    Raises `TooFewUnits` below two units in a group, `NoVariance` when all values are equal, and
    `BadStatisticInput` for NaN, infinities and a level outside (0, 1).
    Source: Brunner & Munzel (2000); the statement on separated groups is a sign test.
    """
    function = "brunner_munzel"
    level = fraction(level, function=function, argument="level")
    first, second = two_samples(a, b, function=function)
    share = share_above(first, second)
    if np.ptp(np.concatenate([first, second])) == 0:
        raise NoVariance(statistic=function)
    if first.min() > second.max() or first.max() < second.min():
        n = min(first.size, second.size)
        bound = math.exp(math.log((1 - level) / 2) / n)
        low, high = (bound, 1.0) if share > 1 / 2 else (0.0, 1 - bound)
        return BrunnerMunzel(
            superiority=share,
            interval=Interval(low=low, high=high, level=level),
            p=probability(2 * math.exp2(-n)),
            t=None,
            df=None,
            test="sign",
        )

    # scipy's own function gives neither degrees of freedom nor interval
    ranks = scipy.stats.rankdata(np.concatenate([first, second]))
    placed_a = (ranks[: first.size] - scipy.stats.rankdata(first)) / second.size
    placed_b = (ranks[first.size :] - scipy.stats.rankdata(second)) / first.size
    se, df = satterthwaite(
        float(placed_a.std(ddof=1)) / math.sqrt(first.size),
        first.size - 1,
        float(placed_b.std(ddof=1)) / math.sqrt(second.size),
        second.size - 1,
    )
    t = (share - 1 / 2) / se
    interval = t_interval(share, se, df, level=level)
    return BrunnerMunzel(
        superiority=share,
        interval=Interval(low=max(0.0, interval.low), high=min(1.0, interval.high), level=level),
        p=two_sided_p(t, df),
        t=t,
        df=df,
        test="t",
    )
