"""The screen: what it is made of, and that it finds large effects and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import pytest
from bias_tests.anchoring.experiment import ALL_IN_ONE, ANCHORING
from bias_tests.cv_screening.experiment import CV_SCREENING
from bias_tests.linguistic_audit.experiment import LINGUISTIC_AUDIT
from bias_tests.narrative.experiment import NARRATIVE
from bias_tests.recommendation.experiment import RECOMMENDATION

from pytest_bias.contrasts import estimator
from pytest_bias.errors import BadDesign
from pytest_bias.experiments.design import Design, Factor, Items, derived_screen
from pytest_bias.experiments.experiment import Experiment, plan
from pytest_bias.stats.equivalence import SideSummary
from pytest_bias.stats.power import verdict_chances
from pytest_bias.stats.resampling import bootstrap_difference
from pytest_bias.verdicts.analysis import analyse, is_screen
from pytest_bias.verdicts.verdict import Verdict
from pytest_bias.verdicts.wording import SCREENED

from .factories import experiment
from .test_analysis import CONTROL, RECORDING, TINY, mean, outcomes

SCREEN = Design(12, "screen")
LOW = [4, 5, 6, 5, 4, 6] * 2
SHIPPED = (ANCHORING, ALL_IN_ONE, CV_SCREENING, LINGUISTIC_AUDIT, NARRATIVE, RECOMMENDATION)


def judged(high: Sequence[int], design: Design = SCREEN, **changes: Any) -> Verdict:
    scores: Mapping[str, Sequence[int | None]] = {"low": LOW, "high": high, "none": LOW}
    fewer = partial(bootstrap_difference, iterations=100)
    with mock.patch.object(estimator, "bootstrap_difference", fewer):
        found = analyse(
            TINY,
            design,
            "openai/tiny",
            outcomes(TINY, dict(scores)),
            hypotheses=(mean(**{"human": None, **changes}),),
            controls=(CONTROL,),
            recording=RECORDING,
        )
    assert is_screen(found) is design.screens
    return found.verdicts[0]


def test_a_large_effect_is_found() -> None:
    found = judged([score + 4 for score in LOW])
    assert (found.status, found.claim) == ("BIASED", "detect")
    assert found.words.startswith("BIASED (beyond the margin)")
    assert found.finding is not None
    assert found.finding.null == "margin"  # which Holm's method therefore holds at its level


@pytest.mark.parametrize(
    ("margin", "high", "at_the_gate"),
    [(0.6, [5, 5, 6, 6, 5, 6], "INCONCLUSIVE"), (5.0, [6, 6, 7, 6, 6, 7], "CLEAR")],
)
def test_what_is_not_large_is_neither_cleared_nor_found(
    margin: float, high: list[int], at_the_gate: str
) -> None:
    gate = judged(high * 2, Design(12), margin=margin)
    found = judged(high * 2, margin=margin)
    assert (gate.status, gate.claim) == (at_the_gate, "clear")
    assert (found.status, found.reason_text, found.claim) == (
        "INCONCLUSIVE",
        SCREENED,
        "detect",
    )
    assert found.words.endswith("(screen)")
    assert found.replicates is None


def test_what_is_shown_and_may_be_smaller_than_the_margin_is_not_large() -> None:
    high = [score + 2 for score in LOW]
    gate = judged(high, Design(12), margin=1.8)
    assert gate.words.startswith("BIASED (detected)")
    assert judged(high, margin=1.8).reason_text == SCREENED


def test_without_a_margin_nobody_says_what_is_large_so_it_is_described() -> None:
    found = judged([score + 4 for score in LOW], margin=None, claim="detect")
    assert (found.claim, found.gates) == ("describe", False)


def test_other_replicates_of_a_screen_are_a_screen() -> None:
    of = experiment(replicates=100)
    assert of.design("screen", 7).screens
    assert of.design("screen").screens
    assert not of.design().screens
    assert not of.design(replicates=7).screens


def test_no_effect_is_hardly_ever_called_large() -> None:
    """A difference of zero is hardly ever shown to lie beyond a margin of .6; seeded."""
    draws = np.random.default_rng(6).choice(LOW, (60, len(LOW))).tolist()
    alarms = sum(judged(high).status == "BIASED" for high in draws)
    assert alarms == 0


@pytest.mark.parametrize(
    ("gate", "members", "items", "expected"),
    [(120, 0, 0, 30), (3, 2, 25, 1), (60, 0, 3, 15), (5, 0, 0, 5), (40, 0, 0, 12), (4, 3, 3, 2)],
)
def test_the_screen_that_is_derived(gate: int, members: int, items: int, expected: int) -> None:
    names = {level: [f"{level}{i}" for i in range(members)] for level in "ab"} if members else {}
    factors = [Factor("group", {"a": 1, "b": 2}, exemplars=names)]
    seeds = Items("seed", {f"s{i}": i for i in range(items)}) if items else None
    assert derived_screen(gate, factors, seeds) == Design(expected, "screen")


def test_a_screen_larger_than_the_gate_design_is_refused() -> None:
    with pytest.raises(BadDesign, match="screen is larger than the gate"):
        experiment(replicates=3, designs={"screen": Design(4)})


@pytest.mark.parametrize("of", SHIPPED, ids=lambda of: of.id)
def test_the_trials_of_a_shipped_screen_are_a_part_of_the_gate_design(of: Experiment) -> None:
    assert "screen" in of.designs
    gate = {trial.id for trial in plan(of, of.design())}
    screen = {trial.id for trial in plan(of, of.design("screen"))}
    assert screen < gate


def test_three_margins_are_found_with_probability_090_in_the_anchoring_screen() -> None:
    """At the larger of the spreads recorded of ``simulated/even``."""
    n = ANCHORING.design("screen").replicates
    sides = [
        SideSummary(weight=weight, mean=mean, variance=1.1**2, n=n, low=0.0, high=12.0)
        for weight, mean in ((1.0, 6.9), (-1.0, 5.1))
    ]
    chances = verdict_chances(sides, df=2 * n - 2, margin=None, alpha=0.05, beyond=0.6)
    assert chances.biased > 0.9
