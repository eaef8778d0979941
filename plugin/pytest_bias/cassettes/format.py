"""The cassette file format: JSON Lines, each with its checksum. Text to values and back; no I/O.

Line 1 is the header: format version, experiment, model. Then come a line for each *provenance*;
the *texts*, every system or user message once (``{"text":<digest>,"value":…}``), so that a changed
prompt is one changed line in a review; then the interactions, sorted by trial and call index, each
with its key in front, so that an index needs no JSON parsing. Every line ends in the checksum of
its text. No line depends on another, and a reader accepts any order and repeated lines: Git merges
two branches that record different trials.

A journal, the file of a recording that has not ended, is the same without a header.

A kind of line that this version does not know is refused, and not skipped. A later version may
so add one that stands for many replicates, such as a distribution over replies.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from shlex import quote
from typing import Any, TypeVar, cast

from ..errors import NEWER, DamagedCassette
from ..experiments.canonical import compact, digest, plain
from ..experiments.design import Condition, Trial
from ..experiments.messages import Completion, parameters_of, request_parts
from ..experiments.replay import PendingRequest
from ..settings.model_names import SERVED_BY

Decoded = TypeVar("Decoded")

FORMAT = 2
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
CHANGED = "is truncated or was changed after recording"
_HEADERS = ("cached", "routed")  # what headers said of a reply; no field where they did not
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
    return encoded({"text": text_digest(text), "value": text})


def is_old_text(line: bytes) -> bool:
    """True for an intact line of a text in format 1, which has no checksum but its digest."""
    try:
        value = json.loads(line)["value"] if line.startswith(TEXT_START) else None
        return value is not None and with_sum(line) == encode_text(str(value))
    except _UNREADABLE:
        return False


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
        **{name: said for name in _HEADERS if (said := getattr(completion, name))},
    }


def key_of(line: bytes) -> str:
    """The key a line begins with (its first value), without parsing it."""
    start = line.index(b':"') + 2
    return line[start : start + _KEY_LENGTH].decode("ascii", "replace")


def sum_of(line: bytes) -> bytes:
    """The checksum at the end of a line."""
    return line[-_SUM_LENGTH - 2 : -2]


def decoded(
    line: bytes, path: str, number: int, read: Callable[[dict[str, Any]], Decoded]
) -> Decoded:
    """Return what ``read`` makes of a line's JSON; DamagedCassette where it cannot."""
    try:
        return read(json.loads(line))
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
    dropped = tuple(reply.get("dropped", ()))
    headers = {name: reply.get(name, "") for name in _HEADERS}
    optional = [reply[name] for name in ("served_model", "recorded_at") if reply[name] is not None]
    _check_texts(reply["text"], *headers.values(), *optional, *dropped)
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
            **headers,
        ),
    )


def decode_text(line: bytes, path: str, number: int) -> tuple[str, str]:
    """Digest and text of a line of the table of texts."""

    def text(parsed: dict[str, Any]) -> tuple[str, str]:
        _check_texts(parsed["text"], parsed["value"])
        return parsed["text"], parsed["value"]

    return decoded(line, path, number, text)


def encode_header(experiment: str, model: str) -> bytes:
    """The header line, without the line feed."""
    return encoded({"format": FORMAT, "experiment": experiment, "model": model})


def decode_header(line: bytes, path: str) -> Header:
    """The header of a cassette; DamagedCassette when it is none, or of another format version."""
    try:
        version = cast("dict[str, Any]", json.loads(line))["format"]
    except _UNREADABLE:
        raise DamagedCassette(path=path, line=1, problem="this is not a cassette header") from None
    if version != FORMAT:
        problem = f"format version {version!r} is not {FORMAT}, the one known here"
        hint = f"{NEWER}." if type(version) is int and version > FORMAT else ""
        if version == 1 and type(version) is int:
            hint = (
                f"pytest-bias cassettes convert {quote(path)} converts it, with all its replies."
            )
        raise DamagedCassette(path=path, line=1, problem=problem, hint=hint)
    if without_sum(line) is None:
        raise DamagedCassette(path=path, line=1, problem=f"the header {CHANGED}")
    return decoded(line, path, 1, _header)


def _header(parsed: dict[str, Any]) -> Header:
    _check_texts(parsed["experiment"], parsed["model"])
    return Header(parsed["experiment"], parsed["model"])


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
    kind = "scope" if line.startswith(SCOPE_START) else "lost"
    return decoded(line, path, number, lambda parsed: frozenset(parsed[kind]))


def encode_provenance(provenance: Provenance) -> bytes:
    """The line of a provenance, without the line feed."""
    return encoded({"provenance": plain(provenance)})


def decode_provenance(line: bytes, path: str, number: int) -> Provenance:
    """The provenance of a line; DamagedCassette when it is not what was written."""
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


def replies_on(line: bytes) -> int:
    """Number of replies that a line stands for."""
    if line.startswith(MEASURED_START):
        # Counted, not read: within a text these quotation marks would have a backslash, and what
        # else may be named so, a factor or a measure, has no list.
        return line.count(b'"place":[')
    return int(line.startswith(KEY_START))
