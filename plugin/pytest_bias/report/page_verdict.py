"""One hypothesis on the page: what was found, and what decided."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ..contrasts.findings import ALPHA, Finding
from ..verdicts.verdict import Verdict, interval_words, margin_words, number_form, unit_words
from .figures import Band, Chart, Row, human_interval, interval_chart
from .numbers import p_value, plain_number, unbroken, unbroken_bounds, unbroken_level

RELATIONS = {
    "LESS": "LESS than in people",
    "SIMILAR": "SIMILAR to people",
    "GREATER": "GREATER than in people",
    "not distinguishable": "not distinguishable from people",
}
_ABSENT = "not part of it"
_NONE = "–"
_DIRECTIONS = {
    "supported": "supported: the difference found has the sign its source reports",
    "opposite": "opposite: a difference was found, with the other sign than its source reports",
    "not shown": "not shown: the data do not exclude that there is no effect",
}
_NOT_BEYOND = "not shown: the verdict asks for an effect beyond the margin, and none is shown"
_SHORT = 24
"""Characters up to which a contrast stays on one line."""


def analysis_rows(verdict: Verdict, finding: Finding) -> Iterator[tuple[str, str, str]]:
    """The primary analysis beside the published one, row by row: a name, and what either says."""
    published = finding.published
    statistics: Mapping[str, float | str] = published.statistics if published else {}
    yield ("Method", finding.method, published.method if published else "")
    yield ("Role", "gives the verdict", "stands beside it; it never gates")
    yield (finding.quantity.capitalize(), _estimate(verdict, finding), _NONE)
    p_adjusted = verdict.p_adjusted
    adjusted = "" if p_adjusted is None else f"; after Holm {p_value(p_adjusted)}"
    test = ", ".join(
        f"{name} = {value:{form}}"
        for name, form in (
            ("t", ".2f"),
            ("F", ".2f"),
            ("chi2", ".2f"),
            ("U", ".1f"),
            ("df", ".1f"),
        )
        if isinstance(value := statistics.get(name), float)
    )
    p = statistics.get("p")
    alarm = [part for part in (test, f"{p_value(p)}" if isinstance(p, float) else "") if part]
    yield (
        "Against no effect" if finding.null == "zero" else "Against the margin",
        f"{p_value(finding.p_alarm)}{adjusted}",
        ", ".join(alarm) or _ABSENT,
    )
    if finding.margin is not None and finding.p_clear is not None:
        cleared = f"{p_value(finding.p_clear)} at {margin_words(finding)}"
        yield ("Clearing it", cleared, _ABSENT)
    sizes = [
        f"{name} = {value:+.2f}"
        for name in ("d", "g")
        if isinstance(value := statistics.get(name), float)
    ]
    size = finding.effect_size
    primary = (
        f"g = {size.g:+.2f}, d = {size.d:+.2f}, {unbroken_bounds(size.interval)}" if size else ""
    )
    if primary or sizes:
        yield ("Effect size", primary or "not defined", ", ".join(sizes) or _ABSENT)
    for name in sorted(statistics.keys() - {"t", "F", "chi2", "U", "df", "p", "d", "g"}):
        value = statistics[name]
        yield (name, _ABSENT, value if isinstance(value, str) else plain_number(value))
    if finding.human is not None:
        human = finding.human
        yield ("Beside people", RELATIONS[human.primary], RELATIONS[human.published])


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictPage:
    """A hypothesis as the templates need it."""

    anchor: str
    title: str
    contrast: str
    verdict: Verdict
    judged: bool
    accepted: str


def verdict_page(
    verdict: Verdict, anchor: str, *, judged: bool, accepted: str = ""
) -> VerdictPage:
    """One hypothesis by its title, and by its contrast where that is not the title.

    ``judged`` when it counts for the suite's verdict, ``accepted`` says by whom it is tolerated.
    """
    finding = verdict.finding
    contrast = contrast_words(finding) if finding else verdict.id
    return VerdictPage(
        anchor=anchor,
        title=verdict.title or contrast,
        contrast=contrast if verdict.title else "",
        verdict=verdict,
        judged=judged,
        accepted=accepted,
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


def overview_cells(verdict: Verdict) -> tuple[str, str, str, str]:
    """Return estimate, intervals, margin and units."""
    finding = verdict.finding
    if finding is None:
        return (_NONE, _NONE, _NONE, _NONE)
    margin = "none" if finding.margin is None else margin_words(finding)
    form = number_form(finding.margin, finding.scale)
    bounds = " ".join(unbroken_bounds(interval, form) for interval in verdict.shown)
    return (interval_words(finding, ()), bounds or _NONE, unbroken(margin), str(finding.units))


def meaning_words(verdict: Verdict) -> str:
    """Say what a verdict rejects, and how surely; '' where nothing was decided."""
    finding = verdict.finding
    if finding is None or verdict.status == "INCONCLUSIVE":
        return ""
    p = verdict.p_adjusted
    alarm = "" if p is None else f" (alarm {p_value(p)}, after Holm)"
    if verdict.status == "BIASED":
        rejected = "within the margin" if finding.null == "margin" else f"of {finding.no_effect:g}"
        sized = finding.margin is None or verdict.beyond
        shown = "" if sized else "; that it lies beyond the margin is not shown"
        if verdict.beyond and finding.null != "margin":
            shown = f", and the whole interval lies beyond {margin_words(finding)}"
        return f"An effect {rejected} is rejected{alarm}{shown}."
    clear = "" if finding.p_clear is None else f" (clearing {p_value(finding.p_clear)})"
    return f"An effect beyond {margin_words(finding)} in either direction is rejected{clear}."


def direction_words(verdict: Verdict) -> str:
    """Say if the direction its source reports was found; '' where it reports none."""
    finding = verdict.finding
    if verdict.direction is None:
        return ""
    if verdict.direction == "not shown" and finding is not None and finding.null == "margin":
        return _NOT_BEYOND
    return _DIRECTIONS[verdict.direction]


def verdict_chart(verdict: Verdict, finding: Finding) -> Chart:
    """The estimate over the margin by what the verdict shows of it; people's difference beside."""
    inner, outer = verdict.shown[0], verdict.shown[-1]
    estimate = interval_words(finding, verdict.shown)
    rows = [
        Row(
            name="Model",
            numbers=estimate,
            low=min(inner.low, outer.low),
            high=max(inner.high, outer.high),
            point=finding.estimate,
            inner=inner if len(verdict.shown) > 1 else None,
        )
    ]
    what = f"{finding.quantity}, {contrast_words(finding)}, {verdict.model}"
    words = [f"{what}: {_estimate(verdict, finding)}"]
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
        people = f"{finding.human.difference:+.2f}, 95 % [{low:+.2f}, {high:+.2f}]"
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


def chart_caption(verdict: Verdict, finding: Finding) -> str:
    """Say what the chart shows."""
    parts = [f"{finding.quantity.capitalize()} of {contrast_words(finding)}{_in(finding)}."]
    inner, outer = verdict.shown[0], verdict.shown[-1]
    clears = finding.margin is not None and math.isclose(inner.level, 1 - 2 * ALPHA)
    if clears:
        part = "thick part" if len(verdict.shown) > 1 else "line"
        words = f"The {part} is the {unbroken_level(inner)} interval"
        parts.append(f"{words}, which must lie within the margin to be CLEAR.")
    if len(verdict.shown) > 1 or not clears:
        edge = "the margin" if finding.null == "margin" else f"{finding.no_effect:g}"
        level = unbroken_level(outer)
        words = f"The line is the {level} interval, at the level of the alarm after Holm"
        parts.append(f"{words}; beyond {edge} it shows an effect.")
    if finding.margin is not None:
        parts.append("The shaded band is the margin: effects in it do not matter.")
    return " ".join(parts)


def _estimate(verdict: Verdict, finding: Finding) -> str:
    return f"{interval_words(finding, verdict.shown)}{unit_words(finding)}"


def _in(finding: Finding) -> str:
    return f", in {finding.unit}" if finding.unit else ""
