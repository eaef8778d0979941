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
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit  # type: ignore[import-untyped, unused-ignore]

from ..errors import NoVariance
from .checks import EQUAL, Floats, mean_and_sd, probability
from .means import StudentEstimate, difference_of
from .resampling import codes_of
from .results import ALPHA, POWER, Permutation

SIGNS = (1.0, -1.0)
CHUNK = 2**19  # exchanged values held at once, 4 MiB

Size = Callable[[Floats], Floats]


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
    def end(each: StudentEstimate, level: float) -> float:
        return each.estimate + float(stdtrit(each.df, 1 - level)) * each.se

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
    pairs = [
        (weight, np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64))
        for weight, ours, theirs in groups
    ]
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


def _sum_of_means(groups: Sequence[tuple[float, Floats]], *, magnitude: float) -> StudentEstimate:
    """The weighted sum of the means of independent groups."""
    moments = [mean_and_sd(values, magnitude=magnitude) for _, values in groups]
    means, sds = np.array(moments).T
    weights = np.array([weight for weight, _ in groups])
    sizes = np.array([values.size for _, values in groups])
    terms = (weights * sds) ** 2 / sizes
    if not terms.any():
        raise NoVariance
    df = float(terms.sum() ** 2 / (terms**2 / (sizes - 1)).sum())
    return StudentEstimate(estimate=float(weights @ means), se=math.sqrt(terms.sum()), df=df)


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


def shrunken_best(groups: Sequence[tuple[float, ArrayLike]]) -> tuple[Floats, ...]:
    """Return the contrasts of the units that a candidate of several versions is held beside.

    Each group is (weight, contrasts): an array of shape (k, n), k >= 2 versions by n >= 2 units,
    in the unit of the margin. With B_ij that of unit i in version j, mu_i its mean over versions
    and m the version with the smallest size of the weighted sum of means, the result is
    (1 - w) B_im + w mu_i for each group. The sum of means of a version has the sampling variance
    s^2 = k / (k - 1) * mean_j Var_i(B_ij - mu_i) / n, summed over groups by weight^2.
    Source: `shrinkage`.
    """
    arrays = [(weight, np.asarray(contrasts, dtype=np.float64)) for weight, contrasts in groups]
    k = arrays[0][1].shape[0]
    means = np.sum([weight * array.mean(axis=1) for weight, array in arrays], axis=0)
    noise = math.fsum(
        weight**2 * float((array - array.mean(axis=0)).var(axis=1, ddof=1).mean()) / array.shape[1]
        for weight, array in arrays
    )
    best, w = shrinkage(means, k / (k - 1) * noise)
    return tuple((1 - w) * array[best] + w * array.mean(axis=0) for _, array in arrays)


def shrunken_best_from_estimates(estimates: ArrayLike, se: ArrayLike) -> tuple[float, float]:
    """Return the estimate that a candidate is held beside, and its standard error; nothing pairs.

    `estimates` and `se` are those of k >= 2 independent versions. With s^2 the mean of se^2 the
    variance is s^2 ((1 - w)^2 + w^2 / k + 2 w (1 - w) / k). Source: `shrinkage`.
    """
    found = np.asarray(estimates, dtype=np.float64)
    square = float((np.asarray(se, dtype=np.float64) ** 2).mean())
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
    t, z = float(stdtrit(found.df, 1 - ALPHA / 2)), float(ndtri(POWER))
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


def spread_of_means(means: Floats) -> Floats:
    """The standard deviation (ddof = 1) of each row of group means."""
    return np.asarray(means.std(axis=-1, ddof=1), dtype=np.float64)


def sum_of_gaps(weights: ArrayLike) -> Size:
    """Σ over gaps of |Σ over groups of weight × mean|, of each row of group means.

    `weights` has shape (groups, gaps).
    """
    matrix = np.asarray(weights, dtype=np.float64)

    def size(means: Floats) -> Floats:
        return np.asarray(np.abs(means @ matrix).sum(axis=-1), dtype=np.float64)

    return size


def exchange_size(
    candidate: ArrayLike,
    baseline: ArrayLike,
    *,
    groups: Sequence[int],
    units: Sequence[Hashable],
    size: Size,
    resamples: int = 10_000,
    seed: int,
) -> Permutation:
    """Test one-sided whether a size of group means is larger for the candidate.

    The size has no sign and no t statistic, but where two models do the same on units like these
    it does not matter which of them gave which values of a unit. `candidate` and `baseline` have
    shape (n,); place i holds either model's value of the same unit in the same group, `groups` its
    group from 0 (two or more, each with a value) and `units` the unit. Statistic: size(candidate)
    - size(baseline). p is the share of `resamples` random exchanges of whole units with at least
    as large a one (up to rounding), the observed among them. A large p shows nothing.
    Source: Fisher (1935); Phipson & Smyth (2010) for random exchanges.
    """
    ours = np.asarray(candidate, dtype=np.float64)
    theirs = np.asarray(baseline, dtype=np.float64)
    of = np.asarray(groups, dtype=np.intp)
    sizes = np.bincount(of)
    first, second = (np.bincount(of, weights=each) / sizes for each in (ours, theirs))
    rows_of = codes_of(units)
    # what exchanging a unit takes from the candidate's means, and adds to the baseline's
    moved = np.zeros((rows_of.max() + 1, sizes.size))
    np.add.at(moved, (rows_of, of), (ours - theirs) / sizes[of])
    scale = float(max(np.abs(ours).max(), np.abs(theirs).max()))
    observed = float(size(first) - size(second)) - EQUAL * scale * sizes.size
    rng = np.random.default_rng(seed)
    rows = max(1, CHUNK // len(moved))
    extreme = 0
    for start in range(0, resamples, rows):
        shape = (min(rows, resamples - start), len(moved))
        exchanged = rng.integers(0, 2, size=shape, dtype=np.int8).astype(np.float64) @ moved
        extreme += int((size(first - exchanged) - size(second + exchanged) >= observed).sum())
    p = (extreme + 1) / (resamples + 1)
    error = math.sqrt(p * (1 - p) / resamples)
    return Permutation(p=probability(p), exact=False, resamples=resamples, seed=seed, error=error)
