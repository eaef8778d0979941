"""The subjects ``published/…`` and ``table/…``: their replies in tables, and their origin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BadSetting, BiasError, NotCovered, UnknownName, WrongTable
from ..experiments.canonical import compact, digest
from ..experiments.design import Design, is_control
from ..experiments.fields import author_line, one_line
from ..experiments.layouts import TableRow
from ..experiments.records import Published, Recording
from ..settings.published import PUBLISHED, TABLE, Section, TableEntry, is_tabled
from .check import coverage, model_column, no_column, trials_of_table
from .reader import NO_ROWS, RawTable, WrongCell, read_files

if TYPE_CHECKING:
    from ..experiments.design import Condition, Trial
    from ..experiments.experiment import Experiment
    from ..experiments.records import Outcome
    from ..settings.roster import Roster
    from ..settings.settings import Settings

_Place = tuple[Section, str]

_SIMULATED = "simulated/"


@dataclass(frozen=True)
class Replies:
    """The replies of one model to one experiment in a table; ``outcomes`` in the plan's order.

    ``table`` is the roster's name of the table and ``section`` that of its declaration,
    ``checksum`` the SHA-256 of its file; ``layout_note`` is what its layout says of rows that are
    no trials, ``simulated`` whether a program gave the replies.
    """

    section: Section
    table: str
    entry: TableEntry
    experiment: Experiment = field(repr=False)
    checksum: str
    model: str
    outcomes: tuple[Outcome, ...] = field(repr=False)
    layout_note: str = ""
    simulated: bool = False

    @cached_property
    def design(self) -> Design:
        """The size as the table has it; of unequal cells the largest."""
        factors, items = self.experiment.factors, self.experiment.items

        def controls(trial: Trial) -> bool:
            control_item = items is not None and trial.item in items.controls
            return control_item or is_control(trial.condition, factors)

        sizes = {False: 0, True: 0}
        for outcome in self.outcomes:
            trial = outcome.trial
            sizes[controls(trial)] = max(sizes[controls(trial)], trial.replicate)
        return Design(sizes[False] or 1, self.section, controls=sizes[True])

    @property
    def source(self) -> str:
        """What they are of: who asked, and what; models of one were told the same."""
        by = self.entry.source or self.entry.collected_by or self.entry.path
        return f"{self.entry.experiment}, as asked by: {by}"

    @property
    def place(self) -> str:
        """Where they stand, in words."""
        return f"table: {self.entry.path} ([{self.section}.{self.table}])"

    @cached_property
    def recording(self) -> Recording:
        """What is known of where the replies come from."""
        # Each model has its own: what has the same checksum is taken for the same replies.
        rows = [(o.trial.id, dict(o.values or {}), o.missing) for o in self.outcomes]
        noted = self.entry.noted(self.model.partition("/")[2])
        return Recording(
            cassette=self.entry.path,
            checksum=digest(compact([self.model, rows])),
            simulated=self.simulated,
            wire="",
            recorded_with="",
            judge=self.entry.judge,
            retention="measures",
            interactions=None,
            published=Published(
                section=self.section,
                table=self.table,
                source=self.entry.source or "",
                licence=self.entry.licence or "",
                checksum=self.checksum,
                rows=len(self.outcomes),
                note="; ".join(filter(None, (noted, self.layout_note))),
                collected_by=self.entry.collected_by or "",
                coverage=coverage(self.experiment, self.outcomes),
            ),
        )

    def of(self, condition: Condition | None) -> tuple[Outcome, ...]:
        """The outcomes of a condition, or all of them; NotCovered where the table has none."""
        if condition is None:
            return self.outcomes
        found = tuple(o for o in self.outcomes if o.trial.condition.id == condition.id)
        if not found:
            held = sorted({outcome.trial.condition.id for outcome in self.outcomes})
            what = f"condition {condition.id} of {self.entry.experiment}"
            raise NotCovered(model=self.model, lacking=what, held=held)
        return found


def read_table(
    path: Path, experiment: Experiment, entry: TableEntry | None = None
) -> Mapping[str, Replies]:
    """The replies in a table to ``experiment``, by subject (``table/NAME``), without any roster.

    Parameters
    ----------
    path
        A file (``.csv``, ``.jsonl``, ``.ndjson``, ``.json``, ``.parquet``), or the folder of a
        layout that knows its files.
    experiment
        What the replies are to. Its data sets (``--bias-dataset``) can be read as they are.
    entry
        What a declaration in the roster would say (columns, values, layout …); its ``path`` is
        only shown. None where the table has our own names.

    NAME is what the column of models says, or else how the file is called.

    Raises
    ------
    WrongTable
        With all that is wrong, when the table is not one of the experiment's.
    MissingPackage
        For a Parquet file where pyarrow is not installed.
    """
    given = entry or TableEntry(path=str(path), experiment=experiment.id)
    table = read_files(path, _pattern(experiment, given))
    return _replies(table, given, experiment, TABLE, path.stem, f"--table {path}")


def _pattern(experiment: Experiment, entry: TableEntry) -> str:
    if entry.layout is None:
        return ""
    if entry.layout not in experiment.layouts:
        kind = f"layout of {experiment.id}"
        raise UnknownName(kind=kind, name=entry.layout, known=experiment.layouts)
    return experiment.layouts[entry.layout].files


def _replies(
    table: RawTable,
    entry: TableEntry,
    experiment: Experiment,
    section: Section,
    name: str,
    declared: str,
) -> dict[str, Replies]:
    """The replies of all models of a table; WrongTable with all that is wrong."""
    note, words = "", entry
    if entry.layout is not None:
        table, note = _arranged(table, entry, experiment)
        words = replace(entry, values={})
    found, problems = trials_of_table(table, words, experiment, name)
    if not problems and not found:
        problems = [WrongCell(1, "", NO_ROWS)]
    if problems:
        raise WrongTable(declared=declared, path=entry.path, cells=problems)
    return {
        (model := f"{section}/{value}"): Replies(
            section=section,
            table=name,
            entry=entry,
            experiment=experiment,
            checksum=table.checksum,
            model=model,
            outcomes=tuple(rows),
            layout_note=note,
            simulated=table.simulated or value.startswith(_SIMULATED),
        )
        for value, rows in found.items()
    }


def _arranged(table: RawTable, entry: TableEntry, experiment: Experiment) -> tuple[RawTable, str]:
    """The table as a layout of the experiment reads it, after its words were translated."""
    assert entry.layout is not None  # noqa: S101  (others do not come here)
    if table.problems:
        return table, ""
    told = [_translated(row, entry) for row in table.rows]
    columns: Iterable[str] = ()
    problems: list[WrongCell] = []
    try:
        rows, note = experiment.layouts[entry.layout].rows(told)
        arranged = tuple(rows)
        columns = dict.fromkeys(column for row in arranged for column in row.cells)
    except BiasError as refused:
        arranged, note = (), ""
        problems.append(WrongCell(0, "", str(refused)))
    except Exception as error:  # noqa: BLE001  (the author's function: anything)
        arranged, note = (), ""
        said = f"{type(error).__name__}: {one_line(str(error))} ({author_line(error)})"
        problems.append(WrongCell(0, "", f"is not in the layout {entry.layout!r}: {said}"))
    return replace(table, columns=tuple(columns), rows=arranged, problems=tuple(problems)), note


def _translated(row: TableRow, entry: TableEntry) -> TableRow:
    words = {
        column: entry.word(column, row.cells[column])
        for column in entry.values
        if column in row.cells
    }
    return row._replace(cells={**row.cells, **words}) if words else row


class Tables:
    """The tables that a roster declares, each read once in a process."""

    def __init__(self, roster: Roster) -> None:
        self._entries: dict[_Place, TableEntry] = {
            **{(PUBLISHED, name): entry for name, entry in roster.tables.items()},
            **{(TABLE, name): entry for name, entry in roster.own_tables.items()},
        }
        self._folder: Path = roster.folder
        self._read: dict[_Place, RawTable] = {}
        self._replies: dict[_Place, dict[str, Replies]] = {}
        self._held: dict[tuple[str, str], Replies] = {}
        self._known: dict[Section, dict[str, list[_Place]]] = {}

    def _models(self, section: Section) -> Mapping[str, Sequence[_Place]]:
        """The tables in which each subject has rows, but for those in a layout."""
        if section in self._known:
            return self._known[section]
        found: dict[str, list[_Place]] = {}
        for place, entry in self._entries.items():
            if place[0] != section or entry.layout is not None:
                continue
            table = self._table(place, "")
            column = model_column(table, entry)
            cells: Sequence[WrongCell] = table.problems
            if column is not None and column not in table.columns:
                cells = cells or [no_column("model", column, table.columns)]
            elif not table.rows:
                cells = cells or [WrongCell(1, "", NO_ROWS)]
            else:
                cells = ()
            if cells:
                raise WrongTable(declared=_declared(place), path=entry.path, cells=cells)
            named = (
                [place[1]]
                if column is None
                else [entry.word(column, row.cells.get(column)) for row in table.rows]
            )
            for cell in filter(None, dict.fromkeys(named)):
                found.setdefault(f"{section}/{cell}", []).append(place)
        return self._known.setdefault(section, found)

    @property
    def models(self) -> tuple[str, ...]:
        """All subjects of tables without a layout; of others their experiment knows."""
        return (*self._models(PUBLISHED), *self._models(TABLE))

    def check(self, settings: Settings) -> None:
        """Refuse subjects that no table has, and to record any.

        Raises
        ------
        BadSetting, UnknownName, WrongTable
            For the first name that will not do.
        """
        old = settings.baseline or ""
        for model in filter(is_tabled, (*settings.models, old)):
            section = _section(model)
            known = self._models(section)
            arranged = any(p[0] == section and e.layout for p, e in self._entries.items())
            if model not in known and not arranged:
                raise _unknown(model, known)
            if model != old and (settings.plan or settings.record != "none"):
                option = "--bias-plan" if settings.plan else f"--bias-record={settings.record}"
                problem = f"{model} is a table of what was recorded: nobody can be asked again"
                raise BadSetting(option=option, value=None, problem=problem)
            if model != old and settings.design == "screen":
                problem = (
                    f"the replies of {model} are as many as the source has: nothing is screened"
                )
                raise BadSetting(option="--bias-design", value="screen", problem=problem)

    def covers(self, experiment: Experiment, model: str) -> bool:
        """Return whether a table has replies of ``model`` to ``experiment``."""
        return (experiment.id, model) in self._held or bool(self._holding(experiment, model))

    def hold(self, replies: Replies) -> None:
        """Add the replies of a table that no roster declares."""
        self._held[replies.experiment.id, replies.model] = replies

    def of(self, experiment: Experiment, model: str) -> Replies:
        """The replies of ``model`` to ``experiment``.

        Raises
        ------
        NotCovered
            When no table has any.
        BadSetting
            When several have, or when the one that has is not what it is declared to be
            (WrongTable); then every problem of it is named.
        """
        if (experiment.id, model) in self._held:
            return self._held[experiment.id, model]
        holding = self._holding(experiment, model)
        if not holding:
            places = self._models(_section(model)).get(model, ())
            held = sorted({self._entries[place].experiment for place in places})
            if not held:
                raise _unknown(model, self._models(_section(model)))
            raise NotCovered(model=model, lacking=experiment.id, held=held)
        if len(holding) > 1:
            names = " and ".join(f"[{section}.{name}]" for section, name in holding)
            problem = f"{names} both have replies of it to {experiment.id}; rename it in one"
            raise BadSetting(option="--bias-model", value=model, problem=problem)
        return self._checked(holding[0], experiment)[model]

    def _holding(self, experiment: Experiment, model: str) -> list[_Place]:
        section = _section(model)
        places = [*self._models(section).get(model, ())]
        places += [
            place
            for place, entry in self._entries.items()
            if place[0] == section
            and entry.layout is not None
            and entry.experiment == experiment.id
            and model in self._checked(place, experiment)
        ]
        return [place for place in places if self._entries[place].experiment == experiment.id]

    def _checked(self, place: _Place, experiment: Experiment) -> dict[str, Replies]:
        if place not in self._replies:
            entry = self._entries[place]
            table = self._table(place, _pattern(experiment, entry))
            read = _replies(table, entry, experiment, *place, _declared(place))
            self._replies[place] = read
            self._read.pop(place)  # what it holds is in the trials now
        return self._replies[place]

    def _table(self, place: _Place, pattern: str) -> RawTable:
        if place not in self._read:
            self._read[place] = read_files(self._folder / self._entries[place].path, pattern)
        return self._read[place]


def _section(model: str) -> Section:
    return PUBLISHED if model.startswith(f"{PUBLISHED}/") else TABLE


def _declared(place: _Place) -> str:
    section, name = place
    return f"[{section}.{name}] path"


def _unknown(model: str, known: Iterable[str]) -> UnknownName:
    section = _section(model)
    mend = f"a table is declared in the roster, as [{section}.NAME] (docs/tables.md)"
    kind = "published subject" if section == PUBLISHED else "subject of a table"
    return UnknownName(kind=kind, name=model, known=known, mend=mend)
