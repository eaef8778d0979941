"""The end of the process: whoever ends it before the books are closed, or well, ends it badly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

if TYPE_CHECKING:
    from .state import State


class ExitStatus:
    """The exit status of a run of cases: never 0 while its books are open, or where they say so.

    ``session`` is None where no test is run; ``final`` is what the books came to.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self.phase: Literal["collecting", "running", "closed"] = "collecting"
        self.session: pytest.Session | None = None
        self.final: int | None = None

    def end_with(self, session: pytest.Session, status: int) -> None:
        """Have ``session`` end with what its books came to."""
        session.exitstatus = self.final = status

    def status_of(self, status: int) -> int:
        """Return what a run ends with that is about to end with ``status``."""
        if status != pytest.ExitCode.OK or self.session is None:
            return status
        if self.final is None and self.state.has_cases:
            return int(pytest.ExitCode.TESTS_FAILED)
        return self.final or status

    def status_now(self) -> int:
        """The exit status of a process that ends now: 0 only where no book is open."""
        if self.state.is_worker:
            return 0  # its controller misses it
        if self.phase == "closed" or (self.phase == "running" and not self.state.has_cases):
            return self.status_of(0)
        captured = self.state.config.pluginmanager.get_plugin("capturemanager")
        if captured is not None:
            captured.suspend(in_=True)
        return int(pytest.ExitCode.TESTS_FAILED)
