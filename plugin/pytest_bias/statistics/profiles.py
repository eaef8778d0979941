"""Permutation of profiles: whether groups of units respond differently to conditions.

Which relabellings are counted, and what the test raises: see `_relabelling`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from ..errors import TooFewUnits
from ._relabelling import SMALLEST_GROUP, Relabelling
from .checks import ROUNDING, checked, matrix, probability
from .permutation import each_against_rest
from .results import Permutation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True)
class CellInteraction:
    """A group's departure from the rest in one condition, beyond that over all of them."""

    estimate: float
    p: float
    p_max_t: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilePermutation:
    """The whole interaction (`omnibus`), and its cells by group and index of the condition."""

    omnibus: Permutation
    cells: Mapping[tuple[str, int], CellInteraction]


@checked
def profile_permutation(
    profiles: ArrayLike, labels: Sequence[str], *, resamples: int = 10_000, seed: int
) -> ProfilePermutation:
    """Test by permutation whether groups of units respond differently to k conditions.

    `profiles` has shape (n, k), k >= 2: a row per unit (a name), its value in each condition in a
    column; `labels` gives the group of each row. Each row's mean is removed. Estimand per group
    and condition: the group's mean of what is left less the equally weighted mean of the other
    groups' means, in the unit of the values. Null: labels are exchangeable over rows.

    The omnibus statistic is the interaction's sum of squares; each cell's is its estimate
    studentised by the condition's pooled within-group variance, two-sided, and `p_max_t` is
    adjusted over all groups and conditions (single-step max-T). Parallel rows give p = 1.

    Raises `TooFewUnits` below two groups, two rows in a group or two conditions, and
    `BadStatisticInput` as the module says. Source: as `group_permutation`.
    """
    table = matrix(profiles, "profiles")
    n, k = table.shape
    if k < SMALLEST_GROUP:
        raise TooFewUnits(group="conditions", found=k, needed=SMALLEST_GROUP)
    units = Relabelling(labels, None, n=n, fewest=SMALLEST_GROUP, resamples=resamples, seed=seed)
    rows = table - table.mean(axis=1, keepdims=True)
    # what is left of parallel rows is rounding of their own magnitude
    rows[np.abs(rows) <= ROUNDING * np.abs(table).max(axis=1, keepdims=True)] = 0.0
    omnibus, found, p, p_max_t = each_against_rest(rows, units)
    return ProfilePermutation(
        omnibus=omnibus,
        cells=MappingProxyType(
            {
                (str(name), j): CellInteraction(
                    estimate=float(found[g, j]),
                    p=probability(p[g, j]),
                    p_max_t=probability(p_max_t[g, j]),
                )
                for g, name in enumerate(units.names)
                for j in range(k)
            }
        ),
    )
