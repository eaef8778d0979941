"""Power of the tests of few units, whose alarm must hold by a permutation as well.

No formula has it: normal units are drawn, with a fixed seed, and tested. What is returned has a
standard error of .011 at most.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from ._old._distributions import t_isf
from ._old.checks import checked, count, fraction, number
from .power import SMALLEST

DRAWS = 2000
_MOST = 5_000
"""Relabellings, of more of which so many are drawn."""
_SEED = 1
_KNOWN = 50
"""Degrees of freedom for which t is worked out; between them it is nearly straight in 1 / df."""
_TIE = 1e-5
"""Of normal numbers in single precision, which takes half the time."""


@checked
def few_alarm_power(
    sizes: tuple[int, int], *, effect: float, alpha: float, strata: int = 1
) -> float:
    """Return the probability that a t test and a permutation find two groups' means to differ.

    `sizes` are the units of the groups, of which each of the `strata` has its share, of two or
    more; labels move within these, whose means do not count. `effect` is the true difference in
    its standard errors. Both tests are two-sided at `alpha`; units are normal with one variance,
    which the t test does not know: of two cells it is `welch`'s, of more `stratified_contrast`'s.
    Source: Fisher (1935); Welch (1947).
    """
    first, second = (max(SMALLEST, count(n, "sizes", SMALLEST) // strata) for n in sizes)
    weights, all_of_them = _labellings(first, second, strata)
    ours = weights[0] > 0
    unit = math.sqrt((1 / first + 1 / second) / strata)
    values = _drawn(ours.size) + number(effect, "effect") * unit * ours
    cells = values.reshape(DRAWS, strata, -1)
    groups = (cells[:, :, :first], cells[:, :, first:])
    terms = np.hstack([each.var(axis=2) / (each.shape[2] - 1) for each in groups])
    freedom = np.repeat([first - 1, second - 1], strata)
    more = 2 * (strata > 1)
    shares = terms / terms.sum(axis=1, keepdims=True)
    df = 1 / (shares**2 / (freedom + more)).sum(axis=1) - more
    known = np.linspace(1 / freedom.sum(), 1 / freedom.min(), _KNOWN)
    edges = [t_isf(fraction(alpha, "alpha") / 2, 1 / each) for each in known.tolist()]
    means, ses = values @ weights[0], np.sqrt(terms.sum(axis=1)) / strata
    by_t = np.abs(means) >= np.interp(1 / df, known, edges) * ses
    # Twice the tail the difference lies in; of those drawn it is none itself.
    found = (values * np.sign(means)[:, None])[by_t] @ weights.T
    reach = np.count_nonzero(found >= found[:, :1] - _TIE, axis=1) - (not all_of_them)
    return int(np.count_nonzero(2 * reach <= alpha * len(weights))) / DRAWS


@checked
def few_flips_power(n: int, *, effect: float, alpha: float) -> float:
    """Return the probability that sign flips of `n` units find their mean to differ from 0.

    `effect` is the true mean in its standard errors; all else is as in `few_alarm_power`.
    """
    flips = [*product((1, -1), repeat=count(n, "n", SMALLEST) - 1)]
    signs = np.array([(1, *each) for each in flips], dtype=np.float32)
    values = _drawn(n) + number(effect, "effect") / math.sqrt(n)
    found = np.abs(values @ signs.T)
    reach = np.count_nonzero(found >= found[:, :1] - _TIE, axis=1)
    return int(np.count_nonzero(reach <= fraction(alpha, "alpha") * len(signs))) / DRAWS


def _drawn(n: int) -> NDArray[np.float32]:
    return np.random.default_rng(_SEED).standard_normal((DRAWS, n), dtype=np.float32)


@lru_cache(maxsize=2)
def _labellings(first: int, second: int, strata: int) -> tuple[NDArray[np.float32], bool]:
    """What every unit weighs in the difference of means, a row per relabelling; whether it is all.

    In the first row the labels are as they are.
    """
    total = first + second
    labels = np.repeat([True, False], [first, second])
    exact = bool(math.comb(total, first) ** strata <= _MOST)
    if exact:
        places = [*combinations(range(total), first)]
        each = np.zeros((len(places), total), dtype=bool)
        np.put_along_axis(each, np.array(places), values=True, axis=1)
        of = np.array([*product(each, repeat=strata)])
    else:
        several = np.broadcast_to(labels, (_MOST, strata, total))
        drawn = np.random.default_rng(_SEED).permuted(several, axis=2)
        of = np.concatenate([several[:1], drawn[(drawn != labels).any(axis=(1, 2))]])
    weights = np.where(of.reshape(len(of), -1), 1 / first, -1 / second) / strata
    return weights.astype(np.float32), exact
