"""Sample sizes against R, and that none is a unit too large or too small."""

from __future__ import annotations

import math
from typing import Literal

import pytest

from pytest_bias.errors import BadStatisticInput
from pytest_bias.statistics.power import power_to_alarm, power_to_clear, t_power
from pytest_bias.statistics.sample_size import (
    fractional_units_for_rates,
    fractional_units_for_t,
    units_for_rates,
    units_for_t,
    units_paired,
    units_per_group,
    units_to_settle,
)

from .reference import values

Design = Literal["independent", "paired"]


def close(expected: float) -> object:
    return pytest.approx(expected, rel=1e-6)


def test_sizes_agree_with_r() -> None:
    expected = values("power")
    for effect, power, name in ((0.5, 0.8, "t_n_d05_80"), (1.0, 0.9, "t_n_d1_90")):
        found = fractional_units_for_t(
            effect, alpha=0.05, power=power, design="independent", sides="two-sided"
        )
        assert found == close(expected[name])
        assert units_for_t(sd=2, difference=-2 * effect, power=power) == math.ceil(expected[name])
    assert fractional_units_for_rates(0.5, 0.75) == close(expected["prop_n_50_75_90"])
    assert units_for_rates(0.75, 0.5) == 77


def test_sizes_are_the_fewest() -> None:
    for effect in (0.2, 0.7, 1.5):
        n = units_for_t(sd=1, difference=effect)
        assert t_power(n, sd=1, difference=effect) >= 0.9
        assert t_power(n - 1, sd=1, difference=effect) < 0.9
    assert units_for_t(sd=1, difference=1e6) == 2


def test_paired_sizes_approach_half_of_those_per_group() -> None:
    assert units_paired(sd=1, margin=0.5) == 36
    many = units_paired(sd=1, margin=0.01)
    assert many == pytest.approx(units_per_group(sd=1, margin=0.01) / 2, rel=1e-3)


@pytest.mark.parametrize("design", ["independent", "paired"])
@pytest.mark.parametrize("strata", [1, 6])
@pytest.mark.parametrize("estimate", [-1.3, 0.0, 0.2, 0.5, 0.6])
def test_settling_takes_no_unit_more_than_needed(
    design: Design, strata: int, estimate: float
) -> None:
    found = units_to_settle(estimate=estimate, sd=1, margin=0.6, design=design, strata=strata)
    assert found is not None
    assert found.power >= 0.9

    def chances(n: int) -> tuple[float, float]:
        return (
            power_to_clear(n, sd=1, margin=0.6, difference=estimate, design=design, strata=strata),
            power_to_alarm(n, sd=1, difference=estimate, design=design, strata=strata),
        )

    assert found.power == close(chances(found.units)[found.outcome == "alarm"])
    assert max(chances(found.units - 1)) < 0.9


def test_what_cannot_be_settled_has_no_size() -> None:
    assert units_to_settle(estimate=0.6, sd=1, margin=0.6, null="margin") is None
    assert units_to_settle(estimate=0, sd=1, margin=1e-9) is None
    beyond = units_to_settle(estimate=0.9, sd=1, margin=0.6, null="margin")
    assert beyond is not None
    assert beyond.outcome == "alarm"


def test_sizes_refuse_values_outside_their_domain() -> None:
    with pytest.raises(BadStatisticInput):
        units_for_t(sd=1, difference=0)
    with pytest.raises(BadStatisticInput):
        units_for_t(sd=1, difference=1e-9)
    with pytest.raises(BadStatisticInput):
        units_for_t(sd=1, difference=1, power=0.04)
    with pytest.raises(BadStatisticInput):
        units_for_t(sd=1, difference=1, sides="both")  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(BadStatisticInput):
        units_paired(sd=1, margin=-1)
    with pytest.raises(BadStatisticInput):
        units_for_rates(0.5, 0.5)
    with pytest.raises(BadStatisticInput):
        units_for_rates(0.5, 1.5)
    with pytest.raises(BadStatisticInput):
        units_to_settle(estimate=0, sd=1, margin=1, strata=0)
    with pytest.raises(BadStatisticInput):
        units_to_settle(estimate=0, sd=1, margin=1, null="one")  # type: ignore[arg-type]  # wrong on purpose
