"""A verdict in plain words: for somebody who has to act on it and reads no statistics."""

from __future__ import annotations

from collections.abc import Iterator

from ..findings import ALPHA, Finding
from .rule import Verdict, margin_words

_DIRECTIONS = {
    "supported": "The source's direction is supported.",
    "opposite": "An effect was found against the direction its source reports.",
    "not shown": "The direction its source reports is not shown.",
}


def explanation(verdict: Verdict) -> str:
    """The explanation, one statement a line; the first line is the verdict."""
    lines = [f"{verdict.experiment} × {verdict.model}, {verdict.id}: {verdict.words}"]
    finding = verdict.finding
    if finding is None:
        lines.append(f"Nothing could be computed: {verdict.reason}.")
    else:
        lines += _explained(verdict, finding)
    lines += _settling(verdict)
    return "\n".join(lines)


def _explained(verdict: Verdict, finding: Finding) -> Iterator[str]:
    yield _asked(verdict, finding)
    yield _found(finding)
    yield _sure(verdict, finding)
    yield _units(finding)
    yield from _missing(finding)
    yield from disagreement(verdict)
    if verdict.direction is not None:
        yield _DIRECTIONS[verdict.direction]


def _asked(verdict: Verdict, finding: Finding) -> str:
    kind = "this very set" if finding.target == "fixed" else "a population like it"
    margin = (
        "No margin is declared, so it can be found but not cleared."
        if finding.margin is None
        else f"Effects within {margin_words(finding)}{_unit(finding)} do not matter."
    )
    claim = (
        "The design is sized to clear it."
        if verdict.claim == "clear"
        else "The design can find a large effect; leaving it undecided is no failure."
    )
    return (
        f"Asked: the {finding.quantity} of {finding.measure}, {finding.contrast}, for "
        f"{finding.scope} ({kind}). {margin} {claim}"
    )


def _found(finding: Finding) -> str:
    arms = ", ".join(f"{arm.level} {arm.mean:.2f}" for arm in finding.arms)
    sign = "" if finding.scale == "ratio" else "+"
    interval = finding.interval
    range_ = (
        ""
        if interval is None
        else f", with 95 % confidence between {interval.low:{sign}.2f} and "
        f"{interval.high:{sign}.2f}"
    )
    return f"Found: {finding.estimate:{sign}.2f}{_unit(finding)}{range_} ({arms})."


def _sure(verdict: Verdict, finding: Finding) -> str:
    adjusted = verdict.p_adjusted
    alarm = "" if adjusted is None else f"{_p(adjusted)} after Holm"
    against = "an effect within the margin" if finding.null == "margin" else "no effect at all"
    clear = finding.p_clear
    parts = [f"against {against}: {alarm}"]
    if clear is not None:
        parts.append(f"that it is beyond the margin: {_p(clear)}")
    return f"How sure: {'; '.join(parts)} (both judged at {ALPHA:g}). Method: {finding.method}."


def _units(finding: Finding) -> str:
    if finding.unit_name == "replies":
        return f"From {finding.units} replies, each a unit of its own."
    return (
        f"From {finding.units} units ({finding.unit_name}), each the mean of its replies "
        f"({finding.replies} in all)."
    )


def _missing(finding: Finding) -> Iterator[str]:
    if not finding.missing:
        return
    arms = "; ".join(
        f"{arm.level}: {', '.join(f'{count} {reason}' for reason, count in arm.missing.items())}"
        for arm in finding.arms
        if arm.missing
    )
    worst = finding.worst_case
    if worst is None or not worst.needed:
        bearing = "too few to change the verdict's rule"
    elif worst.lowest is None or worst.highest is None:
        bearing = "so many that the verdict must hold whatever they were, and that cannot be shown"
    else:
        bearing = (
            "so many that the verdict must hold whatever they were: the estimate could then be "
            f"anything from {worst.lowest:+.2f} to {worst.highest:+.2f}"
        )
    yield f"Missing: {finding.missing} trials without a valid reply ({arms}), {bearing}."


def disagreement(verdict: Verdict) -> Iterator[str]:
    """What the published method says, and where and why it disagrees with the verdict."""
    finding = verdict.finding
    published = finding.published if finding is not None else None
    if finding is None or published is None:
        return
    p = published.statistics.get("p")
    if not isinstance(p, float):
        yield f"Published method ({published.method}): it gives no p-value here."
        return
    loud = p <= ALPHA
    says = f"Published method ({published.method}): {_p(p)}, " + (
        "which it calls an effect" if loud else "which it calls no effect"
    )
    if loud == (verdict.status == "BIASED"):
        yield f"{says}; the verdict agrees."
    elif loud and verdict.status == "CLEAR":
        yield f"{says}; the verdict is about size: whatever there is lies within the margin."
    elif loud:
        yield f"{says}. {_why_less(finding, verdict)}"
    elif verdict.status == "BIASED":
        yield f"{says}; the verdict's test compares like with like, and sees more."
    else:
        shown = "" if verdict.status == "CLEAR" else "; no effect found is not shown to be none"
        yield f"{says}{shown}."


def _why_less(finding: Finding, verdict: Verdict) -> str:
    if finding.unit_name != "replies":
        return (
            f"It counts {finding.replies} replies as independent; there are "
            f"{finding.units} independent units."
        )
    if finding.null == "margin":
        return "It tests against 0, which no fixed set of stimuli meets; the verdict, the margin."
    if verdict.p_adjusted is not None and finding.p_alarm <= ALPHA < verdict.p_adjusted:
        return "It leaves aside that several hypotheses were tested; the verdict adjusts for it."
    return f"The verdict needs more: {verdict.reason}."


def _settling(verdict: Verdict) -> Iterator[str]:
    if verdict.status != "INCONCLUSIVE":
        return
    if verdict.settle is None:
        yield f"To settle it: {verdict.reason}."
        return
    finding = verdict.finding
    name = finding.unit_name if finding is not None else "units"
    groups = " in each group" if name == "replies" or name.startswith("exemplars") else ""
    yield (
        f"To settle it: about {verdict.settle} {name}{groups}, if estimate and spread stay as "
        "they are."
    )


def _unit(finding: Finding) -> str:
    return f" {finding.unit}" if finding.unit else ""


def _p(p: float) -> str:
    smallest = 0.0001
    return f"p < {smallest}" if p < smallest else f"p = {p:.4f}"
