"""The one estimator: units of a contrast, the weighted sum of their means, and its tests.

About a fixed set of stimuli the units are replies, in groups of a cell each. About a population
they are items, exemplars or blocks: crossed with what is compared each unit has one value, the
contrast within it; nested in it each has its mean, in groups of a level each.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..errors import NoVariance, TooFewUnits
from ..stats.checks import EQUAL, Floats
from ..stats.equivalence import (
    SideSummary,
    beyond_p,
    clearing_interval,
    clearing_p,
    contrast_of,
    df_of,
    further_of,
    log_ratio_of,
    sides_of,
)
from ..stats.means import cohen_dz, p_from_t, standardized_difference, t_interval
from ..stats.resampling import bootstrap_difference, contrast_permutation, sign_flip
from ..stats.results import (
    LEVEL,
    Bootstrap,
    EffectSize,
    Interval,
    Matters,
    Permutation,
    units_needed,
)
from .cells import Cell, Grid, Weights
from .estimate import Estimate
from .layout import FEWEST_TO_CLEAR, REPLIES, Null, Units, reach_of

Unit = tuple[tuple[str, str, str], ...]
"""A unit as the combination of (factor or items, level or item, exemplar or nothing)."""

Names = Sequence[str] | None
"""What the units of a population are named after; None of a fixed set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Groups of independent units; the contrast is the weighted sum of the groups' means.

    ``keys`` tell the groups apart between contrasts of the same cells, ``labels`` are the levels
    compared and ``strata`` what groups share with those they are compared with. ``low`` and
    ``high`` are the ends of a unit's scale and ``reach`` how far one unit can move the contrast,
    infinite without bounds. ``units`` are those of each group, empty of replies; ``dropped``
    counts units that lack a reply in some cell. ``magnitude`` is that of the values from which
    the units' come, against which rounding is told from difference.
    """

    keys: tuple[object, ...]
    values: tuple[Floats, ...] = field(repr=False)
    weights: tuple[float, ...]
    labels: tuple[str, ...]
    strata: tuple[object, ...]
    low: float
    high: float
    reach: float
    unit_name: Units
    flags: bool
    magnitude: float
    units: tuple[Sequence[Unit], ...] = field(default=(), repr=False)
    dropped: int = 0

    @property
    def paired(self) -> bool:
        """True where each unit is compared with itself."""
        return len(self.values) == 1

    @property
    def single(self) -> bool:
        """True if it is several groups on one side, whose labels cannot be exchanged."""
        return not self.paired and min(self.weights) > 0

    def less(self, number: float) -> Sample:
        """Return the sample of the differences to ``number``, where all are on one side."""
        return replace(
            self,
            values=tuple(values - number for values in self.values),
            low=self.low - number,
            high=self.high - number,
            magnitude=max(self.magnitude, abs(number)),
        )

    @property
    def size(self) -> int:
        """Number of units."""
        return sum(each.size for each in self.values)


def sample_of(grid: Grid, weights: Weights, names: Names) -> Sample:
    """Return the units of a contrast; TooFewUnits where a group has none."""
    low, high = (-math.inf, math.inf) if grid.bounds is None else grid.bounds
    reach = (high - low) * reach_of(weights.parts)
    if names is not None:
        return _of_population(grid, weights, names, low=low, high=high, reach=reach)
    weighed = weights.on(grid)
    return Sample(
        keys=weighed.places,
        values=tuple(cell.values for cell in weights.used(grid).cells),
        weights=weighed.coefficients,
        labels=tuple(
            ", ".join(f"{name}={level}" for name, level in zip(weights.parts, levels, strict=True))
            for levels in weighed.combinations
        ),
        strata=weighed.strata,
        low=low,
        high=high,
        reach=reach,
        unit_name=REPLIES,
        flags=grid.flags,
        magnitude=grid.magnitude,
    )


def _of_population(
    grid: Grid, weights: Weights, names: Sequence[str], *, low: float, high: float, reach: float
) -> Sample:
    """Return units with a contrast each, in a group for each level that they are nested in."""
    nested = [name for name in names if name in weights.parts][:1]
    within = Weights({name: part for name, part in weights.parts.items() if name not in nested})
    whole, dropped = _whole_units(grid, weights, nested or names)
    if nested:
        unit_name = Units("groups", tuple(nested))
        levels = {level: weight for level, weight in weights.parts[nested[0]].items() if weight}
    else:
        exemplars = any(names[0] in cell.members for cell in grid.cells)
        unit_name, levels = Units.within(names, exemplars=exemplars), {"": 1.0}
    groups: dict[str, dict[Unit, float]] = {level: {} for level in levels}
    for unit, cells in whole.items():
        level = cells[0].labels[nested[0]] if nested else ""
        groups[level][unit] = within.sum_of(cells)
    labels = {level: f"{nested[0]}={level}" if nested else str(unit_name) for level in levels}
    for level, units in groups.items():
        if not units:
            raise TooFewUnits(group=labels[level], found=0, needed=1)
    if within.parts:  # of two groups, each moves the whole by half its reach
        high = reach / 2 if nested else reach
        low = -high
    return Sample(
        keys=tuple(levels),
        values=tuple(np.array([*units.values()]) for units in groups.values()),
        weights=tuple(levels.values()),
        labels=tuple(labels.values()),
        strata=((),) * len(levels),
        low=low,
        high=high,
        reach=reach,
        unit_name=unit_name,
        flags=False,
        magnitude=grid.magnitude,
        units=tuple([*units] for units in groups.values()),
        dropped=dropped,
    )


def _whole_units(
    grid: Grid, weights: Weights, names: Sequence[str]
) -> tuple[dict[Unit, list[Cell]], int]:
    """The cells of each unit that meets every level compared, and how many units miss one."""
    by_unit: dict[Unit, list[Cell]] = {}
    for cell in weights.used(grid).cells:
        unit = tuple((name, cell.labels[name], cell.members.get(name, "")) for name in names)
        by_unit.setdefault(unit, []).append(cell)
    most = max(map(len, by_unit.values()), default=0)
    whole = {
        key: cells
        for key, cells in by_unit.items()
        if len(cells) == most and all(cell.values.size for cell in cells)
    }
    return whole, len(by_unit) - len(whole)


def centred(sample: Sample) -> list[Floats]:
    """Return the values of each group as if the groups differed in nothing but the contrast.

    Strata may differ, levels of one side may, and factors may have effects besides their
    interaction: a permutation of all labels would take these for noise.
    """
    within: dict[object, list[Floats]] = {}
    for values, stratum in zip(sample.values, sample.strata, strict=True):
        within.setdefault(stratum, []).append(values)
    common = {stratum: np.concatenate(each).mean() for stratum, each in within.items()}
    parts: defaultdict[object, float] = defaultdict(float)
    squares: defaultdict[object, float] = defaultdict(float)
    triples = [*zip(sample.values, sample.weights, sample.strata, strict=True)]
    for values, weight, at in triples:
        parts[at] += weight * float(values.mean() - common[at])
        squares[at] += weight**2
    return [
        values - values.mean() + weight * parts[at] / squares[at] for values, weight, at in triples
    ]


SEED = 1
"""Seed of all resampling; fixed, not searched."""

_LARGER = 1.5  # units of the other group, from which on a rejection must hold at one variance, too
_MEANS = "t test of the weighted sum of means"
_FURTHER = "t test of the weighted sum of means with one further unit a side"
_RATIO = "t test of the log ratio with one further unit a side"


def estimate(
    sample: Sample,
    *,
    margin: float | None,
    null: Null = "zero",
    shrink: float = 1.0,
    matters: Matters = "either",
    ratio: bool = False,
) -> Estimate:
    """Estimate and test a weighted sum of means, or the ``ratio`` of two rates by its logarithm.

    ``margin`` is in the unit of the contrast, of a ratio its larger limit. ``shrink`` is what is
    left of a difference in how its values are read (1 of those read without error): clearing is
    tested at that share of the margin, the null at the whole of it. Where only what lies below or
    above no effect ``matters``, the other neither rejects nor keeps from clearing. The null is
    tested by the t test (of events with one further unit a side at the end nearer no
    effect, of fewer than 10 units a side by permutation as well), clearing by
    :mod:`...stats.equivalence`. Of a ratio a side without any event has half an event added, as
    the other has (Haldane 1956), in the estimate alone.

    Raises TooFewUnits where no group of a side has two units, NoVariance of a ratio without any
    event at all.
    """
    sides, df, df_alarm = _sides(sample)
    value, se = _log_ratio(sides) if ratio else contrast_of(sides)
    if abs(value) <= EQUAL * (1.0 if ratio else sample.magnitude):
        value = 0.0
    whole = math.log(margin) if ratio and margin is not None else margin
    limit = None if whole is None else whole * shrink
    fewest = int(min(side.n for side in sides) + 1e-9)
    needed = FEWEST_TO_CLEAR
    if limit is not None and not ratio:
        needed = max(needed, units_needed(limit, sample.reach))
    further = further_of(sides, ratio=ratio)
    p_clear = None
    if limit is not None:
        low = -math.inf if matters == "above" else -limit
        high = math.inf if matters == "below" else limit
        p_clear = 1.0 if fewest < needed else clearing_p(further, low=low, high=high, df=df)
    beyond = whole if null == "margin" and whole is not None else 0.0
    few = fewest < FEWEST_TO_CLEAR and not ratio
    tests = [(se, df), *_one_variance(sample, sides)]
    if sample.flags or (se == 0 and (beyond or sample.single)):
        p_alarm = beyond_p(further, value, beyond=beyond, df=df_alarm)
        how = _RATIO if ratio else _FURTHER
    elif se > 0:
        distance, how = max(abs(value) - beyond, 0.0), _MEANS
        p_alarm = max(p_from_t(distance / each, on) for each, on in tests)
    else:  # values that are all the same and differ
        p_alarm, how = 0.0, ""
    if value and (few or se == 0) and not (beyond or sample.single):
        words = "sign flips" if sample.paired else "label permutation"
        how = f"{how} and {words}, the larger p" if how else words
        p_alarm = max(p_alarm, _permuted(sample).p)
    if (matters == "above" and value < 0) or (matters == "below" and value > 0) or not value:
        p_alarm = 1.0

    def at_level(level: float) -> Interval | None:
        if se > 0 and not sample.flags:
            each = [t_interval(value, se, df, level=level) for se, df in tests]
            return max(each, key=lambda one: one.high)
        return clearing_interval(further, df=df_alarm, level=level, ratio=ratio)

    return Estimate(
        estimate=math.exp(value) if ratio else value,
        interval=at_level(LEVEL),
        clearing=clearing_interval(further, df=df, ratio=ratio),
        p_alarm=p_alarm,
        p_clear=p_clear,
        margin=margin,
        null=null,
        matters=matters,
        shrink=shrink,
        scale="ratio" if ratio else "difference",
        method=how if margin is None else f"{how}; two one-sided t tests at the margin",
        units=sample.size,
        fewest=fewest,
        needed=needed,
        unit_name=sample.unit_name,
        se=se or None,
        df=df_alarm,
        effect_size=_effect_size(sample),
        notes=_notes(sample),
        at_level=at_level,
    )


def _sides(sample: Sample) -> tuple[tuple[SideSummary, ...], float, float]:
    """Return the two groups, and the df of clearing and of rejecting."""
    for sign in (1, -1):
        groups = zip(sample.values, sample.weights, sample.labels, strict=True)
        side = [(values.size, label) for values, weight, label in groups if weight * sign > 0]
        if side and max(side)[0] < 2:  # noqa: PLR2004  (a variance)
            found, group = max(side)
            units = "valid replies" if sample.unit_name == REPLIES else "units"
            raise TooFewUnits(group=group, found=found, needed=2, units=units)
    sides, df = sides_of(
        sample.values,
        sample.weights,
        low=sample.low,
        high=sample.high,
        magnitude=sample.magnitude,
    )
    if not sample.flags:
        return sides, df, df
    # By the cells' variances one event in a cell of two leaves one df, and clears less than none.
    parts = [side.weight**2 / side.n for side in sides]
    of_sides = df_of(np.array(parts), _freedom(sample), cells=len(sides))
    return sides, of_sides, min(df, of_sides)


def _freedom(sample: Sample) -> Floats:
    """Return the degrees of freedom of each side, the higher first."""
    of = [*zip(sample.values, sample.weights, strict=True)]
    found = [sum(x.size - 1.0 for x, weight in of if weight * sign > 0) for sign in (1, -1)]
    return np.array([each for each in found if each])


def _one_variance(sample: Sample, sides: Sequence[SideSummary]) -> Iterator[tuple[float, float]]:
    """Yield standard error and df at one variance, where few units may be alike by chance."""
    if max(side.n for side in sides) >= _LARGER * min(side.n for side in sides):
        freedom = _freedom(sample)
        variance = float(freedom @ [side.variance for side in sides]) / freedom.sum()
        yield math.sqrt(variance * sum(s.weight**2 / s.n for s in sides)), float(freedom.sum())


def _log_ratio(sides: Sequence[SideSummary]) -> tuple[float, float]:
    if not any(side.mean for side in sides):
        raise NoVariance(statistic="the ratio of rates")
    alike = all(side.mean for side in sides)
    return log_ratio_of(sides if alike else [_with_half(side) for side in sides])


def _permuted(sample: Sample) -> Permutation:
    if sample.paired:
        return sign_flip(sample.values[0], seed=SEED)
    weights: defaultdict[str, float] = defaultdict(float)
    for label, weight in zip(sample.labels, sample.weights, strict=True):
        weights[label] += weight
    sizes = [each.size for each in sample.values]
    pairs = [*zip(sample.labels, sample.strata, sizes, strict=True)]
    return contrast_permutation(
        np.concatenate(centred(sample)),
        [label for label, _, size in pairs for _ in range(size)],
        weights,
        blocks=[stratum for _, stratum, size in pairs for _ in range(size)],
        seed=SEED,
    )


def _with_half(side: SideSummary) -> SideSummary:
    """Return the side with half an event among one further unit."""
    n = side.n
    mean = (n * side.mean + 0.5) / (n + 1)
    return replace(side, mean=mean, variance=mean * (1 - mean) * (n + 1) / n, n=n + 1)


def _effect_size(sample: Sample) -> EffectSize | None:
    """Return Cohen's d of two groups, or of one of differences; None where it has no SD."""
    if sample.flags or sample.single:
        return None
    try:
        if sample.paired:
            return cohen_dz(sample.values[0])
        if len(sample.values) == 2:  # noqa: PLR2004  (two groups)
            first, second = sample.values if sample.weights[0] > 0 else sample.values[::-1]
            return standardized_difference(first, second)
    except NoVariance:
        pass
    return None


def _notes(sample: Sample) -> tuple[str, ...]:
    if not sample.dropped:
        return ()
    called = str(sample.unit_name) if sample.dropped == 1 else sample.unit_name.several
    return (f"{sample.dropped} {called} left out: not every condition has a reply",)


def bootstrap(grid: Grid, weights: Weights) -> Bootstrap | None:
    """Return the percentile bootstrap interval of the difference of two cells; None of more."""
    cells = weights.used(grid).cells
    if len(cells) != 2:  # noqa: PLR2004  (two groups)
        return None
    high, low = cells if weights.of(cells[0]) > 0 else reversed(cells)
    return bootstrap_difference(high.values, low.values, seed=SEED)
