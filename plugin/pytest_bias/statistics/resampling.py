"""Permutation of the labels of two groups, and exchange of two models' values within units."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import scipy  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types
from numpy.typing import ArrayLike

from ..errors import TooFewUnits
from .checks import ROUNDING, Floats, alike, bad, checked, count, draws, probability, sample, units
from .results import Permutation

Size = Callable[[Floats], Floats]

CHUNK = 2**19  # resampled values held at once, 4 MiB

FEWEST_GROUPS = 2


def _mean_difference(a: Floats, b: Floats, axis: int) -> Floats:
    difference: Any = a.mean(axis=axis) - b.mean(axis=axis)
    return np.asarray(difference, dtype=np.float64)


@checked
def label_permutation(
    a: ArrayLike, b: ArrayLike, *, resamples: int = 100_000, seed: int
) -> Permutation:
    """Return the two-sided permutation p-value of mean(a) - mean(b), of at least 2 units each.

    Null: the labels of the n_a + n_b units are exchangeable. Every relabelling is counted where
    there are no more than `resamples` of them (up to 9 and 10 units); otherwise `resamples` random
    ones are drawn, and the observed one is counted among them, so that p is valid and never 0
    (Phipson & Smyth 2010). Two-sided: twice the smaller tail, of which ties, up to rounding, are a
    part.
    Source: Fisher (1935); Edgington & Onghena (2007).
    """
    first = units(a, "a")
    second = units(b, "b")
    resamples = draws(resamples)
    observed = float(_mean_difference(first, second, -1))
    rounding = ROUNDING * float(max(np.abs(first).max(), np.abs(second).max()))

    def tied(a: Floats, b: Floats, axis: int) -> Floats:
        # scipy's own tolerance is a share of the difference, but rounding is one of the values
        drawn = _mean_difference(a, b, axis)
        return np.where(np.abs(drawn - observed) <= rounding, observed, drawn)

    found = scipy.stats.permutation_test(
        (first, second),
        tied,
        permutation_type="independent",
        n_resamples=resamples,
        batch=max(1, CHUNK // (first.size + second.size)),
        vectorized=True,
        rng=np.random.default_rng(count(seed, "seed")),
    )
    exact = math.comb(first.size + second.size, first.size) <= resamples
    p = probability(float(found.pvalue))
    tail = p / 2  # whose share of the resamples was counted
    return Permutation(
        p=p,
        exact=exact,
        resamples=resamples,
        seed=seed,
        error=0.0 if exact else 2 * math.sqrt(tail * (1 - tail) / (resamples + 1)),
    )


@checked
def exact_separation_p(n_a: int, n_b: int) -> float:
    """Return the permutation p-value of two groups that are constant at two different values.

    Of the C(n_a + n_b, n_a) relabellings only the observed one gives a difference of means as
    large in its direction. This is twice that one-sided p, min(1, 2 / C), as scipy's
    `permutation_test` reports it: with n_a = n_b also the p of |mean(a) - mean(b)|, else
    conservative. It is floored where 2 / C underflows (some 1,030 units in all).
    Source: Fisher (1935); Edgington & Onghena (2007).
    """
    for argument, n in (("n_a", n_a), ("n_b", n_b)):
        if count(n, argument) < 1:
            raise TooFewUnits(group=argument, found=n, needed=1)
    log_orders = math.lgamma(n_a + 1) + math.lgamma(n_b + 1)
    return probability(2 * math.exp(log_orders - math.lgamma(n_a + n_b + 1)))


def spread_of_means(means: Floats) -> Floats:
    """The standard deviation (ddof = 1) of each row of group means."""
    return np.asarray(means.std(axis=-1, ddof=1), dtype=np.float64)


def sum_of_gaps(weights: ArrayLike) -> Size:
    """Σ over gaps of |Σ over groups of weight × mean|, of each row of group means.

    `weights` has shape (groups, gaps).
    """
    matrix = np.asarray(weights, dtype=np.float64)

    def size(means: Floats) -> Floats:
        return np.asarray(np.abs(means @ matrix).sum(axis=-1), dtype=np.float64)

    return size


@checked
def exchange_size(
    candidate: ArrayLike,
    baseline: ArrayLike,
    *,
    groups: Sequence[int],
    units: Sequence[Hashable],
    size: Size,
    resamples: int = 10_000,
    seed: int,
) -> Permutation:
    """Test one-sided whether a size of group means is larger for the candidate.

    The size has no sign and no t statistic, but where two models do the same on units like these
    it does not matter which of them gave which values of a unit. `candidate` and `baseline` have
    shape (n,); place i holds either model's value of the same unit in the same group, `groups` its
    group from 0 (two or more, each with a value) and `units` the unit. Statistic: size(candidate)
    - size(baseline). p is the share of `resamples` random exchanges of whole units with at least
    as large a one (up to rounding), the observed among them. A large p shows nothing.
    Source: Fisher (1935); Phipson & Smyth (2010) for random exchanges.
    """
    ours = sample(candidate, "candidate")
    theirs = sample(baseline, "baseline")
    for argument, found in (("baseline", theirs), ("groups", groups), ("units", units)):
        alike(found, argument, n=ours.size, of="values")
    resamples = draws(resamples)
    of = np.asarray(groups, dtype=np.intp)
    sizes = np.bincount(of)
    if sizes.size < FEWEST_GROUPS or not sizes.all():
        raise bad("groups", "fewer than two, or one without a value")
    first, second = (np.bincount(of, weights=each) / sizes for each in (ours, theirs))
    places = {unit: place for place, unit in enumerate(dict.fromkeys(units))}
    rows_of = np.array([places[unit] for unit in units], dtype=np.intp)
    # what exchanging a unit takes from the candidate's means, and adds to the baseline's
    moved = np.zeros((len(places), sizes.size))
    np.add.at(moved, (rows_of, of), (ours - theirs) / sizes[of])
    scale = float(max(np.abs(ours).max(), np.abs(theirs).max()))
    observed = float(size(first) - size(second)) - ROUNDING * scale * sizes.size
    rng = np.random.default_rng(count(seed, "seed"))
    rows = max(1, CHUNK // len(places))
    extreme = 0
    for start in range(0, resamples, rows):
        shape = (min(rows, resamples - start), len(places))
        exchanged = rng.integers(0, 2, size=shape, dtype=np.int8).astype(np.float64) @ moved
        extreme += int((size(first - exchanged) - size(second + exchanged) >= observed).sum())
    p = (extreme + 1) / (resamples + 1)
    return Permutation(
        p=probability(p),
        exact=False,
        resamples=resamples,
        seed=seed,
        error=float(np.sqrt(p * (1 - p) / resamples)),
    )
