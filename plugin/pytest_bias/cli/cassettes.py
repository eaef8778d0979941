"""The commands ``pytest-bias cassettes {verify, join, convert}``: recordings as files."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator
from os.path import realpath
from pathlib import Path

from ..cassettes.files import is_there, unread
from ..cassettes.format import text_digest
from ..cassettes.maintenance import convert, join
from ..cassettes.store import (
    PACKED_SUFFIX,
    SUFFIX,
    Cassette,
    begun_in,
    journals_of,
    packed_path,
    place_of,
)
from ..errors import BadSetting, BiasError, FileProblem
from ..workbench.suite import configured
from . import from_here, tell, tell_json

_BETWEEN = "--"  # <provider>--<model>
_ENDS = (SUFFIX, SUFFIX + PACKED_SUFFIX)


def _join(given: argparse.Namespace) -> int:
    try:
        joined = join(_all_cassettes(given.paths), given.into.absolute())
    except OSError as error:
        problem = error.strerror or str(error)
        raise BadSetting(option="--into", value=given.into, problem=problem) from None
    if given.json:
        rows = [
            {"path": from_here(e.path), "parts": e.parts, "lines": e.lines, "added": e.added}
            for e in joined
        ]
        tell_json(rows)
        return 0
    for each in joined:
        tell(
            f"{from_here(each.path)}: {each.lines:,} lines, {each.added:,} of them new, from "
            f"{each.parts} {'cassette' if each.parts == 1 else 'cassettes'}"
        )
    return 0


def _convert(given: argparse.Namespace) -> int:
    for path in _all_cassettes(given.paths):
        tell(f"{from_here(path)}: {convert(path) or 'is in the current format'}")
    return 0


def _verify(given: argparse.Namespace) -> int:
    status = 0
    for path in _all_cassettes(given.paths or [configured().cassettes]):
        try:
            cassette = Cassette(path)
            texts = {text_digest(text) for text in cassette.texts().values()}
            sent = (pair for each in cassette.interactions() for pair in each.messages)
            if lacking := {text for role, text in sent if role != "assistant"} - texts:
                problem = f"the texts of {len(lacking)} messages are missing"
                raise FileProblem(path=cassette.path, problem=problem)
        except BiasError as error:
            tell(f"{from_here(path)}: {error}", wrong=True)
            status = 1
        else:
            lines = f"{len(cassette):,} lines, undamaged" if len(cassette) else "empty"
            tell(f"{from_here(cassette.path)}: {lines}")
    return status


def _all_cassettes(paths: Iterable[Path]) -> list[Path]:
    """The absolute paths of the cassettes in some paths, each once."""
    return [*dict.fromkeys(each.absolute() for path in paths for each in cassettes_of(path))]


def cassettes_of(given: Path) -> Iterator[Path]:
    """Yield the paths of the cassettes in a path, those of which only a journal is there too.

    Raises FileProblem where there is none, and NotReadable for a folder that cannot be read.
    """
    if is_there(given) and given.is_dir():
        found = [
            place
            for folder in _folders(given)
            for place in begun_in(folder)
            if _BETWEEN in place.name
        ]
        if not found:
            raise FileProblem(path=given, problem="is no cassette, and holds none this folder")
        yield from found
        return
    if not (given.name.endswith(_ENDS) and _BETWEEN in given.name):
        problem = f"is no cassette: those are <provider>{_BETWEEN}<model>{SUFFIX} (or …{_ENDS[1]})"
        raise FileProblem(path=given, problem=problem)
    place = place_of(given)
    if not any(map(is_there, (place, packed_path(place), *journals_of(place)))):
        raise FileProblem(path=given, problem="is no cassette: there is no such file")
    yield place


def _folders(path: Path) -> Iterator[Path]:
    """Yield a folder and all below it, through links as well: each once, links last."""

    def refuse(error: OSError) -> None:
        raise unread(Path(error.filename), error) from None

    seen, tops = set[str](), [path]
    for top in tops:
        for name, below, _ in os.walk(top, onerror=refuse):
            if (real := realpath(name)) in seen:
                below.clear()
                continue
            seen.add(real)
            below.sort()
            tops += [link for each in below if (link := Path(name, each)).is_symlink()]
            yield Path(name)
