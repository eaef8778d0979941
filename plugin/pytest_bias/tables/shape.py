"""The shape of a table as its declaration has it: joined files, split cells, addressed lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from ..experiments.fields import shortened
from ..settings.table_entry import cell_text, parts_of
from .reader import RawTable, WrongCell, element, no_table, read_files

if TYPE_CHECKING:
    from ..experiments.experiment import Experiment
    from ..settings.table_entry import Join, TableEntry


MODEL = "model"
"""Column of who answered, unless the declaration names another."""


def opened(path: Path, entry: TableEntry, pattern: str, folder: Path) -> RawTable:
    """The table in a file, or in the files of a folder that ``pattern`` names, as declared.

    ``folder`` is that to which paths of the declaration are relative.
    """
    if entry.rows and (entry.tool or path.suffix.lower() != ".json"):
        return no_table("'rows' is about an object in a .json file, and no tool's")
    if entry.tool is not None:
        from .tools import read_tool  # noqa: PLC0415  (only where a table is of a tool)

        return shaped(read_tool(path, entry.tool), entry, folder)
    return shaped(read_files(path, pattern, entry.rows or ""), entry, folder)


def shaped(table: RawTable, entry: TableEntry, folder: Path) -> RawTable:
    """The table with the columns that its declaration makes; problems are among its own."""
    if entry.join is not None:
        table = _joined(table, entry.join, folder)
    named = (*entry.columns.values(), *entry.values, *entry.parts, entry.model, entry.reply)
    for column in filter(None, named):
        table = _addressed(table, column)
    for column, form in entry.parts.items():
        table = _parted(table, column, form)
    return table


def _added(
    table: RawTable, cells: Sequence[Mapping[str, object]], problems: Iterable[WrongCell] = ()
) -> RawTable:
    """The table with further ``cells`` in each row; a column that it has already is a problem."""
    names = dict.fromkeys(chain.from_iterable(cells))
    twice = (WrongCell(0, n, "two columns have this name") for n in names if n in table.columns)
    rows = zip(table.rows, cells, strict=True)
    return replace(
        table,
        columns=tuple(dict.fromkeys((*table.columns, *names))),
        rows=tuple(row._replace(cells={**row.cells, **more}) for row, more in rows),
        problems=(*table.problems, *problems, *twice),
    )


def _joined(table: RawTable, join: Join, folder: Path) -> RawTable:
    """The table with the columns of a second file, whose rows are found by the column ``on``."""
    other, wanted = read_files(folder / join.file), [("join", join.on)]
    problems = [
        *(p._replace(file=join.file) for p in other.problems or missing_columns(wanted, other)),
        *missing_columns(wanted, table),
    ]
    found: dict[str, Mapping[str, object]] = {}
    for row in () if problems else other.rows:
        cells = dict(row.cells)
        if (word := cell_text(cells.pop(join.on))) in found:
            twice = f"{shortened(word)} is twice in it"
            problems.append(WrongCell(row.line, join.on, twice, join.file))
        found[word] = cells
    words = [cell_text(row.cells.get(join.on)) for row in table.rows]
    for row, word in zip(table.rows, words, strict=True):
        if found and word not in found:
            absent = f"{shortened(word)} is in no row of {join.file}"
            problems.append(WrongCell(row.line, join.on, absent, row.file))
    return _added(table, [found.get(word, {}) for word in words], problems)


def _addressed(table: RawTable, column: str) -> RawTable:
    """The table with a column in a list, as ``choices.0.message.content``, if it has any."""
    steps = column.split(".")
    lists = [".".join(steps[:n]) for n in range(1, len(steps)) if steps[n].isdecimal()]
    whole = next((name for name in lists if name in table.columns), None)
    if whole is None or column in table.columns:
        return table
    path = column.removeprefix(f"{whole}.")
    cells = [element(row.cells.get(whole), path) for row in table.rows]
    return _added(table, [{column: cell} for cell in cells]) if any(cells) else table


def _parted(table: RawTable, column: str, form: str) -> RawTable:
    """The table with columns made of the parts of one; a cell of another form is a problem."""
    if problems := missing_columns([("parts", column)], table):
        return replace(table, problems=(*table.problems, *problems))
    texts = [cell_text(row.cells.get(column)) for row in table.rows]
    found = [*map(parts_of(form).fullmatch, texts)]
    wrong = (
        WrongCell(row.line, column, f"{shortened(text)} is not of the form {form}", row.file)
        for row, text, parts in zip(table.rows, texts, found, strict=True)
        if parts is None
    )
    return _added(table, [parts.groupdict() if parts else {} for parts in found], wrong)


def missing_columns(wanted: Iterable[tuple[str, str]], table: RawTable) -> list[WrongCell]:
    """Report the columns that a table lacks, of what each is to be taken from.

    The first also lists those that there are.
    """
    there = f"; there are {', '.join(table.columns)}"
    lacking = sorted({(column, of) for of, column in wanted if column not in table.columns})
    return [
        WrongCell(0, column, f"there is no such column ({of}){there * (number == 0)}")
        for number, (column, of) in enumerate(lacking)
    ]


def of_another(table: RawTable, entry: TableEntry, experiment: Experiment) -> list[WrongCell]:
    """Report the rows of a table that name another experiment."""
    column = entry.columns.get("experiment", "experiment")
    problem = f"is not {experiment.id}, whose replies these are"
    rows = table.rows if column in table.columns else ()
    named = [(row, entry.word(column, row.cells.get(column))) for row in rows]
    return [
        WrongCell(row.line, column, f"{shortened(word)} {problem}", row.file)
        for row, word in named
        if word not in ("", experiment.id)
    ]


def model_column(table: RawTable, entry: TableEntry) -> str | None:
    """Return the column of who answered; None where all rows are of one subject."""
    return entry.model or (MODEL if MODEL in table.columns else None)
