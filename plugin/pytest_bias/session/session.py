"""One pytest session in one process: the hooks that need its state.

With xdist there are two kinds: workers run cases, the controller has their reports and writes its
own; without it one process is both. Loaded in every controller, so it imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from ..report.escapes import say
from .collection import Collection
from .items import (
    CALLED,
    JUDGED,
    call_noted,
    case_of,
    reword,
    set_property,
    tolerate,
    without_traceback,
)
from .options import (
    DISTRIBUTED,
    check_settings,
    is_listing,
    is_looking,
    is_planning,
    is_recording,
    is_set,
)
from .state import RESULT, WORKER_KEY, State

if TYPE_CHECKING:
    from ..contrasts.cases import Case
    from ..report.run import RunResult
    from .run import Run


class BiasSession:
    """One process of a session, registered as a plugin."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.state = State(config)
        self.collection = Collection(self.state)
        self.result: RunResult | None = None
        if not self.state.is_worker and is_set(config):
            check_settings(config)

    @property
    def run(self) -> Run:
        """The run; made with the first case."""
        return self.collection.run

    # --- collection ---------------------------------------------------------------------------

    def pytest_report_header(self) -> list[str]:
        """Print what a recording run will do, and that workers are limited."""
        if requested := getattr(self.config.option, "bias_requested_workers", 0):
            workers = f"{self.config.option.numprocesses} workers, one a core"
            return [f"bias: {workers} ({requested} requested; --dist load keeps them all)"]
        if not is_recording(self.config):
            return []
        settings = self.state.settings
        part = f", shard {settings.shard}" if settings.shard is not None else ""
        into = self.state.shown(settings.cassettes)
        lines = [f"bias: recording ({settings.record}{part}) into {into}"]
        if getattr(self.config.option, "bias_undistributed", False):
            lines.append("bias: recording uses one process; distribution over workers is off")
        return lines

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Before the first test, record what the selected cases lack, or print the plan."""
        planning = is_planning(self.config)
        looking = planning or is_listing(self.config)
        self.state.session = None if looking else session
        if planning or (is_recording(self.config) and not looking):
            from .recording import plan_or_record  # noqa: PLC0415  (asyncio, SDKs)

            header = self.pytest_report_header()
            plan_or_record(self.state, self.run, session, header)
        if looking or self.state.is_worker or not is_set(self.config):
            return (yield)
        from .earlier import set_aside  # noqa: PLC0415  (only where bias has to do with it)

        self.state.moved = set_aside(self.state)
        return (yield)

    # --- cases --------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Note what a case found after its body, and raise what the gate says to it.

        A body that skips is judged like any other; only what ends the session is let through. What
        is tolerated becomes an xfail before the body runs: afterwards pytest looks for none.
        """
        __tracebackhide__ = True
        case = case_of(item)
        if case is None:
            return (yield)
        from ..contrasts.cases import judging  # noqa: PLC0415  (nothing is imported without cases)

        item.stash[CALLED] = item.stash[JUDGED] = False
        try:
            tolerate(item, self.run.tolerated(case))
            with judging(case):
                result = yield
        except (KeyboardInterrupt, pytest.exit.Exception):
            raise
        except pytest.skip.Exception:
            self._judge(item, case)
            raise
        except BaseException:
            self._note(item, case)
            raise
        else:
            if not item.stash[CALLED]:
                reason = f"the body of {item.name} was not called: a plugin ran instead"
                pytest.fail(reason, pytrace=False)
            self._judge(item, case)
            return result
        finally:
            item.stash[JUDGED] = True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_pyfunc_call(
        self, pyfuncitem: pytest.Function
    ) -> Generator[None, object | None, object | None]:
        """Take note whether the body of a case is called."""
        with call_noted(pyfuncitem):
            return (yield)

    def _judge(self, item: pytest.Item, case: Case) -> None:
        stopped = self._note(item, case)
        if stopped is not None:
            raise stopped

    def _note(self, item: pytest.Item, case: Case) -> BaseException | None:
        if self.state.settings.dataset is not None:
            from .exports import keep  # noqa: PLC0415

            keep(self.run, case)
        result = self.run.result(case)
        for name, value in (*result.properties, (RESULT, result.report.to_json())):
            set_property(item, name, value)
        return result.stopped

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Word our own errors, and fail an xfail under which nothing was tested."""
        case = case_of(item)
        if case is None:
            return (yield)
        failed = call.excinfo is not None
        with without_traceback(item, call, self.state.portable) if failed else nullcontext():
            report = yield
        reword(item, call, report, self.run, self.state.portable)
        return report

    # --- the controller -----------------------------------------------------------------------

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a report to those of the session; a worker's controller does."""
        if not self.state.is_worker:
            self.state.reported.add(report)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of xdist where the shared folder is."""
        node.workerinput[WORKER_KEY] = str(self.state.folder)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, log: Any) -> object:
        """Keep a module's cases in one worker, where nobody says how to distribute tests.

        They share an analysis: a second worker would import and read all of it again.
        """
        if self.config.stash.get(DISTRIBUTED, False) or not is_set(self.config):
            return None
        from xdist.scheduler import LoadFileScheduling  # noqa: PLC0415  (optional)

        return LoadFileScheduling(self.config, log)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write the reports and set the exit status."""
        if not is_looking(self.config):
            if self.collection.exporting:
                from .exports import prepare  # noqa: PLC0415

                prepare(self.run, self.collection.exporting)  # a controller has no experiments
            late = self.collection.late()
            if not self.state.is_worker:
                # What pytest ended badly for stays so, and what another plugin fails it for.
                self._close(session, int(exitstatus or session.exitstatus), late)
            elif late:
                worker: str = self.config.workerinput["workerid"]  # type: ignore[attr-defined]
                self.state.workspace.leave("late", [worker], lambda: late)
        self.state.phase = "closed"

    def _close(self, session: pytest.Session, exitstatus: int, late: tuple[str, ...]) -> None:
        state = self.state
        if late or state.has_folder:
            state.add(errors=late)
            selected = state.workspace.read_selected()
            if selected is not None:
                state.reported.selected = selected.cases
                state.reported.unselected = selected.unselected
                state.refused = selected.refused
                state.add(notes=selected.notes, errors=selected.problems)
            of_workers = {problem for each in state.workspace.left("late") for problem in each}
            state.add(errors=sorted(of_workers))
        if state.refused and exitstatus != pytest.ExitCode.USAGE_ERROR:
            self.state.end_with(session, int(pytest.ExitCode.USAGE_ERROR))
        elif state.has_cases and not state.refused:
            self.state.signals.hold()
            from .closing import result_of_run  # noqa: PLC0415

            self.result = result_of_run(state, exitstatus)
            self.state.end_with(session, self.result.exit_status)
            reporter = self.config.pluginmanager.get_plugin("terminalreporter")
            if exitstatus == pytest.ExitCode.INTERNAL_ERROR and reporter is not None:
                # pytest prints no summary after an internal error: the only place to say it.
                words = "NO RESULT: pytest had an internal error"
                say(reporter, words, red=True, bold=True)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the bias section; it is made when the session finishes."""
        if self.state.refused and self.state.final is not None:
            say(terminalreporter, f"ERROR: {self.state.refused}", red=True)
        elif self.result is not None:
            from .outputs import print_section  # noqa: PLC0415

            print_section(self.state, self.result, terminalreporter)

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_row(self, report: Any, cells: list[str]) -> None:
        """Add a hypothesis' numbers to its row in pytest-html's report."""
        from ..report.run import row_html  # noqa: PLC0415  (only with such a report)

        if (numbers := row_html(getattr(report, "user_properties", ()))) and len(cells) > 1:
            cells[1] = cells[1].replace("</td>", f"{numbers}</td>")

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Remove the shared folder; nothing that ran after us may have turned red into green."""
        self.collection.unfreeze()
        if self.state.is_worker:
            return
        if self.state.moved:
            from .earlier import bring_back  # noqa: PLC0415

            bring_back(self.state.moved)
        session = self.state.session
        if session is not None:
            session.exitstatus = self.state.status_of(session.exitstatus)
        if "signals" in vars(self.state):
            if self.state.signals.noted and session is not None:
                session.exitstatus = pytest.ExitCode.INTERRUPTED
            self.state.signals.release()
        self.state.remove_folder()
