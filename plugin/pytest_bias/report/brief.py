"""The terminal's section in brief: what stops a run first, then a row per experiment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ..verdicts.analysis import Analysis
from ..verdicts.verdict import allowed_words, number_words, settle_words
from .terminal import control_lines, human_line, judge_line, remarks, section_lines, table_notes
from .upgrade import grouped, named, padded_rows, stopping_lines, upgrade_lines
from .view import RunView, simulated_words

NONE = "·"
"""Stands in a table for none."""

_HEAD = ("experiment", "trials", "control", "CLEAR", "BIASED", "open", "described")


def brief_lines(view: RunView, verbosity: int = 0) -> Iterator[str]:
    """The lines of the section, without the outputs' paths.

    A ``verbosity`` above 0 has every estimate instead of the table, one below 0 neither.
    """
    several = len({analysis.model for analysis in view.analyses}) > 1
    rows = view.upgrade.rows if view.upgrade is not None else ()
    if view.upgrade is not None:
        yield from stopping_lines(view.upgrade, view.reserved)
    yield from _stops(view, {row.named for row in rows}, several=several)
    if verbosity > 0:
        yield from ("", *section_lines(view))
        yield from ("", *(upgrade_lines(view.upgrade) if view.upgrade is not None else ()))
        return
    if verbosity == 0 and view.analyses:
        yield from ("", *padded_rows(_table(view, several=several), right=1))
    for analysis in view.analyses:
        yield from (f"  {named(analysis, several=several)}: {words}" for words in _apart(analysis))
    yield ""
    if view.simulated:
        yield simulated_words(view.simulated)
    if verbosity == 0 and view.analyses:
        yield "Every estimate here: -v"


def _stops(view: RunView, compared: set[tuple[str, str, str]], *, several: bool) -> Iterator[str]:
    """Head the section, and name what stops the run under its experiment."""
    judged = [v for v in view.verdicts if view.is_judged(v) and v.gates]
    stops = [verdict for verdict in judged if verdict.named in view.failing]
    models = ", ".join(dict.fromkeys(analysis.model for analysis in view.analyses))
    if not stops:
        if judged and view.suite != "NO VERDICT" and view.upgrade is None:
            let = "" if view.stands else f" ({', '.join(view.leniencies)})" * bool(view.leniencies)
            what = "nothing" if view.stands and view.passes else "no hypothesis"
            yield f"{view.standing}  {models}: {what} stops it{let}"
        return
    if view.upgrade is None:
        # Of a run that was cut short it is known that it fails, and not what else there is.
        word = "FAIL" if view.suite == "NO VERDICT" else view.standing
        found = Counter(verdict.status for verdict in stops)
        counts = ", ".join(f"{count} {status}" for status, count in sorted(found.items()))
        of = number_words(len(judged), "hypothesis", "hypotheses")
        stop = f"stop{'s' * (len(stops) == 1)} this run"
        yield f"{word}  {models}: {len(stops)} of {of} {stop} ({counts})"
    apart = sorted(
        (verdict for verdict in stops if verdict.named not in compared),
        key=lambda verdict: (*verdict.named[:2], verdict.status),
    )
    for name, own in grouped(apart, several=several):
        yield from ("", f"  {name}")
        rows = [(verdict.status, verdict.id, allowed_words(verdict)) for verdict in own]
        for verdict, line in zip(own, padded_rows(rows, indent=4), strict=True):
            yield line
            if verdict.status == "INCONCLUSIVE":
                settle = f"; {settle_words(verdict)}" if verdict.settle else ""
                yield f"      {verdict.reason}{settle}"
            if human := human_line(verdict):
                yield f"      {human}"


def _table(view: RunView, *, several: bool) -> Iterator[tuple[str, ...]]:
    """One row per experiment: trials, positive controls, and what was found."""
    yield _HEAD
    for analysis in view.analyses:
        ok = sum(count.ok for count in analysis.counts)
        trials = f"{ok:,}/{analysis.trials:,}" if ok < analysis.trials else f"{ok:,}"
        asked = [control for control in analysis.controls if control.asked]
        seen = "NOT SEEN" if analysis.unseen else "seen" if asked else NONE
        own = [verdict for verdict in analysis.verdicts if view.is_judged(verdict)]
        gating = [verdict for verdict in own if verdict.gates]
        found = Counter(verdict.status for verdict in gating)
        counts = (*(found[s] for s in ("CLEAR", "BIASED", "INCONCLUSIVE")), len(own) - len(gating))
        told = (str(count) if count else NONE for count in counts)
        yield named(analysis, several=several), trials, seen, *told


def _apart(analysis: Analysis) -> Iterator[str]:
    """Tell what must be known of an experiment beside its row."""
    for control in analysis.unseen:
        yield " ".join(line.strip() for line in control_lines(control))
    yield from (judge_line(each) for each in analysis.agreements if each.needed and not each.holds)
    yield from remarks(analysis)
    yield from table_notes(analysis)
