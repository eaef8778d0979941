"""Rates compared within strata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_bias.errors import BadStatisticInput, BiasError, NoVariance, TooFewUnits
from pytest_bias.statistics.stratified_tables import mantel_haenszel

from .reference import REFERENCE, values
from .test_properties import assert_sound

if TYPE_CHECKING:
    from collections.abc import Callable

# strata are departments; rows men and women, columns admitted and rejected
UCB = np.array(REFERENCE["data"]["UCBAdmissions"]["Freq"], dtype=int).reshape(6, 2, 2)

strata = st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=1, max_size=4).map(
    lambda counts: np.reshape(counts, (-1, 2, 2))
)


def close(expected: Any) -> object:
    return pytest.approx(expected, rel=1e-6)


def test_mantel_haenszel_as_r() -> None:
    expected = values("ucb")
    found = mantel_haenszel(UCB)
    assert (found.chi2, found.p) == close((expected["cmh_chi2"], expected["cmh_p"]))
    assert found.chi2_corrected == close(expected["cmh_chi2_cc"])
    assert found.p_corrected == close(expected["cmh_p_cc"])
    assert found.odds_ratio is not None
    assert found.odds_ratio.estimate == close(expected["cmh_OR"])
    assert found.odds_ratio.interval.low == close(expected["cmh_OR_lo"])
    assert found.odds_ratio.interval.high == close(expected["cmh_OR_hi"])
    assert found.risk_difference is not None
    assert found.risk_difference.estimate == close(expected["mh_risk_diff"])
    assert found.risk_difference.se == close(expected["mh_risk_diff_se_sato"])
    assert (found.strata, found.dropped_strata) == (6, 0)


def test_one_stratum_gives_the_plain_effects() -> None:
    found = mantel_haenszel([[[12, 8], [5, 15]]])
    assert found.risk_difference is not None
    assert found.odds_ratio is not None
    assert found.risk_difference.estimate == pytest.approx(12 / 20 - 5 / 20)
    assert found.odds_ratio.estimate == pytest.approx(12 * 15 / (8 * 5))


def test_strata_without_both_groups_are_dropped_and_change_nothing() -> None:
    found = mantel_haenszel([*UCB.tolist(), [[0, 0], [30, 2]], [[0, 0], [0, 0]], [[1, 0], [0, 0]]])
    assert found.dropped_strata == 3
    before = mantel_haenszel(UCB)
    assert (found.chi2, found.p, found.odds_ratio, found.risk_difference, found.strata) == (
        before.chi2,
        before.p,
        before.odds_ratio,
        before.risk_difference,
        before.strata,
    )


def test_separated_groups_have_no_finite_effect_but_a_test() -> None:
    found = mantel_haenszel([[[9, 0], [0, 9]], [[5, 0], [0, 7]]])
    assert found.odds_ratio is None
    assert found.risk_difference is None
    assert found.p < 1e-6


def test_a_difference_smaller_than_the_correction_is_corrected_to_none() -> None:
    found = mantel_haenszel([[[2, 2], [2, 3]]])
    assert found.chi2 > 0
    assert (found.chi2_corrected, found.p_corrected) == (0, 1)
    even = mantel_haenszel([[[2, 2], [2, 2]]])
    assert (even.chi2, even.p, even.p_corrected) == (0, 1, 1)


def test_satos_variance_keeps_its_level_in_sparse_strata() -> None:
    rng = np.random.default_rng(5)
    runs, inside = 400, 0
    for _ in range(runs):
        base = rng.uniform(0.2, 0.6, size=30)
        a, b = rng.binomial(3, base + 0.2), rng.binomial(3, base)
        tables = np.stack([a, 3 - a, b, 3 - b], axis=1).reshape(-1, 2, 2)
        found = mantel_haenszel(tables).risk_difference
        assert found is not None
        inside += not found.interval.excludes(0.2)
    assert 0.92 <= inside / runs <= 0.98


@pytest.mark.parametrize(
    ("tables", "error"),
    [
        ([[[1, 2], [0, 0]]], TooFewUnits),
        ([[[0, 0], [0, 0]]], TooFewUnits),
        ([[[3, 0], [2, 0]], [[0, 4], [0, 2]]], NoVariance),
        ([[1, 2], [3, 4]], BadStatisticInput),
        ([[[1, 2, 3], [3, 4, 5]]], BadStatisticInput),
        ([[[1.0, 2], [3, 4]]], BadStatisticInput),
        ([[[1, 2], [3, -4]]], BadStatisticInput),
        ([], BadStatisticInput),
    ],
)
def test_bad_input(tables: Any, error: type[BiasError]) -> None:
    with pytest.raises(error):
        mantel_haenszel(tables)


def test_a_level_outside_0_to_1_is_refused() -> None:
    call: Callable[[], object] = lambda: mantel_haenszel(UCB, level=1)  # noqa: E731
    with pytest.raises(BadStatisticInput):
        call()


@settings(max_examples=60, deadline=None)
@given(strata)
def test_exchanged_groups_and_reordered_strata(tables: Any) -> None:
    try:
        found = mantel_haenszel(tables)
    except (TooFewUnits, NoVariance):
        return
    assert_sound(found)
    assert 0 < found.p <= found.p_corrected <= 1
    turned = mantel_haenszel(tables[::-1, ::-1])
    assert (turned.chi2, turned.chi2_corrected) == pytest.approx(
        (found.chi2, found.chi2_corrected), abs=1e-9
    )
    assert (found.risk_difference is None) == (turned.risk_difference is None)
    if found.risk_difference and turned.risk_difference:
        assert turned.risk_difference.estimate == pytest.approx(-found.risk_difference.estimate)
        assert turned.risk_difference.se == pytest.approx(found.risk_difference.se)
        assert not found.risk_difference.interval.excludes(found.risk_difference.estimate)
    if found.odds_ratio and turned.odds_ratio:
        assert turned.odds_ratio.estimate == pytest.approx(1 / found.odds_ratio.estimate)
