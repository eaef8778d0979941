"""Holdings of a cassette: what it has of a design, and what no design of its experiment asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..cassettes.format import condition_id, trial_id
from ..cassettes.recorded_trials import measured_in
from ..cassettes.store import Cassette
from ..errors import BadDesign
from ..experiments.design import Design, Trial
from ..experiments.experiment import Experiment, Players, plan_all
from .estimate import Use, measured_use, use_of_reply, walked


@dataclass(frozen=True, slots=True)
class Held:
    """Lines that a cassette has of one trial: the use of each, by key.

    ``whole`` is whether nothing of it is to be called; ``error`` what of the author's ended it.
    """

    uses: Mapping[str, Use]
    whole: bool
    error: BaseException | None = None


def held_of(experiment: Experiment, players: Players, trial: Trial, cassette: Cassette) -> Held:
    """Return what ``cassette`` has of ``trial``, replayed in memory.

    Raises KeepsText where text stands that may not.
    """
    if experiment.retention != "raw":
        measured = measured_in(experiment, players, trial, cassette)
        uses = {} if measured is None else {measured.key: measured_use(measured)}
        return Held(uses, measured is not None)
    walk = walked(experiment, players, trial, lambda wanted: cassette.lookup(wanted.key))
    uses = {wanted.key: use_of_reply(wanted, reply) for wanted, reply in walk.answered}
    return Held(uses, walk.missing is None, walk.error)


@dataclass(frozen=True, slots=True)
class Unasked:
    """What no trial of any design asks for today, and none of further replicates.

    ``conditions`` has the condition of each such line by key. The ``removable`` ones stand in no
    trial that lacks something: what that goes on to ask nobody knows.
    """

    conditions: Mapping[str, str]
    removable: frozenset[str]


NOTHING_UNASKED = Unasked({}, frozenset())


def unasked_in(experiment: Experiment, players: Players, cassette: Cassette) -> Unasked:
    """Return what stands in ``cassette`` and ``experiment`` does not ask for, replayed in memory.

    Raises KeepsText where text stands that may not. Raises BadDesign where the author's own code
    fails: then nobody knows what a trial would go on to ask.
    """
    lacking: set[str] = set()
    asked: set[str] = set()
    designed = {trial.id for trial in plan_all(experiment)}
    for trial in every_trial(experiment, cassette):
        found = held_of(experiment, players, trial, cassette)
        if found.error is not None and trial.id in designed:
            problem = f"fails with {type(found.error).__name__}: {found.error}"
            what = f"{experiment.id}, trial {trial.id}"
            raise BadDesign(what=what, problem=problem) from found.error
        asked.update(found.uses)
        if (not found.whole or found.error is not None) and (trial.id in designed or lacking):
            # Where all that a design has is whole, further replicates that ask otherwise are old.
            lacking.add(trial.id)
    lines = cassette.recorded() if cassette.keys - asked else ()
    unasked = {each.key: each.trial for each in lines if each.key not in asked}
    return Unasked(
        {key: condition_id(trial) for key, trial in unasked.items()},
        frozenset(key for key, trial in unasked.items() if trial_id(trial) not in lacking),
    )


def every_trial(experiment: Experiment, cassette: Cassette, *designs: Design) -> tuple[Trial, ...]:
    """Return the trials of every design, then those that ``cassette`` has of further replicates.

    These are what more ``--bias-replicates`` than any design has asked, and were paid for.
    """
    trials = plan_all(experiment, *designs)
    cells = {trial.id.rpartition("#")[0]: trial for trial in trials}
    further = []
    for name in sorted(cassette.trials() - {trial.id for trial in trials}):
        cell, _, replicate = name.rpartition("#")
        if cell in cells:
            further.append(replace(cells[cell], replicate=int(replicate)))
    return (*trials, *further)
