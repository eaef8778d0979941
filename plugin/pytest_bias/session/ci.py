"""What a run tells the CI service it runs in: a summary of the job, and what fails where."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from ..report.annotations import FileLine, annotations_of, commands

if TYPE_CHECKING:
    from ..report.view import RunView
    from ..verdicts.verdict import HypothesisName
    from .state import State


def add_to_job_summary(path: Path, text: str) -> tuple[str, ...]:
    """Add ``text`` to the file a CI service shows beside a job; says why it could not.

    What other steps have written stays.
    """
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(f"\n{text}\n")
    except OSError as error:
        return (f"the job's summary was not written: {error.strerror or error}",)
    return ()


def workflow_commands(state: State, view: RunView) -> Iterator[str]:
    """The workflow commands of a run."""
    found = annotations_of(view, dict(_places(state)), today=state.settings.today)
    yield from commands(found)


def _places(state: State) -> Iterator[tuple[HypothesisName, FileLine]]:
    """Where the functions of hypotheses and controls stand, as seen from the repository's root."""
    prefix = below_repository(state.config.rootpath, state.settings.environ)
    for case, result in sorted(state.ledger.results.items()):
        if result.id and case in state.ledger.places:
            file, line = state.ledger.places[case]
            yield result.named, (PurePath(os.path.normpath(prefix / file)).as_posix(), line)


def below_repository(root: Path, environ: Mapping[str, str]) -> PurePath:
    """A folder as seen from the root of the repository it is in, or of the job's workspace."""
    for folder in (root, *root.parents):
        if (folder / ".git").exists():
            return root.relative_to(folder)
    workspace = environ.get("GITHUB_WORKSPACE")
    if workspace and root.is_relative_to(workspace):
        return root.relative_to(workspace)
    return PurePath()
