"""Two groups of numbers: Welch's t, few units, identical replies, and people beside a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ...errors import NoVariance
from ...stats import means
from ...stats.bounded import deterministic_difference
from ...stats.checks import Floats, enough
from ...stats.effect_size import standardized_difference
from ...stats.means import StudentEstimate, difference_of, p_from_t, se_from_t
from ...stats.permutation import label_permutation
from ...stats.resampling import bootstrap_difference
from ...stats.results import LEVEL, Bootstrap
from ..findings import ALPHA, HumanComparison, HumanStudy, Relation
from ..units import REPLIES, Units
from .bounded import are_alike, bounded_p, identical_interval, is_skewed, units_to_see
from .tested import FEW_UNITS, FEW_UNITS_NOTE, SEED, Tested, also_permuted, are_uneven

Values = Sequence[float] | Floats


def compare_groups(
    a: Values,
    b: Values,
    *,
    margin: float | None,
    bounds: tuple[float, float] | None,
    name: Units = REPLIES,
    groups: tuple[str, str] = ("first group", "second group"),
) -> Tested:
    """Test mean(a) − mean(b) against 0 and against ±margin.

    Welch's t and two one-sided tests. With fewer than 10 units in a group, or where these are
    skewed or nearly all alike and one group has many more, an alarm must also hold by a label
    permutation, which needs no normality; so few clear nothing. Where the spread of replies is
    doubtful, clearing must also hold for any rare ones the scale allows. Where every value of each
    group is the same, it is the exact bound on what identical replies can hide, since a t test of
    constants would claim p = 0. Raises TooFewUnits when a group has fewer than two values.
    """
    for group, values in zip(groups, (a, b), strict=True):
        enough(len(values), group)
    units, fewest = len(a) + len(b), min(len(a), len(b))
    try:
        welch = means.welch(a, b)
    except NoVariance:
        if bounds is None:
            raise
        exact = deterministic_difference(a, b, bounds=bounds, margin=margin)
        return Tested(
            estimate=exact.difference,
            interval=exact.interval,
            p_alarm=exact.p_alarm,
            p_clear=exact.p_clear,
            method="exact bound on what identical replies hide; label permutation (exact)",
            deterministic=True,
            notes=("deterministic replies: every reply of a group is the same",),
            unit_name=name,
            units=units,
            fewest=fewest,
            at_level=partial(identical_interval, exact.difference, fewest, bounds[1] - bounds[0]),
        )
    tost = None if margin is None else welch.tost(margin)
    tested = Tested(
        estimate=welch.estimate,
        interval=welch.interval,
        p_alarm=welch.p,
        p_clear=None if tost is None else tost.p,
        method="Welch's t test",
        unit_name=name,
        se=welch.se,
        df=welch.df,
        welch=welch,
        tost=tost,
        effect_size=standardized_difference(a, b),
        units=units,
        fewest=fewest,
    )
    few = fewest < FEW_UNITS
    skewed = any(is_skewed(each) or are_alike(each) for each in map(np.asarray, (a, b)))
    if few or (skewed and tested.p_alarm <= ALPHA and are_uneven((1, -1), (len(a), len(b)))):
        resamples = 100_000 if few else 10_000  # so many are all, up to 9 and 10 units
        permute = partial(label_permutation, a, b, resamples=resamples, seed=SEED)
        tested = also_permuted(tested, permute, "label permutation")
    if few:
        # A t statistic of so few units clears falsely where rare replies lie far from the rest.
        p_clear = None if tost is None else 1.0
        tested = replace(tested, p_clear=p_clear, notes=(FEW_UNITS_NOTE,))
    if tested.p_clear is not None and margin is not None and name == REPLIES:
        to_see = units_to_see([float(np.mean(a)), float(np.mean(b))], bounds=bounds, margin=margin)
        if not few and (skewed or fewest < to_see):
            p, note = bounded_p(a, b, bounds=bounds, margin=margin)
            tested = replace(tested, p_clear=max(tested.p_clear, p), notes=(note,))
        tested = replace(tested, to_see=None if skewed else to_see)
    if tost is not None:
        method = f"{tested.method}; two one-sided t tests at the margin"
        tested = replace(tested, method=method)
    return tested


def bootstrap(a: Values, b: Values) -> Bootstrap:
    """The percentile bootstrap interval of mean(a) − mean(b), with its recorded seed."""
    return bootstrap_difference(a, b, seed=SEED)


def beside_people(welch: StudentEstimate, study: HumanStudy) -> HumanComparison:
    """A model's difference beside the published one of people.

    Primary: interval of the difference of the two differences, both standard errors, degrees of
    freedom after Welch and Satterthwaite. Published: people's difference taken as fixed.
    """
    difference = study.high - study.low
    se = se_from_t(difference=difference, t=study.t)
    compared = difference_of(welch.estimate, welch.se, welch.df, difference, se, study.df)
    primary: Relation = "not distinguishable"
    if compared.interval.excludes(0.0):
        primary = "LESS" if compared.estimate < 0 else "GREATER"
    elif compared.interval.within(study.similar_within):
        primary = "SIMILAR"
    published: Relation = "SIMILAR"
    if welch.interval.excludes(difference):
        published = "LESS" if welch.estimate < difference else "GREATER"
    return HumanComparison(
        low_mean=study.low,
        high_mean=study.high,
        difference=difference,
        se=se,
        people=means.t_interval(difference, se, study.df, level=LEVEL),
        p=p_from_t(study.t, study.df),
        n=study.n,
        citation=study.citation,
        published=published,
        primary=primary,
        estimate=compared.estimate,
        interval=compared.interval,
        df=compared.df,
        similar_within=study.similar_within,
    )
