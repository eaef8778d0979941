"""Two baseline files held against each other: accepted verdicts, without any recording."""

from __future__ import annotations

from pathlib import Path

from ..settings.model_names import answered_words
from .compare import BaselineDiffers, compare
from .gate import is_stopped
from .table import Upgrade, UpgradeRow, row_of, unasked_words, worst_first
from .upgrade import needed_baseline, unasked


def upgrade_of_files(old: Path, new: Path, *, today: str) -> tuple[Upgrade, tuple[str, ...]]:
    """The table from one file to another, and what could not be compared.

    What the old file accepts holds until its day. There is no drift: files keep no replies.

    Raises
    ------
    DamagedBaseline
        When one of them is not what was written.
    """
    before, now = needed_baseline(old), needed_baseline(new)
    rows: list[UpgradeRow] = []
    problems: list[str] = []
    for experiment, entries in sorted(now.verdicts.items()):
        for name, entry in sorted(entries.items()):
            named = (experiment, now.model, name)
            was = before.entry(experiment, name)
            try:
                compared = compare(named, entry, was, today=today)
            except BaselineDiffers as differs:
                problems.append(str(differs))
                continue
            if entry.claim != "describe":
                stops = is_stopped(entry.status, entry.claim)
                rows.append(row_of(named, entry, was, compared, stops=stops))
    there = {(experiment, name) for experiment, names in now.verdicts.items() for name in names}
    problems += unasked_words(unasked(before, there), before.model, new.name)
    simulated = {each.model for each in (before, now) if each.simulated}
    answered = [(each.model, served) for each in (before, now) for served in each.served]
    return (
        Upgrade(
            old=before.model,
            new=(now.model,),
            file=True,
            rows=worst_first(rows),
            notes=answered_words(answered),
            simulated=tuple(sorted(simulated)),
        ),
        tuple(problems),
    )
