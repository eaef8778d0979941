"""Stopping: nothing more may be called, and those who wait are told."""

from __future__ import annotations

import asyncio
from collections import deque


class Halted(Exception):
    """No further call is to be made."""


class Stop:
    """A switch for new calls; what is told to one is told to those made under it."""

    def __init__(self, above: Stop | None = None) -> None:
        self.requested: bool = above.requested if above is not None else False
        self.below: list[Stop] = []
        self._waiting: set[asyncio.Future[None]] = set()
        if above is not None:
            above.below.append(self)

    def request(self) -> None:
        """Start nothing new; whoever waits for leave to start is told at once."""
        self.requested = True
        self._wake()
        for stop in self.below:
            stop.request()

    def _wake(self) -> None:
        """Have whoever waits look again."""
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    @property
    def promised(self) -> bool:
        """Return whether the next call is one of those that were put aside for it."""
        return False

    def check(self) -> None:
        """Raise Halted once a stop was requested."""
        if self.requested:
            raise Halted

    @property
    def pressed(self) -> bool:
        """Return whether a stop was requested, heeded or not: nothing is to be tried again."""
        return self.requested

    def sent(self) -> None:
        """Take note that a call is being sent."""

    async def wait(self, seconds: float | None = None, *, until: Waiting | None = None) -> None:
        """Wait ``seconds``, or until woken through ``until``; Halted when a stop is requested."""
        self.check()
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        if until is not None:
            until.append(future)
        try:
            await asyncio.wait([future], timeout=seconds)
        finally:
            self._waiting.discard(future)
        self.check()


Waiting = deque["asyncio.Future[None]"]
"""Futures of those that wait for something, the first in front."""


def wake(waiting: Waiting, number: int | None = None) -> None:
    """Wake the first ``number`` (or all) that wait; each looks again whether its turn has come."""
    while waiting and number != 0:
        future = waiting.popleft()
        if not future.done():
            future.set_result(None)
            number = number - 1 if number is not None else None
