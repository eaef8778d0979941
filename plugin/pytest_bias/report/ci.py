"""What a CI service shows of a run: a summary in Markdown beside the job, and failures in its log.

Names, numbers and verdicts only: no prompt and no reply.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..verdicts.verdict import HypothesisName, Verdict
from ..verdicts.wording import number_words
from .escapes import rendered, terminal_text
from .run import RunResult
from .terminal import (
    Row,
    heading,
    run_remarks,
    stopping_rows,
    table,
    upgrade_notes,
    upgrade_rows,
    verdict_rows,
)
from .upgrade_table import Upgrade
from .wording import (
    OUTCOMES,
    accepted_by,
    closing_lines,
    control_lines,
    ended_words,
    found_line,
    upgrade_closing,
    upgrade_heading,
    verdict_line,
    why_words,
)


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
        ended=f"{len(run.cases)} cases: {ended_words(run)}" if run.cases else "",
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


FileLine = tuple[str, int]
"""A file as seen from the repository's root, and a line, counted from 1."""


def workflow_commands(run: RunResult, places: Mapping[HypothesisName, FileLine]) -> Iterator[str]:
    """A run's errors, warnings and notices in its log's margin, as workflow commands.

    ``places`` has where the functions of hypotheses and controls stand; what is not among them was
    not selected. GitHub shows the first ten of a level.
    """
    for level, title, message, name in _annotations(run, places):
        yield command(level, title, message, places.get(name) if name else None)


def command(level: str, title: str, message: str, place: FileLine | None = None) -> str:
    """``::error file=…,line=…,title=…::…``."""
    properties = {} if place is None else {"file": place[0], "line": str(place[1])}
    words = ",".join(
        f"{name}={_escaped(value).replace(':', '%3A').replace(',', '%2C')}"
        for name, value in (properties | {"title": title}).items()
    )
    return f"::{level} {words}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return terminal_text(text).replace("%", "%25").replace("\n", "%0A")


Annotation = tuple[str, str, str, HypothesisName | None]
"""Level, title, a message of one line, and what it is about (None: the run as a whole)."""


def _annotations(
    run: RunResult, places: Mapping[HypothesisName, FileLine]
) -> Iterator[Annotation]:
    if run.suite == "NO VERDICT":
        yield "error", OUTCOMES[run.suite][0], found_line(run), None
    rows = {row.named: row for row in run.upgrade.rows} if run.upgrade is not None else {}
    for verdict in run.stops:
        row = rows.get(verdict.named)
        if row is None:
            yield _of(verdict, "error", verdict.status)
        else:
            words = f"{row.outcome} ({verdict.status})"
            yield _of(verdict, "error", words, f"{verdict.id}: {why_words(row)}")
    off = run.scope is not None and run.scope.gate == "off"
    for analysis in () if off else run.analyses:
        for control in analysis.unseen:
            name = (analysis.experiment, analysis.model, control.id)
            if name in places:
                title = f"{analysis.experiment} × {analysis.model}: positive control not seen"
                yield "error", title, " ".join(control_lines(control)), name
    for verdict in run.gating:
        yield from _warnings(run, verdict)
    undecided = sum(v.label == "INCONCLUSIVE" and v.claim != "clear" for v in run.gating)
    if undecided:
        hypotheses = number_words(undecided, "hypothesis", "hypotheses")
        words = f"{hypotheses} that claim only to detect a bias: INCONCLUSIVE"
        yield "notice", "Undecided", words, None


def _of(verdict: Verdict, level: str, words: str, message: str = "") -> Annotation:
    line = " ".join(filter(None, (f"{verdict.id}:", verdict.title, verdict_line(verdict))))
    title = f"{verdict.experiment} × {verdict.model}: {words}"
    return level, title, message or line, verdict.named


def _warnings(run: RunResult, verdict: Verdict) -> Iterator[Annotation]:
    """Yield what passes and should not be forgotten."""
    if verdict.status == "CLEAR" or verdict.named in run.failing:
        return
    accepted = run.acceptance(verdict)
    if accepted is not None:
        if accepted in run.ending:
            words = f"its acceptance ends on {accepted.until}"
            message = f"{verdict.id}: {accepted_by(accepted)} ({accepted.reason})"
            yield _of(verdict, "warning", words, message)
    elif run.known(verdict) is None and (verdict.status == "BIASED" or verdict.claim == "clear"):
        yield _of(verdict, "warning", f"{verdict.status}, and passes")
