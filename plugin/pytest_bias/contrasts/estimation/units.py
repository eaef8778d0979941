"""Contrasts about a population: units (prompts, names, blocks) like the ones that were sampled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ...errors import NoVariance
from ...stats.blocks import cohen_dz, one_sample, sign_flip
from ...stats.checks import Floats, enough
from ...stats.means import stratified_contrast
from ...stats.permutation import contrast_permutation
from ...stats.results import Permutation
from ..findings import ALPHA
from ..units import Units
from .bounded import (
    are_alike,
    bounded_p,
    cells_are_doubtful,
    identical_exemplars,
    identical_units,
    is_skewed,
    protected,
)
from .cells import Cell, Grid, Weights
from .fixed import contrast_alone, of_strata, within_strata
from .tested import (
    FEW_UNITS,
    FEW_UNITS_NOTE,
    SEED,
    Part,
    Tested,
    Unit,
    also_permuted,
    are_uneven,
    permutation_words,
)
from .two_groups import compare_groups


def unit_key(cell: Cell, unit: Sequence[str]) -> Unit:
    """The unit a cell belongs to: its level, item or exemplar of each name."""
    return tuple((name, cell.labels[name], cell.members.get(name, "")) for name in unit)


def units_within(unit: Sequence[str], cells: Sequence[Cell]) -> Units:
    """Units compared with themselves: seeds, exemplars of a factor, combinations of several."""
    return Units.within(unit, exemplars=any(unit[0] in cell.members for cell in cells))


def _whole_units(
    grid: Grid, weights: Weights, unit: Sequence[str]
) -> tuple[dict[Unit, list[Cell]], list[Unit]]:
    """The cells of each unit that meets every level compared, and the units that miss one."""
    by_unit: dict[Unit, list[Cell]] = {}
    for cell in weights.used(grid).cells:
        by_unit.setdefault(unit_key(cell, unit), []).append(cell)
    most = max(map(len, by_unit.values()), default=0)
    whole = {
        key: cells
        for key, cells in by_unit.items()
        if len(cells) == most and all(cell.values.size for cell in cells)
    }
    return whole, [key for key in by_unit if key not in whole]


def crossed_values(
    grid: Grid, weights: Weights, unit: Sequence[str]
) -> tuple[dict[Unit, float], int]:
    """The contrast within each unit, replicates averaged; and how many units miss a cell."""
    whole, lacking = _whole_units(grid, weights, unit)
    return {key: weights.sum_of(cells) for key, cells in whole.items()}, len(lacking)


def nested_values(
    grid: Grid, weights: Weights, factor: str
) -> tuple[dict[str, dict[Unit, float]], Counter[str]]:
    """Level of ``factor`` → one value per exemplar; and → how many exemplars miss a cell.

    The value is the exemplar's mean, or its contrast over the other factors that are compared.
    """
    others = Weights({name: part for name, part in weights.parts.items() if name != factor})
    whole, lacking = _whole_units(grid, weights, [factor])
    groups: dict[str, dict[Unit, float]] = {}
    for key, cells in whole.items():
        groups.setdefault(cells[0].labels[factor], {})[key] = others.sum_of(cells)
    return groups, Counter(level for ((_, level, _),) in lacking)


def lacking_of(groups: Mapping[str, Mapping[Unit, float]], dropped: Mapping[str, int]) -> float:
    """Return the largest share of a group's exemplars that miss a cell."""
    shares = (n / (n + len(groups.get(level, ()))) for level, n in dropped.items())
    return max(shares, default=0.0)


def parts_of(
    factor: str, groups: Mapping[str, Mapping[Unit, float]], weights: Mapping[str, float]
) -> tuple[Part, ...]:
    """The units of each level that weighs anything, with that weight."""
    return tuple(
        Part(group=f"{factor}={level}", weight=weight, values=groups[level])
        for level, weight in weights.items()
        if weight
    )


def crossed_contrast(
    grid: Grid, weights: Weights, unit: Sequence[str], *, margin: float | None
) -> Tested:
    """Test the mean of one contrast per unit against 0 and against ±margin.

    One-sample t and two one-sided tests; with 5 to 9 units both by exact sign flips. Where replies
    are skewed or nearly all alike within their cells and many more on one side, an alarm must also
    hold by a permutation of their labels within units. Contrasts that are all the same are bounded
    exactly.
    """
    values, dropped = crossed_values(grid, weights, unit)
    differences = np.array(list(values.values()))
    name = units_within(unit, grid.cells)
    width = None if grid.width is None else grid.width * weights.reach
    tested = paired(differences, margin=margin, width=width, magnitude=grid.magnitude, name=name)
    if tested.p_alarm <= ALPHA and not tested.deterministic:
        places = [at for at, cell in enumerate(grid.cells) if unit_key(cell, unit) in values]
        whole = weights.used(grid.part(places, {}))
        sizes = [cell.values.size for cell in whole.cells]
        uneven = are_uneven(weights.on(whole).coefficients, sizes)
        if uneven and cells_are_doubtful(whole.cells):
            permute = partial(within_strata, whole, weights, alone=True)
            tested = also_permuted(tested, permute, "label permutation within units")
    every = Part(group=str(name), weight=1.0, values=values)
    tested = replace(tested, by_unit=(every,), lacking=dropped / (dropped + len(values)))
    return tested.noting(*left_out(dropped, name))


def left_out(dropped: int, name: Units) -> tuple[str, ...]:
    """The note on units that miss a cell; none where there are none."""
    called = name if dropped == 1 else name.several
    return (f"{dropped} {called} left out: not every condition has a reply",) if dropped else ()


def paired(
    differences: Floats,
    *,
    margin: float | None,
    width: float | None,
    magnitude: float,
    name: Units,
) -> Tested:
    """Test the mean of independent differences; see :func:`crossed_contrast`."""
    n = differences.size
    enough(n, str(name))
    try:
        found = one_sample(differences, magnitude=magnitude)
    except NoVariance:
        return identical_units(
            differences, margin=margin, width=width, magnitude=magnitude, name=name
        )
    tost = None if margin is None else found.tost(margin)
    p_alarm, p_clear, method = found.p, tost.p if tost else None, "t test of one value per unit"
    notes: tuple[str, ...] = ()
    if n < FEW_UNITS:
        flipped = sign_flip(differences, seed=SEED)
        p_alarm, method = flipped.p, permutation_words(flipped, "sign flips of one value per unit")
        # Sign flips at the margin clear falsely where a few units differ from the rest.
        p_clear = None if tost is None else 1.0
        notes = (FEW_UNITS_NOTE,)
    elif p_clear is not None and margin is not None and are_alike(differences):
        bounds = None if width is None else (-width, width)
        p, note = bounded_p(differences, bounds=bounds, margin=margin)
        p_clear, notes = max(p_clear, p), (note,)
    elif is_skewed(differences):
        few = f"a few {name.several}"
        notes = (f"skewed: {few} differ from the rest, so look at them before the interval",)
    tested = Tested(
        estimate=found.estimate,
        interval=found.interval,
        p_alarm=p_alarm,
        p_clear=p_clear,
        method=method if tost is None else f"{method}; two one-sided t tests at the margin",
        units=n,
        fewest=n,
        unit_name=name,
        se=found.se,
        df=found.df,
        tost=tost,
        effect_size=cohen_dz(differences),
        notes=notes,
    )
    return protected(tested, [differences], [1.0], margin=margin)


def nested_contrast(grid: Grid, weights: Weights, factor: str, *, margin: float | None) -> Tested:
    """Test a contrast of groups whose exemplars are the units.

    Two groups by Welch's t test on the exemplars' means (permutations below 10 of them); several
    by the weighted sum of group means, with the variance within each (permutations below 10 on a
    side).
    """
    found, dropped = nested_values(grid, weights, factor)
    groups = {level: list(values.values()) for level, values in found.items()}
    part = weights.parts[factor]
    for level in part:
        enough(len(groups.get(level, ())), f"{factor}={level}")
    name = Units("groups", (factor,))
    # Of the whole contrast's reach each group has half: its units differ between two sides.
    bounds, half = grid.bounds, (grid.width or 0.0) * weights.reach / 2
    if bounds is not None and len(weights.parts) > 1:
        bounds = (-half, half)
    if len(part) == 2:  # noqa: PLR2004  (two groups)
        high, low = sorted(part, key=lambda level: -part[level])
        scale = part[high]
        a, b = (np.array(groups[level]) * scale for level in (high, low))
        tested = compare_groups(
            a,
            b,
            margin=margin,
            bounds=bounds,
            name=name,
            groups=(f"{factor}={high}", f"{factor}={low}"),
        )
        if not tested.deterministic:
            tested = protected(tested, [a, b], [1.0, -1.0], margin=margin)
    else:
        try:
            tested = _several(groups, part, margin=margin, name=name)
        except NoVariance:
            tested = identical_exemplars(grid, weights, factor, groups, margin=margin)
    by_unit = parts_of(factor, found, part)
    tested = replace(tested, by_unit=by_unit, lacking=lacking_of(found, dropped))
    return tested.noting(*left_out(dropped.total(), name))


def _several(
    groups: Mapping[str, Sequence[float]],
    part: Mapping[str, float],
    *,
    margin: float | None,
    name: Units,
) -> Tested:
    levels = list(part)
    values = [np.array(groups[level]) for level in levels]
    weights = [part[level] for level in levels]

    def permuted() -> Permutation:
        labels = [level for level in levels for _ in groups[level]]
        alone = contrast_alone(values, weights, [()] * len(values))
        return contrast_permutation(np.concatenate(alone), labels, dict(part), seed=SEED)

    found = stratified_contrast(values, weights)
    doubtful = any(is_skewed(each) or are_alike(each) for each in values)
    tested = of_strata(
        found,
        values,
        weights,
        fewest=min(each.size for each in values),
        margin=margin,
        permute=permuted,
        doubtful=doubtful,
        name=name,
    )
    return protected(tested, values, weights, margin=margin)
