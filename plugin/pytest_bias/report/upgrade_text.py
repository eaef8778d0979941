"""An upgrade in the terminal: counts, what is not as before, and what drifted."""

from __future__ import annotations

from collections.abc import Iterator

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
from .view import SIMULATED_WARNING

DRIFT_NOTE = (
    "drift, described and never gating; in brackets the difference with its 95 % interval over "
    "cells, * where that excludes none (one in twenty does by chance)"
)


def upgrade_lines(upgrade: Upgrade) -> Iterator[str]:
    """The lines of the summary, without a heading; those of what stops the upgrade first."""
    found = counts_words(upgrade) if upgrade.rows else "nothing could be compared"
    yield f"Compared with {upgrade.held_against}: {found}"
    several = len(upgrade.new) > 1
    for row in upgrade.apart:
        yield f"  {row_line(row, several=several)}"
    for note in notes_words(upgrade):
        yield f"  {note}"
    if upgrade.drift:
        yield f"  {DRIFT_NOTE}:"
    for drift in upgrade.drift:
        of = f" × {drift.new}" if several else ""
        yield f"    {drift.experiment}{of}: {'; '.join(drift_words(drift))}"


def row_line(row: UpgradeRow, *, several: bool) -> str:
    """One hypothesis: outcome, what it is, before → now, and how the two were compared."""
    model = f" × {row.model}" if several else ""
    before = side_words(row.before) if row.before is not None else "not there"
    held = compared_words(row)
    return (
        f"{row.outcome}: {row.experiment}{model}, {row.hypothesis}: {before} → "
        f"{side_words(row.now)}{f'; {held}' if held else ''}"
    )


def printed(upgrade: Upgrade, but: str = "") -> Iterator[str]:
    """The same on its own, where no section stands before it and no verdict of a run after it."""
    if upgrade.simulated:
        yield SIMULATED_WARNING.format(", ".join(upgrade.simulated))
        yield ""
    yield from upgrade_lines(upgrade)
    yield ""
    yield f"{shipping_words(upgrade, but)}."
