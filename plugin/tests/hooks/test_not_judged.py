"""A decorated function that runs without being judged, or does not run, is never green."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from .. import forked
from .suites import Scenario, Suite, scenarios
from .test_fail_closed import BIASED

pytestmark = pytest.mark.fail_closed

CASE = "@hypotheses(GAME, NUMBER)\ndef test_number():\n    pass\n"
LOSING = """
def losing(function):
    def lost():
        return function()

    lost.__name__ = function.__name__
    return lost

"""
KEEPING = """
import functools

def keeping(function):
    @functools.wraps(function)
    def kept(*args, **kwargs):
        return function(*args, **kwargs)

    return kept

"""
METHOD = """
class {name}:
    {more}

    @hypotheses(GAME, NUMBER)
    def test_number(self):
        pass


class TestPlain:
    def test_plain(self):
        pass
"""
TEST_CASE = "import unittest\n\n" + METHOD.format(
    name="TestNumber(unittest.TestCase)", more="pass"
)
FAMILY = """
class TestControl:
    @positive_control(GAME, NOTICED)
    def test_noticed(self):
        pass

    class TestWithin:
        @hypotheses(GAME, MeanDifference(
            "number", "cue", high="low", low="high", margin=2.0, claim="detect"))
        def test_other(self):
            pass


class TestNumber:
    @hypotheses(GAME, NUMBER)
    def test_number(self):
        pass
"""
UNJUDGED = "NotJudged: … test_number was called without the pytest-bias plugin judging it"
SILENT = "problem: bias_tests/coin/test_coin.py: … {} has a bias decorator, but pytest collects"
ASYNC = CASE.replace("def ", "async def ")
RUNNING = """
    import asyncio
    import contextvars
    import inspect
    import pytest

    BEFORE = contextvars.copy_context()

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(pyfuncitem):
        if not inspect.iscoroutinefunction(pyfuncitem.obj):
            return None
        BEFORE.copy().run(asyncio.run, pyfuncitem.obj())
        return True
    """
THREADED = """
    import functools
    from concurrent.futures import ThreadPoolExecutor

    def pytest_itemcollected(item):
        body = item.obj

        @functools.wraps(body)
        def threaded(**given):
            with ThreadPoolExecutor(1) as threads:
                return threads.submit(body, **given).result()

        item.obj = threaded
    """
"""As pytest-run-parallel has it."""


@pytest.fixture
def bare(suite: Suite) -> Suite:
    """The suite with nothing but its hypothesis, which is BIASED."""
    file = "bias_tests/coin/test_coin.py"
    head, _ = (suite.path / file).read_text("utf-8").split("@conditions(GAME)")
    return suite.file(file, head + CASE)


@pytest.mark.parametrize(
    ("body", "autoload"), [(CASE, ""), (CASE, "1"), (ASYNC, "1"), (TEST_CASE, "")]
)
def test_without_the_plugin(bare: Suite, autoload: str, body: str) -> None:
    bare.tests(CASE, body).change("pytest.ini", "filterwarnings = error\n", "")
    bare.monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", autoload)
    if body != CASE:  # that one in a Python that has imported nothing
        bare.monkeypatch.setattr(sys, "executable", forked.python())
    options = [] if autoload else ["-p", "no:pytest-bias"]
    result = bare.pytester.runpytest_subprocess(*options)
    assert result.ret == 1
    if body != ASYNC:
        result.stdout.fnmatch_lines(["*NotJudged: *test_number was called without the pytest-b*"])


def losing(mark: str) -> Callable[[Suite], object]:
    return lambda suite: suite.tests(CASE, f"{LOSING}\n{mark}@losing\n{CASE}")


def catching(suite: Suite) -> Suite:
    return suite.body("with pytest.raises(Exception):\n    test_noticed(None)")


def method(name: str, more: str) -> Callable[[Suite], object]:
    return lambda suite: suite.tests(CASE, METHOD.format(name=name, more=more))


def in_async(suite: Suite) -> None:
    suite.tests(CASE, ASYNC).conftest(RUNNING)


def inherited(suite: Suite) -> None:
    heir = "class TestHeir(Numbers):\n    pass\n"
    suite.tests(CASE, METHOD.format(name="Numbers", more="pass") + heir)


XFAIL = "@pytest.mark.xfail(strict=True)\n"
ITSELF = f"{BIASED} bias_tests/coin/test_coin.py::test_number"
INIT = "def __init__(self):\n        pass"
ANOTHER = "NotJudged: … test_noticed was called without", "!xfailed"
KEPT = f"{KEEPING}\n@keeping\n{CASE}"
FAIL, PASS = "BIAS FOUND: 1 hypothesis, 1 BIASED", "PASS: 1 hypothesis, 1 CLEAR"
JUDGED = {
    "loses": Scenario(losing(""), BIASED, 1, "", SILENT.format("test_number")),
    "loses, itself": Scenario(losing(""), ITSELF, 1, "1 failed", UNJUDGED),
    "loses, xfail": Scenario(losing(XFAIL), BIASED, 1, "", SILENT.format("test_number")),
    "loses, xfail, itself": Scenario(losing(XFAIL), ITSELF, 1, "1 failed", UNJUDGED),
    "catches": Scenario(catching, BIASED, 1, "", *ANOTHER),
    "catches, xfail": Scenario(
        lambda suite: catching(suite.mark("@pytest.mark.xfail")), BIASED, 1, "", *ANOTHER
    ),
    "keeps": Scenario(lambda suite: suite.tests(CASE, KEPT), BIASED, 1, "", FAIL),
    "keeps, even": Scenario(lambda suite: suite.tests(CASE, KEPT), "", 0, "", PASS),
    "async": Scenario(in_async, BIASED, 1, "", FAIL),
    "async, even": Scenario(in_async, "", 0, "", PASS),
    "thread": Scenario(
        lambda suite: suite.conftest(THREADED), "", 1, "", f"{UNJUDGED} … pytest's own thread"
    ),
    # Of a class with an __init__ pytest itself warns, which is an error here.
    "init": Scenario(
        method("TestNumber", INIT), "", 2, "", SILENT.format("TestNumber.test_number")
    ),
    "unittest": Scenario(
        method("TestNumber(__import__('unittest').TestCase)", "pass"),
        *("", 1, "", SILENT.format("TestNumber.test_number")),
    ),
    "base class": Scenario(inherited, BIASED, 1, "", FAIL),
    "base class, even": Scenario(inherited, "", 0, "", PASS),
}


@scenarios(JUDGED)
def test_what_is_judged_and_what_is_never_green(suite: Suite, scenario: Scenario) -> None:
    scenario.check(suite)


def test_one_class_knows_the_family_of_its_module(bare: Suite) -> None:
    bare.tests(CASE, FAMILY)
    bare.check("", 0)
    bare.check("bias_tests/coin/test_coin.py::TestNumber", 0, "", PASS, workers=1)
    whole, part = bare.results(), bare.results(partial=True)
    assert part["analyses"] == whole["analyses"]
    (analysis,) = part["analyses"]
    assert [control["seen"] for control in analysis["controls"]] == [True]
    assert len(analysis["verdicts"]) == 2
