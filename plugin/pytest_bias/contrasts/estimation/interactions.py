"""Interactions of factors with several levels: the largest of all contrasts, judged as such."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from ...errors import NoVariance
from ...stats.checks import Floats, enough
from ...stats.means import REPLICATED
from ...stats.permutation import profile_permutation
from ...stats.simultaneous import max_t, sign_flip_max_t
from ..findings import p_words
from ..units import REPLIES, Units
from .cells import Grid, Weights
from .tested import SEED, Tested, permutation_words
from .units import unit_key, units_within


@dataclass(frozen=True, slots=True)
class Table:
    """Levels of the two factors that are crossed."""

    factors: tuple[str, str]
    levels: tuple[tuple[str, ...], tuple[str, ...]]

    @property
    def places(self) -> list[tuple[str, str]]:
        """All combinations, row by row."""
        return list(product(*self.levels))

    @property
    def contrasts(self) -> Floats:
        """Each combination's departure from its row and column, as weights of all combinations."""
        first, second = (np.eye(len(levels)) - 1 / len(levels) for levels in self.levels)
        return np.asarray(np.kron(first, second), dtype=np.float64)


def largest_interaction(grid: Grid, table: Table, unit: Sequence[str] | None) -> Tested:
    """The combination that departs most from what its two levels do on their own.

    Adjusted for having picked the largest (max-T): by permuting the labels of exemplars, by sign
    flips of units that meet every combination, or in a fixed set by the multivariate t of all
    contrasts with the variance within cells, at the fewest degrees of freedom that one of them has
    after Satterthwaite (Westfall & Young 1993; Hothorn, Bretz & Westfall 2008). ``unit`` names the
    units of a population, None for a fixed set.
    """
    if unit is None:
        return _fixed(grid, table)
    nested = [name for name in unit if name in table.factors]
    if nested:
        return _nested(grid, table, nested[0])
    return _crossed(grid, table, unit)


def _weights(table: Table) -> Weights:
    return Weights(
        {
            factor: dict.fromkeys(levels, 1.0)
            for factor, levels in zip(table.factors, table.levels, strict=True)
        }
    )


def _fixed(grid: Grid, table: Table) -> Tested:
    weights = _weights(table)
    cells = weights.used(grid).cells
    sizes = Counter(map(weights.combination, cells))
    place: dict[tuple[str, ...], int] = {each: at for at, each in enumerate(table.places)}
    means = np.zeros(len(place))
    variances, squares = np.zeros(len(place)), np.zeros(len(place))
    within = [cell for cell in cells if cell.values.size >= REPLICATED]
    df = sum(cell.values.size - 1 for cell in within)
    enough(max(cell.values.size for cell in cells), "a cell")
    pooled = math.fsum(float(cell.values.var()) * cell.values.size for cell in within) / df
    for cell in cells:
        at, share = place[weights.combination(cell)], 1 / sizes[weights.combination(cell)]
        known = cell.values.size >= REPLICATED
        spread = float(cell.values.var(ddof=1)) if known else pooled
        variance = spread / cell.values.size * share**2
        means[at] += cell.mean * share
        variances[at] += variance
        squares[at] += variance**2 / (cell.values.size - 1 if known else df)
    contrasts = table.contrasts
    covariance = contrasts @ np.diag(variances) @ contrasts.T
    ses = np.sqrt(np.clip(np.diag(covariance), 0, None))
    if not (ses > 0).all():
        raise NoVariance(statistic="max-T of interactions")
    estimates = (contrasts @ means).tolist()
    # A contrast's own variance has fewer than the variances of all cells together.
    fewest = float((ses**4 / (contrasts**4 @ squares)).min())
    found = max_t(estimates / ses, covariance / np.outer(ses, ses), fewest, seed=SEED)
    return _tested(
        table,
        estimates,
        found,
        ses=ses.tolist(),
        method="multivariate t over all interaction contrasts (max-T)",
        units=sum(cell.values.size for cell in cells),
        fewest=min(cell.values.size * sizes[weights.combination(cell)] for cell in cells),
        unit_name=REPLIES,
    )


def _nested(grid: Grid, table: Table, factor: str) -> Tested:
    """Exemplars of one factor are the units, each with a profile over the other's levels."""
    at = table.factors.index(factor)
    other = table.factors[1 - at]
    groups, columns = table.levels[at], table.levels[1 - at]
    by_unit: dict[tuple[str, str], dict[str, list[float]]] = {}
    for cell in _weights(table).used(grid).cells:
        profile = by_unit.setdefault((cell.labels[factor], cell.members[factor]), {})
        if cell.values.size:
            profile.setdefault(cell.labels[other], []).append(cell.mean)
    whole = {key: profile for key, profile in by_unit.items() if len(profile) == len(columns)}
    labels = [level for level, _ in whole]
    sizes = Counter(labels)
    for group in groups:
        enough(sizes[group], f"{factor}={group}")
    profiles = np.array(
        [[np.mean(profile[column]) for column in columns] for profile in whole.values()]
    )
    found = profile_permutation(profiles, labels, seed=SEED)
    cells = [found.cells[place[at], columns.index(place[1 - at])] for place in table.places]
    share = 1 - 1 / len(groups)  # of the distance to the other groups, that to the mean of all
    return _tested(
        table,
        [cell.estimate * share for cell in cells],
        [cell.p_max_t for cell in cells],
        method=permutation_words(found.omnibus, "permutation of exemplars' labels (max-T)"),
        units=len(labels),
        fewest=min(sizes.values()),
        unit_name=Units("groups", (factor,)),
    )


def _crossed(grid: Grid, table: Table, unit: Sequence[str]) -> Tested:
    weights = _weights(table)
    by_unit: dict[object, dict[tuple[str, ...], list[float]]] = {}
    for cell in weights.used(grid).cells:
        means = by_unit.setdefault(unit_key(cell, unit), {})
        if cell.values.size:
            means.setdefault(weights.combination(cell), []).append(cell.mean)
    rows = [
        [np.mean(means[place]) for place in table.places]
        for means in by_unit.values()
        if len(means) == len(table.places)
    ]
    name = units_within(unit, grid.cells)
    enough(len(rows), str(name))
    departures = np.array(rows) @ table.contrasts.T
    found = sign_flip_max_t(departures, seed=SEED)
    return _tested(
        table,
        departures.mean(axis=0).tolist(),
        found.p,
        method=permutation_words(found.permutation, "sign flips of units (max-T)"),
        units=len(rows),
        fewest=len(rows),
        unit_name=name,
    )


def _largest(estimates: Sequence[float], p_values: Sequence[float]) -> int:
    """The place of the smallest p; of those that mirror each other the one above 0, the first."""
    return min(
        range(len(p_values)),
        key=lambda at: (
            round(p_values[at], 9),
            -round(abs(estimates[at]), 9),
            estimates[at] < 0,
        ),
    )


def _tested(
    table: Table,
    estimates: Sequence[float],
    p_values: Sequence[float],
    *,
    ses: Sequence[float] = (),
    method: str,
    units: int,
    fewest: int,
    unit_name: Units,
) -> Tested:
    best = _largest(estimates, p_values)
    extras: Mapping[str, float | str] = {
        "clearest at": " × ".join(table.places[best]),
        **{
            f"{' × '.join(place)}": f"{estimate:+z.3f}, {p_words(p)}"
            for place, estimate, p in zip(table.places, estimates, p_values, strict=True)
        },
    }
    return Tested(
        estimate=estimates[best],
        interval=None,
        p_alarm=p_values[best],
        p_clear=None,
        method=method,
        units=units,
        fewest=fewest,
        unit_name=unit_name,
        se=ses[best] if ses else None,
        extras=extras,
    )
