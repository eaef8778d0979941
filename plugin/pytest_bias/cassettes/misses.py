"""Words for a missing recording: which trial, which file, what differs, how to mend."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from itertools import islice

from ..errors import NotRecorded
from ..experiments.canonical import compact
from ..experiments.design import Condition
from ..experiments.replay import PendingRequest
from .format import RecordedInteraction, condition_id, interaction_of, text_digest
from .measured import MeasuredTrial
from .store import Cassette, cassettes_in

_SHOWN = 3
_DIFF_LINES = 8
_DRIFTED = (
    "These recordings no longer represent this model: recorded requests differ from what the "
    "suite would send today."
)
_TRIED = 'This run was to record it and could not; the lines that begin with "problem" say why.'


def not_recorded(
    *,
    experiment_id: str,
    model: str,
    cassette: Cassette,
    misses: Sequence[PendingRequest],
    planned: int,
    tried: bool = False,
) -> NotRecorded:
    """The error for trials whose interactions are not in ``cassette``.

    ``misses`` holds the first missing interaction of each trial that has one, ``planned`` is the
    number of trials that were looked for, ``tried`` whether this run was to record them. The
    summary fits a line; the explanation names the nearest recording and what differs.
    """
    mode = "all" if cassette.unfinished else "missing"
    command = _command(model, mode)
    if not cassette.exists:
        models = ", ".join(place.stem for place in cassettes_in(cassette.place.parent))
        recorded = f"  Recorded are: {models}\n" if models else ""
        return NotRecorded(
            f"no recordings of {experiment_id} with {model}",
            f"{experiment_id} × {model}: there is no cassette {cassette.path}.\n"
            f"{recorded}  {_TRIED if tried else f'To record it: {command}'}",
        )
    summary = f"{len(misses)} of {planned} trials of {experiment_id} with {model} are not recorded"
    shown = ", ".join(f"{each.trial.id}, turn {each.place.turn}" for each in misses[:_SHOWN])
    shown += ", …" * (len(misses) > _SHOWN)
    return NotRecorded(
        summary,
        f"{summary}: {shown}.\n  Cassette: {cassette.path}\n"
        f"  {_difference(misses[0], cassette)}\n"
        f"  {_TRIED if tried else f'To record what is missing: {command}'}",
    )


def all_capped(
    experiment_id: str, model: str, condition: Condition | None, trials: int
) -> NotRecorded:
    """The error for a condition of which a cap kept every trial from being recorded."""
    name = condition.id if condition is not None else "?"
    summary = f"nothing is recorded of condition {name} of {experiment_id} with {model}"
    return NotRecorded(
        summary,
        f"{summary}: a cap on calls or money kept all of its {trials} trials from being "
        f"recorded.\n  To record them: {_command(model, 'missing')}",
    )


def _command(model: str, mode: str) -> str:
    return f"pytest <the same arguments> --bias-model {model} --bias-record={mode}"


def _difference(pending: PendingRequest, cassette: Cassette) -> str:
    """The recording nearest to a pending request, and how it differs, in one or a few lines."""
    lines, trial = list(cassette.recorded()), pending.trial
    same_trial = [each for each in lines if dict(each.trial) == trial.identity]
    if not same_trial:
        known = ", ".join(sorted({condition_id(each.trial) for each in lines}))
        return f"Nothing is recorded of that trial; recorded are trials of conditions {known}."
    place = (pending.place.branch, pending.place.turn, pending.place.attempt)
    for each in same_trial:
        if isinstance(each, MeasuredTrial):
            return _measured_difference(each)
        if each.place == place:
            return _request_difference(pending, each, cassette)
    return (
        f"Nearest recording: the same trial, of which {len(same_trial)} interaction(s) are "
        "recorded, but not this one (an interrupted recording, another protocol, or replies "
        'that were read leniently and are not now: replies = "lenient").'
    )


def _measured_difference(nearest: MeasuredTrial) -> str:
    """What is known where only measures are kept: what was asked then is not."""
    versions = ", ".join(f"{name} {number}" for name, number in nearest.versions.items())
    graded = f", graded by {json.loads(nearest.judge)[0]}" if nearest.judge else ""
    return (
        f"Nearest recording: the same trial, measured in these versions: {versions}{graded}. Its "
        "first question, a measure, the retention, the judge or how replies are read has changed "
        "since. No text is kept, so no more is known, and nothing can be measured again."
    )


def _request_difference(
    pending: PendingRequest, nearest: RecordedInteraction, cassette: Cassette
) -> str:
    texts = cassette.texts() | {
        text_digest(message.text): message.text for message in pending.request.messages
    }
    old = _parts(nearest, texts)
    new = _parts(interaction_of(pending, nearest.completion), texts)
    start = "Nearest recording: the same trial and turn, but"
    for name in old | new:
        if old.get(name) != new.get(name):
            changes = _diff(old.get(name, ""), new.get(name, ""))
            return f"{_DRIFTED}\n  {start} {name} has changed:{changes}"
    return (
        f"{start} its key is another: it was recorded for another experiment or version of it, "
        "another model or judge (--bias-judge)."
    )


def _parts(of: RecordedInteraction, texts: Mapping[str, str]) -> dict[str, str]:
    """The parts of a request by name, as texts; a text that is not known is its digest."""
    messages = {
        f"message {number} ({role})": texts.get(text, text)
        for number, (role, text) in enumerate(of.messages, start=1)
    }
    parameters = compact(dict(of.parameters), sort_keys=True)
    return messages | {"a parameter": parameters, "the reply's schema": of.schema or ""}


def _diff(old: str, new: str) -> str:
    before, after = (text.replace("\r", "\\r").split("\n") for text in (old, new))
    changes = difflib.unified_diff(before, after, lineterm="", n=0)
    # After two lines with names: a line of a prompt may look like one of them.
    lines = [line for line in islice(changes, 2, None) if not line.startswith("@@")]
    shown = lines[:_DIFF_LINES] + (["…"] if len(lines) > _DIFF_LINES else [])
    return "".join(f"\n    {line}" for line in shown)
