"""Trials of which only the measures are kept, as lines of a cassette. Pure; no I/O.

A measured line stands for a whole trial: what was measured, under which version of each measure,
and how the calls went (tokens, latency, ends), without a word of what was asked or answered. Its
key is that of the trial's opening interaction, so a changed prompt, parameter or model is a trial
that is not recorded. Where the user gives a key, each reply's keyed hash (HMAC-SHA-256, RFC 2104)
stands with it, so that an auditor who has the text can show that it is the one; without the user's
key there is no hash at all, because that of a short reply can be guessed.

A sealed line holds the interactions of the same trial, encrypted.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from ..canonical import compact
from ..design import frozen_mapping
from ..measures import Measure, MeasureValue
from ..messages import Completion
from ..records import Outcome, Record
from .format import checked_line, with_sum

MEASURED_START = b'{"measured":"'
SEALED_START = b'{"sealed":"'


@dataclass(frozen=True, slots=True)
class MeasuredTrial:
    """One trial without its text.

    ``versions`` holds the version of every measure, ``calls`` what is known of each reply beside
    its text: ``finish``, ``served_model``, ``input``, ``output`` (tokens), ``latency`` (seconds),
    ``recorded_at``, ``hash`` where there is a user's key.
    """

    key: str
    trial: Mapping[str, object]
    values: Mapping[str, MeasureValue]
    missing: str | None
    invalid: tuple[str, ...]
    versions: Mapping[str, int]
    calls: tuple[Mapping[str, object], ...] = field(repr=False)

    def __post_init__(self) -> None:
        for name in ("trial", "values", "versions"):
            object.__setattr__(self, name, frozen_mapping(getattr(self, name)))
        object.__setattr__(self, "calls", tuple(frozen_mapping(call) for call in self.calls))


def versions_of(measures: Sequence[Measure]) -> dict[str, int]:
    """Name → version of the measures, as they enter a measured line."""
    return {measure.name: measure.version for measure in measures}


def measured_trial(
    key: str,
    outcome: Outcome,
    record: Record,
    measures: Sequence[Measure],
    completions: Sequence[Completion],
    secret: bytes | None,
) -> MeasuredTrial:
    """What is kept of a trial; ``secret`` is the user's key, None where there is none."""
    return MeasuredTrial(
        key=key,
        trial=outcome.trial.identity,
        values=record.values,
        missing=outcome.missing,
        invalid=outcome.invalid,
        versions=versions_of(measures),
        calls=tuple(_call(completion, secret) for completion in completions),
    )


def _call(completion: Completion, secret: bytes | None) -> dict[str, object]:
    call: dict[str, object] = {
        "finish": completion.finish,
        "served_model": completion.served_model,
        **completion.usage,
        "latency": completion.latency,
        "recorded_at": completion.recorded_at,
    }
    if completion.dropped:
        call["dropped"] = list(completion.dropped)
    if secret is not None:
        text = completion.text.encode("utf-8", "surrogatepass")
        call["hash"] = hmac.new(secret, text, hashlib.sha256).hexdigest()
    return call


def encode_measured(measured: MeasuredTrial) -> bytes:
    """The line of a measured trial, without the line feed."""
    return with_sum(
        compact(
            {
                "measured": measured.key,
                "trial": dict(measured.trial),
                "values": dict(measured.values),
                "missing": measured.missing,
                "invalid": list(measured.invalid),
                "versions": dict(measured.versions),
                "calls": [dict(call) for call in measured.calls],
            }
        ).encode()
    )


def decode_measured(line: bytes, path: str, number: int) -> MeasuredTrial:
    """The measured trial of a line; DamagedCassette when it is not what was written."""
    parsed = cast("dict[str, Any]", json.loads(checked_line(line, path, number)))
    return MeasuredTrial(
        key=parsed["measured"],
        trial=parsed["trial"],
        values={
            name: float(value) if type(value) is int else value
            for name, value in parsed["values"].items()
        },
        missing=parsed["missing"],
        invalid=tuple(parsed["invalid"]),
        versions=parsed["versions"],
        calls=tuple(parsed["calls"]),
    )


def encode_sealed(key: str, token: bytes) -> bytes:
    """The line that holds a trial's encrypted interactions, without the line feed."""
    return with_sum(compact({"sealed": key, "token": token.decode("ascii")}).encode())


def decode_sealed(line: bytes, path: str, number: int) -> tuple[str, bytes]:
    """Key and token of a line; DamagedCassette when it is not what was written."""
    parsed = cast("dict[str, Any]", json.loads(checked_line(line, path, number)))
    return parsed["sealed"], parsed["token"].encode("ascii")


def order_of_measured(measured: MeasuredTrial) -> tuple[object, ...]:
    """Sort key of measured trials in a file: that of their trials."""
    trial = cast("dict[str, Any]", dict(measured.trial))
    return (
        tuple(trial["condition"].values()),
        tuple(trial["exemplars"].values()),
        trial["item"] or "",
        trial["replicate"],
        measured.key,
    )
