"""Recording on a Ray cluster: shards in its workers, their books and replies in this process.

Limits hold over all shards by arithmetic: each has its share of calls and money, and an N-th of
what a model takes at a time. Nothing in the cluster knows of all shards, so nothing waits for it.
"""

from __future__ import annotations

import logging
import os
import re
import socket
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from secrets import token_hex
from time import monotonic
from typing import Any, cast

from ..cassettes.files import is_there
from ..cassettes.joint import join
from ..cassettes.places import (
    JOURNAL_SUFFIX,
    begun_in,
    cassette_path,
    journals_of,
    standing,
    whole_text,
)
from ..cassettes.recorder import recording_lock
from ..contrasts.cases import wanted_of
from ..errors import BadSetting, MissingPackage
from ..recording.caller import Tally
from ..recording.collector import CollectionReport
from ..recording.held_signals import HeldSignals
from ..recording.job import Job, JobReport, missing
from ..report.progress import Display
from ..settings.settings import Limits
from ..settings.shards import Shard
from .plans import capped, jobs_of
from .shard_worker import ShardOrder, ShardTold, ShardWorker
from .study import Study

_SUFFIX = ".shards"
"""Of the folder of shards while they are recorded; it adds to that of the recordings."""
_AGAIN = 2
"""How often a shard whose worker died is begun again."""
_PATIENCE = 5.0
_MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class RayEngine:
    """Records a study as ``shards`` on the Ray cluster at ``address``; on one of its own for None.

    ``experiments`` and ``suite`` are what the study was made of.
    """

    experiments: Sequence[str]
    suite: str
    address: str | None = None
    shards: int | None = None

    def record(self, study: Study, display: Display) -> CollectionReport:
        """Record what the study lacks, and join it into its recordings.

        Raises MissingPackage where Ray is not installed, BadSetting where no cluster is reached;
        and what :meth:`.Study.record` and :func:`.join` raise.
        """
        study.check()
        settings, folder = study.bench.settings, study.bench.settings.cassettes
        if self.shards is not None and self.shards < 1:
            raise BadSetting(option="--shards", value=self.shards, problem="must be 1 or more")
        if settings.record != "missing":
            problem = "records what is missing; --bias-record=all is for one process"
            raise BadSetting(option="--engine", value="ray", problem=problem)
        jobs, _ = jobs_of(study.bench, study.cases)  # what is refused the workers say too
        places = {cassette_path(folder, job.experiment.id, job.model): job for job in jobs}

        def lacking() -> int:
            return sum(len(missing(job, at, anew=False)[1]) for at, job in places.items())

        parts = folder.with_name(folder.name + _SUFFIX)
        run = None
        with ExitStack() as held:
            # Who holds a recording has its shards as well: nobody else joins or removes them.
            for place in places:
                held.enter_context(recording_lock(place, stays=False))
            _join(parts, places)  # what was left where a process was killed
            if lacking():
                try:
                    run = held.enter_context(self._run(study, places, parts, display))
                    run.follow()
                finally:
                    _join(parts, places)
        if run is None:
            return study.record(display)
        report = run.report(places)
        told = report.interrupted or any(job.lost or job.problems for job in report.jobs)
        if not told and (number := lacking()):
            problem = f"{number} trials are not recorded: do the workers have the same suite?"
            report.jobs.append(JobReport("all shards", "ray", parts, problems=[problem]))
        study.bench.forget()
        return report

    @contextmanager
    def _run(
        self, study: Study, places: Mapping[Path, Job], parts: Path, display: Display
    ) -> Iterator[_Run]:
        bench, settings, jobs = study.bench, study.bench.settings, places.values()
        models = {m for job in jobs for m in (job.players.subject, job.players.judge) if m}
        entries = [bench.roster.entry(model) for model in models]
        rates = [settings.limits.qpm or job.experiment.qpm for job in jobs]
        rates += [entry.requests_per_minute for entry in entries]
        tokens = [entry.tokens_per_minute for entry in entries]
        most = [settings.limits.concurrency, *rates, *tokens]
        most += [entry.concurrency for entry in entries]
        limits, words = capped(settings.limits, [case for case, _ in wanted_of(study.cases)])
        with _cluster(self.address, self.shards) as (ray, cores):
            number = min(each for each in (self.shards or cores, *most) if each is not None)
            display.say(f"recording on Ray: {number} shards, {cores} cores; {words}".rstrip("; "))
            pace = min((each for each in rates if each is not None), default=0) // number
            order = ShardOrder(
                experiments=tuple(self.experiments),
                suite=self.suite,
                place=str(Path.cwd()),
                # The environment stays here: it holds keys.
                settings=replace(settings, limits=limits, environ={}, record_in_ci=True),
                roster=None if settings.roster is None else settings.roster.read_bytes(),
                parts=number,
                pause=_MINUTE if any(tokens) else pace and _MINUTE / pace * (1 + 1 / pace),
            )
            yield _Run(ray, order, parts, display, _held(places))


@dataclass(slots=True)
class _Running:
    """A shard as this process knows it.

    ``calls``, ``committed`` and ``tallies`` are of its workers that died, ``last`` of the one that
    lives; that was asked for at ``since``, and made its ``first`` call so many seconds later.
    """

    shard: Shard
    folder: Path
    worker: Any = None
    stream: Any = None
    begun: int = 0
    since: float = 0.0
    first: float = 0.0
    calls: int = 0
    committed: float = 0.0
    tallies: list[Tally] = field(default_factory=list)
    last: ShardTold | None = None
    jobs: tuple[JobReport, ...] = ()
    problem: str = ""

    @property
    def kept(self) -> int:
        """Number of replies of it that stand here."""
        told = self.last.tallies.values() if self.last else ()
        return sum(tally.replies for tally in (*self.tallies, *told))

    def died(self) -> None:
        """Count what the worker may have spent as spent."""
        if self.last is not None:
            self.calls += self.last.calls
            self.committed += self.last.committed
            self.tallies += [replace(t, wanted=t.trials) for t in self.last.tallies.values()]
        self.last = None


class _Run:
    """All shards of a recording."""

    def __init__(
        self, ray: Any, order: ShardOrder, folder: Path, display: Display, held: dict[str, bytes]
    ) -> None:
        self._ray, self._order, self._display = ray, order, display
        self._held = ray.put(held)
        self._worker = ray.remote(num_cpus=1, max_concurrency=2)(ShardWorker)
        self._stopping = False
        shards = [Shard(number, order.parts) for number in range(1, order.parts + 1)]
        own = token_hex(4)
        self.shards = [_Running(s, folder / f"{own}-{s.number}-of-{s.of}") for s in shards]
        self._running: dict[Any, _Running] = {}

    def follow(self) -> None:
        """Record all shards; the first signal stops them, the second is heard as ever."""
        signals = HeldSignals()
        signals.hold()
        try:
            for running in self.shards:
                self._begin(running)
            while self._running:
                ready, _ = self._ray.wait([*self._running], timeout=0.5, fetch_local=False)
                if signals.noted and not self._stopping:
                    signals.release()
                    self._stop()
                for stream in ready:
                    if stream in self._running:
                        self._listen(self._running[stream])
        finally:
            signals.release()

    def _begin(self, running: _Running) -> None:
        order, limits, shard = self._order, self._order.settings.limits, running.shard
        calls, budget = limits.max_calls, limits.budget
        limits = replace(
            limits,
            max_calls=None if calls is None else max(0, shard.share(calls) - running.calls),
            budget=None if budget is None else max(0.0, budget / shard.of - running.committed),
        )
        mine = replace(
            order,
            settings=replace(order.settings, limits=limits, shard=shard),
            pause=order.pause if running.begun else 0.0,
        )
        kept = {
            path.relative_to(running.folder).as_posix(): path.read_bytes()
            for path in running.folder.glob(f"*/*{JOURNAL_SUFFIX}")
        }
        running.begun += 1
        running.since, running.first = monotonic(), 0.0
        running.worker = self._worker.remote()
        record = running.worker.record.options(num_returns="streaming")
        running.stream = record.remote(mine, self._held, kept)
        self._running[running.stream] = running

    def _listen(self, running: _Running) -> None:
        """Take what a shard tells, keep it, and say that it is kept."""
        errors = self._ray.exceptions
        try:
            told = self._ray.get(next(running.stream))
        except StopIteration:
            self._end(running)
            seconds, calls = monotonic() - running.since, running.last.calls if running.last else 0
            words = f"{calls} calls, {seconds:.1f} s, the first call after {running.first:.1f} s"
            self._display.say(f"shard {running.shard}: {words}")
        except errors.RayTaskError as error:
            self._end(running, f"its worker failed with {type(error.cause).__name__}")
        except errors.RayError as error:
            # Its last line has what is not installed on a worker, or what ended it.
            why = str(error).strip().splitlines()[-1:]
            self._died(running, f"{type(error).__name__}: {''.join(why)[:150]}")
        else:
            self._take(running, told)

    def _take(self, running: _Running, told: ShardTold) -> None:
        for name, data in told.files.items():
            path = running.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if name.endswith(JOURNAL_SUFFIX):
                with path.open("ab") as file:
                    file.write(data)
            else:
                path.write_bytes(data)
                path.with_name(path.name + JOURNAL_SUFFIX).unlink(missing_ok=True)
        running.jobs, running.problem = told.jobs, told.problem
        if not (told.jobs or told.problem):
            running.last = told
            running.first = running.first or (monotonic() - running.since) * bool(told.calls)
            running.worker.acknowledge.remote(told.calls)
        for model in told.tallies:
            self._display(self._tally(model))

    def _died(self, running: _Running, how: str) -> None:
        """Begin a shard again whose worker died; too often, and it is left as it is."""
        if self._stopping:
            self._end(running, "stopped before its end")
        elif running.begun > _AGAIN:
            words = f"its worker died {running.begun} times ({how})"
            self._end(running, f"{words}; {running.kept} replies are kept, run it again to go on")
        else:
            words = f"shard {running.shard}: its worker died ({how}); {running.kept} replies are "
            self._display.say(f"{words}kept, and another one goes on")
            self._end(running)
            running.died()
            self._begin(running)

    def _end(self, running: _Running, problem: str = "") -> None:
        del self._running[running.stream]
        running.problem = running.problem or problem
        self._ray.kill(running.worker)  # dead or not, it makes no call any more

    def _stop(self) -> None:
        self._stopping = True
        self._display.say(
            "stopping: nothing new is called, and calls in flight are waited for, so that their "
            "replies are kept; once more (Ctrl-C) abandons them"
        )
        for running in [*self._running.values()]:
            if running.last is None:
                self._end(running, "not begun: the recording was interrupted")
            else:
                running.worker.stop.remote()

    def _tally(self, model: str) -> Tally:
        """The books of a model over all shards."""
        found = [t for s in self.shards for t in s.tallies]
        found += [t for s in self.shards if s.last for t in s.last.tallies.values()]
        return _summed([tally for tally in found if tally.model == model] or [Tally(model)])

    def report(self, places: Mapping[Path, Job]) -> CollectionReport:
        """What came of all shards, by experiment and model; and what went wrong with any."""
        found = {
            (job.experiment.id, job.model): JobReport(job.experiment.id, job.model, place)
            for place, job in places.items()
        }
        wrong: dict[str, list[str]] = {}
        limits = self._order.settings.limits
        for running in self.shards:
            for job in running.jobs:
                job.notes = [_of_share(note, limits) for note in job.notes]
                whole = found.setdefault((job.experiment_id, job.model), job)
                if whole is not job:
                    _add(whole, job)
            if running.problem:
                wrong.setdefault(running.problem, []).append(str(running.shard))
        for problem, names in wrong.items():
            name = f"shard {', '.join(names)}"
            found[name, ""] = JobReport(name, "ray", Path(), problems=[problem])
        models = dict.fromkeys(job.model for job in places.values())
        tallies = [self._tally(model) for model in models]
        return CollectionReport([*found.values()], tallies, self._stopping)


def _of_share(note: str, limits: Limits) -> str:
    """Name the cap that was given, where a shard names its share as one of its own."""
    caps = {limits.cap: limits.max_calls, "--bias-budget": limits.budget}
    return re.sub(
        rf"({'|'.join(caps)})=\S+",
        lambda found: f"a shard's share of {found[1]}={caps[found[1]] or 0:.15g}",
        note,
    )


def _add(whole: JobReport, part: JobReport) -> None:
    whole.wanted += part.wanted
    whole.calls += part.calls
    whole.done |= part.done
    whole.lost |= part.lost
    whole.unkept += part.unkept
    for mine, theirs in ((whole.problems, part.problems), (whole.notes, part.notes)):
        mine += [text for text in theirs if text not in mine]


def _summed(tallies: Sequence[Tally]) -> Tally:
    whole = replace(tallies[-1], waiting=max(tally.waiting for tally in tallies))
    counts = "wanted trials attempts replies input_tokens output_tokens cost uncosted"
    for name in counts.split():
        setattr(whole, name, sum(getattr(tally, name) for tally in tallies))
    whole.failures = dict(sum((Counter(tally.failures) for tally in tallies), Counter[str]()))
    return whole


def _held(places: Iterable[Path]) -> dict[str, bytes]:
    """The cassettes that stand, plain, by their path in the folder."""
    found = {f"{place.parent.name}/{place.name}": standing(place) for place in places}
    return {name: whole_text(path) for name, path in found.items() if path is not None}


def _join(parts: Path, places: Iterable[Path]) -> None:
    """Join what stands of shards, and in journals, into the recordings, which the caller holds.

    Shards of other recordings stay: another process may be writing them.
    """
    places = tuple(places)
    root = parts.with_name(parts.name.removesuffix(_SUFFIX))
    names = {place.relative_to(root) for place in places}
    begun = [place for place in places if any(map(is_there, journals_of(place)))]
    found = [
        place
        for folder in sorted(parts.glob("*/*"))
        for place in begun_in(folder)
        if place.relative_to(folder.parent) in names
    ]
    if found or begun:
        join([*begun, *found], root, held=True)
    for place in found:
        for each in (place, *journals_of(place)):
            each.unlink(missing_ok=True)
        with suppress(OSError):  # another recording's shards stand there
            for empty in (place.parent, place.parent.parent, parts):
                empty.rmdir()


@contextmanager
def _cluster(address: str | None, shards: int | None) -> Iterator[tuple[Any, int]]:
    """Ray, connected to a cluster, and the cores of that; ends what was started."""
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    host, _, port = address.rpartition(":")
    refused = partial(BadSetting, option="--address", value=address)
    if "://" in address:
        raise refused(problem="must be HOST:PORT or auto, and this process on one of its nodes")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_IGNORE_UNHANDLED_ERRORS"] = "1"  # what a dead worker did not hear
    # Else an address at which something else listens is tried for a quarter of an hour.
    os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "1")
    if address == "local" or host.startswith("127."):
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # Ray's word for loopback alone
    more: dict[str, Any] = {}
    if address == "local":
        more = {"num_cpus": shards, "include_dashboard": False}
        if "RAY_AUTH_MODE" not in os.environ:  # else Ray leaves a token in the home folder
            os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token_hex(32)}
    try:
        if address not in {"local", "auto"}:
            socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
        import ray  # noqa: PLC0415  (slow, and an extra)

        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **more)
    except ImportError:
        raise MissingPackage(package="ray", extra="ray") from None
    except (OSError, ValueError, RuntimeError) as error:
        raise refused(problem=f"no Ray cluster is reached there: {error}") from None
    try:
        yield ray, int(cast("Any", ray).cluster_resources().get("CPU", 1))
    finally:
        with suppress(KeyboardInterrupt):
            ray.shutdown()
