"""Agreement of judges beyond chance, and what the errors of one leave of a difference."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv  # type: ignore[import-untyped, unused-ignore]

from ..errors import NoVariance
from .checks import Floats, enough, sample
from .results import ALPHA, LEVEL, Interval

Measurement = Literal["nominal", "ordinal", "interval"]
FEWEST_DRAWS = 100  # of fewer, the 2.5 % quantile is one of the two outermost values
SMALLEST = 2  # ratings of a unit, units and coders below which nothing can agree


@dataclass(frozen=True, slots=True, kw_only=True)
class Alpha:
    """Krippendorff's alpha: 1 is agreement, 0 chance, and below 0 systematic disagreement.

    `interval` is a percentile bootstrap over units, at 95 %, without those resamples that drew a
    single category. It is widened to hold `alpha` where resamples, which use fewer categories than
    there are, all lie below it: eight units in as many categories that agree in none.
    """

    alpha: float
    interval: Interval | None


def krippendorff_alpha(
    ratings: Sequence[Sequence[Hashable | None]],
    *,
    level: Measurement = "nominal",
    iterations: int = 0,
    seed: int = 0,
) -> Alpha:
    """Return the agreement of two or more coders, some of whose ratings may be missing.

    Estimand: 1 - observed / expected disagreement. `ratings` has one row per coder and one column
    per unit, None where a rating is missing; units with fewer than two ratings are dropped.
    `level` is that of the scale and sets the distance of two ratings: nominal ratings may be of
    any kind, the others are real numbers. With `iterations` (100 or more) there is a percentile
    bootstrap interval, resampling units by `seed`; there is none of perfect agreement, whose
    resamples all agree, nor where fewer than 100 resamples have two categories.

    Raises `NoVariance` when all comparable ratings are of one category (alpha is 0 / 0, however
    well they agree).
    Source: Krippendorff (2011); bootstrap: Efron & Tibshirani (1993).
    """
    counts, values = _counts(ratings, level)
    enough(len(counts), "units rated twice", SMALLEST)
    kinds, times = np.unique(counts, axis=0, return_counts=True)
    alpha = _alpha(times, kinds, values, level)
    if alpha is None:
        raise NoVariance(statistic="agreement")
    if not iterations:
        return Alpha(alpha=alpha, interval=None)
    rng = np.random.default_rng(seed)
    resamples = rng.multinomial(len(counts), times / len(counts), size=iterations)
    drawn = (_alpha(resample, kinds, values, level) for resample in resamples)
    defined = [value for value in drawn if value is not None]
    interval = None
    if len(defined) >= FEWEST_DRAWS:
        low, high = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
        if low < high:
            interval = Interval(low=min(low, alpha), high=max(high, alpha), level=LEVEL)
    return Alpha(alpha=alpha, interval=interval)


def _counts(
    ratings: Sequence[Sequence[Hashable | None]], level: Measurement
) -> tuple[Floats, Floats]:
    """Return counts of units rated twice × categories, and the categories' values.

    Numbers rise; categories of a nominal scale stand as they come, and their values mean nothing.
    """
    enough(len(ratings), "coders", SMALLEST)
    units = [[r for r in unit if r is not None] for unit in zip(*ratings, strict=True)]
    categories = [*dict.fromkeys(rating for unit in units for rating in unit)]
    values = np.arange(float(len(categories)))
    if level != "nominal":
        values = np.sort(sample(np.array(categories), "ratings"))
        categories = values.tolist()
    places = {category: place for place, category in enumerate(categories)}
    counts = np.zeros((len(units), values.size))
    for row, unit in zip(counts, units, strict=True):
        for rating in unit:
            row[places[rating]] += 1
    return counts[counts.sum(axis=1) >= SMALLEST], values


def _alpha(
    times: NDArray[np.int64], kinds: Floats, values: Floats, level: Measurement
) -> float | None:
    """Return alpha of so many ``times`` each kind of unit; None where one category is used."""
    totals = times.astype(np.float64) @ kinds
    if np.count_nonzero(totals) < SMALLEST:
        return None
    distances = _distances(values, totals, level)
    observed = ((kinds @ distances) * kinds).sum(axis=1) / (kinds.sum(axis=1) - 1)
    expected = float(totals @ distances @ totals)
    return 1 - (float(totals.sum()) - 1) * float((times * observed).sum()) / expected


def _distances(values: Floats, totals: Floats, level: Measurement) -> Floats:
    """Return the squared distance of each two categories, which are in rising order."""
    if level == "nominal":
        return 1 - np.eye(totals.size)
    if level == "ordinal":
        values = np.cumsum(totals) - totals / 2
    differences = values[:, None] - values
    # in shares of the largest: a ratio is taken of these, and squares would under- or overflow
    squares: Floats = (differences / np.abs(differences).max()) ** 2
    return squares


def _lower(x: int, n: int) -> float:
    """Return the one-sided lower limit of x of n at .95 (Clopper & Pearson 1934)."""
    return float(betaincinv(x, n - x + 1, ALPHA)) if x else 0.0


def labelled_youden(*, found: int, events: int, passed: int, others: int) -> float:
    """Return Youden's index at the lower limits of `found` of `events`, `passed` of `others`.

    It is 0 where both limits add up to 1 or less.
    Source: Youden (1950); Clopper & Pearson (1934) for the limits.
    """
    return max(_lower(found, events) + _lower(passed, others) - 1, 0.0)


def retest_youden(*, differ: int, pairs: int) -> float:
    """Return Youden's index at the upper limit of `differ` of `pairs` that were read twice.

    Both readings err independently and alike with probability e, so that 2e(1 - e) differ, and
    Youden's index is the root of 1 - 2 times that share; it is 0 where half or more may differ.
    What a reader gets wrong both times is not seen: an upper bound of the index.
    """
    return math.sqrt(max(2 * _lower(pairs - differ, pairs) - 1, 0.0))
