"""Percentile bootstrap of a difference, and people's difference compared with it."""

from __future__ import annotations

from ...stats.means import StudentEstimate, difference_of, p_from_t, t_interval
from ...stats.resampling import bootstrap_difference
from ...stats.results import LEVEL, Bootstrap
from ..estimate import Estimate, Human, HumanComparison, Relation
from .cells import Grid, Weights
from .estimator import SEED


def bootstrap(grid: Grid, weights: Weights) -> Bootstrap | None:
    """Return the percentile bootstrap interval of the difference of two cells; None of more."""
    cells = weights.used(grid).cells
    if len(cells) != 2:  # noqa: PLR2004  (two groups)
        return None
    high, low = cells if weights.of(cells[0]) > 0 else reversed(cells)
    return bootstrap_difference(high.values, low.values, seed=SEED)


def compared_with_people(finding: Estimate, people: Human) -> HumanComparison:
    """A model's difference compared with the published one of people.

    Primary: interval of the difference of the two differences, both standard errors, degrees of
    freedom after Welch and Satterthwaite. Published: people's difference taken as fixed.
    """
    difference = people.high - people.low
    similar_within = finding.margin if people.similar_within is None else people.similar_within
    # Replies that are all alike have no standard error, and people have one.
    compared = difference_of(
        StudentEstimate(estimate=finding.estimate, se=finding.se or 0.0, df=finding.df or 1.0),
        StudentEstimate(estimate=difference, se=people.se, df=people.df),
    )
    primary: Relation = "not distinguishable"
    if compared.interval.excludes(0.0):
        primary = "LESS" if compared.estimate < 0 else "GREATER"
    elif similar_within is not None and compared.interval.within(similar_within):
        primary = "SIMILAR"
    published: Relation = "SIMILAR"
    if finding.interval is not None and finding.interval.excludes(difference):
        published = "LESS" if finding.estimate < difference else "GREATER"
    return HumanComparison(
        low_mean=people.low,
        high_mean=people.high,
        difference=difference,
        se=people.se,
        people=t_interval(difference, people.se, people.df, level=LEVEL),
        p=p_from_t(difference / people.se, people.df),
        n=people.n,
        citation=people.citation,
        published=published,
        primary=primary,
        estimate=compared.estimate,
        interval=compared.interval,
        df=compared.df,
        similar_within=similar_within,
    )
