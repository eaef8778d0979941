"""Equivalence tests: whether a difference of means is smaller than a margin, either way."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pytest_bias.errors import BadStatisticInput, NoVariance
from pytest_bias.estimates import Tost

from ._arrays import (
    fraction,
    mean_and_sd,
    not_negative,
    number,
    positive,
    probability,
    sample,
    units,
)
from ._distributions import t_cdf, t_sf
from .means import Moments, moments, moments_from_summary, t_interval

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

LARGEST_ALPHA = 0.5  # at one half the interval at 1 - 2 alpha is a point


def tost_from_moments(found: Moments, *, margin: float, alpha: float, function: str) -> Tost:
    """Return the two one-sided t tests of an estimate whose standard error is above 0."""
    margin = positive(margin, function=function, argument="margin")
    alpha = fraction(alpha, function=function, argument="alpha", below=LARGEST_ALPHA)
    t_lower = (found.difference + margin) / found.se
    t_upper = (found.difference - margin) / found.se
    p_lower = probability(t_sf(t_lower, found.df))
    p_upper = probability(t_cdf(t_upper, found.df))
    return Tost(
        t_lower=t_lower,
        p_lower=p_lower,
        t_upper=t_upper,
        p_upper=p_upper,
        p=max(p_lower, p_upper),
        df=found.df,
        interval=t_interval(found.difference, found.se, found.df, level=1 - 2 * alpha),
        margin=margin,
    )


def tost_welch(a: ArrayLike, b: ArrayLike, *, margin: float, alpha: float = 0.05) -> Tost:
    """Test that mean(a) - mean(b) lies strictly between -margin and margin, by Welch's t.

    Estimand: the difference of the two population means; `margin` is in its unit. `a` has shape
    (n_a,), `b` (n_b,), each at least 2 independent units; assumptions are those of `welch`.

    Raises `TooFewUnits` below two units in a group, `NoVariance` when both groups are constant (a
    zero standard error would clear any difference inside the margin), `BadStatisticInput` for a
    margin that is not above 0 or an alpha outside (0, 0.5).
    Source: Schuirmann (1987); Welch's form as in Lakens (2017).
    """
    function = "tost_welch"
    return tost_from_moments(
        moments(a, b, function=function), margin=margin, alpha=alpha, function=function
    )


def tost_from_summary(
    *,
    mean_a: float,
    sd_a: float,
    n_a: int,
    mean_b: float,
    sd_b: float,
    n_b: int,
    margin: float,
    alpha: float = 0.05,
) -> Tost:
    """Test equivalence from published means, SDs (ddof = 1) and sizes; else as `tost_welch`."""
    function = "tost_from_summary"
    found = moments_from_summary(
        mean_a=mean_a,
        sd_a=sd_a,
        n_a=n_a,
        mean_b=mean_b,
        sd_b=sd_b,
        n_b=n_b,
        function=function,
    )
    return tost_from_moments(found, margin=margin, alpha=alpha, function=function)


def tost_paired(a: ArrayLike, b: ArrayLike, *, margin: float, alpha: float = 0.05) -> Tost:
    """Test that the mean of the pair differences a[i] - b[i] lies between -margin and margin.

    Estimand: the mean difference over pairs; `margin` is in its unit. `a` and `b` have the same
    shape (n,), n >= 2, one independent pair per place. Assumes that the mean of the differences
    is close to normal.

    Raises `BadStatisticInput` for samples of different lengths, a margin that is not above 0 or
    an alpha outside (0, 0.5); `TooFewUnits` below two pairs; `NoVariance` when every pair differs
    by the same amount (up to rounding). Source: Schuirmann (1987).
    """
    function = "tost_paired"
    first = sample(a, function=function, argument="a")
    second = sample(b, function=function, argument="b")
    if first.size != second.size:
        raise BadStatisticInput(
            function=function,
            argument="b",
            problem=f"{second.size} values for {first.size} values of a",
        )
    pairs = units(first - second, function=function, argument="pairs")
    magnitude = float(max(np.abs(first).max(), np.abs(second).max()))
    mean, sd = mean_and_sd(pairs, magnitude=magnitude)
    if sd == 0:
        raise NoVariance(statistic=function)
    found = Moments(difference=mean, se=sd / math.sqrt(pairs.size), df=pairs.size - 1)
    return tost_from_moments(found, margin=margin, alpha=alpha, function=function)


def tost_from_estimate(
    *, estimate: float, se: float, df: float, margin: float, alpha: float = 0.05
) -> Tost:
    """Test that what `estimate` estimates lies strictly between -margin and margin.

    Estimand: whatever the estimate is one of; `estimate`, its standard error `se` and `margin` are
    in its unit, and `df` > 0 are the degrees of freedom of `se`. Assumes that (estimate - truth) /
    se is close to Student's t.

    Raises `NoVariance` for a standard error of 0 (it would clear any estimate inside the margin);
    `BadStatisticInput` for a negative one, df or a margin that is not above 0, and an alpha
    outside (0, 0.5). Source: Schuirmann (1987).
    """
    function = "tost_from_estimate"
    se = not_negative(se, function=function, argument="se")
    if se == 0:
        raise NoVariance(statistic=function)
    found = Moments(
        difference=number(estimate, function=function, argument="estimate"),
        se=se,
        df=positive(df, function=function, argument="df"),
    )
    return tost_from_moments(found, margin=margin, alpha=alpha, function=function)
