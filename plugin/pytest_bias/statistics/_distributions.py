"""Tail areas and quantiles of the distributions that verdicts rest on.

They are `scipy.special`'s, which `scipy.stats` calls too: the same numbers to the last bit
(of a chi-square below 0, which there is not, it knows no tail).
Importing `scipy.stats` takes a second, in every process that analyses a few replies; whatever else
is needed of it is reached through `scipy`, which loads its parts when they are first used.
"""

from __future__ import annotations

from scipy import special  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types


def normal_cdf(z: float) -> float:
    """P(Z <= z) of a standard normal variable."""
    return float(special.ndtr(z))


def normal_sf(z: float) -> float:
    """P(Z > z) of a standard normal variable."""
    return float(special.ndtr(-z))


def normal_ppf(p: float) -> float:
    """The z at which P(Z <= z) is `p`."""
    return float(special.ndtri(p))


def normal_isf(p: float) -> float:
    """The z at which P(Z > z) is `p`."""
    return -float(special.ndtri(p))


def t_cdf(t: float, df: float) -> float:
    """P(T <= t) of Student's t with `df` degrees of freedom."""
    return float(special.stdtr(df, t))


def t_sf(t: float, df: float) -> float:
    """P(T > t) of Student's t with `df` degrees of freedom."""
    return float(special.stdtr(df, -t))


def t_isf(p: float, df: float) -> float:
    """The t at which P(T > t) is `p`."""
    return -float(special.stdtrit(df, p))


def chi2_sf(x: float, df: float) -> float:
    """P(X > x) of a chi-square variable with `df` degrees of freedom."""
    return float(special.chdtrc(df, x))
