"""Results and page of an earlier run, while this one goes on."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..settings.given import is_place

if TYPE_CHECKING:
    from .state import State


def set_aside(state: State) -> list[tuple[Path, Path]]:
    """Rename the results and the page of an earlier run while this one goes on.

    A process that is replaced or ended without Python leaves none that would be taken for its own.
    """
    moved = []
    for path in (state.settings.results, state.settings.report):
        if path is None or not is_place(path):
            continue
        hidden = path.with_name(f".{path.name}.earlier")
        with suppress(OSError):  # where nothing can be renamed, nothing can be written either
            if path.is_file():
                path.replace(hidden)
            if hidden.is_file():  # as of a process that ended so
                moved.append((path, hidden))
    return moved


def bring_back(moved: Iterable[tuple[Path, Path]]) -> None:
    """Give what was set aside its name again, where this run has written nothing there."""
    for path, hidden in moved:
        with suppress(OSError):
            hidden.unlink() if path.exists() else hidden.rename(path)
