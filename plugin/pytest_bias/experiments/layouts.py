"""Layouts of others' results: rows of a source, and the experiment's own reading of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .fields import forbid, need_several, need_text, takes


class TableRow(NamedTuple):
    """A row of a table by the names of its columns, and where it stands.

    ``line`` is the line (of JSON and Parquet the row) on which it begins, from 1; ``file`` is
    empty but in a folder of several. Cells of a CSV are text; others are as they are typed, and
    None where there is none.
    """

    line: int
    cells: Mapping[str, object]
    file: str = ""


Arranged = tuple[Iterable[TableRow], str]
"""Rows, and what must be said of what became none: beside every verdict on them."""


@dataclass(frozen=True, slots=True)
class TableLayout:
    """A layout in which some program leaves its results, where it is not one row per trial.

    Parameters
    ----------
    rows
        From the rows of the source to one row per trial, in the columns of the experiment's own
        data set (docs/tables.md), each with the line it is of; and what must be said of what
        became no row. What it does not understand it leaves as it is: then it is refused with its
        line, beside all else that is wrong. It may raise a BiasError where nothing can be made,
        or an ExceptionGroup of BadData, each with the line it is of.
    files
        Of a folder, the files that count, as ``"*/all_results.json"``; empty where it is a file.
    columns
        Columns of the source without which it is not this layout. A table that lacks a factor of
        the experiment and has all of them is read in it where no layout is declared.
    """

    rows: Callable[[Sequence[TableRow]], Arranged] = field(repr=False)
    files: str = ""
    columns: Sequence[str] = ()

    def __post_init__(self) -> None:
        forbid("TableLayout", not takes(self.rows, 1), "rows must be a function of one argument")
        need_text("TableLayout", files=self.files)
        need_several("TableLayout", "columns", self.columns, str, "names")
