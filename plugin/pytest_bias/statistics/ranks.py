"""Rank tests.

Values that differ by rounding only (see `snapped`) are ties here: means of the same replies
summed in another order must not be ranked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from ._arrays import probability
from .superiority import pairs_above, share_above, two_samples

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

MOST_EXACT = 50  # units (per group) up to which p-values are exact, as in R


@dataclass(frozen=True, slots=True, kw_only=True)
class MannWhitney:
    """`u` counts the pairs with a above b, ties as one half.

    `p` is corrected for continuity, `p_uncorrected` is not, both for ties and two-sided;
    `p_exact` is None with ties or more than 50 units in a group.
    """

    u: float
    p: float
    p_uncorrected: float
    p_exact: float | None
    superiority: float
    n_a: int
    n_b: int


def mann_whitney(a: ArrayLike, b: ArrayLike) -> MannWhitney:
    """Test that a and b are exchangeable, by the number of pairs in which a is above b.

    Estimand: `superiority`, as of `vargha_delaney`. `a` has shape (n_a,), `b` (n_b,), at least 2
    independent units each. Null: both come from one distribution. All values equal give p = 1,
    as every relabelling gives the same U.

    Raises `TooFewUnits` below two units in a group and `BadStatisticInput` for NaN and
    infinities. Source: Mann & Whitney (1947); correction for ties as in Lehmann (1975).
    """
    first, second = two_samples(a, b, function="mann_whitney")
    pooled = np.concatenate([first, second])
    distinct = np.unique(pooled).size
    p = p_uncorrected = 1.0
    if distinct > 1:
        p, p_uncorrected = (
            float(
                scipy.stats.mannwhitneyu(
                    first, second, use_continuity=c, method="asymptotic"
                ).pvalue
            )
            for c in (True, False)
        )
    p_exact = None
    if distinct == pooled.size and max(first.size, second.size) <= MOST_EXACT:
        p_exact = probability(
            float(scipy.stats.mannwhitneyu(first, second, method="exact").pvalue)
        )
    return MannWhitney(
        u=pairs_above(first, second),
        p=probability(p),
        p_uncorrected=probability(p_uncorrected),
        p_exact=p_exact,
        superiority=share_above(first, second),
        n_a=first.size,
        n_b=second.size,
    )
