"""An upgrade as the terminal and Markdown tell it: what stops it, in which words, and the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..baselines.entries import Claimed
from ..baselines.gate import Change
from ..baselines.noninferiority import grown_words
from ..verdicts.analysis import Analysis
from ..verdicts.verdict import Verdict
from .upgrade_table import WORST_FIRST, Observed, Upgrade, UpgradeRow
from .view import simulated_words

_ALWAYS: tuple[Change, ...] = ("improved", "as before", "known", "undecided", "new", "worse")
"""Outcomes that are counted even where there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A hypothesis as it is told of, ``under`` its experiment (and model, where there are more).

    ``word`` is its verdict or how it compares, ``why`` what decided, ``beneath`` what else must
    be known of it, a line each.
    """

    under: str
    word: str
    id: str
    title: str
    why: str
    beneath: tuple[str, ...] = ()


def upgrade_heading(upgrade: Upgrade, but: str) -> tuple[str, str]:
    """Say what to do in capitals, '' where that is open, and why; ``but`` as in shipping_words.

    Of several new models those are named that something stops, if any.
    """
    stopped = {row.model for row in upgrade.stopped}
    told = [model for model in upgrade.new if model in stopped] or upgrade.new
    models = f"{', '.join(told)} for {upgrade.held_against}"
    word = closing_words(upgrade, but).partition(":")[0]
    return word, f"{models}: {shipping_words(upgrade, but)}"


def closing_words(upgrade: Upgrade, but: str) -> str:
    """``DO NOT SHIP: 4 worse, 7 new``, or that it may be shipped; '' where nothing says either."""
    if upgrade.stopped:
        return f"DO NOT SHIP: {_counted(upgrade.stopped)}"
    if but or not upgrade.rows:
        return ""
    return f"MAY SHIP: nothing new or worse stops it; {_counted(upgrade.rows)}"


def _counted(rows: Iterable[UpgradeRow]) -> str:
    found = Counter(row.outcome for row in rows)
    return ", ".join(f"{found[outcome]} {outcome}" for outcome in WORST_FIRST if found[outcome])


def counts_words(upgrade: Upgrade) -> str:
    """``3 improved, 60 as before, 9 known, 0 undecided, 2 new, 1 worse``; others if any."""
    found = Counter(row.outcome for row in upgrade.rows)
    named = dict.fromkeys([*_ALWAYS, *(each for each in WORST_FIRST if found[each])])
    return ", ".join(f"{found[outcome]} {outcome}" for outcome in named)


def shipping_words(upgrade: Upgrade, but: str = "") -> str:
    """Say if anything stops the upgrade, in a sentence without its full stop.

    ``but`` says what else keeps it from passing: no table is a reason to ship where that is more
    than nothing.
    """
    number = len(upgrade.stopped)
    if number:
        return f"{number} hypothes{'is stops' if number == 1 else 'es stop'} this upgrade"
    if not upgrade.rows:
        return "Nothing was compared"
    if but:
        return f"No hypothesis stops this upgrade, but {but}"
    if number := len(upgrade.open):
        is_ = "is" if number == 1 else "are"
        return f"Nothing stops this upgrade, but {number} {is_} not shown to be no worse"
    return "Nothing stops this upgrade"


def hint_words(upgrade: Upgrade) -> str:
    """Say how to hold the next version to what is improved; '' where it is too early for that."""
    improved = {row.model for row in upgrade.rows if row.outcome == "improved"}
    if upgrade.stopped or not improved:
        return ""
    models = " and ".join(model for model in upgrade.new if model in improved)
    after = f" --bias-baseline={upgrade.old}"
    said = f"to hold the next version to what is improved, accept {models}"
    own = not upgrade.file or upgrade.old in upgrade.new
    return f"{said}: --bias-accept{'' if own else after}"


def notes_words(upgrade: Upgrade) -> tuple[str, ...]:
    """Give what else is to be said: the hint, then its notes."""
    hint = hint_words(upgrade)
    return (*((hint,) if hint else ()), *upgrade.notes)


def unasked_words(found: Iterable[Claimed], old: str, where: str) -> tuple[str, ...]:
    """Name what was accepted or recorded of ``old`` and is not asked again, by experiment."""
    by_experiment: dict[str, list[str]] = {}
    for experiment, name in found:
        by_experiment.setdefault(experiment, []).append(name)
    return tuple(
        f"{experiment}: accepted of {old} and not in {where}: {', '.join(claims)}. Nothing shows "
        f"that there it is no worse: ask it again, or accept {old} anew with this suite "
        f"(--bias-model={old} --bias-accept)"
        if (claims := [name for name in names if name])
        else f"{experiment}: recorded of {old} and not in {where}. Nothing shows that there it is "
        "no worse: check the experiment out, or, where it is retired or another suite's, move its "
        "recordings elsewhere"
        for experiment, names in by_experiment.items()
    )


def uncompared_words(upgrade: Upgrade) -> tuple[str, ...]:
    """That nothing was held against anything, where it was not: to judge is not to compare."""
    if any(row.before is not None for row in upgrade.rows):
        return ()
    return (f"nothing could be compared: {upgrade.old} has no verdict on what is asked here",)


def upgrade_rows(upgrade: Upgrade, rows: Iterable[UpgradeRow]) -> tuple[Row, ...]:
    """Rows of an upgrade as they are told of."""
    return tuple(
        Row(
            under=named(row, upgrade.new),
            word=row.outcome,
            id=row.hypothesis,
            title=row.title,
            why=why_words(row),
        )
        for row in rows
    )


def upgrade_notes(upgrade: Upgrade) -> Iterator[str]:
    """Count the outcomes, and name what cannot be compared."""
    yield counts_words(upgrade) if upgrade.rows else "nothing could be compared"
    yield from notes_words(upgrade)


def why_words(row: UpgradeRow) -> str:
    """``CLEAR → BIASED  +0.47, 95 % [+0.39, +0.54], allowed ±0.25``: what decided."""
    now, before = row.now, row.before
    stops = " (does not stop it)" if row.is_open and not row.fails else ""
    allowed = f", allowed {row.margin}" if row.margin else ""
    if before is None:
        return f"{side_words(now)}{allowed}, nothing to hold it against{stops}"
    change = f"{before.label} → {now.label}  " if before.label != now.label else ""
    if row.outcome == "new":
        change = change or f"{now.label} as before  "
        return f"{change}{now.shown}{allowed}{_why_new(row)}{stops}"
    was, is_ = (side.shown.partition(",")[0] for side in (before, now))
    moved = f"{was} → {is_}  " if was or is_ else ""
    return f"{change}{moved}{_why(row)}{stops}".rstrip()


def _why_new(row: UpgradeRow) -> str:
    """Say why what is BIASED or INCONCLUSIVE now is new."""
    assert row.before is not None  # noqa: S101  (else it were not in the baseline)
    if row.before.status == row.now.status:
        return ", and nobody accepted that"
    return "" if row.now.status == "BIASED" else ", no longer shown to be clear"


def _why(row: UpgradeRow) -> str:
    """Give by how much it may have grown, where that decided; else what did, in a sentence."""
    compared, (bound, margin) = row.compared, bound_words(row)
    if compared is None or not bound or row.outcome == "expired":
        return row.said
    assert compared.bound is not None  # noqa: S101  (it has words)
    assert compared.margin is not None  # noqa: S101
    beyond = compared.bound >= compared.margin
    if row.is_open:
        # Where the whole is no worse, a cell is, or replies are not to be trusted: said in words.
        if compared.no_worse or not beyond:
            return row.said
        grew = "grew by" if row.outcome == "worse" else "may have grown by"
    elif beyond:
        # What it shows by itself decided, whatever the comparison does.
        if row.said or row.before is None:
            return row.said
        alike = "before and now" if row.before.label == row.now.label else "now"
        grew = f"{row.now.label} {alike}; may be larger by"
    elif compared.bound < 0:
        return "smaller"
    else:
        grew = "grew, if at all, by"
    return f"{grew} up to {bound.lstrip('+')}, allowed {margin}"


def side_words(side: Observed) -> str:
    """``BIASED -0.25 [-0.29, -0.20]``."""
    return f"{side.label} {side.shown}".rstrip()


def bound_words(row: UpgradeRow) -> tuple[str, str]:
    """Word the most an effect is larger by, and how much is allowed; of ratios as factors.

    Below 0, or a factor below 1, it is shown to be smaller. Both are empty where there is no
    bound.
    """
    compared = row.compared
    if compared is None or compared.bound is None or compared.margin is None:
        return "", ""
    if row.scale == "ratio":
        bound, margin = grown_words(compared.bound, compared.margin, ratio=True)
        return f"a factor of {bound}", margin
    return grown_words(compared.bound, compared.margin, ratio=False)


def printed(upgrade: Upgrade, but: str = "") -> Iterator[str]:
    """The lines of an upgrade on its own, where no run stands beside it."""
    rows = upgrade_rows(upgrade, upgrade.apart)
    yield "  ".join(filter(None, upgrade_heading(upgrade, but)))
    yield from row_lines(rows)
    yield from ("", *(f"  {line}" for line in upgrade_notes(upgrade)), "")
    if upgrade.simulated:
        yield simulated_words(upgrade.simulated)
    yield closing_words(upgrade, but) or f"{shipping_words(upgrade, but)}."


def row_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Rows in columns below what they stand under, each with what belongs beneath it."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.under, []).append(row)
    for name, own in groups.items():
        yield from ("", f"  {name}")
        told = [(row.word, row.id, row.why) for row in own]
        for row, line in zip(own, padded_rows(told, indent=4), strict=True):
            yield line
            yield from (f"      {words}" for words in row.beneath)


def named(of: Analysis | Verdict | UpgradeRow, models: Sequence[str]) -> str:
    """Name an experiment, and its model where there are several."""
    return f"{of.experiment} × {of.model}" if len(models) > 1 else of.experiment


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
