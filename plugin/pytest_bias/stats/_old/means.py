"""Means: described, compared by Welch's t or over fixed cells, and tested for equivalence.

scipy tests a difference from summaries but gives neither its degrees of freedom nor its interval,
and warns on nearly constant data; so all forms go through one small sum here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import NoVariance
from ._distributions import t_isf, t_sf
from .checks import (
    LARGEST,
    ROUNDING,
    Floats,
    bad,
    checked,
    enough,
    fraction,
    mean_and_sd,
    not_negative,
    number,
    positive,
    probability,
    sample,
    samples,
    units,
)
from .results import ALPHA, LEVEL, Description, Interval, Tost

REPLICATED = 2  # replies that a cell needs for a variance of its own


@checked
def describe(values: ArrayLike) -> Description:
    """Describe one sample of n >= 1 values, in their unit.

    The SD has ddof = 1, the standard error is SD / sqrt(n); both are None for one value. The
    quartiles are of type 7 (Hyndman & Fan 1996). Values that differ only by rounding have an SD of
    0.
    """
    array = units(values, "values", needed=1)
    minimum, q1, median, q3, maximum = np.quantile(array, (0, 0.25, 0.5, 0.75, 1)).tolist()
    if array.size == 1:
        mean, sd, se = minimum, None, None
    else:
        mean, sd = mean_and_sd(array)
        se = sd / math.sqrt(array.size)
    return Description(
        n=array.size,
        mean=mean,
        median=median,
        sd=sd,
        se=se,
        minimum=minimum,
        q1=q1,
        q3=q3,
        maximum=maximum,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StudentEstimate:
    """An estimate that Student's t tests: its standard error, above 0, and degrees of freedom.

    Assumes that (estimate - truth) / se is close to Student's t.
    """

    estimate: float
    se: float
    df: float

    @property
    def t(self) -> float:
        """The statistic of no effect."""
        return self.estimate / self.se

    @property
    def p(self) -> float:
        """The two-sided p-value of no effect, floored."""
        return p_from_t(self.t, self.df)

    @property
    def interval(self) -> Interval:
        """The two-sided interval at 95 %."""
        return self.at_level(LEVEL)

    def at_level(self, level: float) -> Interval:
        """Return the two-sided interval at a confidence level."""
        return t_interval(self.estimate, self.se, self.df, level=level)

    def tost(self, margin: float) -> Tost:
        """Test that what is estimated lies strictly between -margin and margin.

        `margin` is in the unit of the estimate, alpha that of the verdict rule. Source: Schuirmann
        (1987); of two groups in Welch's form as in Lakens (2017).
        """
        margin = positive(margin, "margin")
        t_lower = (self.estimate + margin) / self.se
        t_upper = (self.estimate - margin) / self.se
        p_lower = probability(t_sf(t_lower, self.df))
        p_upper = probability(t_sf(-t_upper, self.df))
        return Tost(
            t_lower=t_lower,
            p_lower=p_lower,
            t_upper=t_upper,
            p_upper=p_upper,
            p=max(p_lower, p_upper),
            df=self.df,
            interval=self.at_level(1 - 2 * ALPHA),
            margin=margin,
        )


def satterthwaite(se_a: float, df_a: float, se_b: float, df_b: float) -> tuple[float, float]:
    """Return SE and df of a difference of two independent estimates (Satterthwaite 1946).

    In shares of the variance rather than in variances: their squares would under- or overflow.
    """
    se = math.hypot(se_a, se_b)
    share_a, share_b = (se_a / se) ** 2, (se_b / se) ** 2
    return se, 1 / (share_a**2 / df_a + share_b**2 / df_b)


@checked
def t_interval(estimate: float, se: float, df: float, *, level: float) -> Interval:
    """Return the two-sided Student t interval of an estimate."""
    half = se * t_isf((1 - fraction(level, "level")) / 2, df)
    return Interval(low=estimate - half, high=estimate + half, level=level)


@checked
def p_from_t(t: float, df: float) -> float:
    """Return the two-sided p-value, floored, of a t statistic on `df` > 0 degrees of freedom."""
    return probability(2 * t_sf(abs(number(t, "t")), positive(df, "df")))


@checked
def difference_of(
    first: float,
    se_first: float,
    df_first: float,
    second: float,
    se_second: float,
    df_second: float,
) -> StudentEstimate:
    """Return first - second, independent estimates such as a model's and the one of people.

    Each is close to normal with its standard error and degrees of freedom, in one unit. One
    standard error may be 0 (a constant); where both are, `NoVariance`.
    Source: Satterthwaite (1946); Welch (1947).
    """
    ses = not_negative(se_first, "se_first"), not_negative(se_second, "se_second")
    if max(ses) == 0:
        raise NoVariance
    dfs = positive(df_first, "df_first"), positive(df_second, "df_second")
    se, df = satterthwaite(ses[0], dfs[0], ses[1], dfs[1])
    return StudentEstimate(
        estimate=number(first, "first") - number(second, "second"), se=se, df=df
    )


@checked
def welch(a: ArrayLike, b: ArrayLike) -> StudentEstimate:
    """Test mean(a) - mean(b) without assuming equal variances.

    Estimand: the difference of the two population means, in the unit of the values. `a` has shape
    (n_a,), `b` (n_b,), each at least 2 independent units. Assumes independent groups and means
    that are close to normal. One constant group is fine: it contributes no variance; two (up to
    rounding) raise `NoVariance`: a zero standard error would clear whatever lies inside a margin.
    Source: Welch (1947).
    """
    groups = units(a, "a"), units(b, "b")
    # Beside values of the other group, rounding of values near 0 is no variance either.
    magnitude = float(max(np.abs(group).max() for group in groups))
    parts: list[float] = []
    for group in groups:
        mean, sd = mean_and_sd(group, magnitude=magnitude)
        parts += [mean, sd / math.sqrt(group.size), group.size - 1]
    return difference_of(*parts)


@checked
def se_from_t(*, difference: float, t: float) -> float:
    """Return the standard error that a published difference and its t statistic imply: |d / t|.

    In the unit of the difference; signs are ignored, as publications print t either way round.
    """
    return positive(abs(difference), "difference") / positive(abs(t), "t")


@dataclass(frozen=True, slots=True, kw_only=True)
class StratifiedContrast(StudentEstimate):
    """A weighted sum of cell means; `pooled_sd` is that of replies within cells."""

    pooled_sd: float


def _cells_in_use(cells: Sequence[ArrayLike], weights: ArrayLike) -> tuple[list[Floats], Floats]:
    """Return the cells of non-zero weight and their weights, checked."""
    given = sample(weights, "weights")
    if given.size != len(cells):
        raise bad("weights", f"{given.size} weights for {len(cells)} cells")
    if not given.any():
        raise bad("weights", "are all 0")
    checked = samples(cells)
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
def stratified_contrast(cells: Sequence[ArrayLike], weights: ArrayLike) -> StratifiedContrast:
    """Test a weighted sum of cell means, for exactly these cells.

    The cells (these names, these prompts) are the whole target, not a sample of one: only replies
    vary. Estimand: sum of w_c mean_c, in the unit of the values when positive and negative weights
    each sum to 1 in size. `cells` holds k arrays of independent replies, of shapes (n_c,);
    `weights` has shape (k,). A cell of weight 0 takes no part and may be empty.
    Means are unbiased whatever differs between cells; cell variances may differ too.

    se^2 is the sum of w_c^2 s_c^2 / n_c. A cell with one reply takes the pooled variance of the
    others, which assumes that it varies like them, and adds no degrees of freedom: each other
    cell's share of that pooled variance is added to its own term. With these terms v_c on nu_c
    degrees of freedom, df = (sum v)^2 / sum(v^2 / (nu + 2)) - 2, kept between the smallest nu and
    their sum. Without that correction the df of cells of 2 replies come out at a third of theirs.
    `TooFewUnits` when fewer than 2 cells have 2 replies.
    Source: Welch (1947) for the corrected df; Satterthwaite (1946).
    """
    used, weight = _cells_in_use(cells, weights)
    sizes = np.array([cell.size for cell in used], dtype=np.int64)
    replicated = sizes >= REPLICATED
    enough(int(replicated.sum()), f"cells with {REPLICATED} replies")
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
        pooled_sd=math.sqrt(pooled),
    )
