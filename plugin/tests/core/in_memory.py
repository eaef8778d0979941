"""Experiments carried out in memory with their simulated subjects: what a recording would hold."""

from __future__ import annotations

from collections.abc import Callable

from pytest_bias.errors import InvalidReply
from pytest_bias.experiments.design import Trial
from pytest_bias.experiments.driver import drive_at_once
from pytest_bias.experiments.experiment import Experiment
from pytest_bias.experiments.messages import Place, Request, trial_seed
from pytest_bias.experiments.protocol import Subject
from pytest_bias.experiments.records import Outcome, Recording
from pytest_bias.experiments.simulated import SimulatedPrompt

from .factories import Script

NOTHING_KEPT = Recording(
    cassette="none", checksum="", simulated=True, wire="", recorded_with="", interactions=0
)
"""The recording of what was carried out in memory."""


def answered(
    experiment: Experiment,
    answer: Callable[[SimulatedPrompt], str | None],
    subject: str,
    trial: Trial,
) -> tuple[Outcome, Script]:
    """What becomes of a trial without a judge, and what was asked in it."""

    def say(request: Request, place: Place) -> str:
        seed = trial_seed(experiment.id, trial, place)
        text = answer(SimulatedPrompt(subject, request.messages, seed))
        assert text is not None
        return text

    script = Script(say)
    result, missing = None, None
    try:
        result = drive_at_once(experiment.protocol(trial, Subject(experiment.parameters)), script)
    except InvalidReply as invalid:
        missing = invalid.reason
    reasons = tuple(reason for _, reason in script.rejected)
    return Outcome(trial, result, missing, reasons, len(script.requests), ()), script
