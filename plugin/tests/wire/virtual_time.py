"""An event loop whose clock jumps ahead when nothing is ready: exact tests without waiting."""

from __future__ import annotations

import asyncio
import selectors
from bisect import bisect_right
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


class Deadlock(Exception):
    """Every task waits for another, so nothing can ever happen again."""


class _JumpingSelector(selectors.DefaultSelector):
    """Never waits: what the loop wanted to wait is told to ``passed``."""

    passed: Callable[[float], None]

    def select(self, timeout: float | None = None) -> list[Any]:
        ready = super().select(0)
        if ready:
            return ready
        if timeout is None:
            raise Deadlock
        if timeout > 0:
            self.passed(timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop with a clock of its own, which begins at 0. For tasks without threads."""

    def __init__(self) -> None:
        self._now = 0.0
        selector = _JumpingSelector()
        selector.passed = self._pass
        super().__init__(selector)

    def time(self) -> float:
        """Seconds since the loop was made."""
        return self._now

    def _pass(self, seconds: float) -> None:
        self._now += seconds


def run_virtually(main: Coroutine[Any, Any, T]) -> T:
    """Like ``asyncio.run``, in no time; Deadlock when the tasks wait for each other for ever."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def now() -> float:
    """The running loop's time."""
    return asyncio.get_running_loop().time()


def most_in_a_window(times: Sequence[float], window: float = 60.0) -> int:
    """The most of ``times`` (ascending) that any closed window of that many seconds holds."""
    return max((bisect_right(times, at + window) - i for i, at in enumerate(times)), default=0)


def most_weight_in_a_window(
    times: Sequence[float], weights: Sequence[float], window: float = 60.0
) -> float:
    """The most weight that any window holds, its end left out: what is that old has left it."""
    return max(
        (
            sum(weight for t, weight in zip(times, weights, strict=True) if at <= t < at + window)
            for at in times
        ),
        default=0.0,
    )
