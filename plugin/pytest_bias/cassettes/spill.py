"""Replies whose journal cannot be written: kept in the temporary folder for the next recording."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from stat import S_ISREG

from ..experiments.canonical import digest
from .files import append_whole, open_journal

_DIGITS = 16


def spill_path(journal: Path) -> Path:
    """Where replies for ``journal`` wait: a name of its own for every journal."""
    name = f"pytest-bias-replies-{digest(str(journal.resolve()))[:_DIGITS]}.jsonl"
    return Path(tempfile.gettempdir(), name)


def spill(journal: Path, data: bytes) -> Path | None:
    """Append what ``journal`` cannot take, readable by this user alone; None where that fails too.

    Nothing of it is written where not all of it can be.
    """
    path = spill_path(journal)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _NO_LINK, mode=0o600)
    except OSError:
        return None
    with os.fdopen(handle, "ab", buffering=0) as file:
        if not _is_ours(handle):
            return None
        try:
            append_whole(file, data)
        except OSError:
            return None
    return path


def take_over(journal: Path) -> bool:
    """Append what waits for ``journal`` to it, and remove it there; True if there was anything.

    Raises OSError where the journal still cannot be written: then all of it goes on waiting.
    """
    path = spill_path(journal)
    try:
        handle = os.open(path, os.O_RDONLY | _NO_LINK)
    except OSError:
        return False
    with os.fdopen(handle, "rb") as file:
        if not _is_ours(handle):
            return False
        data = file.read()
    with open_journal(journal) as journal_file:
        append_whole(journal_file, data)
    path.unlink()
    return True


_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


def _is_ours(handle: int) -> bool:
    """True for a file of this user's: the temporary folder belongs to everybody."""
    status = os.fstat(handle)
    owner = getattr(os, "getuid", lambda: status.st_uid)()
    return S_ISREG(status.st_mode) and status.st_uid == owner
