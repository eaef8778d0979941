"""Every reference value there is, and what is our own of scipy's, by what gives it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # no stubs installed
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import (  # type: ignore[import-untyped, unused-ignore]
    optimize,
    special,
    stats,  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types
)
from statsmodels.formula.api import ols  # type: ignore[import-untyped, unused-ignore]  # no types
from statsmodels.stats.anova import (  # type: ignore[import-untyped, unused-ignore]  # no types
    anova_lm,
)

from pytest_bias.stats import _distributions as own
from pytest_bias.stats._distributions import crossing
from pytest_bias.stats.agreement import krippendorff_alpha
from pytest_bias.stats.anova import factorial_anova
from pytest_bias.stats.blocks import one_sample
from pytest_bias.stats.counts import chi_square, newcombe, wilson
from pytest_bias.stats.effect_size import _tails, cohen_d, hedges_j, standardized_difference
from pytest_bias.stats.means import (
    StudentEstimate,
    describe,
    difference_of,
    p_from_t,
    satterthwaite,
    se_from_t,
    welch,
)
from pytest_bias.stats.power import TAIL, _ends, alarm_power, power_plan
from pytest_bias.stats.ranks import mann_whitney, vargha_delaney
from pytest_bias.stats.results import Tost
from pytest_bias.stats.simultaneous import benjamini_hochberg, holm

from .reference import REFERENCE, SLEEP, TOOTH_GROWTH, split

Found = Mapping[str, float]
Two = tuple[list[float], list[float]]


DATA: dict[str, Any] = REFERENCE["data"]
TEETH = DATA["ToothGrowth_unbalanced"]
TEETH_FACTORS = {"supp": TEETH["supp"], "dose": [str(dose) for dose in TEETH["dose"]]}
UCB = np.array(DATA["UCBAdmissions"]["Freq"], dtype=int).reshape(6, 2, 2).sum(axis=0)
OZONE = (
    split("airquality_ozone", "Ozone", "Month", 5),
    split("airquality_ozone", "Ozone", "Month", 8),
)


def welch_of(data: Two) -> Found:
    found = welch(*data)
    return {
        "t": found.t,
        "df": found.df,
        "p": found.p,
        "ci_lo": found.interval.low,
        "ci_hi": found.interval.high,
    }


def effect_of(data: Two) -> Found:
    found = standardized_difference(*data)
    assert (found.d, found.j) == (cohen_d(*data), hedges_j(sum(map(len, data)) - 2))
    return {
        "cohen_d": found.d,
        "hedges_J": found.j,
        "hedges_g": found.g,
        "d_ci_lo": found.interval.low,
        "d_ci_hi": found.interval.high,
    }


def tost_of(found: Tost) -> Found:
    assert found.interval.level == pytest.approx(0.9)
    return {
        "t_lower": found.t_lower,
        "t_upper": found.t_upper,
        "p_lower": found.p_lower,
        "p_upper": found.p_upper,
        "p_tost": found.p,
        "ci90_lo": found.interval.low,
        "ci90_hi": found.interval.high,
    }


def tost_of_summary() -> Found:
    """The bound is .43 pooled standard deviations of Moon & Roeder's groups; printed t = -2.69."""
    bound = 0.43 * math.sqrt((0.95**2 + 0.83**2) / 2)
    se, df = satterthwaite(0.95 / math.sqrt(95), 94, 0.83 / math.sqrt(89), 88)
    found = StudentEstimate(estimate=5.25 - 5.22, se=se, df=df).tost(bound)
    assert (round(df), round(found.t_upper, 2), round(found.p, 3)) == (181, -2.69, 0.004)
    every = {"bound_raw": found.margin, "df": found.df, **tost_of(found)}
    return {key: value for key, value in every.items() if key != "p_tost"}


def warpbreaks() -> Found:
    data = DATA["warpbreaks"]
    factors = {name: data[name] for name in ("wool", "tension")}
    return {
        f"{statistic}[{':'.join(row.term)}]": value
        for row in factorial_anova(data["breaks"], factors).rows
        for statistic, value in (
            ("F", row.f),
            ("p", row.p),
            ("partial_eta2", row.partial_eta2),
        )
    }


def toothgrowth_unbalanced() -> Found:
    return {
        f"type{'I' * kind}_{statistic}[{':'.join(row.term)}]": value
        for kind in (1, 2, 3)
        for row in factorial_anova(TEETH["len"], TEETH_FACTORS, type=kind).rows
        if kind != 2 or len(row.term) == 1  # R's model comparison gave the main effects only
        for statistic, value in (("F", row.f), ("p", row.p))
    }


def ucb() -> Found:
    pooled, corrected = chi_square(UCB), chi_square(UCB, yates=True)
    assert newcombe(1198, 2691, 557, 1835).p == pytest.approx(pooled.p, rel=1e-12)
    return {
        "pooled_chi2": pooled.chi2,
        "pooled_p": pooled.p,
        "pooled_chi2_yates": corrected.chi2,
        "pooled_p_yates": corrected.p,
        "pooled_phi_V": pooled.cramers_v,
    }


def airquality() -> Found:
    found = mann_whitney(*OZONE)
    assert found.p_exact is None
    return {"U": found.u, "p_cc": found.p, "A12": vargha_delaney(*OZONE)}


def smokers() -> Found:
    found = chi_square([[83, 90, 129, 70], [3, 3, 7, 12]])
    assert found.df == 3
    return {"chi2": found.chi2, "p": found.p}


def adjusted() -> Found:
    return {
        f"{name}[{i}]": float(p)
        for name, adjust in (("holm", holm), ("BH", benjamini_hochberg))
        for i, p in enumerate(adjust(DATA["padjust_p"]), start=1)
    }


def coders() -> Found:
    ratings = DATA["krippendorff_2011"]
    return {
        "alpha_nominal": krippendorff_alpha(ratings, level="nominal").alpha,
        "alpha_ordinal": krippendorff_alpha(ratings, level="ordinal").alpha,
        "alpha_interval": krippendorff_alpha(ratings, level="interval").alpha,
        "alpha_ratio": krippendorff_alpha(ratings, level="ratio").alpha,
    }


def default_coding() -> Found:
    """What statsmodels calls type III unless told to code factors as sums to zero."""
    frame = pd.DataFrame({"y": TEETH["len"], "a": TEETH["supp"], "b": TEETH_FACTORS["dose"]})
    rows = anova_lm(ols("y ~ C(a) * C(b)", frame).fit(), typ=3)
    return {
        "F[supp]": float(rows.loc["C(a)", "F"]),
        "p[supp]": float(rows.loc["C(a)", "PR(>F)"]),
        "F[dose]": float(rows.loc["C(b)", "F"]),
    }


EXAMPLES: dict[str, Callable[[], Found]] = {
    "warpbreaks_twoway": warpbreaks,
    "toothgrowth_unbalanced": toothgrowth_unbalanced,
    "sleep_welch": lambda: welch_of(SLEEP),
    "toothgrowth_welch": lambda: welch_of(TOOTH_GROWTH),
    "effect_d_toothgrowth": lambda: effect_of(TOOTH_GROWTH),
    "effect_d_sleep": lambda: effect_of(SLEEP),
    "tost_sleep_welch_pm2": lambda: tost_of(welch(*SLEEP).tost(2)),
    "tost_sleep_paired_pm2": lambda: tost_of(one_sample(np.subtract(*SLEEP)).tost(2)),
    "tost_summary_lakens2017": tost_of_summary,
    "ucb": ucb,
    "mwu_airquality": airquality,
    "fisher_tea": lambda: {"p_two": newcombe(3, 4, 1, 4).p},
    "smokers_prop": smokers,
    "padjust_bh1995": adjusted,
}
PUBLISHED: dict[str, Callable[[], Found]] = {
    "krippendorff_2011": coders,
    "trap_typeIII_default_coding": default_coding,
}


def test_no_example_is_left_without_a_function() -> None:
    assert {*EXAMPLES, "power"} == set(REFERENCE["examples"])
    assert set(PUBLISHED) == set(REFERENCE["published_only"])


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_value_of_an_example_is_reproduced(name: str) -> None:
    assert EXAMPLES[name]() == pytest.approx(
        REFERENCE["examples"][name]["values"], rel=1e-6, abs=0
    )


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_published_value_is_reproduced_to_its_digits(name: str) -> None:
    published = REFERENCE["published_only"][name]
    digits = {"abs": published["tol_abs"]} if "tol_abs" in published else {"rel": 1e-6}
    assert PUBLISHED[name]() == pytest.approx(published["values"], **digits)


def test_the_trap_of_default_coding_is_not_what_we_compute() -> None:
    rows = {row.term: row for row in factorial_anova(TEETH["len"], TEETH_FACTORS, type=3).rows}
    for key, trap in REFERENCE["published_only"]["trap_typeIII_default_coding"]["values"].items():
        row = rows[(key[2:-1],)]
        ours = row.f if key.startswith("F") else row.p
        assert abs(ours - trap) > 0.1 * abs(trap)


@pytest.mark.parametrize(
    ("key", "effect", "power"), [("t_n_d05_80", 0.5, 0.8), ("t_n_d1_90", 1, 0.9)]
)
def test_the_fractional_sizes_of_r_have_the_power_asked_for(
    key: str, effect: float, power: float
) -> None:
    found = power_plan(REFERENCE["examples"]["power"]["values"][key], design="independent")
    reached = alarm_power(effect / found.se, alpha=0.05, df=found.df)
    assert reached == pytest.approx(power, rel=1e-6)


def test_welch_against_scipy() -> None:
    a, b = TOOTH_GROWTH
    expected = stats.ttest_ind(a, b, equal_var=False)
    interval = expected.confidence_interval(0.8)
    found = welch(a, b)
    ours = found.at_level(0.8)
    assert (found.t, found.df, found.p, ours.low, ours.high) == pytest.approx(
        (expected.statistic, expected.df, expected.pvalue, interval.low, interval.high), rel=1e-12
    )


@pytest.mark.requirement("ANCHOR-29")
def test_published_human_anchoring_study() -> None:
    """Means of 4.00 and 6.05 months, t(37) = 2.10, in Englich, Mussweiler & Strack (2006)."""
    se = se_from_t(difference=6.05 - 4.00, t=2.10)
    assert round(se, 3) == 0.976
    assert round(p_from_t(2.10, 37), 4) == 0.0426
    same = difference_of(2.05, 0.0, 1, 0.0, se, 37)
    assert (same.p, same.df) == pytest.approx((p_from_t(2.10, 37), 37))


def test_the_difference_of_two_described_samples_is_welchs() -> None:
    (a, b), expected = map(describe, TOOTH_GROWTH), welch(*TOOTH_GROWTH)
    found = difference_of(a.mean, a.se or 0, a.n - 1, b.mean, b.se or 0, b.n - 1)
    assert (found.estimate, found.se, found.df, found.p) == pytest.approx(
        (expected.estimate, expected.se, expected.df, expected.p), rel=1e-12
    )


@pytest.mark.requirement("ANCHOR-21", "ANCHOR-22")
def test_quartiles_are_of_type_7() -> None:
    """R: quantile(c(1, 2, 4, 8), type = 7) is 1.00 1.75 3.00 5.00 8.00."""
    found = describe([8, 1, 4, 2])
    assert (found.minimum, found.q1, found.median, found.q3, found.maximum) == (1, 1.75, 3, 5, 8)
    assert (found.n, found.mean) == (4, 3.75)
    assert (found.sd, found.se) == pytest.approx((math.sqrt(28.75 / 3), math.sqrt(28.75 / 12)))


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


@pytest.mark.parametrize(("df", "j"), [(2, 0.5642), (10, 0.9228), (50, 0.9849)])
def test_hedges_1981_table(df: int, j: float) -> None:
    assert hedges_j(df) == pytest.approx(j, abs=2e-4)


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
