"""Chances of verdicts: R's values, scipy's noncentral t, and draws of the rule itself."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]
from scipy.special import stdtrit  # type: ignore[import-untyped, unused-ignore]

from pytest_bias.stats.checks import Floats
from pytest_bias.stats.equivalence import (
    SideSummary,
    clearing_p,
    contrast_of,
    further_of,
    sides_of,
)
from pytest_bias.stats.power import settling_chances, verdict_chances
from pytest_bias.stats.results import Interval

from .reference import REFERENCE

DRAWS = 1000


def sides(
    n: float, sd: float = 1.0, effect: float = 0.0, scale: tuple[float, float] = (0.0, 12.0)
) -> list[SideSummary]:
    """Two groups about the middle of their scale."""
    low, high = scale
    middle = (low + high) / 2
    return [
        SideSummary(weight=weight, mean=mean, variance=sd**2, n=n, low=low, high=high)
        for weight, mean in ((1.0, middle + effect), (-1.0, middle))
    ]


def drawn(cells: Sequence[Floats], scale: tuple[float, float], margin: float) -> bool:
    """Whether a draw of two groups is cleared."""
    found, df = sides_of(cells, (1.0, -1.0), low=scale[0], high=scale[1])
    return clearing_p(further_of(found), low=-margin, high=margin, df=df) <= 0.05


@pytest.mark.parametrize(
    ("key", "effect", "power"), [("t_n_d05_80", 0.5, 0.8), ("t_n_d1_90", 1, 0.9)]
)
def test_the_fractional_sizes_of_r_have_the_power_asked_for(
    key: str, effect: float, power: float
) -> None:
    n = REFERENCE["examples"]["power"]["values"][key]
    endless = sides(n, effect=effect, scale=(-1e9, 1e9))
    found = verdict_chances(endless, df=2 * n - 2, margin=None, alpha=0.05)
    assert found.clear == 0
    assert found.biased == pytest.approx(power, rel=1e-6)


@pytest.mark.parametrize("n", [5, 20, 156])
@pytest.mark.parametrize("effect", [0.0, 0.5, 1.0])
def test_an_alarm_has_the_power_of_the_noncentral_t(n: int, effect: float) -> None:
    df, alpha = 2 * n - 2, 0.05 / 24
    t, nc = stdtrit(df, 1 - alpha / 2), effect / math.sqrt(2 / n)
    expected = stats.nct.sf(t, df, nc) + stats.nct.cdf(-t, df, nc)
    found = verdict_chances(sides(n, effect=effect), df=df, margin=None, alpha=alpha)
    assert found.biased == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("sd", [1.0, 1.5])
@pytest.mark.parametrize("effect", [0.0, 0.6])
def test_clearing_has_the_chance_that_draws_of_the_rule_have(sd: float, effect: float) -> None:
    """As anchoring is: months from 0 to 12, 156 an arm, cleared within 0.6."""
    n, scale = 156, (0.0, 12.0)
    rng = np.random.default_rng(20)
    cleared = sum(
        drawn([rng.normal(at, sd, n).clip(*scale) for at in (6 + effect, 6)], scale, 0.6)
        for _ in range(DRAWS)
    )
    found = verdict_chances(sides(n, sd, effect), df=2 * n - 2, margin=0.6, alpha=0.05 / 24)
    error = math.sqrt(max(found.clear * (1 - found.clear), 0.01) / DRAWS)
    assert cleared / DRAWS == pytest.approx(found.clear, abs=3 * error + 0.005)


def test_what_clears_is_not_biased_and_an_effect_of_the_margin_is_seldom_cleared() -> None:
    """With so many replies an effect of half a margin is cleared, and an alarm as well."""
    half, whole = (
        verdict_chances(sides(2000, effect=at), df=3998, margin=0.6, alpha=0.002)
        for at in (0.3, 0.6)
    )
    assert half.clear > 0.99
    assert half.clear + half.biased == pytest.approx(1)
    assert 0.02 < whole.clear <= 0.05
    beyond = verdict_chances(sides(2000, effect=0.6), df=3998, margin=0.6, alpha=0.002, beyond=0.6)
    assert beyond.biased == pytest.approx(0.001, abs=1e-4)


@pytest.mark.parametrize("times", [1.0, 4.0])
def test_what_is_recorded_foretells_as_the_design_does(times: float) -> None:
    """The interval with its further unit shrinks more slowly, so that it foretells no more."""
    made, df = sides(60, 1.0, 0.1), 118.0
    estimate, se = contrast_of(made)
    t = stdtrit(df, 0.95)
    below, above = (contrast_of([side.further(sign) for side in made]) for sign in (-1, 1))
    interval = Interval(low=below[0] - t * below[1], high=above[0] + t * above[1], level=0.9)
    found = settling_chances(
        estimate, se, times, clearing=interval, margin=0.6, df=df, alpha=0.002, beyond=0.0
    )
    planned = verdict_chances(sides(60 * times, 1.0, 0.1), df=df * times, margin=0.6, alpha=0.002)
    assert found.biased == pytest.approx(planned.biased, abs=0.01)
    assert planned.clear - 0.15 < found.clear < planned.clear + 0.03
