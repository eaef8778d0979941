"""Words for a missing recording: which trial, which file, what differs, how to mend."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from ..errors import NotRecorded
from ..experiments.canonical import compact, digest
from ..experiments.design import Condition, Trial
from ..experiments.keys import parameters_of, request_parts
from ..experiments.messages import Request
from ..experiments.replay import Wanted
from .format import RecordedInteraction, text_digest
from .measured import MeasuredTrial, measured_key
from .places import cassettes_in
from .store import Cassette

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
    misses: Sequence[Wanted],
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
        return NotRecorded(
            f"no recordings of {experiment_id} with {model}",
            f"{experiment_id} × {model}: there is no cassette {cassette.path}.\n"
            f"{_others(cassette)}  {_TRIED if tried else f'To record it: {command}'}",
        )
    summary = f"{len(misses)} of {planned} trials of {experiment_id} with {model} are not recorded"
    shown = ", ".join(_named(wanted) for wanted in misses[:_SHOWN])
    if len(misses) > _SHOWN:
        shown += ", …"
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


def _others(cassette: Cassette) -> str:
    """The models the experiment was recorded with, as their files are called."""
    others = [place.stem for place in cassettes_in(cassette.place.parent)]
    return f"  Recorded are: {', '.join(others)}\n" if others else ""


def _named(wanted: Wanted) -> str:
    place = wanted.place
    where = f"{wanted.trial.id}, turn {place.turn}"
    return where if place.attempt == 1 else f"{where}, attempt {place.attempt}"


def _difference(wanted: Wanted, cassette: Cassette) -> str:
    """The recording nearest to what was wanted, and how it differs, in one or a few lines."""
    measured = [] if cassette.keeps_text else list(cassette.measured_trials())
    if measured:
        return _measured_difference(wanted, measured)
    place = (wanted.place.branch, wanted.place.turn, wanted.place.attempt)
    same_trial = [
        interaction
        for interaction in cassette.interactions()
        if dict(interaction.trial) == wanted.trial.identity
    ]
    same_place = [interaction for interaction in same_trial if interaction.place == place]
    if same_place:
        return _request_difference(wanted, same_place[0], cassette)
    if same_trial:
        return (
            f"Nearest recording: the same trial, of which {len(same_trial)} interaction(s) are "
            "recorded, but not this one (an interrupted recording, another protocol, or replies "
            'that were read leniently and are not now: replies = "lenient").'
        )
    return _trial_difference(wanted.trial, [each.trial for each in cassette.interactions()])


def _measured_difference(wanted: Wanted, measured: Sequence[MeasuredTrial]) -> str:
    """The same where only measures are kept: what was asked then is not known."""
    same_trial = [each for each in measured if dict(each.trial) == wanted.trial.identity]
    if not same_trial:
        return _trial_difference(wanted.trial, [each.trial for each in measured])
    for each in same_trial:
        key = measured_key(wanted.key, each.versions, judge=each.judge)
        if each.key == key:
            versions = ", ".join(f"{name} {number}" for name, number in each.versions.items())
            return (
                f"Nearest recording: the same trial and question, measured in these versions: "
                f"{versions}"
                f"{f', graded by {json.loads(each.judge)[0]}' if each.judge else ''}. The "
                "experiment's measures, their versions, its retention or its judge have changed "
                "since, or how replies are read, and what was replied cannot be measured again."
            )
    return (
        "Nearest recording: the same trial, but its first question was another: a message, a "
        "parameter or the schema of the reply has changed, or the experiment or model is another. "
        f"No text is kept, so no more is known. {_DRIFTED}"
    )


def _trial_difference(trial: Trial, trials: Iterable[Mapping[str, object]]) -> str:
    recorded: dict[str, int] = {}
    for known in trials:
        condition = "-".join(str(v) for v in _mapping(known["condition"]).values())
        replicate = known["replicate"]
        if isinstance(replicate, int):
            recorded[condition] = max(recorded.get(condition, 0), replicate)
    if trial.condition.id in recorded:
        highest = recorded[trial.condition.id]
        return f"Nearest recording: the same condition, recorded up to replicate {highest}."
    others = ", ".join(sorted(recorded))
    return f"Nothing is recorded of condition {trial.condition.id!r}; recorded: {others}."


def _request_difference(wanted: Wanted, nearest: RecordedInteraction, cassette: Cassette) -> str:
    start = "Nearest recording: the same trial and turn"
    if changed := _changed(wanted.request, nearest, cassette):
        return f"{_DRIFTED}\n  {start}, but {changed}"
    if wanted.request.to == "judge":
        return f"{start}, but another judge answered; name the one that did with --bias-judge."
    return f"{start}, but its key is another: it was recorded for another experiment or model."


def _changed(request: Request, nearest: RecordedInteraction, cassette: Cassette) -> str:
    """Name the parts of a request that changed since it was recorded; empty where none has."""
    now = [(message.role, text_digest(message.text)) for message in request.messages]
    for number, (message, recorded) in enumerate(
        zip(request.messages, nearest.messages, strict=False), start=1
    ):
        if (message.role, text_digest(message.text)) != recorded:
            old = cassette.texts().get(recorded[1])
            changes = _diff(old, message.text) if old is not None else ""
            if message.role == "assistant":
                changes = " another reply counts than did (is replies= another?)"
            return f"message {number} ({message.role}) has changed:{changes}"
    if len(now) != len(nearest.messages):
        return f"with {len(nearest.messages)} messages instead of {len(now)}."
    parameters = parameters_of(request.parameters)
    if parameters != dict(nearest.parameters):
        return f"recorded with {dict(nearest.parameters)}, now {parameters}."
    schema = request_parts(request)["schema"]
    if (digest(compact(schema, sort_keys=True)) if schema is not None else None) != nearest.schema:
        return "the schema of the structured reply has changed."
    return ""


def _diff(old: str, new: str) -> str:
    changes = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0)
    # After two lines with names: a line of a prompt may look like one of them.
    lines = [line for line in islice(changes, 2, None) if not line.startswith("@@")]
    if not lines:
        return " only in its line ends" * (old != new)
    shown = lines[:_DIFF_LINES] + (["…"] if len(lines) > _DIFF_LINES else [])
    return "".join(f"\n    {line}" for line in shown)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
