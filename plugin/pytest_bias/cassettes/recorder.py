"""Recording into a cassette: one recorder at a time, each reply on disk before the next counts.

It stands in a journal until it is merged.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from io import FileIO
from pathlib import Path

from filelock import Timeout

from ..errors import FileProblem, NotWritten
from ..experiments.messages import Completion
from ..experiments.replay import PendingRequest
from . import format as cassette_format
from .files import alone, append_whole, open_journal, sync_folder
from .format import Provenance, encode_provenance, encoded, replies_on
from .measured import MeasuredTrial, encode_measured
from .spill import spill
from .store import Cassette

LOCK_SUFFIX = ".lock"


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
        self._opening = [encode_provenance(provenance)]
        if scope := sorted(scope):
            self._opening.append(encoded({"scope": scope}))
        self._queued = 0
        self._written = 0
        self._lock = threading.Lock()
        self._writing: asyncio.Task[None] | None = None
        self.spilled: tuple[Path, int] | None = None

    @property
    def unkept(self) -> int:
        """Number of replies that are not on disk."""
        return sum(map(replies_on, self._pending))

    def open(self) -> None:
        """Open the journal: where that fails, it fails before anything is paid."""
        if self._file is None:
            self._file = open_journal(self.cassette.journal_path)

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
        append_whole(file, data)

    def close(
        self, *, merge: bool = True, lost: Iterable[str] = (), requested: Iterable[str] = ()
    ) -> None:
        """Close the journal, and merge it into the cassette.

        Without ``merge`` the journal stays: it is what tells the replies of a recording that is
        made again, and has not come to its end, from those it replaces. ``lost`` are the trials
        that a cap kept from being recorded; others that were ``requested`` are no longer lost:
        they are recorded now, or it is not a cap that kept them from it. What the journal cannot
        take is ``spilled``: the file it waits in, and the number of replies.
        """
        try:
            self._write()  # what arrived while the loop was torn down
        except NotWritten:
            self._spill()
            raise
        finally:
            if self._file is not None:
                empty = os.fstat(self._file.fileno()).st_size == 0
                self._file.close()
                if empty:
                    self.cassette.journal_path.unlink(missing_ok=True)
                    sync_folder(self.cassette.journal_path.parent)
        if merge:
            self.cassette.lost = (self.cassette.lost - set(requested)) | set(lost)
            self.cassette.merge(self.provenance)

    def _spill(self) -> None:
        """Keep what waits in another place, where there is room."""
        number, lines = self.unkept, (*self._opening, *self._pending)
        path = spill(self.cassette.journal_path, b"".join(line + b"\n" for line in lines))
        if path is not None:
            self.spilled = path, number
            self._pending.clear()
