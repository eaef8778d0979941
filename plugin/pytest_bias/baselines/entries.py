"""Accepted verdicts as values."""

from __future__ import annotations

import calendar
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from ..contrasts.declared import Claim
from ..contrasts.findings import Effect
from ..experiments.records import Recording
from ..verdicts.verdict import Status, Verdict
from .fingerprints import differences
from .noninferiority import effect_of

_OF_FINDING = ("margin", "target", "scope", "p_alarm", "p_clear")
_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_STRICT: Mapping[str, object] = {"extra": "forbid", "allow_inf_nan": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """A person's acceptance of a verdict the gate stops: who, why, and the last day it holds."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = _STRICT

    reason: str
    owner: str
    until: str

    def __str__(self) -> str:
        return f"accepted by {self.owner} until {self.until}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """An earlier accepted verdict of the same design; ``effect`` is without its units."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = _STRICT

    words: str
    status: Status
    effect: Effect | None
    accepted: Acceptance | None
    cassette: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An accepted verdict; ``cassette`` is the checksum of the replies it rests on.

    ``effect`` is the estimate, with what each unit contributes where the claim gates; ``best`` the
    smallest that was ever accepted for the same fingerprint, so that small steps cannot add up;
    ``history`` what this entry replaced, oldest first. ``served`` are the models that the
    provider said answered. What a finding would say is None where there was none.
    """

    __pydantic_config__: ClassVar[Mapping[str, object]] = _STRICT

    status: Status
    words: str
    claim: Claim
    effect: Effect | None
    margin: float | None
    target: str | None
    scope: str | None
    p_alarm: float | None
    p_adjusted: float | None
    p_clear: float | None
    units: int
    cassette: str
    served: tuple[str, ...] = ()
    judge: str | None
    accepted: Acceptance | None
    best: Effect | None
    history: tuple[Past, ...] = ()
    fingerprint: Mapping[str, object] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The accepted verdicts of one model: experiment → hypothesis → entry."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = _STRICT

    model: str
    simulated: bool
    verdicts: Mapping[str, Mapping[str, Entry]]

    @property
    def served(self) -> tuple[str, ...]:
        """The models that the provider said answered, in any of them, sorted."""
        entries = (entry for named in self.verdicts.values() for entry in named.values())
        return tuple(sorted({served for entry in entries for served in entry.served}))

    def entry(self, experiment: str, hypothesis: str) -> Entry | None:
        """The entry of a hypothesis; None when it was never accepted."""
        return self.verdicts.get(experiment, {}).get(hypothesis)


def needs_acceptance(status: Status, claim: Claim) -> bool:
    """Return whether a verdict is accepted only by somebody, for a reason and up to a day.

    It is where the gate would stop it: BIASED, or a claim to be clear that stays INCONCLUSIVE.
    """
    if claim == "describe" or status == "CLEAR":
        return False
    return status == "BIASED" or claim == "clear"


def entry_of(
    verdict: Verdict,
    recording: Recording,
    fingerprint: Mapping[str, object],
    *,
    acceptance: Acceptance | None,
    before: Entry | None,
) -> Entry:
    """The entry of a verdict that is accepted now; ``before`` is the one it replaces.

    Of another design's entry nothing is kept: its effects are of something else.
    """
    finding = verdict.finding
    effect = None if finding is None else effect_of(finding, recording.checksum)
    if effect is not None and not verdict.gates:
        effect = replace(effect, by_unit=())  # nothing is ever held against it
    said: dict[str, Any] = {name: getattr(finding, name, None) for name in _OF_FINDING}
    entry = Entry(
        status=verdict.status,
        words=verdict.words,
        claim=verdict.claim,
        effect=effect,
        **said,
        p_adjusted=verdict.p_adjusted,
        units=getattr(finding, "units", 0),
        cassette=recording.checksum,
        served=recording.served,
        judge=recording.judge,
        accepted=acceptance if needs_acceptance(verdict.status, verdict.claim) else None,
        best=effect,
        fingerprint=fingerprint,
    )
    if before is None or differences(before.fingerprint, fingerprint):
        return entry
    return replace(entry, best=_smaller(before.best, effect), history=_history(before, entry))


def following(entry: Entry, before: Entry | None) -> Entry:
    """The same with the best that was ever accepted of ``before``, another model's entry.

    Of another design's nothing is kept.
    """
    if before is None or differences(before.fingerprint, entry.fingerprint):
        return entry
    return replace(entry, best=_smaller(before.best, entry.best))


def _smaller(before: Effect | None, now: Effect | None) -> Effect | None:
    """The smaller of two effects, of equal ones the first; either may be lacking."""
    if before is None or now is None:
        return now if before is None else before
    return now if size_of(now) < size_of(before) else before


def size_of(effect: Effect) -> float:
    """The size of an effect whatever its sign; of a ratio that of its logarithm."""
    if effect.scale != "ratio":
        return abs(effect.estimate)
    return abs(math.log(effect.estimate)) if effect.estimate > 0 else math.inf


def _history(before: Entry, now: Entry) -> tuple[Past, ...]:
    """Return what was accepted before; accepting the very same again adds nothing."""
    past = _past(before)
    return before.history if past == _past(now) else (*before.history, past)


def _past(entry: Entry) -> Past:
    return Past(
        words=entry.words,
        status=entry.status,
        effect=None if entry.effect is None else replace(entry.effect, by_unit=()),
        accepted=entry.accepted,
        cassette=entry.cassette,
    )


def is_day(text: str) -> bool:
    """Return whether ``text`` is a day as YYYY-MM-DD: such texts sort as days do."""
    found = _DAY.fullmatch(text)
    if found is None or not text.isascii():
        return False
    year, month, day = map(int, found.groups())
    return year >= 1 and 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]  # noqa: PLR2004  (months)
