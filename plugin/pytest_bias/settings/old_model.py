"""The old model a run is held against: a baseline file, or another model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BadSetting
from .options import OFF

if TYPE_CHECKING:
    from .given import Given

OPTION = "--bias-baseline"
FILE_SUFFIX = ".json"


def read_old(given: Given, models: Sequence[str]) -> str | None:
    """Return a path that exists, whole, or else a model's name as given; None where neither is.

    Paths on the command line are relative to where pytest was called, paths in ini to rootdir.

    Raises
    ------
    BadSetting
        When it cannot be held against at all: together with other baselines, with accepting, or
        a model against itself.
    """
    typed, value = given.is_typed("baseline"), given.text("baseline")
    if value in ("", OFF):
        return None
    if typed and given.is_typed("baselines"):
        raise given.refusal("baseline", "takes the place of --bias-baselines; give one of them")
    if given.is_typed("accept"):
        problem = (
            "does not go with --bias-accept: what is accepted is not held against anything; look "
            "at the comparison first, then accept"
        )
        raise given.refusal("baseline", problem)
    path = (given.invocation_dir if typed else given.rootdir) / value
    if names_file(path):
        return str(path)
    check_other(value, models)
    return value


def names_file(path: Path) -> bool:
    """Return true where a baseline file is there, or a link to one that may have to be fetched."""
    try:
        return path.suffix == FILE_SUFFIX and (path.is_file() or path.is_symlink())
    except OSError:  # a name no file can have, or a folder that may not be looked into
        return False


def check_other(old: str, models: Sequence[str]) -> None:
    """Refuse a model that is held against itself: only its accepted verdicts can be."""
    if old in models:
        problem = (
            "is the model under test itself, and would show what it shows; name its baseline "
            "file to hold it against what was accepted"
        )
        raise BadSetting(option=OPTION, value=old, problem=problem)
