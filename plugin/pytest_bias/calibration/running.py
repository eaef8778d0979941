"""Draws on all cores: blocks of ten, each judged whole, kept as soon as it is done."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from ..contrasts.cases import Registry
from ..errors import BiasError
from ..experiments.canonical import digest
from ..experiments.design import Design
from ..experiments.records import Outcome
from ..settings.budget import Budget
from ..verdicts.analysis import gating_families
from . import file
from .drawing import Bench
from .errors import DrawFailed
from .file import is_recorded
from .lines import Cell, line_of, lines_of

BLOCK = 10
"""Draws of one block: each is an upgrade of the one before it."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What a suite declares, and how it divides its false alarms."""

    registry: Registry
    budget: Budget
    replies: Callable[[str, str], tuple[Design, Sequence[Outcome]]]
    """Experiment and model → the design of its recording, and what was recorded."""

    def permuted(self, cell: Cell, seed: int, draws: Sequence[int]) -> list[file.Line]:
        """Lines of a recording whose replies are dealt out anew over all its trials."""
        design, recorded = self.replies(cell.experiment, cell.subject)
        bench = replace(self.bench(cell.experiment), design=design)
        lines: list[file.Line] = []
        for draw in draws:
            name = f"{seed}:{cell.subject}:{draw}"
            dealt = Random(int(digest(name), 16)).sample(recorded, len(recorded))  # noqa: S311
            outcomes = [
                replace(new, trial=old.trial) for new, old in zip(dealt, recorded, strict=True)
            ]
            analysis = bench.judged(outcomes, cell.subject, name)
            lines.append(line_of(bench, None, cell, draw, analysis))
        return lines

    def bench(self, experiment: str) -> Bench:
        """One of its experiments under its gate design, ready to be drawn."""
        registered = self.registry[experiment]
        families = gating_families(registered.hypotheses.values())
        return Bench(
            registered=registered,
            design=registered.experiment.design(),
            allocation=self.budget.of(experiment, families),
        )


Load = Callable[[], Declared]
"""Gives what a suite declares, in any process; must be something that pickles."""

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Job:
    """One block of a cell: the draws that are still to be made in it."""

    cell: Cell
    seed: int
    block: int
    wanted: tuple[int, ...]


def jobs_of(cells: Sequence[Cell], lines: Sequence[file.Line], seed: int) -> list[Job]:
    """The blocks of ``cells`` in which a draw is missing from ``lines``, in order."""
    there = {file.key_of(line) for line in lines}
    jobs = []
    for cell in cells:
        for block in range(-(-cell.draws // BLOCK)):
            draws = range(block * BLOCK, min(cell.draws, (block + 1) * BLOCK))
            wanted = tuple(
                d for d in draws if (cell.experiment, cell.subject, cell.accepted, d) not in there
            )
            if wanted:
                jobs.append(Job(cell, seed, block, wanted))
    return jobs


def carry_out(load: Load, job: Job) -> list[file.Line]:
    """The lines of one block. Raises DrawFailed for an error of the suite's code."""
    cell = job.cell
    draw = job.wanted[0]
    try:
        if is_recorded(cell.subject):
            return load().permuted(cell, job.seed, job.wanted)
        bench = load().bench(cell.experiment)
        return list(lines_of(bench, cell, job.seed, job.block * BLOCK, job.wanted))
    except BiasError as error:
        problem = str(error)
    except Exception as error:  # noqa: BLE001  (the author's code, named with its draw)
        problem = f"{type(error).__name__}: {error}"
    raise DrawFailed(experiment=cell.experiment, subject=cell.subject, draw=draw, problem=problem)


def run(
    load: Load, jobs: Sequence[Job], path: Path, *, processes: int, seconds: float, tell: Tell
) -> bool:
    """Carry out ``jobs`` and append their lines; whether all were, in the time there is.

    After ``seconds`` no block is begun. An interruption leaves what is done in the file.
    """
    progress = _Progress(sum(len(job.wanted) for job in jobs), tell)
    if processes == 1:
        done = _alone(load, jobs, progress.began + seconds)
    else:
        done = _together(load, jobs, processes, progress.began + seconds)
    for job, lines in done:
        file.add(path, lines)
        progress.add(job)
    return progress.done == progress.total


def _alone(load: Load, jobs: Sequence[Job], until: float) -> Iterator[tuple[Job, list[file.Line]]]:
    for job in jobs:
        if time.monotonic() >= until:
            return
        yield job, carry_out(load, job)


def _together(
    load: Load, jobs: Sequence[Job], processes: int, until: float
) -> Iterator[tuple[Job, list[file.Line]]]:
    """The blocks as they are done: as many at once as there are processes, in order."""
    queue = iter(jobs)
    pool = ProcessPoolExecutor(processes, initializer=_begin)
    running: dict[Future[list[file.Line]], Job] = {}

    def fill() -> None:
        while len(running) < processes and time.monotonic() < until:
            job = next(queue, None)
            if job is None:
                return
            running[pool.submit(carry_out, load, job)] = job

    try:
        fill()
        while running:
            ended = next(as_completed(running))
            job = running.pop(ended)
            try:
                lines = ended.result()
            except BrokenProcessPool:
                raise DrawFailed(
                    experiment=job.cell.experiment,
                    subject=job.cell.subject,
                    draw=job.wanted[0],
                    problem="its process was ended from outside (out of memory?)",
                ) from None
            fill()
            yield job, lines
    finally:
        pool.shutdown(wait=not running, cancel_futures=True)
        for child in multiprocessing.active_children() if running else ():
            child.terminate()


def _begin() -> None:
    """Let an interruption end a process without a word: the one that asked for it speaks."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class _Progress:
    """Says now and then how far it is, how fast, and how long it will take."""

    EVERY = 10.0
    """Seconds between two lines."""

    def __init__(self, total: int, tell: Tell) -> None:
        self.total, self.done = total, 0
        self.began = self._told = time.monotonic()
        self._tell = tell

    def add(self, job: Job) -> None:
        """Count a block."""
        self.done += len(job.wanted)
        now = time.monotonic()
        if now - self._told < self.EVERY and self.done < self.total:
            return
        self._told = now
        each = (now - self.began) / self.done
        left = each * (self.total - self.done)
        cell = job.cell
        self._tell(
            f"{self.done} of {self.total} draws, {each:.2f} s each, {left / 60:.0f} min left "
            f"({cell.experiment}, {cell.subject})"
        )
