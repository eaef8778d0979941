"""The pytest plugin: options, fixtures, and the session that holds the other hooks.

Loaded in every pytest run. Where nothing of ours is set or used there is no session, so that
projects which have nothing to do with bias pay for the options alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, cast

import pytest

from .session import options

if TYPE_CHECKING:
    from .contrasts.cases import Case, Recorded
    from .experiments.design import Condition
    from .session.run import Run
    from .session.session import BiasSession
    from .verdicts.analysis import Analysis
    from .verdicts.verdict import Control, Verdict

SESSION = "pytest-bias-session"
_PACKAGE = sys.modules[__package__]
_USED = "errors"
"""Module of ours that decorators need, and nothing that is loaded in every pytest run."""

_LET_GO = pytest.StashKey[Callable[[], None]]()
_OF_ANOTHER_RUN = pytest.StashKey[list[str]]()


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Offer the hooks of this plugin to others."""
    pluginmanager.add_hookspecs(options)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and their ini equivalents."""
    options.add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Hold the end of the process: no test may end it well."""
    if not options.is_set(early_config):
        return
    from .workbench.modules import hold_exit  # noqa: PLC0415

    early_config.stash[_LET_GO] = hold_exit(partial(_due, early_config))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_cmdline_main(
    config: pytest.Config,
) -> Generator[None, int | pytest.ExitCode | None, int | pytest.ExitCode | None]:
    """Decide how tests are distributed; at the very end, hold the exit status."""
    options.note_distribution(config)
    options.undistribute(config)
    options.limit_workers(config)
    try:
        status = yield
    except SystemExit as ended:  # of a hook that runs when all is done
        if not ended.code and (instead := _due(config)):
            raise SystemExit(instead) from ended
        raise
    session = _session(config)
    if session is not None and status is not None:
        status = session.state.status_of(status)
    if status == pytest.ExitCode.OK and _LET_GO in config.stash:
        config.stash[_LET_GO]()  # else it is held to the very end: of atexit, too
    return status


def _due(config: pytest.Config) -> int:
    session = _session(config)
    return 0 if session is None else session.state.status_now()


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and the session where there may be cases.

    A controller of xdist has one in any case: its workers may find cases, and tell it in a folder.
    """
    refusals = _refusals()
    config.stash[_OF_ANOTHER_RUN] = refusals[:]
    refusals.clear()
    marker = "bias: a case of a bias experiment (set by @conditions, @hypotheses, …)"
    config.addinivalue_line("markers", marker)
    if options.is_set(config) or getattr(config.option, "dist", "no") != "no":
        _open_session(config)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Restore the refusals of a run in whose process this one was."""
    of_another_run: list[str] = config.stash.get(_OF_ANOTHER_RUN, [])
    _refusals()[:] = of_another_run


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Open the session where nothing is set and a module uses ours; it says what has to be."""
    if _is_wanted(metafunc.config):
        _open_session(metafunc.config).collection.pytest_generate_tests(metafunc)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Open it for a module that failed, too, or that has tests of another kind."""
    without = _session(collector.config) is None
    report = yield
    if _is_wanted(collector.config):
        _open_session(collector.config)
    if without and _session(collector.config) is not None:
        from .session.items import reword_collected  # noqa: PLC0415

        reword_collected(collector, report)  # a session that is opened meanwhile comes too late
    _fail_refused(report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test in which a decorated function ran unjudged."""
    report = yield
    _fail_refused(report)
    return report


def _fail_refused(report: pytest.TestReport | pytest.CollectReport) -> None:
    if refusals := _refusals():  # nothing is imported where there are none
        from .session.items import fail_unjudged  # noqa: PLC0415

        fail_unjudged(report, refusals)


def _refusals() -> list[str]:
    refusals: list[str] = _package()._refusals  # noqa: SLF001  (our own)
    return refusals


def _is_wanted(config: pytest.Config) -> bool:
    """True if something uses this package, and there is no session.

    Names that the package gave out outlast a module's place in ``sys.modules``.
    """
    return _USED in vars(_package()) and _session(config) is None


def _package() -> ModuleType:
    there = sys.modules.get(__package__)  # a test may have put something else in its place
    return there if isinstance(there, ModuleType) and "_refusals" in vars(there) else _PACKAGE


def _open_session(config: pytest.Config) -> BiasSession:
    from .session.session import BiasSession  # noqa: PLC0415

    session = BiasSession(config)
    config.pluginmanager.register(session.collection, f"{SESSION}-collection")
    config.pluginmanager.register(session, SESSION)
    return session


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
    if bias_case.condition is None:
        pytest.fail("the fixture 'condition' is for @conditions cases", pytrace=False)
    return bias_case.condition


@pytest.fixture
def recorded(bias_case: Case, pytestconfig: pytest.Config) -> Recorded:
    """The replayed outcomes of the trials of a ``@conditions`` case.

    Trials that a cap kept from being carried out are left out: there is nothing to assert of them.
    """
    from .experiments.records import carried_out  # noqa: PLC0415  (only where cases are)

    return carried_out(_run(pytestconfig).project.recordings.replayed(bias_case))


@pytest.fixture
def verdict(bias_case: Case, pytestconfig: pytest.Config) -> Verdict:
    """The verdict of a ``@hypotheses`` case."""
    analysis, name = _judged(bias_case, pytestconfig, "hypothesis", "verdict", "hypotheses")
    return analysis.verdict(name)


@pytest.fixture
def control(bias_case: Case, pytestconfig: pytest.Config) -> Control:
    """The positive control of a ``@positive_control`` case."""
    analysis, name = _judged(bias_case, pytestconfig, "control", "control", "positive_control")
    return analysis.control(name)


def _judged(
    case: Case, config: pytest.Config, kind: str, fixture: str, decorator: str
) -> tuple[Analysis, str]:
    if case.kind != kind or case.contrast is None:
        pytest.fail(f"the fixture '{fixture}' is for @{decorator} cases", pytrace=False)
    return _run(config).analysis(case).analysis, case.contrast.id


def _session(config: pytest.Config) -> BiasSession | None:
    return cast("BiasSession | None", config.pluginmanager.get_plugin(SESSION))


def _run(config: pytest.Config) -> Run:
    session = _session(config)
    assert session is not None  # noqa: S101  (its cases ask)
    return session.run
