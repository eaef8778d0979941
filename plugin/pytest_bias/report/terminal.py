"""A run, or an upgrade, on the terminal and as Markdown: in brief, and every estimate under -v.

Markdown is what CI services show with a job: names, numbers and verdicts, no prompt or reply.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..verdicts.analysis import Analysis
from ..verdicts.verdict import Verdict
from ..verdicts.wording import estimated, number_text, published_line
from .escapes import rendered, rendered_lines
from .run import RunResult
from .upgrade_table import Upgrade, UpgradeRow
from .wording import (
    closing_lines,
    control_lines,
    counts_text,
    ended_text,
    human_line,
    judge_line,
    missing_text,
    models_outcome,
    named,
    remarks,
    reserved,
    simulated_note,
    table_notes,
    upgrade_closing,
    upgrade_heading,
    why_text,
)

NONE = "·"
"""Stands in a table for none."""

_HEAD = ("experiment", "trials", "control", "CLEAR", "BIASED", "open", "described")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A hypothesis in print, ``under`` its experiment (and model, where there are more).

    ``word`` is its verdict or how it compares, ``why`` what decided, ``beneath`` what else must
    be known of it, a line each.
    """

    under: str
    word: str
    id: str
    title: str
    why: str
    beneath: tuple[str, ...] = ()


# --- in brief ---------------------------------------------------------------------------------


def brief_lines(run: RunResult, verbosity: int = 0) -> Iterator[str]:
    """The lines of the terminal's section, without the outputs' paths.

    A ``verbosity`` above 0 has every estimate instead of the table, one below 0 neither.
    """
    if words := heading(run):
        yield "  ".join(words)
    yield from row_lines(stopping_rows(run, verbose=verbosity > 0))
    if run.upgrade is not None:
        yield from ("", *(f"  {note}" for note in upgrade_notes(run.upgrade)))
    if verbosity > 0:
        yield from ("", *section_lines(run))
        return
    if verbosity == 0 and run.analyses:
        yield from ("", *padded_rows(table(run), right=1))
    yield from (f"  {words}" for words in run_remarks(run))
    yield ""
    if run.simulated:
        yield simulated_note(run.simulated)


def heading(run: RunResult) -> tuple[str, str] | None:
    """The outcome of a run and what it comes to; None where nothing can be said."""
    stops = run.stops
    judged = {verdict.model for verdict in run.gating}
    models = ", ".join(model for model in run.models if model in judged)
    rest = ", ".join(model for model in run.models if model not in judged)
    beside = f"; nothing was judged of {rest}" if rest else ""
    if run.upgrade is not None:
        return upgrade_heading(run.upgrade, reserved(run), judged=run.suite != "NO VERDICT")
    if stops:
        found = Counter(verdict.status for verdict in stops)
        counts = ", ".join(f"{count} {status}" for status, count in sorted(found.items()))
        of = number_text(len(run.gating), "hypothesis", "hypotheses")
        stop = f"stop{'s' * (len(stops) == 1)} this run"
        word = models_outcome(run).partition(",")[0]
        return word, f"{models}: {len(stops)} of {of} {stop} ({counts}){beside}"
    if not run.gating or run.suite == "NO VERDICT":
        return None
    let = "" if run.stands else f" ({', '.join(run.leniencies)})" * bool(run.leniencies)
    what = "nothing" if run.stands and run.passes else "no hypothesis"
    but = ", but a positive control was not seen" * run.not_seen
    return models_outcome(run), f"{models}: {what} stops it{but}{let}{beside}"


def stopping_rows(run: RunResult, *, verbose: bool = False) -> tuple[Row, ...]:
    """What stops a run; of an upgrade before it all that may have got worse.

    ``verbose`` has each row of an upgrade that is not as before.
    """
    if run.upgrade is None:
        return tuple(verdict_rows(run, run.stops))
    rows = run.upgrade.apart if verbose else run.upgrade.open
    compared = {row.named for row in run.upgrade.rows}
    rest = (verdict for verdict in run.stops if verdict.named not in compared)
    return (*upgrade_rows(run.upgrade, rows), *verdict_rows(run, rest))


def verdict_rows(run: RunResult, verdicts: Iterable[Verdict]) -> Iterator[Row]:
    """Verdicts in print, by experiment, model and status."""
    for verdict in sorted(verdicts, key=lambda each: (*each.named[:2], each.status)):
        open_ = "; ".join(filter(None, (verdict.reason_text, verdict.next_step)))
        alone = verdict.published if verdict.finding is None else None
        published = published_line(alone) if alone is not None else ""
        accepted = run.acceptance(verdict)
        by = f"{accepted}: {accepted.reason}" if accepted else ""
        yield Row(
            under=named(verdict, run.models),
            word=verdict.status,
            id=verdict.id,
            title=verdict.title,
            why=estimated(verdict),
            beneath=(*filter(None, (open_, published, human_line(verdict), by)),),
        )


def upgrade_rows(upgrade: Upgrade, rows: Iterable[UpgradeRow]) -> tuple[Row, ...]:
    """Rows of an upgrade in print."""
    return tuple(
        Row(
            under=named(row, upgrade.new),
            word=row.outcome,
            id=row.hypothesis,
            title=row.title,
            why=why_text(row),
        )
        for row in rows
    )


def upgrade_notes(upgrade: Upgrade) -> tuple[str, ...]:
    """Count the outcomes, and name what cannot be compared."""
    return counts_text(upgrade.rows) or "nothing could be compared", *upgrade.notes


def table(run: RunResult) -> Iterator[tuple[str, ...]]:
    """One row per experiment: trials, positive controls, and what was found."""
    yield _HEAD
    for analysis in run.analyses:
        ok = sum(count.ok for count in analysis.counts)
        trials = f"{ok:,}/{analysis.trials:,}" if ok < analysis.trials else f"{ok:,}"
        asked = [control for control in analysis.controls if control.recorded]
        seen = "NOT SEEN" if analysis.not_seen else "seen" if asked else NONE
        own = [verdict for verdict in analysis.verdicts if run.is_judged(verdict)]
        gating = [verdict for verdict in own if verdict.gates]
        found = Counter(verdict.status for verdict in gating)
        counts = (*(found[s] for s in ("CLEAR", "BIASED", "INCONCLUSIVE")), len(own) - len(gating))
        cells = (str(count) if count else NONE for count in counts)
        yield named(analysis, run.models), trials, seen, *cells


def run_remarks(run: RunResult) -> Iterator[str]:
    """What must be known of each experiment beside its row."""
    for analysis in run.analyses:
        for words in _comparison_row(analysis):
            yield f"{named(analysis, run.models)}: {words}"


def _comparison_row(analysis: Analysis) -> Iterator[str]:
    for control in analysis.not_seen:
        yield "; ".join(line.strip() for line in control_lines(control))
    yield from (judge_line(each) for each in analysis.agreements if each.slight or not each.holds)
    if any(count.missing and not count.ok for count in analysis.counts):
        yield f"a condition has no valid trial: {missing_text(analysis)}"
    yield from remarks(analysis)
    yield from table_notes(analysis)


# --- every estimate ---------------------------------------------------------------------------


def section_lines(run: RunResult) -> list[str]:
    """A line for every estimate of a run."""
    return rendered_lines("section.txt.j2", run=run)


# --- an upgrade on its own, and lines ---------------------------------------------------------


def printed(upgrade: Upgrade, but: str = "") -> Iterator[str]:
    """The lines of an upgrade on its own, where no run stands beside it."""
    yield "  ".join(upgrade_heading(upgrade, but))
    yield from row_lines(upgrade_rows(upgrade, upgrade.apart))
    yield from ("", *(f"  {line}" for line in upgrade_notes(upgrade)), "")
    if upgrade.simulated:
        yield simulated_note(upgrade.simulated)
    yield upgrade_closing(upgrade, but)


def row_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Rows in columns below what they stand under, each with what belongs beneath it."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.under, []).append(row)
    for name, own in groups.items():
        yield from ("", f"  {name}")
        cells = [(row.word, row.id, row.why) for row in own]
        for row, line in zip(own, padded_rows(cells, indent=4), strict=True):
            yield line
            yield from (f"      {words}" for words in row.beneath)


def padded_rows(
    rows: Iterable[tuple[str, ...]], *, indent: int = 2, right: int = 99
) -> Iterator[str]:
    """Rows in columns, those from ``right`` on to the right."""
    held = list(rows)
    widths = [max(map(len, column)) for column in zip(*held, strict=True)]
    for row in held:
        cells = (
            cell.rjust(width) if place >= right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield f"{' ' * indent}{'  '.join(cells).rstrip()}"


# --- Markdown -----------------------------------------------------------------------------------


def summary_markdown(run: RunResult, written: Sequence[str] = ()) -> str:
    """Return the terminal's section, and what passes behind folds.

    ``written`` says where the files are.
    """
    *way, closing = closing_lines(run)
    passing = [
        v
        for v in run.gating
        if v.status != "CLEAR" and v.named not in run.failing and not run.known(v)
    ]
    let = [v for v in passing if v.status == "BIASED" or run.acceptance(v)]
    folded = {"Undecided, and passing": [*verdict_rows(run, (v for v in passing if v not in let))]}
    return rendered(
        "summary.md.j2",
        word=closing.partition(":")[0],
        heading=(heading(run) or ("", ""))[1],
        stopping=stopping_rows(run),
        notes=upgrade_notes(run.upgrade) if run.upgrade is not None else (),
        table=[*table(run)] if run.analyses else [],
        remarks=[*run_remarks(run)],
        way=[*way, *(f"failed by itself: {case}" for case in run.broken)],
        simulated=run.simulated,
        closing=closing,
        ended=f"{len(run.cases)} cases: {ended_text(run)}" if run.cases else "",
        opened={"Let through": [*verdict_rows(run, let)]},
        folded=folded | (_folded(run.upgrade) if run.upgrade is not None else {}),
        judged=run.selected,
        written=written,
    )


def upgrade_markdown(upgrade: Upgrade, but: str = "", reasons: Sequence[str] = ()) -> str:
    """Return an upgrade on its own, in the same form.

    ``but`` and ``reasons`` say what keeps it from passing beside its rows.
    """
    word, words = upgrade_heading(upgrade, but)
    return rendered(
        "summary.md.j2",
        **dict.fromkeys(("table", "remarks", "judged", "written"), ()),
        word=word,
        heading=words,
        stopping=upgrade_rows(upgrade, upgrade.open),
        notes=upgrade_notes(upgrade),
        way=reasons,
        simulated=upgrade.simulated,
        closing=upgrade_closing(upgrade, but),
        ended="",
        opened={},
        folded=_folded(upgrade),
    )


def _folded(upgrade: Upgrade) -> dict[str, list[Row]]:
    """The rows of an upgrade that cannot have got worse."""
    rest = [row for row in upgrade.rows if not row.is_open]
    before = [row for row in rest if row.outcome == "as before"]
    apart = [row for row in rest if row not in before]
    return {
        "Known, improved and not compared": [*upgrade_rows(upgrade, apart)],
        "As before": [*upgrade_rows(upgrade, before)],
    }
