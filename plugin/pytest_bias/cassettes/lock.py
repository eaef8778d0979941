"""One recorder at a time for each cassette."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from ..errors import CassetteBusy
from .files import make_folder

LOCK_SUFFIX = ".lock"


@contextmanager
def recording_lock(path: Path, *, stays: bool = True) -> Iterator[None]:
    """Hold a cassette for recording; CassetteBusy when another process does.

    The lock file stands beside the cassette, so that every process that could write the one meets
    the other. It stays behind, empty, unless nothing was recorded: then its folder goes with it.
    Without ``stays`` it goes as well, unless it was there before.
    """
    make_folder(path.parent)
    file = path.with_name(path.name + LOCK_SUFFIX)
    stays = stays or file.exists()
    lock = FileLock(file)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise CassetteBusy(path=path) from None
    try:
        yield
    finally:
        # While it is held: whoever opened it before finds it unlinked, and tries again.
        with suppress(OSError):
            if not stays or list(path.parent.iterdir()) == [file]:
                file.unlink()
        lock.release()
        with suppress(OSError):
            path.parent.rmdir()  # only when it is empty
