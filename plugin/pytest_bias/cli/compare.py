"""The command ``pytest-bias compare``: an upgrade from one baseline file to another."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..baselines.accepted import needed_baseline
from ..baselines.entries import is_stopped
from ..baselines.gate import BaselineDiffers, compare
from ..errors import BadSetting
from ..experiments.canonical import plain
from ..report.ci import upgrade_markdown
from ..report.terminal import printed
from ..report.upgrade_table import Upgrade, UpgradeRow, row_of, worst_first
from ..report.wording import unasked_words, uncompared_words
from ..settings.model_names import answered_words
from ..settings.settings import names_file
from ..workbench.configuration import today
from . import check_apart, tell, tell_json, write

FORMAT = 2
"""Of the JSON that is printed."""


def _compare(given: argparse.Namespace) -> int:
    for option, name in (("OLD", given.old), ("NEW", given.new)):
        if not names_file(Path(name)):
            problem = (
                "is no baseline file (….json). Models are held against a model or a file by "
                "pytest --bias-model=NEW --bias-baseline=OLD (--bias-summary=comment.md writes it)"
            )
            raise BadSetting(option=option, value=name, problem=problem)
    check_apart([given.markdown], [Path(given.old), Path(given.new)])
    upgrade, problems = upgrade_of_files(Path(given.old), Path(given.new), today=today())
    problems += uncompared_words(upgrade)
    but = "not everything could be judged" if problems else ""
    if given.json:
        made = plain(upgrade, "upgrade")
        tell_json({"format": FORMAT, "problems": list(problems), "upgrade": made})
    else:
        for line in printed(upgrade, but):
            tell(line)
    if given.markdown is not None:
        write(given.markdown, upgrade_markdown(upgrade, but, problems))
    for problem in problems:
        tell(f"pytest-bias: {problem}", wrong=True)
    return 2 if problems else int(bool(upgrade.stopped))


def upgrade_of_files(old: Path, new: Path, *, today: str) -> tuple[Upgrade, tuple[str, ...]]:
    """The table from one file to another, and what could not be compared.

    What the old file accepts holds until its day.

    Raises DamagedBaseline when one of them is not what was written.
    """
    before, now = needed_baseline(old), needed_baseline(new)
    rows: list[UpgradeRow] = []
    problems: list[str] = []
    for experiment, entries in sorted(now.verdicts.items()):
        known = before.known(experiment)
        for name, entry in sorted(entries.items()):
            named = (experiment, now.model, name)
            was = before.entry(experiment, name)
            try:
                compared = compare(named, entry, was, today=today, known=known)
            except BaselineDiffers as differs:
                problems.append(str(differs))
                continue
            if entry.claim != "describe":
                stops = is_stopped(entry.status, entry.claim)
                rows.append(row_of(named, entry, compared, stops=stops))
    problems += unasked_words(before.unasked(now.claimed), before.model, new.name)
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
