"""Permutation of unit labels: groups, each of them against the rest, and contrasts.

Which relabellings are counted, and what all these tests raise: see `_relabelling`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ._relabelling import SMALLEST_GROUP, TIE, Relabelling, centred_columns, contrast_weights
from .checks import alike, checked, probability, sample
from .results import Permutation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAgainstRest:
    """A group's mean less the mean of the other groups' means.

    `p` is its own two-sided p-value and `p_max_t` the one adjusted over all groups.
    """

    difference: float
    p: float
    p_max_t: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPermutation:
    """All groups at once (`omnibus`), and each of them against the rest."""

    omnibus: Permutation
    groups: Mapping[str, GroupAgainstRest]


def each_against_rest(
    values: Floats, units: Relabelling
) -> tuple[Permutation, Floats, Floats, Floats]:
    """Return the omnibus, and per group and column the estimate, p and max-T p.

    `values` is n × k. In place of |t| stands t² / (t² + df), which grows with it and stays finite
    where a relabelling leaves no variance within groups.
    """
    values, scale = centred_columns(values)
    n, k = values.shape
    groups = len(units.names)
    shares = 1 / units.sizes
    variances = shares + (shares.sum() - shares) / (groups - 1) ** 2
    total = (values**2).sum(axis=0)

    def estimates(means: Any) -> Any:
        return (groups * means - means.sum(axis=1, keepdims=True)) / (groups - 1)

    def statistic(means: Any) -> Floats:
        contrasts = estimates(means)
        between = (means**2 * units.sizes[:, None]).sum(axis=1)
        explained = contrasts**2 / variances[:, None]
        whole = explained + np.maximum(total - between, 0)[:, None]
        ratios = np.divide(explained, whole, out=np.zeros_like(whole), where=whole > 0)
        omnibus = between.sum(axis=1) / max(total.sum(), 1 / n)
        return np.column_stack([omnibus, ratios.reshape(len(means), -1)])

    if k == 1:
        observed, null = units.null_of_means(
            values[:, 0], lambda means: statistic(means[:, :, None])
        )
    else:
        observed, null = units.null(
            np.arange(n), lambda rows: statistic(units.means(values[rows])), width=k
        )
    least = observed - TIE
    single = np.array([units.share(null[:, i] >= least[i]) for i in range(observed.size)])
    largest = null[:, 1:].max(axis=1)
    joint = np.array([units.share(largest >= bound) for bound in least[1:]])
    found = estimates(units.means(values[units.order][None]))
    return (
        units.permutation(single[0]),
        found[0] * scale,
        single[1:].reshape(groups, k),
        joint.reshape(groups, k),
    )


@checked
def group_permutation(
    values: ArrayLike,
    labels: Sequence[str],
    *,
    blocks: Sequence[Hashable] | None = None,
    resamples: int = 10_000,
    seed: int,
) -> GroupPermutation:
    """Test by permutation whether groups differ, and which of them differs from the rest.

    Estimand per group: its mean less the equally weighted mean of the other groups' means, in the
    unit of the values. `values` has shape (n,), one number per independent unit (a name's mean),
    `labels` gives the group of each. Null: labels are exchangeable over all units, or within each
    of `blocks`; a group at a time is thus tested against no group differing.

    The omnibus statistic is the between sum of squares, equivalent to the pooled F. Each group's
    is its difference studentised by the pooled within-group variance (over all blocks), two-sided;
    `p_max_t` is the single-step max-T adjusted one. Constant values give p = 1.

    Raises `TooFewUnits` below two groups or two units in a group, and `BadStatisticInput` as the
    module says. Source: Fisher (1935); Westfall & Young (1993); Phipson & Smyth (2010).
    """
    array = sample(values, "values")
    units = Relabelling(
        labels, blocks, n=array.size, fewest=SMALLEST_GROUP, resamples=resamples, seed=seed
    )
    omnibus, found, p, p_max_t = each_against_rest(array[:, None], units)
    return GroupPermutation(
        omnibus=omnibus,
        groups=MappingProxyType(
            {
                str(name): GroupAgainstRest(
                    difference=float(found[g, 0]),
                    p=probability(p[g, 0]),
                    p_max_t=probability(p_max_t[g, 0]),
                )
                for g, name in enumerate(units.names)
            }
        ),
    )


@checked
def contrast_permutation(
    values: ArrayLike,
    labels: Sequence[str],
    weights: Mapping[str, float],
    *,
    blocks: Sequence[Hashable] | None = None,
    resamples: int = 10_000,
    seed: int,
) -> Permutation:
    """Return the two-sided permutation p-value of a contrast of group means.

    Estimand: the sum over labels l of weights[l] × mean(values of l), in the unit of the values;
    the weights sum to 0. `values` has shape (n,), one number per independent unit, `labels` the
    group of each. Null: the labels that have a weight other than 0 are exchangeable over their
    units, within `blocks` where given; other units take no part. Two-sided in the absolute value.

    Raises `TooFewUnits` below two units in a group that takes part, `BadStatisticInput` for
    weights that do not sum to 0 or name no unit's label, and as the module says.
    Source: Fisher (1935); Edgington & Onghena (2007); Phipson & Smyth (2010).
    """
    array = sample(values, "values")
    for argument, given in (("labels", labels), ("blocks", blocks)):
        if given is not None:
            alike(given, argument, n=array.size)
    contrast_weights(weights, tuple(dict.fromkeys(labels)))
    part = [i for i, label in enumerate(labels) if weights.get(label, 0.0) != 0]
    units = Relabelling(
        [labels[i] for i in part],
        None if blocks is None else [blocks[i] for i in part],
        n=len(part),
        fewest=SMALLEST_GROUP,
        resamples=resamples,
        seed=seed,
    )
    of_names = np.array([float(weights[str(name)]) for name in units.names])
    of_names /= np.abs(of_names).sum()
    centred, _ = centred_columns(array[part][:, None])
    observed, null = units.null_of_means(centred[:, 0], lambda means: np.abs(means @ of_names))
    return units.permutation(units.share(null >= observed - TIE))
