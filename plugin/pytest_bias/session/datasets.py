"""``--bias-dataset``: cases leave data sets in the shared folder, the controller writes them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from ..cassettes.files import write_atomically
from ..contrasts.cases import Case
from ..errors import BiasError, MissingPackage, NotRecorded, ReportNotWritten
from ..experiments.canonical import compact, digest
from ..report.dataset import About, DataSet, dataset_from, dataset_of, dataset_text
from ..report.dataset_page import readme_text
from ..report.parquet import about_file, parquet_bytes
from ..settings.model_names import file_stem
from .run import Run

if TYPE_CHECKING:
    from .session import BiasSession

README = "README.md"

_NAME_LENGTH = 24


@dataclass(slots=True)
class Published:
    """What became of the data sets of a run: files, problems of the run, words for the user."""

    written: list[Path] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


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
        data = dataset_of(
            case.experiment,
            case.design,
            case.model,
            run.replayed(whole),
            recording=run.recording(whole),
            version=version("pytest-bias"),
            licence=run.settings.dataset_license,
        )
        return {"dataset": dataset_text(data)}
    except NotRecorded:
        return {"incomplete": what}
    except BiasError as error:
        return {"problem": f"no data set of {what} was written: {error}"}


def publish(state: BiasSession, folder: Path, partial: Sequence[str]) -> None:
    """Write the data sets of a run into ``folder``; what cannot be written is its problem.

    ``partial`` says why the run does not cover the whole suite.
    """
    incomplete = bool(state.ledger.not_recorded)
    done = written_from(state.folder, folder, partial, incomplete=incomplete, shown=state.shown)
    state.ledger.problems += done.problems
    state.notes += done.notes
    state.written += [f"written: {state.shown(path)}" for path in done.written]


def written_from(
    shared: Path,
    folder: Path,
    partial: Sequence[str],
    *,
    incomplete: bool,
    shown: Callable[[Path], str],
) -> Published:
    """Write what the cases left in ``shared`` into ``folder``.

    ``incomplete`` says whether the recording of any case was; ``shown`` gives a path as the user
    would write it.
    """
    done = Published()
    kept = [json.loads(path.read_text("ascii")) for path in sorted(shared.glob("dataset-*.json"))]
    done.problems += sorted(each["problem"] for each in kept if "problem" in each)
    lacking = sorted(each["incomplete"] for each in kept if "incomplete" in each)
    if lacking or incomplete:
        names = f" ({', '.join(lacking)})" if lacking else ""
        done.notes.append(f"data sets: none of what is not recorded in full{names}")
    found: defaultdict[str, list[DataSet]] = defaultdict(list)
    for data in (dataset_from(each["dataset"]) for each in kept if "dataset" in each):
        found[data.about.experiment].append(data)
    for experiment, sets in sorted(found.items()):
        _write(folder / experiment, sets, shown, done)
    if done.written and partial:
        why = "; ".join(partial)
        done.notes.append(
            f"data sets: only of the experiments and models whose cases ran ({why}); "
            "each has all trials of its design"
        )
    return done


def _write(
    folder: Path, sets: Sequence[DataSet], shown: Callable[[Path], str], done: Published
) -> None:
    """The files of one experiment, and the README of all that stand in its folder."""
    written: dict[str, About] = {}
    path = folder
    try:
        for data in sorted(sets, key=lambda each: each.about.model):
            path = folder / f"{file_stem(data.about.model)}.parquet"
            write_atomically(path, parquet_bytes(data))
            written[path.name] = data.about
            done.written.append(path)
        for path in sorted(folder.glob("*.parquet")):
            if path.name in written:
                continue
            about = about_file(path.read_bytes())
            if about is not None and about.experiment == folder.name:
                written[path.name] = about
            else:
                done.notes.append(f"{shown(path)} is no data set of ours; {README} omits it")
        path = folder / README
        write_atomically(path, readme_text(written).encode())
        done.written.append(path)
    except OSError as error:
        problem = error.strerror or str(error)
        done.problems.append(str(ReportNotWritten(path=shown(path), problem=problem)))
    except MissingPackage as error:
        done.problems.append(str(ReportNotWritten(path=shown(path), problem=str(error))))
