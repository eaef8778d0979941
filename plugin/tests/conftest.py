"""What holds for all tests of the plugin."""

from __future__ import annotations

import gc
import signal

import pytest


@pytest.fixture(scope="session", autouse=True)
def heard() -> None:
    """Let signals be heard that nohup, a shell's background or a CI service has ignored."""
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module", autouse=True)
def spared() -> None:
    """Spare full collections of garbage what was there before the tests of a module.

    Each recording ends with one, and each run of pytest with five: going through all that has
    been imported takes a quarter of a second each time.
    """
    gc.collect()
    gc.freeze()
