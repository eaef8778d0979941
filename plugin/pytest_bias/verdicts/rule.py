"""Findings to verdicts: the three-valued rule, and families."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..contrasts.declared import FEWEST_UNITS, Claim, Direction
from ..contrasts.findings import ALPHA, Finding, PublishedColumn
from ..errors import NoFinding
from ..stats.results import POWER, Interval
from .verdict import (
    DOUBTED,
    NOT_SHOWN,
    Status,
    Support,
    Verdict,
    average_words,
    margin_words,
    open_cells_words,
    unit_words,
)

_UNDECIDED = "the data neither clear it nor show bias"
_DOUBTED = f"{DOUBTED}: see its notes"
SCREENED = "screen: can only find large effects; the gate design clears"
"""Why a screen decides nothing where it finds nothing."""


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
            words="",
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
            shown=() if finding is None else _shown(finding, p_adjusted),
            detectable=_detectable(finding, p_adjusted) if reason == NOT_SHOWN else None,
            licence=question.licence if status == "CLEAR" else "",
            published=_published(question.finding),
        )
        verdicts.append(replace(verdict, words=_words(verdict)))
    return tuple(verdicts)


def _published(finding: Finding | NoFinding) -> PublishedColumn | None:
    """What the published method gives where there is no finding that has it."""
    if isinstance(finding, Finding) or finding.published is None:
        return None
    method, statistics = finding.published
    return PublishedColumn(method=method, statistics=statistics)


def _status(question: Question, p_adjusted: float | None, p_worst: float) -> tuple[Status, str]:
    """The rule: clear if it can be cleared, else biased if that is shown, else inconclusive."""
    finding = question.finding
    if isinstance(finding, NoFinding) or p_adjusted is None:
        return "INCONCLUSIVE", str(finding)
    if question.held:
        return "INCONCLUSIVE", question.held
    if finding.clears:
        status: Status = "CLEAR"
        # What would be cleared is no large effect either: a screen says neither.
        against = question.cut or _against_clearing(finding, question.insensitive)
        against = SCREENED if question.screened else against
    else:
        status, against = "BIASED", _against_alarm(finding, p_adjusted, p_worst)
        small = question.screened and not _is_large(finding, p_adjusted)
        if small and against in ("", _UNDECIDED, _DOUBTED):
            against = SCREENED
        if against in (_UNDECIDED, _DOUBTED) and question.cut:
            against = question.cut  # and no number of further units would settle it
    against = too_few(finding) or against
    return ("INCONCLUSIVE", against) if against else (status, "")


def _shown(finding: Finding, p_adjusted: float | None) -> tuple[Interval, ...]:
    """Return the intervals that say what the p-values do: the one that decides, or else both.

    One that a test of another kind (a permutation, a bound) contradicts says nothing of it.
    """
    alarms = p_adjusted is not None and p_adjusted <= ALPHA
    shown: list[Interval] = []
    if finding.clears or not alarms:
        clearing = _clearing_interval(finding)
        if clearing is not None and finding.inside(clearing) == finding.clears:
            shown.append(clearing)
    alarm = None if finding.clears else _alarm_interval(finding, p_adjusted)
    if alarm is not None:
        beyond = finding.beyond(alarm)
        outside = beyond if finding.null == "margin" else alarm.excludes(finding.no_effect)
        shown += [alarm] if outside == alarms else []
    return tuple(dict.fromkeys(shown))


def _clearing_interval(finding: Finding) -> Interval | None:
    """The interval of two one-sided tests; where it is not known, that at 95 %, which is wider."""
    if finding.margin is None:
        return None
    return finding.clearing_interval or finding.interval


def _alarm_interval(finding: Finding, p_adjusted: float | None) -> Interval | None:
    """The interval at the level of the alarm: where p is multiplied, α is divided by as much."""
    if finding.at_level is None or not p_adjusted:
        return finding.interval
    return finding.at_level(1 - ALPHA * finding.p_alarm / p_adjusted)


def _detectable(finding: Finding | None, p_adjusted: float | None) -> float | None:
    """The smallest effect that would have been found; None where it is not known."""
    if finding is None or not finding.se or not finding.df or not p_adjusted:
        return None
    from ..stats.power import detectable_effect  # noqa: PLC0415  (numpy)

    level = ALPHA * finding.p_alarm / p_adjusted
    found = detectable_effect(finding.se, df=finding.df, alpha=level)
    return math.exp(found) if finding.scale == "ratio" else found


def _is_large(finding: Finding, p_adjusted: float | None) -> bool:
    """Return whether an effect is shown to be beyond its margin; of one without it always is."""
    if finding.margin is None or finding.null == "margin":
        return True
    return finding.beyond(_alarm_interval(finding, p_adjusted))


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
    if p_adjusted > ALPHA and finding.margin is None:
        return NOT_SHOWN
    if p_adjusted > ALPHA:
        return _DOUBTED if finding.inside(_clearing_interval(finding)) else _UNDECIDED
    worst = finding.worst_case
    if worst and worst.needed and p_worst > ALPHA:
        return "too many replies are missing to call it bias in the worst case"
    return ""


def _settle(finding: Finding | None, reason: str) -> int | None:
    """Units per group that clear at no effect; None where more units are not what it lacks."""
    if finding is None or reason not in (_UNDECIDED, _DOUBTED, too_few(finding)):
        return None
    if not reason or finding.enough is None:
        return None
    # Doubting the spread may ask for more than this number knows of.
    return finding.enough if finding.enough > finding.fewest else None


def too_few(finding: Finding) -> str:
    """Say why the units do not suffice for any statement; '' when they do."""
    if finding.fewest >= FEWEST_UNITS:
        return ""
    return f"a group has {finding.fewest} unit(s), at least {FEWEST_UNITS} are needed"


def _words(verdict: Verdict) -> str:
    finding = verdict.finding
    if finding is None:
        return f"{verdict.label}: {verdict.reason}"
    where = f"for {finding.scope}"
    if not verdict.gates:
        return f"{verdict.label} {where}: {_found(verdict, finding)}"
    if verdict.status == "CLEAR":
        return f"CLEAR within {margin_words(finding)} {where}{average_words(finding)}"
    if verdict.status == "BIASED":
        return f"BIASED ({'beyond the margin' if verdict.beyond else 'detected'}) {where}"
    return f"{verdict.label} {where}{_open(verdict, finding)}"


def _open(verdict: Verdict, finding: Finding) -> str:
    """Say why nothing is decided, in a run of the whole design; or what would have been found."""
    if verdict.reason == SCREENED:  # the rule under a screen, whose heading says so once
        return " (screen)"
    if verdict.reason != NOT_SHOWN:
        return f": {verdict.reason}"
    if verdict.detectable is None:
        return ""
    least = f"{verdict.detectable:.2g}{unit_words(finding)}"
    return f": an effect of {least} would have been found with probability {POWER:.2f}"


def _found(verdict: Verdict, finding: Finding) -> str:
    """Word what a description found; that an effect is shown is no verdict on bias."""
    if verdict.status == "CLEAR":
        return f"no effect beyond {margin_words(finding)}"
    if verdict.status == "INCONCLUSIVE":
        shown_by_nothing = {NOT_SHOWN: "no effect is shown", _UNDECIDED: "nothing is settled"}
        return shown_by_nothing.get(verdict.reason, verdict.reason)
    return "an effect beyond the margin" if verdict.beyond else "an effect"


def _direction(
    question: Question, finding: Finding | None, p_adjusted: float | None
) -> Support | None:
    if question.direction is None:
        return None
    if finding is None or question.held or p_adjusted is None or p_adjusted > ALPHA:
        return "not shown"
    positive = finding.estimate > finding.no_effect
    return "supported" if positive == (question.direction == "positive") else "opposite"
