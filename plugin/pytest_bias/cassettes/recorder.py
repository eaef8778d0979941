"""Recording into a cassette: one recorder at a time, each reply on disk before the next counts.

It stands in a journal until it is merged. What is intact of a damaged file goes on, and the file
as it was is kept beside it.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from io import FileIO
from pathlib import Path

from filelock import Timeout

from ..errors import DamagedCassette, FileProblem, NotWritten
from ..experiments.canonical import plain
from ..experiments.messages import Completion
from ..experiments.replay import PendingRequest
from ..settings.model_names import model_of
from . import format as cassette_format
from .files import (
    alone,
    is_there,
    kept_aside,
    make_folder,
    refuse_links,
    remove_leftovers,
    sync_folder,
)
from .format import (
    KEY_START,
    MEASURED_START,
    SCOPE_START,
    TEXT_START,
    MeasuredTrial,
    Provenance,
    combined,
    encode_header,
    encode_measured,
    encoded,
    key_of,
    replies_on,
)
from .store import (
    KEYED,
    REJOURNAL_SUFFIX,
    Cassette,
    check_line,
    check_place,
    journals_of,
    lines_in,
    packed_path,
    read_header,
    standing,
    write_cassette,
    write_content,
)

LOCK_SUFFIX = ".lock"
_SHOWN = 10
_NO_SCOPE = (KEY_START, MEASURED_START, TEXT_START)


@contextmanager
def recording_lock(path: Path, *, stays: bool = True) -> Iterator[None]:
    """Hold a cassette for recording; FileProblem when another process does.

    The lock file stands beside the cassette, so that every process that could write the one meets
    the other. It stays behind, empty, unless nothing was recorded: then its folder goes with it.
    Without ``stays`` it goes as well, unless it was there before.
    """
    file = path.with_name(path.name + LOCK_SUFFIX)
    with ExitStack() as held:
        try:
            held.enter_context(alone(file, timeout=0, stays=stays or file.exists()))
        except Timeout:
            problem = "is being recorded by another process; wait for it to end, then run again"
            raise FileProblem(path=path, problem=problem) from None
        yield


class Recorder:
    """Adds interactions to a cassette: at once to its journal, at the end to the file itself.

    ``scope`` are the ids of the trials that are to be recorded anew; none where the journal only
    adds to the cassette.
    """

    def __init__(
        self, cassette: Cassette, provenance: Provenance, scope: Iterable[str] = ()
    ) -> None:
        self.cassette = cassette
        self.provenance = provenance
        self._file: FileIO | None = None
        self._known_texts = set(cassette.texts())
        self._pending: deque[bytes] = deque()
        self._opening = [encoded({"provenance": plain(provenance)})]
        if scope := sorted(scope):
            self._opening.append(encoded({"scope": scope}))
        self._queued = 0
        self._written = 0
        self._lock = threading.Lock()
        self._writing: asyncio.Task[None] | None = None

    @property
    def unkept(self) -> int:
        """Number of replies that are not on disk."""
        return sum(map(replies_on, self._pending))

    def open(self) -> None:
        """Open the journal: where that fails, it fails before anything is paid."""
        if self._file is None:
            self._file = _opened(self.cassette.journal_path)

    def add(self, pending: PendingRequest, completion: Completion) -> None:
        """Keep a reply: when this returns it is on disk."""
        self._queue(self._lines(pending, completion))
        self._write()

    async def keep(self, pending: PendingRequest, completion: Completion) -> None:
        """Keep a reply without holding up the others: when this returns it is on disk.

        Replies that arrive while the disk is busy go there together.
        """
        await self._kept(self._lines(pending, completion))

    async def keep_measured(self, measured: MeasuredTrial) -> None:
        """Keep a whole trial without its text."""
        await self._kept([encode_measured(measured)])

    async def _kept(self, lines: Sequence[bytes]) -> None:
        mine = self._queue(lines)
        while self._written < mine:
            if self._writing is None or self._writing.done():
                self._writing = asyncio.create_task(asyncio.to_thread(self._write))
            await asyncio.shield(self._writing)

    def _queue(self, lines: Sequence[bytes]) -> int:
        """Have ``lines`` written; the number of lines that are written when these are."""
        self._pending += lines
        self._queued += len(lines)
        return self._queued

    def _lines(self, pending: PendingRequest, completion: Completion) -> list[bytes]:
        texts = cassette_format.texts_of(pending)
        lines = [
            cassette_format.encode_text(text)
            for name, text in texts.items()
            if name not in self._known_texts
        ]
        self._known_texts.update(texts)
        interaction = cassette_format.interaction_of(pending, completion)
        return [*lines, cassette_format.encode_interaction(interaction)]

    def _write(self) -> None:
        """Write what waits; in whatever thread, one at a time, and nothing twice."""
        with self._lock:
            lines = [self._pending.popleft() for _ in range(len(self._pending))]
            if not lines:
                return
            try:
                self.open()
                data = b"".join(line + b"\n" for line in (*self._opening, *lines))
                self._put(data)
            except OSError as error:
                # A full disk: they are paid, so they stay here until there is room.
                self._pending.extendleft(reversed(lines))
                raise NotWritten(
                    path=self.cassette.journal_path,
                    problem=error.strerror or str(error),
                    hint="Nothing more is called",
                ) from error
            self._opening = []
            self._written += len(lines)
            self.cassette.journal(data)

    def _put(self, data: bytes) -> None:
        """Append ``data`` to the journal, all of it or nothing."""
        file = self._file
        assert file is not None  # noqa: S101  (opened by the caller)
        end = file.seek(0, os.SEEK_END)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) or 0 :]
            os.fsync(file.fileno())
        except OSError:
            with suppress(OSError):
                file.truncate(end)
            raise

    def close(
        self,
        experiment_id: str,
        model: str,
        *,
        merge: bool = True,
        lost: Iterable[str] = (),
        requested: Iterable[str] = (),
    ) -> None:
        """Close the journal, and merge it into the cassette.

        Without ``merge`` the journal stays: it is what tells the replies of a recording that is
        made again, and has not come to its end, from those it replaces. ``lost`` are the trials
        that a cap kept from being recorded; others that were ``requested`` are no longer lost:
        they are recorded now, or it is not a cap that kept them from it.
        """
        try:
            self._write()  # what arrived while the loop was torn down
        finally:
            if self._file is not None:
                empty = os.fstat(self._file.fileno()).st_size == 0
                self._file.close()
                if empty:
                    self.cassette.journal_path.unlink(missing_ok=True)
                    sync_folder(self.cassette.journal_path.parent)
        if merge:
            self.cassette.lost = (self.cassette.lost - set(requested)) | set(lost)
            self.cassette.merge(experiment_id, model, self.provenance)


def _opened(journal: Path) -> FileIO:
    """A journal to append to, without the half line a killed recording may have left.

    Its name is on disk before anything is written to it.
    """
    make_folder(journal.parent)
    file = journal.open("a+b", buffering=0)
    sync_folder(journal.parent)
    file.seek(0)
    whole, separator, rest = file.read().rpartition(b"\n")
    if rest:
        file.truncate(len(whole) + len(separator))
    return file


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


def _mended(path: Path, place: Path, *, is_cassette: bool) -> str:
    intact, damaged, unscoped, header = dict[int, bytes](), set[int](), False, None
    replies: dict[str, set[bytes]] = {}
    for number, line in enumerate(lines_in(path), start=1):
        try:
            if is_cassette and number == 1:
                header = read_header(line, str(path))
            else:
                check_line(line, str(path), number)
                intact[number] = line
                replies.setdefault(key_of(line) if line.startswith(KEYED) else "", set()).add(line)
        except DamagedCassette as damage:
            if damage.hint:
                raise
            damaged.add(number)
            unscoped |= SCOPE_START in line or not line.startswith(_NO_SCOPE)
    # Of several replies under one key it is unknown which is the one.
    disputed = {line for key, lines in replies.items() if key and len(lines) > 1 for line in lines}
    damaged |= {number for number, line in intact.items() if line in disputed}
    kept = [line for line in intact.values() if line not in disputed]
    # Whether a program answered: its model's name is all that says so without a header.
    simulated = model_of(place.stem).startswith("simulated/")
    provenance = replace(combined([]), simulated=simulated)
    if header is not None:
        check_place(header, path, place)
        provenance = header.provenance
    lines = kept
    if is_cassette:
        kept = list(dict.fromkeys(kept))
        head = encode_header(place.parent.name, model_of(place.stem), provenance, kept)
        lines = [head, *kept]
    elif unscoped and path.name.endswith(REJOURNAL_SUFFIX):
        # What was to be replaced as a whole is unknown: all of the old recording then.
        lines = [*kept, encoded({"scope": sorted(Cassette(place).trials())})]
    if lines == list(lines_in(path)):
        return ""
    numbers = sorted(damaged)
    count = sum(map(replies_on, kept))
    if not count:
        problem = "no reply in it is intact"
        raise DamagedCassette(path=path, line=(numbers or [1])[0], problem=problem, whole=True)
    refuse_links(path)
    aside = kept_aside(path, "damaged")
    write_content(path, (line + b"\n" for line in lines))
    shown = ", ".join(map(str, numbers[:_SHOWN])) + ", …" * (len(numbers) > _SHOWN)
    what = f"line {shown}: damaged" if numbers else "lines are missing, stand twice or elsewhere"
    what += ", and the provenance of the recording is lost" * (is_cassette and not header)
    return (
        f"{path.name}, {what}; the {count} other replies count, and what is missing is recorded "
        f"again. The file as it was is kept as {aside.name}"
    )


# --- recordings at rest --------------------------------------------------------------------------


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
            place = cassette.place
            cassette.merge(place.parent.name, model_of(place.stem))
        return [
            Joined(path=cassette.path, parts=parts, lines=len(cassette), added=added)
            for parts, cassette, added in joined
        ]


def _finished(place: Path) -> Cassette:
    cassette = Cassette(place)
    if cassette.unfinished:
        raise cassette.unfinished_error()
    return cassette


def prune(place: Path, keys: frozenset[str]) -> Path:
    """Remove ``keys`` from the cassette at ``place``; the copy that is kept of it as it was.

    Raises FileProblem where a recording of it has not come to its end, or nothing would be
    removed or left. Raises FileProblem or DamagedCassette where it cannot be read or
    written.
    """
    with recording_lock(place, stays=False):
        for journal, mode in zip(journals_of(place), ("missing", "all"), strict=True):
            if is_there(journal):
                problem = (
                    f"is left as it is: {journal.name} beside it is left of a recording that has "
                    f"not come to its end; finish that with --bias-record={mode}"
                )
                raise FileProblem(path=place, problem=problem)
        refuse_links(place, packed_path(place))
        cassette = Cassette(place)
        header = cassette.header
        if header is None or not keys or not cassette.keys - keys:
            problem = (
                "is left as it is: what no design asks for in it is of trials that are not "
                "recorded whole, and what else those ask nobody knows; record what is missing "
                "(--bias-record=missing), or give the suite, the judge and the roster it was "
                "recorded with"
                if not keys
                else "is left as it is: no design asks for anything in it, so the suite, the "
                "judge or the roster is another than it was recorded with; remove the "
                "file yourself if you mean it"
            )
            raise FileProblem(path=cassette.path, problem=problem)
        aside = kept_aside(cassette.path, "before")
        cassette.without(keys)
        write_cassette(cassette, header.experiment, header.model, header.provenance)
        return aside
