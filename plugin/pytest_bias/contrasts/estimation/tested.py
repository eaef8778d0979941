"""The result of every primary analysis, and the rules that all share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...experiments.design import frozen_mapping
from ...statistics.means import Welch, p_from_t, tost_from_estimate
from ...statistics.power import deterministic_units, units_to_settle
from ...statistics.results import EffectSize, Interval, Permutation, Tost
from ...statistics.simultaneous import PooledContrast
from ...statistics.stratified import StratifiedContrast
from ..findings import ALPHA, Null
from ..units import Units
from .cells import Grid

SEED = 1
"""Seed of all resampling; fixed, not searched."""

RESAMPLES = 10_000

FEW_UNITS = 10
"""Units in a group below which p-values are permutations'."""

FEW_UNITS_NOTE = f"fewer than {FEW_UNITS} units in a group can show bias but cannot clear it"

Unit = tuple[tuple[str, str, str], ...]
"""A unit as the combination of (factor or items, level or item, exemplar or nothing)."""

POWER = 0.90

NEGLIGIBLE = 1e-6
"""Distance from a limit, in margins, that no number of units could settle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The contribution of one group's units; see :class:`~..findings.UnitGroup`."""

    group: str
    weight: float
    values: Mapping[Unit, float] = field(repr=False)
    gaps: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", frozen_mapping(self.values))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """A tested estimate.

    ``units`` are the independent observations, ``fewest`` those of the smallest group (of all
    where units are compared with themselves), ``unit_name`` what they are. ``sides`` are the rates
    compared, where they are not means of cells that count alike. ``p_clear`` is None
    where no margin was given, ``interval`` None where the quantity has none; ``se`` of a ratio is
    that of its logarithm. ``extras`` are further numbers by name. ``by_unit`` is what each unit
    contributes; it is empty where replies are the units, since replicates never pair.
    """

    estimate: float
    interval: Interval | None
    p_alarm: float
    p_clear: float | None
    method: str
    units: int
    fewest: int
    unit_name: Units
    se: float | None = None
    df: float | None = None
    sides: tuple[float, ...] = ()
    deterministic: bool = False
    tost: Tost | None = None
    effect_size: EffectSize | None = None
    welch: Welch | None = None
    extras: Mapping[str, float | str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    by_unit: tuple[Part, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "extras", frozen_mapping(self.extras))

    def noting(self, *notes: str) -> Tested:
        """The same with further notes."""
        return replace(self, notes=(*self.notes, *notes))


def alarm_p(*, estimate: float, se: float, df: float, null: Null, margin: float | None) -> float:
    """Two-sided p of no effect; against the margin, of the nearest effect within it.

    It is at most .05 exactly where the 95 % interval excludes 0, or lies beyond ±margin.
    """
    beyond = estimate
    if null == "margin" and margin is not None:
        beyond = max(abs(estimate) - margin, 0.0)
    return p_from_t(beyond / se, df)


def tost_at(margin: float | None, found: StratifiedContrast | PooledContrast) -> Tost | None:
    """Two one-sided tests of an estimate at the margin; None without one."""
    if margin is None:
        return None
    return tost_from_estimate(
        estimate=found.estimate, se=found.se, df=found.df, margin=margin, alpha=ALPHA
    )


def smaller_side(weights: Sequence[float], sizes: Sequence[int]) -> int:
    """Units of the side of a contrast that has fewer: those that weigh above 0, or below."""
    given = list(zip(weights, sizes, strict=True))
    return min(sum(size for weight, size in given if weight * sign > 0) for sign in (1, -1))


def permutation_words(found: Permutation, what: str) -> str:
    """``label permutation (exact)``, or how many were drawn and how sure p is then."""
    if found.exact:
        return f"{what} (exact)"
    return f"{what} ({found.resamples:,} resamples, seed {found.seed}, ±{found.error:.4f})"


def units_needed(
    tested: Tested, grid: Grid, *, margin: float | None, null: Null, reach: float = 1.0
) -> int | None:
    """Units per group that would settle the question if estimate and spread are the truth.

    With power .90 for the easier of the two statements at the estimate found, never fewer than
    clearing it at no effect would take, and never fewer than can clear anything. ``reach`` is the
    width of the contrast in widths of the scale. None when more units would not help.
    """
    if margin is None:
        return None
    distance = abs(tested.estimate)
    if tested.deterministic:
        if grid.bounds is None or grid.width is None or null == "margin":
            return None
        width = grid.width * reach
        return deterministic_units(
            bounds=(-width / 2, width / 2), margin=margin, difference=min(distance, width)
        )
    if tested.se is None:
        return None
    sd = tested.se * math.sqrt(tested.fewest / 2)  # of one value, were it two groups of this size
    if abs(distance - margin) <= NEGLIGIBLE * margin:
        distance = margin  # nothing tells which side of the margin it is on
    at_estimate, at_no_effect = (
        units_to_settle(
            estimate=estimate, sd=sd, margin=margin, alpha=ALPHA, power=POWER, null=null
        )
        for estimate in (distance, 0.0)
    )
    if at_estimate is None or at_no_effect is None:
        return None
    return max(at_estimate.units, at_no_effect.units, FEW_UNITS)
