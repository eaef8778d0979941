"""The pytest plugin: options and hooks. Every hook reads, calls once, hands back."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from .session.items import amend_collected, condition_of, control_of, verdict_of, watched

if TYPE_CHECKING:
    from .contrasts.cases import Case, Recorded
    from .errors.said import Said
    from .experiments.design import Condition
    from .report.view import RunView
    from .session.session import BiasSession
    from .verdicts.verdict import Control, Verdict

SESSION = "pytest-bias-session"
_LET_GO = pytest.StashKey[Callable[[], None]]()
_DISTRIBUTED = pytest.StashKey[bool]()


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Offer the hooks of this plugin to others."""
    from .session import hookspecs  # noqa: PLC0415

    pluginmanager.add_hookspecs(hookspecs)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and their ini equivalents."""
    from .session.options import add_options  # noqa: PLC0415

    add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Refuse a path of ours that pytest took for a test; hold the process' end, and its cache."""
    from .session.arguments import check_rootdir  # noqa: PLC0415
    from .session.options import is_given, spare_cache  # noqa: PLC0415

    check_rootdir(early_config)
    if not is_given(early_config):
        return
    from .session.process_exit import hold_exit  # noqa: PLC0415

    spare_cache(early_config)
    early_config.stash[_LET_GO] = hold_exit(partial(_due, early_config))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_cmdline_main(
    config: pytest.Config,
) -> Generator[None, int | pytest.ExitCode | None, int | pytest.ExitCode | None]:
    """Turn distribution off before a recording begins; at the very end, hold the exit status."""
    from .session.options import is_distributed_by_choice, undistribute  # noqa: PLC0415

    config.stash[_DISTRIBUTED] = is_distributed_by_choice(config)
    undistribute(config)
    try:
        status = yield
    except SystemExit as ended:  # of a hook that runs when all is done
        if not ended.code and (instead := _due(config)):
            raise SystemExit(instead) from ended
        raise
    hooks = config.pluginmanager.get_plugin(SESSION)
    if hooks is not None and status is not None:
        status = hooks.session.exit.held(status)
    if status == pytest.ExitCode.OK and _LET_GO in config.stash:
        config.stash[_LET_GO]()  # else it is held to the very end: of atexit, too
    return status


def _due(config: pytest.Config) -> int:
    hooks = config.pluginmanager.get_plugin(SESSION)
    return 0 if hooks is None else hooks.session.exit.due()


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker and the session's state."""
    from .session.session import BiasSession  # noqa: PLC0415

    config.addinivalue_line(
        "markers", "bias: a case of a bias experiment (set by @conditions, @hypotheses, …)"
    )
    config.pluginmanager.register(BiasHooks(BiasSession(config)), SESSION)


@pytest.fixture
def bias_case(request: pytest.FixtureRequest) -> Case:
    """The case a bias-decorated function runs as."""
    name = request.function.__qualname__
    pytest.fail(
        f"{name} asks for a fixture of pytest-bias; decorate it with @conditions, @hypotheses or "
        "@positive_control",
        pytrace=False,
    )


@pytest.fixture
def condition(bias_case: Case) -> Condition:
    """The condition of a ``@conditions`` case."""
    return condition_of(bias_case)


@pytest.fixture
def recorded(bias_case: Case, pytestconfig: pytest.Config) -> Recorded:
    """The replayed outcomes of the trials of a ``@conditions`` case.

    Trials that a cap kept from being carried out are left out: there is nothing to assert of them.
    """
    from .experiments.records import carried_out  # noqa: PLC0415  (only where cases are)

    return carried_out(_session(pytestconfig).run.replayed(bias_case))


@pytest.fixture
def verdict(bias_case: Case, pytestconfig: pytest.Config) -> Verdict:
    """The verdict of a ``@hypotheses`` case."""
    return verdict_of(bias_case, _session(pytestconfig).run)


@pytest.fixture
def control(bias_case: Case, pytestconfig: pytest.Config) -> Control:
    """Return the positive control of a ``@positive_control`` case."""
    return control_of(bias_case, _session(pytestconfig).run)


def _session(config: pytest.Config) -> BiasSession:
    hooks: Any = config.pluginmanager.get_plugin(SESSION)
    session: BiasSession = hooks.session
    return session


class BiasHooks:
    """The hooks that need the session's state."""

    def __init__(self, session: BiasSession) -> None:
        self.session = session

    def pytest_report_header(self) -> list[str]:
        """Say what a recording run will do; say nothing otherwise."""
        return self.session.header()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Take note of what was not imported to its end."""
        self.session.collection.book(report)

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Show what is declared wrongly in one line, with its place."""
        report = yield
        amend_collected(collector, report)
        return report

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Turn decorated functions into cases."""
        self.session.collection.parametrize(metafunc)

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """Take note of deselected cases: such a run is partial."""
        self.session.collection.deselect(items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Run nothing where a setting is wrong."""
        self.session.drop_refused(items)

    @pytest.hookimpl(tryfirst=True)  # before xdist tells the controller what there is
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Take note of the selected cases."""
        self.session.select(session.items)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Collect, then test."""
        self.session.collect(session)
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Apply the gate after the body of a case."""
        with self.session.around_body(item):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_pyfunc_call(
        self, pyfuncitem: pytest.Function
    ) -> Generator[None, object | None, object | None]:
        """Take note whether the body of a case is called."""
        with watched(pyfuncitem):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Show errors in their own words; let no xfail cover a missing recording."""
        report = yield
        self.session.amend(item, call, report)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the books."""
        self.session.book(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_bias_results(self, view: RunView) -> Said | None:
        """Write data sets and exports."""
        return self.session.outputs(view)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> object:
        """Keep an experiment's work in one worker, where nobody says how to distribute tests."""
        return None if config.stash.get(_DISTRIBUTED, True) else self.session.scheduler(log)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell an xdist worker where the session's shared folder is."""
        self.session.equip_worker(node.workerinput)

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_row(self, report: Any, cells: list[str]) -> None:
        """Add a hypothesis' numbers to its row in pytest-html's report."""
        self.session.extend_html_row(report, cells)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Balance the books, write the reports, settle the exit status."""
        self.session.finish(session, exitstatus)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the bias section."""
        self.session.summarize(terminalreporter)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Hold the exit status, remove the shared folder."""
        self.session.close()
