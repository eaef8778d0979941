"""After a power cut at any moment, every reply that was reported as kept can be read.

The functions that write run on a real disk. Beside it a model is kept of what a power cut would
leave: the content of a file, and the names in a folder, as they were when they were last synced;
of what came after it any part may be there. Before every operation that changes or syncs
anything, all that could be left is laid out, and read as the next run would.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import pytest

from pytest_bias.cassettes.maintenance import salvage
from pytest_bias.cassettes.recorder import Recorder
from pytest_bias.cassettes.store import Cassette, cassette_path
from pytest_bias.experiments.driver import drive_at_once
from pytest_bias.experiments.experiment import plan
from pytest_bias.experiments.protocol import Subject

from .factories import MODEL, PROVENANCE, Taker, always_five, experiment

OF = experiment(replicates=2)
TRIALS = plan(OF, OF.design())

Names = dict[str, int | None]


class Disk:
    """What a power cut leaves of ``root``; whatever is not synced may be there or not."""

    def __init__(self, root: Path, elsewhere: Path) -> None:
        self.root = root
        self.elsewhere = elsewhere
        self.kept: list[str] = []
        self.names: dict[int, Names] = {root.stat().st_ino: {}}
        self.contents: dict[int, bytes] = {}
        self.cuts = 0
        self._cutting = False

    def synced(self, handle: int) -> None:
        """Take note of an fsync."""
        found = os.fstat(handle)
        path = Path(f"/proc/self/fd/{handle}")
        if stat.S_ISDIR(found.st_mode):
            self.names[found.st_ino] = _names(path)
        else:
            self.contents[found.st_ino] = path.read_bytes()

    def check(self) -> None:
        """Read everything that may be left now."""
        for left in self._left(self.root):
            self.cuts += 1
            folder = self.elsewhere / str(self.cuts)
            _lay_out(folder, left)
            place = cassette_path(folder, OF.id, MODEL)
            salvage(place, anew=True)
            found = [Cassette(place, anew=True)]
            if not found[0].unfinished:
                found.append(Cassette(place))
            for cassette in found:
                assert [key for key in self.kept if cassette.lookup(key) is None] == []

    def _left(self, folder: Path) -> Iterator[dict[str, Any]]:
        """Every state of a folder: name → bytes, or the state of a folder."""
        now, known = _names(folder), self.names.get(folder.stat().st_ino, {})
        open_ = sorted(n for n in now.keys() | known.keys() if now.get(n) != known.get(n))
        for new in chain.from_iterable(combinations(open_, k) for k in range(len(open_) + 1)):
            names = {
                n: now.get(n) if n in new else known.get(n) for n in now.keys() | known.keys()
            }
            states: list[dict[str, Any]] = [{}]
            for name, number in sorted(names.items()):
                if number is not None:
                    found = list(self._states(folder / name, number))
                    states = [state | {name: one} for state in states for one in found]
            yield from states

    def _states(self, path: Path, number: int) -> Iterator[Any]:
        there = path.exists() and path.stat().st_ino == number
        if there and path.is_dir():
            yield from self._left(path)
            return
        kept = self.contents.get(number, b"")
        now = path.read_bytes() if there else kept
        yield from {kept, now, now[: (len(kept) + len(now)) // 2]}

    def cut(self) -> None:
        """Cut the power, and read all that may be left."""
        if self._cutting:
            return
        self._cutting = True
        self.check()
        self._cutting = False

    def watched(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        """An operation of the system, before which the power is cut."""

        def call(*given: Any, **named: Any) -> Any:
            self.cut()
            done = real(*given, **named)
            if name == "fsync" and not self._cutting:
                self.synced(given[0])
            return done

        return call


def _names(folder: Path) -> Names:
    return {entry.name: entry.inode() for entry in os.scandir(folder)}


def _lay_out(folder: Path, left: dict[str, Any]) -> None:
    folder.mkdir()
    for name, what in left.items():
        if isinstance(what, dict):
            _lay_out(folder / name, what)
        else:
            (folder / name).write_bytes(what)


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    """A disk that loses its power before every operation."""
    root, elsewhere = tmp_path / "disk", tmp_path / "left"
    root.mkdir()
    elsewhere.mkdir()
    disk = Disk(root, elsewhere)
    for name in ("fsync", "replace", "unlink", "mkdir"):
        monkeypatch.setattr(os, name, disk.watched(name, getattr(os, name)))
    yield disk
    disk.cut()


def recording(disk: Disk, numbers: slice, *, anew: bool = False) -> None:
    """Record trials; each reply is reported as kept the moment it is."""
    place = cassette_path(disk.root, OF.id, MODEL)
    cassette = Cassette(place, anew=anew)
    scope = [trial.id for trial in TRIALS[numbers]] if anew else ()
    recorder = Recorder(cassette, PROVENANCE, scope)
    for trial in TRIALS[numbers]:
        drive_at_once(OF.protocol(trial, Subject()), Taker(OF, trial, always_five, recorder.add))
        disk.kept += [line.key for line in Cassette(place, anew=anew).interactions()]
    recorder.close()


needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")


@needs_proc
@pytest.mark.parametrize("mode", ["missing", "all"])
def test_nothing_that_was_kept_is_lost(disk: Disk, mode: str) -> None:
    recording(disk, slice(0, 2))  # into folders that are not there
    recording(disk, slice(2, 4))  # beside what is there
    recording(disk, slice(0, 4), anew=mode == "all")
    assert len(set(disk.kept)) == len(TRIALS)
    assert disk.cuts > 50
