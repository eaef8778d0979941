"""Contrasts over a fixed set of cells, with independent replies within each cell.

The cells (these names, these prompts) are the whole target, not a sample of one: only replies
vary, so the standard error comes from the variance within cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import NoVariance, TooFewUnits
from .checks import LARGEST, ROUNDING, Floats, bad, checked, fraction, sample
from .means import t_interval, two_sided_p
from .results import Interval

REPLICATED = 2  # replies that a cell needs for a variance of its own
FEWEST_REPLICATED = 2  # cells with a variance of their own


@dataclass(frozen=True, slots=True, kw_only=True)
class StratifiedContrast:
    """A weighted sum of cell means against 0, two-sided, from `n` replies.

    `pooled_sd` is the pooled standard deviation of replies within cells.
    """

    estimate: float
    se: float
    df: float
    t: float
    p: float
    interval: Interval
    pooled_sd: float
    n: int


def _cells_in_use(cells: Sequence[ArrayLike], weights: ArrayLike) -> tuple[list[Floats], Floats]:
    """Return the cells of non-zero weight and their weights, checked."""
    given = sample(weights, "weights")
    if given.size != len(cells):
        raise bad("weights", f"{given.size} weights for {len(cells)} cells")
    if not given.any():
        raise bad("weights", "are all 0")
    checked = [sample(cell, f"cells[{place}]") for place, cell in enumerate(cells)]
    for place, (cell, weight) in enumerate(zip(checked, given, strict=True)):
        if weight and not cell.size:
            argument = f"cells[{place}]"
            raise bad(argument, "is empty but has a weight: the design is incomplete")
    used = [cell for cell, weight in zip(checked, given, strict=True) if weight]
    return used, given[given != 0]


def _means_and_variances(cells: list[Floats], sizes: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return each cell's mean and variance, 0 where it is constant or has one reply.

    All cells at once: a design may have hundreds. As in `mean_and_sd`, rounding is no variance.
    """
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    values = np.concatenate(cells)
    low = np.minimum.reduceat(values, starts)
    high = np.maximum.reduceat(values, starts)
    means = np.clip(np.add.reduceat(values, starts) / sizes, low, high)
    squares = np.add.reduceat((values - np.repeat(means, sizes)) ** 2, starts)
    rounding = np.maximum(ROUNDING * np.maximum(np.abs(low), np.abs(high)), 1 / LARGEST)
    return means, np.where(high - low <= rounding, 0.0, squares / np.maximum(sizes - 1, 1))


@checked
def stratified_contrast(
    cells: Sequence[ArrayLike], weights: ArrayLike, *, level: float = 0.95
) -> StratifiedContrast:
    """Test a weighted sum of cell means against 0, for exactly these cells.

    Estimand: sum of w_c mean_c over the given cells, in the unit of the values when positive and
    negative weights each sum to 1 in size. `cells` holds k arrays of independent replies, of
    shapes (n_c,); `weights` has shape (k,). A cell of weight 0 takes no part and may be empty.
    Means are unbiased whatever differs between cells; cell variances may differ too.

    se^2 is the sum of w_c^2 s_c^2 / n_c. A cell with one reply takes the pooled variance of the
    others, which assumes that it varies like them, and adds no degrees of freedom: each other
    cell's share of that pooled variance is added to its own term. With these terms v_c on nu_c
    degrees of freedom, df = (sum v)^2 / sum(v^2 / (nu + 2)) - 2, kept between the smallest nu and
    their sum. Without that correction the df of cells of 2 replies come out at a third of theirs.
    `TooFewUnits` when fewer than 2 cells have 2 replies.
    Source: Welch (1947) for the corrected df; Satterthwaite (1946).
    """
    level = fraction(level, "level")
    used, weight = _cells_in_use(cells, weights)
    sizes = np.array([cell.size for cell in used], dtype=np.int64)
    replicated = sizes >= REPLICATED
    if replicated.sum() < FEWEST_REPLICATED:
        raise TooFewUnits(
            group=f"cells with {REPLICATED} replies",
            found=int(replicated.sum()),
            needed=FEWEST_REPLICATED,
        )
    means, variances = _means_and_variances(used, sizes)

    # Relative weights, and shares of the variance: the squares of either could overflow.
    unit = float(np.abs(weight).max())
    relative = weight / unit
    freedom = (sizes - 1)[replicated].astype(np.float64)
    own = relative[replicated] ** 2 / sizes[replicated]
    lent = float((relative[~replicated] ** 2).sum()) * freedom / freedom.sum()
    terms = (own + lent) * variances[replicated]
    total = float(terms.sum())
    if total == 0:
        raise NoVariance
    shares = terms / total
    df = 1 / float((shares**2 / (freedom + 2)).sum()) - 2
    df = float(np.clip(df, freedom.min(), freedom.sum()))

    estimate, se = math.fsum(relative * means), math.sqrt(total)
    pooled = float((freedom / freedom.sum()) @ variances[replicated])
    return StratifiedContrast(
        estimate=unit * estimate,
        se=unit * se,
        df=df,
        t=estimate / se,
        p=two_sided_p(estimate / se, df),
        interval=t_interval(unit * estimate, unit * se, df, level=level),
        pooled_sd=math.sqrt(pooled),
        n=int(sizes.sum()),
    )
