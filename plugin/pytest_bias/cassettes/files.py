"""Files that are replaced in one step."""

from __future__ import annotations

import glob
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path


def write_atomically(path: Path, data: bytes | Iterable[bytes], mode: int | None = None) -> None:
    """Replace ``path`` by ``data``: a reader sees the old file or the new one, never a part.

    ``mode`` are the permissions of the new file: the usual ones unless given.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines([data] if isinstance(data, bytes) else data)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask if mode is None else mode)
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)


def remove_leftovers(path: Path) -> None:
    """Remove what a process that was killed while it wrote ``path`` left of it.

    Only for who holds the cassette's lock: nobody else is writing.
    """
    for left in path.parent.glob(f".{glob.escape(path.name)}.*"):
        left.unlink(missing_ok=True)
