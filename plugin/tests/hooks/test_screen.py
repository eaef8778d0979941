"""The screen in whole runs, beside baselines, and designs that an experiment lacks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_bias.baselines.entries import baseline_from, baseline_text

from .suites import Suite, section
from .test_baselines import BY_ANN, ID, WORDS, path
from .test_fail_closed import BIASED

SCREEN = "--bias-design=screen"
HEADING = "  a screen can only find large effects; the gate design clears"


def test_a_screen_passes_what_it_does_not_find(suite: Suite) -> None:
    result = suite.run("-v", SCREEN, "--bias-report=page.html")
    assert result.ret == 0
    lines = section(result)
    assert HEADING in lines
    ending = "1 hypothesis, 1 INCONCLUSIVE, a screen finds large effects and clears nothing"
    assert f"PASS: {ending}" in lines
    (verdict,) = suite.results(partial=True)["analyses"][0]["verdicts"]
    assert (verdict["claim"], verdict["open_words"]) == ("detect", HEADING.strip())
    assert "A screen: it clears nothing" in (suite.path / "page.partial.html").read_text(
        encoding="utf-8"
    )


def test_a_screen_fails_what_it_finds(suite: Suite) -> None:
    result = suite.run(SCREEN, BIASED)
    assert result.ret == 1
    result.assert_outcomes(passed=3, failed=1)


def test_a_known_bias_of_the_gate_design_is_let_through_while_it_lasts(suite: Suite) -> None:
    assert suite.run(BIASED, *WORDS).ret == 0
    result = suite.run(SCREEN, BIASED)
    assert result.ret == 0
    result.assert_outcomes(passed=3, xfailed=1)
    assert f"1 known bias {BY_ANN}: known since spring" in section(result)
    suite.monkeypatch.setattr("pytest_bias.workbench.clock.today", lambda: "3000-01-01")
    result = suite.run(SCREEN, BIASED)
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"  baseline: {BY_ANN} (known since spring), which is past"])


@pytest.mark.fail_closed
def test_a_bias_in_the_other_direction_or_of_another_design_is_not_let_through(
    suite: Suite,
) -> None:
    assert suite.run(BIASED, *WORDS).ret == 0
    text = path(suite).read_text(encoding="utf-8")
    found = baseline_from(text, "")
    entry = found.verdicts["game-coin"][ID]
    assert entry.effect is not None
    other = replace(entry, effect=replace(entry.effect, estimate=-6.0))
    changed = replace(found, verdicts={"game-coin": {ID: other}})
    path(suite).write_text(baseline_text(changed), encoding="utf-8")
    result = suite.run(SCREEN, BIASED)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["  baseline: new: what was accepted points the other way"])
    path(suite).write_text(text, encoding="utf-8")
    suite.tests("margin=2.0", "margin=1.6")
    result = suite.run(SCREEN, BIASED)
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"  baseline: {BY_ANN}, but of another design, prompts or*"])


def test_a_screen_is_not_compared(suite: Suite) -> None:
    result = suite.run(SCREEN, "--bias-baseline=simulated/biased")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--bias-design=screen*a screen compares nothing*"])


def test_an_experiment_without_the_design_is_left_out_with_a_note(suite: Suite) -> None:
    suite.write(name="card")
    designs = 'replicates=30,\n    designs={"small": Design(30)},'
    suite.change("bias_tests/coin/experiment.py", "replicates=30,", designs)
    suite.change(
        "bias_tests/coin/experiment.py", "import Experiment,", "import Design, Experiment,"
    )
    result = suite.run("--bias-design=small", workers=1)
    assert result.ret == 0
    result.assert_outcomes(passed=4)
    lines = section(result)
    assert "left out, for want of a design 'small': game-card" in lines
    assert "partial run: 4 cases not selected" in lines
    assert [a["experiment"] for a in suite.results(partial=True)["analyses"]] == ["game-coin"]


@pytest.mark.fail_closed
def test_where_none_that_was_asked_for_has_the_design_the_run_is_refused(suite: Suite) -> None:
    suite.write(name="card")
    result = suite.run("--bias-design=small")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "unknown design of game-card 'small'; known: gate, screen" in result.stderr.str()
