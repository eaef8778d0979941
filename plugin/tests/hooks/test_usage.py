"""What is asked wrongly ends the run at once: exit status 4 and one clear line."""

from __future__ import annotations

import pytest

from .suites import INI, Suite

USAGE = pytest.ExitCode.USAGE_ERROR


def error_lines(result: pytest.RunResult) -> list[str]:
    lines = (line.lower() for line in result.outlines + result.errlines)
    return [line for line in lines if "error: " in line and "error: usage: " not in line]


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        (
            "--bias-model=acme/gpt",
            "'acme'; known: anthropic, codex, google, local, openai, published, simulated",
        ),
        ("--bias-model=simulated/even", "names one twice"),
        ("--bias-model=simulated/judge", "this program grades simulated subjects and is none"),
        ("--bias-max-age=", "says nothing; leave the option out, or say off"),
        ("--bias-design=huge", "unknown design of game-coin 'huge'; known: "),
        ("--bias-record=sometimes", "invalid choice: 'sometimes'"),
        (f"--bias-report {'x' * 300}", "x: is too long a name"),
    ],
)
def test_on_the_command_line(suite: Suite, argument: str, words: str) -> None:
    twice = [argument] if argument == "--bias-model=simulated/even" else []
    result = suite.run(*argument.split(), *twice)
    assert result.ret == USAGE
    (line,) = error_lines(result)
    assert words in line
    assert "Traceback" not in result.stdout.str() + result.stderr.str()


@pytest.mark.parametrize(
    ("option", "through"), [("results", "arguments"), ("env-file", "PYTEST_ADDOPTS")]
)
def test_a_path_apart_from_its_option_that_would_lead_pytest_elsewhere(
    suite: Suite,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    option: str,
    through: str,
) -> None:
    path = tmp_path_factory.mktemp("elsewhere") / "r.json"
    path.write_text("{}", encoding="utf-8")
    arguments = [f"--bias-{option}", str(path)]
    if through == "PYTEST_ADDOPTS":
        monkeypatch.setenv(through, " ".join(arguments))
        arguments = []
    result = suite.run(*arguments)
    assert result.ret == USAGE
    (line,) = error_lines(result)
    assert f"--bias-{option}={path}: write it so, with '='" in line
    assert "Traceback" not in result.stdout.str() + result.stderr.str()


def test_the_same_path_leads_nowhere_else_with_an_equals_sign_or_below_the_ini_file(
    suite: Suite, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    within = suite.path / "out"
    within.mkdir()
    for _ in range(2):  # the second time the file is there
        assert suite.run(f"--bias-results={elsewhere / 'r.json'}").ret == pytest.ExitCode.OK
        assert suite.run("--bias-results", "out/r.json").ret == pytest.ExitCode.OK
    assert (within / "r.json").read_bytes() == (elsewhere / "r.json").read_bytes()
    assert {path.name for path in suite.path.iterdir()}.isdisjoint({"r.json", "bias-results.json"})


HUGE = ("bias_models = simulated/even\nbias_design = huge", "unknown design of game-coin 'huge'")


@pytest.mark.parametrize(
    ("ini", "words", "workers"),
    [
        ("bias_models =", "no model is named", None),
        ("bias_models = acme/gpt", "unknown provider 'acme'", None),
        ("bias_models = acme/gpt", "unknown provider 'acme'", 1),
        ("bias_models = simulated/even\nbias_gate = maybe", "must be one of absolute, off", None),
        (*HUGE, None),
        (*HUGE, 2),  # found in each worker, said once
    ],
)
def test_in_the_ini_file(suite: Suite, ini: str, words: str, workers: int | None) -> None:
    suite.change("pytest.ini", "bias_models = simulated/even", ini)
    result = suite.run(workers=workers)
    assert result.ret == USAGE
    (line,) = error_lines(result)
    assert words in line
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    assert not suite.results_path().exists()


@pytest.mark.requirement("ANCHOR-39")
def test_two_experiments_of_one_id(suite: Suite) -> None:
    suite.write(name="card")
    suite.change("bias_tests/card/experiment.py", 'id="game-card"', 'id="game-coin"')
    result = suite.run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "Experiment('game-coin'): two experiments have this id" in result.outlines


@pytest.mark.parametrize("workers", [None, 1])
def test_recording_in_ci_is_refused(
    suite: Suite, workers: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    result = suite.run("--bias-record=missing", workers=workers)
    assert result.ret == USAGE
    (line,) = error_lines(result)
    assert "recording refused: ci is set" in line
    assert "--bias-record-in-ci" in line


@pytest.mark.parametrize(
    ("keys", "words", "workers"),
    [
        ("bias_alpha = 1e-12", "bias_alpha=1e-12: must be a number from 0.001 to 0.05", None),
        ("bias_alpha = 0.06", "bias_alpha=0.06: must be a number from 0.001 to 0.05", None),
        ("bias_experiments = 1", "bias_experiments=1: the suite has 2: ", None),
        ("bias_experiments = 1", "bias_experiments=1: the suite has 2: ", 1),
        ("bias_experiments = 5000", "bias_alpha=0.05: each part must be 0.00005 or more", None),
    ],
)
def test_an_alpha_or_its_parts_that_will_not_do(
    suite: Suite, keys: str, words: str, workers: int | None
) -> None:
    suite.write(name="dice", ini=f"{INI}{keys}\n")
    result = suite.run(workers=workers)
    assert result.ret == USAGE
    (line,) = error_lines(result)
    assert words in line
