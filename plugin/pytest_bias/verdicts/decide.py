"""The order of the rules: from estimates to CLEAR, BIASED or INCONCLUSIVE; the first decides.

1. Copies, no estimate, a judge whose error is not known, fewer than 5 units: INCONCLUSIVE.
2. An alarm is shown, and the effect not to be within the margin: BIASED.
3. A cell is shown to be beyond its margin: BIASED, even where the average is within its own.
4. The effect is not shown to be within the margin: INCONCLUSIVE.
5. A screen, replies cut off, under 80 % valid or missing unequally, an open cell, no positive
   control: INCONCLUSIVE. 6. Else CLEAR.

"Within" is p_clear <= .05, an alarm p <= .05 after weighted Holm, on the scale of the experiment's
part of α. It rejects no effect; in cells, in a screen and between fixed sets of exemplars one
within the margin. stats/METHODS.md says how p-values come about, and where each threshold stands.
No other module decides a verdict by a p-value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeGuard

from ..contrasts.estimate import ALPHA, Estimate
from ..contrasts.reach import FEWEST_UNITS
from ..contrasts.units import REPLIES
from ..stats.results import MOST_UNITS, Interval
from .verdict import Decision, Question, Reason, Status, Support


def decide(questions: Sequence[Question], *, scale: float) -> dict[str, Decision]:
    """Return the decision on each question of one experiment, by id.

    ``scale`` is the experiment's α / .05, 1/12 by default: p-values are divided by it.
    """
    adjusted = _adjusted(questions, scale)
    decisions = {}
    for question in questions:
        cells = tuple(
            name
            for name in (question.estimate.cells if question.estimate else ())
            if is_shown(adjusted.get((question.id, name)))
        )
        p = adjusted[question.id, ""]
        status, reason, detail = _status(question, p, cells)
        decisions[question.id] = Decision(
            status=status,
            reason=reason,
            detail=detail,
            p_adjusted=p if _may_decide(question.estimate, question) else None,
            biased_cells=cells if status == "BIASED" else (),
            direction=_direction(question, p),
        )
    return decisions


def _status(  # noqa: PLR0911  (one a rule)
    question: Question, p_adjusted: float, biased_cells: Sequence[str]
) -> tuple[Status, Reason, str]:
    finding = question.estimate
    if question.copied:
        return "INCONCLUSIVE", Reason.COPIES, question.copied
    if finding is None:
        return "INCONCLUSIVE", Reason.NO_ESTIMATE, str(question.finding)
    if question.unreliable:
        return "INCONCLUSIVE", Reason.UNRELIABLE, question.unreliable
    if finding.fewest < FEWEST_UNITS:
        return "INCONCLUSIVE", _few(finding, FEWEST_UNITS, Reason.TOO_FEW_UNITS), ""
    if not clears(finding) and is_shown(p_adjusted):
        return "BIASED", Reason.NONE, ""
    if biased_cells:
        return "BIASED", Reason.CELL_BIASED, ""
    if not clears(finding):
        return "INCONCLUSIVE", *next(_why_open(question, finding))
    reason, detail = next(_against_clearing(question, finding), (Reason.NONE, ""))
    return ("INCONCLUSIVE" if reason else "CLEAR"), reason, detail


def _against_clearing(question: Question, finding: Estimate) -> Iterator[tuple[Reason, str]]:
    """Yield what speaks against a CLEAR that the estimate alone would give."""
    if question.screened:
        yield Reason.SCREEN, ""
    if question.cut:
        yield Reason.CUT_OFF, question.cut
    if finding.lost is not None and finding.lost.too_many:
        yield Reason.TOO_FEW_VALID, ""
    if finding.lost is not None and is_shown(finding.lost.p_beyond):
        yield Reason.MISSING_UNEQUALLY, ""
    if open_cells(finding):
        yield Reason.CELL_OPEN, ""
    if question.insensitive:
        yield Reason.NO_CONTROL, question.insensitive


def _why_open(question: Question, finding: Estimate) -> Iterator[tuple[Reason, str]]:
    """Yield why neither is shown, the first reason first."""
    if question.screened:
        yield Reason.SCREEN, ""
    if finding.margin is None:
        yield Reason.NO_MARGIN, ""
    if question.cut:
        yield Reason.CUT_OFF, question.cut
    if finding.shrink < 1 and (not finding.shrink or finding.needed >= MOST_UNITS):
        yield Reason.MISREAD, ""
    if finding.lost is not None and finding.lost.too_many:
        yield Reason.TOO_FEW_VALID, ""
    if finding.fewest < finding.needed:
        yield _few(finding, finding.needed, Reason.TOO_FEW_TO_CLEAR), ""
    yield Reason.UNDECIDED, ""


def _few(finding: Estimate, needed: int, otherwise: Reason) -> Reason:
    """Return the reason: too few valid replies where with all of them there would be enough."""
    trials = [arm.replies + sum(arm.missing.values()) for arm in finding.arms]
    enough = finding.unit_name == REPLIES and min(trials, default=0) >= needed
    return Reason.TOO_FEW_VALID if enough and finding.missing else otherwise


def _direction(question: Question, p_adjusted: float) -> Support | None:
    finding = question.estimate
    if question.direction is None:
        return None
    if finding is None or not is_shown(p_adjusted):
        return "not shown"
    positive = finding.estimate > finding.no_effect
    return "supported" if positive == (question.direction == "positive") else "opposite"


def _adjusted(questions: Sequence[Question], scale: float) -> dict[tuple[str, str], float]:
    """(hypothesis, cell or '') → alarm p-value after weighted Holm over the experiment.

    Families weigh alike, and so do the hypotheses of one; one that may not decide counts with
    p = 1, as families are those declared. The cells there are, of all claims, are one more family.
    Descriptions raise no alarm, and are adjusted by themselves within their family.
    """
    gating = [question for question in questions if question.claim != "describe"]
    sizes = Counter(question.family for question in gating)
    p = {(q.id, ""): _p_alarm(q, q.estimate) for q in questions}
    weights = {(q.id, ""): 1 / sizes[q.family] for q in gating}
    cells = {
        (q.id, name): _p_alarm(q, cell)
        for q in gating
        if q.estimate is not None
        for name, cell in q.estimate.cells.items()
    }
    weights |= dict.fromkeys(cells, 1 / max(len(cells), 1))
    p |= cells
    adjusted = {key: value / scale for key, value in _holm(p, weights).items()}
    described = [question for question in questions if question.claim == "describe"]
    for family in {question.family for question in described}:
        alike = {(q.id, ""): 1.0 for q in described if q.family == family}
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


def _may_decide(finding: Estimate | None, question: Question) -> TypeGuard[Estimate]:
    """Return whether a claim or a cell may be decided by its p-values."""
    barred = question.copied or question.unreliable
    return not barred and finding is not None and finding.fewest >= FEWEST_UNITS


def _p_alarm(question: Question, finding: Estimate | None) -> float:
    return finding.p_alarm if _may_decide(finding, question) else 1.0


def alarm_interval(finding: Estimate, p_adjusted: float | None) -> Interval | None:
    """The interval at level 1 - .05 p / p_adjusted: outside lies what the alarm rejects."""
    if finding.at_level is None or not p_adjusted:
        return finding.interval
    return finding.at_level(1 - ALPHA * finding.p_alarm / p_adjusted)


def is_seen(finding: Estimate) -> bool:
    """Return whether a positive control is seen: an alarm of 5 units a side, upwards."""
    enough = finding.fewest >= FEWEST_UNITS
    return enough and is_shown(finding.p_alarm) and finding.estimate > finding.no_effect


def is_shown(p: float | None) -> bool:
    """Return whether a p-value rejects what it was computed under; none does not."""
    return p is not None and p <= ALPHA


def clears(finding: Estimate) -> bool:
    """Return whether an effect is shown to be within its margin by the replies there are."""
    return is_shown(finding.p_clear)


def open_cells(finding: Estimate) -> tuple[str, ...]:
    """The cells that are not shown to be within their margin."""
    return (*finding.bare_cells, *(n for n, cell in finding.cells.items() if not clears(cell)))
