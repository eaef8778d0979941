"""Reading tables into rows: CSV, JSON Lines, JSON, Parquet, and frames of pandas.

What the rows mean is checked elsewhere. Fields of nested objects go by dotted names.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ..errors import BadData, MissingPackage
from ..experiments.canonical import TwiceNamed, once_each
from ..experiments.fields import shortened
from ..experiments.layouts import TableRow
from ..experiments.stimuli import csv_lines
from ..settings.given import is_folder

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # ships no types

Source: TypeAlias = "Path | pd.DataFrame"
"""A file or folder, or a frame."""

NO_ROWS = "it holds no rows below the names of its columns"
_UTF8 = "utf-8-sig"  # spreadsheets begin a file with a mark
_SHOWN = 20  # problems of a table that are listed, and rows of one


class WrongCell(NamedTuple):
    """A problem of a table: its row (0 where it is the file's), its column, and what it is."""

    line: int
    column: str
    problem: str
    file: str = ""


@dataclass(frozen=True, slots=True)
class RawTable:
    """The rows of a file, and what is wrong with its shape; ``checksum`` is the file's SHA-256.

    ``unit`` is what rows are counted in, ``labels`` are the index of a frame. ``typed``: numbers
    and flags are such, and not text. ``simulated``: the file states that a program gave the
    replies, and ``judge`` who graded.
    """

    columns: tuple[str, ...] = ()
    rows: tuple[TableRow, ...] = field(default=(), repr=False)
    problems: tuple[WrongCell, ...] = ()
    checksum: str = ""
    unit: str = "row"
    typed: bool = False
    simulated: bool = False
    judge: str | None = None
    labels: tuple[str, ...] = field(default=(), repr=False)

    def location(self, lines: Iterable[int], column: str = "", file: str = "") -> str:
        """Name rows, a column and the file in a folder: ``rows 3, 7, column 'x'``."""
        numbers = [number for number in dict.fromkeys(lines) if number]
        names = [self.labels[n - 1] if self.labels else str(n) for n in numbers[:_SHOWN]]
        more = f" and {len(numbers) - _SHOWN} more" * (len(numbers) > _SHOWN)
        rows = f"{self.unit}{'s' * (len(numbers) > 1)} {', '.join(names)}{more}" if numbers else ""
        return ", ".join(filter(None, (file, rows, f"column {column!r}" if column else "")))


def wrong_table(
    heading: str, path: str, cells: Iterable[WrongCell], table: RawTable | None = None
) -> BadData:
    """Return the error of a table of which no row is used, each problem once for all its rows.

    ``heading`` is that of its declaration in the roster, if it has one.
    """
    cells, table = sorted(cells), table or RawTable()
    lines: defaultdict[tuple[str, str, str], list[int]] = defaultdict(list)
    for line, column, problem, file in cells:
        lines[file, column, problem].append(line)
    count = f"{len(cells)} problem{'s' * (len(cells) != 1)}"
    messages = [f"{count}, and no row is used before they are mended:"]
    for (file, column, problem), rows in [*lines.items()][:_SHOWN]:
        location = table.location(rows, column, file)
        messages.append(f"  {location}{': ' * bool(location)}{problem}")
    messages += [f"  and {len(lines) - _SHOWN} more"] * (len(lines) > _SHOWN)
    return BadData(
        source=f"{f'{heading} path' if heading else 'replies'}={path}", problem="\n".join(messages)
    )


def read_files(path: Path, pattern: str = "", rows: str = "") -> RawTable:
    """Read the table in a file, by its suffix, or in the files of a folder ``pattern`` names.

    ``rows`` is where the list of rows stands in an object of JSON, as ``results.results``. Raises
    MissingPackage for a Parquet file where pyarrow is not installed.
    """
    if not is_folder(path):
        return read_bytes(path, {**_FORMATS, ".json": lambda data: _json(data, rows)})
    if not pattern:
        return no_table("is a folder: name a file, or a layout of files in a folder (layout)")
    paths = sorted(each for each in path.glob(pattern) if each.is_file())
    if not paths:
        return no_table(f"the folder holds no {pattern}")
    tables = {each.relative_to(path).as_posix(): read_bytes(each) for each in paths}
    sums = "".join(f"{name}\n{table.checksum}\n" for name, table in tables.items())
    return replace(
        next(iter(tables.values())),  # all of a layout are of one format
        columns=tuple(dict.fromkeys(chain.from_iterable(t.columns for t in tables.values()))),
        rows=tuple(row._replace(file=name) for name, t in tables.items() for row in t.rows),
        problems=tuple(p._replace(file=name) for name, t in tables.items() for p in t.problems),
        checksum=hashlib.sha256(sums.encode()).hexdigest(),
        simulated=any(each.simulated for each in tables.values()),
    )


def read_frame(frame: pd.DataFrame) -> RawTable:
    """Read a frame, whose rows go by its index; ``checksum`` is that of it as CSV.

    Cells that pandas calls missing are empty; ``frame.attrs["simulated"]`` states that a program
    gave the replies.
    """
    columns = [str(name) for name in frame.columns]
    if problems := _duplicates(columns):
        return RawTable(problems=tuple(problems))
    cells = frame.set_axis(columns, axis="columns").astype(object)
    records = cells.where(cells.notna(), None).to_dict("records")
    return replace(
        _objects(enumerate(records, start=1), _plain),
        checksum=hashlib.sha256(frame.to_csv(index=False).encode()).hexdigest(),
        simulated=frame.attrs.get("simulated") is True,
        labels=tuple(map(shortened, frame.index)),
    )


def read_bytes(path: Path, formats: Mapping[str, Callable[[bytes], RawTable]] = {}) -> RawTable:
    """Read one file by its suffix, in one of ``formats`` if they are given."""
    formats = formats or _FORMATS
    if path.suffix.lower() not in formats:
        return no_table(f"how its name ends must say what it is: {', '.join(formats)}")
    try:
        data = path.read_bytes()
        table = formats[path.suffix.lower()](data)
    except _UNREADABLE as error:
        return no_table(f"the file cannot be read: {str(error).partition(chr(10))[0]}")
    return replace(table, checksum=hashlib.sha256(data).hexdigest())


_UNREADABLE = (ArithmeticError, csv.Error, OSError, RuntimeError, ValueError)


def no_table(problem: str) -> RawTable:
    """Return the table of a file of which nothing can be read."""
    return RawTable(problems=(WrongCell(0, "", problem),))


def _csv(data: bytes) -> RawTable:
    """Read comma-separated values as text; the first line names the columns.

    Nothing is stripped, and empty lines are passed over.
    """
    (_, columns), *lines = [*csv_lines(data.decode(_UTF8))] or [(0, [])]
    rows, problems = list[TableRow](), _duplicates(columns)
    for line, cells in lines:
        if len(cells) == len(columns):
            rows.append(TableRow(line, dict(zip(columns, cells, strict=True))))
        else:
            has = f"has {len(cells)} cells, and the first line names {len(columns)} columns"
            problems.append(WrongCell(line, "", has))
    for sign in ";\t" if len(columns) == 1 else "":
        if sign in columns[0]:
            return no_table(f"the cells are separated by {sign!r}: save it with commas")
    if len(lines) > 1 and (len(problems) >= len(lines) or columns[1:3] == ["", ""]):
        return no_table(_NO_NAMES)
    if not lines and not problems:
        return no_table(NO_ROWS)
    return RawTable(tuple(columns), tuple(rows), tuple(problems), unit="line")


_NO_NAMES = (
    "the first line must name the columns, one for each cell below: take off what stands above "
    "their names (a title, a comment, sep=)"
)


def _duplicates(names: Iterable[str]) -> list[WrongCell]:
    twice = [name for name, count in Counter(names).items() if count > 1]
    return [WrongCell(0, name, "two columns have this name") for name in twice]


def _flat(cells: Mapping[str, object], before: str = "") -> Iterator[tuple[str, object]]:
    """Yield the fields of an object, those of objects in it by dotted names."""
    for name, value in cells.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def json_of(text: str) -> Any:
    """Read JSON of which no object has a field twice: which value is meant would be unknown."""
    try:
        return json.loads(text, object_pairs_hook=once_each)
    except TwiceNamed as twice:
        problem = f"a field stands in it twice: {twice}"
        raise TwiceNamed(problem) from None


def _json_lines(data: bytes) -> RawTable:
    # Not by splitlines(), which ends a line at characters that texts may hold.
    lines = enumerate(data.decode(_UTF8).split("\n"), start=1)
    found = _objects(((line, each) for line, each in lines if each.strip()), json_of)
    return replace(found, unit="line")


def _json(data: bytes, place: str) -> RawTable:
    whole = json_of(data.decode(_UTF8))
    rows = element(whole, place) if place else whole
    if isinstance(rows, list):
        return table_of(rows)
    fields = dict(_flat(whole)) if isinstance(whole, dict) else {}
    lists = [n for n, v in fields.items() if isinstance(v, list) and dict in map(type, v)]
    hint = f"name the list of its rows (rows): {', '.join(lists)}"
    hint = hint if lists else "pandas writes one with to_json(orient='records')"
    what = f"there is no list of objects at {place}" if place else "the file is no list of objects"
    return no_table(f"{what}; {hint}")


def element(value: object, path: str) -> object:
    """What stands at a dotted path in a value of JSON; None where nothing does."""
    for step in path.split("."):
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def _objects(
    rows: Iterable[tuple[int, Any]], read: Callable[[Any], object] = lambda row: row
) -> RawTable:
    """Make a table of what ``read`` makes of numbered rows; missing fields are empty."""
    found, problems = list[TableRow](), list[WrongCell]()
    for line, each in rows:
        try:
            if isinstance(row := read(each), dict):
                found.append(TableRow(line, dict(_flat(row))))
                continue
            problem = f"it is a {type(row).__name__}"
        except (ValueError, RecursionError) as error:
            problem = str(error)
        problems.append(WrongCell(line, "", f"is no object of JSON: {problem}"))
    if not found and not problems:
        return no_table(NO_ROWS)
    columns = dict.fromkeys(chain.from_iterable(row.cells for row in found))
    return RawTable(tuple(columns), tuple(found), tuple(problems), typed=True)


def table_of(rows: Iterable[object]) -> RawTable:
    """Make a table of objects, in which fields of other objects go by dotted names."""
    return _objects(enumerate(rows, start=1))


def arrow() -> tuple[Any, Any]:
    """Return pyarrow and its module of Parquet, which have no types; MissingPackage without it."""
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ModuleNotFoundError:
        raise MissingPackage(package="pyarrow", extra="dataset") from None


def _parquet(data: bytes) -> RawTable:
    pa, parquet = arrow()
    table = parquet.ParquetFile(pa.BufferReader(data)).read()
    if problems := _duplicates(table.column_names):
        return RawTable(problems=tuple(problems))
    metadata = table.schema.metadata or {}
    judge = metadata[b"judge"].decode() if b"judge" in metadata else None
    found = _objects(enumerate(table.to_pylist(), start=1), _plain)
    return replace(found, simulated=metadata.get(b"simulated") == b"true", judge=judge)


def _plain(cell: Any) -> object:
    """Return a cell as JSON would have it: a time as text, a decimal as a number."""
    if hasattr(cell, "tolist"):  # of numpy
        cell = cell.tolist()
    if isinstance(cell, list):
        return [*map(_plain, cell)]
    if isinstance(cell, dict):
        return {name: _plain(inner) for name, inner in cell.items()}
    if isinstance(cell, Decimal):  # a whole one may have more digits than a float, as ids have
        return int(cell) if cell.is_finite() and cell == cell.to_integral() else float(cell)
    return cell.isoformat() if hasattr(cell, "isoformat") else cell


_FORMATS: Mapping[str, Callable[[bytes], RawTable]] = {
    ".csv": _csv,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".json": lambda data: _json(data, ""),
    ".parquet": _parquet,
}

ENDINGS = tuple(_FORMATS)
"""Suffixes of tables."""
