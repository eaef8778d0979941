"""Paths of cassettes as they are given to commands, and shown by them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ..cassettes.files import is_there, unread
from ..cassettes.places import PACKED_SUFFIX, SUFFIX, begun_in, cassettes_in, packed_path, place_of
from ..errors import NoCassette

_BETWEEN = "--"  # <provider>--<model>
_ENDS = (SUFFIX, SUFFIX + PACKED_SUFFIX)


def from_here(path: Path) -> str:
    """A path as seen from here, if it is below."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def places_of(given: Path, *, begun: bool = False) -> Iterator[Path]:
    """The places of the cassettes a path stands for, of those only ``begun`` too, where asked.

    Raises NoCassette when it stands for none. Raises NotReadable when a folder may not be looked
    into.
    """
    if is_there(given) and given.is_dir():
        found = [
            place
            for folder in _folders(given)
            for place in (begun_in if begun else cassettes_in)(folder)
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


def _folders(folder: Path, above: frozenset[Path] = frozenset()) -> Iterator[Path]:
    """A folder and all below it, through links as well; none a second time below itself."""
    if (real := folder.resolve()) in above:
        return
    try:
        with os.scandir(folder) as found:
            below = sorted(Path(each) for each in found if each.is_dir())
    except OSError as error:
        raise unread(folder, error) from None
    yield folder
    for each in below:
        yield from _folders(each, above | {real})
