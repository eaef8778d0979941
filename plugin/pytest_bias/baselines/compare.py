"""A verdict beside the one in the baseline: how they compare, and whether it is tolerated."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from ..contrasts.declared import FEWEST_UNITS
from ..contrasts.effects import Compared, Effect
from ..contrasts.findings import Finding
from ..experiments.origins import Recording
from ..verdicts.verdict import Verdict
from .entries import Acceptance, Entry
from .noninferiority import compared, effect_of

Outcome = Literal[
    "", "as before", "improved", "known", "new", "worse", "expired", "not in the baseline"
]
"""How a verdict compares with the one in the baseline; empty where there is nothing to compare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A verdict beside the baseline.

    ``outcome`` and ``words`` say how the two compare. ``tolerated`` is whether the gate lets the
    verdict through although it stops it: somebody accepted it (``accepted``), or the other model
    it is held against shows as much. ``before`` is the effect in the baseline, ``compared`` the
    comparison with that effect, or with the best ever accepted where that is what failed.
    """

    outcome: Outcome = ""
    words: str = ""
    accepted: Acceptance | None = None
    tolerated: bool = False
    before: Effect | None = None
    compared: Compared | None = None

    def __post_init__(self) -> None:
        if self.accepted is not None:
            object.__setattr__(self, "tolerated", True)

    @property
    def improved(self) -> bool:
        """Whether the baseline was worse than what was found now."""
        return self.outcome == "improved"


ABSOLUTE = Beside()
"""No baseline: the verdict alone decides."""

_NOTHING = "and there is no estimate to compare"


def compare(
    verdict: Verdict, recording: Recording, entry: Entry | None, *, today: str, against: str = ""
) -> Beside:
    """A verdict beside its entry, on a day; fingerprints have been compared before.

    ``against`` is the name of another model whose verdict the entry is: what that model shows as
    well is tolerated, though nobody accepted it.
    """
    if not verdict.gates:
        return ABSOLUTE
    if entry is None:
        return Beside(
            outcome="not in the baseline", words="this hypothesis is not in the baseline"
        )
    finding = verdict.finding
    now = None if finding is None else effect_of(finding, recording.checksum)
    held = _held(now, entry, finding)
    passes = verdict.status == "CLEAR" or (
        verdict.status == "INCONCLUSIVE" and verdict.claim == "detect"
    )
    if passes:
        outcome, words = _passing(verdict, entry, against)
    else:
        outcome, words = _stopped(verdict, now, entry, held, today=today, against=against)
    known = outcome == "known"
    return Beside(
        outcome=outcome,
        words=words,
        accepted=entry.accepted if known else None,
        tolerated=known,
        before=entry.effect,
        compared=held,
    )


def _passing(verdict: Verdict, entry: Entry, against: str) -> tuple[Outcome, str]:
    """How a verdict that passes in any case compares."""
    if entry.status in ("CLEAR", verdict.status):
        return "as before", ""
    was = f"improved: {f'{against} is' if against else 'it was'} {entry.words}"
    if verdict.status != "CLEAR":
        was += ", and no bias is found now"
    return "improved", was if against else f"{was}; accept the new baseline"


def _stopped(
    verdict: Verdict,
    now: Effect | None,
    entry: Entry,
    held: Compared | None,
    *,
    today: str,
    against: str,
) -> tuple[Outcome, str]:
    """How a verdict that the gate stops compares: only a known one is let through."""
    accepted = entry.accepted
    is_new = entry.status == "CLEAR" or (entry.status, verdict.status) == (
        "INCONCLUSIVE",
        "BIASED",
    )
    if is_new or not (accepted or against):
        return "new", f"new: {against or 'what was accepted'} is {entry.words}"
    who = f"{accepted} ({accepted.reason})" if accepted else f"{against} is {entry.words}"
    if accepted is not None and accepted.until < today:
        return "expired", f"{who}, which is past"
    if why := _why_worse(verdict, now, entry, held):
        return "worse", f"{who}, {why}"
    return "known", _known(verdict, entry, held, against)


def _held(now: Effect | None, entry: Entry, finding: Finding | None) -> Compared | None:
    """What was found beside what was accepted, and then beside the best ever accepted.

    Both must hold: else small steps, each accepted, would add up. The very replies that were
    accepted are let through, whatever the best.
    """
    if now is None or finding is None or entry.effect is None:
        return None
    found = compared(now, entry.effect, margin=finding.margin)
    if found.how == "same replies":
        return found
    best = entry.best
    if found.no_worse and best is not None and best != entry.effect:
        found = compared(now, best, margin=finding.margin)
    return _at_worst(found, finding)


def _at_worst(held: Compared, finding: Finding) -> Compared:
    """The same with every missing reply at its worst, where that many are missing.

    A verdict must hold under that, too: else whoever refuses what shows the bias had none.
    """
    worst = finding.worst_case
    if worst is None or not worst.needed or not held.no_worse:
        return held
    ends = (worst.lowest, worst.highest)
    sizes = [math.inf if end is None else _size(end, finding) for end in ends]
    more = max(0.0, max(sizes) - _size(finding.estimate, finding))
    bound = None if held.bound is None or math.isinf(more) else held.bound + more
    if bound is not None and held.margin is not None and bound < held.margin:
        return replace(held, bound=bound)
    words = "too many replies are missing to show it in the worst case"
    return replace(held, bound=bound, no_worse=False, words=words)


def _size(estimate: float, finding: Finding) -> float:
    """How far an estimate is from no effect, of ratios on the log scale."""
    if finding.scale != "ratio":
        return abs(estimate)
    return abs(math.log(estimate)) if estimate > 0 else math.inf


def _why_worse(verdict: Verdict, now: Effect | None, entry: Entry, held: Compared | None) -> str:
    """Why a verdict may be worse than the one accepted; empty where it is not."""
    before = entry.effect
    still_open = verdict.status == entry.status == "INCONCLUSIVE"
    if now is None or before is None or held is None:
        if now is None and before is not None:
            return "but now there is no estimate at all"
        return "" if still_open else _NOTHING
    if still_open and entry.accepted is not None:
        return ""  # accepted as such; what another model leaves open nobody has looked at
    if not still_open and _is_held_back(verdict):
        return f"but now nothing can be decided: {verdict.reason}"
    if held.no_worse:
        return ""
    than = _number(before)
    if entry.best is not None and entry.best.estimate != before.estimate:
        than += f" and the best ever accepted, {_number(entry.best)}"
    return f"but {_number(now)} is not shown to be no worse than {than}: {held.words}"


def _is_held_back(verdict: Verdict) -> bool:
    """Whether an estimate is not to be trusted, be it as small as it may."""
    finding = verdict.finding
    return verdict.held or (finding is not None and finding.fewest < FEWEST_UNITS)


def _known(verdict: Verdict, entry: Entry, held: Compared | None, against: str) -> str:
    """In what words a verdict is tolerated."""
    notes = []
    if verdict.status != entry.status:
        notes.append("no worse than it was, but not shown to be CLEAR")
    if verdict.status == "BIASED" and held is not None and held.words:
        notes.append(held.words)
    if entry.accepted is not None:
        start = f"{entry.accepted}: {entry.accepted.reason}"
    elif entry.status == "BIASED":
        start = f"{against} shows it too: {entry.words}"
    else:
        start = f"{against} does not settle it either: {entry.words}"
    return "; ".join([start, *notes])


def _number(effect: Effect) -> str:
    return f"{effect.estimate:{'+' if effect.scale == 'difference' else ''}.4g}"
