"""A model's difference beside the one published for people."""

from __future__ import annotations

import math
from typing import Any

import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.contrasts.differences import RateDifference
from pytest_bias.contrasts.estimate import Estimate
from pytest_bias.contrasts.people import Human, HumanComparison
from pytest_bias.experiments.design import Trial
from pytest_bias.stats.means import p_from_t

from ...helpers import there
from .designs import STYLE, TONE, items, recorded, study

OF = study(factors=[TONE, STYLE], items=items(12), replicates=6)
LM1 = Human.counts(high=(2059, 3097), low=(1200, 3174), citation="Klein et al. (2014)")
"""Shares under gain and loss, as Many Labs 1 counted them."""


def rate(trial: Trial) -> bool:
    """Five of six replies at the high level, two at the low one, in every style."""
    often = 5 if trial.condition.levels["tone"] == "high" else 2
    return trial.replicate <= often


def beside(contrast: Any, draw: Any, measure: str) -> tuple[Estimate, HumanComparison]:
    contrast.check(OF)
    finding = contrast.analyse(OF, recorded(OF, draw, measure))
    return finding, there(finding.human)


def rates(**declared: Any) -> RateDifference:
    return RateDifference("yes", "tone", high="high", low="low", human=LM1, **declared)


@pytest.mark.parametrize("target", ["fixed", "population"])
def test_counts_stand_beside_rates_with_strata_and_items(target: Any) -> None:
    """The difference of the differences, with both standard errors (R: prop.test has theirs)."""
    finding, human = beside(rates(target=target), rate, "yes")
    high, low = 2059 / 3097, 1200 / 3174
    assert (human.high_mean, human.low_mean, human.n) == (high, low, 6271)
    se = math.sqrt(high * (1 - high) / 3096 + low * (1 - low) / 3173)
    assert human.se == pytest.approx(se, rel=1e-12)
    assert human.estimate == pytest.approx(finding.estimate - (high - low))
    both = math.hypot(se, finding.se or 0.0)
    t = stats.t.ppf(0.975, human.df)
    assert human.interval.high == pytest.approx(human.estimate + t * both, rel=1e-9)
    assert human.primary == "GREATER"
    assert human.similar_within is None


def test_means_and_standard_deviations_are_welch_s() -> None:
    people = Human.means(high=(6.1, 2.2, 19), low=(4.0, 1.4, 20), citation="")
    welch = stats.ttest_ind_from_stats(6.1, 2.2, 19, 4.0, 1.4, 20, equal_var=False)
    assert (people.high - people.low) / people.se == pytest.approx(welch.statistic, rel=1e-12)
    assert p_from_t(welch.statistic, people.df) == pytest.approx(welch.pvalue, rel=1e-9)
    assert (people.n, people.rates) == (39, False)
