"""A table beside its experiment: each row is a trial, or else all that is wrong is named.

Trials are numbered within their cell in the order of the file, however many it holds: the sizes
are the source's. A column of replicates only shows that no trial stands there twice.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING

from ..experiments.design import LABEL, Design, Trial, trials_of
from ..experiments.fields import one_line, shortly
from ..experiments.measures import LONGEST_REASON, Measure, MeasureValue, kind_of
from ..experiments.records import Exchange, Outcome
from ..settings.roster import cell_text
from .reader import WrongCell

if TYPE_CHECKING:
    from ..experiments.design import Trial
    from ..experiments.experiment import Experiment
    from ..experiments.layouts import TableRow
    from ..settings.roster import TableEntry
    from .reader import RawTable

MODEL = "model"
"""Column of who answered, unless the declaration names another."""

_OPTIONAL = ("experiment", "replicate", "missing", "collected_at", "served")
_COUNTING = (MODEL, "replicate", "missing", "served")  # unread, they could change a verdict
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"^(\d+)\.0+$", re.ASCII)
_FLAGS = {"true": True, "false": False}
_NO_TIME = "is no time as 2026-02-05T13:51:23Z"
_NO_FLAG = (
    "holds true or false: it has to say a reason such as refusal, and to be empty where there is "
    "a reply (values may say which)"
)
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
        check.read(row)
    check.check_notes()
    found: defaultdict[str, list[Outcome]] = defaultdict(list)
    for cell in () if check.problems else sorted(check.cells.values(), key=lambda at: at.rank):
        found[cell.model] += cell.trials
    return found, check.problems


def missing_columns(wanted: Iterable[tuple[str, str]], table: RawTable) -> list[WrongCell]:
    """Word which columns a table lacks, of what each is to be taken from; none where it has all.

    The first also lists those that there are.
    """
    there = f"; there are {', '.join(table.columns)}"
    lacking = sorted({(column, of) for of, column in wanted if column not in table.columns})
    return [
        WrongCell(0, column, f"there is no such column ({of}){there * (number == 0)}")
        for number, (column, of) in enumerate(lacking)
    ]


def of_another(table: RawTable, entry: TableEntry, experiment: Experiment) -> list[WrongCell]:
    """Word which rows of a table say they are of another experiment."""
    column = entry.columns.get("experiment", "experiment")
    problem = f"is not {experiment.id}, whose replies these are"
    rows = table.rows if column in table.columns else ()
    named = [(row, entry.word(column, row.cells.get(column))) for row in rows]
    return [
        WrongCell(row.line, column, f"{shortly(word)} {problem}", row.file)
        for row, word in named
        if word not in ("", experiment.id)
    ]


def model_column(table: RawTable, entry: TableEntry) -> str | None:
    """The column of who answered; None where all rows are of one subject."""
    return entry.model or (MODEL if MODEL in table.columns else None)


def coverage(experiment: Experiment, outcomes: Iterable[Outcome]) -> str:
    """Word how many trials of the gate design there are, and how even its cells are.

    A cell is a condition with one exemplar of each factor and one item; controls are left out.
    """
    cells = {
        trial.cell
        for condition in experiment.conditions
        for trial in trials_of(condition, experiment.factors, experiment.items, Design(1))
    }
    counts = Counter(outcome.trial.cell for outcome in outcomes)
    sizes = [counts[cell] for cell in cells]
    planned, gate = len(cells) * experiment.replicates, experiment.replicates
    there = sum(min(size, gate) for size in sizes)
    words = f"{there:,} of the {planned:,} trials of the gate design are there"
    if min(sizes) == max(sizes):
        return f"{words}; each of its {len(cells)} cells holds {max(sizes):,}"
    return f"{words}; its {len(cells)} cells hold {min(sizes):,} to {max(sizes):,}"


@dataclass(slots=True)
class _Cell:
    """A model's trials at one condition, exemplars and item, of which ``first`` is the first.

    ``rank`` is its place in the plan, and ``problems`` say by column why it has none.
    """

    model: str
    first: Trial | None
    rank: int
    problems: list[tuple[str, str]]
    trials: list[Outcome] = field(default_factory=list)


class _Check:
    """Takes the rows of a table for trials, one after the other; columns go by our names."""

    def __init__(
        self, table: RawTable, entry: TableEntry, experiment: Experiment, name: str
    ) -> None:
        self.problems = list(table.problems)
        self.cells: dict[tuple[str, ...], _Cell] = {}
        self._entry, self._experiment, self._table = entry, experiment, table
        self._name = name
        self._sources: dict[str, str] = {}
        self._first: dict[tuple[object, ...], TableRow] = {}
        self._types: dict[str, tuple[type, TableRow]] = {}
        declared = {*entry.columns, *table.columns}
        read = [m for m in experiment.measures if m.name in declared or not m.optional]
        self._derived = [m for m in read if m.take and m.name not in declared]
        self._measures = [m for m in read if m not in self._derived]
        self._kinds = {
            m.name: int if m.integer else kind_of(m, experiment.protocol) for m in self._measures
        }
        self._placed = [factor.name for factor in experiment.factors]
        self._placed += [f"{each.name}_exemplar" for each in experiment.factors if each.exemplars]
        self._placed += ["item"] if experiment.items is not None else []
        self._planned = {
            _labels(trial): (rank, trial)
            for rank, trial in enumerate(
                trial
                for condition in (*experiment.conditions, *experiment.control_conditions)
                for trial in trials_of(
                    condition, experiment.factors, experiment.items, Design(1, controls=1)
                )
            )
        }
        needed = [*self._placed, *(measure.name for measure in self._measures)]
        wanted = {name: entry.columns.get(name, name) for name in needed}
        # Of these, what is not named counts where it is there.
        may = {name: entry.columns.get(name, name) for name in _OPTIONAL}
        wanted |= {n: c for n, c in may.items() if n in entry.columns or c in table.columns}
        if (column := model_column(table, entry)) is not None:
            wanted[MODEL] = column
        self._columns = {n: column for n, column in wanted.items() if column in table.columns}
        self._translations = {
            name: entry.values[column]
            for name, column in self._columns.items()
            if column in entry.values
        }
        self._check_declaration(wanted, {*needed, *_OPTIONAL})

    def _check_declaration(self, wanted: Mapping[str, str], ours: set[str]) -> None:
        """Note what is wrong with the columns, and with what is declared of them."""
        entry, experiment, table = self._entry, self._experiment, self._table
        translated = [("values", column) for column in entry.values]
        self.problems += missing_columns((*wanted.items(), *translated), table)
        measures = {measure.name for measure in experiment.measures}
        unread = {*table.columns} - {*self._columns.values()}
        self.problems += [
            WrongCell(0, column, f"is not read; call it {name} if it is that, or else otherwise")
            for column in sorted(unread)
            if (name := column.strip().casefold()) in {*_COUNTING, *measures} - {*self._columns}
        ]
        if unknown := sorted(entry.columns.keys() - (ours | measures)):
            has = f"{experiment.id} has {', '.join(sorted(ours | measures))}"
            self._wrong_file(f"'columns' names {', '.join(unknown)}, and {has}")
        if entry.collected_at and not _is_time(entry.collected_at):
            self._wrong_file(f"collected_at: {shortly(entry.collected_at)} {_NO_TIME}")
        if entry.missing and not _is_reason(entry.missing):
            self._wrong_file(f"missing: {shortly(entry.missing)} {_NO_REASON}")
        if experiment.judge is not None and entry.judge is None:
            self._wrong_file(
                f"{experiment.id} has a judge, and nothing says who graded: name it as judge in "
                "the table's declaration in the roster, or with judge= (--judge) if it has none"
            )

    def check_notes(self) -> None:
        """Note what is declared of models that no row is of."""
        unknown = sorted(self._entry.notes.keys() - self._sources.keys())
        if unknown and self._sources:  # else there is no column of models, which is noted
            has = f"the table has {', '.join(map(one_line, sorted(self._sources)))}"
            self._wrong_file(f"'notes' names {', '.join(unknown)}, and {has}")

    def read(self, row: TableRow) -> None:
        """Take a row for the next trial of its cell, or note all that is wrong with it."""
        named = MODEL in self._columns or self._entry.model is not None
        source = cell_text(self._raw(row, MODEL)) if named else self._name
        labels = tuple(self._word(row, name) for name in self._placed)
        key = (source, *labels)
        if key not in self.cells:
            self.cells[key] = self._cell(source, labels)
        cell = self.cells[key]
        for name, problem in cell.problems:
            self._wrong(row, name, problem)
        if "replicate" in self._columns:
            self._check_replicate(row, key)
        at, served = self._word(row, "collected_at"), self._word(row, "served")
        if at and not _is_time(at):
            self._wrong(row, "collected_at", f"{shortly(at)} {_NO_TIME}")
        missing, values = self._measured(row)
        if self.problems or cell.first is None:
            return
        time, by = at or self._entry.collected_at, served or self._entry.served or ""
        cell.trials.append(
            Outcome(
                trial=replace(cell.first, replicate=len(cell.trials) + 1),
                result=None,
                missing=missing or None,
                invalid=(),
                interactions=0,
                prompts=(),
                values=values,
                exchanges=(Exchange(to="subject", served_model=by, recorded_at=time or None),),
                published=True,
            )
        )

    def _raw(self, row: TableRow, name: str) -> object:
        """A cell as it stands; None where there is none."""
        return row.cells.get(self._columns[name]) if name in self._columns else None

    def _word(self, row: TableRow, name: str) -> str:
        """A cell as text, in our words."""
        text = cell_text(self._raw(row, name))
        return self._translations[name].get(text, text) if name in self._translations else text

    def _wrong(self, row: TableRow, name: str, problem: str) -> None:
        """Note a problem of a row; that a column is not there has been noted already."""
        if name in self._columns:
            self.problems.append(WrongCell(row.line, self._columns[name], problem, row.file))

    def _wrong_file(self, problem: str) -> None:
        self.problems.append(WrongCell(0, "", problem))

    def _cell(self, source: str, labels: tuple[str, ...]) -> _Cell:
        """The cell of the plan that rows with these labels belong to, or what is wrong with them.

        A model goes by the name we give it, and that of no other model of the source.
        """
        model = self._translations.get(MODEL, {}).get(source, source)
        problems: list[tuple[str, str]] = []
        if not model or model != model.strip() or not model.isprintable():
            problems.append((MODEL, "names no model, so these are the replies of nobody"))
        elif (first := self._sources.setdefault(model, source)) != source:
            both = f"{shortly(source)} and {shortly(first)} are both {shortly(model)}"
            problem = f"{both} in our words, and replies of two models are not pooled"
            problems.append((MODEL, problem))
        rank, trial = self._planned.get(labels, (0, None))
        return _Cell(model, trial, rank, problems if trial else problems + self._unplaced(labels))

    def _unplaced(self, labels: tuple[str, ...]) -> list[tuple[str, str]]:
        """Say by column which labels of a row the plan does not have, or not together."""
        words, items = dict(zip(self._placed, labels, strict=True)), self._experiment.items
        known: list[tuple[str, Sequence[str], str]] = []
        controls = []
        for factor in self._experiment.factors:
            level = words[factor.name]
            levels = (*factor.levels, *factor.controls)
            known.append((factor.name, levels, f"level of {factor.name}"))
            if factor.exemplars:
                what = f"exemplar of {factor.name} at {one_line(level)}"
                known.append((f"{factor.name}_exemplar", factor.exemplars.get(level, ()), what))
            if level in factor.controls:
                alone = "is for positive controls, and asked with the first of all else alone"
                controls.append((factor.name, f"{level!r} {alone}"))
        if items is not None:
            known.append(("item", (*items.items, *items.controls), items.name))
        return [
            (name, f"{shortly(words[name])} is no {what}: {', '.join(labels)}")
            for name, labels, what in known
            if words[name] not in labels
        ] or controls[:1]

    def _check_replicate(self, row: TableRow, key: tuple[str, ...]) -> None:
        """Note a trial that stands in the table twice, or does not say which it is."""
        replicate = _WHOLE.sub(r"\1", self._word(row, "replicate"))
        first = self._first.setdefault((key, replicate), row)
        if not replicate:
            self._wrong(row, "replicate", "is empty, and replicates are told by it")
        elif first is not row:
            place = self._table.place(first._replace(file="") if first.file == row.file else first)
            same = f"the same model, condition and replicate {shortly(replicate)}"
            self._wrong(row, "replicate", f"repeats {place}: {same}")

    def _measured(self, row: TableRow) -> tuple[str, Mapping[str, MeasureValue]]:
        """Why a trial is missing (empty: it is not), or its measures; problems are noted."""
        missing = self._word(row, "missing")
        if missing.lower() in _FLAGS:
            self._wrong(row, "missing", _NO_FLAG)
            return missing, {}
        cells = {measure.name: self._measure_cell(row, measure) for measure in self._measures}
        if all(map(_is_empty, cells.values())):
            missing = missing or self._entry.missing or ""
        if missing and not _is_reason(missing):
            self._wrong(row, "missing", f"{shortly(missing)} {_NO_REASON}")
        values: dict[str, MeasureValue] = {}
        for measure in self._measures:
            name, cell = measure.name, cells[measure.name]
            if missing and not _is_empty(cell):
                because = f"and the trial is missing ({one_line(missing)})"
                self._wrong(row, name, f"holds {shortly(cell)}, {because}")
            elif not missing:
                value, problem = self._value(measure, cell)
                kind, first = self._types.get(name, (type(value), row))
                if not problem and type(value) is not kind:
                    place = self._table.place(first)
                    problem = f"{shortly(cell)} is of another type than the value on {place}"
                if problem:
                    self._wrong(row, name, problem)
                else:
                    self._types[name], values[name] = (kind, first), value
        if len(values) == len(self._measures) and not missing:
            self._derive(row, values)
        return missing, MappingProxyType(values)

    def _measure_cell(self, row: TableRow, measure: Measure) -> object:
        """A measure's cell, in our words where it is translated: as JSON has them if typed."""
        cell, words = self._raw(row, measure.name), self._translations.get(measure.name, {})
        text = cell_text(cell) if words else ""
        if text not in words:
            return cell
        word = words[text]
        if not self._table.typed:
            return word
        return float(word) if _NUMBER.fullmatch(word) else _FLAGS.get(word, word)

    def _value(self, measure: Measure, cell: object) -> tuple[MeasureValue, str]:
        """The value in a cell, by what the protocol says, or else the measure's bounds.

        With it what is wrong; empty where nothing is.
        """
        kind, problem = self._kinds[measure.name], ""
        free = kind not in (int, float) and measure.bounds is None
        flag = _FLAGS.get(cell.lower()) if isinstance(cell, str) else cell
        if _is_empty(cell):
            return "", "is empty, and nothing says why the trial is missing"
        if measure.categories:
            value: MeasureValue = (word := cell_text(cell))
            if not measure.declares(word):
                problem = f"is no {measure.name}: {', '.join(measure.listed)}"
        elif self._table.typed and isinstance(cell, str):
            value, problem = cell, "is text, where a number, true or false is needed"
        elif free and isinstance(flag, bool):
            value = flag
        else:
            value = float("nan") if kind is bool else _number(cell)
            problem = self._problem_of(value, measure, free=free)
        return value, problem and f"{shortly(cell)} {problem}"

    def _problem_of(self, number: float, measure: Measure, *, free: bool) -> str:
        """What is wrong with a number; a measure that is ``free`` may be true or false, too."""
        kind = self._kinds[measure.name]
        if not abs(number) < float("inf") or (kind is int and not number.is_integer()):
            either = "true nor false" if kind is bool else "a number nor true or false"
            return f"is neither {either}" if free else f"is no {'whole ' * (kind is int)}number"
        low, high = measure.bounds or (number, number)
        unit = f" {measure.unit}" if measure.unit else ""
        return (
            ""
            if low <= number <= high
            else (
                f"is not within {low:g} to {high:g}{unit}; if it stands for a reply that could "
                "not be read, leave the cell empty and say why (missing)"
            )
        )

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


def _labels(trial: Trial) -> tuple[str, ...]:
    """The labels of a trial's levels, exemplars and item, in the order of their columns."""
    item = () if trial.item is None else (trial.item,)
    return (*trial.condition.levels.values(), *trial.exemplars.values(), *item)


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_reason(text: str) -> bool:
    return len(text) <= LONGEST_REASON and LABEL.fullmatch(text) is not None


def _is_empty(cell: object) -> bool:
    return cell is None or (isinstance(cell, str) and not cell)  # of arrays == has no truth


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
