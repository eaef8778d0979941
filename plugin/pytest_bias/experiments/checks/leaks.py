"""Labels and ids in prompts: they tell the subject what is being tested.

What an author means the subject to read stands in the values of levels and items and in exemplars;
labels are for cases, columns and reports. A word may be both by chance, so a label of one word is
only told where nothing else explains that it is there.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum

from ...errors import LabelShown
from ..design import Trial
from ..experiment import Experiment

_SHORTEST = 3
"""Letters of a word that can give a level away: 'a' in "a dog" against "an owl" does not."""

_ORDINARY = frozenset(
    (
        *("all", "and", "any", "but", "for", "her", "him", "his", "its", "not", "now", "one"),
        *("our", "out", "she", "the", "two", "you", "has", "had", "was", "are", "yes", "none"),
        *("off", "with", "without", "before", "after", "more", "less", "only", "some", "that"),
        *("them", "then", "they", "this", "your"),
    )
)
"""Words that any sentence may need, so that showing one gives no level away."""

_AROUND = 25


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
    stimuli: Collection[str] = ()

    def find(self, text: str) -> re.Match[str] | None:
        """Return the first place in a text that shows it; or None."""
        return _find(self.text, text)

    @property
    def is_id(self) -> bool:
        """Return whether it names one condition or trial, and not a level or an item."""
        return self.of in ("condition", "trial")


def ids_shown(experiment: Experiment, prompts: Sequence[Prompt]) -> Iterator[LabelShown]:
    """Labels that are no ordinary words, and ids, wherever a prompt shows them."""
    settled: set[tuple[str, str]] = set()
    for prompt in prompts:
        for label in (*_labels(experiment, prompt.trial), *_ids(prompt.trial)):
            at = label.find(prompt.text)
            if at is None or (label.of, label.text) in settled:
                continue
            read = _squeezed(prompt.text)
            if any(label.find(s) and _squeezed(s) in read for s in label.stimuli):
                continue
            if not label.find(prompt.opening) and label.find(prompt.replies):
                continue  # the subject's own words
            settled.add((label.of, label.text))
            if not _shown_elsewhere(label, prompts):
                yield _shown(experiment, label, prompt, at)


def _shown_elsewhere(label: _Label, prompts: Sequence[Prompt]) -> bool:
    """Return whether other prompts show a label as well: what all of them show tells none apart.

    Of a level's or an item's label, some prompt of every other one must; an id has nothing to do
    with any other trial, so one prompt is enough.
    """
    shows: dict[str | None, bool] = {}
    for prompt in prompts:
        other = label.label_of(prompt.trial)
        if other != label.text and not shows.get(other, False):
            shows[other] = label.find(prompt.text) is not None
    return any(shows.values()) if label.is_id else bool(shows) and all(shows.values())


def _labels(experiment: Experiment, trial: Trial) -> Iterator[_Label]:
    """The labels of a trial that are written as identifiers are."""
    for name, level in trial.condition.levels.items():
        if "_" in level:
            stimuli = _plain(trial.condition[name], trial.exemplars.get(name))
            yield _Label(level, f"factor {name!r}", _level_of(name), stimuli)
    item = trial.item
    if item is not None and experiment.items is not None and "_" in item:
        of = f"items {experiment.items.name!r}"
        yield _Label(item, of, lambda each: each.item, _plain(trial.item_value))


def _ids(trial: Trial) -> Iterator[_Label]:
    """The ids of a trial and its condition, unless they are what its values make side by side."""
    condition = trial.condition
    levels = all(_stands_in(label, condition[name]) for name, label in condition.levels.items())
    if len(condition.levels) > 1 and not levels:
        yield _Label(condition.id, "condition", lambda each: each.condition.id)
    cell = _cell(trial)
    item = trial.item is None or _stands_in(trial.item, trial.item_value)
    if cell != condition.id and not (levels and item):
        yield _Label(cell, "trial", _cell)


def words_shown(experiment: Experiment, prompts: Sequence[Prompt]) -> Iterator[LabelShown]:
    """Labels of one word that the prompts of their own level alone show, and nothing explains.

    Only what is asked before any reply is compared: later turns depend on replies. A word of the
    item may be one that other levels lose (``perfect`` where ``l2`` rewrites the sentence).
    """
    openings = "\n".join(prompt.opening.lower() for prompt in prompts)
    for factor in experiment.factors:
        for level, value in factor.levels.items():
            if "_" in level or len(level) < _SHORTEST or level in _ORDINARY:
                continue
            if level.lower() not in openings:
                continue  # most are in none: to ask each prompt for each level takes longer
            if _stands_in(level, (value, *factor.exemplars.get(level, ()))):
                continue
            label = _Label(level, f"factor {factor.name!r}", _level_of(factor.name))
            seen = [(each, at) for each in prompts if (at := _find(level, each.opening))]
            if not all(label.label_of(each.trial) == level for each, _ in seen):
                continue
            unexplained = (
                (prompt, at)
                for prompt, at in seen
                if prompt.trial.item is None or not _stands_in(level, prompt.trial.item_value)
            )
            for prompt, at in itertools.islice(unexplained, 1):
                yield _shown(experiment, label, replace(prompt, text=prompt.opening), at)


def _level_of(factor: str) -> Callable[[Trial], str]:
    return lambda trial: trial.condition.levels[factor]


def _cell(trial: Trial) -> str:
    """The trial's id without its replicate."""
    return trial.id.rpartition("#")[0]


def _shown(experiment: Experiment, label: _Label, prompt: Prompt, at: re.Match[str]) -> LabelShown:
    start, end = max(at.start() - _AROUND, 0), at.end() + _AROUND
    return LabelShown(
        experiment=experiment.id,
        label=label.text,
        of=label.of,
        condition=prompt.trial.condition.id,
        item=prompt.trial.item,
        # Where no text may be kept, none may stand in an error either.
        excerpt=prompt.text[start:end] if experiment.retention == "raw" else None,
    )


def _find(word: str, text: str) -> re.Match[str] | None:
    """``word`` as a whole word, whatever its case."""
    if word.lower() not in text.lower():
        return None  # most are not: a search by pattern would take longer
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE)


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _plain(*values: object) -> tuple[str, ...]:
    return tuple(value for value in values if isinstance(value, str))


def _stands_in(label: str, value: object) -> bool:
    """Return whether a value has the label inside, or may have: not every type can be read."""
    if isinstance(value, Enum):
        return _stands_in(label, (value.name, value.value))
    if value is None or isinstance(value, str | int | float):
        return label.lower() in str(value).lower()
    if isinstance(value, Mapping):
        return any(_stands_in(label, part) for part in (*value.keys(), *value.values()))
    if isinstance(value, list | tuple | AbstractSet):
        return any(_stands_in(label, part) for part in value)
    if is_dataclass(value) and not isinstance(value, type):
        return any(_stands_in(label, getattr(value, field.name)) for field in fields(value))
    return True
