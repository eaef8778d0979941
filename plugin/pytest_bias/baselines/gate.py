"""The gate: which verdict passes, which fails, and in what words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..contrasts.findings import p_words
from ..errors import BiasError, BiasFound, ControlNotSeen, Inconclusive
from ..verdicts.verdict import Control, Status, Verdict, arms_words, estimate_words, settle_words
from .compare import ABSOLUTE, Comparison

if TYPE_CHECKING:
    from ..contrasts.declared import Claim
    from ..settings.settings import Gate, OnInconclusive


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
    if gate == "off" or control.seen:
        return None
    return ControlNotSeen(
        f"positive control {control.id} was not seen: {control.reason}; no CLEAR can be given\n"
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
