"""A verdict in plain words: for somebody who has to act on it and reads no statistics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..contrasts.findings import ALPHA, Estimate, p_words
from ..contrasts.published import NOT_DEFINED
from ..contrasts.units import REPLIES
from .decide import is_shown
from .verdict import Reason, Verdict
from .wording import (
    fine_digits,
    items_words,
    level_words,
    margin_words,
    number_words,
    settle_words,
    tipping_words,
    unit_words,
)

_CLAIMS = {
    "clear": "The design is sized to clear it.",
    "detect": "The design can only find a large effect; leaving it undecided is no failure.",
    "describe": "It is described only: whatever is found, it fails no run.",
}
_DIRECTIONS = {
    "supported": "The direction its source reports is supported.",
    "opposite": "An effect was found against the direction its source reports.",
    "not shown": "The direction its source reports is not shown.",
}

_SMALL = 0.1
"""Size below which two decimals would say too little."""


def explanation(verdict: Verdict) -> str:
    """The explanation, one statement a line; the first line is the verdict."""
    lines = [f"{verdict.experiment} × {verdict.model}, {verdict.id}: {verdict.words}"]
    finding = verdict.finding
    if finding is None:
        lines.append(f"Nothing could be computed: {verdict.open_words}.")
        if verdict.published is not None:
            lines.append(
                f"Published method ({verdict.published.method}): it is computed all the same, on "
                "the replies there are. What it finds may be what is missing; it decides nothing."
            )
        if verdict.direction is not None:
            lines.append(_DIRECTIONS[verdict.direction])
        return "\n".join(lines)
    lines += _explained(verdict, finding)
    return "\n".join(lines)


def _explained(verdict: Verdict, finding: Estimate) -> Iterator[str]:
    yield _asked(verdict, finding)
    yield _found(verdict, finding)
    yield _sure(verdict, finding)
    yield _units(finding)
    if words := items_words(finding):
        yield f"Items: {words}."
    if finding.missing:
        yield _missing(finding)
    yield from disagreement(verdict)
    if verdict.direction is not None:
        yield _DIRECTIONS[verdict.direction]


def _asked(verdict: Verdict, finding: Estimate) -> str:
    about = (
        "this very set" if finding.target == "fixed" else "taken as a sample of others like them"
    )
    what = "Ratios from" if finding.scale == "ratio" else "Effects within"
    margin = (
        "No margin is declared, so an effect can be found but never cleared."
        if finding.margin is None
        else f"{what} {margin_words(finding)}{unit_words(finding)} do not matter."
    )
    if verdict.why and finding.margin is not None:
        margin += f" Why that margin: {verdict.why.rstrip('.')}."
    return (
        f"Asked about {finding.measure}: {finding.contrast} ({finding.quantity}), for "
        f"{finding.scope} ({about}). {margin} "
        f"{_CLAIMS[verdict.claim]}"
    )


def _found(verdict: Verdict, finding: Estimate) -> str:
    arms = ", ".join(f"{arm.level} {_plain(arm.mean, finding)}" for arm in finding.arms)
    between = "".join(
        f", with {level_words(interval)} confidence between {_signed(interval.low, finding)} and "
        f"{_signed(interval.high, finding)}"
        for interval in verdict.shown
    )
    estimate = f"{_signed(finding.estimate, finding)}{unit_words(finding)}"
    return f"Found: {estimate}{between} ({arms})."


def _sure(verdict: Verdict, finding: Estimate) -> str:
    against = "no effect beyond the margin" if finding.null == "margin" else "no effect at all"
    p = finding.p_alarm if verdict.p_adjusted is None else verdict.p_adjusted
    adjusted = "" if verdict.p_adjusted is None else " (after Holm, over its experiment)"
    parts = [f"were there {against}, {p_words(p)}{adjusted}"]
    if finding.p_clear is not None:
        parts.append(f"were it the margin or more, {p_words(finding.p_clear)}")
    return (
        f"How sure: {'; '.join(parts)}. What has a p of at most {ALPHA:g} is ruled out. "
        f"Method: {finding.method}."
    )


def _units(finding: Estimate) -> str:
    name = finding.unit_name
    if name == REPLIES:
        return f"From {finding.units} replies, each a unit of its own."
    if finding.units == finding.replies:
        return f"From {finding.units} units ({name}), a reply each."
    return (
        f"From {finding.units} units ({name}), each the average of its replies "
        f"({finding.replies} in all)."
    )


def _missing(finding: Estimate) -> str:
    arms = "; ".join(
        _reasons(arm.missing) if finding.unit_name.kind == "pools" else f"{arm.level}: {reasons}"
        for arm in finding.arms
        if (reasons := _reasons(arm.missing))
    )
    trials = number_words(finding.missing, "trial")
    tips = tipping_words(finding)
    also = f" {tips[0].upper()}{tips[1:]}." if tips else ""
    return f"Missing: {trials} without a valid reply ({arms}).{also}"


def _reasons(missing: Mapping[str, int]) -> str:
    return ", ".join(f"{count} × {reason}" for reason, count in missing.items())


def disagreement(verdict: Verdict) -> Iterator[str]:
    """Say where and why the published method disagrees with the verdict, and what it says."""
    finding = verdict.finding
    published = finding.published if finding is not None else None
    if finding is None or published is None:
        return
    p = published.statistics.get("p")
    named = f"Published method ({published.method})"
    if NOT_DEFINED in published.statistics:
        yield f"{named}: it cannot be computed here ({published.statistics[NOT_DEFINED]})."
    elif not isinstance(p, float):
        yield f"{named}: it gives no p-value."
    elif is_shown(p):
        beside = _BESIDE_AN_EFFECT.get(verdict.status) or _why_less(finding, verdict)
        yield f"{named}: {p_words(p)}, which it calls an effect{beside}"
    else:
        yield f"{named}: {p_words(p)}, which it calls no effect{_BESIDE_NONE[verdict.status]}"


_BESIDE_NONE = {
    "CLEAR": "; the verdict says more: whatever there is lies within the margin.",
    "BIASED": "; the verdict's own test, which compares like with like, does find one.",
    "INCONCLUSIVE": "; that none was found does not show that there is none.",
}


_BESIDE_AN_EFFECT = {
    "CLEAR": "; the verdict is about size: whatever there is lies within the margin.",
    "BIASED": "; the verdict agrees.",
}


def _why_less(finding: Estimate, verdict: Verdict) -> str:
    """Say why an effect the published method sees leaves the verdict INCONCLUSIVE."""
    if verdict.reason not in (Reason.UNDECIDED, Reason.NO_MARGIN, Reason.TOO_FEW_TO_CLEAR):
        return f". The verdict is held back: {verdict.open_words}."
    if is_shown(finding.p_alarm):
        return ". It leaves aside that several hypotheses were tested; the verdict adjusts for it."
    if finding.null == "margin":
        return (
            ". It asks for any effect, and in a fixed set of stimuli some effect is certain; the "
            "verdict asks for one beyond the margin."
        )
    if finding.unit_name.pair:
        return (
            f". It counts {finding.replies} replies as independent; there are {finding.units} "
            "independent units."
        )
    return ". It pools all replies; the verdict compares like with like, and does not find it."


def settling_words(verdict: Verdict) -> str:
    """Return what it would take to settle an INCONCLUSIVE; empty for the other verdicts."""
    if verdict.status != "INCONCLUSIVE":
        return ""
    if verdict.finding is None:
        return "Valid replies in both groups: there are too few for any estimate."
    if words := settle_words(verdict):
        return f"{words[0].upper()}{words[1:]}."
    return f"{verdict.open_words[:1].upper()}{verdict.open_words[1:]}."


def _signed(value: float, finding: Estimate) -> str:
    """An estimate with its sign; a ratio has none."""
    text = _plain(value, finding)
    return text if finding.scale == "ratio" or text.startswith("-") else f"+{text}"


def _plain(value: float, finding: Estimate) -> str:
    digits = 3 if 0 < abs(round(value, 3)) < _SMALL else 2
    return f"{value:z.{fine_digits(finding.margin, digits)}f}"
