"""One contrast value per unit: t tests, exact sign flips, and a standardised mean.

The values are differences within a unit (a block, a seed, a name with its counterpart), so that
whatever the unit adds to both sides has gone. Units are independent of one another.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from ...errors import NoVariance
from .checks import (
    ROUNDING,
    Floats,
    checked,
    mean_and_sd,
    not_negative,
    probability,
    units,
)
from .effect_size import effect_size_of
from .means import StudentEstimate
from .resampling import CHUNK, drawn_permutation
from .results import EffectSize, Permutation

ALWAYS_EXACT = 16  # the 65,536 flips of sixteen units take hundredths of a second


def _mean_sd_n(
    differences: ArrayLike, *, magnitude: float | None = None, needed: int = 2
) -> tuple[float, float, int]:
    values = units(differences, "differences", needed=needed)
    largest = float(np.abs(values).max())
    if magnitude is not None:
        largest = max(largest, not_negative(magnitude, "magnitude"))
    mean, sd = mean_and_sd(values, magnitude=largest)
    if sd == 0:
        raise NoVariance
    return mean, sd, values.size


@checked
def one_sample(differences: ArrayLike, *, magnitude: float | None = None) -> StudentEstimate:
    """Test the mean of unit-level differences by Student's t.

    Estimand: the mean difference over units like these, in the unit of the values. `differences`
    has shape (n,), n >= 2, one per independent unit. `magnitude` is that of the values that were
    subtracted: differences that vary by less than rounding of it count as constant (`NoVariance`);
    without it that of the differences serves. Assumes that their mean is close to normal.
    Source: Student (1908).
    """
    mean, sd, n = _mean_sd_n(differences, magnitude=magnitude)
    return StudentEstimate(estimate=mean, se=sd / math.sqrt(n), df=float(n - 1))


def _flips(n: int, total: int, seed: int, *, exact: bool) -> Iterator[Floats]:
    """Give signs of n units, one row per flip: of every flip, or of random ones."""
    rng = np.random.default_rng(seed)
    rows = max(1, CHUNK // n)
    for start in range(0, total, rows):
        size = min(rows, total - start)
        if exact:
            bits = (np.arange(start, start + size)[:, None] >> np.arange(n)) & 1
        else:
            bits = rng.integers(0, 2, size=(size, n), dtype=np.int8)
        signs: Floats = bits.astype(np.float64)
        signs *= 2
        signs -= 1
        yield signs


@checked
def sign_flip(
    differences: ArrayLike,
    *,
    resamples: int = 10_000,
    seed: int,
) -> Permutation:
    """Test the mean of unit-level differences against 0 by flipping signs, two-sided.

    Null: each unit's difference is distributed symmetrically around 0, as it is where the two
    sides of a unit are exchangeable. `differences` has shape (n,), n >= 2, one per independent
    unit. Flips that tie with the observed one, up to rounding, count as extreme.

    All 2^n flips are counted for up to 16 units and wherever 2^n <= 2 `resamples`; otherwise
    `resamples` random ones are drawn, with the observed one counted among them, so that p is valid
    and never 0; `error` is then its Monte Carlo standard error. The order of the units does not
    matter. Constant differences are no failure here: n of one sign give 2^(1 - n) two-sided, so
    five units cannot be below .0625.
    Source: Fisher (1935); Phipson & Smyth (2010) for random flips.
    """
    values = units(differences, "differences")
    n = values.size
    # Flipping sorted absolute values gives the same distribution, whatever the order and signs.
    sizes = np.sort(np.abs(values))
    threshold = abs(math.fsum(values)) - ROUNDING * float(sizes.sum())
    exact = n <= ALWAYS_EXACT or 2**n <= 2 * resamples
    flips = _flips(n, 2**n if exact else resamples, seed, exact=exact)
    extreme = sum(int((np.abs(signs @ sizes) >= threshold).sum()) for signs in flips)
    if not exact:
        return drawn_permutation(extreme, resamples, seed)
    return Permutation(p=probability(extreme / 2**n), exact=True, resamples=resamples, seed=seed)


@checked
def cohen_dz(differences: ArrayLike) -> EffectSize:
    """Return mean / SD of unit-level differences, bias-corrected too, with its exact interval.

    Estimand: the mean difference in units of the SD of differences (not of replies: it is larger
    than Cohen's d where the two sides of a unit are correlated). `g` is d times the exact J of
    n - 1 degrees of freedom, and the interval comes from the noncentral t distribution of
    sqrt(n) d. n >= 3, as J needs two degrees of freedom; normal differences.
    Source: Cohen (1988); Hedges (1981); Cumming & Finch (2001).
    """
    mean, sd, n = _mean_sd_n(differences, needed=3)
    return effect_size_of(mean / sd, unit=1 / math.sqrt(n), df=n - 1)
