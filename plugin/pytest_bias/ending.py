"""The end of the process: whoever ends it at once, before the books are closed, ends it badly."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import pytest


def hold_exit(config: pytest.Config) -> Callable[[], None]:
    """Have ``os._exit(0)`` in this process say that there is no verdict, and exit with 1.

    Nothing can run after ``os._exit``, so no book would notice that a test called it. Processes
    forked from this one may end as they like. Returns what takes it back.
    """
    at_once, process = os._exit, os.getpid()

    def held(status: int) -> None:
        if os.getpid() == process and status == 0:
            captured = config.pluginmanager.get_plugin("capturemanager")
            if captured is not None:
                captured.suspend(in_=True)
            sys.stderr.write("NO VERDICT: something ended pytest with os._exit(0)\n")
            sys.stderr.flush()
            status = 1
        at_once(status)

    def let_go() -> None:
        os._exit = at_once

    os._exit = held  # type: ignore[assignment]
    return let_go
