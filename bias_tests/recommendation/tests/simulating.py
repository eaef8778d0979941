"""The experiment carried out in memory with a simulated subject: what a recording would hold."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from pytest_bias.experiments.design import Trial
from pytest_bias.experiments.experiment import Experiment, plan
from pytest_bias.experiments.records import Outcome, Records, record_of
from tests.core.factories import Script
from tests.core.in_memory import answered

from ..experiment import RECOMMENDATION
from ..simulated import answer

ROOT = Path(__file__).parents[3]


def carried_out(
    subject: str, trial: Trial, experiment: Experiment = RECOMMENDATION
) -> tuple[Outcome, Script]:
    """What becomes of a trial, and what was asked in it."""
    return answered(experiment, answer, subject, trial)


@cache
def outcomes(subject: str) -> tuple[Outcome, ...]:
    """Every trial of the gate design."""
    trials = plan(RECOMMENDATION, RECOMMENDATION.design())
    return tuple(carried_out(subject, trial)[0] for trial in trials)


@cache
def records(subject: str) -> Records:
    """The rows of every trial of the gate design."""
    return Records(
        tuple(record_of(outcome, RECOMMENDATION.measures) for outcome in outcomes(subject))
    )
