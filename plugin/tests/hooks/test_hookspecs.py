"""What plugins of others may add: seen from a suite with a plugin of its own."""

from __future__ import annotations

import pytest

from .suites import Suite, section

READS = '''
    """Writes the verdicts of a run into a file of its own."""

    from pytest_bias.errors.said import Said


    def pytest_bias_results(config, view):
        path = config.rootpath / "verdicts.txt"
        path.write_text("".join(f"{v.id}: {v.status}\\n" for v in view.verdicts))
        return Said(written=(path,), notes=("the verdicts were copied",))
'''


def test_results_are_read_and_what_is_written_is_told(suite: Suite) -> None:
    suite.conftest(READS)
    result = suite.run("--bias-summary=summary.md")
    assert result.ret == 0
    (found,) = (suite.path / "verdicts.txt").read_text(encoding="utf-8").splitlines()
    assert found.endswith(": CLEAR")
    lines = section(result)
    assert "the verdicts were copied" in lines
    assert "written: verdicts.txt" in lines
    assert "verdicts.txt" in (suite.path / "summary.md").read_text(encoding="utf-8")


def test_a_problem_and_an_error_of_plugins_leave_no_verdict(suite: Suite) -> None:
    suite.conftest(
        """
        from pytest_bias.errors.said import Said

        def pytest_bias_results():
            return Said(problems=("the register was not reached",))
        """
    )
    broken = "def pytest_bias_results():\n    raise LookupError('no register')\n"
    suite.file("bias_tests/conftest.py", broken)
    result = suite.run()
    assert result.ret == 1
    assert section(result)[-2:][0].startswith("NO VERDICT: ")
    assert sorted(suite.results()["problems"]) == [
        "pytest_bias_results of bias_tests/conftest.py failed with LookupError: no register",
        "the register was not reached",
    ]


def test_what_a_plugin_returns_that_is_no_result_is_a_problem_that_names_it(suite: Suite) -> None:
    suite.conftest(
        """
        def pytest_bias_results():
            return {"problems": ["the register was not reached"]}
        """
    )
    result = suite.run()
    assert result.ret == 1
    assert suite.results()["problems"] == [
        "pytest_bias_results of conftest.py failed with TypeError: it returned a dict, not a Said"
    ]


def test_a_report_that_another_version_sent_is_no_result(suite: Suite) -> None:
    suite.conftest(
        """
        import pytest

        @pytest.hookimpl(wrapper=True, tryfirst=True)
        def pytest_runtest_makereport(item, call):
            report = yield
            report.user_properties[:] = [
                (name, value.replace('"format":1', '"format":99') if "result" in name else value)
                for name, value in report.user_properties
            ]
            return report
        """
    )
    result = suite.run()
    assert result.ret == 1
    problems = suite.results(partial=True)["problems"]
    assert problems
    assert all("its format is 99, this version reads 1" in problem for problem in problems)


PROVIDES = '''
    import json

    from pytest_bias.experiments.messages import Completion


    class House:
        """A provider of the suite's own, that gives every cue its number."""

        def wire(self, model):
            return f"house of {model}"

        async def complete(self, model, request, call):
            cue = "high" if "cue is high" in request.messages[-1].text else "low"
            text = json.dumps({"number": 10, "cue": cue})
            return Completion(text=text, finish="stop", served_model=model)

        async def aclose(self):
            pass


    def pytest_bias_providers():
        return {"NAME": lambda context: House()}
'''


@pytest.mark.requirement("CV-43")
def test_a_provider_of_a_plugin_is_recorded_and_replayed(suite: Suite) -> None:
    suite.conftest(PROVIDES.replace("NAME", "house"))
    model = "--bias-model=house/one-2026-01-01"
    assert suite.run(model, "--bias-record=missing", "--bias-gate=off").ret == 0
    (cassette,) = suite.cassettes.glob("game-coin/house--*.jsonl")
    assert "house of one-2026-01-01" in cassette.read_text(encoding="utf-8")
    assert suite.run(model, "--bias-gate=off").ret == 0


def test_names_that_are_taken_are_refused(suite: Suite) -> None:
    suite.conftest(PROVIDES.replace("NAME", "openai"))
    result = suite.run("--bias-model=openai/gpt-5.1-2025-11-13", process=True)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: *a plugin cannot provide it: the name is taken*"])
