"""What the hooks delegate to: one pytest session in one process.

With xdist there are two kinds: workers run cases, the controller keeps the books and writes the
reports; without it one process is both. Loaded in every pytest run, so it imports nothing heavy:
the machinery comes in with the first bias case.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from collections.abc import MutableMapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from ..report.escapes import say, terminal_text
from .items import (
    ARGUMENT,
    amend,
    amend_unjudged,
    case_of,
    declared_on,
    judged,
    name_of,
    origin_of,
    set_property,
)
from .ledger import CASE, RESULT, Ledger
from .options import check_settings, is_given, is_looking, is_planning, is_recording, settings_of

if TYPE_CHECKING:
    from ..contrasts.cases import Case, Declaration
    from ..recording.process import HeldSignals
    from ..report.view import RunView
    from ..settings.settings import Settings
    from .run import Run

_WORKER_KEY = "pytest_bias_workspace"


class BiasSession:
    """State of one process; registered with the plugin manager through its hooks."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.ledger = Ledger()
        self.interrupted = False
        self.refused = ""
        self.written: list[str] = []
        self.notes: list[str] = []
        self.view: RunView | None = None
        self.exporting: list[Case] = []
        # Why modules and folders were not imported to their end, by node id; '' for an error.
        self.unfinished: dict[str, str] = {}
        self.is_worker = hasattr(config, "workerinput")
        self._deselected: list[str] = []
        # What was made, by its origin, and its name in the books.
        self._parametrized: dict[str, str] = {}
        self._declared: list[Declaration] = []
        self._session: pytest.Session | None = None
        self._status: int | None = None
        self._given = is_given(config)
        self._collected = self._closed = False
        if not self.is_worker and self._given:
            check_settings(config)

    # --- state --------------------------------------------------------------------------------

    @cached_property
    def folder(self) -> Path:
        """The folder all processes of the session share; named here, made when it is needed."""
        if self.is_worker:
            return Path(self.config.workerinput[_WORKER_KEY])  # type: ignore[attr-defined]
        return Path(tempfile.gettempdir(), f"pytest-bias-{os.urandom(16).hex()}")

    @cached_property
    def run(self) -> Run:
        """The run; made with the first case."""
        from .run import Run  # noqa: PLC0415  (pydantic and more: only where cases are)
        from .workspace import Workspace  # noqa: PLC0415

        return Run(self.settings, Workspace(self.folder))

    @cached_property
    def settings(self) -> Settings:
        """The settings as given; BadSetting for a bad one."""
        return settings_of(self.config)

    @cached_property
    def signals(self) -> HeldSignals:
        """Signals that are held while the books are closed; asyncio comes in with it."""
        from ..recording.process import HeldSignals  # noqa: PLC0415

        return HeldSignals()

    # --- collection ---------------------------------------------------------------------------

    def header(self) -> list[str]:
        """Lines above the session: only a recording run has any."""
        if not is_recording(self.config):
            return []
        settings = self.settings
        lines = [f"bias: recording ({settings.record}) into {self.shown(settings.cassettes)}"]
        if getattr(self.config.option, "bias_undistributed", False):
            lines.append("bias: recording uses one process; distribution over workers is off")
        return lines

    def parametrize(self, metafunc: pytest.Metafunc) -> None:
        """Turn a decorated function into its cases; what the user asked wrongly is kept for later.

        A usage error raised here would become one collection error per function, and in a worker
        bring it down; it is raised, or told the controller, when the collection has ended.
        """
        declared = declared_on(metafunc.function)
        if declared is None or self.refused:
            return
        from ..errors import BadSetting, BiasError, UnknownName  # noqa: PLC0415

        self._declared.append(declared)
        try:
            cases = self._cases(declared, metafunc.module)
        except (BadSetting, UnknownName) as error:
            self.refused = str(error)
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

        if not self.settings.models:
            raise BadSetting(
                option="--bias-model",
                value="",
                problem="no model is named; give PROVIDER/MODEL here or set bias_models",
            )
        for beside in declared_in(sys.modules.get(declared.module, module)):
            self.run.registry.add(beside)
        return self.run.cases(declared)

    def book_collection(self, report: pytest.CollectReport) -> None:
        """Take note of a module or folder that was not imported to its end."""
        if report.outcome == "skipped":
            words = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else "")
            self.unfinished[report.nodeid] = f"was skipped ({words.removeprefix('Skipped: ')})"
        elif report.outcome == "failed":
            self.unfinished[report.nodeid] = ""  # pytest says why
            self.ledger.fail(report.nodeid)

    def deselect(self, items: Sequence[pytest.Item]) -> None:
        """Count deselected bias cases."""
        for item in items:
            if case := case_of(item):
                self._deselected.append(name_of(item))
                self._parametrized.pop(origin_of(item, case), None)

    def drop_refused(self, items: list[pytest.Item]) -> None:
        """Run nothing where the user asked wrongly, nor an experiment without the design."""
        if not self.refused and "run" in vars(self) and self.run.without:
            from .checks import drop_without  # noqa: PLC0415  (only where a design is lacking)

            drop_without(self, items)
        if self.refused:
            items.clear()

    def select(self, items: list[pytest.Item]) -> None:
        """Name the selected cases, on their reports and in the books.

        Cases that were made and then neither selected nor deselected (another plugin dropped
        them, or only some node ids were asked for) count as deselected. What must not be run is
        dropped after that: without it, the books do not balance.
        """
        if self.refused and not self.is_worker:
            raise pytest.UsageError(terminal_text(self.refused))
        self._collected = True
        names: list[str] = []
        repeats: Counter[str] = Counter()
        for item in items:
            if case := case_of(item):
                name = name_of(item)
                repeats[name] += 1
                names.append(name if repeats[name] == 1 else f"{name} #{repeats[name]}")
                set_property(item, CASE, names[-1])
                self._parametrized.pop(origin_of(item, case), None)
                if self.settings.exports is not None:
                    self.exporting.append(case)
        if not self.refused and names:
            from .checks import note_uncontrolled  # noqa: PLC0415

            note_uncontrolled(self, items)
        unselected = [*self._deselected, *self._parametrized.values()]
        self.ledger.select(names, unselected=unselected)
        if not self.refused and (names or self._given):
            from .scope import unjudged_words  # noqa: PLC0415

            self.ledger.problems += unjudged_words(self, self._declared)
        if not self._announce(names, unselected):
            items.clear()
        elif not self.refused and names:
            from .checks import drop_faulty  # noqa: PLC0415

            drop_faulty(self, items)

    def _announce(self, names: list[str], unselected: list[str]) -> bool:
        """Tell the controller what there will be; False, and a collection error, if that fails."""
        selects = self.is_worker and bool(self.refused or self.ledger.concerned)
        if not selects and not self.exporting:
            return True
        from ..errors import NoWorkspace  # noqa: PLC0415
        from .workspace import Selected, Workspace  # noqa: PLC0415

        try:
            if selects:
                told = Selected(
                    cases=names,
                    unselected=unselected,
                    refused=self.refused,
                    notes=self.notes,
                    problems=self.ledger.problems,
                )
                Workspace(self.folder).write_selected(told)
            if self.exporting and not self.refused:
                from .exports import announce  # noqa: PLC0415

                announce(self.folder, self.exporting)
        except NoWorkspace as error:
            report = pytest.CollectReport("bias cases", "failed", str(error), [])
            self.config.hook.pytest_collectreport(report=report)
            return False
        return True

    def collect(self, session: pytest.Session) -> None:
        """Record what the selected cases lack, or plan it, where that was asked for."""
        planning = is_planning(self.config)
        looking = is_looking(self.config)
        self._session = None if looking else session
        if not planning and (looking or not is_recording(self.config)):
            return
        cases = [case for item in session.items if (case := case_of(item)) is not None]
        failed = session.testsfailed and not session.config.option.continue_on_collection_errors
        if planning and not failed:
            from .recording import print_plan  # noqa: PLC0415

            print_plan(self, session, cases)
        elif failed and cases:
            self.notes.append("nothing was recorded: there were errors during collection")
        elif cases:
            from .recording import record_missing  # noqa: PLC0415  (asyncio, SDKs: to record)

            record_missing(self, session, cases)

    # --- cases --------------------------------------------------------------------------------

    def around_body(self, item: pytest.Item) -> AbstractContextManager[None]:
        """Around the body of a case: note what it found, raise what the gate says to it."""
        case = case_of(item)
        if case is None:
            return nullcontext()
        judge, note = partial(self._judge, item, case), partial(self._note, item, case)
        return judged(item, case, partial(self.run.tolerated, case), judge, note)

    def _judge(self, item: pytest.Item, case: Case) -> None:
        stopped = self._note(item, case)
        if stopped is not None:
            raise stopped

    def _note(self, item: pytest.Item, case: Case) -> BaseException | None:
        if self.settings.dataset is not None:
            from .datasets import keep  # noqa: PLC0415

            keep(self.run, case)
        result = self.run.finish(case)
        for name, value in (*result.properties, (RESULT, result.payload)):
            set_property(item, name, value)
        return result.stopped

    def amend(
        self, item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport
    ) -> None:
        """Word our own errors, and fail an xfail under which nothing was tested."""
        case = case_of(item)
        if case is not None:
            amend(item, call, report, partial(self.run.missing, case))
        else:
            amend_unjudged(call, report)

    # --- the controller -----------------------------------------------------------------------

    def book(self, report: pytest.TestReport) -> None:
        """Enter a report into the books (in a worker they are kept for nobody)."""
        outcome: str = report.outcome
        if hasattr(report, "wasxfail") and outcome in ("skipped", "passed"):
            outcome = "xfailed" if outcome == "skipped" else "xpassed"
        place = getattr(report, "location", ("", None))[:2]
        if outcome == "failed":
            self.ledger.fail(report.nodeid, getattr(report, "user_properties", ()))
        self.ledger.report(getattr(report, "user_properties", ()), report.when, outcome, place)

    def equip_worker(self, worker_input: MutableMapping[str, Any]) -> None:
        """Tell a worker where the shared folder is."""
        worker_input[_WORKER_KEY] = str(self.folder)

    def finish(self, session: pytest.Session, exitstatus: int) -> None:
        """Balance the books, write the reports, settle the exit status."""
        self._finish(session, exitstatus)
        self._closed = True

    def _finish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.is_worker and self.exporting and not is_looking(self.config):
            from .exports import prepare  # noqa: PLC0415

            prepare(self.run, self.exporting)  # the controller has no experiments
        if is_looking(self.config):
            return
        late = self._late()
        if self.is_worker:
            if late:
                from .workspace import Workspace  # noqa: PLC0415

                Workspace(self.folder).tell(self.config.workerinput["workerid"], late)  # type: ignore[attr-defined]
            return
        self.ledger.problems += late
        if "folder" in vars(self) and self.folder.exists():
            from .workspace import Workspace  # noqa: PLC0415

            told = Workspace(self.folder).read_selected()
            if told is not None:
                self.ledger.select(told.cases, unselected=told.unselected)
                self.refused = told.refused
                self.notes += told.notes
                self.ledger.problems += told.problems
            self.ledger.problems += Workspace(self.folder).told()
        if self.refused and exitstatus != pytest.ExitCode.USAGE_ERROR:
            session.exitstatus = self._status = int(pytest.ExitCode.USAGE_ERROR)
        elif self.ledger.concerned and not self.refused:
            self.signals.hold()
            from .closing import close_books  # noqa: PLC0415

            session.exitstatus = self._status = close_books(self, exitstatus)

    def _late(self) -> list[str]:
        """What was declared after collection, which no case can judge any more."""
        if not self.ledger.concerned or self.refused:
            return []
        from .scope import silent_words  # noqa: PLC0415

        known = self.ledger.problems
        return [words for words in silent_words(self, self._declared) if words not in known]

    def summarize(self, reporter: pytest.TerminalReporter) -> None:
        """Print the bias section; it is made when the session finishes."""
        if self.refused and self._status is not None:
            say(reporter, f"ERROR: {self.refused}", red=True)
        elif self.view is not None:
            from .closing import print_section  # noqa: PLC0415

            print_section(self, self.view, reporter)

    def extend_html_row(self, report: Any, cells: list[str]) -> None:
        """Add a hypothesis' numbers to its row in pytest-html's report."""
        from ..report.html_row import row_words  # noqa: PLC0415

        words = row_words(getattr(report, "user_properties", ()))
        if words and len(cells) > 1:
            cells[1] = cells[1].replace("</td>", f"{words}</td>")

    def shown(self, path: Path) -> str:
        """A path as the user would write it: relative to where pytest was called, if below."""
        here = self.config.invocation_params.dir
        return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)

    def close(self) -> None:
        """Remove the shared folder; nothing that ran after us may have turned red into green."""
        if self.is_worker:
            return
        if self._session is not None:
            self._session.exitstatus = self.held(self._session.exitstatus)
        if "signals" in vars(self):
            if self.signals.noted and self._session is not None:
                self._session.exitstatus = pytest.ExitCode.INTERRUPTED
            self.signals.release()
        if "folder" in vars(self) and self.folder.exists():
            from .workspace import Workspace  # noqa: PLC0415

            Workspace(self.folder).remove()

    def due(self) -> int:
        """The exit status of a process that ends now: 0 only where no book is open."""
        if self.is_worker:
            return 0  # its controller misses it
        is_open = not self._closed and (self.ledger.concerned or not self._collected)
        if not is_open:
            return self.held(0)
        captured = self.config.pluginmanager.get_plugin("capturemanager")
        if captured is not None:
            captured.suspend(in_=True)
        return int(pytest.ExitCode.TESTS_FAILED)

    def held(self, status: int) -> int:
        """The exit status of a run of cases: never 0 where its books say otherwise."""
        if status != pytest.ExitCode.OK or self._session is None:
            return status
        if self._status is None and self.ledger.concerned:
            return int(pytest.ExitCode.TESTS_FAILED)
        return self._status or status
