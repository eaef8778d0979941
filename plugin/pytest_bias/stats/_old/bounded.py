"""Statements on a bounded scale that do not trust the spread of the sample.

A t test takes the sample's own spread for that of the population. Where a few replies in a
hundred lie far away and the sample happens to hold none, that spread is too small and the test
clears falsely. On a scale with two ends the unseen can be bounded instead: each group gets one
further observation at the end that is worst for the claim, and all observations get random
weights, uniform over the simplex.

Validity of these weightings. For one sample the share of weightings is the p-value of Gaffke
(2005), whose inverted form is the confidence bound of Learned-Miller & Thomas (2020). It is proven
where the values can only be two; for values at both ends of the scale it is the exact binomial
test. In general it is a conjecture, which no simulation known to us contradicts, ours included.
Two samples with independent weightings are a melding of two such bounds (Fay, Proschan & Brittain
2015). For two rates at margin 0 that is Fisher's exact test and proven; for other margins and
other values it rests on what was tried. Rates at the ends of the scale were enumerated, 10 to 60
replies a group, margins .05 to .8 of the scale, true difference equal to the margin, on a grid
of rates: the share of p <= alpha is at most .99 alpha for alpha of .01, .05 and .10. Simulated,
60 pairs of three-valued distributions drawn at random and 75 of rates, 1,500 runs each with
standard error .006, have p <= .05 in .056 of runs at most.

Where every reply of a group is the same, a t test is undefined (0/0) or claims p = 0, and an
equivalence test with a standard error of 0 clears whatever lies inside the margin. Yet n identical
replies only bound how often other replies come; what is said of them is exact and assumes nothing
but independent replies and a scale with two ends.

Derivation. Let the scale be [L, U] with width R = U - L, let n = min(n_a, n_b), and form n
pairs Z = A - B of independent replies, one of each group, in the order they came. Each Z lies in
[-R, R] and has the true difference D as its expectation. For any c < R let P be the probability
of Z <= c. That part of Z is at most c and the rest at most R, so D <= P c + (1 - P) R, hence

    P <= (R - D) / (R - c).                                                              (1)

If all replies of each group are the same then all n pairs equal the observed difference d, and
by (1) the probability of all n pairs being at most c is at most ((R - D) / (R - c))^n. (Replies
need not be identically distributed, with D the average of their differences: a geometric mean of
probabilities is at most their arithmetic mean.)

*Clearing.* Reject D >= m when d <= c. These regions are nested, so ((R - m) / (R - d))^n is a
valid p-value of D >= m, whichever constants the groups happened to show; by symmetry
((R - m) / (R + d))^n is one of D <= -m. Both must be rejected, and p_clear is the larger,
((R - m) / (R - |d|))^n for |d| < m, which is (1 - m / R)^n at d = 0. It cannot be improved on:
with equal groups, b always at L, and a at L with probability 1 - m / R and at U otherwise, D is m
and d = 0 is seen with exactly that probability.

*Interval.* Solve (1) for D at P = s: D <= s d + (1 - s) R, and by symmetry
D >= s d - (1 - s) R. The upper bound fails only where all pairs are below some c1 < D that Z is
below with a probability P1 <= s, the lower one where all are above some c2 > D that Z is above
with P2 <= s, and P1 + P2 <= 1. So one of them fails with probability at most the largest
P1^n + P2^n, which is s^n + (1 - s)^n for s >= 1/2 and 2 s^n below. Setting that to alpha gives s.
At alpha = .05 and n >= 8, s is alpha^(1/n) to four digits; with 25 replies each and d = 0 the
half-width (1 - s) R is .113 of the scale.

The simpler |D - d| <= (1 - alpha^(1/n)) R is not valid away from d = 0: with all of a at U and
all of b at L, both groups can hide other replies at once, and D = R (1 - q_a - q_b) for shares
q_a and q_b of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ._distributions import crossing
from .checks import (
    ROUNDING,
    Floats,
    bad,
    checked,
    constant,
    count,
    fraction,
    number,
    on_scale,
    positive,
    probability,
    scale_bounds,
    units,
)
from .resampling import exact_separation_p
from .results import ALPHA, Interval

CHUNK = 2**19  # weights held at once, 4 MiB
TIE = 1e-12  # share of the scale by which a weighted mean may miss the margin for rounding


@checked
def skewness(values: ArrayLike) -> float:
    """Return the sample skewness m3 / m2^1.5 (both about the mean, over n); 0 for constants.

    It tells a long tail that the sample shows, never one that it does not.
    Source: Joanes & Gill (1998), g1.
    """
    array = units(values, "values", needed=1)
    if constant(array):
        return 0.0
    # scaled, as the third power of a large or a small value leaves the range of floats
    scaled = (array - array.mean()) / np.ptp(array)
    scaled -= scaled.mean()  # what rounding left of the mean of values far from 0
    squares = scaled * scaled
    cubes = squares * scaled  # a power of 3 takes ten times as long
    return float(cubes.mean() / squares.mean() ** 1.5)


class _Weighting:
    """Random weighted means of a group with one further observation at either end.

    Equal values share their weight, and the sum of k exponential weights is a gamma variable of
    shape k: one draw per distinct value instead of one per reply, of the same distribution.
    """

    def __init__(self, values: Floats, ends: tuple[float, float]) -> None:
        self.distinct, counts = np.unique(values, return_counts=True)
        self.shapes = counts.astype(np.float64)
        self.ends = ends

    def draw(self, rng: np.random.Generator, rows: int) -> tuple[Floats, Floats]:
        """Return `rows` means with the further observation at the low and at the high end."""
        weights = rng.standard_gamma(self.shapes, size=(rows, self.shapes.size))
        further = rng.standard_exponential(rows)
        total = weights.sum(axis=1) + further
        seen = weights @ self.distinct
        low, high = self.ends
        return (seen + further * low) / total, (seen + further * high) / total


@checked
def bounded_equivalence(
    a: ArrayLike,
    b: ArrayLike | None = None,
    *,
    bounds: tuple[float, float],
    margin: float,
    resamples: int = 20_000,
    seed: int,
) -> float:
    """Test that mean(a) - mean(b) lies strictly between -margin and margin, on a bounded scale.

    `margin` and `bounds`, the lowest and highest value the measure can take, are in one unit; each
    group has at least 1 unit. Without `b` it is the mean of `a`, differences within units, whose
    bounds are (-R, R) for a measure on a scale of width R. Assumes nothing about the distributions
    but the bounds: what is proven and what is simulated of its validity is at the top of the
    module.

    Returned is the larger of two one-sided p-values, each at least 1 / (resamples + 1). That of
    difference >= margin is the share of weightings whose weighted mean of `a` with one further
    observation at the upper bound, less that of `b` with one at the lower bound, is at least
    `margin`; the other mirrors it. The further observations shift the difference by about
    R / (n_a + 1) / 2 + R / (n_b + 1) / 2 on a scale of width R, so that nothing is cleared while
    that is not well below the margin. Identical replies are fine.
    Source: Gaffke (2005); Learned-Miller & Thomas (2020); Fay, Proschan & Brittain (2015).
    """
    ends = scale_bounds(bounds)
    first, *second = (
        _Weighting(on_scale(units(values, argument, needed=1), ends, argument), ends)
        for argument, values in (("a", a), ("b", b))
        if values is not None
    )
    margin = positive(margin, "margin") - TIE * (ends[1] - ends[0])
    rng = np.random.default_rng(seed)
    beyond_low = beyond_high = done = 0
    size = sum(group.distinct.size for group in (first, *second))
    while done < resamples:
        rows = min(max(1, CHUNK // size), resamples - done)
        low, high = first.draw(rng, rows)
        for other in second:
            low_b, high_b = other.draw(rng, rows)
            low, high = low - high_b, high - low_b
        beyond_low += int(np.count_nonzero(low <= -margin))
        beyond_high += int(np.count_nonzero(high >= margin))
        done += rows
    return probability((max(beyond_low, beyond_high) + 1) / (resamples + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Deterministic:
    """The evidence of two groups of identical replies about mean(a) - mean(b).

    `p_clear` is None where no margin was given.
    """

    difference: float
    interval: Interval
    p_alarm: float
    p_clear: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IdenticalPairs:
    """The evidence of `pairs` that all differ by the same amount about the true mean difference.

    `p_clear` is that of a true difference of the margin or more, `p_beyond` that of one within it
    (two-sided); both None where no margin was given.
    """

    interval: Interval
    p_clear: float | None
    p_beyond: float | None


@checked
def identical_pairs(
    difference: float,
    *,
    pairs: int,
    width: float,
    margin: float | None,
    alpha: float = ALPHA,
) -> IdenticalPairs:
    """Bound a mean difference where every one of `pairs` independent differences is the same.

    Estimand: the mean D of differences that lie between -width and width; the observed one is
    `difference`, in that unit. The interval at 1 - alpha, `p_clear` and their derivation are at
    the top of the module. `p_beyond` is its mirror image: were D within the margin, all pairs
    would show |d| > margin with a probability of at most ((width + margin) / (width + |d|))^n,
    which is doubled as a side is chosen by the data; it is 1 for |d| <= margin.
    """
    count(pairs, "pairs", 1)
    width = positive(width, "width")
    alpha = fraction(alpha, "alpha")
    size = abs(number(difference, "difference"))
    if size > width * (1 + ROUNDING):
        raise bad("difference", f"{difference} is beyond ±{width}")
    p_clear = p_beyond = None
    if margin is not None:
        margin = positive(margin, "margin")
        p_clear = probability(unseen_p(n=pairs, width=width, margin=margin, difference=difference))
        ratio = (width + margin) / (width + size)
        p_beyond = 1.0 if size <= margin else probability(2 * ratio**pairs)
    share = _share(pairs, alpha)
    centre, half = share * difference, (1 - share) * width
    return IdenticalPairs(
        interval=Interval(
            # max and min only undo rounding
            low=max(-width, min(difference, centre - half)),
            high=min(width, max(difference, centre + half)),
            level=1 - alpha,
        ),
        p_clear=p_clear,
        p_beyond=p_beyond,
    )


def unseen_p(*, n: int, width: float, margin: float, difference: float) -> float:
    """Return the p-value of |D| >= margin after n identical pairs `difference` apart, unfloored.

    `width` is that of the scale. See the derivation at the top of the module.
    """
    if abs(difference) >= margin:
        return 1.0
    if margin >= width:
        return 0.0  # no difference on this scale can exceed the margin
    return float(((width - margin) / (width - abs(difference))) ** n)


def _share(n: int, alpha: float) -> float:
    """Return the s at which the two bounds together fail with probability at most alpha."""
    if alpha <= 2.0 ** (1 - n):
        return float((alpha / 2) ** (1 / n))
    return crossing(lambda s: s**n + (1 - s) ** n - alpha, 0.5, 1.0)


def _constant_value(
    values: ArrayLike, bounds: tuple[float, float], argument: str
) -> tuple[float, int]:
    array = units(values, argument, needed=1)
    array = on_scale(array, bounds, argument)
    if not constant(array):
        raise bad(argument, "the replies are not all the same")
    return float(array[0]), array.size


@checked
def deterministic_difference(
    a: ArrayLike,
    b: ArrayLike,
    *,
    bounds: tuple[float, float],
    margin: float | None,
) -> Deterministic:
    """Bound mean(a) - mean(b) where every reply within each group is the same.

    Each group has at least 1 reply; `bounds` are the lowest and highest value of the measure.
    Assumes independent replies, and nothing about how others would be distributed. With d the
    observed difference, R the width of the bounds and n = min(n_a, n_b):

    - `interval`, level .95: s d - (1 - s) R to s d + (1 - s) R, where s is .05^(1/n) but
      for a correction that matters below n = 8. It contains d and stays between -R and R.
    - `p_clear`, of |D| >= margin: ((R - margin) / (R - |d|))^n for |d| < margin, else 1. As in an
      equivalence test each side has the whole of alpha.
    - `p_alarm`, of no difference: 1 for d = 0, else the permutation p of `exact_separation_p`.

    Source: derived in the module docstring; for a share of 0 of n it is the exact bound of Clopper
    & Pearson (1934).
    """
    low, high = scale_bounds(bounds)
    value_a, n_a = _constant_value(a, (low, high), "a")
    value_b, n_b = _constant_value(b, (low, high), "b")
    n, width = min(n_a, n_b), high - low

    difference = value_a - value_b
    if abs(difference) <= ROUNDING * max(abs(low), abs(high)):
        difference = 0.0

    found = identical_pairs(difference, pairs=n, width=width, margin=margin)
    return Deterministic(
        difference=difference,
        interval=found.interval,
        p_alarm=1.0 if difference == 0 else exact_separation_p(n_a, n_b),
        p_clear=found.p_clear,
    )
