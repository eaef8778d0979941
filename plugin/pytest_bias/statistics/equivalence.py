"""Equivalence tests: whether a difference of means is smaller than a margin, either way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import NoVariance
from ._distributions import t_sf
from .checks import checked, fraction, not_negative, number, positive, probability
from .means import Moments, moments, t_interval
from .results import Tost

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

LARGEST_ALPHA = 0.5  # at one half the interval at 1 - 2 alpha is a point


def tost_from_moments(found: Moments, *, margin: float, alpha: float) -> Tost:
    """Return the two one-sided t tests of an estimate whose standard error is above 0."""
    margin = positive(margin, "margin")
    alpha = fraction(alpha, "alpha", below=LARGEST_ALPHA)
    t_lower = (found.difference + margin) / found.se
    t_upper = (found.difference - margin) / found.se
    p_lower = probability(t_sf(t_lower, found.df))
    p_upper = probability(t_sf(-t_upper, found.df))
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


@checked
def tost_welch(a: ArrayLike, b: ArrayLike, *, margin: float, alpha: float = 0.05) -> Tost:
    """Test that mean(a) - mean(b) lies strictly between -margin and margin, by Welch's t.

    Estimand: the difference of the two population means; `margin` is in its unit. `a` has shape
    (n_a,), `b` (n_b,), each at least 2 independent units; assumptions are those of `welch`.

    Raises `TooFewUnits` below two units in a group, `NoVariance` when both groups are constant (a
    zero standard error would clear any difference inside the margin), `BadStatisticInput` for a
    margin that is not above 0 or an alpha outside (0, 0.5).
    Source: Schuirmann (1987); Welch's form as in Lakens (2017).
    """
    return tost_from_moments(moments(a, b), margin=margin, alpha=alpha)


@checked
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
    se = not_negative(se, "se")
    if se == 0:
        raise NoVariance
    found = Moments(
        difference=number(estimate, "estimate"),
        se=se,
        df=positive(df, "df"),
    )
    return tost_from_moments(found, margin=margin, alpha=alpha)
