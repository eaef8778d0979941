"""A model's difference beside the published one of people."""

from __future__ import annotations

from ...statistics.means import Welch, compare_differences, p_from_t, se_from_t
from ..findings import HumanComparison, HumanStudy, Relation


def beside_people(welch: Welch, study: HumanStudy) -> HumanComparison:
    """A model's difference beside the published one of people.

    Primary: interval of the difference of the two differences, both standard errors, degrees of
    freedom after Welch and Satterthwaite. Published: people's difference taken as fixed.
    """
    difference = study.high - study.low
    se = se_from_t(difference=difference, t=study.t)
    compared = compare_differences(
        first=welch.difference,
        se_first=welch.se,
        df_first=welch.df,
        second=difference,
        se_second=se,
        df_second=study.df,
    )
    primary: Relation = "not distinguishable"
    if compared.interval.excludes(0.0):
        primary = "LESS" if compared.difference < 0 else "GREATER"
    elif compared.interval.within(study.similar_within):
        primary = "SIMILAR"
    published: Relation = "SIMILAR"
    if welch.interval.excludes(difference):
        published = "LESS" if welch.difference < difference else "GREATER"
    return HumanComparison(
        low_mean=study.low,
        high_mean=study.high,
        difference=difference,
        se=se,
        p=p_from_t(study.t, study.df),
        n=study.n,
        citation=study.citation,
        published=published,
        primary=primary,
        estimate=compared.difference,
        interval=compared.interval,
        df=compared.df,
        similar_within=study.similar_within,
    )
