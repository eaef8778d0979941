"""Labels and ids in prompts: they tell the subject what is being tested.

What an author means the subject to read stands in the values of levels and items and in exemplars;
labels are for cases, columns and reports. A label of one word may stand in a prompt by chance, so
only labels that are written as identifiers (``set1_white_male``) and ids are looked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from ...errors import BadDesign
from ..design import Trial
from ..experiment import Experiment

_AROUND = 25
"""Characters of the prompt that are quoted on either side."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """All the subject reads in a trial, what of it stands there before any reply, and replies."""

    trial: Trial
    text: str
    opening: str
    replies: str


@dataclass(frozen=True, slots=True)
class _Label:
    """A label or id that a prompt must not show, and what it names.

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


def labels_shown(experiment: Experiment, prompts: Sequence[Prompt]) -> Iterator[BadDesign]:
    """Labels and ids that a prompt shows, each once."""
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


def _problem(experiment: Experiment, prompt: Prompt, label: _Label, at: re.Match[str]) -> str:
    trial, is_id = prompt.trial, label.of in ("condition", "trial")
    where = f"condition {trial.condition.id!r}"
    where += f" (item {trial.item!r})" if trial.item is not None else ""
    shown = f"{label.text!r}, {'the id of the' if is_id else 'a label of'} {label.of}"
    if experiment.retention == "raw":  # else no text may stand in an error either
        shown += f": {prompt.text[max(at.start() - _AROUND, 0) : at.end() + _AROUND]!r}"
    return (
        f"{where} shows the subject {shown}. It tells what is being tested: take it out of the "
        "prompt; words meant to be read belong into the level's value"
    )


def _shown_elsewhere(label: _Label, prompts: Sequence[Prompt]) -> bool:
    """True if other prompts show a label as well: what all of them show tells none apart.

    Of a level's or an item's label, some prompt of every other one must; an id has nothing to do
    with any other trial, so one prompt is enough.
    """
    shows: dict[str | None, bool] = {}
    for prompt in prompts:
        other = label.label_of(prompt.trial)
        if other != label.text and not shows.get(other, False):
            shows[other] = label.find(prompt.text) is not None
    if label.of in ("condition", "trial"):
        return any(shows.values())
    return bool(shows) and all(shows.values())


def _labels(experiment: Experiment, trial: Trial) -> Iterator[_Label]:
    """The labels of a trial that are written as identifiers are, and its ids.

    Ids are left out where its values make them, side by side.
    """
    condition, item = trial.condition, trial.item
    for name, level in condition.levels.items():
        if "_" in level:
            stimuli = (condition[name], trial.exemplars.get(name))
            yield _Label(level, f"factor {name!r}", partial(_level, name), stimuli)
    if item is not None and experiment.items is not None and "_" in item:
        of = f"items {experiment.items.name!r}"
        yield _Label(item, of, lambda each: each.item, (trial.item_value,))
    made = all(_has(condition[name], level) for name, level in condition.levels.items())
    if len(condition.levels) > 1 and not made:
        yield _Label(condition.id, "condition", lambda each: each.condition.id)
    cell = _cell(trial)
    if cell != condition.id and not (made and (item is None or _has(trial.item_value, item))):
        yield _Label(cell, "trial", _cell)


def _level(factor: str, trial: Trial) -> str:
    return trial.condition.levels[factor]


def _cell(trial: Trial) -> str:
    """The trial's id without its replicate."""
    return trial.id.rpartition("#")[0]


def _has(value: object, label: str) -> bool:
    return label.lower() in str(value).lower()
