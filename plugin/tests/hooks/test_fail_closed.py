"""Whatever goes wrong, a run without a verdict is red and says so."""

from __future__ import annotations

import pytest

from .suites import Suite, section

pytestmark = pytest.mark.fail_closed

ALONE_AND_WORKER = pytest.mark.parametrize("workers", [None, 1])
BIASED = "--bias-model=simulated/biased"

FINISH = "def pytest_sessionfinish(session):\n    {}\n"

ODD_CONTRAST = '''
import dataclasses, enum


class Color(enum.StrEnum):
    RED = "red"


class Odd(MeanDifference):
    """A hypothesis whose finding holds something that is no JSON."""

    def analyse(self, experiment, records):
        return dataclasses.replace(super().analyse(experiment, records), method=Color.RED)


ODDLY = Odd("number", "cue", high="high", low="low", margin=2.0, claim="clear")

'''


def no_verdict(result: pytest.RunResult, *cases: str) -> None:
    """The run is red, says NO RESULT and names the cases."""
    assert result.ret not in {0, pytest.ExitCode.NO_TESTS_COLLECTED}
    lines = section(result)
    ends = ("NO RESULT: ", "BIAS FOUND, the rest NO RESULT: ")
    assert [line for line in lines if line.startswith(ends)]
    for case in cases:
        assert [line for line in lines if case in line and "without a verdict" in line]


def test_unserialisable_finding(suite: Suite) -> None:
    suite.tests("@conditions", f"{ODD_CONTRAST}\n@conditions")
    suite.tests("@hypotheses(GAME, NUMBER)", "@hypotheses(GAME, ODDLY)")
    result = suite.run("-k", "number", workers=1)
    assert result.ret == 1
    said = "BadJSON: analysis.verdicts*.finding.method is a Color*"
    result.stdout.fnmatch_lines([said])
    result.assert_outcomes(failed=1)


@pytest.mark.parametrize(
    ("death", "workers"),
    [("os.kill(os.getpid(), 9)", 2), ("os._exit(0)", 1)],
)
def test_killed_worker(suite: Suite, death: str, workers: int) -> None:
    suite.body(f"import os\n{death}", "")
    result = suite.run(workers=workers)
    no_verdict(result, "test_number[simulated/even]")
    assert not suite.results_path().exists()
    assert suite.results(partial=True)["suite"] == "NO VERDICT"


def test_killed_alone(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(suite.path))
    suite.body("import os\nos.kill(os.getpid(), 9)", "")
    assert suite.run(process=True).ret != 0


def test_worker_killed_before_it_collects(suite: Suite) -> None:
    suite.conftest(
        """
        import os

        def pytest_collection(session):
            if hasattr(session.config, "workerinput"):
                os._exit(0)
        """
    )
    assert suite.run(workers=1).ret != 0


@pytest.mark.parametrize(
    ("hook", "workers"),
    [
        ("pytest_runtest_makereport(item, call)", 0),
        ("pytest_runtest_makereport(item, call)", 1),
        ("pytest_sessionfinish(session)", 0),
        ("pytest_sessionfinish(session)", 1),
    ],
)
def test_internal_error(suite: Suite, hook: str, workers: int) -> None:
    suite.conftest(f"def {hook}:\n    raise RuntimeError('broken hook')\n")
    result = suite.run(workers=workers)
    assert result.ret != 0
    everything = result.outlines + result.errlines
    assert [line for line in everything if "broken hook" in line]
    assert not [line for line in everything if line.startswith("PASS")]


@ALONE_AND_WORKER
def test_internal_error_in_a_report_says_no_verdict(suite: Suite, workers: int | None) -> None:
    suite.conftest(
        "def pytest_runtest_logreport(report):\n    raise RuntimeError('broken hook')\n"
    )
    result = suite.run(workers=workers)
    assert result.ret == pytest.ExitCode.INTERNAL_ERROR
    result.stdout.fnmatch_lines(["*broken hook*", "NO RESULT: pytest had an internal error"])
    result.stdout.no_fnmatch_line("PASS*")


def test_report_that_xdist_loses(suite: Suite) -> None:
    suite.body("record_property('mine', object())", "record_property")
    result = suite.run(workers=1)
    assert result.ret != 0
    assert [line for line in result.outlines if "NO RESULT" in line]


def test_empty_body_over_a_bias(suite: Suite) -> None:
    result = suite.run(BIASED)
    assert result.ret == 1
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(
        [
            "BiasFound: game-coin × simulated/biased: BIASED (beyond the margin)*",
            "FAILED *::test_number[[]simulated/biased] - BIASED +6.20, 99.6 % *",
        ]
    )
    assert section(result)[-2:] == [
        "BIAS FOUND: 1 hypothesis, 1 BIASED",
        "written: bias-results.json",
    ]


def test_skip_in_the_body_over_a_bias(suite: Suite) -> None:
    suite.body('if verdict.status == "BIASED":\n    pytest.skip("known")')
    result = suite.run(BIASED)
    assert result.ret == 1
    result.assert_outcomes(passed=3, failed=1)


def test_skip_before_the_body(suite: Suite) -> None:
    suite.mark("@pytest.mark.skip")
    suite.tests("@positive_control(", "@pytest.mark.usefixtures('skipping')\n@positive_control(")
    suite.conftest(
        """
        import pytest

        @pytest.fixture
        def skipping():
            pytest.skip("not today")
        """
    )
    result = suite.run()
    no_verdict(result, "test_noticed", "test_number")
    assert result.ret == 1


def test_body_that_fails_over_a_clear_one(suite: Suite) -> None:
    suite.body("assert verdict.finding.units > 100")
    result = suite.run()
    assert result.ret == 1
    assert suite.results()["suite"] == "NO VERDICT"
    assert "NO RESULT: 1 case failed for another reason than a verdict" in section(result)


def test_skip_in_the_body_of_a_clear_one(suite: Suite) -> None:
    suite.body('pytest.skip("why not")', "")
    result = suite.run()
    assert result.ret == 0
    result.assert_outcomes(passed=3, skipped=1)
    assert "PASS: 1 hypothesis, 1 CLEAR" in section(result)


@ALONE_AND_WORKER
def test_plugin_that_runs_no_protocol(suite: Suite, workers: int | None) -> None:
    suite.conftest(
        """
        def pytest_runtest_protocol(item):
            return True if "number" in item.name else None
        """
    )
    no_verdict(suite.run(workers=workers), "test_number")


def test_plugin_that_calls_no_body(suite: Suite) -> None:
    suite.body("assert False, 'the body'", "")
    suite.conftest("def pytest_pyfunc_call(pyfuncitem):\n    return True\n")
    result = suite.run()
    assert result.ret == 1
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(["the body of test_number[[]simulated/even] was not called*"])


def test_hook_that_swallows_a_failure(suite: Suite) -> None:
    suite.conftest(
        """
        import pytest

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
    )
    result = suite.run(BIASED)
    no_verdict(result)
    assert [line for line in section(result) if "test_number" in line and "the gate" in line]


def test_hook_that_calls_a_failure_passed(suite: Suite) -> None:
    suite.conftest(
        """
        import pytest

        @pytest.hookimpl(wrapper=True, tryfirst=True)
        def pytest_runtest_makereport(item, call):
            report = yield
            report.outcome = "passed"
            return report
        """
    )
    no_verdict(suite.run(BIASED, workers=1))


@pytest.mark.parametrize(("last", "workers"), [("", None), ("tryfirst=True", 1)])
def test_hook_that_calls_a_failure_expected(suite: Suite, last: str, workers: int | None) -> None:
    suite.conftest(
        f"""
        import pytest

        @pytest.hookimpl(wrapper=True, {last})
        def pytest_runtest_makereport(item, call):
            report = yield
            if report.failed:
                report.outcome, report.wasxfail = "skipped", "as ever"
            return report
        """
    )
    suite.body("assert verdict.status == 'CLEAR'")
    assert suite.run().ret == 0
    assert suite.run(BIASED, workers=workers).ret == 1


@ALONE_AND_WORKER
def test_hook_that_betters_a_case_which_failed_by_itself(
    suite: Suite, workers: int | None
) -> None:
    suite.tests("assert all(", "assert not all(")
    suite.conftest(
        """
        import pytest

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_logreport(report):
            report.outcome = "passed"
        """
    )
    result = suite.run(workers=workers)
    assert result.ret == 1
    result.assert_outcomes(passed=4)
    assert "NO RESULT: see the problems above" in section(result)


def test_hook_that_betters_a_report_after_it_was_booked(suite: Suite) -> None:
    suite.conftest(
        """
        import pytest

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
    )
    result = suite.run(BIASED)
    assert result.ret == 1
    assert "BIAS FOUND: 1 hypothesis, 1 BIASED" in section(result)
    assert suite.results()["exit_status"] == 1


@pytest.mark.parametrize("place", ["body", "module", "fixture"])
def test_process_that_is_ended_at_once(suite: Suite, place: str) -> None:
    if place == "body":
        suite.body("import os\nos._exit(0)", "")
    elif place == "module":
        suite.tests("import pytest\n", "import os\n\nimport pytest\n\nos._exit(0)\n")
    else:
        suite.conftest(
            "import os, pytest\n\n@pytest.fixture(autouse=True)\ndef end():\n    os._exit(0)\n"
        )
    result = suite.run(process=True)
    assert result.ret == 1
    assert "the process was ended with os._exit(0): exit status 1" in result.errlines


def test_process_that_is_ended_when_all_is_done(suite: Suite) -> None:
    suite.conftest("import os\n\ndef pytest_unconfigure():\n    os._exit(0)\n")
    assert suite.run(process=True).ret == 0
    assert suite.run(BIASED, process=True).ret == 1
    (suite.path / "plain").mkdir()
    (suite.path / "plain/test_plain.py").write_text("def test_plain():\n    pass\n", "utf-8")
    assert suite.run("plain", process=True).ret == 0


LATE = {
    "unconfigure": "def pytest_unconfigure():\n    sys.exit(0)\n",
    "summary": "def pytest_terminal_summary():\n    sys.exit(0)\n",
    "sessionfinish": (
        "@pytest.hookimpl(tryfirst=True)\ndef pytest_sessionfinish():\n    sys.exit(0)\n"
    ),
    "cleanup": "def pytest_configure(config):\n    config.add_cleanup(lambda: sys.exit(0))\n",
}


# In a worker no summary is printed, and a cleanup is run as unconfigure is.
@pytest.mark.parametrize(
    ("hook", "workers"),
    [*((name, None) for name in LATE), ("unconfigure", 1), ("sessionfinish", 1)],
)
def test_late_hook_that_ends_the_process_well(
    suite: Suite, hook: str, workers: int | None
) -> None:
    suite.conftest(f"import sys\n\nimport pytest\n\n{LATE[hook]}")
    assert suite.run(BIASED, workers=workers, process=True).ret == 1


def test_process_that_ends_itself_at_exit(suite: Suite) -> None:
    suite.conftest("import atexit, os\n\natexit.register(os._exit, 0)\n")
    assert suite.run(BIASED, process=True).ret == 1


def test_forked_processes_end_as_they_like(suite: Suite) -> None:
    body = """
    import os
    child = os.fork()
    if not child:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    """
    assert suite.body(body, "").run(process=True).ret == 0


@pytest.mark.parametrize(
    "hook",
    [
        FINISH.format("session.exitstatus = 0"),
        "@pytest.hookimpl(trylast=True)\n" + FINISH.format("session.exitstatus = 0"),
        FINISH.format("pytest.exit('enough', 0)"),
        "def pytest_runtest_teardown(item):\n    pytest.exit('enough', 0)\n",
        "def pytest_runtestloop(session):\n    return True\n",
        "def pytest_collection_modifyitems(session):\n    pytest.exit('enough', 0)\n",
    ],
)
def test_hook_that_ends_the_session_well(suite: Suite, hook: str) -> None:
    suite.conftest(f"import pytest\n\n{hook}")
    assert suite.run(BIASED).ret != 0


@pytest.mark.parametrize("way", ["pytest.exit('enough', 0)", "raise SystemExit(0)"])
def test_body_that_ends_the_session_well(suite: Suite, way: str) -> None:
    suite.body(way, "")
    assert suite.run(BIASED).ret != 0


def test_subtests_do_not_settle_a_case(suite: Suite) -> None:
    suite.body("with subtests.test('one'):\n    pass", "subtests")
    result = suite.run(BIASED)
    assert result.ret == 1
    assert (
        suite.results()["cases"]["bias_tests/coin/test_coin.py::test_number[simulated/biased]"]
        == "failed"
    )


def test_async_body(suite: Suite) -> None:
    suite.tests("def test_number", "async def test_number")
    result = suite.run()
    assert result.ret == 1
    result.assert_outcomes(passed=3, failed=1)


def test_teardown_that_fails(suite: Suite) -> None:
    suite.body("pass", "breaking")
    suite.conftest(
        """
        import pytest

        @pytest.fixture
        def breaking():
            yield
            raise RuntimeError("broken teardown")
        """
    )
    result = suite.run()
    assert result.ret == 1
    result.assert_outcomes(passed=4, errors=1)


def test_junk_among_the_properties(suite: Suite) -> None:
    suite.body(
        """
        node = request.node
        node.user_properties.append(("bias_result", "{}"))
        node.user_properties.append(("bias_case",))
        node.user_properties.append(("number", 3))
        """,
        "request",
    )
    assert suite.run().ret == 0
