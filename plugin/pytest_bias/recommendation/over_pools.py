"""One feature over the pools of a condition: its mean difference, with interval and p."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from ..errors import BadTable, NoVariance
from ..statistics.results import Interval
from .described import CategoryDifference, FeatureDescription
from .features import Feature
from .tables import Columns, PoolTrial, category_words, counts_of, in_order, numbers_of

ALIKE = "every pool differs by the same amount: no interval, and p is that of their signs"
ONE_POOL = "one pool: no interval and no p"
NO_POOL = "no pool has two values that differ and a pick with a value"
_FEWEST = 2
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class _Counted:
    """Pools that count, that are constant or lost, and missing values."""

    pools: int
    constant: int
    lost: int
    missing: int


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over pools with its interval and p, where there are any."""

    mean: float
    interval: Interval | None
    p: float | None
    note: str = ""


def mean_over_pools(values: Sequence[float], magnitude: float, level: float) -> Mean:
    """Student's t over one difference per pool; ``magnitude`` is that of what was subtracted.

    Where all pools differ by the same amount, p is that of equal signs, 2^(1 − pools).
    """
    from ..statistics.blocks import one_sample  # noqa: PLC0415  (scipy)

    mean = math.fsum(values) / len(values)
    if len(values) < _FEWEST:
        return Mean(mean, None, None, ONE_POOL)
    try:
        found = one_sample(values, magnitude=magnitude, level=level)
    except NoVariance:
        alike = 1.0 if abs(mean) <= _ROUNDING * magnitude else 2.0 ** (1 - len(values))
        return Mean(mean, None, max(alike, sys.float_info.min), ALIKE)
    return Mean(found.mean, found.interval, found.p)


def numerical(
    feature: Feature, trials: Sequence[PoolTrial], pools: Sequence[Columns], level: float
) -> FeatureDescription:
    """Mean over pools of (mean of picks − mean of pool) / SD of the pool."""
    import numpy as np  # noqa: PLC0415  (declaring an experiment needs no arrays)

    differences, constant, lost, missing = [], 0, 0, 0
    largest = 1.0
    for trial, columns in zip(trials, pools, strict=True):
        values = columns[feature.name]
        try:
            shown, empty = numbers_of(values)
        except (TypeError, ValueError) as error:
            raise BadTable(table="pool", column=feature.name, problem=str(error)) from error
        if not all(map(math.isfinite, shown.tolist())):
            raise BadTable(table="pool", column=feature.name, problem="contains an infinity")
        picked, _ = numbers_of([values[pick] for pick in trial.picks])
        missing += empty
        if not picked.size or shown.size < _FEWEST:
            lost += 1
            continue
        # In units of a power of two, which rounds nothing: squares neither overflow nor vanish.
        _, exponent = math.frexp(float(abs(shown).max()))
        shown, picked = (np.ldexp(side, -exponent) for side in (shown, picked))
        size = float(abs(shown).max())
        if float(shown.max() - shown.min()) <= _ROUNDING * size:
            constant += 1
            continue
        sd = float(shown.std(ddof=1))
        differences.append((float(picked.mean()) - float(shown.mean())) / sd)
        largest = max(largest, size / sd)
    counted = _Counted(len(differences), constant, lost, missing)
    if not differences:
        return _nothing(feature, counted)
    found = mean_over_pools(differences, largest, level)
    return FeatureDescription(
        feature=feature.name,
        kind=feature.kind,
        estimate=found.mean,
        size=abs(found.mean),
        interval=found.interval,
        p=found.p,
        note=found.note,
        pools=counted.pools,
        constant=counted.constant,
        lost=counted.lost,
        missing=counted.missing,
    )


def categorical(
    feature: Feature, trials: Sequence[PoolTrial], pools: Sequence[Columns], level: float
) -> FeatureDescription:
    """Mean over pools of each category's share of the picks minus its share of the pool."""
    from ..statistics.tables import chi_square  # noqa: PLC0415  (scipy)

    shares: list[tuple[Counter[Hashable], Counter[Hashable]]] = []
    constant, lost, missing = 0, 0, 0
    for trial, columns in zip(trials, pools, strict=True):
        values = columns[feature.name]
        try:
            shown, empty = counts_of(values)
        except TypeError as error:
            raise BadTable(table="pool", column=feature.name, problem=str(error)) from error
        picked, _ = counts_of([values[pick] for pick in trial.picks])
        missing += empty
        if not picked:
            lost += 1
            continue
        constant += len(shown) == 1
        shares.append((shown, picked))
    counted = _Counted(len(shares), constant, lost, missing)
    in_pools: Counter[Hashable] = Counter()
    in_picks: Counter[Hashable] = Counter()
    for shown, picked in shares:
        in_pools.update(shown)
        in_picks.update(picked)
    categories = in_order(in_pools)
    if feature.kind == "binary" and len(categories) > _FEWEST:
        problem = f"is declared binary but has {len(categories)} values: declare it categorical"
        raise BadTable(table="pool", column=feature.name, problem=problem)
    if len(categories) < _FEWEST:
        return _nothing(feature, counted)
    found = {
        category: mean_over_pools(
            [
                picked[category] / picked.total() - shown[category] / shown.total()
                for shown, picked in shares
            ],
            1.0,
            level,
        )
        for category in categories
    }
    ps = [each.p for each in found.values() if each.p is not None]
    # Picked against passed over: two sets of posts without an overlap.
    table = [[in_picks[each], in_pools[each] - in_picks[each]] for each in categories]
    try:
        bergsma: float | None = chi_square(table).bergsma_v
    except NoVariance:  # all posts were picked
        bergsma = None
    described = FeatureDescription(
        feature=feature.name,
        kind=feature.kind,
        estimate=None,
        size=math.fsum(abs(each.mean) for each in found.values()) / 2,
        interval=None,
        p=min(1.0, min(ps) * len(ps)) if ps else None,
        bergsma_v=bergsma,
        categories=tuple(
            CategoryDifference(
                category=category_words(category),
                estimate=each.mean,
                interval=each.interval,
                p=each.p,
                note=each.note,
            )
            for category, each in found.items()
        ),
        note=ONE_POOL if not ps else "",
        pools=counted.pools,
        constant=counted.constant,
        lost=counted.lost,
        missing=counted.missing,
    )
    if feature.kind != "binary":
        return described
    second = found[categories[1]]  # the first one's mirror image: one test, not two
    return replace(
        described,
        estimate=second.mean,
        size=abs(second.mean),
        interval=second.interval,
        p=second.p,
        note=second.note,
    )


def _nothing(feature: Feature, counted: _Counted) -> FeatureDescription:
    return FeatureDescription(
        feature=feature.name,
        kind=feature.kind,
        estimate=None,
        size=None,
        interval=None,
        p=None,
        note=NO_POOL,
        pools=counted.pools,
        constant=counted.constant,
        lost=counted.lost,
        missing=counted.missing,
    )
