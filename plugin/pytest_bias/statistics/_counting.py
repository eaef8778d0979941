"""Relabellings of a block with few distinct values, drawn as counts of values per label.

A random relabelling deals a block's values to its labels: each label takes as many as it has
units, without replacement. How many of each value it takes is multivariate hypergeometric, given
what the labels before it took (Fisher 1935). The labels' sums, all that a contrast of means needs,
are thus distributed as if every unit were shuffled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Whole = NDArray[np.intp]

SAME = 1e-11  # distance within which two values are one, where their range is 1
CHUNK = 2**18  # counts held at once, 2 MiB
SHUFFLED = 5  # units that are shuffled in the time of one hypergeometric draw


def orders(sizes: Sequence[int]) -> int:
    """Return how many distinct orders there are of labels with so many units each."""
    return math.factorial(sum(sizes)) // math.prod(map(math.factorial, sizes))


def log_orders(sizes: Sequence[int]) -> float:
    """Return the logarithm of `orders`, which for many units takes no long numbers."""
    return math.lgamma(sum(sizes) + 1) - math.fsum(math.lgamma(size + 1) for size in sizes)


def tally_of(values: Floats) -> tuple[Floats, Whole]:
    """Return the distinct values, rarest first, and how many there are of each.

    Values centred within their blocks differ in their last bits: within `SAME` of each other they
    are one. Where such neighbours run on beyond that, every value counts as distinct.
    """
    ordered = np.sort(values)
    starts = np.flatnonzero(np.diff(ordered, prepend=-np.inf) > SAME)
    counts = np.diff(starts, append=values.size)
    if (ordered[starts + counts - 1] - ordered[starts]).max() > SAME:
        return ordered, np.ones(values.size, dtype=np.intp)
    rarest = np.argsort(counts, kind="stable")
    return (np.add.reduceat(ordered, starts) / counts)[rarest], counts[rarest]


def cheaper(*, labels: int, distinct: int, units: int) -> bool:
    """Tell whether counts of a block's distinct values are drawn faster than orders of units."""
    return SHUFFLED * (labels - 1) * (distinct - 1) < units


def add_counted(
    sums: Floats,
    support: Floats,
    counts: Whole,
    sizes: Sequence[int],
    rng: np.random.Generator,
) -> None:
    """Add to each row of `sums` the labels' sums of a block under a random relabelling.

    `support` and `counts` are those of `tally_of`, `sizes` the units of each label, a column of
    `sums` each. Labels take in turn; the largest takes what is left. Rows are done some at a time.
    """
    rows = max(1, CHUNK // support.size)
    order = [label for label in np.argsort(sizes, kind="stable").tolist() if sizes[label]]
    for start in range(0, len(sums), rows):
        part = sums[start : start + rows]
        left = np.tile(counts[:, None], len(part))  # a row per value
        for label in order[:-1]:
            needed = np.full(len(part), sizes[label])
            others = left.sum(axis=0)
            for value, of_value in zip(support[:-1].tolist(), left[:-1], strict=True):
                others -= of_value
                taken = rng.hypergeometric(of_value, others, needed)
                part[:, label] += taken * value
                np.subtract(of_value, taken, out=of_value)
                needed -= taken
            part[:, label] += needed * support[-1]
            left[-1] -= needed
        part[:, order[-1]] += support @ left
