"""What plugins of others may add: seen from a suite with a plugin of its own."""

from __future__ import annotations

import pytest

from .suites import Suite

READS = """
    def pytest_bias_results(config, view):
        path = config.rootpath / "verdicts.txt"
        path.write_text("".join(f"{each.id}: {each.status}" for each in view.verdicts))
        return [path]
"""


@pytest.mark.parametrize("workers", [None, 2])
def test_results_are_given_to_plugins(suite: Suite, workers: int | None) -> None:
    suite.conftest(READS)
    suite.check("--bias-summary=summary.md", 0, "", "written: verdicts.txt", workers=workers)
    found = (suite.path / "verdicts.txt").read_text(encoding="utf-8")
    assert found == "number-high-low: CLEAR"
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
    suite.conftest(PROVIDES.replace("NAME", "my--house"))
    suite.check(
        "--bias-model=my--house/one", 4, "", "neither holds -- nor ends in -", process=True
    )
