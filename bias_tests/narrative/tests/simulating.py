"""The experiment carried out in memory with simulated subjects, or with a script."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

from pytest_bias.contrasts.declared import Hypothesis
from pytest_bias.experiments.design import Trial
from pytest_bias.experiments.experiment import Experiment, ModelRoles, plan
from pytest_bias.experiments.messages import Completion, trial_seed
from pytest_bias.experiments.records import Outcome
from pytest_bias.experiments.replay import PendingRequest, carry_out
from pytest_bias.experiments.simulated import SimulatedPrompt
from pytest_bias.providers.roles import SIMULATED_JUDGE, judge_of
from pytest_bias.settings.roster import Roster
from pytest_bias.verdicts.analysis import Analysis, analyse
from tests.core.in_memory import NOTHING_KEPT

from ..experiment import NARRATIVE
from ..hypotheses import CONTROLS, HYPOTHESES
from ..simulated import answer

CASSETTES = Path(__file__).parents[3] / "cassettes"
"""Where the shipped recordings are."""

GOOD = '{"outcome": "returned", "hesitation": 2}'
"""A valid grade of a story about a wallet."""

ONE = plan(NARRATIVE, NARRATIVE.design("documented"))
"""One trial of everything."""


def trial_of(
    *,
    persona: str = "default",
    group: str = "black_female",
    ses: str = "neutral",
    scenario: str = "wallet",
    name: str | None = None,
    replicate: int = 1,
) -> Trial:
    """A trial by its labels."""
    levels = {"persona": persona, "group": group, "ses": ses, "scenario": scenario}
    return next(
        trial
        for trial in plan(NARRATIVE, NARRATIVE.design())
        if dict(trial.condition.levels) == levels
        and trial.exemplars["group"] == (name or NARRATIVE.factor("group").exemplars[group][0])
        and trial.replicate == replicate
    )


def scripted(
    trial: Trial,
    story: str,
    *grades: str,
    experiment: Experiment = NARRATIVE,
    note: Callable[[PendingRequest], None] = lambda _: None,
) -> Outcome:
    """What becomes of a trial with that story and those grades in turn, then good ones."""
    left = list(grades)

    def say(wanted: PendingRequest) -> Completion:
        note(wanted)
        text = story if wanted.request.to == "subject" else (left.pop(0) if left else GOOD)
        return Completion(text, "stop", "script", latency=0.0)

    return carry_out(experiment, ModelRoles("simulated/even", SIMULATED_JUDGE), trial, say)


def carried_out(subject: str, trial: Trial, experiment: Experiment = NARRATIVE) -> Outcome:
    """What becomes of a trial with a simulated subject and its default judge."""
    model = f"simulated/{subject}"
    roles = ModelRoles(model, judge_of(model, None, Roster()))

    def say(wanted: PendingRequest) -> Completion | None:
        name = roles.model(wanted.request.to).partition("/")[2]
        seed = trial_seed(experiment.id, trial, wanted.place)
        text = answer(SimulatedPrompt(name, wanted.request.messages, seed))
        return None if text is None else Completion(text, "stop", name, latency=0.0)

    return carry_out(experiment, roles, trial, say)


@cache
def outcomes(subject: str) -> tuple[Outcome, ...]:
    """Every trial of the gate design."""
    trials = plan(NARRATIVE, NARRATIVE.design())
    return tuple(carried_out(subject, trial) for trial in trials)


@cache
def analysed(subject: str) -> Analysis:
    """All verdicts on a subject."""
    return judged(outcomes(subject), HYPOTHESES)


def judged(
    found: tuple[Outcome, ...],
    hypotheses: tuple[Hypothesis, ...],
    experiment: Experiment = NARRATIVE,
) -> Analysis:
    """The analysis of some outcomes."""
    return analyse(
        experiment,
        experiment.design(),
        "simulated/even",
        found,
        hypotheses=hypotheses,
        controls=CONTROLS,
        recording=NOTHING_KEPT,
    )
