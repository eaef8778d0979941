"""One hypothesis on the page: what was found, what decided, and what stands beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..contrasts.findings import Finding
from ..verdicts.explanation import explanation, settling_words
from ..verdicts.verdict import Verdict
from ..verdicts.words import interval_words, margin_words, unit_words
from .figures import Band, Chart, Row, human_interval, interval_chart
from .numbers import level_words, p_value, unbroken, unbroken_bounds
from .page_facts import AnalysisRow, Fact, all_facts, analysis_rows, people_facts

_CLAIMS = {
    "clear": "clear: the suite passes only when this is shown to be CLEAR",
    "describe": "describe: it is reported, and never keeps the suite from passing",
    "detect": "detect: it can show bias; left undecided, it does not keep the suite from passing",
}
_DIRECTIONS = {
    "supported": "supported: the difference found has the sign its source reports",
    "opposite": "opposite: a difference was found, with the other sign than its source reports",
    "not shown": "not shown: the data do not exclude that there is no effect",
}
_NOT_BEYOND = "not shown: the verdict asks for an effect beyond the margin, and none is shown"
_NONE = "–"
_SHORT = 24
"""Characters up to which a contrast stays on one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictPage:
    """A hypothesis as the templates need it."""

    anchor: str
    title: str
    contrast: str
    verdict: Verdict
    judged: bool
    accepted: str
    claim: str
    meaning: str
    explanation: tuple[str, ...]
    settles: str
    direction: str
    chart: Chart | None
    caption: str
    columns: tuple[AnalysisRow, ...]
    published: bool
    facts: tuple[Fact, ...]
    people: tuple[Fact, ...]
    notes: tuple[str, ...]
    overview: tuple[str, str, str, str]
    """Estimate, interval, margin, units."""


def verdict_page(
    verdict: Verdict, anchor: str, *, judged: bool, accepted: str = ""
) -> VerdictPage:
    """All there is to say on one hypothesis.

    ``judged`` when it counts for the suite's verdict, ``accepted`` says by whom it is tolerated.
    """
    finding = verdict.finding
    human = finding.human if finding else None
    contrast = contrast_words(finding) if finding else verdict.id
    return VerdictPage(
        anchor=anchor,
        title=verdict.title or contrast,
        contrast=contrast if verdict.title else "",
        verdict=verdict,
        judged=judged,
        accepted=accepted,
        claim=_CLAIMS[verdict.claim],
        meaning=_meaning(verdict),
        explanation=tuple(explanation(verdict).split("\n")[1:]),
        settles=settling_words(verdict),
        direction=_direction(verdict),
        chart=_chart(finding, verdict.model) if finding else None,
        caption=_caption(finding) if finding else "",
        columns=tuple(analysis_rows(finding, verdict.p_adjusted)) if finding else (),
        published=finding is not None and finding.published is not None,
        facts=tuple(all_facts(finding)) if finding else (),
        people=tuple(people_facts(human)) if human else (),
        notes=finding.notes if finding else (),
        overview=_overview(finding),
    )


def told_apart(pages: Iterable[VerdictPage]) -> tuple[VerdictPage, ...]:
    """The pages of an analysis, each with a title of its own.

    What several hypotheses assert is told apart by their contrasts, and the same contrast asked at
    several places by its id.
    """
    given = tuple(pages)
    shared = Counter(page.title for page in given)
    found = tuple(
        replace(page, title=f"{page.title} {page.contrast}", contrast="")
        if page.contrast and shared[page.title] > 1
        else page
        for page in given
    )
    titles = Counter(page.title for page in found)
    return tuple(
        replace(page, title=f"{page.title} ({page.verdict.id})")
        if titles[page.title] > 1
        else page
        for page in found
    )


def contrast_words(finding: Finding) -> str:
    """``sentence_months, high − low``."""
    short = len(finding.contrast) <= _SHORT
    return f"{finding.measure}, {unbroken(finding.contrast) if short else finding.contrast}"


def _overview(finding: Finding | None) -> tuple[str, str, str, str]:
    if finding is None:
        return (_NONE, _NONE, _NONE, _NONE)
    margin = "none" if finding.margin is None else margin_words(finding)
    estimate, _, interval = interval_words(finding).partition(" ")
    return (estimate, unbroken(interval) or _NONE, unbroken(margin), str(finding.units))


def _meaning(verdict: Verdict) -> str:
    finding = verdict.finding
    if finding is None or verdict.status == "INCONCLUSIVE":
        return ""
    p = verdict.p_adjusted
    alarm = "" if p is None else f" (alarm {p_value(p)}, after Holm)"
    if verdict.status == "BIASED":
        rejected = "within the margin" if finding.null == "margin" else f"of {finding.no_effect:g}"
        sized = finding.margin is None or finding.beyond or finding.null == "margin"
        shown = "" if sized else "; that it lies beyond the margin is not shown"
        if finding.beyond and finding.null != "margin":
            shown = f", and the whole interval lies beyond {margin_words(finding)}"
        return f"An effect {rejected} is rejected{alarm}{shown}."
    clear = "" if finding.p_clear is None else f" (clearing {p_value(finding.p_clear)})"
    return f"An effect beyond {margin_words(finding)} in either direction is rejected{clear}."


def _direction(verdict: Verdict) -> str:
    finding = verdict.finding
    if verdict.direction is None:
        return ""
    if verdict.direction == "not shown" and finding is not None and finding.null == "margin":
        return _NOT_BEYOND
    return _DIRECTIONS[verdict.direction]


def _chart(finding: Finding, model: str) -> Chart | None:
    if finding.interval is None:
        return None
    estimate = interval_words(finding)
    inner = finding.equivalence.interval if finding.equivalence else None
    rows = [
        Row(
            name="Model",
            numbers=estimate,
            low=finding.interval.low,
            high=finding.interval.high,
            point=finding.estimate,
            inner=inner,
        )
    ]
    words = [
        f"{finding.quantity}, {contrast_words(finding)}, {model}: {estimate}{unit_words(finding)}"
    ]
    if inner is not None:
        words.append(f"{level_words(inner)} interval {unbroken_bounds(inner)}")
    if finding.margin is not None:
        words.append(f"margin {margin_words(finding)}")
    if finding.bootstrap is not None:
        bounds = finding.bootstrap.interval
        words.append(f"bootstrap interval {unbroken_bounds(bounds)}")
        rows.append(
            Row(
                name="Model, bootstrap",
                numbers=unbroken_bounds(bounds),
                low=bounds.low,
                high=bounds.high,
                colour="var(--muted)",
            )
        )
    if finding.human is not None:
        low, high = human_interval(finding.human)
        people = f"{finding.human.difference:+.2f} [{low:+.2f}, {high:+.2f}]"
        words.append(f"people (n = {finding.human.n}): {people}")
        rows.append(
            Row(
                name=f"People, n = {finding.human.n}",
                numbers=people,
                low=low,
                high=high,
                point=finding.human.difference,
                shape="diamond",
                colour="var(--people)",
            )
        )
    title = finding.unit or finding.quantity
    band = None
    if finding.within is not None:
        low, high = finding.within
        band = Band(low=low, high=high, words=margin_words(finding))
    label = "; ".join(words) + "."
    return interval_chart(rows, band=band, title=title, label=label, no_effect=finding.no_effect)


def _caption(finding: Finding) -> str:
    if finding.interval is None:
        return ""
    parts = [f"{finding.quantity.capitalize()} of {contrast_words(finding)}{_in(finding)}."]
    line = f"Lines are {level_words(finding.interval)} intervals"
    if finding.equivalence is not None:
        line += f"; the thick part is the {level_words(finding.equivalence.interval)} interval"
        line += ", which must lie within the margin to be CLEAR"
    parts.append(f"{line}.")
    if finding.margin is not None:
        parts.append("The shaded band is the margin: effects in it do not matter.")
    return " ".join(parts)


def _in(finding: Finding) -> str:
    return f", in {finding.unit}" if finding.unit else ""
