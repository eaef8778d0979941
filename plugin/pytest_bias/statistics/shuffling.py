"""Permutation of a feature's labels over items that are shown and selected.

Which relabellings are counted, and what the test raises: see `_relabelling`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._counting import cheaper
from ._relabelling import MANY, SMALLEST_GROUP, TIE, Relabelling
from .checks import bad, checked, sample
from .results import Permutation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

MOST_COUNTED = 10**9  # sums of such counts are exact in floats
UNCOUNTED = 0.5  # what a sum of no counts counts as in a log ratio


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
    `in_group` says of each whether it has the feature. Null: the feature's labels are
    exchangeable over items, each of which keeps both its counts. A sum that is 0, selected or
    shown, counts as 0.5, so that the ratio is finite. Two-sided: twice the smaller tail, because
    the ratio's distribution is skewed where few items have the feature.

    Raises `TooFewUnits` where no item, or fewer than two, are in or out of the group;
    `BadStatisticInput` for counts that are negative, not whole, or selected above shown, and as
    the module says. Source: Fisher (1935); Edgington & Onghena (2007); Phipson & Smyth (2010).
    """
    chosen = _counts(selected, "selected")
    exposed = _counts(shown, "shown")
    if chosen.size != exposed.size:
        raise bad("shown", f"{exposed.size} for {chosen.size} items")
    if (chosen > exposed).any():
        raise bad("selected", "an item is selected more often than shown")
    labels = ["in" if flag else "out" for flag in in_group]
    units = Relabelling(
        labels, None, n=chosen.size, fewest=SMALLEST_GROUP, resamples=resamples, seed=seed
    )
    counts = np.column_stack([chosen, exposed])
    totals = counts.sum(axis=0)
    first = int(units.sizes[0])
    sign = 1 if units.names[0] == "in" else -1

    def log_ratio(rows: Any) -> Floats:
        # which items get the first label: a relabelling moves items, so labels would not do
        return log_ratio_of(counts[rows[:, :first]].sum(axis=1))

    def log_ratio_of(of_first: Floats) -> Floats:
        logs = [np.log(np.maximum(part, UNCOUNTED)) for part in (of_first, totals - of_first)]
        rates = [part[:, 0] - part[:, 1] for part in logs]
        return sign * np.asarray(rates[0] - rates[1])

    kinds, of_kind = np.unique(counts, axis=0, return_counts=True)
    few = cheaper(labels=len(units.names), distinct=len(kinds), units=chosen.size)
    if units.exact or chosen.size < MANY or not few:
        observed, null = units.null(np.arange(chosen.size), log_ratio)
    else:
        # Items with the same two counts are one kind. How many of each kind get the first label
        # is multivariate hypergeometric; their sums are distributed as if every item were moved.
        rng = np.random.default_rng(np.random.SeedSequence(units.seed, spawn_key=(1,)))
        dealt = rng.multivariate_hypergeometric(of_kind, first, size=units.total)
        observed = log_ratio_of(counts[units.order[:first]].sum(axis=0)[None])[0]
        null = log_ratio_of(dealt @ kinds)
    tails = (units.share(null <= observed + TIE), units.share(null >= observed - TIE))
    return units.permutation(min(tails), sides=2)


def _counts(values: ArrayLike, argument: str) -> Floats:
    found = sample(values, argument)
    if found.size and (found.min() < 0 or (found != np.floor(found)).any()):
        raise bad(argument, "a count is a whole number from 0 up")
    if found.size and found.max() > MOST_COUNTED:
        raise bad(argument, f"a count is over {MOST_COUNTED}")
    return found
