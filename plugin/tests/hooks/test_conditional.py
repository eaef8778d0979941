"""Decorators under conditions that do not hold: what they would declare is not judged."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .suites import Scenario, Suite, scenarios

FILE = "bias_tests/coin/test_coin.py"
HYPOTHESIS = "@hypotheses(GAME, NUMBER)\ndef test_number():\n    pass\n"
INDENTED = "    @{}(GAME, NUMBER)\n    def test_number():\n        pass\n"


def under(head: str, decorator: str = "hypotheses", more: str = "") -> Callable[[Suite], object]:
    text = f"{head}\n{INDENTED.format(decorator)}{more}"
    return lambda suite: suite.change(FILE, HYPOTHESIS, text)


MISSING = "try:\n    import optional_dep\nexcept ImportError:\n    optional_dep = None\n"
LINE = "test_number has a bias decorator, but declared nothing: it stands under a condition"
LOOP = "for each in ():"
FAILS = "try:\n    raise ImportError\n{}except ImportError:\n    pass\n"
TRY = FAILS.format(INDENTED.format("hypotheses"))
INNER = "\n\ndef made():\n" + INDENTED.format("hypotheses")
EITHER = "hypotheses(GAME, NUMBER) if __file__ == '' else (lambda test: test)"
BODY = "\ndef test_number():\n    pass\n"
WRAPS = """
import functools


def wrapped(function):
    @functools.wraps(function)
    def wrapper(*given):
        return function(*given)
    return wrapper


def plain(function):
    def other():
        return function()
    return other


"""
RED = (1, "3 passed", f"problem: {FILE}: … {LINE}")

SCENARIOS = {
    "import": Scenario(under(f"{MISSING}if optional_dep:"), "", *RED),
    "environment": Scenario(under("import os\nif os.environ.get('NONE'):"), "", *RED),
    "loop": Scenario(under(LOOP), "", *RED),
    "class": Scenario(under(f"if False:\n    pass\nelse:\n    pass\n{LOOP}"), "", *RED),
    "try": Scenario(lambda suite: suite.change(FILE, HYPOTHESIS, TRY), "", *RED),
    "other name": Scenario(under("H = hypotheses\nif False:", "H"), "", *RED),
    "imported name": Scenario(
        under("from pytest_bias import hypotheses as asked\nif False:", "asked"), "", *RED
    ),
    "one of two": Scenario(
        lambda s: s.change(FILE, HYPOTHESIS, f"@({EITHER}){BODY}"), "", 1, "4 passed", RED[2]
    ),
    "made before": Scenario(
        lambda s: s.change(FILE, HYPOTHESIS, f"mark = {EITHER}\n@mark{BODY}"),
        *("", 1, "4 passed", RED[2]),
    ),
    "made before, and it holds": Scenario(
        lambda s: s.change(FILE, HYPOTHESIS, f"mark = {EITHER.replace('==', '!=')}\n@mark{BODY}"),
        *("", 0, "4 passed", f"!{LINE}"),
    ),
    "allowed": Scenario(
        under("__bias_optional__ = 'needs a licence'\nif False:"), "-k low", 0, "", f"!{LINE}"
    ),
    "it holds": Scenario(under("if True:"), "", 0, "4 passed", f"!{LINE}"),
    "wrapped": Scenario(
        lambda s: s.change(
            FILE,
            HYPOTHESIS,
            f"{WRAPS}@hypotheses(GAME, NUMBER)\n@plain\n@wrapped\ndef test_number():\n    pass\n",
        ),
        "",
        0,
        "4 passed",
        f"!{LINE}",
    ),
    "within a function": Scenario(
        lambda s: s.change(FILE, HYPOTHESIS, HYPOTHESIS + INNER),
        "",
        0,
        "4 passed",
    ),
}


@scenarios(SCENARIOS)
def test_a_decorator_that_declares_nothing_is_a_problem(suite: Suite, scenario: Scenario) -> None:
    scenario.check(suite)


def test_a_whole_run_that_judges_no_hypothesis_is_red(suite: Suite) -> None:
    suite.change(FILE, HYPOTHESIS, "")
    suite.check("", 1, "3 passed", "NO RESULT: no hypothesis")
    suite.check("-k test_asked", 0, "2 passed")


@pytest.mark.parametrize("name", ["H = hypotheses", "from pytest_bias import hypotheses as H"])
def test_a_file_that_is_not_collected_may_call_its_decorator_otherwise(
    suite: Suite, name: str
) -> None:
    text = (suite.path / FILE).read_text("utf-8").split("@", 1)[0]
    file = suite.path / "bias_tests/coin/check_coin.py"
    file.write_text(f"{text}{name}\n\n\n{HYPOTHESIS.replace('hypotheses', 'H')}", "utf-8")
    suite.check("", 1, "4 passed", "problem: bias_tests/coin/check_coin.py")
