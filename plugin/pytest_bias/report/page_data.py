"""Data for the page's script: columns of hypotheses, and all that stands beside them.

Every number and sentence comes from the view that the other reports show, too: the script draws,
sorts and filters, and decides nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from ..contrasts.estimate import Estimate, p_words
from ..experiments.canonical import plain
from ..settings.model_names import file_stem
from ..stats.results import Interval
from ..verdicts.analysis import Analysis
from ..verdicts.explanation import explanation
from ..verdicts.verdict import HypothesisName, Verdict
from ..verdicts.wording import (
    interval_words,
    items_words,
    margin_words,
    tipping_words,
    unit_words,
    units_words,
)
from .page_record import capital, control_value, judge_value, record_facts
from .page_verdict import (
    analysis_rows,
    cell_rows,
    contrast_words,
    direction_words,
    human_facts,
    meaning_words,
    number_facts,
    published_facts_of,
)
from .replies import TrialBlock
from .upgrade import bound_words
from .upgrade_table import UpgradeRow
from .view import RunView

PageValue = Mapping[str, object]

TONES: Mapping[str, str] = {
    "CLEAR": "clear",
    "BIASED": "biased",
    "INCONCLUSIVE": "open",
    "DESCRIBED": "described",
    "NOTHING FOUND": "none",
}
"""A verdict in print → its mark and colour, the same wherever it is drawn."""

_CLAIMS = {
    "clear": "clear: the suite passes only when this is shown to be CLEAR",
    "describe": "describe: it is reported, and never keeps the suite from passing",
    "detect": "detect: it can show bias; left undecided, it does not keep the suite from passing",
}
FAR = 1e6
"""Margins that stand for more than any number of them, as of a ratio of 0."""
_WORDS = {
    "levels": (
        ", over all trials but those of controls; a colour is the distance from the mean of all, "
        "in margins where there is one (of ratios by logarithms), orange below and blue above. "
        "They describe; the estimate above is what was tested. A cell leads to its replies."
    ),
    "labels": (
        "Read replies without knowing whose they are or what the judge said, and hold the judge "
        "beside you. Labels are in this page alone until they are saved. A file goes where it is "
        "named here, in the folder of labels: bias_tests/labels, or the one that --bias-labels "
        "names."
    ),
    "unselected": (
        "Not selected in this run: it is analysed because it shares a family and a control with "
        "what was, and it does not count for the suite’s verdict."
    ),
    "upgrade": (
        "Open circle: before; filled: now, in units of the margin. Estimates stand with their "
        "95 % intervals; what decides is the upper bound of what the size of the effect has grown "
        "by, beside the most that is allowed."
    ),
    "uncontrolled": (
        "The experiment has no positive control, so nothing in it but the share of missing "
        "replies can be called CLEAR."
    ),
}
"""Sentences of the pages that the script draws."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRow:
    """One hypothesis with one model, as the page shows it.

    ``stops`` is whether it failed the run, ``let`` in what words it was let through, ``old``
    whether the model is the one others are held against; ``change`` is how it compares with that
    one. ``history`` is what was accepted of it before, oldest first.
    """

    verdict: Verdict
    title: str
    contrast: str
    stops: bool = False
    let: str = ""
    judged: bool = True
    old: bool = False
    change: UpgradeRow | None = None
    history: Sequence[str] = ()

    @property
    def tone(self) -> str:
        """Its mark and colour."""
        return TONES[self.verdict.label]

    @property
    def why(self) -> str:
        """The reason of its verdict, in a sentence."""
        return meaning_words(self.verdict) or _open_words(self.verdict)


def page_rows(
    view: RunView,
    old: Iterable[Analysis] = (),
    history: Mapping[HypothesisName, Sequence[str]] = MappingProxyType({}),
) -> tuple[PageRow, ...]:
    """Every hypothesis of a run, and of what it is held against; what stops it stands first.

    The same sentence and contrast asked at several places are told apart by their ids. ``history``
    is what was accepted of each before.
    """
    rows = {row.named: row for row in view.upgrade.rows} if view.upgrade is not None else {}
    found = [
        replace(
            _line(verdict),
            stops=verdict.named in view.failing,
            let=_let(view, verdict),
            judged=view.is_judged(verdict),
            change=rows.get(verdict.named),
        )
        for verdict in view.verdicts
    ]
    found += [
        replace(_line(verdict), old=True) for analysis in old for verdict in analysis.verdicts
    ]
    shared = Counter((*line.verdict.named[:2], line.title, line.contrast) for line in found)
    told_apart = (
        replace(
            line,
            contrast=f"{line.contrast} ({line.verdict.id})".strip()
            if shared[(*line.verdict.named[:2], line.title, line.contrast)] > 1
            else line.contrast,
            history=history.get(line.verdict.named, ()),
        )
        for line in found
    )
    return tuple(sorted(told_apart, key=_rank))


def _line(verdict: Verdict) -> PageRow:
    """A hypothesis by itself; its contrast is '' where that is the title."""
    contrast = "" if verdict.finding is None else contrast_words(verdict.finding)
    title = verdict.title or contrast or verdict.id
    return PageRow(verdict=verdict, title=title, contrast=contrast if verdict.title else "")


def _let(view: RunView, verdict: Verdict) -> str:
    """Words in which a hypothesis was let through; '' where it was not."""
    if (accepted := view.acceptance(verdict)) is not None:
        return f"Accepted by {accepted.owner} until {accepted.until}: {accepted.reason}"
    return "" if (known := view.known(verdict)) is None else f"Known: {known.said}"


def _open_words(verdict: Verdict) -> str:
    """Reason for which a verdict is open, with the p-values that left it so."""
    words, finding = f"{capital(verdict.open_words)}.", verdict.finding
    if finding is None:
        return words
    p = verdict.p_adjusted
    if finding.p_clear is not None and p is not None:
        words += f" Alarm {p_words(p)} (after Holm), clearing {p_words(finding.p_clear)}."
    return words


def _rank(line: PageRow) -> tuple[object, ...]:
    """Rank first what stops the run, by how far it goes; last what was not selected."""
    verdict = line.verdict
    order = ("biased", "open", "none", "described", "clear").index(line.tone)
    far = -abs(in_margins(verdict) or 0.0)
    return line.old, not line.judged, not line.stops, order, far, verdict.named


def in_margins(verdict: Verdict, value: float | None = None) -> float | None:
    """An estimate, or another value of its kind, in units of its margin; of ratios by logarithms.

    None without a margin.
    """
    finding = verdict.finding
    if finding is None or not finding.margin:
        return None
    value = finding.estimate if value is None else value
    if finding.scale != "ratio":
        return value / finding.margin
    if not 0 < value < math.inf:
        return -FAR if value <= 0 else FAR
    return math.log(value) / math.log(finding.margin)


# --- blocks -----------------------------------------------------------------------------------


def run_value(
    view: RunView, lines: Sequence[PageRow], old: Sequence[Analysis], replies: Sequence[TrialBlock]
) -> PageValue:
    """All but the trials, as JSON types."""
    dates = {(each.experiment, each.model): each.dates for each in replies}
    known = {(each.experiment, each.model): each for each in (*view.analyses, *old)}
    return {
        "models": [*view.models],
        "old": view.upgrade.held_against if view.upgrade is not None else "",
        "experiments": {analysis.experiment: analysis.name for analysis in known.values()},
        "hypotheses": columns([_hypothesis(line) for line in lines]),
        "analyses": [_analysis(each, dates.get(name, "")) for name, each in known.items()],
        "replies": [[each.experiment, each.model, file_stem(each.model)] for each in replies],
        "words": _WORDS,
        **({} if view.upgrade is None else {"upgrade": _upgrade(view)}),
    }


def columns(rows: Sequence[PageValue]) -> PageValue:
    """Rows of the same names as columns: they deflate to less."""
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}


def _hypothesis(line: PageRow) -> PageValue:
    verdict, change = line.verdict, line.change
    return {
        "id": verdict.id,
        "e": verdict.experiment,
        "m": verdict.model,
        "title": line.title,
        "contrast": line.contrast,
        "label": verdict.label,
        "tone": line.tone,
        "words": verdict.words.removeprefix(verdict.label).strip(" :"),
        "why": line.why,
        "reason": verdict.open_words,
        "history": [*line.history],
        "stops": line.stops,
        "let": line.let,
        "judged": line.judged,
        "old": line.old,
        "change": "" if change is None else change.outcome,
        "claim": verdict.claim,
        "settle": capital(verdict.next_step),
        "facts": [(name, said, "") for name, said in _said(verdict) if said],
        "plain": [*explanation(verdict)],
        "published": [*published_facts_of(verdict)],
        **_numbers(verdict, verdict.finding),
    }


def _said(verdict: Verdict) -> Iterator[tuple[str, str]]:
    yield "Claim", _CLAIMS[verdict.claim]
    if verdict.finding is not None and verdict.why:
        yield "Margin", f"{margin_words(verdict.finding)}: {verdict.why}"
    yield "Positive control", verdict.licence
    yield "Documented direction", direction_words(verdict)
    if verdict.finding is not None:
        if verdict.status == "CLEAR":
            yield "Missing replies", tipping_words(verdict.finding)
        yield "Items", items_words(verdict.finding)


def _numbers(verdict: Verdict, finding: Estimate | None) -> PageValue:
    """The finding's numbers to draw, and its words; None and empty where there is none."""
    names = ("estimate", "margin", "scale", "measure", "factor", "unit", "null", "quantity")
    found: dict[str, object] = {name: getattr(finding, name, None) for name in names}
    found["shown"] = [_ends(interval) for interval in verdict.shown]
    found["wide"] = _ends(finding.interval) if finding and finding.interval else None
    found |= {"p": verdict.p_adjusted, "p_clear": None, "n": 0, "missing": 0, "arms": []}
    words = ("text", "units", "within")
    found |= dict.fromkeys(words, "") | {"analyses": [], "cells": [], "numbers": [], "people": []}
    found["notes"] = []
    if finding is None:
        return found
    return found | {
        "p_clear": finding.p_clear,
        "n": finding.units,
        "missing": finding.missing,
        "arms": [[arm.level, arm.mean, arm.units] for arm in finding.arms],
        "text": f"{interval_words(finding, verdict.shown)}{unit_words(finding)}",
        "units": units_words(finding),
        "within": margin_words(finding),
        "analyses": [*analysis_rows(verdict, finding)],
        "cells": [*cell_rows(finding)],
        "numbers": [*number_facts(finding)],
        "people": [] if finding.human is None else [*human_facts(finding.human)],
        "notes": [*finding.notes, *([finding.human.citation] if finding.human else [])],
    }


def _ends(interval: Interval) -> list[float]:
    return [interval.low, interval.high, interval.level]


def _analysis(analysis: Analysis, dates: str) -> PageValue:
    return {
        "e": analysis.experiment,
        "m": analysis.model,
        "trials": analysis.trials,
        "simulated": analysis.simulated,
        "facts": [fact for fact in record_facts(analysis, dates) if fact[1]],
        "controls": [*map(control_value, analysis.controls)],
        "judge": [*map(judge_value, analysis.agreements)],
        "about": plain(analysis.metadata, "metadata"),
        "figures": plain(analysis.figures, "figures"),
        "counts": columns(
            [
                {
                    "condition": count.condition,
                    "planned": count.planned,
                    "ok": count.ok,
                    "missing": dict(count.missing),
                    "invalid": dict(count.invalid),
                    "cut": count.cut,
                    "calls": count.interactions,
                }
                for count in analysis.counts
            ]
        ),
    }


def _upgrade(view: RunView) -> PageValue:
    assert view.upgrade is not None  # noqa: S101  (asked for upgrades only)
    upgrade = view.upgrade
    return {"rows": columns([*map(_row, upgrade.rows)])}


def _row(row: UpgradeRow) -> PageValue:
    bound, margin = bound_words(row)
    compared = row.compared
    before, now = (
        each and [each.label, each.shown, each.estimate] for each in (row.before, row.now)
    )
    return {
        "e": row.experiment,
        "m": row.model,
        "id": row.hypothesis,
        "title": row.title or f"{row.measure}: {row.contrast}".strip(": ") or row.hypothesis,
        "outcome": row.outcome,
        "stops": row.fails,
        "open": row.is_open,
        "scale": row.scale,
        "before": before,
        "now": now,
        "limit": None if compared is None else compared.margin,
        "bound": f"{bound} of {margin}".replace("a factor of ", "× ") if bound else "",
        "how": "" if compared is None else compared.how,
        "said": row.said.removeprefix(f"{row.outcome}: "),
    }
