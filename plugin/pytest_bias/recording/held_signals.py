"""The signals that would end a recording, held and put back: without asyncio.

An offline run holds them too while it closes its books, and has no other use for an event loop.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

HANGUP = (signal.SIGHUP,) if hasattr(signal, "SIGHUP") else ()
"""What a terminal's end sends; Windows has none."""

SIGNALS = (signal.SIGINT, signal.SIGTERM, *HANGUP)


class HeldSignals:
    """Takes note of signals, in the main thread, while an interrupted session closes its books.

    They asked for what happens already, and one more would leave a traceback in place of reports.
    """

    def __init__(self) -> None:
        self.noted = False
        self._before: dict[signal.Signals, _Handler] = {}

    def hold(self, before: Mapping[signal.Signals, _Handler] | None = None) -> None:
        """From now on only take note; ``before`` are the handlers to go back to."""
        if threading.current_thread() is threading.main_thread():
            if before is not None or not self._before:
                self._before = dict(before or _handlers())
            for number, handler in self._before.items():
                if handler not in (None, signal.SIG_IGN):  # as under nohup
                    signal.signal(number, self._note)

    def release(self) -> None:
        """Put back the handlers that were there."""
        _restore(self._before)
        self._before = {}

    def _note(self, *_: object) -> None:
        self.noted = True


_Handler = Callable[[int, FrameType | None], object] | int | None


def _handlers() -> dict[signal.Signals, _Handler]:
    return {number: signal.getsignal(number) for number in SIGNALS}


def _restore(before: Mapping[signal.Signals, _Handler]) -> None:
    for number, handler in before.items():
        # One that Python did not set is None, and cannot be set by it.
        if handler is not None and signal.getsignal(number) is not handler:
            signal.signal(number, handler)


@contextmanager
def handlers_restored(
    held: HeldSignals | None = None, interrupted: Callable[[], bool] = lambda: False
) -> Iterator[None]:
    """Leave behind the signal handlers that were there: asyncio's own are the defaults.

    After an interruption leave signals ``held`` instead.
    """
    before = _handlers()
    try:
        yield
    finally:
        if held is not None and interrupted():
            held.hold(before)
        else:
            _restore(before)
