"""From decorated functions to selected cases: what one process collects, and leaves out."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import cached_property, partial
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from ..report.escapes import terminal_text
from .items import (
    ARGUMENT,
    case_of,
    declared_on,
    name_of,
    origin_of,
    reword_collected,
    set_property,
)
from .options import is_listing, is_set
from .state import CASE

if TYPE_CHECKING:
    from ..contrasts.cases import Case, Declaration
    from .run import Run
    from .state import State


class Collection:
    """The declarations of one process, made into cases and selected.

    ``exporting`` are the selected cases of which files of their experiments are wanted.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self.exporting: list[Case] = []
        self._declared: list[Declaration] = []
        self._deselected: list[str] = []
        self._froze = False
        # What was made, by its origin, and its name in the results.
        self._parametrized: dict[str, str] = {}

    @cached_property
    def run(self) -> Run:
        """The run; made with the first case."""
        from .run import Run  # noqa: PLC0415  (pydantic and more: only where cases are)

        return Run(self.state.settings, self.state.workspace)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Turn a decorated function into its cases; what the user asked wrongly is kept for later.

        A usage error raised here would become one collection error per function, and in a worker
        bring it down; it is raised, or told the controller, when the collection has ended.
        """
        declared = declared_on(metafunc.function)
        if declared is None or self.state.refused:
            return
        from ..errors import BadData, BadSetting, BiasError, UnknownName  # noqa: PLC0415

        self._declared.append(declared)
        try:
            cases = self._cases(declared, metafunc.module)
        except (BadData, BadSetting, UnknownName) as error:
            self.state.refused = str(error)
            return
        except BiasError as error:
            raise pytest.Collector.CollectError(terminal_text(str(error))) from error
        if ARGUMENT not in metafunc.fixturenames:
            metafunc.fixturenames.append(ARGUMENT)
        marked = [pytest.param(case, id=case.id, marks=pytest.mark.bias) for case in cases]
        metafunc.parametrize(ARGUMENT, marked)
        function, name = metafunc.definition.nodeid, name_of(metafunc.definition)
        self._parametrized |= {f"{function} {c.id}": f"{name}[{c.id}]" for c in cases}

    def _cases(self, declared: Declaration, module: ModuleType) -> list[Case]:
        """The cases of a function; what its module declares beside it belongs to its family."""
        from ..contrasts.cases import declared_in  # noqa: PLC0415
        from ..errors import BadSetting  # noqa: PLC0415

        if not self.state.settings.models:
            raise BadSetting(
                option="--bias-model",
                value="",
                problem="no model is named; give PROVIDER/MODEL here or set bias_models",
            )
        for other in declared_in(sys.modules.get(declared.module, module)):
            self.run.project.registry.add(other)
        return self.run.cases(declared)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Take note of a module or folder that was not imported to its end."""
        if report.outcome == "skipped":
            words = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else "")
            why = f"was skipped ({words.removeprefix('Skipped: ')})"
            self.state.unfinished[report.nodeid] = why
        elif report.outcome == "failed":
            self.state.unfinished[report.nodeid] = ""  # pytest says why
            self.state.reported.failures[report.nodeid] = None

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Show what is declared wrongly in one line, with its place."""
        report = yield
        reword_collected(collector, report)
        return report

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Count deselected bias cases: such a run is partial."""
        for item in items:
            if case := case_of(item):
                self._deselected.append(name_of(item))
                self._parametrized.pop(origin_of(item, case), None)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Run nothing where the request is wrong."""
        if not self.state.refused and any(map(case_of, items)):
            from ..errors import BadSetting  # noqa: PLC0415  (only where cases are)

            try:
                self.run.project.shares  # noqa: B018  (of the suite's error budget)
            except BadSetting as error:
                self.state.refused = str(error)
        if self.state.refused:
            items.clear()

    @pytest.hookimpl(tryfirst=True)  # before xdist tells the controller what there is
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note the selected cases, and then drop what must not be run.

        A case that is dropped without being noted would not be missed.
        """
        state, items = self.state, session.items
        if state.refused and not state.is_worker:
            raise pytest.UsageError(terminal_text(state.refused))
        state.phase = "running"
        self._select(items)
        self._check(items)
        if problem := self._announce():
            report = pytest.CollectReport("bias cases", "failed", problem, [])
            state.config.hook.pytest_collectreport(report=report)
            items.clear()
        elif state.reported.selected and not state.refused and not is_listing(state.config):
            self._drop_faulty(items)
            if not gc.get_freeze_count():  # what others froze thaws only together with this
                gc.freeze()
                self._froze = True

    def unfreeze(self) -> None:
        """Give what was frozen for the cases back to the garbage collector."""
        if self._froze:
            gc.unfreeze()

    def _drop_faulty(self, items: list[pytest.Item]) -> None:
        """Drop the cases of experiments whose prompts are at fault; each is one collection error.

        Only now is it known which experiments have selected cases, so pytest is handed the report
        that it would have made itself, had the module failed while it was collected.
        """
        from ..experiments.checks.manipulation import faults, format_faults  # noqa: PLC0415

        first: dict[str, tuple[Case, pytest.Item]] = {}
        for item in items:
            if case := case_of(item):
                first.setdefault(case.experiment.id, (case, item))

        def faults_of(case: Case) -> str:
            return format_faults(faults(case.experiment))

        checks = {name: partial(faults_of, case) for name, (case, _) in first.items()}
        found = dict(zip(first, self.run.workspace.shared("prompts", checks), strict=True))
        for name, (_, item) in first.items():
            if found[name]:
                module = item.getparent(pytest.Module) or item
                words = found[name].replace(f"{item.config.rootpath}{os.sep}", "")
                report = pytest.CollectReport(module.nodeid, "failed", words, [])
                item.config.hook.pytest_collectreport(report=report)
        faulty = {name for name, words in found.items() if words}
        items[:] = [i for i in items if (c := case_of(i)) is None or c.experiment.id not in faulty]

    def _select(self, items: list[pytest.Item]) -> None:
        """Name the selected cases, on their reports and in the results.

        Cases that were made and then neither selected nor deselected (another plugin dropped
        them, or only some node ids were asked for) count as deselected.
        """
        names: list[str] = []
        repeats: Counter[str] = Counter()
        for item in items:
            if case := case_of(item):
                name = name_of(item)
                repeats[name] += 1
                names.append(name if repeats[name] == 1 else f"{name} #{repeats[name]}")
                set_property(item, CASE, names[-1])
                self._parametrized.pop(origin_of(item, case), None)
                if self.state.settings.exports is not None:
                    self.exporting.append(case)
        self.state.reported.selected = names
        self.state.reported.unselected = [*self._deselected, *self._parametrized.values()]

    def _check(self, items: Sequence[pytest.Item]) -> None:
        """Name what no case judges, and selected experiments whose claims cannot be shown."""
        experiments = dict.fromkeys(c.experiment.id for item in items if (c := case_of(item)))
        if self.state.refused or not (experiments or is_set(self.state.config)):
            return
        from ..errors import BadDesign  # noqa: PLC0415
        from .suite import unjudged_text  # noqa: PLC0415

        notes = []
        for name in experiments:
            try:
                self.run.project.registry[name].check_control()
            except BadDesign as error:  # a recording of it is refused
                notes.append(f"warning: {error}")
        self.state.add(notes=notes, errors=self._unjudged(unjudged_text))

    def _announce(self) -> str:
        """Tell the controller what there will be; gives why it could not be told, else empty."""
        state = self.state
        selects = state.is_worker and bool(state.refused or state.has_cases)
        if not selects and not self.exporting:
            return ""
        from ..errors import NotWritten  # noqa: PLC0415
        from .workspace import Selected  # noqa: PLC0415

        try:
            if selects:
                selected = Selected(
                    cases=state.reported.selected,
                    unselected=state.reported.unselected,
                    refused=state.refused,
                    notes=list(state.diagnostics.notes),
                    problems=list(state.diagnostics.errors),
                )
                state.workspace.write_selected(selected)
            if self.exporting and not state.refused:
                from .exports import announce  # noqa: PLC0415

                announce(state.workspace, self.exporting)
        except NotWritten as error:
            return str(error)
        return ""

    def late(self) -> tuple[str, ...]:
        """Declarations made after collection, which no case can judge any more."""
        if not self.state.has_cases or self.state.refused:
            return ()
        from .suite import silent_text  # noqa: PLC0415

        known = self.state.diagnostics.errors
        return tuple(words for words in self._unjudged(silent_text) if words not in known)

    def _unjudged(self, words: Callable[..., Iterator[str]]) -> Iterator[str]:
        state = self.state
        has_cases = state.has_cases
        return words(state.suite, self._declared, state.unfinished, has_cases=has_cases)
