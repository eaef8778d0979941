"""Power of verdicts on two rates, by score tests of independent groups.

Exact up to `LARGEST_EXACT` units a group: every pair of counts is tried and the binomial
probabilities of those that clear or alarm are added. Beyond, both counts are taken as normal.
Strata are pooled: a stratified comparison of the same total size has about this power.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from ..errors import TooFewUnits
from ._distributions import normal_isf, normal_sf
from .checks import Floats, bad, checked, count, fraction, number
from .score import restricted_variances

LARGEST_EXACT = 400
LARGEST_ALPHA = 0.5
LARGEST_UNITS = 1e12  # beyond, rounding decides which whole number is the smallest


@dataclass(frozen=True, slots=True, kw_only=True)
class RatePower:
    """A probability of clearing or alarming; exact by enumeration, or by normal approximation."""

    power: float
    method: Literal["exact", "normal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Groups:
    n_a: int
    n_b: int
    rate_a: float
    rate_b: float
    alpha: float

    @property
    def difference(self) -> float:
        return self.rate_a - self.rate_b

    @property
    def se(self) -> float:
        return math.sqrt(
            self.rate_a * (1 - self.rate_a) / self.n_a + self.rate_b * (1 - self.rate_b) / self.n_b
        )

    @property
    def small(self) -> bool:
        return max(self.n_a, self.n_b) <= LARGEST_EXACT


def _checked(n_a: int, n_b: int, *, rate: float, difference: float, alpha: float) -> _Groups:
    for argument, n in (("n_a", n_a), ("n_b", n_b)):
        if count(n, argument) < 1:
            raise TooFewUnits(group=argument, found=n, needed=1)
    rates = []
    for argument, value in (("rate", rate), ("difference", rate + difference)):
        if not 0 <= number(value, argument) <= 1:
            raise bad(argument, f"gives a rate of {value}")
        rates.append(float(value))
    alpha = fraction(alpha, "alpha", below=LARGEST_ALPHA)
    return _Groups(n_a=n_a, n_b=n_b, rate_a=rates[1], rate_b=rates[0], alpha=alpha)


def score_se(a: Floats, b: Floats, *, n_a: int, n_b: int, null: float) -> Floats:
    """Return the standard error of rate a - rate b at the likeliest rates that differ by `null`.

    `a` and `b` are observed rates, of one shape; `null` lies strictly between -1 and 1. The
    variance is taken N / (N - 1) times, as in Miettinen & Nurminen (1985) and in `tost_rates`.
    """
    variances = restricted_variances(a * n_a, n_a, b * n_b, n_b, null)
    return np.asarray(np.sqrt((n_a + n_b) / (n_a + n_b - 1) * variances))


def _enumerated(groups: _Groups) -> tuple[Floats, Floats, Floats]:
    """Return every pair of observed rates and its probability."""
    k_a, k_b = np.arange(groups.n_a + 1), np.arange(groups.n_b + 1)
    mass = np.outer(
        scipy.stats.binom.pmf(k_a, groups.n_a, groups.rate_a),
        scipy.stats.binom.pmf(k_b, groups.n_b, groups.rate_b),
    )
    a, b = np.meshgrid(k_a / groups.n_a, k_b / groups.n_b, indexing="ij")
    return a, b, mass


def _normal(distance: float, se: float) -> float:
    """Return P(Z se < distance), where nothing varies by whether it is so."""
    return normal_sf(-distance / se) if se > 0 else float(distance >= 0)


@checked
def power_to_clear_rate(
    n_a: int,
    n_b: int,
    *,
    rate: float,
    margin: float,
    difference: float = 0.0,
    alpha: float = 0.05,
) -> RatePower:
    """Return the probability that two one-sided score tests clear a difference of two rates.

    Group b has the probability `rate`, group a `rate` + `difference`; n_a and n_b independent
    units. Clears where the differences -margin and margin are both rejected at `alpha` with the
    variance at the null of each. Exact up to 400 units a group, else normal: see `method`.
    Source: Farrington & Manning (1990); Miettinen & Nurminen (1985).
    """
    groups = _checked(n_a, n_b, rate=rate, difference=difference, alpha=alpha)
    margin = fraction(margin, "margin")
    z = normal_isf(groups.alpha)
    if groups.small:
        a, b, mass = _enumerated(groups)
        above = (a - b + margin) / score_se(a, b, n_a=n_a, n_b=n_b, null=-margin)
        below = (margin - (a - b)) / score_se(a, b, n_a=n_a, n_b=n_b, null=margin)
        power = float(mass[(above >= z) & (below >= z)].sum())
        return RatePower(power=min(1.0, power), method="exact")
    a, b = np.array(groups.rate_a), np.array(groups.rate_b)
    chances = [
        _normal(
            margin
            - sign * groups.difference
            - z * float(score_se(a, b, n_a=n_a, n_b=n_b, null=sign * margin)),
            groups.se,
        )
        for sign in (1, -1)
    ]
    return RatePower(power=max(0.0, sum(chances) - 1), method="normal")


@checked
def power_to_alarm_rate(
    n_a: int, n_b: int, *, rate: float, difference: float, alpha: float = 0.05
) -> RatePower:
    """Return the probability that the two-sided score test of equal rates gives p <= alpha.

    That is Pearson's chi-square without Yates' correction, times (N - 1) / N as in
    `score_difference`. Rates and `method` are those of `power_to_clear_rate`. Source: Miettinen &
    Nurminen (1985).
    """
    groups = _checked(n_a, n_b, rate=rate, difference=difference, alpha=alpha)
    z = normal_isf(groups.alpha / 2)
    if groups.small:
        a, b, mass = _enumerated(groups)
        found = (np.abs(a - b) >= z * score_se(a, b, n_a=n_a, n_b=n_b, null=0)) & (a != b)
        return RatePower(power=min(1.0, float(mass[found].sum())), method="exact")
    rates = np.array(groups.rate_a), np.array(groups.rate_b)
    pooled = float(score_se(*rates, n_a=n_a, n_b=n_b, null=0))
    if pooled == 0:  # both rates are 0, or both 1: the counts never differ
        return RatePower(power=0.0, method="normal")
    chances = [_normal(s * groups.difference - z * pooled, groups.se) for s in (1, -1)]
    return RatePower(power=min(1.0, sum(chances)), method="normal")


@checked
def units_for_zero_events(margin: float, *, alpha: float = 0.05) -> int:
    """Return the fewest units without an event that show a rate below `margin`.

    The smallest n with (1 - margin)^n <= alpha: the exact one-sided test of one binomial rate.
    More than 1e12 raise `BadStatisticInput`. Source: Clopper & Pearson (1934).
    """
    margin = fraction(margin, "margin")
    alpha = fraction(alpha, "alpha")
    log_share = math.log1p(-margin)
    n = math.ceil(math.log(alpha) / log_share)
    if n > LARGEST_UNITS:
        raise bad("margin", f"would need {LARGEST_UNITS:g} units")
    # The quotient of logarithms may round across an integer: settle it by the products.
    return next(k for k in (n - 1, n, n + 1) if k >= 1 and k * log_share <= math.log(alpha))
