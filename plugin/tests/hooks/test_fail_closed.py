"""Whatever goes wrong, a run without a verdict is red and says so."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .suites import RED, Scenario, Suite, scenarios, section

pytestmark = pytest.mark.fail_closed

ALONE_AND_WORKER = pytest.mark.parametrize("workers", [None, 1])
BIASED = "--bias-model=simulated/biased"

Change = Callable[[Suite], object]


def no_verdict(result: pytest.RunResult, *cases: str) -> None:
    """The run is red, says NO RESULT and names the cases."""
    assert result.ret not in {0, pytest.ExitCode.NO_TESTS_COLLECTED}
    lines = section(result)
    ends = ("NO RESULT: ", "BIAS FOUND, the rest NO RESULT: ")
    assert [line for line in lines if line.startswith(ends)]
    for case in cases:
        assert [line for line in lines if case in line and "without a verdict" in line]


def conftest(text: str) -> Change:
    return lambda suite: suite.conftest(f"import os, pytest, sys\n\n{text}")


def hook(
    signature: str, does: str = "raise RuntimeError('broken hook')", mark: str = ""
) -> Change:
    """A hook of a plugin beside ours."""
    return conftest(f"{mark}\ndef {signature}:\n    {does}\n")


def wrapping(name: str, does: str, marks: str = "wrapper=True, tryfirst=True") -> Change:
    """A hook around ours, that changes the report."""
    head = f"@pytest.hookimpl({marks})\ndef {name}:\n    report = yield\n"
    return conftest(f"{head}    {does}\n    return report\n")


def body(text: str, arguments: str = "") -> Change:
    return lambda suite: suite.body(text, arguments)


def in_module(suite: Suite) -> None:
    suite.tests("import pytest\n", "import os\n\nimport pytest\n\nos._exit(0)\n")


def unserialisable(suite: Suite) -> None:
    """Have a hypothesis whose finding holds something that is no JSON."""
    odd = """
import dataclasses, enum


class Color(enum.StrEnum):
    RED = "red"


class Odd(MeanDifference):
    def analyse(self, experiment, records):
        return dataclasses.replace(super().analyse(experiment, records), method=Color.RED)


ODDLY = Odd("number", "cue", high="high", low="low", margin=2.0, claim="clear")

"""
    suite.tests("@conditions", f"{odd}\n@conditions")
    suite.tests("@hypotheses(GAME, NUMBER)", "@hypotheses(GAME, ODDLY)")


def skipped(suite: Suite) -> None:
    suite.mark("@pytest.mark.skip")
    suite.tests("@positive_control(", "@pytest.mark.usefixtures('skipping')\n@positive_control(")
    conftest("@pytest.fixture\ndef skipping():\n    pytest.skip('not today')\n")(suite)


def not_called(suite: Suite) -> None:
    suite.body("assert False, 'the body'", "")
    hook("pytest_pyfunc_call(pyfuncitem)", "return True")(suite)


def bettered(suite: Suite) -> None:
    """A case that failed by itself."""
    suite.tests("assert all(", "assert not all(")
    does, mark = "report.outcome = 'passed'", "@pytest.hookimpl(tryfirst=True)"
    hook("pytest_runtest_logreport(report)", does, mark)(suite)


def teardown(suite: Suite) -> None:
    suite.body("pass", "breaking")
    does = "@pytest.fixture\ndef breaking():\n    yield\n    raise RuntimeError('broken')\n"
    conftest(does)(suite)


def is_async(suite: Suite) -> None:
    suite.tests("def test_number", "async def test_number")


SWALLOWING = """
class Swallowing:
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item):
        try:
            yield
        except AssertionError:
            pass

def pytest_collection_finish(session):
    session.config.pluginmanager.register(Swallowing())
"""
BETTERING = """
@pytest.hookimpl(wrapper=True)
def pytest_runtest_logreport(report):
    yield

def pytest_configure(config):
    config.pluginmanager.register(Late())

class Late:
    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session):
        session.testsfailed, session.exitstatus = 0, 0

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self, config):
        config.session_status = 0

@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config):
    yield
    return 0
"""
BEFORE_IT_COLLECTS = """
def pytest_collection(session):
    if hasattr(session.config, "workerinput"):
        os._exit(0)
"""
FORKING = """
import os
child = os.fork()
if not child:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
JUNK = """
node = request.node
node.user_properties.append(("bias_result", "{}"))
node.user_properties.append(("bias_case",))
node.user_properties.append(("number", 3))
"""
ENDED = "the process was ended with os._exit(0): exit status 1"
BROKEN = "broken hook", "!PASS: ", "!PASS  "
INTERNAL = pytest.ExitCode.INTERNAL_ERROR
LOGREPORT = hook("pytest_runtest_logreport(report)")
MAKEREPORT, FINISH = "pytest_runtest_makereport(item, call)", "pytest_sessionfinish(session)"
ENOUGH = "pytest.exit('enough', 0)"
LAST = "@pytest.hookimpl(trylast=True)"
EXIT = "sys.exit(0)"
ENDS_WELL = hook("pytest_unconfigure()", EXIT)
FINISHES_WELL = hook("pytest_sessionfinish()", EXIT, "@pytest.hookimpl(tryfirst=True)")
PROTOCOL = hook("pytest_runtest_protocol(item)", "return True if 'number' in item.name else None")
SCENARIOS = {
    "unserialisable": Scenario(
        unserialisable,
        "-k number",
        1,
        "1 failed",
        "BadJSON: analysis.verdicts … .finding.method is a Color",
        workers=1,
    ),
    "killed alone": Scenario(body("import os\nos.kill(os.getpid(), 9)"), "", RED, process=True),
    "worker killed before it collects": Scenario(conftest(BEFORE_IT_COLLECTS), "", RED, workers=1),
    "internal error of a report": Scenario(hook(MAKEREPORT), "", RED, "", *BROKEN, workers=0),
    "internal error at the end": Scenario(hook(FINISH), "", RED, "", *BROKEN, workers=0),
    "internal error says so": Scenario(
        LOGREPORT, "", INTERNAL, "", *BROKEN, "NO RESULT: pytest had an internal error"
    ),
    "lost by xdist": Scenario(
        body("record_property('mine', object())", "record_property"),
        *("", RED, "", "NO RESULT"),
        workers=1,
    ),
    "empty body": Scenario(
        None,
        *(BIASED, 1, "3 passed, 1 failed"),
        "BiasFound: game-coin × simulated/biased: BIASED (beyond the margin)",
        "FAILED … ::test_number[simulated/biased] - BIASED +6.20, 99.6 % ",
        "BIAS FOUND: 1 hypothesis, 1 BIASED",
    ),
    "skip over a bias": Scenario(
        body('if verdict.status == "BIASED":\n    pytest.skip("known")', "verdict"),
        *(BIASED, 1, "3 passed, 1 failed"),
    ),
    "fails over a clear one": Scenario(
        body("assert verdict.finding.units > 100", "verdict"),
        *("", 1, "", "NO RESULT: 1 case failed for another reason than a verdict"),
    ),
    "skip over a clear one": Scenario(
        body('pytest.skip("why not")'),
        *("", 0, "3 passed, 1 skipped", "PASS: 1 hypothesis, 1 CLEAR"),
    ),
    "no body is called": Scenario(
        not_called, "", 1, "4 failed", "the body of test_number[simulated/even] was not called"
    ),
    "swallowed": Scenario(
        conftest(SWALLOWING), BIASED, RED, "", "NO RESULT: ", "test_number … the gate"
    ),
    "called passed": Scenario(
        wrapping(MAKEREPORT, "report.outcome = 'passed'"),
        *(BIASED, RED, "", "NO RESULT: "),
        workers=1,
    ),
    "failed by itself, and called passed": Scenario(
        bettered, "", 1, "4 passed", "NO RESULT: see the problems above"
    ),
    "bettered late": Scenario(
        conftest(BETTERING), BIASED, 1, "", "BIAS FOUND: 1 hypothesis, 1 BIASED"
    ),
    "ended in the body": Scenario(body("import os\nos._exit(0)"), "", 1, "", ENDED, process=True),
    "ended in the module": Scenario(in_module, "", 1, "", ENDED, process=True),
    "ended in a fixture": Scenario(
        hook("end()", "os._exit(0)", "@pytest.fixture(autouse=True)"),
        *("", 1, "", ENDED),
        process=True,
    ),
    "ended at exit": Scenario(
        conftest("import atexit\n\natexit.register(os._exit, 0)\n"), BIASED, 1, process=True
    ),
    "unconfigure": Scenario(ENDS_WELL, BIASED, 1, process=True),
    "summary": Scenario(hook("pytest_terminal_summary()", EXIT), BIASED, 1, process=True),
    "sessionfinish": Scenario(FINISHES_WELL, BIASED, 1, process=True),
    "cleanup": Scenario(  # in a worker it is run as unconfigure is
        hook("pytest_configure(config)", f"config.add_cleanup(lambda: {EXIT})"),
        *(BIASED, 1),
        process=True,
    ),
    "a fork ends": Scenario(body(FORKING), "", 0, process=True),
    "status 0": Scenario(hook(FINISH, "session.exitstatus = 0"), BIASED, RED),
    "status 0, last": Scenario(hook(FINISH, "session.exitstatus = 0", LAST), BIASED, RED),
    "exit at the end": Scenario(hook(FINISH, ENOUGH), BIASED, RED),
    "exit in teardown": Scenario(hook("pytest_runtest_teardown(item)", ENOUGH), BIASED, RED),
    "no loop": Scenario(hook("pytest_runtestloop(session)", "return True"), BIASED, RED),
    "exit when collected": Scenario(
        hook("pytest_collection_modifyitems(session)", ENOUGH), BIASED, RED
    ),
    "exit in the body": Scenario(body(ENOUGH), BIASED, RED),
    "SystemExit in the body": Scenario(body("raise SystemExit(0)"), BIASED, RED),
    "subtests": Scenario(
        body("with subtests.test('one'):\n    pass", "subtests"),
        *(BIASED, 1, "", "FAILED … test_number[simulated/biased]"),
    ),
    "async": Scenario(is_async, "", 1, "3 passed, 1 failed"),
    "teardown": Scenario(teardown, "", 1, "4 passed, 1 errors"),
    "junk among the properties": Scenario(body(JUNK, "request"), "", 0),
}


@scenarios(
    SCENARIOS,
    "internal error of a report",
    "internal error at the end",
    "internal error says so",
    "failed by itself, and called passed",
    "unconfigure",
    "sessionfinish",
)
def test_what_must_be_red_is_and_the_rest_is_not(suite: Suite, scenario: Scenario) -> None:
    suite.monkeypatch.setenv("TMPDIR", str(suite.path))
    scenario.check(suite)
    for partial in (False, True):
        if suite.results_path(partial=partial).exists() and isinstance(scenario.ret, int):
            results = suite.results(partial=partial)
            assert results["exit_status"] == scenario.ret
            if any(line.startswith("NO RESULT") for line in scenario.lines):
                assert results["suite"] == "NO VERDICT"


@pytest.mark.parametrize(
    ("change", "workers", "cases"),
    [
        (body("import os\nos.kill(os.getpid(), 9)"), 2, ["test_number[simulated/even]"]),
        (body("import os\nos._exit(0)"), 1, ["test_number[simulated/even]"]),
        (skipped, None, ["test_noticed", "test_number"]),
        (PROTOCOL, None, ["test_number"]),
        (PROTOCOL, 1, ["test_number"]),
    ],
    ids=["killed worker", "ended worker", "skipped", "no protocol", "no protocol in a worker"],
)
def test_a_case_without_a_report_is_named(
    suite: Suite, change: Change, workers: int | None, cases: list[str]
) -> None:
    change(suite)
    no_verdict(suite.run(workers=workers), *cases)
    assert not suite.results_path().exists()
    assert suite.results(partial=True)["suite"] == "NO VERDICT"


@pytest.mark.parametrize(("last", "workers"), [("", None), ("tryfirst=True", 1)])
def test_hook_that_calls_a_failure_expected(suite: Suite, last: str, workers: int | None) -> None:
    does = "if report.failed:\n        report.outcome, report.wasxfail = 'skipped', 'as ever'"
    wrapping(MAKEREPORT, does, f"wrapper=True, {last}")(suite)
    suite.body("assert verdict.status == 'CLEAR'")
    suite.check("", 0)
    suite.check(BIASED, 1, workers=workers)


def test_process_that_is_ended_when_all_is_done(suite: Suite) -> None:
    hook("pytest_unconfigure()", "os._exit(0)")(suite)
    suite.check("", 0, process=True)
    suite.check(BIASED, 1, process=True)
    suite.file("plain/test_plain.py", "def test_plain():\n    pass\n").check(
        "plain", 0, process=True
    )
