"""A measure against a number."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.baselines.noninferiority import effect_of
from pytest_bias.contrasts.differences import Mean, Rate
from pytest_bias.errors import BadDesign, NoFinding
from pytest_bias.experiments.design import Trial
from pytest_bias.stats.results import Misclassified, units_needed
from pytest_bias.verdicts.decide import clears
from pytest_bias.verdicts.wording import margin_text

from ...helpers import there
from .designs import SCALE, STYLE, TONE, YES, items, recorded, study

OF = study(factors=[TONE, STYLE], items=items(10), replicates=10)
HALF = Rate("yes", equals=0.5, margin=0.1, claim="clear")


def share(often: int) -> Callable[[Trial], bool]:
    """``often`` of ten in every cell."""
    return lambda trial: trial.replicate <= often


def rated(rate: Any, often: int) -> Any:
    rate.check(OF)
    return rate.analyse(OF, recorded(OF, share(often), "yes"))


def test_a_share_is_compared_with_its_number() -> None:
    """First choices against .5: the estimate is what is above it."""
    even, more = rated(HALF, 5), rated(HALF, 7)
    assert (even.estimate, clears(even), even.p_alarm) == (0.0, True, 1.0)
    assert (more.estimate, clears(more)) == (pytest.approx(0.2), False)
    assert more.p_alarm < 1e-10
    assert (more.quantity, more.contrast) == ("rate", "all trials − 0.5")
    assert [(arm.level, arm.mean, arm.units) for arm in more.arms] == [("all trials", 0.7, 400)]
    assert more.beyond(more.interval)


def test_a_mean_is_that_of_a_t_test() -> None:
    """Of one cell the interval is that of scipy's one-sample test, and so is the alarm."""
    one = study(factors=[TONE], replicates=30)
    rng = np.random.default_rng(1)
    drawn = rng.normal(1.5, 2, 30).clip(-10, 10)
    records = recorded(one, lambda trial: float(drawn[trial.replicate - 1]))
    mean = Mean("score", equals=1, margin=2, claim="clear", at={"tone": "high"})
    mean.check(one)
    finding, known = mean.analyse(one, records), stats.ttest_1samp(drawn, 1)
    assert finding.estimate == pytest.approx(drawn.mean() - 1)
    assert finding.p_alarm == pytest.approx(known.pvalue, rel=1e-10)
    assert there(finding.interval).low + 1 == pytest.approx(
        known.confidence_interval().low, rel=1e-10
    )
    assert finding.needed == units_needed(2, 20)


def test_at_least_is_clear_above_the_margin_and_biased_below_the_number() -> None:
    least = Rate("yes", at_least=0.9, margin=0.1, claim="clear")
    assert (clears(rated(least, 10)), rated(least, 10).p_alarm) == (True, 1.0)
    assert clears(rated(least, 9))
    low = rated(least, 7)
    assert not clears(low)
    assert low.p_alarm < 1e-8
    assert low.within == (-0.1, math.inf)
    assert margin_text(low) == "-0.1 or more"
    most = Rate("yes", at_most=0.1, margin=0.1, claim="clear")
    assert clears(rated(most, 0))
    assert rated(most, 3).p_alarm < 1e-8
    assert margin_text(rated(most, 3)) == "+0.1 or less"


def test_in_an_upgrade_more_than_at_least_is_no_larger_bias() -> None:
    least = Rate("yes", at_least=0.5, margin=0.1, claim="clear")
    assert effect_of(rated(least, 9), "").estimate == 0.0
    assert effect_of(rated(least, 3), "").estimate == pytest.approx(-0.2)
    assert effect_of(rated(HALF, 9), "").estimate == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("declare", "words"),
    [
        (lambda: Rate("yes", margin=0.1, claim="clear"), "needs one of equals=, at_least="),
        (lambda: Rate("yes", equals=1, at_most=1), "at_least= and at_most="),
        (lambda: Rate("score", equals=0.5).check(OF), "is a number: compare its means"),
        (lambda: Mean("yes", equals=0.5).check(OF), "is a flag: compare its rates"),
        (lambda: Rate("yes", equals=1.5).check(OF), "1.5 lies outside what can be, 0 to 1"),
        (lambda: Mean("score", equals=11).check(OF), "11 lies outside what can be, -10 to 10"),
    ],
)
def test_what_cannot_be_is_refused(declare: Callable[[], object], words: str) -> None:
    with pytest.raises(BadDesign, match=words):
        declare()


def test_a_measure_that_is_read_with_error_is_refused() -> None:
    """An error moves the rate itself, and not differences of it alone."""
    error = Misclassified(sensitivity=0.9, specificity=0.9, source="s")
    of = study(measures=[SCALE, replace(YES, error=error)])
    with pytest.raises(BadDesign, match="read with error"):
        Rate("yes", equals=0.5).check(of)
    with pytest.raises(NoFinding, match="read with error"):
        Rate("yes", equals=0.5).analyse(of, recorded(of, share(2), "yes"))
