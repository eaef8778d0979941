"""The commands ``pytest-bias cassettes {list, verify, diff, prune}``: what recordings hold."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..cassettes.format import trial_id
from ..cassettes.packed import prune
from ..cassettes.places import PACKED_SUFFIX, SUFFIX, journals_of, packed_path
from ..cassettes.store import Cassette
from ..errors import BadSetting, BiasError
from ..experiments.design import Condition
from ..experiments.experiment import GATE, Experiment
from ..recording.holdings import Holdings, holdings
from ..settings.model_names import model_of
from ..workbench.configuration import configured
from ..workbench.recordings import Recordings
from ..workbench.suite import find_experiments
from . import tell, tell_json
from .paths import from_here, places_of

_NAMED = 6
_SAME, _REPLY, _REQUEST, _LEFT, _RIGHT = "same", "reply", "request", "only_a", "only_b"


# --- of a suite -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Shelf:
    """A cassette, and what it holds; ``problem`` says why it cannot be told."""

    place: Path
    cassette: Cassette | None
    held: Holdings | None
    problem: str = ""

    @property
    def row(self) -> dict[str, Any]:
        files = (self.place, packed_path(self.place), *journals_of(self.place))
        cassette, held = self.cassette, self.held
        days = cassette.days if cassette is not None else []
        header = cassette.header if cassette is not None else None
        model = header.model if header is not None else model_of(self.place.stem)
        return {
            "experiment": self.place.parent.name,
            "model": model,
            "trials": held.trials if held else None,
            "recorded": held.recorded if held else None,
            "missing": held.trials - held.recorded if held else None,
            "lost": held.lost if held else None,
            "lines": len(cassette) if cassette is not None else None,
            "unasked": len(held.unasked) if held else None,
            "oldest": days[0] if days else None,
            "newest": days[-1] if days else None,
            "bytes": sum(path.stat().st_size for path in files if path.is_file()),
            "form": self._form,
            "cassette": from_here(self.place if cassette is None else cassette.path),
            "problem": self.problem,
        }

    @property
    def _form(self) -> str:
        if self.cassette is None:
            return ""
        kept = "text" if self.cassette.keeps_text else "measures"
        packed = ", packed" if self.cassette.path.suffix == PACKED_SUFFIX else ""
        return f"{kept}{packed}{', not merged' if self.cassette.unmerged else ''}"


def _shelves(given: argparse.Namespace) -> list[_Shelf]:
    recordings = Recordings(configured(judge=given.judge))
    paths = given.paths or [recordings.settings.cassettes]
    places = dict.fromkeys(place for path in paths for place in places_of(path, begun=True))
    known = {each.id: each for each in find_experiments(given.suite)}
    return [_shelf(recordings, known, place.absolute(), given.design or GATE) for place in places]


def _shelf(
    recordings: Recordings, known: Mapping[str, Experiment], place: Path, design: str
) -> _Shelf:
    cassette = None
    try:
        cassette = Cassette(place)
        experiment = known.get(place.parent.name)
        if experiment is None:
            return _Shelf(place, cassette, None, "no experiment of the suite has this name")
        header = cassette.header
        model = header.model if header is not None else model_of(place.stem)
        players = recordings.players(experiment, model)
        held = holdings(experiment, players, cassette, experiment.design(design))
        return _Shelf(place, cassette, held)
    except BiasError as error:
        return _Shelf(place, cassette, None, str(error))


def _list(given: argparse.Namespace) -> int:
    rows = [shelf.row for shelf in _shelves(given)]
    status = int(any(row["problem"] for row in rows))
    if given.json:
        tell_json(rows)
        return status
    columns = ("experiment", "model", "trials", "recorded", "missing", "unasked")
    _table([*columns, "oldest", "bytes", "form"], rows)
    for row in rows:
        if row["problem"]:
            tell(f"{row['cassette']}: {row['problem']}", wrong=True)
    return status


def _table(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows under their columns; numbers to the right, what is not known as a dash."""
    cells = [[_cell(row[name]) for name in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    tell("  ".join(map(str.ljust, columns, widths)).rstrip())
    for row, line in zip(rows, cells, strict=True):
        put = [
            cell.rjust(width) if isinstance(row[name], int) else cell.ljust(width)
            for name, cell, width in zip(columns, line, widths, strict=True)
        ]
        tell("  ".join(put).rstrip())


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else "–" if value is None else str(value)


def _verify(given: argparse.Namespace) -> int:
    found = []
    for shelf in _shelves(given):
        problem = shelf.problem or _unasked_words(shelf)
        found.append({**shelf.row, "problem": problem})
    if given.json:
        tell_json(found)
    else:
        for row in found:
            words = f"{row['lines']:,} lines, whole and asked for" if row["lines"] else "empty"
            tell(f"{row['cassette']}: {row['problem'] or words}", wrong=bool(row["problem"]))
    return int(any(row["problem"] for row in found))


def _unasked_words(shelf: _Shelf) -> str:
    """Name what no design asks for, by condition; empty where there is none."""
    if shelf.held is None or shelf.cassette is None or not shelf.held.unasked:
        return ""
    lines: Iterator[Any] = shelf.cassette.recorded()
    unasked = (each for each in lines if each.key in shelf.held.unasked)
    counts = Counter(Condition(each.trial["condition"], {}).id for each in unasked)
    named = [f"{number:,} of {name}" for name, number in sorted(counts.items())]
    where = ", ".join([*named[:_NAMED], *[f"… ({len(named)} conditions)"] * (len(named) > _NAMED)])
    return (
        f"{len(shelf.held.unasked):,} of {len(shelf.cassette):,} lines no design asks for: {where}"
    )


def _prune(given: argparse.Namespace) -> int:
    rows, status = [], 0
    for shelf in _shelves(given):
        problem, words, aside = shelf.problem, _unasked_words(shelf), None
        if words and shelf.held is not None:
            removable = shelf.held.removable
            if given.yes:
                try:
                    aside = prune(shelf.place, removable)
                except BiasError as error:
                    problem = str(error)
                except OSError as error:
                    problem = f"it is left as it is: {error.strerror or error}"
            number = f"{len(removable):,}" if removable else "none"
            done = f"{number} removed, and {aside.name} is the file as it was" if aside else ""
            words += f"; {done or f'--yes removes {number}'}"
            if stay := len(shelf.held.unasked - removable):
                words += f"; {stay:,} stay, as their trials are not recorded whole"
        rows.append({**shelf.row, "problem": problem, "copy": aside and from_here(aside)})
        status = 2 if problem else status
        if not given.json and (problem or words):
            tell(f"{rows[-1]['cassette']}: {problem or words}", wrong=bool(problem))
    if given.json:
        tell_json(rows)
    elif not any(row["unasked"] or row["problem"] for row in rows):
        tell(f"{len(rows)} cassettes: every line is asked for")
    return status


# --- two recordings ---------------------------------------------------------------------------


def _diff(given: argparse.Namespace) -> int:
    sides = [_by_name(path) for path in (given.a, given.b)]
    if given.a.is_dir() != given.b.is_dir():
        problem = f"a folder is held against a folder, a cassette against a cassette ({given.a})"
        raise BadSetting(option="B", value=given.b, problem=problem)
    rows = []
    for name in sorted({*sides[0], *sides[1]}):
        one, other = (_told(side[name]) if name in side else {} for side in sides)
        counts: dict[str, Counter[str]] = {}
        for place in {*one, *other}:
            counts.setdefault(place[0], Counter())[_change(one.get(place), other.get(place))] += 1
        for condition, number in sorted(counts.items()):
            columns = (_SAME, _REPLY, _REQUEST, _LEFT, _RIGHT)
            rows.append(
                {"cassette": name, "condition": condition, **{c: number[c] for c in columns}}
            )
    if given.json:
        tell_json(rows)
    else:
        _table(["cassette", "condition", _SAME, _REPLY, _REQUEST, _LEFT, _RIGHT], rows)
    changed = (_REPLY, _REQUEST, _LEFT, _RIGHT)
    return int(any(row[column] for row in rows for column in changed))


def _by_name(path: Path) -> dict[str, Path]:
    """The places a path stands for; of a folder by experiment and file, else under one name."""
    places = [place.absolute() for place in places_of(path)]
    if path.is_dir():
        return {f"{p.parent.name}/{p.name.removesuffix(SUFFIX)}": p for p in places}
    return {places[0].parent.name: places[0]}


_Told = tuple[object, object]


def _told(place: Path) -> dict[tuple[str, str, object], _Told]:
    """By condition, trial and place in it: what was asked, and what was replied or measured."""

    def rows() -> Iterator[tuple[Mapping[str, Any], object, _Told]]:
        cassette = Cassette(place)
        for each in cassette.interactions():
            asked = (each.messages, str(dict(each.parameters)), each.schema)
            yield each.trial, each.place, (asked, each.completion.text)
        for one in cassette.measured_trials():
            yield one.trial, (), ((), (dict(one.values), one.missing))

    return {
        (Condition(trial["condition"], {}).id, trial_id(trial), at): told
        for trial, at, told in rows()
    }


def _change(one: _Told | None, other: _Told | None) -> str:
    if one is None or other is None:
        return _RIGHT if one is None else _LEFT
    if one[1] == other[1]:
        return _SAME if one[0] == other[0] else _REQUEST
    return _REPLY if one[0] == other[0] else _REQUEST
