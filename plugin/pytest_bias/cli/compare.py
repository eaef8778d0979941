"""The command ``pytest-bias compare``: an upgrade from one baseline file to another."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from ..baselines.table import uncompared_words
from ..baselines.upgrade import upgrade_of_files
from ..errors import BadSetting
from ..experiments.canonical import plain
from ..report.ci import upgrade_markdown
from ..report.terminal import printed
from ..settings.settings import names_file
from ..workbench.clock import today
from . import tell, write

if TYPE_CHECKING:
    from . import Commands

FORMAT = 2
"""Of the JSON that is written."""


def add_comparing(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command to ``commands``."""
    command = commands.add_parser(
        "compare",
        help="compare two baseline files",
        description="Hold the baseline file NEW against the baseline file OLD: the verdict of "
        "each hypothesis before and now. Recordings are held against a model or a file by pytest "
        "itself (--bias-baseline). The exit status is 0 when nothing is new, worse or expired, 1 "
        "when something is, 2 when the two cannot be compared.",
    )
    for name in ("OLD", "NEW"):
        command.add_argument(name.lower(), metavar=name, help="a baseline file (….json)")
    for option in ("markdown", "json"):
        command.add_argument(
            f"--{option}", type=Path, metavar="FILE", help=f"write the comparison as {option}"
        )
    command.set_defaults(run=_compare)


def _compare(given: argparse.Namespace) -> int:
    for option, name in (("OLD", given.old), ("NEW", given.new)):
        if not names_file(Path(name)):
            problem = (
                "is no baseline file (….json). Models are held against a model or a file by "
                "pytest --bias-model=NEW --bias-baseline=OLD (--bias-summary=comment.md writes it)"
            )
            raise BadSetting(option=option, value=name, problem=problem)
    upgrade, problems = upgrade_of_files(Path(given.old), Path(given.new), today=today())
    problems += uncompared_words(upgrade)
    but = "not everything could be judged" if problems else ""
    for line in printed(upgrade, but):
        tell(line)
    if given.markdown is not None:
        write(given.markdown, upgrade_markdown(upgrade, but, problems))
    if given.json is not None:
        value = {
            "format": FORMAT,
            "upgrade": plain(upgrade, "upgrade"),
            "problems": list(problems),
        }
        text = json.dumps(value, sort_keys=True, indent=1, allow_nan=False)
        write(given.json, f"{text}\n")
    for problem in problems:
        tell(f"pytest-bias: {problem}", wrong=True)
    return 2 if problems else int(bool(upgrade.stopped))
