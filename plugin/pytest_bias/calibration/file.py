"""Files of draws: a line of settings, then a line of JSON for every draw of an experiment."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from ..cassettes.recorder import recording_lock
from ..errors import BiasError, NotReadable, ReportNotWritten
from ..experiments.canonical import compact

FORMAT = 1

Line = Mapping[str, Any]
"""One draw of one experiment, as JSON; see ``docs/calibration.md``."""

Key = tuple[str, str, str, int]
"""Experiment, subject, accepted subject and draw."""


class DamagedCalibration(BiasError):
    """A file of draws is not what was written, or was written for something else."""

    def __init__(self, *, path: Path, line: int, problem: str) -> None:
        super().__init__(
            f"{path}, line {line}: {problem}. Restore the file, or move it away and draw anew"
        )


def is_permuted(subject: str) -> bool:
    """Return whether a subject is a model whose recording is permuted; none is drawn."""
    return "/" in subject


def draw_key(line: Line) -> Key:
    """The names that tell a line from the others."""
    return line["experiment"], line["subject"], line.get("accepted", ""), line["draw"]


def read(path: Path) -> tuple[Line, list[Line]]:
    """The settings and the draws of a file.

    A last line that was cut off while it was written is no draw, and one that stands there again
    as it was counts once. Raises DamagedCalibration for whatever else is no line of such a file,
    and where a draw stands twice; NotReadable where there is no file.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        problem = f"it cannot be read ({error.strerror or error})"
        mend = "Name a file of draws (pytest-bias calibrate --out)."
        raise NotReadable(path=path, problem=problem, mend=mend) from error
    whole = data[: data.rfind(b"\n") + 1].decode("utf-8", "replace").splitlines()
    lines = [_parsed(path, number, text) for number, text in enumerate(whole, start=1)]
    if not lines or lines[0].get("format") != FORMAT:
        problem = f"it does not begin with the settings of a calibration (format {FORMAT})"
        raise DamagedCalibration(path=path, line=1, problem=problem)
    seen: dict[Key, Line] = {}
    for number, line in enumerate(lines[1:], start=2):
        try:
            key = draw_key(line)
            known = seen.setdefault(key, line)
        except (KeyError, TypeError) as error:
            problem = f"is no draw ({error!r})"
            raise DamagedCalibration(path=path, line=number, problem=problem) from None
        if known != line:
            problem = f"draw {key[3]} of {key[0]}, {key[1]} stands there twice"
            raise DamagedCalibration(path=path, line=number, problem=problem)
    return lines[0], list(seen.values())


def _parsed(path: Path, number: int, text: str) -> Line:
    try:
        line = json.loads(text)
    except ValueError as error:
        raise DamagedCalibration(path=path, line=number, problem=f"no JSON ({error})") from None
    if not isinstance(line, dict):
        raise DamagedCalibration(path=path, line=number, problem="no JSON object")
    return line


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Keep every other process from drawing into the file; its folder is made.

    Raises CassetteBusy where one does already.
    """
    with ExitStack() as held:
        with _told(path):
            held.enter_context(recording_lock(path, stays=False))
        yield


def begin(path: Path, settings: Line) -> list[Line]:
    """Make the file, or go on with one of the same settings: the draws that stand in it.

    What was cut off is taken away, so that the next line does not continue it.

    Raises ReportNotWritten where it cannot be written, as :func:`add` does.
    """
    first = f"{compact(settings, sort_keys=True)}\n".encode()
    with _told(path):
        # A full disk may have kept a part of the first line, or none of it.
        if not path.exists() or first.startswith(path.read_bytes()):
            path.write_bytes(first)
            return []
    written, lines = read(path)
    for name in sorted({*settings, *written}):
        if settings.get(name) != written.get(name):
            problem = f"it was drawn with {name} {written.get(name)!r}, not {settings.get(name)!r}"
            raise DamagedCalibration(path=path, line=1, problem=problem)
    with _told(path):
        os.truncate(path, path.read_bytes().rfind(b"\n") + 1)
    return lines


def add(path: Path, lines: Iterable[Line]) -> None:
    """Append draws, at once."""
    text = "".join(f"{compact(line, sort_keys=True)}\n" for line in lines)
    with _told(path), path.open("a", encoding="utf-8") as file:
        file.write(text)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Tell of a disk that is full, or a place that is not for this user, in one line."""
    try:
        yield
    except OSError as error:
        problem = f"{error.strerror or error}; once it can be, the same command goes on with it"
        raise ReportNotWritten(path=path, problem=problem) from None
