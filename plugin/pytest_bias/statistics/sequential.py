"""Stopping early without spending the error rate twice: boundaries and betting."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import get_args

import numpy as np
import scipy  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types
from numpy.typing import ArrayLike
from scipy import special  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from .checks import (
    ROUNDING,
    SMALLEST_P,
    Floats,
    bad,
    checked,
    count,
    fraction,
    known,
    number,
    on_scale,
    probability,
    scale_bounds,
    units,
)
from .score import Alternative

MOST_LOOKS = 100
NODES = 256  # of the quadrature: fine enough for the short steps of 100 looks
LARGEST_ALPHA = 0.5
SMALLEST_ALPHA = 1e-6  # below, the error of the quadrature shows in the constant
BETS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundaries:
    """Critical |z| at each look, and the two-sided p-values they stand for.

    `z[k - 1]` = `constant` * sqrt(looks / k); a t test compares its own p-value with `p`.
    """

    constant: float
    z: tuple[float, ...]
    p: tuple[float, ...]
    alpha: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Betting:
    """Evidence against the mean: valid at every n, and so also when stopped on seeing it.

    `log_e` is the logarithm of the e-value after the last value, `log_e_max` the largest on the
    way (at least 0); `p` = 1 / the largest e-value. `stopped` is the number of values after which
    that was reached, 0 where no value ever raised it above 1.
    """

    log_e: float
    log_e_max: float
    p: float
    n: int
    stopped: int


@lru_cache(maxsize=1)
def _nodes() -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return nodes, weights


def _never_crossed(constant: float, looks: int) -> float:
    """Return P(|B_k| < constant at every look) for a walk with steps of variance 1 / looks."""
    nodes, weights = _nodes()
    place = constant * nodes
    scale = math.sqrt(looks)
    step = np.exp(-0.5 * (scale * (place[:, None] - place[None, :])) ** 2)
    step *= scale * constant / math.sqrt(2 * math.pi) * weights[None, :]
    staying = np.ones(NODES)  # the chance to stay inside from each place, no look being left
    for _ in range(looks - 1):
        staying = step @ staying
    start = scale * constant / math.sqrt(2 * math.pi) * weights
    return float((start * np.exp(-0.5 * (scale * place) ** 2)) @ staying)


@checked
def obrien_fleming_boundaries(*, looks: int = 5, alpha: float = 0.05) -> Boundaries:
    """Return the two-sided boundaries of O'Brien and Fleming for equally spaced looks, 1 to 100.

    At look k of K the |z| statistic of all data so far is compared with C sqrt(K / k). In the
    scale of the partial sums that is one constant C, found so that a Brownian motion observed at
    the K looks leaves (-C, C) with probability `alpha`, by recursive numerical integration
    (2.0401 at the defaults). Assumes a z statistic with independent increments.
    Source: O'Brien & Fleming (1979); Armitage, McPherson & Rowe (1969) for the integration.
    """
    looks = count(looks, "looks")
    if not 1 <= looks <= MOST_LOOKS:
        raise bad("looks", f"{looks} is not from 1 to {MOST_LOOKS}")
    alpha = fraction(alpha, "alpha", below=LARGEST_ALPHA)
    if alpha < SMALLEST_ALPHA:
        raise bad("alpha", f"{alpha} is below {SMALLEST_ALPHA:g}")
    one_look = -float(special.ndtri(alpha / 2))
    constant = one_look
    if looks > 1:
        # Between one look and the continuous walk, which crosses at most twice as often.
        constant = float(
            scipy.optimize.brentq(
                lambda c: 1 - alpha - _never_crossed(c, looks),
                one_look,
                -float(special.ndtri(alpha / 4)),
                xtol=1e-12,
            )
        )
    z = tuple(constant * math.sqrt(looks / look) for look in range(1, looks + 1))
    return Boundaries(
        constant=constant,
        z=z,
        p=tuple(probability(2 * float(special.ndtr(-boundary))) for boundary in z),
        alpha=alpha,
    )


def _log_capital(values: Floats, mean: float) -> Floats:
    """Return the log wealth, after each value, of betting that the mean is above `mean`."""
    bets = np.arange(1, BETS + 1) / (BETS + 1) / mean
    wealth = np.log1p(bets[:, None] * (values - mean)[None, :]).cumsum(axis=1)
    return np.asarray(special.logsumexp(wealth, axis=0) - math.log(BETS))


@checked
def betting_p(
    values: ArrayLike,
    *,
    mean: float,
    bounds: tuple[float, float],
    alternative: Alternative = "two-sided",
) -> Betting:
    """Test the mean of bounded values against `mean`, with a p-value valid at any stopping time.

    Null: each value, given those before it, has the expectation `mean` (two-sided), at most
    `mean` (greater) or at least `mean` (less). `values` has shape (n,), n >= 1 and is in the
    order of collection, which the result depends on; every value lies within `bounds`, strictly
    between which `mean` lies; all in one unit. No other assumption: under the null the wealth of
    a gambler who bets fixed shares of the most that can never ruin him is a martingale, and so is
    the average over 50 such shares (and over both sides); it exceeds 1 / alpha with probability
    at most alpha, ever. Source: Waudby-Smith & Ramdas (2024, section 4); Ville (1939).
    """
    low, high = scale_bounds(bounds)
    found = on_scale(units(values, "values", needed=1), (low, high), "values")
    width = high - low
    null = fraction((number(mean, "mean") - low) / width, "mean, as a share of bounds,")
    share = np.clip((found - low) / width, 0, 1)
    known(alternative, "alternative", get_args(Alternative))
    if alternative == "greater":
        log_e = _log_capital(share, null)
    elif alternative == "less":
        log_e = _log_capital(1 - share, 1 - null)
    else:
        both = (_log_capital(share, null), _log_capital(1 - share, 1 - null))
        log_e = np.logaddexp(*both) - math.log(2)
    best = int(log_e.argmax())
    largest = float(log_e[best]) if log_e[best] > ROUNDING else 0.0
    return Betting(
        log_e=float(log_e[-1]),
        log_e_max=largest,
        p=probability(math.exp(max(-largest, math.log(SMALLEST_P)))),
        n=found.size,
        stopped=best + 1 if largest > 0 else 0,
    )
