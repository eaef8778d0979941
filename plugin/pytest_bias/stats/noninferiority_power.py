"""Power of an upgrade gate: the probability that the two-sign rule passes an unchanged model.

With D and S the difference and the sum of two effects, the rule of `noninferiority` fails a
candidate when D and S both have an upper bound above the margin, or -D and -S both have. Paired
contrasts whose spread is the same under both models have independent D and S, with independent
standard deviations, so that the probabilities multiply, each an average over an estimated SD
(`power`). Independent estimates share one standard error; the rule is then
|candidate| - |baseline| < margin - t * se. Of rates, where events are rare estimated standard
errors say little: counts are drawn from a fixed seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import special  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from ._old._distributions import normal_isf, t_isf
from ._old.checks import ROUNDING, Floats, bad, checked, count, number, positive
from .power import (
    PowerDesign,
    average,
    bends,
    beyond,
    checked_plan,
    one_sided_power,
    solve,
    spreads,
)
from .results import ALPHA

SETTLED = 2.0
"""Margins from which on an effect's own size no longer matters to the chance of passing."""

CHI_NODES = 64

DRAWS = 40_000
"""Pairs of counts drawn under either model: standard errors are .0025 at most."""

SEED = 1
Z95 = normal_isf(0.025)


def power_to_pass_paired(
    margin: float, effect: float, df: float, *, correlation: float = 0.0
) -> float:
    """Return the probability that `non_inferior_paired_groups` passes one group of units.

    `margin` and the true `effect`, which both models have, are in standard errors of either's
    estimate, which has `df` degrees of freedom; `correlation` is that of a unit's two contrasts.
    Normal contrasts with the same spread under both models. Source: derived in the module
    docstring; averages as in Owen (1965).
    """
    t = t_isf(ALPHA / 2, df)

    def twice(width: float, centre: float) -> float:
        """Return P(|D| <= t s - width) for D ~ N(centre, 1): counted as up and as down."""
        edges = [width / t, *bends(centre, -width, t)]
        return average(lambda s: 1 - beyond(np.maximum(t * s - width, 0), centre), df, edges)

    up = down = both = 1.0
    for mean, variance in ((0.0, 2 * (1 - correlation)), (2 * effect, 2 * (1 + correlation))):
        width, centre = margin / math.sqrt(variance), mean / math.sqrt(variance)
        up *= 1 - one_sided_power(width - centre, alpha=ALPHA / 2, df=df)
        down *= 1 - one_sided_power(width + centre, alpha=ALPHA / 2, df=df)
        both *= twice(width, centre)
    return min(1.0, max(0.0, 1 - (up + down - both)))


def power_to_pass_independent(margin: float, effect: float, df: float) -> float:
    """Return the probability that `non_inferior_from_estimates` passes estimates of one precision.

    All is as in `power_to_pass_paired`, of two independent normal estimates; for ratios give
    logarithms. Source: derived in the module docstring; Satterthwaite (1946).
    """
    s, mass = spreads(df, nodes=CHI_NODES)
    own, other = s[:, None] ** 2, s[None, :] ** 2
    dfs = (own + other) ** 2 / (own**2 / df + other**2 / df)
    edges = margin + special.stdtrit(dfs, ALPHA / 2) * np.sqrt(own + other)
    # P(|X| - |Y| < edge) of normal X and Y of this mean and SD 1: X - Y and X + Y are independent,
    # and beyond the edge is one side of one and a side of the other
    total, reach = effect * math.sqrt(2), np.abs(edges) / math.sqrt(2)
    one = special.ndtr(-reach)
    high, low = special.ndtr(total - reach), special.ndtr(-total - reach)
    inside = np.where(edges >= 0, 1 - one * high - one * low, one * low + one * high)
    return min(1.0, max(0.0, float(mass @ inside @ mass)))


@checked
def power_to_pass(
    n: int, *, sd: float, margin: float, effect: float, design: PowerDesign, paired: bool
) -> float:
    """Return the probability that an unchanged model passes with n >= 2 units.

    Units per group, or pairs, by `design`; `sd` is theirs within a group, or of the differences of
    pairs. `paired`: models are compared on contrasts of the same units, taken as uncorrelated;
    else as independent estimates.
    """
    found = checked_plan(n, design=design)
    unit = positive(sd, "sd") * found.se
    return _passing(paired=paired)(
        positive(margin, "margin") / unit, number(effect, "effect") / unit, found.df
    )


@checked
def largest_sd_to_pass(n: int, *, margin: float, design: PowerDesign, paired: bool) -> float:
    """Return the SD up to which an unchanged model passes with probability .90.

    In the unit of `margin`; the smaller of two chances, without any effect and with one of
    `SETTLED` margins. All else is as in `power_to_pass`.
    """
    found = checked_plan(n, design=design)
    passes = _passing(paired=paired)
    width = solve(lambda width: min(passes(width, e * width, found.df) for e in (0, SETTLED)))
    return positive(margin, "margin") / (width * found.se)


def _passing(*, paired: bool) -> Callable[[float, float, float], float]:
    return power_to_pass_paired if paired else power_to_pass_independent


@checked
def power_to_pass_rates(n_a: int, n_b: int, *, rate: float, margin: float, effect: float) -> float:
    """Return the probability that `non_inferior_from_estimates` passes an unchanged model.

    The effect, the same under both models, is the difference of two rates, `rate + effect` minus
    `rate`, of `n_a` and `n_b` independent units, at least 2; standard errors are read from
    Newcombe's 95 % intervals as (high - low) / 2z, with n_a + n_b - 2 degrees of freedom. Strata
    are pooled. By `DRAWS` draws of the counts. Source: the rule's in `noninferiority`; Newcombe
    (1998).
    """
    sizes = np.array([[count(n_a, "n_a", 2)], [count(n_b, "n_b", 2)]])  # of one none varies
    for argument, value in (("effect", rate + effect), ("rate", rate)):
        if not 0 <= number(value, argument) <= 1:
            raise bad(argument, f"gives a rate of {value}")
    rng = np.random.default_rng(SEED)
    rates = np.array([[rate + effect], [rate]])
    drawn = rng.binomial(sizes, rates, (2, 2, DRAWS))
    (ours, own), (theirs, other) = (_differences(counts, sizes) for counts in drawn)
    df, below = n_a + n_b - 2.0, positive(margin, "margin")
    worse, se = np.abs(ours) - np.abs(theirs), np.sqrt(own + other)
    # Degrees of freedom are df to 2 df, and few draws are open between the quantiles of these.
    most, least = special.stdtrit([df, 2 * df], 1 - ALPHA / 2) * [1 + ROUNDING, 1 - ROUNDING]
    passes = worse + most * se < below
    left = ~passes & (worse + least * se < below)
    own, other = own[left], other[left]
    dfs = df * (own + other) ** 2 / (own**2 + other**2)
    passes[left] = worse[left] - special.stdtrit(dfs, ALPHA / 2) * se[left] < below
    return float(passes.mean())


def _differences(counts: NDArray[np.int64], n: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return the differences of rates of two rows of counts of `n`, and variances by Newcombe."""
    rates = counts / n
    centre = (rates + Z95**2 / (2 * n)) / (1 + Z95**2 / n)
    half = Z95 * np.sqrt(rates * (1 - rates) / n + (Z95 / (2 * n)) ** 2) / (1 + Z95**2 / n)
    below = rates - np.clip(centre - half, 0, rates)
    above = np.clip(centre + half, rates, 1) - rates
    difference = rates[0] - rates[1]
    low = np.maximum(-1, difference - np.hypot(below[0], above[1]))
    high = np.minimum(1, difference + np.hypot(above[0], below[1]))
    return difference, ((high - low) / (2 * Z95)) ** 2
