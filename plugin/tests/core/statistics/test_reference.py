"""Every statistic against R and against published tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.statistics import (
    Tost,
    benjamini_hochberg,
    cohen_d,
    compare_differences,
    d_interval,
    describe,
    hedges_g,
    hedges_j,
    holm,
    newcombe,
    p_from_t,
    se_from_t,
    standardized_difference,
    tost_from_summary,
    tost_paired,
    tost_welch,
    units_per_group,
    welch,
    welch_from_summary,
    wilson,
)

from .reference import REFERENCE, SLEEP, TOOTH_GROWTH, values

if TYPE_CHECKING:
    from collections.abc import Callable


def close(expected: Any) -> object:
    return pytest.approx(expected, rel=1e-6)


DATA = {"sleep": SLEEP, "toothgrowth": TOOTH_GROWTH}


@pytest.mark.parametrize("name", DATA)
def test_welch(name: str) -> None:
    a, b = DATA[name]
    expected = values(f"{name}_welch")
    found = welch(a, b)
    assert found.t == close(expected["t"])
    assert found.df == close(expected["df"])
    assert found.p == close(expected["p"])
    assert found.interval.low == close(expected["ci_lo"])
    assert found.interval.high == close(expected["ci_hi"])
    assert found.interval.level == 0.95


@pytest.mark.parametrize("name", DATA)
def test_welch_from_summary_is_welch(name: str) -> None:
    a, b = DATA[name]
    of_a, of_b = describe(a), describe(b)
    assert of_a.sd is not None
    assert of_b.sd is not None
    found = welch_from_summary(
        mean_a=of_a.mean, sd_a=of_a.sd, n_a=of_a.n, mean_b=of_b.mean, sd_b=of_b.sd, n_b=of_b.n
    )
    assert found == welch(a, b)


def test_welch_against_scipy() -> None:
    a, b = TOOTH_GROWTH
    expected = stats.ttest_ind(a, b, equal_var=False)
    interval = expected.confidence_interval(0.8)
    found = welch(a, b, level=0.8)
    assert (found.t, found.df, found.p) == close(
        (expected.statistic, expected.df, expected.pvalue)
    )
    assert (found.interval.low, found.interval.high) == close((interval.low, interval.high))


@pytest.mark.parametrize("name", DATA)
def test_effect_size(name: str) -> None:
    a, b = DATA[name]
    expected = values(f"effect_d_{name}")
    found = standardized_difference(a, b)
    assert found.d == cohen_d(a, b) == close(expected["cohen_d"])
    assert found.g == hedges_g(a, b) == close(expected["hedges_g"])
    assert found.j == hedges_j(len(a) + len(b) - 2) == close(expected["hedges_J"])
    assert found.interval == d_interval(a, b)
    assert found.interval.low == close(expected["d_ci_lo"])
    assert found.interval.high == close(expected["d_ci_hi"])


@pytest.mark.parametrize(
    ("test", "example"),
    [(tost_welch, "tost_sleep_welch_pm2"), (tost_paired, "tost_sleep_paired_pm2")],
)
def test_tost(test: Callable[..., Tost], example: str) -> None:
    expected = values(example)
    found = test(*SLEEP, margin=2)
    assert found.t_lower == close(expected["t_lower"])
    assert found.t_upper == close(expected["t_upper"])
    assert found.p_lower == close(expected["p_lower"])
    assert found.p_upper == close(expected["p_upper"])
    assert found.p == close(expected["p_tost"])
    assert found.interval.low == close(expected["ci90_lo"])
    assert found.interval.high == close(expected["ci90_hi"])
    assert found.interval.level == pytest.approx(0.9)
    assert found.margin == 2


def test_tost_from_summary() -> None:
    expected = values("tost_summary_lakens2017")
    found = tost_from_summary(
        mean_a=5.25,
        sd_a=0.95,
        n_a=95,
        mean_b=5.22,
        sd_b=0.83,
        n_b=89,
        margin=expected["bound_raw"],
    )
    assert found.df == close(expected["df"])
    assert found.t_lower == close(expected["t_lower"])
    assert found.t_upper == close(expected["t_upper"])
    assert found.p_lower == close(expected["p_lower"])
    assert found.p_upper == close(expected["p_upper"])
    assert found.interval.low == close(expected["ci90_lo"])
    assert found.interval.high == close(expected["ci90_hi"])
    # as printed: t(181) = -2.69, p = .004
    assert (round(found.df), round(found.t_upper, 2), round(found.p, 3)) == (181, -2.69, 0.004)


def test_published_human_anchoring_study() -> None:
    """Means of 4.00 and 6.05 months, t(37) = 2.10, in Englich, Mussweiler & Strack (2006)."""
    se = se_from_t(difference=6.05 - 4.00, t=2.10)
    assert round(se, 3) == 0.976
    assert round(p_from_t(2.10, 37), 4) == 0.0426
    same = compare_differences(
        first=2.05, se_first=0.0, df_first=1, second=0.0, se_second=se, df_second=37
    )
    assert same.p == close(p_from_t(2.10, 37))
    assert same.df == close(37)


def test_compare_differences_is_welch_of_two_estimates() -> None:
    expected = welch_from_summary(mean_a=3, sd_a=2, n_a=16, mean_b=1, sd_b=5, n_b=25)
    found = compare_differences(
        first=3, se_first=2 / 4, df_first=15, second=1, se_second=5 / 5, df_second=24
    )
    assert (found.estimate, found.se, found.df, found.p) == (
        2,
        expected.se,
        expected.df,
        expected.p,
    )
    assert found.interval == expected.interval


def test_quartiles_are_of_type_7() -> None:
    """R: quantile(c(1, 2, 4, 8), type = 7) is 1.00 1.75 3.00 5.00 8.00."""
    found = describe([8, 1, 4, 2])
    assert (found.minimum, found.q1, found.median, found.q3, found.maximum) == (1, 1.75, 3, 5, 8)
    assert (found.n, found.mean) == (4, 3.75)
    assert found.sd == close(math.sqrt(28.75 / 3))
    assert found.se == close(math.sqrt(28.75 / 12))


def test_fisher_tea() -> None:
    found = newcombe(3, 4, 1, 4)
    assert found.test == "fisher"
    assert found.p == close(values("fisher_tea")["p_two"])


def test_pearson_chi_square() -> None:
    """UCBAdmissions (Bickel 1975): 1198 of 2691 men and 557 of 1835 women admitted."""
    expected = values("ucb")
    found = newcombe(1198, 2691, 557, 1835)
    assert found.test == "pearson"
    assert found.p == close(expected["pooled_p"])


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        ((56, 70, 48, 80), 0.0524, 0.3339),
        ((9, 10, 3, 10), 0.1705, 0.8090),
        ((6, 7, 2, 7), 0.0582, 0.8062),
        ((5, 56, 0, 29), -0.0381, 0.1926),
        ((0, 10, 0, 20), -0.1611, 0.2775),
        ((0, 10, 0, 10), -0.2775, 0.2775),
        ((10, 10, 0, 20), 0.6791, 1.0),
        ((10, 10, 0, 10), 0.6075, 1.0),
    ],
)
def test_newcombe_1998_method_10(
    counts: tuple[int, int, int, int], low: float, high: float
) -> None:
    interval = newcombe(*counts).interval
    assert (round(interval.low, 4), round(interval.high, 4)) == (low, high)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_in_newcombe_1998(successes: int, n: int, low: float, high: float) -> None:
    interval = wilson(successes, n)
    assert (round(interval.low, 4), round(interval.high, 4)) == (low, high)


@pytest.mark.parametrize(("adjust", "name"), [(holm, "holm"), (benjamini_hochberg, "BH")])
def test_adjusted_p(adjust: Callable[..., object], name: str) -> None:
    """The 15 p-values of Benjamini & Hochberg (1995)."""
    p = np.array(REFERENCE["data"]["padjust_p"])
    expected = values("padjust_bh1995")
    wanted = np.array([expected[f"{name}[{i}]"] for i in range(1, 16)])
    assert adjust(p) == close(wanted)
    shuffled = np.random.default_rng(7).permutation(15)
    assert adjust(p[shuffled]) == close(wanted[shuffled])


def test_sizing_is_17_1_over_d_squared() -> None:
    assert units_per_group(sd=100, margin=1) == math.ceil(1e4 * 2 * (1.6448536 + 1.2815516) ** 2)
    assert units_per_group(sd=100, margin=1) / 1e4 == pytest.approx(17.1, abs=0.05)
    assert units_per_group(sd=1.25, margin=0.6) == 75


@pytest.mark.parametrize(("df", "j"), [(2, 0.5642), (10, 0.9228), (50, 0.9849)])
def test_hedges_1981_table(df: int, j: float) -> None:
    assert hedges_j(df) == pytest.approx(j, abs=2e-4)
