"""Permutation of labels: of units in groups or with profiles, and of items shown and selected.

Which relabellings are counted: see `_relabelling`. Where one p-value is all that is asked of drawn
ones, few are drawn first (`_drawn`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._relabelling import (
    MANY,
    TIE,
    Relabelling,
    centred_columns,
    cheaper,
    contrast_weights,
)
from .checks import (
    ROUNDING,
    Floats,
    alike,
    array_of,
    bad,
    checked,
    enough,
    matrix,
    not_negative,
    probability,
    sample,
    units,
)
from .resampling import UNCOUNTED
from .results import Permutation

MOST_COUNTED = 10**9  # sums of such counts are exact in floats
FIRST = 10  # one in so many of the relabellings is drawn first
FEWEST = 100  # are
PLAIN = 0.1  # p of these above which the others are not drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAgainstRest:
    """A group's mean less the mean of the other groups' means.

    `permutation` has its own two-sided p-value; `p_max_t` is the one adjusted over all groups.
    """

    difference: float
    permutation: Permutation
    p_max_t: float

    @property
    def p(self) -> float:
        """Its own two-sided p-value."""
        return self.permutation.p


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPermutation:
    """All groups at once (`omnibus`), and each of them against the rest."""

    omnibus: Permutation
    groups: Mapping[str, GroupAgainstRest]


def _judged(
    units: Relabelling, observed: Floats, null: Floats
) -> tuple[Permutation, Floats, Floats]:
    """Return the omnibus, in the first column, and of the others each p and max-T p."""
    least = observed - TIE
    single = np.array([units.share(null[:, i] >= least[i]) for i in range(observed.size)])
    largest = null[:, 1:].max(axis=1)
    joint = np.array([units.share(largest >= bound) for bound in least[1:]])
    return units.permutation(single[0]), single[1:], joint


def _drawn(units: Relabelling, test: Callable[[Relabelling], Permutation]) -> Permutation:
    """Return the p-value of `test` by all relabellings, or by the first where these say enough.

    Of those that are drawn a tenth, 100 at least, come first; where p is above 0.1 by these, it is
    theirs. That is valid: no test at a level up to 0.1 alarms more often for it.
    Source: after Besag & Clifford (1991).
    """
    first = max(units.resamples // FIRST, FEWEST)
    if not units.exact and first < units.resamples:
        few = copy(units)
        few.resamples = few.total = first
        if (found := test(few)).p > PLAIN:
            return found
    return test(units)


def _smaller_tail(drawn: Relabelling, observed: Floats, null: Floats) -> float:
    return min(drawn.share(null <= observed + TIE), drawn.share(null >= observed - TIE))


def _from_rest(means: Any) -> Any:
    """Return each group's mean (axis 1) less the mean of the other groups' means."""
    groups = means.shape[1]
    return (groups * means - means.sum(axis=1, keepdims=True)) / (groups - 1)


def _ratio(explained: Any, left: Any) -> Floats:
    """Return explained / (explained + left), 0 where both are.

    It stands in the place of |t|, with which it grows, and stays finite where a relabelling
    leaves no variance within groups.
    """
    whole = explained + left
    found: Floats = np.divide(explained, whole, out=np.zeros_like(whole), where=whole > 0)
    return found


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
    `labels` gives the group of each, two or more of two units. Null: labels are exchangeable over
    all units, or within each of `blocks`; a group at a time is thus tested against no group
    differing.

    The omnibus statistic is the between sum of squares, equivalent to the pooled F. Each group's
    is its difference studentised by every group's own variance (over all blocks), two-sided, so
    that without blocks its p-value also holds, for many units, where only the means are equal and
    not the variances; `p_max_t` is the single-step max-T adjusted one. Constant values give p = 1.
    Source: Fisher (1935); Janssen (1997); Chung & Romano (2013); Westfall & Young (1993); Phipson
    & Smyth (2010).
    """
    array = sample(values, "values")
    units = Relabelling(labels, blocks, n=array.size, resamples=resamples, seed=seed)
    centred, scale = centred_columns(array[:, None])
    others = len(units.names) - 1
    total = max(float((centred**2).sum()), 1 / array.size)

    def statistic(moments: Any) -> Floats:
        means, squares = moments[..., 0], moments[..., 1]
        # of each group's mean; what rounding leaves of no variance is none
        own = np.where(squares - means**2 > TIE, squares - means**2, 0.0) / (units.sizes - 1)
        variances = own + (own.sum(axis=1, keepdims=True) - own) / others**2
        omnibus = (means**2 * units.sizes).sum(axis=1) / total
        return np.column_stack([omnibus, _ratio(_from_rest(means) ** 2, variances)])

    observed, null = units.null_of_means(centred[:, 0], statistic, powers=2)
    omnibus, p, p_max_t = _judged(units, observed, null)
    found = _from_rest(units.means(centred[units.order, 0][None]))[0] * scale
    return GroupPermutation(
        omnibus=omnibus,
        groups=MappingProxyType(
            {
                str(name): GroupAgainstRest(
                    difference=float(found[g]),
                    permutation=units.permutation(p[g]),
                    p_max_t=probability(p_max_t[g]),
                )
                for g, name in enumerate(units.names)
            }
        ),
    )


@checked
def label_permutation(
    a: ArrayLike, b: ArrayLike, *, resamples: int = 100_000, seed: int
) -> Permutation:
    """Return the two-sided permutation p-value of mean(a) - mean(b), of at least 2 units each.

    Null: the labels of the n_a + n_b units are exchangeable. Two-sided: twice the smaller tail, of
    which ties, up to rounding, are a part. Where there are more relabellings than `resamples`, and
    20,000, they are drawn; a p-value above 0.1 rests on a tenth of these.
    Source: Fisher (1935); Besag & Clifford (1991), on stopping early; Edgington & Onghena (2007);
    Phipson & Smyth (2010).
    """
    first, second = units(a, "a"), units(b, "b")
    columns, _ = centred_columns(np.concatenate([first, second])[:, None])
    values, labels = columns[:, 0], ["a"] * first.size + ["b"] * second.size

    def test(drawn: Relabelling) -> Permutation:
        if drawn.exact:
            # The sum of the smaller group orders relabellings as the difference of means does.
            few = min((values[: first.size], values[first.size :]), key=len)
            places = [*combinations(range(values.size), few.size)]
            found = np.asarray(few.sum()), values[np.array(places)].sum(axis=1)
        else:
            found = drawn.null_of_means(values, lambda means: means[:, 0] - means[:, 1])
        return drawn.permutation(_smaller_tail(drawn, *found), sides=2)

    of_two = Relabelling(labels, None, n=values.size, resamples=resamples, seed=seed)
    return _drawn(of_two, test)


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
    units (two or more each), within `blocks` where given; other units take no part. A p-value
    above 0.1 rests on a tenth of the `resamples`, where these are drawn.
    Source: Fisher (1935); Besag & Clifford (1991), on stopping early; Edgington & Onghena (2007);
    Phipson & Smyth (2010).
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
        resamples=resamples,
        seed=seed,
    )
    of_names = np.array([float(weights[str(name)]) for name in units.names])
    of_names /= np.abs(of_names).sum()
    centred, _ = centred_columns(array[part][:, None])

    def test(drawn: Relabelling) -> Permutation:
        observed, null = drawn.null_of_means(centred[:, 0], lambda means: np.abs(means @ of_names))
        return drawn.permutation(drawn.share(null >= observed - TIE))

    return _drawn(units, test)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellInteraction:
    """A group's departure from the rest in one condition, beyond that over all of them."""

    estimate: float
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
    column; `labels` gives the group of each row, two or more of two rows. Each row's mean is
    removed. Estimand per group and condition: the group's mean of what is left less the equally
    weighted mean of the other groups' means, in the unit of the values. Null: labels are
    exchangeable over rows.

    The omnibus statistic is the interaction's sum of squares; each cell's is its estimate
    studentised by the condition's pooled within-group variance, two-sided, and `p_max_t` is
    adjusted over all groups and conditions (single-step max-T). Parallel rows give p = 1.
    Source: as `group_permutation`.
    """
    table = matrix(profiles, "profiles")
    n, k = table.shape
    enough(k, "conditions")
    units = Relabelling(labels, None, n=n, resamples=resamples, seed=seed)
    rows = table - table.mean(axis=1, keepdims=True)
    # what is left of parallel rows is rounding of their own magnitude
    rows[np.abs(rows) <= ROUNDING * np.abs(table).max(axis=1, keepdims=True)] = 0.0
    centred, scale = centred_columns(rows)
    groups, total = len(units.names), (centred**2).sum(axis=0)
    shares = 1 / units.sizes
    variances = (shares + (shares.sum() - shares) / (groups - 1) ** 2)[:, None]

    def statistic(order: Any) -> Floats:
        means = units.means(centred[order])
        between = (means**2 * units.sizes[:, None]).sum(axis=1)
        within = np.maximum(total - between, 0)[:, None]
        ratios = _ratio(_from_rest(means) ** 2 / variances, within)
        omnibus_of = between.sum(axis=1) / max(total.sum(), 1 / n)
        return np.column_stack([omnibus_of, ratios.reshape(len(means), -1)])

    observed, null = units.null(np.arange(n), statistic, width=k)
    omnibus, _, joint = _judged(units, observed, null)
    found = _from_rest(units.means(centred[units.order][None]))[0] * scale
    p_max_t = joint.reshape(groups, k)
    return ProfilePermutation(
        omnibus=omnibus,
        cells=MappingProxyType(
            {
                (str(name), j): CellInteraction(
                    estimate=float(found[g, j]), p_max_t=probability(p_max_t[g, j])
                )
                for g, name in enumerate(units.names)
                for j in range(k)
            }
        ),
    )


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


@checked
def label_shuffle_ratio(
    selected: ArrayLike,
    shown: ArrayLike,
    in_group: Sequence[bool],
    *,
    resamples: int = 10_000,
    seed: int,
) -> Permutation:
    """Return the permutation p-value of a log ratio of selection rates between kinds of items.

    Estimand: log of (selected / shown of the items in the group) / (the same of the others).
    `selected` and `shown` are counts per corpus item, of shape (n,), with selected <= shown;
    `in_group` says of each whether it has the feature, as two or more do and do not. Null: the
    feature's labels are exchangeable over items, each of which keeps both its counts. A sum that
    is 0 counts as 0.5, so that the ratio is finite. Two-sided: twice the smaller tail, because the
    ratio's distribution is skewed where few items have the feature. A p-value above 0.1 rests on a
    tenth of the `resamples`, where these are drawn.
    Source: Fisher (1935); Besag & Clifford (1991), on stopping early; Edgington & Onghena (2007);
    Phipson & Smyth (2010).
    """
    chosen = _counts(selected, "selected")
    exposed = _counts(shown, "shown")
    if chosen.size != exposed.size:
        raise bad("shown", f"{exposed.size} for {chosen.size} items")
    if (chosen > exposed).any():
        raise bad("selected", "an item is selected more often than shown")
    labels = ["in" if flag else "out" for flag in in_group]
    units = Relabelling(labels, None, n=chosen.size, resamples=resamples, seed=seed)
    counts = np.column_stack([chosen, exposed])
    totals = counts.sum(axis=0)
    first = int(units.sizes[0])
    sign = 1 if units.names[0] == "in" else -1

    def log_ratio(rows: Any) -> Floats:
        # which items get the first label: a relabelling moves items, so labels would not do
        moved = rows[:, :first]
        sums = [column[moved].sum(axis=1) for column in (chosen, exposed)]
        return log_ratio_of(np.column_stack(sums))

    def log_ratio_of(of_first: Floats) -> Floats:
        logs = [np.log(np.maximum(part, UNCOUNTED)) for part in (of_first, totals - of_first)]
        rates = [part[:, 0] - part[:, 1] for part in logs]
        return sign * np.asarray(rates[0] - rates[1])

    kinds, of_kind = np.unique(counts, axis=0, return_counts=True)
    # Commonest first: of the few that are left at the end, draws are soon made.
    order = np.argsort(-of_kind, kind="stable")
    kinds, of_kind = kinds[order], of_kind[order]
    few = cheaper(labels=len(units.names), distinct=len(kinds), units=chosen.size)

    def test(drawn: Relabelling) -> Permutation:
        if drawn.exact or chosen.size < MANY or not few:
            observed, null = drawn.null(np.arange(chosen.size), log_ratio)
        else:
            # Items with the same two counts are one kind. How many of each kind get the first
            # label is multivariate hypergeometric; their sums are distributed as if every item
            # were moved.
            rng = np.random.default_rng(np.random.SeedSequence(drawn.seed, spawn_key=(1,)))
            observed = log_ratio_of(counts[drawn.order[:first]].sum(axis=0)[None])[0]
            dealt = rng.multivariate_hypergeometric(of_kind, first, drawn.total)
            null = log_ratio_of(dealt @ kinds)
        return drawn.permutation(_smaller_tail(drawn, observed, null), sides=2)

    return _drawn(units, test)


def _counts(values: ArrayLike, argument: str) -> Floats:
    found = sample(values, argument)
    if found.size and (found.min() < 0 or (found != np.floor(found)).any()):
        raise bad(argument, "a count is a whole number from 0 up")
    if found.size and found.max() > MOST_COUNTED:
        raise bad(argument, f"a count is over {MOST_COUNTED}")
    return found
