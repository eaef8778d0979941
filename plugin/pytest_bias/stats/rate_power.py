"""Power of verdicts on two rates, by score tests of independent groups.

Exact up to `LARGEST_EXACT` pairs of counts: all are tried and the binomial probabilities of those
that clear or alarm are added. Beyond, both counts are taken as normal.
Strata are pooled: a stratified comparison of the same total size has about this power, unless a
group has few units in each.
"""

from __future__ import annotations

import math

import numpy as np

from ..errors import TooFewUnits
from ._old._distributions import normal_isf, normal_sf
from ._old.checks import Floats, bad, checked, count, fraction, number
from ._old.counts import SMALLEST_EXPECTED, newcombe
from ._old.score import RestrictedRates
from .power import units_unseen
from .results import ALPHA

LARGEST_EXACT = 400**2

Sizes = tuple[int, int]
"""Units of group a and of group b."""

NEGLIGIBLE = 1e-18
"""Probability of a count below which it is left out: all of them together are 1e-15 at most."""


def _rates(sizes: Sizes, rate: float, difference: float) -> tuple[float, float]:
    """Return rate + difference and rate of groups of `sizes`, checked."""
    for argument, size in zip(("n_a", "n_b"), sizes, strict=True):
        if count(size, argument) < 1:
            raise TooFewUnits(group=argument, found=size, needed=1)
    for argument, value in (("rate", rate), ("difference", rate + difference)):
        if not 0 <= number(value, argument) <= 1:
            raise bad(argument, f"gives a rate of {value}")
    return float(rate + difference), float(rate)


def score_se(a: Floats, b: Floats, *, sizes: Sizes, null: float) -> Floats:
    """Return the standard error of rate a - rate b at the likeliest rates that differ by `null`.

    `a` and `b` are observed rates, of one shape and of `sizes` units each; `null` lies strictly
    between -1 and 1. The variance is taken N / (N - 1) times, as in Miettinen & Nurminen (1985)
    and in `tost_rates`.
    """
    n_a, n_b = sizes
    variances = RestrictedRates(a * n_a, n_a, b * n_b, n_b).variances(null)
    return np.asarray(np.sqrt((n_a + n_b) / (n_a + n_b - 1) * variances))


def _enumerated(sizes: Sizes, rates: tuple[float, float]) -> tuple[Floats, Floats, Floats]:
    """Return every pair of observed rates that is not `NEGLIGIBLE`, and its probability."""
    from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415

    both = list(zip(sizes, rates, strict=True))
    mass = [stats.binom.pmf(np.arange(n + 1), n, rate) for n, rate in both]
    kept = [np.flatnonzero(each > NEGLIGIBLE) for each in mass]
    observed = (counts / n for counts, n in zip(kept, sizes, strict=True))
    a, b = np.meshgrid(*observed, indexing="ij")
    return a, b, np.outer(*(m[counts] for m, counts in zip(mass, kept, strict=True)))


def _normal(distance: float, rates: tuple[float, float], sizes: Sizes) -> float:
    """Return P(Z se < distance), where nothing varies by whether it is so."""
    both = zip(rates, sizes, strict=True)
    se = math.sqrt(math.fsum(rate * (1 - rate) / n for rate, n in both))
    return normal_sf(-distance / se) if se > 0 else float(distance >= 0)


@checked
def power_to_clear_rate(
    n_a: int, n_b: int, *, rate: float, margin: float, difference: float = 0.0, strata: int = 1
) -> float:
    """Return the probability that two one-sided score tests clear a difference of two rates.

    Group b has the probability `rate`, group a `rate` + `difference`; `n_a` and `n_b` independent
    units. Clears where the differences -margin and margin are both rejected at .05 with the
    variance at the null of each; not where nothing, or nothing else, ever happens and the smaller
    group has fewer than `units_unseen`. Exact where n_a n_b is 160,000 at most, else normal; also
    where a group has fewer than four units in each of its `strata`, whose variances are then the
    mean over a stratum's counts.
    Source: Farrington & Manning (1990); Miettinen & Nurminen (1985).
    """
    sizes = (n_a, n_b)
    rates = _rates(sizes, rate, difference)
    margin = fraction(margin, "margin")
    z = normal_isf(ALPHA)
    few = min(sizes) < units_unseen(margin)
    thin = count(strata, "strata") > 1 and min(sizes) < 4 * strata
    if n_a * n_b <= LARGEST_EXACT and not thin:
        a, b, mass = _enumerated(sizes, rates)
        above = (a - b + margin) / score_se(a, b, sizes=sizes, null=-margin)
        below = (margin - (a - b)) / score_se(a, b, sizes=sizes, null=margin)
        cleared = (above >= z) & (below >= z)
        if few:
            cleared &= (a != b) | ((a > 0) & (a < 1))
        return min(1.0, float(mass[cleared].sum()))
    each, of = ((max(1, n_a // strata), max(1, n_b // strata)), strata) if thin else (sizes, 1)
    a, b, mass = _enumerated(each, rates) if thin else (*map(np.array, rates), np.array(1.0))
    chances = []
    for sign in (1, -1):
        of_one = score_se(a, b, sizes=each, null=sign * margin) ** 2
        se = math.sqrt(float((mass * of_one).sum()) / of)
        apart = sign * (rates[0] - rates[1])
        chances.append(_normal(margin - apart - z * se, rates, sizes))
    alike = rates[0] ** n_a * rates[1] ** n_b + (1 - rates[0]) ** n_a * (1 - rates[1]) ** n_b
    return max(0.0, math.fsum(chances) - 1 - few * alike)


@checked
def power_to_alarm_rate(
    n_a: int, n_b: int, *, rate: float, difference: float, alpha: float, margin: float = 0.0
) -> float:
    """Return the probability that the two-sided test of two rates gives p <= alpha.

    Against equal rates that is Pearson's chi-square without Yates' correction, times (N - 1) / N
    as in `score_difference`; of counts so small that an expected one is below 5 Fisher's test.
    Against a difference of at most `margin` it is the score test at it. All else is as in
    `power_to_clear_rate`, and beyond 160,000 pairs the score test is taken for all.
    Source: Miettinen & Nurminen (1985); Fisher (1935).
    """
    sizes = (n_a, n_b)
    rates = _rates(sizes, rate, difference)
    z = normal_isf(fraction(alpha, "alpha") / 2)
    exact = n_a * n_b <= LARGEST_EXACT
    a, b, mass = _enumerated(sizes, rates) if exact else (*map(np.array, rates), np.array(1.0))
    beyond = [z * score_se(a, b, sizes=sizes, null=sign * margin) + margin for sign in (1, -1)]
    if not exact:
        if not max(map(float, beyond)):  # both rates are 0, or both 1: the counts never differ
            return 0.0
        apart = rates[0] - rates[1]
        far = (sign * apart - float(at) for sign, at in zip((1, -1), beyond, strict=True))
        return min(1.0, math.fsum(_normal(each, rates, sizes) for each in far))
    found = ((a - b >= beyond[0]) | (b - a >= beyond[1])) & (a != b)
    if not margin:
        first, second = (
            np.rint(each * n).astype(int) for each, n in zip((a, b), sizes, strict=True)
        )
        events, both = first + second, n_a + n_b
        rarer = np.minimum(events, both - events)
        small = rarer * min(sizes) < SMALLEST_EXPECTED * both
        pairs = zip(first[small].tolist(), second[small].tolist(), strict=True)
        found[small] = [newcombe(one, n_a, other, n_b).p <= alpha for one, other in pairs]
    return min(1.0, float(mass[found].sum()))
