"""The subjects ``published/…`` and ``table/…``: their replies in tables, and their origin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BadSetting, BadTable, BiasError, NotCovered, UnknownName, WrongTable
from ..experiments.canonical import compact, digest
from ..experiments.design import Design, is_control
from ..experiments.fields import author_line, one_line
from ..experiments.layouts import TableRow
from ..experiments.measures import MISSING
from ..experiments.records import Published, Recording
from ..settings.published import PUBLISHED, TABLE, Section, TableEntry, is_tabled
from .check import MODEL, coverage, missing_columns, model_column, of_another, trials_of_table
from .reader import NO_ROWS, RawTable, WrongCell, read_files, read_frame

if TYPE_CHECKING:
    from ..experiments.design import Condition
    from ..experiments.experiment import Experiment
    from ..experiments.records import Outcome
    from ..settings.roster import Roster
    from ..settings.settings import Settings
    from .reader import Source

_Place = tuple[Section, str]

_SIMULATED = "simulated/"
_UNSAID = (
    "the table does not say what failed, so that it may hold valid replies alone; give it a "
    "column 'missing', empty where the reply is there"
)


@dataclass(frozen=True)
class Replies:
    """The replies of one model to one experiment in a table; ``outcomes`` in the plan's order.

    ``table`` is the roster's name of the table, empty where none declares it, and ``section`` that
    of its declaration, ``checksum`` the SHA-256 of its file; ``layout_note`` is what its layout
    says of rows that are no trials, ``undivided`` what is to be said of rows that may stand twice,
    ``simulated`` whether a program gave the replies, and ``unsaid`` why nothing is decided of a
    measure that the table does not tell of.
    """

    section: Section
    table: str
    entry: TableEntry
    experiment: Experiment = field(repr=False)
    checksum: str
    model: str
    outcomes: tuple[Outcome, ...] = field(repr=False)
    layout_note: str = ""
    undivided: str = ""
    simulated: bool = False
    unsaid: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def design(self) -> Design:
        """The size as the table has it; of unequal cells the largest."""
        factors, items = self.experiment.factors, self.experiment.items
        sizes = {False: 0, True: 0}
        for trial in (outcome.trial for outcome in self.outcomes):
            control = is_control(trial.condition, factors)
            control |= items is not None and trial.item in items.controls
            sizes[control] = max(sizes[control], trial.replicate)
        return Design(sizes[False] or 1, self.section, controls=sizes[True])

    @property
    def source(self) -> str:
        """What they are of: who asked, and what; models of one were told the same."""
        by = self.entry.source or self.entry.collected_by or self.entry.path
        return f"{self.entry.experiment}, as asked by: {by}"

    @property
    def place(self) -> str:
        """Where they stand, in words."""
        return f"table: {self.entry.path}" + f" ([{self.section}.{self.table}])" * bool(self.table)

    @cached_property
    def recording(self) -> Recording:
        """Return all that is known of where the replies come from."""
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
                coverage="; ".join(
                    filter(None, (coverage(self.experiment, self.outcomes), self.undivided))
                ),
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
    source: Source, experiment: Experiment, entry: TableEntry | None = None
) -> Mapping[str, Replies]:
    """The replies in a table to ``experiment``, by subject (``table/NAME``), without any roster.

    Raises WrongTable with all that is wrong, when the table is not one of the experiment's, and
    MissingPackage for a Parquet file where pyarrow is not installed.

    Parameters
    ----------
    source
        A file (``.csv``, ``.jsonl``, ``.ndjson``, ``.json``, ``.parquet``), the folder of a layout
        that knows its files, or a pandas frame. The experiment's layouts are known by columns.
    experiment
        What the replies are to. Its data sets (``--bias-dataset``) can be read as they are.
    entry
        What a declaration in the roster would say (columns, values, layout …); its ``path`` is
        only shown. None where the table has our own names.

    NAME is what the column of models says, or else how the file is called, and ``frame`` a frame.
    """
    given = entry or TableEntry(path=source_words(source), experiment=experiment.id)
    if isinstance(source, Path):
        table, name = read_files(source, _pattern(experiment, given)), source.stem
    else:
        table, name = read_frame(source), "frame"
    given = replace(given, judge=given.judge or table.judge)
    there = {*table.columns, *given.columns}
    has_all_factors = there.issuperset(factor.name for factor in experiment.factors)
    layouts = experiment.layouts.items() if not (given.layout or has_all_factors) else ()
    fitting = [name for name, each in layouts if each.columns and there.issuperset(each.columns)]
    if len(fitting) > 1:
        words = f"is in the layouts {' and '.join(fitting)} by its columns; declare which (layout)"
        raise WrongTable(declared="replies", path=given.path, cells=[WrongCell(0, "", words)])
    for layout in fitting:
        words = f"read in the layout {layout!r}, which its columns tell"
        note = "; ".join(filter(None, (given.note, words)))
        given = replace(given, layout=layout, note=note)
    found = _replies(table, given, experiment, (TABLE, name), "replies")
    return {model: replace(replies, table="") for model, replies in found.items()}


def source_words(source: Source) -> str:
    """What a table is called that no roster declares."""
    return str(source) if isinstance(source, Path) else f"pandas frame of {len(source):,} rows"


def _pattern(experiment: Experiment, entry: TableEntry) -> str:
    if entry.layout is None:
        files = [each.files for each in experiment.layouts.values() if each.files]
        return files[0] if len(files) == 1 else ""
    if entry.layout not in experiment.layouts:
        kind = f"layout of {experiment.id}"
        raise UnknownName(kind=kind, name=entry.layout, known=experiment.layouts)
    return experiment.layouts[entry.layout].files


def _replies(
    given: RawTable, declared: TableEntry, experiment: Experiment, place: _Place, option: str
) -> dict[str, Replies]:
    """The replies of all models of a table; WrongTable with all that is wrong."""
    if experiment.judge is None:  # whoever was named graded nothing
        declared = replace(declared, judge=None)
    (section, name), note, table, entry = place, "", given, declared
    if declared.layout is not None:
        table, note = _arranged(given, declared, experiment)
        entry = replace(declared, values={}, columns={}, model=None)
    found, problems = trials_of_table(table, entry, experiment, name)
    # As it was given, too: a layout need not keep the column.
    others = (of_another(*each, experiment) for each in ((given, declared), (table, entry)))
    problems = [*dict.fromkeys((*chain.from_iterable(others), *problems))]
    if problems or not found:
        raise WrongTable(
            declared=option,
            path=declared.path,
            cells=problems or [WrongCell(0, "", NO_ROWS)],
            unit=table.unit,
            labels=table.labels,
        )
    # A layout gives the column of failures, as its format records what failed.
    failures = entry.missing or entry.columns.get(MISSING, MISSING) in table.columns
    undivided = ""
    if entry.columns.get("replicate", "replicate") not in table.columns:
        rows = [tuple(str(row.cells.get(c)) for c in given.columns) for row in given.rows]
        undivided = (
            "no column 'replicate' tells a row that stands twice from a reply given twice: "
            f"{len(rows) - len({*rows}):,} of the table's {len(rows):,} rows repeat another in "
            "all columns"
        )
    # What the source calls a program is one, whatever it is called here.
    names = declared.values.get(declared.model or MODEL, {}).items()
    programs = {ours for theirs, ours in names if theirs.startswith(_SIMULATED)}
    return {
        (model := f"{section}/{value}"): Replies(
            section=section,
            table=name,
            entry=declared,
            experiment=experiment,
            checksum=table.checksum,
            model=model,
            outcomes=tuple(outcomes),
            layout_note=note,
            undivided=undivided,
            simulated=table.simulated or value.startswith(_SIMULATED) or value in programs,
            unsaid={} if failures else {MISSING: _UNSAID},
        )
        for value, outcomes in found.items()
    }


def _arranged(table: RawTable, entry: TableEntry, experiment: Experiment) -> tuple[RawTable, str]:
    """The table as a layout of the experiment reads it, after its words were translated."""
    assert entry.layout is not None  # noqa: S101  (others do not come here)
    layout, names = experiment.layouts[entry.layout], dict(entry.columns)
    if entry.model is not None:
        names[MODEL] = entry.model
    wanted = {column: names.get(column, column) for column in layout.columns} | names
    of = f"of the layout {entry.layout!r}"
    missing = missing_columns(((f"{ours} {of}", theirs) for ours, theirs in wanted.items()), table)
    problems = [*(table.problems or missing)]
    rows: tuple[TableRow, ...] = ()
    note = ""
    try:
        if not problems:
            found, note = layout.rows([_translated(row, entry, names) for row in table.rows])
            rows = tuple(found)
    except BiasError as refused:
        problems = [WrongCell(0, "", str(refused))]
    except Exception as error:  # noqa: BLE001  (the author's function: anything)
        several = error.exceptions if isinstance(error, ExceptionGroup) else ()
        wrong = [each for each in several if isinstance(each, BadTable)]
        words = f"{type(error).__name__}: {one_line(str(error))} ({author_line(error)})"
        problems = [WrongCell(each.row or 0, each.column, each.problem) for each in wrong] or [
            WrongCell(0, "", f"is not in the layout {entry.layout!r}: {words}")
        ]
    columns = dict.fromkeys(column for row in rows for column in row.cells)
    return replace(table, columns=tuple(columns), rows=rows, problems=tuple(problems)), note


def _translated(row: TableRow, entry: TableEntry, names: Mapping[str, str]) -> TableRow:
    """A row in our words, and its columns by the layout's ``names``."""
    words = {c: entry.word(c, row.cells[c]) for c in entry.values if c in row.cells}
    cells = {**row.cells, **words}
    return row._replace(cells=cells | {ours: cells.get(names[ours]) for ours in names})


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
        self._wrong: dict[_Place, WrongTable] = {}

    def _models(self, section: Section) -> Mapping[str, Sequence[_Place]]:
        """The tables in which each subject has rows, but for those in a layout.

        What is wrong with a table is kept, for whoever asks for its experiment or a subject that
        no other table has.
        """
        if section in self._known:
            return self._known[section]
        found: dict[str, list[_Place]] = {}
        for place, entry in self._entries.items():
            if place[0] != section or entry.layout is not None:
                continue
            table = self._table(place, "")
            column = model_column(table, entry)
            missing = missing_columns([("model", column)] if column else [], table)
            if missing or not table.rows:
                self._wrong[place] = WrongTable(
                    declared=f"{_heading(place)} path",
                    path=entry.path,
                    cells=table.problems or missing or [WrongCell(0, "", NO_ROWS)],
                    unit=table.unit,
                )
                continue
            names = [entry.word(column, row.cells.get(column)) for row in table.rows if column]
            for name in filter(None, dict.fromkeys(names or [place[1]])):
                found.setdefault(f"{section}/{name}", []).append(place)
        return self._known.setdefault(section, found)

    def check(self, settings: Settings) -> None:
        """Refuse subjects that no table has, and to record any.

        Raises BadSetting, UnknownName or WrongTable for the first name that will not do.
        """
        old = settings.baseline or ""
        for model in filter(is_tabled, (*settings.models, old)):
            section = _section(model)
            arranged = any(p[0] == section and e.layout for p, e in self._entries.items())
            if model not in self._models(section) and not arranged:
                raise self._unknown(model)
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

    def named(self, name: str, experiment: Experiment) -> Mapping[str, Replies] | None:
        """The replies in a table by the roster's name of it; None where there is no such name.

        Raises BadSetting when two tables have the name, or that table is of another experiment, or
        not one of its (WrongTable).
        """
        places = [place for place in self._entries if place[1] == name]
        if not places:
            return None
        words = [*map(_heading, places)]
        if len(places) > 1:
            problem = f"{' and '.join(words)} have this name; rename one"
        elif (of := self._entries[places[0]].experiment) != experiment.id:
            problem = f"{words[0]} is of {of}, not of {experiment.id}"
        else:
            return self._checked(places[0], experiment)
        raise BadSetting(option="--table", value=name, problem=problem)

    def hold(self, replies: Replies) -> None:
        """Add the replies of a table that no roster declares."""
        self._held[replies.experiment.id, replies.model] = replies

    def of(self, experiment: Experiment, model: str) -> Replies:
        """The replies of ``model`` to ``experiment``.

        Raises NotCovered when no table has any, and BadSetting when several have, or when the one
        that has is not what it is declared to be (WrongTable); then every problem of it is named.
        """
        if (experiment.id, model) in self._held:
            return self._held[experiment.id, model]
        holding = self._holding(experiment, model)
        if not holding:
            places = self._models(_section(model)).get(model, ())
            held = sorted({self._entries[place].experiment for place in places})
            if not held:
                raise self._unknown(model)
            raise NotCovered(model=model, lacking=experiment.id, held=held)
        if len(holding) > 1:
            names = " and ".join(map(_heading, holding))
            problem = f"{names} both have replies of it to {experiment.id}; rename it in one"
            raise BadSetting(option="--bias-model", value=model, problem=problem)
        return self._checked(holding[0], experiment)[model]

    def _holding(self, experiment: Experiment, model: str) -> list[_Place]:
        """The tables with replies of a model to an experiment; WrongTable where one is none."""
        section = _section(model)
        known = self._models(section).get(model, ())
        places = [
            place
            for place, entry in self._entries.items()
            if place[0] == section and entry.experiment == experiment.id
        ]
        for place in places:
            if place in self._wrong:
                raise self._wrong[place]
        return [
            place
            for place in places
            if place in known
            or (self._entries[place].layout and model in self._checked(place, experiment))
        ]

    def _checked(self, place: _Place, experiment: Experiment) -> dict[str, Replies]:
        if place not in self._replies:
            entry = self._entries[place]
            table = self._table(place, _pattern(experiment, entry))
            option = f"{_heading(place)} path"
            self._replies[place] = _replies(table, entry, experiment, place, option)
            self._read.pop(place)  # what it holds is in the trials now
        return self._replies[place]

    def _table(self, place: _Place, pattern: str) -> RawTable:
        if place not in self._read:
            path = self._folder / self._entries[place].path
            table = read_files(path, pattern)
            if not path.exists():
                words = f"there is no such file; put it there, or remove {_heading(place)}"
                table = replace(table, problems=(WrongCell(0, "", f"{words} from the roster"),))
            self._read[place] = table
        return self._read[place]

    def _unknown(self, model: str) -> BiasError:
        """Refuse a subject that no table has, or the first table that may have it and is none."""
        section = _section(model)
        known = self._models(section)
        wrong = [error for place, error in self._wrong.items() if place[0] == section]
        mend = f"a table is declared in the roster, as [{section}.NAME] (docs/tables.md)"
        kind = "published subject" if section == PUBLISHED else "subject of a table"
        return wrong[0] if wrong else UnknownName(kind=kind, name=model, known=known, mend=mend)


def _section(model: str) -> Section:
    return PUBLISHED if model.startswith(f"{PUBLISHED}/") else TABLE


def _heading(place: _Place) -> str:
    section, name = place
    return f"[{section}.{name}]"
