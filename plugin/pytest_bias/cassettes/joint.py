"""Cassettes as files at rest: those of several processes joined into one, and one pruned."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from ..errors import FileProblem
from ..settings.model_names import model_of
from .files import is_there, kept_aside, refuse_links, remove_leftovers
from .recorder import recording_lock
from .store import Cassette, journals_of, packed_path, write_cassette


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """A cassette into which ``parts`` others were joined.

    ``lines`` stand in it now: interactions, or trials of which only measures are kept; ``added``
    of them are new.
    """

    path: Path
    parts: int
    lines: int
    added: int


def join(places: Sequence[Path], folder: Path) -> list[Joined]:
    """Join the cassettes at ``places`` into those of ``folder``, which are made where none is.

    Nothing is written before all of them fit, and each is then replaced in one step; joining the
    same again changes nothing. Replies that stand only in the journal of a recording that was
    killed are joined as well.

    Raises FileProblem where two do not fit together or a recording made anew has not come to its
    end. Raises DamagedCassette or FileProblem where
    one of them cannot be read or written.
    """
    found: dict[Path, list[Path]] = {}
    for place in places:
        target = folder / place.parent.name / place.name
        parts = found.setdefault(target, [])
        if place.resolve() != target.resolve():
            parts.append(place)
    with ExitStack() as locks:
        joined = []
        for target, parts in sorted(found.items()):
            locks.enter_context(recording_lock(target, stays=False))
            refuse_links(target, packed_path(target), *journals_of(target))
            remove_leftovers(target)
            whole = _finished(target)
            joined.append((len(parts), whole, sum(whole.join(_finished(part)) for part in parts)))
        for _, cassette, _ in joined:
            place = cassette.place
            cassette.merge(place.parent.name, model_of(place.stem))
        return [
            Joined(path=cassette.path, parts=parts, lines=len(cassette), added=added)
            for parts, cassette, added in joined
        ]


def _finished(place: Path) -> Cassette:
    cassette = Cassette(place)
    if cassette.unfinished:
        raise cassette.unfinished_error()
    return cassette


def prune(place: Path, keys: frozenset[str]) -> Path:
    """Remove ``keys`` from the cassette at ``place``; the copy that is kept of it as it was.

    Raises FileProblem where a recording of it has not come to its end, or nothing would be
    removed or left. Raises FileProblem or DamagedCassette where it cannot be read or
    written.
    """
    with recording_lock(place, stays=False):
        for journal, mode in zip(journals_of(place), ("missing", "all"), strict=True):
            if is_there(journal):
                problem = (
                    f"is left as it is: {journal.name} beside it is left of a recording that has "
                    f"not come to its end; finish that with --bias-record={mode}"
                )
                raise FileProblem(path=place, problem=problem)
        refuse_links(place, packed_path(place))
        cassette = Cassette(place)
        header = cassette.header
        if header is None or not keys or not cassette.keys - keys:
            problem = (
                "is left as it is: what no design asks for in it is of trials that are not "
                "recorded whole, and what else those ask nobody knows; record what is missing "
                "(--bias-record=missing), or give the suite, the judge and the roster it was "
                "recorded with"
                if not keys
                else "is left as it is: no design asks for anything in it, so the suite, the "
                "judge or the roster is another than it was recorded with; remove the "
                "file yourself if you mean it"
            )
            raise FileProblem(path=cassette.path, problem=problem)
        aside = kept_aside(cassette.path, "before")
        cassette.without(keys)
        write_cassette(cassette, header.experiment, header.model, header.provenance)
        return aside
