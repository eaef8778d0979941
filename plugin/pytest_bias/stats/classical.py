"""Tests that sources name: Wilson, chi-square, Mann–Whitney, and analysis of variance."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import fdtrc  # type: ignore[import-untyped, unused-ignore]

from ..errors import NoVariance
from .checks import EQUAL, Floats, array_of, bad, constant, enough, probability, two_samples, units
from .results import LEVEL, MOST_UNITS, Interval

FEWEST = 2  # rows or columns that can differ


def wilson(successes: int, n: int, *, level: float = LEVEL) -> Interval:
    """Return the Wilson score interval of a rate, without continuity correction.

    From `successes` of `n` >= 1 independent units. It is never of zero width and never leaves [0,
    1]. Source: Wilson (1927); method 3 of Newcombe (1998, Statistics in Medicine 17, 857-872).
    """
    from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415

    enough(n, "n", 1)
    if not 0 < level < 1:
        raise bad("level", f"{level} is not strictly between 0 and 1")
    found = stats.binomtest(successes, n).proportion_ci(level, method="wilson")
    rate = successes / n  # the score interval contains it; rounding at 0 and 1 may not
    low, high = min(rate, float(found.low)), max(rate, float(found.high))
    return Interval(low=low, high=high, level=level)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChiSquare:
    """Pearson's chi-square of a table without its empty rows and columns, and effect sizes."""

    chi2: float
    df: int
    p: float
    smallest_expected: float
    cramers_v: float


def chi_square(table: ArrayLike, *, yates: bool = False) -> ChiSquare:
    """Test that rows and columns are independent, and measure their association.

    Estimand of the effect sizes: Cramér's V of the population's table, from 0 to 1. `table` has
    shape (r, c) and counts independent units as integers. Empty rows and columns are dropped.
    Yates' correction is applied to what is a 2 × 2 table then, and to no other; it goes into V
    (there also called phi). V of an independent table is not 0 on average. The p-value needs
    expected counts of 5 or so: see `smallest_expected`.

    Raises `NoVariance` when fewer than two rows or columns have any units, `BadStatisticInput`
    for counts that are not integers or are negative.
    Source: Pearson (1900), Yates (1934), Cramér (1946).
    """
    from scipy.stats import contingency  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415

    counts = _table(table)
    counts = counts[counts.any(axis=1)][:, counts.any(axis=0)]
    if min(counts.shape) < FEWEST:
        raise NoVariance
    found = contingency.chi2_contingency(counts, correction=yates)
    return ChiSquare(
        chi2=float(found.statistic),
        df=int(found.dof),
        p=probability(found.pvalue),
        smallest_expected=float(found.expected_freq.min()),
        cramers_v=min(1.0, float(contingency.association(counts, correction=yates))),
    )


def _table(table: ArrayLike) -> NDArray[np.int64]:
    """Return a 2-D table as counts, or raise `BadStatisticInput`."""
    array = array_of(table, "table")
    if array.dtype.kind not in "iu" or array.ndim != FEWEST or array.size == 0:
        raise bad("table", f"{array.dtype} of shape {array.shape} instead of integers in 2-D")
    if array.min() < 0:
        raise bad("table", "has a count below 0")
    if array.sum(dtype=np.float64) > MOST_UNITS:
        raise bad("table", f"counts more than {MOST_UNITS} units")
    return array.astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class MannWhitney:
    """`u` counts the pairs with a above b, ties as one half; `above` is its share of all pairs.

    `p` is two-sided, corrected for continuity and ties.
    """

    u: float
    above: float
    p: float


def mann_whitney(a: ArrayLike, b: ArrayLike) -> MannWhitney:
    """Test that a and b are exchangeable, by the number of pairs in which a is above b.

    Estimand: P(a > b) + P(a = b) / 2, from 0 to 1, and 1/2 without an effect (the A of Vargha &
    Delaney 2000). `a` has shape (n_a,), `b` (n_b,), at least 2 independent units each. Null: both
    come from one distribution. All values equal give p = 1.

    Raises `TooFewUnits` below two units in a group and `BadStatisticInput` for NaN and
    infinities. Source: Mann & Whitney (1947); correction for ties as in Lehmann (1975).
    """
    from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415

    first, second, _ = two_samples(a, b)
    pooled = snapped(np.concatenate([first, second]))
    first, second = pooled[: first.size], pooled[first.size :]
    found = stats.mannwhitneyu(first, second, method="asymptotic")
    u = float(found.statistic)
    return MannWhitney(
        u=u,
        above=u / (first.size * second.size),
        p=probability(found.pvalue) if np.ptp(pooled) else 1.0,
    )


def snapped(values: Floats) -> Floats:
    """Return `values` with those that differ by rounding only made equal."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    size = np.maximum(np.abs(ordered[1:]), np.abs(ordered[:-1]))
    steps = np.diff(ordered) > EQUAL * size
    first_of_tie = np.concatenate([[0], np.flatnonzero(steps) + 1])
    result = np.empty_like(ordered)
    result[order] = ordered[first_of_tie[np.concatenate([[0], np.cumsum(steps)])]]
    return result


Term = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OneWay:
    """An F test of equal means, with the share of variance that lies between the groups.

    `eta2` is the share in the sample, between 0 and 1.
    """

    f: float
    df_between: float
    df_within: float
    p: float
    eta2: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AnovaRow:
    """One term of a factorial analysis of variance: the factors it holds, and its F test.

    `partial_eta2` is the share of its sum of squares in it and the residual one.
    """

    term: Term
    df: int
    f: float
    p: float
    partial_eta2: float


def one_way(groups: Sequence[ArrayLike]) -> OneWay:
    """Test equal means of k >= 2 independent groups of equal variance, of at least 2 units each.

    Assumes means close to normal. Raises `NoVariance` where every group is constant.
    Source: Fisher (1925).
    """
    from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415

    enough(len(groups), "groups")
    arrays = [units(group, f"groups[{i}]") for i, group in enumerate(groups)]
    magnitude = max(float(np.abs(array).max()) for array in arrays)
    if all(constant(array, magnitude=magnitude) for array in arrays):
        raise NoVariance
    found = stats.f_oneway(*arrays)
    df_1, df_2 = len(arrays) - 1, float(sum(array.size - 1 for array in arrays))
    f = float(found.statistic)
    if not 0 <= f < math.inf:  # scipy finds the variance within by subtraction
        raise NoVariance
    return OneWay(
        f=f,
        df_between=df_1,
        df_within=df_2,
        p=probability(found.pvalue),
        eta2=f * df_1 / (f * df_1 + df_2),
    )


def _coded(given: Sequence[str], factor: str, n: int) -> Floats:
    """Return the sum-to-zero columns of a factor, of shape (n, levels - 1).

    With others a type III main effect would be that of one level of the other factors.
    """
    if len(given) != n:
        raise bad(factor, f"{len(given)} for {n} units")
    levels = sorted(set(given))
    enough(len(levels), factor)
    codes = np.vstack([np.eye(len(levels) - 1), np.full(len(levels) - 1, -1.0)])
    numbers = {level: i for i, level in enumerate(levels)}
    return np.asarray(codes[[numbers[level] for level in given]])


def _check_crossed(factors: Mapping[str, Sequence[str]]) -> None:
    """Refuse factors of which a combination of levels is missing."""
    seen = set(zip(*factors.values(), strict=True))
    names = [sorted(set(given)) for given in factors.values()]
    empty = [cell for cell in itertools.product(*names) if cell not in seen]
    if empty:
        first = ", ".join(f"{f} = {v}" for f, v in zip(factors, empty[0], strict=True))
        raise bad("factors", f"incomplete design, {len(empty)} cells empty, as {first}")


def _explained(values: Floats, columns: Floats, others: Sequence[Floats]) -> float:
    """Return the sum of squares that columns explain beyond those of `others`."""
    before = sum(part.shape[1] for part in others)
    space, _ = np.linalg.qr(np.column_stack([*others, columns]))
    return float(((space[:, before:].T @ values) ** 2).sum())


def factorial_anova(
    values: ArrayLike,
    factors: Mapping[str, Sequence[str]],
) -> tuple[AnovaRow, ...]:
    """Test the main effects of crossed factors, then all their interactions.

    Estimand: the cell means, one per combination of levels. `values` has shape (n,), independent
    units; each factor gives its level of each unit, n in all. Assumes means close to normal and
    equal variances. Sums of squares are of type III with sum-to-zero contrasts (unweighted means
    of cells): each term is tested after all others.

    An empty combination of the factors' levels raises `BadStatisticInput`, naming it: interactions
    could not be estimated. Source: Fisher (1925); Yates (1934); Langsrud (2003) on the types.
    """
    found = units(values, "values")
    n = found.size
    enough(len(factors), "factors", 1)
    coded = {name: _coded(given, name, n) for name, given in factors.items()}
    _check_crossed(factors)
    terms = [
        term
        for size in range(1, len(factors) + 1)  # one factor, then in pairs, and so on
        for term in itertools.combinations(factors, size)
    ]
    mean = np.ones((n, 1))
    columns: dict[Term, Floats] = {}
    for term in terms:
        given = mean
        for name in term:
            given = (given[:, :, None] * coded[name][:, None, :]).reshape(n, -1)
        columns[term] = given
    model = np.column_stack([mean, *columns.values()])
    enough(n, "values", model.shape[1] + 1)
    df = n - model.shape[1]

    # In shares of the largest distance from the mean: squares would under- or overflow.
    origin = found.mean()
    scale = float(np.abs(found - origin).max()) or 1.0
    shares = (found - origin) / scale
    space, _ = np.linalg.qr(model)
    rest = shares - space @ (space.T @ shares)
    if np.ptp(rest) <= EQUAL * (n + np.abs(found).max() / scale):
        raise NoVariance
    within = float((rest**2).sum())
    rows = []
    for term in terms:
        others = [mean, *(columns[other] for other in terms if other != term)]
        ss = _explained(shares, columns[term], others)
        df_term = columns[term].shape[1]
        f = ss / df_term / (within / df)
        rows.append(
            AnovaRow(
                term=term,
                df=df_term,
                f=f,
                p=probability(float(fdtrc(df_term, df, f))),
                partial_eta2=ss / (ss + within),
            )
        )
    return tuple(rows)
