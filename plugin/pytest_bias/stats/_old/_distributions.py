"""Tail areas and quantiles that verdicts rest on, and where functions cross 0.

They are our own, on :mod:`math`: to import `scipy.special` takes a third of a CPU second, in every
process that analyses, as it loads all of numpy with its tests and compilers. A test holds them
against it where it has as many digits; at a million degrees of freedom F keeps eight. Whatever
else is needed of scipy is imported where it is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_CLOSE = 1e-17  # terms no larger beside their sum change nothing
_STEP = 1e-15  # a factor that is no farther from 1 may be rounding
_NEAR = 1e-8  # a quantile that moved by no larger share of itself is found: squared, it is nothing
_TINY = 1e-300  # in place of 0 in a continued fraction
_MOST_LOG = 700.0  # exp of more overflows
_MOST = 100  # steps to a quantile, of which a handful are taken
_LONGEST = 100_000  # parts of a continued fraction: a few times the root of the larger df
_STIRLING = 10.0  # from here on the six terms of the series are exact
_DIFFERENCES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
_HALF = 0.5


# --- the normal distribution -------------------------------------------------------------------


def normal_sf(z: float) -> float:
    """Return P(Z > z) of a standard normal variable."""
    return math.erfc(float(z) * math.sqrt(_HALF)) / 2


def normal_cdf(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return P(Z <= z) of a standard normal variable for each of an array."""
    scaled = (z * -math.sqrt(_HALF)).ravel().tolist()
    areas = np.fromiter(map(math.erfc, scaled), np.float64, len(scaled))
    return areas.reshape(z.shape) / 2


def normal_isf(p: float) -> float:
    """Return the z at which P(Z > z) is `p`."""
    p = float(p)
    if p > _HALF:
        return -normal_isf(1 - p)
    if not p > 0:
        return math.inf if p == 0 else math.nan
    # Hastings' approximation (1955, sheet 67), and Halley's steps from there: each triples the
    # digits. Near the centre of what is left to it, which loses none.
    t = math.sqrt(-2 * math.log(p))
    z = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (
        1 + t * (1.432788 + t * (0.189269 + t * 0.001308))
    )
    for _ in range(_MOST):
        density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        central = p > 0.25  # noqa: PLR2004
        off = (_HALF - p) - math.erf(z * math.sqrt(_HALF)) / 2 if central else normal_sf(z) - p
        step = off / density
        step /= 1 - step * z / 2
        z += step
        if abs(step) <= _NEAR * abs(z):
            break
    return z


# --- Student's t, F and chi-square -------------------------------------------------------------


def t_sf(t: float, df: float) -> float:
    """Return P(T > t) of Student's t with `df` degrees of freedom."""
    t, df = float(t), float(df)
    if t < 0:
        return 1 - t_sf(-t, df)
    if math.isinf(df):
        return normal_sf(t)
    return _beta_area(df / 2, _HALF, t / math.sqrt(df)) / 2


@lru_cache(maxsize=2**10)
def t_isf(p: float, df: float) -> float:
    """Return the t at which P(T > t) is `p`."""
    p, df = float(p), float(df)
    if math.isinf(df):
        return normal_isf(p)
    if p > _HALF:
        return -t_isf(1 - p, df)
    if not (p > 0 and df > 0):
        return math.inf if p == 0 else math.nan
    if p == _HALF:
        return 0.0
    log_unit = _log_rising(df / 2, _HALF) - math.log(math.pi * df) / 2
    z = normal_isf(p)
    # What t is of z at many degrees of freedom, and the power law of its tail at few.
    t = z + z * (z * z + 1) / (4 * df)
    far = math.exp(min(_MOST_LOG, (log_unit - math.log(p) + (df - 1) / 2 * math.log(df)) / df))
    t = max(t, far * _HALF) if df < 10 else t  # noqa: PLR2004
    for _ in range(_MOST):
        reach = t / math.sqrt(df)
        log_density = log_unit - (df + 1) * _log_hypotenuse(reach)
        area = t_sf(t, df)
        if not area:
            return math.inf
        # By Newton on logarithms, in which both tails are nearly straight.
        step = math.log(area / p) * math.exp(math.log(area) - math.log(t) - log_density)
        t *= math.exp(min(_MOST_LOG, step))
        if abs(step) <= _NEAR:
            break
    return t


def f_sf(f: float, df_1: float, df_2: float) -> float:
    """Return P(F > f) of Fisher's F with `df_1` and `df_2` degrees of freedom."""
    return _beta_area(df_2 / 2, df_1 / 2, math.sqrt(max(float(f), 0.0) * df_1 / df_2))


def chi_square_sf(chi2: float, df: int) -> float:
    """Return P(X > chi2) of a chi-square variable with a whole number of degrees of freedom."""
    half = float(chi2) / 2
    if not 0 < half < math.inf:
        return math.nan if math.isnan(half) else float(half <= 0)
    odd = _HALF * (df % 2)
    # Integrated by parts, a term for each two degrees of freedom.
    terms = [
        math.exp((k + odd) * math.log(half) - half - math.lgamma(k + odd + 1))
        for k in range(df // 2)
    ]
    return min(1.0, math.fsum(terms) + (math.erfc(math.sqrt(half)) if odd else 0.0))


def gamma_ratio(a: float) -> float:
    """Return gamma(a + 1/2) / gamma(a), which overflow where it does not."""
    return math.exp(_log_rising(a, _HALF))


def _beta_area(a: float, b: float, w: float) -> float:
    """Return the incomplete beta function at x = 1 / (1 + w squared): what is below it.

    By the power series of what is above where that is the smaller part or few terms will do, and
    else by a continued fraction. Source: DLMF 8.17.8 and Didonato & Morris (1992, ACM Trans. Math.
    Softw. 18, 360-373), which work with 1 - x and lose no digits where x is close to 1.
    """
    if math.isnan(w):
        return math.nan
    if w == 0 or math.isinf(w):
        return float(w == 0)
    log_x = -2 * _log_hypotenuse(w)
    log_y = log_x + 2 * math.log(w)
    x, y = math.exp(log_x), math.exp(log_y)
    front = math.exp(a * log_x + b * log_y + _log_rising(a, b) - math.lgamma(b))
    if (a + b) * y < b + 4 and (y < _HALF or (a + b + 2) * y <= b + 1):
        n, term, total = 0, 1.0, 1.0
        while term > _CLOSE * total:
            term *= (a + b + n) * y / (b + 1 + n)
            total += term
            n += 1
        return 1 - front * total / b
    fraction = c = a * (a * y - b * x + 1) / (a + 1) or _TINY
    d = 0.0
    for n in range(1, _LONGEST):
        over = n * (b - n) * x / (a + 2 * n - 1)
        above = (a + n - 1) * (a + b + n - 1) * x * over / (a + 2 * n - 1)
        beside = n + over + (a + n) * (a * y - b * x + 1 + n * (1 + y)) / (a + 2 * n + 1)
        d = 1 / (beside + above * d or _TINY)
        c = beside + above / c or _TINY
        factor = c * d
        fraction *= factor
        if abs(factor - 1) <= _STEP:
            break
    return front / fraction


def _log_hypotenuse(w: float) -> float:
    """Return the logarithm of sqrt(1 + w squared), whose square may overflow."""
    return math.log1p(w * w) / 2 if w < 1e8 else math.log(w)  # noqa: PLR2004


def _log_rising(a: float, b: float) -> float:
    """Return the logarithm of gamma(a + b) / gamma(a), without the difference of large ones.

    Source: Stirling's series (DLMF 5.11.1), whose large terms are subtracted here on paper.
    """
    if a < _STIRLING:
        return math.lgamma(a + b) - math.lgamma(a)
    return (
        (a - _HALF) * math.log1p(b / a)
        + b * (math.log(a + b) - 1)
        + (_beyond_stirling(a + b) - _beyond_stirling(a))
    )


def _beyond_stirling(a: float) -> float:
    inverse, total = 1 / a, 0.0
    for each in reversed(_DIFFERENCES):
        total = total * inverse * inverse + each
    return total * inverse


# --- where functions cross 0 -------------------------------------------------------------------


def crossing(monotone: Callable[[float], float], low: float, high: float) -> float:
    """Return the place between `low` and `high`, of unlike signs, at which a function crosses 0.

    To the last bits, by halving or by inverse quadratic interpolation where that is surer to be
    close. Source: Chandrupatla (1997, Advances in Engineering Software 28, 145-149). Not scipy's,
    whose `optimize` takes a tenth of a second to import, in every process that analyses.

    Raises ValueError where the signs are alike or there is none.
    """
    a, b = low, high
    f_a, f_b = monotone(a), monotone(b)
    if not (f_a <= 0 <= f_b or f_b <= 0 <= f_a):
        problem = f"{f_a} at {low} and {f_b} at {high} are not of unlike signs"
        raise ValueError(problem)
    c, f_c, part = a, f_a, 0.5
    while True:
        best, f_best = (a, f_a) if abs(f_a) < abs(f_b) else (b, f_b)
        near = (2e-15 * abs(best) + 1e-15) / abs(b - a) if b != a else 1.0
        if f_best == 0 or near > 0.5:  # noqa: PLR2004  (what is left is no wider than that)
            return best
        at = a + min(1 - near, max(near, part)) * (b - a)
        f_at = monotone(at)
        if (f_at > 0) == (f_a > 0):
            c, f_c = a, f_a
        else:
            c, b, f_c, f_b = b, a, f_b, f_a
        a, f_a = at, f_at
        along, up = (a - b) / (c - b), (f_a - f_b) / (f_c - f_b)
        part = 0.5
        if up**2 < along and (1 - up) ** 2 < 1 - along:
            part = f_a / (f_b - f_a) * f_c / (f_b - f_c)
            part += (c - a) / (b - a) * f_a / (f_c - f_a) * f_b / (f_c - f_b)
