"""Exact power and sample sizes of t tests and of the equivalence test: how probable a verdict is.

Few units make the estimated SD, and so the verdict, uncertain. So every probability is an average
of normal ones over the sampling distribution of the estimated SD (Owen 1965, Phillips 1990).
scipy's noncentral t gives NaN at few degrees of freedom with large effects, and the equivalence
test has no noncentral t form; one quadrature does both. For rates see `rate_power`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from ._old._distributions import crossing, normal_cdf, t_isf
from ._old.bounded import unseen_p
from ._old.checks import Floats, bad, checked, count, fraction, number, positive
from .results import ALPHA, POWER

PowerDesign = Literal["independent", "paired"]
PowerNull = Literal["zero", "margin"]

SMALLEST = 2  # units that leave a degree of freedom
NODES = 80
TAIL = 1e-16  # the share of the SD's distribution left out at each end
_STEPS = 20  # more than bring each end to the last digits, which do not matter
STEEP = 9.0  # standard errors within which a normal probability goes from 0 to 1
LARGEST_DF = 1e8  # beyond, the estimated SD is the true one to seven digits

LARGEST_GROUP = 1e12  # beyond, rounding decides which whole number is the smallest


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The standard error in SDs and the degrees of freedom that a size and a design give."""

    se: float
    df: float


def power_plan(n: float, *, design: PowerDesign) -> Plan:
    """Return what `n` units (per group, or pairs) give; n may be fractional."""
    if design == "paired":
        return Plan(se=1 / math.sqrt(n), df=n - 1)
    return Plan(se=math.sqrt(2 / n), df=2 * n - 2)


def checked_plan(n: int, *, design: PowerDesign) -> Plan:
    """Return the plan of a whole number of units, leaving at least one degree of freedom."""
    return power_plan(count(n, "n", SMALLEST), design=design)


@lru_cache(maxsize=4)
def _nodes(nodes: int) -> tuple[Floats, Floats]:
    places, weights = np.polynomial.legendre.leggauss(nodes)
    return places, weights


def average(inside: Callable[[Floats], Floats], df: float, edges: list[float]) -> float:
    """Return the mean of `inside(s)` over `spreads`; it bends or jumps at `edges`."""
    s, mass = spreads(df, (1.0, *edges), nodes=NODES)
    return min(1.0, max(0.0, float(mass @ inside(s))))


def spreads(df: float, edges: Iterable[float] = (), *, nodes: int) -> tuple[Floats, Floats]:
    """Return s = estimated / true SD, chi on `df` degrees, and the probability of each.

    The range is cut at `edges`, with so many `nodes` between each two. Dividing by the sum of the
    density spares its constant, a difference of large logarithms.
    """
    if df > LARGEST_DF:
        return np.ones(1), np.ones(1)
    low, high = _ends(df)
    cuts = np.array(sorted({low, high, *(e for e in edges if low < e < high)}))
    places, weights = _nodes(nodes)
    half = np.diff(cuts)[:, None] / 2
    s = (cuts[:-1, None] + half + half * places).ravel()
    log_density = (df - 1) * np.log(s) - df * (s - 1) * (s + 1) / 2
    mass = (half * weights).ravel() * np.exp(log_density - log_density.max())
    return s, mass / mass.sum()


@lru_cache(maxsize=2**8)
def _ends(df: float) -> tuple[float, float]:
    """Return s below and above which no more than `TAIL` is, by Chernoff's bound.

    That is (s exp((1 - s**2) / 2)) ** df, which is taken to `TAIL` by Newton's steps in log(s).
    """
    depth = -math.log(TAIL) / df

    def end(log_s: float) -> float:
        for _ in range(_STEPS):
            rise = math.expm1(2 * log_s)
            log_s += (log_s - rise / 2 + depth) / rise
        return math.exp(log_s)

    return end(-math.sqrt(depth)), end(
        math.log1p(2 * depth) / 2 if depth > 1 else math.sqrt(depth)
    )


def bends(effect: float, start: float, slope: float) -> list[float]:
    """Return where normal probabilities beyond start + slope * s begin, centre and end."""
    return [
        (centre - start + reach) / slope
        for centre in (effect, -effect)
        for reach in (-STEEP, 0, STEEP)
    ]


def beyond(edge: Floats, effect: float) -> Floats:
    """Return the probability that |Z + effect| exceeds `edge` >= 0."""
    return normal_cdf(effect - edge) + normal_cdf(-effect - edge)


def alarm_power(effect: float, *, alpha: float, df: float) -> float:
    """Return P(|D| > t s) for D ~ N(effect, 1); all in standard errors."""
    t = t_isf(alpha / 2, df)
    return average(lambda s: beyond(t * s, effect), df, bends(effect, 0, t))


def clear_power(effect: float, *, margin: float, df: float) -> float:
    """Return P(|D| < margin - t s) for D ~ N(effect, 1); all in standard errors."""
    t = t_isf(ALPHA, df)

    def inside(s: Floats) -> Floats:
        edge = np.maximum(margin - t * s, 0)
        return normal_cdf(edge - effect) - normal_cdf(-edge - effect)

    return average(inside, df, [margin / t, *bends(effect, margin, -t)])


def one_sided_power(effect: float, *, alpha: float, df: float) -> float:
    """Return P(D > t s) for D ~ N(effect, 1), in standard errors."""
    t = t_isf(alpha, df)
    return average(lambda s: normal_cdf(effect - t * s), df, bends(effect, 0, t))


def solve(power_at: Callable[[float], float]) -> float:
    """Return the value above 0 at which an increasing power reaches .90."""
    step = 1.0
    while power_at(step) < POWER:
        step *= 2
    return crossing(lambda x: power_at(x) - POWER, 0.0, step)


@checked
def verdict_chances(
    n: int,
    *,
    sd: float,
    margin: float,
    difference: float,
    alarm_alpha: float = ALPHA,
    design: PowerDesign = "independent",
    null: PowerNull = "zero",
) -> tuple[float, float]:
    """Return the probabilities of CLEAR, and else of BIASED, at a true `difference`.

    CLEAR is that the equivalence test clears `difference` within `margin`; BIASED that the
    two-sided t interval at 1 - `alarm_alpha` excludes the null: 0, or with `null="margin"` every
    difference within ±margin. `n` is units per group (independent) or pairs (paired); `sd` is that
    of the units of a group, or of the pair differences; all in one unit. Normal units, equal
    groups and variances.
    Source: Phillips (1990); Schuirmann (1987); Owen (1965).
    """
    found = checked_plan(n, design=design)
    unit = positive(sd, "sd") * found.se
    effect = number(difference, "difference") / unit
    width = positive(margin, "margin") / unit
    start = 0.0 if null == "zero" else width
    one, two = t_isf(ALPHA, found.df), t_isf(fraction(alarm_alpha, "alarm_alpha") / 2, found.df)
    clear = clear_power(effect, margin=width, df=found.df)
    biased = average(
        lambda s: beyond(np.maximum(start + two * s, width - one * s), effect),
        found.df,
        [
            (width - start) / (one + two),
            *bends(effect, start, two),
            *bends(effect, width, -one),
        ],
    )
    return clear, min(biased, 1 - clear)


@checked
def largest_sd_to_clear(n: int, *, margin: float, design: PowerDesign) -> float:
    """Return the SD up to which no difference is cleared within `margin` with probability .90.

    In the unit of `margin`; all else is as in `verdict_chances`.
    """
    found = checked_plan(n, design=design)
    width = solve(lambda width: clear_power(0, margin=width, df=found.df))
    return positive(margin, "margin") / (width * found.se)


@checked
def detectable_effect(se: float, *, df: float, alpha: float = ALPHA) -> float:
    """Return the smallest true effect that a two-sided t test finds with probability .90.

    In the unit of the standard error `se` > 0 of an estimate on `df` > 0 degrees of freedom, which
    is taken for the true one. Nothing of the estimate enters (Hoenig & Heisey 2001).
    """
    se, df, alpha = positive(se, "se"), positive(df, "df"), fraction(alpha, "alpha", below=POWER)
    return se * solve(lambda effect: alarm_power(effect, alpha=alpha, df=df))


@checked
def units_unseen(margin: float, *, width: float = 1.0) -> int:
    """Return the identical replies per group that clear no difference within `margin`.

    The smallest n at which `unseen_p` is at most .05: of events as many without one as show a rate
    below `margin` (Clopper & Pearson 1934). `width` is that of the measure's scale, in its unit.
    More than 1e12 replies raise `BadStatisticInput`.
    """
    margin, width = positive(margin, "margin"), positive(width, "width")
    share = unseen_p(n=1, width=width, margin=margin, difference=0.0)
    if share <= ALPHA:
        return 1
    # a margin may be lost in rounding
    n = math.inf if share == 1 else math.log(ALPHA) / math.log(share)
    if n > LARGEST_GROUP:
        raise bad("margin", f"would need more than {LARGEST_GROUP:g} units")
    # The quotient of logarithms may round across an integer: settle it by the p-value itself.
    return next(k for k in range(math.ceil(n) - 1, math.ceil(n) + 2) if share**k <= ALPHA)


@checked
def units_to_clear(*, sd: float, margin: float, design: PowerDesign) -> int | None:
    """Return the fewest units that clear with probability .90 where nothing differs.

    Units per group, or pairs; `sd` is that of units within a group, or of the pair differences, in
    the unit of `margin`. None where 1e12 units would not do. No estimate enters: power at the one
    found is only its p-value in other words (Hoenig & Heisey 2001). Source: Phillips (1990).
    """
    width = positive(margin, "margin") / positive(sd, "sd")

    def clearing(n: int) -> float:
        found = power_plan(n, design=design)
        return clear_power(0, margin=width / found.se, df=found.df)

    low, high = SMALLEST - 1, SMALLEST
    while clearing(high) < POWER:
        low, high = high, 2 * high
        if high > LARGEST_GROUP:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if clearing(middle) < POWER else (low, middle)
    return high
