"""Places of cassettes, plain or packed, and what is in them.

A cassette has one *place*, ``<folder>/<experiment-id>/<provider>--<model>.jsonl``; its journals
and its lock are named after it. What stands there is that file, or the same text packed with gzip
under the same name with ``.gz`` at its end.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from io import BufferedIOBase, BufferedReader, BytesIO
from pathlib import Path

from ..errors import DamagedCassette, FileProblem, NotReadable
from ..settings.model_names import file_stem
from .files import is_there, read_file, write_atomically

SUFFIX = ".jsonl"
PACKED_SUFFIX = ".gz"
"""Of a packed cassette; it adds to :data:`SUFFIX`."""
JOURNAL_SUFFIX = ".recording"
"""Of the journal of what was missing; it adds to the cassette."""
REJOURNAL_SUFFIX = ".rerecording"
"""Of the journal of what is recorded anew; it replaces, and counts only when it is merged."""

LIMIT = 1 << 30
"""Bytes of text that are unpacked of a file, and packed into one: a megabyte could else fill any
memory (gzip makes at most a thousand times as much of it)."""
LONGEST_LINE = 1 << 27
"""Bytes of a line at most: no reply is so long, and its JSON takes many times as much memory."""
NO_LINE = "this is no line of a cassette"
_PIECE = 1 << 20
"""Bytes that are unpacked at a time."""


def cassette_path(folder: Path, experiment_id: str, model: str) -> Path:
    """``<folder>/<experiment-id>/<provider>--<model>.jsonl``: the place, packed or not."""
    return folder / experiment_id / f"{file_stem(model)}{SUFFIX}"


def place_of(path: Path) -> Path:
    """The place of a cassette, of which ``path`` is the plain or the packed file."""
    packed = path.name.endswith(SUFFIX + PACKED_SUFFIX)
    return path.with_name(path.name.removesuffix(PACKED_SUFFIX)) if packed else path


def packed_path(place: Path) -> Path:
    """Return the path of the packed file of the cassette at ``place``."""
    return place.with_name(place.name + PACKED_SUFFIX)


def journals_of(place: Path) -> tuple[Path, Path]:
    """The journals of a cassette: of what was missing, and of what is recorded anew."""
    name = place.name
    return place.with_name(name + JOURNAL_SUFFIX), place.with_name(name + REJOURNAL_SUFFIX)


def standing(place: Path) -> Path | None:
    """The file that stands at ``place``, plain or packed; None when nothing does.

    Raises NotReadable when both do, since only one can count, and when
    the folder may not be looked into.
    """
    there = [path for path in (place, packed_path(place)) if is_there(path)]
    if len(there) > 1:
        problem = f"{packed_path(place).name} is there as well, and only one can count"
        raise NotReadable(path=place, problem=problem, hint="Remove the one that is wrong")
    return there[0] if there else None


def cassettes_in(folder: Path) -> list[Path]:
    """The places in ``folder`` at which a cassette stands, plain or packed, by name."""
    ends = (SUFFIX, SUFFIX + PACKED_SUFFIX)
    return sorted({place_of(path) for end in ends for path in folder.glob(f"*{end}")})


def begun_in(folder: Path) -> list[Path]:
    """The same, and the places of which only journals stand there."""
    ends = (SUFFIX + JOURNAL_SUFFIX, SUFFIX + REJOURNAL_SUFFIX)
    journals = {path.with_suffix("") for end in ends for path in folder.glob(f"*{end}")}
    return sorted({*cassettes_in(folder), *journals})


def lines_in(path: Path) -> Iterator[bytes]:
    """The lines of a cassette's or journal's file without their ends, unpacked as they are read.

    What follows the last line feed of a journal is no line: a killed recording left it. Lines that
    end as on Windows, because Git wrote them so, are read as they were written: no line holds a
    line end of its own. A file that is not there has none.

    Raises NotReadable when it cannot be read, or is a pointer to a file that was not fetched.
    Raises DamagedCassette when it cannot be unpacked, or unpacks to more than anyone records.
    """
    file: BufferedIOBase = BytesIO(read_file(path) or b"")
    packed = path.suffix == PACKED_SUFFIX
    if packed:
        file = BufferedReader(gzip.GzipFile(fileobj=file), _PIECE)
    size, number, problem = 0, 1, ""
    try:
        while line := file.readline(LONGEST_LINE):
            size += len(line)
            if packed and size > LIMIT:
                problem = f"it unpacks to more than {LIMIT:,} bytes; gzip -d unpacks one you trust"
                break
            if not line.endswith(b"\n"):
                if len(line) == LONGEST_LINE:
                    problem = NO_LINE
                elif path.suffix in (SUFFIX, PACKED_SUFFIX):
                    yield line
                break
            yield line[:-2] if line.endswith(b"\r\n") else line[:-1]
            number += 1
    except (EOFError, OSError, zlib.error):
        problem = (
            "it cannot be unpacked: it was changed or cut after packing, or Git converted its "
            f"line ends, which *{PACKED_SUFFIX} -text in .gitattributes prevents"
        )
    if problem:
        raise DamagedCassette(path=path, line=number, problem=problem, whole=packed)


def write_content(path: Path, text: Iterable[bytes]) -> None:
    """Replace a cassette's file in one step by one that holds ``text``, packed if it is to be.

    Raises FileProblem when it is to be packed, and is too large to be unpacked again.
    """
    if path.suffix == PACKED_SUFFIX:
        whole = b"".join(text)
        if len(whole) > LIMIT:
            problem = (
                f"is left as it is: {len(whole):,} bytes would be packed in it, and no more "
                f"than {LIMIT:,} are unpacked again; unpack it first (gzip -d)"
            )
            raise FileProblem(path=path, problem=problem)
        text = [gzip.compress(whole, mtime=0)]
    write_atomically(path, text)
