"""Labels that people gave to trials: a CSV file beside the cassettes' names, read into values."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BadLabels
from ..experiments.design import Design
from ..experiments.experiment import plan_all
from ..settings.model_names import file_stem
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
    rows = _rows(str(path), _text(path))
    number, header = next(rows, (1, []))
    columns = _columns(str(path), number, header, experiment)
    # Cells of the design, whatever the number of replicates of this run.
    known = {trial.id.rpartition("#")[0] for trial in plan_all(experiment, design)}
    lines: dict[str, int] = {}
    cells: list[Label] = []
    for line, row in rows:
        if len(row) != len(columns):
            problem = f"has {len(row)} cells, and the first line has {len(columns)}"
            raise BadLabels(path=str(path), line=line, problem=problem)
        given = dict(zip(columns, map(str.strip, row), strict=True))
        trial = given.pop(TRIAL)
        problem = _against(trial, known, lines)
        if problem:
            raise BadLabels(path=str(path), line=line, column=TRIAL, problem=problem)
        lines[trial] = line
        cells += [Label(line, trial, name, text) for name, text in given.items() if text]
    measures = tuple(name for name in columns if name != TRIAL)
    return Labels(str(path), f"{experiment.id}/{path.name}", measures, tuple(cells))


def _text(path: Path) -> str:
    """The file's text; BadLabels names the line on which it is no UTF-8."""
    try:
        data = path.read_bytes()
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        raise BadLabels(path=str(path), line=0, problem=problem) from error
    try:
        return data.decode("utf-8-sig")  # spreadsheets begin a file with a mark
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = "is not UTF-8; save the file as CSV in UTF-8"
        raise BadLabels(path=str(path), line=line, problem=problem) from error


def _rows(path: str, text: str) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not empty, each with the line on which it begins."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise BadLabels(path=path, line=line, problem=f"is no CSV: {error}") from error
        if row is None:
            return
        if any(map(str.strip, row)):
            yield line, row


def _columns(path: str, line: int, header: Sequence[str], experiment: Experiment) -> list[str]:
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
            raise BadLabels(path=path, line=line, column=name, problem=problem)
    if TRIAL not in columns or len(columns) == 1:
        problem = f"needs a column {TRIAL!r} and one or more named after measures"
        raise BadLabels(path=path, line=line, problem=problem)
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
