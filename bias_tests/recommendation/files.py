"""The files of a corpus as they come: rows of a CSV or Parquet file, and JSON objects."""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from pytest_bias import BiasError
from pytest_bias.errors import MissingPackage

Rows = Iterator[tuple[int, Mapping[str, object]]]
"""Line or row of the file → column → value."""


class BadCorpus(BiasError):
    """A corpus, or the declaration of its features, is not what it must be."""

    def __init__(
        self, *, source: str, problem: str, line: int | None = None, column: str | None = None
    ) -> None:
        self.source = source
        self.problem = problem
        self.line = line
        self.column = column
        where = [source]
        where += [f"line {line}"] if line is not None else []
        where += [f"column {column!r}"] if column is not None else []
        super().__init__(f"{', '.join(where)}: {problem}")


def rows_of(path: Path) -> Rows:
    """The rows of a ``.csv`` or ``.parquet`` file; lines of a CSV count from 1, as rows do.

    Lines of a CSV that are empty are passed over: many programs end a file with one.

    Raises
    ------
    BadCorpus
        For a file that is not there, or is not what its name says.
    MissingPackage
        For a Parquet file where pyarrow is not installed.
    """
    kind = path.suffix.lower()
    if kind not in {".csv", ".parquet"}:
        problem = "is neither .csv nor .parquet; save it as one of these"
        raise BadCorpus(source=path.name, problem=problem)
    return _csv_rows(path) if kind == ".csv" else _parquet_rows(path)


def json_object(path: Path) -> Mapping[str, object]:
    """The object in a JSON file, no key of which stands twice; BadCorpus for anything else."""
    text = _text(path)
    try:
        given = json.loads(text, object_pairs_hook=_once)
    except ValueError as error:
        raise BadCorpus(source=path.name, problem=f"is no JSON: {error}") from None
    if not isinstance(given, dict):
        raise BadCorpus(source=path.name, problem="is no JSON object of columns and types")
    return given


def _csv_rows(path: Path) -> Rows:
    reader = csv.reader(io.StringIO(_text(path), newline=""), strict=True)
    header: list[str] | None = None
    line = 0
    try:
        for cells in reader:
            start, line = line + 1, reader.line_num
            if not cells:
                continue
            if header is None:
                header = cells
                twice = next((name for name in header if header.count(name) > 1), None)
                if twice is not None:
                    problem = f"two columns have one name, {twice!r}"
                    raise BadCorpus(source=path.name, line=start, problem=problem)
                continue
            if len(cells) != len(header):
                problem = f"has {len(cells)} values for {len(header)} columns"
                raise BadCorpus(source=path.name, line=start, problem=problem)
            yield start, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        problem = (
            f"{error} (a value with commas, quotes or lines stands in quotes, each quote in it is "
            f"doubled, and none is longer than {csv.field_size_limit():,} characters)"
        )
        raise BadCorpus(source=path.name, line=line + 1, problem=problem) from None


def _parquet_rows(path: Path) -> Rows:
    if find_spec("pyarrow") is None:
        raise MissingPackage(package="pyarrow", extra="dataset")
    pa, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")  # they have no types
    if not path.is_file():
        raise BadCorpus(source=path.name, problem=f"there is no such file: {path}")
    try:
        rows: list[dict[str, object]] = parquet.read_table(path).to_pylist()
    except (pa.ArrowException, OSError):
        raise BadCorpus(source=path.name, problem="is no Parquet file, or damaged") from None
    yield from enumerate(rows, start=1)


def _text(path: Path) -> str:
    try:
        given = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    except FileNotFoundError:
        raise BadCorpus(source=path.name, problem=f"there is no such file: {path}") from None
    except OSError as error:
        raise BadCorpus(source=path.name, problem=f"cannot be read: {error}") from None
    try:
        return given.decode()
    except UnicodeDecodeError as error:
        line = given.count(b"\n", 0, error.start) + 1
        problem = "is not UTF-8; save the file in that encoding"
        raise BadCorpus(source=path.name, line=line, problem=problem) from None


def _once(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            problem = f"{key!r} stands there twice"
            raise ValueError(problem)
        found[key] = value
    return found
