"""Rank tests.

Values that differ by rounding only (see `snapped`) are ties here: means of the same replies
summed in another order must not be ranked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.errors import BadStatisticInput, NoVariance, TooFewUnits

from ._arrays import ROUNDING, not_negative, probability, sample, units
from .superiority import pairs_above, share_above, snapped, two_samples

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

FEWEST_GROUPS = 2
FEWEST_TREATMENTS = 3  # of two, Friedman's test is the sign test
MATRIX = 2  # dimensions of blocks by treatments
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Kruskal:
    """Kruskal and Wallis' H, corrected for ties; `epsilon_squared` = H / (n - 1)."""

    h: float
    df: int
    p: float
    epsilon_squared: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Friedman:
    """Friedman's chi-square, corrected for ties; `kendall_w` = chi2 / (blocks × df)."""

    chi2: float
    df: int
    p: float
    kendall_w: float
    blocks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedRank:
    """`v` is the rank sum of the positive differences among the `n` that are not 0.

    `p` is two-sided; `p_greater` is small where differences tend to be above 0.
    """

    v: float
    p: float
    p_greater: float
    p_less: float
    exact: bool
    n: int
    zeros: int


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


def kruskal(groups: Sequence[ArrayLike]) -> Kruskal:
    """Test that two or more groups come from one distribution, by the means of their ranks.

    `groups` holds arrays of shape (n_i,), at least 2 independent units each. The p-value is that
    of a chi-square with one degree of freedom fewer than groups, and needs some five units per
    group to be close.

    Raises `TooFewUnits` for fewer than two groups or units in a group, `NoVariance` when all
    values are equal (H is 0 / 0), `BadStatisticInput` for NaN and infinities.
    Source: Kruskal & Wallis (1952); epsilon squared of Kelley (1935).
    """
    function = "kruskal"
    if len(groups) < FEWEST_GROUPS:
        raise TooFewUnits(group="groups", found=len(groups), needed=FEWEST_GROUPS)
    checked = [
        units(group, function=function, argument=f"groups[{i}]") for i, group in enumerate(groups)
    ]
    pooled = snapped(np.concatenate(checked))
    if np.ptp(pooled) == 0:
        raise NoVariance(statistic=function)
    ends = np.cumsum([group.size for group in checked])
    found = scipy.stats.kruskal(*np.split(pooled, ends[:-1]))
    h = max(0.0, float(found.statistic))
    return Kruskal(
        h=h,
        df=len(checked) - 1,
        p=probability(float(found.pvalue)),
        epsilon_squared=min(1.0, h / (pooled.size - 1)),
        n=pooled.size,
    )


def friedman(blocks: ArrayLike) -> Friedman:
    """Test that the treatments of each block are exchangeable, by ranks within blocks.

    `blocks` has shape (n blocks, k treatments), n >= 2 independent blocks and k >= 3. The p-value
    is that of a chi-square with k - 1 degrees of freedom.

    Raises `TooFewUnits` for fewer blocks or treatments, `NoVariance` when all values within each
    block are equal, `BadStatisticInput` for NaN, infinities and rows of different lengths.
    Source: Friedman (1937); Kendall & Babington Smith (1939) for W.
    """
    function = "friedman"
    try:
        array = np.asarray(blocks)
    except ValueError:  # ragged nesting
        raise BadStatisticInput(
            function=function, argument="blocks", problem="rows of different lengths"
        ) from None
    if array.ndim != MATRIX:
        raise BadStatisticInput(
            function=function, argument="blocks", problem=f"{array.ndim} dimensions instead of 2"
        )
    n, k = array.shape
    if k < FEWEST_TREATMENTS:
        raise TooFewUnits(group="treatments", found=k, needed=FEWEST_TREATMENTS)
    if n < FEWEST_GROUPS:
        raise TooFewUnits(group="blocks", found=n, needed=FEWEST_GROUPS)
    rows = [snapped(sample(row, function=function, argument="blocks")) for row in array]
    if all(np.ptp(row) == 0 for row in rows):
        raise NoVariance(statistic=function)
    found = scipy.stats.friedmanchisquare(*np.array(rows).T)
    chi2 = max(0.0, float(found.statistic))
    return Friedman(
        chi2=chi2,
        df=k - 1,
        p=probability(float(found.pvalue)),
        kendall_w=min(1.0, chi2 / (n * (k - 1))),
        blocks=n,
    )


def _tied_tails(ranks: NDArray[np.float64], v: float) -> tuple[float, float]:
    """Return the exact probabilities of a rank sum of at least and at most v.

    scipy is exact with ties too, but only up to 13 differences, by trying every sign.
    """
    doubled = np.rint(2 * ranks).astype(np.int64)  # half ranks are ties of two
    chances = np.zeros(int(doubled.sum()) + 1)
    chances[0] = 1.0
    for rank in doubled.tolist():
        positive = np.concatenate([np.zeros(rank), chances[:-rank]])
        chances = (chances + positive) / 2
    place = round(2 * v)
    return float(chances[place:].sum()), float(chances[: place + 1].sum())


def signed_rank(differences: ArrayLike, *, magnitude: float = 0.0) -> SignedRank:
    """Test that differences are symmetric about 0, by the ranks of their sizes.

    `differences` has shape (n,), one independent pair or unit each, at least 2. Zeros are dropped
    and counted (Wilcoxon's own rule); where the values subtracted are known, `magnitude` is that
    of the largest, and differences that are rounding beside it are zeros too. Exact up to 50
    differences, with ties or without; else normal, with corrections for ties and continuity.

    Raises `TooFewUnits` below two differences, `NoVariance` when all are 0, and
    `BadStatisticInput` for NaN and infinities. Source: Wilcoxon (1945).
    """
    function = "signed_rank"
    array = units(differences, function=function, argument="differences")
    magnitude = not_negative(magnitude, function=function, argument="magnitude")
    kept = array[np.abs(array) > ROUNDING * magnitude]
    if kept.size == 0:
        raise NoVariance(statistic=function)
    kept = np.sign(kept) * snapped(np.abs(kept))
    exact = kept.size <= MOST_EXACT
    ranks = scipy.stats.rankdata(np.abs(kept))
    v = float(ranks[kept > 0].sum())
    if exact and np.unique(ranks).size < kept.size:
        greater, less = _tied_tails(ranks, v)
    else:
        method = "exact" if exact else "asymptotic"
        greater, less = (
            float(
                scipy.stats.wilcoxon(kept, alternative=side, method=method, correction=True).pvalue
            )
            for side in ("greater", "less")
        )
    return SignedRank(
        v=v,
        p=probability(2 * min(greater, less)),
        p_greater=probability(greater),
        p_less=probability(less),
        exact=exact,
        n=kept.size,
        zeros=array.size - kept.size,
    )
