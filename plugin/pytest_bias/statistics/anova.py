"""Analysis of variance: one-way, Welch's, and factorial with every interaction."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from ..errors import NoVariance, TooFewUnits
from .checks import Floats, alike, bad, checked, constant, probability, units

FEWEST_LEVELS = 2
TYPES = (1, 2, 3)
MOST_SHOWN = 3  # empty cells named in an error


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

    `partial_eta2` is the term's sum of squares as a share of it and the residual one.
    """

    term: tuple[str, ...]
    df: int
    f: float
    p: float
    partial_eta2: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AnovaTable:
    """The terms in order: main effects, then interactions."""

    rows: tuple[AnovaRow, ...]

    @checked
    def row(self, *factors: str) -> AnovaRow:
        """Return the row of these factors, in whatever order they are named."""
        for row in self.rows:
            if sorted(row.term) == sorted(factors):
                return row
        raise bad("factors", f"no term {factors}")


def f_p(f: float, df_1: float, df_2: float) -> float:
    """Return the p-value of an F statistic, floored."""
    return probability(float(special.fdtrc(df_1, df_2, max(f, 0.0))))


@checked
def one_way(groups: Sequence[ArrayLike]) -> OneWay:
    """Test equal means of k >= 2 independent groups of equal variance, of at least 2 units each.

    Assumes means close to normal. The sums of squares are taken here: scipy's `f_oneway` finds the
    variance within by subtraction: at 1e6 SDs between groups its F has four digits, at 1e8 it is
    below 0. Source: Fisher (1925).
    """
    if len(groups) < FEWEST_LEVELS:
        raise TooFewUnits(group="groups", found=len(groups), needed=FEWEST_LEVELS)
    arrays = [units(group, f"groups[{i}]") for i, group in enumerate(groups)]
    magnitude = max(float(np.abs(array).max()) for array in arrays)
    if all(constant(array, magnitude=magnitude) for array in arrays):
        raise NoVariance
    # In shares of the largest distance from the first value: squares would under- or overflow.
    origin = arrays[0][0]
    scale = max(float(np.abs(array - origin).max()) for array in arrays)
    shares = [(array - origin) / scale for array in arrays]
    grand = np.concatenate(shares).mean()
    between = sum(array.size * float(array.mean() - grand) ** 2 for array in shares)
    within = sum(array.size * float(array.var()) for array in shares)
    df_1, df_2 = len(shares) - 1, float(sum(array.size - 1 for array in shares))
    f = between / df_1 / (within / df_2)
    return OneWay(
        f=f,
        df_between=df_1,
        df_within=df_2,
        p=f_p(f, df_1, df_2),
        eta2=between / (between + within),
    )


def _levels(factors: Mapping[str, Sequence[str]], n: int) -> dict[str, NDArray[np.intp]]:
    """Return each factor's level numbers, having checked that no combination is missing."""
    if not factors:
        raise TooFewUnits(group="factors", found=0, needed=1)
    names: list[list[str]] = []
    codes: dict[str, NDArray[np.intp]] = {}
    for factor, given in factors.items():
        alike(given, factor, n=n, of="values")
        levels = sorted(set(given))
        if len(levels) < FEWEST_LEVELS:
            raise TooFewUnits(group=factor, found=len(levels), needed=FEWEST_LEVELS)
        numbers = {level: i for i, level in enumerate(levels)}
        names.append(levels)
        codes[factor] = np.array([numbers[level] for level in given])
    seen = set(zip(*factors.values(), strict=True))
    empty = [cell for cell in itertools.product(*names) if cell not in seen]
    if empty:
        shown = [
            ", ".join(f"{f} = {v}" for f, v in zip(factors, cell, strict=True))
            for cell in empty[:MOST_SHOWN]
        ]
        raise bad("factors", f"incomplete design, {len(empty)} cells empty, as {'; '.join(shown)}")
    return codes


def _fit(values: Floats, codes: list[NDArray[np.intp]], kind: int) -> Any:
    """Return statsmodels' table; columns are renamed, as C or Q would shadow formula functions."""
    # Both take a second to import, and neither ships types.
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415
    from statsmodels.formula import api  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415
    from statsmodels.stats import anova  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415

    columns = {f"x{i}": code for i, code in enumerate(codes)}
    # Without sum-to-zero contrasts a type III main effect is that of one level of the others.
    formula = "y ~ " + " * ".join(f"C({column}, Sum)" for column in columns)
    fitted = api.ols(formula, pd.DataFrame({"y": values, **columns})).fit()
    return anova.anova_lm(fitted, typ=kind)


@checked
def factorial_anova(
    values: ArrayLike,
    factors: Mapping[str, Sequence[str]],
    *,
    type: Literal[1, 2, 3] = 3,  # noqa: A002  (the field's word)
) -> AnovaTable:
    """Test the main effects and all interactions of crossed factors.

    Estimand: the cell means, one per combination of levels. `values` has shape (n,), independent
    units; each factor gives its level of each unit, n in all. Assumes means close to normal and
    equal variances. Types differ only in unbalanced designs: 1 tests each factor after those named
    before it, 2 each term after all that do not contain it, 3 (with sum-to-zero contrasts)
    unweighted means of cells. An empty combination of levels raises `BadStatisticInput`, naming
    it: the interactions could not be estimated. Source: Fisher (1925); Yates (1934); Langsrud
    (2003) on the types.
    """
    if type not in TYPES:
        raise bad("type", f"{type} is not 1 to 3")
    found = units(values, "values")
    codes = _levels(factors, found.size)
    sizes = [int(code.max()) + 1 for code in codes.values()]
    cells = math.prod(sizes)
    if found.size <= cells:
        raise TooFewUnits(group="values", found=found.size, needed=cells + 1)
    cell = np.ravel_multi_index(tuple(codes.values()), sizes)
    magnitude = float(np.abs(found).max())
    if all(constant(found[cell == c], magnitude=magnitude) for c in range(cells)):
        raise NoVariance
    origin = found.mean()
    shares = (found - origin) / float(np.abs(found - origin).max())
    table = _fit(shares, list(codes.values()), type)
    within = float(table.loc["Residual", "sum_sq"])
    df = found.size - cells
    rows = []
    terms = (  # one factor, then in pairs, and so on
        term
        for size in range(1, len(factors) + 1)
        for term in itertools.combinations(range(len(factors)), size)
    )
    for chosen in terms:
        line = table.loc[":".join(f"C(x{i}, Sum)" for i in chosen)]
        ss, f = max(0.0, float(line["sum_sq"])), max(0.0, float(line["F"]))
        df_term = math.prod(sizes[i] - 1 for i in chosen)
        rows.append(
            AnovaRow(
                term=tuple(list(factors)[i] for i in chosen),
                df=df_term,
                f=f,
                p=f_p(f, df_term, df),
                partial_eta2=ss / (ss + within),
            )
        )
    return AnovaTable(rows=tuple(rows))
