"""What holds for all tests of the plugin."""

from __future__ import annotations

import signal

import pytest


@pytest.fixture(scope="session", autouse=True)
def heard() -> None:
    """Let SIGHUP be heard, which is ignored under nohup and by some CI services."""
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
