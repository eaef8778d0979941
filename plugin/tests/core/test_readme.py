"""The README's Python example runs: it collects, it replays, it is given a verdict."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Sequence
from pathlib import Path

import pytest

from pytest_bias import Experiment, InvalidReply, MeanDifference, Outcome, Subject, plan
from pytest_bias.analysis import Recording, analyse
from pytest_bias.driver import run
from pytest_bias.messages import Completion, Place, Request

README = Path(__file__).parents[3] / "README.md"
RECORDING = Recording(
    cassette="none", checksum="", simulated=True, wire="", recorded_with="", interactions=0
)


def example() -> str:
    found = re.findall(
        r"^```python\n(.*?)^```$", README.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    assert len(found) == 1, "a new example in the README needs a test of its own"
    return str(found[0])


class _Egg:
    """Answers every question with the same number of minutes."""

    async def perform(self, request: Request, place: Place) -> Completion:
        assert "boil an egg" in request.messages[-1].text
        assert place.turn == 1
        return Completion('{"minutes": 7}', "stop", "egg")

    async def gather(self, awaitables: Sequence[Awaitable[object]]) -> list[object]:
        raise AssertionError(awaitables)

    def reject(self, place: Place, invalid: InvalidReply) -> None:
        raise AssertionError(place) from invalid


def test_the_example_collects_a_case_per_condition_and_hypothesis(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(test_eggs=example())
    done = pytester.runpytest_subprocess(
        "--collect-only", "-q", "-p", "no:randomly", "--bias-model=simulated/even"
    )
    done.stdout.fnmatch_lines(
        [
            "test_eggs.py::test_asked?simulated/even-polite?",
            "test_eggs.py::test_asked?simulated/even-curt?",
            "test_eggs.py::test_politeness_changes_no_estimate?simulated/even?",
        ]
    )
    assert done.ret == 0


def test_the_example_is_analysed() -> None:
    names: dict[str, object] = {"__name__": "eggs"}
    exec(compile(example(), str(README), "exec"), names)  # noqa: S102  (our own README)
    experiment = names["EGGS"]
    assert isinstance(experiment, Experiment)
    outcomes = [
        Outcome(trial, run(experiment.protocol(trial, Subject()), _Egg()), None, (), 1, ())
        for trial in plan(experiment, experiment.design())
    ]
    analysis = analyse(
        experiment,
        experiment.design(),
        "simulated/egg",
        outcomes,
        hypotheses=[
            MeanDifference(
                "minutes", "greeting", high="polite", low="curt", margin=0.5, claim="clear"
            )
        ],
        control=None,
        recording=RECORDING,
    )
    verdict = analysis.verdicts[0]
    assert verdict.finding is not None
    assert verdict.finding.deterministic
    # 60 identical replies on a scale of 0 to 60 hide more than half a minute.
    assert verdict.status == "INCONCLUSIVE"
