"""The tables that a roster declares, and the subjects ``published/…`` and ``table/…`` in them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import BadData, BadSetting, UnknownName
from ..settings.roster import PUBLISHED, TABLE, is_tabled
from ..settings.table_entry import TableEntry
from .reader import NO_ROWS, RawTable, WrongCell, wrong_table
from .shape import missing_columns, model_column, opened
from .subjects import TablePlace, TableSource, not_covered, pattern_of, sources_of

if TYPE_CHECKING:
    from ..experiments.experiment import Experiment
    from ..settings.roster import Roster
    from ..settings.settings import Settings


class Tables:
    """The tables that a roster declares, each read once in a process."""

    def __init__(self, roster: Roster) -> None:
        self._entries: dict[TablePlace, TableEntry] = {
            **{(PUBLISHED, name): entry for name, entry in roster.tables.items()},
            **{(TABLE, name): entry for name, entry in roster.own_tables.items()},
        }
        self._roster = roster
        self._read: dict[TablePlace, RawTable] = {}
        self._models: dict[TablePlace, list[str]] = {}
        self._sources: dict[TablePlace, dict[str, TableSource]] = {}
        self._added: dict[tuple[str, str], TableSource] = {}

    def check(self, settings: Settings) -> None:
        """Refuse subjects that no table has, and to record any.

        Raises BadSetting, UnknownName or BadData for the first name that will not do.
        """
        old = settings.baseline or ""
        for model in filter(is_tabled, (*settings.models, old)):
            if not self._experiments(model):
                raise self._unknown(model)
            if model != old and (settings.plan or settings.record != "none"):
                option = "--bias-plan" if settings.plan else f"--bias-record={settings.record}"
                problem = f"{model} is a table of what was recorded: nobody can be asked again"
                raise BadSetting(option=option, value=None, problem=problem)

    def named(self, name: str, experiment: Experiment) -> Mapping[str, TableSource] | None:
        """The replies in a table by the roster's name of it; None where there is no such name.

        Raises BadSetting when two have the name, or it is of another experiment, and BadData.
        """
        places = [place for place in self._entries if place[1] == name]
        words = " and ".join(map(_heading, places))
        if len(places) > 1:
            problem = f"{words} have this name; rename one"
        elif places and (of := self._entries[places[0]].experiment) != experiment.id:
            problem = f"{words} is of {of}, not of {experiment.id}"
        else:
            return self._checked(places[0], experiment) if places else None
        raise BadSetting(option="--table", value=name, problem=problem)

    def add(self, source: TableSource) -> None:
        """Add the replies of a table that no roster declares."""
        self._added[source.experiment.id, source.model] = source

    def of(self, experiment: Experiment, model: str) -> TableSource:
        """The replies of ``model`` to ``experiment``.

        Raises NotRecorded when no table has any, BadSetting when several have, and BadData with
        all problems of a table of the experiment's.
        """
        if (experiment.id, model) in self._added:
            return self._added[experiment.id, model]
        places = [p for p in self._places(model) if self._entries[p].experiment == experiment.id]
        checked = {place: self._checked(place, experiment) for place in places}
        found = {place: sources[model] for place, sources in checked.items() if model in sources}
        if len(found) > 1:
            names = " and ".join(map(_heading, found))
            problem = f"{names} both have replies of it to {experiment.id}; rename it in one"
            raise BadSetting(option="--bias-model", value=model, problem=problem)
        if found:
            return found.popitem()[1]
        if held := self._experiments(model):
            raise not_covered(model, experiment.id, held)
        raise self._unknown(model)

    def _places(self, model: str) -> list[TablePlace]:
        return [place for place in self._entries if place[0] == model.partition("/")[0]]

    def _experiments(self, model: str) -> list[str]:
        """The experiments whose tables name a model, or may, because a layout reads them."""
        found = set()
        for place in self._places(model):
            entry = self._entries[place]
            with suppress(BadData):
                if entry.layout is not None or model in self._models_in(place):
                    found.add(entry.experiment)
        return sorted(found)

    def _models_in(self, place: TablePlace) -> list[str]:
        """The models that a table names, its rows unchecked; none where a layout reads it."""
        entry = self._entries[place]
        if place not in self._models and entry.layout is None:
            table = self._table(place, "")
            column = model_column(table, entry)
            missing = missing_columns([("model", column)] if column else [], table)
            if missing or not table.rows:
                problems = table.problems or missing or [WrongCell(0, "", NO_ROWS)]
                raise wrong_table(_heading(place), entry.path, problems, table)
            names = [entry.word(column, row.cells.get(column)) for row in table.rows if column]
            found = filter(None, dict.fromkeys(names or [place[1]]))
            self._models[place] = [f"{place[0]}/{name}" for name in found]
        return self._models.get(place, [])

    def _checked(self, place: TablePlace, experiment: Experiment) -> dict[str, TableSource]:
        """Read and check the table that the roster declares at ``place``, once; by model."""
        if place not in self._sources:
            entry, heading = self._entries[place], _heading(place)
            table = self._table(place, pattern_of(experiment, entry))
            sources = sources_of(table, entry, experiment, place, self._roster, heading)
            self._sources[place], self._models[place] = sources, [*sources]
            self._read.pop(place)  # its rows are in the sources now
        return self._sources[place]

    def _table(self, place: TablePlace, pattern: str) -> RawTable:
        if place not in self._read:
            entry, folder = self._entries[place], self._roster.folder
            path = folder / entry.path
            table = opened(path, entry, pattern, folder)
            if not path.exists():
                words = f"there is no such file; put it there, or remove {_heading(place)}"
                table = replace(table, problems=(WrongCell(0, "", f"{words} from the roster"),))
            self._read[place] = table
        return self._read[place]

    def _unknown(self, model: str) -> UnknownName:
        """The error for a subject that no table has; raises that of a table that may have it."""
        section = model.partition("/")[0]
        known = [name for place in self._places(model) for name in self._models_in(place)]
        hint = f"a table is declared in the roster, as [{section}.NAME] (docs/tables.md)"
        kind = "published subject" if section == PUBLISHED else "subject of a table"
        return UnknownName(kind=kind, name=model, known=known, hint=hint)


def _heading(place: TablePlace) -> str:
    section, name = place
    return f"[{section}.{name}]"
