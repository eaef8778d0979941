"""Damaged journals: what is intact of one goes on, and the file as it was is kept beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from ..experiments.canonical import digest
from ..experiments.design import Condition, Trial
from .files import is_there, read_file, refuse_links, write_atomically
from .format import encode_scope
from .intact_lines import damaged_journal, sifted, spoilt_words
from .places import REJOURNAL_SUFFIX, content, journals_of
from .store import Cassette

DAMAGED_SUFFIX = ".damaged-"
"""Of a journal that is set aside; it and a part of the file's digest add to the journal's name."""


def salvage(place: Path, *, anew: bool) -> list[str]:
    """Have the intact lines of damaged journals stand in their place; says what became of each.

    Only for who holds the cassette's lock, and is about to record what is lost. ``anew`` is
    whether everything is recorded anew.

    Raises DamagedCassette when no reply of a journal is intact: it may be something else
    altogether.
    """
    journals = journals_of(place)[: 2 if anew else 1]
    return [said for journal in journals if is_there(journal) and (said := _mended(journal))]


def _mended(journal: Path) -> str:
    whole, end, _ = content(journal).rpartition(b"\n")
    found = sifted(whole + end)
    if not found.spoilt:
        return ""
    if not found.replies:
        raise damaged_journal(journal, found)
    lines = list(found.lines)
    if found.unscoped and journal.name.endswith(REJOURNAL_SUFFIX):
        # Nobody knows any more what was to be replaced as a whole: all of the old recording then.
        place = journal.with_name(journal.name.removesuffix(REJOURNAL_SUFFIX))
        lines.append(encode_scope(_recorded(Cassette(place))))
    refuse_links(journal)
    before = read_file(journal) or b""
    aside = journal.with_name(f"{journal.name}{DAMAGED_SUFFIX}{digest(before)[:8]}")
    write_atomically(aside, before)
    write_atomically(journal, (line + b"\n" for line in lines))
    return (
        f"{journal.name}: {spoilt_words(found)} damaged and do not count, so what stood there is "
        f"recorded again; the {found.replies} replies on the others count. The file as it was is "
        f"kept as {aside.name}"
    )


def _recorded(cassette: Cassette) -> Iterator[str]:
    """The ids of all trials of which anything is recorded."""
    known: Iterable[Any] = (*cassette.interactions(), *cassette.measured_trials())
    for each in known:
        trial = cast("dict[str, Any]", each.trial)
        condition = Condition(trial["condition"], {})
        yield Trial(condition, trial["exemplars"], trial["item"], replicate=trial["replicate"]).id
