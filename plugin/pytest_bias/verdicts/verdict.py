"""Verdicts and positive controls as values, and findings and verdicts in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from ..contrasts.declared import Claim
from ..contrasts.findings import (
    ALPHA,
    CHANCE,
    CellClaim,
    Finding,
    PublishedColumn,
    Scale,
    p_words,
)
from ..contrasts.units import REPLIES, Units
from ..experiments.allocation import Allocation
from ..experiments.fields import one_line
from ..stats.results import Interval

_EQUAL = 1e-9
_DIGITS = 2
_MOST_DIGITS = 4
_LEAST = 0.001
"""Margin below which the digits of ordinary ones would not show it."""
_LEAST_ALONE = 0.01
"""The same of numbers that have no margin."""

Status = Literal["CLEAR", "BIASED", "INCONCLUSIVE"]
Support = Literal["supported", "opposite", "not shown"]
HypothesisName = tuple[str, str, str]
"""Experiment, model and hypothesis."""


DESCRIBED = "DESCRIBED"
"""Stands in print for the status of what is only described: to find an effect there is no bias."""

NOTHING_FOUND = "NOTHING FOUND"
"""Stands in print for the INCONCLUSIVE of what can only be found, and was not."""

NOT_SHOWN = "the data do not show bias, and without a margin nothing is cleared"
"""The reason of such an INCONCLUSIVE."""

DOUBTED = "its interval alone would clear it, and is not to be trusted here"
"""Said where a test of another kind decides that something is open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """A positive control: seen where its 95 % interval lies above no effect.

    It is about the replies there are: what it licenses must itself hold in the worst case of those
    that are missing. ``licenses`` are the measures of which nothing can be CLEAR without it;
    ``meaning`` says what it means for this model that it is not seen. ``asked`` is whether the
    design has trials for it.
    """

    id: str
    seen: bool
    finding: Finding | None
    reason: str = ""
    licenses: tuple[str, ...] = ()
    meaning: str = ""
    asked: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The verdict of one hypothesis on one model.

    ``words`` is the verdict in print ("CLEAR within ±0.6 for this vignette"; of what is only
    described "DESCRIBED for this vignette: an effect"); ``reason`` says why an INCONCLUSIVE is
    one; ``p_adjusted`` is the alarm's p-value after Holm over the experiment; ``direction``
    compares the sign found with the documented one; ``settle`` is the number of units per group
    that would clear it at no effect, where more units are what it lacks; ``held`` whether it is
    held back whatever was found, as a rating it rests on is not to be relied on; ``cut`` why
    nothing is cleared, as a limit ended too many replies (empty where not); ``title`` is the
    sentence that the hypothesis asserts, ``why`` why its margin is that, each empty where nobody
    said it; ``licence`` is what is to be known of the positive control that lets it be CLEAR.

    ``share`` is the share of the suite's alarms that the experiment had when this was decided, on
    whose scale ``p_adjusted`` is. ``shown`` are the intervals to print: of what is cleared that of
    the two one-sided tests (90 %), of an alarm that at the level it was adjusted to, of what is
    neither both; empty where none goes with the tests. ``detectable`` is the smallest effect that
    would have been found with probability .90 where nothing was; None where nobody knows it.
    ``published`` is what the published method gives of the replies there are, where there is no
    finding that has it.
    """

    id: str
    experiment: str
    model: str
    claim: Claim
    status: Status
    words: str
    reason: str
    finding: Finding | None
    p_adjusted: float | None
    direction: Support | None
    settle: int | None
    held: bool = False
    cut: str = ""
    title: str = ""
    why: str = ""
    share: float = 1.0
    shown: tuple[Interval, ...] = ()
    detectable: float | None = None
    licence: str = ""
    published: PublishedColumn | None = None

    @property
    def named(self) -> HypothesisName:
        """Experiment, model and hypothesis."""
        return self.experiment, self.model, self.id

    @property
    def gates(self) -> bool:
        """Return whether it can fail a run: what is only described cannot."""
        return self.claim != "describe"

    @property
    def label(self) -> str:
        """The status in print, with which ``words`` begin.

        DESCRIBED where it does not gate; NOTHING FOUND of an INCONCLUSIVE that no reply could have
        cleared, as it has no margin.
        """
        if not self.gates:
            return DESCRIBED
        return NOTHING_FOUND if self.reason == NOT_SHOWN else self.status

    @property
    def estimated(self) -> str:
        """The estimate in print, with what decided and the margin; empty without an estimate.

        ``+0.47, 99.96 % [+0.33, +0.61] points, allowed ±0.25``.
        """
        finding = self.finding
        if finding is None:
            return ""
        allowed = "" if finding.margin is None else f", allowed {margin_words(finding)}"
        return f"{interval_words(finding, self.shown[:1])}{unit_words(finding)}{allowed}"

    @property
    def decided(self) -> Interval | None:
        """The interval that decided; None where nothing was decided, or no interval did it."""
        return self.shown[0] if self.shown and self.status != "INCONCLUSIVE" else None

    @property
    def beyond(self) -> bool:
        """Whether a bias is shown to lie beyond its margin."""
        finding = self.finding
        if finding is None or self.status != "BIASED" or finding.margin is None:
            return False
        return finding.null == "margin" or finding.beyond(self.decided)


def allocation_words(allocation: Allocation) -> str:
    """``False alarms: at most 0.0083 in 2 families, 1/6 of the suite's 0.05``."""
    families = number_words(len(allocation.families), "family", "families")
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
    return p_words(value) if name == "p" else f"{name} = {value:z.4g}"


def margin_words(finding: Finding) -> str:
    """``±0.6``, or ``0.80 to 1.25`` for a ratio; "no margin" without one."""
    return range_words(finding.margin, finding.scale)


def range_words(margin: float | None, scale: Scale | None) -> str:
    """The same of a margin alone, on the scale of what it is a margin for."""
    if margin is None:
        return "no margin"
    if scale != "ratio":
        return f"±{number_as_given(margin)}"
    form = number_form(margin, scale, (1 / margin,))
    return f"{limit_words(1 / margin, form)} to {limit_words(margin, form)}"


def limit_words(limit: float, form: str) -> str:
    """An end of what a ratio's margin allows: 1.25, not 1.2500; but 1.5625 is not within 1.56."""
    whole = f"{limit:.{_MOST_DIGITS}f}"
    fine = whole if abs(float(whole) - limit) <= _EQUAL else f"{limit:{form}}"
    return max(f"{limit:.2f}", fine.rstrip("0"), key=len)


def number_as_given(value: float) -> str:
    """``0.6``, ``0.00002``, ``3000000``: never as a power of ten."""
    words = f"{value:g}"
    return f"{Decimal(f'{value:.15g}'):f}" if "e" in words else words


def estimate_words(finding: Finding, shown: Sequence[Interval] | None = None) -> str:
    """``mean difference high − low of score: +1.80, 95 % [+1.50, +2.10], margin ±0.6``."""
    return (
        f"{finding.quantity} {finding.contrast} of {finding.measure}: "
        f"{interval_words(finding, shown)}{unit_words(finding)}{beside_margin(finding)}"
    )


def average_words(finding: Finding) -> str:
    """``, on average over cv (3), and in none of 7 cells beyond ±0.5``; empty of no average."""
    average = f", on average over {finding.over}" if finding.over else ""
    if finding.cells is None:
        return average
    margins = dict.fromkeys(cell.margin for cell in finding.cells.cells)
    beyond = " or ".join(range_words(margin, finding.scale) for margin in margins)
    return f"{average}, and in none of {len(finding.cells.cells)} cells beyond {beyond}"


def open_cells_words(finding: Finding) -> str:
    """Name the cells that are not shown to be within their margins, the farthest out first."""
    assert finding.cells is not None  # noqa: S101  (asked of claims about cells only)
    cells = finding.cells
    first = max(cells.open, key=lambda cell: cell.p_decides)
    more = len(cells.open) - 1
    return (
        f"clear on average, but not in {len(cells.open)} of {len(cells.cells)} cells: "
        f"{first.name} {cell_words(first, finding)}, "
        f"margin {range_words(first.margin, finding.scale)}"
        f"{f', and {more} more' if more else ''}"
    )


def cell_words(cell: CellClaim, finding: Finding) -> str:
    """``+0.61, 90 % [+0.45, +0.77]``, or that there is too little to say.

    An interval that another test than its own contradicts is not shown, but the test's p-value.
    """
    if cell.estimate is None:
        return "too few replies"
    form = number_form(cell.margin, finding.scale)
    if cell.p_clear > ALPHA and replace(finding, margin=cell.margin).inside(cell.interval):
        words = with_interval(cell.estimate, None, form, most=finding.most)
        return f"{words} ({p_words(cell.p_clear)}: {DOUBTED})"
    words = with_interval(cell.estimate, cell.interval, form, most=finding.most)
    if not cell.doubted:
        return words
    if cell.interval is None:
        return f"{words}; nothing is shown with what is missing at its worst"
    return f"{words} with what is missing at its worst"


def unit_words(finding: Finding) -> str:
    """`` points``, to follow a number; empty without a unit."""
    return f" {finding.unit}" if finding.unit else ""


def beside_margin(finding: Finding) -> str:
    """``, margin ±0.6``, to follow an estimate; empty without a margin."""
    return "" if finding.margin is None else f", margin {margin_words(finding)}"


def interval_words(finding: Finding, shown: Sequence[Interval] | None = None) -> str:
    """``+1.80, 90 % [+1.50, +2.10]``: the estimate and what a verdict shows of its intervals.

    Without a verdict it is the one at 95 %, where it has one. Beside what is corrected for a
    judge's errors stands what was read.
    """
    if shown is None:
        shown = () if finding.interval is None else (finding.interval,)
    ends = [end for interval in shown for end in (interval.low, interval.high)]
    form = number_form(finding.margin, finding.scale, ends)
    chance = finding.extras.get(CHANCE)
    beside = f" ({chance:.2f} by chance)" if isinstance(chance, float) else ""
    first = shown[0] if shown else None
    read, most = finding.as_read, finding.most
    words = with_interval(finding.estimate, first, form, beside=beside, read=read, most=most)
    return ", ".join([words, *(bounds_words(each, form, most) for each in shown[1:])])


def possible(value: float, most: float) -> float:
    """An estimate, or an end of its interval, as it is shown: no larger than ``most`` either way.

    Corrected for errors of reading it may lie beyond what is possible.
    """
    return max(-most, min(most, value))


def with_interval(
    value: float,
    interval: Interval | None,
    form: str,
    *,
    beside: str = "",
    read: float | None = None,
    most: float = math.inf,
) -> str:
    """``+1.80, 95 % [+1.50, +2.10]``; a value alone where it has no interval.

    ``beside`` follows the value, and ``read``, which is what was read where it is corrected.
    """
    words = f"{possible(value, most):{form}}{beside}"
    if read is not None:
        words += f" (corrected; read {read:{form}})"
    return words if interval is None else f"{words}, {bounds_words(interval, form, most)}"


def bounds_words(interval: Interval, form: str = "+z.2f", most: float = math.inf) -> str:
    """``95 % [+1.50, +2.10]``; ``95 % wholly beyond +1.00`` where none of it is possible."""
    low, high = possible(interval.low, most), possible(interval.high, most)
    if low == high and interval.low < interval.high:
        return f"{level_words(interval)} wholly beyond {low:{form}}"
    return f"{level_words(interval)} [{low:{form}}, {high:{form}}]"


def level_words(interval: Interval) -> str:
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
    edges = [1.0 if scale == "ratio" else 0.0, *beside]
    digits = fine_digits(margin, _DIGITS + fine)
    if margin is not None:
        edges += [margin, 1 / margin if scale == "ratio" else -margin]
    elif bounds and scale != "ratio" and _EQUAL < (most := max(map(abs, bounds))) < _LEAST_ALONE:
        digits = fine_digits(most / 10, digits)
    return f"{sign}z.{digits_beside(bounds, edges, digits)}f"


def fine_digits(margin: float | None, digits: int = _DIGITS) -> int:
    """Decimals: ``digits``, or, where a margin is too small for them, two digits of its own."""
    if margin is None or not 0 < margin < _LEAST:
        return digits  # a file may be damaged
    return 1 - math.floor(math.log10(margin))


def digits_beside(values: Sequence[float], edges: Sequence[float], digits: int = _DIGITS) -> int:
    """Decimals, ``digits`` or a few more, by which no value reads as an edge it lies beside."""
    beside = [(value, edge) for value in values for edge in edges if abs(value - edge) > _EQUAL]
    most = max(_MOST_DIGITS, digits + 1)
    while digits < most and any(
        f"{value:z.{digits}f}" == f"{edge:z.{digits}f}" for value, edge in beside
    ):
        digits += 1
    return digits


def units_words(finding: Finding) -> str:
    """``n = 240 replies``; where units are not replies, of how many replies they are made."""
    if finding.unit_name == REPLIES:
        return f"n = {finding.units} replies"
    return f"n = {finding.units} {finding.unit_name.several} ({finding.replies} replies)"


def settle_words(verdict: Verdict) -> str:
    """``150 replies per group would clear it if there were no effect``."""
    units = verdict.finding.unit_name if verdict.finding is not None else Units("units")
    groups = " per group" if units.in_groups else ""
    return f"{verdict.settle} {units.several}{groups} would clear it if there were no effect"


def arms_words(finding: Finding) -> str:
    """Every side: level, value, mean or rate, units, missing."""
    parts = []
    for arm in finding.arms:
        missing = "".join(f", {count} {reason}" for reason, count in arm.missing.items())
        value = f" ({one_line(arm.value)})" if arm.value != arm.level else ""
        mean = f"{arm.mean:z.{fine_digits(finding.margin)}f}"
        parts.append(f"{arm.level}{value}: {mean} from {arm.units} units{missing}")
    return "; ".join(parts)


def number_words(number: int, noun: str, plural: str = "") -> str:
    """``1 verdict``, ``3 entries``."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"
