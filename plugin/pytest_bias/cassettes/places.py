"""Places of cassettes, plain or packed, and what is in them.

A cassette has one *place*, ``<folder>/<experiment-id>/<provider>--<model>.jsonl``; its journals
and its lock are named after it. What stands there is that file, or the same text packed with zstd
under the same name with ``.zst`` at its end.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ..errors import TwoCassettes
from ..settings.model_names import file_stem
from .files import is_there, read_file, write_atomically

SUFFIX = ".jsonl"
PACKED_SUFFIX = ".zst"
"""Of a packed cassette; it adds to :data:`SUFFIX`."""
JOURNAL_SUFFIX = ".recording"
"""Of the journal of what was missing; it adds to the cassette."""
REJOURNAL_SUFFIX = ".rerecording"
"""Of the journal of what is recorded anew; it replaces, and counts only when it is merged."""


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

    Raises TwoCassettes when both do: which of them counts nobody can tell. Raises NotReadable when
    the folder may not be looked into.
    """
    there = [path for path in (place, packed_path(place)) if is_there(path)]
    if len(there) > 1:
        raise TwoCassettes(plain=place, packed=packed_path(place))
    return there[0] if there else None


def cassettes_in(folder: Path) -> list[Path]:
    """The places in ``folder`` at which a cassette stands, plain or packed, by name."""
    ends = (SUFFIX, SUFFIX + PACKED_SUFFIX)
    return sorted({place_of(path) for end in ends for path in folder.glob(f"*{end}")})


def tell_git(folder: Path) -> None:
    """Have Git convert no line ends where ``folder``, an experiment's, is the first of its kind.

    Only where Git keeps it, and nothing else is recorded: what is there is the user's to arrange.
    """
    root = folder.parent
    kept = any((above / ".git").exists() for above in (root, *root.absolute().parents))
    if kept and list(root.iterdir()) == [folder] and not cassettes_in(folder):
        text = b"# Recordings are read byte by byte: no line ends are converted.\n* -text\n"
        write_atomically(root / ".gitattributes", text)


def content(path: Path) -> bytes:
    """The text of a cassette's or journal's file, unpacked where it is packed.

    Lines that end as on Windows, because Git wrote them so, are read as they were written: no
    line holds a line end of its own, and the checksums are those of the text as it was. A file
    that is not there is empty.

    Raises NotReadable when it cannot be read, or is a pointer to a file that was not fetched.
    Raises DamagedCassette when it cannot be unpacked.
    """
    data = read_file(path) or b""
    if path.suffix != PACKED_SUFFIX:
        return data.replace(b"\r\n", b"\n")
    from .zstandard import decompressed  # noqa: PLC0415  (most runs read plain cassettes only)

    return decompressed(data, path)


def write_content(path: Path, text: Iterable[bytes], mode: int | None = None) -> None:
    """Replace a cassette's file in one step by one that holds ``text``, packed if it is to be.

    ``mode`` are the permissions of the new file: the usual ones unless given.

    Raises TooLargeToPack when it is to be packed, and nobody would read it again.
    """
    if path.suffix == PACKED_SUFFIX:
        from .zstandard import compressed  # noqa: PLC0415  (as above)

        text = [compressed(b"".join(text), path)]
    write_atomically(path, text, mode)
