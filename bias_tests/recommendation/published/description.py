"""The honest description beside the published analysis: each trial's pool is one unit.

Picks are compared with the pool they were picked from, so neither overlap nor the dependence of
picks of one trial counts as evidence. It gives no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.stats import Interval, TooFewUnits, holm

from .aggregation import min_max
from .features import FEATURES, Feature
from .over_pools import FeatureDescription, categorical, mean_over_pools, numerical
from .tables import PoolTrial, columns_of, length

Key = TypeVar("Key", bound=Hashable)

LEVEL = 0.95
_MIDDLE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionBias:
    """Mean place of picks, 0 the first post shown and 1 the last, as a mean over pools.

    .5 is expected where the place does not matter; ``p`` is against it. None as ``note`` says.
    """

    mean: float
    interval: Interval | None
    p: float | None
    pools: int
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionDescription:
    """All features in their order, and the place of picks; None where pools have one post."""

    features: tuple[FeatureDescription, ...]
    position: PositionBias | None
    pools: int

    def feature(self, name: str) -> FeatureDescription:
        """The description of that feature; KeyError without one."""
        return {each.feature: each for each in self.features}[name]


def selection_description(
    trials: Sequence[PoolTrial],
    features: Sequence[Feature] = FEATURES,
    *,
    level: float = LEVEL,
) -> SelectionDescription:
    """Describe what picks of one condition have that their pools have less of.

    Estimands are those of :class:`FeatureDescription` and :class:`PositionBias`: means over pools
    like these, each pool one unit, with Student's t interval at ``level``. Assumes that pools are
    drawn independently of each other. Pools have 2 trials or more for an interval and a p; where
    every pool differs by the same amount, p is that of equal signs, 2^(1 − pools). SDs of pools
    have ddof = 1. Missing values of a feature are left out of that feature, and counted.

    Raises
    ------
    TooFewUnits
        Without a trial.
    BadData
        For a pool without a column, columns of different lengths, a value of a numerical feature
        that is no finite number, one that cannot be a category, and a binary feature with more
        than two values.
    BadStatisticInput
        For a level outside (0, 1).

    Sources: Student (1908); Holm (1979); Benjamini & Hochberg (1995); Bergsma (2013).
    """
    if not trials:
        raise TooFewUnits(group="pools", found=0, needed=1)
    pools = [columns_of(trial.pool, features, what="pool") for trial in trials]
    described = [
        (numerical if feature.kind == "numerical" else categorical)(feature, trials, pools, level)
        for feature in features
    ]
    return SelectionDescription(
        features=tuple(_adjusted(described)), position=_position(trials, level), pools=len(trials)
    )


def magnitudes(
    descriptions: Mapping[Key, SelectionDescription],
) -> dict[Key, dict[str, float | None]]:
    """Per feature, ``size`` min–max scaled over the conditions, from 0 to 1.

    ``descriptions`` are those of several conditions, under any key; the result has the same keys,
    and feature → magnitude, or None where there is no size. As in the published scaling, all are 0
    where all sizes are the same; the sign is lost here and stands in ``estimate``.
    """
    scaled: dict[Key, dict[str, float | None]] = {key: {} for key in descriptions}
    names = {each.feature: None for found in descriptions.values() for each in found.features}
    for name in names:
        sizes = {
            key: each.size
            for key, found in descriptions.items()
            for each in found.features
            if each.feature == name
        }
        known = {key: size for key, size in sizes.items() if size is not None}
        values = min_max(list(known.values())) if known else []
        found = dict(zip(known, values, strict=True))
        for key in sizes:
            scaled[key][name] = found.get(key)
    return scaled


def _adjusted(described: Sequence[FeatureDescription]) -> list[FeatureDescription]:
    tested = {each.feature: each.p for each in described if each.p is not None}
    ps = list(tested.values())
    if not ps:
        return list(described)
    by_rate = stats.false_discovery_control(ps, method="bh")  # Benjamini & Hochberg (1995)
    both = zip(tested, holm(ps).tolist(), by_rate.tolist(), strict=True)
    adjusted = {name: (by_holm, by_bh) for name, by_holm, by_bh in both}
    return [
        replace(each, p_holm=adjusted[each.feature][0], p_bh=adjusted[each.feature][1])
        if each.feature in adjusted
        else each
        for each in described
    ]


def _position(trials: Sequence[PoolTrial], level: float) -> PositionBias | None:
    places = []
    for trial in trials:
        last = length(trial.pool) - 1
        if last > 0:
            places.append(math.fsum(trial.picks) / len(trial.picks) / last)
    if not places:
        return None
    found = mean_over_pools([place - _MIDDLE for place in places], 1.0, level)
    interval = found.interval
    if interval is not None:
        interval = replace(interval, low=interval.low + _MIDDLE, high=interval.high + _MIDDLE)
    return PositionBias(
        mean=found.mean + _MIDDLE,
        interval=interval,
        p=found.p,
        pools=len(places),
        note=found.note,
    )
