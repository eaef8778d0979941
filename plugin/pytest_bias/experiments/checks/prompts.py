"""Digests of all an experiment tells its subject and its judge whatever they reply.

A verdict holds for the prompts it was reached with, so a baseline must know when one has changed.
Prompts are made in memory, as for a recording, and leave it as digests only: of a condition one
over all its exemplars and items, so that nothing of a single prompt stands anywhere by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..canonical import compact, digest, plain
from ..design import Design, Trial, frozen_mapping
from ..experiment import Experiment, ModelRoles, plan_condition
from ..messages import Completion, Parameters, Request, parameters_of, request_parts
from ..replay import Lookup, PendingRequest, Walk, simulated_reply

_LENGTH = 16
"""Hexadecimal digits of a digest."""
_TRIED = 3
"""Trials of a condition that are carried out at most to see what its judge is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptDigests:
    """Digests of the prompts that are sent before any reply, by condition.

    ``subject`` is over the first requests (messages, form of the reply) of every exemplar and
    item, ``judge`` over what of its first request no reply changes (system message, form of the
    grade); a condition of which nobody knows is left out of it.
    """

    subject: Mapping[str, str] = field(default_factory=dict)
    judge: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "subject", frozen_mapping(self.subject))
        object.__setattr__(self, "judge", frozen_mapping(self.judge))


def prompt_digests(
    experiment: Experiment, design: Design, roles: ModelRoles, recorded: Lookup | None = None
) -> PromptDigests:
    """Return the prompts of ``experiment`` under ``design``: the same for every subject.

    Prompts are those of the first replicate. Sampling parameters count only where a protocol sets
    its own: what the experiment asks for is told apart (see :func:`.fingerprints.fingerprint_of`);
    nor does a system prompt of the subject's own.
    ``recorded`` gives the replies on the way to the judge where the experiment has no simulated
    subject; None where none are kept.
    """
    once = replace(design, replicates=1, controls=0)
    subject: dict[str, str] = {}
    judge: dict[str, str] = {}
    for condition in experiment.conditions:
        trials = plan_condition(experiment, once, condition)
        subject[condition.id] = _digest([_opening(experiment, roles, t) for t in trials])
        if experiment.judge is not None:
            asked = (_judged(experiment, roles, t, recorded) for t in trials[:_TRIED])
            known = next((each for each in asked if each), None)
            if known is not None:
                judge[condition.id] = _digest(known)
    return PromptDigests(subject=subject, judge=judge)


def _opening(experiment: Experiment, roles: ModelRoles, trial: Trial) -> list[object]:
    """Return a trial's requests before it has a reply: several where they go together."""
    given = experiment.terms(roles)["subject"]
    bare = replace(roles, subject_system=None)
    walk = Walk(experiment, bare, trial, lambda _: None)
    return [_parts(wanted.request, given) for wanted in walk.requests]


def _judged(
    experiment: Experiment, roles: ModelRoles, trial: Trial, recorded: Lookup | None
) -> list[object]:
    """Return the part of the judge's first request that no reply changes; empty without one.

    How many follow, and which, may depend on replies.
    """
    given = experiment.terms(roles)["judge"]

    def answer(wanted: PendingRequest) -> Completion | None:
        if wanted.request.to == "judge":
            return None
        if experiment.simulated is not None:
            return simulated_reply(experiment, wanted)
        return None if recorded is None else recorded(wanted.key)

    asked = Walk(experiment, roles, trial, answer).requests
    first = next((each.request for each in asked if each.request.to == "judge"), None)
    if first is None:
        return []
    # Other messages may quote a reply.
    system = tuple(message for message in first.messages if message.role == "system")
    return [_parts(replace(first, messages=system), given)]


def _parts(request: Request, given: Parameters) -> object:
    """A request as it enters a digest; parameters only where they are none of ``given``."""
    parts = request_parts(request)
    if parts["parameters"] == parameters_of(given):
        del parts["parameters"]
    return plain(parts, "request")


def _digest(value: object) -> str:
    return digest(compact(value, sort_keys=True))[:_LENGTH]
