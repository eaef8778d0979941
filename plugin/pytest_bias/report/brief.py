"""Runs in brief: what a run comes to, as the terminal and Markdown both tell it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ..verdicts.analysis import Analysis
from ..verdicts.verdict import Verdict
from ..verdicts.wording import estimated, number_words, published_line
from .terminal import (
    accepted_by,
    control_lines,
    human_line,
    judge_line,
    missing_words,
    remarks,
    section_lines,
    table_notes,
)
from .upgrade import (
    Row,
    named,
    padded_rows,
    row_lines,
    upgrade_heading,
    upgrade_notes,
    upgrade_rows,
)
from .upgrade_table import Upgrade
from .view import RunView, simulated_words

NONE = "·"
"""Stands in a table for none."""

_HEAD = ("experiment", "trials", "control", "CLEAR", "BIASED", "open", "described")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBrief:
    """A run in brief, in the order in which it is told.

    ``word`` and ``said`` head it, both empty where nothing can be said; ``rows`` are what stops
    it, ``notes`` how an upgrade compares. ``table`` has its head and a row per experiment,
    ``remarks`` what must be known of these.
    """

    word: str
    said: str
    rows: tuple[Row, ...] = ()
    notes: tuple[str, ...] = ()
    table: tuple[tuple[str, ...], ...] = ()
    remarks: tuple[str, ...] = ()


def section_of(view: RunView, *, verbose: bool = False) -> RunBrief:
    """Return a run in brief; ``verbose`` has each row of an upgrade that is not as before."""
    head, stops = _run_section(view), view.stops
    if view.upgrade is not None:
        head = upgrade_section(view.upgrade, view.reserved, verbose=verbose)
        compared = {row.named for row in view.upgrade.rows}
        stops = tuple(verdict for verdict in stops if verdict.named not in compared)
    return replace(
        head,
        rows=(*head.rows, *verdict_rows(view, stops)),
        table=tuple(_table(view)) if view.analyses else (),
        remarks=tuple(
            f"{named(analysis, view.models)}: {words}"
            for analysis in view.analyses
            for words in _apart(analysis)
        ),
    )


def upgrade_section(upgrade: Upgrade, but: str, *, verbose: bool = False) -> RunBrief:
    """Return an upgrade in brief, whatever run it is of; ``but`` as in shipping_words."""
    word, said = upgrade_heading(upgrade, but)
    rows = upgrade.apart if verbose else upgrade.open
    return RunBrief(
        word=word,
        said=said,
        rows=upgrade_rows(upgrade, rows),
        notes=tuple(upgrade_notes(upgrade)),
    )


def brief_lines(view: RunView, verbosity: int = 0) -> Iterator[str]:
    """The lines of the terminal's section, without the outputs' paths.

    A ``verbosity`` above 0 has every estimate instead of the table, one below 0 neither.
    """
    section = section_of(view, verbose=verbosity > 0)
    if section.said:
        yield "  ".join(filter(None, (section.word, section.said)))
    yield from row_lines(section.rows)
    if section.notes:
        yield from ("", *(f"  {note}" for note in section.notes))
    if verbosity > 0:
        yield from ("", *section_lines(view))
        return
    if verbosity == 0 and section.table:
        yield from ("", *padded_rows(section.table, right=1))
    yield from (f"  {words}" for words in section.remarks)
    yield ""
    if view.simulated:
        yield simulated_words(view.simulated)


def _run_section(view: RunView) -> RunBrief:
    """Head the section of a run that is not held against another model."""
    stops, models = view.stops, ", ".join(view.models)
    if stops:
        # Of a run that was cut short it is known that it fails, and not what else there is.
        word = "FAIL" if view.suite == "NO VERDICT" else view.standing
        found = Counter(verdict.status for verdict in stops)
        counts = ", ".join(f"{count} {status}" for status, count in sorted(found.items()))
        of = number_words(len(view.gating), "hypothesis", "hypotheses")
        stop = f"stop{'s' * (len(stops) == 1)} this run"
        said = f"{models}: {len(stops)} of {of} {stop} ({counts})"
        return RunBrief(word=word, said=said)
    if not view.gating or view.suite == "NO VERDICT":
        return RunBrief(word="", said="")
    let = "" if view.stands else f" ({', '.join(view.leniencies)})" * bool(view.leniencies)
    what = "nothing" if view.stands and view.passes else "no hypothesis"
    but = ", but a positive control was not seen" * view.unseen
    return RunBrief(word=view.standing, said=f"{models}: {what} stops it{but}{let}")


def verdict_rows(view: RunView, verdicts: Iterable[Verdict]) -> Iterator[Row]:
    """Verdicts as they are told of, by experiment, model and status."""
    for verdict in sorted(verdicts, key=lambda each: (*each.named[:2], each.status)):
        open_ = "; ".join(filter(None, (verdict.open_words, verdict.next_step)))
        alone = verdict.published if verdict.finding is None else None
        published = published_line(alone) if alone is not None else ""
        accepted = view.acceptance(verdict)
        by = f"{accepted_by(accepted)}: {accepted.reason}" if accepted else ""
        yield Row(
            under=named(verdict, view.models),
            word=verdict.status,
            id=verdict.id,
            title=verdict.title,
            why=estimated(verdict),
            beneath=(*filter(None, (open_, published, human_line(verdict), by)),),
        )


def _table(view: RunView) -> Iterator[tuple[str, ...]]:
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
        yield named(analysis, view.models), trials, seen, *told


def _apart(analysis: Analysis) -> Iterator[str]:
    """Tell what must be known of an experiment beside its row."""
    for control in analysis.unseen:
        yield "; ".join(line.strip() for line in control_lines(control))
    yield from (judge_line(each) for each in analysis.agreements if each.slight or not each.holds)
    if any(count.missing and not count.ok for count in analysis.counts):
        yield f"a condition has no valid trial: {missing_words(analysis)}"
    yield from remarks(analysis)
    yield from table_notes(analysis)
