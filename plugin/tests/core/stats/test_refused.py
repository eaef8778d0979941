"""What each statistic refuses: too little, too constant, damaged, or outside of its domain."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from pytest_bias.errors import BadStatisticInput, BiasError, NoVariance, TooFewUnits
from pytest_bias.stats.agreement import krippendorff_alpha
from pytest_bias.stats.checks import probability
from pytest_bias.stats.classical import chi_square, factorial_anova, mann_whitney, one_way, wilson
from pytest_bias.stats.means import (
    StudentEstimate,
    cohen_d,
    cohen_dz,
    describe,
    difference_of,
    one_sample,
    standardized_difference,
    welch,
)
from pytest_bias.stats.resampling import (
    bootstrap_difference,
    contrast_permutation,
    label_shuffle_ratio,
    sign_flip,
)
from pytest_bias.stats.results import Misclassified
from pytest_bias.stats.simultaneous import holm

from .reference import line_of

NAN, INF = float("nan"), float("inf")
TWO = {"a": [*"0011"], "b": [*"0101"]}
TWICE = {name: levels * 2 for name, levels in TWO.items()}

REFUSED: Mapping[type[BiasError], Sequence[Callable[[], object]]] = {
    NoVariance: [
        lambda: krippendorff_alpha([[1, 1, 2], [1, 1, None]]),
        lambda: chi_square([[1, 2]]),
        lambda: chi_square([[1, 2], [0, 0]]),
        lambda: difference_of(*[StudentEstimate(estimate=at, se=0, df=9) for at in (2, 1)]),
        lambda: one_sample([0.0, 1e-14, -1e-14], magnitude=100),
        lambda: one_sample([0, 0]),
        lambda: cohen_dz([2, 2, 2, 2]),
        lambda: one_way([[1, 1], [2, 2]]),
        lambda: one_way([[0, 1, 2], [1e12, 1e12 + 1, 1e12 + 2]]),
        lambda: factorial_anova([1, 2, 3, 4] * 2, TWICE),
        lambda: factorial_anova(np.array([1, 2, 3, 4] * 2) + 0.1, TWICE),
        lambda: factorial_anova(np.array([1, 2, 3, 4] * 2) + 1e9, TWICE),
    ],
    TooFewUnits: [
        lambda: krippendorff_alpha([[1, 2]]),
        lambda: krippendorff_alpha([]),
        lambda: krippendorff_alpha([[1, 2, None], [1, None, 3]]),
        lambda: mann_whitney([1], [2, 3]),
        lambda: wilson(0, 0),
        lambda: one_sample([1]),
        lambda: sign_flip([1], seed=0),
        lambda: cohen_dz([1, 2]),
        lambda: contrast_permutation([1, 2, 3], [*"aab"], {"a": 1, "b": -1}, seed=1),
        lambda: label_shuffle_ratio([1, 1], [2, 2], [True, True], seed=1),
        lambda: describe([]),
        lambda: one_way([[1.0, 2.0]]),
        lambda: one_way([[1.0, 2.0], [1.0]]),
        lambda: factorial_anova([1, 2, 3, 4], TWO),
        lambda: factorial_anova([1, 2], {}),
        lambda: factorial_anova([1, 2, 3], {"a": ["x"] * 3}),
    ],
    BadStatisticInput: [
        lambda: krippendorff_alpha([["a", "b"], ["a", "b"]], level="ordinal"),
        lambda: krippendorff_alpha([[1, INF], [1, 2]], level="interval"),
        lambda: mann_whitney([1, NAN], [2, 3]),
        lambda: chi_square([[1.0, 2.0], [3.0, 4.0]]),
        lambda: chi_square([[1, -2], [3, 4]]),
        lambda: chi_square([1, 2]),
        lambda: chi_square([[1, 2], [3]]),
        lambda: chi_square([[10**15, 1], [1, 1]]),
        lambda: wilson(1, 2, level=1),
        lambda: holm([0.5, NAN]),
        lambda: holm([1.5]),
        lambda: holm([0.1, 0.2], [1]),
        lambda: holm([0.1, 0.2], [1, 0]),
        lambda: one_sample([1, NAN]),
        lambda: describe([1, NAN]),
        lambda: one_way([[1.0, 2.0], [1.0, NAN]]),
        lambda: factorial_anova([1, 2, 3], {"a": ["x", "y"]}),
        lambda: probability(NAN),
    ],
}


@pytest.mark.parametrize(
    ("error", "call"), [(error, call) for error in REFUSED for call in REFUSED[error]], ids=line_of
)
def test_what_cannot_be_told_is_raised(error: type[BiasError], call: Callable[[], object]) -> None:
    with pytest.raises(error):
        call()


TWO_GROUPS: dict[str, Callable[..., object]] = {
    "welch": welch,
    "cohen_d": cohen_d,
    "standardized_difference": standardized_difference,
    "bootstrap_difference": lambda a, b: bootstrap_difference(a, b, iterations=100, seed=1),
}


@pytest.mark.parametrize("name", TWO_GROUPS)
@pytest.mark.parametrize(
    "bad",
    [[1, NAN], [1, INF], [[1, 2], [3, 4]], 5, ["a", "b"], [1j, 2], [[1], [2, 3]], [1e101, 1]],
)
def test_damaged_values_and_too_few_are_named(name: str, bad: object) -> None:
    with pytest.raises(BadStatisticInput) as raised:
        TWO_GROUPS[name]([1, 2], bad)
    assert raised.value.argument == "b"
    for a, b, short in (([], [1, 2], "a"), ([1, 2], [3], "b")):
        with pytest.raises(TooFewUnits, match=f"^{short}: (no valid reply|.* at least 2 are)"):
            TWO_GROUPS[name](a, b)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sensitivity": (0.1,)}, "sensitivity: is no rate, a number from 0 to"),
        ({"sensitivity": 1.2}, "sensitivity: is no rate"),
        ({"specificity": True}, "specificity: is no rate"),
        ({"specificity": math.nan}, "specificity: is no rate"),
        ({"sensitivity": 0.04}, "add up to 1 or less"),
    ],
)
def test_rates_that_are_none_are_refused_where_they_are_declared(
    given: dict[str, Any], said: str
) -> None:
    usual: dict[str, Any] = {"sensitivity": 0.9, "specificity": 0.95, "source": ""}
    with pytest.raises(BadStatisticInput, match=said):
        Misclassified(**usual | given)
