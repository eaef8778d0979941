"""Rates of an event in this very set of stimuli: score statistics over strata."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ...statistics.bounded import identical_pairs
from ...statistics.counts import newcombe
from ...statistics.results import Interval
from ...statistics.score import (
    score_difference,
    score_difference_p,
    score_ratio,
    score_ratio_p,
    tost_rates,
    tost_ratio,
)
from ..findings import ALPHA, Null
from ..units import REPLIES
from .cells import Grid, Weights
from .fixed import stratum, within_strata
from .tested import Tested, permutation_words

RARE = 10
"""Events (or their absence) in all below which p is a permutation's."""

_Z95 = 1.959963984540054
"""Half the width of a 95 % interval in standard errors: what a score interval is worth in them."""

_TEST_NAMES = {"fisher": "Fisher's exact test", "pearson": "Pearson's chi-square"}


@dataclass(frozen=True, slots=True)
class Counts:
    """Events and trials of both sides of a contrast, stratum by stratum."""

    events_a: tuple[int, ...]
    n_a: tuple[int, ...]
    events_b: tuple[int, ...]
    n_b: tuple[int, ...]

    @property
    def weights(self) -> list[float]:
        """Every stratum counts the same: the set is fixed, and none of it matters more."""
        return [1 / len(self.n_a)] * len(self.n_a)

    @property
    def sizes(self) -> tuple[int, int]:
        """Trials of both sides."""
        return sum(self.n_a), sum(self.n_b)

    @property
    def fewer(self) -> int:
        """Events, or trials without one: whichever is less."""
        events = sum(self.events_a) + sum(self.events_b)
        return min(events, sum(self.sizes) - events)

    @property
    def df(self) -> float:
        """Degrees of freedom that go with a standard error read from a score interval."""
        return float(max(sum(self.sizes) - 2, 1))

    @property
    def as_given(self) -> tuple[tuple[int, ...], ...]:
        """In the order the statistics take them."""
        return self.events_a, self.n_a, self.events_b, self.n_b


def counts_of(grid: Grid, weights: Weights) -> Counts:
    """Events and trials of the levels that weigh more and less than 0, by stratum."""
    strata: dict[object, list[int]] = {}
    for cell in weights.used(grid).cells:
        found = strata.setdefault(stratum(cell, weights), [0, 0, 0, 0])
        side = 0 if weights.of(cell) > 0 else 2
        found[side] += int(cell.values.sum())
        found[side + 1] += cell.values.size
    events_a, n_a, events_b, n_b = zip(*strata.values(), strict=True)
    return Counts(events_a, n_a, events_b, n_b)


def rate_difference(grid: Grid, weights: Weights, *, margin: float | None, null: Null) -> Tested:
    """Test the difference of two rates, stratified (Miettinen & Nurminen 1985).

    One stratum has the hybrid score interval (Newcombe 1998) and Pearson's or Fisher's test.
    Clearing is by two one-sided score tests at the margin, which 0 % and 100 % do not upset.
    """
    counts = counts_of(grid, weights)
    given = counts.as_given
    tost = None
    if margin is not None:
        tost = tost_rates(*given, margin=margin, alpha=ALPHA, weights=counts.weights)
    if len(counts.n_a) == 1:
        single = newcombe(*(numbers[0] for numbers in given))
        estimate, interval, p_alarm = single.difference, single.interval, single.p
        sides = (single.rate_a, single.rate_b)
        method = f"hybrid score interval; {_TEST_NAMES[single.test]}"
    else:
        found = score_difference(*given, weights=counts.weights)
        estimate, interval, p_alarm = found.estimate, found.interval, found.p
        sides = (found.rate_a, found.rate_b)
        method = "stratified score interval and test"
    if null == "margin" and margin is not None:
        p_alarm = _beyond(
            lambda side, against: score_difference_p(
                *given, null=against, alternative=side, weights=counts.weights
            ),
            -margin,
            margin,
        )
        method = f"{method}, against the margin"
    elif len(counts.n_a) > 1 and counts.fewer < RARE:  # too few for a normal approximation
        permuted = within_strata(weights.used(grid).cells, weights)
        p_alarm = permuted.p
        method = f"stratified score interval; {permutation_words(permuted, 'label permutation')}"
    return Tested(
        estimate=estimate,
        interval=interval,
        p_alarm=p_alarm,
        p_clear=None if tost is None else _clearing_p(tost.p, counts, margin),
        method=method if tost is None else f"{method}; two one-sided score tests at the margin",
        units=sum(counts.sizes),
        fewest=min(counts.sizes),
        unit_name=REPLIES,
        sides=sides,
        se=(interval.high - interval.low) / (2 * _Z95),
        df=counts.df,
        extras={} if tost is None else _clearing(tost.interval),
    )


def rate_ratio(grid: Grid, weights: Weights, *, margin: float | None, null: Null) -> Tested:
    """Test the ratio of two rates against 1 and against [1 / margin, margin], by score tests."""
    counts = counts_of(grid, weights)
    given = counts.as_given
    found = score_ratio(*given, weights=counts.weights)
    p_alarm, tost = found.p, None
    if margin is not None:
        tost = tost_ratio(*given, low=1 / margin, high=margin, alpha=ALPHA, weights=counts.weights)
        if null == "margin":
            p_alarm = _beyond(
                lambda side, against: score_ratio_p(
                    *given, null=against, alternative=side, weights=counts.weights
                ),
                1 / margin,
                margin,
            )
    method = "stratified score interval and test of a ratio"
    return Tested(
        estimate=found.estimate,
        interval=found.interval,
        p_alarm=p_alarm,
        p_clear=None if tost is None else tost.p,
        method=method if tost is None else f"{method}; two one-sided score tests at its limits",
        units=sum(counts.sizes),
        fewest=min(counts.sizes),
        unit_name=REPLIES,
        sides=(found.rate_a, found.rate_b),
        se=_log_se(found.interval),
        df=counts.df,
        extras={} if tost is None else _clearing(tost.interval),
    )


def _log_se(interval: Interval) -> float | None:
    """Return a ratio's score interval as a standard error of its logarithm.

    None where it reaches down to 0.
    """
    if interval.low <= 0:
        return None
    return (math.log(interval.high) - math.log(interval.low)) / (2 * _Z95)


def _clearing_p(p: float, counts: Counts, margin: float | None) -> float:
    """Bound a score test's p where no trial differs: it is surer than so many alike can show."""
    if counts.fewer or margin is None:
        return p
    found = identical_pairs(0.0, pairs=min(counts.sizes), width=1.0, margin=margin)
    return max(p, found.p_clear or 0.0)


def _beyond(
    p_of: Callable[[Literal["greater", "less"], float], float], low: float, high: float
) -> float:
    """Two-sided p of an effect between ``low`` and ``high``: the nearer side, doubled."""
    return min(1.0, 2 * min(p_of("greater", high), p_of("less", low)))


def _clearing(interval: Interval) -> dict[str, float | str]:
    return {"90 % interval, from": interval.low, "90 % interval, to": interval.high}
