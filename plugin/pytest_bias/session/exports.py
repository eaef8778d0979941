"""``--bias-dataset``, ``--bias-exports``: what is published beside the reports.

The processes that run the cases make it, since they alone have the experiments, once per session
and from all trials of the design; the controller writes it. What goes wrong is a problem of the
run: a file that is not there must not look like a run in order.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..contrasts.cases import Case
from ..errors import BiasError, Diagnostics, NotRecorded
from ..experiments.records import records_of
from ..report.exports import exported_files, not_exported, write_exports
from ..workbench.datasets import dataset_file, write_datasets
from .run import Run
from .workspace import Workspace

if TYPE_CHECKING:
    from .state import State


def keep(run: Run, case: Case) -> None:
    """Leave the data set of a case's experiment and model to the controller, once a session.

    It has every trial of the design, whichever cases were selected.
    """
    named = [case.experiment.id, case.model]
    run.workspace.leave("dataset", named, lambda: _dataset(run, case))


def _dataset(run: Run, case: Case) -> dict[str, object]:
    """The file of the data set, encoded, or in what words there is none."""
    what = f"{case.experiment.id} × {case.model}"
    try:
        return {"files": contents_of(dict([dataset_file(run.project.recordings, case)]))}
    except NotRecorded:
        return {"incomplete": what}
    except BiasError as error:
        return {"problem": f"no data set of {what} was written: {error}"}


def contents_of(files: Mapping[str, bytes]) -> dict[str, str]:
    """Files by their names as JSON can hold them; :func:`_file_contents` reads them."""
    return {name: base64.b64encode(data).decode("ascii") for name, data in files.items()}


def _file_contents(made: Mapping[str, Mapping[str, str]]) -> dict[str, bytes]:
    return {name: base64.b64decode(data) for name, data in made.get("files", {}).items()}


def write_published(state: State) -> Diagnostics:
    """Write requested data sets and exports; what cannot be written is an error of the run."""
    settings, diagnostics = state.settings, Diagnostics()
    if settings.dataset is not None:
        left, incomplete = state.workspace.left("dataset"), bool(state.reported.not_recorded)
        diagnostics += written_from(
            left, settings.dataset, incomplete=incomplete, shown=state.shown
        )
    if settings.exports is not None:
        diagnostics += _write_exports(state, settings.exports)
    return diagnostics


def written_from(
    kept: Sequence[Mapping[str, Any]],
    folder: Path,
    *,
    incomplete: bool,
    shown: Callable[[Path], str],
) -> Diagnostics:
    """Write what the cases left into ``folder``.

    ``incomplete`` says whether the recording of any case was; ``shown`` gives a path as the user
    would write it.
    """
    diagnostics = Diagnostics(
        errors=tuple(sorted(each["problem"] for each in kept if "problem" in each))
    )
    lacking = sorted(each["incomplete"] for each in kept if "incomplete" in each)
    if lacking or incomplete:
        names = f" ({', '.join(lacking)})" if lacking else ""
        diagnostics += Diagnostics(
            notes=(f"data sets: none of what is not recorded in full{names}",)
        )
    files = {name: data for each in kept for name, data in _file_contents(each).items()}
    return diagnostics + write_datasets(folder, files, shown)


def announce(workspace: Workspace, cases: Iterable[Case]) -> None:
    """Leave the names of the experiments that will have exports to the controller."""
    names = sorted({case.experiment.id for case in cases if case.experiment.exports})
    workspace.leave("wanted", (), lambda: names)


def prepare(run: Run, cases: Iterable[Case]) -> None:
    """Make the exports of the experiments of ``cases``, of all their models; once per session.

    Every trial of the design is in them, whichever cases were selected. What cannot be kept is not
    there for the controller, who says so.
    """
    wanted: dict[str, dict[str, Case]] = {}
    for case in (case for case in cases if case.experiment.exports):
        wanted.setdefault(case.experiment.id, {})[case.model] = case
    run.workspace.shared(
        "exports",
        {name: partial(_exported, run, sorted(of.items())) for name, of in sorted(wanted.items())},
    )


def _write_exports(state: State, folder: Path) -> Diagnostics:
    names = [name for each in state.workspace.left("wanted") for name in each]
    if not names:
        return Diagnostics(notes=("exports: no experiment among the selected cases declares any",))
    made = {each["experiment"]: each for each in state.workspace.left("exports")}
    diagnostics = Diagnostics()
    for name in names:
        ended = not_exported(name, "the run ended before they were made")
        each = made.get(name, {"problem": str(ended)})
        files = {f"{name}/{file}": data for file, data in sorted(_file_contents(each).items())}
        if "problem" in each:
            diagnostics += Diagnostics(errors=(each["problem"],))
        elif not files:
            diagnostics += Diagnostics(notes=(f"exports: {name} gave no file",))
        try:
            diagnostics += Diagnostics(written=tuple(write_exports(folder, files, state.shown)))
        except BiasError as error:
            diagnostics += Diagnostics(errors=(str(error),))
    return diagnostics


def _exported(run: Run, models: Sequence[tuple[str, Case]]) -> Mapping[str, object]:
    """The files of an experiment, encoded, or in what words there are none."""
    experiment = models[0][1].experiment
    try:
        records = {}
        for model, one in models:
            outcomes = run.project.recordings.replayed(
                Case("hypothesis", experiment, model, one.design)
            )
            records[model] = records_of(outcomes, tuple(experiment.measures))
    except BiasError as error:
        incomplete = "they need all recordings: " if isinstance(error, NotRecorded) else ""
        problem = str(not_exported(experiment.id, f"{incomplete}{error}"))
        return {"experiment": experiment.id, "problem": problem}
    try:
        files = contents_of(exported_files(experiment, records))
    except BiasError as error:
        return {"experiment": experiment.id, "problem": str(error)}
    return {"experiment": experiment.id, "files": files}
