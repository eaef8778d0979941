"""An xfail accepts a verdict that is there; it never covers that there is none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .suites import Scenario, Suite, scenarios
from .test_fail_closed import BIASED

pytestmark = pytest.mark.fail_closed

DRIFTED = "--bias-model=simulated/drifted"
NAME = "bias_tests/coin/test_coin.py::test_number[simulated/biased]"
MARKS = (
    *("xfail", "xfail(strict=True)", "xfail(run=False)", "xfail(raises=Exception)"),
    "xfail(raises=AssertionError)",
)
PASSING = """
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


def marked(mark: str = "xfail") -> Callable[[Suite], Suite]:
    return lambda suite: suite.mark(f"@pytest.mark.{mark}")


def damaged(suite: Suite, phase: str) -> None:
    cassette = suite.cassettes / "game-coin" / "simulated--even.jsonl"
    cassette.write_bytes(cassette.read_bytes()[:-200])
    marked()(suite).body("pass", phase)


ACCEPTED = "3 passed, 1 xfailed", f"accepted by xfail: {NAME}", "1 BIASED, accepted by xfail"
FAILED = "3 passed, 1 failed"
OVER = {
    "bias": Scenario(marked(), BIASED, 0, *ACCEPTED),
    "bias, strictly": Scenario(
        marked("xfail(strict=True, raises=AssertionError)"), BIASED, 0, *ACCEPTED, workers=1
    ),
    "bias with runxfail": Scenario(marked(), f"{BIASED} --runxfail", 1, FAILED),
    "bias that is not run": Scenario(
        marked("xfail(run=False)"), BIASED, 1, "", "nothing was tested, and an xfail does not"
    ),
    "bias that is taken for a pass": Scenario(
        lambda suite: marked("xfail(run=False)")(suite).conftest(PASSING),
        *(BIASED, 1, "", "NO RESULT: "),
    ),
    "own assertion": Scenario(
        lambda suite: marked()(suite).body("assert verdict.finding.estimate == 0"),
        *("", 0, ACCEPTED[0], "PASS: "),
    ),
    "pass, strictly": Scenario(marked("xfail(strict=True)"), "", 1, FAILED),
    "no recording": Scenario(
        lambda suite: suite.body('pytest.xfail("known")', ""),
        f"{DRIFTED} -k number",
        1,
        "1 failed",
    ),
    "damage": Scenario(lambda suite: damaged(suite, ""), "-k number", 1, "1 failed"),
    "damage, read first": Scenario(
        lambda suite: damaged(suite, "verdict"), "-k number", 1, "1 errors"
    ),
}


@scenarios(OVER)
def test_over(suite: Suite, scenario: Scenario) -> None:
    scenario.check(suite)


@pytest.mark.parametrize("workers", [None, 1])
def test_over_a_missing_recording(suite: Suite, workers: int | None) -> None:
    cases = [
        f"@pytest.mark.{mark}\n@conditions(GAME)\ndef test_{number}():\n    pass\n\n\n"
        for number, mark in enumerate(MARKS)
    ]
    suite.mark("@pytest.mark.xfail").tests("@conditions(", "".join(cases) + "@conditions(")
    names = (*map("test_{}".format, range(len(MARKS))), "test_number")
    lines = [f"::{name}[simulated/drifted … - NotRecorded: no record" for name in names]
    result = suite.check(DRIFTED, 1, "", *lines, workers=workers)
    assert result.parseoutcomes().keys() == {"failed", "errors"}
