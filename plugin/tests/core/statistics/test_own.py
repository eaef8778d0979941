"""What is our own since scipy's takes long to import, held against scipy's and whole numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats  # type: ignore[import-untyped, unused-ignore]

from pytest_bias.statistics._distributions import crossing
from pytest_bias.statistics.counts import newcombe

SIZES = st.integers(1, 60)


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
