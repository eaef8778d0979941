"""What holds for all tests of the plugin."""

from __future__ import annotations

import signal

import pytest


@pytest.fixture(scope="session", autouse=True)
def heard() -> None:
    """Let signals be heard that nohup, a shell's background or a CI service has ignored."""
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
