"""Paths of cassettes as they are given to commands, and shown by them."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from os.path import realpath
from pathlib import Path

from ..cassettes.files import is_there, unread
from ..cassettes.places import PACKED_SUFFIX, SUFFIX, begun_in, packed_path, place_of
from ..errors import NoCassette

_BETWEEN = "--"  # <provider>--<model>
_ENDS = (SUFFIX, SUFFIX + PACKED_SUFFIX)
_NO_FOLDER = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}
"""What is said of a link that leads to no folder: to a file, nowhere or to itself."""


def from_here(path: Path) -> str:
    """A path as seen from here, if it is below."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def places_of(given: Path) -> Iterator[Path]:
    """The places of the cassettes a path stands for, those of which only a journal is there too.

    Raises NoCassette when it stands for none. Raises NotReadable when a folder may not be looked
    into.
    """
    if is_there(given) and given.is_dir():
        found = [
            place
            for folder in _folders(given)
            for place in begun_in(folder)
            if _BETWEEN in place.name
        ]
        if not found:
            raise NoCassette(path=given, problem="no cassette stands in this folder")
        yield from found
        return
    if not (given.name.endswith(_ENDS) and _BETWEEN in given.name):
        problem = f"one is called <provider>{_BETWEEN}<model>{SUFFIX} (or …{_ENDS[1]})"
        raise NoCassette(path=given, problem=problem)
    place = place_of(given)
    if not (is_there(place) or is_there(packed_path(place))):
        raise NoCassette(path=given, problem="there is no such file")
    yield place


def _folders(given: Path) -> Iterator[Path]:
    """A folder and all below it, through links as well: each once, by its own name if it has one.

    What is linked comes after all else.
    """
    seen: set[str] = set()
    own, linked = [given], list[Path]()
    while own or linked:
        folder = (own or linked).pop()
        if (real := realpath(folder)) in seen:
            continue
        seen.add(real)
        try:
            with os.scandir(folder) as found:
                below = sorted(found, key=lambda each: each.name, reverse=True)
        except OSError as error:
            if folder.is_symlink() and error.errno in _NO_FOLDER:
                continue
            raise unread(folder, error) from None
        yield folder
        own += [Path(each) for each in below if each.is_dir(follow_symlinks=False)]
        linked += [Path(each) for each in below if each.is_symlink()]
