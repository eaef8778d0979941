"""Agreement of coders."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import (  # type: ignore[import-untyped, unused-ignore]  # no types
    cohens_kappa,
)

from pytest_bias.errors import NoVariance, TooFewUnits
from pytest_bias.statistics.agreement import (
    Measurement,
    cohen_kappa,
    krippendorff_alpha,
)

from .reference import REFERENCE, assert_sound

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
