"""What is known of replies that others published, and what is not, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..verdicts.verdict import number_words

if TYPE_CHECKING:
    from ..experiments.records import CellCount, Published, Recording

NOT_KNOWN = "not known"


def published_facts(recording: Recording, published: Published) -> Iterator[tuple[str, str]]:
    """The facts of a table of published replies, each with its name."""
    yield "Published replies of", f"{published.source} (not recorded by this suite)"
    if published.note:
        yield "Note", published.note
    yield "Licence of the replies", published.licence
    yield "Table", f"{recording.cassette} ([published.{published.table}] of the roster)"
    yield "SHA-256 of the table", published.checksum
    yield "Rows used", str(published.rows)
    yield "Collected", _collected(recording)
    yield "Prompts, attempts, served model", f"{NOT_KNOWN}: the source's own, in its own words"
    if recording.judge is not None:
        yield "Judge", f"{recording.judge}, as the roster says"


def sizes(counts: tuple[CellCount, ...]) -> str:
    """How many trials there are of each condition, which the source decided."""
    trials = number_words(sum(count.planned for count in counts), "trial")
    cells = ", ".join(f"{count.condition} {count.planned}" for count in counts)
    return f"the source's own: {trials} ({cells})"


def _collected(recording: Recording) -> str:
    if not recording.oldest:
        return f"{NOT_KNOWN}: the table gives no time"
    undated = f"; {recording.undated} undated" if recording.undated else ""
    return f"{recording.oldest} to {recording.newest}{undated}"
