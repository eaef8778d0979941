"""Reading a CSV file into rows that know their lines; what they mean is no concern of it."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ..experiments.stimuli import csv_lines

NO_ROWS = "the file holds no rows below the names of its columns"


class WrongCell(NamedTuple):
    """A problem of a table: its line (0 where it is the file's), its column, and what it is."""

    line: int
    column: str
    problem: str


class TableRow(NamedTuple):
    """A row by the names of its columns, and the line of the file on which it begins."""

    line: int
    cells: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RawTable:
    """The rows of a file, and what is wrong with its shape; ``checksum`` is the file's SHA-256."""

    checksum: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...] = field(repr=False)
    problems: tuple[WrongCell, ...] = ()


def read_csv(path: Path) -> RawTable:
    """The table in a file of comma-separated values in UTF-8; its first line names the columns.

    Nothing is stripped, and an empty cell is an empty text; empty lines are passed over.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        return _unread("", 0, f"the file cannot be read: {error.strerror or error}")
    checksum = hashlib.sha256(data).hexdigest()
    try:
        text = data.decode("utf-8-sig")  # spreadsheets begin a file with a mark
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return _unread(
            checksum, line, "the file is not UTF-8 from here on; save it as CSV in UTF-8"
        )
    lines: list[tuple[int, list[str]]] = []
    try:
        lines.extend(csv_lines(text))
    except csv.Error as error:
        last = lines[-1][0] if lines else 0
        return _unread(checksum, last + 1, f"the file is no CSV from here on: {error}")
    if not lines:
        return _unread(checksum, 0, NO_ROWS)
    (first, columns), *rest = lines
    problems = [
        WrongCell(first, name, "two columns have this name")
        for number, name in enumerate(columns)
        if name in columns[:number]
    ]
    rows: list[TableRow] = []
    for line, cells in rest:
        if len(cells) == len(columns):
            rows.append(TableRow(line, dict(zip(columns, cells, strict=True))))
        else:
            words = f"has {len(cells)} cells, and the first line names {len(columns)} columns"
            problems.append(WrongCell(line, "", words))
    return RawTable(checksum, tuple(columns), tuple(rows), tuple(problems))


def _unread(checksum: str, line: int, problem: str) -> RawTable:
    return RawTable(checksum, (), (), (WrongCell(line, "", problem),))
