"""Recordings at rest: damaged lines skipped, cassettes joined and converted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import DamagedCassette
from ..settings.model_names import model_of
from .files import backup_of, is_there, refuse_links, remove_leftovers
from .format import (
    CHANGED,
    HEADER_START,
    KEY_START,
    MEASURED_START,
    PROVENANCE_START,
    SCOPE_START,
    TEXT_START,
    Provenance,
    combined,
    encode_header,
    encode_provenance,
    encoded,
    is_old_text,
    replies_on,
    with_sum,
    without_sum,
)
from .recorder import recording_lock
from .store import (
    REJOURNAL_SUFFIX,
    Cassette,
    check_line,
    check_place,
    journals_of,
    lines_in,
    packed_path,
    read_header,
    standing,
    write_content,
)

_SHOWN = 10
_NO_SCOPE = (KEY_START, MEASURED_START, TEXT_START)


def salvage(place: Path, *, anew: bool) -> list[str]:
    """Skip the damaged lines of a cassette and its journals; says what became of each file.

    Only for who holds the cassette's lock, and is about to record what is lost. ``anew`` is
    whether everything is recorded anew.

    Raises DamagedCassette when no reply of a file is intact (it may be something else altogether),
    or Git has left both sides of a merge in it.
    """
    cassette = standing(place)
    files = filter(is_there, journals_of(place)[: 2 if anew else 1])
    notes = [_mended(cassette, place, is_cassette=True)] if cassette else []
    notes += [_mended(each, place, is_cassette=False) for each in files]
    return list(filter(None, notes))


def _sorted_out(
    path: Path, place: Path, *, is_cassette: bool
) -> tuple[dict[int, bytes], set[int], bool]:
    """The intact lines of a file by number, the damaged numbers, and if a scope may be lost."""
    intact, damaged, unscoped = dict[int, bytes](), set[int](), False
    for number, line in enumerate(lines_in(path), start=1):
        header = None
        try:
            if is_cassette and (number == 1 or line.startswith(HEADER_START)):
                header = read_header(line, str(path))
            else:
                check_line(line, str(path), number)
        except DamagedCassette as damage:
            if damage.hint:
                raise
            damaged.add(number)
            unscoped |= SCOPE_START in line or not line.startswith(_NO_SCOPE)
            continue
        if header is not None:
            check_place(header, path, place)
            continue
        intact[number] = line
    return intact, damaged, unscoped


def _mended(path: Path, place: Path, *, is_cassette: bool) -> str:
    """Replace one file by its intact lines; a note on what became of it, empty if it is whole."""
    intact, damaged, unscoped = _sorted_out(path, place, is_cassette=is_cassette)
    kept = list(intact.values())
    has_provenance = any(line.startswith(PROVENANCE_START) for line in kept)
    lines = kept
    if is_cassette:
        # Whether a program answered: without a provenance only its model's name tells.
        simulated = model_of(place.stem).startswith("simulated/")
        unknown = encode_provenance(replace(combined([]), simulated=simulated))
        lines = [encode_header(place.parent.name, model_of(place.stem))]
        lines += [*([] if has_provenance else [unknown]), *kept]
    elif unscoped and path.name.endswith(REJOURNAL_SUFFIX):
        # What was to be replaced as a whole is unknown: all of the old recording then.
        lines = [*kept, encoded({"scope": sorted(Cassette(place).trials())})]
    if not damaged and (has_provenance or not is_cassette):
        return ""
    numbers = sorted(damaged)
    count = sum(map(replies_on, kept))
    if not count:
        problem = "no reply in it is intact"
        raise DamagedCassette(path=path, line=(numbers or [1])[0], problem=problem, whole=True)
    refuse_links(path)
    aside = backup_of(path, "damaged")
    write_content(path, (line + b"\n" for line in lines))
    shown = ", ".join(map(str, numbers[:_SHOWN])) + ", …" * (len(numbers) > _SHOWN)
    what = [f"line {shown}: damaged"] if numbers else []
    if is_cassette and not has_provenance:
        what.append("and the provenance of the recording is lost")
    return (
        f"{path.name}, {', '.join(what)}; the {count} other replies count, and what is missing is "
        f"recorded again. The file as it was is kept as {aside.name}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """A cassette into which ``parts`` others were joined.

    ``lines`` stand in it now: interactions, or trials of which only measures are kept; ``added``
    of them are new.
    """

    path: Path
    parts: int
    lines: int
    added: int


def join(places: Sequence[Path], folder: Path) -> list[Joined]:
    """Join the cassettes at ``places`` into those of ``folder``, which are made where none is.

    Nothing is written before all of them fit, and each is then replaced in one step; joining the
    same again changes nothing. Replies that stand only in the journal of a recording that was
    killed are joined as well.

    Raises FileProblem where two do not fit together or a recording made anew has not come to its
    end. Raises DamagedCassette or FileProblem where
    one of them cannot be read or written.
    """
    found: dict[Path, list[Path]] = {}
    for place in places:
        target = folder / place.parent.name / place.name
        parts = found.setdefault(target, [])
        if place.resolve() != target.resolve():
            parts.append(place)
    with ExitStack() as locks:
        joined = []
        for target, parts in sorted(found.items()):
            locks.enter_context(recording_lock(target, stays=False))
            refuse_links(target, packed_path(target), *journals_of(target))
            remove_leftovers(target)
            whole = _finished(target)
            joined.append((len(parts), whole, sum(whole.join(_finished(part)) for part in parts)))
        for _, cassette, _ in joined:
            cassette.merge()
        return [
            Joined(path=cassette.path, parts=parts, lines=len(cassette), added=added)
            for parts, cassette, added in joined
        ]


def _finished(place: Path) -> Cassette:
    cassette = Cassette(place)
    if cassette.unfinished:
        raise cassette.unfinished_error()
    return cassette


def convert(place: Path) -> str:
    """Write a cassette of format 1 and its journals in format 2; what was done, empty if nothing.

    Keys and replies stay byte for byte. Of a damaged file the intact lines are converted, and the
    file as it was is kept beside it. Raises DamagedCassette where the header is not intact.
    """
    with recording_lock(place, stays=False):
        cassette, notes = standing(place), list[str]()
        for path in (*filter(None, [cassette]), *filter(is_there, journals_of(place))):
            lines = list(lines_in(path))
            after, damaged = _converted(lines, path, is_cassette=path == cassette)
            if after == lines:
                continue
            refuse_links(path)
            note = "converted"
            if damaged:
                note += f" without {damaged} damaged lines; "
                note += f"the file as it was is kept as {backup_of(path, 'damaged').name}"
            write_content(path, (line + b"\n" for line in after))
            notes.append(note)
        return "; ".join(dict.fromkeys(notes))


def _converted(lines: list[bytes], path: Path, *, is_cassette: bool) -> tuple[list[bytes], int]:
    """The intact lines of a file as format 2 has them, and the number of damaged ones."""
    head = _converted_header(lines[0] if lines else b"", path) if is_cassette else []
    new = [with_sum(line) if is_old_text(line) else line for line in lines[is_cassette:]]
    if not head and (is_cassette or new == lines):
        return lines, 0
    intact = [line for line in new if without_sum(line) is not None]
    return [*head, *intact], len(new) - len(intact)


def _converted_header(line: bytes, path: Path) -> list[bytes]:
    """Header and provenance in format 2 from a header of format 1; none where it is of another."""
    try:
        header = json.loads(line)
        if header["format"] != 1:
            return []
        provenance = Provenance(**header["provenance"])
        head = [
            encode_header(header["experiment"], header["model"]),
            encode_provenance(provenance),
        ]
    except (KeyError, TypeError, ValueError):
        head = []
    if not head or without_sum(line) is None:
        raise DamagedCassette(path=path, line=1, problem=f"the header {CHANGED}")
    return head
