"""The gate: which verdict passes, which fails, and in what words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .beside import ABSOLUTE, Beside, Outcome, compare
from .declaring import one_line
from .errors import BiasError, BiasFound, ControlNotSeen, Inconclusive
from .findings import CHANCE, Finding, units_called
from .verdicts import Control, Verdict, margin_words

if TYPE_CHECKING:
    from .settings import Gate, OnInconclusive

__all__ = [
    "ABSOLUTE",
    "Beside",
    "Outcome",
    "arms_words",
    "compare",
    "describe_verdict",
    "estimate_words",
    "interval_words",
    "number_form",
    "p_words",
    "properties_of",
    "settle_words",
    "stopped_by",
    "stopped_by_control",
    "units_words",
]


def stopped_by(
    verdict: Verdict,
    cassette: str,
    *,
    gate: Gate,
    inconclusive: OnInconclusive,
    beside: Beside = ABSOLUTE,
) -> BiasError | None:
    """The error the gate raises for ``verdict``; None when it passes.

    What is accepted (``beside``) is stopped all the same: an xfail lets it through.
    """
    if gate == "off" or verdict.status == "CLEAR" or not verdict.gates:
        return None
    if verdict.status == "BIASED":
        return BiasFound(describe_verdict(verdict, cassette, beside))
    if verdict.claim == "detect" or inconclusive == "pass":
        return None
    return Inconclusive(describe_verdict(verdict, cassette, beside))


def stopped_by_control(control: Control, cassette: str, *, gate: Gate) -> BiasError | None:
    """The error the gate raises for a positive control that was not seen; None when it was."""
    if gate == "off" or control.seen:
        return None
    return ControlNotSeen(
        f"positive control {control.id} was not seen: {control.reason}; no CLEAR can be given\n"
        f"  {estimate_words(control.finding) if control.finding else 'no estimate'}\n"
        f"  cassette: {cassette}"
    )


def describe_verdict(verdict: Verdict, cassette: str, beside: Beside = ABSOLUTE) -> str:
    """The verdict with its numbers, for a failure: first line first, all that decided below."""
    finding = verdict.finding
    lines = [f"{verdict.experiment} × {verdict.model}: {verdict.words}"]
    baseline = [f"  baseline: {beside.words}"] if beside.words else []
    if beside.outcome == "expired":  # what is to be done is plain, and no number says it
        lines += baseline
    lines.append(f"  hypothesis: {verdict.id} (claim: {verdict.claim})")
    if finding is not None:
        lines.append(f"  {estimate_words(finding)}")
        lines.append(f"  {arms_words(finding)}")
        adjusted = "" if verdict.p_adjusted is None else p_words(verdict.p_adjusted)
        cleared = "" if finding.p_clear is None else f"; clearing: p {p_words(finding.p_clear)}"
        lines.append(f"  alarm: p {adjusted} (Holm){cleared}; {finding.method}")
    if verdict.settle is not None:
        lines.append(f"  {settle_words(verdict)} would settle it")
    if beside.outcome != "expired":
        lines += baseline
    lines.append(f"  cassette: {cassette}")
    return "\n".join(lines)


def estimate_words(finding: Finding) -> str:
    """``mean difference high − low of sentence_months: +1.80 [+1.50, +2.10], margin ±0.6``."""
    margin = "" if finding.margin is None else f", margin {margin_words(finding)}"
    unit = f" {finding.unit}" if finding.unit else ""
    return (
        f"{finding.quantity} {finding.contrast} of {finding.measure}: "
        f"{interval_words(finding)}{unit}{margin}"
    )


def interval_words(finding: Finding) -> str:
    """``+1.80 [+1.50, +2.10]``: the estimate and its 95 % interval, where it has one."""
    form = number_form(finding)
    interval = finding.interval
    if interval is None:
        chance = finding.extras.get(CHANCE)
        beside = f" ({chance:.2f} by chance)" if isinstance(chance, float) else ""
        return f"{finding.estimate:{form}}{beside}"
    return f"{finding.estimate:{form}} [{interval.low:{form}}, {interval.high:{form}}]"


def number_form(finding: Finding) -> str:
    """How its estimates are printed: with the sign they have, as finely as the margin."""
    sign = "+" if finding.scale == "difference" else ""
    margin = finding.margin
    fine = margin is not None and abs(round(margin, 2) - margin) > 1e-9  # noqa: PLR2004
    return f"{sign}.{3 if fine else 2}f"


def units_words(finding: Finding) -> str:
    """``n = 240 replies``; where units are not replies, of how many replies they are made."""
    if finding.unit_name == "replies":
        return f"n = {finding.units} replies"
    return f"n = {finding.units} {units_called(finding.unit_name)} ({finding.replies} replies)"


def settle_words(verdict: Verdict) -> str:
    """``about 150 replies per group``."""
    name = verdict.finding.unit_name if verdict.finding is not None else "units"
    of_groups = name == "replies" or name.startswith("exemplars of")
    return f"about {verdict.settle} {units_called(name)}{' per group' if of_groups else ''}"


def arms_words(finding: Finding) -> str:
    """Every side: level, value, mean or rate, units, missing."""
    parts = []
    for arm in finding.arms:
        missing = "".join(f", {count} {reason}" for reason, count in arm.missing.items())
        value = f" ({one_line(arm.value)})" if arm.value != arm.level else ""
        parts.append(f"{arm.level}{value}: {arm.mean:.2f} from {arm.units} units{missing}")
    return "; ".join(parts)


def p_words(p: float) -> str:
    """A p-value in print: never 0."""
    smallest = 0.0001
    return f"< {smallest}" if p < smallest else f"= {p:.4f}"


def properties_of(verdict: Verdict, beside: Beside) -> tuple[tuple[str, str], ...]:
    """The numbers of a verdict as report properties, for JUnit and pytest-html."""
    properties = {
        "bias_experiment": verdict.experiment,
        "bias_model": verdict.model,
        "bias_hypothesis": verdict.id,
        "bias_verdict": verdict.words,
    }
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
