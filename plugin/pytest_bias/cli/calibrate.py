"""The command ``pytest-bias calibrate``: error rates of a suite, measured on fresh draws."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..calibration import file
from ..calibration.grid import full, gate
from ..calibration.lines import GridCell
from ..calibration.planting import PlantedSubject
from ..calibration.running import DrawnSuite, blocks_of, draw_blocks
from ..calibration.summary import as_json, curve_table, curves, rates, table
from ..cassettes.places import cassettes_in
from ..contrasts.cases import Case, Registry
from ..errors import BadSetting, NotRecorded, UnknownName
from ..experiments.experiment import GATE
from ..settings.budget import read_budget
from ..workbench.configuration import configured
from ..workbench.recordings import Recordings
from ..workbench.suite import registry_of, suite_modules
from . import check_apart, tell, write

if TYPE_CHECKING:
    from ..experiments.design import Design
    from ..experiments.records import Outcome

_HOUR = 3600.0


@cache
def declared_by(suite: str, design: str = GATE, replicates: int | None = None) -> DrawnSuite:
    """Read what a suite declares, its error budget, and the design to draw; once in a process."""
    registry = registry_of(suite_modules(suite))
    budget = read_budget(configured().error_budget)
    return DrawnSuite(registry, budget, partial(_replies, registry), design, replicates)


def _replies(registry: Registry, experiment: str, model: str) -> tuple[Design, Sequence[Outcome]]:
    """The first design of which a model has a whole recording, and its outcomes.

    Raises NotRecorded where there is none.
    """
    asked = registry[experiment].experiment
    misses: NotRecorded | None = None
    for design in (asked.design(), *asked.designs.values()):
        # Anew for each: it keeps what it read of one design.
        recordings = Recordings(configured(model=[model]))
        recordings.tables.check(recordings.settings)
        case = recordings.sized(Case("hypothesis", asked, model, design))
        try:
            return case.design, recordings.replayed(case)
        except NotRecorded as missed:
            misses = misses or missed
    assert misses is not None  # noqa: S101  (there is always a gate design)
    raise misses


def on_record(registry: Registry, ids: Collection[str]) -> list[tuple[str, str]]:
    """The experiments and models whose replies were published, or recorded on this machine."""
    recordings = Recordings(configured())
    tables, folder = recordings.tables, recordings.settings.cassettes
    found: list[tuple[str, str]] = []
    for experiment in (each.experiment for each in registry if each.experiment.id in ids):
        found += [(experiment.id, model) for model in tables.models(experiment)]
        places = cassettes_in(folder / experiment.id)
        for place in (each for each in places if each.name.startswith("local--")):
            model = place.stem.replace("--", "/", 1)
            with suppress(NotRecorded):
                _replies(registry, experiment.id, model)
                found.append((experiment.id, model))
    return found


def _calibrate(given: argparse.Namespace) -> int:
    check_apart([given.summary], [given.out, *(given.report or ())])
    if given.report is not None:
        return _summed_up(given.report, given, 2.0)
    if given.out is None:
        raise BadSetting(option="--out", value=None, problem="say where the draws are to be kept")
    load = partial(declared_by, given.suite, given.design, given.replicates)
    declared = load()
    settings = {
        "format": file.FORMAT,
        "seed": given.seed,
        "suite": given.suite,
        "designs": declared.digests,
    }
    with file.alone(given.out):
        blocks = blocks_of(_cells(declared, given), file.begin(given.out, settings), given.seed)
        whole = False
        try:
            whole = draw_blocks(
                load,
                blocks,
                given.out,
                processes=min(given.jobs, max(len(blocks), 1)),
                seconds=given.hours * _HOUR,
                tell=partial(tell, wrong=True),
            )
        finally:  # also where a signal has ended it
            words = "whole" if whole else "not whole; the same command goes on with it"
            tell(f"{given.out}: {words}", wrong=True)
    if given.grid is None and given.summary is None and not given.json:
        return 0
    return _summed_up([given.out], given, 3.0 if given.grid == "gate" else 2.0)


def _cells(declared: DrawnSuite, given: argparse.Namespace) -> list[GridCell]:
    """The cells that are asked for: of a grid, or of one subject."""
    registry = declared.registry
    ids = _experiments(declared, given.experiments)
    if given.grid is not None:
        found = [
            *(gate(registry) if given.grid == "gate" else full(registry, on_record(registry, ids)))
        ]
        return [cell for cell in found if cell.experiment in ids]
    if file.is_permuted(given.subject):
        return [GridCell(each, given.subject, given.draws) for each in ids]
    for subject in filter(None, (given.subject, given.accepted)):
        PlantedSubject(subject).check(registry[each] for each in ids)
    return [GridCell(each, given.subject, given.draws, given.accepted) for each in ids]


def _summed_up(files: Sequence[Path], given: argparse.Namespace, errors: float) -> int:
    """Print, and write where asked, what the draws say; 1 where a bound is broken."""
    first, lines = file.read(files[0])
    for path in files[1:]:
        settings, more = file.read(path)
        if settings["designs"] != first["designs"]:
            problem = f"its designs are not those of {files[0]}"
            raise file.DamagedCalibration(path=path, line=1, problem=problem)
        lines += more
    found = rates(first, lines)
    curved = curves(found)
    summary = as_json(first, found, curved)
    text = "\n".join((*table(found, errors), *curve_table(curved)))
    tell(summary.rstrip() if given.json else text)
    if given.summary is not None:
        write(given.summary, summary)
    broken = [each for each in found if not each.holds(errors)]
    bounds = sum(each.bound is not None for each in found)
    said = f"{len(broken)} of {bounds} bounds are broken (grace: {errors:g} Monte Carlo errors)"
    tell(said if given.json else f"\n{said}", wrong=given.json)
    return int(bool(broken))


def _experiments(declared: DrawnSuite, named: Sequence[str]) -> list[str]:
    """The ids of the experiments to draw: those ``named``, or all that simulated subjects answer.

    Raises UnknownName for one there is not, or without the design; BadSetting for one that no
    simulated subject answers.
    """
    known = {each.experiment.id: each for each in declared.registry}
    for name in named:
        if name not in known:
            raise UnknownName(kind="experiment", name=name, known=known)
        if known[name].experiment.simulated is None:
            problem = "no simulated subject answers it (simulated= of its Experiment)"
            raise BadSetting(option="EXPERIMENT", value=name, problem=problem)
        declared.bench(name)
    answers = [name for name, each in known.items() if each.experiment.simulated is not None]
    answered = [name for name in answers if name in declared.digests]
    if answers and not answered:
        declared.bench(answers[0])
    if not answered:
        problem = "no experiment in it says how simulated subjects answer"
        raise BadSetting(option="--suite", value=None, problem=problem)
    return list(dict.fromkeys(named)) or sorted(answered)
