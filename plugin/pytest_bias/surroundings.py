"""What a recording does to the process it runs in, for as long as it runs: signals, loggers."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_HANGUP = (signal.SIGHUP,) if hasattr(signal, "SIGHUP") else ()
"""What a terminal's end sends; Windows has none."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM, *_HANGUP)

_TALKATIVE = ("anthropic", "google_genai", "httpcore2", "httpx2", "openai")
"""Loggers of the SDKs and what they call through."""


@contextmanager
def signals_told(tell: Callable[[], None]) -> Iterator[None]:
    """Have SIGINT, SIGTERM and SIGHUP call ``tell``, inside the running event loop.

    A SIGHUP calls it only as the first of them: a terminal that ends sends several, and none is
    anybody's word that nothing should be waited for. Where it is ignored (nohup) it stays so.
    """
    loop = asyncio.get_running_loop()
    caught = []
    heard: set[signal.Signals] = set()

    def hear(number: signal.Signals) -> None:
        if number in _HANGUP and heard:
            return
        heard.add(number)
        tell()

    for number in _SIGNALS:
        if number in _HANGUP and signal.getsignal(number) is signal.SIG_IGN:
            continue
        try:
            loop.add_signal_handler(number, hear, number)
        except (NotImplementedError, RuntimeError, ValueError):
            # Not the main thread, or a platform without it: the default handlers stay.
            continue
        caught.append(number)
    try:
        yield
    finally:
        for number in caught:
            loop.remove_signal_handler(number)


@contextmanager
def handlers_restored() -> Iterator[None]:
    """Leave behind the signal handlers that were there: asyncio's own are the defaults."""
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            # One that Python did not set is None, and cannot be set by it.
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)


@contextmanager
def quiet_sdks() -> Iterator[None]:
    """Keep SDKs from logging requests: a URL or a header in a captured log may hold a key."""
    loggers = [logging.getLogger(name) for name in _TALKATIVE]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(max(logging.WARNING, logger.level))
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def in_event_loop() -> bool:
    """Whether this thread runs an event loop already, so that no other can be run in it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def ends_the_process(error: BaseException) -> bool:
    """Whether ``error`` is to end everything: an interruption, or this task's cancellation.

    What else is no Exception is somebody's word for a failure, as pytest.fail() is.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit)
