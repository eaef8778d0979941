"""What the hooks delegate to: one pytest session in one process.

With xdist there are two kinds: workers run cases, the controller keeps the books and writes the
reports; without it one process is both. Loaded in every pytest run, so it imports nothing heavy:
the machinery comes in with the first bias case.
"""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import MutableMapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from .ledger import CASE, NOT_RECORDED, RESULT, Ledger
from .options import is_recording, settings_of

if TYPE_CHECKING:
    from .cases import Case
    from .collection import CollectionReport
    from .design import Condition
    from .report.view import RunView
    from .run import Run
    from .settings import Settings
    from .verdicts import Control, Verdict

_WORKER_KEY = "pytest_bias_workspace"
_DECLARED = "_pytest_bias_declared"
_CASE_ARGUMENT = "bias_case"


class BiasSession:
    """State of one process; registered with the plugin manager through its hooks."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.ledger = Ledger()
        self.deselected = 0
        self.collection: CollectionReport | None = None
        self.written: list[str] = []
        self.notes: list[str] = []
        self.partial: list[str] = []
        self.view: RunView | None = None
        self._run: Run | None = None
        worker_input = getattr(config, "workerinput", None)
        self.is_worker = worker_input is not None
        self.folder = Path(
            worker_input[_WORKER_KEY]
            if worker_input is not None
            else f"{tempfile.gettempdir()}/pytest-bias-{uuid.uuid4().hex}"
        )
        if config.getoption("bias_model") or is_recording(config):
            self._check_settings()

    # --- state --------------------------------------------------------------------------------

    @property
    def run(self) -> Run:
        """The run; made with the first case."""
        if self._run is None:
            from .run import Run  # noqa: PLC0415  (pydantic and more: only where cases are)
            from .workspace import Workspace  # noqa: PLC0415

            self._run = Run(self.settings, Workspace(self.folder))
        return self._run

    @property
    def settings(self) -> Settings:
        """The settings as given; a bad one is a usage error."""
        from .errors import BiasError  # noqa: PLC0415

        try:
            return settings_of(self.config)
        except BiasError as error:
            raise pytest.UsageError(str(error)) from error

    def _check_settings(self) -> None:
        """Refuse what can be refused before anything is collected."""
        from .errors import BiasError, RecordingRefused  # noqa: PLC0415
        from .providers.base import split_model  # noqa: PLC0415

        settings = self.settings
        try:
            for model in settings.models:
                split_model(model)
            if settings.record != "none" and os.environ.get("CI") and not settings.record_in_ci:
                raise RecordingRefused(
                    "CI is set, and recording costs money; add --bias-record-in-ci to allow it"
                )
        except BiasError as error:
            raise pytest.UsageError(str(error)) from error

    # --- collection ---------------------------------------------------------------------------

    def header(self) -> list[str]:
        """Lines above the session: only a recording run has any."""
        if not is_recording(self.config):
            return []
        settings = self.settings
        lines = [f"bias: recording ({settings.record}) into {settings.cassettes}"]
        if getattr(self.config.option, "bias_undistributed", False):
            lines.append("bias: recording uses one process; distribution over workers is off")
        return lines

    def parametrize(self, metafunc: pytest.Metafunc) -> None:
        """Turn a decorated function into its cases."""
        declared = getattr(metafunc.function, _DECLARED, None)
        if declared is None:
            return
        if not self.run.settings.models:
            raise pytest.UsageError(
                "no model is named: give --bias-model PROVIDER/MODEL or set bias_models"
            )
        cases = self.run.cases(declared)
        if _CASE_ARGUMENT not in metafunc.fixturenames:
            metafunc.fixturenames.append(_CASE_ARGUMENT)
        marked = [pytest.param(case, id=case.id, marks=pytest.mark.bias) for case in cases]
        metafunc.parametrize(_CASE_ARGUMENT, marked)

    def deselect(self, items: Sequence[pytest.Item]) -> None:
        """Count deselected bias cases."""
        self.deselected += sum(case_of(item) is not None for item in items)

    def select(self, items: Sequence[pytest.Item]) -> None:
        """Name the selected cases, on their reports and in the books."""
        names = []
        for item in items:
            if case_of(item) is not None:
                name = "::".join(node.name for node in item.listchain()[1:])
                _set_property(item, CASE, name)
                names.append(name)
        if not names:
            return
        self.ledger.select(names)
        if self.is_worker:
            self.run.workspace.write_selected(names, deselected=self.deselected)

    def collect(self, session: pytest.Session) -> None:
        """Record what the selected cases lack, where recording is on."""
        if session.config.option.collectonly or not is_recording(self.config):
            return
        cases = [case for item in session.items if (case := case_of(item)) is not None]
        if not cases:
            return
        if session.testsfailed and not session.config.option.continue_on_collection_errors:
            self.notes.append("nothing was recorded: there were errors during collection")
            return
        from .report.progress import progress_printer  # noqa: PLC0415

        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        self.collection = self.run.record(cases, progress_printer(reporter))
        for job in self.collection.jobs:
            self.ledger.problems.extend(
                f"recording {job.experiment_id} with {job.model}: {problem}"
                for problem in job.problems
            )
        if self.collection.interrupted:
            raise session.Interrupted("recording interrupted; every paid reply is kept")

    # --- cases --------------------------------------------------------------------------------

    def condition(self, case: Case) -> Condition:
        """The condition of a case of ``@conditions``."""
        if case.condition is None:
            pytest.fail("the fixture 'condition' is for @conditions cases", pytrace=False)
        return case.condition

    def verdict(self, case: Case) -> Verdict:
        """The verdict of a case of ``@hypotheses``."""
        if case.kind != "hypothesis" or case.contrast is None:
            pytest.fail("the fixture 'verdict' is for @hypotheses cases", pytrace=False)
        return self.run.analysis(case)[0].verdict(case.contrast.id)

    def control(self, case: Case) -> Control:
        """What became of the positive control of a case of ``@positive_control``."""
        found = self.run.analysis(case)[0].control if case.kind == "control" else None
        if found is None:
            pytest.fail("the fixture 'control' is for @positive_control cases", pytrace=False)
        return found

    def apply_gate(self, item: pytest.Item) -> None:
        """Note what a case found and raise what the gate says to it."""
        __tracebackhide__ = True
        case = case_of(item)
        if case is None:
            return
        result = self.run.finish(case)
        for name, value in (*result.properties, (RESULT, result.payload)):
            _set_property(item, name, value)
        if result.stopped is not None:
            raise result.stopped

    def amend(
        self, item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport
    ) -> pytest.TestReport:
        """Word our own errors, and fail an xfail that would cover a missing recording."""
        case = case_of(item)
        if case is None:
            return report
        from .errors import BiasError, NotRecorded  # noqa: PLC0415

        if hasattr(report, "wasxfail") and report.skipped and self.run.is_missing(case):
            del report.wasxfail
            report.outcome = "failed"
            report.longrepr = (
                call.excinfo.getrepr(style="value")
                if call.excinfo is not None and isinstance(call.excinfo.value, NotRecorded)
                else "its recordings are missing: an xfail does not cover that"
            )
        elif report.failed and call.excinfo is not None:
            if isinstance(call.excinfo.value, NotRecorded):
                _set_property(item, NOT_RECORDED, call.excinfo.value.explanation)
                report.user_properties = list(item.user_properties)
            if isinstance(call.excinfo.value, BiasError):
                report.longrepr = call.excinfo.getrepr(style="value")
        return report

    # --- the controller -----------------------------------------------------------------------

    def book(self, report: pytest.TestReport) -> None:
        """Enter a report into the books (in a worker they are kept for nobody)."""
        self.ledger.report(report.user_properties, report.when, report.outcome)

    def equip_worker(self, worker_input: MutableMapping[str, Any]) -> None:
        """Tell a worker where the shared folder is."""
        worker_input[_WORKER_KEY] = str(self.folder)

    def finish(self, session: pytest.Session, exitstatus: int) -> None:
        """Balance the books, write the reports, settle the exit status."""
        if self.is_worker or self.config.option.collectonly:
            return
        if self.folder.exists():
            from .workspace import Workspace  # noqa: PLC0415

            selected, deselected = Workspace(self.folder).read_selected()
            if selected:
                self.ledger.select(selected)
                self.deselected = deselected
        if not self.ledger.active:
            return
        from .closing import close_books  # noqa: PLC0415

        session.exitstatus = close_books(self, session, exitstatus)

    def summarize(self, reporter: pytest.TerminalReporter) -> None:
        """Print the bias section."""
        if self.is_worker or not self.ledger.active or self.config.option.collectonly:
            return
        from .closing import print_section  # noqa: PLC0415

        print_section(self, reporter)

    def explanations(self) -> list[str]:
        """What is missing and how to record it: once per experiment and model, not per case."""
        return list(dict.fromkeys(self.ledger.not_recorded.values()))

    def shown(self, path: Path) -> str:
        """A path as the user would write it: relative to where pytest was called, if below."""
        here = self.config.invocation_params.dir
        return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)

    def extend_html_row(self, report: Any, cells: list[str]) -> None:
        """Add a hypothesis' numbers to its row in pytest-html's report."""
        from .report.html_row import row_words  # noqa: PLC0415

        words = row_words(report.user_properties)
        if words and len(cells) > 1:
            cells[1] = cells[1].replace("</td>", f"{words}</td>")

    def close(self) -> None:
        """Remove the shared folder."""
        if not self.is_worker and self.folder.exists():
            from .workspace import Workspace  # noqa: PLC0415

            Workspace(self.folder).remove()


def case_of(item: pytest.Item) -> Case | None:
    """The case an item runs as; None for any other test."""
    callspec = getattr(item, "callspec", None)
    return cast("Case | None", callspec.params.get(_CASE_ARGUMENT)) if callspec else None


def _set_property(item: pytest.Item, name: str, value: str) -> None:
    """Set a report property; a rerun replaces what the first run set."""
    item.user_properties[:] = [
        (known, old) for known, old in item.user_properties if known != name
    ]
    item.user_properties.append((name, value))
