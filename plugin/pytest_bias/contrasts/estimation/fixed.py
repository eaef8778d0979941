"""Contrasts about this very set of stimuli: replies are the units, within their cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ...errors import NoVariance
from ...statistics.bounded import identical_pairs
from ...statistics.checks import ROUNDING, Floats
from ...statistics.permutation import contrast_permutation
from ...statistics.results import Permutation
from ...statistics.stratified import StratifiedContrast, stratified_contrast
from ..findings import ALPHA, Null
from ..units import REPLIES, Units
from .bounded import bounded_p, cells_are_doubtful
from .cells import Cell, Grid, Weights
from .tested import (
    FEW_UNITS,
    FEW_UNITS_NOTE,
    RESAMPLES,
    SEED,
    Tested,
    alarm_p,
    permutation_words,
    smaller_side,
    tost_at,
)
from .two_groups import compare_groups


def fixed_contrast(grid: Grid, weights: Weights, *, margin: float | None, null: Null) -> Tested:
    """Test a contrast of cell means with the variance of replies within their cells.

    Two cells are compared by Welch's t test, more by the sum of their weighted means (Welch 1947).
    With fewer than 10 replies on a side p is that of a permutation of labels within strata, and
    nothing is cleared. Replies that are all alike within their cells are bounded exactly. Raises
    TooFewUnits when no two cells have two replies: there is no variance within cells.
    """
    cells = weights.used(grid).cells
    coefficients = weights.coefficients(cells)
    if len(cells) == 2 and null == "zero":  # noqa: PLR2004  (two groups)
        high, low = cells if coefficients[0] > 0 else (cells[1], cells[0])
        names = tuple(_group(cell, weights) for cell in (high, low))
        return compare_groups(
            high.values, low.values, margin=margin, bounds=grid.bounds, groups=(names[0], names[1])
        )
    values = [cell.values for cell in cells]
    try:
        found = stratified_contrast(values, coefficients)
    except NoVariance:
        return _identical(grid, weights, margin=margin, null=null)
    tested = of_strata(
        found,
        values,
        coefficients,
        margin=margin,
        null=null,
        permute=lambda: within_strata(cells, weights),
    )
    extras = {"d (pooled SD within cells)": found.estimate / found.pooled_sd}
    tested = replace(tested, extras=extras)
    few = tested.fewest < FEW_UNITS
    if not few and tested.p_clear is not None and margin is not None and len(weights.parts) == 1:
        sides = [
            np.concatenate(
                [c.values for c, w in zip(cells, coefficients, strict=True) if w * sign > 0]
            )
            for sign in (1, -1)
        ]
        if cells_are_doubtful(values):
            robust = bounded_p(*sides, bounds=grid.bounds, margin=margin)
            return replace(tested, p_clear=max(tested.p_clear, robust.p), notes=(robust.note,))
    return tested


def of_strata(
    found: StratifiedContrast,
    values: Sequence[Floats],
    weights: Sequence[float],
    *,
    margin: float | None,
    permute: Callable[[], Permutation],
    null: Null = "zero",
    name: Units = REPLIES,
) -> Tested:
    """Test a weighted sum of means by t; with few units on a side, by a permutation instead."""
    sizes = [each.size for each in values]
    fewest = smaller_side(weights, sizes)
    few = fewest < FEW_UNITS
    of, by_t = ("cell means", "tests") if name == REPLIES else ("unit means", "t tests")
    tost = tost_at(margin, found)
    p_alarm = alarm_p(estimate=found.estimate, se=found.se, df=found.df, null=null, margin=margin)
    method = f"t test of stratified {of} (Welch–Satterthwaite)"
    if few and null == "zero":
        # Levels of one side may differ, which a permutation of all labels takes for noise.
        permuted = permute()
        what = "label permutation" if name == REPLIES else f"label permutation of {of}"
        p_alarm, method = permuted.p, permutation_words(permuted, what)
    return Tested(
        estimate=found.estimate,
        interval=found.interval,
        p_alarm=p_alarm,
        p_clear=None if tost is None else 1.0 if few else tost.p,
        method=method if tost is None else f"{method}; two one-sided {by_t} at the margin",
        units=sum(sizes),
        fewest=fewest,
        unit_name=name,
        se=found.se,
        df=found.df,
        tost=tost,
        notes=(FEW_UNITS_NOTE,) if few else (),
    )


def _group(cell: Cell, weights: Weights) -> str:
    return ", ".join(f"{factor}={cell.labels[factor]}" for factor in weights.parts)


def stratum(cell: Cell, weights: Weights) -> tuple[tuple[str, str], ...]:
    """Return the levels a cell shares with those it is compared with: all but those compared."""
    labels = tuple((k, v) for k, v in cell.labels.items() if k not in weights.parts)
    return labels + tuple((k, v) for k, v in cell.members.items() if k not in weights.parts)


def centred(cells: Sequence[Cell], weights: Weights) -> list[Floats]:
    """The values of each cell without what is common to its stratum, its cells counting alike.

    Where replies are missing unequally, strata would else be taken for differences of labels.
    """
    means: dict[object, list[float]] = {}
    for cell in cells:
        means.setdefault(stratum(cell, weights), []).append(cell.mean)
    return [cell.values - np.mean(means[stratum(cell, weights)]) for cell in cells]


def within_strata(cells: Sequence[Cell], weights: Weights) -> Permutation:
    """The permutation p of a contrast, with the labels of replies exchanged within strata."""
    values = np.concatenate([cell.values for cell in cells])
    labels = ["×".join(weights.combination(cell)) for cell in cells]
    of = {label: weights.of(cell) for label, cell in zip(labels, cells, strict=True)}
    sizes = [cell.values.size for cell in cells]
    return contrast_permutation(
        values,
        np.repeat(labels, sizes).tolist(),
        of,
        blocks=[
            stratum(cell, weights)
            for cell, size in zip(cells, sizes, strict=True)
            for _ in range(size)
        ],
        resamples=RESAMPLES,
        seed=SEED,
    )


def _identical(grid: Grid, weights: Weights, *, margin: float | None, null: Null) -> Tested:
    """Every reply of each cell is the same: what that can hide, as pairs of a side each."""
    cells = weights.used(grid).cells
    coefficients = weights.coefficients(cells)
    difference = sum(c * cell.mean for c, cell in zip(coefficients, cells, strict=True))
    sizes = [cell.values.size for cell in cells]
    fewest = smaller_side(coefficients, sizes)
    by_stratum: dict[tuple[tuple[str, str], ...], float] = {}
    for c, cell in zip(coefficients, cells, strict=True):
        key = stratum(cell, weights)
        by_stratum[key] = by_stratum.get(key, 0.0) + c * cell.mean
    scaled = [part * len(by_stratum) for part in by_stratum.values()]
    spread = max(abs(part - difference) for part in scaled)
    if grid.width is None:
        raise NoVariance(statistic="stratified_contrast")
    if abs(difference) <= ROUNDING * grid.magnitude:
        difference = 0.0
    found = identical_pairs(
        difference,
        pairs=fewest,
        width=grid.width * weights.reach + spread,
        margin=margin,
        alpha=ALPHA,
    )
    if null == "margin" and found.p_beyond is not None:
        p_alarm, how = found.p_beyond, "the same bound"
    else:
        permuted = within_strata(cells, weights)
        p_alarm, how = permuted.p, permutation_words(permuted, "label permutation")
    return Tested(
        estimate=difference,
        interval=found.interval,
        p_alarm=p_alarm,
        p_clear=found.p_clear,
        method=f"exact bound on what identical replies hide; {how}",
        units=sum(sizes),
        fewest=fewest,
        unit_name=REPLIES,
        deterministic=True,
        notes=("deterministic replies: every reply of a cell is the same",),
    )
