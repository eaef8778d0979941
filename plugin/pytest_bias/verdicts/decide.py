"""Order of the rules: from estimates to CLEAR, BIASED or INCONCLUSIVE; the first decides.

1. Copies, no estimate, a judge whose error is not known, fewer than 5 units: INCONCLUSIVE.
2. The null is rejected, and the effect not shown to be within the margin: BIASED.
3. A cell is shown to be beyond its margin: BIASED, even where the average is within its own.
4. The effect is not shown to be within the margin: INCONCLUSIVE.
5. Replies cut off, under 80 % valid or missing unequally, an open cell, no positive
   control: INCONCLUSIVE. 6. Else CLEAR.

"Within" is p_clear <= .05, a rejection p <= .05 after weighted Holm, on the scale of the
experiment's part of α. The null is no effect; in cells and between fixed sets of
exemplars it is one within the margin. stats/METHODS.md has the methods, and
where each threshold stands. No other module decides a verdict by a p-value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard

from ..contrasts.estimate import ALPHA, Estimate
from ..contrasts.layout import FEWEST_UNITS, REPLIES
from ..stats.results import MOST_UNITS, Interval
from .verdict import Reason, Status, Support, Verdict


def decide(questions: Sequence[Verdict], *, scale: float) -> dict[str, Verdict]:
    """Return all verdicts of one experiment, by id, from the questions.

    ``scale`` is the experiment's α / .05, 1/12 by default: p-values are divided by it, and may be
    above 1.
    """
    adjusted = _adjusted(questions, scale)
    decided = {}
    for each in questions:
        cells = tuple(
            name
            for name in (each.finding.cells if each.finding else ())
            if is_shown(adjusted.get((each.id, name)))
        )
        p = adjusted[each.id, ""]
        status, reason = _status(each, p, cells)
        decided[each.id] = replace(
            each,
            status=status,
            reason=reason,
            detail=each.against.get(reason, ""),
            p_adjusted=p if _may_decide(each.finding, each) else None,
            biased_cells=cells if status == "BIASED" else (),
            direction=_direction(each, p),
        )
    return decided


def _status(
    question: Verdict, p_adjusted: float, biased_cells: Sequence[str]
) -> tuple[Status, Reason]:
    finding = question.finding
    for reason in (Reason.COPIES, Reason.NO_ESTIMATE, Reason.UNRELIABLE):
        if reason in question.against:
            return "INCONCLUSIVE", reason
    if finding is None:
        return "INCONCLUSIVE", Reason.NO_ESTIMATE
    if finding.fewest < FEWEST_UNITS:
        return "INCONCLUSIVE", _few(finding, FEWEST_UNITS, Reason.TOO_FEW_UNITS)
    if not clears(finding) and is_shown(p_adjusted):
        return "BIASED", Reason.NONE
    if biased_cells:
        return "BIASED", Reason.CELL_BIASED
    found = _against_clearing if clears(finding) else _why_open
    reason = next(found(question, finding), Reason.NONE)
    return ("INCONCLUSIVE" if reason else "CLEAR"), reason


def _against_clearing(question: Verdict, finding: Estimate) -> Iterator[Reason]:
    """Yield what speaks against a CLEAR that the estimate alone would give."""
    if Reason.CUT_OFF in question.against:
        yield Reason.CUT_OFF
    if finding.lost is not None and finding.lost.too_many:
        yield Reason.TOO_FEW_VALID
    if finding.lost is not None and is_shown(finding.lost.p_beyond):
        yield Reason.MISSING_UNEQUALLY
    if open_cells(finding):
        yield Reason.CELL_OPEN
    if Reason.NO_CONTROL in question.against:
        yield Reason.NO_CONTROL


def _why_open(question: Verdict, finding: Estimate) -> Iterator[Reason]:
    """Yield why neither is shown, the first reason first."""
    if finding.margin is None:
        yield Reason.NO_MARGIN
    if Reason.CUT_OFF in question.against:
        yield Reason.CUT_OFF
    if finding.shrink < 1 and (not finding.shrink or finding.needed >= MOST_UNITS):
        yield Reason.MISREAD
    if finding.lost is not None and finding.lost.too_many:
        yield Reason.TOO_FEW_VALID
    if finding.fewest < finding.needed:
        yield _few(finding, finding.needed, Reason.TOO_FEW_TO_CLEAR)
    yield Reason.UNDECIDED


def _few(finding: Estimate, needed: int, otherwise: Reason) -> Reason:
    """Return the reason: too few valid replies where with all of them there would be enough."""
    trials = [arm.replies + sum(arm.missing.values()) for arm in finding.arms]
    enough = finding.unit_name == REPLIES and min(trials, default=0) >= needed
    return Reason.TOO_FEW_VALID if enough and finding.missing else otherwise


def _direction(question: Verdict, p_adjusted: float) -> Support | None:
    finding = question.finding
    if question.documented is None:
        return None
    if finding is None or not is_shown(p_adjusted):
        return "not shown"
    positive = finding.estimate > finding.no_effect
    return "supported" if positive == (question.documented == "positive") else "opposite"


def _adjusted(questions: Sequence[Verdict], scale: float) -> dict[tuple[str, str], float]:
    """(hypothesis, cell or '') → p-value of its null after weighted Holm over the experiment.

    Families weigh alike, and so do the hypotheses of one; one that may not decide counts with
    p = 1, as families are those declared. The cells there are, of all claims, are one more family.
    Descriptions reject nothing, and are adjusted by themselves within their family.
    """
    gating = [each for each in questions if each.gates]
    sizes = Counter(each.family for each in gating)
    p = {(each.id, ""): _p_rejection(each, each.finding) for each in questions}
    weights = {(each.id, ""): 1 / sizes[each.family] for each in gating}
    cells = {
        (each.id, name): _p_rejection(each, cell)
        for each in gating
        if each.finding is not None
        for name, cell in each.finding.cells.items()
    }
    weights |= dict.fromkeys(cells, 1 / max(len(cells), 1))
    p |= cells
    adjusted = {key: value / scale for key, value in _holm(p, weights).items()}
    described = [each for each in questions if not each.gates]
    for family in {each.family for each in described}:
        alike = {(each.id, ""): 1.0 for each in described if each.family == family}
        adjusted |= _holm(p, alike)
    return adjusted


def _holm(
    p: Mapping[tuple[str, str], float], weights: Mapping[tuple[str, str], float]
) -> dict[tuple[str, str], float]:
    from ..stats.simultaneous import holm  # noqa: PLC0415  (numpy)

    if not weights:
        return {}
    found = holm([p[key] for key in weights], [*weights.values()], capped=False).tolist()
    return dict(zip(weights, found, strict=True))


def _may_decide(finding: Estimate | None, question: Verdict) -> TypeGuard[Estimate]:
    """True if a claim or a cell may be decided by its p-values."""
    barred = question.against.keys() & {Reason.COPIES, Reason.UNRELIABLE}
    return not barred and finding is not None and finding.fewest >= FEWEST_UNITS


def _p_rejection(question: Verdict, finding: Estimate | None) -> float:
    return finding.p_alarm if _may_decide(finding, question) else 1.0


def rejection_interval(finding: Estimate, p_adjusted: float | None) -> Interval | None:
    """Return the interval at level 1 - .05 p / p_adjusted: outside lies what is rejected."""
    if finding.at_level is None or not p_adjusted:
        return finding.interval
    return finding.at_level(1 - ALPHA * finding.p_alarm / p_adjusted)


def is_seen(finding: Estimate) -> bool:
    """True if a positive control is seen: a rejection of 5 units a side, upwards."""
    enough = finding.fewest >= FEWEST_UNITS
    return enough and is_shown(finding.p_alarm) and finding.estimate > finding.no_effect


def is_shown(p: float | None) -> bool:
    """True if a p-value rejects what it was computed under; none does not."""
    return p is not None and p <= ALPHA


def clears(finding: Estimate) -> bool:
    """True if an effect is shown to be within its margin by the replies there are."""
    return is_shown(finding.p_clear)


def open_cells(finding: Estimate) -> tuple[str, ...]:
    """Return the cells that are not shown to be within their margin."""
    return (*finding.bare_cells, *(n for n, cell in finding.cells.items() if not clears(cell)))
