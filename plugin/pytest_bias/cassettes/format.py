"""The cassette file format: JSON Lines, sorted, checksummed. Text to values and back; no I/O.

Line 1 is the header: format version, experiment, model, provenance, number of lines, SHA-256 sums
of all that follows and of itself. Then come the *texts*, every system or user message once
(``{"text":<digest>,"value":…}``), so that a changed prompt is one changed line in a review; then
the interactions, sorted by trial and place, one a line, each with its key in front (an index needs
no JSON parsing) and a checksum of its own at the end (damage is found by line).

A journal, the file of a recording that has not ended, is the same without a header.

Where only measures are kept, a *measured* line stands for a whole trial: what was measured, under
which version of each measure, and how the calls went (tokens, latency, ends), without a word of
what was asked or answered. Its key is made of that of the trial's opening interaction, so a
changed prompt, parameter or model is a trial that is not recorded; of the measures' versions, so
that a line measured otherwise is another line.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from ..errors import NEWER, DamagedCassette
from ..experiments.canonical import compact, digest, plain
from ..experiments.design import LABEL, Condition, Trial
from ..experiments.keys import parameters_of, request_parts
from ..experiments.measures import LONGEST_REASON, Measure, MeasureValue, check_kept, finite_number
from ..experiments.messages import Completion, identity_of
from ..experiments.records import Outcome, record_of
from ..experiments.replay import PendingRequest
from ..settings.model_names import SERVED_BY

Decoded = TypeVar("Decoded")

FORMAT = 1
"""Version of the format; a reader refuses any other."""

HEADER_START = b'{"format":'
KEY_START = b'{"key":"'
MEASURED_START = b'{"measured":"'
TEXT_START = b'{"text":"'
LOST_START = b'{"lost":'
SCOPE_START = b'{"scope":'
PROVENANCE_START = b'{"provenance":'
_UNREADABLE = (AttributeError, KeyError, TypeError, ValueError, RecursionError)
_BETWEEN = "; "
_CHANGED = "is truncated or was changed after recording"
_KEY_LENGTH = 64
_TEXT_LENGTH = 24
_SUM_LENGTH = 16
_TAIL_LENGTH = len(',"sum":""}') + _SUM_LENGTH


@dataclass(frozen=True, slots=True)
class Provenance:
    """The place that recordings come from.

    ``wire`` names the SDK, its version and the API ("openai 3.54.0, chat completions");
    ``simulated`` is true when the replies come from a program that stands in for a model.
    """

    simulated: bool
    wire: str
    recorded_with: str


@dataclass(frozen=True, slots=True)
class Header:
    """First line of a cassette."""

    experiment: str
    model: str
    provenance: Provenance
    lines: int
    checksum: str


@dataclass(frozen=True, slots=True)
class RecordedInteraction:
    """One recorded interaction: key, where it belongs, what was asked (hashed), the completion.

    ``messages`` holds (role, text digest) pairs, ``schema`` the digest of the reply schema.
    """

    key: str
    trial: Mapping[str, object]
    place: tuple[tuple[int, ...], int, int]
    messages: tuple[tuple[str, str], ...]
    parameters: Mapping[str, object]
    schema: str | None
    completion: Completion = field(repr=False)


def encoded(value: Mapping[str, object]) -> bytes:
    """The line of a JSON object, with a checksum of its own and without the line feed."""
    return with_sum(compact(value).encode())


def with_sum(line: bytes) -> bytes:
    """A JSON object's line with a checksum of its own at the end."""
    return line[:-1] + _tail(line)


def without_sum(line: bytes) -> bytes | None:
    """Return the text :func:`with_sum` was given; None when the line is not what was written."""
    body = line[:-_TAIL_LENGTH] + b"}"
    return body if line[-_TAIL_LENGTH:] == _tail(body) else None


def _tail(line: bytes) -> bytes:
    """What ends a line in place of its last bracket."""
    return b',"sum":"' + digest(line)[:_SUM_LENGTH].encode() + b'"}'


def text_digest(text: str) -> str:
    """Digest under which a message's text stands in the table of texts."""
    return digest(text)[:_TEXT_LENGTH]


def interaction_of(pending: PendingRequest, completion: Completion) -> RecordedInteraction:
    """The interaction that answers ``pending``."""
    request = pending.request
    parts = request_parts(request)
    return RecordedInteraction(
        key=pending.key,
        trial=pending.trial.identity,
        place=(pending.place.branch, pending.place.turn, pending.place.attempt),
        messages=tuple((message.role, text_digest(message.text)) for message in request.messages),
        parameters=parameters_of(request.parameters),
        schema=digest(compact(parts["schema"], sort_keys=True)) if request.schema else None,
        completion=completion,
    )


def texts_of(pending: PendingRequest) -> dict[str, str]:
    """Digest → text of what the subject was told; its replies stand with their interactions."""
    return {
        text_digest(message.text): message.text
        for message in pending.request.messages
        if message.role != "assistant"
    }


def encode_text(text: str) -> bytes:
    """A line of the table of texts, without the line feed."""
    return compact({"text": text_digest(text), "value": text}).encode()


def encode_interaction(interaction: RecordedInteraction) -> bytes:
    """The line of an interaction, without the line feed."""
    completion = interaction.completion
    dropped = {"dropped": list(completion.dropped)} if completion.dropped else {}
    return encoded(
        {
            "key": interaction.key,
            "trial": dict(interaction.trial),
            "place": [list(interaction.place[0]), *interaction.place[1:]],
            "request": {
                "messages": [list(pair) for pair in interaction.messages],
                "parameters": dict(interaction.parameters),
                "schema": interaction.schema,
            },
            "reply": {
                "text": completion.text,
                **reply_facts(completion),
                **dropped,
                "body": dict(completion.body),
            },
        }
    )


def reply_facts(completion: Completion) -> dict[str, object]:
    """What is known of a reply beside its text and body, as JSON types."""
    return {
        "finish": completion.finish,
        "served_model": completion.served_model,
        "usage": dict(completion.usage),
        "latency": completion.latency,
        "recorded_at": completion.recorded_at,
        **({"cached": completion.cached} if completion.cached else {}),
    }


def key_of(line: bytes) -> str:
    """The key a line begins with (its first value), without parsing it."""
    start = line.index(b':"') + 2
    return line[start : start + _KEY_LENGTH].decode("ascii", "replace")


def checked_line(line: bytes, path: str, number: int) -> bytes:
    """An interaction's line without its checksum; DamagedCassette when that is wrong."""
    body = without_sum(line)
    if body is None:
        raise DamagedCassette(path=path, line=number, problem=f"the line {_CHANGED}")
    return body


def decoded(
    line: bytes, path: str, number: int, read: Callable[[dict[str, Any]], Decoded]
) -> Decoded:
    """Return what ``read`` makes of a line's JSON; DamagedCassette when either is none of ours."""
    body = checked_line(line, path, number)
    try:
        return read(json.loads(body))
    except _UNREADABLE as error:
        problem = f"it has its checksum, and is no line of a cassette ({type(error).__name__})"
        raise DamagedCassette(path=path, line=number, problem=problem) from None


def _check_texts(*values: object) -> None:
    """Raise TypeError unless all are texts: others would fail far from their file."""
    if not all(isinstance(value, str) for value in values):
        raise TypeError


def decode_interaction(line: bytes, path: str, number: int) -> RecordedInteraction:
    """The interaction of a line; DamagedCassette when it is not what was written."""
    return decoded(line, path, number, _interaction)


def _interaction(parsed: dict[str, Any]) -> RecordedInteraction:
    request, reply = parsed["request"], parsed["reply"]
    branch, turn, attempt = parsed["place"]
    dropped, cached = tuple(reply.get("dropped", ())), reply.get("cached", "")
    optional = [reply[name] for name in ("served_model", "recorded_at") if reply[name] is not None]
    _check_texts(reply["text"], cached, *optional, *dropped)
    return RecordedInteraction(
        key=parsed["key"],
        trial=parsed["trial"],
        place=(tuple(branch), turn, attempt),
        messages=tuple((role, text) for role, text in request["messages"]),
        parameters=request["parameters"],
        schema=request["schema"],
        completion=Completion(
            text=reply["text"],
            finish=reply["finish"],
            served_model=reply["served_model"],
            usage=reply["usage"],
            latency=reply["latency"],
            recorded_at=reply["recorded_at"],
            body=reply["body"],
            dropped=dropped,
            cached=cached,
        ),
    )


def decode_text(line: bytes, path: str, number: int) -> tuple[str, str]:
    """Digest and text of a line of the table of texts; DamagedCassette when they disagree."""
    try:
        text = str(json.loads(line)["value"])
        if encode_text(text) == line:
            return text_digest(text), text
    except _UNREADABLE:
        pass
    raise DamagedCassette(path=path, line=number, problem=f"the text {_CHANGED}")


def encode_header(
    experiment: str, model: str, provenance: Provenance, lines: Iterable[bytes]
) -> bytes:
    """The header line for a body of ``lines``, without the line feed."""
    number, checksum = 0, hashlib.sha256()
    for line in lines:
        number += 1
        checksum.update(line + b"\n")
    header = Header(experiment, model, provenance, number, checksum.hexdigest())
    return encoded({"format": FORMAT, **cast("dict[str, object]", plain(header))})


def decode_header(line: bytes, path: str) -> Header:
    """The header of a cassette; DamagedCassette when it is none, or of another format version."""
    try:
        version = cast("dict[str, Any]", json.loads(line))["format"]
    except _UNREADABLE:
        raise DamagedCassette(path=path, line=1, problem="this is not a cassette header") from None
    if version != FORMAT:
        problem = f"format version {version!r} is not {FORMAT}, the one known here"
        hint = f"{NEWER}." if type(version) is int and version > FORMAT else ""
        raise DamagedCassette(path=path, line=1, problem=problem, hint=hint)
    if without_sum(line) is None:
        raise DamagedCassette(path=path, line=1, problem=f"the header {_CHANGED}")
    return decoded(line, path, 1, _header)


def _header(parsed: dict[str, Any]) -> Header:
    _check_texts(parsed["experiment"], parsed["model"], parsed["checksum"])
    provenance = _provenance(parsed)
    names = ("experiment", "model", "lines", "checksum")
    return Header(provenance=provenance, **{name: parsed[name] for name in names})


def order_of(trial: Mapping[str, Any], place: Sequence[Any], key: str) -> tuple[object, ...]:
    """Sort key of lines in a file: by trial, then in reading order of the protocol.

    ``place`` is (branch, turn, attempt), empty for a trial of which only the measures are kept.
    """
    branch, turn, attempt = place or ((), 0, 0)
    return (
        tuple(trial["condition"].values()),
        tuple(trial["exemplars"].values()),
        trial["item"] or "",
        trial["replicate"],
        (*branch, turn),
        attempt,
        key,
    )


def order_of_line(line: bytes, path: str, number: int) -> tuple[object, ...]:
    """Sort key of a line that stands for an interaction or a measured trial."""
    key = key_of(line)
    return decoded(line, path, number, lambda of: order_of(of["trial"], of.get("place", ()), key))


def trial_id(identity: Mapping[str, Any]) -> str:
    """The id of the trial that a line is of (:attr:`.Trial.id`)."""
    condition = Condition(identity["condition"], {})
    item, replicate = identity["item"], identity["replicate"]
    return Trial(condition, identity["exemplars"], item, replicate=replicate).id


def condition_id(identity: Mapping[str, Any]) -> str:
    """The id of the condition of the trial that a line is of (:attr:`.Condition.id`)."""
    return Condition(identity["condition"], {}).id


def decode_trials(line: bytes, path: str, number: int) -> frozenset[str]:
    """The ids of such a line; DamagedCassette when it is not what was written."""
    return decoded(line, path, number, lambda parsed: frozenset(*parsed.values()))


def decode_provenance(line: bytes, path: str, number: int) -> Provenance:
    """The provenance of a journal's line; DamagedCassette when it is not what was written."""
    return decoded(line, path, number, _provenance)


def _provenance(parsed: dict[str, Any]) -> Provenance:
    found = Provenance(**parsed["provenance"])
    _check_texts(found.wire, found.recorded_with)
    if not isinstance(found.simulated, bool):
        raise TypeError
    return found


def wires_of(provenance: Provenance) -> list[str]:
    """The wires of one provenance, each by itself."""
    return provenance.wire.split(_BETWEEN)


def serving(provenance: Provenance) -> set[str]:
    """What local servers, with which weights, gave the replies; empty where none did."""
    return {wire.partition(SERVED_BY)[2] for wire in wires_of(provenance)} - {""}


def combined(parts: Sequence[Provenance]) -> Provenance:
    """One provenance for recordings of several.

    Every wire is named once, so that an endpoint that gave a part of the replies stays named.
    """
    if not parts:
        return Provenance(simulated=False, wire="not known", recorded_with="not known")
    wires = [wire for part in parts for wire in wires_of(part)]
    return Provenance(
        simulated=any(part.simulated for part in parts),
        wire=_BETWEEN.join(dict.fromkeys(wires)),
        recorded_with=parts[-1].recorded_with,
    )


# --- trials of which only the measures are kept --------------------------------------------------

_NOT_SEALED = {"sealed": False}  # part of every line and key; other text than none is not kept

UNSPECIFIED = "unspecified"
"""Stands for a reason of a missing reply that is no label: it may be a reply's own words."""


@dataclass(frozen=True, slots=True)
class MeasuredTrial:
    """One trial without its text.

    ``versions`` holds the version of every measure, ``judge`` says who graded it and how (see
    :meth:`.Experiment.judged_by`), ``calls`` what is known of each reply beside its text, in
    reading order: ``to`` whom the question was put, its ``place``, ``finish``, ``served_model``,
    ``usage`` (tokens), ``latency`` (seconds), ``recorded_at``, ``dropped`` parameters, digests
    of the reply's ``id`` and of when it was ``created``, ``cached`` (the header by which a cache
    says that it gave it).
    """

    key: str
    trial: Mapping[str, object]
    values: Mapping[str, MeasureValue]
    missing: str | None
    invalid: tuple[str, ...]
    versions: Mapping[str, int]
    judge: str
    calls: tuple[Mapping[str, object], ...] = field(repr=False)


def versions_of(measures: Sequence[Measure]) -> dict[str, int]:
    """Name → version of the measures, as they enter a measured line."""
    return {measure.name: measure.version for measure in measures}


def measured_key(opening: str, versions: Mapping[str, int], *, judge: str) -> str:
    """The key of a measured trial.

    ``opening`` is that of its first interaction, ``judge`` says who graded it and how (empty where
    nobody did): another judge may find another measure.
    """
    parts = {"opening": opening, "versions": dict(versions), **_NOT_SEALED}
    if judge:
        parts["judge"] = judge
    return digest(compact(parts, sort_keys=True))


def measured_trial(
    outcome: Outcome,
    measures: Sequence[Measure],
    exchanges: Sequence[tuple[PendingRequest, Completion]],
    *,
    judge: str,
) -> MeasuredTrial:
    """Return the measures and counts that are kept of a trial.

    ``exchanges`` are all its questions with their replies, in reading order.
    """
    versions = versions_of(measures)
    key = measured_key(exchanges[0][0].key, versions, judge=judge)
    row = record_of(outcome, measures)
    check_kept(measures, row.values)
    return MeasuredTrial(
        key=key,
        trial=outcome.trial.identity,
        values=row.values,
        missing=None if row.missing is None else reason_label(row.missing),
        invalid=tuple(map(reason_label, outcome.invalid)),
        versions=versions,
        judge=judge,
        calls=tuple(_call(pending, completion) for pending, completion in exchanges),
    )


def reason_label(reason: str) -> str:
    """A reason as it may be kept or published: a protocol can put a reply's words into one."""
    return reason if len(reason) <= LONGEST_REASON and LABEL.fullmatch(reason) else UNSPECIFIED


def _call(pending: PendingRequest, completion: Completion) -> dict[str, object]:
    place = pending.place
    name, created = identity_of(completion.body)
    return {
        "to": pending.request.to,
        "place": [list(place.branch), place.turn, place.attempt],
        **reply_facts(completion),
        **({"dropped": list(completion.dropped)} if completion.dropped else {}),
        **({"id": name, "created": created} if name else {}),
    }


def encode_measured(measured: MeasuredTrial) -> bytes:
    """The line of a measured trial, without the line feed."""
    return encoded(
        {
            "measured": measured.key,
            "trial": dict(measured.trial),
            "values": dict(measured.values),
            "missing": measured.missing,
            "invalid": list(measured.invalid),
            "versions": dict(measured.versions),
            **({"judge": measured.judge} if measured.judge else {}),
            **_NOT_SEALED,
            "calls": [dict(call) for call in measured.calls],
        }
    )


def decode_measured(line: bytes, path: str, number: int) -> MeasuredTrial:
    """The measured trial of a line; DamagedCassette when it is not what was written."""

    def measured(parsed: Mapping[str, Any]) -> MeasuredTrial:
        values: dict[str, MeasureValue] = {**parsed["values"]}
        for name, value in values.items():
            finite = finite_number(value) if type(value) in (int, float) else value
            if finite is None:
                problem = "a measure there is no number"
                raise DamagedCassette(path=path, line=number, problem=problem)
            values[name] = finite
        return MeasuredTrial(
            key=parsed["measured"],
            trial=parsed["trial"],
            values=values,
            missing=parsed["missing"],
            invalid=tuple(parsed["invalid"]),
            versions=parsed["versions"],
            judge=parsed.get("judge", ""),
            calls=tuple(parsed["calls"]),
        )

    return decoded(line, path, number, measured)


def replies_on(line: bytes) -> int:
    """Number of replies that a line stands for."""
    if line.startswith(MEASURED_START):
        # Counted, not read: within a text these quotation marks would have a backslash, and what
        # else may be named so, a factor or a measure, has no list.
        return line.count(b'"place":[')
    return int(line.startswith(KEY_START))
