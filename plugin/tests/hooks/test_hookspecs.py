"""What plugins of others may add: seen from a suite with a plugin of its own."""

from __future__ import annotations

import pytest

from .suites import Suite

READS = '''
    """Works an estimate out once more, and writes what it knows into a file of its own."""

    from pytest_bias import MeanDifference

    NUMBER = MeanDifference("number", "cue", high="high", low="low", margin=2.0)

    def pytest_bias_results(config, view, evidence):
        path = config.rootpath / "verdicts.txt"
        (of,) = evidence
        (hypothesis,) = of.hypotheses.values()
        same = [verdict.finding.estimate == NUMBER.analyse(of.experiment, of.records).estimate
                for verdict in view.verdicts]
        told = [of.model, of.design.name, hypothesis["family"], of.module[-12:], same]
        path.write_text(str(told))
        return [path]
'''


@pytest.mark.parametrize("workers", [None, 2])
def test_results_are_taken_with_what_they_rest_on(suite: Suite, workers: int | None) -> None:
    suite.conftest(READS)
    suite.check("--bias-summary=summary.md", 0, "", "written: verdicts.txt", workers=workers)
    found = (suite.path / "verdicts.txt").read_text(encoding="utf-8")
    assert found == "['simulated/even', 'gate', 'primary', 'test_coin.py', [True]]"
    assert "verdicts.txt" in (suite.path / "summary.md").read_text(encoding="utf-8")


def test_errors_of_plugins_leave_no_verdict(suite: Suite) -> None:
    refused = "def pytest_bias_results():\n    raise ValueError('the register was not reached')\n"
    suite.conftest(refused)
    suite.file("bias_tests/conftest.py", "def pytest_bias_results():\n    return ['a.txt']\n")
    suite.check("", 1, "", "NO RESULT: ")
    wrong, refused = sorted(suite.results()["problems"])
    of = "pytest_bias_results of"
    why = "it returned a str among the files written, not a Path"
    assert wrong == f"{of} bias_tests/conftest.py failed with TypeError: {why}"
    assert refused == f"{of} conftest.py failed with ValueError: the register was not reached"


@pytest.mark.fail_closed
def test_evidence_that_workers_do_not_take_is_no_empty_list(suite: Suite) -> None:
    suite.conftest(
        """
        class Late:
            def pytest_bias_results(self, evidence):
                return []

        def pytest_configure(config):
            if not hasattr(config, "workerinput"):
                config.pluginmanager.register(Late(), "late")
        """
    )
    suite.check("", 0)
    suite.check("", 1, "", "pytest_bias_results of late failed with LookupError", workers=1)


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
    model = "--bias-model=house/one-2026-01-01 --bias-gate=off"
    suite.check(f"{model} --bias-record=missing", 0)
    (cassette,) = suite.cassettes.glob("game-coin/house--*.jsonl")
    assert "house of one-2026-01-01" in cassette.read_text(encoding="utf-8")
    suite.check(model, 0)


def test_names_that_are_taken_are_refused(suite: Suite) -> None:
    suite.conftest(PROVIDES.replace("NAME", "openai"))
    taken = "ERROR: … a plugin cannot provide it: the name is taken"
    suite.check("--bias-model=openai/gpt-5.1-2025-11-13", 4, "", taken, process=True)
