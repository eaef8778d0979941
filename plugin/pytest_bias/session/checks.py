"""Before anything is run or paid for: which experiments run no case.

Those whose prompts are at fault, and those without the design that is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

import pytest

from ..errors import NoControl
from ..errors.said import Said
from ..experiments.checks.manipulation import faults, format_faults
from .items import case_of

if TYPE_CHECKING:
    from ..contrasts.cases import Case
    from ..experiments.experiment import Experiment
    from .run import Run


def drop_faulty(run: Run, items: list[pytest.Item]) -> None:
    """Drop the cases of experiments whose prompts are at fault; each is one collection error.

    Only now is it known which experiments have selected cases, so pytest is handed the report that
    it would have made itself, had the module said so while it was collected.
    """
    first: dict[str, tuple[Experiment, pytest.Item]] = {}
    for item in items:
        if case := case_of(item):
            first.setdefault(case.experiment.id, (case.experiment, item))
    faulty: set[str] = set()
    checks = {name: partial(_faults, each) for name, (each, _) in first.items()}
    found = run.workspace.shared("prompts", checks)
    for (name, (_, item)), said in zip(first.items(), found, strict=True):
        if said:
            faulty.add(name)
            module = item.getparent(pytest.Module) or item
            words = said.replace(f"{item.config.rootpath}{os.sep}", "")
            report = pytest.CollectReport(module.nodeid, "failed", words, [])
            item.config.hook.pytest_collectreport(report=report)
    _drop(items, faulty)


def uncontrolled(run: Run, cases: Iterable[Case]) -> Said:
    """Note which experiments claim what cannot be shown; a recording of them is refused."""
    notes = []
    for case in {case.experiment.id: case for case in cases}.values():
        try:
            run.project.registry[case.experiment.id].check_control(case.design)
        except NoControl as error:
            notes.append(f"warning: {error}")
    return Said(notes=tuple(notes))


def drop_without(run: Run, items: list[pytest.Item]) -> tuple[str, Said]:
    """Drop the cases of experiments that lack the design asked for; they count as not selected.

    Where no experiment has it, the user asked wrongly, and is told so.
    """
    without = run.without
    names = dict.fromkeys(case.experiment.id for item in items if (case := case_of(item)))
    lacking = [name for name in names if name in without]
    if not lacking:
        return "", Said()
    if len(lacking) == len(names):
        return str(without[lacking[0]]), Said()
    _drop(items, lacking)
    what = f"left out, for want of a design {run.settings.design!r}: {', '.join(lacking)}"
    return "", Said(notes=(what,))


def _drop(items: list[pytest.Item], experiments: Iterable[str]) -> None:
    dropped = set(experiments)
    items[:] = [
        item
        for item in items
        if (case := case_of(item)) is None or case.experiment.id not in dropped
    ]


def _faults(experiment: Experiment) -> str:
    return format_faults(faults(experiment))
