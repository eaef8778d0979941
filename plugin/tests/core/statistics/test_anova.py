"""Analysis of variance against R, against the libraries, and at its edges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.errors import BadStatisticInput, NoVariance, TooFewUnits
from pytest_bias.statistics.anova import factorial_anova, one_way

from .reference import REFERENCE, values

WARPBREAKS = REFERENCE["data"]["warpbreaks"]
TEETH = REFERENCE["data"]["ToothGrowth_unbalanced"]
TEETH_FACTORS = {"supp": TEETH["supp"], "dose": [str(dose) for dose in TEETH["dose"]]}
THREE = ([4.1, 5.0, 6.2, 5.5], [6.1, 7.9, 7.0], [9.0, 5.5, 7.1, 8.4, 12.0])
readings = st.integers(-1000, 1000).map(lambda i: i / 8)
several = st.lists(st.lists(readings, min_size=2, max_size=6), min_size=2, max_size=5)


def close(expected: Any) -> object:
    return pytest.approx(expected, rel=1e-6)


def test_terms_and_degrees_of_freedom() -> None:
    factors = {"wool": WARPBREAKS["wool"], "tension": WARPBREAKS["tension"]}
    for kind in (1, 2, 3):  # of a balanced design all types are one
        found = factorial_anova(WARPBREAKS["breaks"], factors, type=kind)
        assert [row.term for row in found.rows] == [("wool",), ("tension",), ("wool", "tension")]
        assert [row.df for row in found.rows] == [1, 2, 2]
        expected = values("warpbreaks_twoway")
        assert {f"F[{':'.join(row.term)}]": row.f for row in found.rows} == close(
            {key: f for key, f in expected.items() if key.startswith("F")}
        )


def test_names_that_the_formula_language_uses_are_plain_names_here() -> None:
    plain = factorial_anova(TEETH["len"], TEETH_FACTORS)
    for names in (("C", "Q"), ("Sum", "Treatment"), ("a b", "y ~ 1"), ("x1", "x0")):
        shadowing = dict(zip(names, TEETH_FACTORS.values(), strict=True))
        found = factorial_anova(TEETH["len"], shadowing)
        assert [row.f for row in found.rows] == [row.f for row in plain.rows]
        assert found.row(*reversed(names)).term == names


def test_three_factors_give_seven_terms_that_share_out_a_balanced_sum_of_squares() -> None:
    rng = np.random.default_rng(3)
    cells = [(a, b, c) for a in "01" for b in "012" for c in "01" for _ in range(3)]
    columns = dict(zip("abc", map(list, zip(*cells, strict=True)), strict=True))
    numbers = rng.normal(size=len(cells))
    found = factorial_anova(numbers, columns)
    assert len(found.rows) == 7
    assert found.rows[-1].term == ("a", "b", "c")
    assert sum(row.df for row in found.rows) == 11  # of the 12 cells
    within = numbers.reshape(12, 3).var(axis=1).sum() * 3
    between = sum(row.df * row.f for row in found.rows) * within / 24
    assert between + within == close(float(((numbers - numbers.mean()) ** 2).sum()))


def test_one_factor_is_the_one_way_analysis() -> None:
    labels = [str(i) for i, group in enumerate(THREE) for _ in group]
    found = factorial_anova(np.concatenate(THREE), {"group": labels}).row("group")
    plain = one_way(THREE)
    assert (found.f, found.p) == (close(plain.f), close(plain.p))
    assert found.partial_eta2 == close(plain.eta2)


def test_an_empty_cell_is_named() -> None:
    with pytest.raises(BadStatisticInput, match="1 cells empty, as wool = B, tension = H"):
        factorial_anova(
            [1, 2, 3, 4, 5], {"wool": ["A", "A", "B", "B", "A"], "tension": list("LHLLH")}
        )


def test_designs_without_a_residual_are_refused() -> None:
    crossed = {"a": list("0011"), "b": list("0101")}
    with pytest.raises(TooFewUnits):
        factorial_anova([1, 2, 3, 4], crossed)
    twice = {name: levels * 2 for name, levels in crossed.items()}
    for offset in (0.0, 0.1, 1e9):
        with pytest.raises(NoVariance):
            factorial_anova(np.array([1, 2, 3, 4] * 2) + offset, twice)
    with pytest.raises(TooFewUnits):
        factorial_anova([1, 2], {})
    with pytest.raises(TooFewUnits):
        factorial_anova([1, 2, 3], {"a": ["x"] * 3})
    with pytest.raises(BadStatisticInput):
        factorial_anova([1, 2, 3], {"a": ["x", "y"]})
    with pytest.raises(BadStatisticInput):
        factorial_anova([1, 2, 3], {"a": ["x", "y", "y"]}, type=4)  # type: ignore[arg-type]  # wrong on purpose
    one = factorial_anova([1, 2, 3, 5], {"a": list("xxyy")})
    with pytest.raises(BadStatisticInput):
        one.row("b")


def test_magnitudes_do_not_matter() -> None:
    plain = factorial_anova(TEETH["len"], TEETH_FACTORS)
    for scale in (1e-60, 1e80):
        found = factorial_anova(np.array(TEETH["len"]) * scale, TEETH_FACTORS)
        assert [row.f for row in found.rows] == [close(row.f) for row in plain.rows]


def test_one_way_analyses_agree_with_the_libraries() -> None:
    equal, expected = one_way(THREE), stats.f_oneway(*THREE)
    assert (equal.f, equal.p) == (close(expected.statistic), close(expected.pvalue))
    assert (equal.df_between, equal.df_within) == (2, 9)


def test_two_groups_give_the_squared_t_statistic() -> None:
    pair = THREE[:2]
    assert one_way(pair).f == close(stats.ttest_ind(*pair).statistic ** 2)


@given(several)
def test_results_are_sound_or_refused(groups: list[list[float]]) -> None:
    constant = [len(set(group)) == 1 for group in groups]
    if all(constant):
        with pytest.raises(NoVariance):
            one_way(groups)
    else:
        found = one_way(groups)
        assert 0 <= found.eta2 <= 1
        assert 0 < found.p <= 1
        assert math.isfinite(found.f)


def test_groups_too_small_are_named() -> None:
    with pytest.raises(TooFewUnits):
        one_way([[1.0, 2.0]])
    with pytest.raises(TooFewUnits, match=r"groups\[1\]"):
        one_way([[1.0, 2.0], [1.0]])
    with pytest.raises(BadStatisticInput):
        one_way([[1.0, 2.0], [1.0, math.nan]])


def test_a_p_value_that_underflows_is_not_zero() -> None:
    rng = np.random.default_rng(1)
    far = [rng.normal(mean, 1e-6, 200) for mean in (0, 1, 2)]
    assert one_way(far).p > 0
    labels = [str(i) for i, group in enumerate(far) for _ in group]
    assert factorial_anova(np.concatenate(far), {"a": labels}).row("a").p > 0
