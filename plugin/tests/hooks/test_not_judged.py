"""A decorated function that runs without being judged, or does not run, is never green."""

from __future__ import annotations

import sys

import pytest

from .. import forked
from .suites import Suite, section
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
UNJUDGED = "*NotJudged: *test_number was called without the pytest-bias plugin judging it*"

SILENT = "problem: bias_tests/coin/test_coin.py:*: {} has a bias decorator, but pytest collects*"


@pytest.fixture
def bare(suite: Suite) -> Suite:
    """The suite with nothing but its hypothesis, which is BIASED."""
    head, _ = (suite.path / "bias_tests/coin/test_coin.py").read_text().split("@conditions(GAME)")
    (suite.path / "bias_tests/coin/test_coin.py").write_text(head + CASE, encoding="utf-8")
    return suite


@pytest.mark.parametrize(
    ("body", "autoload"),
    [(CASE, ""), (CASE, "1"), (CASE.replace("def ", "async def "), "1"), (TEST_CASE, "")],
)
def test_without_the_plugin(
    bare: Suite, monkeypatch: pytest.MonkeyPatch, autoload: str, body: str
) -> None:
    bare.tests(CASE, body).change("pytest.ini", "filterwarnings = error\n", "")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", autoload)
    if body != CASE:  # that one in a Python that has imported nothing
        monkeypatch.setattr(sys, "executable", forked.python())
    options = [] if autoload else ["-p", "no:pytest-bias"]
    result = bare.pytester.runpytest_subprocess(*options)
    assert result.ret == 1
    if "async" not in body:
        result.stdout.fnmatch_lines([UNJUDGED])


@pytest.mark.parametrize("mark", ["", "@pytest.mark.xfail(strict=True)\n"])
def test_decorator_that_loses_what_is_declared(bare: Suite, mark: str) -> None:
    bare.tests(CASE, f"{LOSING}\n{mark}@losing\n{CASE}")
    result = bare.run(BIASED)
    assert result.ret == 1
    result.stdout.fnmatch_lines([SILENT.format("test_number")])
    result = bare.run(BIASED, "bias_tests/coin/test_coin.py::test_number")
    assert result.ret == 1
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([UNJUDGED])


@pytest.mark.parametrize("mark", ["", "@pytest.mark.xfail"])
def test_case_that_catches_what_another_function_says(suite: Suite, mark: str) -> None:
    suite.mark(mark)
    result = suite.body("with pytest.raises(Exception):\n    test_noticed(None)").run(BIASED)
    assert result.ret == 1
    assert "xfailed" not in result.parseoutcomes()
    result.stdout.fnmatch_lines(["*NotJudged: *test_noticed was called without *"])


def test_decorator_that_keeps_what_is_declared(suite: Suite) -> None:
    suite.tests(CASE, f"{KEEPING}\n@keeping\n{CASE}")
    result = suite.run(BIASED)
    assert result.ret == 1
    assert "FAIL: 1 hypothesis, 1 BIASED" in section(result)
    assert suite.run().ret == 0


def test_async_body_is_judged(suite: Suite) -> None:
    suite.tests(CASE, CASE.replace("def ", "async def "))
    suite.conftest(
        """
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
    )
    assert suite.run().ret == 0
    result = suite.run(BIASED)
    assert result.ret == 1
    assert "FAIL: 1 hypothesis, 1 BIASED" in section(result)


def test_body_in_a_thread_of_its_own_is_not_judged(suite: Suite) -> None:
    """As pytest-run-parallel has it."""
    suite.conftest(
        """
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
    )
    result = suite.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"{UNJUDGED}pytest's own thread (pytest-run-parallel: *"])


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("TestNumber", "def __init__(self):\n        pass"),
        ("TestNumber(__import__('unittest').TestCase)", "pass"),
    ],
)
def test_method_in_a_class_that_is_not_collected(bare: Suite, name: str, more: str) -> None:
    bare.tests(CASE, METHOD.format(name=name, more=more))
    result = bare.run(BIASED)
    # Of a class with an __init__ pytest itself warns, which is an error here.
    assert result.ret == (pytest.ExitCode.INTERRUPTED if "__init__" in more else 1)
    name = name.partition("(")[0]
    result.stdout.fnmatch_lines([SILENT.format(f"{name}.test_number")])


def test_method_of_a_base_class(suite: Suite) -> None:
    heir = "class TestHeir(Numbers):\n    pass\n"
    suite.tests(CASE, METHOD.format(name="Numbers", more="pass") + heir)
    assert "PASS: 1 hypothesis, 1 CLEAR" in section(suite.run())
    assert suite.run(BIASED).ret == 1


def test_one_class_knows_the_family_of_its_module(bare: Suite) -> None:
    bare.tests(CASE, FAMILY)
    assert bare.run().ret == 0
    result = bare.run("bias_tests/coin/test_coin.py::TestNumber", workers=1)
    assert result.ret == 0
    whole, part = bare.results(), bare.results(partial=True)
    assert part["analyses"] == whole["analyses"]
    (analysis,) = part["analyses"]
    assert [control["seen"] for control in analysis["controls"]] == [True]
    assert len(analysis["verdicts"]) == 2
    assert "PASS: 1 hypothesis, 1 CLEAR" in section(result)
