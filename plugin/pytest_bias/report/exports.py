"""The files an experiment publishes of itself: its declared exports, without pytest.

The function that gives them is the author's code: whatever it raises is one sentence of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import shorten

from ..cassettes.files import write_atomically
from ..errors import BadDesign, BiasError, NotWritten
from ..experiments.experiment import Experiment
from ..experiments.fields import author_line
from ..experiments.records import Records

_LONGEST = 300
_UNPORTABLE = frozenset('\\:*?"<>|')
_IMAGES = (".png", ".svg")


def exported_files(
    experiment: Experiment, records: Mapping[str, Records], *, plots: bool = True
) -> dict[str, bytes]:
    """Return the files ``experiment`` declares, as bytes by their names; none without exports.

    ``records`` has every trial of the design of each model, by model. Without ``plots`` no image
    is read from what the function gives. Raises BadDesign for what is no mapping from file names
    to contents, for names that would leave the folder or that not every system can write, and for
    whatever the author's function raises but KeyboardInterrupt.
    """
    if experiment.exports is None:
        return {}
    try:
        given = experiment.exports(records)
        names = _checked_names(given, plots=plots)
        return {name: _content(name, given[name]) for name in names}
    except KeyboardInterrupt:
        raise
    except (_Unfit, BiasError) as error:
        problem = str(error)
    except BaseException as error:  # noqa: BLE001  (the author's code: sys.exit() and all)
        problem = _raised(error)
    raise not_exported(experiment.id, problem)


def not_exported(experiment: str, problem: str) -> BadDesign:
    """The error for an experiment whose declared files could not be made."""
    return BadDesign(what=f"no exports of {experiment} were written", problem=problem)


def write_exports(
    folder: Path, files: Mapping[str, bytes], shown: Callable[[Path], str] = str
) -> list[Path]:
    """Write each file below ``folder``, whole or not at all, and return their paths.

    ``shown`` gives a path as the user would write it. Raises NotWritten for the first that
    cannot be written.
    """
    for name, data in files.items():
        try:
            write_atomically(folder / name, data)
        except OSError as error:
            problem = error.strerror or str(error)
            raise NotWritten(path=shown(folder / name), problem=problem) from error
    return [folder / name for name in files]


class _Unfit(Exception):
    """The author's function gives something else than files."""


def _checked_names(given: object, *, plots: bool) -> list[str]:
    if not isinstance(given, Mapping):
        problem = f"a {type(given).__name__} is no mapping from file names to contents"
        raise _Unfit(problem)
    for name in given:
        if not isinstance(name, str) or not _stays_inside(name):
            problem = f"{name!r} is no name of a file inside their folder"
            raise _Unfit(problem)
    return sorted(name for name in given if plots or not name.endswith(_IMAGES))


def _stays_inside(name: str) -> bool:
    """True if ``name`` is a plain relative path, with ``/`` between folders."""
    plain = name.isprintable() and not _UNPORTABLE & set(name)
    # Some systems drop what stands at the end here: the file would have another's name.
    return plain and all(part and part == part.rstrip(". ") for part in name.split("/"))


def _content(name: str, content: object) -> bytes:
    if not isinstance(content, str | bytes):
        problem = f"the content of {name} is a {type(content).__name__}, not str or bytes"
        raise _Unfit(problem)
    try:
        return content if isinstance(content, bytes) else content.encode()
    except UnicodeEncodeError:
        problem = f"{name} cannot be written as UTF-8"
        raise _Unfit(problem) from None


def _raised(error: BaseException) -> str:
    """An error in the author's code: what, and where, without the folders of this machine."""
    file, _, line = author_line(error).rpartition(":")
    try:
        words = str(error)
    except Exception:  # noqa: BLE001  (its own __str__ is the author's code, too)
        words = "it has no words for itself"
    said = shorten(f"{type(error).__name__}: {words}", _LONGEST, placeholder="…")
    return f"{said} ({Path(file).name}, line {line})"
