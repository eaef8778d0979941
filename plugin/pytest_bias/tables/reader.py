"""Reading files into rows that know their lines; what they mean is no concern of it.

CSV, JSON Lines, JSON (a list of objects), Parquet and frames of pandas. Fields of nested objects
go by dotted names.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from importlib import import_module
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ..errors import BadData, MissingPackage
from ..experiments.canonical import TwiceNamed, once_each
from ..experiments.fields import shortly
from ..experiments.layouts import TableRow
from ..experiments.stimuli import csv_lines
from ..settings.given import is_folder

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # ships no types

Source: TypeAlias = "Path | pd.DataFrame"
"""A file or folder, or a frame."""

_UTF8 = "utf-8-sig"  # spreadsheets begin a file with a mark
_SHOWN = 20  # kinds of problems of a table that are listed, and runs of lines of one
NO_ROWS = "it holds no rows below the names of its columns"


class WrongCell(NamedTuple):
    """A problem of a table: its line (0 where it is the file's), its column, and what it is."""

    line: int
    column: str
    problem: str
    file: str = ""


@dataclass(frozen=True, slots=True)
class RawTable:
    """The rows of a file, and what is wrong with its shape; ``checksum`` is the file's SHA-256.

    ``unit`` is what its rows are counted in; ``typed`` whether numbers and truths are such, and
    not text; ``simulated`` whether the file says that a program gave the replies, and ``judge``
    who it says graded. ``labels`` are what the rows of a frame are called there.
    """

    columns: tuple[str, ...] = ()
    rows: tuple[TableRow, ...] = field(default=(), repr=False)
    problems: tuple[WrongCell, ...] = ()
    checksum: str = ""
    unit: str = "line"
    typed: bool = False
    simulated: bool = False
    judge: str | None = None
    labels: tuple[str, ...] = field(default=(), repr=False)

    def place(self, row: TableRow) -> str:
        """Where a row stands, in words."""
        at = self.labels[row.line - 1] if self.labels else row.line
        return f"{self.unit} {at}{f' of {row.file}' * bool(row.file)}"


def wrong_table(
    declared: str, path: str, cells: Iterable[WrongCell], table: RawTable | None = None
) -> BadData:
    """The error for a table of which no row is used: its first problems, each once for all rows.

    ``declared`` is where the table is named.
    """
    cells, table = list(cells), table or RawTable()
    lines: dict[tuple[str, str, str], list[int]] = {}
    for line, column, problem, file in sorted(cells):
        lines.setdefault((file, column, problem), []).append(line)
    messages = [
        f"  {_position(table, rows, column, file)}{problem}"
        for (file, column, problem), rows in islice(lines.items(), _SHOWN)
    ]
    if more := sum(map(len, islice(lines.values(), _SHOWN, None))):
        messages.append(f"  and {more} more")
    count = f"{len(cells)} problem{'s' * (len(cells) != 1)}"
    messages = [f"{count}, and no row is used before they are mended:", *messages]
    return BadData(source=f"{declared}={path}", problem="\n".join(messages))


def _position(table: RawTable, rows: Iterable[int], column: str, file: str) -> str:
    """``lines 3, 7-9, column "x": ``, in a folder after the file's name.

    Empty for what is wrong with the one file itself.
    """
    numbers = sorted({*rows} - {0})
    by_run = groupby(enumerate(numbers), lambda at: at[1] - at[0])
    runs = [[line for _, line in run] for _, run in by_run]
    names = table.labels or tuple(map(str, range(1, max(numbers, default=0) + 1)))
    shown = ", ".join(
        "-".join(dict.fromkeys(names[n - 1] for n in (run[0], run[-1]))) for run in runs[:_SHOWN]
    )
    if more := sum(map(len, runs[_SHOWN:])):
        shown += f" and {more} more"
    parts = [file] if file else []
    parts += [f"{table.unit}{'s' * (len(numbers) > 1)} {shown}"] if runs else []
    parts += [f"column {column!r}"] if column else []
    return f"{', '.join(parts)}: " if parts else ""


def read_files(path: Path, pattern: str = "") -> RawTable:
    """The table in a file, by how its name ends, or in the files of a folder ``pattern`` names.

    Raises MissingPackage for a Parquet file where pyarrow is not installed.
    """
    if not is_folder(path):
        return _read(path)
    if not pattern:
        return _unread("is a folder: name a file, or a layout of files in a folder (layout)")
    paths = sorted(each for each in path.glob(pattern) if each.is_file())
    if not paths:
        return _unread(f"the folder holds no {pattern}")
    tables = {each.relative_to(path).as_posix(): _read(each) for each in paths}
    sums = "".join(f"{name}\n{table.checksum}\n" for name, table in tables.items())
    return RawTable(
        columns=tuple(
            dict.fromkeys(column for each in tables.values() for column in each.columns)
        ),
        rows=tuple(row._replace(file=name) for name, each in tables.items() for row in each.rows),
        problems=tuple(
            p._replace(file=name) for name, each in tables.items() for p in each.problems
        ),
        checksum=hashlib.sha256(sums.encode()).hexdigest(),
        unit="row" if all(each.unit == "row" for each in tables.values()) else "line",
        typed=all(each.typed for each in tables.values()),
        simulated=any(each.simulated for each in tables.values()),
    )


def read_frame(frame: pd.DataFrame) -> RawTable:
    """The table in a frame, whose rows go by its index; ``checksum`` is that of it as CSV.

    Cells that pandas calls missing are empty; that a program gave the replies is said by
    ``frame.attrs["simulated"]``.
    """
    columns = [str(name) for name in frame.columns]
    if problems := _duplicates(columns, 0):
        return RawTable(problems=tuple(problems))
    cells = frame.set_axis(columns, axis="columns").astype(object)
    records = cells.where(cells.notna(), None).to_dict("records")
    return replace(
        _objects(enumerate(records, start=1), _to_json),
        checksum=hashlib.sha256(frame.to_csv(index=False).encode()).hexdigest(),
        unit="row",
        simulated=frame.attrs.get("simulated") is True,
        labels=tuple(map(shortly, frame.index)),
    )


def _read(path: Path) -> RawTable:
    try:
        data = path.read_bytes()
    except OSError as error:
        return _unread(f"the file cannot be read: {error.strerror or error}")
    if path.suffix.lower() not in _FORMATS:
        return _unread(f"how its name ends must say what it is: {', '.join(_FORMATS)}")
    try:
        table = _FORMATS[path.suffix.lower()](data)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return _unread("the file is not UTF-8 from here on; save it in UTF-8", line)
    return replace(table, checksum=hashlib.sha256(data).hexdigest())


def _unread(problem: str, line: int = 0) -> RawTable:
    return RawTable(problems=(WrongCell(line, "", problem),))


def _csv(data: bytes) -> RawTable:
    """A table of comma-separated values; its first line names the columns.

    Nothing is stripped, and an empty cell is an empty text; empty lines are passed over.
    """
    lines: list[tuple[int, list[str]]] = []
    try:
        lines.extend(csv_lines(data.decode(_UTF8)))
    except csv.Error as error:
        last = lines[-1][0] if lines else 0
        return _unread(f"the file is no CSV from here on: {error}", last + 1)
    if not lines:
        return _unread(NO_ROWS)
    (first, columns), *rest = lines
    for sign in ";\t" if len(columns) == 1 else "":
        if sign in columns[0]:
            words = f"the cells are parted by {sign!r}: save it with commas, as a CSV has them"
            return _unread(words, first)
    problems, size = _duplicates(columns, first), len(columns)
    words = f"cells, and the first line names {size} columns"
    problems += [
        WrongCell(line, "", f"has {len(cells)} {words}")
        for line, cells in rest
        if len(cells) != size
    ]
    rows = [
        TableRow(line, dict(zip(columns, cells, strict=True)))
        for line, cells in rest
        if len(cells) == size
    ]
    return RawTable(tuple(columns), tuple(rows), tuple(problems))


def _duplicates(columns: list[str], line: int) -> list[WrongCell]:
    return [
        WrongCell(line, name, "two columns have this name")
        for number, name in enumerate(columns)
        if name in columns[:number]
    ]


def _flat(given: Mapping[str, object], before: str = "") -> Iterator[tuple[str, object]]:
    """The fields of an object, those of objects in it by dotted names."""
    for name, value in given.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def _loads(text: str) -> Any:
    """JSON of which no object has a field twice: of two values it is unknown which is meant."""
    try:
        return json.loads(text, object_pairs_hook=once_each)
    except TwiceNamed as twice:
        problem = f"a field stands in it twice: {twice}"
        raise TwiceNamed(problem) from None


def _json_lines(data: bytes) -> RawTable:
    # Not by splitlines(), which ends a line at characters that texts may hold.
    lines = enumerate(data.decode(_UTF8).split("\n"), start=1)
    return _objects(((line, each) for line, each in lines if each.strip()), _loads)


def _json(data: bytes) -> RawTable:
    try:
        rows = _loads(data.decode(_UTF8))
    except UnicodeDecodeError:
        raise
    except (ValueError, RecursionError) as error:
        return _unread(f"the file is no JSON: {error}", getattr(error, "lineno", 0))
    if not isinstance(rows, list):
        return _unread("the file is no list of objects")
    return replace(_objects(enumerate(rows, start=1)), unit="row")


def _objects(
    rows: Iterable[tuple[int, Any]], read: Callable[[Any], object] = lambda row: row
) -> RawTable:
    """A table of what ``read`` makes objects of, each with its line; missing fields are empty."""
    columns: dict[str, None] = {}
    found: list[TableRow] = []
    problems: list[WrongCell] = []
    for line, each in rows:
        try:
            row = read(each)
            if isinstance(row, dict):
                cells = dict(_flat(row))
                found.append(TableRow(line, cells))
                columns.update(dict.fromkeys(cells))
                continue
            problem = f"it is a {type(row).__name__}"
        except (ValueError, RecursionError) as error:
            problem = str(error)
        problems.append(WrongCell(line, "", f"is no object of JSON: {problem}"))
    if not found and not problems:
        problems.append(WrongCell(0, "", NO_ROWS))
    return RawTable(tuple(columns), tuple(found), tuple(problems), typed=True)


ARROW = "pyarrow"


def arrow() -> tuple[Any, Any]:
    """Return pyarrow and its module of Parquet, which have no types; MissingPackage without it."""
    try:
        return import_module(ARROW), import_module(f"{ARROW}.parquet")
    except ModuleNotFoundError:
        raise MissingPackage(package=ARROW, extra="dataset") from None


def _parquet(data: bytes) -> RawTable:
    pa, parquet = arrow()
    try:
        table = parquet.ParquetFile(pa.BufferReader(data)).read()
        if problems := _duplicates(table.column_names, 0):
            return RawTable(problems=tuple(problems))
        found = _objects(enumerate(table.to_pylist(), start=1), _to_json)
        metadata = table.schema.metadata or {}
        judge = metadata[b"judge"].decode() if b"judge" in metadata else None
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        words = str(error).partition("\n")[0]
        return _unread(f"the file cannot be read as Parquet: {words}")
    simulated = metadata.get(b"simulated") == b"true"
    return replace(found, unit="row", simulated=simulated, judge=judge)


def _to_json(cell: Any) -> object:
    """A cell as JSON would have it: a time is its text, a decimal a number, an array a list."""
    if hasattr(cell, "tolist"):  # of numpy
        cell = cell.tolist()
    if isinstance(cell, list):
        return [*map(_to_json, cell)]
    if isinstance(cell, dict):
        return {name: _to_json(inner) for name, inner in cell.items()}
    if isinstance(cell, Decimal):  # a whole one may have more digits than a float, as ids have
        whole = cell.is_finite() and cell.adjusted() < _DIGITS and cell == int(cell)
        return int(cell) if whole else float(cell)
    return cell.isoformat() if hasattr(cell, "isoformat") else cell


_DIGITS = 76
"""Digits of the largest decimals that Parquet has."""

_FORMATS: Mapping[str, Callable[[bytes], RawTable]] = {
    ".csv": _csv,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".json": _json,
    ".parquet": _parquet,
}
"""How a name ends → what reads the file."""

ENDINGS = tuple(_FORMATS)
"""How the names of tables end."""
