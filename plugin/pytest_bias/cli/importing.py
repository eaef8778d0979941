"""The command ``pytest-bias import``: a table of another program's results for the roster."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections import Counter
from pathlib import Path

from ..errors import BadData, BadSetting, NotWritten
from ..experiments.experiment import Experiment
from ..settings.roster import parse_roster
from ..tables.declared import Tables
from ..tables.proposal import proposed
from ..tables.tools import SUFFIXES, read_tool, tool_of
from ..workbench.suite import configured, declared_for
from . import from_here, tell, write

_ROSTER = Path("bias_models.toml")


def _import(given: argparse.Namespace) -> int:
    registry, names = declared_for([given.experiment], given.suite)
    if len(names) > 1:
        problem = f"declares several experiments; name one: {', '.join(sorted(names))}"
        raise BadSetting(option="--experiment", value=given.experiment, problem=problem)
    experiment = registry[names[0]].experiment
    file, roster = Path(given.file), configured().roster or _ROSTER
    if (tool := tool_of(file)) is None:
        problem = (
            "holds no results of promptfoo, Inspect, lm-eval, deepeval or a batch by its keys "
            f"({', '.join(SUFFIXES)}); declare its columns in the roster (docs/tables.md)"
        )
        raise BadData(source=str(file), problem=problem if file.is_file() else "is no file")
    text = roster.read_text("utf-8") if roster.exists() else ""
    known = parse_roster(text, roster)
    name = re.sub(r"[^a-z0-9]", "-", file.stem.casefold()).strip("-") or tool
    while name in {*known.tables, *known.own_tables}:
        name = f"{name}-2"
    path = Path(os.path.relpath(file.resolve(), roster.resolve().parent)).as_posix()
    proposal = proposed(path, read_tool(file, tool), tool, experiment, name, known.models)
    for line in proposal.lines:
        tell(line)
    if proposal.unknown:
        last = "complete the table in the roster (docs/tables.md)"
        for problem in (*proposal.unknown, last):
            tell(f"pytest-bias: {problem}", wrong=True)
        return 2
    text = "\n".join((*([f"{text.rstrip()}\n"] if text else []), *proposal.lines, ""))
    _tell_subjects(text, roster, name, experiment)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        problem = "nobody is asked here, as this is no terminal; put these lines into it"
        tell(f"pytest-bias: {NotWritten(path=from_here(roster), problem=problem)}", wrong=True)
        return 2
    tell(f"write this into {from_here(roster)}? [y/N]", wrong=True)
    if sys.stdin.readline().strip().casefold() not in ("y", "yes"):
        return 2
    write(roster, text)
    tell(f"written: {from_here(roster)}", wrong=True)
    return 0


def _tell_subjects(text: str, roster: Path, name: str, experiment: Experiment) -> None:
    """Say what the table would give, and what judges it; BadData where it is refused."""
    found = Tables(parse_roster(text, roster)).named(name, experiment) or {}
    for model, source in found.items():
        missing = Counter(each.missing for each in source.outcomes if each.missing)
        reasons = ", ".join(f"{number} {reason}" for reason, number in missing.most_common())
        table = source.recording.published
        line = f"{model}: {len(source.outcomes)} trials, {missing.total()} missing"
        line += f" ({reasons})" if reasons else ""
        tell(f"{line}; {table.coverage if table else ''}", wrong=True)
    judged = shlex.join(["pytest", *(f"--bias-model={model}" for model in found)])
    tell(f"judge it with: {judged}", wrong=True)
