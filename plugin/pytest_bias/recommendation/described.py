"""What the description of a condition holds, as values."""

from __future__ import annotations

from dataclasses import dataclass

from ..statistics.results import Interval
from .features import Kind


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
    estimate: float | None
    size: float | None
    interval: Interval | None
    p: float | None
    pools: int
    constant: int
    lost: int
    missing: int
    p_holm: float | None = None
    p_bh: float | None = None
    bergsma_v: float | None = None
    categories: tuple[CategoryDifference, ...] = ()
    note: str = ""


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
