"""An upgrade in the terminal: what stops it, or every row; how the old model compares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from ..baselines.table import (
    DRIFT_NOTE,
    Upgrade,
    UpgradeRow,
    bound_words,
    compared_words,
    counts_words,
    drift_words,
    notes_words,
    shipping_words,
    side_words,
)
from ..verdicts.analysis import Analysis
from ..verdicts.drift import Drift
from ..verdicts.verdict import Verdict
from .view import simulated_words


def stopping_lines(upgrade: Upgrade, but: str) -> Iterator[str]:
    """Name what stops an upgrade, and what may have got worse, then the counts of the rest."""
    several = len(upgrade.new) > 1
    word = "DO NOT SHIP  " if upgrade.stopped else ""
    models = f"{', '.join(upgrade.new)} for {upgrade.held_against}"
    yield f"{word}{models}: {shipping_words(upgrade, but)}"
    for name, rows in grouped(upgrade.open, several=several):
        yield from ("", f"  {name}")
        told = [(row.outcome, row.hypothesis, why_words(row)) for row in rows]
        for row, line in zip(rows, padded_rows(told, indent=4), strict=True):
            yield line
            yield from [f"      {row.decides}"] if row.decides else ()
    yield from ("", f"  {counts_words(upgrade) if upgrade.rows else 'nothing could be compared'}")
    yield from (f"  {note}" for note in notes_words(upgrade))
    for drift in upgrade.drift:
        changed = [words.partition(" (")[0] for words in drift_words(drift) if words[-1:] == "*"]
        if changed:
            yield f"  replies changed: {named(drift, several=several)}: {', '.join(changed)}"


def why_words(row: UpgradeRow) -> str:
    """``CLEAR → BIASED  +0.47, 95 % [+0.39, +0.54], allowed ±0.25``: what decided."""
    now, before, stops = row.now, row.before, "" if row.fails else " (does not stop it)"
    if before is None:
        return f"{side_words(now)}, nothing to hold it against{stops}"
    if row.outcome == "new":
        allowed = f", allowed {row.margin}" if row.margin else ""
        why = "" if now.status == "BIASED" else ", no longer shown to be clear"
        return f"{before.label} → {now.label}  {now.shown}{allowed}{why}{stops}"
    was, is_ = (side.shown.partition(",")[0] for side in (before, now))
    change = f"{before.label} → {now.label}  " if before.label != now.label else ""
    bound, margin = bound_words(row)
    grew = "grew by" if row.outcome == "worse" else "may have grown by"
    # Where the whole is no worse, a cell is, or replies are not to be trusted: said in words.
    by_bound = bound and row.compared is not None and not row.compared.no_worse
    why = f"{grew} up to {bound.lstrip('+')}, allowed {margin}" if by_bound else row.said
    return f"{change}{was} → {is_}  {why}{stops}"


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
    said = "; ".join(filter(None, (side_words(row.now), compared_words(row), row.decides)))
    return f"{row.outcome}: {row.experiment}{model}, {row.hypothesis}: {before} → {said}"


def printed(upgrade: Upgrade, but: str = "") -> Iterator[str]:
    """The same on its own, where no section stands before it and no verdict of a run after it."""
    if upgrade.simulated:
        yield simulated_words(upgrade.simulated)
        yield ""
    yield from upgrade_lines(upgrade)
    yield ""
    yield f"{shipping_words(upgrade, but)}."


_N = TypeVar("_N", Verdict, UpgradeRow)


def grouped(every: Sequence[_N], *, several: bool) -> Iterator[tuple[str, list[_N]]]:
    """Group by experiment, and by model where there are ``several``, in the order they come."""
    groups: dict[str, list[_N]] = {}
    for each in every:
        groups.setdefault(named(each, several=several), []).append(each)
    yield from groups.items()


def named(of: Analysis | Verdict | UpgradeRow | Drift, *, several: bool) -> str:
    """Name an experiment, and its model where there are ``several``."""
    model = of.new if isinstance(of, Drift) else of.model
    return f"{of.experiment} × {model}" if several else of.experiment


def padded_rows(
    rows: Iterable[tuple[str, ...]], *, indent: int = 2, right: int = 99
) -> Iterator[str]:
    """Rows in columns, those from ``right`` on to the right."""
    held = list(rows)
    widths = [max(map(len, column)) for column in zip(*held, strict=True)]
    for row in held:
        cells = (
            cell.rjust(width) if place >= right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield f"{' ' * indent}{'  '.join(cells).rstrip()}"
