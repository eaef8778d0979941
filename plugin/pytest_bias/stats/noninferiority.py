"""Non-inferiority of a candidate's bias: no larger than a baseline's plus a margin, in size.

The null is |candidate| >= |baseline| + margin. Absolute values make plug-in tests too ready to
pass: near 0 the sign of an estimate is noise. The two-sign rule never estimates a sign. Whatever
the truth, |candidate| is a * candidate for one a of +1 and -1, and |baseline| is at least
b * baseline for both b. So under the null one a has a * candidate - b * baseline >= margin for
both b, and passing wants, for each a, some b whose upper bound of it is below the margin. Two
bounds may serve, hence each at 1 - alpha / 2.

That a candidate is worse, |candidate| > |baseline|, is the same rule with the roles exchanged and
no margin: for each b, some a whose lower bound of a * candidate - b * baseline is above 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit  # type: ignore[import-untyped, unused-ignore]

from ..errors import NoVariance
from .checks import Floats, mean_and_sd
from .means import StudentEstimate, difference_of
from .results import ALPHA

SIGNS = (1.0, -1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class NonInferiority:
    """A test that |candidate| < |baseline| + margin by the two-sign rule, and that it is larger.

    Of the better upper bounds of candidate - b * baseline and of -candidate - b * baseline over
    both signs b, each one-sided at 1 - alpha / 2, `bound` is the larger, an upper bound of
    |candidate| - |baseline|; `non_inferior` says that it is below the margin. Without a margin it
    cannot be. `larger` says that |candidate| > |baseline| is shown; `least` is a lower bound of
    the difference, at the level of that.
    """

    bound: float
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

    bound = max(min(upper(found[a, b]) for b in SIGNS) for a in SIGNS)
    least = min(max(end(found[a, b], 1 - alpha_larger / 2) for a in SIGNS) for b in SIGNS)
    return NonInferiority(
        bound=bound,
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
            found[a, a * b] = moments.times(a)
    return _two_signs(found, margin=margin, alpha_larger=alpha_larger)


def _sum_of_means(groups: Sequence[tuple[float, Floats]], *, magnitude: float) -> StudentEstimate:
    """Return the weighted sum of the means of independent groups."""
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
    candidate: StudentEstimate,
    baseline: StudentEstimate,
    *,
    margin: float | None,
    alpha_larger: float = ALPHA,
) -> NonInferiority:
    """Test |candidate| < |baseline| + margin from two independent estimates, where nothing pairs.

    Estimand as in `non_inferior_paired_groups`, with Welch-Satterthwaite degrees of freedom. Each
    estimate is close to normal with its standard error and degrees of freedom. One standard error
    may be 0 (a constant), not both. Source: Satterthwaite (1946); else as in
    `non_inferior_paired_groups`.
    """
    every = [(a, b) for a in SIGNS for b in SIGNS]
    found = {(a, b): difference_of(candidate.times(a), baseline.times(b)) for a, b in every}
    return _two_signs(found, margin=margin, alpha_larger=alpha_larger)
