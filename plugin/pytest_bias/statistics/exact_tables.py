"""Exact tests of contingency tables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import scipy  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.errors import BadStatisticInput
from pytest_bias.estimates import Permutation

from ._arrays import count, probability
from ._freeman_halton import enumerated_p, sampled_p
from .proportions import MOST_EXACT_UNITS
from .resampling import FEWEST_ITERATIONS
from .tables import FOURFOLD, checked_table, without_empty

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

MOST_TABLE_UNITS = 10**6  # logarithms of larger factorials no longer tell ties from neighbours


@dataclass(frozen=True, slots=True, kw_only=True)
class Fisher:
    """Fisher's exact test; the sample `odds_ratio` is None where its denominator is 0."""

    p: float
    odds_ratio: float | None
    alternative: Literal["two-sided", "greater", "less"]


def fisher_exact(
    table: ArrayLike, *, alternative: Literal["two-sided", "greater", "less"] = "two-sided"
) -> Fisher:
    """Test that rows and columns of a 2 × 2 table are independent, given its margins.

    `table` counts independent units. "greater" is an odds ratio above 1. Two-sided: all tables at
    most as likely as this one. With an empty row or column there is one table only, and p = 1.

    Raises `BadStatisticInput` for another shape, counts that are not integers or are negative,
    more than 10^9 units and an unknown alternative. Source: Fisher (1935).
    """
    function = "fisher_exact"
    array = checked_table(table, function=function, shape=FOURFOLD)
    if array.sum() > MOST_EXACT_UNITS:
        raise BadStatisticInput(
            function=function, argument="table", problem=f"more than {MOST_EXACT_UNITS} units"
        )
    if alternative not in {"two-sided", "greater", "less"}:
        raise BadStatisticInput(
            function=function, argument="alternative", problem=f"{alternative!r} is unknown"
        )
    (a, b), (c, d) = array.tolist()
    return Fisher(
        p=probability(float(scipy.stats.fisher_exact(array, alternative=alternative).pvalue)),
        odds_ratio=a * d / (b * c) if b * c else None,
        alternative=alternative,
    )


def fisher_freeman_halton(table: ArrayLike, *, resamples: int = 100_000, seed: int) -> Permutation:
    """Test that rows and columns of an r × c table are independent, given its margins.

    `table` counts independent units; empty rows and columns change nothing. The p-value is the
    probability of all tables at most as likely as this one. Exact where the tables can be
    enumerated; else `resamples` random tables are drawn from a generator seeded with `seed`, the
    observed one is counted among them, and `error` is the Monte Carlo standard error of p. Seconds
    for some hundred cells.

    Raises `NoVariance` when fewer than two rows or columns have any units, `BadStatisticInput`
    for counts that are not integers or are negative, fewer than 100 resamples and more than 10^6
    units. Source: Freeman & Halton (1951); Phipson & Smyth (2010) for the drawn tables.
    """
    function = "fisher_freeman_halton"
    kept = without_empty(checked_table(table, function=function), function=function)
    seed = count(seed, function=function, argument="seed")
    resamples = count(resamples, function=function, argument="resamples")
    if resamples < FEWEST_ITERATIONS:
        raise BadStatisticInput(
            function=function, argument="resamples", problem=f"must be {FEWEST_ITERATIONS} or more"
        )
    if kept.sum() > MOST_TABLE_UNITS:
        raise BadStatisticInput(
            function=function, argument="table", problem=f"more than {MOST_TABLE_UNITS} units"
        )
    exact = enumerated_p(kept)
    p = exact
    if p is None:
        p = sampled_p(kept, resamples=resamples, rng=np.random.default_rng(seed))
    return Permutation(
        p=probability(p),
        exact=exact is not None,
        resamples=resamples,
        seed=seed,
        error=0.0 if exact is not None else math.sqrt(p * (1 - p) / resamples),
    )
