"""``--bias-exports``: an experiment's own files, made from all records of the models of a run.

The processes that run the cases make them, since they alone have the experiments: each experiment
once per session, when the cases have run. The controller writes them. What goes wrong is a
problem of the run: a file that is not there must not look like a run in order.
"""

from __future__ import annotations

import base64
import json
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import normalize

from filelock import Timeout

from ..cassettes.files import write_atomically
from ..contrasts.cases import Case
from ..errors import BiasError, NotExported, NotRecorded, NoWorkspace, ReportNotWritten
from ..errors.said import Said
from ..experiments.canonical import compact, digest
from ..experiments.records import Records, record_of
from .run import Run
from .workspace import Workspace

if TYPE_CHECKING:
    from .state import State

_WANTED = "exports-wanted.json"
_NAME_LENGTH = 24
_LONGEST = 300
_UNPORTABLE = frozenset('\\:*?"<>|')


def announce(workspace: Workspace, cases: Iterable[Case]) -> None:
    """Leave the names of the experiments that will have exports to the controller."""
    names = sorted({case.experiment.id for case in cases if case.experiment.exports})
    workspace.once(_WANTED, lambda: compact(names))


def prepare(run: Run, cases: Iterable[Case]) -> None:
    """Make the exports of the experiments of ``cases``, of all their models; once per session.

    Every trial of the design is in them, whichever cases were selected.
    """
    wanted: dict[str, dict[str, Case]] = {}
    for case in (case for case in cases if case.experiment.exports):
        wanted.setdefault(case.experiment.id, {})[case.model] = case
    # First what nobody else is at, so that several workers share the work; then what is left.
    for timeout in (0, -1):
        for experiment, models in sorted(wanted.items()):
            name = _kept(run.workspace.folder, experiment).name
            make = partial(_text, run, sorted(models.items()))
            # What cannot be kept is not there for the controller, who says so.
            with suppress(Timeout, NoWorkspace):
                run.workspace.once(name, make, timeout=timeout)


def write_exports(state: State, folder: Path, fewer: Sequence[str]) -> Said:
    """Write the exports of a run into ``folder``; what cannot be written is its problem.

    ``fewer`` says why the run does not cover the whole suite.
    """
    wanted = state.folder / _WANTED
    names: list[str] = json.loads(wanted.read_text("ascii")) if wanted.exists() else []
    if not names:
        nothing = "exports: no experiment among the selected cases declares any"
        return Said(notes=(nothing,))
    said = Said()
    for experiment in names:
        try:
            files = _files_of(experiment, _kept(state.folder, experiment))
            if not files:
                said += Said(notes=(f"exports: {experiment} gave no file",))
            said += Said(written=tuple(_write(state, folder, files)))
        except BiasError as error:
            said += Said(problems=(str(error),))
    if fewer:
        only = (
            "exports: only of the experiments and models among the selected cases "
            f"({'; '.join(fewer)}); each has all trials of its design"
        )
        said += Said(notes=(only,))
    return said


def _kept(folder: Path, experiment: str) -> Path:
    """Return the file in which the exports of an experiment lie until they are written."""
    return folder / f"exports-{digest(experiment)[:_NAME_LENGTH]}.json"


def _text(run: Run, models: Sequence[tuple[str, Case]]) -> str:
    return compact(_made(run, models), sort_keys=True)


def _made(run: Run, models: Sequence[tuple[str, Case]]) -> Mapping[str, object]:
    """The files, encoded, or in what words there are none."""
    _, case = models[0]
    experiment = case.experiment
    try:
        records = {
            model: Records(
                tuple(
                    record_of(outcome, experiment.measures)
                    for outcome in run.replayed(Case("hypothesis", experiment, model, one.design))
                )
            )
            for model, one in models
        }
        assert experiment.exports is not None  # noqa: S101  (others do not come here)
        files = checked_files(experiment.id, experiment.exports(records))
    except NotRecorded as missing:
        return {"problem": f"they need all recordings: {missing.summary}"}
    except NotExported as error:
        return {"problem": error.problem}
    except BiasError as error:
        return {"problem": str(error)}
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  (the author's code: sys.exit() and all)
        return {"problem": _raised(error)}
    encoded = {name: base64.b64encode(data).decode("ascii") for name, data in files.items()}
    return {"files": encoded}


def checked_files(experiment: str, given: object) -> dict[str, bytes]:
    """The files an export gives, in the order of their names, as bytes.

    Raises
    ------
    NotExported
        For what is no mapping from file names to contents, and for names that would leave the
        folder or that not every system can write, or not both of two.
    """
    if not isinstance(given, Mapping):
        problem = f"a {type(given).__name__} is no mapping from file names to contents"
        raise NotExported(experiment=experiment, problem=problem)
    files: dict[str, bytes] = {}
    for name, content in given.items():
        if not isinstance(name, str) or not _stays_inside(name):
            problem = f"{name!r} is no name of a file inside their folder"
            raise NotExported(experiment=experiment, problem=problem)
        if not isinstance(content, str | bytes):
            problem = f"the content of {name} is a {type(content).__name__}, not str or bytes"
            raise NotExported(experiment=experiment, problem=problem)
        try:
            files[name] = content if isinstance(content, bytes) else content.encode()
        except UnicodeEncodeError:
            problem = f"{name} cannot be written as UTF-8"
            raise NotExported(experiment=experiment, problem=problem) from None
    for one, other in _clashes(files):
        problem = f"not every system can write both {one!r} and {other!r}"
        raise NotExported(experiment=experiment, problem=problem)
    return dict(sorted(files.items()))


def _stays_inside(name: str) -> bool:
    """Return true where ``name`` is a plain relative path, with ``/`` between folders."""
    plain = name.isprintable() and not _UNPORTABLE & set(name)
    # Some systems drop what stands at the end here: the file would have another's name.
    return plain and all(part and part == part.rstrip(". ") for part in name.split("/"))


def _clashes(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Names that are one where case does not count, and files that are others' folders."""
    known: dict[str, str] = {}
    for name in sorted(names):
        folded = normalize("NFC", name).casefold()
        if folded in known:
            yield known[folded], name
        known[folded] = name
    for folded, name in known.items():
        parts = folded.split("/")
        for end in range(1, len(parts)):
            if (folder := "/".join(parts[:end])) in known:
                yield known[folder], name


def _raised(error: BaseException) -> str:
    """An error in the author's code: what, and where, without the folders of this machine."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    try:
        words = str(error)
    except Exception:  # noqa: BLE001  (its own __str__ is the author's code, too)
        words = "it has no words for itself"
    said = " ".join(f"{type(error).__name__}: {words}".split())
    said = said if len(said) <= _LONGEST else f"{said[:_LONGEST]}…"
    # What a terminal takes for a command is shown, and not obeyed.
    said = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in said)
    return f"{said} ({Path(where.filename).name}, line {where.lineno})"


def _files_of(experiment: str, path: Path) -> Mapping[str, bytes]:
    """Return the files made of an experiment; NotExported says why there are none."""
    if not path.exists():
        problem = "the run ended before they were made"
        raise NotExported(experiment=experiment, problem=problem)
    made = json.loads(path.read_text("ascii"))
    if "problem" in made:
        raise NotExported(experiment=experiment, problem=made["problem"])
    return {f"{experiment}/{n}": base64.b64decode(data) for n, data in made["files"].items()}


def _write(state: State, folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    written = []
    for name, data in files.items():
        path = folder / name
        try:
            write_atomically(path, data)
        except OSError as error:
            problem = error.strerror or str(error)
            raise ReportNotWritten(path=state.shown(path), problem=problem) from error
        written.append(path)
    return written
