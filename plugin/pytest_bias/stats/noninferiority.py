"""Non-inferiority of a candidate's bias: no larger than a baseline's plus a margin, in size.

The null is |candidate| >= |baseline| + margin. Absolute values make plug-in tests too ready to
pass: near 0 the sign of an estimate is noise. The two-sign rule never estimates a sign. Whatever
the truth, |candidate| is a * candidate for one a of +1 and -1, and |baseline| is at least
b * baseline for both b. So under the null one a has a * candidate - b * baseline >= margin for
both b, and passing wants, for each a, some b whose upper bound of it is below the margin. Two
bounds may serve, hence each at 1 - alpha / 2.

That a candidate is worse, |candidate| > |baseline|, is the same rule with the roles exchanged and
no margin: for each b, some a whose lower bound of a * candidate - b * baseline is above 0.

What several accepted versions show is put together by `shrunken_best`: the smallest of them, drawn
towards their mean as far as they differ by no more than chance, and by no more than a standard
error. The smallest estimate alone is a lucky one, which stops what has not changed; without the
limit small steps, each accepted, would draw the mean along.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ..errors import NoVariance
from ._old._distributions import normal_isf, t_isf
from ._old.checks import (
    Floats,
    alike,
    bad,
    checked,
    fraction,
    mean_and_sd,
    number,
    positive,
    sample,
    units,
)
from ._old.means import StudentEstimate, difference_of, satterthwaite
from .results import ALPHA, POWER

SIGNS = (1.0, -1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class NonInferiority:
    """A test that |candidate| < |baseline| + margin by the two-sign rule, and that it is larger.

    Of the better upper bounds of candidate - b * baseline and of -candidate - b * baseline over
    both signs b, each one-sided at 1 - alpha / 2, `bound` is the larger, an upper bound of
    |candidate| - |baseline|, with the standard error `se` and its `df`; `non_inferior` says that
    it is below the margin. Without a margin it cannot be. `larger` says that |candidate| >
    |baseline| is shown; `least` is a lower bound of the difference, at the level of that.
    """

    bound: float
    se: float
    df: float
    margin: float | None
    non_inferior: bool
    least: float
    larger: bool


def _two_signs(
    found: dict[tuple[float, float], StudentEstimate],
    *,
    margin: float | None,
    alpha_larger: float,
) -> NonInferiority:
    if margin is not None:
        margin = positive(margin, "margin")
    alpha_larger = fraction(alpha_larger, "alpha_larger")

    def end(each: StudentEstimate, level: float) -> float:
        return each.estimate + t_isf(level, each.df) * each.se

    def upper(each: StudentEstimate) -> float:
        return end(each, ALPHA / 2)

    deciding = max((min((found[a, b] for b in SIGNS), key=upper) for a in SIGNS), key=upper)
    bound = upper(deciding)
    least = min(max(end(found[a, b], 1 - alpha_larger / 2) for a in SIGNS) for b in SIGNS)
    return NonInferiority(
        bound=bound,
        se=deciding.se,
        df=deciding.df,
        margin=margin,
        non_inferior=margin is not None and bound < margin,
        least=least,
        larger=least > 0,
    )


@checked
def non_inferior_paired_groups(
    groups: Sequence[tuple[float, ArrayLike, ArrayLike]],
    *,
    margin: float | None,
    alpha_larger: float = ALPHA,
) -> NonInferiority:
    """Test |candidate| < |baseline| + margin on a weighted sum of the means of groups of units.

    Each group is (weight, candidate, baseline): two arrays of one shape (n,), n >= 2, whose place
    i holds the contrasts of the same unit under either model, in the unit of `margin`. Estimand:
    the difference of the sizes of the two sums of weight times mean. For signs a and b the sum of
    weight * mean(a * candidate - b * baseline) has the variance of the sum of weight^2 * s^2 / n,
    with s^2 that of a group's differences, and Welch-Satterthwaite degrees of freedom. Assumes
    independent units, and sums and differences of the two means close to normal. `NoVariance` when
    all differences, or all sums, are constant within every group, as those of the same replies
    are.
    Source: derived in the module docstring; Satterthwaite (1946); Berger (1982) for requiring
    every bound.
    """
    pairs = [_pairs(*group) for group in groups]
    if not pairs:
        raise bad("groups", "there are none")
    magnitude = max(float(np.abs(both).max()) for _, *both in pairs)
    found = {}
    for b in SIGNS:
        moments = _sum_of_means(
            [(weight, ours - b * theirs) for weight, ours, theirs in pairs], magnitude=magnitude
        )
        for a in SIGNS:
            # the candidate's sign a goes to both terms, so that of the baseline becomes a b
            found[a, a * b] = replace(moments, estimate=a * moments.estimate)
    return _two_signs(found, margin=margin, alpha_larger=alpha_larger)


def _pairs(
    weight: float, candidate: ArrayLike, baseline: ArrayLike
) -> tuple[float, Floats, Floats]:
    """A group, checked."""
    ours = sample(candidate, "candidate")
    theirs = sample(baseline, "baseline")
    alike(theirs, "baseline", n=ours.size, of="contrasts of the candidate")
    units(ours, "units")
    if number(weight, "weight") == 0:
        raise bad("weight", "is 0")
    return float(weight), ours, theirs


def _sum_of_means(groups: Sequence[tuple[float, Floats]], *, magnitude: float) -> StudentEstimate:
    """The weighted sum of the means of independent groups."""
    estimate, se, df = 0.0, 0.0, math.inf
    for weight, values in groups:
        mean, sd = mean_and_sd(values, magnitude=magnitude)
        estimate += weight * mean
        if sd:
            own = abs(weight) * sd / math.sqrt(values.size)
            se, df = satterthwaite(se, df, own, float(values.size - 1))
    if se == 0:
        raise NoVariance
    return StudentEstimate(estimate=estimate, se=se, df=df)


@checked
def non_inferior_from_estimates(
    *,
    candidate: float,
    se_candidate: float,
    df_candidate: float,
    baseline: float,
    se_baseline: float,
    df_baseline: float,
    margin: float | None,
    alpha_larger: float = ALPHA,
) -> NonInferiority:
    """Test |candidate| < |baseline| + margin from two independent estimates, where nothing pairs.

    Estimand as in `non_inferior_paired_groups`, with Welch-Satterthwaite degrees of freedom. Each
    estimate is close to normal with its standard error and degrees of freedom. One standard error
    may be 0 (a constant), not both. Source: Satterthwaite (1946); else as in
    `non_inferior_paired_groups`.
    """
    ours, theirs = (se_candidate, df_candidate), (se_baseline, df_baseline)
    found = {
        (a, b): difference_of(a * candidate, *ours, b * baseline, *theirs)
        for a in SIGNS
        for b in SIGNS
    }
    return _two_signs(found, margin=margin, alpha_larger=alpha_larger)


@checked
def shrunken_best(groups: Sequence[tuple[float, ArrayLike]]) -> tuple[Floats, ...]:
    """Return the contrasts of the units that a candidate of several versions is held beside.

    Each group is (weight, contrasts): an array of shape (k, n), k >= 2 versions by n >= 2 units,
    in the unit of the margin. With B_ij that of unit i in version j, mu_i its mean over versions
    and m the version with the smallest size of the weighted sum of means, the result is
    (1 - w) B_im + w mu_i for each group. The sum of means of a version has the sampling variance
    s^2 = k / (k - 1) * mean_j Var_i(B_ij - mu_i) / n, summed over groups by weight^2.
    Source: `shrinkage`.
    """
    arrays = []
    for weight, contrasts in groups:
        array = np.asarray(contrasts, dtype=float)
        if array.ndim != 2 or min(array.shape) < 2 or not np.isfinite(array).all():  # noqa: PLR2004
            raise bad("groups", "are not finite contrasts of two versions and two units or more")
        arrays.append((number(weight, "weight"), array))
    if not arrays or len({array.shape[0] for _, array in arrays}) != 1:
        raise bad("groups", "are none, or not of the same versions")
    k = arrays[0][1].shape[0]
    means = np.sum([weight * array.mean(axis=1) for weight, array in arrays], axis=0)
    noise = math.fsum(
        weight**2 * float((array - array.mean(axis=0)).var(axis=1, ddof=1).mean()) / array.shape[1]
        for weight, array in arrays
    )
    best, w = shrinkage(means, k / (k - 1) * noise)
    return tuple((1 - w) * array[best] + w * array.mean(axis=0) for _, array in arrays)


@checked
def shrunken_best_from_estimates(estimates: ArrayLike, se: ArrayLike) -> tuple[float, float]:
    """Return the estimate that a candidate is held beside, and its standard error; nothing pairs.

    `estimates` and `se` are those of k >= 2 independent versions. With s^2 the mean of se^2 the
    variance is s^2 ((1 - w)^2 + w^2 / k + 2 w (1 - w) / k). Source: `shrinkage`.
    """
    found, errors = sample(estimates, "estimates"), sample(se, "se")
    alike(errors, "se", n=found.size, of="estimates")
    square = float((errors**2).mean())
    best, w = shrinkage(found, square)
    part = (1 - w) ** 2 + (w**2 + 2 * w * (1 - w)) / found.size
    return float((1 - w) * found[best] + w * found.mean()), math.sqrt(square * part)


def shrinkage(means: Floats, square: float) -> tuple[int, float]:
    """Return the version with the smallest size, and the weight w of the mean of all beside it.

    w is 1 - lambda with lambda = tau^2 / (tau^2 + s^2), tau^2 = max(0, Var_j - s^2), the share of
    what versions differ by that is no chance, and at most what moves the best by one standard
    error s. `square` is s^2. Source: DerSimonian & Laird (1986) for tau^2; James & Stein (1961).
    """
    best = int(np.abs(means).argmin())
    between = max(0.0, float(means.var(ddof=1)) - square)
    w = square / (between + square) if square else 0.0
    apart = abs(float(means.mean()) - float(means[best]))
    return best, min(w, math.sqrt(square) / apart) if apart else w


@checked
def replication_to_decide(found: NonInferiority) -> float | None:
    """Return how many times the replicates of both models would show that nothing grew.

    What was recorded stays, and what is added is assumed to show no change, at the spread seen:
    with x the share of the recorded among all, the difference found counts x times, its standard
    error sqrt(x) times, and the added replicates spread it by se * sqrt(x (1 - x)). The bound is
    then below the margin with probability .90. 1 where it is already; None without a margin.
    No power at the estimate found: the truth is taken to be no change (Hoenig & Heisey 2001).
    """
    if found.margin is None:
        return None
    t = t_isf(ALPHA / 2, found.df)
    z = -normal_isf(POWER)
    difference, margin = found.bound - t * found.se, found.margin

    def short(x: float) -> bool:
        spread = t * math.sqrt(x) + z * math.sqrt(x * (1 - x))
        return difference * x + found.se * spread > margin

    low, high = 0.0, 1.0
    if found.bound < margin:
        return 1.0
    for _ in range(60):  # a concave function of x that starts below the margin and ends above it
        middle = (low + high) / 2
        low, high = (low, middle) if short(middle) else (middle, high)
    return 1 / low if low else None
