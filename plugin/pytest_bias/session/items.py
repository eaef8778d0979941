"""Cases as pytest items: which case an item is, its name, its body and its report."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

import pytest

from ..contrasts.register import ATTRIBUTE
from ..report.escapes import terminal_text
from .state import NOT_RECORDED, RESULT, SEEN

if TYPE_CHECKING:
    from _pytest._code.code import ReprExceptionInfo

    from ..contrasts.cases import Case, Declaration
    from .run import Run

ARGUMENT = "bias_case"
"""Argument that carries an item's case."""

CALLED = pytest.StashKey[bool]()
"""True once an item's body was called."""

JUDGED = pytest.StashKey[bool]()
"""True once an item's call has ended, its judging included."""

_PATH = pytest.StashKey[str]()


def declared_on(function: object) -> Declaration | None:
    """Return what a bias decorator declared on a function; None for anything else."""
    if isinstance(function, staticmethod | classmethod):
        function = function.__func__
    if not isinstance(function, FunctionType):
        return None
    return cast("Declaration | None", function.__dict__.get(ATTRIBUTE))


def case_of(item: pytest.Item) -> Case | None:
    """The case an item runs as; None for any other test."""
    callspec = getattr(item, "callspec", None)
    return cast("Case | None", callspec.params.get(ARGUMENT)) if callspec else None


def name_of(item: pytest.Item) -> str:
    """Name of an item in the results: its node id from rootdir, without what plugins add to it."""
    parent = item.parent
    assert parent is not None  # noqa: S101  (an item stands in a module or class)
    if _PATH not in parent.stash:
        root, path = item.config.rootpath, parent.path
        file = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
        classes = [node.name for node in parent.listchain() if isinstance(node, pytest.Class)]
        parent.stash[_PATH] = "::".join((file, *classes))
    return f"{parent.stash[_PATH]}::{item.name}"


def origin_of(item: pytest.Item, case: Case) -> str:
    """The function an item comes from and its case: what ``parametrize`` made it from."""
    parent = item.parent.nodeid if item.parent is not None else ""
    return f"{parent}::{getattr(item, 'originalname', item.name)} {case.id}"


def set_property(item: pytest.Item, name: str, value: str) -> None:
    """Set a report property; a rerun replaces what the first run set."""
    item.user_properties[:] = [pair for pair in item.user_properties if pair[:1] != (name,)]
    item.user_properties.append((name, value))


# --- the body ---------------------------------------------------------------------------------


@contextmanager
def call_noted(item: pytest.Function) -> Iterator[None]:
    """Take note whether the item's body is called at all: any plugin can answer in its place."""
    body: Callable[..., Any] = item.obj
    case = case_of(item)
    if case is None:
        yield
        return
    from ..contrasts.cases import judging  # noqa: PLC0415  (nothing is imported without cases)

    @functools.wraps(body)
    def noted(*args: object, **kwargs: object) -> object:
        item.stash[CALLED] = True
        with judging(case):
            return body(*args, **kwargs)

    @functools.wraps(body)
    async def noted_async(*args: object, **kwargs: object) -> object:
        item.stash[CALLED] = True
        with judging(case):  # here, too: a plugin may run it in a task made long before
            return await body(*args, **kwargs)

    item.obj = noted_async if inspect.iscoroutinefunction(body) else noted
    try:
        yield
    finally:
        item.obj = body


def tolerate(item: pytest.Item, reason: str) -> None:
    """Have what the gate will raise reported as an expected failure."""
    if reason:  # strict or not: the gate raises in any case
        mark = pytest.mark.xfail(raises=AssertionError, reason=terminal_text(reason))
        item.add_marker(mark, append=False)


# --- the report -------------------------------------------------------------------------------


@contextmanager
def without_traceback(
    item: pytest.Item, call: pytest.CallInfo[None], portable: Callable[[str], str]
) -> Iterator[None]:
    """Report an error of ours in its own words: for a traceback pytest parses every module."""
    from ..errors import BiasError  # noqa: PLC0415  (nothing is imported without cases)

    error = call.excinfo.value if call.excinfo is not None else None
    if isinstance(error, BiasError) and item.stash.get(JUDGED, False):
        vars(item)["repr_failure"] = lambda _: _in_text(item, error, portable)
    try:
        yield
    finally:
        vars(item).pop("repr_failure", None)


def reword(
    item: pytest.Item,
    call: pytest.CallInfo[None],
    report: pytest.TestReport,
    run: Run,
    portable: Callable[[str], str],
) -> None:
    """Note what is not recorded, and fail an xfail under which nothing was tested."""
    if report.when == "call" and not item.stash.get(JUDGED, False):
        return  # a subtest's
    if report.passed:  # three times in most cases
        report.user_properties.append((SEEN, report.outcome))
        return
    from ..errors import (  # noqa: PLC0415  (nothing is imported without cases)
        BadSetting,
        BiasError,
        NotRecorded,
        StaleRecordings,
    )

    error = call.excinfo.value if call.excinfo is not None else None
    if report.skipped and hasattr(report, "wasxfail"):
        words = _unexpected(item, error)
        if words:
            del report.wasxfail
            report.outcome, report.longrepr = "failed", words
            case = case_of(item)
            if case is not None and not isinstance(error, BiasError):
                error = run.project.recordings.missing(case) or error
    no_judge = isinstance(error, BadSetting) and error.option == "--bias-judge"
    if report.failed and (no_judge or isinstance(error, NotRecorded | StaleRecordings)):
        set_property(item, NOT_RECORDED, getattr(error, "explanation", str(error)))
        report.user_properties = list(item.user_properties)
    if report.failed and isinstance(error, BiasError):
        report.longrepr = _in_text(item, error, portable)
    report.user_properties.append((SEEN, report.outcome))


def _in_text(
    item: pytest.Item, error: BaseException | None, portable: Callable[[str], str]
) -> ReprExceptionInfo:
    """An error of ours as pytest shows errors: in full, and in a line at its test.

    The line stands in the summary, with ``--tb=line`` and in JUnit. xdist carries nothing else
    that has a line of its own.
    """
    from _pytest._code.code import (  # noqa: PLC0415  (only where something fails)
        ReprEntryNative,
        ReprExceptionInfo,
        ReprFileLocation,
        ReprTraceback,
    )

    words = terminal_text(portable(f"{type(error).__name__}: {error}"))
    short = terminal_text(getattr(error, "short", "")) or words.partition("\n")[0]
    in_full = item.config.getoption("tbstyle", "auto") != "line"
    entries = [ReprEntryNative([f"{words}\n"])] * in_full
    file, line, _ = item.location
    location = ReprFileLocation(file, (line or 0) + 1, short)
    return ReprExceptionInfo(ReprTraceback(entries, None, style="native"), location)


def _unexpected(item: pytest.Item, error: BaseException | None) -> str:
    """Reason why a failure is no expected one; empty where it is."""
    if not any(item.iter_markers("xfail")) and not isinstance(error, pytest.xfail.Exception):
        return "reported as an expected failure, and nothing marks it as one"
    if not any(pair[:1] == (RESULT,) for pair in item.user_properties):
        return "nothing was tested, and an xfail does not cover that"
    return ""


def reword_collected(collector: pytest.Collector, report: pytest.CollectReport) -> None:
    """Report an error of ours that a module raised when imported in one line, with its place."""
    call = getattr(report, "call", None)
    error = call.excinfo.value if call is not None and call.excinfo is not None else None
    if error is None:
        return
    # Nothing is imported where nothing fails.
    from ..errors import BiasError  # noqa: PLC0415
    from ..experiments.fields import author_line  # noqa: PLC0415

    if not isinstance(error, BiasError):
        return
    where = author_line(error).removeprefix(f"{collector.config.rootpath}{os.sep}")
    report.longrepr = f"{where}: {type(error).__name__}: {error}"


def fail_unjudged(report: pytest.TestReport | pytest.CollectReport, refusals: list[str]) -> None:
    """Fail a test or module in which a decorated function ran unjudged; empties the list.

    No xfail covers that, nor code that catches the error: unittest, an ``except``.
    """
    taken = refusals[:]
    del refusals[: len(taken)]
    for words in map(terminal_text, taken):
        if not report.passed and words not in report.longreprtext:
            report.sections.append(("not judged", words))
        if hasattr(report, "wasxfail"):
            del report.wasxfail
        if not report.failed:
            report.outcome, report.longrepr = "failed", words
