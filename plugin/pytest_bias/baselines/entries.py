"""Accepted verdicts as values, and as text: what one writes, another reads, and damage is told.

Two things stand once in the text that the values have many times: what all hypotheses of an
experiment share of their fingerprints (factors, items, design, players, digests of prompts), in a
table to which entries refer by its digest, and the names of units, which the effects of earlier
versions have as the accepted one has them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from ..contrasts.declared import Claim
from ..contrasts.findings import Effect
from ..errors import NEWER, BiasError, Unserialisable, conflict_words
from ..experiments.canonical import compact, digest, dumps, parsed_as, plain
from ..experiments.records import Recording
from ..stats.results import Interval
from ..verdicts.verdict import Status, Verdict
from .fingerprints import differences, encodable
from .noninferiority import effect_of

if TYPE_CHECKING:
    from ..settings.settings import Gate, OnInconclusive

_FINE = 6
"""Significant digits of the contrasts of units that the history keeps."""
_OF_FINDING = ("margin", "target", "scope", "p_alarm", "p_clear")
FORMAT = 4
_DESIGNS = "designs"
"""Where the table stands that entries refer to."""
_OWN = ("hypothesis", "measures", "agreements")
"""What of a fingerprint is a hypothesis' own."""
_SHARED = "shared"
"""Where a fingerprint has the digest of the rest."""
_DIGEST = 16
"""Hexadecimal digits of it."""
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
class AcceptedCell(Strict):
    """A cell that a claim must hold in too: its estimate, with its interval at 90 %."""

    clear: bool
    margin: float
    estimate: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Past(Strict):
    """An earlier accepted verdict of the same design; units' contrasts to six digits."""

    words: str
    status: Status
    effect: Effect | None
    accepted: Acceptance | None
    cassette: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Strict):
    """An accepted verdict; ``cassette`` is the checksum of the replies it rests on.

    ``effect`` is the estimate, with what each unit contributes where the claim gates; ``history``
    what this entry replaced, oldest first, so that small steps cannot add up; ``cells`` are those
    it must hold in too, by name; ``share`` is the share of the suite's alarms on whose scale
    ``p_adjusted`` is. ``served`` are the models that the provider said answered. What a finding
    would say is None where there was none.
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
    share: float
    p_clear: float | None
    units: int
    cassette: str
    served: tuple[str, ...] = ()
    judge: str | None
    accepted: Acceptance | None
    cells: Mapping[str, AcceptedCell] = field(default_factory=dict)
    history: tuple[Past, ...] = ()
    fingerprint: Mapping[str, object] = field(repr=False)

    @property
    def versions(self) -> tuple[Effect, ...]:
        """The effects of all that was accepted for the fingerprint, this one last, each once."""
        every = [past.effect for past in self.history] + [self.effect]
        found = {(e.cassette, e.estimate): e for e in every if e is not None}
        if self.effect is not None:
            found.pop((self.effect.cassette, self.effect.estimate))
            return (*found.values(), self.effect)
        return tuple(found.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline(Strict):
    """The accepted verdicts of one model: experiment → hypothesis → entry."""

    model: str
    simulated: bool
    verdicts: Mapping[str, Mapping[str, Entry]]

    @property
    def served(self) -> tuple[str, ...]:
        """The models that the provider said answered, in any of them, sorted."""
        return tuple(sorted({who for entry in self.claimed.values() for who in entry.served}))

    @property
    def claimed(self) -> dict[tuple[str, str], Entry]:
        """Experiment and hypothesis → entry."""
        return {
            (experiment, name): entry
            for experiment, entries in self.verdicts.items()
            for name, entry in entries.items()
        }

    def entry(self, experiment: str, hypothesis: str) -> Entry | None:
        """The entry of a hypothesis; None when it was never accepted."""
        return self.verdicts.get(experiment, {}).get(hypothesis)


def is_stopped(
    status: Status, claim: Claim, *, gate: Gate = "absolute", inconclusive: OnInconclusive = "fail"
) -> bool:
    """Return whether the gate stops a verdict, whatever was accepted.

    What it would stop by default is accepted only by somebody, for a reason and up to a day.
    """
    if gate == "off" or status == "CLEAR" or claim == "describe":
        return False
    return status == "BIASED" or (claim == "clear" and inconclusive == "fail")


def entry_of(
    verdict: Verdict,
    recording: Recording,
    fingerprint: Mapping[str, object],
    *,
    acceptance: Acceptance | None = None,
    before: Entry | None = None,
) -> Entry:
    """The entry of a verdict that is accepted now; ``before`` is the one it replaces.

    Of another design's entry nothing is kept: its effects are of something else.
    """
    finding = verdict.finding
    effect = None if finding is None else effect_of(finding, recording.checksum)
    if effect is not None and not verdict.gates:
        effect = replace(effect, by_unit=())  # nothing is ever held against it
    said: dict[str, Any] = {name: getattr(finding, name, None) for name in _OF_FINDING}
    cells = {} if finding is None else finding.cells
    entry = Entry(
        status=verdict.status,
        words=verdict.words,
        claim=verdict.claim,
        effect=effect,
        **said,
        p_adjusted=verdict.p_adjusted,
        share=verdict.share,
        units=getattr(finding, "units", 0),
        cassette=recording.checksum,
        served=recording.served,
        judge=recording.judge,
        accepted=acceptance if is_stopped(verdict.status, verdict.claim) else None,
        cells={
            name: AcceptedCell(
                clear=cell.clears,
                margin=cell.margin or 0.0,
                estimate=cell.estimate,
                interval=cell.clearing,
            )
            for name, cell in cells.items()
        },
        fingerprint=fingerprint,
    )
    return entry if before is None else following(entry, before)


def following(entry: Entry, before: Entry | None) -> Entry:
    """The same after all that was accepted before: by an earlier entry, or of another model.

    Accepting the very same again adds nothing, however it is worded today, and of another design's
    nothing is kept.
    """
    if before is None or differences(before.fingerprint, entry.fingerprint):
        return entry
    last, own = _past(before), _past(entry)
    past = (*before.history, *(() if replace(last, words=own.words) == own else (last,)))
    added = tuple(each for each in past if each not in entry.history)
    return replace(entry, history=(*added, *entry.history))


def _past(entry: Entry) -> Past:
    return Past(
        words=entry.words,
        status=entry.status,
        effect=None if entry.effect is None else _rounded(entry.effect),
        accepted=entry.accepted,
        cassette=entry.cassette,
    )


def _rounded(effect: Effect) -> Effect:
    """The same with contrasts of units as finely as the history keeps them."""
    groups = (
        replace(g, values={unit: float(f"{v:.{_FINE}g}") for unit, v in g.values.items()})
        for g in effect.by_unit
    )
    return replace(effect, by_unit=tuple(groups))


class DamagedBaseline(BiasError):
    """A baseline file is not what was written: cut, edited, or of another format or model."""

    def __init__(self, *, path: object, problem: str, mend: str = "") -> None:
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
        for names, group in _past_groups(entry):
            if sorted(group[_UNITS]) == names:
                group[_UNITS] = [group[_UNITS][unit] for unit in names]
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
    if name == _UNITS:
        return _scalar(value)
    if isinstance(value, dict) and value:
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
    damaged = partial(DamagedBaseline, path=path)
    try:
        value = _object(json.loads(text))
    except (ValueError, RecursionError) as error:
        mend = conflict_words(text, path)
        if mend:
            mend += ". Then accept what the other side had accepted again (--bias-accept)."
        raise damaged(problem=f"it is no baseline ({error})", mend=mend) from None
    if "analyses" in value:
        problem = "these are the results of a run, not a baseline"
        mend = "A baseline is what --bias-accept writes, one for each model."
        raise damaged(problem=problem, mend=mend)
    written = value.pop("format", None)
    if type(written) is not int or written != FORMAT:
        problem = f"its format is {written!r}, this version of pytest-bias reads {FORMAT}"
        mend = f"{NEWER}." if type(written) is int and written > FORMAT else ""
        raise damaged(problem=problem, mend=mend)
    checksum = value.pop("checksum", None)
    try:
        known = digest(dumps({"format": written, **value}))
    except (Unserialisable, RecursionError) as error:
        raise damaged(problem=f"it is no baseline ({error})") from None
    if checksum != known:
        problem = "its checksum is not that of its content: it was edited, merged or cut by hand"
        raise damaged(problem=problem)
    try:
        _fill_in(value)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise damaged(problem=f"its designs are not as they were written ({error!r})") from None
    try:
        return parsed_as(Baseline, compact(value), strict=True)
    except BiasError as error:  # a value that refuses what it cannot be, among others
        raise damaged(problem=f"it is not as it was written ({error})") from None


def _fill_in(value: dict[str, Any]) -> None:
    """Put what stands once into every entry that refers to it."""
    designs = value.pop(_DESIGNS)
    for entry in _entries(value):
        for names, group in _past_groups(entry):
            if isinstance(group[_UNITS], list):
                group[_UNITS] = dict(zip(names, group[_UNITS], strict=True))
        own = dict(entry["fingerprint"])
        entry["fingerprint"] = {**designs[own.pop(_SHARED)], **own}


def _past_groups(entry: Mapping[str, Any]) -> Iterator[tuple[list[str], dict[str, Any]]]:
    """Yield the groups of units of earlier effects, with the names that the accepted one has."""
    names = {g["group"]: sorted(g[_UNITS]) for g in (entry["effect"] or {}).get("by_unit", ())}
    for past in entry["history"]:
        for group in (past["effect"] or {}).get("by_unit", ()):
            yield names.get(group["group"], []), group


def _entries(value: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for entries in value.get("verdicts", {}).values():
        yield from entries.values()


def _object(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValueError("a JSON object is needed")  # noqa: TRY004  (as json says it)
    return value
