"""The commands ``pytest-bias pack`` and ``unpack``: cassettes with zstd, and without again."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ..cassettes.files import is_there
from ..cassettes.packed import Repacked, pack, unpack
from ..cassettes.places import PACKED_SUFFIX, SUFFIX, cassettes_in, packed_path, place_of
from ..errors import BiasError, NoCassette
from . import Commands, tell

_BETWEEN = "--"  # <provider>--<model>
_ENDS = (SUFFIX, SUFFIX + PACKED_SUFFIX)


def add_packing(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the two commands to ``commands``."""
    for name, help_, about, change in (
        (
            "pack",
            "pack cassettes with zstd",
            "Pack cassettes with zstd: ….jsonl becomes ….jsonl.zst, and is read as it was before.",
            pack,
        ),
        (
            "unpack",
            "unpack cassettes that are packed with zstd",
            "Unpack cassettes: ….jsonl.zst becomes ….jsonl, byte for byte what was packed.",
            unpack,
        ),
    ):
        command = commands.add_parser(
            name,
            help=help_,
            description=f"{about} A file goes when the new one has been read back whole; none is "
            "touched while it is recorded into. The exit status is 2 when one is left as it was.",
        )
        command.add_argument(
            "paths",
            nargs="+",
            type=Path,
            metavar="PATH",
            help="a cassette, or a folder of which all cassettes are meant, at any depth",
        )
        command.set_defaults(run=_command(change))


def _command(change: Callable[[Path], Repacked]) -> Callable[[argparse.Namespace], int]:
    return lambda given: _change_all(given.paths, change)


def _change_all(paths: Sequence[Path], change: Callable[[Path], Repacked]) -> int:
    """Change all cassettes of ``paths``; 2 when one was left as it was, else 0."""
    # What is no cassette is said before anything is changed.
    places = list(dict.fromkeys(place for path in paths for place in _places(path)))
    status, changed = 0, []
    for place in places:
        try:
            # A cassette is told by its folder, too.
            done = change(place.absolute())
        except BiasError as error:
            tell(f"pytest-bias: {error}", wrong=True)
            status = 2
            continue
        except OSError as error:
            problem = error.strerror or error
            tell(f"pytest-bias: {place} is left as it is: {problem}", wrong=True)
            status = 2
            continue
        name = place.with_name(done.path.name)
        if done.before is None:
            tell(f"{name}: {done.after:,} bytes, as it was")
        else:
            tell(f"{name}: {_sizes(done.before, done.after)}")
            changed.append((done.before, done.after))
    if len(changed) > 1:
        before, after = (sum(sizes) for sizes in zip(*changed, strict=True))
        tell(f"{len(changed)} cassettes: {_sizes(before, after)}")
    return status


def _sizes(before: int, after: int) -> str:
    return f"{before:,} → {after:,} bytes"


def _places(given: Path) -> Iterator[Path]:
    """The places of the cassettes a path stands for.

    Raises NoCassette when it stands for none.
    """
    if given.is_dir():
        found = [
            place
            for folder, _, _ in sorted(os.walk(given))
            for place in cassettes_in(Path(folder))
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
