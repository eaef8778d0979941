"""One shard of a recording in a process of a cluster: what it is given, and what it tells."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from importlib.metadata import version
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

from ..cassettes.places import JOURNAL_SUFFIX
from ..cassettes.store import Cassette, write_cassette
from ..errors import BiasError, RecordingRefused
from ..recording.caller import Tally
from ..recording.collector import CollectionReport, collect, unexpected
from ..recording.job import JobReport
from ..recording.limits import Spending
from ..recording.process import in_thread
from ..settings.settings import Settings
from .plans import jobs_of, terms_of
from .study import Study

_ROSTER = "roster.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardOrder:
    """An order to record a shard; nothing of the environment is in it, and so no key.

    ``place`` is the folder that ``suite`` is seen from, where the worker has it too; ``roster``
    the text of the file of models. ``parts`` and ``pause`` are as in :class:`.Terms`.
    """

    experiments: tuple[str, ...]
    suite: str
    place: str
    settings: Settings
    roster: bytes | None
    parts: int
    pause: float = 0.0
    version: str = version("pytest-bias")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardTold:
    """The books of a shard, and what it recorded since it was last told.

    ``calls`` and ``committed`` are as in :class:`.Spending`, ``tallies`` by model; ``files`` are
    lines of journals by their path in a folder of recordings. The last one has ``jobs``, and for
    ``files`` whole cassettes, which take the place of the journals; or a ``problem``.
    """

    calls: int = 0
    committed: float = 0.0
    tallies: Mapping[str, Tally] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    jobs: tuple[JobReport, ...] = ()
    problem: str = ""

    def then(self, later: ShardTold) -> ShardTold:
        """Both, as one."""
        files = {**self.files}
        for name, lines in later.files.items():
            files[name] = files.get(name, b"") + lines
        return replace(later, files=files)


class ShardWorker:
    """Records one shard, and makes no call before the driver has :meth:`acknowledged` it.

    So when its process is killed the driver knows the most that can have been called and paid.
    Whoever waits does it here: the driver takes what is told, and answers when it has it.
    """

    def __init__(self) -> None:
        self._queue: SimpleQueue[ShardTold | None] = SimpleQueue()
        self._tallies: dict[str, Tally] = {}
        self._read: dict[Path, int] = {}
        self._spending: Spending | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def record(
        self, order: ShardOrder, held: Mapping[str, bytes], kept: Mapping[str, bytes]
    ) -> Iterator[ShardTold]:
        """Record beside what is ``held`` already, and was ``kept`` of this shard; tell as it goes.

        Both are files by their path in a folder of recordings, cassettes and journals.
        """
        with TemporaryDirectory(prefix="pytest-bias-") as name:
            self._folder = folder = Path(name).resolve()
            for path, data in held.items():
                _write(folder / path, data)
            known = {folder / path: Cassette(folder / path).keys for path in held}
            for path, data in kept.items():
                _write(folder / path, data)
                self._read[folder / path] = len(data)
            with in_thread(partial(self._recorded, order)) as (done, self._interrupt):
                done.add_done_callback(lambda _: self._queue.put(None))
                while told := self._next():
                    yield told
                last = self._last(done, known)
        yield last  # its process may be killed as soon as it has told this: nothing is left behind

    def acknowledge(self, calls: int) -> None:
        """Let the first ``calls`` be made: the driver has them in its books."""
        if self._spending is not None and self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended, and nobody waits
                self._loop.call_soon_threadsafe(self._spending.acknowledge, calls)

    def stop(self) -> None:
        """Call nothing new; what is in flight is waited for, and kept."""
        self._interrupt()

    def _recorded(self, order: ShardOrder) -> CollectionReport:
        if order.version != version("pytest-bias"):
            versions = f"{version('pytest-bias')}, and not {order.version} as here"
            raise RecordingRefused("a worker has pytest-bias " + versions)
        if Path(order.place).is_dir():
            os.chdir(order.place)
        roster = None if order.roster is None else _write(self._folder / _ROSTER, order.roster)
        settings = replace(
            order.settings, cassettes=self._folder, environ=dict(os.environ), roster=roster
        )
        study = Study(order.experiments, order.suite, settings=settings)
        jobs, refused = jobs_of(study.bench, study.cases)
        experiments = [each.experiment for each in study.bench.registry]
        terms = replace(
            terms_of(study.bench, experiments, settings.limits),
            parts=order.parts,
            pause=order.pause,
            book=self._booked,
        )
        report = collect(jobs, terms, self._progressed)
        report.jobs += refused
        return report

    def _booked(self, spending: Spending) -> None:
        self._spending, self._loop = spending, asyncio.get_running_loop()
        self._tell()

    def _progressed(self, tally: Tally) -> None:
        self._tallies[tally.model] = replace(tally, failures=dict(tally.failures))
        self._tell()

    def _tell(self) -> None:
        """Have the driver told; in the loop, where the books change."""
        files = {}
        for path in self._folder.rglob(f"*{JOURNAL_SUFFIX}"):
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                data = file.read()
            if lines := data[: data.rfind(b"\n") + 1]:
                self._read[path] = self._read.get(path, 0) + len(lines)
                files[self._name(path)] = lines
        spending = self._spending
        self._queue.put(
            ShardTold(
                calls=spending.calls if spending else 0,
                committed=spending.committed if spending else 0.0,
                tallies=dict(self._tallies),
                files=files,
            )
        )

    def _next(self) -> ShardTold | None:
        """All that is to be told by now, as one; None at the end."""
        found = [self._queue.get()]
        while found[-1] is not None and not self._queue.empty():
            found.append(self._queue.get())
        if found[-1] is None and len(found) > 1:
            self._queue.put(found.pop())
        told = [each for each in found if each is not None]
        return reduce(ShardTold.then, told) if told else None

    def _last(
        self, done: Future[CollectionReport], known: Mapping[Path, frozenset[str]]
    ) -> ShardTold:
        try:
            jobs = tuple(done.result().jobs)
            found = {job.cassette: (job, Cassette(job.cassette)) for job in jobs}
            for place, (job, cassette) in found.items():
                cassette.without(known.get(place, frozenset()))
                if cassette.exists:
                    write_cassette(cassette, job.experiment_id, job.model, cassette.provenance)
        except BiasError as error:
            return ShardTold(problem=str(error))
        except Exception as error:  # noqa: BLE001  (anybody's code: its words may hold a key)
            return ShardTold(problem=unexpected(error))
        files = {
            self._name(place): place.read_bytes()
            for place, (_, cassette) in found.items()
            if cassette.exists
        }
        return ShardTold(jobs=jobs, files=files)

    def _name(self, path: Path) -> str:
        return path.relative_to(self._folder).as_posix()


def _write(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path
