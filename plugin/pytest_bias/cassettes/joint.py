"""Joining cassettes that several processes recorded into one of each experiment and model."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from ..errors import Unfinished
from ..settings.model_names import model_of
from .files import refuse_links, remove_leftovers
from .places import SUFFIX, journals_of, packed_path
from .recorder import recording_lock
from .store import Cassette


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


def join(places: Sequence[Path], folder: Path, *, held: bool = False) -> list[Joined]:
    """Join the cassettes at ``places`` into those of ``folder``, which are made where none is.

    Nothing is written before all of them fit, and each is then replaced in one step; joining the
    same again changes nothing. Replies that stand only in the journal of a recording that was
    killed are joined as well. ``held`` is whether the caller holds the cassettes of ``folder``.

    Raises CassettesDiffer where two do not fit together. Raises Unfinished where a recording made
    anew has not come to its end, DamagedCassette, CassetteBusy, NotReadable or LinkedFile where
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
            if not held:
                locks.enter_context(recording_lock(target, stays=False))
            refuse_links(target, packed_path(target), *journals_of(target))
            remove_leftovers(target)
            joined.append((len(parts), *_joined(target, parts)))
        for _, cassette, _ in joined:
            place = cassette.place
            cassette.merge(place.parent.name, model_of(place.name.removesuffix(SUFFIX)))
        return [
            Joined(path=cassette.path, parts=parts, lines=len(cassette), added=added)
            for parts, cassette, added in joined
        ]


def _joined(target: Path, parts: Sequence[Path]) -> tuple[Cassette, int]:
    """The cassette at ``target`` with all ``parts`` in it, not yet written; how much is new."""
    whole = _finished(target)
    return whole, sum(whole.join(_finished(part)) for part in parts)


def _finished(place: Path) -> Cassette:
    cassette = Cassette(place)
    if cassette.unfinished:
        raise Unfinished(journal=cassette.rerecording_path)
    return cassette
