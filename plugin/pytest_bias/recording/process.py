"""The process a recording runs in, for as long as it runs: signals, loggers."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TypeVar

from .held_signals import HANGUP, SIGNALS

_T = TypeVar("_T")

_LISTENING: ContextVar[list[Callable[[], object]] | None] = ContextVar("listening", default=None)
"""Where a recording in another thread than the main one says how a signal is told to it."""

_TALKATIVE = ("anthropic", "google_genai", "httpcore2", "httpx2", "openai")
"""Loggers of the SDKs and what they call through."""


@contextmanager
def signals_told(
    tell: Callable[[], None], afterwards: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """Have SIGINT, SIGTERM and SIGHUP call ``tell``, inside the running event loop.

    A SIGHUP calls it only as the first of them: a terminal that ends sends several, and none is
    anybody's word that nothing should be waited for. Where it is ignored (nohup) it stays so.
    ``afterwards`` is called when they have the default handlers again.
    """
    loop = asyncio.get_running_loop()
    caught = []
    heard: set[signal.Signals] = set()

    def hear(number: signal.Signals) -> None:
        if number in HANGUP and heard:
            return
        heard.add(number)
        tell()

    for number in SIGNALS:
        if number in HANGUP and signal.getsignal(number) is signal.SIG_IGN:
            continue
        try:
            loop.add_signal_handler(number, hear, number)
        except (NotImplementedError, RuntimeError, ValueError):
            # Not the main thread, or a platform without it: the default handlers stay.
            continue
        caught.append(number)
    if not caught and (listening := _LISTENING.get()) is not None:
        listening.append(lambda: loop.call_soon_threadsafe(hear, signal.SIGINT))
    try:
        yield
    finally:
        for number in caught:
            loop.remove_signal_handler(number)
        afterwards()


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


def apart(work: Callable[[], _T]) -> _T:
    """Do ``work``, which records; beside an event loop (a notebook's) in a thread of its own.

    An interruption is told to it there as a signal is here.
    """
    if not in_event_loop():
        return work()
    listening: list[Callable[[], object]] = []
    context = copy_context()
    context.run(_LISTENING.set, listening)
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(context.run, work)
        while True:
            try:
                return done.result()
            except KeyboardInterrupt:
                if done.done() or not listening:
                    raise
                listening[-1]()


def in_event_loop() -> bool:
    """Return whether this thread runs an event loop, so that no other can be run in it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def ends_the_process(error: BaseException) -> bool:
    """Return whether ``error`` ends everything: an interruption, or this task's cancellation.

    What else is no Exception is somebody's word for a failure, as pytest.fail() is.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit)
