"""Every reference value there is, by the function that gives it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.contrasts.people import Human
from pytest_bias.stats.agreement import krippendorff_alpha
from pytest_bias.stats.classical import chi_square, factorial_anova, mann_whitney, one_way, wilson
from pytest_bias.stats.equivalence import (
    clearing_interval,
    clearing_p,
    contrast_of,
    further_of,
    sides_of,
)
from pytest_bias.stats.means import (
    StudentEstimate,
    cohen_d,
    cohen_dz,
    describe,
    difference_of,
    one_sample,
    p_from_t,
    standardized_difference,
    welch,
)
from pytest_bias.stats.results import Interval
from pytest_bias.stats.simultaneous import holm, max_t

from .reference import REFERENCE, SLEEP, TOOTH_GROWTH, split

Found = Mapping[str, float]

DATA: dict[str, Any] = REFERENCE["data"]
TEETH = DATA["ToothGrowth_unbalanced"]
TEETH_FACTORS = {"supp": TEETH["supp"], "dose": [str(dose) for dose in TEETH["dose"]]}
UCB = np.array(DATA["UCBAdmissions"]["Freq"], dtype=int).reshape(6, 2, 2).sum(axis=0)
OZONE = tuple(split("airquality_ozone", "Ozone", "Month", month) for month in (5, 8))
DIFFERENCES = np.subtract(*SLEEP)


def interval_of(found: Interval, low: str = "ci_lo", high: str = "ci_hi") -> Found:
    return {low: found.low, high: found.high}


def welch_of(a: list[float], b: list[float]) -> Found:
    found = welch(a, b)
    return {"t": found.t, "df": found.df, "p": found.p, **interval_of(found.interval)}


def effect_of(a: list[float], b: list[float]) -> Found:
    found = standardized_difference(a, b)
    assert found.d == cohen_d(a, b)
    return {
        "cohen_d": found.d,
        "hedges_J": found.j,
        "hedges_g": found.g,
        **interval_of(found.interval, "d_ci_lo", "d_ci_hi"),
    }


def tost_of(found: StudentEstimate, *groups: Any, margin: float = 2.0) -> Found:
    """The clearing rule on a scale without ends is that of two one-sided t tests."""
    weights = (1.0, -1.0)[: len(groups)]
    cells = [np.asarray(group) for group in groups]
    sides, _ = sides_of(cells, weights, low=-math.inf, high=math.inf)
    assert contrast_of(sides) == pytest.approx((found.estimate, found.se))
    further = further_of(sides)
    p_lower = clearing_p(further, low=-margin, high=math.inf, df=found.df)
    p_upper = clearing_p(further, low=-math.inf, high=margin, df=found.df)
    interval = clearing_interval(further, df=found.df)
    assert interval is not None
    return {
        "t_lower": (found.estimate + margin) / found.se,
        "t_upper": (found.estimate - margin) / found.se,
        "p_lower": p_lower,
        "p_upper": p_upper,
        "p_tost": clearing_p(further, low=-margin, high=margin, df=found.df),
        **interval_of(interval, "ci90_lo", "ci90_hi"),
    }


def with_moments(mean: float, sd: float, n: int) -> Any:
    """Values of a mean and an SD."""
    values = np.linspace(-1, 1, n)
    return mean + sd * values / values.std(ddof=1)


def tost_of_summary() -> Found:
    """The bound is .43 pooled standard deviations of Moon & Roeder's groups; printed t = -2.69."""
    bound = 0.43 * math.sqrt((0.95**2 + 0.83**2) / 2)
    groups = with_moments(5.25, 0.95, 95), with_moments(5.22, 0.83, 89)
    found = difference_of(
        StudentEstimate(estimate=5.25, se=0.95 / math.sqrt(95), df=94),
        StudentEstimate(estimate=5.22, se=0.83 / math.sqrt(89), df=88),
    )
    every = {"bound_raw": bound, "df": found.df, **tost_of(found, *groups, margin=bound)}
    return {key: value for key, value in every.items() if key != "p_tost"}


def warpbreaks() -> Found:
    data = DATA["warpbreaks"]
    factors = {name: data[name] for name in ("wool", "tension")}
    return {
        f"{statistic}[{':'.join(row.term)}]": value
        for row in factorial_anova(data["breaks"], factors)
        for statistic, value in (
            ("F", row.f),
            ("p", row.p),
            ("partial_eta2", row.partial_eta2),
        )
    }


def toothgrowth_unbalanced() -> Found:
    return {
        f"typeIII_{statistic}[{':'.join(row.term)}]": value
        for row in factorial_anova(TEETH["len"], TEETH_FACTORS)
        for statistic, value in (("F", row.f), ("p", row.p))
    }


def ucb() -> Found:
    pooled, corrected = chi_square(UCB), chi_square(UCB, yates=True)
    return {
        "pooled_chi2": pooled.chi2,
        "pooled_p": pooled.p,
        "pooled_chi2_yates": corrected.chi2,
        "pooled_p_yates": corrected.p,
        "pooled_phi_V": pooled.cramers_v,
    }


def airquality() -> Found:
    found = mann_whitney(*OZONE)
    return {"U": found.u, "p_cc": found.p, "A12": found.above}


def smokers() -> Found:
    found = chi_square([[83, 90, 129, 70], [3, 3, 7, 12]])
    assert found.df == 3
    return {"chi2": found.chi2, "p": found.p}


def adjusted() -> Found:
    return {f"holm[{i}]": float(p) for i, p in enumerate(holm(DATA["padjust_p"]), start=1)}


def coders() -> Found:
    ratings = DATA["krippendorff_2011"]
    return {
        "alpha_nominal": krippendorff_alpha(ratings, level="nominal").alpha,
        "alpha_ordinal": krippendorff_alpha(ratings, level="ordinal").alpha,
        "alpha_interval": krippendorff_alpha(ratings, level="interval").alpha,
    }


EXAMPLES: dict[str, Callable[[], Found]] = {
    "warpbreaks_twoway": warpbreaks,
    "toothgrowth_unbalanced": toothgrowth_unbalanced,
    "sleep_welch": lambda: welch_of(*SLEEP),
    "toothgrowth_welch": lambda: welch_of(*TOOTH_GROWTH),
    "effect_d_toothgrowth": lambda: effect_of(*TOOTH_GROWTH),
    "effect_d_sleep": lambda: effect_of(*SLEEP),
    "tost_sleep_welch_pm2": lambda: tost_of(welch(*SLEEP), *SLEEP),
    "tost_sleep_paired_pm2": lambda: tost_of(one_sample(DIFFERENCES), DIFFERENCES),
    "tost_summary_lakens2017": tost_of_summary,
    "ucb": ucb,
    "mwu_airquality": airquality,
    "smokers_prop": smokers,
    "padjust_bh1995": adjusted,
}
ROUGH = {"d_ci_lo": 1e-6, "d_ci_hi": 1e-6}
"""R's `uniroot` and `optimize` find these to fewer digits."""


def test_no_example_is_left_without_a_function() -> None:
    assert {*EXAMPLES, "power"} == set(REFERENCE["examples"])


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_value_of_an_example_is_reproduced(name: str) -> None:
    found, expected = EXAMPLES[name](), REFERENCE["examples"][name]["values"]
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, rel=ROUGH.get(key, 1e-10), abs=1e-14), key


def test_krippendorffs_alphas_are_those_published() -> None:
    published = REFERENCE["published_only"]["krippendorff_2011"]
    assert coders() == pytest.approx(published["values"], abs=published["tol_abs"])


@pytest.mark.parametrize("replicates", [21, 201, 2001])
@pytest.mark.parametrize(
    ("whole", "digits"), [("1", 1e-12), ("1000000", 1e-9), ("1000000000000", 1e-4)]
)
def test_nist_certified_f_of_simon_and_lesage(whole: str, replicates: int, digits: float) -> None:
    """NIST StRD SmLs01 to 09: F is the number of replicates; the last have an SD of 1e-13."""
    groups = [
        [float(f"{whole}.{middle + step}") for step in (0, *[-1, 1] * (replicates // 2))]
        for middle in (4, 3, 5, 3, 5, 3, 5, 3, 5)
    ]
    found = one_way(groups)
    assert found.f == pytest.approx(replicates, rel=digits)
    assert (found.df_between, found.df_within) == (8, 9 * (replicates - 1))
    labels = [str(i) for i, group in enumerate(groups) for _ in group]
    (row,) = factorial_anova(np.concatenate(groups), {"group": labels})
    assert row.f == pytest.approx(replicates, rel=digits)


@pytest.mark.parametrize("whole", ["1", "1000000", "10000000"])
def test_nist_certified_moments(whole: str) -> None:
    """NIST StRD NumAcc2 to 4: 1,001 values about the first, with an SD of exactly .1."""
    found = describe([float(f"{whole}.2"), *[float(f"{whole}.{tenth}") for tenth in "13"] * 500])
    assert found.mean == pytest.approx(float(f"{whole}.2"), rel=1e-14)
    assert found.sd == pytest.approx(0.1, rel=1e-8)


@pytest.mark.requirement("ANCHOR-29")
def test_published_human_anchoring_study() -> None:
    """Means of 4.00 and 6.05 months, t(37) = 2.10, in Englich, Mussweiler & Strack (2006)."""
    se = Human.tested(high=6.05, low=4.00, t=2.10, df=37, n=39, citation="2006").se
    assert round(se, 3) == 0.976
    assert round(p_from_t(2.10, 37), 4) == 0.0426
    same = difference_of(
        StudentEstimate(estimate=2.05, se=0.0, df=1), StudentEstimate(estimate=0.0, se=se, df=37)
    )
    assert (same.p, same.df) == pytest.approx((p_from_t(2.10, 37), 37))


@pytest.mark.requirement("ANCHOR-21", "ANCHOR-22")
def test_quartiles_are_of_type_7() -> None:
    """R: quantile(c(1, 2, 4, 8), type = 7) is 1.00 1.75 3.00 5.00 8.00."""
    found = describe([8, 1, 4, 2])
    assert (found.minimum, found.q1, found.median, found.q3, found.maximum) == (1, 1.75, 3, 5, 8)
    assert (found.n, found.mean) == (4, 3.75)
    assert (found.sd, found.se) == pytest.approx((math.sqrt(28.75 / 3), math.sqrt(28.75 / 12)))


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
    assert cohen_dz(np.arange(df + 1.0)).j == pytest.approx(j, abs=2e-4)


@pytest.mark.parametrize("groups", [3, 5])
@pytest.mark.parametrize("q", [2.5, 3.5, 4.5])
def test_max_t_of_balanced_pairs_is_the_studentized_range(groups: int, q: float) -> None:
    pairs = [(i, j) for i in range(groups) for j in range(i)]
    contrasts = np.array([[(at == i) - (at == j) for at in range(groups)] for i, j in pairs])
    correlation = contrasts @ contrasts.T / 2
    t = [q / math.sqrt(2), *[0.0] * (len(pairs) - 1)]
    expected = float(stats.studentized_range.sf(q, groups, 20))
    error = math.sqrt(expected * (1 - expected) / 100_000)
    assert max_t(t, correlation, 20, seed=3)[0] == pytest.approx(expected, abs=4 * error)
