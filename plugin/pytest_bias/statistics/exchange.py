"""Growth of a size without a sign, by exchanging two models' values within units.

The size is of the means of groups: their standard deviation, or a sum of absolute gaps. It has no
sign and no t statistic, but where two models do the same on units like these, it does not matter
which of them gave which values of a unit.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .checks import ROUNDING, alike, bad, checked, count, draws, probability, sample
from .resampling import CHUNK
from .results import Permutation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Size = Callable[[NDArray[np.float64]], NDArray[np.float64]]

FEWEST_GROUPS = 2


def spread_of_means(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """The standard deviation (ddof = 1) of each row of group means."""
    return np.asarray(means.std(axis=-1, ddof=1), dtype=np.float64)


def sum_of_gaps(weights: ArrayLike) -> Size:
    """Σ over gaps of |Σ over groups of weight × mean|, of each row of group means.

    `weights` has shape (groups, gaps).
    """
    matrix = np.asarray(weights, dtype=np.float64)

    def size(means: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.abs(means @ matrix).sum(axis=-1), dtype=np.float64)

    return size


@checked
def exchange_size(
    candidate: ArrayLike,
    baseline: ArrayLike,
    *,
    groups: Sequence[int],
    units: Sequence[Hashable],
    size: Size,
    resamples: int = 10_000,
    seed: int,
) -> Permutation:
    """Test one-sided whether a size of group means is larger for the candidate.

    Null: within each unit the two models' values are exchangeable, all groups of a unit together.
    `candidate` and `baseline` have shape (n,); place i holds either model's value of the same unit
    in the same group, `groups` its group from 0 (two or more, each with a value) and `units` the
    unit. Statistic: size(candidate) - size(baseline). The p-value is the share of `resamples`
    random exchanges with at least as large a one (up to rounding), that observed among them: it is
    valid and never 0. A small one shows that the candidate's size is larger; a large one shows
    nothing, least of all that it is not.

    Raises `BadStatisticInput` for arrays of different lengths or not of numbers, fewer than two
    groups, a group without a value, fewer than 100 resamples and a negative seed.
    Source: Fisher (1935); Phipson & Smyth (2010) for random exchanges.
    """
    ours = sample(candidate, "candidate")
    theirs = sample(baseline, "baseline")
    for argument, found in (("baseline", theirs), ("groups", groups), ("units", units)):
        alike(found, argument, n=ours.size, of="values")
    resamples = draws(resamples)
    of = np.asarray(groups, dtype=np.intp)
    sizes = np.bincount(of)
    if sizes.size < FEWEST_GROUPS or not sizes.all():
        raise bad("groups", "fewer than two, or one without a value")
    first, second = (np.bincount(of, weights=each) / sizes for each in (ours, theirs))
    places = {unit: place for place, unit in enumerate(dict.fromkeys(units))}
    rows_of = np.array([places[unit] for unit in units], dtype=np.intp)
    # what exchanging a unit takes from the candidate's means, and adds to the baseline's
    moved = np.zeros((len(places), sizes.size))
    np.add.at(moved, (rows_of, of), (ours - theirs) / sizes[of])
    scale = float(max(np.abs(ours).max(), np.abs(theirs).max()))
    observed = float(size(first) - size(second)) - ROUNDING * scale * sizes.size
    rng = np.random.default_rng(count(seed, "seed"))
    rows = max(1, CHUNK // len(places))
    extreme = 0
    for start in range(0, resamples, rows):
        shape = (min(rows, resamples - start), len(places))
        exchanged = rng.integers(0, 2, size=shape, dtype=np.int8).astype(np.float64) @ moved
        extreme += int((size(first - exchanged) - size(second + exchanged) >= observed).sum())
    p = (extreme + 1) / (resamples + 1)
    return Permutation(
        p=probability(p),
        exact=False,
        resamples=resamples,
        seed=seed,
        error=float(np.sqrt(p * (1 - p) / resamples)),
    )
