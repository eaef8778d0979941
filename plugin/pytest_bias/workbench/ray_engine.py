"""Recording on a Ray cluster: a task for each shard, with its part of the limits.

A task records into a folder beside the recordings, which all workers see under one path; the
shards are joined at the end. Where a worker dies Ray runs its task again, and that goes on.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import Any, cast

from ..cassettes.files import is_there
from ..cassettes.joint import join
from ..cassettes.places import begun_in, cassette_path, journals_of, packed_path, standing
from ..cassettes.recorder import LOCK_SUFFIX, recording_lock, salvage
from ..contrasts.cases import wanted_of
from ..errors import BadSetting, BiasError, DamagedCassette, MissingPackage
from ..recording.collector import CollectionReport, unexpected
from ..recording.held_signals import HeldSignals
from ..recording.job import Job, JobReport, missing
from ..report.progress import Display, recording_progress
from ..settings.settings import Settings
from ..settings.shards import Shard
from .plans import capped, jobs_of
from .study import Study

_RETRIES = 2
_LIMITS = ("concurrency", "requests_per_minute", "tokens_per_minute")  # a model's, in the roster


def record_on_ray(
    study: Study,
    of: tuple[Sequence[str], str],
    display: Display,
    address: str | None,
    shards: int | None,
) -> CollectionReport:
    """Record what a study, made ``of`` experiments and a suite, lacks, and join it.

    Without an ``address`` a cluster is started here. Raises MissingPackage where Ray is not
    installed, BadSetting where no cluster is reached, and what Study.record and join raise.
    """
    study.check()
    bench, folder = study.bench, study.bench.settings.cassettes
    if bench.settings.record != "missing":
        problem = "records what is missing; --bias-record=all is for one process"
        raise BadSetting(option="--engine", value="ray", problem=problem)
    jobs, _ = jobs_of(bench, study.cases)  # the shards report what is refused
    places = {cassette_path(folder, job.experiment.id, job.model): job for job in jobs}
    for place, job in places.items():
        try:
            missing(job, place, anew=False)
        except DamagedCassette:
            with recording_lock(place, stays=False):
                for said in salvage(place, anew=False):
                    display.say(said)
    _join(folder, places)  # what a process that was killed left
    if not any(missing(job, place, anew=False)[1] for place, job in places.items()):
        return study.record(display)
    limits, _ = capped(bench.settings.limits, [case for case, _ in wanted_of(study.cases)])
    # The cap of a shard counts what one worker spends: with a cap no other goes on for it.
    retries = _RETRIES if limits.max_calls is None and limits.budget is None else 0
    with ExitStack() as held:
        for place in places:
            held.enter_context(recording_lock(place, stays=False))
        ray, cores = held.enter_context(_cluster(address, shards))
        task = ray.remote(num_cpus=1, max_retries=retries)(record_shard)
        parts = [*_parts(study, places, shards or cores)]
        display.say(f"recording on Ray: {len(parts)} shards, each with its part of the limits")
        tasks = {task.remote(*of, str(Path.cwd()), part): part for part in parts}
        report = _followed(ray, tasks, display)
    _join(folder, places)
    bench.forget()
    return report


def _parts(study: Study, places: Mapping[Path, Job], most: int) -> Iterator[Settings]:
    """The settings of each of ``most`` shards, or fewer; what is recorded is in their folders."""
    settings, limits = study.bench.settings, study.bench.settings.limits
    models = {m for job in places.values() for m in (job.players.subject, job.players.judge) if m}
    own = [getattr(study.bench.roster.entry(model), name) for model in models for name in _LIMITS]
    rates = [job.experiment.qpm for job in places.values() if job.experiment.qpm]
    qpm = limits.qpm or min(rates, default=None)
    bounds = [most, limits.concurrency, qpm, limits.max_calls, *own]
    number = min(each for each in bounds if each)
    for shard in (Shard(each, number) for each in range(1, number + 1)):
        folder = _beside(settings.cassettes) / f"{shard.number}-of-{number}"
        for place in places:
            if (recorded := standing(place)) is not None:
                copy = folder / place.parent.name / recorded.name
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(recorded, copy)
        part = replace(
            limits,
            qpm=qpm and qpm // number,
            concurrency=limits.concurrency // number,
            max_calls=limits.max_calls and shard.share(limits.max_calls),
            budget=limits.budget and limits.budget / number,
            cap=f"a shard's share of {limits.cap}",
        )
        ours = replace(settings, environ={}, record_in_ci=True)  # keys stay here
        yield replace(ours, cassettes=folder, shard=shard, limits=part)


def record_shard(
    experiments: Sequence[str], suite: str, place: str, settings: Settings
) -> list[JobReport]:
    """Record a shard in a worker; ``suite`` is seen from ``place``."""
    try:
        os.chdir(place)
        parts = cast("Shard", settings.shard).of
        study = Study(experiments, suite, settings=replace(settings, environ=dict(os.environ)))
        models = {
            model: replace(e, **{n: of // parts for n in _LIMITS if (of := getattr(e, n))})
            for model, e in study.bench.roster.models.items()
        }
        study.bench.roster = replace(study.bench.roster, models=models)
        with recording_progress(None) as display:
            return study.record(display).jobs
    except Exception as error:  # noqa: BLE001  (anybody's code: its words may hold a key)
        words = str(error) if isinstance(error, BiasError) else unexpected(error)
        return [JobReport(f"shard {settings.shard}", "ray", settings.cassettes, problems=[words])]


def _followed(ray: Any, tasks: Mapping[Any, Settings], display: Display) -> CollectionReport:
    """Wait for all tasks; the first signal stops them, the second is heard as ever."""
    report, signals, pending = CollectionReport(), HeldSignals(), [*tasks]
    signals.hold()
    try:
        while pending:
            ready, pending = ray.wait(pending, timeout=0.5)
            if signals.noted and not report.interrupted:
                signals.release()
                report.interrupted = True
                display.say("stopping: calls in flight are waited for; Ctrl-C abandons them")
                for each in pending:
                    ray.cancel(each)
            for task in ready:
                name = f"shard {tasks[task].shard}"
                try:
                    jobs = ray.get(task)
                except ray.exceptions.RayError as error:
                    problem = f"its worker ended ({type(error).__name__}); run it again to go on"
                    jobs = [JobReport(name, "ray", Path(), problems=[problem])]
                display.say(f"{name}: {sum(job.recorded for job in jobs)} trials recorded")
                report.jobs += jobs
    finally:
        signals.release()
    return report


def _join(cassettes: Path, places: Collection[Path]) -> None:
    """Join what shards and journals hold into the recordings, and remove the shards."""
    found = [
        part
        for folder in sorted(_beside(cassettes).glob("*/*"))
        for part in begun_in(folder)
        if cassettes / folder.name / part.name in places
    ]
    begun = [place for place in places if any(map(is_there, journals_of(place)))]
    if found or begun:
        join([*begun, *found], cassettes)
    for part in found:
        lock = part.with_name(part.name + LOCK_SUFFIX)
        for each in (part, packed_path(part), *journals_of(part), lock):
            each.unlink(missing_ok=True)
        with suppress(OSError):  # another recording's shards stand there
            for empty in (part.parent, part.parent.parent, _beside(cassettes)):
                empty.rmdir()


def _beside(cassettes: Path) -> Path:
    return cassettes.with_name(f"{cassettes.name}.shards")


@contextmanager
def _cluster(address: str | None, shards: int | None) -> Iterator[tuple[Any, int]]:
    """Ray, connected to a cluster, and the cores of that; ends what was started."""
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    more: dict[str, Any] = {}
    if address == "local":
        more = {"num_cpus": shards, "include_dashboard": False}
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # Ray's word for loopback alone
        if "RAY_AUTH_MODE" not in os.environ:  # else Ray leaves a token in the home folder
            os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token_hex(32)}
    try:
        import ray  # noqa: PLC0415  (slow, and an extra)

        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **more)
    except ImportError:
        raise MissingPackage(package="ray", extra="ray") from None
    except Exception as error:  # noqa: BLE001  (Ray raises any, and bare ones)
        problem = f"no Ray cluster is reached there: {error}"
        raise BadSetting(option="--address", value=address, problem=problem) from None
    try:
        yield ray, max(1, int(cast("Any", ray).cluster_resources().get("CPU", 1)))
    finally:
        with suppress(KeyboardInterrupt):
            ray.shutdown()
