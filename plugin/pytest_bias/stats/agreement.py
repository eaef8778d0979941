"""Agreement of coders or judges, beyond that expected by chance."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri  # type: ignore[import-untyped, unused-ignore]

from ..errors import NoVariance
from .checks import Floats, bad, enough, sample
from .ranks import snapped
from .results import LEVEL, Interval

Measurement = Literal["nominal", "ordinal", "interval", "ratio"]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Kappa:
    """Cohen's kappa of two coders; `se` and `interval` (at 95 %) are None where the SE is 0."""

    kappa: float
    se: float | None
    interval: Interval | None


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, (float, np.floating)) and math.isnan(value))


def _categories(
    ratings: Sequence[Hashable], argument: str, *, numeric: bool
) -> tuple[dict[Hashable, int], Floats]:
    """Return the place of each rating among the categories, and the categories' values.

    Numbers rise and count as the same where they differ by rounding only; else the values are
    without meaning.
    """
    distinct = list(dict.fromkeys(ratings))
    if not numeric or not distinct:
        return {rating: i for i, rating in enumerate(distinct)}, np.arange(float(len(distinct)))
    numbers = sample(np.array(distinct), argument)
    values, places = np.unique(snapped(numbers), return_inverse=True)
    return dict(zip(distinct, places.tolist(), strict=True)), values


def _distances(values: Floats, totals: Floats, level: Measurement) -> Floats:
    """Return the squared distance of each two categories, which are in rising order."""
    if level == "nominal":
        result = 1 - np.eye(totals.size)
    elif level == "interval":
        # in shares of the span: a ratio is taken of these, and squares would under- or overflow
        result = ((values[:, None] - values[None, :]) / np.ptp(values)) ** 2
    elif level == "ratio":
        sums = values[:, None] + values[None, :]
        result = ((values[:, None] - values[None, :]) / np.where(sums > 0, sums, 1)) ** 2
    else:
        middle = np.cumsum(totals) - totals / 2
        result = (middle[:, None] - middle[None, :]) ** 2
    return result


def _alpha(
    counts: Floats, level: Measurement, values: Floats
) -> Callable[[NDArray[np.int64]], float | None]:
    """Return what gives alpha from how often there are such units, of counts × categories.

    None where one category is used.
    """

    def disagreement(totals: Floats) -> tuple[Floats, Floats]:
        distances = _distances(values, totals, level)
        return distances, ((counts @ distances) * counts).sum(axis=1) / (counts.sum(axis=1) - 1)

    # Ordinal distances alone depend on how often there are which units.
    once = level != "ordinal" and values.size >= SMALLEST
    fixed = disagreement(counts.sum(axis=0)) if once else None

    def alpha(times: NDArray[np.int64]) -> float | None:
        totals = times.astype(np.float64) @ counts
        if np.count_nonzero(totals) < SMALLEST:
            return None
        distances, per_unit = fixed or disagreement(totals)
        expected = float(totals @ distances @ totals)
        return 1 - (float(totals.sum()) - 1) * float((times * per_unit).sum()) / expected

    return alpha


def _counts(
    ratings: Sequence[Sequence[Hashable | None]], *, level: Measurement
) -> tuple[Floats, NDArray[np.intp], Floats]:
    """Return counts of kinds of units × categories, the kind of each unit, and the values.

    The categories' values are in rising order, and so are the kinds.
    """
    enough(len(ratings), "coders", SMALLEST)
    if len({len(coder) for coder in ratings}) > 1:
        raise bad("ratings", "coders with different numbers of units")
    rated = [*zip(*ratings, strict=True)]
    rows = {unit: row for row, unit in enumerate(dict.fromkeys(rated))}  # many are rated alike
    units = [[rating for rating in unit if not _missing(rating)] for unit in rows]
    place, values = _categories(
        [rating for unit in units for rating in unit], "ratings", numeric=level != "nominal"
    )
    if level == "ratio" and values.size and values[0] < 0:
        raise bad("ratings", "a ratio scale has no values below 0")
    counts = np.zeros((len(units), values.size))
    for row, unit in zip(counts, units, strict=True):
        for rating in unit:
            row[place[rating]] += 1
    kinds, kind = np.unique(counts, axis=0, return_inverse=True)
    return kinds, kind[[*map(rows.__getitem__, rated)]], values


def krippendorff_alpha(
    ratings: Sequence[Sequence[Hashable | None]],
    *,
    level: Measurement = "nominal",
    iterations: int = 0,
    seed: int = 0,
) -> Alpha:
    """Return the agreement of two or more coders, some of whose ratings may be missing.

    Estimand: 1 - observed / expected disagreement. `ratings` has one row per coder and one column
    per unit, None or NaN where a rating is missing; units with fewer than two ratings are
    dropped. `level` is that of the scale and sets the distance of two ratings: nominal
    ratings may be of any kind, the others are real numbers, and ratio ones not below 0. With
    `iterations` (100 or more) there is a percentile bootstrap interval, resampling units by
    `seed`; there is none of perfect agreement, whose resamples all agree, nor where fewer than 100
    resamples have two categories.

    Raises `NoVariance` when all comparable ratings are of one category (alpha is 0 / 0, however
    well they agree).
    Source: Krippendorff (2011); bootstrap: Efron & Tibshirani (1993).
    """
    every, kind, values = _counts(ratings, level=level)
    rated = every.sum(axis=1) >= SMALLEST
    kinds, kind = every[rated], (np.cumsum(rated) - 1)[kind[rated[kind]]]
    counts = kinds[kind]
    enough(len(counts), "units rated twice", SMALLEST)
    alpha = _alpha(counts, level, values)(np.ones(len(counts), dtype=np.int64))
    if alpha is None:
        raise NoVariance(statistic="agreement")

    interval = None
    if iterations:
        n = len(kind)
        rng = np.random.default_rng(seed)
        resamples = rng.multinomial(n, np.bincount(kind) / n, size=iterations)
        drawn = map(_alpha(kinds, level, values), resamples)
        defined = [value for value in drawn if value is not None]
        if len(defined) >= FEWEST_DRAWS:
            low, high = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
            if low < high:
                interval = Interval(low=min(low, alpha), high=max(high, alpha), level=LEVEL)
    return Alpha(alpha=alpha, interval=interval)


def cohen_kappa(a: Sequence[Hashable], b: Sequence[Hashable]) -> Kappa:
    """Return the agreement of two coders of the same units beyond that of their margins.

    Estimand: (agreement - chance agreement) / (1 - chance agreement), at most 1. `a` and `b` have
    the same shape (n,), one independent unit per place, at least 2, and no rating, of any kind, is
    missing. The interval is normal, cut at -1 and 1, and rough below some 30 units. Raises
    `NoVariance` when both use one and the same category only.
    Source: Cohen (1960); Fleiss, Cohen & Everitt (1969, eq. 14) for the standard error.
    """
    if len(a) != len(b):
        raise bad("b", f"{len(b)} ratings for {len(a)} of a")
    if any(_missing(rating) for rating in (*a, *b)):
        raise bad("a, b", "a rating is missing")
    enough(len(a), "units", SMALLEST)
    place, values = _categories((*a, *b), "a, b", numeric=False)
    if values.size < SMALLEST:
        raise NoVariance(statistic="agreement")
    table = np.zeros((values.size, values.size))
    for first, second in zip(a, b, strict=True):
        table[place[first], place[second]] += 1
    shares, weights = table / len(a), np.eye(values.size)
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    chance = float(rows @ weights @ columns)
    kappa = (float((shares * weights).sum()) - chance) / (1 - chance)
    pull = (1 - kappa) * ((weights @ columns)[:, None] + rows @ weights)
    spread = float((shares * (weights - pull) ** 2).sum())
    variance = (spread - (kappa - chance * (1 - kappa)) ** 2) / (1 - chance) ** 2 / len(a)
    if variance <= 1e-15 / len(a):  # 0 but for rounding
        return Kappa(kappa=kappa, se=None, interval=None)
    se = math.sqrt(variance)
    half = float(ndtri((1 + LEVEL) / 2)) * se
    interval = Interval(low=max(-1.0, kappa - half), high=min(1.0, kappa + half), level=LEVEL)
    return Kappa(kappa=kappa, se=se, interval=interval)
