"""Analysis of variance against R, against the libraries, and at its edges."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # pandas ships no types
import pytest
from statsmodels.formula.api import (  # type: ignore[import-untyped, unused-ignore]  # ships none
    ols,
)
from statsmodels.stats.anova import (  # type: ignore[import-untyped, unused-ignore]  # ships none
    anova_lm,
)

from pytest_bias.errors import BadStatisticInput
from pytest_bias.stats.anova import AnovaTable, factorial_anova, one_way

from .reference import REFERENCE

WARPBREAKS = REFERENCE["data"]["warpbreaks"]
TEETH = REFERENCE["data"]["ToothGrowth_unbalanced"]
TEETH_FACTORS = {"supp": TEETH["supp"], "dose": [str(dose) for dose in TEETH["dose"]]}
THREE = ([4.1, 5.0, 6.2, 5.5], [6.1, 7.9, 7.0], [9.0, 5.5, 7.1, 8.4, 12.0])


def close(expected: Any) -> object:
    return pytest.approx(expected, rel=1e-10)


def test_terms_and_degrees_of_freedom() -> None:
    factors = {"wool": WARPBREAKS["wool"], "tension": WARPBREAKS["tension"]}
    one, two, three = (
        factorial_anova(WARPBREAKS["breaks"], factors, type=kind).rows for kind in (1, 2, 3)
    )
    assert [row.term for row in three] == [("wool",), ("tension",), ("wool", "tension")]
    assert [row.df for row in three] == [1, 2, 2]
    for others in (one, two):  # of a balanced design all types are one
        assert [row.f for row in others] == close([row.f for row in three])


def test_names_that_the_formula_language_uses_are_plain_names_here() -> None:
    plain = factorial_anova(TEETH["len"], TEETH_FACTORS)
    for names in (("C", "Q"), ("Sum", "Treatment"), ("a b", "y ~ 1"), ("x1", "x0")):
        shadowing = dict(zip(names, TEETH_FACTORS.values(), strict=True))
        found = factorial_anova(TEETH["len"], shadowing)
        assert [row.f for row in found.rows] == [row.f for row in plain.rows]


def test_one_factor_is_the_one_way_analysis() -> None:
    labels = [str(i) for i, group in enumerate(THREE) for _ in group]
    (found,) = factorial_anova(np.concatenate(THREE), {"group": labels}).rows
    plain = one_way(THREE)
    assert (found.f, found.p) == (close(plain.f), close(plain.p))
    assert found.partial_eta2 == close(plain.eta2)


NPK = """1 0 1 1 49.5/1 1 1 0 62.8/1 0 0 0 46.8/1 1 0 1 57.0/2 1 0 0 59.8/2 1 1 1 58.5
2 0 0 1 55.5/2 0 1 0 56.0/3 0 1 0 62.8/3 1 1 1 55.8/3 1 0 0 69.5/3 0 0 1 55.0
4 1 0 0 62.0/4 1 1 1 48.8/4 0 0 1 45.5/4 0 1 0 44.2/5 1 1 0 52.0/5 0 0 0 51.5
5 1 0 1 49.8/5 0 1 1 48.8/6 1 0 1 57.2/6 1 1 0 59.0/6 0 1 1 53.2/6 0 0 0 56.0"""
"""R's `npk`: block, N, P, K and yield of 24 plots of peas (Venables & Ripley 2002, p. 165)."""

PEAS = dict(
    zip(
        ("block", "N", "P", "K", "yield"),
        zip(*(line.split() for line in NPK.replace("\n", "/").split("/")), strict=True),
        strict=True,
    )
)
YIELD = [float(value) for value in PEAS["yield"]]
FERTILISERS = {name: PEAS[name] for name in "NPK"}


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_blocks_with_a_confounded_interaction_as_r_prints_them(kind: Literal[1, 2, 3]) -> None:
    found = factorial_anova(YIELD, FERTILISERS, blocks={"block": PEAS["block"]}, type=kind)
    printed = {  # summary(aov(yield ~ block + N*P*K, npk)): Df, F value, Pr(>F)
        "block": (5, 4.447, 0.01594),
        "N": (1, 12.259, 0.00437),
        "P": (1, 0.544, 0.47490),
        "K": (1, 6.166, 0.02880),
        "N:P": (1, 1.378, 0.26317),
        "N:K": (1, 2.146, 0.16865),
        "P:K": (1, 0.031, 0.86275),
    }
    rows = {":".join(row.term): row for row in found.rows}
    assert {
        name: (row.df, round(row.f, 3), round(row.p, 5)) for name, row in rows.items()
    } == printed
    assert found.aliased == (("N", "P", "K"),)

    # without the term that R leaves out, statsmodels has as many digits as there are
    formula = "Y ~ C(block, Sum) + (C(N, Sum) + C(P, Sum) + C(K, Sum)) ** 2"
    as_statsmodels(found, formula, {**PEAS, "Y": YIELD}, kind)


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_unbalanced_blocks_as_statsmodels(kind: Literal[1, 2, 3]) -> None:
    kept = [i for i in range(24) if i not in {3, 11, 17, 20}]
    left = {name: [column[i] for i in kept] for name, column in PEAS.items()}
    numbers = [float(value) for value in left["yield"]]
    found = factorial_anova(
        numbers, {name: left[name] for name in "NP"}, blocks={"block": left["block"]}, type=kind
    )
    formula = "Y ~ C(block, Sum) + C(N, Sum) * C(P, Sum)"
    as_statsmodels(found, formula, {**left, "Y": numbers}, kind)


def as_statsmodels(found: AnovaTable, formula: str, data: Any, kind: int) -> None:
    """Hold every row beside what statsmodels fits."""
    table = anova_lm(ols(formula, pd.DataFrame(data)).fit(), typ=kind)
    for row in found.rows:
        line = table.loc[":".join(f"C({factor}, Sum)" for factor in row.term)]
        share = line["sum_sq"] / (line["sum_sq"] + table.loc["Residual", "sum_sq"])
        assert (row.partial_eta2, row.df, row.f, row.p) == close(
            (share, line["df"], line["F"], line["PR(>F)"])
        )


def test_a_part_of_an_interaction_that_blocks_give_is_left_out_of_its_df() -> None:
    # of the four degrees of freedom of their interaction two are the blocks: a + b modulo 3
    cells = [(a, b) for a in range(3) for b in range(3) for _ in range(4)]
    factors = {"a": [str(a) for a, _ in cells], "b": [str(b) for _, b in cells]}
    sums = [str((a + b) % 3) for a, b in cells]
    numbers = np.random.default_rng(4).normal(size=len(cells))
    found = factorial_anova(numbers, factors, blocks={"sum": sums}, type=1)
    assert [(row.term, row.df) for row in found.rows] == [
        (("sum",), 2),
        (("a",), 2),
        (("b",), 2),
        (("a", "b"), 2),
    ]
    whole = factorial_anova(numbers, factors, type=1).rows[-1]
    assert 2 * (found.rows[0].f + found.rows[-1].f) == close(4 * whole.f)


def test_blocks_that_cannot_be_told_from_a_factor_are_refused() -> None:
    with pytest.raises(BadStatisticInput, match="N cannot be told"):
        factorial_anova(YIELD, {"N": PEAS["N"]}, blocks={"same": PEAS["N"]})
    with pytest.raises(BadStatisticInput, match="N is a factor"):
        factorial_anova(YIELD, FERTILISERS, blocks={"N": PEAS["N"]})
    with pytest.raises(BadStatisticInput, match="N cannot be told"):
        factorial_anova(YIELD, FERTILISERS, blocks={"plot": [str(i) for i in range(24)]})


def test_an_empty_cell_is_named() -> None:
    with pytest.raises(BadStatisticInput, match="1 cells empty, as wool = B, tension = H"):
        factorial_anova(
            [1, 2, 3, 4, 5], {"wool": ["A", "A", "B", "B", "A"], "tension": list("LHLLH")}
        )
