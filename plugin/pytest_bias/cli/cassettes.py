"""The commands ``pytest-bias cassettes {verify, join, prune}``: recordings as files."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ..cassettes.joint import join, prune
from ..cassettes.store import Cassette
from ..cli import tell, tell_json
from ..errors import BadSetting, BiasError
from ..experiments.experiment import Experiment
from ..recording.holdings import NOTHING_UNASKED, Unasked, unasked_in
from ..settings.model_names import model_of
from ..workbench.configuration import configured
from ..workbench.recordings import Recordings
from ..workbench.suite import find_experiments
from .paths import from_here, places_of

_NAMED = 6


def _join(given: argparse.Namespace) -> int:
    places = dict.fromkeys(place for path in given.paths for place in places_of(path))
    try:
        joined = join([place.absolute() for place in places], given.into.absolute())
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
    places = dict.fromkeys(place.absolute() for path in paths for place in places_of(path))
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
