"""Progress of a recording: lines of what each model was called for."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from ..recording.caller import CallCounts
from ..verdicts.wording import number_text
from .escapes import say

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
