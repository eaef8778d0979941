"""Units that all show the same: an exact bound on what they can hide, instead of a t test."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ...errors import NoVariance
from ...statistics.blocks import sign_flip
from ...statistics.checks import ROUNDING, Floats
from ...statistics.deterministic import identical_pairs
from ...statistics.permutation import contrast_permutation
from ..findings import ALPHA
from ..units import Units
from .cells import Grid
from .tested import RESAMPLES, SEED, Tested, permutation_words, smaller_side
from .weights import Weights


def identical_exemplars(
    grid: Grid,
    weights: Weights,
    factor: str,
    groups: Mapping[str, Sequence[float]],
    *,
    margin: float | None,
) -> Tested:
    """All exemplars of each group give the same: what that can hide, as pairs of a side each."""
    if grid.width is None:
        raise NoVariance(statistic="contrast of exemplars")
    part = weights.parts[factor]
    levels = [level for level in part if part[level]]
    difference = math.fsum(part[level] * groups[level][0] for level in levels)
    if abs(difference) <= ROUNDING * grid.magnitude:
        difference = 0.0
    sizes = [len(groups[level]) for level in levels]
    found = identical_pairs(
        difference,
        pairs=smaller_side([part[level] for level in levels], sizes),
        width=grid.width * weights.reach,
        margin=margin,
        alpha=ALPHA,
    )
    permuted = contrast_permutation(
        np.concatenate([np.array(groups[level]) for level in levels]),
        [level for level in levels for _ in groups[level]],
        {level: part[level] for level in levels},
        resamples=RESAMPLES,
        seed=SEED,
    )
    words = permutation_words(permuted, "label permutation of exemplars")
    return Tested(
        estimate=difference,
        interval=found.interval,
        p_alarm=permuted.p,
        p_clear=found.p_clear,
        method=f"exact bound on what identical exemplars hide; {words}",
        units=sum(sizes),
        fewest=min(sizes),
        unit_name=Units("groups", (factor,)),
        deterministic=True,
        notes=("deterministic replies: every exemplar of a group gives the same",),
    )


def identical_units(
    differences: Floats,
    *,
    margin: float | None,
    width: float | None,
    magnitude: float,
    name: Units,
) -> Tested:
    """Every unit shows the same difference; ``width`` is that of the differences' scale."""
    if width is None:
        raise NoVariance(statistic="one_sample")
    difference = float(differences[0])
    if abs(difference) <= ROUNDING * magnitude:
        difference = 0.0
    n = differences.size
    found = identical_pairs(difference, pairs=n, width=width, margin=margin, alpha=ALPHA)
    flipped = sign_flip(np.full(n, difference), resamples=RESAMPLES, seed=SEED)
    words = permutation_words(flipped, "sign flips")
    return Tested(
        estimate=difference,
        interval=found.interval,
        p_alarm=flipped.p,
        p_clear=found.p_clear,
        method=f"exact bound on what identical units hide; {words}",
        units=n,
        fewest=n,
        unit_name=name,
        deterministic=True,
        notes=("deterministic replies: every unit shows the same difference",),
    )
