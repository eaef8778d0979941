"""Permutation of labels behind sums of absolute gaps, such as a total bias.

Which relabellings are counted, and what the test raises: see `_relabelling`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ._relabelling import TIE, Relabelling, centred_columns, contrast_weights
from .checks import array_of, bad, checked, matrix, not_negative, sample
from .results import Permutation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True)
class GapPermutation:
    """A sum of absolute gaps beside what it comes to where labels mean nothing.

    `null_mean` and `null_q95` are the mean and the 95 % quantile of the total over relabellings.
    """

    total: float
    null_mean: float
    null_q95: float
    permutation: Permutation


@checked
def gap_permutation(
    values: ArrayLike,
    labels: Sequence[str],
    gaps: Sequence[tuple[Mapping[str, float], float]],
    *,
    blocks: Sequence[Hashable] | None = None,
    resamples: int = 10_000,
    seed: int,
) -> GapPermutation:
    """Return a sum of absolute gaps between groups with its permutation p-value.

    Estimand: the sum over `gaps` of multiplier × |sum over labels l of weights[l] × mean(values of
    l)|, such as a total bias; each gap's weights sum to 0 and its multiplier is at least 0. It
    is above 0 whatever the labels mean; `null_mean` says by how much. `values` has shape (n,)
    with a label each and `blocks` where given, or shape (blocks, m), one row per block, with m
    labels that hold for every row. Null: labels are exchangeable, within blocks where there are
    any. The p-value is one-sided: the share of relabellings with at least as large a total.

    Raises `TooFewUnits` below two labels, and `BadStatisticInput` for no gap, weights as in
    `contrast_permutation`, blocks given beside rows, and as the module says.
    Source: Fisher (1935); Phipson & Smyth (2010).
    """
    array = array_of(values, "values")
    if array.ndim == 1:
        array = sample(array, "values")
    else:
        table = matrix(array, "values")
        if blocks is not None:
            raise bad("blocks", "the rows of the values are the blocks")
        rows, m = table.shape
        if len(labels) != m:
            raise bad("labels", f"{len(labels)} for {m} columns")
        array, labels = table.ravel(), list(labels) * rows
        blocks = np.repeat(np.arange(rows), m).tolist()
    units = Relabelling(labels, blocks, n=array.size, fewest=1, resamples=resamples, seed=seed)
    if not gaps:
        raise bad("gaps", "none given")
    contrasts = np.array([contrast_weights(w, units.names) for w, _ in gaps]).T
    times = np.array([not_negative(times, "gaps") for _, times in gaps])
    centred, scale = centred_columns(array[:, None])
    observed, null = units.null_of_means(
        centred[:, 0], lambda means: np.abs(means @ contrasts) @ times
    )
    largest = max(float(np.abs(contrasts).sum(axis=0) @ times), 1e-300)
    return GapPermutation(
        total=float(observed) * scale,
        null_mean=float(null.mean()) * scale,
        null_q95=float(np.quantile(null, 0.95)) * scale,
        permutation=units.permutation(units.share(null >= observed - TIE * largest)),
    )
