"""Selection from pools: how often a group's items are taken, compared with the others'."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np

from ...errors import NoVariance
from ...experiments.canonical import compact, digest
from ...stats.checks import Floats, enough
from ...stats.equivalence import beyond_p, clearing_interval, clearing_p
from ...stats.resampling import label_shuffle_ratio
from ...stats.results import LEVEL, Interval
from ..estimate import ALPHA, Estimate, Null
from ..reach import FEWEST_TO_CLEAR, POOLS_TO_CLEAR
from ..units import Units
from .estimator import SEED

DIGITS = 16
"""Hexadecimal digits of a digest that names a pool."""


class Pools:
    """The pools of trials, in their order: the items that each showed, and those selected from it.

    ``texts`` are both of each trial, words separated by spaces. ``counts`` are how often each item
    was selected, and how often shown. ``names`` are those of the pools by the items shown, the
    same for every model: where several trials show the very same items they are numbered in the
    plan's order, and pools drawn afresh for a model pair only where they are the same.
    """

    def __init__(self, texts: Sequence[tuple[str, str]]) -> None:
        distinct = {each: place for place, each in enumerate(dict.fromkeys(texts))}
        self.n = len(texts)
        self._kinds = np.array([distinct[each] for each in texts], dtype=np.intp)
        pools = [(selected.split(), shown.split()) for shown, selected in distinct]
        every = dict.fromkeys(item for _, shown in pools for item in shown)
        self._items = {item: place for place, item in enumerate(every)}
        self._tables = np.zeros((2, len(pools), len(every)))  # of those selected, and shown
        for row, both in enumerate(pools):
            for table, names in zip(self._tables, both, strict=True):
                np.add.at(table[row], [self._items[name] for name in names], 1)
        times = np.bincount(self._kinds, minlength=len(pools))
        self.counts = [
            dict(zip(self._items, map(int, (times @ table).tolist()), strict=True))
            for table in self._tables
        ]
        digests = [digest(compact(sorted(shown)))[:DIGITS] for _, shown in pools]
        seen, self.names = Counter[str](), list[str]()
        for name in map(digests.__getitem__, self._kinds.tolist()):
            seen[name] += 1
            self.names.append(name if seen[name] == 1 else f"{name} #{seen[name]}")

    def sums(self, group: Collection[str]) -> Floats:
        """Return a row per pool: selected and shown of the group, and of the others."""
        inside = np.array([item in group for item in self._items])
        columns = [table[:, of].sum(axis=1) for of in (inside, ~inside) for table in self._tables]
        return np.column_stack(columns)[self._kinds]


def selection_ratio(
    pools: Pools, group: Collection[str], *, margin: float | None, null: Null
) -> tuple[Estimate, list[float]]:
    """Selection rate of the items in ``group`` divided by that of all others.

    With it comes its logarithm as each pool gives it, in the order of the pools.

    p is that of a permutation of the group's labels over the items, which keeps how often each was
    shown and selected; interval and clearing are by t tests of the pools' linearised values, with
    one further pool at the worse end. Of the ``null`` "margin" p, too, is that of such a t test.
    A side that was never selected has half a selection added, as the other has (Haldane 1956).
    Raises TooFewUnits below 10 pools; NoVariance where a side was never shown.
    """
    n = pools.n
    enough(n, "pools", FEWEST_TO_CLEAR)
    sums = pools.sums(group)
    selected, shown, others, shown_others = sums.sum(axis=0)
    if not (shown and shown_others and selected + others):
        raise NoVariance(statistic="the selection ratio")
    if not (selected and others):  # half a selection among one further item of each side
        sums = sums + np.array([0.5, 1, 0.5, 1]) / n
    log_ratio, by_pool = linearised(sums)
    further = _further(sums, -1), _further(sums, 1)
    limit = None if margin is None else math.log(margin)
    if null == "margin" and limit is not None:
        p_alarm, method = beyond_p(further, log_ratio, beyond=limit, df=n), "t test at the margin"
    else:
        items = sorted(pools.counts[1])
        taken, seen = ([count[item] for item in items] for count in pools.counts)
        inside = [item in group for item in items]
        p_alarm = label_shuffle_ratio(taken, seen, inside, seed=SEED).p
        method = "permutation of labels over items"
    p_clear = None
    if limit is not None:
        few = n < POOLS_TO_CLEAR
        p_clear = 1.0 if few else clearing_p(further, low=-limit, high=limit, df=n)

    def at_level(level: float) -> Interval | None:
        return clearing_interval(further, df=n, level=level, ratio=True)

    return Estimate(
        estimate=math.exp(log_ratio),
        interval=at_level(LEVEL),
        clearing=at_level(1 - 2 * ALPHA),
        p_alarm=p_alarm,
        p_clear=p_clear,
        margin=margin,
        null=null,
        scale="ratio",
        method=f"{method}; t tests of the log ratio over pools, with one further pool",
        units=n,
        fewest=n,
        needed=POOLS_TO_CLEAR,
        unit_name=Units("pools"),
        extras={
            "selection rate in the group": float(sums[:, 0].sum() / sums[:, 1].sum()),
            "selection rate of the others": float(sums[:, 2].sum() / sums[:, 3].sum()),
        },
        se=float(by_pool.std(ddof=1)) / math.sqrt(n) or None,
        df=float(n - 1),
        at_level=at_level,
    ), by_pool.tolist()


def _further(sums: Floats, sign: int) -> tuple[float, float]:
    """Return log ratio and standard error with one more pool that moves it by ``sign``.

    It shows what pools show on average, and has as many selected: of the group as many as there
    are, or of the others.
    """
    selected, shown, others, shown_others = sums.mean(axis=0)
    taken = selected + others
    of_group = min(taken, shown) if sign > 0 else max(0.0, taken - shown_others)
    more = [of_group, shown, taken - of_group, shown_others]
    log_ratio, by_pool = linearised(np.vstack([sums, more]))
    return log_ratio, float(by_pool.std(ddof=1)) / math.sqrt(len(by_pool))


def linearised(sums: Floats) -> tuple[float, Floats]:
    """Return the log ratio of two selection rates, and it as the mean of one value per pool.

    ``sums`` has a row per pool: selected and shown of the group (A, a), of the others (B, b), each
    with a sum above 0. Pool i gives log ratio + n (A_i / ΣA − a_i / Σa − B_i / ΣB + b_i / Σb), the
    first-order change of the log ratio as the pool's weight grows. The mean of these values is the
    log ratio, and their sd / √n its standard error (Davison & Hinkley 1997, section 2.7).
    """
    totals = sums.sum(axis=0)
    signs = np.array([1.0, -1.0, -1.0, 1.0])
    log_ratio = float(signs @ np.log(totals))
    by_pool: Floats = log_ratio + len(sums) * (sums / totals @ signs)
    return log_ratio, by_pool
