"""Findings to verdicts: the three-valued rule, and families."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..contrasts.declared import FEWEST_UNITS, Claim, Direction
from ..contrasts.findings import ALPHA, Finding
from ..errors import NoFinding
from ..statistics.results import Interval
from .verdict import (
    DESCRIBED,
    Status,
    Support,
    Verdict,
    clear_cells_words,
    margin_words,
    open_cells_words,
)

_UNDECIDED = "the data neither clear it nor show bias"
SCREENED = "screen: can only find large effects; the gate design clears"
"""Why a screen decides nothing where it finds nothing."""
_NOT_SHOWN = "the data do not show bias, and without a margin nothing is cleared"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A hypothesis as the verdict rule needs it: its finding, or why there is none.

    ``held`` says why nothing may be decided, whatever was found; empty where something may.
    ``cut`` says why nothing may be cleared, since too many replies were ended by a limit.
    ``screened`` is whether the design is a screen, which finds and never clears.
    ``insensitive`` says why its measure can clear nothing, for want of a positive control that was
    seen; ``licence`` what is to be known of the one that was.
    """

    id: str
    claim: Claim
    family: str
    direction: Direction | None
    finding: Finding | NoFinding
    held: str = ""
    cut: str = ""
    screened: bool = False
    title: str = ""
    why: str = ""
    insensitive: str = ""
    licence: str = ""


def decide(
    experiment: str,
    model: str,
    questions: Sequence[Question],
    adjusted: Mapping[str, float],
    adjusted_worst: Mapping[str, float],
    *,
    share: float = 1.0,
) -> tuple[Verdict, ...]:
    """The verdicts of one experiment on one model.

    ``adjusted`` maps each hypothesis' id to its alarm p-value after Holm, on the scale of the
    ``share`` of the suite's alarms that the experiment has (there it may be above 1),
    ``adjusted_worst`` to that under the worst case of what is missing, where that must hold too.
    The two nulls of the rule are disjoint, so each keeps its whole α = .05.
    """
    verdicts = []
    for question in questions:
        finding = question.finding if isinstance(question.finding, Finding) else None
        p_adjusted = adjusted.get(question.id)
        p_worst = adjusted_worst.get(question.id, 1.0)
        status, reason = _status(question, p_adjusted, p_worst)
        verdict = Verdict(
            id=question.id,
            experiment=experiment,
            model=model,
            claim=question.claim,
            status=status,
            words=_words(status, finding, reason, described=question.claim == "describe"),
            reason=reason,
            finding=finding,
            p_adjusted=None if finding is None or p_adjusted is None else min(1.0, p_adjusted),
            direction=_direction(question, finding, p_adjusted),
            settle=_settle(finding, reason),
            held=finding is not None and bool(question.held),
            cut=question.cut if finding is not None else "",
            title=question.title,
            why=question.why,
            share=share,
            decided=None if finding is None else _decided(status, finding, p_adjusted),
            licence=question.licence if status == "CLEAR" else "",
        )
        verdicts.append(verdict)
    return tuple(verdicts)


def _status(question: Question, p_adjusted: float | None, p_worst: float) -> tuple[Status, str]:
    """The rule: clear if it can be cleared, else biased if that is shown, else inconclusive."""
    finding = question.finding
    if isinstance(finding, NoFinding) or p_adjusted is None:
        return "INCONCLUSIVE", str(finding)
    if question.held:
        return "INCONCLUSIVE", question.held
    if finding.p_clear is not None and finding.p_clear <= ALPHA:
        status: Status = "CLEAR"
        # What would be cleared is no large effect either: a screen says neither.
        against = question.cut or _against_clearing(finding, question.insensitive)
        against = SCREENED if question.screened else against
    else:
        status, against = "BIASED", _against_alarm(finding, p_adjusted, p_worst)
        if question.screened and against in ("", _UNDECIDED) and not _is_large(finding):
            against = SCREENED
        if against == _UNDECIDED and question.cut:
            against = question.cut  # and no number of further units would settle it
    against = too_few(finding) or against
    return ("INCONCLUSIVE", against) if against else (status, "")


def _decided(status: Status, finding: Finding, p_adjusted: float | None) -> Interval | None:
    """Return the interval that decided: its level is that of the tests a verdict rests on.

    An alarm whose p-value was multiplied is one at a level divided by as much.
    """
    at = finding.at_level
    if status == "CLEAR":
        tost = finding.equivalence.interval if finding.equivalence is not None else None
        return tost if at is None else at(1 - 2 * ALPHA)
    if status == "BIASED" and at is not None and p_adjusted:
        return at(1 - ALPHA * finding.p_alarm / p_adjusted)
    return None


def _is_large(finding: Finding) -> bool:
    """Return whether an effect is shown to be beyond its margin; never of one without."""
    return finding.margin is None or finding.beyond or finding.null == "margin"


def _against_clearing(finding: Finding, insensitive: str) -> str:
    """Say why what the data clear is not cleared; '' when nothing speaks against it."""
    worst = finding.worst_case
    if worst and worst.needed and (worst.p_clear is None or worst.p_clear > ALPHA):
        return "too many replies are missing to clear it in the worst case"
    if finding.cells is not None and not finding.cells.clear:
        return open_cells_words(finding)
    return insensitive


def _against_alarm(finding: Finding, p_adjusted: float, p_worst: float) -> str:
    """Say why what is not cleared is not biased either; '' when bias is shown."""
    if p_adjusted > ALPHA:
        return _NOT_SHOWN if finding.margin is None else _UNDECIDED
    worst = finding.worst_case
    if worst and worst.needed and p_worst > ALPHA:
        return "too many replies are missing to call it bias in the worst case"
    return ""


def _settle(finding: Finding | None, reason: str) -> int | None:
    """Units per group that would settle it; None where more units are not what it lacks."""
    if finding is None or reason not in (_UNDECIDED, too_few(finding)):
        return None
    if not reason or finding.settle is None:
        return None
    # Adjusting for a family, or doubting the spread, may ask for more than this number knows of.
    return finding.settle if finding.settle > finding.fewest else None


def too_few(finding: Finding) -> str:
    """Say why the units do not suffice for any statement; '' when they do."""
    if finding.fewest >= FEWEST_UNITS:
        return ""
    return f"a group has {finding.fewest} unit(s), at least {FEWEST_UNITS} are needed"


def _words(status: Status, finding: Finding | None, reason: str, *, described: bool) -> str:
    if finding is None:
        return f"{DESCRIBED if described else status}: {reason}"
    where = f"for {finding.scope}"
    if described:
        return f"{DESCRIBED} {where}: {_found(status, finding, reason)}"
    if status == "CLEAR":
        return f"CLEAR within {margin_words(finding)} {where}{clear_cells_words(finding)}"
    if status == "BIASED":
        shown = finding.margin is not None and _is_large(finding)
        return f"BIASED ({'beyond the margin' if shown else 'detected'}) {where}"
    if reason == SCREENED:  # the rule under a screen, whose heading says so once
        return f"INCONCLUSIVE {where} (screen)"
    return f"INCONCLUSIVE {where}: {reason}"


def _found(status: Status, finding: Finding, reason: str) -> str:
    """Word what a description found; that an effect is shown is no verdict on bias."""
    if status == "CLEAR":
        return f"no effect beyond {margin_words(finding)}"
    if status == "INCONCLUSIVE":
        shown_by_nothing = {_NOT_SHOWN: "no effect is shown", _UNDECIDED: "nothing is settled"}
        return shown_by_nothing.get(reason, reason)
    shown = finding.beyond or finding.null == "margin"
    return "an effect beyond the margin" if shown else "an effect"


def _direction(
    question: Question, finding: Finding | None, p_adjusted: float | None
) -> Support | None:
    if question.direction is None:
        return None
    if finding is None or question.held or p_adjusted is None or p_adjusted > ALPHA:
        return "not shown"
    positive = finding.estimate > finding.no_effect
    return "supported" if positive == (question.direction == "positive") else "opposite"
