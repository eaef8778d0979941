"""Signals during a recording and while a session closes, and recordings within an event loop.

Asyncio is imported where it is used: an offline session holds signals, too, and needs no loop.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from types import FrameType
from typing import TypeVar

_T = TypeVar("_T")
_Handler = Callable[[int, FrameType | None], object] | int | None

HANGUP = (signal.SIGHUP,) if hasattr(signal, "SIGHUP") else ()
"""What a terminal's end sends; Windows has none."""

SIGNALS = (signal.SIGINT, signal.SIGTERM, *HANGUP)

_INTERRUPTS: ContextVar[list[Callable[[], object]] | None] = ContextVar("interrupts", default=None)
"""Where a recording in another thread than the main one puts what interrupts it."""


def handlers() -> dict[signal.Signals, _Handler]:
    """The handlers of the signals that would end a recording."""
    return {number: signal.getsignal(number) for number in SIGNALS}


def restore(before: Mapping[signal.Signals, _Handler]) -> None:
    """Put back handlers: asyncio leaves the defaults behind."""
    for number, handler in before.items():
        # One that Python did not set is None, and cannot be set by it.
        if handler is not None and signal.getsignal(number) is not handler:
            signal.signal(number, handler)


class DeferredSignals:
    """Takes note of signals, in the main thread, while an interrupted session closes.

    They asked for what happens already, and one more would leave a traceback in place of reports.
    """

    def __init__(self) -> None:
        self.noted = False
        self._before: dict[signal.Signals, _Handler] = {}

    def hold(self, before: Mapping[signal.Signals, _Handler] | None = None) -> None:
        """From now on only take note; ``before`` are the handlers to go back to."""
        if _is_main_thread():
            if before is not None or not self._before:
                self._before = dict(before or handlers())
            for number, handler in self._before.items():
                if handler not in (None, signal.SIG_IGN):  # as under nohup
                    signal.signal(number, self._note)

    def release(self) -> None:
        """Put back the handlers that were there."""
        restore(self._before)
        self._before = {}

    def _note(self, *_: object) -> None:
        self.noted = True


@contextmanager
def on_signals(call: Callable[[], None]) -> Iterator[None]:
    """Have SIGINT, SIGTERM and SIGHUP ``call``, inside the running event loop.

    A SIGHUP does only as the first of them: a terminal that ends sends several, and none means
    that nothing should be waited for. Where it is ignored (nohup) it stays so. In another thread
    than the main one, and on Windows, loops handle no signals: :func:`apart` interrupts there.
    """
    import asyncio  # noqa: PLC0415

    loop = asyncio.get_running_loop()
    came: set[signal.Signals] = set()

    def handle(number: signal.Signals) -> None:
        if number not in HANGUP or not came:
            came.add(number)
            call()

    ignored = [number for number in HANGUP if signal.getsignal(number) is signal.SIG_IGN]
    handled = [number for number in SIGNALS if number not in ignored]
    if not _is_main_thread() or sys.platform == "win32":
        handled = []
        if (interrupts := _INTERRUPTS.get()) is not None:
            interrupts.append(lambda: loop.call_soon_threadsafe(handle, signal.SIGINT))
    for number in handled:
        loop.add_signal_handler(number, handle, number)
    try:
        yield
    finally:
        for number in handled:
            loop.remove_signal_handler(number)


def apart(work: Callable[[], _T]) -> _T:
    """Do ``work``, which records; within an event loop (a notebook's) in a thread of its own.

    An interruption reaches it there as a signal does here.
    """
    if not in_event_loop():
        return work()
    interrupts: list[Callable[[], object]] = []
    context = copy_context()
    context.run(_INTERRUPTS.set, interrupts)
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(context.run, work)
        while True:
            try:
                return done.result()
            except KeyboardInterrupt:
                if done.done() or not interrupts:
                    raise
                interrupts[-1]()


def in_event_loop() -> bool:
    """True if this thread runs an event loop, so that no other can be run in it."""
    import asyncio  # noqa: PLC0415

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def ends_the_process(error: BaseException) -> bool:
    """True if ``error`` ends everything: an interruption, or this task's cancellation.

    What else is no Exception stands for a failure, as pytest.fail() does.
    """
    import asyncio  # noqa: PLC0415

    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
