"""Several hypotheses at once: adjusted p-values, and each group against the rest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..errors import NoVariance
from ._relabelling import codes_of
from .checks import (
    ROUNDING,
    Floats,
    alike,
    bad,
    checked,
    enough,
    matrix,
    mean_and_sd,
    positive,
    probability,
    sample,
)
from .means import StudentEstimate, p_from_t
from .results import Permutation

CHUNK = 2**18  # variates held at once, 2 MiB
ROUGHNESS = 1e-6  # by which a correlation may miss 1, symmetry or its smallest eigenvalue 0


def _p_values(p: ArrayLike) -> Floats:
    array = sample(p, "p")
    if array.size and (array.min() < 0 or array.max() > 1):
        raise bad("p", "is outside 0 to 1")
    return array


def _floored(p: Floats) -> Floats:
    return np.array([probability(value) for value in p.tolist()], dtype=np.float64)


@checked
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


@checked
def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Return p-values adjusted for the false discovery rate, in the order given.

    Rejecting where they are at most q keeps the expected share of false rejections at q for
    independent (or positively dependent) tests. For exploratory tables; never for a verdict.
    `p` has shape (m,); an empty family stays empty. Raises `BadStatisticInput` for NaN and values
    outside 0 to 1. Source: Benjamini & Hochberg (1995).
    """
    array = _p_values(p)
    if array.size == 0:
        return array
    from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415

    return _floored(np.asarray(stats.false_discovery_control(array, method="bh")))


@dataclass(frozen=True, slots=True, kw_only=True)
class AgainstRest(StudentEstimate):
    """A group's mean less the mean of the other groups' means, each with its own variance."""

    group: str


def _root(correlation: ArrayLike, size: int) -> Floats:
    """Return a matrix whose product with its transpose is the checked correlation matrix."""
    given = matrix(correlation, "correlation")
    problem = None
    if given.shape != (size, size):
        problem = f"not the {size} × {size} matrix of {size} statistics"
    elif np.abs(np.diag(given) - 1).max() > ROUGHNESS:
        problem = "its diagonal is not 1"
    elif np.abs(given - given.T).max() > ROUGHNESS:
        problem = "is not symmetric"
    elif np.abs(given).max() > 1 + ROUGHNESS:
        problem = "a correlation is outside -1 to 1"
    else:
        eigenvalues, vectors = np.linalg.eigh((given + given.T) / 2)
        if eigenvalues[0] >= -ROUGHNESS * size:
            # rank-deficient ones are usual: contrasts against the rest sum to 0
            kept = eigenvalues > ROUGHNESS * 1e-3
            root: Floats = vectors[:, kept] * np.sqrt(eigenvalues[kept])
            return root
        problem = "is not positive semi-definite"
    raise bad("correlation", problem)


@checked
def max_t(
    t: ArrayLike, correlation: ArrayLike, df: float, *, resamples: int = 100_000, seed: int
) -> tuple[float, ...]:
    """Return single-step p-values of t statistics, adjusted over all of them by max |t|.

    Estimand per statistic: the probability that the largest |t| of the family reaches it where
    no contrast differs from 0. `t` has shape (m,), m >= 1, `correlation` (m, m), of the
    estimates; it may be of deficient rank. Assumes a multivariate t distribution with `df` > 0
    degrees of freedom common to all: normal estimates over one independent variance. It is
    sampled `resamples` times from `seed`, the observed statistics counting as one sample more; no
    adjusted p-value is below the unadjusted one. Source: Hothorn, Bretz & Westfall (2008).
    """
    observed = np.abs(sample(t, "t"))
    enough(observed.size, "t", 1)
    root = _root(correlation, observed.size)
    df = positive(df, "df")
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
    return tuple(probability(max(each)) for each in zip(shares, alone, strict=True))


@checked
def welch_group_contrasts(values: ArrayLike, labels: Sequence[str]) -> tuple[AgainstRest, ...]:
    """Compare each group with the rest, every group with its own variance.

    Estimand per group: its population mean less the equally weighted mean of the other groups'
    means, in the unit of the values. `values` has shape (n,), one number per independent unit (a
    name's mean), `labels` the group of each, two or more of two units; groups come in order of
    first appearance. Assumes means close to normal; variances may differ, and with v = w^2 s^2 / n
    of each group the degrees of freedom are (sum v)^2 / sum(v^2 / (n - 1)). Two groups are Welch's
    t test.
    Source: Satterthwaite (1946); Welch (1947).
    """
    array = sample(values, "values")
    alike(labels, "labels", n=array.size)
    names = tuple(dict.fromkeys(labels))
    enough(len(names), "labels")
    codes = codes_of(labels)
    groups = [array[codes == code] for code in range(len(names))]
    for name, group in zip(names, groups, strict=True):
        enough(group.size, str(name))
    magnitude = float(np.abs(array).max())
    means, sds = np.array([mean_and_sd(group, magnitude=magnitude) for group in groups]).T
    if not sds.any():
        raise NoVariance
    sizes = np.array([group.size for group in groups])
    k = len(names)
    weights = (k * np.eye(k) - 1) / (k - 1)
    # in units of the largest SD, as squares of SDs would under- or overflow
    terms = weights**2 * ((sds / sds.max()) ** 2 / sizes)
    ses = sds.max() * np.sqrt(terms.sum(axis=1))
    dfs = terms.sum(axis=1) ** 2 / (terms**2 / (sizes - 1)).sum(axis=1)
    table = np.column_stack([weights @ means, ses, dfs]).tolist()
    return tuple(
        AgainstRest(group=str(name), estimate=estimate, se=se, df=df)
        for name, (estimate, se, df) in zip(names, table, strict=True)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SignFlipMaxT:
    """Single-step adjusted p-values of several contrasts of the same units; see `sign_flip_max_t`.

    `permutation` is that of the largest of them.
    """

    p: tuple[float, ...]
    permutation: Permutation


@checked
def sign_flip_max_t(contrasts: ArrayLike, *, resamples: int = 10_000, seed: int) -> SignFlipMaxT:
    """Return p-values of the means of several contrasts, adjusted over them by sign flips.

    Estimand per column: whether its mean is 0. `contrasts` has shape (n units, m contrasts), n >=
    2, all contrasts of a unit in one row; the signs of whole rows are flipped, which keeps how the
    contrasts hang together. Each is studentised by the root mean square of its column, which no
    flip changes, and compared with the largest of its family. Assumes that a unit's contrasts are
    symmetric about 0 where nothing differs. All 2^n flips are counted where they are no more than
    twice `resamples`, else `resamples` are drawn from `seed`, the observed one counted.
    Source: Westfall & Young (1993); Phipson & Smyth (2010).
    """
    values = matrix(contrasts, "contrasts")
    n = values.shape[0]
    if not values.shape[1]:
        raise bad("contrasts", "there are none")
    enough(n, "units")
    scale = np.sqrt((values**2).sum(axis=0))
    if not scale.any():
        raise NoVariance
    t = values / np.where(scale > 0, scale, 1.0)
    observed = np.abs(t.sum(axis=0))
    # sums of the same terms in another order differ in their last bits
    threshold = observed - ROUNDING * np.abs(t).sum(axis=0)
    exact = n <= math.log2(2 * resamples)
    total = 2**n if exact else resamples
    rng = np.random.default_rng(seed)
    reached = np.zeros(observed.size)
    rows = max(1, CHUNK // n)
    for start in range(0, total, rows):
        size = min(rows, total - start)
        if exact:
            bits = np.arange(start, start + size)[:, None] >> np.arange(n)
            signs = 1.0 - 2.0 * (bits & 1)
        else:
            signs = 1.0 - 2.0 * rng.integers(0, 2, size=(size, n))
        largest = np.abs(signs @ t).max(axis=1)
        reached += (largest[:, None] >= threshold).sum(axis=0)
    p = reached / total if exact else (reached + 1) / (total + 1)
    found = tuple(probability(float(value)) for value in p)
    smallest = min(found)
    error = 0.0 if exact else math.sqrt(smallest * (1 - smallest) / total)
    return SignFlipMaxT(
        p=found,
        permutation=Permutation(p=smallest, exact=exact, resamples=total, seed=seed, error=error),
    )
