"""State of a session in one process: selected and reported cases, settings, exit status.

Selected cases are compared with reported ones: a run in which one is missing gives no verdict.
Loaded in every controller of xdist, so it imports nothing heavy.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from .options import settings_of

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from ..errors import Diagnostics
    from ..recording.signals import DeferredSignals
    from ..settings.settings import Settings
    from .suite import Suite
    from .workspace import CaseReport, Workspace

CASE = "bias_case"
"""Report property that names the case; set when it is collected."""

RESULT = "bias_result"
"""Report property with what a case found, a :class:`.CaseReport`."""

SEEN = "bias_seen"
"""Report property with the outcome as the plugin left it: what comes after may not better it."""

NOT_RECORDED = "bias_not_recorded"
"""Report property with the explanation of what is not recorded."""

WORKER_KEY = "pytest_bias_workspace"
"""Key under which a worker of xdist is given the shared folder."""

_FOLDER = re.compile(r"pytest-bias-session-[0-9a-f]{32}")
_FINAL_SETUPS = ("skipped", "xfailed")
_WELL = ("passed", "skipped", "xfailed", "xpassed")


@dataclass(slots=True)
class ReportedCases:
    """Selected cases and what was reported of them, as the process that decides sees it.

    ``outcomes`` holds pytest's words: passed, failed, skipped, xfailed, xpassed. ``unselected``
    names cases that were not selected. ``bettered`` are cases whose report was "failed" when the
    plugin let it go, and no more when it arrived; ``damaged`` has, by case, why its result cannot
    be read. ``failures`` is what failed and is no case, in the order it did.
    """

    selected: list[str] = field(default_factory=list)
    unselected: list[str] = field(default_factory=list)
    outcomes: dict[str, str] = field(default_factory=dict)
    results: dict[str, CaseReport] = field(default_factory=dict)
    damaged: dict[str, str] = field(default_factory=dict)
    not_recorded: dict[str, str] = field(default_factory=dict)
    bettered: set[str] = field(default_factory=set)
    failures: dict[str, None] = field(default_factory=dict)

    def add(self, report: pytest.TestReport) -> None:
        """Add a report; a failure stays one.

        A case is final with its call, or with a set-up that did not pass, unless its tear-down
        fails. An attempt that is to be rerun ("rerun") is never final.
        """
        outcome: str = report.outcome
        if hasattr(report, "wasxfail") and outcome in ("skipped", "passed"):
            outcome = "xfailed" if outcome == "skipped" else "xpassed"
        found = _texts(getattr(report, "user_properties", ()))
        case = found.get(CASE)
        if case is None and outcome == "failed":
            self.failures[report.nodeid] = None
        if case is None or outcome == "rerun":
            return
        final = report.when == "call" or (report.when == "setup" and outcome in _FINAL_SETUPS)
        if outcome == "failed" or (final and self.outcomes.get(case) != "failed"):
            self.outcomes[case] = outcome
        if found.get(SEEN) == "failed" and outcome in _WELL:
            self.bettered.add(case)
        elif final:
            self.bettered.discard(case)
        if NOT_RECORDED in found:
            self.not_recorded[case] = found[NOT_RECORDED]
        if report.when == "call" and RESULT in found:
            self._read(case, found[RESULT])

    def _read(self, case: str, text: str) -> None:
        """Read a result: the last one, if the case ran again."""
        from ..errors import BadJSON  # noqa: PLC0415  (only with cases)
        from .workspace import case_report  # noqa: PLC0415

        self.results.pop(case, None)
        self.damaged.pop(case, None)
        try:
            self.results[case] = case_report(text)
        except BadJSON as damaged:
            self.damaged[case] = (
                f"what it found cannot be read: {damaged}. All processes of a run need the same "
                "pytest-bias, and no other plugin may change what its reports say."
            )

    @property
    def lost(self) -> tuple[str, ...]:
        """Selected cases without a usable report, sorted.

        One that did not fail and has no result is among them, whether it passed or was skipped:
        nothing was tested.
        """
        return tuple(
            sorted(
                case
                for case in self.selected
                if self.outcomes.get(case) != "failed"
                and (case not in self.outcomes or case not in self.results)
            )
        )

    @property
    def stopped(self) -> tuple[str, ...]:
        """Cases that the gate stopped, sorted."""
        return tuple(sorted(case for case, result in self.results.items() if result.stopped))

    @property
    def overruled(self) -> tuple[str, ...]:
        """Cases that failed or that the gate stopped, and were reported otherwise, sorted."""
        let = {c for c in self.stopped if self.outcomes.get(c) not in ("failed", "xfailed")}
        return tuple(sorted(let | self.bettered))

    @property
    def broken(self) -> tuple[str, ...]:
        """Cases that failed by themselves and not by the gate, sorted."""
        return tuple(
            sorted(
                case
                for case, outcome in self.outcomes.items()
                if outcome == "failed"
                and not (case in self.results and self.results[case].stopped)
            )
        )

    @property
    def has_cases(self) -> bool:
        """True if there are cases in this session."""
        return bool(self.selected or self.outcomes)


def _texts(properties: Iterable[object]) -> dict[str, str]:
    """The properties that are pairs of texts; tests may have put anything among them."""
    pairs = [p for p in properties if isinstance(p, tuple | list) and len(p) == 2]  # noqa: PLR2004
    return {
        name: value for name, value in pairs if isinstance(name, str) and isinstance(value, str)
    }


def _remove_left_folders() -> None:
    """Remove the shared folders of killed sessions, which hold replies: none holds their lock."""
    if sys.platform == "win32":
        return
    for path in Path(tempfile.gettempdir()).glob("pytest-bias-session-*"):
        if _FOLDER.fullmatch(path.name) is None:  # it is not ours, whatever it is
            continue
        with suppress(OSError):  # of another user, or of a session that lives
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(handle)


class State:
    """A session in one process.

    ``refused`` says why nothing is run; ``interrupted`` is true where a signal ended its
    recording. ``unfinished`` has, by node id, why modules and folders were not imported to their
    end; it is empty for an error that pytest shows itself. ``session`` is None where no test is
    run; ``final`` is the exit status that the result gives, None before it is known.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.moved: list[tuple[Path, Path]] = []
        self.reported = ReportedCases()
        self.is_worker = hasattr(config, "workerinput")
        self.interrupted = False
        self.refused = ""
        self.phase: Literal["collecting", "running", "closed"] = "collecting"
        self.session: pytest.Session | None = None
        self.final: int | None = None
        self.unfinished: dict[str, str] = {}

    @cached_property
    def diagnostics(self) -> Diagnostics:
        """Notes and problems of the session's steps so far; :meth:`add` adds to them."""
        from ..errors import Diagnostics  # noqa: PLC0415  (nothing is imported without cases)

        return Diagnostics()

    def add(self, *, notes: Iterable[str] = (), errors: Iterable[str] = ()) -> None:
        """Add notes and errors of a step."""
        self.diagnostics = replace(
            self.diagnostics,
            notes=tuple(dict.fromkeys((*self.diagnostics.notes, *notes))),
            errors=tuple(dict.fromkeys((*self.diagnostics.errors, *errors))),
        )

    @cached_property
    def signals(self) -> DeferredSignals:
        """Signals that are held while the reports are written."""
        from ..recording.signals import DeferredSignals  # noqa: PLC0415  (only with cases)

        return DeferredSignals()

    @cached_property
    def folder(self) -> Path:
        """The folder all processes of the session share, once one of them keeps something."""
        if self.is_worker:
            return Path(self.config.workerinput[WORKER_KEY])  # type: ignore[attr-defined]
        _remove_left_folders()
        path = Path(tempfile.gettempdir(), f"pytest-bias-session-{os.urandom(16).hex()}")
        if sys.platform != "win32":
            # Locked until this process ends, however it does, and only then called as those are
            # that are removed where no lock is held.
            hidden = path.with_name(f".{path.name}")
            hidden.mkdir(mode=0o700)
            self._folder_handle = os.open(hidden, os.O_RDONLY)
            fcntl.flock(self._folder_handle, fcntl.LOCK_EX)
            hidden.rename(path)
        return path

    @property
    def has_folder(self) -> bool:
        """True if any process has put something into the shared folder."""
        return "folder" in vars(self) and any(self.folder.glob("*"))

    def remove_folder(self) -> None:
        """Remove the shared folder and all in it."""
        if "folder" in vars(self):
            shutil.rmtree(self.folder, ignore_errors=True)

    @cached_property
    def workspace(self) -> Workspace:
        """Contents of the shared folder."""
        from .workspace import Workspace  # noqa: PLC0415  (pydantic and more: only with cases)

        return Workspace(self.folder)

    @cached_property
    def settings(self) -> Settings:
        """The settings as given; BadSetting for a bad one."""
        return settings_of(self.config)

    @cached_property
    def suite(self) -> Suite:
        """The files of the suites that were asked for; looked for once."""
        from .suite import Suite  # noqa: PLC0415  (only where bias has to do with it)

        return Suite(self.config)

    @property
    def has_cases(self) -> bool:
        """True if this session has to do with bias at all."""
        return self.reported.has_cases or bool(
            "diagnostics" in vars(self) and self.diagnostics.errors
        )

    def shown(self, path: Path) -> str:
        """A path as the user would write it: relative to where pytest was called, if below."""
        here = self.config.invocation_params.dir
        return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)

    def portable(self, problem: str) -> str:
        """A problem with the files as seen from rootdir: the same on every machine."""
        root = self.config.rootpath
        for folder in (self.settings.cassettes, self.settings.baselines):
            if folder is not None:
                shown = folder.relative_to(root) if folder.is_relative_to(root) else folder.name
                problem = problem.replace(str(folder), str(shown))
        return problem

    # --- the exit status ----------------------------------------------------------------------

    def end_with(self, session: pytest.Session, status: int) -> None:
        """Have ``session`` end with ``status``."""
        session.exitstatus = self.final = status

    def status_of(self, status: int) -> int:
        """The status of a run that is about to end with ``status``: never 0 without a result."""
        if status != pytest.ExitCode.OK or self.session is None:
            return status
        if self.final is None and self.has_cases:
            return int(pytest.ExitCode.TESTS_FAILED)
        return self.final or status

    def status_now(self) -> int:
        """The status of a process that ends now: 0 only where the result is known."""
        if self.is_worker:
            return 0  # its controller misses it
        if self.phase == "closed" or (self.phase == "running" and not self.has_cases):
            return self.status_of(0)
        captured = self.config.pluginmanager.get_plugin("capturemanager")
        if captured is not None:
            captured.suspend(in_=True)
        return int(pytest.ExitCode.TESTS_FAILED)
