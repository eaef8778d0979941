"""Data sets beside recordings: labels of people, which are read, and files to publish."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from ..cassettes.files import write_atomically
from ..cassettes.staleness import dated
from ..contrasts.cases import Case
from ..errors import BadData, Diagnostics, MissingPackage, NotWritten
from ..experiments.design import Design
from ..experiments.experiment import plan_all
from ..settings.model_names import file_stem
from ..tables.reader import read_files
from ..verdicts.judge_agreement import Label, Labels
from .recordings import Recordings

if TYPE_CHECKING:
    from ..experiments.experiment import Experiment

_REPLICATE = re.compile(r"[1-9][0-9]*")

TRIAL = "trial"
"""Column of the trials' ids, as messages show them."""

REPLY_KEY = "reply key"
"""Column of the keys of the replies that people read; no measure has a space in its name."""

NOTE = "reviewer note"
"""Column of notes, which no analysis reads."""

_NO_LABELS = (TRIAL, REPLY_KEY, NOTE)
_APOSTROPHE = re.compile(r"'(?=\s*[=+\-@＝＋－＠])")


def labels_path(folder: Path, experiment_id: str, model: str) -> Path:
    """The file of an experiment's labels: ``<id>/<provider>--<model>.csv``."""
    return folder / experiment_id / f"{file_stem(model)}.csv"


def read_labels(
    folder: Path,
    experiment: Experiment,
    design: Design,
    model: str,
    keys: Mapping[str, str],
) -> Labels | None:
    """The labels of ``experiment`` with ``model``; None where there is no such file.

    ``keys`` is trial → key of the recorded reply, of the trials of this run.

    Raises BadData for a file without a column ``trial`` and one per labelled measure, for trials
    and measures that the experiment does not have, for labels of another reply than the recorded
    one, and where a CSV beside it is named after no model.
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
        labels = {name.strip(): _label_text(str(cell)) for name, cell in row.items()}
        trial, key = labels.pop(TRIAL), labels.pop(REPLY_KEY, None)
        labels.pop(NOTE, None)
        if not any(labels.values()):
            continue
        problem = _trial_problem(trial, known, lines)
        if problem:
            raise BadData(source=str(path), line=line, column=TRIAL, problem=problem)
        problem = "" if key is None or trial not in keys else _key_problem(key, keys[trial])
        if problem:
            raise BadData(source=str(path), line=line, column=REPLY_KEY, problem=problem)
        lines[trial] = line
        cells += [Label(line, trial, name, text) for name, text in labels.items() if text]
    measures = tuple(name for name in columns if name not in _NO_LABELS)
    return Labels(str(path), f"{experiment.id}/{path.name}", measures, tuple(cells))


def _label_text(cell: str) -> str:
    """A cell without the apostrophe that keeps spreadsheets from running it (``csv_text``)."""
    return _APOSTROPHE.sub("", cell.strip(), count=1).strip()


def _columns(path: str, header: Sequence[str], experiment: Experiment) -> list[str]:
    columns = [name.strip() for name in header]
    again = {agreement.again for agreement in experiment.agreements}
    known = [measure.name for measure in experiment.measures if measure.name not in again]
    for number, name in enumerate(columns):
        problem = ""
        if name in columns[:number]:
            problem = "there are two columns of this name"
        elif name in again:
            problem = "is the judge's second rating; label the first one"
        elif name not in (*_NO_LABELS, *known):
            problem = f"{experiment.id} has no such measure; it has {', '.join(known)}"
        if problem:
            raise BadData(source=path, line=1, column=name, problem=problem)
    if TRIAL not in columns or not {*columns} - {*_NO_LABELS}:
        problem = f"needs a column {TRIAL!r} and one or more named after measures"
        raise BadData(source=path, line=1, problem=problem)
    return columns


def _trial_problem(trial: str, known: set[str], lines: dict[str, int]) -> str:
    """What is wrong with a trial's id; empty where nothing is."""
    cell, _, replicate = trial.rpartition("#")
    if cell not in known or not _REPLICATE.fullmatch(replicate):
        example = f"{min(known)}#1"
        return f"{trial!r} is no trial of the experiment; ids look like {example!r}"
    if trial in lines:
        return f"{trial!r} is labelled twice, first on line {lines[trial]}"
    return ""


def _key_problem(key: str, recorded: str) -> str:
    """What is wrong with the key of a labelled reply; empty where it is the recorded one."""
    if key == recorded:
        return ""
    if not recorded:
        return f"{key!r} cannot be checked, as no text of the reply is stored: delete the column"
    return (
        f"{key!r} is of another reply than the recorded one ({recorded!r}): label the trial anew "
        f"in the report, or delete the column {REPLY_KEY!r} if people read the recorded reply"
    )


README = "README.md"
_BELOW = b"<!-- pytest-bias writes what is above this line, and keeps what is below. -->"


def dataset_file(recordings: Recordings, case: Case) -> tuple[str, bytes]:
    """Name and bytes of the data set of a case's experiment and model: all trials."""
    from ..report.dataset import dataset_of, parquet_bytes  # noqa: PLC0415  (where one is written)

    source = recordings.source_of(case)
    recording = source.recording
    if recording.published:
        recording = dated(recording, [*source.exchanges])
    theirs = recording.published.licence if recording.published else ""
    data = dataset_of(
        *(case.experiment, case.design, case.model, source.outcomes_of(case.design)),
        recording=recording,
        version=version("pytest-bias"),
        licence=theirs or recordings.settings.dataset_license,
    )
    return f"{case.experiment.id}/{file_stem(case.model)}.parquet", parquet_bytes(data)


def write_datasets(
    folder: Path, files: Mapping[str, bytes], shown: Callable[[Path], str]
) -> Diagnostics:
    """Write the files of data sets, and in each folder a README of all that are in it.

    A README of others stays, and in ours what the user added below its last line.
    """
    from ..report.dataset import about_file, readme_text  # noqa: PLC0415

    written: list[Path] = []
    notes: list[str] = []
    path = folder
    try:
        for name, data in sorted(files.items()):
            path = folder / name
            write_atomically(path, data)
            written.append(path)
        for directory in sorted({path.parent for path in written}):
            path, known = directory / README, {}
            for each in sorted(directory.glob("*.parquet")):
                about = about_file(each.read_bytes())
                if about is not None and about.experiment == directory.name:
                    known[each.name] = about
                else:
                    notes.append(f"{shown(each)} is no data set of ours; {README} omits it")
            before = path.read_bytes() if path.exists() else _BELOW + b"\n"
            _, ours, added = before.partition(_BELOW)
            if ours:
                write_atomically(path, readme_text(known).encode() + b"\n" + _BELOW + added)
                written.append(path)
            else:
                what = "has no mark of ours and stays, and may describe older files"
                notes.append(f"{shown(path)} {what}; without it one is written")
    except (OSError, MissingPackage) as error:
        problem = getattr(error, "strerror", None) or str(error)
        failed = str(NotWritten(path=shown(path), problem=problem))
        return Diagnostics(tuple(written), tuple(notes), (failed,))
    return Diagnostics(tuple(written), tuple(notes))
