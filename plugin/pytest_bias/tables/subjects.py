"""The subjects ``published/…`` and ``table/…``: their replies in tables, and their origin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ..errors import BadData, BiasError, NotRecorded, UnknownName
from ..experiments.canonical import compact, digest
from ..experiments.design import Design, is_control
from ..experiments.experiment import Experiment, ModelRoles
from ..experiments.fields import author_line, one_line
from ..experiments.layouts import TableRow
from ..experiments.measures import MISSING
from ..experiments.records import Published, Recording
from ..settings.roster import TABLE, Roster, Section
from ..settings.table_entry import TableEntry
from .account import coverage, repeated_replies, repeated_rows, row_texts, unread_columns
from .check import TableCheck
from .reader import NO_ROWS, RawTable, WrongCell, read_frame, wrong_table
from .shape import MODEL, missing_columns, of_another, opened, shaped

if TYPE_CHECKING:
    from ..experiments.design import Condition
    from ..experiments.messages import ModelRole
    from ..experiments.records import Exchange, Outcome
    from ..experiments.replay import PendingRequest
    from .reader import Source

TablePlace = tuple[Section, str]

_SIMULATED = "simulated/"
_UNSAID = (
    "the table does not say what failed, so that it may hold valid replies alone; give it a "
    "column 'missing', empty where the reply is there"
)


@dataclass(frozen=True)
class TableSource:
    """The replies of one model to one experiment in a table; see :class:`.ReplySource`."""

    model: str
    experiment: Experiment = field(repr=False)
    entry: TableEntry
    outcomes: tuple[Outcome, ...] = field(repr=False)
    roles: ModelRoles
    location: str
    recording: Recording
    undecided: Mapping[str, str]
    lookup: ClassVar[None] = None
    exists: ClassVar[bool] = True

    @cached_property
    def design(self) -> Design:
        """The size as the table has it; of unequal cells the largest."""
        factors, items = self.experiment.factors, self.experiment.items
        sizes = {False: 0, True: 0}
        for trial in (outcome.trial for outcome in self.outcomes):
            control = items is not None and trial.item in items.controls
            control |= is_control(trial.condition, factors)
            sizes[control] = max(sizes[control], trial.replicate)
        section = self.model.partition("/")[0]
        return Design(sizes[False] or 1, section, controls=sizes[True])

    @property
    def prompts_from(self) -> str:
        """The source of the prompts; its models were told the same."""
        by = self.entry.source or self.entry.collected_by or self.entry.path
        return f"{self.entry.experiment}, as asked by: {by}"

    @property
    def exchanges(self) -> Iterator[Exchange]:
        """Each reply, without its text."""
        return (each for outcome in self.outcomes for each in outcome.exchanges)

    def sized(self, design: Design) -> Design:
        """Return the size of the table, whatever is requested."""
        del design
        return self.design

    def known(
        self, design: Design, condition: Condition | None = None
    ) -> tuple[tuple[Outcome, ...], tuple[PendingRequest, ...]]:
        """The outcomes of a condition, or of all; nothing else could be recorded."""
        return self.outcomes_of(design, condition), ()

    def outcomes_of(
        self, design: Design, condition: Condition | None = None
    ) -> tuple[Outcome, ...]:
        """The outcomes of a condition, or of all; NotRecorded where the table has none."""
        del design
        if condition is None:
            return self.outcomes
        held = {outcome.trial.condition.id for outcome in self.outcomes}
        if condition.id not in held:
            what = f"condition {condition.id} of {self.entry.experiment}"
            raise not_covered(self.model, what, sorted(held))
        return tuple(o for o in self.outcomes if o.trial.condition.id == condition.id)

    def check_distinct(self, design: Design, condition: Condition | None = None) -> None:
        """Do nothing: the prompts of a table are unknown."""


def read_table(
    source: Source,
    experiment: Experiment,
    entry: TableEntry | None = None,
    roster: Roster | None = None,
) -> Mapping[str, TableSource]:
    """The replies in a table to ``experiment``, by subject (``table/NAME``), in no roster.

    ``source`` is a file, the folder of a layout that knows its files, or a pandas frame. What the
    source calls a model is NAME, or else how the file is called, and ``frame`` a frame. ``entry``
    is what a declaration would say, whose ``path`` is only shown; without it the columns are ours,
    or tell a layout of the experiment. ``roster`` says how replies of the subjects are read.

    Raises BadData with all that is wrong, when the table is not one of the experiment's, and
    MissingPackage for a Parquet file where pyarrow is not installed.
    """
    given = entry or TableEntry(path=source_text(source), experiment=experiment.id)
    if isinstance(source, Path):
        table, name = opened(source, given, pattern_of(experiment, given), Path()), source.stem
    else:
        table, name = shaped(read_frame(source), given, Path()), "frame"
    given = replace(given, judge=given.judge or table.judge)
    there = {*table.columns, *given.columns}
    layouts = {n: {*of.columns} for n, of in experiment.layouts.items() if of.columns}
    if given.layout or there.issuperset(factor.name for factor in experiment.factors):
        layouts = {}
    fitting = [name for name, columns in layouts.items() if columns <= there]
    if len(fitting) > 1:
        words = f"is in the layouts {' and '.join(fitting)} by its columns; declare which (layout)"
        raise wrong_table("", given.path, [WrongCell(0, "", words)])
    for layout in fitting:
        words = f"read in the layout {layout!r}, which its columns tell"
        given = replace(given, layout=layout, note=_joined(given.note, words))
    return sources_of(table, given, experiment, (TABLE, name), roster or Roster())


def _joined(*words: str | None) -> str:
    return "; ".join(filter(None, words))


def source_text(source: Source) -> str:
    """What a table is called that no roster declares."""
    return str(source) if isinstance(source, Path) else f"pandas frame of {len(source):,} rows"


def pattern_of(experiment: Experiment, entry: TableEntry) -> str:
    """Return which files of a folder count, by the layout; UnknownName where there is none."""
    if entry.layout is None:
        files = [each.files for each in experiment.layouts.values() if each.files]
        return files[0] if len(files) == 1 else ""
    if entry.layout not in experiment.layouts:
        kind = f"layout of {experiment.id}"
        raise UnknownName(kind=kind, name=entry.layout, known=experiment.layouts)
    return experiment.layouts[entry.layout].files


def sources_of(
    given: RawTable,
    declared: TableEntry,
    experiment: Experiment,
    place: TablePlace,
    roster: Roster,
    heading: str = "",
) -> dict[str, TableSource]:
    """The replies of all models of a table; BadData with all that is wrong.

    ``heading`` is that of its declaration in the roster, if it has one.
    """
    if experiment.judge is None:  # whoever was named graded nothing
        declared = replace(declared, judge=None)
    (section, name), note, table, entry = place, "", given, declared
    if declared.layout is not None:
        table, note = _arranged(given, declared, experiment)
        entry = replace(declared, values={}, columns={}, model=None)

    def roles_of(model: str) -> ModelRoles:
        lenient = roster.entry(f"{section}/{model}").replies == "lenient"
        who: frozenset[ModelRole] = frozenset({"subject"}) if lenient else frozenset()
        return ModelRoles(f"{section}/{model}", declared.judge, lenient=who)

    found = TableCheck(table, entry, experiment, name, roles_of)
    problems = [*of_another(given, declared, experiment), *found.problems]
    undivided = ""
    if entry.columns.get("replicate", "replicate") not in table.columns:
        whole = row_texts(given.columns, given.rows)
        undivided = repeated_rows(whole)
        if not (declared.layout or declared.repeats or problems):
            problems += repeated_replies(given, whole, found.labels, found.unread)
    if problems or not found.trials:
        problems = problems or [WrongCell(0, "", NO_ROWS)]
        raise wrong_table(heading, declared.path, problems, table)
    # A layout gives the column of failures, as its format records what failed; so do replies.
    told = entry.columns.get(MISSING, MISSING) in table.columns or entry.reply_column
    unread = "" if declared.layout else unread_columns(found.unread)
    # What the source calls a program is one, whatever it is called here.
    names = declared.values.get(declared.model or MODEL, {}).items()
    programs = {ours for theirs, ours in names if theirs.startswith(_SIMULATED)}
    sources = {}
    for value, outcomes in found.trials.items():
        # Each model has its own: what has the same checksum is taken for the same replies.
        values = [(o.trial.id, dict(o.values or {}), o.missing) for o in outcomes]
        roles = roles_of(value)
        recording = Recording(
            cassette=declared.path,
            checksum=digest(compact([roles.subject, values])),
            simulated=table.simulated or value.startswith(_SIMULATED) or value in programs,
            wire="",
            recorded_with="",
            judge=declared.judge,
            retention=experiment.retention if entry.reply_column else "measures",
            interactions=None,
            published=Published(
                section=section,
                table=name if heading else "",
                source=declared.source or "",
                licence=declared.licence or "",
                checksum=table.checksum,
                rows=len(outcomes),
                note=_joined(declared.noted(value), note),
                collected_by=declared.collected_by or "",
                coverage=_joined(coverage(experiment, outcomes), undivided, unread),
            ),
        )
        sources[roles.subject] = TableSource(
            model=roles.subject,
            experiment=experiment,
            entry=declared,
            outcomes=tuple(outcomes),
            roles=roles,
            location=f"table: {declared.path}" + f" ({heading})" * bool(heading),
            recording=recording,
            undecided={} if told or entry.missing else {MISSING: _UNSAID},
        )
    return sources


def _arranged(table: RawTable, entry: TableEntry, experiment: Experiment) -> tuple[RawTable, str]:
    """The table as a layout of the experiment reads it, after its words were translated."""
    assert entry.layout is not None  # noqa: S101  (others do not come here)
    layout, names = experiment.layouts[entry.layout], dict(entry.columns)
    if entry.model is not None:
        names[MODEL] = entry.model
    wanted = {column: names.get(column, column) for column in layout.columns} | names
    wanted_of = ((f"{ours} of the layout {entry.layout!r}", n) for ours, n in wanted.items())
    problems = table.problems or tuple(missing_columns(wanted_of, table))
    rows: Sequence[TableRow] = ()
    note = ""
    try:
        if not problems:
            found, note = layout.rows([_translated(row, entry, names) for row in table.rows])
            rows = [*found]
    except BiasError as refused:
        problems = (WrongCell(0, "", str(refused)),)
    except ExceptionGroup as several:
        problems = tuple(
            WrongCell(each.row or 0, each.column or "", each.problem)
            for each in several.exceptions
            if isinstance(each, BadData)
        )
    except Exception as error:  # noqa: BLE001  (the author's function: anything)
        words = f"{type(error).__name__}: {one_line(str(error))} ({author_line(error)})"
        problems = (WrongCell(0, "", f"is not in the layout {entry.layout!r}: {words}"),)
    columns = dict.fromkeys(column for row in rows for column in row.cells)
    return replace(table, columns=tuple(columns), rows=tuple(rows), problems=problems), note


def _translated(row: TableRow, entry: TableEntry, names: Mapping[str, str]) -> TableRow:
    """A row in our words, and its columns by the layout's ``names``."""
    words = {c: entry.word(c, row.cells[c]) for c in entry.values if c in row.cells}
    cells = {**row.cells, **words}
    return row._replace(cells=cells | {ours: cells.get(names[ours]) for ours in names})


def not_covered(model: str, missing: str, held: Iterable[str]) -> NotRecorded:
    """Return the error for replies that a table does not have."""
    message = f"{model} has no replies to {missing}: its table has those to {', '.join(held)}"
    hint = "Nobody can be asked again, and no row is made up."
    return NotRecorded(message, f"{message}. {hint}")
