"""Progress of a recording: a bar per model on a terminal, else lines."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any, Protocol, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.progress import TimeRemainingColumn as EtaColumn
from rich.text import Text

from ..recording.caller import Tally
from ..verdicts.wording import number_words
from .escapes import say, terminal_line, terminal_text

_STEPS = 10
_MINUTE = 60.0
_LONG_WAIT = 5.0


class Display(Protocol):
    """Shows the books of a model whenever they have changed, and says what has to be said."""

    def __call__(self, tally: Tally) -> None:
        """Show the books."""

    def say(self, text: str) -> None:
        """Print a line."""


class StreamTerminal:
    """A stream as displays and :func:`.say` know pytest's terminal reporter."""

    def __init__(self, stream: TextIO) -> None:
        self._tw = SimpleNamespace(_file=stream)
        self.isatty = stream.isatty()

    def write_line(self, line: str, **_markup: bool) -> None:
        """Write a line at once."""
        stream = self._tw._file  # noqa: SLF001
        encoding = stream.encoding or "utf-8"
        stream.write(f"{line}\n".encode(encoding, "replace").decode(encoding))
        stream.flush()


@contextmanager
def recording_progress(reporter: Any) -> Iterator[Display]:
    """The display of a recording.

    ``reporter`` is pytest's terminal reporter, None when it is switched off, or a StreamTerminal.
    """
    if reporter is None:
        yield _Nothing()
    elif reporter.isatty:
        with _progress_bar(reporter) as bar:
            yield _Bars(bar)
    else:
        lines = _Lines(reporter)
        yield lines
        with suppress(Exception):  # a terminal that has gone away, as while it was recorded
            lines.end()


def tally_words(tally: Tally, seconds: float) -> str:
    """Calls, tokens, money, rate and errors of a model after ``seconds``, for one line."""
    parts = [number_words(tally.attempts, "call")]
    parts.append(f"{_short(tally.input_tokens)} tokens in, {_short(tally.output_tokens)} out")
    if tally.priced:
        cost = f"${tally.cost:.4f}" if tally.cost < 1 else f"${tally.cost:.2f}"
        without = number_words(tally.uncosted, "reply", "replies")
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


_FAILURES = {
    "fatal": "refused",
    "parameter": "refused parameter",
    "rate_limit": "rate limit",
    "reply": "no reply in it",
    "transient": "server or network",
}


def _short(number: int) -> str:
    """``12,345`` or ``1.2 million``."""
    millions = number / 1_000_000
    return f"{millions:.1f} million" if millions >= 1 else f"{number:,}"


def _progress_bar(reporter: Any) -> Progress:
    # The reporter's own stream: pytest captures every other one.
    console = Console(file=reporter._tw._file, force_terminal=True)  # noqa: SLF001
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("{task.fields[words]}", markup=False),
        TextColumn("ETA"),
        EtaColumn(),
        console=console,
        expand=True,
    )


class _Nothing:
    """Shows nothing."""

    def __call__(self, tally: Tally) -> None:
        """See :class:`Display`."""

    def say(self, text: str) -> None:
        """See :class:`Display`."""


class _Bars:
    """One bar per model."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, tuple[TaskID, float]] = {}

    def say(self, text: str) -> None:
        self._progress.console.print(Text(terminal_text(f"bias: {text}")))

    def __call__(self, tally: Tally) -> None:
        now = time.monotonic()
        if tally.model not in self._tasks:
            task = self._progress.add_task(terminal_line(tally.model), total=None, words="")
            self._tasks[tally.model] = (task, now)
        task, began = self._tasks[tally.model]
        self._progress.update(
            task,
            total=tally.wanted or None,  # a judge has no trials of its own
            completed=tally.trials,
            words=tally_words(tally, now - began),
        )


class _Lines:
    """A line when a model begins with an experiment, at every tenth of its trials, and at the end.

    So is one where a long wait begins: nothing else would be said meanwhile.
    """

    def __init__(self, reporter: Any) -> None:
        self._reporter = reporter
        self._began: dict[str, float] = {}
        self._shown: dict[str, tuple[str, int, int]] = {}
        self._waits: set[str] = set()
        self._unsaid: dict[str, Tally] = {}

    def say(self, text: str) -> None:
        say(self._reporter, f"bias: {text}")

    def __call__(self, tally: Tally) -> None:
        self._began.setdefault(tally.model, time.monotonic())
        self._unsaid[tally.model] = tally
        tenth = math.floor(tally.trials * _STEPS / tally.wanted) if tally.wanted else _STEPS
        state = (tally.doing, tally.wanted, tenth)
        begins = tally.wanted and self._shown.get(tally.model) != state
        self._shown[tally.model] = state
        waits = tally.waiting >= _LONG_WAIT
        if begins or (waits and tally.model not in self._waits):
            self._say(tally)
        (self._waits.add if waits else self._waits.discard)(tally.model)

    def end(self) -> None:
        """Say what was called since the last line, also where nothing came of it."""
        for tally in [*self._unsaid.values()]:
            self._say(tally)

    def _say(self, tally: Tally) -> None:
        del self._unsaid[tally.model]
        seconds = time.monotonic() - self._began[tally.model]
        # A judge has no trials of its own.
        trials = f" {tally.doing} with {tally.model}: {tally.trials}/{tally.wanted} trials"
        what = f"recording{trials}" if tally.wanted else f"{tally.model}, which grades"
        words = f"{tally_words(tally, seconds)}{_eta(tally, seconds)}"
        say(self._reporter, f"bias: {what}, {words}")


def _eta(tally: Tally, seconds: float) -> str:
    if not tally.trials or tally.trials >= tally.wanted or seconds < 1:
        return ""
    left = seconds / tally.trials * (tally.wanted - tally.trials)
    words = f"{left:.0f} s" if left < _MINUTE else f"{left / _MINUTE:.0f} min"
    return f", about {words} left"
