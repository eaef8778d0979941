"""The check that an experiment manipulates what it says it does, before anything is recorded.

Two conditions that put the very same before the subject show no effect whatever the subject is
like; a prompt that shows a label (``set1_white_male``) tells the subject what is tested. Both
show in the prompts, which are had in memory: the first trial of every condition, exemplar and item
is carried out up to its first reply, then with the experiment's simulated subject, if it has one.
Of what cannot be carried out nothing is said: its cases will.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import permutations

from ...errors import BadDesign, BiasError, JudgeNotBlind, SamePrompt, UnknownName
from ..design import Trial
from ..experiment import Experiment, Players, plan
from ..fields import author_line
from ..measures import check_kept
from ..records import Outcome, record_of
from ..replay import JUDGE, SUBJECT, Answers, PendingRequest, Walk, carry_out, simulated_answers
from .leaks import Prompt, ids_shown, words_shown

SEEDS = 5
"""Courses a conversation is given before two that never differed are called the same: what a
protocol asks may depend on what was replied."""

LISTED = 5
"""Faults that are put in words; of more only the number is said."""

_LONGEST = 60
"""Replies after which a trial is given up: a protocol may ask until it is content."""

_NEVER_AWAITED = "was never awaited"
"""How Python's own warning ends."""

_PLAYERS = Players(f"simulated/{SUBJECT}", f"simulated/{JUDGE}")


class _Walk(Walk):
    """A trial as far as it came in memory, and what was put before its subject."""

    def __init__(self, experiment: Experiment, trial: Trial, answer: Answers) -> None:
        super().__init__(experiment, _PLAYERS, trial, answer, _LONGEST)
        if isinstance(self.error, BadDesign | UnknownName):
            raise self.error
        self.told = self.error if isinstance(self.error, JudgeNotBlind) else None

    @cached_property
    def put(self) -> tuple[PendingRequest, ...]:
        """Return what the subject was asked, each question once."""
        return tuple(
            each for each in self.asked if each.place.attempt == 1 and each.request.to == "subject"
        )

    @property
    def prompt(self) -> Prompt:
        """Return all that the subject read, what no reply goes before, and the replies."""
        first = [at for at in self.put if {*at.place.branch[::2], at.place.turn} == {1}]
        replies = "\n".join(completion.text for _, completion in self.answered)
        return Prompt(self.trial, _text(self.put), _text(first), replies)


def faults(experiment: Experiment) -> tuple[BiasError, ...]:
    """Return the faults of the prompts of ``experiment``: errors, not raised.

    SamePrompt for each pair of conditions, LabelShown for each label, JudgeNotBlind for each level
    the judge is told, in the design's order.
    """
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", RuntimeWarning)
        try:
            found = _faults(experiment)
        except (BadDesign, UnknownName) as error:
            where = author_line(error)
            found = (BadDesign(what=where, problem=str(error)) if where else error,)
    for each in warned:
        place = f"{each.filename}:{each.lineno}"
        if str(each.message).endswith(_NEVER_AWAITED):
            problem = f"{each.message}: write await before it"
            return (BadDesign(what=place, problem=problem),)
        warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    return found


def _faults(experiment: Experiment) -> tuple[BiasError, ...]:
    once = experiment.design(replicates=1)
    trials = plan(experiment, replace(once, controls=min(once.controls, 1)))
    answer = simulated_answers(experiment, trials[0])
    walks = [_walk(experiment, trial, answer) for trial in trials]
    if experiment.simulated is not None:
        _check_measures(experiment, walks, answer)
    # Of what fails once it is answered the opening is known.
    begun = [
        walk or _walk(experiment, trial, lambda _: None)
        for walk, trial in zip(walks, trials, strict=True)
    ]
    prompts = [walk.prompt for walk in begun if walk is not None and walk.put]
    told = {
        (walk.told.factor, walk.told.level): walk.told
        for walk in reversed(begun)
        if walk is not None and walk.told is not None
    }
    found: list[BiasError] = [*reversed(told.values())]
    found += _same(experiment, [walk for walk in walks if walk], trials[0])
    found += ids_shown(experiment, prompts)
    if len(prompts) == len(trials):  # or else nobody knows what other levels show
        found += words_shown(experiment, prompts)
    return tuple(found)


def in_words(found: Sequence[BiasError]) -> str:
    """``found`` as one message, a line each; empty where there is none."""
    lines = [str(fault) for fault in found[:LISTED]]
    if len(found) > LISTED:
        lines.append(f"… and {len(found) - LISTED} more like these")
    return "\n".join(lines)


def _check_measures(
    experiment: Experiment, walks: Sequence[_Walk | None], answer: Answers
) -> None:
    """Take every measure once: one that cannot be taken would show when all is paid for.

    Raises BadDesign when one gives no value, or fails.
    """
    trial = next((walk.trial for walk in walks if walk is not None and walk.valid), None)
    if trial is None:
        return
    outcome = carry_out(experiment, _PLAYERS, trial, answer)
    for measure in experiment.measures:
        try:
            row = record_of(outcome, [measure])
            if experiment.retention != "raw":
                check_kept([measure], row.values)
        except BiasError:
            raise
        except Exception as error:
            problem = f"take= fails of a valid reply, with {type(error).__name__}: {error}"
            raise BadDesign(what=f"Measure({measure.name!r})", problem=problem) from error


# --- trials in memory -------------------------------------------------------------------------


def _walk(experiment: Experiment, trial: Trial, answer: Answers) -> _Walk | None:
    """``trial`` with what ``answer`` gives; None where its protocol fails."""
    walk = _Walk(experiment, trial, answer)
    return walk if walk.error is walk.told else None


def _text(asked: Sequence[PendingRequest]) -> str:
    """Return all that system and user say, each message once."""
    told = (message for each in asked for message in each.request.messages)
    return "\n".join(dict.fromkeys(m.text for m in told if m.role != "assistant"))


# --- the same prompts -------------------------------------------------------------------------


def _same(experiment: Experiment, walks: Sequence[_Walk], seed: Trial) -> Iterator[SamePrompt]:
    """Pairs of conditions, and of exemplars in one, that put the same before the subject."""
    valid: set[str] = set()
    groups = [list(walks)]
    for number in range(1, SEEDS + 1):
        if number > 1:
            answer = simulated_answers(experiment, replace(seed, replicate=number))
            again = [[_walk(experiment, walk.trial, answer) for walk in part] for part in groups]
            groups = [[walk for walk in part if walk is not None] for part in again]
        groups = [alike for part in groups for alike in _alike(part)]
        valid |= {walk.trial.id for part in groups for walk in part if walk.valid}
    pairs: dict[tuple[str, str], list[tuple[Trial, Trial]]] = {}
    for part in groups:
        # Where no course led to a valid reply, what else would have been asked is not known.
        trials = [walk.trial for walk in part if walk.trial.id in valid]
        for other in trials[1:]:
            key = (trials[0].condition.id, other.condition.id)
            pairs.setdefault(key, []).append((trials[0], other))
    for (one, two), found in pairs.items():
        first, second = found[0]
        yield SamePrompt(
            experiment=experiment.id,
            conditions=(one, two),
            item=first.item,
            exemplars=(tuple(first.exemplars.values()), tuple(second.exemplars.values())),
            more=len(found) - 1,
        )


def _alike(walks: Sequence[_Walk]) -> list[list[_Walk]]:
    """Groups of trials of one item that came to an end and in which the same was asked."""
    groups: dict[object, list[_Walk]] = {}
    for walk in walks:
        if walk.put and walk.missing is None and walk.error is None:
            put = tuple(each.request.messages for each in walk.put)
            groups.setdefault((walk.trial.item, put), []).append(walk)
    return [group for group in groups.values() if len(group) > 1]


def find_twins(outcomes: Mapping[str, Sequence[Outcome | None]]) -> dict[str, str]:
    """Condition → another in which the subject is told the same, in the first trial of both.

    ``outcomes`` are those of each condition's trials in the plan's order; None for one that is not
    recorded, which fails by itself. Of a trial without a valid reply nobody knows what else it
    would have told: the first pair of trials that both have one says it.
    """
    twins: dict[str, str] = {}
    for one, other in permutations(outcomes, 2):
        if one not in twins and _told_alike(outcomes[one], outcomes[other]):
            twins[one] = other
    return twins


def _told_alike(ones: Sequence[Outcome | None], others: Sequence[Outcome | None]) -> bool:
    for one, other in zip(ones, others, strict=False):
        if one is None or other is None:
            return False
        if one.missing is None and other.missing is None:
            return one.prompts == other.prompts
    return False
