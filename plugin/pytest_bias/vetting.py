"""Before anything is run or paid for: experiments whose prompts are at fault run no case."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from .items import case_of
from .manipulation import faults, in_words

if TYPE_CHECKING:
    from .experiment import Experiment
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
            report = pytest.CollectReport(module.nodeid, "failed", said, [])
            state.config.hook.pytest_collectreport(report=report)
    items[:] = [
        item
        for item in items
        if (case := case_of(item)) is None or case.experiment.id not in faulty
    ]


def _said(experiment: Experiment) -> str:
    return in_words(faults(experiment))
