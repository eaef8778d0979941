"""Selection from pools: how often a group's items are taken, beside the others'."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...errors import NoVariance
from ...stats.checks import Floats, enough
from ...stats.permutation import label_shuffle_ratio
from ...stats.resampling import LogRatioBootstrap, bootstrap_log_ratio, resampled_sums
from ...stats.results import LEVEL, Interval
from ..units import Units
from .bounded import are_alike
from .cells import once
from .tested import SEED, Tested, permutation_words

FEWEST_POOLS = 10

FEWEST_TO_CLEAR = 20
"""Pools below which a bootstrap of them is too sure: at the margin it clears 7 % of 10."""

Places: TypeAlias = NDArray[np.intp]

_SIDES = (attrgetter("selected"), attrgetter("shown"))

_MIXED = np.array([1.0, 1e3, 1e6, 1e9])
"""Makes one number of a pool's four counts, the same only for the same counts."""


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
    alarm: bool = True,
    asked: Sequence[frozenset[str]] = (),
    memo: dict[object, object],
) -> tuple[Tested, list[float]]:
    """Selection rate of the items in ``group`` divided by that of all others.

    With it comes its logarithm as each pool gives it, in the order of the pools; nothing where the
    group, or the others, were never selected.

    p is that of a permutation of the group's labels over the items, which keeps how often each was
    shown and selected; interval and clearing are by a bootstrap of whole pools, on the log scale.
    Raises TooFewUnits below 10 pools; NoVariance when all pools show and select the same numbers:
    a bootstrap of them says nothing. Without ``alarm`` nothing is permuted, and p is 1. Resamples
    are drawn once for all groups ``asked`` about in these pools, and sums kept in their ``memo``.
    """
    enough(len(pools), "pools", FEWEST_POOLS)
    members = frozenset(group)
    groups = tuple(asked) if members in asked else (members,)
    sums = _counts(pools, members, memo)
    p_alarm, method = _shuffled(pools, members, memo) if alarm else (1.0, "not permuted")
    boot = _bootstrap({each: _counts(pools, each, memo) for each in groups}, members, memo)
    p_clear: float | None = None
    notes: tuple[str, ...] = ()
    if margin is not None:
        limit = math.log(margin)
        p_clear = max(boot.share_below(-limit), boot.share_above(limit))
        if len(pools) < FEWEST_TO_CLEAR:
            p_clear = 1.0
            notes = (f"fewer than {FEWEST_TO_CLEAR} pools can show bias but cannot clear it",)
        elif are_alike(sums @ _MIXED):
            p_clear = 1.0
            notes = ("nearly all pools are alike: a bootstrap of them cannot clear anything",)
    ratio = math.exp(boot.log_ratio)
    by_pool = linearised(sums, boot.log_ratio)
    se = float(by_pool.std(ddof=1)) / math.sqrt(len(pools)) if by_pool.size else 0.0
    tested = Tested(
        estimate=ratio,
        interval=_interval(boot, LEVEL),
        p_alarm=p_alarm,
        p_clear=p_clear,
        method=f"{method}; bootstrap of pools ({len(boot.draws):,} resamples, seed {SEED})",
        units=len(pools),
        fewest=len(pools),
        unit_name=Units("pools"),
        extras={
            "selection rate in the group": float(sums[:, 0].sum() / sums[:, 1].sum()),
            "selection rate of the others": float(sums[:, 2].sum() / sums[:, 3].sum()),
        },
        notes=notes,
        se=se or None,
        df=float(len(pools) - 1),
        at_level=partial(_interval, boot),
    )
    return tested, by_pool.tolist()


def _bootstrap(
    asked: Mapping[frozenset[str], Floats],
    of: frozenset[str],
    memo: dict[object, object],
) -> LogRatioBootstrap:
    """Return the bootstrap of the counts ``of`` one group that is ``asked`` about in these pools.

    Resamples are drawn once for all, and kept in ``memo``.
    """
    sides = tuple(asked)

    def resampled(_: Floats, *draws: int) -> Floats:
        columns = np.hstack(list(asked.values()))
        drawn = once(memo, (sides, *draws), lambda: resampled_sums(columns, *draws))
        return dict(zip(sides, np.hsplit(drawn, len(sides)), strict=True))[of]

    sums = asked[of]
    if (sums == sums[0]).all():
        raise NoVariance(statistic="bootstrap of pools")
    return bootstrap_log_ratio(*sums.T, seed=SEED, resampled=resampled)


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
    return found.p, permutation_words(found, "permutation of labels over items")


def _interval(boot: LogRatioBootstrap, level: float) -> Interval:
    """Return the bootstrap interval of the ratio at a confidence level."""
    found, ratio = boot.at_level(level), math.exp(boot.log_ratio)
    low, high = min(ratio, math.exp(found.low)), max(ratio, math.exp(found.high))
    return Interval(low=low, high=high, level=level)


def linearised(sums: Floats, log_ratio: float) -> Floats:
    """The log ratio of two selection rates as the mean of one value per pool.

    ``sums`` has a row per pool: selected and shown of the group (A, a), of the others (B, b). Pool
    i gives log ratio + n (A_i / ΣA − a_i / Σa − B_i / ΣB + b_i / Σb), the first-order change of
    the log ratio as the pool's weight grows. The mean of these values is the log ratio, and their
    sd / √n its standard error (Davison & Hinkley 1997, section 2.7). Empty where a sum is 0: there
    the ratio has no such form.
    """
    totals = sums.sum(axis=0)
    if not totals.all():
        return np.empty(0)
    shares = sums / totals
    found: Floats = log_ratio + len(sums) * (shares @ np.array([1.0, -1.0, -1.0, 1.0]))
    return found
