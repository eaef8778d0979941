"""A table beside its experiment: each row is a trial, or else all that is wrong is named.

Trials are numbered within their cell in the order of the file, however many it holds: the sizes
are the source's. A column of replicates only shows that no trial stands there twice.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING

from ..experiments.design import LABEL, Condition, Design, Trial, trials_of
from ..experiments.fields import one_line, shortly
from ..experiments.measures import LONGEST_REASON, Measure, MeasureValue, kind_of
from ..experiments.records import Origin, Outcome
from ..settings.published import cell_text
from .reader import WrongCell

if TYPE_CHECKING:
    from ..experiments.experiment import Experiment
    from ..experiments.layouts import TableRow
    from ..settings.published import TableEntry
    from .reader import RawTable

MODEL = "model"
"""Column of who answered, unless the declaration names another."""

_OPTIONAL = ("experiment", "replicate", "missing", "collected_at", "served")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_FLAGS = {"true": True, "false": False}
_NAMED = 3
_NO_TIME = "is no time as 2026-02-05T13:51:23Z"
_NO_REASON = "is no label (lower-case letters and digits, joined by '_')"


def trials_of_table(
    table: RawTable, entry: TableEntry, experiment: Experiment, name: str
) -> tuple[Mapping[str, list[Outcome]], list[WrongCell]]:
    """The trials of each model of a table, in the plan's order, and all that is wrong.

    ``name`` is what a model is called that no column names. Within their cell trials are in the
    order of the file.
    """
    if not table.columns:
        return {}, [*table.problems]
    check = _Check(table, entry, experiment, name)
    for row in table.rows:
        check.take(row)
    check.check_notes()
    return check.outcomes(), check.problems


def no_column(of: str, column: str, known: Iterable[str]) -> WrongCell:
    """Word that a table lacks the column that ``of`` would be taken from."""
    return WrongCell(1, column, f"there is no such column ({of}); there are {', '.join(known)}")


def model_column(table: RawTable, entry: TableEntry) -> str | None:
    """The column of who answered; None where all rows are of one subject."""
    return entry.model or (MODEL if MODEL in table.columns else None)


def coverage(experiment: Experiment, outcomes: Iterable[Outcome]) -> str:
    """Word how many trials of the gate design there are, and how even its cells are.

    A cell is a condition with one exemplar of each factor and one item; controls are left out.
    """
    one = Design(1)
    cells = {
        trial.id.rpartition("#")[0]: 0
        for condition in experiment.conditions
        for trial in trials_of(condition, experiment.factors, experiment.items, one)
        if experiment.items is None or trial.item in experiment.items.items
    }
    found = Counter(outcome.trial.id.rpartition("#")[0] for outcome in outcomes)
    sizes = [found[cell] for cell in cells]
    planned, gate = len(cells) * experiment.replicates, experiment.replicates
    there = sum(min(size, gate) for size in sizes)
    words = f"{there:,} of the {planned:,} trials of the gate design are there"
    if min(sizes) == max(sizes):
        return f"{words}; each of its {len(cells)} cells holds {max(sizes):,}"
    words += f"; its {len(cells)} cells are unequal and hold {min(sizes):,} to {max(sizes):,}"
    if empty := [cell for cell in cells if not found[cell]]:
        more = ", …" if len(empty) > _NAMED else ""
        words += f", {len(empty)} of them none ({', '.join(empty[:_NAMED])}{more})"
    return words


class _Wrong(Exception):
    """A cell holds no value; in what words."""


@dataclass(slots=True)
class _Cell:
    """A model's trials at one condition, exemplars and item; ``rank`` is its place in the plan."""

    model: str
    condition: Condition
    exemplars: Mapping[str, str]
    item: str | None
    value: object
    rank: tuple[int, ...]
    trials: list[Outcome]


class _Check:
    """The rows of a table, taken one after the other; columns go by what we call them."""

    def __init__(
        self, table: RawTable, entry: TableEntry, experiment: Experiment, name: str
    ) -> None:
        self.problems = list(table.problems)
        self._entry, self._experiment, self._typed = entry, experiment, table.typed
        self._name = name
        every = (*experiment.conditions, *experiment.control_conditions)
        self._conditions = {tuple(c.levels.values()): (n, c) for n, c in enumerate(every)}
        self._cells: dict[tuple[str, ...], _Cell | list[tuple[str, str]]] = {}
        self._lines: dict[tuple[object, ...], TableRow] = {}
        self._sources: dict[str, str] = {}
        self._types: dict[str, tuple[type, TableRow]] = {}
        self._origins: dict[tuple[str, str], tuple[Origin, ...]] = {}
        given = {*entry.columns, *table.columns}
        self._derived = [m for m in experiment.measures if m.take and m.name not in given]
        self._measures = [m for m in experiment.measures if m not in self._derived]
        self._kinds = {m.name: _kind_of(m, experiment) for m in self._measures}
        self._placed = [factor.name for factor in experiment.factors]
        self._placed += [f"{each.name}_exemplar" for each in experiment.factors if each.exemplars]
        self._placed += ["item"] if experiment.items is not None else []
        needed = [*self._placed, *(measure.name for measure in self._measures)]
        wanted = {name: entry.columns.get(name, name) for name in needed}
        # Of these, what is not named counts where it is there.
        may = {name: entry.columns.get(name, name) for name in _OPTIONAL}
        wanted |= {n: c for n, c in may.items() if n in entry.columns or c in table.columns}
        if (column := model_column(table, entry)) is not None:
            wanted[MODEL] = column
        self._columns = {n: column for n, column in wanted.items() if column in table.columns}
        translated = [("values of the roster", column) for column in entry.values]
        self.problems += [
            no_column(what, column, table.columns)
            for what, column in (*wanted.items(), *translated)
            if column not in table.columns
        ]
        ours = {*needed, *_OPTIONAL, *(measure.name for measure in self._derived)}
        if unknown := sorted(entry.columns.keys() - ours):
            has = f"{experiment.id} has {', '.join(sorted(ours))}"
            words = f"columns of the roster names {', '.join(unknown)}, and {has}"
            self.problems.append(WrongCell(0, "", words))
        if entry.collected_at and not _is_time(entry.collected_at):
            words = f"collected_at: {shortly(entry.collected_at)} {_NO_TIME}"
            self.problems.append(WrongCell(0, "", words))
        if entry.missing and not _is_reason(entry.missing):
            words = f"missing: {shortly(entry.missing)} {_NO_REASON}"
            self.problems.append(WrongCell(0, "", words))
        if experiment.judge is not None and entry.judge is None:
            words = f"{experiment.id} has a judge, and nothing says who graded (judge)"
            self.problems.append(WrongCell(0, "", words))

    def take(self, row: TableRow) -> None:
        """Add a row's trial to those of its model, or its problems to those of the table."""
        before = len(self.problems)
        source = self._source(row)
        key = (source, *[self._word(row, name) for name in self._placed])
        if (cell := self._cells.get(key)) is None:
            cell = self._cells[key] = self._placed_at(key)
        if isinstance(cell, list):
            for name, problem in cell:
                self._wrong(row, name, problem)
        if "replicate" in self._columns:
            self._check_first(row, key)
        self._check_experiment(row)
        origins = self._origin(row)
        missing, values = self._measured(row)
        if isinstance(cell, list) or len(self.problems) > before:
            return
        number = len(cell.trials) + 1
        cell.trials.append(
            Outcome(
                trial=Trial(cell.condition, cell.exemplars, cell.item, cell.value, number),
                result=None,
                missing=missing,
                invalid=(),
                interactions=0,
                prompts=(),
                values=values,
                origins=origins,
                published=True,
            )
        )

    def outcomes(self) -> Mapping[str, list[Outcome]]:
        """The trials of each model; to be called after all rows."""
        found: defaultdict[str, list[Outcome]] = defaultdict(list)
        cells = [cell for cell in self._cells.values() if isinstance(cell, _Cell)]
        for cell in sorted(cells, key=lambda cell: cell.rank):
            found[cell.model] += cell.trials
        return found

    def check_notes(self) -> None:
        """Note what the roster says of models that no row is of; to be called after all rows."""
        if not self._sources:
            return  # there is no column of models, as has been said
        if unknown := sorted(self._entry.notes.keys() - self._sources.keys()):
            has = f"the table has {', '.join(map(one_line, sorted(self._sources)))}"
            words = f"notes of the roster names {', '.join(unknown)}, and {has}"
            self.problems.append(WrongCell(0, "", words))

    def _word(self, row: TableRow, name: str) -> str:
        """The row's cell in our words; empty in a column that is not there."""
        column = self._columns.get(name)
        return "" if column is None else self._entry.word(column, row.cells.get(column))

    def _source(self, row: TableRow) -> str:
        """Who answered, in the source's words."""
        column = self._columns.get(MODEL)
        if column is None:
            return self._name if self._entry.model is None else ""
        return cell_text(row.cells.get(column))

    def _wrong(self, row: TableRow, name: str, problem: str) -> None:
        """Note a problem; of a column that is not there it has been said."""
        if name in self._columns:
            column = self._columns[name]
            self.problems.append(WrongCell(row.line, column, problem, row.file))

    def _placed_at(self, key: tuple[str, ...]) -> _Cell | list[tuple[str, str]]:
        """The cell that rows of these words belong to, or else what is wrong with the words."""
        source, *words = key
        model, problems = self._model(source)

        def one_of(name: str, known: Sequence[str], what: str) -> tuple[str, int]:
            word = words[self._placed.index(name)]
            if word in known:
                return word, known.index(word)
            problems.append((name, f"{shortly(word)} is no {what}: {', '.join(known)}"))
            return word, 0

        levels: list[str] = []
        exemplars: dict[str, str] = {}
        ranks: list[int] = []
        for factor in self._experiment.factors:
            name, known = factor.name, (*factor.levels, *factor.controls)
            levels.append(one_of(name, known, f"level of {name}")[0])
            if factor.exemplars:
                members, at = factor.exemplars.get(levels[-1], ()), one_line(levels[-1])
                what = f"exemplar of {name} at {at}"
                exemplars[name], rank = one_of(f"{name}_exemplar", members, what)
                ranks.append(rank)
        items, item, value = self._experiment.items, None, None
        if items is not None:
            every = {**items.items, **items.controls}
            item, rank = one_of("item", (*every,), items.name)
            value = every.get(item)
            # Control items come after all others, whatever the exemplars.
            ranks = [rank >= len(items.items), *ranks, rank]
        number, condition = self._conditions.get(tuple(levels), (len(self._conditions), None))
        elsewhere = condition is None or any(ranks)
        if number >= len(self._experiment.conditions) and elsewhere and not problems:
            factors = enumerate(self._experiment.factors)
            place = next(n for n, factor in factors if levels[n] in factor.controls)
            told = "is for positive controls, and asked with the first of all else alone"
            problems.append((self._experiment.factors[place].name, f"{levels[place]!r} {told}"))
        if problems or condition is None:
            return problems
        return _Cell(model, condition, exemplars, item, value, (number, *ranks), [])

    def _model(self, source: str) -> tuple[str, list[tuple[str, str]]]:
        """A model of the source by the name we give it, and what is wrong with that."""
        words = self._entry.values.get(self._columns.get(MODEL, ""), {})
        model = words.get(source, source)
        if not model or model != model.strip() or not model.isprintable():
            return model, [(MODEL, "names no model, so these are the replies of nobody")]
        if (first := self._sources.setdefault(model, source)) == source:
            return model, []
        both = f"{shortly(source)} and {shortly(first)} are both {shortly(model)}"
        problem = f"{both} in our words, and replies of two models are not pooled"
        return model, [(MODEL, problem)]

    def _check_first(self, row: TableRow, key: tuple[str, ...]) -> None:
        """Note a trial that stands in the table twice, or does not say which it is."""
        replicate = self._word(row, "replicate")
        if not replicate:
            self._wrong(row, "replicate", "is empty, and replicates are told by it")
            return
        first = self._lines.setdefault((*key, replicate), row)
        if first is not row:
            at = f"{first.line} of {first.file}" if first.file != row.file else f"{first.line}"
            same = f"the same model, condition and replicate {shortly(replicate)}"
            self._wrong(row, "replicate", f"repeats line {at}: {same}")

    def _check_experiment(self, row: TableRow) -> None:
        """Note a row that says it is of another experiment."""
        said = self._word(row, "experiment")
        if said not in ("", self._experiment.id):
            problem = f"{shortly(said)} is not {self._experiment.id}, whose replies these are"
            self._wrong(row, "experiment", problem)

    def _origin(self, row: TableRow) -> tuple[Origin, ...]:
        """When the row was collected and which model the source says answered."""
        at = self._word(row, "collected_at") or self._entry.collected_at or ""
        served = self._word(row, "served") or self._entry.served or ""
        if (at, served) not in self._origins:
            self._origins[at, served] = (Origin("subject", served, at or None),)
        if at and not _is_time(at):
            self._wrong(row, "collected_at", f"{shortly(at)} {_NO_TIME}")
        return self._origins[at, served]

    def _measured(self, row: TableRow) -> tuple[str | None, Mapping[str, MeasureValue]]:
        """Why the trial is missing, or its measures; and their problems."""
        cells = {measure.name: self._cell(row, measure.name) for measure in self._measures}
        missing = self._word(row, "missing")
        if not missing and self._entry.missing and all(_empty(cell) for cell in cells.values()):
            missing = self._entry.missing
        if missing and not _is_reason(missing):
            self._wrong(row, "missing", f"{shortly(missing)} {_NO_REASON}")
        values: dict[str, MeasureValue] = {}
        for measure in self._measures:
            name, cell = measure.name, cells[measure.name]
            if missing and not _empty(cell):
                why = one_line(missing)
                self._wrong(row, name, f"holds {shortly(cell)}, and the trial is missing ({why})")
            elif not missing and _empty(cell):
                self._wrong(row, name, "is empty, and nothing says why the trial is missing")
            elif not missing:
                try:
                    values[name] = self._value(row, measure, cell)
                except _Wrong as wrong:
                    self._wrong(row, name, f"{shortly(cell)} {wrong}")
        if not missing and self._derived and len(values) == len(self._measures):
            self._derive(row, values)
        return missing or None, values

    def _cell(self, row: TableRow, name: str) -> object:
        """A measure's cell, in our words where it is translated."""
        column = self._columns.get(name)
        if column is None:
            return None
        cell, words = row.cells.get(column), self._entry.values.get(column)
        if not words or (text := cell_text(cell)) not in words:
            return cell
        return _typed(words[text]) if self._typed else words[text]

    def _value(self, row: TableRow, measure: Measure, cell: object) -> MeasureValue:
        """The value of a measure in a cell; every one is of the type of the first."""
        if self._typed and isinstance(cell, str) and not measure.categories:
            problem = "is text, where a number, true or false is needed"
            raise _Wrong(problem)
        value = _value_of(measure, self._kinds[measure.name], cell)
        kind, first = self._types.setdefault(measure.name, (type(value), row))
        if type(value) is not kind:
            problem = f"is of another type than the value on line {first.line}"
            raise _Wrong(problem)
        return value

    def _derive(self, row: TableRow, values: dict[str, MeasureValue]) -> None:
        """Add what the experiment's own functions take from the measures of a row."""
        result = SimpleNamespace(**values)
        for measure in self._derived:
            try:
                values[measure.name] = measure.of(result)
            except Exception as error:  # noqa: BLE001  (the author's function: anything)
                words = "is no column, and its function cannot take it from the other measures"
                problem = f"{words} ({type(error).__name__}: {one_line(str(error))})"
                self.problems.append(WrongCell(row.line, measure.name, problem, row.file))


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_reason(text: str) -> bool:
    return len(text) <= LONGEST_REASON and LABEL.fullmatch(text) is not None


def _empty(cell: object) -> bool:
    return cell is None or cell == ""


def _kind_of(measure: Measure, experiment: Experiment) -> object:
    return int if measure.integer else kind_of(measure, experiment.protocol)


def _typed(text: str) -> object:
    """A word of a declaration as JSON would have it."""
    if _NUMBER.fullmatch(text):
        return float(text)
    return _FLAGS.get(text, text)


def _value_of(measure: Measure, kind: object, cell: object) -> MeasureValue:
    """The value in a cell, as ``kind`` says, or else the measure's categories and bounds."""
    if measure.categories:
        word = cell_text(cell)
        if measure.declares(word):
            return word
        problem = f"is no {measure.name}: {', '.join(sorted(measure.categories))}"
        raise _Wrong(problem)
    free = kind not in (int, float) and measure.bounds is None
    flag = _FLAGS.get(cell.lower()) if isinstance(cell, str) else cell
    if free and isinstance(flag, bool):
        return flag
    number = float("nan") if kind is bool else _number(cell)
    if not abs(number) < float("inf") or (kind is int and not number.is_integer()):
        other = (
            "is neither true nor false"
            if kind is bool
            else "is neither a number nor true or false"
        )
        whole = "whole " if kind is int else ""
        raise _Wrong(other if free else f"is no {whole}number")
    low, high = measure.bounds or (number, number)
    if not low <= number <= high:
        unit = f" {measure.unit}" if measure.unit else ""
        problem = (
            f"is not within {low:g} to {high:g}{unit}; if it stands for a reply that could not be "
            "read, leave the cell empty and say why (missing)"
        )
        raise _Wrong(problem)
    return number


def _number(cell: object) -> float:
    """A finite number, of a text as digits; NaN for anything else."""
    try:
        if isinstance(cell, str):
            return float(cell) if _NUMBER.fullmatch(cell) else float("nan")
        if isinstance(cell, int | float) and not isinstance(cell, bool):
            return float(cell)
    except OverflowError:
        pass
    return float("nan")
