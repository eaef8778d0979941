"""Estimate of a contrast and its parts, as values that reports read without statistics."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ..experiments.canonical import KEPT, Strict
from ..experiments.design import frozen_mapping
from ..stats.results import (
    ALPHA as ALPHA,  # noqa: PLC0414  (every layer above takes it from here)
)
from ..stats.results import Bootstrap, Description, EffectSize, Interval, Matters
from .layout import Null, Units
from .people import HumanComparison

Scale = Literal["difference", "ratio", "size"]
"""What an estimate is: a difference around 0, a ratio around 1, or a size that has no sign."""


def no_effect_of(scale: Scale | None) -> float:
    """Return the value of an estimate at which there is no effect."""
    return 1.0 if scale == "ratio" else 0.0


LARGEST_AT = "largest at"
"""Name of the extra that says which of several contrasts is the largest."""

AtLevel = Callable[[float], Interval | None]
"""From a confidence level (0.95) to the interval of an estimate at it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitGroup(Strict):
    """Unit-level contrasts of one group: ``weight`` × their mean is its part of the estimate.

    ``values`` maps the unit (an item, an exemplar, a block or a pool, by a name that is the same
    for every model) to its contrast, in the measure's unit; of ratios, on the log scale.
    """

    group: str
    weight: float
    values: Mapping[str, float] = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", frozen_mapping(self.values))


def p_text(p: float) -> str:
    """``p = 0.0123``; never 0."""
    smallest = 0.0001
    return f"p < {smallest}" if p < smallest else f"p = {p:.4f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One of the two sides of a contrast.

    ``units`` is the number of independent observations analysed, made of so many ``replies``;
    ``missing`` counts trials without one, by reason, ``ineligible`` the valid ones to which the
    question does not apply; ``mean`` is a rate for events.
    """

    level: str
    value: str
    units: int
    missing: Mapping[str, int]
    mean: float
    replies: int = 0
    ineligible: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing", frozen_mapping(dict(sorted(self.missing.items()))))


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedColumn:
    """Method the hypothesis' own document names, computed as documented. It never gates."""

    method: str
    statistics: Mapping[str, float | str]

    def __post_init__(self) -> None:
        # Degrees of freedom count; numbers are told as they are read back from results.
        told = {k: v if isinstance(v, str) else float(v) for k, v in self.statistics.items()}
        object.__setattr__(self, "statistics", frozen_mapping(told))


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """A mean difference per unit of a numeric factor: 0 is no effect, 1 follows it fully."""

    estimate: float
    interval: Interval
    span: float


UNEQUAL = 0.10
"""Difference of the shares of missing replies that bars a claim to be clear where it is shown."""

LEAST_VALID = 0.80
"""Share of valid replies of a side below which nothing is cleared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingReplies:
    """Replies a contrast lacks: an outcome of their own, and no replies.

    ``shares`` are those of each side's trials, ``p_beyond`` the one-sided p-value that they differ
    by no more than :data:`UNEQUAL`. ``tips`` is by how many standard deviations the missing
    replies of one side alone would have to differ from its valid ones for a CLEAR not to hold;
    None where nothing is cleared, or replies have no spread.
    """

    shares: tuple[float, ...]
    p_beyond: float
    tips: float | None = None

    @property
    def too_many(self) -> bool:
        """True where a side has too few valid replies for anything to be cleared."""
        rounding = 1e-9  # shares are sums of many
        return 1 - max(self.shares) < LEAST_VALID - rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class Heterogeneity:
    """Spread of the own effects of a fixed set's items.

    ``sd`` is the standard deviation of the ``items``' effects beyond their sampling error,
    ``beyond`` how many are shown to lie beyond the margin by themselves (Bonferroni),
    ``opposite`` whether some of these lie beyond it on either side.
    """

    items: int
    sd: float
    beyond: int
    opposite: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Estimate of one contrast with its intervals and the two p-values of the verdict rule.

    ``contrast`` names what was compared ("high − low"), as the two ``arms``. ``p_alarm`` is
    two-sided, of no effect (``null`` "zero") or of an effect within the margin ("margin");
    ``p_clear`` is that of equivalence at ``margin`` (None without one). ``interval`` is at 95 %,
    ``clearing`` that at 90 % which lies within the margin where both one-sided tests reject; None
    where the quantity has none. On the ``scale`` "ratio" no effect is 1 and the
    margin reaches from its inverse to itself. Of a measure against a number ``matters`` says
    whether only what lies below or above it does. ``shrink`` is what the judge's error leaves of a
    difference: clearing is tested at that share of the margin. ``units`` are the independent
    observations, ``fewest`` those of the smaller side, ``needed`` how many of it can clear
    anything, ``unit_name`` what they are. ``extras`` are further numbers by name, ``over`` what
    it is an average over. ``se`` and ``df`` are those of the estimate, of ratios on the log scale.
    ``by_unit`` is what each unit contributes: the mean of its values times the weight, summed over
    groups, is the estimate (of a ratio its logarithm). ``at_level`` gives the interval at another
    confidence level; always None in an estimate that was read from a text. ``cells`` are the same
    contrast in each cell it is declared to hold in, with that cell's margin, ``bare_cells`` those
    with too few replies to compute it.
    """

    estimate: float
    interval: Interval | None
    p_alarm: float
    p_clear: float | None
    method: str
    units: int
    fewest: int
    unit_name: Units
    clearing: Interval | None = None
    needed: int = 0
    quantity: str = ""
    contrast: str = ""
    measure: str = ""
    unit: str = ""
    factor: str = ""
    arms: tuple[Arm, ...] = ()
    margin: float | None = None
    shrink: float = 1.0
    target: str = "fixed"
    scope: str = ""
    replies: int = 0
    scale: Scale = "difference"
    null: Null = "zero"
    matters: Matters = "either"
    se: float | None = None
    df: float | None = None
    effect_size: EffectSize | None = None
    bootstrap: Bootstrap | None = None
    index: Index | None = None
    human: HumanComparison | None = None
    lost: MissingReplies | None = None
    items: Heterogeneity | None = None
    published: PublishedColumn | None = None
    extras: Mapping[str, float | str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    over: str = ""
    by_unit: tuple[UnitGroup, ...] = field(default=(), repr=False)
    cells: Mapping[str, Estimate] = field(default_factory=dict, repr=False)
    bare_cells: tuple[str, ...] = ()
    at_level: AtLevel | None = field(
        default=None, repr=False, compare=False, metadata={KEPT: False}
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "extras", frozen_mapping(self.extras))
        object.__setattr__(self, "cells", frozen_mapping(self.cells))

    def at(self, level: float) -> Interval | None:
        """Return the interval at a confidence level; None of an estimate read from a text."""
        return None if self.at_level is None else self.at_level(level)

    @property
    def no_effect(self) -> float:
        """Return the value of the estimate at which there is no effect."""
        return no_effect_of(self.scale)

    @property
    def within(self) -> tuple[float, float] | None:
        """Return the estimates that do not matter, from one edge of the margin to the other."""
        if self.margin is None:
            return None
        if self.scale == "ratio":
            return 1 / self.margin, self.margin
        low = -math.inf if self.matters == "above" else -self.margin
        return low, math.inf if self.matters == "below" else self.margin

    def inside(self, interval: Interval | None) -> bool:
        """True if the whole of an interval of the estimate lies within the margin."""
        if self.within is None or interval is None:
            return False
        low, high = self.within
        return low <= interval.low and interval.high <= high

    def beyond(self, interval: Interval | None) -> bool:
        """True if the whole of an interval of the estimate lies outside the margin."""
        if self.within is None or interval is None:
            return False
        low, high = self.within
        return interval.low > high or interval.high < low

    @property
    def missing(self) -> int:
        """Number of trials of the arms that gave no valid reply."""
        return sum(sum(arm.missing.values()) for arm in self.arms)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureSummary:
    """A numeric measure in one condition: description and raw values in the plan's order."""

    measure: str
    unit: str
    condition: str
    description: Description | None
    values: tuple[float, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CategorySummary:
    """A category or flag in one condition: how often each value came."""

    measure: str
    condition: str
    counts: Mapping[str, int]

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", frozen_mapping(dict(sorted(self.counts.items()))))
