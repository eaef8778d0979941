"""What is declared wrongly, prompts at fault too, is one collection error with its place."""

from __future__ import annotations

import pytest

from .suites import REPLICATES, Suite, experiment_source

EVERYWHERE = pytest.mark.parametrize("workers", [0, 1])
SAME = (
    "game-coin: conditions 'low' and 'high' put the same prompt before the subject, so nothing is "
    "manipulated between them"
)
EXPERIMENT = "bias_tests/coin/experiment.py"


def unmanipulated(suite: Suite, name: str = "coin") -> Suite:
    """The suite, whose cue is forgotten in the prompt."""
    file = f"bias_tests/{name}/experiment.py"
    return suite.change(file, 'The cue is {trial["cue"]}.', "The cue is here.")


def said(result: pytest.RunResult, words: str) -> int:
    """How many lines say something, pytest's short summary left out."""
    lines = (*result.outlines, *result.errlines)
    return sum(words in line for line in lines if not line.startswith("ERROR "))


def test_same_prompts_are_one_collection_error(suite: Suite) -> None:
    result = unmanipulated(suite).run(
        "--bias-model=simulated/even", "--bias-model=simulated/biased"
    )
    assert result.ret not in {0, pytest.ExitCode.NO_TESTS_COLLECTED}
    result.assert_outcomes(errors=1)
    assert result.outlines.count(SAME) == 1
    assert said(result, " ERROR collecting bias_tests/coin/test_coin.py ") == 1
    assert said(result, "NO VERDICT") > 0
    assert not suite.results_path().exists()
    assert suite.results(partial=True)["suite"] == "NO VERDICT"


@pytest.mark.parametrize("option", ["--bias-plan", "--bias-record=missing"])
def test_whatever_is_asked_for(suite: Suite, option: str) -> None:
    result = unmanipulated(suite).run(option, "--bias-model=simulated/drifted")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert result.outlines.count(SAME) == 1
    assert said(result, "bias plan:") == 0
    assert sorted(path.name for path in suite.cassettes.rglob("*.jsonl")) == [
        "simulated--biased.jsonl",
        "simulated--even.jsonl",
    ]


@pytest.mark.parametrize("option", ["", "--bias-record=missing", "--bias-record=all"])
def test_a_later_trial_that_asks_nothing_is_no_reply(suite: Suite, option: str) -> None:
    given = "    if trial.replicate == 2:\n        return Answer(number=10, cue='low')\n"
    suite.change(EXPERIMENT, "    reply = await", f"{given}    reply = await")
    result = suite.run(*filter(None, [option]))
    assert result.ret not in {0, pytest.ExitCode.INTERNAL_ERROR}
    assert said(result, "game-coin: trial low#2 asks nothing of the subject") > 0
    assert said(result, "NO VERDICT") > 0


def test_a_list_of_cases_carries_out_no_prompt(suite: Suite) -> None:
    result = unmanipulated(suite).run("--collect-only", "-q")
    assert result.ret == pytest.ExitCode.OK
    assert said(result, SAME) == 0
    assert said(result, "4 tests collected") == 1


def test_nothing_of_it_is_recorded_where_the_run_goes_on(suite: Suite) -> None:
    suite.write(name="card")
    result = unmanipulated(suite).run(
        "--bias-record=missing",
        "--bias-model=simulated/drifted",
        "--continue-on-collection-errors",
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=3, failed=1, errors=1)
    recorded = [path.parent.name for path in suite.cassettes.rglob("simulated--drifted.jsonl")]
    assert recorded == ["game-card"]


def test_one_message_for_each_experiment(suite: Suite) -> None:
    unmanipulated(unmanipulated(suite).write(name="card"), "card")
    result = suite.run(workers=2)
    assert result.ret not in {0, pytest.ExitCode.NO_TESTS_COLLECTED}
    result.assert_outcomes(errors=2)
    assert result.outlines.count(SAME) == 1
    assert result.outlines.count(SAME.replace("coin", "card")) == 1
    assert said(result, " ERROR collecting bias_tests/coin/test_coin.py ") == 1
    assert said(result, "NO VERDICT") > 0
    assert suite.results(partial=True)["suite"] == "NO VERDICT"


@EVERYWHERE
def test_only_experiments_with_selected_cases_are_held_to_it(suite: Suite, workers: int) -> None:
    unmanipulated(suite).write(name="card")
    result = suite.run("-k", "card", workers=workers)
    assert result.ret == 0
    result.assert_outcomes(passed=4, deselected=0 if workers else 4)
    assert said(result, "same prompt") == 0


@EVERYWHERE
def test_a_case_that_is_left_out_leaves_no_verdict(suite: Suite, workers: int) -> None:
    suite.write(name="card")
    result = unmanipulated(suite).run("--continue-on-collection-errors", workers=workers)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=4, errors=1)
    assert said(result, "NO VERDICT: ") == 1
    assert said(result, "bias_tests/coin/test_coin.py::test_number[simulated/even]") > 0


def test_prompts_are_carried_out_once_for_all_workers(suite: Suite) -> None:
    asked = suite.path / "asked"
    suite.change(
        EXPERIMENT,
        "    reply = await",
        f"    with open({str(asked)!r}, 'a') as file:\n        file.write('x')\n    reply = await",
    )
    result = suite.run("-k", "asked and low", workers=2)
    assert result.ret == 0
    # A walk of two trials, one more whose measures are taken, and the replayed trials of the
    # one case with its counterpart.
    assert len(asked.read_text(encoding="utf-8")) == 2 + 1 + REPLICATES + 1


MISTAKES = {
    "a list of measures": (
        'Measure("number", bounds=(2, 18))',
        '"number"',
        "measures must be a list",
    ),
    "levels": ('{"low": "low", "high": "high"}', '"low"', "levels must be a mapping"),
    "no await": ("reply = await subject.ask(", "reply = subject.ask(", "was never awaited"),
    "no model of a reply": ("reply=Answer", "reply=int", "reply must be a pydantic model"),
}


@pytest.mark.fail_closed
@pytest.mark.parametrize(
    ("mistake", "workers"), [*((name, None) for name in MISTAKES), ("no await", 2)]
)
def test_it_is_shown_in_one_line(suite: Suite, mistake: str, workers: int | None) -> None:
    right, wrong, words = MISTAKES[mistake]
    suite.change("bias_tests/coin/experiment.py", right, wrong)
    result = suite.run(workers=workers)
    assert result.ret != pytest.ExitCode.OK
    (line,) = {line for line in result.outlines if words in line and not line.startswith("ERROR")}
    assert line.startswith("bias_tests/coin/experiment.py:")
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    assert "importlib" not in result.stdout.str()


@pytest.mark.fail_closed
@pytest.mark.parametrize("workers", [None, 1])
def test_a_simulated_subject_that_there_is_not_is_one_error(
    suite: Suite, workers: int | None
) -> None:
    suite.change("pytest.ini", "simulated/even", "simulated/evne")
    result = suite.run(workers=workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = {line for line in result.outlines + result.errlines if "evne" in line}
    assert "did you mean 'simulated/even'?" in line


@pytest.mark.fail_closed
def test_the_game_itself_is_declared_rightly() -> None:
    assert all(right in experiment_source() for right, _, _ in MISTAKES.values())
