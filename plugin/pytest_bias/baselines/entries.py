"""Accepted verdicts as values, and as text: what one writes, another reads, and damage is told.

Two things stand once in the text that the values have many times: what all hypotheses of an
experiment share of their fingerprints (factors, items, design, players, digests of prompts), in a
table to which entries refer by its digest, and a best effect that is the accepted one.
"""

from __future__ import annotations

import calendar
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from ..contrasts.declared import Claim
from ..contrasts.findings import Effect
from ..errors import BiasError, Unserialisable
from ..experiments.canonical import compact, digest, dumps, plain
from ..experiments.records import Recording
from ..verdicts.verdict import Status, Verdict
from .fingerprints import differences, encodable
from .noninferiority import effect_of

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_OF_FINDING = ("margin", "target", "scope", "p_alarm", "p_clear")
_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
FORMAT = 2
_DESIGNS = "designs"
"""Where the table stands that entries refer to."""
_OWN = ("hypothesis", "measures", "agreements")
"""What of a fingerprint is a hypothesis' own."""
_SHARED = "shared"
"""Where a fingerprint has the digest of the rest."""
_DIGEST = 16
"""Hexadecimal digits of it."""
_SAME = "effect"
"""Stands for a best effect that is the accepted one."""
_UNITS = "values"
"""Where the contrasts of units stand: many small numbers, so they share a line."""


class Strict:
    """Values that are read as they were written, and refused with anything else."""

    __slots__ = ()
    __pydantic_config__: ClassVar[Mapping[str, object]] = {
        "extra": "forbid",
        "allow_inf_nan": False,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance(Strict):
    """A person's acceptance of a verdict the gate stops: who, why, and the last day it holds."""

    reason: str
    owner: str
    until: str

    def __str__(self) -> str:
        return f"accepted by {self.owner} until {self.until}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Past(Strict):
    """An earlier accepted verdict of the same design; ``effect`` is without its units."""

    words: str
    status: Status
    effect: Effect | None
    accepted: Acceptance | None
    cassette: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Strict):
    """An accepted verdict; ``cassette`` is the checksum of the replies it rests on.

    ``effect`` is the estimate, with what each unit contributes where the claim gates; ``best`` the
    smallest that was ever accepted for the same fingerprint, so that small steps cannot add up;
    ``history`` what this entry replaced, oldest first. ``served`` are the models that the
    provider said answered. What a finding would say is None where there was none.
    """

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
class Baseline(Strict):
    """The accepted verdicts of one model: experiment → hypothesis → entry."""

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


class DamagedBaseline(BiasError):
    """A baseline file is not what was written: cut, edited, or of another format or model."""

    def __init__(self, *, path: object, problem: str, mend: str = "") -> None:
        self.path = str(path)
        self.problem = problem
        restore = (
            "Restore the file from version control, or delete it and accept the model's verdicts "
            "again (--bias-accept)."
        )
        super().__init__(f"{path}: {problem}. {mend or restore}")


# --- writing ----------------------------------------------------------------------------------


def baseline_text(baseline: Baseline) -> str:
    """The file of a baseline: sorted and indented, the same for the same values on any day."""
    content = _object(encodable(plain(baseline, "baseline")))
    designs: dict[str, object] = {}
    for entry in _entries(content):
        if entry["best"] == entry["effect"] is not None:
            entry["best"] = _SAME
        whole = entry["fingerprint"]
        shared = {name: part for name, part in whole.items() if name not in _OWN}
        name = _name(shared)
        designs[name] = shared
        own = {name: part for name, part in whole.items() if name in _OWN}
        entry["fingerprint"] = {**own, _SHARED: name}
    value = {"format": FORMAT, _DESIGNS: designs, **content}
    return f"{_indented({**value, 'checksum': digest(dumps(value))}, '')}\n"


def _name(shared: object) -> str:
    return digest(dumps(shared))[:_DIGEST]


def _indented(value: object, margin: str, name: str = "") -> str:
    """JSON with one value a line, but for the contrasts of units."""
    inner = f"{margin} "
    if isinstance(value, dict) and value and name != _UNITS:
        lines = (f"{_scalar(key)}: {_indented(value[key], inner, key)}" for key in sorted(value))
    elif isinstance(value, list) and value:
        lines = (_indented(each, inner) for each in value)
    else:
        return _scalar(value)
    start, end = "{}" if isinstance(value, dict) else "[]"
    return f"{start}\n{inner}" + f",\n{inner}".join(lines) + f"\n{margin}{end}"


def _scalar(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)


# --- reading ----------------------------------------------------------------------------------


def baseline_from(text: str, path: object) -> Baseline:
    """The baseline a file holds; ``path`` names it in errors.

    Raises DamagedBaseline when the text is not what :func:`baseline_text` wrote, or was written in
    another format.
    """
    try:
        value = _object(json.loads(text, object_pairs_hook=_unique))
    except (ValueError, RecursionError) as error:
        raise DamagedBaseline(path=path, problem=f"it is no baseline ({error})") from None
    written = value.pop("format", None)
    if type(written) is not int or written != FORMAT:
        problem = f"its format is {written!r}, this version of pytest-bias reads {FORMAT}"
        raise DamagedBaseline(path=path, problem=problem)
    checksum = value.pop("checksum", None)
    try:
        known = digest(dumps({"format": written, **value}))
    except (Unserialisable, RecursionError) as error:
        raise DamagedBaseline(path=path, problem=f"it is no baseline ({error})") from None
    if checksum != known:
        problem = "its checksum is not that of its content: it was edited, merged or cut by hand"
        raise DamagedBaseline(path=path, problem=problem)
    try:
        _fill_in(value)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        problem = f"its designs are not as they were written ({error!r})"
        raise DamagedBaseline(path=path, problem=problem) from None
    return _validated(value, path)


def _fill_in(value: dict[str, Any]) -> None:
    """Put what stands once into every entry that refers to it."""
    designs = value.pop(_DESIGNS)
    for entry in _entries(value):
        if entry.get("best") == _SAME:
            entry["best"] = entry.get("effect")
        own = dict(entry["fingerprint"])
        entry["fingerprint"] = {**designs[own.pop(_SHARED)], **own}


def _entries(value: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for entries in value.get("verdicts", {}).values():
        yield from entries.values()


def _validated(value: Mapping[str, object], path: object) -> Baseline:
    """The baseline, every field of the type it must have."""
    from pydantic import ValidationError  # noqa: PLC0415  (not only to accept)

    try:
        found = _adapter().validate_json(compact(value), strict=True)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        problem = f"{place or 'it'} is not as it was written ({first['msg']})"
        raise DamagedBaseline(path=path, problem=problem) from None
    except BiasError as error:  # a value that refuses what it cannot be
        problem = f"it is not as it was written ({error})"
        raise DamagedBaseline(path=path, problem=problem) from None
    for experiment, entries in found.verdicts.items():
        for name, entry in entries.items():
            if problem := _ill_accepted(entry):
                raise DamagedBaseline(path=path, problem=f"{experiment}, {name}: {problem}")
    return found


@cache
def _adapter() -> TypeAdapter[Baseline]:
    from pydantic import TypeAdapter  # noqa: PLC0415  (takes a while to build)

    return TypeAdapter(Baseline)


def _ill_accepted(entry: Entry) -> str:
    """Say what is wrong with how an entry, or one before it, was accepted; '' when nothing is."""
    each: tuple[Entry | Past, ...] = (*entry.history, entry)
    problems = (_ill(one.status, one.accepted, entry.claim) for one in each)
    return next(filter(None, problems), "")


def _ill(status: Status, accepted: Acceptance | None, claim: Claim) -> str:
    if (accepted is not None) != needs_acceptance(status, claim):
        return f"{status}, and {'nobody' if accepted is None else 'somebody'} accepted it"
    if accepted is None:
        return ""
    if not accepted.owner.strip() or not accepted.reason.strip():
        return "accepted without an owner or a reason"
    return "" if is_day(accepted.until) else f"{accepted.until!r} is no date (YYYY-MM-DD)"


def _unique(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in one place")
    return found


def _object(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValueError("a JSON object is needed")  # noqa: TRY004  (as json says it)
    return value
