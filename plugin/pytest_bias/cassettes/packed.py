"""Packing the file of a cassette, unpacking and pruning it: the old one goes last, or stays."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path

from ..errors import NoCassette, NotRepacked, TwoCassettes
from ..experiments.canonical import digest
from .files import is_there, read_file, refuse_links, remove_leftovers, write_atomically
from .places import content, journals_of, packed_path, place_of, write_content
from .recorder import recording_lock
from .store import Cassette, write_cassette


@dataclass(frozen=True, slots=True, kw_only=True)
class Repacked:
    """A cassette that was packed or unpacked: the file that is there now, and its size in bytes.

    ``before`` is the size of the file that was there; None when it was as it should be already.
    """

    path: Path
    before: int | None
    after: int


def pack(path: Path) -> Repacked:
    """Pack the cassette at ``path``, of whose two names either may be given.

    Raises NoCassette when nothing stands there. Raises NotRepacked when a recording of it has not
    come to its end, it is too large, or what was written does not read back. Raises CassetteBusy
    when another process records into it. Raises DamagedCassette when it is not what was written.
    Raises TwoCassettes when it stands there plain and packed, and the two differ.
    """
    place = place_of(path)
    return _exchange(place, old=place, new=packed_path(place))


def unpack(path: Path) -> Repacked:
    """Unpack the cassette at ``path``, of whose two names either may be given.

    Raises NoCassette, NotRepacked, CassetteBusy, DamagedCassette or TwoCassettes as :func:`pack`.
    """
    place = place_of(path)
    return _exchange(place, old=packed_path(place), new=place)


def prune(place: Path, keys: frozenset[str]) -> Path:
    """Remove ``keys`` from the cassette at ``place``; the copy that is kept of it as it was.

    Raises NotRepacked where a recording of it has not come to its end, or nothing would be removed
    or left.
    Raises CassetteBusy, DamagedCassette or LinkedFile as :func:`pack`.
    """
    with recording_lock(place, stays=False):
        _refuse_journals(place)
        refuse_links(place, packed_path(place))
        cassette = Cassette(place)
        before = read_file(cassette.path) or b""
        if cassette.header is None or not keys or not cassette.keys - keys:
            problem = (
                "what no design asks for in it is of trials that are not recorded whole, and what "
                "else those ask nobody knows; record what is missing (--bias-record=missing), or "
                "give the suite, the judge and the roster it was recorded with"
                if not keys
                else "no design asks for anything in it, so the suite, the judge or the roster is "
                "another than it was recorded with; remove the file yourself if you mean it"
            )
            raise NotRepacked(path=cassette.path, problem=problem)
        aside = cassette.path.with_name(f"{cassette.path.name}.before-{digest(before)[:8]}")
        write_atomically(aside, before)
        cassette.without(keys)
        header = cassette.header
        write_cassette(cassette, header.experiment, header.model, header.provenance)
        return aside


def _exchange(place: Path, *, old: Path, new: Path) -> Repacked:
    """Have ``new`` stand at ``place`` instead of ``old``."""
    if not (is_there(old) or is_there(new)):
        raise NoCassette(path=place, problem="there is no such file, plain or packed")
    with recording_lock(place, stays=False):
        _refuse_journals(place)
        refuse_links(old, new)
        remove_leftovers(place)
        if not is_there(old):
            Cassette(place)
            return Repacked(path=new, before=None, after=new.stat().st_size)
        text = content(old)
        before = old.stat()
        if not is_there(new):
            Cassette(place)
            write_content(new, [text], stat.S_IMODE(before.st_mode))
            if content(new) != text:
                new.unlink()
                raise NotRepacked(path=old, problem=f"{new.name} does not read back as written")
        elif content(new) != text:
            raise TwoCassettes(plain=place, packed=packed_path(place))
        old.unlink()  # the new name is on disk
        return Repacked(path=new, before=before.st_size, after=new.stat().st_size)


def _refuse_journals(place: Path) -> None:
    """A journal is part of a cassette, and who writes it may not hold the lock."""
    for journal, mode in zip(journals_of(place), ("missing", "all"), strict=True):
        if is_there(journal):
            raise NotRepacked(
                path=place,
                problem=f"{journal.name} beside it is left of a recording that has not come to "
                f"its end; finish that with --bias-record={mode}",
            )
