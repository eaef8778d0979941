"""The summary of a run in Markdown, for the page a CI service shows beside a job.

Names, numbers and verdicts only: no prompt and no reply.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from ..settings.model_names import answered_by
from ..verdicts.verdict import Status, Verdict
from ..verdicts.words import interval_words, margin_words, settle_words, unit_words, units_words
from .terminal import closing_lines
from .upgrade_markdown import plain_markdown, upgrade_markdown
from .view import SIMULATED_WARNING, RunView

_MOST_ROWS = 50
_MOST_NAMES = 10
_STATUSES: tuple[Status, ...] = ("CLEAR", "BIASED", "INCONCLUSIVE")


def summary_markdown(view: RunView, written: Sequence[str] = ()) -> str:
    """Return all a reviewer has to know before opening the report.

    Parameters
    ----------
    view
        The run.
    written
        Where its reports are, in words.
    """
    return "\n".join((*_lines(view, written), ""))


def _lines(view: RunView, written: Sequence[str]) -> Iterator[str]:
    yield f"## Bias: {plain_markdown(view.standing)}"
    yield ""
    if view.simulated:
        warning = SIMULATED_WARNING.format(", ".join(view.simulated))
        yield f"> **{plain_markdown(warning)}**"
        yield ""
    *_, closing = closing_lines(view)
    yield f"**{plain_markdown(closing)}**"
    yield ""
    yield from _listed("What keeps the run from a verdict", view.problems)
    outcomes = dict(view.cases)
    lost = [f"{outcomes.get(case, 'no report')}: {case}" for case in view.lost]
    yield from _listed("Selected cases without a verdict", lost)
    yield from _listed("Cases that failed by themselves", view.broken)
    yield from _listed("Failed as well", view.failures)
    yield from _listed("A part of the suite only", view.partial)
    rows = [v for v in view.verdicts if view.is_judged(v) and v.gates and v.status != "CLEAR"]
    failing = [v for v in rows if v.named in view.failing]
    known = [v for v in rows if v not in failing and (view.acceptance(v) or view.known(v))]
    passing = [v for v in rows if v not in failing and v not in known]
    biased = [v for v in passing if v.status == "BIASED"]
    undecided = [v for v in passing if v.status != "BIASED"]
    yield from _table("What fails", failing)
    yield from _table("BIASED, and let through", biased)
    yield from _known(view, known)
    yield from _table("Undecided, and passing", undecided, folded=True)
    yield from _counts(view)
    if view.upgrade is not None:
        yield from upgrade_markdown(view.upgrade, view.reserved).split("\n")
    for section in view.sections:
        yield from _listed(plain_markdown(section.title), section.lines)
    if written:
        yield f"Reports: {', '.join(map(_code, written))}"


def _code(text: str) -> str:
    """``text`` as code, whatever it holds; in tables no bar may stand in it."""
    flat = " ".join(text.split()).replace("`", "ʼ").replace("|", "¦")
    return f"`{flat}`" if flat else ""


def _listed(title: str, lines: Sequence[str]) -> Iterator[str]:
    if not lines:
        return
    yield f"### {title}"
    yield ""
    yield from (f"- {plain_markdown(line)}" for line in lines[:_MOST_NAMES])
    if len(lines) > _MOST_NAMES:
        yield f"- and {len(lines) - _MOST_NAMES} more"
    yield ""


def _table(title: str, verdicts: Sequence[Verdict], *, folded: bool = False) -> Iterator[str]:
    if not verdicts:
        return
    if folded:
        yield f"<details><summary>{title} ({len(verdicts)})</summary>"
    else:
        yield f"### {title} ({len(verdicts)})"
    yield ""
    yield "| hypothesis | model | verdict | estimate | margin | from |"
    yield "|---|---|---|---|---|---|"
    yield from (_row(_cells(verdict)) for verdict in verdicts[:_MOST_ROWS])
    if len(verdicts) > _MOST_ROWS:
        yield ""
        yield f"and {len(verdicts) - _MOST_ROWS} more: see the report"
    yield ""
    if folded:
        yield "</details>"
        yield ""


def _cells(verdict: Verdict) -> Iterator[str]:
    finding = verdict.finding
    title = f"{plain_markdown(verdict.title)}<br>" if verdict.title else ""
    yield f"{title}{_code(verdict.experiment)} {_code(verdict.id)}"
    yield _code(verdict.model)
    yield plain_markdown(verdict.words)
    if finding is None:
        yield from ("–", "–", "–")
        return
    settle = f"; {settle_words(verdict)} would settle it" if verdict.settle else ""
    estimate = f"{interval_words(finding)}{unit_words(finding)}"
    yield plain_markdown(f"{finding.measure} {finding.contrast} {estimate}")
    yield "–" if finding.margin is None else plain_markdown(margin_words(finding))
    yield plain_markdown(f"{units_words(finding)}{settle}")


def _known(view: RunView, verdicts: Sequence[Verdict]) -> Iterator[str]:
    if not verdicts:
        return
    yield f"### Known ({len(verdicts)})"
    yield ""
    yield "| hypothesis | model | verdict | accepted by | until | because |"
    yield "|---|---|---|---|---|---|"
    for verdict in verdicts[:_MOST_ROWS]:
        accepted, row = view.acceptance(verdict), view.known(verdict)
        cells = ("–", "–", row.said) if row is not None else ()
        if accepted is not None:
            cells = (accepted.owner, accepted.until, accepted.reason)
        yield _row(tuple(_cells(verdict))[:3], map(plain_markdown, cells))
    if len(verdicts) > _MOST_ROWS:
        yield ""
        yield f"and {len(verdicts) - _MOST_ROWS} more: see the report"
    yield ""


def _row(*parts: Iterable[str]) -> str:
    return f"| {' | '.join(cell for part in parts for cell in part)} |"


def _counts(view: RunView) -> Iterator[str]:
    """Verdicts per model, of the hypotheses of this run that gate, and how the cases ended."""
    judged = [verdict for verdict in view.verdicts if view.is_judged(verdict)]
    if judged:
        yield f"| model | {' | '.join(_STATUSES)} | described |"
        yield "|---|---|---|---|---|"
        for model in sorted({verdict.model for verdict in judged}):
            own = [verdict for verdict in judged if verdict.model == model]
            found = Counter(verdict.status for verdict in own if verdict.gates)
            counts = [found[status] for status in _STATUSES]
            described = sum(not verdict.gates for verdict in own)
            yield _row([_answered(view, model)], map(str, [*counts, described]))
        yield ""
    if view.cases:
        ended = Counter(outcome for _, outcome in view.cases)
        words = ", ".join(f"{count} {outcome}" for outcome, count in sorted(ended.items()))
        yield f"{len(view.cases)} cases: {words}"
        yield ""


def _answered(view: RunView, model: str) -> str:
    """A model, and the names under which it answered where any is not its own."""
    served = {s for a in view.analyses if a.model == model for s in a.recording.served}
    names = ", ".join(map(_code, answered_by(model, sorted(served))))
    return f"{_code(model)}, answered by {names}" if names else _code(model)
