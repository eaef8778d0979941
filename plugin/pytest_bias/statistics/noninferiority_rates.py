"""Probability that the two-sign rule passes an unchanged model on rates of an event.

Rates are lattices, and where events are rare their estimated standard errors say little: a normal
approximation is far off. So every pair of counts that can come up at all is tried.
"""

from __future__ import annotations

import math

import numpy as np
import scipy  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types
from numpy.typing import NDArray
from scipy import special  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from ..errors import TooFewUnits
from ._power import LARGEST_ALPHA
from .checks import bad, checked, count, fraction, number, positive
from .noninferiority_power import power_to_pass_independent

_Array = NDArray[np.float64]

LARGEST_LISTED = 400
"""Variance of a difference of two counts beyond which it is taken as normal."""

CLASSES = 4
"""Classes of variance that the pairs of counts with one difference are put into."""

RARE = 1e-12  # probability below which a count is left out
Z95 = -float(special.ndtri(0.025))


@checked
def power_to_pass_rates(
    n: int, *, rate: float, margin: float, effect: float = 0.0, alpha: float = 0.05
) -> float:
    """Return the probability that `non_inferior_from_estimates` passes an unchanged model.

    The effect, the same under both models, is the difference of two rates, `rate + effect` minus
    `rate`, of n >= 2 independent units each; standard errors are read from Newcombe's 95 %
    intervals as (high - low) / 2z, with 2n - 2 degrees of freedom. Counts are enumerated, each
    difference with the estimated variances that its pairs of counts have, in `CLASSES` classes;
    where a difference of counts has a variance beyond `LARGEST_LISTED`, it is taken as normal.
    Strata are pooled.

    Raises `TooFewUnits` below 2 units, `BadStatisticInput` for rates outside [0, 1] and other
    values outside their domain. Source: the rule's in `noninferiority`; Newcombe (1998).
    """
    if count(n, "n") < 2:  # noqa: PLR2004  (of one none varies)
        raise TooFewUnits(group="n", found=n, needed=2)
    rates = []
    for argument, value in (("effect", rate + effect), ("rate", rate)):
        if not 0 <= number(value, argument) <= 1:
            raise bad(argument, f"gives a rate of {value}")
        rates.append(float(value))
    margin = positive(margin, "margin")
    alpha = fraction(alpha, "alpha", below=LARGEST_ALPHA)
    df = 2.0 * n - 2
    se = math.sqrt(sum(each * (1 - each) for each in rates) / n)
    if (n * se) ** 2 > LARGEST_LISTED:
        return power_to_pass_independent(
            se_candidate=se,
            df_candidate=df,
            se_baseline=se,
            df_baseline=df,
            margin=margin,
            effect=effect,
            alpha=alpha,
        )
    sizes, mass, variance = _sizes(n, *rates)
    own, other = variance[:, None], variance[None, :]
    dfs = df * (own + other) ** 2 / (own**2 + other**2)
    known = np.linspace(df, 2 * df, 64)
    t = np.interp(dfs, known, -special.stdtrit(known, alpha / 2))
    passed = sizes[:, None] - sizes[None, :] + t * np.sqrt(own + other) < margin
    return min(1.0, float(mass @ passed @ mass))


def _sizes(n: int, high: float, low: float) -> tuple[_Array, _Array, _Array]:
    """The sizes a difference can have, their probabilities, and the mean variance of each."""
    (a, mass_a), (b, mass_b) = _counts(n, high), _counts(n, low)
    low_a, high_a = _wilson(a, n)
    low_b, high_b = _wilson(b, n)
    rate_a, rate_b = a / n, b / n
    difference = rate_a[:, None] - rate_b
    lower = np.maximum(-1, difference - np.hypot((rate_a - low_a)[:, None], high_b - rate_b))
    upper = np.minimum(1, difference + np.hypot((high_a - rate_a)[:, None], rate_b - low_b))
    variance = ((upper - lower) / (2 * Z95)) ** 2
    steps = np.abs(a[:, None] - b).ravel()
    both, variances = np.outer(mass_a, mass_b).ravel(), variance.ravel()
    # In order of variance within each size; the share of its size that comes before decides.
    order = np.lexsort((variances, steps))
    steps, both, variances = steps[order], both[order], variances[order]
    total = np.bincount(steps, weights=both)
    before = np.cumsum(both) - both / 2 - (np.cumsum(total) - total)[steps]
    share = np.clip(before / total[steps], 0, 1 - 1e-9)
    places = steps * CLASSES + (share * CLASSES).astype(np.int64)
    mass = np.bincount(places, weights=both)
    mean = np.bincount(places, weights=both * variances)
    found = np.flatnonzero(mass)
    return found // CLASSES / n, mass[found] / mass.sum(), mean[found] / mass[found]


def _counts(n: int, rate: float) -> tuple[NDArray[np.int64], _Array]:
    """The counts that come up at all, and their probabilities."""
    least, most = (int(scipy.stats.binom.ppf(p, n, rate)) for p in (RARE, 1 - RARE))
    counts = np.arange(max(0, least), min(n, most) + 1)
    return counts, np.asarray(scipy.stats.binom.pmf(counts, n, rate))


def _wilson(counts: NDArray[np.int64], n: int) -> tuple[_Array, _Array]:
    rate, square = counts / n, Z95 * Z95
    centre = (rate + square / (2 * n)) / (1 + square / n)
    half = Z95 / (1 + square / n) * np.sqrt(rate * (1 - rate) / n + square / (4 * n * n))
    return np.clip(centre - half, 0, rate), np.clip(centre + half, rate, 1)
