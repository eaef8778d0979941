"""Lines of trials of which only the measures are kept.

A *measured* line stands for a whole trial: what was measured, under which version of each measure,
and how the calls went (tokens, latency, ends), without prompts and replies. Its key is made of
that of the trial's opening interaction, so a changed prompt, parameter or model is a trial that is
not recorded; and of the measures' versions, so that a line measured otherwise is another line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import DamagedCassette
from ..experiments.canonical import compact, digest
from ..experiments.design import LABEL
from ..experiments.measures import (
    LONGEST_REASON,
    Measure,
    MeasureValue,
    check_storable,
    finite_number,
)
from ..experiments.messages import Completion, identity_of
from ..experiments.records import Outcome, record_of
from ..experiments.replay import PendingRequest
from .format import decoded, encoded, reply_facts

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
    says that it gave it), ``routed`` (the model a gateway passed it to).
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
    check_storable(measures, row.values)
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
