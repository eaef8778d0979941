"""Power of verdicts on two rates, by score tests of independent groups.

Exact up to `LARGEST_EXACT` units a group: all pairs of counts are tried and the binomial
probabilities of those that clear or alarm are added. Beyond, both counts are taken as normal.
Strata are pooled: a stratified comparison of the same total size has about this power.
"""

from __future__ import annotations

import math

import numpy as np

from ..errors import TooFewUnits
from ._distributions import normal_isf, normal_sf
from .checks import Floats, bad, checked, count, fraction, number
from .counts import SMALLEST_EXPECTED, newcombe
from .results import ALPHA
from .score import RestrictedRates

LARGEST_EXACT = 400

NEGLIGIBLE = 1e-18
"""Probability of a count below which it is left out: all of them together are 1e-15 at most."""


def _rates(n: int, rate: float, difference: float) -> tuple[float, float]:
    """Return rate + difference and rate of n >= 1 units each, checked."""
    if count(n, "n") < 1:
        raise TooFewUnits(group="n", found=n, needed=1)
    for argument, value in (("rate", rate), ("difference", rate + difference)):
        if not 0 <= number(value, argument) <= 1:
            raise bad(argument, f"gives a rate of {value}")
    return float(rate + difference), float(rate)


def score_se(a: Floats, b: Floats, *, n: int, null: float) -> Floats:
    """Return the standard error of rate a - rate b at the likeliest rates that differ by `null`.

    `a` and `b` are observed rates, of one shape and of n units each; `null` lies strictly between
    -1 and 1. The variance is taken N / (N - 1) times, as in Miettinen & Nurminen (1985) and in
    `tost_rates`.
    """
    variances = RestrictedRates(a * n, n, b * n, n).variances(null)
    return np.asarray(np.sqrt(2 * n / (2 * n - 1) * variances))


def _enumerated(n: int, rates: tuple[float, float]) -> tuple[Floats, Floats, Floats]:
    """Return every pair of observed rates that is not `NEGLIGIBLE`, and its probability."""
    from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415

    mass = [stats.binom.pmf(np.arange(n + 1), n, rate) for rate in rates]
    kept = [np.flatnonzero(each > NEGLIGIBLE) for each in mass]
    observed = np.meshgrid(*(counts / n for counts in kept), indexing="ij")
    return (*observed, np.outer(*(m[counts] for m, counts in zip(mass, kept, strict=True))))


def _normal(distance: float, rates: tuple[float, float], n: int) -> float:
    """Return P(Z se < distance), where nothing varies by whether it is so."""
    se = math.sqrt(math.fsum(rate * (1 - rate) / n for rate in rates))
    return normal_sf(-distance / se) if se > 0 else float(distance >= 0)


@checked
def power_to_clear_rate(n: int, *, rate: float, margin: float, difference: float = 0.0) -> float:
    """Return the probability that two one-sided score tests clear a difference of two rates.

    Group b has the probability `rate`, group a `rate` + `difference`; n independent units each.
    Clears where the differences -margin and margin are both rejected at .05 with the variance at
    the null of each. Exact up to 400 units a group, else normal.
    Source: Farrington & Manning (1990); Miettinen & Nurminen (1985).
    """
    rates = _rates(n, rate, difference)
    margin = fraction(margin, "margin")
    z = normal_isf(ALPHA)
    if n <= LARGEST_EXACT:
        a, b, mass = _enumerated(n, rates)
        above = (a - b + margin) / score_se(a, b, n=n, null=-margin)
        below = (margin - (a - b)) / score_se(a, b, n=n, null=margin)
        return min(1.0, float(mass[(above >= z) & (below >= z)].sum()))
    a, b = map(np.array, rates)
    chances = [
        _normal(
            margin
            - sign * (rates[0] - rates[1])
            - z * float(score_se(a, b, n=n, null=sign * margin)),
            rates,
            n,
        )
        for sign in (1, -1)
    ]
    return max(0.0, math.fsum(chances) - 1)


@checked
def power_to_alarm_rate(n: int, *, rate: float, difference: float, alpha: float) -> float:
    """Return the probability that the two-sided test of equal rates gives p <= alpha.

    That is Pearson's chi-square without Yates' correction, times (N - 1) / N as in
    `score_difference`; of counts so small that an expected one is below 5 Fisher's test. All else
    is as in `power_to_clear_rate`, and beyond 400 units a group the score test is taken for all.
    Source: Miettinen & Nurminen (1985); Fisher (1935).
    """
    rates = _rates(n, rate, difference)
    z = normal_isf(fraction(alpha, "alpha") / 2)
    if n <= LARGEST_EXACT:
        a, b, mass = _enumerated(n, rates)
        found = (np.abs(a - b) >= z * score_se(a, b, n=n, null=0)) & (a != b)
        first, second = (np.rint(rate * n).astype(int) for rate in (a, b))
        events = first + second
        small = np.minimum(events, 2 * n - events) < 2 * SMALLEST_EXPECTED
        pairs = zip(first[small].tolist(), second[small].tolist(), strict=True)
        found[small] = [newcombe(one, n, other, n).p <= alpha for one, other in pairs]
        return min(1.0, float(mass[found].sum()))
    pooled = float(score_se(*map(np.array, rates), n=n, null=0))
    if pooled == 0:  # both rates are 0, or both 1: the counts never differ
        return 0.0
    apart = rates[0] - rates[1]
    return min(1.0, math.fsum(_normal(s * apart - z * pooled, rates, n) for s in (1, -1)))
