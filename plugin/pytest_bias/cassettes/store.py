"""Cassettes on disk: read as an index of raw lines, written atomically, recorded in a journal.

A cassette has one *place*, ``<folder>/<experiment-id>/<provider>--<model>.jsonl``; its journals
and its lock are named after it. What stands there is that file, or the same text packed with gzip
under the same name with ``.gz`` at its end.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple, cast

from ..errors import NEWER, DamagedCassette, FileProblem, NotReadable, conflict_text
from ..experiments.canonical import digest
from ..experiments.messages import Completion
from ..settings.model_names import file_stem, model_of
from . import format as cassette_format
from .files import is_there, read_file, sync_folder, write_atomically
from .format import (
    CHANGED,
    HEADER_START,
    KEY_START,
    LOST_START,
    MEASURED_START,
    PROVENANCE_START,
    SCOPE_START,
    TEXT_START,
    Header,
    Provenance,
    RecordedInteraction,
    combined,
    decode_provenance,
    decode_trials,
    encode_header,
    encode_provenance,
    encoded,
    is_old_text,
    replies_on,
    serving,
    sum_of,
    trial_id,
    without_sum,
)
from .measured import MeasuredTrial, decode_measured

KEYED = (KEY_START, MEASURED_START)
_KINDS = (*KEYED, TEXT_START, PROVENANCE_START, SCOPE_START, LOST_START)

SUFFIX = ".jsonl"
PACKED_SUFFIX = ".gz"
"""Of a packed cassette; it adds to :data:`SUFFIX`."""
JOURNAL_SUFFIX = ".recording"
"""Of the journal of what was missing; it adds to the cassette."""
REJOURNAL_SUFFIX = ".rerecording"
"""Of the journal of what is recorded anew; it replaces, and counts only when it is merged."""


_LARGEST, _LONGEST_LINE, _PIECE = 1 << 30, 1 << 27, 1 << 20
"""Bytes of a packed file's text, of a line of it, and of what is unpacked at once."""


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
    Raises DamagedCassette when it cannot be unpacked, or is too large then.
    """
    data = read_file(path) or b""
    lines = _unpacked(data, path) if path.suffix == PACKED_SUFFIX else BytesIO(data)
    is_journal = path.suffix not in (SUFFIX, PACKED_SUFFIX)
    for line in lines:
        if line.endswith(b"\n"):
            yield line[:-2] if line.endswith(b"\r\n") else line[:-1]
        elif not is_journal:
            yield line


def _unpacked(data: bytes, path: Path) -> Iterator[bytes]:
    """The lines of a packed file, each unpacked as it is read: a megabyte may hold gigabytes."""
    for _ in _pieces(data, _PIECE, path):  # nothing is read of what cannot be unpacked to its end
        pass
    yield from _pieces(data, None, path)


def _pieces(data: bytes, size: int | None, path: Path) -> Iterator[bytes]:
    """What ``data`` unpacks to in pieces of ``size``, or in lines."""
    unpacked, left, problem = gzip.GzipFile(fileobj=BytesIO(data)), _LARGEST, ""
    read = unpacked.readline if size is None else unpacked.read
    try:
        while not problem and (piece := read(size or _LONGEST_LINE)):
            left -= len(piece)
            if left < 0 or len(piece) == _LONGEST_LINE:
                problem = (
                    f"it unpacks to more than {_LARGEST:,} bytes, or one of its lines to "
                    f"{_LONGEST_LINE:,}, which no recording does"
                )
            else:
                yield piece
    except (EOFError, OSError, zlib.error):
        problem = (
            "it cannot be unpacked: it was changed or cut after packing, or Git converted its "
            f"line ends, which *{PACKED_SUFFIX} -text in .gitattributes prevents"
        )
    if problem:
        raise DamagedCassette(path=path, line=1, problem=problem, whole=True)


def write_content(path: Path, text: Iterable[bytes]) -> None:
    """Replace a cassette's file in one step by one that holds ``text``, packed if it is to be."""
    packed = path.suffix == PACKED_SUFFIX
    write_atomically(path, gzip.compress(b"".join(text), mtime=0) if packed else text)


class _Line(NamedTuple):
    """A line where it stands: in the cassette or in its journal."""

    data: bytes
    path: str
    number: int


class Cassette:
    """The recordings of one experiment with one model: cassette and journal together.

    Loading splits the files into lines and reads each line's key; JSON is parsed on a hit. The
    journal of what was missing adds to the cassette. That of a recording made anew replaces
    replies, so it is read, and written, only with ``anew``: whoever else reads has one recording,
    the old one. ``lost`` are the ids of the trials that a cap kept from being recorded,
    ``scope`` of those that an unfinished recording made anew set out to record, ``keeps_text`` is
    whether raw text stands in it. ``outdone`` is the number of replies in the journal of what was
    missing in whose place the cassette holds others. ``place`` is where it belongs, ``path`` the
    file that stands there, which may be packed; what was packed stays so when something is merged
    into it.
    """

    def __init__(self, path: Path, *, anew: bool = False) -> None:
        self.place, self.anew = place_of(path), anew
        found = standing(self.place)
        self.path = found or self.place
        self.recording_path, self.rerecording_path = journals_of(self.place)
        self.journal_path = self.rerecording_path if anew else self.recording_path
        self.header: Header | None = None
        self.lost: frozenset[str] = frozenset()
        self.scope: frozenset[str] = frozenset()
        self.keeps_text = False
        self.outdone = 0
        self._written_lost: frozenset[str] = frozenset()
        self._lines: dict[str, _Line] = {}
        self._text_lines: dict[bytes, _Line] = {}
        self._provenances: dict[str, list[Provenance]] = {}
        self._stamp = _stamp(self.place)
        try:
            if found is not None:
                self._load(found)
            for file in filter(is_there, self._journals):
                self._index(lines_in(file), file)
        except DamagedCassette as damage:
            self._lines.clear()  # whoever keeps the error keeps nothing of what was read
            self._text_lines.clear()
            raise damage.with_traceback(None) from None

    @property
    def _journals(self) -> tuple[Path, ...]:
        return tuple(dict.fromkeys((self.recording_path, self.journal_path)))

    @property
    def exists(self) -> bool:
        """Return whether anything is recorded."""
        return bool(self._lines) or bool(self.lost)

    @property
    def unmerged(self) -> bool:
        """Return whether a journal waits to be merged."""
        return any(map(is_there, self._journals))

    @property
    def unfinished(self) -> bool:
        """Return whether a recording made anew has begun, and has not come to its end."""
        journal = self.rerecording_path
        return is_there(journal) and (not journal.is_file() or journal.stat().st_size > 0)

    def unfinished_error(self) -> FileProblem:
        """Return the error for what cannot be done while everything is being recorded anew."""
        return FileProblem(
            path=self.rerecording_path,
            problem="is left of an interrupted --bias-record=all",
            hint="Finish that with --bias-record=all, or delete the file to keep what was "
            "recorded before",
        )

    @property
    def interrupted(self) -> int:
        """Number of interactions that stand only in the journal of an interrupted recording."""
        return len(self._outside())

    @property
    def checksum(self) -> str:
        """Checksum of all that is recorded, in whatever order and file it stands."""
        sums = sorted(sum_of(line.data).decode() for line in self._lines.values())
        return digest("\n".join(sums)) if sums else ""

    @property
    def provenances(self) -> list[Provenance]:
        """The provenances of all interactions, those of journals included."""
        parts = dict(self._provenances)
        own = parts.pop(str(self.path), [])
        replaced = len(self) and self.interrupted == len(self)
        found = [each for part in parts.values() for each in part]
        return sorted({*found, *([] if replaced else own)}, key=encode_provenance)

    @property
    def provenance(self) -> Provenance:
        """All provenances as one."""
        return combined(self.provenances)

    @property
    def dropped(self) -> tuple[str, ...]:
        """Parameters that were not sent, in any interaction, because the model refuses them."""
        found: set[str] = set()
        for line in self._lines.values():
            if b'"dropped":[' not in line.data:
                continue
            if line.data.startswith(KEY_START):
                found |= {*cassette_format.decode_interaction(*line).completion.dropped}
            else:
                for call in decode_measured(*line).calls:
                    found |= {*cast("Sequence[str]", call.get("dropped", ()))}
        return tuple(sorted(found))

    def __len__(self) -> int:
        return len(self._lines)

    def journalled(self, key: str) -> bool:
        """Return whether ``key`` stands in the journal that a recorder of this cassette writes."""
        found = self._lines.get(key)
        return found is not None and found.path == str(self.journal_path)

    def lookup(self, key: str) -> Completion | None:
        """Return the reply recorded under ``key``; None when nothing was."""
        found = self._lines.get(key)
        return None if found is None else cassette_format.decode_interaction(*found).completion

    def lookup_new(self, key: str) -> Completion | None:
        """Return the reply that the recorder of this cassette stored under ``key``."""
        return self.lookup(key) if self.journalled(key) else None

    def measured(self, key: str) -> MeasuredTrial | None:
        """The measured trial whose opening interaction has ``key``; None when there is none."""
        found = self._lines.get(key)
        return None if found is None else decode_measured(*found)

    def interactions(self) -> Iterator[RecordedInteraction]:
        """Every interaction, parsed."""
        for line in self._lines.values():
            if line.data.startswith(KEY_START):
                yield cassette_format.decode_interaction(*line)

    def measured_trials(self) -> Iterator[MeasuredTrial]:
        """Every trial of which only the measures are kept, parsed."""
        for line in self._lines.values():
            if line.data.startswith(MEASURED_START):
                yield decode_measured(*line)

    def recorded(self) -> Iterator[RecordedInteraction | MeasuredTrial]:
        """All that is recorded, parsed."""
        yield from self.interactions()
        yield from self.measured_trials()

    def lines_in_order(self) -> Iterator[bytes]:
        """The lines of a file that holds all of this, as they were read or recorded."""
        yield from map(encode_provenance, self.provenances)
        yield from sorted(self._text_lines)
        if self.lost:
            yield encoded({"lost": sorted(self.lost)})
        for line in sorted(
            self._lines.values(), key=lambda at: cassette_format.order_of_line(*at)
        ):
            yield line.data

    @property
    def calls(self) -> int:
        """Number of replies that what is recorded rests on."""
        return sum(replies_on(line.data) for line in self._lines.values())

    def texts(self) -> dict[str, str]:
        """Digest → text of every message the subject was told."""
        return dict(cassette_format.decode_text(*line) for line in self._text_lines.values())

    def _outside(self) -> list[bytes]:
        """The lines of interactions that do not stand in the cassette itself."""
        own = str(self.path)
        return [line.data for line in self._lines.values() if line.path != own]

    def _load(self, file: Path) -> None:
        """Add what stands in the cassette itself."""
        lines = lines_in(file)
        first = next(lines, None)
        if first is None:
            raise DamagedCassette(path=file, line=1, problem="the file is empty", whole=True)
        self.header = read_header(first, str(file))
        check_place(self.header, file, self.place)
        self._index((line for line in lines if line != first), file, first_number=2)
        if self._lines and not self._provenances:
            problem = "no line states how it was recorded (provenance)"
            raise DamagedCassette(path=file, line=2, problem=problem)
        self._written_lost = self.lost

    def _index(self, lines: Iterable[bytes], path: Path, first_number: int = 1) -> None:
        """Add ``lines``; DamagedCassette for one that cannot be any."""
        # What was missing when it was recorded replaces nothing, even if it is left behind.
        adds, where = path == self.recording_path, str(path)
        for number, line in enumerate(lines, start=first_number):
            check_line(line, where, number)
            placed = _Line(line, where, number)
            if line.startswith(KEYED):
                key = cassette_format.key_of(line)
                known = self._lines.get(key)
                if known is not None and known.path == where and known.data != line:
                    problem = f"another reply stands under its key on line {known.number}"
                    hint = "Where two branches recorded this trial, remove one of the lines."
                    raise DamagedCassette(path=path, line=number, problem=problem, hint=hint)
                if not adds or known is None:
                    self._lines[key] = placed
                elif known.data != line:
                    self.outdone += 1
                self.keeps_text = self.keeps_text or line.startswith(KEY_START)
            elif line.startswith(TEXT_START):
                self.keeps_text = True
                self._text_lines.setdefault(line, placed)
            elif line.startswith(PROVENANCE_START):
                self._provenances.setdefault(where, []).append(decode_provenance(*placed))
            elif line.startswith(LOST_START) and path == self.path:
                self.lost |= decode_trials(*placed)
            elif line.startswith(SCOPE_START) and path == self.rerecording_path:
                self.scope |= decode_trials(*placed)
            else:
                raise no_line(line, where, number)

    def journal(self, data: bytes) -> None:
        """Add lines that a recorder has just written to this cassette's journal."""
        self._index(data.splitlines(), self.journal_path)

    def join(self, other: Cassette) -> int:
        """Take up what ``other`` holds beside this; the number of lines that are new here.

        They stand here as those of a journal do, until :meth:`merge` writes them. A trial that one
        lost to a cap and the other has is no longer lost.

        Raises FileProblem where both hold another thing under one key, of one trial, or one
        holds what the other may not, or what something else has answered.
        """
        self._check_alike(other)
        for key, line in other._lines.items():
            mine = self._lines.get(key, line)
            if mine.data != line.data:
                trial = cassette_format.decoded(*line, lambda of: trial_id(of["trial"]))
                problem = (
                    f"trial {trial} was recorded for each, and the replies differ, be it in their "
                    f"times alone (key {key[:12]}…)"
                )
                raise _differing(mine.path, line.path, problem)
        lost = self.lost | other.lost
        for each in (self, other):
            lost -= each.trials() - each.lost if lost else frozenset()
        self.lost = lost
        new = {key: line for key, line in other._lines.items() if key not in self._lines}
        self._lines |= new
        self._text_lines |= other._text_lines
        self.keeps_text |= other.keeps_text
        if new or not len(other):
            self._provenances.setdefault("", []).extend(other.provenances)
        return len(new)

    def _check_alike(self, other: Cassette) -> None:
        """Refuse to join recordings that differ in more than in what is recorded."""
        if not (len(self) and len(other)):
            return
        mine, theirs = self.provenance, other.provenance
        problem = ""
        if self.keeps_text != other.keeps_text:
            problem = "one holds replies as text, the other only their measures"
        elif mine.simulated != theirs.simulated:
            problem = "a program answered in one, a model in the other"
        elif (by := serving(mine)) and (also := serving(theirs)) and not also <= by:
            words = " and ".join(sorted(also))
            problem = f"the former was served by {' and '.join(sorted(by))}, the latter by {words}"
        if problem:
            first = next(iter(self._lines.values()))
            raise _differing(first.path, other.path, problem)

    @property
    def keys(self) -> frozenset[str]:
        """The keys of all lines that are recorded."""
        return frozenset(self._lines)

    def without(self, keys: frozenset[str]) -> None:
        """Forget what is recorded under ``keys``, and the texts that only they were told."""
        self._lines = {key: line for key, line in self._lines.items() if key not in keys}
        told = {text for each in self.interactions() for _, text in each.messages}
        self._text_lines = {
            data: line
            for data, line in self._text_lines.items()
            if cassette_format.decode_text(*line)[0] in told
        }

    def trials(self) -> frozenset[str]:
        """The ids of all trials of which anything is recorded."""
        return frozenset(trial_id(each.trial) for each in self.recorded())

    def drop(self, trials: Collection[str]) -> None:
        """Forget all that is recorded of ``trials``, here and on disk."""
        lines = [each for each in self.recorded() if trial_id(each.trial) in trials]
        self.without(frozenset(each.key for each in lines))
        self.merge(changed=True)

    def merge(self, provenance: Provenance | None = None, *, changed: bool = False) -> None:
        """Write what the journals hold into the cassette, atomically, and remove them.

        ``provenance`` is for a cassette that holds no reply. One that was ``changed`` is written
        even where no journal holds anything.

        Raises FileProblem where another file stands there by now than was loaded (recorders are
        kept out by a lock, a pull is not), or it cannot be written.
        """
        if changed or self.interrupted or self.lost != self._written_lost:
            if _stamp(self.place) not in (None, self._stamp):
                raise self._left("it was changed meanwhile, as by a pull")
            if provenance is not None and not self._lines:
                self._provenances = {"": [provenance]}
            try:
                write_cassette(self)
            except OSError as error:
                raise self._left(error.strerror or str(error)) from error
            self._stamp = _stamp(self.place)
        if self.unmerged:
            for journal in self._journals:
                journal.unlink(missing_ok=True)
            sync_folder(self.place.parent)

    def _left(self, problem: str) -> FileProblem:
        """Return the error for a cassette that is not written: where the replies are."""
        journals = " and ".join(each.name for each in self._journals if is_there(each))
        kept = f"; every reply that was kept stands in {journals}" if journals else ""
        problem = f"is left as it is: {problem}{kept}. Run again, and nothing is paid twice"
        return FileProblem(path=self.path, problem=problem)


def _differing(path: Path | str, other: Path | str, problem: str) -> FileProblem:
    hint = "Nothing was written. Leave out the wrong one, or keep them in folders of their own"
    return FileProblem(path=path, problem=f"and {other} cannot be joined: {problem}", hint=hint)


def read_header(line: bytes, path: str) -> Header:
    """The header of a cassette, its first line; DamagedCassette when it is none."""
    if not line.startswith(HEADER_START):
        raise no_line(line, path, 1, problem="this is not a cassette header")
    return cassette_format.decode_header(line, path)


def check_place(header: Header, path: Path, place: Path) -> None:
    """Refuse a file that was copied to another experiment's or model's place."""
    named = cassette_path(Path(), header.experiment, header.model)
    if named.parts != place.parts[-len(named.parts) :]:
        problem = f"it holds recordings of {header.experiment} with {header.model}"
        problem += f" and belongs at {named}"
        raise DamagedCassette(path=path, line=1, problem=problem)


def check_line(line: bytes, path: str, number: int) -> None:
    """Raise DamagedCassette unless a line is of a known kind and has its checksum."""
    whole = without_sum(line) is not None
    if line.startswith(_KINDS) and not whole:
        hint = "pytest-bias cassettes convert converts what format 1 has left."
        hint = hint if is_old_text(line) else ""
        raise DamagedCassette(path=path, line=number, problem=f"the line {CHANGED}", hint=hint)
    if not line.startswith(_KINDS):
        raise no_line(line, path, number, hint=f"{NEWER}." if whole else "")


def no_line(
    line: bytes,
    path: str,
    number: int,
    *,
    problem: str = "this is no line of a cassette",
    hint: str = "",
) -> DamagedCassette:
    """The error for a line of no known kind; of a merge of Git, how to take one side."""
    if line.startswith(HEADER_START):
        problem = "a second cassette begins here"
        hint = "Part the two files; pytest-bias cassettes join joins them."
    if conflict := conflict_text(line.decode(errors="replace"), path):
        hint = conflict + (
            ". Where they hold different trials, keep the lines of both sides and remove only the "
            "marks (merge=union in .gitattributes does so)"
        )
    return DamagedCassette(path=path, line=number, problem=problem, hint=hint)


def _stamp(place: Path) -> tuple[int, int, int] | None:
    """What tells one file at ``place`` from another; None where none is."""
    if (found := standing(place)) is None or not found.exists():
        return None
    status = found.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def write_cassette(cassette: Cassette) -> None:
    """Write all that ``cassette`` holds to its path: sorted, checksummed, in one atomic step."""
    place = cassette.place
    header = encode_header(place.parent.name, model_of(place.stem))
    lines = (header, *cassette.lines_in_order())
    write_content(cassette.path, (line + b"\n" for line in lines))
