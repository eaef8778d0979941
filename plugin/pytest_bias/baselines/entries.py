"""Accepted verdicts as values, and as text: what one writes, another reads, and damage is told.

What all hypotheses of an experiment share of their fingerprints (factors, items, design, roles,
digests of prompts) stands in the text once, in a table to which entries refer by its digest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..contrasts.declared import Claim
from ..contrasts.layout import FEWEST_UNITS
from ..errors import NEWER, BadJSON, BiasError, NotReadable, conflict_text
from ..experiments.canonical import Strict, compact, digest, dumps, parsed_as, plain
from ..experiments.records import Recording
from ..verdicts.verdict import Reason, Status, Verdict
from .fingerprints import differences, encodable
from .noninferiority import Effect, effect_of

if TYPE_CHECKING:
    from ..settings.settings import Gate, OnInconclusive

FORMAT = 5
_ANEW = "Delete the file and accept the model's verdicts again (--bias-accept)."
_OWN = ("hypothesis", "measures", "agreements")
"""What of a fingerprint is a hypothesis' own."""
_SHARED = "shared"
"""Where a fingerprint has the digest of the rest."""
_DIGEST = 16
"""Hexadecimal digits of it."""


Claimed = tuple[str, str]
"""An experiment and a hypothesis on it; '' for whatever is asked there."""


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
    """An accepted verdict; ``cassette`` is the checksum of the replies it rests on.

    ``effect`` is the estimate, None where there was none.
    """

    words: str
    status: Status
    effect: Effect | None
    accepted: Acceptance | None
    cassette: str

    def __str__(self) -> str:
        """Return the verdict, and who answered for it where somebody had to."""
        of = self.accepted
        return self.words if of is None else f"{self.words}; {of}: {of.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Past):
    """Verdict that was accepted last.

    ``cells`` are those the claim must hold in too, by name. ``untrusted`` says why nothing can be
    decided of it, empty where something can. ``share`` is the share of the suite's alarms that its
    family has. ``history`` is what this entry replaced, oldest first, so that small steps cannot
    add up. ``served`` are the models that the provider said answered.
    """

    claim: Claim
    untrusted: str = ""
    share: float
    served: tuple[str, ...] = ()
    cells: Mapping[str, Effect] = field(default_factory=dict)
    history: tuple[Past, ...] = ()
    fingerprint: Mapping[str, object] = field(repr=False)

    @property
    def past(self) -> Past:
        """Return what is kept when the entry is replaced."""
        return Past(**{each.name: getattr(self, each.name) for each in fields(Past)})

    @property
    def versions(self) -> tuple[Effect, ...]:
        """Return the effects of all that was accepted for the fingerprint, this one last."""
        every = [past.effect for past in self.history] + [self.effect]
        return tuple(effect for effect in every if effect is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline(Strict):
    """Accepted verdicts of one model: experiment → hypothesis → entry."""

    model: str
    simulated: bool
    verdicts: Mapping[str, Mapping[str, Entry]]

    @property
    def served(self) -> tuple[str, ...]:
        """Return the models that the provider said answered, in any of them, sorted."""
        return tuple(sorted({who for entry in self.claimed.values() for who in entry.served}))

    @property
    def claimed(self) -> dict[Claimed, Entry]:
        """Experiment and hypothesis → entry."""
        return {
            (experiment, name): entry
            for experiment, entries in self.verdicts.items()
            for name, entry in entries.items()
        }

    def entry(self, experiment: str, hypothesis: str) -> Entry | None:
        """Return the entry of a hypothesis; None when it was never accepted."""
        return self.verdicts.get(experiment, {}).get(hypothesis)

    def unasked(self, asked: Collection[Claimed]) -> tuple[Claimed, ...]:
        """Return the names of claims in this baseline that a run has not tested, sorted.

        ``asked`` are the names that it has tested. A hypothesis that is only described is left
        out. A bias that is no longer tested may have grown without anyone seeing it.
        """
        gating = (named for named, entry in self.claimed.items() if entry.claim != "describe")
        return tuple(sorted(named for named in gating if named not in asked))

    def known(self, experiment: str) -> int:
        """Count the verdicts of an experiment that the gate stops unless they are accepted."""
        entries = self.verdicts.get(experiment, {}).values()
        return sum(is_stopped(each.status, each.claim) for each in entries)


def is_stopped(
    status: Status, claim: Claim, gate: Gate = "absolute", inconclusive: OnInconclusive = "fail"
) -> bool:
    """True if the gate stops a verdict, whatever was accepted.

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
) -> Entry:
    """Return the entry of a verdict that is accepted now."""
    finding, checksum = verdict.finding, recording.checksum
    return Entry(
        status=verdict.status,
        words=verdict.words,
        claim=verdict.claim,
        effect=None if finding is None else effect_of(finding, checksum),
        untrusted=_untrusted(verdict),
        share=verdict.share,
        cassette=checksum,
        served=recording.served,
        accepted=acceptance if is_stopped(verdict.status, verdict.claim) else None,
        cells={}
        if finding is None
        else {name: effect_of(cell, checksum) for name, cell in finding.cells.items()},
        fingerprint=fingerprint,
    )


def _untrusted(verdict: Verdict) -> str:
    """Say why an estimate is not to be trusted, be it as small as it may; else empty."""
    if verdict.cut:
        return verdict.cut
    finding = verdict.finding
    too_few = finding is not None and finding.fewest < FEWEST_UNITS
    return verdict.reason_text if verdict.reason is Reason.UNRELIABLE or too_few else ""


def following(entry: Entry, before: Entry | None) -> Entry:
    """The same after all that was accepted before: by an earlier entry, or of another model.

    Accepting the very same again adds nothing, and of another design's nothing is kept: its
    effects are of something else.
    """
    if before is None or differences(before.fingerprint, entry.fingerprint):
        return entry
    past = (*before.history, *(() if before.past == entry.past else (before.past,)))
    added = tuple(each for each in past if each not in entry.history)
    return replace(entry, history=(*added, *entry.history))


def damaged_baseline(path: object, problem: str, hint: str = "") -> NotReadable:
    """The error for a baseline file that is not what was written: cut, or edited by hand."""
    restore = (
        "Restore the file from version control, or delete it and accept the model's verdicts "
        "again (--bias-accept)."
    )
    return NotReadable(path=path, problem=problem, hint=hint or restore)


@dataclass(frozen=True, slots=True, kw_only=True)
class _File(Baseline):
    """A baseline as it stands in its file: what entries share once, under its digest."""

    format: int
    designs: Mapping[str, Mapping[str, object]]


def baseline_text(baseline: Baseline) -> str:
    """The file of a baseline: sorted and indented, the same for the same values on any day."""
    designs: dict[str, Mapping[str, object]] = {}

    def short(entry: Entry) -> Entry:
        own = {name: part for name, part in entry.fingerprint.items() if name in _OWN}
        shared = {name: part for name, part in entry.fingerprint.items() if name not in _OWN}
        name = digest(dumps(shared))[:_DIGEST]
        designs[name] = shared
        return replace(entry, fingerprint={**own, _SHARED: name})

    file = _File(
        model=baseline.model,
        simulated=baseline.simulated,
        verdicts=_each(baseline, short),
        format=FORMAT,
        designs=designs,
    )
    value: Any = encodable(plain(file, "baseline"))
    value["checksum"] = digest(dumps(value))
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, indent=1)
    # The contrasts of units are many small numbers, so they share a line.
    return re.sub(r'"values": {[^}]*}', lambda found: re.sub(r"\n *", " ", found[0]), text) + "\n"


def _each(
    baseline: Baseline, changed: Callable[[Entry], Entry]
) -> Mapping[str, Mapping[str, Entry]]:
    return {
        experiment: {name: changed(entry) for name, entry in entries.items()}
        for experiment, entries in baseline.verdicts.items()
    }


def baseline_from(text: str, path: object) -> Baseline:
    """Return the baseline a file holds; ``path`` names it in errors.

    Raises NotReadable when the text is not what :func:`baseline_text` wrote, or was written in
    another format.
    """
    damaged = partial(damaged_baseline, path)
    try:
        value = parsed_as(dict[str, Any], text)
    except BadJSON as error:
        hint = conflict_text(text, path)
        if hint:
            hint += ". Then accept what the other side had accepted again (--bias-accept)."
        problem = f"it is no baseline ({error})"
        raise damaged(problem, hint) from None
    written = value.get("format")
    if written != FORMAT:
        problem = f"its format is {written!r}, this version of pytest-bias reads {FORMAT}"
        hint = f"{NEWER}." if isinstance(written, int) and written > FORMAT else _ANEW
        raise damaged(problem, hint)
    checksum = value.pop("checksum", None)
    try:
        intact = checksum == digest(dumps(value))
        file = parsed_as(_File, compact(value), strict=True) if intact else None
    except BiasError as error:  # a value that refuses what it cannot be, among others
        problem = f"it is not as it was written ({error})"
        raise damaged(problem) from None
    if file is None:
        problem = "its checksum is not that of its content: it was edited, merged or cut by hand"
        raise damaged(problem)

    def whole(entry: Entry) -> Entry:
        own = {name: part for name, part in entry.fingerprint.items() if name != _SHARED}
        shared = file.designs.get(str(entry.fingerprint.get(_SHARED)), {})
        return replace(entry, fingerprint={**shared, **own})

    return Baseline(model=file.model, simulated=file.simulated, verdicts=_each(file, whole))
