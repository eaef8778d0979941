from __future__ import annotations

import enum
import math
from types import SimpleNamespace

import numpy as np
import pytest

from pytest_bias.cassettes.measured import reason_label
from pytest_bias.errors import BadDesign, InvalidReply
from pytest_bias.measures import Measure


class Word(enum.StrEnum):
    HIGH = "too high"


TAKEN = {
    "int": (5, 5.0),
    "float": (0.5, 0.5),
    "numpy float": (np.float64(0.5), 0.5),
    "flag": (True, True),
    "text": ("too high", "too high"),
    "member of an enum": (Word.HIGH, "too high"),
}


@pytest.mark.parametrize(("given", "value"), TAKEN.values(), ids=TAKEN)
def test_values(given: object, value: object) -> None:
    taken = Measure("score").of(SimpleNamespace(score=given))
    assert taken == value
    assert type(taken) is type(value)


@pytest.mark.parametrize(
    "given",
    [math.nan, math.inf, None, [1], {}, np.int64(3), np.arange(2), 1j],
    ids=lambda value: type(value).__name__ + str(value)[:4],
)
def test_what_is_no_value(given: object) -> None:
    with pytest.raises(BadDesign, match=r"Measure\('score'\): gave a"):
        Measure("score").of(SimpleNamespace(score=given))


def test_take() -> None:
    assert Measure("long", lambda text: len(text) > 3).of("words") is True


def test_a_result_without_the_attribute() -> None:
    with pytest.raises(BadDesign, match="a str, has no attribute of this name; give take="):
        Measure("score").of("words")


def test_an_error_inside_take_stays_its_own() -> None:
    with pytest.raises(AttributeError):
        Measure("score", lambda result: result.other.more).of(SimpleNamespace(score=1))


@pytest.mark.parametrize("value", [-0.1, 10.1, 11, 10**400, math.inf, -math.inf])
def test_a_value_outside_its_bounds_is_the_replys_fault(value: float) -> None:
    with pytest.raises(InvalidReply, match=r"^out_of_bounds_score$"):
        Measure("score", bounds=(0, 10)).of(SimpleNamespace(score=value))


def test_so_is_a_whole_number_that_no_measure_holds() -> None:
    with pytest.raises(InvalidReply, match=r"^out_of_bounds_score$"):
        Measure("score").of(SimpleNamespace(score=10**400))


def test_what_is_not_a_number_is_the_measures_fault_within_bounds_too() -> None:
    with pytest.raises(BadDesign, match=r"Measure\('score'\): gave a float"):
        Measure("score", lambda _: math.nan, bounds=(0, 10)).of(None)


def test_a_reason_is_a_label_that_may_be_kept_whatever_the_measures_name() -> None:
    with pytest.raises(InvalidReply) as caught:
        Measure("one_two_three_four_five_six_seven", bounds=(0, 1)).of(
            SimpleNamespace(one_two_three_four_five_six_seven=2)
        )
    assert caught.value.reason == "out_of_bounds_one_two_three_four_five_si"
    assert reason_label(caught.value.reason) == caught.value.reason


@pytest.mark.parametrize("value", [0, 10, 5.5])
def test_bounds_are_inclusive(value: float) -> None:
    assert Measure("score", bounds=(0, 10)).of(SimpleNamespace(score=value)) == value


@pytest.mark.parametrize("bounds", [(1, 1), (2, 1), (0, math.inf), (math.nan, 1)], ids=repr)
def test_bad_bounds(bounds: tuple[float, float]) -> None:
    with pytest.raises(BadDesign, match="two finite numbers, rising"):
        Measure("score", bounds=bounds)


def test_bad_name() -> None:
    with pytest.raises(BadDesign, match="not a label"):
        Measure("Score")
