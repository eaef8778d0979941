"""Cases as pytest items: which case an item is, its name, its body and its report."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, cast

import pytest

from .ledger import NOT_RECORDED, RESULT

if TYPE_CHECKING:
    from .cases import Case, Declared
    from .design import Condition
    from .errors import NotRecorded
    from .run import Run
    from .verdicts import Control, Verdict

ARGUMENT = "bias_case"
"""Argument that carries an item's case."""

_DECLARED = "_pytest_bias_declared"  # as in cases, which is imported only where cases are
_CALLED = pytest.StashKey[bool]()
_JUDGED = pytest.StashKey[bool]()
_PLACE = pytest.StashKey[str]()


def declared_on(function: object) -> Declared | None:
    """What a bias decorator declared on a function; None for anything else."""
    if isinstance(function, staticmethod | classmethod):
        function = function.__func__
    if not isinstance(function, FunctionType):
        return None
    return cast("Declared | None", function.__dict__.get(_DECLARED))


def check_collectable(collector: pytest.Collector, name: str, thing: object) -> None:
    """Refuse a decorated function or method that pytest would pass over in silence."""
    if not isinstance(collector, pytest.Module | pytest.Class):
        return
    if declared_on(thing) is not None and not collector.istestfunction(thing, name):
        problem = f"{name} has a bias decorator, but by its name pytest does not collect it"
        raise collector.CollectError(f"{problem}: call it test_{name}")  # noqa: EM102
    module = getattr(collector.getparent(pytest.Module), "obj", None)
    if not isinstance(thing, type) or thing.__module__ != getattr(module, "__name__", ""):
        return
    method = next(declared_in(thing, thing.__module__), None)
    around = vars(collector.obj).items()
    if method is None or any(_is_collected(collector, as_, it, thing) for as_, it in around):
        return
    problem = f"{method[0]} has a bias decorator, but pytest collects no case in {name}"
    mend = f"call the class Test{name.removeprefix('Test')}, with no __init__ and no TestCase"
    raise collector.CollectError(f"{problem}: {mend}")  # noqa: EM102


def declared_in(place: ModuleType | type, module: str) -> Iterator[tuple[str, Declared]]:
    """What is declared in a module or class and its classes, where it stands in ``module``."""
    seen: set[int] = set()
    places: list[ModuleType | type] = [place]
    while places:
        for thing in tuple(vars(place := places.pop(0)).values()):
            declared = declared_on(thing)
            if declared is not None and declared.module == module:
                yield f"{place.__name__}.{getattr(thing, '__name__', '')}", declared
            elif isinstance(thing, type) and thing.__module__ == module and id(thing) not in seen:
                seen.add(id(thing))
                places.append(thing)


def declared_beside(declared: Declared, module: ModuleType) -> Iterator[Declared]:
    """All that is declared in the same module: a part of it must know the whole family."""
    place = sys.modules.get(declared.module, module)
    return (beside for _, beside in declared_in(place, declared.module))


def _is_collected(
    collector: pytest.Module | pytest.Class, name: str, thing: object, base: type
) -> bool:
    """Whether pytest collects the cases of a class that is ``base`` or inherits from it."""
    if not isinstance(thing, type) or base not in thing.__mro__:
        return False
    plain = cast("Any", thing)
    unittest = sys.modules.get("unittest")
    return (
        bool(collector.istestclass(thing, name) and getattr(thing, "__test__", True))
        and plain.__init__ == object.__init__
        and plain.__new__ == object.__new__
        and not (unittest is not None and issubclass(thing, unittest.TestCase))
    )


def case_of(item: pytest.Item) -> Case | None:
    """The case an item runs as; None for any other test."""
    callspec = getattr(item, "callspec", None)
    return cast("Case | None", callspec.params.get(ARGUMENT)) if callspec else None


def name_of(item: pytest.Item) -> str:
    """The item's name in the books: the names below rootdir, whatever rootdir is called."""
    parent = item.parent
    assert parent is not None  # noqa: S101  (an item stands in a module or class)
    if _PLACE not in parent.stash:
        chain = parent.listchain()[1:]
        below = [node.name for node in chain if node.path != item.config.rootpath]
        parent.stash[_PLACE] = "".join(f"{name}::" for name in below)
    return f"{parent.stash[_PLACE]}{item.name}"


def origin_of(item: pytest.Item, case: Case) -> str:
    """The function an item comes from and its case: what ``parametrize`` made it from."""
    parent = item.parent.nodeid if item.parent is not None else ""
    return f"{parent}::{getattr(item, 'originalname', item.name)} {case.id}"


def set_property(item: pytest.Item, name: str, value: str) -> None:
    """Set a report property; a rerun replaces what the first run set."""
    item.user_properties[:] = [pair for pair in item.user_properties if pair[:1] != (name,)]
    item.user_properties.append((name, value))


# --- fixtures ---------------------------------------------------------------------------------


def condition_of(case: Case) -> Condition:
    """The condition of a case of ``@conditions``."""
    if case.condition is None:
        pytest.fail("the fixture 'condition' is for @conditions cases", pytrace=False)
    return case.condition


def verdict_of(case: Case, run: Run) -> Verdict:
    """The verdict of a case of ``@hypotheses``."""
    if case.kind != "hypothesis" or case.contrast is None:
        pytest.fail("the fixture 'verdict' is for @hypotheses cases", pytrace=False)
    return run.analysis(case)[0].verdict(case.contrast.id)


def control_of(case: Case, run: Run) -> Control:
    """What became of the positive control of a case of ``@positive_control``."""
    found = run.analysis(case)[0].control if case.kind == "control" else None
    if found is None:
        pytest.fail("the fixture 'control' is for @positive_control cases", pytrace=False)
    return found


# --- the body ---------------------------------------------------------------------------------


@contextmanager
def watched(item: pytest.Function) -> Iterator[None]:
    """Take note whether the item's body is called at all: any plugin can answer in its place."""
    body: Callable[..., Any] = item.obj
    case = case_of(item)
    if case is None:
        yield
        return
    from .cases import judging  # noqa: PLC0415  (nothing is imported without cases)

    @functools.wraps(body)
    def noted(*args: object, **kwargs: object) -> object:
        item.stash[_CALLED] = True
        with judging(case):
            return body(*args, **kwargs)

    @functools.wraps(body)
    async def noted_async(*args: object, **kwargs: object) -> object:
        item.stash[_CALLED] = True
        with judging(case):  # here, too: a plugin may run it in a task made long before
            return await body(*args, **kwargs)

    item.obj = noted_async if inspect.iscoroutinefunction(body) else noted
    try:
        yield
    finally:
        item.obj = body


@contextmanager
def judged(
    item: pytest.Item,
    case: Case,
    tolerated: Callable[[], str],
    judge: Callable[[], None],
    note: Callable[[], object],
) -> Iterator[None]:
    """Around the body of a case: ``judge`` after it, ``note`` where it failed by itself.

    A body that skips is judged like any other; only what ends the session is let through. What is
    ``tolerated`` becomes an xfail before the body runs: afterwards pytest looks for none.
    """
    __tracebackhide__ = True
    from .cases import judging  # noqa: PLC0415  (nothing is imported without cases)

    item.stash[_CALLED] = item.stash[_JUDGED] = False
    try:
        _tolerate(item, tolerated())
        with judging(case):
            yield
    except (KeyboardInterrupt, pytest.exit.Exception):
        raise
    except pytest.skip.Exception:
        judge()
        raise
    except BaseException:
        note()
        raise
    else:
        if not item.stash[_CALLED]:
            reason = f"the body of {item.name} was not called: a plugin ran instead"
            pytest.fail(reason, pytrace=False)
        judge()
    finally:
        item.stash[_JUDGED] = True


def _tolerate(item: pytest.Item, reason: str) -> None:
    """Have what the gate will say to an item reported as an expected failure."""
    if reason:
        # strict is said for the mark to beat pytest's ini keys of that meaning.
        mark = pytest.mark.xfail(raises=AssertionError, strict=False, reason=reason)
        item.add_marker(mark, append=False)


# --- the report -------------------------------------------------------------------------------


def amend(
    item: pytest.Item,
    call: pytest.CallInfo[None],
    report: pytest.TestReport,
    missing: Callable[[], NotRecorded | None],
) -> None:
    """Word our own errors, and fail an xfail under which nothing was tested.

    Errors become plain text: it shows in the short summary, in JUnit and through xdist alike.
    """
    from .errors import BiasError, NotRecorded, StaleRecordings  # noqa: PLC0415  (nothing is imported without cases)

    if report.when == "call" and not item.stash.get(_JUDGED, False):
        return  # a subtest's
    error = call.excinfo.value if call.excinfo is not None else None
    if report.skipped and hasattr(report, "wasxfail"):
        if any(pair[:1] == (RESULT,) for pair in item.user_properties):
            return
        del report.wasxfail
        report.outcome = "failed"
        error = error if isinstance(error, BiasError) else missing() or error
        report.longrepr = "nothing was tested, and an xfail does not cover that"
    if report.failed and isinstance(error, NotRecorded | StaleRecordings):
        set_property(item, NOT_RECORDED, error.explanation)
        report.user_properties = list(item.user_properties)
    if report.failed and isinstance(error, BiasError):
        report.longrepr = f"{type(error).__name__}: {error}"


def amend_unjudged(call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Fail where a decorated function ran as an ordinary test: an xfail does not cover that."""
    error = call.excinfo.value if call.excinfo is not None else None
    errors = sys.modules.get(f"{__package__}.errors")
    if errors is None or not isinstance(error, errors.NotJudged):
        return
    if hasattr(report, "wasxfail"):
        del report.wasxfail
    report.outcome = "failed"
    report.longrepr = f"{type(error).__name__}: {error}"
