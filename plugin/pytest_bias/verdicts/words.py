"""Findings and verdicts in words and figures, for terminal, page and Markdown alike."""

from __future__ import annotations

from ..contrasts.findings import CHANCE, Finding, Scale
from ..contrasts.units import REPLIES, Units
from ..experiments.fields import one_line
from ..statistics.results import Interval
from .verdict import Verdict


def margin_words(finding: Finding) -> str:
    """``±0.6``, or ``0.80 to 1.25`` for a ratio; "no margin" without one."""
    return range_words(finding.margin, finding.scale)


def range_words(margin: float | None, scale: Scale | None) -> str:
    """The same of a margin alone, on the scale of what it is a margin for."""
    if margin is None:
        return "no margin"
    return f"{1 / margin:.2f} to {margin:.2f}" if scale == "ratio" else f"±{margin:g}"


def estimate_words(finding: Finding) -> str:
    """``mean difference high − low of sentence_months: +1.80 [+1.50, +2.10], margin ±0.6``."""
    return (
        f"{finding.quantity} {finding.contrast} of {finding.measure}: "
        f"{interval_words(finding)}{unit_words(finding)}{beside_margin(finding)}"
    )


def unit_words(finding: Finding) -> str:
    """`` points``, to follow a number; empty without a unit."""
    return f" {finding.unit}" if finding.unit else ""


def beside_margin(finding: Finding) -> str:
    """``, margin ±0.6``, to follow an estimate; empty without a margin."""
    return "" if finding.margin is None else f", margin {margin_words(finding)}"


def interval_words(finding: Finding) -> str:
    """``+1.80 [+1.50, +2.10]``: the estimate and its 95 % interval, where it has one."""
    form = number_form(finding.margin, finding.scale)
    chance = finding.extras.get(CHANCE)
    beside = f" ({chance:.2f} by chance)" if isinstance(chance, float) else ""
    return with_interval(finding.estimate, finding.interval, form, beside)


def with_interval(value: float, interval: Interval | None, form: str, beside: str = "") -> str:
    """A value with its interval, or with what stands ``beside`` it where it has none."""
    if interval is None:
        return f"{value:{form}}{beside}"
    return f"{value:{form}} {bounds_words(interval, form)}"


def bounds_words(interval: Interval, form: str = "+.2f") -> str:
    """``[+1.50, +2.10]``."""
    return f"[{interval.low:{form}}, {interval.high:{form}}]"


def number_form(margin: float | None, scale: Scale | None) -> str:
    """Return the format of estimates: with the sign they have, as finely as the margin."""
    sign = "+" if scale == "difference" else ""
    fine = margin is not None and abs(round(margin, 2) - margin) > 1e-9  # noqa: PLR2004
    return f"{sign}.{3 if fine else 2}f"


def units_words(finding: Finding) -> str:
    """``n = 240 replies``; where units are not replies, of how many replies they are made."""
    if finding.unit_name == REPLIES:
        return f"n = {finding.units} replies"
    return f"n = {finding.units} {finding.unit_name.several} ({finding.replies} replies)"


def settle_words(verdict: Verdict) -> str:
    """``about 150 replies per group``."""
    units = verdict.finding.unit_name if verdict.finding is not None else Units("units")
    return f"about {verdict.settle} {units.several}{' per group' if units.in_groups else ''}"


def arms_words(finding: Finding) -> str:
    """Every side: level, value, mean or rate, units, missing."""
    parts = []
    for arm in finding.arms:
        missing = "".join(f", {count} {reason}" for reason, count in arm.missing.items())
        value = f" ({one_line(arm.value)})" if arm.value != arm.level else ""
        parts.append(f"{arm.level}{value}: {arm.mean:.2f} from {arm.units} units{missing}")
    return "; ".join(parts)


def number_words(number: int, noun: str, plural: str = "") -> str:
    """``1 verdict``, ``3 entries``."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"
