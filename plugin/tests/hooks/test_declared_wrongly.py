"""What is declared wrongly is one collection error of one line, with the place to mend."""

from __future__ import annotations

import pytest

from .suites import Suite, experiment_source

pytestmark = pytest.mark.fail_closed

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


@pytest.mark.parametrize("workers", [None, 1])
def test_a_simulated_subject_that_there_is_not_is_one_error(
    suite: Suite, workers: int | None
) -> None:
    suite.change("pytest.ini", "simulated/even", "simulated/evne")
    result = suite.run(workers=workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = {line for line in result.outlines + result.errlines if "evne" in line}
    assert "did you mean 'simulated/even'?" in line


def test_the_game_itself_is_declared_rightly() -> None:
    assert all(right in experiment_source() for right, _, _ in MISTAKES.values())
