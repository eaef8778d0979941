"""The clearing rule: two one-sided t tests, each with one further unit at its worse end.

A t test clears by the spread it sees, and replies that are all alike show none. So each of the two
tests (Schuirmann 1987) supposes one further unit on each side of the contrast, at that end of the
scale where it speaks against clearing: for "not above the margin", one at the top on the higher
side and one at the bottom on the lower side. A few rare replies far away then weigh about as much
when they were missed as when one of them was seen. The rule has no triggers, and replies that are
more alike are never worse.

What n units cannot show is a separate bound: a share q of the population is absent from all n of
them with probability (1 - q)^n (Clopper & Pearson 1934), and a share margin / reach of units, each
farther by the whole reach, makes an effect as large as the margin. Fewer units than exclude that
share at .95 clear nothing, see :func:`units_needed`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtr, stdtrit

from .checks import Floats, probability
from .results import ALPHA, Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
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

    def further(self, sign: int) -> Side:
        """Return the side with one more unit, at the end that moves the contrast by ``sign``."""
        end = self.high if sign * self.weight > 0 else self.low
        if math.isinf(end):
            return self
        moved = (end - self.mean) / (self.n + 1)
        squares = max(self.n - 1, 0.0) * self.variance + self.n * moved * (end - self.mean)
        return replace(self, mean=self.mean + moved, variance=squares / self.n, n=self.n + 1)


def side_of(cells: Sequence[Floats], weights: Sequence[float], *, low: float, high: float) -> Side:
    """Return the side that a weighted sum of cell means makes.

    ``cells`` are k arrays of n_c units, ``weights`` k numbers of one sign. The side counts for
    (sum w)^2 / sum(w^2 / n_c) alike units, so that its mean has the same standard error. A cell
    of one unit takes the pooled variance of the others.
    """
    weight = np.asarray(weights, dtype=np.float64)
    sizes = np.array([cell.size for cell in cells], dtype=np.float64)
    means = np.array([cell.mean() for cell in cells])
    squares = np.array([((cell - cell.mean()) ** 2).sum() for cell in cells])
    freedom = sizes - 1
    pooled = squares.sum() / max(freedom.sum(), 1)
    variances = np.where(freedom > 0, squares / np.maximum(freedom, 1), pooled)
    total = float(weight.sum())
    own = weight**2 / sizes
    return Side(
        weight=total,
        mean=float(weight @ means) / total,
        variance=float(own @ variances / own.sum()),
        n=total**2 / float(own.sum()),
        low=low,
        high=high,
    )


def contrast_of(sides: Sequence[Side]) -> tuple[float, float]:
    """Return the weighted sum of the sides' means and its standard error."""
    estimate = math.fsum(side.weight * side.mean for side in sides)
    variance = math.fsum(side.weight**2 * side.variance / side.n for side in sides)
    return estimate, math.sqrt(variance)


def log_ratio_of(sides: Sequence[Side]) -> tuple[float, float]:
    """Return the logarithm of the ratio of two sides' means and its standard error.

    By the delta method; infinite where a mean is 0. Sides of weight 1 above, -1 below.
    """
    if any(side.mean <= 0 for side in sides):
        signs = [math.copysign(math.inf, -s.weight) for s in sides if s.mean <= 0]
        return (signs[0], math.inf) if len(signs) == 1 else (0.0, math.inf)
    estimate = math.fsum(side.weight * math.log(side.mean) for side in sides)
    variance = math.fsum(side.variance / side.n / side.mean**2 for side in sides)
    return estimate, math.sqrt(variance)


def clearing_p(
    sides: Sequence[Side], *, low: float, high: float, df: float, ratio: bool = False
) -> float:
    """Return the p-value of "the contrast lies strictly between ``low`` and ``high``".

    ``low`` and ``high`` are in the unit of the contrast, logarithms where it is a ``ratio``;
    ``df`` are the degrees of freedom of its standard error. An infinite limit is not tested.
    """
    of = log_ratio_of if ratio else contrast_of
    p = [_tail(*of([side.further(-1) for side in sides]), low, 1, df)] if low > -math.inf else []
    if high < math.inf:
        p.append(_tail(*of([side.further(1) for side in sides]), high, -1, df))
    return max(p)


def _tail(estimate: float, se: float, limit: float, sign: int, df: float) -> float:
    """Return the one-sided p of an estimate at or beyond ``limit``, below it for ``sign`` 1."""
    if math.isinf(estimate) or math.isinf(se):
        return 1.0
    if se == 0:
        return probability(0.0) if sign * (estimate - limit) > 0 else 1.0
    return probability(float(stdtr(df, sign * (limit - estimate) / se)))


def clearing_interval(
    sides: Sequence[Side], *, df: float, level: float = 1 - 2 * ALPHA, ratio: bool = False
) -> Interval | None:
    """Return the interval that lies within the margin exactly where both tests reject.

    At 90 % the two one-sided tests are at .05 each. None where a ratio has no finite end.
    """
    of = log_ratio_of if ratio else contrast_of
    t = float(stdtrit(df, (1 + level) / 2))
    below, above = (of([side.further(sign) for side in sides]) for sign in (-1, 1))
    low, high = below[0] - t * below[1], above[0] + t * above[1]
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    return Interval(low=low, high=high, level=level)


def units_needed(margin: float, reach: float) -> int:
    """Return the fewest units a side with which anything can be cleared, at any spread.

    ``reach`` is how far a side's mean is from its value if all its units lay at the other end of
    the scale, in the unit of the margin: the width of the scale for a difference of means. Fewer
    units may all miss a share margin / reach of the population, with probability over .05.
    """
    if math.isinf(reach):
        return 0
    if margin >= reach:
        return 1
    return math.ceil(math.log(ALPHA) / math.log1p(-margin / reach))
