"""Beside other plugins, without those that are optional, and with what pytest itself offers."""

from __future__ import annotations

import pytest

from .suites import Suite, section
from .test_baselines import ID, WORDS
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
    assert PASSES in section(result)


def test_what_a_module_leaves_open_is_found_at_the_end(suite: Suite) -> None:
    ring = "ring = []\nring += [ring, open(__file__)]\ndel ring\n"
    suite.file("bias_tests/a/test_a.py", f"{ring}\n\ndef test_plain():\n    pass\n")
    result = suite.run("-Werror", anew=True)
    assert result.ret == 1
    assert "unclosed file" in f"{result.stdout}{result.stderr}"


@pytest.mark.fail_closed
@pytest.mark.parametrize("workers", [None, 1])
def test_rerun_rolls_no_verdict_again(suite: Suite, workers: int | None) -> None:
    suite.body("open('runs.txt', 'a').write('x')", "")
    # rerunfailures talks to its workers over a socket of its own
    result = suite.run(BIASED, "-p", "pytest_rerunfailures", "--reruns=2", workers=workers)
    assert result.ret == 1
    outcomes = result.parseoutcomes()
    assert outcomes == {"passed": 3, "failed": 1, "rerun": 2}
    assert (suite.path / "runs.txt").read_text(encoding="utf-8") == "xxx"
    name = "bias_tests/coin/test_coin.py::test_number[simulated/biased]"
    results = suite.results()
    assert results["cases"][name] == "failed"
    assert results["suite"] == "FAIL"
    assert results["lost"] == []


@pytest.mark.fail_closed
@pytest.mark.parametrize("workers", [None, 1])
def test_what_another_plugin_ends_badly_for_stays_so(suite: Suite, workers: int | None) -> None:
    """As plugins do that have found something at the end: a threshold, an unused file."""
    finish = "def pytest_sessionfinish(session):\n    session.exitstatus = {}\n"
    for status in (1, 7):
        suite.conftest(finish.format(status))
        assert suite.run(workers=workers).ret == suite.results()["exit_status"] == status
    suite.conftest(finish.format(0))
    suite.file("bias_tests/test_ordinary.py", "def test_other():\n    assert False\n")
    assert suite.run(workers=workers).ret == suite.results()["exit_status"] == 1


@pytest.mark.fail_closed
def test_case_that_passes_when_rerun(suite: Suite) -> None:
    suite.body(
        """
        import pathlib
        first = pathlib.Path("first")
        if not first.exists():
            first.touch()
            raise OSError("flaky")
        """,
        "",
    )
    result = suite.run("-p", "pytest_rerunfailures", "--reruns=2")
    assert result.ret == 0
    assert suite.results()["suite"] == "PASS"


def test_without_optional_packages(suite: Suite) -> None:
    suite.conftest(
        """
        import sys

        for name in ("openai", "httpx2", "xdist", "pytest_html", "pytest_metadata"):
            assert name not in sys.modules
            sys.modules[name] = None
        """
    )
    result = suite.run("--bias-report=page.html", anew=True)
    assert result.ret == 0
    assert PASSES in section(result)


def test_recording_without_the_sdk_names_the_extra(suite: Suite) -> None:
    suite.conftest("import sys\n\nsys.modules['openai'] = None\n")
    suite.monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    result = suite.run("--bias-model=openai/any", "--bias-record=missing", process=True)
    assert result.ret == 1
    assert [line for line in section(result) if "pip install 'pytest-bias[openai]'" in line]


@pytest.mark.parametrize(("mode", "workers"), [("prepend", None), ("importlib", 1)])
def test_classes_the_users_own_parameters_and_other_tests(
    suite: Suite, mode: str, workers: int | None
) -> None:
    suite.change("pytest.ini", "-ra", f"-ra --import-mode={mode}\npythonpath = .")
    suite.tests("@hypotheses(GAME, NUMBER)\ndef test_number():\n    pass\n", CLASS)
    suite.file(
        "bias_tests/test_plain.py",
        "def test_plain():\n    pass\n\ndef test_red():\n    assert False\n",
    )
    result = suite.run(workers=workers)
    assert result.ret == 1
    result.assert_outcomes(passed=7, failed=1)
    name = "bias_tests/coin/test_coin.py::TestNumber::test_number[simulated/even-{}]"
    cases = suite.results()["cases"]
    assert {name.format("good"), name.format("bad")} <= set(cases)
    assert len(cases) == 5
    assert PASSES in section(result)


def test_a_hypothesis_of_several_cases_counts_once(suite: Suite) -> None:
    """As it has where the user's own parameters, or a plugin's, repeat its case."""
    suite.body("pass", "mood").mark('@pytest.mark.parametrize("mood", ["good", "bad"])')
    result = suite.run(BIASED)
    result.assert_outcomes(passed=3, failed=2)
    results = suite.results()
    assert results["failing"] == results["judged"] == [["game-coin", "simulated/biased", ID]]
    assert suite.run(BIASED, *WORDS).ret == 0
    result = suite.run(BIASED)
    result.assert_outcomes(passed=3, xfailed=2)
    assert "PASS with 1 accepted  simulated/biased: nothing stops it" in section(result)
    assert len(suite.results()["accepted"]) == 1


@pytest.mark.fail_closed
def test_same_item_twice(suite: Suite) -> None:
    module = "bias_tests/coin/test_coin.py"
    result = suite.run("--keep-duplicates", module, module, BIASED)
    assert result.ret == 1
    assert suite.results(partial=True)["lost"] == []
