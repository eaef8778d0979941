"""Bootstrap and permutation statements."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from ..errors import TooFewUnits
from .checks import ROUNDING, checked, count, draws, probability, units
from .results import Permutation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

CHUNK = 2**19  # resampled values held at once, 4 MiB


def _mean_difference(
    a: NDArray[np.float64], b: NDArray[np.float64], axis: int
) -> NDArray[np.float64]:
    difference: Any = a.mean(axis=axis) - b.mean(axis=axis)
    return np.asarray(difference, dtype=np.float64)


@checked
def label_permutation(
    a: ArrayLike, b: ArrayLike, *, resamples: int = 100_000, seed: int
) -> Permutation:
    """Return the two-sided permutation p-value of mean(a) - mean(b).

    Null: the labels of the n_a + n_b units are exchangeable. `a` has shape (n_a,), `b` (n_b,),
    at least 2 units each, in one unit. Every relabelling is counted where there are no more than
    `resamples` of them (up to 9 and 10 units); otherwise `resamples` random ones are drawn from a
    generator seeded with `seed`, and the observed one is counted among them, so that p is valid
    and never 0 (Phipson & Smyth 2010). Two-sided: twice the smaller tail, of which relabellings
    that tie with the observed one, up to rounding, are a part.

    Raises `TooFewUnits` below 2 units, `BadStatisticInput` for values that are not finite and
    fewer than 100 resamples. Source: Fisher (1935); Edgington & Onghena (2007).
    """
    first = units(a, "a")
    second = units(b, "b")
    resamples = draws(resamples)
    observed = float(_mean_difference(first, second, -1))
    rounding = ROUNDING * float(max(np.abs(first).max(), np.abs(second).max()))

    def tied(a: NDArray[np.float64], b: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
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

    Null: the labels of the n_a + n_b units are exchangeable, so that each of the C(n_a + n_b, n_a)
    relabellings is equally likely. Exactly one gives a difference of means as large in the
    observed direction: the observed one. This is twice that one-sided p, min(1, 2 / C).

    With n_a = n_b the exchanged labels give the opposite difference of the same size, and the
    p-value of |mean(a) - mean(b)| is 2 / C as well. With unequal sizes no relabelling is as
    extreme the other way and that p-value would be 1 / C; doubling is then conservative, and
    is what scipy's `permutation_test` reports as two-sided.
    It is 1 for one unit each, and is floored where 2 / C underflows (some 1,030 units in all).

    Raises `TooFewUnits` for an empty group. Source: Fisher (1935); Edgington & Onghena (2007).
    """
    for argument, n in (("n_a", n_a), ("n_b", n_b)):
        if count(n, argument) < 1:
            raise TooFewUnits(group=argument, found=n, needed=1)
    log_orders = math.lgamma(n_a + 1) + math.lgamma(n_b + 1)
    return probability(2 * math.exp(log_orders - math.lgamma(n_a + n_b + 1)))
