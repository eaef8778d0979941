"""What is asked wrongly ends the run at once: exit status 4 and one clear line."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .suites import Scenario, Suite, scenarios

DRIFTED = "--bias-model=simulated/drifted"
RECORD = f"{DRIFTED} --bias-record=missing"


def error_lines(result: pytest.RunResult) -> list[str]:
    lines = (line.lower() for line in result.outlines + result.errlines)
    return [line for line in lines if "error: " in line and "error: usage: " not in line]


def ini(keys: str) -> Callable[[Suite], Suite]:
    """Another model, or more keys, in the ini file."""
    old = "bias_models = simulated/even"
    new = keys if keys.startswith("bias_models") else f"{old}\n{keys}"
    return lambda suite: suite.change("pytest.ini", old, new)


def two(keys: str = "") -> Callable[[Suite], Suite]:
    """A second experiment as well."""
    return lambda suite: ini(keys)(suite.write(name="dice"))


def in_ci(suite: Suite) -> None:
    suite.monkeypatch.setenv("CI", "true")


def with_key(suite: Suite) -> None:
    suite.file("bias_models.toml", '[endpoints.mine]\napi_key = "sk-secret"\n')


def refused(
    options: str,
    words: str,
    change: Callable[[Suite], object] | None = None,
    workers: int | None = None,
) -> Scenario:
    return Scenario(change, options, 4, "", words, workers=workers)


KNOWN = "'acme'; known: anthropic, codex, google, local, openai, published, simulated"
HUGE = "unknown design of game-coin 'huge'; known: "
ALPHA = "must be a number from 0.001 to 0.05"
PARTS = "bias_experiments=1: the suite has 2: "
REFUSED = {
    "provider": refused("--bias-model=acme/gpt", KNOWN),
    "judge": refused("--bias-model=simulated/judge", "this program grades simulated subjects"),
    "alias": refused(
        "--bias-model=openai/gpt-latest --bias-record=missing",
        "openai/gpt-latest … may mean another model tomorrow … --bias-gate=off",
    ),
    "design": refused("--bias-design=huge", HUGE),
    "no design": refused("--bias-design=small", "game-coin 'small'; known: gate", two()),
    "record in CI": refused(RECORD, "CI is set … --bias-record-in-ci", in_ci),
    "budget": refused(f"{RECORD} --bias-budget=$5", "--bias-budget=$5: must be a"),
    "env file": refused(f"{RECORD} --bias-env-file=no/such.env", "no/such.env"),
    "labels": refused("--bias-labels=nowhere", "--bias-labels= … nowhere: is no folder"),
    "baseline": refused("--bias-baseline=lost.json", "--bias-baseline=lost.json: is no baseline"),
    "baseline in the ini file": refused(
        "", "bias_baseline=lost.json: … no model of which", ini("bias_baseline = lost.json")
    ),
    "shard": refused(f"{DRIFTED} --bias-shard=1/2", "goes with --bias-record=missing or"),
    "shard anew": refused(
        f"{DRIFTED} --bias-record=all --bias-shard=1/2", "does not go with --bias-record=all"
    ),
    "key": refused("--bias-plan", "keys belong in the environment", with_key),
    "no model": refused("", "no model is named", ini("bias_models =")),
    "model, with workers": refused("", "provider 'acme'", ini("bias_models = acme/gpt"), 1),
    # found in each worker, said once
    "design, with workers": refused("", HUGE, ini("bias_design = huge"), 2),
    "small alpha": refused("", f"bias_alpha=1e-12: {ALPHA}", two("bias_alpha = 1e-12")),
    "large alpha": refused("", f"bias_alpha=0.06: {ALPHA}", two("bias_alpha = 0.06")),
    "few experiments": refused("", PARTS, two("bias_experiments = 1")),
    "many experiments": refused(
        "", "each part must be 0.00005 or more", two("bias_experiments = 5000")
    ),
}


@pytest.mark.fail_closed
@scenarios(REFUSED)
def test_it_is_one_line_and_nothing_is_recorded(suite: Suite, scenario: Scenario) -> None:
    before = sorted(suite.cassettes.rglob("*.jsonl*"))
    result = scenario.check(suite)
    assert len(error_lines(result)) == 1
    said = result.stdout.str() + result.stderr.str()
    assert "Traceback" not in said
    assert "sk-secret" not in said
    assert sorted(suite.cassettes.rglob("*.jsonl*"))[: len(before)] == before
    assert not suite.results_path().exists()


@pytest.mark.fail_closed
@pytest.mark.parametrize("workers", [None, 1])
def test_a_simulated_subject_that_there_is_not(suite: Suite, workers: int | None) -> None:
    suite.change("pytest.ini", "simulated/even", "simulated/evne")
    result = suite.run(workers=workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = {line for line in result.outlines + result.errlines if "evne" in line}
    assert "did you mean 'simulated/even'?" in line


@pytest.mark.requirement("ANCHOR-39")
def test_two_experiments_of_one_id(suite: Suite) -> None:
    suite.write(name="card")
    suite.change("bias_tests/card/experiment.py", 'id="game-card"', 'id="game-coin"')
    suite.check("", 2, "", "Experiment('game-coin'): two experiments have this id")
