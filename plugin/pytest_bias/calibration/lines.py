"""The lines of one block of draws: verdicts, controls, and what the upgrade gate makes of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..contrasts.declared import outcomes_of
from ..verdicts.verdict import Verdict
from .drawing import Bench
from .file import Line
from .planting import PlantedSubject, truth_of

if TYPE_CHECKING:
    from ..baselines.entries import Entry
    from ..verdicts.analysis import Analysis

_DIGITS = 6
"""Significant digits of what is kept: far beyond any Monte Carlo error."""


@dataclass(frozen=True, slots=True)
class GridCell:
    """One experiment with one subject, and the subject whose verdicts were accepted before it.

    ``accepted`` is empty where none were: then nothing is held against a baseline.
    """

    experiment: str
    subject: str
    draws: int
    accepted: str = ""


def drawn_lines(
    bench: Bench, cell: GridCell, seed: int, first: int, wanted: Sequence[int]
) -> Iterator[Line]:
    """Yield a line for each of the draws ``wanted`` of the block that begins at ``first``.

    Where a subject was accepted before, each draw is held against an accepted one: against the
    draw before it where that is the same subject (the first of a block against one that is no
    other's), else against a draw of that subject.
    """
    drawn = PlantedSubject(cell.subject)
    accepting = PlantedSubject(cell.accepted or cell.subject)
    accepted: dict[str, Entry] = {}
    chained: dict[str, Entry] = {}
    same = cell.accepted == cell.subject
    stopped: defaultdict[str, list[int]] = defaultdict(list)
    if same:
        before = bench.analysis(accepting, f"{seed}:accepted:{first}")
        accepted = chained = bench.entries(before, {})
    for draw in range(first, wanted[-1] + 1):
        if draw not in wanted and not same:
            continue
        if cell.accepted and not same:
            before = bench.analysis(accepting, f"{seed}:accepted:{draw}")
            accepted = bench.entries(before, {})
        analysis = bench.analysis(drawn, f"{seed}:{draw}", draw - first + 1)
        line = line_of(bench, drawn, cell, draw, analysis)
        if cell.accepted:
            line["accepted"] = cell.accepted
            line["stopped"] = bench.upgraded(analysis, accepted)
        if same:
            accepted = bench.entries(analysis, {})
            held = bench.upgraded(analysis, chained)
            for name in held:
                stopped[name].append(draw - first + 1)
            now = bench.entries(analysis, chained)
            chained = {name: chained[name] if name in held else now[name] for name in now}
            line["chain"] = {name: list(steps) for name, steps in stopped.items()}
        if draw in wanted:
            yield line


def line_of(
    bench: Bench, subject: PlantedSubject | None, cell: GridCell, draw: int, analysis: Analysis
) -> dict[str, object]:
    """The line of a draw; without a ``subject`` nobody knows what is true of it."""
    verdicts = {}
    for verdict in analysis.verdicts:
        hypothesis = bench.registered.hypotheses[verdict.id]
        verdicts[verdict.id] = _said(verdict) | {"measures": sorted(outcomes_of(hypothesis))}
        truth = None if subject is None else truth_of(bench.registered, hypothesis, subject)
        if truth is not None:
            verdicts[verdict.id]["truth"] = _short(truth)
    return {
        "experiment": cell.experiment,
        "subject": cell.subject,
        "draw": draw,
        "unseen": [control.id for control in analysis.unseen],
        "missing": round(sum(c.errors for c in analysis.counts) / analysis.trials, _DIGITS),
        "calls": sum(c.interactions or 0 for c in analysis.counts),
        "verdicts": verdicts,
    }


def _said(verdict: Verdict) -> dict[str, object]:
    finding = verdict.finding
    said: dict[str, object] = {"status": verdict.status, "claim": verdict.claim}
    if finding is None:
        return said | {"reason": verdict.reason}
    interval = finding.interval
    published = finding.published.statistics.get("p") if finding.published else None
    said |= {
        "estimate": _short(finding.estimate),
        "interval": None if interval is None else [_short(interval.low), _short(interval.high)],
        "p_alarm": _short(finding.p_alarm),
        "p_adjusted": _short(verdict.p_adjusted),
        "p_clear": _short(finding.p_clear),
    }
    if isinstance(published, float):
        said["published"] = _short(published)
    return said


def _short(number: float | None) -> float | None:
    return None if number is None else float(f"{number:.{_DIGITS}g}")
