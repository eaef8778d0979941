"""Labels that people gave to trials: a CSV file beside the cassettes' names, read into values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BadData
from ..experiments.design import Design
from ..experiments.experiment import plan_all
from ..settings.model_names import file_stem
from ..tables.reader import read_files
from ..verdicts.judge_agreement import Label, Labels

if TYPE_CHECKING:
    from ..experiments.experiment import Experiment

_REPLICATE = re.compile(r"[1-9][0-9]*")

TRIAL = "trial"
"""Column of the trials' ids, as messages show them."""

REPLY_KEY = "reply key"
"""Column of the keys of the replies that people read; no measure has a space in its name."""

NOTE = "reviewer note"
"""Column of what people wrote beside their labels; it is read by people only."""

_BESIDE = (TRIAL, REPLY_KEY, NOTE)
_DEFUSED = re.compile(r"'(?=\s*[=+\-@＝＋－＠])")


def labels_path(folder: Path, experiment_id: str, model: str) -> Path:
    """Return the file of an experiment's labels: ``<id>/<provider>--<model>.csv``."""
    return folder / experiment_id / f"{file_stem(model)}.csv"


def read_labels(
    folder: Path,
    experiment: Experiment,
    design: Design,
    model: str,
    keys: Mapping[str, str],
) -> Labels | None:
    """The labels of ``experiment`` with ``model``; None where there is no such file.

    ``keys`` is trial → key of the reply that is recorded now, of the trials of this run.

    Raises BadData for a file that is no CSV in UTF-8 with a column ``trial`` and one per
    labelled measure, for trials and measures that the experiment does not have, for labels of
    another reply than the one that is recorded now, and where a CSV beside it is named after no
    model at all.
    """
    path = labels_path(folder, experiment.id, model)
    if not path.is_file():
        for other in sorted(path.parent.glob("*.csv")):
            if "--" not in other.stem and other.is_file():
                problem = f"is named after no model; labels of {model} stand in {path.name}"
                raise BadData(source=str(other), problem=problem)
        return None
    table = read_files(path)
    for line, column, problem, _ in table.problems:
        at, of = line or None, column or None
        raise BadData(source=str(path), line=at, column=of, problem=problem)
    columns = _columns(str(path), table.columns, experiment)
    # Cells of the design, whatever the number of replicates of this run.
    known = {trial.id.rpartition("#")[0] for trial in plan_all(experiment, design)}
    lines: dict[str, int] = {}
    cells: list[Label] = []
    for line, row, _ in table.rows:
        given = {name.strip(): _as_given(str(cell)) for name, cell in row.items()}
        trial, key = given.pop(TRIAL), given.pop(REPLY_KEY, None)
        given.pop(NOTE, None)
        if not any(given.values()):
            continue
        problem = _against(trial, known, lines)
        if problem:
            raise BadData(source=str(path), line=line, column=TRIAL, problem=problem)
        problem = "" if key is None or trial not in keys else _of_another(key, keys[trial])
        if problem:
            raise BadData(source=str(path), line=line, column=REPLY_KEY, problem=problem)
        lines[trial] = line
        cells += [Label(line, trial, name, text) for name, text in given.items() if text]
    measures = tuple(name for name in columns if name not in _BESIDE)
    return Labels(str(path), f"{experiment.id}/{path.name}", measures, tuple(cells))


def _as_given(cell: str) -> str:
    """A cell without the apostrophe that keeps spreadsheets from running it (``csv_text``)."""
    return _DEFUSED.sub("", cell.strip(), count=1).strip()


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
        elif name not in (*_BESIDE, *known):
            problem = f"{experiment.id} has no such measure; it has {', '.join(known)}"
        if problem:
            raise BadData(source=path, line=1, column=name, problem=problem)
    if TRIAL not in columns or not {*columns} - {*_BESIDE}:
        problem = f"needs a column {TRIAL!r} and one or more named after measures"
        raise BadData(source=path, line=1, problem=problem)
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


def _of_another(key: str, recorded: str) -> str:
    """Return why a label is of another reply than the recorded one; empty where it is of it."""
    if key == recorded:
        return ""
    if not recorded:
        return f"{key!r} cannot be checked, as no text of the reply is kept: delete the column"
    return (
        f"{key!r} is of another reply than the one that is recorded now ({recorded!r}): label the "
        f"trial anew in the report, or delete the column {REPLY_KEY!r} if you know that people "
        "read what is recorded now"
    )
