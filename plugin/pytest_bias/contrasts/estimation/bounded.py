"""Clearing where a t test must not be trusted: rare replies far away, and replies all alike.

A t test clears by the spread it sees. Where nearly all replies are alike and a few rare ones lie
far away, samples that hold too few of the rare ones look tighter than the truth and clear falsely.
Of units that all show the same an exact bound says what they can hide.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from ...errors import NoVariance
from ...stats.blocks import sign_flip
from ...stats.bounded import bounded_equivalence, identical_pairs, skewness
from ...stats.checks import ROUNDING, Floats
from ...stats.permutation import contrast_permutation
from ...stats.resampling import bootstrap_t_equivalence
from ...stats.results import Interval
from ..findings import ALPHA
from ..units import Units
from .cells import Cell, Grid, Weights
from .tested import SEED, Tested, permutation_words, smaller_side

SKEWED = 1.0
"""Absolute sample skewness above which the spread seen says too little."""

ALIKE = 0.8
"""Share of a group's replies that are one and the same, from which on it does too."""


def is_skewed(values: ArrayLike) -> bool:
    """Return whether rare values lie far from the rest."""
    return abs(skewness(values)) > SKEWED


def cells_are_doubtful(cells: Sequence[Cell]) -> bool:
    """Whether replies within their cells are skewed around their means, or nearly all alike."""
    values = np.concatenate([cell.values for cell in cells])
    within = values - np.repeat([cell.mean for cell in cells], [c.values.size for c in cells])
    return is_skewed(within) or sum(cell.most for cell in cells) >= ALIKE * within.size


def units_to_see(
    means: Sequence[float], *, bounds: tuple[float, float] | None, margin: float
) -> int:
    """Return the replies per group of which fewer could all miss some that make the margin.

    Of n replies none may be of a kind that makes up to 1 - .05^(1/n) of all (Clopper & Pearson
    1934). Where so many at the farther end of the scale move a mean by the margin, what was seen
    says too little, however ordinary it looks.
    """
    if bounds is None:
        return 0
    farthest = max(bounds[1] - min(means), max(means) - bounds[0])
    return 1 if margin >= farthest else math.ceil(math.log(ALPHA) / math.log1p(-margin / farthest))


def unseen_share(n: int) -> float:
    """Return the share of a population of which n independent draws may hold none, at .95."""
    return float(1 - ALPHA ** (1 / n))


def are_alike(values: Floats) -> bool:
    """Return whether nearly all values are one and the same."""
    rounded = np.round(values, 12)  # means of the same replies differ in their last bits
    return bool(np.unique(rounded, return_counts=True)[1].max() >= ALIKE * values.size)


def bounded_p(
    *groups: ArrayLike, bounds: tuple[float, float] | None, margin: float
) -> tuple[float, str]:
    """The p-value of clearing whatever rare values the scale allows, and what it is, in words.

    It does not rest on the spread seen, and is 1 where the scale has no ends.
    Of two groups, or of one difference per unit, whose scale is that of differences.
    """
    p = 1.0
    if bounds is not None:
        p = bounded_equivalence(*groups, bounds=bounds, margin=margin, seed=SEED)
    return p, (
        "the spread that was seen does not suffice: clearing must also hold for any rare "
        f"values the scale allows (p = {p:.4f}; Gaffke 2005, Learned-Miller & Thomas 2020)"
    )


def protected(
    tested: Tested, groups: Sequence[Floats], weights: Sequence[float], *, margin: float | None
) -> Tested:
    """Return what was cleared of a population only if skewness allows, with what it may hide.

    ``groups`` are the units' values, ``weights`` what each mean weighs in the contrast. Where one
    is skewed, a bootstrap-t must agree (Hall 1992); there, and where nearly all are alike, the
    spread does not tell how many units would do. No test sees units that none was sampled of:
    ``tolerance`` says how large a share of them that may be.
    """
    skewed = any(map(is_skewed, groups))
    if skewed or any(map(are_alike, groups)):
        tested = replace(tested, to_see=None)
    if margin is None or tested.p_clear is None or tested.p_clear > ALPHA:
        return tested
    if skewed:
        p = bootstrap_t_equivalence(groups, weights, margin=margin, seed=SEED)
        tested = replace(tested, p_clear=max(tested.p_clear, p)).noting(
            f"what skewed units clear must also hold by a bootstrap-t (p = {p:.4f}; Hall 1992)"
        )
    if (tested.p_clear or 1.0) > ALPHA:
        return tested
    farthest = max(
        float(np.abs(values - (values.mean() if len(groups) > 1 else 0.0)).max())
        for values in groups
    )
    of = "lay farther from their group's mean" if len(groups) > 1 else "differed by more"
    several = tested.unit_name.several
    words = (
        f"none of {tested.units} {several} {of} than {farthest:.3g}; up to "
        f"{100 * unseen_share(tested.fewest):.0f} % of such {several} could, by any amount, "
        "and so many units would not show it"
    )
    return replace(tested, tolerance=words)


def identical_interval(difference: float, pairs: int, width: float, level: float) -> Interval:
    """Bound at a level, of .95 or more, what identical replies or units hide.

    Only one end of it can fail, so that two one-sided tests at .05 are its interval at .95, not
    .90: see :func:`identical_pairs`.
    """
    alpha = min(1 - level, ALPHA)
    found = identical_pairs(difference, pairs=pairs, width=width, margin=None, alpha=alpha)
    return found.interval


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
    pairs = smaller_side([part[level] for level in levels], sizes, levels)
    width = grid.width * weights.reach
    found = identical_pairs(difference, pairs=pairs, width=width, margin=margin)
    permuted = contrast_permutation(
        np.concatenate([np.array(groups[level]) for level in levels]),
        [level for level in levels for _ in groups[level]],
        {level: part[level] for level in levels},
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
        at_level=partial(identical_interval, difference, pairs, width),
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
    found = identical_pairs(difference, pairs=n, width=width, margin=margin)
    flipped = sign_flip(np.full(n, difference), seed=SEED)
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
        at_level=partial(identical_interval, difference, n, width),
    )
