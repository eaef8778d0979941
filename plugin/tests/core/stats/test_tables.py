"""Tables, rates and agreement of coders: against R, scipy, statsmodels and published tables."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import (  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types
    optimize,
    stats,
)
from statsmodels.stats.inter_rater import (  # type: ignore[import-untyped, unused-ignore]  # no types
    cohens_kappa,
)

from pytest_bias.errors import BadStatisticInput, NoVariance, TooFewUnits
from pytest_bias.stats.agreement import (
    Measurement,
    cohen_kappa,
    krippendorff_alpha,
)
from pytest_bias.stats.counts import chi_square, conditional_odds_ratio
from pytest_bias.stats.ranks import mann_whitney, vargha_delaney
from pytest_bias.stats.score import (
    LARGEST_RATIO,
    checked_strata,
    score_difference,
    score_difference_p,
    score_ratio,
    score_ratio_p,
    tost_rates,
    tost_ratio,
    z_difference,
    z_ratio,
)

from .reference import REFERENCE, assert_sound

JOB = REFERENCE["data"]["JobSatisfaction4x4"]
TEA = [[3, 1], [1, 3]]

cells = st.integers(0, 12)
tables = st.tuples(st.integers(2, 4), st.integers(2, 4)).flatmap(
    lambda shape: st.lists(
        st.lists(cells, min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    ).map(np.array)
)
full = tables.filter(lambda t: min((t.sum(axis=1) > 0).sum(), (t.sum(axis=0) > 0).sum()) > 1)


def near(expected: Any) -> object:
    return pytest.approx(expected, rel=1e-6)


def tails(odds: float) -> tuple[float, float, float]:
    """P(10 or more), P(10 or fewer) and the mean of the twins' count, in whole numbers."""
    chances = {
        k: math.comb(13, k) * math.comb(17, 12 - k) * Fraction(odds) ** k for k in range(13)
    }
    total = Fraction(sum(chances.values()))
    return (
        float(sum(c for k, c in chances.items() if k >= 10) / total),
        float(sum(c for k, c in chances.items() if k <= 10) / total),
        float(sum(k * c for k, c in chances.items()) / total),
    )


def test_convictions_of_twins_as_r_gives_them() -> None:
    # fisher.test(Convictions): like-sex twins of criminals, monozygotic and dizygotic
    found = conditional_odds_ratio(10, 13, 2, 17)
    assert (found.estimate, found.low) == near((21.30533, 2.753383))
    assert found.p == pytest.approx(0.0005367, abs=5e-8)
    # R finds the inverse of the upper bound, to .Machine$double.eps^0.25
    assert 1 / found.high == pytest.approx(1 / 300.6828, abs=2**-13)
    # exactly, at the numbers found here: below R's upper bound there are .02511
    assert tails(found.low)[0] == pytest.approx(0.025, rel=1e-9)
    assert tails(found.high)[1] == pytest.approx(0.025, rel=1e-9)
    assert tails(found.estimate)[2] == pytest.approx(10, rel=1e-9)
    assert tails(300.6828)[1] == pytest.approx(0.02511, abs=5e-6)


@given(st.integers(1, 40), st.integers(1, 40), st.data())
def test_conditional_odds_ratios_as_scipy(n_a: int, n_b: int, data: st.DataObject) -> None:
    a, b = data.draw(st.integers(0, n_a)), data.draw(st.integers(0, n_b))
    if a + b in {0, n_a + n_b}:
        with pytest.raises(NoVariance):
            conditional_odds_ratio(a, n_a, b, n_b)
        return
    found = conditional_odds_ratio(a, n_a, b, n_b)
    expected = stats.contingency.odds_ratio([[a, n_a - a], [b, n_b - b]], kind="conditional")
    interval = expected.confidence_interval(0.95)
    assert (found.estimate, found.low, found.high) == near(
        (expected.statistic, interval.low, interval.high)
    )
    swapped = conditional_odds_ratio(b, n_b, a, n_a)
    assert (found.p, found.high) == near((swapped.p, 1 / swapped.low if swapped.low else math.inf))


def test_odds_of_many_units_are_the_sample_s() -> None:
    found = conditional_odds_ratio(30_000, 50_000, 24_000, 50_000)
    assert found.estimate == pytest.approx(300 * 260 / (200 * 240), rel=1e-4)
    with pytest.raises(BadStatisticInput, match="possible tables"):
        conditional_odds_ratio(10**7, 2 * 10**7, 10**7, 2 * 10**7)


def test_measures_of_a_larger_table_as_scipy() -> None:
    found = chi_square(JOB, yates=True)
    assert found.cramers_v == pytest.approx(stats.contingency.association(np.array(JOB)))
    assert found.smallest_expected == pytest.approx(20 * 4 / 96)
    assert found.df == 9
    assert found == chi_square(JOB)


def test_bergsma_v_by_hand() -> None:
    # phi² = 1/9, n = 36: (1/9 - 1/35) / (1 - 1/35)
    found = chi_square([[12, 6], [6, 12]])
    assert found.cramers_v == pytest.approx(1 / 3)
    assert found.bergsma_v == pytest.approx(math.sqrt((1 / 9 - 1 / 35) / (34 / 35)))
    assert chi_square([[5, 5], [5, 5]]).bergsma_v == 0
    assert chi_square([[1, 0], [0, 1]]).bergsma_v == 0
    assert chi_square([[9, 0], [0, 9]]).bergsma_v == pytest.approx(1)


def test_bergsma_v_is_nearly_unbiased_where_v_is_not() -> None:
    rng = np.random.default_rng(1)
    drawn = stats.random_table([20, 20, 20], [20, 20, 20]).rvs(200, random_state=rng)
    found = [chi_square(table) for table in drawn]
    phi = [one.cramers_v**2 for one in found]
    assert np.mean(phi) > 2 * np.mean([one.bergsma_v**2 for one in found])


def test_counts_of_very_many_units_are_sound() -> None:
    assert_sound(chi_square([[10**14, 1], [1, 10**14]]))


def test_empty_rows_and_columns_are_dropped() -> None:
    found = chi_square([[3, 0, 1], [0, 0, 0], [1, 0, 3]], yates=True)
    assert found.p == chi_square(TEA, yates=True).p


@given(table=full, random=st.randoms(use_true_random=False), yates=st.booleans())
def test_measures_do_not_depend_on_the_order_of_rows_and_columns(
    table: Any, random: Any, *, yates: bool
) -> None:
    found = chi_square(table, yates=yates)
    assert_sound(found)
    assert 0 <= found.cramers_v <= 1
    assert 0 <= found.bergsma_v <= 1
    rows, columns = (random.sample(range(size), size) for size in table.shape)
    for turned in (
        chi_square(table[rows][:, columns], yates=yates),
        chi_square(table.T, yates=yates),
    ):
        assert turned.chi2 == pytest.approx(found.chi2, abs=1e-9)
        assert turned.cramers_v == pytest.approx(found.cramers_v, abs=1e-6)
        assert turned.bergsma_v == pytest.approx(found.bergsma_v, abs=1e-6)


CODERS = REFERENCE["data"]["krippendorff_2011"]
MEASUREMENTS = get_args(Measurement)
NAN = float("nan")

matrices = st.tuples(st.integers(2, 4), st.integers(2, 8)).flatmap(
    lambda shape: st.lists(
        st.lists(st.one_of(st.none(), st.integers(0, 4)), min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    )
)


def test_nominal_alpha_of_words_is_that_of_numbers() -> None:
    words = [[None if r is None else f"code {r}" for r in coder] for coder in CODERS]
    numbers: Any = np.array([[NAN if r is None else r for r in coder] for coder in CODERS])
    expected = krippendorff_alpha(CODERS)
    assert expected.interval is None
    assert krippendorff_alpha(words).alpha == pytest.approx(expected.alpha)
    assert krippendorff_alpha(numbers).alpha == pytest.approx(expected.alpha)


def test_bootstrap_interval_of_alpha_is_reproducible_and_narrows_with_units() -> None:
    few = krippendorff_alpha(CODERS, level="ordinal", iterations=200, seed=4)
    assert few.interval is not None
    assert few == krippendorff_alpha(CODERS, level="ordinal", iterations=200, seed=4)
    assert not few.interval.excludes(few.alpha)
    many = krippendorff_alpha(
        [coder * 8 for coder in CODERS], level="ordinal", iterations=200, seed=4
    )
    assert many.interval is not None
    assert many.interval.high - many.interval.low < few.interval.high - few.interval.low


def test_resamples_of_one_category_are_left_out() -> None:
    found = krippendorff_alpha([[1, 1, 1, 2], [1, 1, 2, 2]], iterations=1000, seed=1)
    # (1/2)^4 of them have the first two units alone
    assert found.interval is not None
    assert found.interval.low < found.alpha < found.interval.high == 1
    # a resample of two units has both with probability 1/2
    few = krippendorff_alpha([[1, 2], [1, 2]], iterations=100, seed=1)
    assert (few.alpha, few.interval) == (1, None)


def test_the_interval_holds_an_alpha_that_no_resample_reaches() -> None:
    """A resample of categories that each stand twice has fewer of them, and agrees by chance."""
    found = krippendorff_alpha([[*"abcdefgh"], [*"bcdefgha"]], iterations=1000, seed=1)
    assert found.interval is not None
    assert found.interval.low < found.alpha == found.interval.high == pytest.approx(-1 / 14)


def test_perfect_agreement_has_no_interval() -> None:
    """Whoever resamples it finds no other: that is no certainty of 95 %, least of all of 20."""
    ratings = [[1, 2] * 10, [1, 2] * 10]
    found = krippendorff_alpha(ratings, level="interval", iterations=1000, seed=1)
    assert (found.alpha, found.interval) == (1, None)


def test_ratings_that_differ_by_rounding_are_the_same() -> None:
    found = krippendorff_alpha([[0.1 + 0.2, 1.0], [0.3, 1.0]], level="ordinal")
    assert found.alpha == 1


def test_perfect_agreement_has_no_standard_error() -> None:
    found = cohen_kappa([1, 2, 1, 2], [1, 2, 1, 2])
    assert (found.kappa, found.se, found.interval) == (1, None, None)
    one_sided = cohen_kappa([1, 1, 1], [1, 1, 2])
    assert (one_sided.kappa, one_sided.se) == (0, None)


@given(matrices, st.sampled_from(MEASUREMENTS), st.randoms(use_true_random=False))
def test_order_of_coders_and_units_does_not_matter_to_alpha(
    coders: list[list[int | None]], level: Measurement, random: Any
) -> None:
    try:
        found = krippendorff_alpha(coders, level=level)
    except (NoVariance, TooFewUnits):
        return
    assert_sound(found)
    assert found.alpha <= 1
    order = random.sample(range(len(coders[0])), len(coders[0]))
    turned = [[coder[i] for i in order] for coder in coders[::-1]]
    assert krippendorff_alpha(turned, level=level).alpha == pytest.approx(found.alpha, abs=1e-9)
    tripled = [[None if r is None else 3 * r for r in coder] for coder in coders]
    assert krippendorff_alpha(tripled, level=level).alpha == pytest.approx(found.alpha, abs=1e-9)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=40))
def test_kappa_and_its_standard_error_as_statsmodels(pairs: list[tuple[int, int]]) -> None:
    values = sorted({value for pair in pairs for value in pair})
    if len(values) < 2:
        with pytest.raises(NoVariance):
            cohen_kappa(*zip(*pairs, strict=True))
        return
    table = np.zeros((len(values), len(values)))
    for first, second in pairs:
        table[values.index(first), values.index(second)] += 1
    with np.errstate(all="ignore"):  # its z is 0 / 0 where a coder uses one category
        expected = cohens_kappa(table)
    found = cohen_kappa(*zip(*pairs, strict=True))
    assert found.kappa == pytest.approx(expected.kappa, abs=1e-12)
    assert (found.se or 0) ** 2 == pytest.approx(expected.var_kappa, abs=1e-12)
    assert_sound(found)
    assert found.interval is None or not found.interval.excludes(found.kappa)
    turned = cohen_kappa(*zip(*[(-b, -a) for a, b in pairs], strict=True))
    assert turned.kappa == pytest.approx(found.kappa, abs=1e-9)


ratings = st.integers(1, 5).map(float)
groups = st.lists(ratings, min_size=2, max_size=9)
anything = st.lists(st.floats(-1e100, 1e100), min_size=2, max_size=8)


def test_mann_whitney_exact_p_counts_relabellings() -> None:
    assert mann_whitney([1, 2, 3], [4, 5, 6]).p_exact == pytest.approx(2 / 20)
    assert mann_whitney([1, 2, 4], [3, 5, 6]).p_exact == pytest.approx(4 / 20)
    assert mann_whitney(range(51), np.arange(51) + 0.5).p_exact is None


def test_values_that_differ_by_rounding_are_ties() -> None:
    assert mann_whitney([0.3, 0.1 + 0.2], [0.3, 0.1 + 0.2]).p_exact is None
    assert vargha_delaney([0.1 + 0.2], [0.3]) == 0.5


@given(st.lists(st.integers(0, 6), min_size=2), st.lists(st.integers(0, 6), min_size=2))
def test_p_and_u_are_those_of_scipy(a: list[int], b: list[int]) -> None:
    assume(len({*a, *b}) > 1)
    theirs = stats.mannwhitneyu(a, b, method="asymptotic")
    found = mann_whitney(a, b)
    assert found.u == theirs.statistic
    assert found.p == pytest.approx(theirs.pvalue, rel=1e-13)


def test_equal_values_everywhere() -> None:
    found = mann_whitney([3, 3], [3, 3, 3])
    assert (found.u, found.p, found.p_exact) == (3, 1, None)


@given(groups, groups)
def test_two_groups_exchanged_and_rescaled(a: list[float], b: list[float]) -> None:
    one, other = mann_whitney(a, b), mann_whitney(b, a)
    assert_sound(one)
    assert one.u + other.u == pytest.approx(len(a) * len(b))
    assert one.p == pytest.approx(other.p)
    assert 0 <= vargha_delaney(a, b) <= 1
    pairs = [(x > y) + (x == y) / 2 for x, y in itertools.product(a, b)]
    assert vargha_delaney(a, b) == pytest.approx(np.mean(pairs))
    assert mann_whitney(np.exp(a), np.exp(b)) == one
    assert mann_whitney(sorted(a), b) == one


@given(anything, anything)
def test_any_finite_values_give_finite_results(a: list[float], b: list[float]) -> None:
    assert_sound(mann_whitney(a, b))


nulls = st.integers(-98, 98).map(lambda i: i / 100)
# Strata that contradict one another may, very rarely, break what holds otherwise.
steadily = settings(derandomize=True)
TABLES = [(7, 30, 3, 28), (15, 40, 16, 35), (29, 30, 20, 25), (1, 20, 5, 50), (56, 70, 48, 80)]


@st.composite
def strata(draw: st.DrawFn) -> tuple[list[int], list[int], list[int], list[int]]:
    n_a = draw(st.lists(st.integers(1, 40), min_size=1, max_size=4))
    n_b = [draw(st.integers(1, 40)) for _ in n_a]
    return [draw(st.integers(0, n)) for n in n_a], n_a, [draw(st.integers(0, n)) for n in n_b], n_b


def swapped(counts: tuple[Any, Any, Any, Any]) -> tuple[Any, Any, Any, Any]:
    x_a, n_a, x_b, n_b = counts
    return x_b, n_b, x_a, n_a


def failures(counts: tuple[Any, Any, Any, Any]) -> tuple[Any, Any, Any, Any]:
    x_a, n_a, x_b, n_b = (np.array(each) for each in counts)
    return n_a - x_a, n_a, n_b - x_b, n_b


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        # method 5 of Newcombe (1998, Statistics in Medicine 17, 873-890, table II)
        ((56, 70, 48, 80), 0.0528, 0.3382),
        ((9, 10, 3, 10), 0.1700, 0.8406),
        ((6, 7, 2, 7), 0.0342, 0.8534),
        ((5, 56, 0, 29), -0.0326, 0.1933),
        ((0, 10, 0, 20), -0.1658, 0.2844),
        ((0, 10, 0, 10), -0.2879, 0.2879),
        ((10, 10, 0, 20), 0.7156, 1.0000),
        ((10, 10, 0, 10), 0.6636, 1.0000),
        # R's PropCIs::diffscoreci
        ((7, 34, 1, 34), 0.02704, 0.34529),
    ],
)
def test_published_intervals(counts: tuple[int, int, int, int], low: float, high: float) -> None:
    found = score_difference(*counts)
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high), abs=5.1e-5)


@pytest.mark.parametrize("counts", TABLES)
def test_against_statsmodels(counts: tuple[int, int, int, int]) -> None:
    # statsmodels 0.15 takes a wrong restricted estimate for differences other than 0 (a count for
    # a size in the cubic), so that only its test of no difference and its ratio serve.
    from statsmodels.stats import proportion  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415  (statsmodels takes a second to import)

    tested = proportion.test_proportions_2indep(*counts, method="score", compare="diff")
    assert score_difference(*counts).p == pytest.approx(tested.pvalue, rel=1e-9)
    ratio = score_ratio(*counts)
    expected = proportion.confint_proportions_2indep(*counts, method="score", compare="ratio")
    assert (ratio.interval.low, ratio.interval.high) == pytest.approx(expected, rel=1e-6)
    assert ratio.p == pytest.approx(tested.pvalue, rel=1e-9)
    for null in (0.5, 2.0):
        z = proportion.test_proportions_2indep(
            *counts, value=null, method="score", compare="ratio"
        ).statistic
        assert z_ratio(checked_strata(*counts), null) == pytest.approx(z)


def test_no_difference_is_the_chi_square_test_with_n_minus_1() -> None:
    table = np.array([[15, 25], [16, 19]])
    chi_square = stats.chi2_contingency(table, correction=False).statistic * 74 / 75
    assert score_difference(15, 40, 16, 35).p == pytest.approx(stats.chi2.sf(chi_square, 1))


def log_likelihood(x: int, n: int, rate: float) -> float:
    return float(stats.binom.logpmf(x, n, min(1.0, max(0.0, rate))))


@given(st.data(), st.integers(1, 60), st.integers(1, 60), nulls)
def test_restricted_rates_maximise_the_likelihood(
    data: st.DataObject, n_a: int, n_b: int, null: float
) -> None:
    x_a, x_b = data.draw(st.integers(0, n_a)), data.draw(st.integers(0, n_b))

    best = optimize.minimize_scalar(
        lambda rate: -log_likelihood(x_a, n_a, rate + null) - log_likelihood(x_b, n_b, rate),
        bounds=(max(0.0, -null), min(1.0, 1 - null)),
        method="bounded",
        options={"xatol": 1e-12},
    ).x
    rate_a, total = best + null, n_a + n_b
    variance = rate_a * (1 - rate_a) / n_a + best * (1 - best) / n_b
    expected = (x_a / n_a - x_b / n_b - null) / math.sqrt(variance * total / (total - 1))
    found = z_difference(checked_strata(x_a, n_a, x_b, n_b), null)
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-4)


@steadily
@given(strata(), st.floats(0.5, 0.999))
def test_differences(counts: tuple[Any, Any, Any, Any], level: float) -> None:
    found = score_difference(*counts, level=level)
    assert_sound(found)
    assert -1 <= found.interval.low < found.interval.high <= 1
    assert not found.interval.excludes(found.estimate)
    assert found.estimate == pytest.approx(found.rate_a - found.rate_b)
    if abs(found.p - (1 - level)) > 1e-6:
        assert found.interval.excludes(0) == (found.p < 1 - level)
    back = score_difference(*swapped(counts), level=level)
    assert (back.estimate, back.p) == pytest.approx((-found.estimate, found.p), abs=1e-12)
    assert back.interval.low == pytest.approx(-found.interval.high, abs=1e-6)
    other = score_difference(*failures(counts), level=level)
    assert (other.estimate, other.p) == pytest.approx((-found.estimate, found.p), abs=1e-9)
    assert other.interval.low == pytest.approx(-found.interval.high, abs=1e-6)
    turned = score_difference(*(each[::-1] for each in counts), level=level)
    assert (turned.interval.low, turned.p) == pytest.approx(
        (found.interval.low, found.p), abs=1e-9
    )


@steadily
@given(strata(), st.floats(0.5, 0.999))
def test_ratios(counts: tuple[Any, Any, Any, Any], level: float) -> None:
    if sum(counts[0]) + sum(counts[2]) == 0:
        with pytest.raises(NoVariance):
            score_ratio(*counts)
        return
    found = score_ratio(*counts, level=level)
    assert_sound(found)
    assert 0 <= found.interval.low < found.interval.high <= LARGEST_RATIO
    assert not found.interval.excludes(found.estimate)
    if abs(found.p - (1 - level)) > 1e-6:
        assert found.interval.excludes(1) == (found.p < 1 - level)
    back = score_ratio(*swapped(counts), level=level)
    assert back.p == pytest.approx(found.p)
    if found.rate_a > 0 and found.rate_b > 0:
        assert back.estimate == pytest.approx(1 / found.estimate)
        assert back.interval.low == pytest.approx(1 / found.interval.high, rel=1e-6)


@steadily
@given(strata(), st.floats(0.02, 0.45), st.floats(1, 2))
def test_equivalence_of_rates(
    counts: tuple[Any, Any, Any, Any], margin: float, factor: float
) -> None:
    narrow = tost_rates(*counts, margin=margin)
    assert_sound(narrow)
    assert narrow.p == max(
        score_difference_p(*counts, null=-margin, alternative="greater"),
        score_difference_p(*counts, null=margin, alternative="less"),
    )
    assert tost_rates(*counts, margin=margin * factor).p <= narrow.p * (1 + 1e-6)
    assert tost_rates(*swapped(counts), margin=margin).p == pytest.approx(narrow.p, rel=1e-5)
    if abs(narrow.p - 0.05) > 1e-6:
        assert narrow.interval.within(margin) == (narrow.p < 0.05)


@steadily
@given(strata(), st.floats(1.05, 3))
def test_equivalence_of_ratios(counts: tuple[Any, Any, Any, Any], margin: float) -> None:
    if sum(counts[0]) + sum(counts[2]) == 0:
        with pytest.raises(NoVariance):
            tost_ratio(*counts, margin=margin)
        return
    found = tost_ratio(*counts, margin=margin)
    assert_sound(found)
    assert found.p == max(
        score_ratio_p(*counts, null=1 / margin, alternative="greater"),
        score_ratio_p(*counts, null=margin, alternative="less"),
    )
    if abs(found.p - 0.05) > 1e-6:
        inside = 1 / margin <= found.interval.low and found.interval.high <= margin
        assert inside == (found.p < 0.05)
    assert tost_ratio(*counts, margin=2 * margin).p <= found.p * (1 + 1e-6)
    assert tost_ratio(*swapped(counts), margin=margin).p == pytest.approx(found.p, rel=1e-5)


def test_a_null_that_differs_from_0_by_rounding_only_is_no_evidence() -> None:
    for counts in ((5, 5, 5, 5), (0, 5, 0, 5)):
        for null in (1e-20, -1e-20, 1e-13):
            assert score_difference_p(*counts, null=null, alternative="two-sided") > 0.999


def test_one_and_two_sided_p_values() -> None:
    greater = score_difference_p(7, 34, 1, 34, null=0.02, alternative="greater")
    less = score_difference_p(7, 34, 1, 34, null=0.02, alternative="less")
    assert greater + less == pytest.approx(1)
    both = score_difference_p(7, 34, 1, 34, null=0.02, alternative="two-sided")
    assert both == pytest.approx(2 * min(greater, less))
    bound = score_difference(7, 34, 1, 34).interval.low
    assert score_difference_p(7, 34, 1, 34, null=bound, alternative="two-sided") == pytest.approx(
        0.05
    )


def test_every_stratum_counts_the_same() -> None:
    uneven = score_difference([1, 4], [2, 8], [1, 1], [2, 4])
    assert uneven.estimate == pytest.approx(np.mean([0.5 - 0.5, 0.5 - 0.25]))
    ratio = score_ratio([1, 4], [2, 8], [1, 1], [2, 4])
    assert ratio.estimate == pytest.approx(0.5 / 0.375)


def test_numpy_counts_serve() -> None:
    arrays = (np.array([1, 4]), np.array([2, 8]), np.array([2, 1]), np.array([2, 4]))
    assert score_difference(*arrays) == score_difference([1, 4], [2, 8], [2, 1], [2, 4])


def test_no_refusal_anywhere_still_leaves_a_width() -> None:
    cells = 72
    zeros, twos = [0] * cells, [2] * cells
    found = score_difference(zeros, twos, zeros, twos)
    assert (found.estimate, found.p) == (0, 1)
    assert 0.01 < found.interval.high == -found.interval.low < 0.1
    cleared = tost_rates(zeros, twos, zeros, twos, margin=0.1)
    assert cleared.p < 0.05
    assert tost_rates(0, 10, 0, 10, margin=0.1).p > 0.05


def test_ratios_without_an_event_in_one_group() -> None:
    without_b = score_ratio(5, 30, 0, 30)
    assert without_b.estimate == without_b.interval.high == LARGEST_RATIO
    assert 1 < without_b.interval.low < 2
    without_a = score_ratio(0, 30, 5, 30)
    assert (without_a.estimate, without_a.interval.low) == (0, 0)
    assert without_a.interval.high < LARGEST_RATIO
    assert without_a.interval.high == pytest.approx(1 / without_b.interval.low)
    assert without_a.p == pytest.approx(without_b.p)


def test_stratified_tests_keep_their_size_where_strata_differ() -> None:
    rng = np.random.default_rng(6)
    rates = np.array([0.02, 0.1, 0.3, 0.5, 0.8, 0.95])
    n = np.array([6, 6, 6, 6, 6, 6])
    found = [
        score_difference_p(
            rng.binomial(n, rates), n, rng.binomial(n, rates), n, null=0, alternative="two-sided"
        )
        for _ in range(1_500)
    ]
    size = np.mean(np.array(found) <= 0.05)
    assert abs(size - 0.05) <= 2.5 * math.sqrt(0.05 * 0.95 / 1_500)


def test_bad_counts_and_arguments() -> None:
    bad: list[tuple[Any, type[Exception]]] = [
        ((0, 0, 1, 2), TooFewUnits),
        (([1, 0], [2, 0], [1, 1], [2, 2]), TooFewUnits),
        (([], [], [], []), TooFewUnits),
        ((3, 2, 1, 2), BadStatisticInput),
        ((-1, 2, 1, 2), BadStatisticInput),
        ((1.0, 2, 1, 2), BadStatisticInput),
        (([1, 1], [2, 2], [1], [2]), BadStatisticInput),
        (([[1]], [[2]], [[1]], [[2]]), BadStatisticInput),
    ]
    for counts, error in bad:
        for function in (score_difference, score_ratio):
            with pytest.raises(error):
                function(*counts)
    good = (1, 4, 2, 4)
    for call in (
        lambda: score_difference(*good, level=1),
        lambda: score_difference_p(*good, null=1, alternative="less"),
        lambda: score_difference_p(*good, null=math.nan, alternative="less"),
        lambda: tost_rates(*good, margin=0),
        lambda: tost_rates(*good, margin=1),
        lambda: tost_ratio(*good, margin=1),
        lambda: tost_ratio(*good, margin=math.inf),
    ):
        with pytest.raises(BadStatisticInput):
            call()
    with pytest.raises(TooFewUnits, match="b in stratum 1"):
        score_difference([1, 1], [2, 2], [1, 0], [2, 0])
