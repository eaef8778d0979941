"""The check that who is eligible is decided before a trial's levels part.

Conditioning on what came after a manipulation compares different trials. So the same trial is
carried out in memory at several levels of what is compared: as long as the subject is asked the
same it replies the same, then by itself. A flag that rests on nothing else is then the same, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...errors import InvalidReply
from ..canonical import compact, digest, plain
from ..design import Trial
from ..experiment import Experiment, ModelRoles, plan
from ..messages import Completion
from ..replay import JUDGE, SUBJECT, PendingRequest, Walk, simulated_reply

DRAWS = 200
"""Rehearsals at two levels each: a flag that a later reply turns once in 50 differs in .9997."""

_PLAYERS = ModelRoles(f"simulated/{SUBJECT}", f"simulated/{JUDGE}")


def not_before(experiment: Experiment, flag: str, compared: Mapping[str, Sequence[str]]) -> str:
    """Say why ``flag`` is not shown to be decided before the ``compared`` levels part; '' if so.

    ``compared`` are levels by factor, or items.
    """
    if experiment.simulated is None:
        return "is checked by rehearsing the protocol, which needs simulated="
    if not (pairs := _pairs(experiment, compared)):
        return "cannot be rehearsed: the gate design has no trials at the levels compared"
    seen: set[object] = set()
    for draw in range(DRAWS):
        walks = [_walk(experiment, trial, draw) for trial in pairs[draw % len(pairs)]]
        asked = [{each.request.messages for each in walk.interactions} for walk in walks]
        if asked[0].isdisjoint(asked[1]):
            names = " and ".join(compared)
            return f"can rest on no reply: the levels of {names} part before the first"
        try:
            values = [experiment.measure(flag).of(walk.result) for walk in walks if walk.valid]
        except InvalidReply:
            continue
        if len(values) < len(walks):
            continue  # no result, and no flag
        if values[0] != values[1]:
            at = pairs[draw % len(pairs)][1].id
            return f"depends on what came after the levels parted (rehearsed: {at})"
        seen |= {*values}
    if len(seen) < 2:  # noqa: PLR2004  (True and False)
        return f"did not vary in {DRAWS} rehearsals: the simulated subject has to give both"
    return ""


def _pairs(experiment: Experiment, compared: Mapping[str, Sequence[str]]) -> list[list[Trial]]:
    """The first trials of two levels each that are alike in all else."""
    items = experiment.items.name if experiment.items is not None else ""
    alike: dict[object, dict[object, Trial]] = {}
    for trial in plan(experiment, experiment.design(replicates=1)):
        labels = {**trial.condition.levels, items: trial.item or ""}
        if any(labels[name] not in levels for name, levels in compared.items()):
            continue
        rest = tuple((name, at) for name, at in labels.items() if name not in compared)
        level = tuple(labels[name] for name in compared)
        alike.setdefault(rest, {}).setdefault(level, trial)
    return [
        [first, other]
        for first, *others in (list(each.values()) for each in alike.values())
        for other in others
    ]


def _walk(experiment: Experiment, trial: Trial, draw: int) -> Walk:
    def answer(wanted: PendingRequest) -> Completion | None:
        request = wanted.request
        asked = compact(plain([draw, wanted.place, request.to, request.messages]))
        return simulated_reply(experiment, wanted, int(digest(asked)[:12], 16))

    return Walk(experiment, _PLAYERS, trial, answer)
