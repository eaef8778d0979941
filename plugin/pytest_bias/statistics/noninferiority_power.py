"""Power of an upgrade gate: the probability that the two-sign rule passes a candidate.

With D and S the difference and the sum of two effects, the rule of `noninferiority` fails a
candidate when D and S both have an upper bound above the margin, or -D and -S both have. Paired
contrasts whose spread is the same under both models have independent D and S, with independent
standard deviations, so that the probabilities multiply, each an average over an estimated SD
(`power`). Independent estimates share one standard error; the rule is then
|candidate| - |baseline| < margin - t * se. Rates are lattices, and where events are rare their
estimated standard errors say little, so every pair of counts that can come up at all is tried.
Nothing here is simulated.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
import scipy  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types
from numpy.typing import NDArray
from scipy import special  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from ..errors import TooFewUnits
from ._distributions import t_isf
from .checks import Floats, bad, checked, count, fraction, known, number, positive
from .power import (
    LARGEST_ALPHA,
    MOST_POWER,
    PowerDesign,
    average,
    bends,
    beyond,
    checked_plan,
    one_sided_power,
    solve,
    spreads,
)

Models = Literal["paired", "independent"]

SETTLED = 2.0
"""Margins from which on an effect's own size no longer matters to the chance of passing."""

CHI_NODES = 64

LARGEST_LISTED = 400
"""Variance of a difference of two counts beyond which it is taken as normal."""

CLASSES = 4
"""Classes of variance that the pairs of counts with one difference are put into."""

RARE = 1e-12  # probability below which a count is left out
Z95 = -float(special.ndtri(0.025))


@checked
def power_to_pass_paired(
    n: int,
    *,
    sd: float,
    margin: float,
    effect: float = 0.0,
    change: float = 0.0,
    correlation: float = 0.0,
    alpha: float = 0.05,
    design: PowerDesign = "paired",
) -> float:
    """Return the probability that `non_inferior_paired_groups` passes one group of n >= 2 units.

    `effect` is the baseline's true effect and `effect + change` the candidate's; `sd` is that of
    the contrasts of the units, under either model, and `correlation` that of a unit's two
    contrasts: their difference has the standard deviation sd * sqrt(2 * (1 - correlation)). All in
    the unit of `margin`. Normal contrasts with the same spread under both models.

    With `design="independent"` units are nested in the groups compared, n in each of two, and
    `sd` is theirs within a group, as in `power_to_alarm`; degrees of freedom are then taken as
    2n - 2, which `non_inferior_paired_groups` reaches where spreads are equal.
    Source: derived in the module docstring; averages as in Owen (1965).
    """
    found = checked_plan(n, design=design)
    correlation = number(correlation, "correlation")
    if not -1 < correlation < 1:
        raise bad("correlation", f"{correlation} is not within ±1")
    unit = positive(sd, "sd") * found.se
    return _paired(
        positive(margin, "margin") / unit,
        effect=number(effect, "effect") / unit,
        change=number(change, "change") / unit,
        correlation=correlation,
        alpha=fraction(alpha, "alpha", below=LARGEST_ALPHA),
        df=found.df,
    )


def _paired(
    margin: float, *, effect: float, change: float, correlation: float, alpha: float, df: float
) -> float:
    """The same in standard errors of one model's estimate."""
    t = t_isf(alpha / 2, df)
    above, below, both = 1.0, 1.0, 1.0
    for mean, variance in (
        (change, 2 * (1 - correlation)),
        (2 * effect + change, 2 * (1 + correlation)),
    ):
        sd = math.sqrt(variance)
        width, centre = margin / sd, mean / sd
        above *= 1 - one_sided_power(width - centre, alpha=alpha / 2, df=df)
        below *= 1 - one_sided_power(width + centre, alpha=alpha / 2, df=df)
        # a bound each way beyond the margin: counted twice above
        both *= _both_ways(width, centre, t=t, df=df)
    return min(1.0, max(0.0, 1 - (above + below - both)))


def _both_ways(width: float, centre: float, *, t: float, df: float) -> float:
    """Return P(|D| <= t s - width) for D ~ N(centre, 1)."""
    return average(
        lambda s: 1 - beyond(np.maximum(t * s - width, 0), centre),
        df,
        [width / t, *bends(centre, -width, t)],
    )


@checked
def power_to_pass_independent(
    *,
    se: float,
    df: float,
    margin: float,
    effect: float = 0.0,
    change: float = 0.0,
    alpha: float = 0.05,
) -> float:
    """Return the probability that `non_inferior_from_estimates` passes estimates of one precision.

    `effect` and `change` are those of `power_to_pass_paired`; `se` is the true standard error of
    either of two independent normal estimates, whose own estimate has `df` degrees of freedom. For
    ratios give logarithms. Source: derived in the module docstring; Satterthwaite (1946).
    """
    unit = positive(se, "se")
    return _independent(
        positive(margin, "margin") / unit,
        effect=number(effect, "effect") / unit,
        change=number(change, "change") / unit,
        alpha=fraction(alpha, "alpha", below=LARGEST_ALPHA),
        df=positive(df, "df"),
    )


def _independent(margin: float, *, effect: float, change: float, alpha: float, df: float) -> float:
    """The same in standard errors."""
    s, mass = spreads(df, nodes=CHI_NODES)
    own, other = s[:, None] ** 2, s[None, :] ** 2
    dfs = (own + other) ** 2 / (own**2 / df + other**2 / df)
    edges = margin + special.stdtrit(dfs, alpha / 2) * np.sqrt(own + other)
    inside = _sizes_within(edges, effect + change, effect)
    return min(1.0, max(0.0, float(mass @ inside @ mass)))


def _sizes_within(edges: Floats, ours: float, theirs: float) -> Floats:
    """Return P(|X| - |Y| < edge) of independent normal X and Y of these means and SD 1.

    X - Y and X + Y are then independent.
    """
    scale = math.sqrt(2)
    difference, total = (ours - theirs) / scale, (ours + theirs) / scale
    reach = np.abs(edges) / scale
    # beyond the edge on one side of one and on a side of the other
    up, down = special.ndtr(difference - reach), special.ndtr(-difference - reach)
    high, low = special.ndtr(total - reach), special.ndtr(-total - reach)
    return np.asarray(np.where(edges >= 0, 1 - up * high - down * low, up * low + down * high))


@checked
def largest_sd_to_pass(
    n: int,
    *,
    margin: float,
    power: float = 0.90,
    alpha: float = 0.05,
    design: PowerDesign = "independent",
    models: Models = "independent",
) -> float:
    """Return the SD up to which an unchanged model passes with probability `power`.

    In the unit of `margin`; the smaller of two chances, without any effect and with one of
    `SETTLED` margins. `n`, `design` and what the SD is of are those of `power_to_alarm`; `models`
    are compared on contrasts of the same units, taken as uncorrelated ("paired"), or as
    independent estimates. Source: that of `power_to_pass_paired`.
    """
    known(models, "models", get_args(Models))
    found = checked_plan(n, design=design)
    margin = positive(margin, "margin")
    power = fraction(power, "power", below=MOST_POWER)
    alpha = fraction(alpha, "alpha", below=LARGEST_ALPHA)

    def at(width: float, effect: float) -> float:
        given = {"effect": effect * width, "change": 0.0, "alpha": alpha, "df": found.df}
        if models == "paired":
            return _paired(width, correlation=0.0, **given)
        return _independent(width, **given)

    width = solve(lambda width: min(at(width, effect) for effect in (0, SETTLED)), power=power)
    return margin / (width * found.se)


@checked
def power_to_pass_rates(
    n: int, *, rate: float, margin: float, effect: float = 0.0, alpha: float = 0.05
) -> float:
    """Return the probability that `non_inferior_from_estimates` passes an unchanged model.

    The effect, the same under both models, is the difference of two rates, `rate + effect` minus
    `rate`, of n >= 2 independent units each; standard errors are read from Newcombe's 95 %
    intervals as (high - low) / 2z, with 2n - 2 degrees of freedom. Counts are enumerated, each
    difference with the estimated variances that its pairs of counts have, in `CLASSES` classes;
    where a difference of counts has a variance beyond `LARGEST_LISTED`, it is taken as normal.
    Strata are pooled. Source: the rule's in `noninferiority`; Newcombe (1998).
    """
    if count(n, "n") < 2:  # noqa: PLR2004  (of one none varies)
        raise TooFewUnits(group="n", found=n, needed=2)
    rates = []
    for argument, value in (("effect", rate + effect), ("rate", rate)):
        if not 0 <= number(value, argument) <= 1:
            raise bad(argument, f"gives a rate of {value}")
        rates.append(float(value))
    margin = positive(margin, "margin")
    alpha = fraction(alpha, "alpha", below=LARGEST_ALPHA)
    df = 2.0 * n - 2
    se = math.sqrt(sum(each * (1 - each) for each in rates) / n)
    if (n * se) ** 2 > LARGEST_LISTED:
        return power_to_pass_independent(se=se, df=df, margin=margin, effect=effect, alpha=alpha)
    sizes, mass, variance = _sizes(n, *rates)
    own, other = variance[:, None], variance[None, :]
    dfs = df * (own + other) ** 2 / (own**2 + other**2)
    known = np.linspace(df, 2 * df, 64)
    t = np.interp(dfs, known, -special.stdtrit(known, alpha / 2))
    passed = sizes[:, None] - sizes[None, :] + t * np.sqrt(own + other) < margin
    return min(1.0, float(mass @ passed @ mass))


def _sizes(n: int, high: float, low: float) -> tuple[Floats, Floats, Floats]:
    """The sizes a difference can have, their probabilities, and the mean variance of each."""
    (a, mass_a), (b, mass_b) = _counts(n, high), _counts(n, low)
    low_a, high_a = _wilson(a, n)
    low_b, high_b = _wilson(b, n)
    rate_a, rate_b = a / n, b / n
    difference = rate_a[:, None] - rate_b
    lower = np.maximum(-1, difference - np.hypot((rate_a - low_a)[:, None], high_b - rate_b))
    upper = np.minimum(1, difference + np.hypot((high_a - rate_a)[:, None], rate_b - low_b))
    variance = ((upper - lower) / (2 * Z95)) ** 2
    steps = np.abs(a[:, None] - b).ravel()
    both, variances = np.outer(mass_a, mass_b).ravel(), variance.ravel()
    # In order of variance within each size; the share of its size that comes before decides.
    order = np.lexsort((variances, steps))
    steps, both, variances = steps[order], both[order], variances[order]
    total = np.bincount(steps, weights=both)
    before = np.cumsum(both) - both / 2 - (np.cumsum(total) - total)[steps]
    share = np.clip(before / total[steps], 0, 1 - 1e-9)
    places = steps * CLASSES + (share * CLASSES).astype(np.int64)
    mass = np.bincount(places, weights=both)
    mean = np.bincount(places, weights=both * variances)
    found = np.flatnonzero(mass)
    return found // CLASSES / n, mass[found] / mass.sum(), mean[found] / mass[found]


def _counts(n: int, rate: float) -> tuple[NDArray[np.int64], Floats]:
    """The counts that come up at all, and their probabilities."""
    least, most = (int(scipy.stats.binom.ppf(p, n, rate)) for p in (RARE, 1 - RARE))
    counts = np.arange(max(0, least), min(n, most) + 1)
    return counts, np.asarray(scipy.stats.binom.pmf(counts, n, rate))


def _wilson(counts: NDArray[np.int64], n: int) -> tuple[Floats, Floats]:
    rate, square = counts / n, Z95 * Z95
    centre = (rate + square / (2 * n)) / (1 + square / n)
    half = Z95 / (1 + square / n) * np.sqrt(rate * (1 - rate) / n + square / (4 * n * n))
    return np.clip(centre - half, 0, rate), np.clip(centre + half, rate, 1)
