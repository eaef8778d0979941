"""What is our own since scipy's takes long to import, held against scipy's and whole numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import (  # type: ignore[import-untyped, unused-ignore]
    optimize,
    special,
    stats,
)

from pytest_bias.statistics import _distributions as own
from pytest_bias.statistics._distributions import crossing
from pytest_bias.statistics.counts import newcombe
from pytest_bias.statistics.effect_size import _tails
from pytest_bias.statistics.power import TAIL, _ends

SIZES = st.integers(1, 60)

DFS = (1, 1.3, 2, 2.7, 3, 4, 5, 7.5, 9, 10, 12.3, 18, 25, 30, 47.1, 60, 99, 150.5, 360, 718)
LARGE_DFS = (3e3, 1e4, 1e5, 1e6, 1e8, 1e10, 1e14)
AREAS = (1e-250, 1e-100, 1e-30, 1e-10, 1e-6, 1e-4, 0.001, 0.005, 0.01, 0.02, 0.025, 0.05, 0.1, 0.2)
CENTRAL = (0.25, 0.26, 0.3, 0.4, 0.45, 0.5, 0.6, 0.75, 0.9, 0.975, 0.999)
PLACES = (0, 0.01, 0.3, 0.99, 1, 1.01, 1.7, 1.96, 2.5, 2.999, 3, 3.2, 4, 5, 10, 25, 37, 100, 1e5)


def close(found: float, expected: float, rel: float = 1e-12) -> bool:
    """Equal but for a share of ``rel``, and of what is too small to have all its digits."""
    return found == pytest.approx(float(expected), rel=rel, abs=1e-290)


def test_normal_areas_and_quantiles_are_scipys() -> None:
    for z in np.linspace(-38, 38, 1521):
        assert close(own.normal_sf(z), special.ndtr(-z)), z
    places = np.linspace(-38, 38, 1521).reshape(9, 169)
    assert own.normal_cdf(places) == pytest.approx(special.ndtr(places), rel=1e-12, abs=1e-290)
    for p in (*AREAS, *CENTRAL, *np.linspace(0.001, 0.999, 999)):
        assert close(own.normal_isf(p), -special.ndtri(p), 1e-14), p
    assert own.normal_isf(0.5) == 0
    assert (own.normal_isf(0), own.normal_isf(1)) == (math.inf, -math.inf)


@pytest.mark.parametrize("df", [*DFS, *LARGE_DFS])
def test_students_areas_and_quantiles_are_scipys(df: float) -> None:
    rel = 1e-12 if df in DFS else 1e-11  # scipy's own digits are fewer there
    for t in PLACES:
        assert close(own.t_sf(t, df), special.stdtr(df, -t), rel), t
        assert close(own.t_sf(-t, df), special.stdtr(df, t)), t
    for p in (*AREAS, *CENTRAL):
        expected = -special.stdtrit(df, p)
        if abs(expected) < 1e100:
            assert close(own.t_isf(p, df), expected, rel), p
    assert own.t_isf(0.5, df) == 0
    assert (own.t_isf(0, df), own.t_isf(1, df)) == (math.inf, -math.inf)
    assert own.t_sf(math.inf, df) == 0


def test_students_t_of_one_and_two_degrees_is_exact() -> None:
    for t in (1e-9, 0.3, 2.0, 40.0, 1e9, 1e20):
        assert close(own.t_sf(t, 1), math.atan(1 / t) / math.pi, 1e-14)
        root = math.hypot(t, math.sqrt(2))
        assert close(own.t_sf(t, 2), 1 / (root * (root + t)), 1e-13)


@pytest.mark.parametrize("df_1", [1, 2, 3, 4, 7, 10, 35, 100])
@pytest.mark.parametrize("df_2", [1, 2, 3, 8, 20, 57, 120, 600])
def test_fishers_f_is_scipys(df_1: int, df_2: int) -> None:
    for f in (0, 1e-6, 0.01, 0.3, 0.8, 1, 1.3, 2, 3, 4, 6, 10, 30, 100, 1e4):
        assert close(own.f_sf(f, df_1, df_2), special.fdtrc(df_1, df_2, f), 2e-12), f


@pytest.mark.parametrize("df", [1, 2, 3, 4, 5, 6, 9, 20, 50, 99, 300])
def test_chi_square_is_scipys(df: int) -> None:
    for chi2 in (0, 1e-5, 0.01, 0.5, 1, 2, 3.84, 7, 10, 30, 60, 100, 300, 600, 1300):
        assert close(own.chi_square_sf(chi2, df), special.chdtrc(df, chi2)), chi2


@pytest.mark.parametrize("n", [1, 2, 3, 9, 10, 11, 50, 100, 999, 4000])
def test_a_ratio_of_gamma_functions_is_that_of_whole_numbers(n: int) -> None:
    factorial = math.factorial
    exact = Fraction(factorial(2 * n), 4**n * factorial(n) * factorial(n - 1))
    assert close(own.gamma_ratio(n), float(exact) * math.sqrt(math.pi), 2e-15)


@pytest.mark.parametrize("df", [1, 2, 3, 5, 9, 18, 40, 98, 400, 1500])
@pytest.mark.parametrize("t", [0, 0.2, 1, 2, 3.5, 6, 12, 40, 90])
def test_noncentral_t_is_scipys(t: float, df: int) -> None:
    below, above = _tails(t, df)
    for off in (-3, -2, -1, 0, 1, 2, 3):
        nc = t + off * math.sqrt(1 + t**2 / (2 * df))
        for found, expected in (
            (below(nc), special.nctdtr(df, nc, t)),
            (above(nc), special.nctdtr(df, -nc, -t)),
        ):
            if expected > 1e-3:  # intervals end where .025 are left
                assert close(found, expected), nc


@pytest.mark.parametrize("df", [0.01, 0.05, 0.1, 0.2, 0.5, 1, 5, 100, 1e4])
def test_power_is_averaged_as_far_as_a_spread_can_be(df: float) -> None:
    depth = -math.log(TAIL) / df
    for end in _ends(df):
        if end > 1e-300:
            assert math.log(end) + (1 - end**2) / 2 + depth == pytest.approx(0, abs=1e-12 * depth)


def test_what_is_no_number_stays_none_and_without_end_t_is_normal() -> None:
    for none in (
        own.t_isf(math.nan, 5),
        own.t_isf(0.1, math.nan),
        own.t_sf(math.nan, 5),
        own.f_sf(math.nan, 2, 5),
        own.chi_square_sf(math.nan, 3),
        own.normal_isf(math.nan),
    ):
        assert math.isnan(none)
    assert own.t_isf(0.025, math.inf) == own.normal_isf(0.025)
    assert own.t_sf(1.5, math.inf) == own.normal_sf(1.5)
    assert own.chi_square_sf(math.inf, 3) == 0
    assert own.chi_square_sf(0, 3) == 1
    # 1.6 · 10^1299, which scipy takes for 2.1 · 10^152: its area there is .35
    assert own.t_isf(0.025, 0.001) == math.inf


@given(SIZES, SIZES, st.data())
def test_fishers_p_is_that_of_whole_numbers(n_a: int, n_b: int, data: st.DataObject) -> None:
    a, b = data.draw(st.integers(0, n_a)), data.draw(st.integers(0, n_b))
    found = newcombe(a, n_a, b, n_b)
    if found.test != "fisher":
        return
    tables = [
        math.comb(n_a, k) * math.comb(n_b, a + b - k)
        for k in range(max(0, a + b - n_b), min(n_a, a + b) + 1)
    ]
    seen = math.comb(n_a, a) * math.comb(n_b, b)
    exact = Fraction(sum(each for each in tables if each <= seen), sum(tables))
    assert found.p == pytest.approx(float(exact), rel=1e-12)
    assert found.p == pytest.approx(stats.fisher_exact([[a, n_a - a], [b, n_b - b]]).pvalue)


@given(
    st.floats(-1, 1),
    st.floats(-3, 4),
    st.floats(1.001, 2),
    st.floats(1.001, 2),
    st.sampled_from([1, -1]),
)
def test_a_crossing_is_brents(
    root: float, steep: float, below: float, above: float, sign: int
) -> None:
    def monotone(x: float) -> float:
        found = math.atan((x - root) * 10**steep) + (x - root) ** 3
        return sign * found

    expected = optimize.brentq(monotone, -below, above, xtol=1e-15, rtol=1e-15)
    assert crossing(monotone, -below, above) == pytest.approx(expected, abs=4e-15)


def test_a_crossing_of_infinite_ends_and_none() -> None:
    assert crossing(lambda x: math.copysign(math.inf, 1 / 3 - x), 0.0, 1.0) == pytest.approx(1 / 3)
    assert crossing(lambda x: x, 0.0, 1.0) == 0
    with pytest.raises(ValueError, match=r"1\.0 at 1\.0 and 2\.0 at 2\.0 are not of unlike signs"):
        crossing(lambda x: x, 1.0, 2.0)
    with pytest.raises(ValueError, match="unlike signs"):
        crossing(lambda _: math.nan, 1.0, 2.0)
