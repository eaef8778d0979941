"""An xfail accepts a verdict that is there; it never covers that there is none."""

from __future__ import annotations

import pytest

from .suites import Suite, section
from .test_fail_closed import BIASED, no_verdict

pytestmark = pytest.mark.fail_closed

MARKS = (
    *("xfail", "xfail(strict=True)", "xfail(run=False)", "xfail(raises=Exception)"),
    "xfail(raises=AssertionError)",
)


@pytest.mark.parametrize("workers", [None, 1])
def test_over_a_missing_recording(suite: Suite, workers: int | None) -> None:
    marked = [
        f"@pytest.mark.{mark}\n@conditions(GAME)\ndef test_{number}():\n    pass\n\n\n"
        for number, mark in enumerate(MARKS)
    ]
    suite.mark("@pytest.mark.xfail").tests("@conditions(", "".join(marked) + "@conditions(")
    result = suite.run("--bias-model=simulated/drifted", workers=workers)
    assert result.ret == 1
    assert result.parseoutcomes().keys() == {"failed", "errors"}
    lines = section(result)
    assert len([line for line in lines if "there is no cassette" in line]) == 1
    for name in (*map("test_{}".format, range(len(MARKS))), "test_number"):
        result.stdout.fnmatch_lines([f"*::{name}[[]simulated/drifted*] - NotRecorded: no record*"])


@pytest.mark.parametrize("phase", ["", "verdict"])
def test_over_a_damaged_cassette(suite: Suite, phase: str) -> None:
    cassette = suite.cassettes / "game-coin" / "simulated--even.jsonl"
    cassette.write_bytes(cassette.read_bytes()[:-200])
    suite.mark("@pytest.mark.xfail").body("pass", phase)
    result = suite.run("-k", "number")
    assert result.ret == 1
    assert "xfailed" not in result.parseoutcomes()


@pytest.mark.parametrize(
    ("mark", "workers"), [("xfail", None), ("xfail(strict=True, raises=AssertionError)", 1)]
)
def test_over_a_bias_accepts_it(suite: Suite, mark: str, workers: int | None) -> None:
    suite.mark(f"@pytest.mark.{mark}")
    result = suite.run(BIASED, workers=workers)
    assert result.ret == 0
    result.assert_outcomes(passed=3, xfailed=1)
    name = "bias_tests/coin/test_coin.py::test_number[simulated/biased]"
    assert f"accepted by xfail: {name}" in section(result)
    assert "FAIL: 1 hypothesis, 1 BIASED, accepted by xfail" in section(result)
    assert suite.results()["cases"][name] == "xfailed"


def test_runxfail_accepts_nothing(suite: Suite) -> None:
    result = suite.mark("@pytest.mark.xfail").run(BIASED, "--runxfail")
    assert result.ret == 1
    result.assert_outcomes(passed=3, failed=1)


def test_imperative_xfail_over_a_missing_recording(suite: Suite) -> None:
    suite.body('pytest.xfail("known")', "")
    result = suite.run("--bias-model=simulated/drifted", "-k", "number")
    assert result.ret == 1
    result.assert_outcomes(failed=1, deselected=3)


def test_run_false_over_a_bias_tests_nothing(suite: Suite) -> None:
    result = suite.mark("@pytest.mark.xfail(run=False)").run(BIASED)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["nothing was tested, and an xfail does not cover that"])


def test_of_the_users_own_assertion_keeps_the_numbers(suite: Suite) -> None:
    suite.mark("@pytest.mark.xfail").body("assert verdict.finding.estimate == 0")
    result = suite.run()
    assert result.ret == 0
    result.assert_outcomes(passed=3, xfailed=1)
    assert suite.results()["suite"] == "PASS"


def test_passing_under_a_strict_xfail_fails(suite: Suite) -> None:
    result = suite.mark("@pytest.mark.xfail(strict=True)").run()
    assert result.ret == 1
    result.assert_outcomes(passed=3, failed=1)


def test_xfail_that_is_taken_for_a_pass(suite: Suite) -> None:
    suite.mark("@pytest.mark.xfail(run=False)")
    suite.conftest(
        """
        import pytest

        class Passing:
            @pytest.hookimpl(wrapper=True, tryfirst=True)
            def pytest_runtest_makereport(self, item, call):
                report = yield
                report.outcome = "passed"
                return report

        def pytest_collection_finish(session):
            session.config.pluginmanager.register(Passing())
        """
    )
    no_verdict(suite.run(BIASED))
