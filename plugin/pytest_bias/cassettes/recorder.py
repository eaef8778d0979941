"""Adding to a cassette: a reply is on disk, in a journal, before the next is counted."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from ..messages import Completion
from ..replay import Wanted
from . import format as cassette_format
from .format import Provenance
from .measured import MEASURED_START, MeasuredTrial, encode_measured, encode_sealed
from .provenance import encode_provenance
from .store import Cassette

_COUNTED = (cassette_format.KEY_START, MEASURED_START)


class Recorder:
    """Adds interactions to a cassette: at once to its journal, at the end to the file itself."""

    def __init__(self, cassette: Cassette, provenance: Provenance) -> None:
        self.cassette = cassette
        self.provenance = provenance
        self.added = 0
        self._file: BinaryIO | None = None
        self._known_texts = set(cassette.texts())
        self._pending: deque[bytes] = deque()
        self._lock = threading.Lock()
        self._writing: asyncio.Task[None] | None = None

    def add(self, wanted: Wanted, completion: Completion) -> None:
        """Keep a reply: when this returns it is on disk."""
        self._pending += self._lines(wanted, completion)
        self._write()

    async def keep(self, wanted: Wanted, completion: Completion) -> None:
        """Keep a reply without holding up the others: when this returns it is on disk.

        Replies that arrive while the disk is busy go there together.
        """
        await self._kept(wanted.key, self._lines(wanted, completion))

    async def keep_measured(self, measured: MeasuredTrial, token: bytes | None) -> None:
        """Keep a whole trial without its text, and the text sealed where there is a ``token``."""
        lines = [] if token is None else [encode_sealed(measured.key, token)]
        await self._kept(measured.key, [*lines, encode_measured(measured)])

    async def _kept(self, key: str, lines: Sequence[bytes]) -> None:
        self._pending += lines
        while not self.cassette.journalled(key):
            if self._writing is None or self._writing.done():
                self._writing = asyncio.create_task(asyncio.to_thread(self._write))
            await asyncio.shield(self._writing)

    def _lines(self, wanted: Wanted, completion: Completion) -> list[bytes]:
        texts = cassette_format.texts_of(wanted)
        lines = [
            cassette_format.encode_text(text)
            for name, text in texts.items()
            if name not in self._known_texts
        ]
        self._known_texts.update(texts)
        interaction = cassette_format.interaction_of(wanted, completion)
        return [*lines, cassette_format.encode_interaction(interaction)]

    def _write(self) -> None:
        """Write what waits; in whatever thread, one at a time, and nothing twice."""
        with self._lock:
            lines = [self._pending.popleft() for _ in range(len(self._pending))]
            if not lines:
                return
            if self._file is None:
                self._file = _opened(self.cassette.journal_path)
                lines.insert(0, encode_provenance(self.provenance))
            data = b"".join(line + b"\n" for line in lines)
            try:
                self._put(self._file, data)
            except OSError:
                # A full disk: they are paid, so they stay here until there is room.
                self._pending.extendleft(reversed(lines))
                raise
            self.cassette.journal(data)
            self.added += sum(line.startswith(_COUNTED) for line in lines)

    @staticmethod
    def _put(file: BinaryIO, data: bytes) -> None:
        """Append ``data``, all of it or nothing."""
        end = file.seek(0, os.SEEK_END)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) :]
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
        recorded: Iterable[str] = (),
    ) -> None:
        """Close the journal, and merge it into the cassette.

        Without ``merge`` the journal stays: it is what tells the replies of a recording that is
        made again, and has not come to its end, from those it replaces. ``lost`` are the trials
        that a cap kept from being recorded; those ``recorded`` are no longer lost.
        """
        self._write()  # what arrived while the loop was torn down
        if self._file is not None:
            self._file.close()
        if merge:
            self.cassette.lost = (self.cassette.lost - set(recorded)) | set(lost)
            self.cassette.merge(experiment_id, model)


def _opened(journal: Path) -> BinaryIO:
    """A journal to append to, without the half line a killed recording may have left."""
    journal.parent.mkdir(parents=True, exist_ok=True)
    file = journal.open("a+b", buffering=0)
    file.seek(0)
    whole, separator, rest = file.read().rpartition(b"\n")
    if rest:
        file.truncate(len(whole) + len(separator))
    return file
