"""Data for the page's script: columns of hypotheses, and all that stands beside them.

Every number and sentence comes from the view that the other reports show, too: the script draws,
sorts and filters, and decides nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..contrasts.estimate import p_text
from ..experiments.canonical import plain
from ..settings.model_names import file_stem
from ..stats.results import Interval
from ..verdicts.analysis import Analysis
from ..verdicts.verdict import Verdict
from ..verdicts.wording import (
    interval_text,
    items_text,
    margin_text,
    tipping_text,
    unit_text,
    units_text,
)
from .page_facts import (
    Fact,
    analysis_rows,
    cell_rows,
    control_value,
    direction_text,
    human_facts,
    judge_value,
    meaning_text,
    number_facts,
    published_numbers,
    record_facts,
)
from .replies import TrialBlock
from .run import RunResult
from .upgrade_table import UpgradeRow
from .wording import bound_text, capital

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


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRow:
    """One hypothesis with one model, as the page shows it.

    ``stops`` is whether it failed the run, ``let`` in what words it was let through, ``old``
    whether the model is the one others are compared with; ``change`` is how it compares with it.
    """

    verdict: Verdict
    title: str
    contrast: str
    stops: bool
    let: str
    judged: bool
    old: bool
    change: UpgradeRow | None

    @property
    def tone(self) -> str:
        """Its mark and colour."""
        return TONES[self.verdict.label]

    @property
    def why(self) -> str:
        """The reason of its verdict, in a sentence."""
        return meaning_text(self.verdict) or _open_reason(self.verdict)


def page_rows(run: RunResult, old: Iterable[Analysis] = ()) -> tuple[PageRow, ...]:
    """Every hypothesis of a run, and of what it is compared with; what stops it stands first.

    Where several have the same title and contrast their ids tell them apart.
    """
    changes = {row.named: row for row in run.upgrade.rows} if run.upgrade is not None else {}
    olds = [verdict for analysis in old for verdict in analysis.verdicts]
    shared = Counter(
        (*verdict.named[:2], *_title_and_contrast(verdict)) for verdict in (*run.verdicts, *olds)
    )
    rows = []
    for place, verdict in enumerate((*run.verdicts, *olds)):
        title, contrast = _title_and_contrast(verdict)
        alike = shared[(*verdict.named[:2], title, contrast)] > 1
        is_old = place >= len(run.verdicts)
        row = PageRow(
            verdict=verdict,
            title=title,
            contrast=f"{contrast} ({verdict.id})".strip() if alike else contrast,
            stops=verdict.named in run.failing,
            let=_acceptance_text(run, verdict),
            judged=is_old or run.is_judged(verdict),
            old=is_old,
            change=changes.get(verdict.named),
        )
        rows.append(row)
    return tuple(sorted(rows, key=_rank))


def _title_and_contrast(verdict: Verdict) -> tuple[str, str]:
    """The heading of a hypothesis, and what it compares: '' where that is the heading."""
    finding = verdict.finding
    contrast = "" if finding is None else f"{finding.measure}, {finding.contrast}"
    return (verdict.title, contrast) if verdict.title else (contrast or verdict.id, "")


def _acceptance_text(run: RunResult, verdict: Verdict) -> str:
    """Words in which a hypothesis was let through; '' where it was not."""
    if (accepted := run.acceptance(verdict)) is not None:
        return f"{capital(str(accepted))}: {accepted.reason}"
    return "" if (known := run.known(verdict)) is None else f"Known: {known.summary}"


def _open_reason(verdict: Verdict) -> str:
    """Reason for which a verdict is open, with the p-values that left it so."""
    words, finding = f"{capital(verdict.reason_text)}.", verdict.finding
    if finding is None:
        return words
    p = verdict.p_adjusted
    if finding.p_clear is not None and p is not None:
        words += f" Alarm {p_text(p)} (after Holm), clearing {p_text(finding.p_clear)}."
    return words


def _rank(row: PageRow) -> tuple[object, ...]:
    """Rank first what stops the run, by how far it goes; last what was not selected."""
    verdict = row.verdict
    order = ("biased", "open", "none", "described", "clear").index(row.tone)
    far = -abs(in_margins(verdict) or 0.0)
    return row.old, not row.judged, not row.stops, order, far, verdict.named


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
    run: RunResult, rows: Sequence[PageRow], old: Sequence[Analysis], replies: Sequence[TrialBlock]
) -> PageValue:
    """All but the trials, as JSON types."""
    dates = {(each.experiment, each.model): each.dates for each in replies}
    known = {(each.experiment, each.model): each for each in (*run.analyses, *old)}
    upgrade = run.upgrade
    changed = [] if upgrade is None else [*map(_upgrade_row, upgrade.rows)]
    return {
        "models": [*run.models],
        "old": "" if upgrade is None else upgrade.compared_with,
        "experiments": {analysis.experiment: analysis.name for analysis in known.values()},
        "hypotheses": columns([_hypothesis(row) for row in rows]),
        "analyses": [_analysis(each, dates.get(name, "")) for name, each in known.items()],
        "replies": [[each.experiment, each.model, file_stem(each.model)] for each in replies],
        **({} if upgrade is None else {"upgrade": {"rows": columns(changed)}}),
    }


def columns(rows: Sequence[PageValue]) -> PageValue:
    """Rows of the same names as columns: they deflate to less."""
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}


def _hypothesis(row: PageRow) -> PageValue:
    verdict, finding, change = row.verdict, row.verdict.finding, row.change
    names = ("estimate", "margin", "scale", "measure", "factor", "unit", "null", "quantity")
    human = None if finding is None else finding.human
    numbers: PageValue = {
        "p_clear": None, "n": 0, "missing": 0, "arms": [], "text": "", "units": "", "within": "",
        "analyses": [], "cells": [], "numbers": [], "people": [], "notes": [],
    }  # fmt: skip
    if finding is not None:
        numbers = {
            "p_clear": finding.p_clear,
            "n": finding.units,
            "missing": finding.missing,
            "arms": [[arm.level, arm.mean, arm.units] for arm in finding.arms],
            "text": f"{interval_text(finding, verdict.shown)}{unit_text(finding)}",
            "units": units_text(finding),
            "within": margin_text(finding),
            "analyses": [*analysis_rows(verdict, finding)],
            "cells": [*cell_rows(finding)],
            "numbers": [*number_facts(finding)],
            "people": [] if human is None else [*human_facts(human)],
            "notes": [*finding.notes, *([human.citation] if human else [])],
        }
    return {
        "id": verdict.id,
        "e": verdict.experiment,
        "m": verdict.model,
        "title": row.title,
        "contrast": row.contrast,
        "label": verdict.label,
        "tone": row.tone,
        "words": verdict.words.removeprefix(verdict.label).strip(" :"),
        "why": row.why,
        "reason": verdict.reason_text,
        "stops": row.stops,
        "let": row.let,
        "judged": row.judged,
        "old": row.old,
        "change": "" if change is None else change.outcome,
        "claim": verdict.claim,
        "settle": capital(verdict.next_step),
        "facts": [fact for fact in _facts(verdict) if fact[1]],
        "published": [*published_numbers(verdict)],
        "shown": [_ends(interval) for interval in verdict.shown],
        "wide": _ends(finding.interval) if finding and finding.interval else None,
        "p": verdict.p_adjusted,
        **{name: getattr(finding, name, None) for name in names},
        **numbers,
    }


def _facts(verdict: Verdict) -> Iterator[Fact]:
    finding = verdict.finding
    yield "Claim", _CLAIMS[verdict.claim], ""
    if finding is not None and verdict.why:
        yield "Margin", f"{margin_text(finding)}: {verdict.why}", ""
    yield "Positive control", verdict.validated_by, ""
    yield "Documented direction", direction_text(verdict), ""
    if finding is not None:
        if verdict.status == "CLEAR":
            yield "Missing replies", tipping_text(finding), ""
        yield "Items", items_text(finding), ""


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
        "counts": {
            name: [plain(getattr(count, name), name) for count in analysis.counts]
            for name in ("condition", "planned", "ok", "missing", "invalid", "cut")
        },
    }


def _upgrade_row(row: UpgradeRow) -> PageValue:
    bound, margin = bound_text(row)
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
        "said": row.summary.removeprefix(f"{row.outcome}: "),
    }
