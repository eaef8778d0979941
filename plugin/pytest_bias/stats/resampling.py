"""Resampling: permutation of labels, sign flips as their paired case, and the bootstrap.

A permutation test counts every relabelling where there are at most `ALWAYS_EXACT` of them, and
otherwise draws seeded random ones with the observed one among them, so that p is valid and never 0
(Phipson & Smyth 2010). Values within rounding of the observed statistic count as reaching it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .checks import Floats, constant, enough, probability, sample, two_samples, units
from .results import LEVEL, Bootstrap, Interval, Permutation

Codes = NDArray[np.int8]

ALWAYS_EXACT = 2**16  # so many relabellings take tenths of a second
CHUNK = 2**20  # labels held at once, 1 MiB
FIRST = 1_000  # relabellings that are drawn first
PLAIN = 0.1  # p of these above which no others are drawn
TIE = 1e-9  # distance within which two statistics, of sizes about 1, are the same
UNCOUNTED = 0.5  # what a sum of no counts counts as in a log ratio


def contrast_permutation(
    values: ArrayLike,
    labels: Sequence[str],
    weights: Mapping[str, float],
    *,
    blocks: Sequence[Hashable] | None = None,
    resamples: int = 10_000,
    seed: int,
) -> Permutation:
    """Return the two-sided permutation p-value of a contrast of group means.

    Estimand: the sum over labels l of weights[l] × mean(values of l), in the unit of the values;
    the weights sum to 0, and none is 0. `values` has shape (n,), one number per independent unit,
    `labels` the group of each. Null: the labels are exchangeable over their units (two or more
    each), within `blocks` where given.

    The statistic is |contrast| over its standard error from every group's own variance, so that
    without blocks p also holds, for many units, where only the means are equal and not the
    variances. Constant values give p = 1.
    Source: Fisher (1935); Janssen (1997) and Chung & Romano (2013) for the studentised statistic.
    """
    array, names = sample(values, "values"), sorted({*labels})
    factors = np.array([weights[name] for name in names])
    codes = np.array([names.index(label) for label in labels], dtype=np.int8)
    sizes = np.bincount(codes)
    for name, size in zip(names, sizes.tolist(), strict=True):
        enough(size, name)
    blocks = [""] * len(labels) if blocks is None else blocks
    numbers = {block: number for number, block in enumerate(dict.fromkeys(blocks))}
    within = np.array([numbers[block] for block in blocks], dtype=np.intp)
    if constant(array):
        return Permutation(p=1.0, exact=True)
    shares = (array - array.mean()) / np.ptp(array)
    order = np.lexsort((shares, codes, within))  # draws then do not depend on the units' order

    def statistic(rows: Codes) -> Floats:
        contrast, variance = np.zeros(len(rows)), np.zeros(len(rows))
        for code, (factor, size) in enumerate(zip(factors, sizes, strict=True)):
            members = (rows == code).astype(np.float64)
            means = members @ shares[order] / size
            squares = members @ shares[order] ** 2 / size - means**2
            contrast += factor * means
            variance += factor**2 * np.maximum(squares, 0) / (size - 1)
        # grows with |t|, and stays finite where a relabelling leaves no variance within groups
        left = np.where(variance > TIE**2, variance, 0.0)
        whole = contrast**2 + left
        return np.divide(contrast**2, whole, out=np.zeros_like(whole), where=whole > TIE**2)

    relabelled = _Relabelled(codes[order], within[order], resamples=resamples, seed=seed)
    return relabelled.test(statistic, sides=1)


def sign_flip(differences: ArrayLike, *, resamples: int = 10_000, seed: int) -> Permutation:
    """Test the mean of unit-level differences against 0 by flipping signs, two-sided.

    It is `contrast_permutation` of the two sides of every unit, within units. Null: each unit's
    difference is distributed symmetrically around 0, as it is where the two sides of a unit are
    exchangeable. `differences` has shape (n,), n >= 2, one per independent unit. Constant
    differences are no failure here: n of one sign give 2^(1 - n) two-sided, so five units cannot
    be below .0625. Source: Fisher (1935); Phipson & Smyth (2010) for random flips.
    """
    values = units(differences, "differences")
    half = values[np.lexsort((values, np.abs(values)))] / 2
    return contrast_permutation(
        np.concatenate([half, -half]),
        ["a"] * half.size + ["b"] * half.size,
        {"a": 1.0, "b": -1.0},
        blocks=[*range(half.size)] * 2,
        resamples=resamples,
        seed=seed,
    )


def label_shuffle_ratio(
    selected: ArrayLike,
    shown: ArrayLike,
    in_group: Sequence[bool],
    *,
    resamples: int = 10_000,
    seed: int,
) -> Permutation:
    """Return the permutation p-value of a log ratio of selection rates between kinds of items.

    Estimand: log of (selected / shown of the items in the group) / (the same of the others).
    `selected` and `shown` are counts per corpus item, of shape (n,), with selected <= shown;
    `in_group` says of each whether it has the feature, as two or more do and do not. Null: the
    feature's labels are exchangeable over items, each of which keeps both its counts. A sum that
    is 0 counts as 0.5, so that the ratio is finite. Two-sided: twice the smaller tail, because the
    ratio's distribution is skewed where few items have the feature.
    Source: Fisher (1935); Edgington & Onghena (2007); Phipson & Smyth (2010).
    """
    counts = np.column_stack([sample(selected, "selected"), sample(shown, "shown")])
    codes = np.array(in_group, dtype=np.int8)
    enough(min(int(codes.sum()), int((1 - codes).sum())), "items")
    totals = counts.sum(axis=0)

    def log_ratios(inside: Floats) -> Floats:
        logs = [np.log(np.maximum(part, UNCOUNTED)) for part in (inside, totals - inside)]
        found: Floats = logs[0][:, 0] - logs[0][:, 1] - logs[1][:, 0] + logs[1][:, 1]
        return found

    within = np.zeros(codes.size, dtype=np.intp)
    relabelled = _Relabelled(codes, within, resamples=resamples, seed=seed)
    if relabelled.exact:
        return relabelled.test(lambda rows: log_ratios(rows.astype(np.float64) @ counts), sides=2)
    # items with the same counts are interchangeable: how many of each kind get the label is enough
    kinds, times = np.unique(counts, axis=0, return_counts=True)
    rng, chosen = np.random.default_rng(seed), int(codes.sum())
    draw = partial(rng.multivariate_hypergeometric, times, chosen, method="marginals")
    nulls = (log_ratios(draw(size) @ kinds) for size in relabelled.sizes(len(times)))
    observed = float(log_ratios(codes[None].astype(np.float64) @ counts)[0])
    return relabelled.compared(observed, nulls, sides=2)


class _Relabelled:
    """Relabellings of units within blocks; a row of codes each, the observed one given."""

    def __init__(
        self, codes: Codes, within: NDArray[np.intp], *, resamples: int, seed: int
    ) -> None:
        self.codes, self.resamples, self.seed = codes, resamples, seed
        by_block = np.split(np.argsort(within, kind="stable"), np.cumsum(np.bincount(within))[:-1])
        # only where a block holds several labels do they move
        self.blocks = [places for places in by_block if np.ptp(codes[places])]
        log_total = 0.0
        for places in self.blocks:
            log_total += math.lgamma(places.size + 1)
            log_total -= sum(math.lgamma(n + 1) for n in np.bincount(codes[places]).tolist())
        self.exact = log_total <= math.log(max(ALWAYS_EXACT, resamples)) + TIE

    def test(self, statistic: Callable[[Codes], Floats], *, sides: int) -> Permutation:
        """Return the p-value of large statistics, or twice that of the smaller tail."""
        observed = float(statistic(self.codes[None])[0])
        every = self._every() if self.exact else self._drawn()
        return self.compared(observed, map(statistic, every), sides=sides)

    def compared(self, observed: float, nulls: Iterable[Floats], *, sides: int) -> Permutation:
        """Return the p-value of an observed statistic among those of relabellings.

        Where relabellings are drawn, no more are where p is above .1 by the first 1,000 or more.
        That is valid: no test at a level up to .1 alarms more often for it (after Besag & Clifford
        1991).
        """
        reached, seen = np.zeros(2), 0
        for null in nulls:
            reached += (null >= observed - TIE).sum(), (null <= observed + TIE).sum()
            seen += len(null)
            if not self.exact and seen >= FIRST and self._found(reached, seen, sides).p > PLAIN:
                break
        return self._found(reached, seen, sides)

    def _found(self, reached: Floats, seen: int, sides: int) -> Permutation:
        further = 0 if self.exact else 1
        tails = (reached + further) / (seen + further)
        tail = float(tails[0] if sides == 1 else tails.min())
        return Permutation(p=probability(sides * tail), exact=self.exact)

    def sizes(self, width: int) -> Iterator[int]:
        """Yield how many relabellings, each of so many numbers, are drawn at once."""
        most, left = max(1, CHUNK // width), self.resamples
        size = min(FIRST, left, most)
        while left:
            yield size
            left -= size
            size = min(left, most)

    def _drawn(self) -> Iterator[Codes]:
        rng = np.random.default_rng(self.seed)
        for size in self.sizes(self.codes.size):
            rows = np.tile(self.codes, (size, 1))
            for places in self.blocks:
                rows[:, places] = rng.permuted(rows[:, places], axis=1)
            yield rows

    def _every(self) -> Iterator[Codes]:
        rows = max(1, CHUNK // self.codes.size)
        orders = [_orders(self.codes[places]) for places in self.blocks]
        every = itertools.product(*(range(len(order)) for order in orders))
        while chosen := [*itertools.islice(every, rows)]:
            found = np.tile(self.codes, (len(chosen), 1))
            for places, order, which in zip(self.blocks, orders, np.array(chosen).T, strict=True):
                found[:, places] = order[which]
            yield found


def _orders(codes: Codes) -> Codes:
    """Return every distinct order of `codes`, one per row."""
    left = np.bincount(codes)[None]
    rows = np.empty((1, 0), dtype=np.int8)
    for _ in codes:
        row, code = np.nonzero(left)
        rows = np.column_stack([rows[row], code.astype(np.int8)])
        left = left[row]
        left[np.arange(row.size), code] -= 1
    return rows


def bootstrap_difference(
    a: ArrayLike, b: ArrayLike, *, iterations: int = 10_000, seed: int
) -> Bootstrap:
    """Return the 95 % percentile bootstrap interval of mean(a) - mean(b), in their unit.

    Each group, of at least 2 independent units, is resampled on its own. Two constant groups give
    an interval of zero width, allowed because this interval describes and gives no verdict. It is
    too narrow for few units: of normal means some .83 of them hold the truth with 5 units, .90
    with 10 and .92 with 20. Source: Efron & Tibshirani (1993).
    """
    from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415

    first, second, _ = two_samples(a, b)
    found = stats.bootstrap(
        (first, second),
        lambda x, y, axis: x.mean(axis=axis) - y.mean(axis=axis),
        n_resamples=iterations,
        batch=max(1, CHUNK // (first.size + second.size)),
        confidence_level=LEVEL,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    interval = Interval(low=float(found.low), high=float(found.high), level=LEVEL)
    return Bootstrap(interval=interval, iterations=iterations, seed=seed)
