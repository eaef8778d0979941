"""A recording on the terminal: its plan before it, and lines of how it goes."""

from __future__ import annotations

import math
import textwrap
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, TextIO

from ..contrasts.power import Prospect
from ..recording.caller import CallCounts
from ..recording.estimate import Mark
from ..recording.plan import PlanCounts, PlanRow, RecordingPlan
from ..verdicts.wording import number_as_given, number_text
from .escapes import rendered, say
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
_STEPS = 10
_MINUTE = 60.0
_LONG_WAIT = 5.0
_FAILURES = {
    "fatal": "refused",
    "parameter": "refused parameter",
    "rate_limit": "rate limit",
    "reply": "no reply in it",
    "transient": "server or network",
}


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


# --- its progress ------------------------------------------------------------------------------


class StreamTerminal:
    """A stream as displays and :func:`.say` know pytest's terminal reporter."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write_line(self, line: str, **_markup: bool) -> None:
        """Write a line at once."""
        stream = self._stream
        encoding = stream.encoding or "utf-8"
        stream.write(f"{line}\n".encode(encoding, "replace").decode(encoding))
        stream.flush()


class Display:
    """A line when a model begins with an experiment, at every tenth of its trials, and at the end.

    So is one where a long wait begins: nothing else would be printed meanwhile. ``reporter`` is
    pytest's terminal reporter, None when it is switched off, or a StreamTerminal.
    """

    def __init__(self, reporter: Any) -> None:
        self._reporter = reporter
        self._began: dict[str, float] = {}
        self._shown: dict[str, tuple[str, int, int]] = {}
        self._waits: set[str] = set()
        self._unsaid: dict[str, CallCounts] = {}

    def say(self, text: str) -> None:
        """Print a line."""
        if self._reporter is not None:
            say(self._reporter, f"bias: {text}")

    def __call__(self, tally: CallCounts) -> None:
        """Show the tally of a model, which has changed."""
        self._began.setdefault(tally.model, time.monotonic())
        self._unsaid[tally.model] = tally
        tenth = math.floor(tally.trials * _STEPS / tally.wanted) if tally.wanted else _STEPS
        state = (tally.doing, tally.wanted, tenth)
        begins = tally.wanted and self._shown.get(tally.model) != state
        self._shown[tally.model] = state
        waits = tally.waiting >= _LONG_WAIT
        if begins or (waits and tally.model not in self._waits):
            self._print(tally)
        (self._waits.add if waits else self._waits.discard)(tally.model)

    def end(self) -> None:
        """Print what was called since the last line, also where nothing came of it."""
        for tally in [*self._unsaid.values()]:
            self._print(tally)

    def _print(self, tally: CallCounts) -> None:
        del self._unsaid[tally.model]
        seconds = time.monotonic() - self._began[tally.model]
        # A judge has no trials of its own.
        trials = f" {tally.doing} with {tally.model}: {tally.trials}/{tally.wanted} trials"
        what = f"recording{trials}" if tally.wanted else f"{tally.model}, which grades"
        self.say(f"{what}, {tally_text(tally, seconds)}{_eta(tally, seconds)}")


@contextmanager
def recording_progress(reporter: Any) -> Iterator[Display]:
    """The display of a recording."""
    display = Display(reporter)
    yield display
    with suppress(Exception):  # a terminal that has gone away, as while it was recorded
        display.end()


def tally_text(tally: CallCounts, seconds: float) -> str:
    """Calls, tokens, money, rate and errors of a model after ``seconds``, for one line."""
    parts = [number_text(tally.attempts, "call")]
    parts.append(f"{_short(tally.input_tokens)} tokens in, {_short(tally.output_tokens)} out")
    if tally.priced:
        cost = f"${tally.cost:.4f}" if tally.cost < 1 else f"${tally.cost:.2f}"
        without = number_text(tally.uncosted, "reply", "replies")
        parts.append(f"≥ {cost} ({without} without token counts)" if tally.uncosted else cost)
    if seconds >= 1:
        parts.append(f"{tally.attempts * _MINUTE / seconds:.0f} a minute")
    failed = sum(tally.failures.values())
    if failed:
        words = ", ".join(f"{n} {_FAILURES[kind]}" for kind, n in sorted(tally.failures.items()))
        parts.append(f"{failed} failed ({words})")
    if tally.waiting >= 1:
        parts.append(f"waiting {tally.waiting:.0f} s as asked")
    return ", ".join(parts)


def _short(number: int) -> str:
    """``12,345`` or ``1.2 million``."""
    millions = number / 1_000_000
    return f"{millions:.1f} million" if millions >= 1 else f"{number:,}"


def _eta(tally: CallCounts, seconds: float) -> str:
    if not tally.trials or tally.trials >= tally.wanted or seconds < 1:
        return ""
    left = seconds / tally.trials * (tally.wanted - tally.trials)
    words = f"{left:.0f} s" if left < _MINUTE else f"{left / _MINUTE:.0f} min"
    return f", about {words} left"
