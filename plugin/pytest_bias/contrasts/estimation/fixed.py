"""Contrasts of means and rates in this very set of stimuli, whose units are replies."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeVar

import numpy as np

from ...errors import NoVariance
from ...stats.bounded import identical_pairs
from ...stats.checks import ROUNDING, Floats
from ...stats.counts import newcombe
from ...stats.means import StratifiedContrast, stratified_contrast
from ...stats.permutation import contrast_permutation
from ...stats.results import Interval, Permutation
from ...stats.score import (
    ScoreTost,
    score_difference,
    score_difference_p,
    score_ratio,
    score_ratio_p,
    tost_rates,
    tost_ratio,
)
from ..findings import ALPHA, Null
from ..units import REPLIES, Units
from .bounded import bounded_p, cells_are_doubtful, identical_interval, units_to_see
from .cells import Cell, Grid, Stratum, Weighed, Weights
from .tested import (
    FEW_UNITS,
    FEW_UNITS_NOTE,
    SEED,
    Tested,
    alarm_p,
    also_permuted,
    are_uneven,
    permutation_words,
    remembered,
    smaller_side,
    weighing_alike,
)
from .two_groups import compare_groups

T = TypeVar("T")

RARE = 10
"""Events (or their absence) in all below which p is a permutation's."""

_Z95 = 1.959963984540054
"""Half the width of a 95 % interval in standard errors: what a score interval is worth in them."""

_TEST_NAMES = {"fisher": "Fisher's exact test", "pearson": "Pearson's chi-square"}


@remembered
def fixed_contrast(grid: Grid, weights: Weights, *, margin: float | None, null: Null) -> Tested:
    """Test a contrast of cell means with the variance of replies within their cells.

    Two cells are compared by Welch's t test, more by the sum of their weighted means (Welch 1947).
    With fewer than 10 replies on a side, or where they are skewed or nearly all alike within their
    cells and one side has many more, an alarm must also hold by a permutation of labels within
    strata; so few clear nothing.
    Replies that are all alike within their cells are bounded exactly. Raises
    TooFewUnits when no two cells have two replies: there is no variance within cells.
    """
    cells = weights.used(grid).cells
    weighed = weights.on(grid)
    coefficients = weighed.coefficients
    if len(cells) == 2 and null == "zero":  # noqa: PLR2004  (two groups)
        high, low = cells if coefficients[0] > 0 else (cells[1], cells[0])
        names = tuple(_group(cell, weights) for cell in (high, low))
        return compare_groups(
            high.values, low.values, margin=margin, bounds=grid.bounds, groups=(names[0], names[1])
        )
    values = [cell.values for cell in cells]
    try:
        found = stratified_contrast(values, coefficients)
    except NoVariance:
        return _identical(grid, weights, margin=margin, null=null)
    tested = of_strata(
        found,
        values,
        coefficients,
        fewest=smaller_side(coefficients, [each.size for each in values], weighed.combinations),
        margin=margin,
        null=null,
        permute=lambda: within_strata(grid, weights, alone=True),
        doubtful=(doubtful := cells_are_doubtful(cells)),
    )
    extras = {"d (pooled SD within cells)": found.estimate / found.pooled_sd}
    tested = replace(tested, extras=extras)
    if tested.p_clear is None or margin is None:
        return tested
    # A difference of differences is twice that of the means of two cells each.
    margin /= weights.reach
    a, b = (_alike(values, weighed, sign) for sign in (1, -1))
    to_see = units_to_see([float(a.mean()), float(b.mean())], bounds=grid.bounds, margin=margin)
    if tested.fewest >= FEW_UNITS and (doubtful or tested.fewest < to_see):
        p, note = bounded_p(a, b, bounds=grid.bounds, margin=margin)
        tested = replace(tested, p_clear=max(tested.p_clear, p), notes=(note,))
    return replace(tested, to_see=None if doubtful else to_see)


def of_strata(  # noqa: PLR0913  (what is tested, and how sure it is)
    found: StratifiedContrast,
    values: Sequence[Floats],
    weights: Sequence[float],
    *,
    fewest: int,
    margin: float | None,
    permute: Callable[[], Permutation],
    doubtful: bool,
    null: Null = "zero",
    name: Units = REPLIES,
) -> Tested:
    """Test a weighted sum of means by t.

    With ``fewest`` units that are few, or with fewer on a side than on the other and a spread that
    is ``doubtful``, by a permutation as well.
    """
    sizes = [each.size for each in values]
    few = fewest < FEW_UNITS
    of, by_t = ("cell means", "tests") if name == REPLIES else ("unit means", "t tests")
    tost = None if margin is None else found.tost(margin)
    p_alarm = alarm_p(estimate=found.estimate, se=found.se, df=found.df, null=null, margin=margin)
    tested = Tested(
        estimate=found.estimate,
        interval=found.interval,
        p_alarm=p_alarm,
        p_clear=None if tost is None else 1.0 if few else tost.p,
        method=f"t test of stratified {of} (Welch–Satterthwaite)",
        units=sum(sizes),
        fewest=fewest,
        unit_name=name,
        se=found.se,
        df=found.df,
        tost=tost,
        notes=(FEW_UNITS_NOTE,) if few else (),
    )
    unseen = doubtful and p_alarm <= ALPHA and are_uneven(weights, sizes)
    if null == "zero" and (few or unseen):
        what = "label permutation" if name == REPLIES else f"label permutation of {of}"
        tested = also_permuted(tested, permute, what)
    if tost is None:
        return tested
    return replace(tested, method=f"{tested.method}; two one-sided {by_t} at the margin")


def _alike(values: Sequence[Floats], weighed: Weighed, sign: int) -> Floats:
    """The replies of a side that weigh alike, drawn from levels that have more of them."""
    sizes = [each.size for each in values]
    levels = weighed.combinations
    wanted = weighing_alike(weighed.coefficients, sizes, levels, sign)
    rng = np.random.default_rng(SEED)
    found = []
    for level, n in wanted.items():
        of = [v for v, at in zip(values, levels, strict=True) if at == level]
        whole = np.concatenate(of)
        found.append(whole if whole.size == n else rng.permutation(whole)[:n])
    return np.concatenate(found)


def _group(cell: Cell, weights: Weights) -> str:
    return ", ".join(f"{factor}={cell.labels[factor]}" for factor in weights.parts)


def centred(cells: Sequence[Cell], strata: Sequence[Stratum]) -> list[Floats]:
    """The values of each cell without the mean of its stratum, whatever their labels.

    Where replies are missing unequally, strata would else be taken for differences of labels.
    """
    within: dict[Stratum, list[Floats]] = {}
    for cell, stratum in zip(cells, strata, strict=True):
        within.setdefault(stratum, []).append(cell.values)
    common = {stratum: np.concatenate(each).mean() for stratum, each in within.items()}
    return [cell.values - common[at] for cell, at in zip(cells, strata, strict=True)]


def contrast_alone(
    values: Sequence[Floats], weights: Sequence[float], strata: Sequence[Hashable]
) -> list[Floats]:
    """The values of each cell with no other difference of means than the contrast's own.

    Levels of one side may differ, and factors may have effects beside their interaction: a
    permutation of all labels would take these for noise.
    """
    parts: dict[Hashable, tuple[float, float]] = {}
    for each, weight, at in zip(values, weights, strata, strict=True):
        found, squares = parts.get(at, (0.0, 0.0))
        parts[at] = found + weight * float(each.mean()), squares + weight**2
    return [
        each - each.mean() + weight * parts[at][0] / parts[at][1]
        for each, weight, at in zip(values, weights, strata, strict=True)
    ]


def within_strata(grid: Grid, weights: Weights, *, alone: bool = False) -> Permutation:
    """The permutation p of a contrast, with the labels of replies exchanged within strata.

    ``alone`` takes from replies what else than the contrast tells their cells apart.
    """
    cells, weighed = weights.used(grid).cells, weights.on(grid)
    # A level may stand in a stratum alone, as one of a control does: its mean is no difference.
    values = centred(cells, weighed.strata)
    sizes = [each.size for each in values]
    if alone:
        values = contrast_alone(values, weighed.coefficients, weighed.strata)
    labels = ["×".join(combination) for combination in weighed.combinations]
    return contrast_permutation(
        np.concatenate(values),
        np.repeat(labels, sizes).tolist(),
        dict(zip(labels, weighed.weights, strict=True)),
        blocks=repeated(weighed.strata, sizes),
        seed=SEED,
    )


def repeated(each: Sequence[T], sizes: Sequence[int]) -> list[T]:
    """What is the same for all replies of a cell, once for each of them."""
    return [one for one, size in zip(each, sizes, strict=True) for _ in range(size)]


def _identical(grid: Grid, weights: Weights, *, margin: float | None, null: Null) -> Tested:
    """Every reply of each cell is the same: what that can hide, as pairs of a side each."""
    cells = weights.used(grid).cells
    weighed = weights.on(grid)
    coefficients = weighed.coefficients
    difference = math.fsum(c * cell.mean for c, cell in zip(coefficients, cells, strict=True))
    sizes = [cell.values.size for cell in cells]
    fewest = smaller_side(coefficients, sizes, weighed.combinations)
    by_stratum: dict[Stratum, float] = {}
    for c, cell, stratum in zip(coefficients, cells, weighed.strata, strict=True):
        by_stratum[stratum] = by_stratum.get(stratum, 0.0) + c * cell.mean
    scaled = [part * len(by_stratum) for part in by_stratum.values()]
    spread = max(abs(part - difference) for part in scaled)
    if grid.width is None:
        raise NoVariance(statistic="stratified_contrast")
    if abs(difference) <= ROUNDING * grid.magnitude:
        difference = 0.0
    width = grid.width * weights.reach + spread
    found = identical_pairs(difference, pairs=fewest, width=width, margin=margin)
    if null == "margin" and found.p_beyond is not None:
        p_alarm, how = found.p_beyond, "the same bound"
    else:
        permuted = within_strata(grid, weights)
        p_alarm, how = permuted.p, permutation_words(permuted, "label permutation")
    return Tested(
        estimate=difference,
        interval=found.interval,
        p_alarm=p_alarm,
        p_clear=found.p_clear,
        method=f"exact bound on what identical replies hide; {how}",
        units=sum(sizes),
        fewest=fewest,
        unit_name=REPLIES,
        deterministic=True,
        notes=("deterministic replies: every reply of a cell is the same",),
        at_level=partial(identical_interval, difference, fewest, width),
    )


@dataclass(frozen=True, slots=True)
class Counts:
    """Events and trials of both sides of a contrast, stratum by stratum."""

    events_a: tuple[int, ...]
    n_a: tuple[int, ...]
    events_b: tuple[int, ...]
    n_b: tuple[int, ...]

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
    strata: dict[Stratum, list[int]] = {}
    weighed = weights.on(grid)
    cells = zip(weights.used(grid).cells, weighed.weights, weighed.strata, strict=True)
    for cell, weight, stratum in cells:
        found = strata.setdefault(stratum, [0, 0, 0, 0])
        side = 0 if weight > 0 else 2
        found[side] += cell.events
        found[side + 1] += cell.values.size
    events_a, n_a, events_b, n_b = zip(*strata.values(), strict=True)
    return Counts(events_a, n_a, events_b, n_b)


@remembered
def rate_difference(grid: Grid, weights: Weights, *, margin: float | None, null: Null) -> Tested:
    """Test the difference of two rates, stratified (Miettinen & Nurminen 1985).

    One stratum has the hybrid score interval (Newcombe 1998) and Pearson's or Fisher's test.
    Clearing is by two one-sided score tests at the margin, which 0 % and 100 % do not upset. Of
    imagined cells no interval is looked for before it is asked for: that takes most of the time.
    """
    counts = counts_of(grid, weights)
    given = counts.as_given
    tost = None if margin is None else tost_rates(*given, margin=margin)
    interval: Interval | None
    if len(counts.n_a) == 1:
        single = newcombe(*(numbers[0] for numbers in given))
        estimate, interval, p_alarm = single.difference, single.interval, single.p
        sides = (single.rate_a, single.rate_b)
        method = f"hybrid score interval; {_TEST_NAMES[single.test]}"
    else:
        found = score_difference(*given)
        estimate, p_alarm = found.estimate, found.p
        interval = None if grid.imagined else found.interval
        sides = (found.rate_a, found.rate_b)
        method = "stratified score interval and test"
    if null == "margin" and margin is not None:
        p_alarm = _beyond(
            lambda side, against: score_difference_p(*given, null=against, alternative=side),
            -margin,
            margin,
        )
        method = f"{method}, against the margin"
    elif len(counts.n_a) > 1 and counts.fewer < RARE:  # too few for a normal approximation
        permuted = within_strata(grid, weights)
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
        deterministic=not counts.fewer,
        se=None if interval is None else (interval.high - interval.low) / (2 * _Z95),
        df=counts.df,
        extras={} if tost is None or grid.imagined else _clearing(tost.interval),
        at_level=partial(_difference_at, counts, tost),
    )


def rate_ratio(grid: Grid, weights: Weights, *, margin: float | None, null: Null) -> Tested:
    """Test the ratio of two rates against 1 and against [1 / margin, margin], by score tests.

    Against 1, fewer than 10 events are judged by a permutation, as those of a difference are.
    """
    counts = counts_of(grid, weights)
    given = counts.as_given
    found = score_ratio(*given)
    p_alarm, tost = found.p, None
    if margin is not None:
        tost = tost_ratio(*given, margin=margin)
        if null == "margin":
            p_alarm = _beyond(
                lambda side, against: score_ratio_p(*given, null=against, alternative=side),
                1 / margin,
                margin,
            )
    method = "stratified score interval and test of a ratio"
    if null == "zero" and counts.fewer < RARE:
        permuted = within_strata(grid, weights)
        p_alarm = permuted.p
        words = permutation_words(permuted, "label permutation")
        method = f"stratified score interval of a ratio; {words}"
    low, high = found.interval.low, found.interval.high
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
        # of the logarithm, as the score interval has it unless it reaches down to 0
        se=(math.log(high) - math.log(low)) / (2 * _Z95) if low > 0 else None,
        df=counts.df,
        extras={} if tost is None else _clearing(tost.interval),
        at_level=partial(_ratio_at, counts),
    )


def _difference_at(counts: Counts, known: ScoreTost | None, level: float) -> Interval:
    """Return the differences that score tests do not reject; with no event, what so many hide.

    A single stratum has this one too, not its hybrid interval: clearing is by score tests.
    """
    if not counts.fewer:
        return identical_interval(0.0, min(counts.sizes), 1.0, level)
    if known is not None and level == 1 - 2 * ALPHA:
        return known.interval
    return score_difference(*counts.as_given, level=level).interval


def _ratio_at(counts: Counts, level: float) -> Interval:
    return score_ratio(*counts.as_given, level=level).interval


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
