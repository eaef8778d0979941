"""Facts of a table's replies in words, and which facts are not known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..verdicts.wording import number_words

if TYPE_CHECKING:
    from ..experiments.records import CellCount, Published, Recording

NOT_KNOWN = "not known"


def published_facts(recording: Recording, published: Published) -> Iterator[tuple[str, str]]:
    """The facts of a table of replies, each with its name."""
    if published.source:
        yield "Published replies of", f"{published.source} (not recorded by this suite)"
    if published.collected_by:
        yield "Replies collected by", f"{published.collected_by} (not recorded by this suite)"
    elif not published.source:
        yield "Replies collected by", NOT_KNOWN
    if published.note:
        yield "Note", published.note
    if published.licence:
        yield "Licence of the replies", published.licence
    declared = f" ([{published.section}.{published.table}] of the roster)" * bool(published.table)
    yield "Table", f"{recording.cassette}{declared}"
    yield "SHA-256 of the table", published.checksum
    yield "Trials", f"{published.rows} rows used; {published.coverage}"
    yield "Collected", _collected(recording)
    served = ", ".join(recording.served)
    if served:
        yield "Answered by", f"{served}, as the source says"
    unknown = "Prompts, attempts" if served else "Prompts, attempts, served model"
    yield unknown, f"{NOT_KNOWN}: the source's own, in its own words"
    if recording.judge is not None:
        yield "Judge", f"{recording.judge}, as the roster says"


def tabled_words(published: Published) -> str:
    """``that others published``, or ``of a table``."""
    return "that others published" if published.section == "published" else "of a table"


def sizes(counts: tuple[CellCount, ...]) -> str:
    """Word the number of trials of each condition, which the source decided."""
    trials = number_words(sum(count.planned for count in counts), "trial")
    cells = ", ".join(f"{count.condition} {count.planned}" for count in counts)
    return f"the source's own: {trials} ({cells})"


def _collected(recording: Recording) -> str:
    if not recording.oldest:
        return f"{NOT_KNOWN}: the table gives no time"
    undated = f"; {recording.undated} undated" if recording.undated else ""
    return f"{recording.oldest} to {recording.newest}{undated}"
