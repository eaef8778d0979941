"""A table beside its experiment: each row is a trial, or else all that is wrong is named.

Trials are numbered within their cell in the order of the file, however many it holds: the sizes
are the source's. A column of replicates, where one is declared, only shows that no trial stands
there twice.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING

from ..errors import BadDesign, InvalidReply
from ..experiments.design import LABEL, Trial
from ..experiments.measures import LONGEST_REASON, Measure, MeasureValue, kind_of
from ..experiments.records import Origin, Outcome
from .reader import WrongCell

if TYPE_CHECKING:
    from ..experiments.experiment import Experiment
    from ..settings.published import TableEntry
    from .reader import RawTable, TableRow

_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_FLAGS = {"true": True, "false": False}


class _Wrong(Exception):
    """A cell holds no value; in what words."""

    def __init__(self, cell: object, problem: str) -> None:
        super().__init__(f"{cell!r} {problem}")


Reader = Callable[[str], MeasureValue]


@dataclass(slots=True)
class TableTrials:
    """The trials of each model of a table, in the order of the file, and all that is wrong."""

    outcomes: dict[str, list[Outcome]] = field(default_factory=lambda: defaultdict(list))
    problems: list[WrongCell] = field(default_factory=list)


def trials_of_table(table: RawTable, entry: TableEntry, experiment: Experiment) -> TableTrials:
    """Take every row of ``table`` for a trial of ``experiment``, or say what is wrong with it."""
    found = TableTrials(problems=list(table.problems))
    if table.columns:
        columns = _Columns(table, entry, experiment)
        found.problems += columns.problems
        rows = _Rows(columns, found)
        for row in table.rows:
            rows.take(row)
    return found


class _Columns:
    """The columns of a table by what they are to an experiment."""

    def __init__(self, table: RawTable, entry: TableEntry, experiment: Experiment) -> None:
        self.entry, self.experiment = entry, experiment
        self.problems: list[WrongCell] = []
        self._known = table.columns
        self.levels = {f.name: self._found(f.name) for f in experiment.factors}
        self.exemplars = {
            f.name: self._found(f"{f.name}_exemplar") for f in experiment.factors if f.exemplars
        }
        self.item = self._found("item") if experiment.items is not None else None
        self.model = self._existing("model", entry.model)
        optional = ("replicate", "missing", "collected_at")
        self.replicate, self.missing, self.collected_at = (
            self._found(name) if name in entry.columns else None for name in optional
        )
        self.measures: dict[str, tuple[str, Reader]] = {}
        self.derived: list[Measure] = []
        for measure in experiment.measures:
            named = measure.name in entry.columns or measure.name in table.columns
            if measure.take is not None and not named:
                self.derived.append(measure)
            elif (column := self._found(measure.name)) is not None:
                self.measures[measure.name] = (column, _reader(measure, experiment))
        usual = {*self.levels, *(f"{name}_exemplar" for name in self.exemplars), *optional}
        usual |= {m.name for m in experiment.measures} | ({"item"} if experiment.items else set())
        for name in sorted(entry.columns.keys() - usual):
            known = _list(sorted(usual))
            words = f"columns of the roster has {name!r}, and {experiment.id} has {known}"
            self.problems.append(WrongCell(0, "", words))
        for column in sorted(entry.values.keys() - {*table.columns}):
            self._existing("values of the roster", column)
        if experiment.judge is not None and entry.judge is None:
            words = f"{experiment.id} has a judge, and the roster does not say who graded (judge)"
            self.problems.append(WrongCell(0, "", words))

    def _found(self, name: str) -> str | None:
        """The column of what our data sets call ``name``; None, and a problem, without one."""
        return self._existing(name, self.entry.columns.get(name, name))

    def _existing(self, of: str, column: str) -> str | None:
        if column in self._known:
            return column
        self.problems.append(no_column(of, column, self._known))
        return None


class _Rows:
    """The rows of a table, one after the other."""

    def __init__(self, columns: _Columns, found: TableTrials) -> None:
        self.columns, self.found = columns, found
        self._conditions = {tuple(c.levels.values()): c for c in columns.experiment.conditions}
        self._counts: defaultdict[tuple[object, ...], int] = defaultdict(int)
        self._lines: dict[tuple[object, ...], int] = {}
        self._kinds: dict[str, tuple[type, int]] = {}
        self._problems = 0
        self._row: TableRow

    def take(self, row: TableRow) -> None:
        """Add a row's trial to those of its model, or its problems to those of the table."""
        self._row = row
        before = len(self.found.problems)
        columns = self.columns
        model = self._cell(columns.model)
        if not model or model != model.strip() or not model.isprintable():
            self._wrong(columns.model, "names no model, so these are the replies of nobody")
        trial = self._trial(model)
        at = self._collected()
        missing, values = self._measured()
        if trial is None or len(self.found.problems) > before:
            return
        outcome = Outcome(
            trial=trial,
            result=None,
            missing=missing,
            invalid=(),
            interactions=0,
            prompts=(),
            values=values,
            origins=(Origin("subject", "", at),),
            published=True,
        )
        self.found.outcomes[model].append(outcome)

    def _cell(self, column: str | None) -> str:
        return "" if column is None else self.columns.entry.word(column, self._row.cells[column])

    def _wrong(self, column: str | None, problem: str) -> None:
        """Note a problem; of a column that is not there it has been said."""
        if column is not None:
            self.found.problems.append(WrongCell(self._row.line, column, problem))

    def _one_of(self, column: str | None, known: Mapping[str, object], what: str) -> str:
        cell = self._cell(column)
        if cell not in known:
            self._wrong(column, f"{cell!r} is no {what}: {_list(known)}")
        return cell

    def _trial(self, model: str) -> Trial | None:
        """The trial a row is of; None, and its problems, where it is of none."""
        columns, experiment = self.columns, self.columns.experiment
        levels, exemplars = [], {}
        for factor in experiment.factors:
            level = self._one_of(
                columns.levels[factor.name], factor.levels, f"level of {factor.name}"
            )
            levels.append(level)
            if factor.exemplars:
                members = dict.fromkeys(factor.exemplars.get(level, ()))
                what = f"exemplar of {factor.name} at {level}"
                column = columns.exemplars[factor.name]
                exemplars[factor.name] = self._one_of(column, members, what)
        item = value = None
        if experiment.items is not None:
            item = self._one_of(columns.item, experiment.items.items, experiment.items.name)
            value = experiment.items.items.get(item)
        cell = (model, *levels, *exemplars.values(), item)
        if columns.replicate is not None:
            self._check_first((*cell, self._cell(columns.replicate)))
        condition = self._conditions.get(tuple(levels))
        if condition is None:
            return None
        self._counts[cell] += 1
        return Trial(condition, exemplars, item, value, self._counts[cell])

    def _check_first(self, key: tuple[object, ...]) -> None:
        """Note a trial that stands in the table twice, or does not say which it is."""
        if not key[-1]:
            self._wrong(self.columns.replicate, "is empty, and replicates are told by it")
        elif (first := self._lines.setdefault(key, self._row.line)) != self._row.line:
            words = f"repeats line {first}: the same model, condition and replicate {key[-1]!r}"
            self._wrong(self.columns.replicate, words)

    def _collected(self) -> str | None:
        cell = self._cell(self.columns.collected_at)
        try:
            if cell:
                datetime.fromisoformat(cell)
        except ValueError:
            self._wrong(self.columns.collected_at, f"{cell!r} is no time as 2026-02-05T13:51:23Z")
        return cell or None

    def _measured(self) -> tuple[str | None, Mapping[str, MeasureValue]]:
        """Why the trial is missing, or its measures; and their problems."""
        columns, missing = self.columns, self._cell(self.columns.missing)
        if missing and not (len(missing) <= LONGEST_REASON and LABEL.fullmatch(missing)):
            words = f"{missing!r} is no label (lower-case letters and digits, joined by '_')"
            self._wrong(columns.missing, words)
        values: dict[str, MeasureValue] = {}
        for name, (column, read) in columns.measures.items():
            cell = self._cell(column)
            if missing and cell:
                self._wrong(column, f"holds {cell!r}, and the trial is missing ({missing})")
            elif not missing and not cell:
                self._wrong(column, "is empty, and nothing says why the trial is missing")
            elif not missing:
                try:
                    values[name] = self._alike(name, read(cell))
                except _Wrong as wrong:
                    self._wrong(column, str(wrong))
        if missing:
            return missing, {}
        if len(values) == len(columns.measures):
            values |= self._derived(values)
        return None, values

    def _alike(self, name: str, value: MeasureValue) -> MeasureValue:
        """Refuse a value of another type than the first of its measure."""
        kind, line = self._kinds.setdefault(name, (type(value), self._row.line))
        if type(value) is not kind:
            raise _Wrong(value, f"is of another type than the value on line {line}")
        return value

    def _derived(self, values: Mapping[str, MeasureValue]) -> Iterator[tuple[str, MeasureValue]]:
        """The measures that the experiment's own functions take from the others of a row."""
        result = SimpleNamespace(**values)
        for measure in self.columns.derived:
            try:
                yield measure.name, measure.of(result)
            except InvalidReply as invalid:
                self._wrong(measure.name, f"cannot be taken from the others: {invalid.reason}")
            except BadDesign as error:
                self._wrong(measure.name, f"cannot be taken from the others: {error}")
            except Exception as error:  # noqa: BLE001  (the author's function: anything)
                words = "there is no such column, and its function cannot take it from the others"
                self._wrong(measure.name, f"{words} ({type(error).__name__}: {error})")


def no_column(of: str, column: str, known: Iterable[str]) -> WrongCell:
    """Word that a table lacks the column that ``of`` would be taken from."""
    return WrongCell(1, column, f"there is no such column ({of}); there are {_list(known)}")


def _reader(measure: Measure, experiment: Experiment) -> Reader:
    """Return how a cell of ``measure`` is read: as its type says, or its bounds and categories."""
    kind = kind_of(measure, experiment.protocol)
    if measure.categories:
        return lambda cell: _category(measure, cell)
    if kind is bool:
        return _flag
    if kind in (int, float) or measure.bounds is not None:
        return lambda cell: _number(measure, cell, whole=kind is int)
    return lambda cell: _number_or_flag(measure, cell)


def _category(measure: Measure, cell: str) -> str:
    if not measure.declares(cell):
        raise _Wrong(cell, f"is no {measure.name}: {_list(sorted(measure.categories))}")
    return cell


def _number_or_flag(measure: Measure, cell: str) -> MeasureValue:
    """The value of a measure of which nothing says what it is."""
    if cell.lower() in _FLAGS:
        return _FLAGS[cell.lower()]
    if not _NUMBER.fullmatch(cell):
        raise _Wrong(cell, "is neither a number nor true or false")
    return _number(measure, cell)


def _flag(cell: str) -> bool:
    if cell.lower() not in _FLAGS:
        raise _Wrong(cell, "is neither true nor false")
    return _FLAGS[cell.lower()]


def _number(measure: Measure, cell: str, *, whole: bool = False) -> float:
    number = float(cell) if _NUMBER.fullmatch(cell) else float("nan")
    if not abs(number) < float("inf") or (whole and not number.is_integer()):
        raise _Wrong(cell, f"is no {'whole ' if whole else ''}number")
    low, high = measure.bounds or (number, number)
    if not low <= number <= high:
        raise _Wrong(cell, f"is not within {low:g} to {high:g} {measure.unit}".rstrip())
    return number


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)
