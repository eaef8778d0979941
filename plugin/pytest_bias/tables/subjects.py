"""The subjects ``published/…``: their replies in the tables of the roster, and their origin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from ..errors import BadSetting, NotCovered, UnknownName, WrongTable
from ..experiments.canonical import compact, digest
from ..experiments.design import Design
from ..experiments.records import Published, Recording
from ..settings.published import PUBLISHED, TableEntry, is_published
from .check import no_column, trials_of_table
from .reader import NO_ROWS, RawTable, WrongCell, read_csv

if TYPE_CHECKING:
    from pathlib import Path

    from ..experiments.design import Condition
    from ..experiments.experiment import Experiment
    from ..experiments.records import Outcome
    from ..settings.roster import Roster
    from ..settings.settings import Settings


@dataclass(frozen=True, slots=True)
class Replies:
    """The published replies of one model to one experiment; ``outcomes`` in the plan's order.

    ``table`` is the roster's name of the table, ``checksum`` the SHA-256 of its file.
    """

    table: str
    entry: TableEntry
    checksum: str
    model: str
    outcomes: tuple[Outcome, ...] = field(repr=False)

    @property
    def design(self) -> Design:
        """The size as the table has it; of unequal cells the largest."""
        cells = Counter(outcome.trial.id.rpartition("#")[0] for outcome in self.outcomes)
        return Design(max(cells.values()), PUBLISHED)

    @property
    def source(self) -> str:
        """What they were published as: who asked, and what; models of one were told the same."""
        return f"{self.entry.experiment}, as asked by: {self.entry.source}"

    @property
    def place(self) -> str:
        """Where they stand, in words."""
        return f"table: {self.entry.path} ([published.{self.table}])"

    @property
    def recording(self) -> Recording:
        """What is known of where the replies come from."""
        # Each model has its own: what has the same checksum is taken for the same replies.
        rows = [(o.trial.id, dict(o.values or {}), o.missing) for o in self.outcomes]
        return Recording(
            cassette=self.entry.path,
            checksum=digest(compact([self.model, rows])),
            simulated=False,
            wire="",
            recorded_with="",
            judge=self.entry.judge,
            retention="measures",
            interactions=None,
            published=Published(
                table=self.table,
                source=self.entry.source,
                licence=self.entry.licence,
                checksum=self.checksum,
                rows=len(self.outcomes),
                note=self.entry.noted(self.model.partition("/")[2]),
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


class Tables:
    """The tables that a roster declares, each read once in a process."""

    def __init__(self, roster: Roster) -> None:
        self._entries = roster.tables
        self._folder: Path = roster.folder
        self._read: dict[str, RawTable] = {}
        self._replies: dict[str, dict[str, Replies]] = {}

    @cached_property
    def _models(self) -> dict[str, list[str]]:
        """The tables in which each published subject has rows."""
        found: dict[str, list[str]] = {}
        for name, entry in self._entries.items():
            table = self._table(name)
            cells: Sequence[WrongCell] = table.problems
            if entry.model not in table.columns:
                cells = cells or [no_column("model", entry.model, table.columns)]
            elif not table.rows:
                cells = cells or [WrongCell(1, "", NO_ROWS)]
            else:
                cells = ()
            if cells:
                raise WrongTable(table=name, path=entry.path, cells=cells)
            named = (entry.word(entry.model, row.cells[entry.model]) for row in table.rows)
            for cell in filter(None, dict.fromkeys(named)):
                found.setdefault(f"{PUBLISHED}/{cell}", []).append(name)
        return found

    @property
    def models(self) -> tuple[str, ...]:
        """All published subjects."""
        return tuple(self._models)

    def check(self, settings: Settings) -> None:
        """Refuse published subjects that no table has, and to record any.

        Raises
        ------
        BadSetting, UnknownName, WrongTable
            For the first name that will not do.
        """
        old = settings.baseline or ""
        for model in filter(is_published, (*settings.models, old)):
            if model not in self._models:
                mend = "a table is declared in the roster, as [published.NAME] (docs/published.md)"
                raise UnknownName(
                    kind="published subject", name=model, known=self._models, mend=mend
                )
            if model != old and (settings.plan or settings.record != "none"):
                option = "--bias-plan" if settings.plan else f"--bias-record={settings.record}"
                problem = f"{model} is a table of what others recorded: nobody can be asked again"
                raise BadSetting(option=option, value=None, problem=problem)
            if model != old and settings.design == "screen":
                problem = (
                    f"the replies of {model} are as many as the source has: nothing is screened"
                )
                raise BadSetting(option="--bias-design", value="screen", problem=problem)

    def covers(self, experiment: Experiment, model: str) -> bool:
        """Return whether a table has replies of ``model`` to ``experiment``."""
        return bool(self._holding(experiment, model))

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
        holding = self._holding(experiment, model)
        if not holding:
            held = sorted({self._entries[name].experiment for name in self._models[model]})
            raise NotCovered(model=model, lacking=experiment.id, held=held)
        if len(holding) > 1:
            names = " and ".join(f"[published.{name}]" for name in holding)
            problem = f"{names} both have replies of it to {experiment.id}; rename it in one"
            raise BadSetting(option="--bias-model", value=model, problem=problem)
        name = holding[0]
        if name not in self._replies:
            self._replies[name] = self._checked(name, experiment)
        return self._replies[name][model]

    def _holding(self, experiment: Experiment, model: str) -> list[str]:
        names = self._models.get(model, ())
        return [name for name in names if self._entries[name].experiment == experiment.id]

    def _checked(self, name: str, experiment: Experiment) -> dict[str, Replies]:
        entry, table = self._entries[name], self._table(name)
        found, problems = trials_of_table(table, entry, experiment)
        if problems:
            raise WrongTable(table=name, path=entry.path, cells=problems)
        order = {condition.id: place for place, condition in enumerate(experiment.conditions)}
        return {
            (model := f"{PUBLISHED}/{value}"): Replies(
                table=name,
                entry=entry,
                checksum=table.checksum,
                model=model,
                outcomes=tuple(sorted(rows, key=lambda row: order[row.trial.condition.id])),
            )
            for value, rows in found.items()
        }

    def _table(self, name: str) -> RawTable:
        if name not in self._read:
            self._read[name] = read_csv(self._folder / self._entries[name].path)
        return self._read[name]
