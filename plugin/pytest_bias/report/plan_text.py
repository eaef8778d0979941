"""The plan of a recording on the terminal: a table, what its figures rest on, and the command."""

from __future__ import annotations

import math
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..contrasts.power import Prospect
from ..recording.estimate import Mark
from ..recording.plan import PlanCounts, PlanRow, RecordingPlan
from ..verdicts.wording import number_as_given
from .escapes import rendered
from .wording import capital

WIDTH = 100
"""Columns the text keeps to, but for problems and for single words (a path) that are longer."""

_HEADINGS = (
    *("trials", "recorded", "missing", "calls", "judge"),
    *("tokens in", "tokens out", "cost", "minutes"),
)
SIGNS: dict[Mark, str] = {"exact": "", "estimate": "≈ ", "at least": "≥ "}
"""Before a figure, what it rests on."""

_CENT = 0.01


def plan_lines(plan: RecordingPlan) -> list[str]:
    """The plan in lines of :data:`WIDTH` columns."""
    lines = ["bias plan: what a recording would do; nothing was called and nothing was run"]
    body = [(_heading(row, plan), _cells(row), _notes(row)) for row in plan.rows]
    if len(plan.rows) > 1:
        parts = "models in parallel, the experiments of one model in turn"
        total = f"total of {len(plan.rows)} rows ({parts})"
        body.append((total, _cells(plan.totals), ""))
    table = [_HEADINGS, *(cells for _, cells, _ in body)]
    widths = [max(len(row[column]) for row in table) for column in range(len(_HEADINGS))]
    if body:
        lines += ["", _aligned(_HEADINGS, widths)]
    for heading, cells, notes in body:
        lines += [*wrapped(heading, ""), _aligned(cells, widths), *wrapped(notes, "    ")]
    for problem in plan.problems:
        # In one line, so that "file, line 3" can be found and clicked.
        lines += ["", f"problem: {problem}"]
    simulated = sorted({row.model for row in plan.rows if row.simulated})
    closing = rendered("plan.txt.j2", row=None, plan=plan, simulated=simulated)
    for text in closing.splitlines():
        lines += ["", *wrapped(text, "")]
    return lines


def _notes(row: PlanRow) -> str:
    passes = [] if row.passes is None else [*map(chance_text, row.passes)]
    prospects = prospects_text(row.prospects)
    return rendered("plan.txt.j2", row=row, passes=passes, prospects=prospects)


def _heading(row: PlanRow, plan: RecordingPlan) -> str:
    anew = ", everything anew" if plan.mode == "all" else ""
    kind = ", simulated subject" if row.simulated else ""
    return f"{row.experiment} × {row.model} ({row.design} design{anew}{kind})"


def _cells(of: PlanCounts) -> tuple[str, ...]:
    # What has no price is not in a sum.
    costs: Mark = "at least" if of.unpriced else of.mark
    said = of.subject.output_tokens + of.judge.output_tokens
    asked = of.subject.input_tokens + of.judge.input_tokens
    return (
        *(f"{n:,}" for n in (of.trials, of.recorded_trials, of.missing_trials)),
        *(_number(n, SIGNS[of.mark]) for n in (of.subject.calls, of.judge.calls, asked, said)),
        "no price" if of.cost is None else _money(of.cost, SIGNS[costs]),
        "no limit" if of.minutes is None else _minutes(of.minutes, SIGNS[of.mark]),
    )


def _number(value: float, sign: str) -> str:
    if not value:
        # A judge nobody asks is no estimate; nor is what an opening request says of replies.
        return "0"
    return f"{sign}{value:,.0f}"


def _money(dollars: float, sign: str) -> str:
    if not dollars:
        return "$0"
    return f"{sign}${dollars:.2g}" if dollars < _CENT else f"{sign}${dollars:,.2f}"


def _minutes(minutes: float, sign: str) -> str:
    return f"{sign}{minutes:,.1f}" if minutes else "0"


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    parts = (cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
    return f"  {'  '.join(parts)}"


def wrapped(text: str, indent: str) -> list[str]:
    """A text in lines of :data:`WIDTH` columns; no id and no path is broken."""
    return [
        line
        for part in text.splitlines()
        for line in textwrap.wrap(
            part,
            WIDTH,
            initial_indent=indent,
            subsequent_indent=f"{indent}  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    ]


def prospects_text(prospects: Iterable[Prospect]) -> list[str]:
    """Units, what can be cleared and what can be found, once where all of it is alike."""
    alike: defaultdict[Prospect, list[str]] = defaultdict(list)
    for prospect in prospects:
        alike[replace(prospect, hypothesis="")].append(prospect.hypothesis)
    named = [(", ".join(names), prospect) for prospect, names in alike.items()]
    words = {"alike": named, "capital": capital, "number_as_given": number_as_given}
    return rendered("prospects.txt.j2", **words, chance_text=chance_text).splitlines()


def chance_text(chance: float) -> str:
    """A probability to three digits, never rounded up to certainty."""
    return f"{math.floor(chance * 1000) / 1000:.3f}" if chance < 1 else "1.000"
