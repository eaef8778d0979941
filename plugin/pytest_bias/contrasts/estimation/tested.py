"""The result of every primary analysis, and the rules that all share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from typing import Concatenate, NamedTuple, ParamSpec

import numpy as np

from ...errors import NoFinding
from ...experiments.design import frozen_mapping
from ...stats.checks import ROUNDING
from ...stats.means import StudentEstimate, p_from_t
from ...stats.power import units_to_clear, units_unseen
from ...stats.results import EffectSize, Interval, Permutation, Tost
from ..findings import ALPHA, AtLevel, Null, WorstCase
from ..units import Units
from .cells import Cell, Grid, Weighed, Weights, once

P = ParamSpec("P")

SEED = 1
"""Seed of all resampling; fixed, not searched."""

FEW_UNITS = 10
"""Units in a group below which p-values are permutations'."""

FEW_UNITS_NOTE = f"fewer than {FEW_UNITS} units in a group can show bias but cannot clear it"

Unit = tuple[tuple[str, str, str], ...]
"""A unit as the combination of (factor or items, level or item, exemplar or nothing)."""

TOLERATED_MISSING = 0.05
"""Share of missing trials, or of units, and difference of shares, above which worst cases must
agree."""

TOLERATED_OF_MARGIN = 0.25
"""Share of a margin by which what is missing of a side could move what is to be clear."""

UNEVEN = 1.5
"""Size of a side in sizes of the other above which t by itself raises no alarm on rare replies.

Of 60 against 90 replies, of which .05 lie apart, Welch's test alarms in .058 at .05 and .004 at
.0042, of 60 against 120 in .070 and .007 (20,000 samples each).
"""

ALIKE = 0.10
"""Difference of the shares missing on two sides that must be ruled out for them to be alike."""

LARGEST_SHIFT = 5.0
"""Standard deviations up to which it is looked for what a shift of missing replies undoes."""

SHIFT_STEP = 0.02
"""Standard deviations within which the shift at which a verdict tips is found."""


class Part(NamedTuple):
    """The contribution of one group's units; see :class:`~..findings.UnitGroup`."""

    group: str
    weight: float
    values: Mapping[Unit, float]
    gaps: tuple[float, ...] = ()


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
    is that of Student's t, Student's t does. ``lacking`` is the largest share of a group's units
    that have no part in it, as not all that is compared within them has a valid reply. Of fewer
    than ``to_see`` replies per group the spread alone clears nothing; None: of any number.
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
    welch: StudentEstimate | None = None
    extras: Mapping[str, float | str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    tolerance: str = ""
    by_unit: tuple[Part, ...] = field(default=(), repr=False)
    at_level: AtLevel | None = field(default=None, repr=False, compare=False)
    lacking: float = 0.0
    to_see: int | None = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "extras", frozen_mapping(self.extras))
        interval = self.interval
        if self.at_level is None and interval is not None and self.se and self.df:
            by_t = StudentEstimate(estimate=self.estimate, se=self.se, df=self.df).at_level
            again = by_t(interval.level)
            if _same(again.low, interval.low) and _same(again.high, interval.high):
                object.__setattr__(self, "at_level", by_t)

    def clearing_interval(self) -> Interval | None:
        """Return the interval of the two one-sided tests, at 90 %; None where it is not known."""
        if self.at_level is not None:
            return self.at_level(1 - 2 * ALPHA)
        return None if self.tost is None else self.tost.interval

    def noting(self, *notes: str) -> Tested:
        """The same with further notes."""
        return replace(self, notes=(*self.notes, *notes))


def remembered(
    test: Callable[Concatenate[Grid, Weights, P], Tested],
) -> Callable[Concatenate[Grid, Weights, P], Tested]:
    """Have the same cells tested once with the same weights: groups are of each other's rest."""

    @wraps(test)
    def call(grid: Grid, weights: Weights, /, *args: P.args, **kwargs: P.kwargs) -> Tested:
        key = (test.__name__, weights.key, args, *kwargs.items())
        return once(grid.memo, key, lambda: test(grid, weights, *args, **kwargs))

    return call


def _same(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-8)


def alarm_p(*, estimate: float, se: float, df: float, null: Null, margin: float | None) -> float:
    """Two-sided p of no effect; against the margin, of the nearest effect within it.

    It is at most .05 exactly where the 95 % interval excludes 0, or lies beyond ±margin.
    """
    beyond = estimate
    if null == "margin" and margin is not None:
        beyond = max(abs(estimate) - margin, 0.0)
    return p_from_t(beyond / se, df)


def weighing_alike(
    weights: Sequence[float], sizes: Sequence[int], levels: Sequence[Hashable], sign: int
) -> dict[Hashable, int]:
    """Units of each level of a side that weigh alike; a side has weights above 0, or below.

    A level's mean counts however few units it has: what 10 of them may not show, 30 of another
    level do not vouch for.
    """
    least, shares = _weighing(weights, sizes, levels, sign)
    return {level: int(least * share + ROUNDING) for level, share in shares.items()}


def _weighing(
    weights: Sequence[float], sizes: Sequence[int], levels: Sequence[Hashable], sign: int
) -> tuple[float, Mapping[Hashable, float]]:
    """The fewest units of a level for its weight, and the weight of each."""
    units: dict[Hashable, int] = {}
    shares: dict[Hashable, float] = {}
    for weight, size, level in zip(weights, sizes, levels, strict=True):
        if weight * sign > 0:
            units[level] = units.get(level, 0) + size
            shares[level] = shares.get(level, 0.0) + abs(weight)
    return min(units[level] / shares[level] for level in units), shares


def smaller_side(
    weights: Sequence[float], sizes: Sequence[int], levels: Sequence[Hashable]
) -> int:
    """Units of the side of a contrast that has fewer, of those that weigh alike."""
    sides = (_weighing(weights, sizes, levels, sign) for sign in (1, -1))
    return min(int(least * sum(shares.values()) + ROUNDING) for least, shares in sides)


def are_uneven(weights: Sequence[float], sizes: Sequence[int]) -> bool:
    """Return whether one side of a contrast has so many more that t may not see rare ones."""
    signs, of = np.sign(weights), np.array(sizes)
    fewer, more = sorted(int(of[signs == sign].sum()) for sign in (1, -1))
    return more > UNEVEN * fewer


def permutation_words(found: Permutation, what: str) -> str:
    """``label permutation (exact)``, or how many were drawn and how sure p is then."""
    if found.exact:
        return f"{what} (exact)"
    return f"{what} ({found.resamples:,} resamples, seed {found.seed}, ±{found.error:.4f})"


def also_permuted(tested: Tested, permute: Callable[[], Permutation], what: str) -> Tested:
    """Return a t test whose alarm must hold by a permutation as well: the larger p.

    Where few or rare values make a side, its spread may not show at all, and t takes that for
    certain; a permutation by itself takes unequal spreads of unequal sides for a difference. What
    no resample reaches is as sure as t says: they are too few to tell.
    """
    permuted = permute()
    told = permuted.exact or permuted.p > 2 / (permuted.resamples + 1)
    return replace(
        tested,
        p_alarm=max(tested.p_alarm, permuted.p) if told else tested.p_alarm,
        method=f"{tested.method} and {permutation_words(permuted, what)}, the larger p",
    )


def units_to_settle(
    tested: Tested, grid: Grid, *, margin: float | None, reach: float = 1.0
) -> int | None:
    """Units per group that clear with power .90 at the spread seen, if there is no effect.

    Never fewer than can clear anything. ``reach`` is the width of the contrast in widths of the
    scale. None where the spread is not known, or not to be trusted (replies are skewed, or nearly
    all alike), or no number would do.
    """
    if margin is None:
        return None
    if tested.deterministic:
        if grid.width is None:
            return None
        return units_unseen(margin, width=grid.width * reach)
    if tested.se is None or tested.to_see is None:
        return None
    groups = tested.unit_name.in_groups
    found = units_to_clear(
        sd=tested.se * math.sqrt(tested.fewest / (2 if groups else 1)),
        margin=margin,
        design="independent" if groups else "paired",
    )
    return None if found is None else max(found, FEW_UNITS, tested.to_see)


def worst_case(
    grid: Grid,
    weights: Weights,
    analyse: Callable[[Grid], Tested],
    *,
    margin: float | None = None,
    no_effect: float = 0.0,
    always: bool = True,
    tips: bool = True,
) -> WorstCase | None:
    """What is missing at its worst for the two claims; None when nothing is.

    Above 5 % missing on a side (then only can the shares differ by more) a verdict must hold under
    it; a claim to be clear, whose ``margin`` is given, also where more of a group's units are left
    out, or where what a side lacks could move it by a quarter of the margin.

    Where the shares of the sides are alike, or only units are lacking, which their other replies
    speak for, what is missing is moved by one standard deviation, up on one side and down on the
    other, and it is said at which shift the verdict tips (delta adjustment: Cro et al. 2020).
    Elsewhere, and where replies have no spread, it takes both ends of the scale (Manski 1990). A
    scale without ends has no such worst case, nor has a quantity without sides (the spread of
    groups, the largest of many contrasts), which no filling moves furthest. Unless ``always``, one
    that is not needed is not worked out; nor, without ``tips``, the shift at which the verdict
    does.
    """
    cells, weighed = weights.used(grid).cells, weights.on(grid)
    missing, trials = lost_of(cells, weighed.sides if weighed.signed else weighed.combinations)
    if not missing.total():
        return None
    many = over_tolerated(missing, trials)
    needed, alike = many, False
    if margin is not None and not many:
        ratio = bool(no_effect)
        rates = analyse(grid).sides if ratio else ()
        moved = _could_move(cells, weighed, grid.width or 0.0, rates)
        needed = moved >= TOLERATED_OF_MARGIN * abs(math.log(margin) if ratio else margin)
        # Only a cell without any reply takes its unit with it.
        if not needed and not all(cell.values.size for cell in cells):
            needed = alike = analyse(grid).lacking > TOLERATED_MISSING
    nothing = WorstCase(needed=needed, lowest=None, highest=None, p_alarm=1.0, p_clear=1.0)
    if not weighed.signed or not (needed or always):
        return nothing
    try:
        alike = needed and (alike or _alike(cells, weighed, missing, trials, many=many))
        if alike and (spread := _spread(grid, cells)):
            return _tipping(
                lambda shift: analyse(_shifted(grid, weights, shift * spread)),
                analyse(grid),
                no_effect,
                tips=tips,
            )
        if grid.bounds is None:
            return nothing
        ends = [analyse(_filled(grid, weights, sign)) for sign in (-1, 1)]
    except NoFinding:
        return nothing
    return _held(ends, no_effect, needed=needed)


def _could_move(
    cells: Sequence[Cell], weighed: Weighed, width: float, rates: Sequence[float]
) -> float:
    """Return how far what one side lacks could move the estimate.

    Of a ratio, whose two ``rates`` are given, how far its logarithm.
    """
    shares = [0.0, 0.0]
    for cell, c in zip(cells, weighed.coefficients, strict=True):
        shares[c > 0] += abs(c) * cell.missing / (cell.missing + cell.values.size)
    if not rates:
        return max(shares) * width
    ends = [
        max(math.log1p(share * (1 / rate - 1)), -math.log1p(-share)) if rate else math.inf
        for share, rate in zip(shares, reversed(rates), strict=True)
        if share
    ]
    return max(ends, default=0.0)


def lost_of(
    cells: Sequence[Cell], places: Sequence[tuple[object, ...]]
) -> tuple[Counter[tuple[object, ...]], Counter[tuple[object, ...]]]:
    """Count the missing trials, and all, of the cells that have a place in common."""
    missing: Counter[tuple[object, ...]] = Counter()
    trials: Counter[tuple[object, ...]] = Counter()
    for cell, place in zip(cells, places, strict=True):
        missing[place] += cell.missing
        trials[place] += cell.missing + cell.values.size
    return missing, trials


def over_tolerated(
    missing: Mapping[tuple[object, ...], int], trials: Mapping[tuple[object, ...], int]
) -> bool:
    """Return whether more is missing of a place than verdicts need not hold under."""
    return any(missing[place] > TOLERATED_MISSING * trials[place] for place in trials)


def _held(ends: Sequence[Tested], no_effect: float, *, needed: bool) -> WorstCase:
    """Return what two opposite fillings leave of both claims."""
    lowest, highest = ends
    clear = [each.p_clear for each in ends if each.p_clear is not None]
    return WorstCase(
        needed=needed,
        lowest=lowest.estimate,
        highest=highest.estimate,
        p_alarm=max(each.p_alarm for each in ends) if _same_side(ends, no_effect) else 1.0,
        p_clear=max(clear) if clear else None,
        interval=partial(union, [each.clearing_interval for each in ends]),
    )


def union(intervals: Sequence[Callable[[], Interval | None]]) -> Interval | None:
    """Return the interval that has all of these in it; None where one is not known."""
    found = [interval for each in intervals if (interval := each()) is not None]
    if len(found) < len(intervals):
        return None
    low, high = min(each.low for each in found), max(each.high for each in found)
    return Interval(low=low, high=high, level=found[0].level)


def _same_side(ends: Sequence[Tested], no_effect: float) -> bool:
    lowest, highest = ends
    return (lowest.estimate - no_effect) * (highest.estimate - no_effect) > 0


def _tipping(
    moved: Callable[[float], Tested], seen: Tested, no_effect: float, *, tips: bool
) -> WorstCase:
    """Return what a shift of one standard deviation leaves, and at which shift the verdict tips.

    The alarm that tips is that of the hypothesis by itself, before any adjustment.
    """

    def holds(shift: float) -> bool:
        ends = []
        for sign in (first, -first):
            end = moved(sign * shift)
            p = end.p_clear if clears else end.p_alarm
            if p is None or p > ALPHA:
                return False
            ends.append(end)
        return clears or _same_side(ends, no_effect)

    clears = seen.p_clear is not None and seen.p_clear <= ALPHA
    # Towards the margin it tips that is nearer, or towards no effect.
    first = 1 if (seen.estimate >= no_effect) == clears else -1
    shift = None
    if tips and (clears or seen.p_alarm <= ALPHA) and not holds(LARGEST_SHIFT):
        low, shift = 0.0, LARGEST_SHIFT
        while shift - low > SHIFT_STEP:
            middle = (low + shift) / 2
            low, shift = (middle, shift) if holds(middle) else (low, middle)
    found = _held([moved(-1.0), moved(1.0)], no_effect, needed=True)
    return replace(found, kind="tipping", shift=shift)


def _alike(
    cells: Sequence[Cell],
    weighed: Weighed,
    missing: Mapping[tuple[object, ...], int],
    trials: Mapping[tuple[object, ...], int],
    *,
    many: bool,
) -> bool:
    """Return whether the sides lose about the same share of their trials.

    That is: no two shares lie more than 5 points apart, a score test of the sides that weigh above
    0 against those below does not alarm, and where ``many`` are missing, more than 5 % of a side,
    it shows them to be less than 10 points apart. It is the test of a hypothesis on
    :data:`~pytest_bias.MISSING`, whether or not one is declared.
    """
    from ...stats.score import score_difference, tost_rates  # noqa: PLC0415

    shares = [missing[side] / trials[side] for side in trials]
    if max(shares) - min(shares) > TOLERATED_MISSING:
        return False
    counts: list[int] = []
    for sign in (1, -1):
        of = weighed.of_side(cells, sign)
        lost = sum(cell.missing for cell in of)
        counts += [lost, lost + sum(cell.values.size for cell in of)]
    a, n_a, b, n_b = counts
    if score_difference(a, n_a, b, n_b).p <= ALPHA:
        return False
    return not many or tost_rates(a, n_a, b, n_b, margin=ALIKE).p <= ALPHA


def _spread(grid: Grid, cells: Sequence[Cell]) -> float:
    """Standard deviation of replies within cells; of all where no cell has two; of an event ½.

    ½ is the largest an event can have: its own would presume that a rare one is as rare among what
    is missing.
    """
    if grid.flags:
        return 0.5
    within = [cell for cell in cells if cell.values.size > 1]
    if df := sum(cell.values.size - 1 for cell in within):
        return math.sqrt(math.fsum(cell.squares for cell in within) / df)
    every = np.concatenate([cell.values for cell in cells])
    return float(every.std(ddof=1)) if every.size > 1 else 0.0


def _shifted(grid: Grid, weights: Weights, by: float) -> Grid:
    """The grid as if what is missing lay ``by`` above the rest of its cell; opposite, below it.

    Of numbers the valid replies are moved by their cell's share of it, so that what is missing
    adds nothing to what is known, and the scale is widened by as much. Of events trials are
    filled in, as many on a side as that comes to, rounded away from what was seen.
    """
    low, high = grid.bounds or (-math.inf, math.inf)
    filled: dict[int, Cell] = {}
    widest = 0.0
    for sign in (1, -1):
        side = weights.on(grid).of_side(weights.used(grid).cells, sign)
        whole = float(np.mean([cell.mean for cell in side if cell.values.size]))
        losing = [cell for cell in side if cell.missing]
        aims = [(c.mean if c.values.size else whole) + by * sign for c in losing]
        if grid.flags:
            filled |= _with_events(losing, aims, up=by * sign > 0)
            continue
        for cell, aim in zip(losing, aims, strict=True):
            to = min(max(aim, low), high)
            values = np.full(cell.missing, to)
            if cell.values.size:
                move = (to - cell.mean) * cell.missing / (cell.missing + cell.values.size)
                widest, values = max(widest, abs(move)), cell.values + move
            filled[id(cell)] = replace(cell, values=values, reasons={})
    return replace(
        grid,
        cells=tuple(filled.get(id(cell), cell) for cell in grid.cells),
        bounds=None if grid.bounds is None else (low - widest, high + widest),
        imagined=True,
    )


def _with_events(cells: Sequence[Cell], rates: Sequence[float], *, up: bool) -> dict[int, Cell]:
    """Each cell with its missing trials as events, at these rates on the whole of the cells."""
    lost = sum(cell.missing for cell in cells)
    events = sum(cell.missing * rate for cell, rate in zip(cells, rates, strict=True))
    whole = min(max(math.ceil(events) if up else math.floor(events), 0), lost)
    filled: dict[int, Cell] = {}
    before = 0
    for cell in cells:
        here = whole * (before + cell.missing) // lost - whole * before // lost
        before += cell.missing
        values = np.concatenate([cell.values, np.arange(cell.missing) < here])
        filled[id(cell)] = replace(cell, values=values, reasons={})
    return filled


def _filled(grid: Grid, weights: Weights, sign: int) -> Grid:
    """The grid with every missing reply where it moves the contrast furthest to one side."""
    assert grid.bounds is not None  # noqa: S101  (the caller has looked)
    low, high = grid.bounds
    weighed = weights.on(grid)
    up = {
        at for at, weight in zip(weighed.places, weighed.weights, strict=True) if weight * sign > 0
    }
    cells = tuple(
        cell.filled(high if place in up else low) for place, cell in enumerate(grid.cells)
    )
    return replace(grid, cells=cells, imagined=True)
