"""Non-inferiority of a candidate's bias: no larger than a baseline's plus a margin, in size.

The null is |candidate| >= |baseline| + margin. Absolute values make plug-in tests too ready to
pass: near 0 the sign of an estimate is noise. The two-sign rule never estimates a sign. Whatever
the truth, |candidate| is a * candidate for one a of +1 and -1, and |baseline| is at least
b * baseline for both b. So under the null one a has a * candidate - b * baseline >= margin for
both b, and passing wants, for each a, some b whose upper bound of it is below the margin. Two
bounds may serve, hence each at 1 - alpha / 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import special  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from ..errors import NoVariance
from .checks import (
    Floats,
    alike,
    bad,
    checked,
    fraction,
    mean_and_sd,
    not_negative,
    number,
    positive,
    probability,
    sample,
    units,
)
from .means import Moments, difference_of, satterthwaite

SIGNS = (1.0, -1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class NonInferiority:
    """A test that |candidate| < |baseline| + margin by the two-sign rule.

    Of the better upper bounds of candidate - b * baseline and of -candidate - b * baseline over
    both signs b, each one-sided at 1 - alpha / 2, `bound` is the larger, an upper bound of
    |candidate| - |baseline|; `non_inferior` says that it is below the margin, and `p` is then
    below alpha.
    """

    bound: float
    p: float
    margin: float
    non_inferior: bool


def _two_signs(
    found: dict[tuple[float, float], Moments], *, margin: float, alpha: float
) -> NonInferiority:
    margin = positive(margin, "margin")
    alpha = fraction(alpha, "alpha")
    best: list[float] = []
    p_values: list[float] = []
    for a in SIGNS:
        both = [found[a, b] for b in SIGNS]
        difference = np.array([each.difference for each in both])
        se = np.array([each.se for each in both])
        df = np.array([each.df for each in both])
        best.append(float((difference - special.stdtrit(df, alpha / 2) * se).min()))
        p_values.append(float(special.stdtr(df, (difference - margin) / se).min()))
    bound = max(best)
    return NonInferiority(
        bound=bound,
        p=probability(2 * max(p_values)),
        margin=margin,
        non_inferior=bound < margin,
    )


@checked
def non_inferior_paired_groups(
    groups: Sequence[tuple[float, ArrayLike, ArrayLike]], *, margin: float, alpha: float = 0.05
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
            found[a, a * b] = replace(moments, difference=a * moments.difference)
    return _two_signs(found, margin=margin, alpha=alpha)


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


def _sum_of_means(groups: Sequence[tuple[float, Floats]], *, magnitude: float) -> Moments:
    """The weighted sum of the means of independent groups."""
    difference, se, df = 0.0, 0.0, math.inf
    for weight, values in groups:
        mean, sd = mean_and_sd(values, magnitude=magnitude)
        difference += weight * mean
        if sd:
            own = abs(weight) * sd / math.sqrt(values.size)
            se, df = satterthwaite(se, df, own, float(values.size - 1))
    if se == 0:
        raise NoVariance
    return Moments(difference=difference, se=se, df=df)


@checked
def non_inferior_from_estimates(
    *,
    candidate: float,
    se_candidate: float,
    df_candidate: float,
    baseline: float,
    se_baseline: float,
    df_baseline: float,
    margin: float,
    alpha: float = 0.05,
) -> NonInferiority:
    """Test |candidate| < |baseline| + margin from two independent estimates, where nothing pairs.

    Estimand as in `non_inferior_paired_groups`, with Welch-Satterthwaite degrees of freedom. Each
    estimate is close to normal with its standard error and degrees of freedom. One standard error
    may be 0 (a constant), not both. Source: Satterthwaite (1946); else as in
    `non_inferior_paired_groups`.
    """
    ours = number(candidate, "candidate")
    theirs = number(baseline, "baseline")
    errors = (
        not_negative(se_candidate, "se_candidate"),
        positive(df_candidate, "df_candidate"),
        not_negative(se_baseline, "se_baseline"),
        positive(df_baseline, "df_baseline"),
    )
    found = {
        (a, b): difference_of(a * ours, *errors[:2], b * theirs, *errors[2:])
        for a in SIGNS
        for b in SIGNS
    }
    return _two_signs(found, margin=margin, alpha=alpha)
