"""Selection from pools: how often a group's items are taken, compared with the others'."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit  # type: ignore[import-untyped, unused-ignore]

from ...errors import NoVariance
from ...stats.checks import Floats, enough, probability
from ...stats.means import p_from_t
from ...stats.resampling import label_shuffle_ratio
from ...stats.results import LEVEL, Interval
from ..findings import ALPHA, Estimate, Null
from ..units import Units
from .cells import once
from .estimator import SEED

FEWEST_POOLS = 10

FEWEST_TO_CLEAR = 30
"""Pools below which nothing is cleared: so many miss a share of .10 of them with .05."""

Places: TypeAlias = NDArray[np.intp]

_SIDES = (attrgetter("selected"), attrgetter("shown"))


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
    enough(n, "pools", FEWEST_POOLS)
    members = frozenset(group)
    sums = _counts(pools, members, memo)
    selected, shown, others, shown_others = sums.sum(axis=0)
    if not (shown and shown_others and selected + others):
        raise NoVariance(statistic="the selection ratio")
    if not (selected and others):  # half a selection among one further item of each side
        sums = sums + np.array([0.5, 1, 0.5, 1]) / n
    log_ratio, by_pool = linearised(sums)
    if null == "margin" and margin is not None:
        p_alarm, method = _beyond_p(sums, log_ratio, math.log(margin)), "t test at the margin"
    else:
        p_alarm, method = _shuffled(pools, members, memo)
    p_clear = None
    if margin is not None:
        p_clear = 1.0 if n < FEWEST_TO_CLEAR else _clearing_p(sums, math.log(margin))
    few = margin is not None and n < FEWEST_TO_CLEAR
    return Estimate(
        estimate=math.exp(log_ratio),
        interval=_interval(sums, LEVEL),
        clearing=_interval(sums, 1 - 2 * ALPHA),
        p_alarm=p_alarm,
        p_clear=p_clear,
        margin=margin,
        null=null,
        scale="ratio",
        method=f"{method}; t tests of the log ratio over pools, with one further pool",
        units=n,
        fewest=n,
        needed=FEWEST_TO_CLEAR,
        unit_name=Units("pools"),
        extras={
            "selection rate in the group": float(sums[:, 0].sum() / sums[:, 1].sum()),
            "selection rate of the others": float(sums[:, 2].sum() / sums[:, 3].sum()),
        },
        notes=(f"fewer than {FEWEST_TO_CLEAR} pools cannot clear it",) if few else (),
        se=float(by_pool.std(ddof=1)) / math.sqrt(n) or None,
        df=float(n - 1),
        at_level=partial(_interval, sums),
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


def _clearing_p(sums: Floats, limit: float) -> float:
    df = len(sums)
    tails = []
    for sign in (1, -1):
        log_ratio, se = _further(sums, sign)
        tails.append(float(stdtr(df, (sign * log_ratio - limit) / se)))
    return probability(max(tails))


def _beyond_p(sums: Floats, log_ratio: float, limit: float) -> float:
    """Return the two-sided p of a ratio within its limits."""
    sign = 1 if log_ratio > 0 else -1
    toward, se = _further(sums, -sign)
    distance = max(sign * toward - limit, 0.0)
    return p_from_t(distance / se, len(sums)) if se else 1.0


def _interval(sums: Floats, level: float) -> Interval:
    """Return the interval at a level, that of both one-sided tests at 90 %."""
    t = float(stdtrit(len(sums), (1 + level) / 2))
    (low, se_low), (high, se_high) = _further(sums, -1), _further(sums, 1)
    return Interval(low=math.exp(low - t * se_low), high=math.exp(high + t * se_high), level=level)


def _counts(pools: Sequence[Pool], group: frozenset[str], memo: dict[object, object]) -> Floats:
    """Return a row per pool: selected and shown of the group, and of the others."""

    def counted() -> Floats:
        items, kind, lists = _laid_out(pools, memo)
        members = np.array([item in group for item in items])
        sides = [[of[codes] for codes, _ in lists] for of in (members, ~members)]
        columns = [
            np.diff(np.append(0, inside.cumsum())[ends])
            for side in sides
            for inside, (_, ends) in zip(side, lists, strict=True)
        ]
        return np.column_stack(columns)[kind]

    return once(memo, group, counted)


def _laid_out(
    pools: Sequence[Pool], memo: dict[object, object]
) -> tuple[list[str], Places, list[tuple[Places, Places]]]:
    """Return all items, which distinct pool each is, and what those selected, and showed.

    The latter are the items' places, one pool after the other, and where each begins and ends.
    """

    def made() -> tuple[list[str], Places, list[tuple[Places, Places]]]:
        distinct = {id(pool): pool for pool in pools}  # often one pool is shown many times
        places = {key: place for place, key in enumerate(distinct)}
        each = [[of(pool) for pool in distinct.values()] for of in _SIDES]
        items = {i: n for n, i in enumerate(dict.fromkeys(chain(*each[0], *each[1])))}
        lists = [
            (
                np.array([items[item] for item in chain.from_iterable(side)], dtype=np.intp),
                np.cumsum([0, *map(len, side)]),
            )
            for side in each
        ]
        return [*items], np.array([places[id(pool)] for pool in pools], dtype=np.intp), lists

    return once(memo, "laid out", made)


def item_counts(pools: Sequence[Pool], memo: dict[object, object]) -> Sequence[Counter[str]]:
    """Return how often each item was selected, and how often shown."""

    def counted() -> list[Counter[str]]:
        items, kind, lists = _laid_out(pools, memo)
        times, found = np.bincount(kind), []
        for codes, ends in lists:
            counts = np.bincount(codes, np.repeat(times, np.diff(ends)), len(items))
            found.append(Counter(dict(zip(items, map(int, counts.tolist()), strict=True))))
        return found

    return once(memo, "items", counted)


def _shuffled(
    pools: Sequence[Pool], members: Collection[str], memo: dict[object, object]
) -> tuple[float, str]:
    """Return p of a permutation of the group's labels over the items, and its method in words."""
    selected, shown = item_counts(pools, memo)
    items = sorted(shown)
    found = label_shuffle_ratio(
        [selected[item] for item in items],
        [shown[item] for item in items],
        [item in members for item in items],
        seed=SEED,
    )
    return found.p, "permutation of labels over items"


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
