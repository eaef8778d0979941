"""The result of every primary analysis, and the rules that all share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...errors import NoFinding
from ...experiments.design import frozen_mapping
from ...statistics.means import (
    StratifiedContrast,
    Welch,
    p_from_t,
    t_interval,
    tost_from_estimate,
)
from ...statistics.power import deterministic_units, units_to_settle
from ...statistics.results import EffectSize, Interval, Permutation, Tost
from ...statistics.simultaneous import AgainstRest
from ..findings import ALPHA, AtLevel, Null, WorstCase
from ..units import Units
from .cells import Cell, Grid, Weights

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

TOLERATED_MISSING = 0.05
"""Share of missing trials, and difference of shares, above which worst cases must agree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The contribution of one group's units; see :class:`~..findings.UnitGroup`."""

    group: str
    weight: float
    values: Mapping[Unit, float] = field(repr=False)
    gaps: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", frozen_mapping(self.values))


@dataclass(frozen=True, slots=True)
class StudentInterval:
    """The interval of an estimate by Student's t, at any level."""

    estimate: float
    se: float
    df: float

    def __call__(self, level: float) -> Interval:
        """Return the two-sided interval at a confidence level."""
        return t_interval(self.estimate, self.se, self.df, level=level)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """A tested estimate.

    ``units`` are the independent observations, ``fewest`` those of the smallest group (of all
    where units are compared with themselves), ``unit_name`` what they are. ``sides`` are the rates
    compared, where they are not means of cells that count alike. ``p_clear`` is None
    where no margin was given, ``interval`` None where the quantity has none; ``se`` of a ratio is
    that of its logarithm. ``extras`` are further numbers by name. ``by_unit`` is what each unit
    contributes; it is empty where replies are the units, since replicates never pair. ``at_level``
    gives the interval at another level by the same method: where it is not given, and ``interval``
    is that of Student's t, Student's t does.
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
    at_level: AtLevel | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "extras", frozen_mapping(self.extras))
        interval = self.interval
        if self.at_level is None and interval is not None and self.se and self.df:
            by_t = StudentInterval(self.estimate, self.se, self.df)
            again = by_t(interval.level)
            if np.allclose((again.low, again.high), (interval.low, interval.high), rtol=1e-9):
                object.__setattr__(self, "at_level", by_t)

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


def tost_at(margin: float | None, found: StratifiedContrast | AgainstRest) -> Tost | None:
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


def worst_case(
    grid: Grid,
    weights: Weights,
    analyse: Callable[[Grid], Tested],
    *,
    no_effect: float = 0.0,
) -> WorstCase | None:
    """Both extreme fillings of what is missing; None when nothing is.

    Above 5 % missing on a side (then only can the shares differ by more) a verdict must hold under
    both. A scale without ends has no worst case, nor has a quantity without sides (the spread of
    groups, the largest of many contrasts), which no filling moves furthest: so nothing holds.
    """
    cells = weights.used(grid).cells
    if not any(cell.missing for cell in cells):
        return None
    signed = any(weights.of(cell) < 0 for cell in cells)
    trials: Counter[tuple[object, ...]] = Counter()
    missing: Counter[tuple[object, ...]] = Counter()
    for cell in cells:
        side = _side(cell, weights) if signed else weights.combination(cell)
        missing[side] += cell.missing
        trials[side] += cell.missing + cell.values.size
    needed = any(missing[side] > TOLERATED_MISSING * trials[side] for side in trials)
    if grid.bounds is None or not signed:
        return WorstCase(needed=needed, lowest=None, highest=None, p_alarm=1.0, p_clear=1.0)
    try:
        lowest, highest = (analyse(_filled(grid, weights, sign)) for sign in (-1, 1))
    except NoFinding:
        return WorstCase(needed=needed, lowest=None, highest=None, p_alarm=1.0, p_clear=1.0)
    same_side = (lowest.estimate - no_effect) * (highest.estimate - no_effect) > 0
    clear = [each.p_clear for each in (lowest, highest) if each.p_clear is not None]
    return WorstCase(
        needed=needed,
        lowest=lowest.estimate,
        highest=highest.estimate,
        p_alarm=max(lowest.p_alarm, highest.p_alarm) if same_side else 1.0,
        p_clear=max(clear) if clear else None,
    )


def _side(cell: Cell, weights: Weights) -> tuple[bool, ...]:
    """Return the side of each comparison a cell is on: an interaction has four, not two."""
    return tuple(levels[cell.labels[factor]] > 0 for factor, levels in weights.parts.items())


def _filled(grid: Grid, weights: Weights, sign: int) -> Grid:
    """The grid with every missing reply where it moves the contrast furthest to one side."""
    assert grid.bounds is not None  # noqa: S101  (the caller has looked)
    low, high = grid.bounds
    cells = tuple(
        replace(
            cell,
            values=np.concatenate(
                [cell.values, np.full(cell.missing, high if weights.of(cell) * sign > 0 else low)]
            ),
            reasons={},
        )
        for cell in grid.cells
    )
    return replace(grid, cells=cells)
