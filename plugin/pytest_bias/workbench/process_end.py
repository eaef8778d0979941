"""Exit status of a process that is ended with ``os._exit(0)``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable


def hold_exit(due: Callable[[], int]) -> Callable[[], None]:
    """Have ``os._exit(0)`` in this process exit with the pending status, and print that.

    Nothing can run after ``os._exit``, so a test that calls it would end a session with success.
    Forked processes are left alone. Returns the function that undoes it.
    """
    original, process = os._exit, os.getpid()

    def exit_with_status(status: int) -> None:
        if os.getpid() == process and status == 0 and (instead := due()):
            sys.stderr.write(f"the process was ended with os._exit(0): exit status {instead}\n")
            sys.stderr.flush()
            status = instead
        original(status)

    def restore() -> None:
        os._exit = original

    os._exit = exit_with_status  # type: ignore[assignment]
    return restore
