"""Common parts of power and sample sizes: probabilities averaged over the estimated SD.

Everything is an average, over the sampling distribution of the estimated SD, of normal
probabilities (Owen 1965, Phillips 1990). scipy's noncentral t gives NaN at few degrees of freedom
with large effects, and the equivalence test has no noncentral t form, so one quadrature does both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from ..errors import TooFewUnits
from ._distributions import crossing
from .checks import bad, count, positive

PowerDesign = Literal["independent", "paired"]
PowerNull = Literal["zero", "margin"]
_Array = NDArray[np.float64]

LARGEST_ALPHA = 0.5
MOST_POWER = 1 - 1e-9  # nearer to 1 the quadrature's own error decides
NODES = 80
TAIL = 1e-16  # the share of the SD's distribution left out at each end
STEEP = 9.0  # standard errors within which a normal probability goes from 0 to 1
LARGEST_DF = 1e8  # beyond, the estimated SD is the true one to seven digits


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The standard error in SDs and the degrees of freedom that a size and a design give."""

    se: float
    df: float


def power_plan(n: float, *, design: PowerDesign, strata: int = 1) -> Plan:
    """Return what `n` units (per group, or pairs) in `strata` strata give; n may be fractional."""
    if design == "paired":
        return Plan(se=1 / math.sqrt(n), df=n - strata)
    return Plan(se=math.sqrt(2 / n), df=2 * n - 2 * strata)


def checked_plan(n: int, *, design: PowerDesign, strata: int) -> Plan:
    """Return the plan of a whole number of units, leaving at least one degree of freedom."""
    n = count(n, "n")
    strata = count(strata, "strata")
    if strata < 1:
        raise bad("strata", "is not 1 or more")
    if design not in {"independent", "paired"}:
        raise bad("design", f"{design!r} is not independent or paired")
    if n <= strata:
        raise TooFewUnits(group="n", found=n, needed=strata + 1)
    return power_plan(n, design=design, strata=strata)


@lru_cache(maxsize=4)
def _nodes(nodes: int) -> tuple[_Array, _Array]:
    places, weights = np.polynomial.legendre.leggauss(nodes)
    return places, weights


def average(inside: Callable[[_Array], _Array], df: float, edges: list[float]) -> float:
    """Return the mean of `inside(s)` over `spreads`; it bends or jumps at `edges`."""
    s, mass = spreads(df, (1.0, *edges), nodes=NODES)
    return min(1.0, max(0.0, float(mass @ inside(s))))


def spreads(df: float, edges: Iterable[float] = (), *, nodes: int) -> tuple[_Array, _Array]:
    """Return s = estimated / true SD, chi on `df` degrees, and the probability of each.

    The range is cut at `edges`, with so many `nodes` between each two. Dividing by the sum of the
    density spares its constant, a difference of large logarithms.
    """
    if df > LARGEST_DF:
        return np.ones(1), np.ones(1)
    low = math.sqrt(2 * special.gammaincinv(df / 2, TAIL) / df)
    high = math.sqrt(2 * special.gammainccinv(df / 2, TAIL) / df)
    cuts = np.array(sorted({low, high, *(e for e in edges if low < e < high)}))
    places, weights = _nodes(nodes)
    half = np.diff(cuts)[:, None] / 2
    s = (cuts[:-1, None] + half + half * places).ravel()
    log_density = (df - 1) * np.log(s) - df * (s - 1) * (s + 1) / 2
    mass = (half * weights).ravel() * np.exp(log_density - log_density.max())
    return s, mass / mass.sum()


def bends(effect: float, start: float, slope: float) -> list[float]:
    """Return where normal probabilities beyond start + slope * s begin, centre and end."""
    return [
        (centre - start + reach) / slope
        for centre in (effect, -effect)
        for reach in (-STEEP, 0, STEEP)
    ]


def beyond(edge: _Array, effect: float) -> _Array:
    """Return the probability that |Z + effect| exceeds `edge` >= 0."""
    return np.asarray(special.ndtr(effect - edge) + special.ndtr(-effect - edge), dtype=np.float64)


def t_quantile(alpha: float, df: float) -> float:
    return -float(special.stdtrit(df, alpha))


def alarm_power(effect: float, *, start: float, alpha: float, df: float) -> float:
    """Return P(|D| > start + t s) for D ~ N(effect, 1); all in standard errors."""
    t = t_quantile(alpha / 2, df)
    return average(lambda s: beyond(start + t * s, effect), df, bends(effect, start, t))


def clear_power(effect: float, *, margin: float, alpha: float, df: float) -> float:
    """Return P(|D| < margin - t s) for D ~ N(effect, 1); all in standard errors."""
    t = t_quantile(alpha, df)

    def inside(s: _Array) -> _Array:
        edge = np.maximum(margin - t * s, 0)
        found: _Array = special.ndtr(edge - effect) - special.ndtr(-edge - effect)
        return found

    return average(inside, df, [margin / t, *bends(effect, margin, -t)])


def one_sided_power(effect: float, *, alpha: float, df: float) -> float:
    """Return P(D > t s) for D ~ N(effect, 1), in standard errors."""
    t = t_quantile(alpha, df)
    return average(lambda s: np.asarray(special.ndtr(effect - t * s)), df, bends(effect, 0, t))


def start_of_alarm(null: PowerNull, margin: float | None, *, unit: float) -> float:
    """Return how far from 0 the interval must lie, in standard errors."""
    if null == "zero":
        return 0.0
    if margin is None or null not in {"zero", "margin"}:
        raise bad("null", f"{null!r} with a margin of {margin}")
    return positive(margin, "margin") / unit


def solve(power_at: Callable[[float], float], *, power: float, start: float = 0.0) -> float:
    """Return the value above `start` at which an increasing power reaches `power`."""
    step = 1.0
    while power_at(start + step) < power:
        step *= 2
    return crossing(lambda x: power_at(x) - power, start, start + step)
