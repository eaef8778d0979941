"""The command ``pytest-bias calibrate``: error rates of a suite, measured on fresh draws."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..calibration import file
from ..calibration.lines import Cell
from ..calibration.planting import Subject
from ..calibration.running import bench_of, jobs_of, run
from ..contrasts.cases import Registry, declared_in
from ..errors import BadSetting, UnknownName
from ..providers.simulator.exchange import SUBJECTS
from . import tell
from .suite import suite_modules

if TYPE_CHECKING:
    from . import Commands

_HOUR = 3600.0


def add_calibrating(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command to ``commands``."""
    command = commands.add_parser(
        "calibrate",
        help="measure how often verdicts err, on fresh draws of simulated subjects",
        description="Draw a simulated subject anew, again and again, in this process: no HTTP, no "
        "cassette, nothing is called. Each draw goes through protocol, replies, parser, measures, "
        "analysis and gate, and is a line of FILE. What stands in FILE is not drawn again, so a "
        "run that was interrupted goes on where it was.",
    )
    command.add_argument(
        "experiments", nargs="*", metavar="EXPERIMENT", help="ids; by default all of the suite"
    )
    command.add_argument(
        "--suite", default="bias_tests", help="package of the test modules (bias_tests)"
    )
    command.add_argument("--subject", default="even", help="who is drawn (even)")
    command.add_argument(
        "--accepted",
        default="",
        metavar="SUBJECT",
        help="hold every draw against an accepted one of this subject, as an upgrade",
    )
    command.add_argument("--draws", type=_positive, default=10, help="number of draws (10)")
    command.add_argument("--seed", type=int, default=1, help="decides all chance (1)")
    command.add_argument(
        "--jobs", type=_positive, default=os.cpu_count() or 1, help="processes (all cores)"
    )
    command.add_argument(
        "--hours", type=float, default=24.0, help="begin nothing after so many hours (24)"
    )
    command.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="where the draws are kept (JSONL)"
    )
    command.set_defaults(run=_calibrate)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


@cache
def declared_by(suite: str) -> Registry:
    """What a suite declares; read once in a process."""
    registry = Registry()
    for module in suite_modules(suite):
        for declared in declared_in(module):
            registry.add(declared)
    return registry


def _calibrate(given: argparse.Namespace) -> int:
    registry = declared_by(given.suite)
    ids = _experiments(registry, given.experiments)
    for subject in filter(None, (given.subject, given.accepted)):
        Subject(subject, SUBJECTS).check(registry[each] for each in ids)
    settings = {
        "format": file.FORMAT,
        "seed": given.seed,
        "suite": given.suite,
        "designs": {
            each.experiment.id: bench_of(registry, each.experiment.id).digest for each in registry
        },
    }
    cells = [Cell(each, given.subject, given.draws, given.accepted) for each in ids]
    jobs = jobs_of(cells, file.begin(given.out, settings), given.seed)
    whole = run(
        partial(declared_by, given.suite),
        jobs,
        given.out,
        processes=min(given.jobs, max(len(jobs), 1)),
        seconds=given.hours * _HOUR,
        tell=partial(tell, wrong=True),
    )
    tell(f"{given.out}: {'whole' if whole else 'not whole; run the same command again'}")
    return 0


def _experiments(registry: Registry, named: Sequence[str]) -> list[str]:
    """The ids of the experiments to draw: those ``named``, or all that simulated subjects answer.

    Raises UnknownName for one there is not, BadSetting for one that no simulated subject answers.
    """
    known = {each.experiment.id: each for each in registry}
    for name in named:
        if name not in known:
            raise UnknownName(kind="experiment", name=name, known=known)
        if known[name].experiment.simulated is None:
            problem = "no simulated subject answers it (simulated= of its Experiment)"
            raise BadSetting(option="EXPERIMENT", value=name, problem=problem)
    answered = [name for name, each in known.items() if each.experiment.simulated is not None]
    if not answered:
        problem = "no experiment in it says how simulated subjects answer"
        raise BadSetting(option="--suite", value=None, problem=problem)
    return list(dict.fromkeys(named)) or sorted(answered)
