"""Score tests and intervals of two rates: their difference and their ratio, over strata.

The variance is taken at the null, with the rates that fit best under it, times N / (N - 1). So
rates of 0 % and 100 % need no special case, and an interval holds exactly the nulls that its test
does not reject. Over strata, weighted sums of distances and of variances are combined, with each
stratum's rates restricted to the same null. Should strata contradict one another outright (all
against none in some, the reverse in others) under very unequal sizes or weights, the statistic may
cross its critical value more than once, and test and interval may then disagree.

`successes_a` of `n_a` and `successes_b` of `n_b` are integers, or
sequences of one integer per stratum; each group has at least one reply in every stratum. Replies
are independent, with one rate per group and stratum. Without `weights` strata count equally where
all have the same n_a and the same n_b, and else by n_a n_b / (n_a + n_b) (Cochran 1954; Mantel &
Haenszel 1959). All raise `TooFewUnits` for an empty group
or no stratum, and `BadStatisticInput` for counts that are not integers, are negative, exceed their
n or differ in length, and for weights that are negative, all 0 or not one per stratum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ._score import (
    LARGEST_RATIO,
    Alternative,
    Counts,
    checked_strata,
    difference_interval,
    p_of_z,
    ratio_interval,
    z_difference,
    z_ratio,
)
from .checks import bad, checked, fraction, positive
from .equivalence import LARGEST_ALPHA
from .results import Interval

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreDifference:
    """Rate a minus rate b, weighted means over strata, with the two-sided p of equal rates."""

    difference: float
    interval: Interval
    p: float
    rate_a: float
    rate_b: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RateTost:
    """Score tests that rate a - rate b is above -margin (lower) and below margin (upper)."""

    p_lower: float
    p_upper: float
    p: float
    interval: Interval
    margin: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRatio:
    """Rate a over rate b, weighted means over strata, and the two-sided p-value of a ratio of 1.

    `LARGEST_RATIO` stands for an upper bound that does not exist, or is higher; where b has no
    event it stands for the ratio too.
    """

    ratio: float
    interval: Interval
    p: float
    rate_a: float
    rate_b: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioTost:
    """Score tests that rate a / rate b is above `low` (lower) and below `high` (upper)."""

    p_lower: float
    p_upper: float
    p: float
    interval: Interval
    low: float
    high: float


@checked
def score_difference(
    successes_a: Counts,
    n_a: Counts,
    successes_b: Counts,
    n_b: Counts,
    *,
    weights: ArrayLike | None = None,
    level: float = 0.95,
) -> ScoreDifference:
    """Test rate a - rate b against 0 and return its score interval, over strata.

    Estimand: the weighted mean over strata of the difference of two probabilities. The interval
    contains the estimate, stays within -1 and 1 and has a width whatever the counts. Counts,
    weights and errors as in the module docstring; a level outside (0, 1) raises
    `BadStatisticInput`.
    Source: Miettinen & Nurminen (1985), with fixed weights instead of their iterated ones.
    """
    level = fraction(level, "level")
    strata = checked_strata(successes_a, n_a, successes_b, n_b, weights=weights)
    return ScoreDifference(
        difference=strata.rate_a - strata.rate_b,
        interval=difference_interval(strata, level=level),
        p=p_of_z(z_difference(strata, 0.0), "two-sided"),
        rate_a=strata.rate_a,
        rate_b=strata.rate_b,
    )


@checked
def score_difference_p(
    successes_a: Counts,
    n_a: Counts,
    successes_b: Counts,
    n_b: Counts,
    *,
    null: float,
    alternative: Alternative,
    weights: ArrayLike | None = None,
) -> float:
    """Return the p-value of rate a - rate b = `null`, by the test that `score_difference` inverts.

    "greater" is evidence for a difference above `null`, which lies strictly between -1 and 1:
    else, and for an unknown alternative, `BadStatisticInput`. Otherwise as `score_difference`.
    """
    strata = checked_strata(successes_a, n_a, successes_b, n_b, weights=weights)
    if not -1 < null < 1:
        raise bad("null", f"{null} is not strictly within ±1")
    return p_of_z(z_difference(strata, null), alternative)


@checked
def tost_rates(
    successes_a: Counts,
    n_a: Counts,
    successes_b: Counts,
    n_b: Counts,
    *,
    margin: float,
    alpha: float = 0.05,
    weights: ArrayLike | None = None,
) -> RateTost:
    """Test that rate a - rate b lies strictly between -margin and margin, by score tests.

    Estimand, counts and weights are those of `score_difference`. `p` is the larger of the two and
    is at most alpha exactly where `interval`, at level 1 - 2 alpha, lies within the margin. Raises
    `BadStatisticInput` also for a margin outside (0, 1) or an alpha outside (0, 0.5).

    The test is asymptotic and may clear too readily where hardly any event is seen: 25 against 25
    without one clear within .10 at p = .0495, which rates of .10 and 0 show .072 of the time.
    `units_for_zero_events` and `deterministic_difference` are exact there.
    Source: Farrington & Manning (1990) for the pair of score tests; Miettinen & Nurminen (1985).
    """
    strata = checked_strata(successes_a, n_a, successes_b, n_b, weights=weights)
    margin = fraction(margin, "margin")
    alpha = fraction(alpha, "alpha", below=LARGEST_ALPHA)
    p_lower = p_of_z(z_difference(strata, -margin), "greater")
    p_upper = p_of_z(z_difference(strata, margin), "less")
    return RateTost(
        p_lower=p_lower,
        p_upper=p_upper,
        p=max(p_lower, p_upper),
        interval=difference_interval(strata, level=1 - 2 * alpha),
        margin=margin,
    )


@checked
def score_ratio(
    successes_a: Counts,
    n_a: Counts,
    successes_b: Counts,
    n_b: Counts,
    *,
    weights: ArrayLike | None = None,
    level: float = 0.95,
) -> ScoreRatio:
    """Test rate a / rate b against 1 and return its score interval, over strata.

    Estimand: the ratio of the weighted mean rates, assumed the same in every stratum by the
    interval. No event in a gives 0 with an upper bound; no event in b leaves a lower bound only,
    and `LARGEST_RATIO` (1e9) stands for the ratio and its upper bound.
    Counts, weights and errors as in the module docstring. Raises `NoVariance` when neither group
    has an event (in a stratum of positive weight) and `BadStatisticInput` for a level outside
    (0, 1). Source: Miettinen & Nurminen (1985); Koopman (1984) without the factor N / (N - 1).
    """
    level = fraction(level, "level")
    strata = checked_strata(successes_a, n_a, successes_b, n_b, weights=weights).with_events()
    rate_a, rate_b = strata.rate_a, strata.rate_b
    return ScoreRatio(
        ratio=min(LARGEST_RATIO, rate_a / rate_b) if rate_b else LARGEST_RATIO,
        interval=ratio_interval(strata, level=level),
        p=p_of_z(z_ratio(strata, 1.0), "two-sided"),
        rate_a=rate_a,
        rate_b=rate_b,
    )


@checked
def score_ratio_p(
    successes_a: Counts,
    n_a: Counts,
    successes_b: Counts,
    n_b: Counts,
    *,
    null: float,
    alternative: Alternative,
    weights: ArrayLike | None = None,
) -> float:
    """Return the p-value of rate a / rate b = `null`, by the test that `score_ratio` inverts.

    "greater" is evidence for a ratio above `null`, which lies above 0. Counts, weights, errors and
    source are those of `score_ratio`.
    """
    null = positive(null, "null")
    strata = checked_strata(successes_a, n_a, successes_b, n_b, weights=weights).with_events()
    return p_of_z(z_ratio(strata, null), alternative)


@checked
def tost_ratio(
    successes_a: Counts,
    n_a: Counts,
    successes_b: Counts,
    n_b: Counts,
    *,
    low: float,
    high: float,
    alpha: float = 0.05,
    weights: ArrayLike | None = None,
) -> RatioTost:
    """Test that rate a / rate b lies strictly between `low` and `high`, by score tests.

    Estimand, counts, weights and errors are those of `score_ratio`. `p` is the larger of the two
    and is at most alpha exactly where `interval`, at level 1 - 2 alpha, lies within the bounds.
    Raises `BadStatisticInput` also for bounds that are not above 0 or out of order, and for an
    alpha outside (0, 0.5). Source: Schuirmann (1987); Miettinen & Nurminen (1985).
    """
    low = positive(low, "low")
    high = positive(high, "high")
    if not 1 / LARGEST_RATIO <= low < high <= LARGEST_RATIO:
        raise bad("low, high", f"{low} to {high} is no range")
    alpha = fraction(alpha, "alpha", below=LARGEST_ALPHA)
    strata = checked_strata(successes_a, n_a, successes_b, n_b, weights=weights).with_events()
    p_lower = p_of_z(z_ratio(strata, low), "greater")
    p_upper = p_of_z(z_ratio(strata, high), "less")
    return RatioTost(
        p_lower=p_lower,
        p_upper=p_upper,
        p=max(p_lower, p_upper),
        interval=ratio_interval(strata, level=1 - 2 * alpha),
        low=low,
        high=high,
    )
