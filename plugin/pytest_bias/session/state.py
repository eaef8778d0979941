"""Knowledge one process has of its session; passive, and below all that works with it.

Loaded in every pytest run, so it imports nothing heavy: the rest comes in when it is asked for.
"""

from __future__ import annotations

import os
import tempfile
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .ledger import Ledger
from .options import settings_of

if TYPE_CHECKING:
    from ..errors.said import Said
    from ..settings.settings import Settings
    from .suite import Suite
    from .workspace import Workspace

WORKER_KEY = "pytest_bias_workspace"


class State:
    """The books of a session and what was asked of it, in one process.

    ``refused`` says why nothing is run; ``interrupted`` is whether a signal ended its recording.
    ``unfinished`` says why modules and folders were not imported to their end, by node id, in an
    empty text for an error that pytest shows itself.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.ledger = Ledger()
        self.is_worker = hasattr(config, "workerinput")
        self.interrupted = False
        self.refused = ""
        self.unfinished: dict[str, str] = {}

    @cached_property
    def said(self) -> Said:
        """Words of the session's steps so far; :meth:`.BiasSession.hear` adds to them."""
        from ..errors.said import Said  # noqa: PLC0415  (nothing is imported without cases)

        return Said()

    @cached_property
    def folder(self) -> Path:
        """The folder all processes of the session share; named here, made when it is needed."""
        if self.is_worker:
            return Path(self.config.workerinput[WORKER_KEY])  # type: ignore[attr-defined]
        return Path(tempfile.gettempdir(), f"pytest-bias-{os.urandom(16).hex()}")

    @property
    def has_folder(self) -> bool:
        """True where any process has made the shared folder."""
        return "folder" in vars(self) and self.folder.exists()

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
    def concerned(self) -> bool:
        """True where this session has to do with bias at all."""
        return self.ledger.concerned or bool("said" in vars(self) and self.said.problems)

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
