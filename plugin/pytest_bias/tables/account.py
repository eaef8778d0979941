"""What must be said of a table before its verdicts: what is there, and what stands in it twice."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from ..experiments.design import Design, is_control, trials_of
from ..experiments.fields import shortened
from ..settings.table_entry import cell_text
from .reader import WrongCell

if TYPE_CHECKING:
    from ..experiments.experiment import Experiment
    from ..experiments.layouts import TableRow
    from ..experiments.records import Outcome
    from ..settings.table_entry import TableEntry
    from .reader import RawTable

_SHOWN = 10  # columns that are named
_ANSWERERS = {
    *("checkpoint", "deployment", "endpoint", "engine", "llm", "llms", "model", "models"),
    *("provider", "served", "vendor"),
}
"""Words in the names of columns that tell who answered."""
_WORD = re.compile(r"[a-z]+")
_MODEL = re.compile(
    r"(?:[\w.-]+/)*(?:chatgpt|claude|command|deepseek|gemini|gemma|glm|gpt|grok|kimi|llama|ministral|"
    r"mistral|mixtral|nova|o[1-9]|olmo|phi|qwen)[^\s/]*(?<!\.jsonl)(?<!\.json)(?<!\.csv)",
    re.IGNORECASE,
)
"""Names of models, by their families; of files none."""
_TOLD_APART = 10  # rows, of which a column says another thing each
_CHANCE = math.log(1000)
"""Tables in one of which chance alone may repeat a block of rows, as a logarithm."""
_LONGEST = 1000  # rows of a block that are compared


def coverage(experiment: Experiment, outcomes: Sequence[Outcome]) -> str:
    """Report which units lack a cell, how many trials there are, and how even the cells are.

    A cell is a condition with one exemplar of each factor and one item; controls are left out.
    """
    cells = {
        trial.cell
        for condition in experiment.conditions
        for trial in trials_of(condition, experiment.factors, experiment.items, Design(1))
    }
    counts = Counter(outcome.trial.cell for outcome in outcomes)
    sizes = [counts[cell] for cell in cells]
    planned, there = (
        len(cells) * (gate := experiment.replicates),
        sum(min(n, gate) for n in sizes),
    )
    least, most = min(sizes), max(sizes)
    even = f"each of its {len(cells)} cells holds {most:,}"
    uneven = f"its {len(cells)} cells hold {least:,} to {most:,}"
    words = f"{there:,} of the {planned:,} trials of the gate design are there"
    return "; ".join((*_lacking(experiment, outcomes), words, even if least == most else uneven))


def _lacking(experiment: Experiment, outcomes: Iterable[Outcome]) -> Iterator[str]:
    """Say how many exemplars and items lack a valid reply in a cell that others of them have."""
    met: defaultdict[str, defaultdict[str, set[object]]] = defaultdict(lambda: defaultdict(set))
    items = experiment.items
    for trial, missing in ((outcome.trial, outcome.missing) for outcome in outcomes):
        if is_control(trial.condition, experiment.factors) or (
            items and trial.item in items.controls
        ):
            continue
        units = {f"exemplars of {name}": unit for name, unit in trial.exemplars.items()}
        for kind, unit in {**units, **({"items": trial.item} if items else {})}.items():
            met[kind][str(unit)] |= {trial.cell} if missing is None else set()
    for kind, cells in met.items():
        most = max(map(len, cells.values()))
        if lacking := sum(len(each) < most for each in cells.values()):
            yield f"{lacking:,} of {len(cells):,} {kind} lack a cell that others have"


def unread_columns(columns: Sequence[str]) -> str:
    """Name the columns that nobody reads; '' where there are none."""
    more = f" and {len(columns) - _SHOWN} more" * (len(columns) > _SHOWN)
    return f"not read: {', '.join(columns[:_SHOWN])}{more}" if columns else ""


def unnamed(
    table: RawTable,
    entry: TableEntry,
    unread: Iterable[str],
    model: str | None,
    counting: Collection[str],
) -> Iterator[WrongCell]:
    """The problems of unread columns that may be ``counting`` ones, or may tell who answered.

    Replies of models are not pooled: of each model, or of all rows, such a column says one thing.
    """
    names = [entry.word(model, row.cells.get(model)) if model else "" for row in table.rows]
    for column in (each for each in unread if each not in entry.unread):
        if (name := column.strip().casefold()) in counting:
            words = f"is not read; call it {name} if it is that, or else list it as unread"
            yield WrongCell(0, column, words)
            continue
        said: defaultdict[str, set[str]] = defaultdict(set)
        for name, row in zip(names, table.rows, strict=True):
            said[name].add(cell_text(row.cells.get(column)))
        several = sorted(max(said.values(), key=len, default=set()) - {""})
        named = {*_WORD.findall(column.casefold())} & _ANSWERERS
        if len(several) > 1 and (named or all(map(_MODEL.fullmatch, several))):
            words = ", ".join(map(shortened, several[:_SHOWN]))
            words = f"is not read, and may tell who answered ({words}): name it as model"
            yield WrongCell(0, column, f"{words}, or else list it as unread")


_AGAIN = (
    "so that the table holds replies more than once: take one out. If the model said the same "
    "again, declare it: repeats = true, or a column replicate"
)
RowTexts = list[tuple[str, ...]]


def row_texts(columns: Iterable[str], rows: Iterable[TableRow]) -> RowTexts:
    """Return what rows say in some of their columns."""
    names = tuple(columns)
    return [tuple(map(str, map(row.cells.get, names))) for row in rows]


def repeated_rows(whole: RowTexts) -> str:
    """Say how many rows of a table without replicates repeat another in all columns."""
    return (
        "no column 'replicate' tells a row that stands twice from a reply given twice: "
        f"{len(whole) - len({*whole}):,} of the table's {len(whole):,} rows repeat another in "
        "all columns"
    )


def repeated_replies(
    table: RawTable, whole: RowTexts, labels: Sequence[str], unread: Iterable[str]
) -> list[WrongCell]:
    """The problems of a block of rows that stands again, or else of single rows that do.

    ``whole`` is what the rows say in all columns. A column that nobody reads, an id or a time,
    tells single rows apart where it says another thing in each of those that differ.
    """
    rows, differing = table.rows, len({*whole})
    if differing == len(whole):
        return []
    if problems := _repeated_block(table, whole, labels):
        return problems
    for column in unread if differing >= _TOLD_APART else ():
        if len({*row_texts([column], rows)}) == differing:
            words = f"repeats another in all columns, of which {column!r} tells all others apart"
            first = {text: row for row, text in zip(reversed(rows), reversed(whole), strict=True)}
            again = (row for row, text in zip(rows, whole, strict=True) if first[text] is not row)
            return [WrongCell(row.line, "", f"{words}, {_AGAIN}", row.file) for row in again]
    return []


def _repeated_block(table: RawTable, whole: RowTexts, labels: Sequence[str]) -> list[WrongCell]:
    """The problem of a block of more than one cell; ``labels`` are the columns that tell cells.

    What the block says is so rare in its cells that in one table of a thousand, at most, chance
    would repeat it. Where all rows of each cell say the same, it has to be rare in the table.
    """
    rows, cells, number = table.rows, row_texts(labels, table.rows), len(whole)
    alike, sizes = Counter(whole), Counter(cells)
    rare = [math.log(sizes[cell] / alike[row]) for row, cell in zip(whole, cells, strict=True)]
    if not any(rare):
        others = row_texts((column for column in table.columns if column not in labels), rows)
        common = Counter(others)
        rare = [math.log(number / common[other]) for other in others]
    sums, needed = [0.0, *accumulate(rare)], 2 * math.log(number) + _CHANCE
    first: dict[tuple[object, ...], int] = {}
    for begin in range(number):
        end = bisect_left(sums, sums[begin] + needed)
        if end > min(number, begin + _LONGEST) or len({*cells[begin:end]}) == 1:
            continue
        before = first.setdefault(tuple(whole[begin:end]), begin)
        if before + end - begin <= begin:
            while end < number and whole[end] == whole[before + end - begin]:
                end += 1
            unit, last = table.unit, before + end - begin - 1
            words = f"this and the {end - begin - 1} {unit}s below repeat {unit}s "
            words += f"{rows[before].line} to {rows[last].line}, {_AGAIN}"
            return [WrongCell(rows[begin].line, "", words, rows[begin].file)]
    return []
