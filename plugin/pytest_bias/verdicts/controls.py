"""Positive controls: judged, and what they license (assay sensitivity per endpoint, ICH E10)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ..contrasts.declared import PositiveControl
from ..contrasts.estimate import Estimate
from ..contrasts.layout import FEWEST_UNITS
from ..errors import NoFinding
from ..experiments.measures import MISSING
from ..stats.results import Interval
from .decide import is_seen
from .verdict import Control
from .wording import margin_text, too_few_text

NOT_ASKED = "nothing was recorded for it"


def judged_control(
    declared: PositiveControl, finding: Estimate | NoFinding, held: str = "", *, asked: bool = True
) -> Control:
    """Judge a positive control: never seen where its measure is not to be relied on."""
    found = finding if isinstance(finding, Estimate) else None
    few = found is not None and found.fewest < FEWEST_UNITS
    doubt = str(finding) if found is None else held or (too_few_text(found) if few else "")
    reason = doubt or (_unseen(found) if found is not None else "")
    # What its experiment says is about a model that shows no difference, not of too few replies.
    meant = (
        _meaning(declared, found) if doubt else declared.if_not_seen or _meaning(declared, found)
    )
    return Control(
        id=declared.id,
        seen=not reason,
        finding=found,
        reason=reason if asked else NOT_ASKED,
        licenses=tuple(declared.licenses),
        meaning=meant if reason and asked else "",
        recorded=asked,
    )


def _unseen(finding: Estimate) -> str:
    """Return why a control is not seen; '' where it is."""
    if is_seen(finding):
        return ""
    if finding.estimate <= finding.no_effect:
        return f"its estimate is not above {finding.no_effect:g}"
    return f"p = {finding.p_alarm:.2g} is above .05"


def _meaning(declared: PositiveControl, finding: Estimate | None) -> str:
    """What it means that a control is not seen, where its experiment does not say."""
    *others, last = declared.licenses or ("it",)
    of = f"{', '.join(others)} and {last} are" if others else f"{last} is"
    what = declared.id if finding is None else f"{finding.measure} {finding.contrast}"
    return f"{what} is not shown to differ, so that {of} alike elsewhere says nothing"


def with_needed(controls: Sequence[Control], measures: Collection[str]) -> list[Control]:
    """``controls``, of which one that is not seen is needed only where no other is instead.

    ``measures`` are those that claims are about. A control that licenses none of them is needed:
    it says that the model attends to what it is asked.
    """
    found = []
    for control in controls:
        instead = {
            next((each.id for each in _deciding(measure, controls) if each.seen), "")
            for measure in control.licenses
            if measure in measures
        }
        if not control.seen and control.recorded and instead and "" not in instead:
            others = " and ".join(sorted(instead))
            meaning = f"not needed, as {others} is seen"
            control = replace(control, needed=False, meaning=meaning)  # noqa: PLW2901
        found.append(control)
    return found


def _deciding(measure: str, controls: Sequence[Control]) -> list[Control]:
    """The recorded controls of a measure: of its own where there are, else what licenses it."""
    asked = [control for control in controls if control.recorded and measure in control.licenses]
    own = [each for each in asked if each.finding and each.finding.measure == measure]
    return own or asked


def validation_of(measure: str, finding: Estimate, controls: Sequence[Control]) -> tuple[str, str]:
    """Return why nothing about ``measure`` can be CLEAR, and what is to be known where it can.

    Both are empty where a control of it was seen. One of its own that was recorded decides alone,
    whatever another licenses. One that is shown to be smaller than the margin licenses nothing:
    the strongest difference there is would then not count. Replies that are missing are counted by
    the harness itself, and need no control.
    """
    if measure == MISSING:
        return "", ""
    why, asked = "no assay sensitivity:", _deciding(measure, controls)
    if not asked:
        return f"{why} no positive control of {measure} was recorded", ""
    seen = [control for control in asked if control.seen]
    if not seen:
        first = asked[0]
        return f"{why} the positive control {first.id} was not seen ({first.reason})", ""
    # None is large that is shown to be below the margin of what it would license.
    large = [
        control
        for control in seen
        if (at := _comparable(control, finding)) is None or at.high >= (finding.margin or 0)
    ]
    if not large:
        smaller = f"is seen, but smaller than the margin {margin_text(finding)}"
        return f"{why} the positive control {seen[0].id} {smaller}", ""
    listed = [control for control in controls if measure in control.licenses]
    return "", _note(measure, large, listed, finding)


def _comparable(control: Control, finding: Estimate) -> Interval | None:
    """The interval of a control on the scale of what it licenses; None where it has no such."""
    of = control.finding
    if of is None or (of.measure, of.scale) != (finding.measure, finding.scale):
        return None
    return of.interval


def _note(
    measure: str, seen: Sequence[Control], listed: Sequence[Control], finding: Estimate
) -> str:
    """Return a remark on the controls that license a claim; '' where there is none."""
    own = [c for c in seen if c.finding is not None and c.finding.measure == measure]
    if not own:
        others = [control.id for control in listed if not control.recorded]
        verb = "was" if len(others) == 1 else "were"
        why = f", as {' and '.join(others)} {verb} not recorded" if others else ""
        return f"licensed by {seen[0].id} alone{why}"
    lowest = [at.low for control in own if (at := _comparable(control, finding)) is not None]
    if finding.margin is None or not lowest or max(lowest) >= finding.margin:
        return ""
    return f"its positive control {own[0].id} is seen, but not shown to be as large as the margin"
