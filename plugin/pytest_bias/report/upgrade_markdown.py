"""An upgrade as Markdown, fit for a comment on a pull request; never a reply's text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ..baselines.table import (
    Upgrade,
    UpgradeRow,
    compared_words,
    counts_words,
    drift_words,
    notes_words,
    shipping_words,
    side_words,
)
from .escapes import terminal_line
from .upgrade_text import DRIFT_NOTE
from .view import SIMULATED_WARNING

_ACTIVE = re.compile(r"([\\`*_{}\[\]<>#|~@&!])")
"""What Markdown, HTML and a forge's mentions would take for more than a character."""
_HEAD = "| outcome | experiment | hypothesis | before | now | compared |"
_RULE = "|---|---|---|---|---|---|"


def upgrade_markdown(upgrade: Upgrade, but: str = "", reasons: Sequence[str] = ()) -> str:
    """Return the upgrade: what stops it in a short table, everything else behind a fold.

    ``but`` and ``reasons`` say what keeps it from passing beside its rows.
    """
    return "\n".join(_lines(upgrade, but, reasons)) + "\n"


def plain_markdown(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return _ACTIVE.sub(r"\\\1", terminal_line(" ".join(text.split())))


def _lines(upgrade: Upgrade, but: str, reasons: Sequence[str]) -> Iterator[str]:
    stopped, apart = upgrade.stopped, upgrade.apart
    new = ", ".join(upgrade.new)
    yield f"### {plain_markdown(f'{new} compared with {upgrade.held_against}')}"
    yield ""
    if upgrade.simulated:
        yield f"> {plain_markdown(SIMULATED_WARNING.format(', '.join(upgrade.simulated)))}"
        yield ""
    yield f"**{plain_markdown(shipping_words(upgrade, but))}**: {counts_words(upgrade)}."
    yield ""
    yield from (f"- {plain_markdown(reason)}" for reason in reasons)
    if reasons:
        yield ""
    if stopped:
        yield from _table(stopped)
        yield ""
    notes = notes_words(upgrade)
    yield from (f"- {plain_markdown(note)}" for note in notes)
    if notes:
        yield ""
    others = [row for row in apart if row not in stopped]
    unchanged = [row for row in upgrade.rows if row.outcome == "as before"]
    yield from _folded("Known, improved and not compared", others)
    yield from _folded("As before", unchanged)
    if upgrade.drift:
        yield "<details><summary>Drift in refusals, length and latency</summary>"
        yield ""
        for drift in upgrade.drift:
            where = plain_markdown(f"{drift.experiment} × {drift.new}")
            yield f"- {where}: {plain_markdown('; '.join(drift_words(drift)))}"
        yield ""
        yield plain_markdown(f"{DRIFT_NOTE[:1].upper()}{DRIFT_NOTE[1:]}.")
        yield ""
        yield "</details>"


def _folded(title: str, rows: Iterable[UpgradeRow]) -> Iterator[str]:
    rows = list(rows)
    if rows:
        yield f"<details><summary>{title} ({len(rows)})</summary>"
        yield ""
        yield from _table(rows)
        yield ""
        yield "</details>"
        yield ""


def _table(rows: Iterable[UpgradeRow]) -> Iterator[str]:
    yield _HEAD
    yield _RULE
    for row in rows:
        before = side_words(row.before) if row.before is not None else "–"
        asserted = f"{row.hypothesis}: {row.title}" if row.title else row.hypothesis
        cells = (
            *(row.outcome, row.experiment, asserted, before),
            *(side_words(row.now), compared_words(row) or "–"),
        )
        yield f"| {' | '.join(map(plain_markdown, cells))} |"
