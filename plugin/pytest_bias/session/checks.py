"""Before anything is run or paid for: which experiments run no case.

Those whose prompts are at fault, and those without the design that is asked for.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import pytest

from ..errors import NoControl
from ..experiments.checks.manipulation import faults, in_words
from .items import case_of

if TYPE_CHECKING:
    from ..experiments.experiment import Experiment
    from .session import BiasSession


def drop_faulty(state: BiasSession, items: list[pytest.Item]) -> None:
    """Drop the cases of experiments whose prompts are at fault; each is one collection error.

    Only now is it known which experiments have selected cases, so pytest is handed the report that
    it would have made itself, had the module said so while it was collected.
    """
    first: dict[str, tuple[Experiment, pytest.Item]] = {}
    for item in items:
        if case := case_of(item):
            first.setdefault(case.experiment.id, (case.experiment, item))
    faulty: set[str] = set()
    for name, (experiment, item) in first.items():
        said = state.run.workspace.checked(f"prompts of {name}", partial(_said, experiment))
        if said:
            faulty.add(name)
            module = item.getparent(pytest.Module) or item
            said = said.replace(f"{state.config.rootpath}{os.sep}", "")
            report = pytest.CollectReport(module.nodeid, "failed", said, [])
            state.config.hook.pytest_collectreport(report=report)
    items[:] = [
        item
        for item in items
        if (case := case_of(item)) is None or case.experiment.id not in faulty
    ]


def note_uncontrolled(state: BiasSession, items: list[pytest.Item]) -> None:
    """Note which experiments claim what cannot be shown; a recording of them is refused."""
    for case in {case.experiment.id: case for item in items if (case := case_of(item))}.values():
        try:
            state.run.registry[case.experiment.id].check_control(case.design)
        except NoControl as error:
            state.notes.append(f"warning: {error}")


def drop_without(state: BiasSession, items: list[pytest.Item]) -> None:
    """Drop the cases of experiments that lack the design asked for; they count as not selected.

    Where no experiment has it, the user asked wrongly.
    """
    without = state.run.without
    of = [case.experiment.id if (case := case_of(item)) else "" for item in items]
    lacking = [name for name in dict.fromkeys(of) if name in without]
    if not lacking:
        return
    if not any(name and name not in without for name in of):
        state.refused = str(without[lacking[0]])
        return
    items[:] = [item for item, name in zip(items, of, strict=True) if name not in without]
    what = f"left out, for want of a design {state.settings.design!r}: {', '.join(lacking)}"
    state.notes.append(what)


def _said(experiment: Experiment) -> str:
    return in_words(faults(experiment))
