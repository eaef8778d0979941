"""What tests of the wire share: a paid endpoint that keeps the books, and its server."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pytest_bias.experiment import SimulatedAnswer, SimulatedPrompt
from pytest_bias.simulator.server import SimulatorServer

PATIENCE = 60.0
"""Seconds until a wait that should have ended fails; no test waits that long when it passes."""


class Endpoint:
    """Answers like a model and counts every call by the seed in its body.

    Calls beyond ``limit`` are held until :meth:`release`; ``on_call`` is called with the number of
    each call before it is answered.
    """

    def __init__(
        self,
        say: Callable[[SimulatedPrompt], str | None] = lambda _: '{"score": 5}',
        *,
        limit: int | None = None,
        on_call: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._say = say
        self._limit = limit
        self._on_call = on_call
        self._changed = threading.Condition()
        self.arrived: Counter[int] = Counter()
        self.answered: Counter[int] = Counter()

    def __call__(self, prompt: SimulatedPrompt) -> str | None:
        """Answer a prompt, when it is time."""
        with self._changed:
            self.arrived[prompt.seed] += 1
            number = self.arrived.total()
            self._changed.notify_all()
        self._on_call(number)
        with self._changed:
            if not self._changed.wait_for(
                lambda: self._limit is None or number <= self._limit, timeout=PATIENCE
            ):
                raise TimeoutError(number)
            self.answered[prompt.seed] += 1
        return self._say(prompt)

    def wait_for_arrivals(self, number: int) -> None:
        """Wait until ``number`` calls have come in, held ones included."""
        with self._changed:
            if not self._changed.wait_for(
                lambda: self.arrived.total() >= number, timeout=PATIENCE
            ):
                raise TimeoutError(self.arrived.total())

    def release(self) -> None:
        """Hold nothing any more."""
        with self._changed:
            self._limit = None
            self._changed.notify_all()


@contextmanager
def serving(*answers: SimulatedAnswer) -> Iterator[SimulatorServer]:
    """A running server."""
    server = SimulatorServer(answers)
    server.start()
    try:
        yield server
    finally:
        for answer in answers:
            if isinstance(answer, Endpoint):
                answer.release()
        server.stop()
