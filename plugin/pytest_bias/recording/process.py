"""The process a recording runs in, for as long as it runs: signals, loggers."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from typing import TypeVar

from .held_signals import HANGUP, SIGNALS

_T = TypeVar("_T")

_INTERRUPTS: ContextVar[list[Callable[[], object]] | None] = ContextVar("interrupts", default=None)
"""Where a recording in another thread than the main one puts what interrupts it."""

_TALKATIVE = ("anthropic", "google_genai", "httpcore2", "httpx2", "openai")
"""Loggers of the SDKs and what they call through."""


@contextmanager
def on_signals(call: Callable[[], None], afterwards: Callable[[], None]) -> Iterator[None]:
    """Have SIGINT, SIGTERM and SIGHUP ``call``, inside the running event loop.

    A SIGHUP does only as the first of them: a terminal that ends sends several, and none means
    that nothing should be waited for. Where it is ignored (nohup) it stays so. ``afterwards`` is
    called when they have the default handlers again.
    """
    loop = asyncio.get_running_loop()
    handled = []
    came: set[signal.Signals] = set()

    def handle(number: signal.Signals) -> None:
        if number not in HANGUP or not came:
            came.add(number)
            call()

    for number in SIGNALS:
        if number in HANGUP and signal.getsignal(number) is signal.SIG_IGN:
            continue
        # Not the main thread, or a platform without it: the default handlers stay.
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, handle, number)
            handled.append(number)
    if not handled and (interrupts := _INTERRUPTS.get()) is not None:
        interrupts.append(lambda: loop.call_soon_threadsafe(handle, signal.SIGINT))
    try:
        yield
    finally:
        for number in handled:
            loop.remove_signal_handler(number)
        afterwards()


@contextmanager
def quiet_sdks() -> Iterator[None]:
    """Keep SDKs from logging requests: a URL or a header in a captured log may hold a key.

    Google's also warns that it takes another key than it is given.
    """
    loggers = [logging.getLogger(name) for name in _TALKATIVE]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(max(logging.ERROR, logger.level))
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def apart(work: Callable[[], _T]) -> _T:
    """Do ``work``, which records; beside an event loop (a notebook's) in a thread of its own.

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
    """Return whether this thread runs an event loop, so that no other can be run in it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def ends_the_process(error: BaseException) -> bool:
    """Return whether ``error`` ends everything: an interruption, or this task's cancellation.

    What else is no Exception stands for a failure, as pytest.fail() does.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit)
