"""Two groups' rates compared within strata: Cochran, Mantel and Haenszel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pytest_bias.errors import BadStatisticInput, NoVariance, TooFewUnits
from pytest_bias.estimates import Interval

from ._arrays import ROUNDING, fraction, probability
from ._distributions import chi2_sf, normal_isf
from .tables import FOURFOLD, counted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

STRATA_FOURFOLD = 3  # dimensions of strata by rows by columns


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonOddsRatio:
    """The odds ratio shared by the strata, and its interval."""

    estimate: float
    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonRiskDifference:
    """Rate of the first row minus rate of the second, shared by the strata."""

    estimate: float
    se: float
    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class MantelHaenszel:
    """The stratified test, without and with continuity correction, and common effects.

    An effect is None where it has no finite estimate with an interval of some width.
    """

    chi2: float
    p: float
    chi2_corrected: float
    p_corrected: float
    odds_ratio: CommonOddsRatio | None
    risk_difference: CommonRiskDifference | None
    strata: int
    dropped_strata: int


def _risk_difference(tables: NDArray[np.float64], *, level: float) -> CommonRiskDifference | None:
    """Return the Mantel-Haenszel risk difference with Sato's variance."""
    successes_a, successes_b = tables[:, 0, 0], tables[:, 1, 0]
    n_a, n_b = tables[:, 0].sum(axis=1), tables[:, 1].sum(axis=1)
    n = n_a + n_b
    weights = n_a * n_b / n
    total = float(weights.sum())
    estimate = float(((successes_a * n_b - successes_b * n_a) / n).sum()) / total
    sparse = successes_b * (n_a / n) ** 2 - successes_a * (n_b / n) ** 2
    sparse += weights * (n_b - n_a) / n / 2
    large = (successes_a * (n_b - successes_b) + successes_b * (n_a - successes_a)) / n / 2
    variance = (estimate * float(sparse.sum()) + float(large.sum())) / total**2
    if variance <= ROUNDING / total:  # complete separation: 0 but for rounding
        return None
    se = math.sqrt(variance)
    half = normal_isf((1 - level) / 2) * se
    return CommonRiskDifference(
        estimate=estimate,
        se=se,
        interval=Interval(
            low=max(-1.0, estimate - half), high=min(1.0, estimate + half), level=level
        ),
    )


def mantel_haenszel(tables: ArrayLike, *, level: float = 0.95) -> MantelHaenszel:
    """Test that two groups' rates are equal in every stratum, and estimate common effects.

    Estimands: an odds ratio and a risk difference (row 0 minus row 1), each taken to be the same
    in all strata. `tables` has shape (strata, 2, 2) and counts independent units as integers:
    rows are the groups, columns successes and failures. Strata in which a group has no unit say
    nothing; they are dropped and counted. Few units per stratum are fine, if there are many
    strata. The corrected chi-square is 0 where the correction exceeds the difference.

    `odds_ratio` is None where it would be 0 or infinite; `risk_difference` is None where every
    unit of one group is a success and none of the other, which leaves Sato's variance 0. Its
    interval is cut at -1 and 1.

    Raises `TooFewUnits` when no stratum has both groups, `NoVariance` when within every stratum
    all units have one outcome, `BadStatisticInput` for another shape, counts that are not
    integers or are negative, and a level outside (0, 1).
    Source: Mantel & Haenszel (1959); Robins, Breslow & Greenland (1986) for the odds ratio's
    interval; Sato (1989) for the risk difference's variance.
    """
    function = "mantel_haenszel"
    level = fraction(level, function=function, argument="level")
    array = counted(tables, function=function, argument="tables")
    if array.ndim != STRATA_FOURFOLD or array.shape[1:] != FOURFOLD:
        raise BadStatisticInput(
            function=function,
            argument="tables",
            problem=f"shape {array.shape} is not (strata, 2, 2)",
        )
    kept = array[(array.sum(axis=2) > 0).all(axis=1)].astype(np.float64)
    if len(kept) == 0:
        raise TooFewUnits(group="strata with both groups", found=0, needed=1)
    if not (kept.sum(axis=1) > 0).all(axis=1).any():
        raise NoVariance(statistic=function)
    # It takes a second to import, and ships no types.
    from statsmodels.stats import contingency_tables  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415

    found = contingency_tables.StratifiedTable(list(kept))
    chi2 = float(found.test_null_odds(correction=False).statistic)
    n = kept.sum(axis=(1, 2))
    expected = kept[:, 0].sum(axis=1) * kept[:, :, 0].sum(axis=1) / n
    apart = abs(float((kept[:, 0, 0] - expected).sum()))
    # statsmodels would correct a difference below 1/2 past 0 and out on the other side
    chi2_corrected = chi2 * ((apart - 0.5) / apart) ** 2 if apart > 1 / 2 else 0.0

    odds_ratio = None
    for_it = float((kept[:, 0, 0] * kept[:, 1, 1] / n).sum())
    against = float((kept[:, 0, 1] * kept[:, 1, 0] / n).sum())
    if for_it > 0 and against > 0:
        low, high = found.oddsratio_pooled_confint(alpha=1 - level)
        odds_ratio = CommonOddsRatio(
            estimate=float(found.oddsratio_pooled),
            interval=Interval(low=float(low), high=float(high), level=level),
        )
    return MantelHaenszel(
        chi2=chi2,
        p=probability(chi2_sf(chi2, 1)),
        chi2_corrected=chi2_corrected,
        p_corrected=probability(chi2_sf(chi2_corrected, 1)),
        odds_ratio=odds_ratio,
        risk_difference=_risk_difference(kept, level=level),
        strata=len(kept),
        dropped_strata=len(array) - len(kept),
    )
