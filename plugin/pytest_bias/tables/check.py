"""A table beside its experiment: each row is a trial, or else all that is wrong is named.

Trials are numbered within their cell in the order of the file, however many it holds: the sizes
are the source's. A column of replicates, where one is declared, only shows that no trial stands
there twice.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING

from ..experiments.design import LABEL, Trial
from ..experiments.fields import one_line, shortly
from ..experiments.measures import LONGEST_REASON, Measure, MeasureValue, kind_of
from ..experiments.records import Origin, Outcome
from .reader import WrongCell

if TYPE_CHECKING:
    from ..experiments.experiment import Experiment
    from ..settings.published import TableEntry
    from .reader import RawTable, TableRow

_OPTIONAL = ("replicate", "missing", "collected_at")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_FLAGS = {"true": True, "false": False}


def trials_of_table(
    table: RawTable, entry: TableEntry, experiment: Experiment
) -> tuple[Mapping[str, list[Outcome]], list[WrongCell]]:
    """The trials of each model of a table, in the order of the file, and all that is wrong."""
    if not table.columns:
        return {}, [*table.problems]
    check = _Check(table, entry, experiment)
    for row in table.rows:
        check.take(row)
    check.check_notes()
    return check.outcomes, check.problems


def no_column(of: str, column: str, known: Iterable[str]) -> WrongCell:
    """Word that a table lacks the column that ``of`` would be taken from."""
    return WrongCell(1, column, f"there is no such column ({of}); there are {', '.join(known)}")


class _Wrong(Exception):
    """A cell holds no value; in what words."""


class _Check:
    """The rows of a table, taken one after the other; columns go by what we call them."""

    def __init__(self, table: RawTable, entry: TableEntry, experiment: Experiment) -> None:
        self.outcomes: defaultdict[str, list[Outcome]] = defaultdict(list)
        self.problems = list(table.problems)
        self._entry, self._experiment = entry, experiment
        self._conditions = {tuple(c.levels.values()): c for c in experiment.conditions}
        self._counts: Counter[tuple[object, ...]] = Counter()
        self._lines: dict[tuple[object, ...], int] = {}
        self._sources: dict[str, str] = {}
        self._types: dict[str, tuple[type, int]] = {}
        self._row: TableRow
        given = {*entry.columns, *table.columns}
        self._derived = [m for m in experiment.measures if m.take and m.name not in given]
        self._measures = [m for m in experiment.measures if m not in self._derived]
        self._kinds = {m.name: kind_of(m, experiment.protocol) for m in self._measures}
        needed = [factor.name for factor in experiment.factors]
        needed += [f"{factor.name}_exemplar" for factor in experiment.factors if factor.exemplars]
        needed += ["item"] if experiment.items is not None else []
        needed += [measure.name for measure in self._measures]
        wanted = {name: entry.columns.get(name, name) for name in needed}
        wanted |= {name: entry.columns[name] for name in _OPTIONAL if name in entry.columns}
        wanted["model"] = entry.model
        self._columns = {n: column for n, column in wanted.items() if column in table.columns}
        translated = [("values of the roster", column) for column in entry.values]
        for name, column in (*wanted.items(), *translated):
            if column not in table.columns:
                self.problems.append(no_column(name, column, table.columns))
        ours = {*needed, *_OPTIONAL, *(measure.name for measure in self._derived)}
        if unknown := sorted(entry.columns.keys() - ours):
            has = f"{experiment.id} has {', '.join(sorted(ours))}"
            words = f"columns of the roster names {', '.join(unknown)}, and {has}"
            self.problems.append(WrongCell(0, "", words))
        if experiment.judge is not None and entry.judge is None:
            words = f"{experiment.id} has a judge, and the roster does not say who graded (judge)"
            self.problems.append(WrongCell(0, "", words))

    def take(self, row: TableRow) -> None:
        """Add a row's trial to those of its model, or its problems to those of the table."""
        self._row = row
        before = len(self.problems)
        model = self._cell("model")
        if not model or model != model.strip() or not model.isprintable():
            self._wrong("model", "names no model, so these are the replies of nobody")
        self._check_alone(model)
        trial, at = self._trial(model), self._collected()
        missing, values = self._measured()
        if trial is None or len(self.problems) > before:
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
        self.outcomes[model].append(outcome)

    def check_notes(self) -> None:
        """Note what the roster says of models that no row is of; to be called after all rows."""
        if not self._sources:
            return  # there is no column of models, as has been said
        if unknown := sorted(self._entry.notes.keys() - self._sources.keys()):
            has = f"the table has {', '.join(map(one_line, sorted(self._sources)))}"
            words = f"notes of the roster names {', '.join(unknown)}, and {has}"
            self.problems.append(WrongCell(0, "", words))

    def _cell(self, name: str) -> str:
        """The row's cell in our words; empty in a column that is not there."""
        column = self._columns.get(name)
        return "" if column is None else self._entry.word(column, self._row.cells[column])

    def _wrong(self, name: str, problem: str) -> None:
        """Note a problem; of a column that is not there it has been said."""
        if name in self._columns:
            self.problems.append(WrongCell(self._row.line, self._columns[name], problem))

    def _one_of(self, name: str, known: Iterable[str], what: str) -> str:
        cell, names = self._cell(name), tuple(known)
        if cell not in names:
            self._wrong(name, f"{shortly(cell)} is no {what}: {', '.join(names)}")
        return cell

    def _trial(self, model: str) -> Trial | None:
        """The trial a row is of; None, and its problems, where it is of none."""
        items, levels, exemplars = self._experiment.items, [], {}
        for factor in self._experiment.factors:
            name = factor.name
            levels.append(level := self._one_of(name, factor.levels, f"level of {name}"))
            if factor.exemplars:
                members, at = factor.exemplars.get(level, ()), one_line(level)
                what = f"exemplar of {name} at {at}"
                exemplars[name] = self._one_of(f"{name}_exemplar", members, what)
        item = None if items is None else self._one_of("item", items.items, items.name)
        cell = (model, *levels, *exemplars.values(), item)
        if "replicate" in self._columns:
            self._check_first(cell, self._cell("replicate"))
        if tuple(levels) not in self._conditions:
            return None
        self._counts[cell] += 1
        value = None if items is None or item is None else items.items.get(item)
        condition = self._conditions[tuple(levels)]
        return Trial(condition, exemplars, item, value, self._counts[cell])

    def _check_alone(self, model: str) -> None:
        """Note a row whose model shares its name with another model of the source."""
        column = self._columns.get("model")
        if column is None:
            return
        word = self._row.cells[column]
        first = self._sources.setdefault(model, word)
        if first != word:
            both = f"{shortly(word)} and {shortly(first)} are both {shortly(model)}"
            self._wrong("model", f"{both} in our words, and replies of two models are not pooled")

    def _check_first(self, cell: tuple[object, ...], replicate: str) -> None:
        """Note a trial that stands in the table twice, or does not say which it is."""
        if not replicate:
            self._wrong("replicate", "is empty, and replicates are told by it")
            return
        first = self._lines.setdefault((*cell, replicate), self._row.line)
        if first != self._row.line:
            same = f"the same model, condition and replicate {shortly(replicate)}"
            self._wrong("replicate", f"repeats line {first}: {same}")

    def _collected(self) -> str | None:
        cell = self._cell("collected_at")
        try:
            if cell:
                datetime.fromisoformat(cell)
        except ValueError:
            self._wrong("collected_at", f"{shortly(cell)} is no time as 2026-02-05T13:51:23Z")
        return cell or None

    def _measured(self) -> tuple[str | None, Mapping[str, MeasureValue]]:
        """Why the trial is missing, or its measures; and their problems."""
        missing = self._cell("missing")
        if missing and not (len(missing) <= LONGEST_REASON and LABEL.fullmatch(missing)):
            form = "lower-case letters and digits, joined by '_'"
            self._wrong("missing", f"{shortly(missing)} is no label ({form})")
        values: dict[str, MeasureValue] = {}
        for measure in self._measures:
            name, cell = measure.name, self._cell(measure.name)
            if missing and cell:
                why = one_line(missing)
                self._wrong(name, f"holds {shortly(cell)}, and the trial is missing ({why})")
            elif not missing and not cell:
                self._wrong(name, "is empty, and nothing says why the trial is missing")
            elif not missing:
                try:
                    values[name] = self._value(measure, cell)
                except _Wrong as wrong:
                    self._wrong(name, f"{shortly(cell)} {wrong}")
        if not missing and len(values) == len(self._measures):
            self._derive(values)
        return missing or None, values

    def _value(self, measure: Measure, cell: str) -> MeasureValue:
        """The value of a measure in a cell; every one is of the type of the first."""
        value = _value_of(measure, self._kinds[measure.name], cell)
        kind, line = self._types.setdefault(measure.name, (type(value), self._row.line))
        if type(value) is not kind:
            problem = f"is of another type than the value on line {line}"
            raise _Wrong(problem)
        return value

    def _derive(self, values: dict[str, MeasureValue]) -> None:
        """Add what the experiment's own functions take from the measures of a row."""
        result = SimpleNamespace(**values)
        for measure in self._derived:
            try:
                values[measure.name] = measure.of(result)
            except Exception as error:  # noqa: BLE001  (the author's function: anything)
                words = "is no column, and its function cannot take it from the other measures"
                problem = f"{words} ({type(error).__name__}: {one_line(str(error))})"
                self.problems.append(WrongCell(self._row.line, measure.name, problem))


def _value_of(measure: Measure, kind: object, cell: str) -> MeasureValue:
    """The value in a cell, as ``kind`` says, or else the measure's categories and bounds."""
    if measure.categories:
        if measure.declares(cell):
            return cell
        problem = f"is no {measure.name}: {', '.join(sorted(measure.categories))}"
        raise _Wrong(problem)
    free = kind not in (int, float) and measure.bounds is None
    if free and cell.lower() in _FLAGS:
        return _FLAGS[cell.lower()]
    number = float(cell) if kind is not bool and _NUMBER.fullmatch(cell) else float("nan")
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
        problem = f"is not within {low:g} to {high:g} {measure.unit}".rstrip()
        raise _Wrong(problem)
    return number
