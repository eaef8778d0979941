"""Trials of which only the measures are kept, as lines of a cassette. Pure; no I/O.

A measured line stands for a whole trial: what was measured, under which version of each measure,
and how the calls went (tokens, latency, ends), without a word of what was asked or answered. Its
key is made of that of the trial's opening interaction, so a changed prompt, parameter or model is
a trial that is not recorded; of the measures' versions, so that a line measured otherwise is
another line, which a new one never meets. Where the user gives a key, each reply's keyed hash
(HMAC-SHA-256, RFC 2104) stands with it, so that an auditor who has the text can show that it is
the one; without the user's key there is no hash at all, because that of a short reply can be
guessed.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import BadSetting, DamagedCassette
from ..experiments.canonical import compact, digest
from ..experiments.design import LABEL, frozen_mapping
from ..experiments.measures import LONGEST_REASON, Measure, MeasureValue, check_kept, finite_number
from ..experiments.messages import Completion, identity_of
from ..experiments.records import Outcome, record_of
from ..experiments.replay import Wanted
from .format import KEY_START, decoded, encoded, reply_facts

MEASURED_START = b'{"measured":"'

KEY_VARIABLE = "PYTEST_BIAS_RETENTION_KEY"
"""Environment variable of the user's key: 32 random bytes in URL-safe base64."""

_KEY_LENGTH = 32

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
    says that it gave it), ``hash`` where there is a user's key.
    """

    key: str
    trial: Mapping[str, object]
    values: Mapping[str, MeasureValue]
    missing: str | None
    invalid: tuple[str, ...]
    versions: Mapping[str, int]
    judge: str
    calls: tuple[Mapping[str, object], ...] = field(repr=False)

    def __post_init__(self) -> None:
        for name in ("trial", "values", "versions"):
            object.__setattr__(self, name, frozen_mapping(getattr(self, name)))
        object.__setattr__(self, "calls", tuple(frozen_mapping(call) for call in self.calls))


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
    exchanges: Sequence[tuple[Wanted, Completion]],
    secret: bytes | None,
    *,
    judge: str,
) -> MeasuredTrial:
    """Return the measures and counts that are kept of a trial.

    ``exchanges`` are all its questions with their replies, in reading order; ``secret`` is the
    user's key, None where there is none.
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
        calls=tuple(
            _call(wanted, completion, secret and keyed_hash(secret, key, number, completion.text))
            for number, (wanted, completion) in enumerate(exchanges, start=1)
        ),
    )


def reason_label(reason: str) -> str:
    """A reason as it may be kept or published: a protocol can put a reply's words into one."""
    return reason if len(reason) <= LONGEST_REASON and LABEL.fullmatch(reason) else UNSPECIFIED


def _call(wanted: Wanted, completion: Completion, hashed: str | bytes | None) -> dict[str, object]:
    place = wanted.place
    name, created = identity_of(completion.body)
    return {
        "to": wanted.request.to,
        "place": [list(place.branch), place.turn, place.attempt],
        **reply_facts(completion),
        **({"dropped": list(completion.dropped)} if completion.dropped else {}),
        **({"id": name, "created": created} if name else {}),
        **({"hash": hashed} if hashed else {}),
    }


def check_key(secret: bytes) -> None:
    """Raise BadSetting, which does not quote it, unless ``secret`` is a key."""
    try:
        found = base64.b64decode(secret + b"=" * (-len(secret) % 4), b"-_", validate=True)
    except ValueError:
        found = b""
    if len(found) != _KEY_LENGTH:
        problem = (
            "is no key; make one: python -c 'import secrets; print(secrets.token_urlsafe(32))'"
        )
        raise BadSetting(option=KEY_VARIABLE, value="…", problem=problem)


def keyed_hash(secret: bytes, key: str, number: int, text: str) -> str:
    """HMAC-SHA-256 of the reply to the ``number``-th call (from 1) of the measured trial ``key``.

    It covers ``key/number``, a line feed and the text in UTF-8: with the trial in it, equal
    replies have different hashes, so that nobody can count how often the same one came.
    """
    message = f"{key}/{number}\n{text}".encode("utf-8", "surrogatepass")
    return hmac.new(secret, message, hashlib.sha256).hexdigest()


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
