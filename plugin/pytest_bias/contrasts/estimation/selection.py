"""Selection from pools: how often a group's items are taken, compared with the others'."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...errors import NoVariance
from ...stats.checks import Floats, enough
from ...stats.equivalence import beyond_p, clearing_interval, clearing_p
from ...stats.resampling import label_shuffle_ratio
from ...stats.results import LEVEL, Interval
from ..estimate import ALPHA, Estimate, Null
from ..reach import FEWEST_TO_CLEAR, POOLS_TO_CLEAR
from ..units import Units
from .cells import once
from .estimator import SEED

Places: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Pool:
    """One trial: the items that were shown, and those that were selected."""

    shown: Sequence[str]
    selected: Sequence[str]


def selection_ratio(
    pools: Sequence[Pool],
    group: Collection[str],
    *,
    margin: float | None,
    null: Null,
    memo: dict[object, object],
) -> tuple[Estimate, list[float]]:
    """Selection rate of the items in ``group`` divided by that of all others.

    With it comes its logarithm as each pool gives it, in the order of the pools.

    p is that of a permutation of the group's labels over the items, which keeps how often each was
    shown and selected; interval and clearing are by t tests of the pools' linearised values, with
    one further pool at the worse end. Of the ``null`` "margin" p, too, is that of such a t test.
    A side that was never selected has half a selection added, as the other has (Haldane 1956).
    Raises TooFewUnits below 10 pools; NoVariance where a side was never shown. Sums are kept in
    the ``memo`` of these pools.
    """
    n = len(pools)
    enough(n, "pools", FEWEST_TO_CLEAR)
    members = frozenset(group)
    sums = _counts(pools, members, memo)
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
        counts = item_counts(pools, memo)
        items = sorted(counts[1])
        taken, seen = ([count[item] for item in items] for count in counts)
        inside = [item in members for item in items]
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


def _counts(pools: Sequence[Pool], group: frozenset[str], memo: dict[object, object]) -> Floats:
    """Return a row per pool: selected and shown of the group, and of the others."""

    def counted() -> Floats:
        items, kind, tables = _laid_out(pools, memo)
        inside = np.array([item in group for item in items])
        columns = [table[:, of].sum(axis=1) for of in (inside, ~inside) for table in tables]
        return np.column_stack(columns)[kind]

    return once(memo, group, counted)


def _laid_out(
    pools: Sequence[Pool], memo: dict[object, object]
) -> tuple[list[str], Places, tuple[Floats, Floats]]:
    """Return all items, which distinct pool each pool is, and tables of distinct pools × items.

    They count how often a pool selected an item, and how often it showed it.
    """

    def made() -> tuple[list[str], Places, tuple[Floats, Floats]]:
        distinct = {id(pool): pool for pool in pools}  # often one pool is shown many times
        places = {key: place for place, key in enumerate(distinct)}
        shown = dict.fromkeys(item for pool in distinct.values() for item in pool.shown)
        items = {item: place for place, item in enumerate(shown)}
        tables = (np.zeros((len(distinct), len(items))), np.zeros((len(distinct), len(items))))
        for row, pool in enumerate(distinct.values()):
            for table, names in zip(tables, (pool.selected, pool.shown), strict=True):
                np.add.at(table[row], [items[name] for name in names], 1)
        return [*items], np.array([places[id(pool)] for pool in pools], dtype=np.intp), tables

    return once(memo, "laid out", made)


def item_counts(pools: Sequence[Pool], memo: dict[object, object]) -> Sequence[Mapping[str, int]]:
    """Return how often each item was selected, and how often shown."""
    items, kind, tables = _laid_out(pools, memo)
    times = np.bincount(kind)
    return [dict(zip(items, map(int, (times @ table).tolist()), strict=True)) for table in tables]


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
