"""The check that an experiment manipulates what it says it does, before anything is recorded.

Two conditions that put the very same before the subject show no effect whatever the subject is
like; a prompt that shows a label (``set1_white_male``) tells the subject what is tested. Both
show in the prompts, which are had in memory: the first trial of every condition, exemplar and item
is carried out with the experiment's simulated subject, or up to its first reply where it has none.
Of what cannot be carried out nothing is said: its cases will.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations
from types import NoneType

from ...errors import BadDesign, BiasError, JudgeNotBlind, UnknownName
from ..design import Trial
from ..experiment import Experiment, ModelRoles, plan
from ..fields import author_line
from ..measures import check_storable
from ..records import Outcome, record_of
from ..replay import JUDGE, SUBJECT, Answers, PendingRequest, Walk, carry_out, simulated_answers

SEEDS = 5
"""Courses a conversation is given before two that never differed are called the same: what a
protocol asks may depend on what was replied."""

LISTED = 5
"""Faults that are put in words; of more only the number is said."""

_LONGEST = 60
"""Replies after which a trial is given up: a protocol may ask until it is content."""

_AROUND = 25
"""Characters of the prompt that are quoted on either side."""

_PLAYERS = ModelRoles(f"simulated/{SUBJECT}", f"simulated/{JUDGE}")


@dataclass(frozen=True, slots=True)
class _Prompt:
    """All the subject reads in a trial, what of it stands there before any reply, and replies."""

    trial: Trial
    text: str
    opening: str
    replies: str


@dataclass(frozen=True, slots=True)
class _Label:
    """A label that a prompt must not show, and what it names.

    ``stimuli`` are words that are meant to be read; ``label_of`` gives the label of the same kind
    that any trial has.
    """

    text: str
    of: str
    label_of: Callable[[Trial], str | None]
    stimuli: Collection[object] = ()

    def find(self, text: str) -> re.Match[str] | None:
        """The first place in ``text`` that has it as a whole word, in any case."""
        if self.text.lower() not in text.lower():
            return None  # most have not: a search by pattern would take longer
        return re.search(rf"(?<!\w){re.escape(self.text)}(?!\w)", text, re.IGNORECASE)


class _Rehearsal(Walk):
    """A trial as far as it came in memory; ``put`` is what its subject was asked, each once."""

    def __init__(self, experiment: Experiment, trial: Trial, answer: Answers) -> None:
        super().__init__(experiment, _PLAYERS, trial, answer, _LONGEST)
        if isinstance(self.error, BadDesign | UnknownName):
            raise self.error
        asked = (each for each in self.requests if each.request.to == "subject")
        self.put = [each for each in asked if each.place.attempt == 1]

    @property
    def prompt(self) -> _Prompt:
        """Return all that the subject read, what no reply goes before, and the replies."""
        first = [at for at in self.put if {*at.place.branch[::2], at.place.turn} == {1}]
        replies = "\n".join(completion.text for _, completion in self.answered)
        return _Prompt(self.trial, _text(self.put), _text(first), replies)


def faults(experiment: Experiment) -> tuple[BiasError, ...]:
    """Errors in the prompts of ``experiment``, returned and not raised.

    Its protocol runs in memory, without any call. JudgeNotBlind stands for each level that the
    judge could read, BadDesign for each pair of conditions with the same prompt, and for each
    label that a prompt shows. An error of the declaration itself comes alone.
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
        if str(each.message).endswith("was never awaited"):
            problem = f"{each.message}: write await before it"
            return (BadDesign(what=place, problem=problem),)
        warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    return found


def _faults(experiment: Experiment) -> tuple[BiasError, ...]:
    once = experiment.design(replicates=1)
    trials = plan(experiment, replace(once, controls=min(once.controls, 1)))
    answer = simulated_answers(experiment, trials[0])
    walks = _rehearsed(experiment, trials, answer)
    if experiment.simulated is not None:
        _check_measures(experiment, walks, answer)
    not_blind: dict[tuple[str, str], BiasError] = {}
    for walk in walks:
        if isinstance(walk.error, JudgeNotBlind):
            not_blind.setdefault((walk.error.factor, walk.error.level), walk.error)
    prompts = [walk.prompt for walk in walks if walk.put]
    same = _same(experiment, walks, trials[0])
    return (*not_blind.values(), *same, *_labels_shown(experiment, prompts))


def format_faults(found: Sequence[BiasError]) -> str:
    """``found`` as one message, a line each; empty where there is none."""
    lines = [str(fault) for fault in found[:LISTED]]
    if len(found) > LISTED:
        lines.append(f"… and {len(found) - LISTED} more like these")
    return "\n".join(lines)


def _check_measures(experiment: Experiment, walks: Sequence[_Rehearsal], answer: Answers) -> None:
    """Take every measure once: one that cannot be taken would show when all is paid for.

    Raises BadDesign when one gives no value, or fails.
    """
    trial = next((walk.trial for walk in walks if walk.valid), None)
    if trial is None:
        return
    outcome = carry_out(experiment, _PLAYERS, trial, answer)
    for measure in experiment.measures:
        try:
            row = record_of(outcome, [measure])
            if experiment.retention != "raw":
                check_storable([measure], row.values)
        except BiasError:
            raise
        except Exception as error:
            problem = f"take= fails of a valid reply, with {type(error).__name__}: {error}"
            raise BadDesign(what=f"Measure({measure.name!r})", problem=problem) from error


def _rehearsed(
    experiment: Experiment, trials: Iterable[Trial], answer: Answers
) -> list[_Rehearsal]:
    """``trials`` with what ``answer`` gives, without those whose protocol fails."""
    walks = (_Rehearsal(experiment, trial, answer) for trial in trials)
    return [walk for walk in walks if isinstance(walk.error, JudgeNotBlind | NoneType)]


def _text(asked: Sequence[PendingRequest]) -> str:
    """Return all that system and user say, each message once."""
    told = (message for each in asked for message in each.request.messages)
    return "\n".join(dict.fromkeys(m.text for m in told if m.role != "assistant"))


def _same(experiment: Experiment, walks: Sequence[_Rehearsal], seed: Trial) -> Iterator[BadDesign]:
    """Pairs of conditions, and of exemplars in one, that put the same before the subject."""
    valid: set[str] = set()
    groups = [list(walks)]
    for number in range(1, SEEDS + 1):
        if number > 1:
            answer = simulated_answers(experiment, replace(seed, replicate=number))
            trials_of = ([walk.trial for walk in part] for part in groups)
            groups = [_rehearsed(experiment, part, answer) for part in trials_of]
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
        exemplars = (tuple(first.exemplars.values()), tuple(second.exemplars.values()))
        yield same_prompt(experiment.id, (one, two), first.item, exemplars, len(found) - 1)


def same_prompt(
    experiment: str,
    conditions: tuple[str, str],
    item: str | None = None,
    exemplars: tuple[Sequence[str], Sequence[str]] = ((), ()),
    more: int = 0,
) -> BadDesign:
    """The error for two conditions, or two exemplars of one, with the same prompt.

    ``conditions`` are the ids of both, twice the same where the exemplars do not differ; ``item``
    and ``exemplars`` are those of the first such pair of trials, ``more`` counts the others.
    """
    first, second = conditions
    one, two = (", ".join(map(repr, members)) for members in exemplars)
    members = f"exemplars {one} and {two}" if one != two else f"exemplars {one}"
    among = [f"item {item!r}"] if item is not None else []
    who, so = f"conditions {first!r} and {second!r}", "nothing is manipulated between them"
    if first == second:
        who, so = f"in condition {first!r} the {members}", "they are no two units"
    elif one:
        among.append(members)
    where = f" ({'; '.join(among)})" if among else ""
    others = f"; {more} more of their trials are alike" if more else ""
    problem = f"{who} put the same prompt before the subject{where}, so {so}{others}"
    return BadDesign(what=experiment, problem=problem)


def _alike(walks: Sequence[_Rehearsal]) -> list[list[_Rehearsal]]:
    """Groups of trials of one item that came to an end and in which the same was asked."""
    groups: dict[object, list[_Rehearsal]] = {}
    for walk in walks:
        if walk.put and walk.missing is None and walk.error is None:
            put = tuple(each.request.messages for each in walk.put)
            groups.setdefault((walk.trial.item, put), []).append(walk)
    return [group for group in groups.values() if len(group) > 1]


def _labels_shown(experiment: Experiment, prompts: Sequence[_Prompt]) -> Iterator[BadDesign]:
    """Labels that a prompt shows, each once.

    What the subject is meant to read stands in the values of levels and items and in exemplars. A
    label of one word may stand in a prompt by chance: only those written as identifiers count.
    """
    settled: set[tuple[str, str]] = set()
    for prompt in prompts:
        for label in _labels(experiment, prompt.trial):
            at = label.find(prompt.text)
            if at is None or (label.of, label.text) in settled:
                continue
            read = " ".join(prompt.text.split())
            meant = (" ".join(each.split()) for each in label.stimuli if isinstance(each, str))
            if any(label.find(each) and each in read for each in meant):
                continue
            if not label.find(prompt.opening) and label.find(prompt.replies):
                continue  # the subject's own words
            settled.add((label.of, label.text))
            if not _shown_elsewhere(label, prompts):
                yield BadDesign(
                    what=experiment.id, problem=_problem(experiment, prompt, label, at)
                )


def _problem(experiment: Experiment, prompt: _Prompt, label: _Label, at: re.Match[str]) -> str:
    trial = prompt.trial
    where = f"condition {trial.condition.id!r}"
    where += f" (item {trial.item!r})" if trial.item is not None else ""
    shown = f"{label.text!r}, a label of {label.of}"
    if experiment.retention == "raw":  # else no text may stand in an error either
        shown += f": {prompt.text[max(at.start() - _AROUND, 0) : at.end() + _AROUND]!r}"
    return (
        f"{where} shows the subject {shown}. It tells what is being tested: take it out of the "
        "prompt; words meant to be read belong into the level's value"
    )


def _shown_elsewhere(label: _Label, prompts: Sequence[_Prompt]) -> bool:
    """True if some prompt of every other level or item shows it: that tells none apart."""
    shows: dict[str | None, bool] = {}
    for prompt in prompts:
        other = label.label_of(prompt.trial)
        if other != label.text and not shows.get(other, False):
            shows[other] = label.find(prompt.text) is not None
    return bool(shows) and all(shows.values())


def _labels(experiment: Experiment, trial: Trial) -> Iterator[_Label]:
    """The labels of a trial that are written as identifiers are."""
    for name, level in trial.condition.levels.items():
        if "_" in level:
            stimuli = (trial.condition[name], trial.exemplars.get(name))
            level_of = partial(_level, name)
            yield _Label(level, f"factor {name!r}", level_of, stimuli)
    if trial.item is not None and experiment.items is not None and "_" in trial.item:
        of = f"items {experiment.items.name!r}"
        yield _Label(trial.item, of, lambda each: each.item, (trial.item_value,))


def _level(factor: str, trial: Trial) -> str:
    return trial.condition.levels[factor]


def find_twins(outcomes: Mapping[str, Sequence[Outcome | None]]) -> dict[str, str]:
    """Condition → another in which the subject is told the same, in the first trial of both.

    ``outcomes`` are those of each condition's trials in the plan's order; None for one that is not
    recorded, which fails by itself. Of a trial without a valid reply nobody knows what else it
    would have told: the first pair of trials that both have one says it.
    """
    twins: dict[str, str] = {}
    for one, other in permutations(outcomes, 2):
        if one not in twins and _same_prompts(outcomes[one], outcomes[other]):
            twins[one] = other
    return twins


def _same_prompts(ones: Sequence[Outcome | None], others: Sequence[Outcome | None]) -> bool:
    for one, other in zip(ones, others, strict=False):
        if one is None or other is None:
            return False
        if one.missing is None and other.missing is None:
            return one.prompts == other.prompts
    return False
