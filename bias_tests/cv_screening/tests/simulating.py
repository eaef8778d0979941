"""The experiment carried out in memory with a simulated subject: what a recording would hold."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from pytest_bias.experiments.design import Trial
from pytest_bias.experiments.experiment import Experiment, plan
from pytest_bias.experiments.messages import Message
from pytest_bias.experiments.records import Outcome
from pytest_bias.verdicts.analysis import Analysis, analyse
from tests.core.factories import Script
from tests.core.in_memory import NOTHING_KEPT, answered

from ..experiment import CV_SCREENING
from ..hypotheses import CONTROLS, HYPOTHESES
from ..simulated import answer

CASSETTES = Path(__file__).parents[3] / "cassettes" / CV_SCREENING.id
"""Where the shipped recordings are."""

ONE = plan(CV_SCREENING, CV_SCREENING.design(replicates=1))
"""One trial of everything."""


@cache
def opening_of(group: str, cv: str, scaffold: str) -> tuple[Message, ...]:
    """The first request of a scaffold that asks for a rating; of several the first criterion's."""
    trial = next(
        trial
        for trial in ONE
        if (trial.condition.levels["group"], trial.item) == (group, cv)
        and trial.condition.levels["scaffold"] == scaffold
    )
    _, script = carried_out("even", trial)
    return next(request.messages for request in script.requests if request.schema)


def carried_out(
    subject: str, trial: Trial, experiment: Experiment = CV_SCREENING
) -> tuple[Outcome, Script]:
    """What becomes of a trial, and what was asked in it."""
    return answered(experiment, answer, subject, trial)


@cache
def outcomes(subject: str, design: str = "gate") -> tuple[Outcome, ...]:
    """Every trial of a design."""
    trials = plan(CV_SCREENING, CV_SCREENING.design(design))
    return tuple(carried_out(subject, trial)[0] for trial in trials)


@cache
def analysed(subject: str) -> Analysis:
    """All verdicts on a subject."""
    return analyse(
        CV_SCREENING,
        CV_SCREENING.design(),
        f"simulated/{subject}",
        outcomes(subject),
        hypotheses=HYPOTHESES,
        controls=CONTROLS,
        recording=NOTHING_KEPT,
    )


def estimate(subject: str, hypothesis: str) -> float:
    """What a hypothesis comes to for a subject."""
    (verdict,) = (v for v in analysed(subject).verdicts if v.id == hypothesis)
    assert verdict.finding is not None
    return verdict.finding.estimate
