"""Where a function crosses 0."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bias.errors import BadStatisticInput
from pytest_bias.statistics._roots import CLOSE, crossing


def line(x: float) -> float:
    return x


def flat_then_steep(x: float) -> float:
    return math.tanh(x) ** 3 + 1e-3 * x


def smooth(x: float) -> float:
    return math.exp(x) - 2


def jump(x: float) -> float:
    return math.copysign(1.0, x - 0.3)


@pytest.mark.parametrize("curve", [line, flat_then_steep])
@given(place=st.floats(-1e6, 1e6), before=st.floats(0.01, 1e3), after=st.floats(0.01, 1e3))
def test_it_is_found_whichever_way_the_function_goes(
    curve: Callable[[float], float], place: float, before: float, after: float
) -> None:
    low, high = place - before, place + after
    close = 2 * CLOSE * max(1.0, abs(low), abs(high))
    for found in (
        crossing(lambda x: curve(x - place), low, high),
        crossing(lambda x: -curve(x - place), low, high),
        crossing(lambda x: curve(x - place), high, low),
    ):
        assert abs(found - place) <= close


@pytest.mark.parametrize(("curve", "most"), [(smooth, 14), (jump, 57)])
def test_few_steps_where_it_is_smooth_and_hardly_more_than_bisection_where_it_is_not(
    curve: Callable[[float], float], most: int
) -> None:
    asked: list[float] = []

    def counted(x: float) -> float:
        asked.append(x)
        return curve(x)

    crossing(counted, -1.0, 1.0)
    assert len(asked) <= most


def test_an_end_may_be_infinite_and_an_end_at_0_is_the_place() -> None:
    found = crossing(lambda x: -math.inf if x <= -1 else x, -1.0, 2.0)
    assert found == pytest.approx(0, abs=1e-15)
    assert crossing(line, 0.0, 1.0) == 0.0
    assert crossing(line, -1.0, 0.0) == 0.0


@pytest.mark.parametrize("value", [1.0, -1.0, math.nan])
def test_no_crossing_is_an_error(value: float) -> None:
    with pytest.raises(BadStatisticInput, match="no crossing"):
        crossing(lambda _: value, 0.0, 1.0)
