"""Findings and verdicts in words: the only place where a reason becomes a sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from ..contrasts.estimate import Estimate, PublishedColumn, Scale, no_effect_of, p_text
from ..contrasts.layout import FEWEST_UNITS, REPLIES
from ..experiments.fields import one_line
from ..stats.results import Allocation, Interval
from .decide import open_cells
from .verdict import Reason, Verdict

_EQUAL = 1e-9
_DIGITS = 2
_MOST_DIGITS = 4
_LEAST = 0.001
"""Margin below which the digits of ordinary ones would not show it."""
_LEAST_ALONE = 0.01
"""The same of numbers that have no margin."""

_PLAIN = {
    Reason.NONE: "",
    Reason.CELL_BIASED: "",
    Reason.MISREAD: "the judge's error may hide any effect: nothing is left of the margin",
    Reason.NO_MARGIN: "no effect is shown, and without a margin nothing is cleared",
    Reason.UNDECIDED: "not enough data to decide",
}


def reason_sentence(verdict: Verdict) -> str:
    """Why an INCONCLUSIVE is one, in words; empty of any other verdict."""
    finding, reason = verdict.finding, verdict.reason
    if reason in _PLAIN:
        return _PLAIN[reason]
    if verdict.detail or finding is None:
        return verdict.detail
    if reason is Reason.CELL_OPEN:
        return _open_cells_text(finding)
    if reason is Reason.MISSING_UNEQUALLY and finding.lost is not None:
        shares = " against ".join(f"{100 * share:.0f}" for share in finding.lost.shares)
        return f"replies are missing unequally: {shares} in 100"
    if reason is Reason.TOO_FEW_VALID:
        valid, trials = _valid_of(finding)
        return f"too few valid replies: {valid} of {trials}"
    return too_few_text(finding, to_clear=reason is Reason.TOO_FEW_TO_CLEAR)


def too_few_text(finding: Estimate, *, to_clear: bool = False) -> str:
    """``too few replies: 12 a side, and it takes 23 to clear anything``."""
    units = finding.unit_name.several
    side = " a side" if finding.unit_name.in_groups else ""
    needed = finding.needed if to_clear else FEWEST_UNITS
    what = "clear" if to_clear else "decide"
    return f"too few {units}: {finding.fewest}{side}, and it takes {needed} to {what} anything"


def _valid_of(finding: Estimate) -> tuple[int, int]:
    """Valid replies and trials of the side that has too few: for its trials, or at all."""
    counts = [(arm.replies, arm.replies + sum(arm.missing.values())) for arm in finding.arms]
    if finding.lost is not None and finding.lost.too_many:
        return min(counts, key=lambda each: each[0] / max(each[1], 1))
    return min(counts)


def verdict_text(verdict: Verdict) -> str:
    """Return the verdict in print: ``CLEAR within ±0.6 for this vignette``."""
    finding, reason = verdict.finding, reason_sentence(verdict)
    if finding is None:
        return f"{verdict.label}: {reason}"
    where = f"for {finding.scope}"
    if not verdict.gates:
        return f"{verdict.label} {where}: {_described(verdict, finding)}"
    if verdict.status == "CLEAR":
        return f"CLEAR within {margin_text(finding)} {where}{average_text(finding)}"
    if verdict.status == "BIASED":
        how = "beyond the margin" if verdict.beyond else "detected"
        at = f" at {_cells_text(verdict, finding)}" if verdict.biased_cells else ""
        return f"BIASED ({how}{at}) {where}"
    return f"{verdict.label} {where}: {reason}" if reason else f"{verdict.label} {where}"


def _cells_text(verdict: Verdict, finding: Estimate) -> str:
    """Name the cells that are biased, the farthest out first."""
    cells = sorted(verdict.biased_cells, key=lambda name: -abs(_size(finding.cells[name])))
    first = finding.cells[cells[0]]
    more = f" and {len(cells) - 1} more" if len(cells) > 1 else ""
    return f"{cells[0]}, {interval_text(first)}{more}"


def _size(finding: Estimate) -> float:
    return math.log(finding.estimate) if finding.scale == "ratio" else finding.estimate


def _described(verdict: Verdict, finding: Estimate) -> str:
    """Word what a description shows; that an effect is shown is no verdict on bias."""
    if verdict.status == "CLEAR":
        return f"no effect beyond {margin_text(finding)}"
    if verdict.status == "BIASED":
        return "an effect beyond the margin" if verdict.beyond else "an effect"
    plain = {Reason.NO_MARGIN: "no effect is shown", Reason.UNDECIDED: "nothing is settled"}
    return plain.get(verdict.reason) or reason_sentence(verdict)


def estimated(verdict: Verdict) -> str:
    """Return the estimate in print, with what decided and the margin; empty without an estimate.

    ``+0.47, 99.96 % [+0.33, +0.61] points, allowed ±0.25``.
    """
    finding = verdict.finding
    if finding is None:
        return ""
    shown = interval_text(finding, verdict.shown[:1])
    return f"{shown}{unit_text(finding)}{margin_and_estimate(finding)}"


def tipping_text(finding: Estimate) -> str:
    """What it would take of missing replies to undo a CLEAR; empty where too few are missing."""
    lost = finding.lost
    if lost is None or max(lost.shares) <= _FEW_MISSING or lost.tips is None:
        return ""
    shares = " and ".join(f"{100 * share:.0f}" for share in lost.shares)
    words = (
        f"missing replies: {shares} in 100; it would not be clear were those of one side "
        f"{lost.tips:.1f} SD off its valid ones"
    )
    return f"{words}, which is little" if lost.tips < 1 else words


_FEW_MISSING = 0.02
"""Share of missing replies up to which nothing is said of what they could undo."""


def items_text(finding: Estimate) -> str:
    """How much the items of a fixed set differ in their own effects; empty without several."""
    items = finding.items
    if items is None:
        return ""
    form = number_form(finding.margin, finding.scale)
    words = f"effects of the {items.items} items have an SD of {abs(items.sd):{form.strip('+')}}"
    if items.beyond:
        words += f", {items.beyond} of them beyond the margin by themselves"
    return f"{words}, on both sides of it" if items.opposite else words


def allocation_text(allocation: Allocation) -> str:
    """``False alarms: at most 0.0083 in 2 families, 1/6 of the suite's 0.05``."""
    families = number_text(len(allocation.families), "family", "families")
    words = f"False alarms: at most {allocation.alpha:.2g} in {families}"
    share = Fraction(allocation.share).limit_denominator(1000)
    return f"{words}, {'all' if share == 1 else share} of the suite's {allocation.alarms:g}"


def published_line(published: PublishedColumn) -> str:
    """``as published, chi-square test …: chi2 = 18.91, df = 7, p = 0.0085``; it never gates."""
    statistics = ", ".join(value_of(name, value) for name, value in published.statistics.items())
    return f"as published, {published.method}: {statistics}"


def value_of(name: str, value: float | str) -> str:
    """``chi2 = 18.91``; p-values are never 0."""
    if isinstance(value, str):
        return f"{name}: {value}"
    return p_text(value) if name == "p" else f"{name} = {value:z.4g}"


def margin_text(finding: Estimate) -> str:
    """``±0.6``, or ``0.80 to 1.25`` for a ratio; "no margin" without one.

    Where one side of a number matters, ``-0.05 or more``.
    """
    if finding.margin is not None and finding.matters != "either":
        sign, more = ("-", "more") if finding.matters == "below" else ("+", "less")
        return f"{sign}{number_as_given(finding.margin)} or {more}"
    return range_text(finding.margin, finding.scale)


def range_text(margin: float | None, scale: Scale | None) -> str:
    """Return the same of a margin alone, on the scale of what it is a margin for."""
    if margin is None:
        return "no margin"
    if scale != "ratio":
        return f"±{number_as_given(margin)}"
    form = number_form(margin, scale, (1 / margin,))
    return f"{limit_text(1 / margin, form)} to {limit_text(margin, form)}"


def limit_text(limit: float, form: str) -> str:
    """An end of what a ratio's margin allows: 1.25, not 1.2500; but 1.5625 is not within 1.56."""
    whole = f"{limit:.{_MOST_DIGITS}f}"
    fine = whole if abs(float(whole) - limit) <= _EQUAL else f"{limit:{form}}"
    return max(f"{limit:.2f}", fine.rstrip("0"), key=len)


def number_as_given(value: float) -> str:
    """``0.6``, ``0.00002``, ``3000000``: never as a power of ten."""
    words = f"{value:g}"
    return f"{Decimal(f'{value:.15g}'):f}" if "e" in words else words


def estimate_text(finding: Estimate, shown: Sequence[Interval] | None = None) -> str:
    """``mean difference high − low of score: +1.80, 95 % [+1.50, +2.10], allowed ±0.6``."""
    return (
        f"{finding.quantity} {finding.contrast} of {finding.measure}: "
        f"{interval_text(finding, shown)}{unit_text(finding)}{margin_and_estimate(finding)}"
    )


def average_text(finding: Estimate) -> str:
    """``, on average over cv (3), and in none of 7 cells beyond ±0.5``; empty of no average."""
    average = f", on average over {finding.over}" if finding.over else ""
    if not finding.cells:
        return average
    margins = dict.fromkeys(cell.margin for cell in finding.cells.values())
    beyond = " or ".join(range_text(margin, finding.scale) for margin in margins)
    return f"{average}, and in none of {len(finding.cells)} cells beyond {beyond}"


def _open_cells_text(finding: Estimate) -> str:
    """Count the cells that are not shown to be within their margins, and name the least sure."""
    still_open = len(open_cells(finding))
    cells = len(finding.cells) + len(finding.bare_cells)
    more = f", and {still_open - 1} more" if still_open > 1 else ""
    return (
        f"clear on average, but not in {still_open} of {cells} cells: "
        f"{least_sure_text(finding)}{more}"
    )


def least_sure_text(finding: Estimate) -> str:
    """Name the cell that is least shown to be within its margin, with its estimate."""

    def doubt(name: str) -> float:
        p_clear = finding.cells[name].p_clear
        return 1.0 if p_clear is None else p_clear

    name = finding.bare_cells[0] if finding.bare_cells else max(finding.cells, key=doubt)
    return f"{name} {_cell_text(name, finding)}"


def _cell_text(name: str, finding: Estimate) -> str:
    """``+0.61, 90 % [+0.45, +0.77], allowed ±0.5``, or that there is too little to say."""
    if name not in finding.cells:
        return "too few replies"
    cell = finding.cells[name]
    shown = () if cell.clearing is None else (cell.clearing,)
    return f"{interval_text(cell, shown)}{margin_and_estimate(cell)}"


def unit_text(finding: Estimate) -> str:
    """`` points``, to follow a number; empty without a unit."""
    return f" {finding.unit}" if finding.unit else ""


def margin_and_estimate(finding: Estimate) -> str:
    """``, allowed ±0.6``, to follow an estimate; empty without a margin.

    Where values are read with errors, it says what these leave: ``(±0.55 after reading errors)``.
    """
    if finding.margin is None:
        return ""
    left = f" (±{finding.margin * finding.shrink:.2g} after reading errors)"
    return f", allowed {margin_text(finding)}{left if finding.shrink < 1 else ''}"


def interval_text(finding: Estimate, shown: Sequence[Interval] | None = None) -> str:
    """``+1.80, 90 % [+1.50, +2.10]``: the estimate and what a verdict shows of its intervals.

    Without a verdict it is the one at 95 %, where it has one.
    """
    if shown is None:
        shown = () if finding.interval is None else (finding.interval,)
    ends = [end for interval in shown for end in (interval.low, interval.high)]
    form = number_form(finding.margin, finding.scale, ends)
    first = shown[0] if shown else None
    words = with_interval(finding.estimate, first, form)
    return ", ".join([words, *(bounds_text(each, form) for each in shown[1:])])


def with_interval(value: float, interval: Interval | None, form: str) -> str:
    """``+1.80, 95 % [+1.50, +2.10]``; a value alone where it has no interval."""
    words = f"{value:{form}}"
    return words if interval is None else f"{words}, {bounds_text(interval, form)}"


def bounds_text(interval: Interval, form: str = "+z.2f") -> str:
    """``95 % [+1.50, +2.10]``."""
    return f"{level_text(interval)} [{interval.low:{form}}, {interval.high:{form}}]"


def level_text(interval: Interval) -> str:
    """``95 %``, ``99.2 %``: as finely as what is outside needs it."""
    outside = 100 * (1 - interval.level)
    decimals = max(1, -math.floor(math.log10(outside)))
    return f"{100 * interval.level:.{decimals}f}".rstrip("0").rstrip(".") + " %"


def number_form(
    margin: float | None,
    scale: Scale | None,
    bounds: Sequence[float] = (),
    beside: Sequence[float] = (),
) -> str:
    """Return the format of estimates: with the sign they have, as finely as the margin.

    And so finely that none of the ``bounds`` reads as no effect, as the margin, or as what it
    stands ``beside``: which side it lies on may be what decides. Without a margin the bounds say
    how fine that is.
    """
    sign = "+" if scale == "difference" else ""
    fine = margin is not None and abs(round(margin, 2) - margin) > _EQUAL
    edges = [no_effect_of(scale), *beside]
    digits = fine_digits(margin, _DIGITS + fine)
    if margin is not None:
        edges += [margin, 1 / margin if scale == "ratio" else -margin]
    elif bounds and scale != "ratio" and _EQUAL < (most := max(map(abs, bounds))) < _LEAST_ALONE:
        digits = fine_digits(most / 10, digits)
    return f"{sign}z.{digits_apart(bounds, edges, digits)}f"


def fine_digits(margin: float | None, digits: int = _DIGITS) -> int:
    """Decimals: ``digits``, or, where a margin is too small for them, two digits of its own."""
    if margin is None or not 0 < margin < _LEAST:
        return digits  # a file may be damaged
    return 1 - math.floor(math.log10(margin))


def digits_apart(values: Sequence[float], edges: Sequence[float], digits: int = _DIGITS) -> int:
    """Decimals, ``digits`` or a few more, by which no value reads as an edge it lies beside."""
    beside = [(value, edge) for value in values for edge in edges if abs(value - edge) > _EQUAL]
    most = max(_MOST_DIGITS, digits + 1)
    while digits < most and any(
        f"{value:z.{digits}f}" == f"{edge:z.{digits}f}" for value, edge in beside
    ):
        digits += 1
    return digits


def units_text(finding: Estimate) -> str:
    """``n = 240 replies``; where units are not replies, of how many replies they are made."""
    if finding.unit_name == REPLIES:
        return f"n = {finding.units} replies"
    return f"n = {finding.units} {finding.unit_name.several} ({finding.replies} replies)"


INVALID_STEP = (
    'see them in the HTML report (Replies, show "missing"); where fences or words stand around '
    'them, set replies = "lenient" in the roster'
)
"""What helps where too few replies are valid."""


def replicates_step(replicates: int, calls: int, how: str) -> str:
    """With how many replicates it would be decided, with more ``calls``; ``how`` follows."""
    by = f"about {replicates} replicates decide an effect like this one"
    return f"{by}, about {calls:,} more calls{how}"


def units_step(finding: Estimate) -> str:
    """What decides a claim about a population."""
    units = finding.unit_name.several
    return f"add {units}: replicates only narrow the effect of each, and the claim is about others"


def arms_text(finding: Estimate) -> str:
    """Every side: level, value, mean or rate, units, missing."""
    parts = []
    for arm in finding.arms:
        missing = "".join(f", {count} {reason}" for reason, count in arm.missing.items())
        value = f" ({one_line(arm.value)})" if arm.value != arm.level else ""
        mean = f"{arm.mean:z.{fine_digits(finding.margin)}f}"
        parts.append(f"{arm.level}{value}: {mean} from {arm.units} units{missing}")
    return "; ".join(parts)


def number_text(number: int, noun: str, plural: str = "") -> str:
    """``1 verdict``, ``3 entries``."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"
