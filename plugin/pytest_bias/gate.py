"""The gate: which verdict passes, which fails, and in what words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import BiasError, BiasFound, ControlNotSeen, Inconclusive
from .findings import Finding
from .verdicts import Control, Verdict

if TYPE_CHECKING:
    from .settings import Gate, OnInconclusive


def stopped_by(
    verdict: Verdict, cassette: str, *, gate: Gate, inconclusive: OnInconclusive
) -> BiasError | None:
    """The error the gate raises for ``verdict``; None when it passes."""
    if gate == "off" or verdict.status == "CLEAR":
        return None
    if verdict.status == "BIASED":
        return BiasFound(describe_verdict(verdict, cassette))
    if verdict.claim == "detect" or inconclusive == "pass":
        return None
    return Inconclusive(describe_verdict(verdict, cassette))


def stopped_by_control(control: Control, cassette: str, *, gate: Gate) -> BiasError | None:
    """The error the gate raises for a positive control that was not seen; None when it was."""
    if gate == "off" or control.seen:
        return None
    return ControlNotSeen(
        f"positive control {control.id} was not seen: {control.reason}; no CLEAR can be given\n"
        f"  {estimate_words(control.finding) if control.finding else 'no estimate'}\n"
        f"  cassette: {cassette}"
    )


def describe_verdict(verdict: Verdict, cassette: str) -> str:
    """The verdict with its numbers, for a failure: first line first, all that decided below."""
    finding = verdict.finding
    lines = [f"{verdict.experiment} × {verdict.model}: {verdict.words}"]
    lines.append(f"  hypothesis: {verdict.id} (claim: {verdict.claim})")
    if finding is not None:
        lines.append(f"  {estimate_words(finding)}")
        lines.append(f"  {arms_words(finding)}")
        adjusted = "" if verdict.p_adjusted is None else p_words(verdict.p_adjusted)
        cleared = "" if finding.p_clear is None else f"; clearing: p {p_words(finding.p_clear)}"
        lines.append(f"  alarm: p {adjusted} (Holm){cleared}; {finding.method}")
    if verdict.settle is not None:
        lines.append(f"  about {verdict.settle} units per group would settle it")
    lines.append(f"  cassette: {cassette}")
    return "\n".join(lines)


def estimate_words(finding: Finding) -> str:
    """``mean difference high − low of sentence_months: +1.80 [+1.50, +2.10], margin ±0.6``."""
    margin = "" if finding.margin is None else f", margin ±{finding.margin:g}"
    unit = f" {finding.unit}" if finding.unit else ""
    return (
        f"{finding.quantity} {finding.high.level} − {finding.low.level} of {finding.measure}: "
        f"{interval_words(finding)}{unit}{margin}"
    )


def interval_words(finding: Finding) -> str:
    """``+1.80 [+1.50, +2.10]``: the estimate and its 95 % interval."""
    interval = finding.interval
    return f"{finding.estimate:+.2f} [{interval.low:+.2f}, {interval.high:+.2f}]"


def arms_words(finding: Finding) -> str:
    """Both groups: level, value, mean or rate, units, missing."""
    parts = []
    for arm in (finding.high, finding.low):
        missing = "".join(f", {count} {reason}" for reason, count in arm.missing.items())
        parts.append(f"{arm.level} ({arm.value}): {arm.mean:.2f} from {arm.units} units{missing}")
    return "; ".join(parts)


def p_words(p: float) -> str:
    """A p-value in print: never 0."""
    smallest = 0.0001
    return f"< {smallest}" if p < smallest else f"= {p:.4f}"
