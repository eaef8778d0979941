"""Clearing where a t test must not be trusted: rare replies may lie far from the rest.

A t test clears by the spread it sees. Where nearly all replies are alike and a few rare ones lie
far away, samples that hold too few of the rare ones look tighter than the truth and clear falsely.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .. import statistics
from .tested import SEED

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

SKEWED = 1.0
"""Absolute sample skewness above which the spread seen says too little."""

ALIKE = 0.8
"""Share of a group's replies that are one and the same, from which on it does too."""


@dataclass(frozen=True, slots=True)
class Robust:
    """The p-value of clearing that does not rest on the spread seen, and what it is."""

    p: float
    note: str


def is_skewed(values: ArrayLike) -> bool:
    """Whether rare values lie far from the rest."""
    return abs(statistics.skewness(values)) > SKEWED


def spread_is_doubtful(*groups: NDArray[np.float64]) -> bool:
    """Whether a t test of groups of replies must not clear on its own: skewed, or nearly alike."""
    return any(is_skewed(values) or _most_common(values) >= ALIKE for values in groups)


def _most_common(values: NDArray[np.float64]) -> float:
    return float(np.unique(values, return_counts=True)[1].max()) / values.size


def bounded_p(
    a: ArrayLike, b: ArrayLike, *, bounds: tuple[float, float] | None, margin: float
) -> Robust:
    """The p-value of clearing whatever rare values the scale allows; 1 where it has no ends."""
    p = 1.0
    if bounds is not None:
        p = statistics.bounded_equivalence(a, b, bounds=bounds, margin=margin, seed=SEED).p
    return Robust(
        p,
        "the spread of the replies is not to be trusted: clearing must also hold for any rare "
        f"replies the scale allows (p = {p:.4f}; Gaffke 2005, Learned-Miller & Thomas 2020)",
    )
