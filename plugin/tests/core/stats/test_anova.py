"""Analysis of variance against R, against the libraries, and at its edges."""

from __future__ import annotations

from typing import Any

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
from pytest_bias.stats.classical import factorial_anova

from .reference import REFERENCE

TEETH = REFERENCE["data"]["ToothGrowth_unbalanced"]
TEETH_FACTORS = {"supp": TEETH["supp"], "dose": [str(dose) for dose in TEETH["dose"]]}


def close(expected: Any) -> object:
    return pytest.approx(expected, rel=1e-10)


def test_names_that_the_formula_language_uses_are_plain_names_here() -> None:
    plain = factorial_anova(TEETH["len"], TEETH_FACTORS)
    for names in (("C", "Q"), ("Sum", "Treatment"), ("a b", "y ~ 1"), ("x1", "x0")):
        shadowing = dict(zip(names, TEETH_FACTORS.values(), strict=True))
        found = factorial_anova(TEETH["len"], shadowing)
        assert [row.f for row in found] == [row.f for row in plain]


def test_three_unbalanced_factors_as_statsmodels() -> None:
    rng = np.random.default_rng(4)
    data: dict[str, Any] = {name: [*map(str, rng.integers(0, 2, 60))] for name in "NPK"}
    data["Y"] = rng.normal(size=60)
    rows = factorial_anova(data["Y"], {name: data[name] for name in "NPK"})
    assert len(rows) == 7
    formula = "Y ~ C(N, Sum) * C(P, Sum) * C(K, Sum)"
    table = anova_lm(ols(formula, pd.DataFrame(data)).fit(), typ=3)
    for row in rows:
        line = table.loc[":".join(f"C({factor}, Sum)" for factor in row.term)]
        share = line["sum_sq"] / (line["sum_sq"] + table.loc["Residual", "sum_sq"])
        assert (row.partial_eta2, row.df, row.f, row.p) == close(
            (share, line["df"], line["F"], line["PR(>F)"])
        )


def test_an_empty_cell_is_named() -> None:
    with pytest.raises(BadStatisticInput, match="1 cells empty, as wool = B, tension = H"):
        factorial_anova(
            [1, 2, 3, 4, 5], {"wool": ["A", "A", "B", "B", "A"], "tension": list("LHLLH")}
        )
