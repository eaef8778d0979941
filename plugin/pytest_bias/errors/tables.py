"""Tables of replies that others recorded, which are not what the roster says they are."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from .runs import NotRecorded
from .settings import BadSetting

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_SHOWN = 20
"""Kinds of problems of a table that are worded, and runs of lines of one."""


class WrongTable(BadSetting):
    """A table holds what its experiment does not have; all of it is told, and no row is used.

    ``declared`` is where the table is named, ``cells`` are its problems: line (0 where it is the
    file's), column, what it is, and which file of a folder. The first of them are worded, each
    once for all of its lines (or what else ``unit`` says), which ``labels`` may name.
    """

    def __init__(
        self,
        *,
        declared: str,
        path: str,
        cells: Iterable[tuple[int, str, str, str]],
        unit: str = "line",
        labels: Sequence[str] = (),
    ) -> None:
        self.cells = tuple(cells)
        where: dict[tuple[str, str, str], list[int]] = {}
        for line, column, problem, file in sorted(self.cells):
            where.setdefault((file, column, problem), []).append(line)
        words = [
            f"  {_place((unit, lines), column, file, labels)}{problem}"
            for (file, column, problem), lines in islice(where.items(), _SHOWN)
        ]
        if more := sum(map(len, islice(where.values(), _SHOWN, None))):
            words.append(f"  and {more} more")
        count = f"{len(self.cells)} problem{'s' * (len(self.cells) != 1)}"
        super().__init__(
            option=declared,
            value=path,
            problem="\n".join([f"{count}, and no row is used before they are mended:", *words]),
        )


class NotCovered(NotRecorded):
    """A subject of a table is asked what it does not hold; nobody can be asked for more."""

    def __init__(self, *, model: str, lacking: str, held: Iterable[str]) -> None:
        words = f"{model} has no replies to {lacking}: its table has those to {', '.join(held)}"
        super().__init__(words, f"{words}. Nobody can be asked again, and no row is made up.")


def _place(where: tuple[str, Iterable[int]], column: str, file: str, labels: Sequence[str]) -> str:
    """``lines 3, 7-9, column "x": ``, in a folder after the file's name; or by ``labels``.

    Empty for what is wrong with the one file itself.
    """
    unit, lines = where
    runs: list[list[int]] = []
    for line in sorted({*lines} - {0}):
        if runs and line == runs[-1][1] + 1:
            runs[-1][1] = line
        else:
            runs.append([line, line])
    named = [[labels[line - 1] if labels else str(line) for line in run] for run in runs[:_SHOWN]]
    shown = ", ".join("-".join(dict.fromkeys(run)) for run in named)
    if more := sum(b - a + 1 for a, b in runs[_SHOWN:]):
        shown = f"{shown} and {more} more"
    several = len(runs) > 1 or any(a != b for a, b in runs)
    parts = [file] if file else []
    parts += [f"{unit}{'s' * several} {shown}"] if runs else []
    parts += [f"column {column!r}"] if column else []
    return f"{', '.join(parts)}: " if parts else ""
