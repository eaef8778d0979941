"""The end of the process: nobody else's ``os._exit(0)`` may end it well."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable


def hold_exit(due: Callable[[], int]) -> Callable[[], None]:
    """Have ``os._exit(0)`` in this process exit with the status that is due, and say so.

    Nothing can run after ``os._exit``, so no book would notice that a test called it. Processes
    forked from this one may end as they like. Returns what takes it back.
    """
    at_once, process = os._exit, os.getpid()

    def held(status: int) -> None:
        if os.getpid() == process and status == 0 and (instead := due()):
            sys.stderr.write(f"the process was ended with os._exit(0): exit status {instead}\n")
            sys.stderr.flush()
            status = instead
        at_once(status)

    def let_go() -> None:
        os._exit = at_once

    os._exit = held  # type: ignore[assignment]
    return let_go
