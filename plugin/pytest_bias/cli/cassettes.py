"""The commands ``pytest-bias cassettes {verify, join, prune, convert}``: recordings as files."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from os.path import realpath
from pathlib import Path

from ..cassettes.files import is_there, unread
from ..cassettes.format import condition_id, trial_id
from ..cassettes.maintenance import convert, join, prune
from ..cassettes.store import PACKED_SUFFIX, SUFFIX, Cassette, begun_in, packed_path, place_of
from ..errors import BadDesign, BadSetting, BiasError, FileProblem
from ..experiments.experiment import Experiment, Players, plan_all
from ..recording.plan import every_trial, held_of
from ..settings.model_names import model_of
from ..workbench.configuration import configured
from ..workbench.recordings import Recordings
from ..workbench.suite import find_experiments
from . import from_here, tell, tell_json

_NAMED = 6
_BETWEEN = "--"  # <provider>--<model>
_ENDS = (SUFFIX, SUFFIX + PACKED_SUFFIX)


def _join(given: argparse.Namespace) -> int:
    paths = dict.fromkeys(each for path in given.paths for each in cassettes_of(path))
    try:
        joined = join([path.absolute() for path in paths], given.into.absolute())
    except OSError as error:
        problem = error.strerror or str(error)
        raise BadSetting(option="--into", value=given.into, problem=problem) from None
    if given.json:
        rows = [
            {"path": from_here(e.path), "parts": e.parts, "lines": e.lines, "added": e.added}
            for e in joined
        ]
        tell_json(rows)
        return 0
    for each in joined:
        tell(
            f"{from_here(each.path)}: {each.lines:,} lines, {each.added:,} of them new, from "
            f"{each.parts} {'cassette' if each.parts == 1 else 'cassettes'}"
        )
    return 0


def _convert(given: argparse.Namespace) -> int:
    for place in dict.fromkeys(place for path in given.paths for place in cassettes_of(path)):
        words = "converted" if convert(place.absolute()) else "is in the current format"
        tell(f"{from_here(place)}: {words}")
    return 0


@dataclass(frozen=True, slots=True)
class Unasked:
    """What no trial of any design asks for today, and none of further replicates.

    ``conditions`` has the condition of each such line by key. The ``removable`` ones stand in no
    trial that lacks something: what that goes on to ask nobody knows.
    """

    conditions: Mapping[str, str]
    removable: frozenset[str]


NOTHING_UNASKED = Unasked({}, frozenset())


def unasked_in(experiment: Experiment, players: Players, cassette: Cassette) -> Unasked:
    """Return what stands in ``cassette`` and ``experiment`` does not ask for, replayed in memory.

    Raises FileProblem where text stands that may not. Raises BadDesign where the author's own code
    fails: then nobody knows what a trial would go on to ask.
    """
    lacking: set[str] = set()
    asked: set[str] = set()
    designed = {trial.id for trial in plan_all(experiment)}
    for trial in every_trial(experiment, cassette):
        found = held_of(experiment, players, trial, cassette)
        if found.error is not None and trial.id in designed:
            problem = f"fails with {type(found.error).__name__}: {found.error}"
            what = f"{experiment.id}, trial {trial.id}"
            raise BadDesign(what=what, problem=problem) from found.error
        asked.update(found.uses)
        if (not found.whole or found.error is not None) and (trial.id in designed or lacking):
            # Where all that a design has is whole, further replicates that ask otherwise are old.
            lacking.add(trial.id)
    lines = cassette.recorded() if cassette.keys - asked else ()
    unasked = {each.key: each.trial for each in lines if each.key not in asked}
    return Unasked(
        {key: condition_id(trial) for key, trial in unasked.items()},
        frozenset(key for key, trial in unasked.items() if trial_id(trial) not in lacking),
    )


@dataclass(frozen=True, slots=True)
class _Held:
    """A cassette beside its suite; ``problem`` says why the two cannot be compared."""

    place: Path
    path: Path
    lines: int = 0
    unasked: Unasked = NOTHING_UNASKED
    problem: str = ""

    @property
    def words(self) -> str:
        """What no design asks for, by condition; empty where there is none."""
        found = Counter(self.unasked.conditions.values())
        if not found:
            return ""
        named = [f"{number:,} of {condition}" for condition, number in sorted(found.items())]
        more = [f"… ({len(named)} conditions)"] * (len(named) > _NAMED)
        return (
            f"{found.total():,} of {self.lines:,} lines no design asks for: "
            f"{', '.join([*named[:_NAMED], *more])}"
        )


def _all_held(given: argparse.Namespace) -> list[_Held]:
    recordings = Recordings(configured(judge=given.judge))
    known = {each.id: each for each in find_experiments(given.suite)}
    paths = given.paths or [recordings.settings.cassettes]
    places = dict.fromkeys(place.absolute() for path in paths for place in cassettes_of(path))
    return [_held_at(place, recordings, known) for place in places]


def _held_at(place: Path, recordings: Recordings, known: Mapping[str, Experiment]) -> _Held:
    held = _Held(place, place)
    try:
        cassette = Cassette(place)
        held = replace(held, path=cassette.path, lines=len(cassette))
        experiment = known.get(place.parent.name)
        if experiment is None:
            return replace(held, problem="no experiment of the suite has this name")
        header = cassette.header
        model = header.model if header is not None else model_of(place.stem)
        players = recordings.players(experiment, model)
        return replace(held, unasked=unasked_in(experiment, players, cassette))
    except BiasError as error:
        return replace(held, problem=str(error))


def _verify(given: argparse.Namespace) -> int:
    wrong = False
    for held in _all_held(given):
        problem = held.problem or held.words
        words = f"{held.lines:,} lines, whole and asked for" if held.lines else "empty"
        tell(f"{from_here(held.path)}: {problem or words}", wrong=bool(problem))
        wrong |= bool(problem)
    return int(wrong)


def _prune(given: argparse.Namespace) -> int:
    status, found = 0, _all_held(given)
    for held in found:
        problem, words, removable = held.problem, held.words, held.unasked.removable
        if words:
            number = f"{len(removable):,}" if removable else "none"
            done = f"--yes removes {number}"
            if given.yes:
                try:
                    aside = prune(held.place, removable)
                    done = f"{number} removed, and {aside.name} is the file as it was"
                except BiasError as error:
                    problem = str(error)
                except OSError as error:
                    problem = f"it is left as it is: {error.strerror or error}"
            words += f"; {done}"
            if stay := len(held.unasked.conditions) - len(removable):
                words += f"; {stay:,} stay, as their trials are not recorded whole"
        if problem or words:
            tell(f"{from_here(held.path)}: {problem or words}", wrong=bool(problem))
        status = 2 if problem else status
    if not any(held.problem or held.unasked.conditions for held in found):
        tell(f"{len(found)} cassettes: every line is asked for")
    return status


def cassettes_of(given: Path) -> Iterator[Path]:
    """Yield the paths of the cassettes in a path, those of which only a journal is there too.

    Raises FileProblem where there is none, and NotReadable for a folder that cannot be read.
    """
    if is_there(given) and given.is_dir():
        found = [
            place
            for folder in _folders(given)
            for place in begun_in(folder)
            if _BETWEEN in place.name
        ]
        if not found:
            raise FileProblem(path=given, problem="is no cassette, and holds none this folder")
        yield from found
        return
    if not (given.name.endswith(_ENDS) and _BETWEEN in given.name):
        problem = f"is no cassette: those are <provider>{_BETWEEN}<model>{SUFFIX} (or …{_ENDS[1]})"
        raise FileProblem(path=given, problem=problem)
    place = place_of(given)
    if not (is_there(place) or is_there(packed_path(place))):
        raise FileProblem(path=given, problem="is no cassette: there is no such file")
    yield place


def _folders(path: Path) -> Iterator[Path]:
    """Yield a folder and all below it, through links as well: each once, links last."""

    def refuse(error: OSError) -> None:
        raise unread(Path(error.filename), error) from None

    seen, tops = set[str](), [path]
    for top in tops:
        for name, below, _ in os.walk(top, onerror=refuse):
            if (real := realpath(name)) in seen:
                below.clear()
                continue
            seen.add(real)
            below.sort()
            tops += [link for each in below if (link := Path(name, each)).is_symlink()]
            yield Path(name)
