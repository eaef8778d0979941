"""What a CI service shows of a run: a summary in Markdown beside the job, and failures in its log.

Names, numbers and verdicts only: no prompt and no reply.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..verdicts.verdict import HypothesisName, Verdict
from ..verdicts.wording import number_words
from .brief import section_of, upgrade_section, verdict_rows
from .escapes import terminal_text
from .jinja import rendered
from .terminal import accepted_by, closing_lines, control_lines, found_line, verdict_line
from .upgrade import Row, printed, upgrade_rows, why_words
from .upgrade_table import Upgrade
from .view import RunView

MOST = 10
"""Annotations of a level that GitHub shows of one step; what comes after is dropped there."""


def summary_markdown(view: RunView, written: Sequence[str] = ()) -> str:
    """Return the terminal's section, and what passes behind folds.

    ``written`` says where the files are.
    """
    *way, closing = closing_lines(view)
    passing = [
        v
        for v in view.gating
        if v.status != "CLEAR" and v.named not in view.failing and not view.known(v)
    ]
    let = [v for v in passing if v.status == "BIASED" or view.acceptance(v)]
    section, word = section_of(view), closing.partition(":")[0]
    if view.upgrade is not None and not section.word and view.stands and view.exit_status:
        word = "NO VERDICT"  # a PASS above that would be taken for one of the upgrade
    return rendered(
        "summary.md.j2",
        section=section,
        word=word,
        way=[*way, *(f"failed by itself: {case}" for case in view.broken)],
        simulated=view.simulated,
        closing=closing,
        ended=f"{len(view.cases)} cases: {view.ended}" if view.cases else "",
        opened={"Let through": [*verdict_rows(view, let)]},
        folded={
            "Undecided, and passing": [*verdict_rows(view, (v for v in passing if v not in let))],
            **(_folded(view.upgrade) if view.upgrade is not None else {}),
        },
        judged=view.selected,
        written=written,
    )


def upgrade_markdown(upgrade: Upgrade, but: str = "", reasons: Sequence[str] = ()) -> str:
    """Return an upgrade on its own, in the same form.

    ``but`` and ``reasons`` say what keeps it from passing beside its rows.
    """
    section = upgrade_section(upgrade, but)
    *_, closing = printed(upgrade, but)
    return rendered(
        "summary.md.j2",
        section=section,
        word=section.word or "NO VERDICT",
        way=reasons,
        simulated=upgrade.simulated,
        closing=closing,
        ended="",
        opened={},
        folded=_folded(upgrade),
        judged=[],
        written=(),
    )


def _folded(upgrade: Upgrade) -> dict[str, Sequence[Row]]:
    """The rows of an upgrade that cannot have got worse."""
    rest = [row for row in upgrade.rows if not row.is_open]
    before = [row for row in rest if row.outcome == "as before"]
    apart = [row for row in rest if row not in before]
    return {
        "Known, improved and not compared": upgrade_rows(upgrade, apart),
        "As before": upgrade_rows(upgrade, before),
    }


Severity = Literal["error", "warning", "notice"]
FileLine = tuple[str, int]
"""A file as seen from the repository's root, and a line, counted from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """A message of one line, and the place it is about (None: the run as a whole)."""

    level: Severity
    title: str
    message: str
    place: FileLine | None = None


def annotations_of(
    view: RunView, places: Mapping[HypothesisName, FileLine]
) -> Iterator[Annotation]:
    """Return a run's notes in its log's margin: errors, then warnings, then notices.

    ``places`` says where the functions of hypotheses and controls stand; what is not among them
    was not selected.
    """
    if view.suite == "NO VERDICT":
        yield Annotation(level="error", title="NO VERDICT", message=found_line(view))
    rows = {row.named: row for row in view.upgrade.rows} if view.upgrade is not None else {}
    for verdict in view.stops:
        row = rows.get(verdict.named)
        words = verdict.status if row is None else f"{row.outcome} ({verdict.status})"
        message = "" if row is None else f"{verdict.id}: {why_words(row)}"
        yield _of(verdict, "error", words, places, message)
    yield from _controls(view, places)
    for verdict in view.gating:
        yield from _warnings(view, verdict, places)
    undecided = sum(v.label == "INCONCLUSIVE" and v.claim != "clear" for v in view.gating)
    if undecided:
        hypotheses = number_words(undecided, "hypothesis", "hypotheses")
        words = f"{hypotheses} that claim only to detect a bias: INCONCLUSIVE"
        yield Annotation(level="notice", title="Undecided", message=words)


def commands(found: Iterable[Annotation]) -> Iterator[str]:
    """The workflow commands: at most ten of a level, and how many more there are."""
    counted: dict[Severity, int] = {}
    for each in found:
        counted[each.level] = counted.get(each.level, 0) + 1
        if counted[each.level] <= MOST:
            yield command(each)
    for level, count in counted.items():
        if count > MOST:
            title = number_words(count - MOST, f"more {level}")
            words = f"{title}: see the log and the report"
            # As a notice: an eleventh of its level would be dropped in its turn.
            yield command(Annotation(level="notice", title=title, message=words))


def command(of: Annotation) -> str:
    """``::error file=…,line=…,title=…::…``."""
    properties = {"title": of.title}
    if of.place is not None:
        properties = {"file": of.place[0], "line": str(of.place[1]), **properties}
    told = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{of.level} {told}::{_data(of.message)}"


def _data(text: str) -> str:
    return terminal_text(text).replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _of(
    verdict: Verdict,
    level: Severity,
    words: str,
    places: Mapping[HypothesisName, FileLine],
    message: str = "",
) -> Annotation:
    return Annotation(
        level=level,
        title=f"{verdict.experiment} × {verdict.model}: {words}",
        message=message
        or " ".join(filter(None, (f"{verdict.id}:", verdict.title, verdict_line(verdict)))),
        place=places.get(verdict.named),
    )


def _controls(view: RunView, places: Mapping[HypothesisName, FileLine]) -> Iterator[Annotation]:
    """Positive controls that were among the cases and not seen, where verdicts gate."""
    if view.scope is not None and view.scope.gate == "off":
        return
    for analysis in view.analyses:
        for control in analysis.unseen:
            place = places.get((analysis.experiment, analysis.model, control.id))
            if place is not None:
                title = f"{analysis.experiment} × {analysis.model}: positive control not seen"
                words = " ".join(control_lines(control))
                yield Annotation(level="error", title=title, message=words, place=place)


def _warnings(
    view: RunView, verdict: Verdict, places: Mapping[HypothesisName, FileLine]
) -> Iterator[Annotation]:
    """Yield what passes and should not be forgotten."""
    if verdict.status == "CLEAR" or verdict.named in view.failing:
        return
    accepted = view.acceptance(verdict)
    if accepted is not None:
        if accepted in view.ending:
            words = f"its acceptance ends on {accepted.until}"
            message = f"{verdict.id}: {accepted_by(accepted)} ({accepted.reason})"
            yield _of(verdict, "warning", words, places, message)
    elif view.known(verdict) is None and (verdict.status == "BIASED" or verdict.claim == "clear"):
        yield _of(verdict, "warning", f"{verdict.status}, and passes", places)
