"""Beside other plugins, without those that are optional, and with what pytest itself offers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .suites import ACCEPT, Scenario, Suite, scenarios
from .test_baselines import ID
from .test_fail_closed import BIASED

CLASS = """
class TestNumber:
    @pytest.mark.parametrize("mood", ["good", "bad"])
    @hypotheses(GAME, NUMBER)
    def test_number(self, mood, verdict):
        assert verdict.status == "CLEAR"

    def test_plain(self):
        pass
"""
PASSES = "PASS: 1 hypothesis, 1 CLEAR"


def test_all_plugins_at_once(suite: Suite) -> None:
    suite.tests("@conditions", "pytestmark = pytest.mark.timeout(600)\n\n\n@conditions")
    options = ["--cov=bias_tests", "--cov-report=xml", "--timeout=600", "--reruns=2", "-n1"]
    result = suite.run_with_all_plugins(*options)
    assert result.ret == 0
    result.assert_outcomes(passed=4)
    assert (suite.path / "coverage.xml").exists()
    result.stdout.fnmatch_lines([PASSES])


def unclosed(suite: Suite) -> None:
    ring = "ring = []\nring += [ring, open(__file__)]\ndel ring\n"
    suite.file("bias_tests/a/test_a.py", f"{ring}\n\ndef test_plain():\n    pass\n")


FLAKY = """
    import pathlib
    first = pathlib.Path("first")
    if not first.exists():
        first.touch()
        raise OSError("flaky")
    """
NONE = """
    import sys

    for name in ("openai", "httpx2", "xdist", "pytest_html", "pytest_metadata"):
        assert name not in sys.modules
        sys.modules[name] = None
    """
PLAIN = "def test_plain():\n    pass\n\ndef test_red():\n    assert False\n"


def no_sdk(suite: Suite) -> None:
    suite.conftest("import sys\n\nsys.modules['openai'] = None\n")
    suite.monkeypatch.setenv("OPENAI_API_KEY", "sk-test")


def in_a_class(mode: str) -> Callable[[Suite], object]:
    def change(suite: Suite) -> None:
        suite.change("pytest.ini", "-ra", f"-ra --import-mode={mode}\npythonpath = .")
        suite.tests("@hypotheses(GAME, NUMBER)\ndef test_number():\n    pass\n", CLASS)
        suite.file("bias_tests/test_plain.py", PLAIN)

    return change


RECORD = "--bias-model=openai/any --bias-record=missing"
MODULE = "bias_tests/coin/test_coin.py"
BESIDE = {
    "left open": Scenario(unclosed, "-Werror", 1, "", "unclosed file", anew=True),
    "flaky": Scenario(
        lambda suite: suite.body(FLAKY, ""), "-p pytest_rerunfailures --reruns=2", 0, "", PASSES
    ),
    "no package": Scenario(
        lambda suite: suite.conftest(NONE), "--bias-report=page.html", 0, "", PASSES, anew=True
    ),
    "no SDK": Scenario(no_sdk, RECORD, 1, "", "pip install 'pytest-bias[openai]'", process=True),
    "class": Scenario(in_a_class("prepend"), "", 1, "7 passed, 1 failed", PASSES),
    "class, importlib": Scenario(
        in_a_class("importlib"), "", 1, "7 passed, 1 failed", PASSES, workers=1
    ),
}


@pytest.mark.fail_closed
@scenarios(BESIDE)
def test_beside(suite: Suite, scenario: Scenario) -> None:
    scenario.check(suite)
    if scenario.outcomes:
        name = f"{MODULE}::TestNumber::test_number[simulated/even-"
        cases = suite.results()["cases"]
        assert {f"{name}good]", f"{name}bad]"} <= set(cases)
        assert len(cases) == 5


@pytest.mark.fail_closed
@pytest.mark.parametrize("workers", [None, 1])
def test_rerun_rolls_no_verdict_again(suite: Suite, workers: int | None) -> None:
    suite.body("open('runs.txt', 'a').write('x')", "")
    # rerunfailures talks to its workers over a socket of its own
    options = f"{BIASED} -p pytest_rerunfailures --reruns=2"
    suite.check(options, 1, "3 passed, 1 failed, 2 rerun", workers=workers)
    assert (suite.path / "runs.txt").read_text(encoding="utf-8") == "xxx"
    results = suite.results()
    assert results["cases"][f"{MODULE}::test_number[simulated/biased]"] == "failed"
    assert (results["suite"], results["lost"]) == ("FAIL", [])


@pytest.mark.fail_closed
@pytest.mark.parametrize("workers", [None, 1])
def test_what_another_plugin_ends_badly_for_stays_so(suite: Suite, workers: int | None) -> None:
    """As plugins do that have found something at the end: a threshold, an unused file."""
    finish = "def pytest_sessionfinish(session):\n    session.exitstatus = {}\n"
    for status in (1, 7):
        suite.conftest(finish.format(status)).check("", status, workers=workers)
        assert suite.results()["exit_status"] == status
    suite.conftest(finish.format(0))
    suite.file("bias_tests/test_ordinary.py", "def test_other():\n    assert False\n")
    suite.check("", 1, workers=workers)
    assert suite.results()["exit_status"] == 1


def test_a_hypothesis_of_several_cases_counts_once(suite: Suite) -> None:
    """As it has where the user's own parameters, or a plugin's, repeat its case."""
    suite.body("pass", "mood").mark('@pytest.mark.parametrize("mood", ["good", "bad"])')
    suite.check(BIASED, 1, "3 passed, 2 failed")
    results = suite.results()
    assert results["failing"] == results["judged"] == [["game-coin", "simulated/biased", ID]]
    suite.check(f"{BIASED} {ACCEPT}", 0)
    suite.check(BIASED, 0, "3 passed, 2 xfailed", "PASS with 1 accepted")
    assert len(suite.results()["accepted"]) == 1


@pytest.mark.fail_closed
def test_same_item_twice(suite: Suite) -> None:
    suite.check(f"--keep-duplicates {MODULE} {MODULE} {BIASED}", 1)
    assert suite.results(partial=True)["lost"] == []
