"""A table beside its experiment: each row is a trial, or else all that is wrong is named.

Trials are numbered within their cell in the order of the file, however many it holds: the sizes
are the source's. A column of replicates only shows that no trial stands there twice.
"""

from __future__ import annotations

import operator
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import compress
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any

from ..experiments.design import LABEL, Condition, Design, Trial, trials_of
from ..experiments.fields import one_line, shortly
from ..experiments.measures import LONGEST_REASON, Measure, MeasureValue, kind_of
from ..experiments.records import Origin, Outcome
from ..settings.published import cell_text
from .reader import WrongCell

if TYPE_CHECKING:
    from ..experiments.experiment import Experiment
    from ..experiments.messages import Player
    from ..settings.published import TableEntry
    from .reader import RawTable

MODEL = "model"
"""Column of who answered, unless the declaration names another."""

_OPTIONAL = ("experiment", "replicate", "missing", "collected_at", "served")
_COUNTING = (MODEL, "replicate", "missing", "served")  # unread, they could change a verdict
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"^(\d+)\.0+$", re.ASCII)
_IN_NO_NUMBER = re.compile(r"[^0-9+\-.eE]")
_NOBODY_KNOWS: Mapping[Player, int] = MappingProxyType({})
_FLAGS = {"true": True, "false": False}
_NAMED = 3
_LISTED = 40
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
    return check.outcomes(), check.problems


def no_columns(wanted: Iterable[tuple[str, str]], table: RawTable) -> list[WrongCell]:
    """Word which columns a table lacks, of what each is to be taken from; none where it has all.

    What there is is told once.
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
    told = [(row, entry.word(column, row.cells.get(column))) for row in rows]
    return [
        WrongCell(row.line, column, f"{shortly(said)} {problem}", row.file)
        for row, said in told
        if said not in ("", experiment.id)
    ]


def model_column(table: RawTable, entry: TableEntry) -> str | None:
    """The column of who answered; None where all rows are of one subject."""
    return entry.model or (MODEL if MODEL in table.columns else None)


def coverage(experiment: Experiment, outcomes: Iterable[Outcome]) -> str:
    """Word how many trials of the gate design there are, and how even its cells are.

    A cell is a condition with one exemplar of each factor and one item; controls are left out.
    """
    one = Design(1)
    cells = {
        trial.cell: trial.id.rpartition("#")[0]
        for condition in experiment.conditions
        for trial in trials_of(condition, experiment.factors, experiment.items, one)
        if experiment.items is None or trial.item in experiment.items.items
    }
    found = Counter(outcome.trial.cell for outcome in outcomes)
    sizes = [found[cell] for cell in cells]
    planned, gate = len(cells) * experiment.replicates, experiment.replicates
    there = sum(min(size, gate) for size in sizes)
    words = f"{there:,} of the {planned:,} trials of the gate design are there"
    if min(sizes) == max(sizes):
        return f"{words}; each of its {len(cells)} cells holds {max(sizes):,}"
    words += f"; its {len(cells)} cells are unequal and hold {min(sizes):,} to {max(sizes):,}"
    if empty := [name for cell, name in cells.items() if not found[cell]]:
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
    """The rows of a table, one column after the other; columns go by what we call them."""

    def __init__(
        self, table: RawTable, entry: TableEntry, experiment: Experiment, name: str
    ) -> None:
        self.problems = list(table.problems)
        self._entry, self._experiment, self._table = entry, experiment, table
        self._name = name
        every = (*experiment.conditions, *experiment.control_conditions)
        self._conditions = {tuple(c.levels.values()): (n, c) for n, c in enumerate(every)}
        self._sources: dict[str, str] = {}
        self._found: list[tuple[int, WrongCell]] = []
        given = {*entry.columns, *table.columns}
        asked = [m for m in experiment.measures if m.name in given or not m.optional]
        self._derived = [m for m in asked if m.take and m.name not in given]
        self._measures = [m for m in asked if m not in self._derived]
        self._kinds = {
            m.name: int if m.integer else kind_of(m, experiment.protocol) for m in self._measures
        }
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
        names = dict.fromkeys(self._columns.values())
        self._raw = {name: [row.cells.get(name) for row in table.rows] for name in names}
        translated = [("values", column) for column in entry.values]
        self.problems += no_columns((*wanted.items(), *translated), table)
        ours = {*needed, *_OPTIONAL, *(measure.name for measure in experiment.measures)}
        counting = {*_COUNTING, *(measure.name for measure in experiment.measures)}
        spelt = {each: each.strip().casefold() for each in {*table.columns} - {*self._raw}}
        self.problems += [
            WrongCell(0, column, f"is not read; call it {name} if it is that, or else otherwise")
            for column, name in sorted(spelt.items())
            if name in counting - {*self._columns}
        ]
        if unknown := sorted(entry.columns.keys() - ours):
            has = f"{experiment.id} has {', '.join(sorted(ours))}"
            words = f"'columns' names {', '.join(unknown)}, and {has}"
            self.problems.append(WrongCell(0, "", words))
        if entry.collected_at and not _is_time(entry.collected_at):
            words = f"collected_at: {shortly(entry.collected_at)} {_NO_TIME}"
            self.problems.append(WrongCell(0, "", words))
        if entry.missing and not _is_reason(entry.missing):
            words = f"missing: {shortly(entry.missing)} {_NO_REASON}"
            self.problems.append(WrongCell(0, "", words))
        if experiment.judge is not None and entry.judge is None:
            words = (
                f"{experiment.id} has a judge, and nothing says who graded: name it as judge in "
                "the table's declaration in the roster, or with judge= (--judge) if it has none"
            )
            self.problems.append(WrongCell(0, "", words))

    def outcomes(self) -> Mapping[str, list[Outcome]]:
        """The trials of each model; none where there is a problem, which is then among those."""
        sources = self._texts(MODEL)
        if MODEL not in self._columns and self._entry.model is None:
            sources = [self._name] * len(sources)
        keys = [*zip(sources, *map(self._words, self._placed), strict=True)]
        cells = {key: self._placed_at(key) for key in dict.fromkeys(keys)}
        for place, key in enumerate(keys):
            if isinstance(cell := cells[key], list):
                for name, problem in cell:
                    self._wrong(place, name, problem)
        self._check_first(keys)
        origins = self._origins()
        missing, values = self._measured()
        # Columns were read one after the other, and problems are told row by row.
        self.problems += [problem for _, problem in sorted(self._found, key=lambda at: at[0])]
        self._check_notes()
        found: defaultdict[str, list[Outcome]] = defaultdict(list)
        if self.problems:
            return found
        for key, origin, why, measured in zip(keys, origins, missing, values, strict=True):
            cell = cells[key]
            assert isinstance(cell, _Cell)  # noqa: S101  (else there is a problem)
            number = len(cell.trials) + 1
            cell.trials.append(
                Outcome(
                    trial=Trial(cell.condition, cell.exemplars, cell.item, cell.value, number),
                    result=None,
                    missing=why or None,
                    invalid=(),
                    interactions=0,
                    prompts=(),
                    values=measured,
                    origins=origin,
                    published=True,
                    attempts=_NOBODY_KNOWS,
                )
            )
        placed = [cell for cell in cells.values() if isinstance(cell, _Cell)]
        for cell in sorted(placed, key=lambda cell: cell.rank):
            found[cell.model] += cell.trials
        return found

    def _check_notes(self) -> None:
        """Note what the roster says of models that no row is of."""
        if not self._sources:
            return  # there is no column of models, as has been said
        if unknown := sorted(self._entry.notes.keys() - self._sources.keys()):
            has = f"the table has {', '.join(map(one_line, sorted(self._sources)))}"
            words = f"'notes' names {', '.join(unknown)}, and {has}"
            self.problems.append(WrongCell(0, "", words))

    def _told(self, name: str) -> Sequence[object]:
        """The cells of a column; empty ones where it is not there."""
        return self._raw.get(self._columns.get(name, ""), (None,) * len(self._table.rows))

    def _texts(self, name: str) -> list[str]:
        return [cell if type(cell) is str else cell_text(cell) for cell in self._told(name)]

    def _words(self, name: str) -> list[str]:
        """The cells of a column in our words."""
        words = self._entry.values.get(self._columns.get(name, ""))
        texts = self._texts(name)
        return [words.get(text, text) for text in texts] if words else texts

    def _wrong(self, place: int, name: str, problem: str) -> None:
        """Note a problem of a row; of a column that is not there it has been said."""
        if name in self._columns:
            row, column = self._table.rows[place], self._columns[name]
            self._found.append((place, WrongCell(row.line, column, problem, row.file)))

    def _placed_at(self, key: tuple[str, ...]) -> _Cell | list[tuple[str, str]]:
        """The cell that rows of these words belong to, or else what is wrong with the words."""
        source, *words = key
        model, problems = self._model(source)

        def one_of(name: str, known: Sequence[str], what: str) -> tuple[str, int]:
            word = words[self._placed.index(name)]
            if word in known:
                return word, known.index(word)
            problems.append((name, f"{shortly(word)} is no {what}: {_listed(known)}"))
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

    def _check_first(self, keys: Sequence[tuple[str, ...]]) -> None:
        """Note trials that stand in the table twice, or do not say which they are."""
        if "replicate" not in self._columns:
            return
        rows, lines = self._table.rows, dict[tuple[object, ...], int]()
        numbers = [_WHOLE.sub(r"\1", word) for word in self._words("replicate")]
        told = [*zip(keys, numbers, strict=True)]
        alright = len({*told}) == len(told) and all(replicate for _, replicate in told)
        for place, (key, replicate) in enumerate(() if alright else told):
            if not replicate:
                self._wrong(place, "replicate", "is empty, and replicates are told by it")
            elif (at := lines.setdefault((key, replicate), place)) != place:
                first = rows[at]
                same_file = first.file == rows[place].file
                where = self._table.place(first._replace(file="") if same_file else first)
                same = f"the same model, condition and replicate {shortly(replicate)}"
                self._wrong(place, "replicate", f"repeats {where}: {same}")

    def _origins(self) -> list[tuple[Origin, ...]]:
        """When each row was collected and which model the source says answered."""
        entry = self._entry
        told = [*zip(self._words("collected_at"), self._words("served"), strict=True)]
        known: dict[tuple[str, str], tuple[Origin, ...]] = {}
        wrongly: dict[tuple[str, str], str] = {}
        for said in dict.fromkeys(told):
            at, served = said[0] or entry.collected_at or "", said[1] or entry.served or ""
            known[said] = (Origin("subject", served, at or None),)
            if at and not _is_time(at):
                wrongly[said] = f"{shortly(at)} {_NO_TIME}"
        for place, said in enumerate(told if wrongly else ()):
            if said in wrongly:
                self._wrong(place, "collected_at", wrongly[said])
        return [known[said] for said in told]

    def _measured(self) -> tuple[list[str], list[Mapping[str, MeasureValue]]]:
        """Why each trial is missing (empty: it is not), its measures; and their problems."""
        cells = [self._measure_cells(measure) for measure in self._measures]
        missing = self._words("missing")
        if {*map(str.lower, {*missing})} & {*_FLAGS}:
            self.problems.append(WrongCell(0, self._columns["missing"], _NO_FLAG))
            return missing, []
        if stated := self._entry.missing:
            rows = zip(missing, *cells, strict=True)
            missing = [why or (stated if all(map(_empty, row)) else "") for why, *row in rows]
        wrongly = {why for why in set(missing) if why and not _is_reason(why)}
        for place, why in enumerate(missing if wrongly else ()):
            if why in wrongly:
                self._wrong(place, "missing", f"{shortly(why)} {_NO_REASON}")
        columns = [
            self._plain(measure, column, missing) or self._values(measure, column, missing)
            for measure, column in zip(self._measures, cells, strict=True)
        ]
        names = [measure.name for measure in self._measures]
        values: list[Mapping[str, MeasureValue]] = []
        for place, (why, *row) in enumerate(zip(missing, *columns, strict=True)):
            found = {} if why else dict(zip(names, row, strict=True))
            if self._derived and not why and None not in row:
                self._derive(place, found)
            values.append(MappingProxyType(found))
        return missing, values

    def _measure_cells(self, measure: Measure) -> Sequence[object]:
        """A measure's cells, in our words where they are translated."""
        told = self._told(measure.name)
        words = self._entry.values.get(self._columns.get(measure.name, ""))
        if not words:
            return told
        ours = {text: _typed(word) if self._table.typed else word for text, word in words.items()}
        return [ours.get(cell_text(cell), cell) for cell in told]

    def _values(
        self, measure: Measure, cells: Sequence[object], missing: Sequence[str]
    ) -> list[Any]:
        """The values in a column, None where there is none; all are of the type of the first."""
        known: dict[str, MeasureValue] = {}
        first: tuple[type, int] | None = None
        values: list[MeasureValue | None] = []
        for place, (cell, why) in enumerate(zip(cells, missing, strict=True)):
            value = problem = None
            if _empty(cell):
                if not why:
                    problem = "is empty, and nothing says why the trial is missing"
            elif why:
                because = one_line(why)
                problem = f"holds {shortly(cell)}, and the trial is missing ({because})"
            else:
                text = cell if isinstance(cell, str) else None
                value = None if text is None else known.get(text)
                try:
                    if value is None:
                        value = self._value(measure, cell)
                        if text is not None:
                            known[text] = value
                    first = first or (type(value), place)
                    if type(value) is not first[0]:
                        value, at = None, self._table.place(self._table.rows[first[1]])
                        problem = f"{shortly(cell)} is of another type than the value on {at}"
                except _Wrong as wrong:
                    problem = f"{shortly(cell)} {wrong}"
            values.append(value)
            if problem:
                self._wrong(place, measure.name, problem)
        return values

    def _plain(
        self, measure: Measure, cells: Sequence[object], missing: Sequence[str]
    ) -> list[Any] | None:
        """The same at once, of a column in which nothing is wrong; None where something may be."""
        kind, there = self._kinds[measure.name], [*compress(cells, map(operator.not_, missing))]
        types: set[type] = {*map(type, there)}
        texts = types == {str} and not self._table.typed
        counts = kind in (int, float) or (kind is not bool and measure.bounds is not None)
        found: list[Any] = []
        try:
            if not all(map(_empty, compress(cells, missing))):
                return None
            if counts and not measure.categories and (texts or types <= {int, float}):
                found = _numbers(there, measure.bounds, texts=texts, whole=kind is int)
            elif types in ({str}, {bool}) and "" not in there:
                known = {cell: self._value(measure, cell) for cell in {*there}}
                found = [known[cell] for cell in there]
        except (_Wrong, ValueError, OverflowError):
            return None
        values = iter(found)
        alike = len(found) == len(there) and len({*map(type, found)}) == 1
        return [None if why else next(values) for why in missing] if alike else None

    def _value(self, measure: Measure, cell: object) -> MeasureValue:
        """The value in a cell, by what the protocol says, or else the measure's bounds."""
        kind = self._kinds[measure.name]
        if measure.categories:
            word = cell_text(cell)
            if measure.declares(word):
                return word
            problem = f"is no {measure.name}: {_listed(measure.listed)}"
            raise _Wrong(problem)
        if self._table.typed and isinstance(cell, str):
            problem = "is text, where a number, true or false is needed"
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
                f"is not within {low:g} to {high:g}{unit}; if it stands for a reply that could "
                "not be read, leave the cell empty and say why (missing)"
            )
            raise _Wrong(problem)
        return number

    def _derive(self, place: int, values: dict[str, MeasureValue]) -> None:
        """Add what the experiment's own functions take from the measures of a row."""
        result, row = SimpleNamespace(**values), self._table.rows[place]
        for measure in self._derived:
            try:
                values[measure.name] = measure.of(result)
            except Exception as error:  # noqa: BLE001  (the author's function: anything)
                words = "is no column, and its function cannot take it from the other measures"
                problem = f"{words} ({type(error).__name__}: {one_line(str(error))})"
                self._found.append((place, WrongCell(row.line, measure.name, problem, row.file)))


def _listed(known: Sequence[str]) -> str:
    return f"{', '.join(known[:_LISTED])}{', …' * (len(known) > _LISTED)}"


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_reason(text: str) -> bool:
    return len(text) <= LONGEST_REASON and LABEL.fullmatch(text) is not None


def _empty(cell: object) -> bool:
    return cell is None or (isinstance(cell, str) and not cell)  # of arrays == has no truth


def _typed(text: str) -> object:
    """A word of a declaration as JSON would have it."""
    if _NUMBER.fullmatch(text):
        return float(text)
    return _FLAGS.get(text, text)


def _numbers(
    cells: Sequence[Any], bounds: tuple[float, float] | None, *, texts: bool, whole: bool
) -> list[float]:
    """The numbers in cells; ValueError where one may be none that can be."""
    if texts and _IN_NO_NUMBER.search("".join(cells)):
        raise ValueError
    found = [*map(float, cells)]
    low, high = bounds or (-sys.float_info.max, sys.float_info.max)
    if not all(low <= number <= high for number in found):
        raise ValueError
    if whole and not all(map(float.is_integer, found)):
        raise ValueError
    return found


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
