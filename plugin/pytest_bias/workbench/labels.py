"""Labels that people gave to trials: a CSV file beside the cassettes' names, read into values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BadLabels
from ..experiments.design import Design
from ..experiments.experiment import plan_all
from ..settings.model_names import file_stem
from ..tables.reader import read_csv
from ..verdicts.judge_agreement import Label, Labels

if TYPE_CHECKING:
    from ..experiments.experiment import Experiment

_REPLICATE = re.compile(r"[1-9][0-9]*")

TRIAL = "trial"
"""Column of the trials' ids, as messages show them."""


def labels_path(folder: Path, experiment_id: str, model: str) -> Path:
    """Return the file of an experiment's labels: ``<id>/<provider>--<model>.csv``."""
    return folder / experiment_id / f"{file_stem(model)}.csv"


def read_labels(
    folder: Path | None, experiment: Experiment, design: Design, model: str
) -> Labels | None:
    """The labels of ``experiment`` with ``model``; None where there is no such file.

    Raises BadLabels for a file that is no CSV in UTF-8 with a column ``trial`` and one per
    labelled measure, and for trials and measures that the experiment does not have.
    """
    if folder is None:
        return None
    path = labels_path(folder, experiment.id, model)
    if not path.is_file():
        return None
    table = read_csv(path)
    for line, column, problem, _ in table.problems:
        at, of = line or None, column or None
        raise BadLabels(source=str(path), line=at, column=of, problem=problem)
    columns = _columns(str(path), table.columns, experiment)
    # Cells of the design, whatever the number of replicates of this run.
    known = {trial.id.rpartition("#")[0] for trial in plan_all(experiment, design)}
    lines: dict[str, int] = {}
    cells: list[Label] = []
    for line, row, _ in table.rows:
        given = {name.strip(): str(cell).strip() for name, cell in row.items()}
        if not any(given.values()):
            continue
        trial = given.pop(TRIAL)
        problem = _against(trial, known, lines)
        if problem:
            raise BadLabels(source=str(path), line=line, column=TRIAL, problem=problem)
        lines[trial] = line
        cells += [Label(line, trial, name, text) for name, text in given.items() if text]
    measures = tuple(name for name in columns if name != TRIAL)
    return Labels(str(path), f"{experiment.id}/{path.name}", measures, tuple(cells))


def _columns(path: str, header: Sequence[str], experiment: Experiment) -> list[str]:
    """The names of the columns, checked."""
    columns = [name.strip() for name in header]
    again = {agreement.again for agreement in experiment.agreements}
    known = [measure.name for measure in experiment.measures if measure.name not in again]
    for number, name in enumerate(columns):
        problem = ""
        if name in columns[:number]:
            problem = "there are two columns of this name"
        elif name in again:
            problem = "is the judge's second rating; label the first one"
        elif name not in (TRIAL, *known):
            problem = f"{experiment.id} has no such measure; it has {', '.join(known)}"
        if problem:
            raise BadLabels(source=path, line=1, column=name, problem=problem)
    if TRIAL not in columns or len(columns) == 1:
        problem = f"needs a column {TRIAL!r} and one or more named after measures"
        raise BadLabels(source=path, line=1, problem=problem)
    return columns


def _against(trial: str, known: set[str], lines: dict[str, int]) -> str:
    """Return why a cell is no trial's id; empty where it is one."""
    cell, _, replicate = trial.rpartition("#")
    if cell not in known or not _REPLICATE.fullmatch(replicate):
        example = f"{min(known)}#1"
        return f"{trial!r} is no trial of the experiment; ids look like {example!r}"
    if trial in lines:
        return f"{trial!r} is labelled twice, first on line {lines[trial]}"
    return ""
