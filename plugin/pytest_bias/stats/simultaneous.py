"""Several hypotheses at once: adjusted p-values, and the largest of several t statistics."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .checks import Floats, bad, probability, sample
from .means import p_from_t

CHUNK = 2**18  # variates held at once, 2 MiB
ROUGHNESS = 1e-9  # share of the largest eigenvalue below which one is 0


def holm(p: ArrayLike, weights: ArrayLike | None = None, *, capped: bool = True) -> Floats:
    """Return step-down adjusted p-values, in the order given.

    Rejecting where they are at most alpha keeps the probability of any false rejection in the
    family at alpha, whatever the dependence. `p` has shape (m,); an empty family stays empty.
    `weights`, of the same shape and above 0, divide alpha unevenly (by default alike): those not
    rejected yet divide it by theirs at each step. Not `capped` at 1, alpha p / adjusted is the
    level at which each is tested by itself.
    Raises `BadStatisticInput` for NaN and values outside 0 to 1. Source: Holm (1979, section 4).
    """
    array = _floored(_p_values(p))
    weight = np.ones_like(array) if weights is None else sample(weights, "weights")
    if weight.shape != array.shape or not (weight > 0).all():
        raise bad("weights", "needs one above 0 for every p")
    order = np.argsort(array / weight, kind="stable")
    left = np.cumsum(weight[order][::-1])[::-1]
    adjusted = np.empty_like(array)
    adjusted[order] = np.maximum.accumulate(array[order] * left / weight[order])
    return _floored(adjusted) if capped else adjusted


def _p_values(p: ArrayLike) -> Floats:
    array = sample(p, "p")
    if array.size and (array.min() < 0 or array.max() > 1):
        raise bad("p", "is outside 0 to 1")
    return array


def _floored(p: Floats) -> Floats:
    return np.array([probability(value) for value in p.tolist()], dtype=np.float64)


def max_t(
    t: ArrayLike, correlation: ArrayLike, df: float, *, resamples: int = 100_000, seed: int
) -> tuple[float, ...]:
    """Return single-step p-values of t statistics, adjusted over all of them by max |t|.

    Estimand per statistic: the probability that the largest |t| of the family reaches it where
    no contrast differs from 0. `t` has shape (m,), m >= 1, `correlation` (m, m), of the
    estimates; it may be of deficient rank, as that of contrasts which sum to 0 (scipy's
    `multivariate_t.cdf` is wrong there). Assumes a multivariate t distribution with `df` > 0
    degrees of freedom common to all: normal estimates over one independent variance. It is
    sampled `resamples` times from `seed`, the observed statistics counting as one sample more: at
    .05 its standard error is .0007. No adjusted p-value is below the unadjusted one, nor above
    Bonferroni's. Source: Hothorn, Bretz & Westfall (2008).
    """
    observed = np.abs(np.asarray(t, dtype=np.float64))
    eigenvalues, vectors = np.linalg.eigh(np.asarray(correlation, dtype=np.float64))
    kept = eigenvalues > ROUGHNESS * eigenvalues[-1]
    root = vectors[:, kept] * np.sqrt(eigenvalues[kept])
    rng = np.random.default_rng(seed)
    rows = max(1, CHUNK // observed.size)
    reached = np.zeros(observed.size, dtype=np.intp)
    for start in range(0, resamples, rows):
        size = min(rows, resamples - start)
        largest = np.abs(rng.standard_normal((size, root.shape[1])) @ root.T).max(axis=1)
        # |z| / s >= t as |z| >= t s: a variance that underflows to 0 divides nothing
        spread = np.sqrt(rng.chisquare(df, size) / df)
        reached += np.count_nonzero(largest[:, None] >= observed * spread[:, None], axis=0)
    shares = ((reached + 1) / (resamples + 1)).tolist()
    alone = [p_from_t(value, df) for value in observed.tolist()]
    return tuple(
        probability(min(max(share, one), one * observed.size))
        for share, one in zip(shares, alone, strict=True)
    )
