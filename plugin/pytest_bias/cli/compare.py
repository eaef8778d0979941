"""The command ``pytest-bias compare``: an upgrade from one baseline file to another."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..baselines.upgrade import uncompared_words, upgrade_of_files
from ..errors import BadSetting
from ..experiments.canonical import plain
from ..report.ci import upgrade_markdown
from ..report.upgrade import printed
from ..settings.settings import names_file
from ..workbench.clock import today
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
