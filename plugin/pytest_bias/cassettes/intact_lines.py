"""The intact lines of a damaged file: each has a checksum of its own. Pure; no I/O."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from ..errors import DamagedCassette, conflict_words
from .format import (
    HEADER_START,
    KEY_START,
    LOST_START,
    PROVENANCE_START,
    SCOPE_START,
    TEXT_START,
    Header,
    checked_line,
    decode_header,
    decode_text,
    encode_provenance,
    key_of,
)
from .measured import MEASURED_START, decode_measured, replies_on
from .places import REJOURNAL_SUFFIX, cassette_path

LONGEST_LINE = 1 << 27
"""Bytes of a line at most: no reply is so long, and its JSON takes many times as much memory."""

SHORTEST_LINE = len('{"lost":[],"sum":"0123456789abcdef"}')
"""Bytes of a line at least: a text of ever so many empty ones would else fill any memory."""

NO_LINE = "this is no line of a cassette"

_NAMED = 10
_REPLIES = (KEY_START, MEASURED_START)
_SUMMED = (*_REPLIES, PROVENANCE_START, SCOPE_START, LOST_START, HEADER_START)


@dataclass(frozen=True, slots=True)
class Sifted:
    """The intact ``lines`` of a file, as they may stand in a journal, and what is lost.

    ``replies`` is the number of replies on them, ``spoilt`` holds the numbers of the lines that
    are not what was written, of ``total``. On ``twice`` of those stand different replies under one
    key, as where both sides of a merge were kept: nobody knows which of them counts. ``unscoped``
    is whether one of the spoilt lines may have named the trials that were to be recorded anew.
    """

    lines: tuple[bytes, ...]
    replies: int
    spoilt: tuple[int, ...]
    twice: int
    total: int
    unscoped: bool


def lines_of(text: bytes) -> Iterator[bytes]:
    """The lines of a text, one after another and without their ends."""
    return (line.removesuffix(b"\n") for line in BytesIO(text))


def sifted(text: bytes, path: Path | str, place: Path) -> Sifted:
    """Sift a journal, or a cassette: header and lost trials are none of a journal's lines.

    Raises DamagedCassette for a header of what belongs elsewhere than at ``place``.
    """
    found = list(enumerate(lines_of(text), start=1))
    intact = {number: line for number, line in found if _is_intact(line)}
    under: dict[str, set[bytes]] = {}
    for number, line in intact.items():
        if line.startswith(HEADER_START):
            check_place(decode_header(line, str(path)), path, place, number)
        elif line.startswith(_REPLIES):
            under.setdefault(key_of(line), set()).add(line)
    disputed = {line for each in under.values() if len(each) > 1 for line in each}
    kept = {number: line for number, line in intact.items() if line not in disputed}
    lost = [(number, line) for number, line in found if number not in kept]
    lines = [_journalled(line) for line in kept.values() if not line.startswith(LOST_START)]
    return Sifted(
        lines=tuple(lines),
        replies=sum(map(replies_on, {*lines})),
        spoilt=tuple(number for number, _ in lost),
        twice=len(intact) - len(kept),
        total=len(found),
        unscoped=any(
            SCOPE_START in line or not line.startswith((*_SUMMED, TEXT_START)) for _, line in lost
        ),
    )


def _is_intact(line: bytes) -> bool:
    try:
        check_line(line, "", 1)
    except DamagedCassette:
        return False
    return True


def check_line(line: bytes, path: str, number: int) -> None:
    """Raise DamagedCassette unless a line is one that was written, as far as its checksum says."""
    if line.startswith(TEXT_START):
        decode_text(line, path, number)
    elif line.startswith(HEADER_START):
        decode_header(line, path)
    elif line.startswith(MEASURED_START):
        decode_measured(line, path, number)
    else:
        checked_line(line, path, number)
        if not line.startswith(_SUMMED):
            raise DamagedCassette(path=path, line=number, problem=NO_LINE)


def check_place(header: Header, path: Path | str, place: Path, number: int = 1) -> None:
    """Refuse a file that was copied to another experiment's or model's place."""
    named = cassette_path(Path(), header.experiment, header.model)
    if named.parts != place.parts[-len(named.parts) :]:
        problem = f"it holds recordings of {header.experiment} with {header.model}"
        problem += f" and belongs at {named}"
        raise DamagedCassette(path=path, line=number, problem=problem)


def raise_damage(text: bytes, header: Header, path: str) -> None:
    """Raise DamagedCassette for the line of a cassette's ``text`` that is not as it was written.

    ``text`` is what follows the ``header``, whose checksum it has not.
    """
    for number, line in enumerate(lines_of(text), start=2):
        check_line(line, path, number)
    found = text.count(b"\n")
    problem = (
        f"{found} of {header.lines} lines are there"
        if found != header.lines
        else "lines were added, removed or reordered after recording"
    )
    raise DamagedCassette(path=path, line=found + 1, problem=problem)


def damaged_journal(journal: Path | str, found: Sifted) -> DamagedCassette:
    """The error for a journal of which lines are spoilt: what is intact of it can go on."""
    problem = f"{spoilt_words(found)} changed or cut after recording"
    mode = "all" if str(journal).endswith(REJOURNAL_SUFFIX) else "missing"
    otherwise = (
        f"--bias-record={mode} keeps the {found.replies} replies on the other lines, sets the "
        "file aside as it is, and pays only for what is lost."
        if found.replies
        else f"move it away and record again (--bias-record={mode})."
    )
    mend = f"Restore the file from a copy, which costs nothing. Where there is none, {otherwise}"
    return DamagedCassette(path=journal, line=found.spoilt[0], problem=problem, mend=mend)


def after_merge(damage: DamagedCassette, text: bytes) -> DamagedCassette:
    """The same of a cassette; where Git has put both sides of a merge into it, how to take one.

    Whole as it may be in a commit, it is not restored from there while a merge goes on.
    """
    mend = conflict_words(text.decode(errors="replace"), damage.path)
    if not mend and text.count(b"\n" + HEADER_START):
        mend = (
            "It has the lines of both sides of a merge (merge=union in .gitattributes, which "
            f"cassettes cannot have): git checkout COMMIT^1 -- {damage.path} takes one side, "
            "COMMIT^2 the other, where COMMIT is the merge"
        )
    if not mend:
        return damage
    mend += (
        ". Where they hold different trials, write both into folders of their own, and "
        "pytest-bias cassettes join puts them together."
    )
    return DamagedCassette(path=damage.path, line=damage.line, problem=damage.problem, mend=mend)


def with_way_out(damage: DamagedCassette, text: bytes, journal: Path) -> DamagedCassette:
    """The same of a cassette, with what there is where nobody has it whole: its intact lines.

    ``journal`` is where they would be taken for a journal's. Raises DamagedCassette where that
    would refuse them.
    """
    replies = sifted(text, damage.path, journal.with_suffix("")).replies
    if not replies:
        return damage
    whole = damage.mend or (
        f"Restore the file from version control or a copy (git checkout -- {damage.path}), which "
        "costs nothing."
    )
    mend = (
        f"{whole} Where nobody has it whole, rename it to {journal.name}: --bias-record=missing "
        f"then keeps the {replies} replies on lines that are intact, and pays only for the others."
    )
    return DamagedCassette(path=damage.path, line=damage.line, problem=damage.problem, mend=mend)


def spoilt_words(found: Sifted) -> str:
    """Name the spoilt lines, and of how many they are: ``2 of 57 lines (4, 9) were``."""
    shown = ", ".join(map(str, found.spoilt[:_NAMED])) + ", …" * (len(found.spoilt) > _NAMED)
    if found.twice:
        shown += f"; {found.twice} of them with different replies under one key"
    return f"{len(found.spoilt)} of {found.total} lines ({shown}) were"


def _journalled(line: bytes) -> bytes:
    """A line as it stands in a journal: of a header there is where the replies come from."""
    if not line.startswith(HEADER_START):
        return line
    return encode_provenance(decode_header(line, "").provenance)
