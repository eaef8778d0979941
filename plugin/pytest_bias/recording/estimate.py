"""Estimates of what trials that are not recorded would use: calls and their tokens. Calls nothing.

They come from the best that is there: the recorded trials of the same cassette, those of another
model's, a dry run of the protocol in memory in which the experiment's own simulated subject
answers, or the opening request alone. Tokens that no provider counted are characters divided by
four.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..cassettes.measured import MeasuredTrial
from ..cassettes.recorded_trials import measured_in
from ..cassettes.store import Cassette, cassettes_in
from ..errors import (
    BadDesign,
    BadSetting,
    BiasError,
    DamagedCassette,
    NotReadable,
    UnknownName,
)
from ..experiments.design import Trial
from ..experiments.experiment import Experiment, ModelRoles
from ..experiments.fields import author_line
from ..experiments.messages import Completion, Parameters, believable_counts
from ..experiments.replay import Answers, PendingRequest, Walk, simulated_answers

_CHARACTERS_PER_TOKEN = 4
SAMPLE = 200
"""Trials an estimate is taken from, at most."""


Use = NDArray[np.float64]
"""Calls, their input tokens and their output tokens: a row of the subject and one of the judge."""

NO_USE: Use = np.zeros((2, 3))


@dataclass(frozen=True, slots=True)
class Calls:
    """A number of calls and their tokens."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


def use_of(to: object, input_tokens: float, output_tokens: float) -> Use:
    """The use of one call of the judge where it goes ``to`` it, else of the subject."""
    use = NO_USE.copy()
    use[int(to == "judge")] = 1, input_tokens, output_tokens
    return use


def total(uses: Iterable[Use]) -> Use:
    """The sum of ``uses``."""
    return sum(uses, NO_USE)


def rest_of(trial: Use, done: Use) -> Use:
    """The rest of a trial of which ``done`` is recorded."""
    return np.maximum(trial - done, 0)


def whole_calls(use: Use) -> tuple[Calls, Calls]:
    """Calls of subject and judge, rounded up where more than rounding errors are over."""
    subject, judge = (
        Calls(*(math.ceil(round(value, 6)) for value in row)) for row in use.tolist()
    )
    return subject, judge


def called_models(experiment: Experiment, roles: ModelRoles) -> list[tuple[str, Parameters]]:
    """The models a trial calls, subject before judge, each with the parameters of its calls."""
    models = [(roles.subject, experiment.parameters.filled(roles.subject_defaults))]
    if experiment.judge is not None and roles.judge is not None:
        models.append((roles.judge, experiment.judge.filled(roles.judge_defaults)))
    return models


def walked(experiment: Experiment, roles: ModelRoles, trial: Trial, answer: Answers) -> Walk:
    """A trial carried out in memory as far as ``answer`` answers.

    A BiasError that ended it is raised; what else did is in it.
    """
    walk = Walk(experiment, roles, trial, answer)
    if isinstance(walk.error, UnknownName):  # of the author's code, which is not named elsewhere
        where = f"{experiment.id} ({author_line(walk.error)})"
        raise BadDesign(what=where, problem=str(walk.error)) from None
    if isinstance(walk.error, BiasError):
        raise walk.error
    return walk


def use_of_reply(wanted: PendingRequest, completion: Completion, *, counted: bool = True) -> Use:
    """The use of an answered interaction.

    Tokens are what the provider counted, where it did and ``counted`` is set; else they are
    estimated from the characters.
    """
    usage, request = completion.usage if counted else {}, wanted.request
    sent, replied = usage.get("input"), usage.get("output")
    return use_of(
        request.to,
        tokens_of(message.text for message in request.messages) if sent is None else sent,
        tokens_of([completion.text]) if replied is None else replied,
    )


def measured_use(measured: MeasuredTrial) -> Use:
    """The use of a trial of which measures are stored, as the provider counted tokens."""
    counted = ((call["to"], believable_counts(call["usage"])) for call in measured.calls)
    return total(
        use_of(to, usage.get("input", 0), usage.get("output", 0)) for to, usage in counted
    )


def tokens_of(texts: Iterable[str]) -> float:
    """Tokens of ``texts``, estimated from their characters."""
    return sum(map(len, texts)) / _CHARACTERS_PER_TOKEN


Mark = Literal["exact", "estimate", "at least"]
Basis = Literal[
    "nothing to record", "this cassette", "another cassette", "dry run", "opening request"
]


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """The basis of figures: ``trials`` of ``basis``; ``model`` is another cassette's."""

    mark: Mark
    basis: Basis
    trials: int = 0
    model: str | None = None


def use_of_trial(
    experiment: Experiment,
    missing: Sequence[Trial],
    complete: Sequence[Use],
    roles: ModelRoles,
    cassette: Path,
    roles_of: Callable[[str], ModelRoles],
) -> tuple[CostEstimate, Use]:
    """The mean use of a trial; ``complete`` are the uses of complete trials in the ``cassette``.

    ``roles_of`` gives the roles for a model with which the experiment was recorded elsewhere.
    """
    if complete:
        return CostEstimate("estimate", "this cassette", len(complete)), _mean(complete)
    elsewhere = _recorded_elsewhere(experiment, missing, cassette, roles_of)
    return elsewhere or rehearsed_use(experiment, missing, roles)


def rehearsed_use(
    experiment: Experiment, trials: Sequence[Trial], roles: ModelRoles
) -> tuple[CostEstimate, Use]:
    """The mean use of a trial, whatever is recorded."""
    sample = _spread(trials)
    answer = simulated_answers(experiment)
    # The experiment's own simulated subject, if it answers every request.
    uses = _uses(walked(experiment, roles, trial, answer) for trial in sample)
    if uses:
        return CostEstimate("estimate", "dry run", len(uses)), _mean(uses)
    # The first request alone, which no reply can change.
    for trial in sample:
        opening = walked(experiment, roles, trial, lambda _: None).missing
        if opening is not None:
            sent = tokens_of(message.text for message in opening.request.messages)
            uses.append(use_of(opening.request.to, sent, 0))
    return CostEstimate("at least", "opening request", len(uses)), _mean(uses)


def _recorded_elsewhere(
    experiment: Experiment,
    missing: Sequence[Trial],
    path: Path,
    roles_of: Callable[[str], ModelRoles],
) -> tuple[CostEstimate, Use] | None:
    """From the same trials recorded with another model; a real one before a simulated one."""
    for simulated, model, cassette in _other_cassettes(path):
        try:
            roles = roles_of(model)
        except BadSetting:
            continue  # no judge of that model is named
        known = cassette.trials()
        sample = _spread([trial for trial in missing if trial.id in known])
        if experiment.retention == "raw":
            answer = partial(_stored, cassette)
            walks = [walked(experiment, roles, trial, answer) for trial in sample]
            if any(w.missing is not None and w.missing.request.to == "judge" for w in walks):
                continue  # another judge graded: who is not graded says little
            # What a simulated endpoint counts are words.
            uses = _uses(walks, counted=not simulated)
        elif simulated or cassette.keeps_text:
            continue  # without the text, those words cannot be counted otherwise
        else:
            measured = (measured_in(experiment, roles, t, cassette) for t in sample)
            uses = [measured_use(each) for each in measured if each is not None]
        if uses:
            return CostEstimate("estimate", "another cassette", len(uses), model), _mean(uses)
    return None


def _other_cassettes(path: Path) -> list[tuple[bool, str, Cassette]]:
    """Cassettes of other models: if they are simulated, who they are, what they hold."""
    others = []
    for other in cassettes_in(path.parent):
        if other != path:
            # Of another model; a plan or a run of it names the damage.
            with suppress(DamagedCassette, NotReadable):
                cassette = Cassette(other)
                if cassette.header is not None:
                    simulated = cassette.provenance.simulated
                    others.append((simulated, cassette.header.model, cassette))
    return sorted(others, key=lambda other: other[:2])


def _stored(cassette: Cassette, wanted: PendingRequest) -> Completion | None:
    return cassette.lookup(wanted.key)


def worst(marks: Iterable[Mark]) -> Mark:
    """The weakest of ``marks``."""
    order: tuple[Mark, ...] = ("exact", "estimate", "at least")
    return max(marks, key=order.index, default="exact")


def _uses(walks: Iterable[Walk], *, counted: bool = True) -> list[Use]:
    """The use of each trial that came to its end."""
    return [
        total(use_of_reply(*each, counted=counted) for each in walk.answered)
        for walk in walks
        if walk.missing is None
    ]


def _mean(uses: Sequence[Use]) -> Use:
    return total(uses) * (1 / max(len(uses), 1))


def _spread(trials: Sequence[Trial]) -> Sequence[Trial]:
    """At most :data:`SAMPLE` of ``trials``, drawn at random but always the same."""
    return trials if len(trials) <= SAMPLE else Random(0).sample(trials, SAMPLE)  # noqa: S311
