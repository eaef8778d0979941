"""One feature over the pools of a condition: its mean difference, with interval and p."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pytest_bias import BadData
from pytest_bias.stats import Interval, NoVariance, chi_square, one_sample

from .features import Feature, Kind
from .tables import Columns, PoolTrial, category_words, counts_of, in_order, numbers_of

ALIKE = "every pool differs by the same amount: no interval, and p is that of their signs"
ONE_POOL = "one pool: no interval and no p"
NO_POOL = "no pool has two values that differ and a pick with a value"
_FEWEST = 2
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryDifference:
    """Share of a category among picks minus its share of the pool, as a mean over pools.

    ``interval`` and ``p`` are those of t over pools, or None as ``note`` says.
    """

    category: str
    estimate: float
    interval: Interval | None
    p: float | None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureDescription:
    """How picks differ from their pools in one feature.

    ``estimate`` is signed: of a numerical feature, (mean of picks − mean of pool) / SD of the
    pool, as a mean over pools; of a binary one, the difference in the share of its second value
    (True, 1, "yes"); None of a categorical one, whose ``categories`` have one each. ``size`` is
    its absolute value, of a categorical feature half the sum of the categories' absolute ones (the
    share of picks that would have to be exchanged). ``p`` of a categorical feature is the smallest
    of its categories' times their number, at most 1. ``p_holm`` and ``p_bh`` are adjusted over
    the features that have a p. ``bergsma_v`` is of category × (picked, passed over), all pools
    together. ``constant`` counts pools in which all posts have one value (they say nothing of a
    numerical feature and are in nothing of it; of the others they are in, with a difference of 0),
    ``lost`` pools without a pick that has a value, ``missing`` values of posts. None is what
    cannot be computed; ``note`` says why.
    """

    feature: str
    kind: Kind
    pools: int
    constant: int
    lost: int
    missing: int
    estimate: float | None = None
    size: float | None = None
    interval: Interval | None = None
    p: float | None = None
    p_holm: float | None = None
    p_bh: float | None = None
    bergsma_v: float | None = None
    categories: tuple[CategoryDifference, ...] = ()
    note: str = ""


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
    mean = math.fsum(values) / len(values)
    if len(values) < _FEWEST:
        return Mean(mean, None, None, ONE_POOL)
    try:
        found = one_sample(values, magnitude=magnitude)
    except NoVariance:
        alike = 1.0 if abs(mean) <= _ROUNDING * magnitude else 2.0 ** (1 - len(values))
        return Mean(mean, None, max(alike, sys.float_info.min), ALIKE)
    return Mean(found.estimate, found.at_level(level), found.p)


def numerical(
    feature: Feature, trials: Sequence[PoolTrial], pools: Sequence[Columns], level: float
) -> FeatureDescription:
    """Mean over pools of (mean of picks − mean of pool) / SD of the pool."""
    differences, constant, lost, missing = [], 0, 0, 0
    largest = 1.0
    for trial, columns in zip(trials, pools, strict=True):
        values = columns[feature.name]
        try:
            shown, empty = numbers_of(values)
        except (TypeError, ValueError) as error:
            raise BadData(source="pool", column=feature.name, problem=str(error)) from error
        if not all(map(math.isfinite, shown.tolist())):
            raise BadData(source="pool", column=feature.name, problem="contains an infinity")
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
    counted = _counted(feature, len(differences), constant, lost, missing)
    if not differences:
        return counted
    found = mean_over_pools(differences, largest, level)
    return replace(
        counted,
        estimate=found.mean,
        size=abs(found.mean),
        interval=found.interval,
        p=found.p,
        note=found.note,
    )


def categorical(
    feature: Feature, trials: Sequence[PoolTrial], pools: Sequence[Columns], level: float
) -> FeatureDescription:
    """Mean over pools of each category's share of the picks minus its share of the pool."""
    shares: list[tuple[Counter[Hashable], Counter[Hashable]]] = []
    constant, lost, missing = 0, 0, 0
    for trial, columns in zip(trials, pools, strict=True):
        values = columns[feature.name]
        try:
            shown, empty = counts_of(values)
        except TypeError as error:
            raise BadData(source="pool", column=feature.name, problem=str(error)) from error
        picked, _ = counts_of([values[pick] for pick in trial.picks])
        missing += empty
        if not picked:
            lost += 1
            continue
        constant += len(shown) == 1
        shares.append((shown, picked))
    counted = _counted(feature, len(shares), constant, lost, missing)
    in_pools: Counter[Hashable] = Counter()
    in_picks: Counter[Hashable] = Counter()
    for shown, picked in shares:
        in_pools.update(shown)
        in_picks.update(picked)
    categories = in_order(in_pools)
    if feature.kind == "binary" and len(categories) > _FEWEST:
        problem = f"is declared binary but has {len(categories)} values: declare it categorical"
        raise BadData(source="pool", column=feature.name, problem=problem)
    if len(categories) < _FEWEST:
        return counted
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
        bergsma: float | None = _bergsma_v(chi_square(table).chi2, table)
    except NoVariance:  # all posts were picked
        bergsma = None
    described = replace(
        counted,
        size=math.fsum(abs(each.mean) for each in found.values()) / 2,
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


def _counted(
    feature: Feature, pools: int, constant: int, lost: int, missing: int
) -> FeatureDescription:
    """Return what is known before anything is computed."""
    return FeatureDescription(
        feature=feature.name,
        kind=feature.kind,
        pools=pools,
        constant=constant,
        lost=lost,
        missing=missing,
        note=NO_POOL,
    )


def _bergsma_v(chi2: float, table: Sequence[Sequence[int]]) -> float:
    """Cramér's V less what chance adds to it (Bergsma 2013); 0 where nothing is left."""
    counts = np.array(table)
    counts = counts[counts.any(axis=1)][:, counts.any(axis=0)]
    n, sides = int(counts.sum()), counts.shape
    corrected = chi2 / n - (sides[0] - 1) * (sides[1] - 1) / (n - 1)
    if corrected <= 0 or n <= max(sides):  # one unit per row makes it 0 / 0
        return 0.0
    size = min(side - 1 - (side - 1) ** 2 / (n - 1) for side in sides)
    return min(1.0, math.sqrt(corrected / size))
