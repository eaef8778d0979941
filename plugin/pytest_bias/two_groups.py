"""Two groups of numbers: the primary test, its worst cases, and what would settle it.

Loaded when an analysis runs, never when a hypothesis is declared: it imports scipy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from . import statistics
from .errors import NoVariance
from .estimates import Interval
from .findings import ALPHA, HumanComparison, HumanStudy, PublishedColumn, Relation, WorstCase

BOOTSTRAP_ITERATIONS = 10_000
SEED = 1
"""Seed of the bootstrap and of permutations that are too many to count; fixed, not searched."""

TOLERATED_MISSING = 0.05
"""Share of missing trials, and difference of shares, above which worst cases must agree."""

POWER = 0.90

NEGLIGIBLE = 1e-6
"""Distance from a limit, in margins, that no number of replies could settle."""

FEW_UNITS = 10
"""Units in a group below which the alarm's p-value is a permutation's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """The primary analysis; ``welch`` and ``tost`` are None for deterministic replies."""

    estimate: float
    interval: Interval
    p_alarm: float
    p_clear: float
    method: str
    welch: statistics.Welch | None = None
    tost: statistics.Tost | None = None
    notes: tuple[str, ...] = ()


def compare(
    a: Sequence[float], b: Sequence[float], *, margin: float, bounds: tuple[float, float]
) -> Tested:
    """Test mean(a) − mean(b) against 0 and against ±margin.

    Welch's t and two one-sided tests. With fewer than 10 units in a group the alarm's p-value is
    that of a label permutation, which needs no normality, and nothing is cleared. Where every
    reply of each group is the same, it is the exact bound on what identical replies can hide,
    since a t test of constants would claim p = 0.
    """
    try:
        welch = statistics.welch(a, b)
        tost = statistics.tost_welch(a, b, margin=margin, alpha=ALPHA)
    except NoVariance:
        exact = statistics.deterministic_difference(
            a, b, bounds=bounds, margin=margin, alpha=ALPHA
        )
        return Tested(
            estimate=exact.difference,
            interval=exact.interval,
            p_alarm=exact.p_alarm,
            p_clear=exact.p_clear if exact.p_clear is not None else 1.0,
            method="exact bound on what identical replies hide; label permutation (exact)",
            notes=("deterministic replies: every reply of a group is the same",),
        )
    p_alarm, p_clear, test = welch.p, tost.p, "Welch's t test"
    notes: tuple[str, ...] = ()
    if min(len(a), len(b)) < FEW_UNITS:
        # A t statistic of so few units clears falsely where rare replies lie far from the rest.
        p_clear = 1.0
        notes = (f"fewer than {FEW_UNITS} units in a group can show bias but cannot clear it",)
        permuted = statistics.label_permutation(a, b, seed=SEED)
        p_alarm = permuted.p
        test = "label permutation" + (
            " (exact)"
            if permuted.exact
            else f" ({permuted.resamples:,} resamples, seed {permuted.seed})"
        )
    return Tested(
        estimate=welch.difference,
        interval=welch.interval,
        p_alarm=p_alarm,
        p_clear=p_clear,
        method=f"{test}; two one-sided t tests at the margin",
        welch=welch,
        tost=tost,
        notes=notes,
    )


def bootstrap(a: Sequence[float], b: Sequence[float]) -> statistics.Bootstrap:
    """The percentile bootstrap interval of mean(a) − mean(b), with its recorded seed."""
    return statistics.bootstrap_difference(a, b, iterations=BOOTSTRAP_ITERATIONS, seed=SEED)


def published_column(
    a: Sequence[float], b: Sequence[float], welch: statistics.Welch
) -> PublishedColumn:
    """The published study's own test on all replies, and Cohen's d."""
    return PublishedColumn(
        method="Welch's t test on all replies, Cohen's d",
        statistics={
            "t": welch.t,
            "df": welch.df,
            "p": welch.p,
            "d": statistics.cohen_d(a, b),
        },
    )


def worst_case(
    a: Sequence[float],
    b: Sequence[float],
    *,
    missing_a: int,
    missing_b: int,
    margin: float,
    bounds: tuple[float, float],
) -> WorstCase | None:
    """Both extreme fillings of what is missing (Manski 1990); None when nothing is."""
    if not missing_a and not missing_b:
        return None
    share_a = missing_a / (missing_a + len(a))
    share_b = missing_b / (missing_b + len(b))
    lowest, highest = (
        compare(filled_a.tolist(), filled_b.tolist(), margin=margin, bounds=bounds)
        for filled_a, filled_b in statistics.worst_case(
            a, b, missing_a=missing_a, missing_b=missing_b, bounds=bounds
        )
    )
    same_sign = lowest.estimate * highest.estimate > 0
    return WorstCase(
        needed=max(share_a, share_b) > TOLERATED_MISSING,  # then only can shares differ by more
        lowest=lowest.estimate,
        highest=highest.estimate,
        p_alarm=max(lowest.p_alarm, highest.p_alarm) if same_sign else 1.0,
        p_clear=max(lowest.p_clear, highest.p_clear),
    )


def units_to_settle(
    a: Sequence[float],
    b: Sequence[float],
    *,
    margin: float,
    bounds: tuple[float, float],
) -> int | None:
    """Units per group that would settle the question if estimate and spread are the truth.

    With power .90 for the easier of the two statements at the estimate found, never fewer than
    clearing it at no effect would take, and never fewer than can clear anything.
    None when more units would not help.
    """
    first, second = statistics.describe(a), statistics.describe(b)
    distance = abs(first.mean - second.mean)
    sd = math.sqrt(((first.sd or 0.0) ** 2 + (second.sd or 0.0) ** 2) / 2)
    if sd == 0:
        return statistics.deterministic_units(bounds=bounds, margin=margin, difference=distance)
    candidates = []
    if margin - distance > NEGLIGIBLE * margin:
        candidates.append(statistics.units_per_group(sd=sd, margin=margin - distance, power=POWER))
    if distance > NEGLIGIBLE * margin:
        candidates.append(
            statistics.units_per_group(sd=sd, margin=distance, alpha=ALPHA / 2, power=POWER)
        )
    at_no_effect = statistics.units_per_group(sd=sd, margin=margin, power=POWER)
    return max(min(candidates), at_no_effect, FEW_UNITS)


def beside_people(welch: statistics.Welch, study: HumanStudy) -> HumanComparison:
    """A model's difference beside the published one of people.

    Primary: interval of the difference of the two differences, both standard errors, degrees of
    freedom after Welch and Satterthwaite. Published: people's difference taken as fixed.
    """
    difference = study.high - study.low
    se = statistics.se_from_t(difference=difference, t=study.t)
    compared = statistics.compare_differences(
        first=welch.difference,
        se_first=welch.se,
        df_first=welch.df,
        second=difference,
        se_second=se,
        df_second=study.df,
    )
    primary: Relation = "not distinguishable"
    if compared.interval.excludes(0.0):
        primary = "LESS" if compared.estimate < 0 else "GREATER"
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
        p=statistics.p_from_t(study.t, study.df),
        n=study.n,
        citation=study.citation,
        published=published,
        primary=primary,
        estimate=compared.estimate,
        interval=compared.interval,
        df=compared.df,
        similar_within=study.similar_within,
    )
