"""Clearing rule: two one-sided t tests, each with one further unit at its worse end.

A t test clears by the spread it sees, and replies that are all alike show none. So each of the two
tests (Schuirmann 1987) supposes one further unit on each side of the contrast, at that end of the
scale where it speaks against clearing: for "not above the margin", one at the top on the higher
side and one at the bottom on the lower side. A few rare replies far away then weigh about as much
when they were missed as when one of them was seen. The rule has no triggers, and replies that are
more alike are never worse.

What n units cannot show is a separate bound: a share q of the population is absent from all n of
them with probability (1 - q)^n (Clopper & Pearson 1934), and a share margin / reach of units, each
farther by the whole reach, makes an effect as large as the margin. Fewer units than exclude that
share at .95 clear nothing, see `results.units_needed`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtr, stdtrit  # type: ignore[import-untyped, unused-ignore]

from .checks import EQUAL, Floats, probability
from .means import p_from_t
from .results import ALPHA, Interval

_LARGEST_LOG = 300.0
"""Logarithm of the largest ratio that is an end: its square is still a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideSummary:
    """One side of a contrast, as if its units were ``n`` alike ones of one ``mean``.

    ``weight`` is what the side's mean weighs in the contrast, below 0 on the lower side;
    ``variance`` is that of a unit within its cell; ``low`` and ``high`` are the ends of the units'
    scale, infinite where it has none. Means, ends and the root of the variance are in the
    measure's unit.
    """

    weight: float
    mean: float
    variance: float
    n: float
    low: float
    high: float

    def further(self, sign: int) -> SideSummary:
        """Return the side with one more unit, at the end that moves the contrast by ``sign``."""
        end = self.high if sign * self.weight > 0 else self.low
        if math.isinf(end):
            return self
        moved = (end - self.mean) / (self.n + 1)
        squares = max(self.n - 1, 0.0) * self.variance + self.n * moved * (end - self.mean)
        return replace(self, mean=self.mean + moved, variance=squares / self.n, n=self.n + 1)


def moments(cells: Sequence[Floats], magnitude: float = 0.0) -> tuple[Floats, Floats, Floats]:
    """Return size, mean and variance of every cell; all at once, as there may be hundreds.

    ``cells`` are k arrays of one unit or more. A cell of one unit takes the pooled variance of the
    others. Values that differ by rounding alone, beside the largest of them or ``magnitude``, have
    a variance of 0.
    """
    sizes = np.array([cell.size for cell in cells])
    values = np.concatenate(cells)
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    low, high = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    means = np.clip(np.add.reduceat(values, starts) / sizes, low, high)
    squares = np.add.reduceat((values - np.repeat(means, sizes)) ** 2, starts)
    squares[high - low <= EQUAL * max(magnitude, float(np.abs(values).max()))] = 0.0
    freedom = sizes - 1
    pooled = squares.sum() / max(int(freedom.sum()), 1)
    variances = np.where(freedom > 0, squares / np.maximum(freedom, 1), pooled)
    return sizes.astype(np.float64), means, variances


def sides_of(
    cells: Sequence[Floats],
    weights: Sequence[float],
    *,
    low: float,
    high: float,
    magnitude: float = 0.0,
) -> tuple[tuple[SideSummary, ...], float]:
    """Return the sides of a weighted sum of cell means, the higher first, and its df.

    One side where all weights are of one sign. A side counts for (sum w)^2 / sum(w^2 / n_c) alike
    units, so that its mean has the same standard error. With v_c = w_c^2 s_c^2 / n_c on nu_c
    degrees of freedom, df = (sum v)^2 / sum(v^2 / (nu + 2)) - 2, kept between the smallest nu and
    their sum. Without that correction (Welch 1947) the df of cells of 2 units come out at a third
    of theirs; two cells go without it, as in the t test that bears his name (Satterthwaite 1946).
    Cells of one unit add no degrees of freedom; without any variance all that there are count.
    """
    weight = np.asarray(weights, dtype=np.float64)
    sizes, means, variances = moments(cells, magnitude)
    sides = []
    for at in (weight > 0, weight < 0):
        if at.any():
            total, parts = float(weight[at].sum()), weight[at] ** 2 / sizes[at]
            side = SideSummary(
                weight=total,
                mean=float(weight[at] @ means[at]) / total,
                variance=float(parts @ variances[at] / parts.sum()),
                n=total**2 / float(parts.sum()),
                low=low,
                high=high,
            )
            sides.append(side)
    own = sizes > 1
    freedom = (sizes - 1)[own]
    if not freedom.size:
        return tuple(sides), 1.0
    lent = float((weight[~own] ** 2).sum()) * freedom / freedom.sum()
    terms = (weight[own] ** 2 / sizes[own] + lent) * variances[own]
    df = float(freedom.sum())
    if terms.any():
        df = df_of(terms, freedom, cells=len(cells))
    return tuple(sides), df


def df_of(variances: Floats, freedom: Floats, *, cells: int) -> float:
    """Return the df of a sum of ``variances``, each on its own ``freedom``, of so many cells."""
    shares = variances / variances.sum()
    more = 2 if cells > 2 else 0  # noqa: PLR2004  (two cells: as t tests are known)
    df = 1 / (shares**2 / (freedom + more)).sum() - more
    return float(np.clip(df, freedom.min(), freedom.sum()))


def contrast_of(sides: Sequence[SideSummary]) -> tuple[float, float]:
    """Return the weighted sum of the sides' means and its standard error."""
    estimate = math.fsum(side.weight * side.mean for side in sides)
    variance = math.fsum(side.weight**2 * side.variance / side.n for side in sides)
    return estimate, math.sqrt(variance)


def log_ratio_of(sides: Sequence[SideSummary]) -> tuple[float, float]:
    """Return the logarithm of the ratio of two sides' means and its standard error.

    By the delta method; infinite where a mean is 0. Sides of weight 1 above, -1 below.
    """
    if any(side.mean <= 0 for side in sides):
        signs = [math.copysign(math.inf, -s.weight) for s in sides if s.mean <= 0]
        return (signs[0], math.inf) if len(signs) == 1 else (0.0, math.inf)
    estimate = math.fsum(side.weight * math.log(side.mean) for side in sides)
    variance = math.fsum(side.variance / side.n / side.mean**2 for side in sides)
    return estimate, math.sqrt(variance)


Further = tuple[tuple[float, float], tuple[float, float]]
"""Estimate and standard error with further units that move it down, and up."""


def further_of(sides: Sequence[SideSummary], *, ratio: bool = False) -> Further:
    """Return what one further unit a side makes of a contrast, or of the log of a ``ratio``."""
    of = log_ratio_of if ratio else contrast_of
    return of([side.further(-1) for side in sides]), of([side.further(1) for side in sides])


def clearing_p(further: Further, *, low: float, high: float, df: float) -> float:
    """Return the p-value of "the contrast lies strictly between ``low`` and ``high``".

    ``low`` and ``high`` are in the unit of the contrast, logarithms where it is a ratio; ``df``
    are the degrees of freedom of its standard error. An infinite limit is not tested.
    """
    below, above = further
    p = [_tail(*below, low, 1, df)] if low > -math.inf else []
    if high < math.inf:
        p.append(_tail(*above, high, -1, df))
    return max(p)


def beyond_p(further: Further, value: float, *, beyond: float, df: float) -> float:
    """Return the two-sided p-value of "the contrast is no larger than ``beyond`` in size".

    ``value`` is its estimate. The further units are at the end nearer to no effect.
    """
    sign = 1 if value > 0 else -1
    toward, se = further[sign < 0]
    if se == 0 or math.isinf(se):
        return 1.0
    return p_from_t(max(sign * toward - beyond, 0.0) / se, df)


def _tail(estimate: float, se: float, limit: float, sign: int, df: float) -> float:
    """Return the one-sided p of an estimate at or beyond ``limit``, below it for ``sign`` 1."""
    if math.isinf(estimate) or math.isinf(se):
        return 1.0
    if se == 0:
        return probability(0.0) if sign * (estimate - limit) > 0 else 1.0
    return probability(float(stdtr(df, sign * (limit - estimate) / se)))


def clearing_interval(
    further: Further, *, df: float, level: float = 1 - 2 * ALPHA, ratio: bool = False
) -> Interval | None:
    """Return the interval that lies within the margin exactly where both tests reject.

    At 90 % the two one-sided tests are at .05 each. That of a ``ratio`` is of the ratio itself.
    None where an end is infinite, or of a ratio too large to be a number.
    """
    t = float(stdtrit(df, (1 + level) / 2))
    below, above = further
    low, high = below[0] - t * below[1], above[0] + t * above[1]
    farthest = _LARGEST_LOG if ratio else math.inf
    if not (abs(low) < farthest and abs(high) < farthest):
        return None
    if ratio:
        low, high = math.exp(low), math.exp(high)
    return Interval(low=low, high=high, level=level)
