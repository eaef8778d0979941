"""What is declared wrongly, or can never be CLEAR, is said before anything is paid."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .suites import TESTS, Scenario, Suite, scenarios

SAME = "game-coin: conditions 'low' and 'high' put the same prompt before the subject, so nothing"
EXPERIMENT = "bias_tests/coin/experiment.py"
DRIFTED = "--bias-model=simulated/drifted"
BOTH = "--bias-model=simulated/even --bias-model=simulated/biased"
COLLECTING = " ERROR collecting bias_tests/coin/test_coin.py "
GO_ON = "--continue-on-collection-errors"


def forget(suite: Suite, name: str = "coin") -> Suite:
    """Have the cue forgotten in the prompt."""
    file = f"bias_tests/{name}/experiment.py"
    return suite.change(file, 'The cue is {trial["cue"]}.', "The cue is here.")


def beside(suite: Suite) -> None:
    forget(suite.write(name="card"))


def forget_both(suite: Suite) -> None:
    forget(forget(suite.write(name="card")), "card")


def ask_nothing(suite: Suite) -> None:
    answer = "    if trial.replicate == 2:\n        return Answer(number=10, cue='low')\n"
    suite.change(EXPERIMENT, "    reply = await", f"{answer}    reply = await")


def mistake(right: str, wrong: str) -> Callable[[Suite], Suite]:
    return lambda suite: suite.change(EXPERIMENT, right, wrong)


ASKS = "game-coin: trial low#2 asks nothing of the subject"
ERRORS = SAME, COLLECTING, "NO RESULT"
LEFT_OUT = "NO RESULT: ", "bias_tests/coin/test_coin.py::test_number[simulated/even]"
SAME_PROMPTS = {
    "two models": Scenario(forget, BOTH, 2, "1 errors", *ERRORS),
    "plan": Scenario(forget, f"--bias-plan {DRIFTED}", 2, "", SAME, "!bias plan:"),
    "recording": Scenario(forget, f"--bias-record=missing {DRIFTED}", 2, "", SAME),
    "only listed": Scenario(forget, "--collect-only -q", 0, "", "4 tests collected", f"!{SAME}"),
    "two experiments": Scenario(forget_both, "", 1, "2 errors", *ERRORS, workers=2),
    "not selected": Scenario(beside, "-k card", 0, "4 passed", "!same prompt"),
    "left out": Scenario(beside, GO_ON, 1, "4 passed, 1 errors", *LEFT_OUT),
    "asks nothing": Scenario(ask_nothing, "", 1, "", ASKS, "NO RESULT"),
    "asks nothing when recorded": Scenario(
        ask_nothing, "--bias-record=missing", 1, "", ASKS, "NO RESULT"
    ),
}


@scenarios(SAME_PROMPTS, "not selected")
def test_same_prompts_and_none(suite: Suite, scenario: Scenario) -> None:
    result = scenario.check(suite)
    assert sum(line.startswith(SAME) for line in result.outlines) <= 1
    assert not list(suite.cassettes.rglob("*drifted*.jsonl"))


def test_nothing_of_it_is_recorded_where_the_run_goes_on(suite: Suite) -> None:
    beside(suite)
    suite.check(f"--bias-record=missing {DRIFTED} {GO_ON}", 1, "3 passed, 1 failed, 1 errors")
    recorded = [path.parent.name for path in suite.cassettes.rglob("simulated--drifted.jsonl")]
    assert recorded == ["game-card"]


AWAIT = mistake("reply = await subject.ask(", "reply = subject.ask("), "was never awaited"
MISTAKES = {
    "a list of measures": (
        mistake('Measure("number", bounds=(2, 18))', '"number"'),
        *("measures must be a list", None),
    ),
    "levels": (
        mistake('{"low": "low", "high": "high"}', '"low"'),
        *("levels must be a mapping", None),
    ),
    "no await": (*AWAIT, None),
    "no model of a reply": (
        mistake("reply=Answer", "reply=int"),
        *("reply must be a pydantic model", None),
    ),
}


@pytest.mark.fail_closed
@pytest.mark.parametrize(("change", "words", "workers"), MISTAKES.values(), ids=MISTAKES)
def test_it_is_shown_in_one_line(
    suite: Suite, change: Callable[[Suite], Suite], words: str, workers: int | None
) -> None:
    change(suite)
    result = suite.run(workers=workers)
    assert result.ret != pytest.ExitCode.OK
    (line,) = {line for line in result.outlines if words in line and not line.startswith("ERROR")}
    assert line.startswith("bias_tests/coin/experiment.py:")
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    assert "importlib" not in result.stdout.str()


# --- without a positive control ------------------------------------------------------------------

_, START, REST = TESTS.partition("@positive_control")
WHY = (
    "game-coin: number-high-low claims to be clear, and without a positive control of number "
    "nothing can be CLEAR there"
)


def uncontrolled(suite: Suite) -> None:
    suite.tests(START + REST.partition("@hypotheses")[0], "")


def unrecorded(suite: Suite) -> None:
    uncontrolled(suite)
    for path in (suite.cassettes / "game-coin").iterdir():
        path.unlink()


def detecting(suite: Suite) -> None:
    unrecorded(suite)
    suite.tests('claim="clear"', 'claim="detect"')


OF_RECORDING = f"recording game-coin with simulated/even: {WHY}"
UNCONTROLLED = {
    "judged": Scenario(uncontrolled, "", 1, "", f"warning: {WHY}"),
    "plan": Scenario(
        uncontrolled, "--bias-plan", 0, "", "!CLEAR 0.", "!it clears with probability"
    ),
    "recording": Scenario(unrecorded, "--bias-record=missing", 1, "", OF_RECORDING),
    "detects": Scenario(detecting, "--bias-record=missing", 0, "", "!claims to be clear"),
}


@pytest.mark.fail_closed
@scenarios(UNCONTROLLED, "judged")
def test_without_a_positive_control(suite: Suite, scenario: Scenario) -> None:
    result = scenario.check(suite)
    assert result.stdout.str().count(f"warning: {WHY}") <= 1
    if scenario.change is unrecorded:
        assert list((suite.cassettes / "game-coin").iterdir()) == []
