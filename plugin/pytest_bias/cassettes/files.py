"""Files that are read only if they are files, and replaced in one step that a power cut keeps."""

from __future__ import annotations

import errno
import glob
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

from ..errors import FileProblem, NotReadable
from ..experiments.canonical import digest
from ..settings.given import is_place

_LFS_POINTER = b"version https://git-lfs."
_NO_FOLDER_SYNC = {
    *(errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.ENOSYS, errno.EPERM, errno.EBADF)
}
"""What systems say that keep no folders of their own on disk, or not for this user."""


def is_there(path: Path) -> bool:
    """Return whether anything stands at ``path``, be it a link that leads nowhere.

    Raises NotReadable when nobody can tell, because a folder above may not be looked into.
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise unread(path, error) from None
    return True


def read_file(path: Path) -> bytes | None:
    """The bytes of a file; None where nothing stands at ``path``.

    Raises NotReadable when something else stands there: a link that leads nowhere, a pointer to a
    file that was not fetched, a folder, a named pipe (which is never opened), or what may not be
    read.
    """
    if not is_there(path):
        return None
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            kind = "folder" if stat.S_ISDIR(mode) else "pipe, socket or device"
            problem = f"it cannot be read (a {kind} stands there, and no file)"
            raise NotReadable(path=path, problem=problem, hint="A file belongs there.")
        data = path.read_bytes()
    except FileNotFoundError:
        raise _dangling(path) from None
    except OSError as error:
        raise unread(path, error) from None
    if data.startswith(_LFS_POINTER):
        problem = "Git LFS left a pointer to the file here"
        hint = "git lfs pull fetches it, which costs nothing."
        raise NotReadable(path=path, problem=problem, hint=hint)
    return data


def _dangling(path: Path) -> NotReadable:
    target = path.readlink() if path.is_symlink() else Path("a file that has just gone")
    hint = "Fetch what it leads to, or restore it from version control, which costs nothing."
    problem = f"it is a link to {target}, where nothing is"
    return NotReadable(path=path, problem=problem, hint=hint)


def unread(path: Path, error: OSError) -> NotReadable:
    """The error for what this user may not read."""
    problem = f"it cannot be read ({error.strerror or error})"
    return NotReadable(path=path, problem=problem, hint="Let this user read it.")


def refuse_links(*paths: Path) -> None:
    """Raise FileProblem when one of ``paths``, which are to be written, is a link.

    NotReadable is raised of one that leads nowhere.

    What it leads to may belong to others (git-annex and DVC keep such files under the digest of
    their content), and replacing the link would leave them without what is written.
    """
    for path in paths:
        if path.is_symlink():
            if not path.exists():
                raise _dangling(path)
            target = path.readlink()
            hint = "Put the file itself there (a folder may be a link)"
            problem = f"is a link to {target}, and nothing is written through or instead of one"
            raise FileProblem(path=path, problem=problem, hint=f"{hint}; then run again")


def sync_folder(folder: Path) -> None:
    """Have the names in ``folder`` on disk: new, changed and removed ones alike."""
    if os.name == "nt":  # it opens no folders, and keeps names by itself
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, each with its name on disk."""
    new = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in new:
        sync_folder(each.parent)


@contextmanager
def alone(file: Path, *, timeout: float, stays: bool = False) -> Iterator[None]:
    """Hold a lock file; Timeout where another process does for ``timeout`` seconds.

    It is gone afterwards, and so is its folder when nothing else is in it. Where it ``stays`` it
    is there still, beside whatever else is.
    """
    from filelock import FileLock  # noqa: PLC0415  (only where something is written)

    make_folder(file.parent)
    lock = FileLock(file)
    lock.acquire(timeout=timeout)
    try:
        yield
    finally:
        # While it is held: whoever opened it before finds it unlinked, and tries again.
        with suppress(OSError):
            if not stays or list(file.parent.iterdir()) == [file]:
                file.unlink()
        lock.release()
        with suppress(OSError):
            file.parent.rmdir()  # only when it is empty


def write_atomically(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Replace ``path`` by ``data``: a reader sees the old file or the new one, never a part.

    When this returns the new one is on disk, under its name. A pipe or device is written
    to, and stays what it is.
    """
    if not is_place(path):
        with path.open("wb") as there:
            there.writelines([data] if isinstance(data, bytes) else data)
        return
    make_folder(path.parent)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines([data] if isinstance(data, bytes) else data)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)
    sync_folder(path.parent)


def backup_of(path: Path, word: str) -> Path:
    """Keep a copy of a file under its name, ``word`` and a part of its digest; where it is."""
    data = path.read_bytes()
    aside = path.with_name(f"{path.name}.{word}-{digest(data)[:8]}")
    write_atomically(aside, data)
    return aside


def remove_leftovers(path: Path) -> None:
    """Remove what a process that was killed while it wrote ``path`` left of it.

    Only for who holds the cassette's lock: nobody else is writing.
    """
    for left in path.parent.glob(f".{glob.escape(path.name)}.*"):
        left.unlink(missing_ok=True)


def append_whole(file: FileIO, data: bytes) -> None:
    """Append ``data`` to an unbuffered file and sync it: all of it, or nothing and OSError."""
    end = file.seek(0, os.SEEK_END)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) or 0 :]
        os.fsync(file.fileno())
    except OSError:
        with suppress(OSError):
            file.truncate(end)
        raise


def open_journal(journal: Path) -> FileIO:
    """A journal to append to, without the half line a killed recording may have left.

    Its name is on disk before anything is written to it.
    """
    make_folder(journal.parent)
    file = journal.open("a+b", buffering=0)
    sync_folder(journal.parent)
    file.seek(0)
    whole, separator, rest = file.read().rpartition(b"\n")
    if rest:
        file.truncate(len(whole) + len(separator))
    return file
