"""The command ``pytest-bias compare``: an upgrade without pytest, from recordings or baselines."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from ..baselines.case_report import CaseReport
from ..baselines.table import unasked_words, uncompared_words
from ..baselines.upgrade import unasked, upgrade_of, upgrade_of_files
from ..contrasts.cases import Declaration, declared_in
from ..errors import BadSetting, BiasError
from ..experiments.canonical import plain
from ..experiments.design import SCREEN
from ..report.ci import upgrade_markdown
from ..report.terminal import printed
from ..session.items import declared_on
from ..session.options import today
from ..session.run import Run
from ..session.workspace import Workspace
from ..settings.options import OPTIONS
from ..settings.settings import OPTION, Settings, check_other, names_file
from . import tell, write
from .suite import suite_modules

if TYPE_CHECKING:
    from ..baselines.table import Upgrade
    from ..verdicts.analysis import Analysis
    from . import Commands

FORMAT = 1
"""Of the JSON that is written."""
_CALLED = {OPTION: "OLD", "--bias-model": "NEW", "suite": "--suite"}
"""What is called otherwise here than where pytest takes it."""


def add_comparing(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command to ``commands``."""
    command = commands.add_parser(
        "compare",
        help="compare two models, or two baseline files",
        description="Hold NEW against OLD: the verdict of each hypothesis before and now, and "
        "what else drifted. Each is a model with its recordings, or a baseline file; where NEW "
        "is a file OLD is one too. Nothing is called. The exit status is 0 when nothing is new, "
        "worse or expired, 1 when something is, 2 when recordings are missing or cannot be "
        "compared. Ini files are not read.",
    )
    command.add_argument("old", metavar="OLD", help="provider/model, or a baseline file (….json)")
    command.add_argument("new", metavar="NEW", help="provider/model, or a baseline file (….json)")
    command.add_argument(
        "--suite", default="bias_tests", help="package of the test modules (bias_tests)"
    )
    for option in ("cassettes", "baselines"):
        folder = OPTIONS[option].default
        command.add_argument(
            f"--{option}", type=Path, default=Path(folder), metavar="DIR", help=f"({folder})"
        )
    command.add_argument("--design", default="gate", metavar="NAME", help="named design (gate)")
    command.add_argument("--judge", metavar="MODEL", help="model that grades, as --bias-judge")
    for option in ("markdown", "json"):
        command.add_argument(
            f"--{option}", type=Path, metavar="FILE", help=f"write the comparison as {option}"
        )
    command.set_defaults(run=_compare)


@dataclass(frozen=True, slots=True)
class _Compared:
    """The comparison: the table, what stops NEW beside its rows, and what could not be judged."""

    upgrade: Upgrade
    stopped: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def but(self) -> str:
        """Name what keeps NEW from passing where no hypothesis does; empty where nothing does."""
        if self.problems:
            return "not everything could be judged"
        return "a positive control was not seen" if self.stopped else ""


def _compare(given: argparse.Namespace) -> int:
    if given.design == SCREEN:
        problem = "a screen compares nothing; name the design that gates"
        raise BadSetting(option="--design", value=given.design, problem=problem)
    try:
        found = _of_files(given) if _names_file(given.new) else _of_models(given)
    except BadSetting as bad:
        option = _CALLED.get(bad.option, bad.option)
        raise BadSetting(option=option, value=bad.value, problem=bad.problem) from None
    for line in (*printed(found.upgrade, found.but), *found.stopped):
        tell(line)
    if given.markdown is not None:
        reasons = (*found.stopped, *found.problems)
        write(given.markdown, upgrade_markdown(found.upgrade, found.but, reasons))
    if given.json is not None:
        write(given.json, _json(found))
    for problem in found.problems:
        tell(f"pytest-bias: {problem}", wrong=True)
    if found.problems:
        return 2
    return int(bool(found.stopped or found.upgrade.stopped))


def _json(found: _Compared) -> str:
    value = {
        "format": FORMAT,
        "upgrade": plain(found.upgrade, "upgrade"),
        "stopped": list(found.stopped),
        "problems": list(found.problems),
    }
    return f"{json.dumps(value, sort_keys=True, indent=1, allow_nan=False)}\n"


def _names_file(name: str) -> bool:
    return names_file(Path(name))


def _of_files(given: argparse.Namespace) -> _Compared:
    if not _names_file(given.old):
        problem = "is a baseline file, and OLD is none: where NEW is a file, OLD is one too"
        raise BadSetting(option="NEW", value=given.new, problem=problem)
    upgrade, problems = upgrade_of_files(Path(given.old), Path(given.new), today=today())
    return _Compared(upgrade, problems=(*problems, *uncompared_words(upgrade)))


def _of_models(given: argparse.Namespace) -> _Compared:
    old = str(Path(given.old).absolute()) if _names_file(given.old) else given.old
    check_other(old, [given.new])
    labels, roster = (Path(OPTIONS[name].default) for name in ("labels", "roster"))
    settings = Settings(
        models=(given.new,),
        baseline=old,
        design=given.design,
        cassettes=given.cassettes.absolute(),
        baselines=given.baselines.absolute(),
        labels=labels if labels.is_dir() else None,
        roster=roster if roster.exists() else None,
        judge=given.judge,
        report=None,
        results=None,
        today=today(),
        environ=os.environ,
    )
    with tempfile.TemporaryDirectory(prefix="pytest-bias-") as folder:
        return _judged(Run(settings, Workspace(Path(folder))), suite_modules(given.suite), given)


def _declared(modules: list[ModuleType]) -> Iterator[Declaration]:
    """Yield all that a suite's modules declare, or import from others, with its whole family."""
    yield from (declared for module in modules for declared in declared_in(module))
    names = {module.__name__ for module in modules}
    values = [value for module in modules for value in vars(module).values()]
    taken = [each for each in map(declared_on, values) if each and each.module not in names]
    tested = {each.experiment.id for each in taken}
    for name in sorted({each.module for each in taken}):
        for declared in declared_in(sys.modules[name]):
            if declared.experiment.id in tested:
                yield declared


def _judged(run: Run, modules: list[ModuleType], given: argparse.Namespace) -> _Compared:
    """Every case of the suite, without its body."""
    results: dict[str, CaseReport] = {}
    analyses: dict[tuple[str, str], Analysis] = {}
    stopped: list[str] = []
    problems: dict[tuple[object, ...], list[str]] = {}
    declarations = [
        (f"{declared.module}.{declared.name}", declared) for declared in _declared(modules)
    ]
    if not declarations:
        problem = "declares no case: no function in it has a bias decorator"
        raise BadSetting(option="--suite", value=given.suite, problem=problem)
    for _, declared in declarations:
        run.registry.add(declared)
    every = [(name, case) for name, declared in declarations for case in run.cases(declared)]
    tested = [(name, case) for name, case in every if case.experiment.id not in run.without]
    if not tested and run.without:
        raise next(iter(run.without.values()))
    for name, case in tested:
        try:
            result = run.result(case)
        except BiasError as error:
            said_of = getattr(error, "differences", str(error))
            words = getattr(error, "explanation", str(error))
            problems.setdefault((case.experiment.id, said_of), []).append(words)
            continue
        results[f"{name}[{case.id}]"] = result.report
        if case.kind != "condition":
            analyses[case.experiment.id, case.model] = run.analysis(case)[0]
        if result.stopped is not None and case.kind == "control":
            stopped.append(str(result.stopped))
    old = {
        (case.experiment.id, case.model): case
        for _, declared in declarations
        for case in (replace(each, model=given.old) for each in run.cases(declared)[:1])
    }
    upgrade = upgrade_of(
        run.settings,
        results,
        accepted=run.old_file,
        tolerated=lambda _case: True,
        new=lambda experiment, model: analyses.get((experiment, model)),
        old=lambda experiment, model, _digest: run.analysis(old[experiment, model])[0],
    )
    assert upgrade is not None  # noqa: S101  (the settings name what it is held against)
    if run.without:
        lacking = f"left out, for want of a design {given.design!r}: {', '.join(run.without)}"
        upgrade = replace(upgrade, notes=(*upgrade.notes, lacking))
    found = [*map(_once, problems.values())]
    if (
        run.old_file is not None
    ):  # of the experiments that are tested: a suite may be named in part
        asked = {
            (case.experiment.id, case.contrast.id)
            for _, case in every
            if case.kind == "hypothesis" and case.contrast is not None
        }
        among = {case.experiment.id for _, case in every}
        unasked_here = unasked(run.old_file, asked)
        expected = [named for named in unasked_here if named[0] in among]
        found += unasked_words(expected, upgrade.old, "the suite")
    found += uncompared_words(upgrade)
    return _Compared(upgrade, tuple(stopped), tuple(found))


def _once(alike: list[str]) -> str:
    """Join what was said of cases for one reason: the first, and how many more there are."""
    more = len(alike) - 1
    if not more or len(set(alike)) == 1:
        return alike[0]
    return f"{alike[0]}\nThe same goes for {more} more of this experiment."
