"""Adjusted p-values of a family."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_bias.errors import BadStatisticInput
from pytest_bias.statistics.multiplicity import (
    benjamini_hochberg,
    benjamini_yekutieli,
    bonferroni,
    hochberg,
    holm,
)

from .reference import REFERENCE, values

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Adjust = Callable[[ArrayLike], NDArray[np.float64]]

METHODS: dict[str, Adjust] = {
    "holm": holm,
    "hochberg": hochberg,
    "bonferroni": bonferroni,
    "BH": benjamini_hochberg,
    "BY": benjamini_yekutieli,
}


@pytest.mark.parametrize("name", METHODS)
def test_adjusted_as_r(name: str) -> None:
    given_p, expected = REFERENCE["data"]["padjust_p"], values("padjust_bh1995")
    found = METHODS[name](given_p)
    assert found.tolist() == pytest.approx(
        [expected[f"{name}[{i}]"] for i in range(1, 16)], rel=1e-6
    )


@pytest.mark.parametrize("name", METHODS)
def test_an_empty_family_stays_empty_and_one_hypothesis_as_it_was(name: str) -> None:
    assert METHODS[name]([]).size == 0
    assert METHODS[name]([0.3]).tolist() == pytest.approx([0.3])
    assert 0 < METHODS[name]([0.0])[0] < 1e-300


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("p", [[0.5, float("nan")], [-0.1], [1.1], [[0.1]]])
def test_values_that_are_no_probabilities_are_refused(name: str, p: ArrayLike) -> None:
    with pytest.raises(BadStatisticInput):
        METHODS[name](p)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=15), st.randoms(use_true_random=False))
def test_what_holds_for_any_family(p: list[float], random: np.random.Generator) -> None:
    shuffled = list(range(len(p)))
    random.shuffle(shuffled)
    found = {name: adjust(p) for name, adjust in METHODS.items()}
    for name, adjusted in found.items():
        assert ((adjusted > 0) & (adjusted <= 1)).all()
        assert (adjusted >= np.array(p) * (1 - 1e-12)).all()
        again = METHODS[name](np.array(p)[shuffled])
        assert again.tolist() == pytest.approx(adjusted[shuffled].tolist())
    slack = 1 + 1e-12
    assert (found["holm"] <= found["bonferroni"] * slack).all()
    assert (found["hochberg"] <= found["holm"] * slack).all()
    assert (found["BH"] <= found["hochberg"] * slack).all()
    assert (found["BH"] <= found["BY"] * slack).all()
