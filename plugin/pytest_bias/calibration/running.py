"""Draws on all cores: blocks of ten, each judged whole, kept as soon as it is done."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from statistics import fmean

from ..contrasts.cases import Registry
from ..errors import BiasError, UnknownName
from ..experiments.canonical import digest
from ..experiments.design import Design
from ..experiments.experiment import GATE
from ..experiments.records import Outcome
from ..recording.held_signals import SIGNALS, handlers_restored
from ..settings.budget import Budget
from ..verdicts.analysis import gating_families
from . import file
from .drawing import Bench
from .file import is_permuted
from .lines import GridCell, drawn_lines, line_of

BLOCK = 10
"""Draws of one block: each is an upgrade of the one before it."""


class DrawFailed(BiasError):
    """A draw ended in an error of the suite's own code."""

    def __init__(self, *, experiment: str, subject: str, draw: int, problem: str) -> None:
        super().__init__(f"{experiment}, {subject}, draw {draw}: {problem}")


@dataclass(frozen=True, slots=True)
class DrawnSuite:
    """The declarations of a suite, and how it divides its false alarms."""

    registry: Registry
    budget: Budget
    replies: Callable[[str, str], tuple[Design, Sequence[Outcome]]]
    """Experiment and model → the design of its recording, and what was recorded."""
    design: str = GATE
    replicates: int | None = None

    def permuted(self, cell: GridCell, seed: int, draws: Sequence[int]) -> list[file.Line]:
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

    @property
    def digests(self) -> dict[str, str]:
        """Experiment → the digest of the design; those without such a design are not there."""
        found: dict[str, str] = {}
        for each in self.registry:
            with suppress(UnknownName):
                found[each.experiment.id] = self.bench(each.experiment.id).digest
        return found

    def bench(self, experiment: str) -> Bench:
        """One of its experiments under the design, ready to be drawn.

        Raises UnknownName where it has none of that name.
        """
        registered = self.registry[experiment]
        families = gating_families(registered.hypotheses.values())
        return Bench(
            registered=registered,
            design=registered.experiment.design(self.design, self.replicates),
            allocation=self.budget.of(experiment, families),
        )


Load = Callable[[], DrawnSuite]
"""Gives what a suite declares, in any process; must be something that pickles."""

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a cell: the draws that are still to be made in it."""

    cell: GridCell
    seed: int
    number: int
    wanted: tuple[int, ...]


def blocks_of(cells: Sequence[GridCell], lines: Sequence[file.Line], seed: int) -> list[Block]:
    """The blocks of ``cells`` in which a draw is missing from ``lines``, in order."""
    there = {file.draw_key(line) for line in lines}
    blocks = []
    for cell in cells:
        for number in range(-(-cell.draws // BLOCK)):
            draws = range(number * BLOCK, min(cell.draws, (number + 1) * BLOCK))
            wanted = tuple(
                d for d in draws if (cell.experiment, cell.subject, cell.accepted, d) not in there
            )
            if wanted:
                blocks.append(Block(cell, seed, number, wanted))
                there |= {(cell.experiment, cell.subject, cell.accepted, d) for d in wanted}
    return blocks


def draw_block(load: Load, block: Block) -> tuple[list[file.Line], float]:
    """The lines of one block, and how many seconds of a core they took.

    Raises DrawFailed for an error of the suite's code.
    """
    cell = block.cell
    draw = block.wanted[0]
    began = time.process_time()
    try:
        if is_permuted(cell.subject):
            lines = load().permuted(cell, block.seed, block.wanted)
        else:
            bench = load().bench(cell.experiment)
            lines = [*drawn_lines(bench, cell, block.seed, block.number * BLOCK, block.wanted)]
        return lines, time.process_time() - began
    except BiasError as error:
        problem = str(error)
    except Exception as error:  # noqa: BLE001  (the author's code, named with its draw)
        problem = f"{type(error).__name__}: {error}"
    raise DrawFailed(experiment=cell.experiment, subject=cell.subject, draw=draw, problem=problem)


def draw_blocks(
    load: Load, blocks: Sequence[Block], path: Path, *, processes: int, seconds: float, tell: Tell
) -> bool:
    """Carry out ``blocks`` and append their lines; whether all were, in the time there is.

    After ``seconds`` no block is begun. An interruption leaves what is done in the file, and no
    process; SIGTERM and SIGHUP are one as SIGINT is, unless they are ignored.
    """
    progress = _Progress(blocks, tell)
    until = time.monotonic() + seconds
    if processes == 1:
        done = _alone(load, blocks, until)
    else:
        done = _together(load, blocks, processes, until)
    with handlers_restored():
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.default_int_handler)
        for block, (lines, took) in done:
            file.add(path, lines)
            progress.add(block, took)
    return progress.done == progress.total


Done = tuple[Block, tuple[list[file.Line], float]]
"""A block, its lines, and the seconds they took."""


def _alone(load: Load, blocks: Sequence[Block], until: float) -> Iterator[Done]:
    for block in blocks:
        if time.monotonic() >= until:
            return
        yield block, draw_block(load, block)


def _together(load: Load, blocks: Sequence[Block], processes: int, until: float) -> Iterator[Done]:
    """The blocks as they are done: as many at once as there are processes, in order."""
    queue = iter(blocks)
    pool = ProcessPoolExecutor(processes, initializer=_begin)
    running: dict[Future[tuple[list[file.Line], float]], Block] = {}

    def fill() -> None:
        while len(running) < processes and time.monotonic() < until:
            block = next(queue, None)
            if block is None:
                return
            running[pool.submit(draw_block, load, block)] = block

    try:
        fill()
        while running:
            ended = next(as_completed(running))
            block = running.pop(ended)
            try:
                drawn = ended.result()
            except BrokenProcessPool:
                raise DrawFailed(
                    experiment=block.cell.experiment,
                    subject=block.cell.subject,
                    draw=block.wanted[0],
                    problem="its process was ended from outside (out of memory?)",
                ) from None
            fill()
            yield block, drawn
    finally:
        for child in multiprocessing.active_children() if running else ():
            child.terminate()
        # Waited for here: Python's end wakes a pool that is just closing, and prints its error.
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    """Let an interruption end a process without a word: the one that asked for it speaks.

    It ends with that one, too, however that ends.
    """
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None  # noqa: S101  (only in a process of the pool)
    parent.join()
    os._exit(1)


class _Progress:
    """Says now and then how far it is, and how much of a core the rest will take."""

    EVERY = 10.0
    """Seconds between two lines."""

    def __init__(self, blocks: Sequence[Block], tell: Tell) -> None:
        self.total, self.done = sum(len(block.wanted) for block in blocks), 0
        self._left = Counter[_Kind]()
        for block in blocks:
            self._left[_kind(block)] += len(block.wanted)
        self._drawn, self._took = Counter[_Kind](), defaultdict[_Kind, float](float)
        self._told = time.monotonic()
        self._tell = tell

    def add(self, block: Block, took: float) -> None:
        """Count a block, which took so many seconds of a core."""
        kind, draws = _kind(block), len(block.wanted)
        self.done += draws
        self._left[kind] -= draws
        self._drawn[kind] += draws
        self._took[kind] += took
        now = time.monotonic()
        if now - self._told < self.EVERY and self.done < self.total:
            return
        self._told = now
        known = {each: self._took[each] / n for each, n in self._drawn.items()}
        # What was not drawn yet is taken for as slow as the mean of what was.
        mean = fmean(known.values())
        left = sum(n * known.get(each, mean) for each, n in self._left.items())
        cell = block.cell
        self._tell(
            f"{self.done} of {self.total} draws, {took / draws:.2f} s each "
            f"({cell.experiment}, {cell.subject}), {left / 3600:.2f} core-hours left"
        )


_Kind = tuple[str, bool, bool]
"""What decides how long a draw takes: experiment, whether permuted, whether two are made."""


def _kind(block: Block) -> _Kind:
    cell = block.cell
    two = cell.accepted not in ("", cell.subject)
    return cell.experiment, is_permuted(cell.subject), two
