"""The folder that all processes of a session share, and those that killed sessions left.

Loaded in every controller of xdist, so it imports nothing heavy.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_NAME = "pytest-bias-"
_HELD = f"{_NAME}held-"


def hold_folder() -> tuple[Path, int | None]:
    """Make a folder that is seen to be in use until its handle is closed, or this process ends.

    Where no folder can be locked (Windows, some network drives) there is no handle, and perhaps no
    folder yet; it has a name that nobody else removes.
    """
    base, name = Path(tempfile.gettempdir()), os.urandom(16).hex()
    plain, held = base / f"{_NAME}{name}", base / f"{_HELD}{name}"
    if sys.platform != "win32":
        with suppress(OSError):
            plain.mkdir(mode=0o700)
            handle = os.open(plain, os.O_RDONLY)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                plain.rename(held)  # it has the name by which it is looked for when it is locked
            except OSError:
                os.close(handle)
                raise
            return held, handle
    return plain, None


def remove_unheld() -> None:
    """Remove the folders of sessions that were killed: nobody holds their lock any more."""
    if sys.platform == "win32":
        return
    for path in Path(tempfile.gettempdir()).glob(f"{_HELD}*"):
        with suppress(OSError):  # it is another user's, or the session lives
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(handle)
