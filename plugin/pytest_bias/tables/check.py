"""A table compared with its experiment: each row is a trial, or else all problems are named.

Trials are numbered within their cell in the order of the file, however many it holds: the sizes
are the source's. A column of replicates only shows that no trial stands there twice.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING

from ..experiments.design import Design, trials_of
from ..experiments.fields import one_line, shortened
from ..experiments.measures import MeasureValue
from ..experiments.records import Exchange, Outcome
from ..settings.table_entry import REPLY, cell_text
from .account import unnamed
from .reader import WrongCell
from .replies import read_reply
from .rules import RULES, label_rules, measure_rule
from .shape import MODEL, missing_columns, model_column

if TYPE_CHECKING:
    from ..experiments.design import Trial
    from ..experiments.experiment import Experiment, ModelRoles
    from ..experiments.layouts import TableRow
    from ..settings.table_entry import TableEntry
    from .reader import RawTable
    from .rules import Rule

_OPTIONAL = ("experiment", "replicate", "missing", "collected_at", "served")
_COUNTING = (MODEL, "replicate", "missing", "served")  # unread, they could change a verdict


class TableCheck:
    """The rows of a table taken for trials of its experiment; columns go by our names.

    ``name`` is what a model is called that no column names, ``roles_of`` says how replies of a
    model are read. All ``problems`` are noted, and with any of them nothing else counts.
    ``unread`` are the columns that have no part in the trials, ``labels`` those that tell cells.
    """

    def __init__(
        self,
        table: RawTable,
        entry: TableEntry,
        experiment: Experiment,
        name: str,
        roles_of: Callable[[str], ModelRoles],
    ) -> None:
        self.problems = list(table.problems)
        self.unread: Sequence[str] = ()
        self.labels: Sequence[str] = ()
        self._found: defaultdict[str, list[tuple[int, Outcome]]] = defaultdict(list)
        self._table, self._entry, self._name = table, entry, name
        self._experiment, self._roles_of = experiment, cache(roles_of)
        if table.columns:
            self._read_all(table, entry, experiment)

    @property
    def trials(self) -> Mapping[str, Sequence[Outcome]]:
        """The trials of each model in the plan's order, within a cell in that of the file."""
        ranked = {m: sorted(of, key=lambda each: each[0]) for m, of in self._found.items()}
        return {model: [outcome for _, outcome in trials] for model, trials in ranked.items()}

    def _read_all(self, table: RawTable, entry: TableEntry, experiment: Experiment) -> None:
        self._sources: dict[str, str] = {}
        self._rows: dict[tuple[object, ...], TableRow] = {}
        self._counts: Counter[tuple[str, ...]] = Counter()
        declared = {*entry.columns, *table.columns}
        reads = entry.reply_column is not None
        every = () if reads else experiment.measures  # of a reply the experiment takes them
        measures = [m for m in every if m.name in declared or not m.optional]
        self._derived = [m for m in measures if m.take and m.name not in declared]
        given = [m for m in measures if m not in self._derived]
        self._measures = [m.name for m in given]
        conditions = (*experiment.conditions, *experiment.control_conditions)
        factors, items, design = experiment.factors, experiment.items, Design(1, controls=1)
        trials = (
            trial for each in conditions for trial in trials_of(each, factors, items, design)
        )
        self._planned = {_labels(trial): (rank, trial) for rank, trial in enumerate(trials)}
        labels = label_rules(experiment)
        self._labels = tuple(labels)
        strict = table.typed
        of_measures = {m.name: measure_rule(m, experiment, strict=strict) for m in given}
        self._rules: dict[str, Rule] = {**RULES, **labels, **of_measures}
        wanted = {ours: entry.columns.get(ours, ours) for ours in (*labels, *self._measures)}
        if entry.reply_column is not None:
            wanted[REPLY] = entry.reply_column
        # Of these, what is not named counts where it is there.
        optional = (*_OPTIONAL, *["finish"] * reads)
        may = {ours: entry.columns.get(ours, ours) for ours in optional}
        wanted |= {n: c for n, c in may.items() if n in entry.columns or c in table.columns}
        if (column := model_column(table, entry)) is not None:
            wanted[MODEL] = column
        self._columns = {n: column for n, column in wanted.items() if column in table.columns}
        self.labels = [self._columns[n] for n in (*labels, MODEL) if n in self._columns]
        self._check_declaration(wanted, {*labels, *optional, *(m.name for m in every)})
        for row in table.rows:
            self._read(row)
        unknown = sorted(entry.notes.keys() - self._sources.keys())
        if unknown and self._sources:  # else there is no column of models, which is noted
            has = f"the table has {', '.join(map(one_line, sorted(self._sources)))}"
            self._wrong_file(f"'notes' names {', '.join(unknown)}, and {has}")
        counting = {*_COUNTING, *(m.name for m in experiment.measures)} - self._columns.keys()
        self.problems += unnamed(table, entry, self.unread, self._columns.get(MODEL), counting)

    def _check_declaration(self, wanted: Mapping[str, str], ours: set[str]) -> None:
        """Note what is wrong with the columns, and with what is declared of them."""
        entry, table, experiment = self._entry, self._table, self._experiment
        translated = [("values", column) for column in entry.values]
        self.problems += missing_columns((*wanted.items(), *translated), table)
        used = {*self._columns.values(), *entry.parts, *([entry.join.on] if entry.join else [])}
        self.unread = [column for column in table.columns if column and column not in used]
        if unknown := sorted(entry.columns.keys() - ours):
            has = f"{experiment.id} has {', '.join(sorted(ours))}"
            self._wrong_file(f"'columns' names {', '.join(unknown)}, and {has}")
        for name in ("collected_at", "missing"):
            try:
                RULES[name](getattr(entry, name) or "")
            except ValueError as error:
                self._wrong_file(f"{name}: {shortened(getattr(entry, name))} {error}")
        judged = f"{experiment.id} has a judge, and"
        if experiment.judge is not None and REPLY in wanted:
            self._wrong_file(
                f"{judged} a column of replies has no grades: give a column for each measure, and "
                "no reply"
            )
        elif experiment.judge is not None and entry.judge is None:
            self._wrong_file(
                f"{judged} nothing says who graded: name it as judge in the table's declaration "
                "in the roster, or with judge= (--judge) if it has none"
            )

    def _read(self, row: TableRow) -> None:
        """Take a row for the next trial of its cell, or note all that is wrong with it."""
        read = [self._value(row, name) for name in self._labels]
        labels = tuple(map(str, read))
        if "" not in read and None not in read and labels not in self._planned:
            self._check_together(row, dict(zip(self._labels, labels, strict=True)))
        model = self._model(row)
        self._check_repeated(row, (model, *labels))
        missing, values = self._measured(row)
        time = self._value(row, "collected_at") or self._entry.collected_at
        served = self._value(row, "served") or self._entry.served or ""
        finish = self._value(row, "finish") or "stop"
        if self.problems:
            return
        rank, first = self._planned[labels]
        self._counts[model, *labels] += 1
        said = Exchange(
            to="subject",
            served_model=str(served),
            recorded_at=str(time) if time else None,
            finish=str(finish),
        )
        outcome = Outcome(
            replace(first, replicate=self._counts[model, *labels]),
            result=None,
            missing=missing or None,
            invalid=(),
            interactions=0,
            prompts=(),
            values=values,
            exchanges=(said,),
            published=True,
        )
        if REPLY in self._columns and not missing:
            text = str(self._value(row, REPLY))
            try:
                outcome = read_reply(self._experiment, self._roles_of(model), outcome, text)
            except ValueError as error:
                self._wrong(row, REPLY, str(error))
        self._found[model].append((rank, outcome))

    def _check_together(self, row: TableRow, labels: Mapping[str, str]) -> None:
        """Note which labels of a row do not go together in the design."""
        for factor in (each for each in self._experiment.factors if each.exemplars):
            column, level = f"{factor.name}_exemplar", labels[factor.name]
            if (exemplar := labels[column]) not in (known := factor.exemplars.get(level, ())):
                what = f"is no exemplar of {factor.name} at {one_line(level)}"
                self._wrong(row, column, f"{shortened(exemplar)} {what}: {', '.join(known)}")
                return
        words = "is no trial: a control level is met with the first of all else alone"
        problem = f"{'/'.join(labels.values())} {words}"
        self.problems.append(WrongCell(row.line, "", problem, row.file))

    def _cell(self, row: TableRow, name: str) -> object:
        """Return a cell in our words, typed as the table is; of no column it is empty."""
        if (column := self._columns.get(name)) is None:
            return ""
        cell, words = row.cells.get(column), self._entry.values.get(column)
        if not words or (text := cell_text(cell)) not in words:
            return cell
        with suppress(ValueError):
            return json.loads(words[text]) if self._table.typed else words[text]
        return words[text]

    def _value(self, row: TableRow, name: str, cell: object = None) -> MeasureValue | None:
        """Return what a cell holds; None where that is wrong, which is noted."""
        if name not in self._columns:
            return ""
        cell = self._cell(row, name) if cell is None else cell
        try:
            return self._rules[name](cell)
        except ValueError as error:
            text = cell_text(cell) if cell is None or name in self._labels else cell
            self._wrong(row, name, f"{shortened(text)} {error}")
        return None

    def _wrong(self, row: TableRow, name: str, problem: str) -> None:
        column = self._columns.get(name, name)
        self.problems.append(WrongCell(row.line, column, problem, row.file))

    def _wrong_file(self, problem: str) -> None:
        self.problems.append(WrongCell(0, "", problem))

    def _model(self, row: TableRow) -> str:
        """Return the name we give to the model of a row, and to no other of the source."""
        if MODEL not in self._columns:
            return self._sources.setdefault(self._name, self._name)
        model, source = self._value(row, MODEL), cell_text(row.cells.get(self._columns[MODEL]))
        if model is not None and (first := self._sources.setdefault(str(model), source)) != source:
            both = f"{shortened(source)} and {shortened(first)} are both {shortened(model)}"
            problem = f"{both} in our words, and replies of two models are not pooled"
            self._wrong(row, MODEL, problem)
        return str(model)

    def _check_repeated(self, row: TableRow, key: tuple[object, ...]) -> None:
        """Note a trial that stands in the table twice, or does not state which it is."""
        if "replicate" not in self._columns:
            return
        replicate = str(self._value(row, "replicate")).removesuffix(".0")
        first = self._rows.setdefault((*key, replicate), row)
        if not replicate:
            self._wrong(row, "replicate", "is empty, so that replicates cannot be told apart")
        elif first is not row:
            location = self._table.location([first.line], file=first.file)
            same = f"the same model, condition and replicate {shortened(replicate)}"
            self._wrong(row, "replicate", f"repeats {location}: {same}")

    def _measured(self, row: TableRow) -> tuple[str, Mapping[str, MeasureValue]]:
        """Return why a trial is missing (empty: it is not), or its measures; note problems."""
        missing = self._value(row, "missing")
        cells = {n: self._cell(row, n) for n in (*self._measures, REPLY) if n in self._columns}
        full = {name: cell for name, cell in cells.items() if cell not in (None, "")}
        reason = str(missing or ("" if full else self._entry.missing or ""))
        if reason:
            for name, cell in full.items():
                problem = f"holds {shortened(cell)}, and the trial is missing ({one_line(reason)})"
                self._wrong(row, name, problem)
        if missing is None or reason:
            return reason, {}
        values = {n: self._value(row, n, cell) for n, cell in full.items() if n != REPLY}
        for name in self._measures:
            if name in self._columns and name not in full:
                self._wrong(row, name, "is empty, and nothing says why the trial is missing")
        found = {name: value for name, value in values.items() if value is not None}
        if len(found) == len(self._measures):
            self._derive(row, found)
        return "", MappingProxyType(found)

    def _derive(self, row: TableRow, values: dict[str, MeasureValue]) -> None:
        """Add what the experiment's own functions take from the measures of a row."""
        result = SimpleNamespace(**values)
        for measure in self._derived:
            try:
                values[measure.name] = measure.of(result)
            except Exception as error:  # noqa: BLE001  (the author's function: anything)
                words = "is no column, and its function cannot take it from the other measures"
                because = f"({type(error).__name__}: {one_line(str(error))})"
                self._wrong(row, measure.name, f"{words} {because}")


def _labels(trial: Trial) -> tuple[str, ...]:
    """Return the labels of a trial's levels, exemplars and item, in the order of the rules."""
    item = () if trial.item is None else (trial.item,)
    return (*trial.condition.levels.values(), *trial.exemplars.values(), *item)
