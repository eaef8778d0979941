"""What a CI service shows of a run: a summary in Markdown beside the job, and failures in its log.

Names, numbers and verdicts only: no prompt and no reply.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..baselines.accepted import ends_soon
from ..baselines.table import Upgrade
from ..verdicts.verdict import HypothesisName, Verdict
from .escapes import terminal_text
from .jinja import rendered
from .terminal import closing_lines, control_lines, verdict_line
from .upgrade import row_line
from .view import RunView

MOST = 10
"""Annotations of a level that GitHub shows of one step; what comes after is dropped there."""


def summary_markdown(view: RunView, written: Sequence[str] = ()) -> str:
    """Return all to know before opening the report; ``written`` says where the files are."""
    *_, closing = closing_lines(view)
    judged = [verdict for verdict in view.verdicts if view.is_judged(verdict)]
    stopped = [verdict for verdict in judged if verdict.gates and verdict.status != "CLEAR"]
    failing = [verdict for verdict in stopped if verdict.named in view.failing]
    rest = [verdict for verdict in stopped if verdict not in failing]
    known = [verdict for verdict in rest if view.acceptance(verdict) or view.known(verdict)]
    passing = [verdict for verdict in rest if verdict not in known]
    biased = [verdict for verdict in passing if verdict.status == "BIASED"]
    served: dict[str, set[str]] = {}
    for analysis in view.analyses:
        served.setdefault(analysis.model, set()).update(analysis.recording.served)
    return rendered(
        "summary.md.j2",
        view=view,
        closing=closing,
        passed_or_not={"What fails": failing, "BIASED, and let through": biased},
        unseen=[
            f"{analysis.experiment} × {analysis.model}, {control.id}: {control.meaning}"
            for analysis in view.analyses
            for control in analysis.unseen
        ],
        known=known,
        undecided=[verdict for verdict in passing if verdict not in biased],
        judged=judged,
        served={model: sorted(names) for model, names in served.items()},
        written=written,
    )


def upgrade_markdown(upgrade: Upgrade, but: str = "", reasons: Sequence[str] = ()) -> str:
    """Return the upgrade: what stops it in a short table, everything else behind a fold.

    ``but`` and ``reasons`` say what keeps it from passing beside its rows.
    """
    return rendered("upgrade.md.j2", upgrade=upgrade, but=but, reasons=reasons)


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
    view: RunView, places: Mapping[HypothesisName, FileLine], *, today: str
) -> Iterator[Annotation]:
    """Return a run's notes in its log's margin: errors, then warnings, then notices.

    ``places`` says where the functions of hypotheses and controls stand; what is not among them
    was not selected. ``today`` is the day of the run as YYYY-MM-DD.
    """
    if view.suite == "NO VERDICT":
        *_, closing = closing_lines(view)
        yield Annotation(level="error", title="NO VERDICT", message=closing)
    judged = [v for v in view.verdicts if view.is_judged(v) and v.gates]
    rows = {row.named: row for row in view.upgrade.rows} if view.upgrade is not None else {}
    for verdict in judged:
        if verdict.named in view.failing:
            row = rows.get(verdict.named)
            words = verdict.status if row is None else f"{row.outcome} ({verdict.status})"
            message = "" if row is None else row_line(row, several=False)
            yield _of(verdict, "error", words, places, message)
    yield from _controls(view, places)
    for verdict in judged:
        yield from _warnings(view, verdict, places, today)
    undecided = sum(v.label == "INCONCLUSIVE" and v.claim != "clear" for v in judged)
    if undecided:
        hypotheses = "hypothesis" if undecided == 1 else "hypotheses"
        yield Annotation(
            level="notice",
            title="Undecided",
            message=f"{undecided} {hypotheses} that claim only to detect a bias: INCONCLUSIVE",
        )


def commands(found: Iterable[Annotation]) -> Iterator[str]:
    """The workflow commands: at most ten of a level, and how many more there are."""
    counted: dict[Severity, int] = {}
    for each in found:
        counted[each.level] = counted.get(each.level, 0) + 1
        if counted[each.level] <= MOST:
            yield command(each)
    for level, count in counted.items():
        if count > MOST:
            title = f"{count - MOST} more {level}{'s' * (count - MOST > 1)}"
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
    view: RunView,
    verdict: Verdict,
    places: Mapping[HypothesisName, FileLine],
    today: str,
) -> Iterator[Annotation]:
    """Yield what passes and should not be forgotten."""
    if verdict.status == "CLEAR" or verdict.named in view.failing:
        return
    accepted = view.acceptance(verdict)
    if accepted is not None:
        if ends_soon(accepted.until, today):
            words = f"its acceptance ends on {accepted.until}"
            message = f"{verdict.id}: accepted by {accepted.owner} until {accepted.until}"
            yield _of(verdict, "warning", words, places, f"{message} ({accepted.reason})")
    elif view.known(verdict) is None and (verdict.status == "BIASED" or verdict.claim == "clear"):
        yield _of(verdict, "warning", f"{verdict.status}, and passes", places)
