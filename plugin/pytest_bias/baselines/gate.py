"""The gate: how a verdict compares with the one in the baseline, if it passes, in what words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ..contrasts.declared import FEWEST_UNITS
from ..contrasts.findings import Compared, Effect, WorstCase, p_words
from ..errors import BiasError, BiasFound, ControlNotSeen, Inconclusive
from ..verdicts.verdict import (
    Control,
    HypothesisName,
    Status,
    Verdict,
    arms_words,
    estimate_words,
    settle_words,
)
from .entries import Acceptance, Entry, size_of
from .fingerprints import differences
from .noninferiority import compared

if TYPE_CHECKING:
    from ..contrasts.declared import Claim
    from ..settings.settings import Gate, OnInconclusive

Change = Literal[
    "", "as before", "improved", "known", "new", "worse", "expired", "not in the baseline"
]
"""How a verdict compares with the one in the baseline; empty where there is nothing to compare."""

_SHOWN = 12
"""Differences that an error lists."""
_OF_ACCEPTED = """the accepted verdict
was reached with another design, other prompts or another judge, so this
one cannot be held against it:"""
_ACCEPT = """Accept the verdict of the new design (--bias-accept), or run without
baselines (--bias-baselines=off)."""
_OF_MODEL = """{} was tested with another design,
so the two cannot be compared (old → new):"""
_RECORD = """Record both with the same design, the same judge (--bias-judge) and the same
parameters (in the roster)."""
_NOTHING = "and there is no estimate to compare"


class BaselineDiffers(BiasError):
    """The verdict a hypothesis is held against was reached with another design.

    It was accepted, or is that of another model, which ``old`` names.
    """

    def __init__(
        self, *, named: HypothesisName, differences: Sequence[str], old: str = ""
    ) -> None:
        self.differences = tuple(differences)
        listed = [f"  {difference}" for difference in self.differences[:_SHOWN]]
        if more := len(self.differences) - len(listed):
            listed.append(f"  and {more} more")
        experiment, model, hypothesis = named
        where = f"{experiment} × {model}, {hypothesis}"
        told, mend = (_OF_ACCEPTED, _ACCEPT) if not old else (_OF_MODEL.format(old), _RECORD)
        super().__init__("\n".join([f"{where}: {told}", *listed, mend]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A verdict beside the baseline.

    ``outcome`` and ``words`` say how the two compare. ``tolerated`` is whether the gate lets the
    verdict through although it stops it: somebody accepted it (``accepted``), or the other model
    it is held against shows as much. ``before`` is the effect in the baseline, ``compared`` the
    comparison with that effect, or with the best ever accepted where that is what failed.
    """

    outcome: Change = ""
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
        """Return whether the baseline was worse than what was found now."""
        return self.outcome == "improved"


ABSOLUTE = Comparison()
"""No baseline: the verdict alone decides."""


def compare(
    named: HypothesisName,
    new: Entry,
    old: Entry | None,
    *,
    today: str,
    against: str = "",
    verdict: Verdict | None = None,
) -> Comparison:
    """Compare what a hypothesis shows with what was accepted of it, or shown by another model.

    ``named`` stands in the error. ``new`` is of a run, or as another file of baselines has it;
    ``old`` is None where there is nothing to hold it against. ``today`` (YYYY-MM-DD) is the day on
    which an acceptance must hold. ``against`` names the other model whose verdict ``old`` is: what
    that model shows as well is tolerated, though nobody accepted it. ``verdict`` is the one of
    this run that ``new`` was made of: it knows what missing replies may hide, and whether anything
    can be decided at all, which no entry keeps.

    Raises BaselineDiffers when the two were reached with different designs.
    """
    if old is not None and (differ := differences(old.fingerprint, new.fingerprint)):
        raise BaselineDiffers(named=named, differences=differ, old=against)
    if new.claim == "describe":
        return ABSOLUTE
    if old is None:
        words = "this hypothesis is not in the baseline"
        return Comparison(outcome="not in the baseline", words=words)
    finding = None if verdict is None else verdict.finding
    held = _held(new, old, None if finding is None else finding.worst_case)
    passes = new.status == "CLEAR" or (new.status == "INCONCLUSIVE" and new.claim == "detect")
    if passes:
        outcome, words = _passing(new, old, against)
    else:
        outcome, words = _stopped(new, old, held, verdict, today=today, against=against)
    known = outcome == "known"
    return Comparison(
        outcome=outcome,
        words=words,
        accepted=old.accepted if known else None,
        tolerated=known,
        before=old.effect,
        compared=held,
    )


def _undecided(new: Entry, verdict: Verdict | None, *, still_open: bool) -> str:
    """Return why an estimate is not to be trusted, be it as small as it may; else empty.

    Replies that are cut off look alike, whatever was open before.
    """
    if verdict is not None and verdict.cut:
        return verdict.cut
    if still_open:
        return ""
    if verdict is None:
        return f"it has {new.units} unit(s)" if new.units < FEWEST_UNITS else ""
    finding = verdict.finding
    too_few = finding is not None and finding.fewest < FEWEST_UNITS
    return verdict.reason if verdict.held or too_few else ""


def _passing(new: Entry, old: Entry, against: str) -> tuple[Change, str]:
    """Compare a verdict that passes in any case."""
    if old.status in ("CLEAR", new.status):
        return "as before", ""
    was = f"improved: {f'{against} is' if against else 'it was'} {old.words}"
    if new.status != "CLEAR":
        was += ", and no bias is found now"
    return "improved", was if against else f"{was}; accept the new baseline"


def _stopped(
    new: Entry,
    old: Entry,
    held: Compared | None,
    verdict: Verdict | None,
    *,
    today: str,
    against: str,
) -> tuple[Change, str]:
    """Compare a verdict that the gate stops: only a known one is let through."""
    accepted = old.accepted
    is_new = old.status == "CLEAR" or (old.status, new.status) == ("INCONCLUSIVE", "BIASED")
    if is_new or not (accepted or against):
        return "new", f"new: {against or 'what was accepted'} is {old.words}"
    who = f"{accepted} ({accepted.reason})" if accepted else f"{against} is {old.words}"
    if accepted is not None and accepted.until < today:
        return "expired", f"{who}, which is past"
    if why := _why_worse(new, old, held, verdict):
        return "worse", f"{who}, {why}"
    return "known", _known(new, old, held, against)


def _held(new: Entry, old: Entry, worst: WorstCase | None) -> Compared | None:
    """Hold what was found beside what was accepted, and then beside the best ever accepted.

    Both must hold: else small steps, each accepted, would add up. The very replies that were
    accepted are let through, whatever the best.
    """
    now, best = new.effect, old.best
    if now is None or old.effect is None:
        return None
    found = compared(now, old.effect, margin=new.margin)
    if found.how == "same replies":
        return found
    if found.no_worse and best is not None and best != old.effect:
        found = compared(now, best, margin=new.margin)
    return _at_worst(found, now, worst)


def _at_worst(held: Compared, now: Effect, worst: WorstCase | None) -> Compared:
    """The same with every missing reply at its worst, where that many are missing.

    A verdict must hold under that, too: else whoever refuses what shows the bias had none.
    """
    if worst is None or not worst.needed or not held.no_worse:
        return held
    sizes = [
        math.inf if end is None else size_of(replace(now, estimate=end))
        for end in (worst.lowest, worst.highest)
    ]
    more = max(0.0, max(sizes) - size_of(now))
    bound = None if held.bound is None or math.isinf(more) else held.bound + more
    if bound is not None and held.margin is not None and bound < held.margin:
        return replace(held, bound=bound)
    words = "too many replies are missing to show it in the worst case"
    return replace(held, bound=bound, no_worse=False, words=words)


def _why_worse(new: Entry, old: Entry, held: Compared | None, verdict: Verdict | None) -> str:
    """Say why a verdict may be worse than the one accepted; '' where it is not."""
    now, before = new.effect, old.effect
    still_open = new.status == old.status == "INCONCLUSIVE"
    if now is None or before is None or held is None:
        if now is None and before is not None:
            return "but now there is no estimate at all"
        return "" if still_open else _NOTHING
    if (still_open and old.accepted is not None) or held.how == "same replies":
        return ""  # accepted as such; what another model leaves open nobody has looked at
    if why := _undecided(new, verdict, still_open=still_open):
        return f"but now nothing can be decided: {why}"
    if held.no_worse:
        return ""
    than = _number(before)
    if old.best is not None and old.best.estimate != before.estimate:
        than += f" and the best ever accepted, {_number(old.best)}"
    return f"but {_number(now)} is not shown to be no worse than {than}: {held.words}"


def _known(new: Entry, old: Entry, held: Compared | None, against: str) -> str:
    """Return the words under which a verdict is tolerated."""
    notes = []
    if new.status != old.status:
        notes.append("no worse than it was, but not shown to be CLEAR")
    if new.status == "BIASED" and held is not None and held.words:
        notes.append(held.words)
    if old.accepted is not None:
        start = f"{old.accepted}: {old.accepted.reason}"
    elif old.status == "BIASED":
        start = f"{against} shows it too: {old.words}"
    else:
        start = f"{against} does not settle it either: {old.words}"
    return "; ".join([start, *notes])


def _number(effect: Effect) -> str:
    return f"{effect.estimate:{'+' if effect.scale == 'difference' else ''}.4g}"


def is_stopped(
    status: Status, claim: Claim, *, gate: Gate = "absolute", inconclusive: OnInconclusive = "fail"
) -> bool:
    """Return whether the gate stops a verdict, whatever was accepted."""
    if gate == "off" or status == "CLEAR" or claim == "describe":
        return False
    return status == "BIASED" or (claim == "clear" and inconclusive == "fail")


def stopped_by(
    verdict: Verdict,
    place: str,
    *,
    gate: Gate,
    inconclusive: OnInconclusive,
    beside: Comparison = ABSOLUTE,
) -> BiasError | None:
    """The error the gate raises for ``verdict``; None when it passes.

    ``place`` says where the replies stand. What is accepted (``beside``) is stopped all the same:
    an xfail lets it through.
    """
    if not is_stopped(verdict.status, verdict.claim, gate=gate, inconclusive=inconclusive):
        return None
    error = BiasFound if verdict.status == "BIASED" else Inconclusive
    return error(describe_verdict(verdict, place, beside))


def stopped_by_control(control: Control, place: str, *, gate: Gate) -> BiasError | None:
    """The error the gate raises for a positive control that was not seen; None when it was."""
    if gate == "off" or control.seen or not control.asked:
        return None
    return ControlNotSeen(
        f"positive control {control.id} was not seen: {control.reason}; {control.meaning}\n"
        f"  {estimate_words(control.finding) if control.finding else 'no estimate'}\n"
        f"  {place}"
    )


def describe_verdict(verdict: Verdict, place: str, beside: Comparison = ABSOLUTE) -> str:
    """The verdict with its numbers, for a failure: first line first, all that decided below."""
    finding = verdict.finding
    lines = [f"{verdict.experiment} × {verdict.model}: {verdict.words}"]
    baseline = [f"  baseline: {beside.words}"] if beside.words else []
    if beside.outcome == "expired":  # what is to be done is plain, and no number says it
        lines += baseline
    lines += [f"  {verdict.title}"] if verdict.title else []
    lines.append(f"  hypothesis: {verdict.id} (claim: {verdict.claim})")
    if finding is not None:
        lines.append(f"  {estimate_words(finding)}")
        lines.append(f"  {arms_words(finding)}")
        adjusted = "" if verdict.p_adjusted is None else p_words(verdict.p_adjusted)
        cleared = "" if finding.p_clear is None else f"; clearing: {p_words(finding.p_clear)}"
        lines.append(f"  alarm: {adjusted} (Holm){cleared}; {finding.method}")
    if verdict.settle is not None:
        lines.append(f"  {settle_words(verdict)} would settle it")
    if beside.outcome != "expired":
        lines += baseline
    lines.append(f"  {place}")
    return "\n".join(lines)


def properties_of(verdict: Verdict, beside: Comparison) -> tuple[tuple[str, str], ...]:
    """The numbers of a verdict as report properties, for JUnit and pytest-html."""
    properties = {
        "bias_experiment": verdict.experiment,
        "bias_model": verdict.model,
        "bias_hypothesis": verdict.id,
        "bias_verdict": verdict.words,
    }
    if verdict.title:
        properties["bias_title"] = verdict.title
    finding = verdict.finding
    if finding is not None:
        properties |= {
            "bias_estimate": repr(finding.estimate),
            "bias_p_alarm": repr(finding.p_alarm),
            "bias_units": str(finding.units),
        }
        if finding.interval is not None:
            interval = finding.interval
            properties["bias_interval"] = f"[{interval.low!r}, {interval.high!r}]"
        if finding.margin is not None:
            properties["bias_margin"] = repr(finding.margin)
        if finding.p_clear is not None:
            properties["bias_p_clear"] = repr(finding.p_clear)
    if beside.words:
        properties["bias_baseline"] = beside.words
    return tuple(properties.items())
