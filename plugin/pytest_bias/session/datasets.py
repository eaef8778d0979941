"""``--bias-dataset``: cases leave data sets in the shared folder, the controller writes them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from ..cassettes.files import write_atomically
from ..contrasts.cases import Case
from ..errors import BiasError, MissingPackage, NotRecorded, ReportNotWritten
from ..errors.said import Said
from ..experiments.canonical import compact, digest
from ..report.dataset import About, DataSet, dataset_from, dataset_of, dataset_text
from ..report.dataset_page import readme_text
from ..report.parquet import about_file, parquet_bytes
from ..settings.model_names import file_stem
from .run import Run

if TYPE_CHECKING:
    from .state import State

README = "README.md"

_NAME_LENGTH = 24


def keep(run: Run, case: Case) -> None:
    """Leave the data set of a case's experiment and model to the controller; once per session.

    The data set has every trial of the design, whichever cases were selected.
    """
    name = f"dataset-{digest(compact([case.experiment.id, case.model]))[:_NAME_LENGTH]}.json"
    if not (run.workspace.folder / name).exists():
        run.workspace.once(name, lambda: compact(_kept(run, case), sort_keys=True))


def _kept(run: Run, case: Case) -> dict[str, str]:
    """The data set as text, or in what words there is none."""
    whole = Case("hypothesis", case.experiment, case.model, case.design)
    what = f"{case.experiment.id} × {case.model}"
    try:
        recording = run.recording(whole)
        others = recording.published
        data = dataset_of(
            case.experiment,
            case.design,
            case.model,
            run.replayed(whole),
            recording=recording,
            version=version("pytest-bias"),
            licence=run.settings.dataset_license if others is None else others.licence,
        )
        return {"dataset": dataset_text(data)}
    except NotRecorded:
        return {"incomplete": what}
    except BiasError as error:
        return {"problem": f"no data set of {what} was written: {error}"}


def write_datasets(state: State, folder: Path, fewer: Sequence[str]) -> Said:
    """Write the data sets of a run into ``folder``; what cannot be written is its problem.

    ``fewer`` says why the run does not cover the whole suite.
    """
    incomplete = bool(state.ledger.not_recorded)
    return written_from(state.folder, folder, fewer, incomplete=incomplete, shown=state.shown)


def written_from(
    shared: Path,
    folder: Path,
    partial: Sequence[str],
    *,
    incomplete: bool,
    shown: Callable[[Path], str],
) -> Said:
    """Write what the cases left in ``shared`` into ``folder``.

    ``incomplete`` says whether the recording of any case was; ``shown`` gives a path as the user
    would write it.
    """
    kept = [json.loads(path.read_text("ascii")) for path in sorted(shared.glob("dataset-*.json"))]
    said = Said(problems=tuple(sorted(each["problem"] for each in kept if "problem" in each)))
    lacking = sorted(each["incomplete"] for each in kept if "incomplete" in each)
    if lacking or incomplete:
        names = f" ({', '.join(lacking)})" if lacking else ""
        said += Said(notes=(f"data sets: none of what is not recorded in full{names}",))
    found: defaultdict[str, list[DataSet]] = defaultdict(list)
    for data in (dataset_from(each["dataset"]) for each in kept if "dataset" in each):
        found[data.about.experiment].append(data)
    for experiment, sets in sorted(found.items()):
        said += _write(folder / experiment, sets, shown)
    if said.written and partial:
        why = "; ".join(partial)
        only = (
            f"data sets: only of the experiments and models whose cases ran ({why}); "
            "each has all trials of its design"
        )
        said += Said(notes=(only,))
    return said


def _write(folder: Path, sets: Sequence[DataSet], shown: Callable[[Path], str]) -> Said:
    """The files of one experiment, and the README of all that stand in its folder."""
    written: list[Path] = []
    notes: list[str] = []
    known: dict[str, About] = {}
    path = folder
    try:
        for data in sorted(sets, key=lambda each: each.about.model):
            path = folder / f"{file_stem(data.about.model)}.parquet"
            write_atomically(path, parquet_bytes(data))
            known[path.name] = data.about
            written.append(path)
        for path in sorted(folder.glob("*.parquet")):
            if path.name in known:
                continue
            about = about_file(path.read_bytes())
            if about is not None and about.experiment == folder.name:
                known[path.name] = about
            else:
                notes.append(f"{shown(path)} is no data set of ours; {README} omits it")
        path = folder / README
        write_atomically(path, readme_text(known).encode())
        written.append(path)
    except (OSError, MissingPackage) as error:
        problem = getattr(error, "strerror", None) or str(error)
        words = str(ReportNotWritten(path=shown(path), problem=problem))
        return Said(tuple(written), tuple(notes), (words,))
    return Said(tuple(written), tuple(notes))
