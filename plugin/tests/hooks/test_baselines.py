"""Accepted verdicts in whole runs: what they let through, what they never do, how they come."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from typing import Any, cast

import pytest

from pytest_bias.baselines.entries import baseline_from, baseline_text
from pytest_bias.contrasts.estimate import Effect

from .suites import INI, REPLICATES, TESTS, Suite, experiment_source, record, section
from .test_fail_closed import BIASED, no_verdict

CASE = "bias_tests/coin/test_coin.py::test_number[simulated/biased]"
UNTIL = "2999-12-31"
WORDS = (
    *("--bias-accept", "--bias-accept-reason=known since spring"),
    *("--bias-accept-owner=ann", f"--bias-accept-until={UNTIL}"),
)
BY_ANN = f"accepted by ann until {UNTIL}"
ID = "number-high-low"


def path(suite: Suite, model: str = "biased") -> Any:
    return suite.path / "bias_tests" / "baselines" / f"simulated--{model}.json"


def read(suite: Suite, model: str = "biased") -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads(path(suite, model).read_text(encoding="utf-8")))


def entry(suite: Suite, model: str = "biased") -> dict[str, Any]:
    found: dict[str, Any] = read(suite, model)["verdicts"]["game-coin"][ID]
    return found


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """What the first run that accepted has written; every such run writes the same."""
    return {}


@pytest.fixture
def accepted(suite: Suite, texts: dict[str, str]) -> Suite:
    """The suite with the verdict of ``simulated/biased`` accepted."""
    if not texts:
        result = suite.run(BIASED, *WORDS)
        assert result.ret == 0
        texts["biased"] = path(suite).read_text(encoding="utf-8")
    path(suite).parent.mkdir(exist_ok=True)
    path(suite).write_text(texts["biased"], encoding="utf-8")
    return suite


def rewrite(suite: Suite, *, model: str = "biased", **changes: Any) -> None:
    """Write what might have been accepted before: the entry of ``biased``, changed."""
    found = baseline_from(path(suite).read_text(encoding="utf-8"), "")
    accepted = replace(found.verdicts["game-coin"][ID], served=())
    verdicts = {"game-coin": {ID: replace(accepted, **changes)}}
    text = baseline_text(replace(found, model=f"simulated/{model}", verdicts=verdicts))
    path(suite, model).write_text(text, encoding="utf-8")


# --- what is let through ----------------------------------------------------------------------


@pytest.mark.parametrize(("workers", "strict"), [(None, "strict = true\n"), (1, "")])
def test_a_known_bias_is_an_expected_failure(
    accepted: Suite, workers: int | None, strict: str
) -> None:
    accepted.change("pytest.ini", "addopts", f"{strict}addopts")
    result = accepted.run(BIASED, "--junitxml=junit.xml", workers=workers)
    assert result.ret == 0
    result.assert_outcomes(passed=3, xfailed=1)
    lines = section(result)
    assert f"1 known bias {BY_ANN}: known since spring" in lines
    assert f"PASS with 1 accepted: 1 hypothesis, 1 BIASED ({BY_ANN})" in lines
    assert not [line for line in lines if line.startswith("accepted by xfail")]
    found = accepted.results()
    assert (found["suite"], found["standing"]) == ("FAIL", "PASS with 1 accepted")
    assert found["cases"][CASE] == "xfailed"
    (said,) = found["accepted"]
    assert (said["id"], said["owner"], said["until"]) == (ID, "ann", UNTIL)
    junit = (accepted.path / "junit.xml").read_text(encoding="utf-8")
    assert 'type="pytest.xfail"' in junit
    assert f"{BY_ANN}: known since spring" in junit


def test_nothing_is_let_through_by_runxfail_or_without_baselines(accepted: Suite) -> None:
    for option in ("--runxfail", "--bias-baselines=off"):
        result = accepted.run(BIASED, option)
        assert result.ret == 1
        result.assert_outcomes(passed=3, failed=1)
        assert "FAIL: 1 hypothesis, 1 BIASED" in section(result)
        assert accepted.results()["accepted"] == []


def test_the_baseline_of_another_model_is_damage(accepted: Suite) -> None:
    path(accepted).rename(path(accepted, "even"))
    result = accepted.run()
    assert result.ret == 1
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(
        ["DamagedBaseline: *it holds the verdicts of simulated/biased and belongs at simulated--*"]
    )


def test_what_is_expired_fails_and_says_so(accepted: Suite) -> None:
    accepted.monkeypatch.setattr("pytest_bias.workbench.clock.today", lambda: "3000-01-01")
    result = accepted.run(BIASED)
    assert result.ret == 1
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines([f"  baseline: {BY_ANN} (known since spring), which is past"])
    assert f"expired: 1 known bias {BY_ANN}: known since spring" in section(result)


def test_what_ends_within_a_fortnight_is_warned_of(accepted: Suite) -> None:
    accepted.monkeypatch.setattr("pytest_bias.workbench.clock.today", lambda: "2999-12-20")
    result = accepted.run(BIASED)
    assert result.ret == 0
    lines = section(result)
    assert (
        "warning: within 14 days ends what was accepted: "
        f"1 known bias {BY_ANN}: known since spring"
    ) in lines
    assert f"PASS with 1 accepted: 1 hypothesis, 1 BIASED ({BY_ANN})" in lines


@pytest.mark.parametrize(("was", "tolerated"), [(6.0, True), (1.0, False)])
def test_other_replies_are_let_through_when_they_are_no_worse(
    accepted: Suite, was: float, *, tolerated: bool
) -> None:
    before = Effect(
        estimate=was,
        interval=None,
        se=0.3,
        df=20.0,
        scale="difference",
        margin=2.0,
        clears=False,
        cassette="other",
    )
    rewrite(accepted, effect=before, cassette="other")
    result = accepted.run(BIASED)
    result.assert_outcomes(passed=3, xfailed=int(tolerated), failed=int(not tolerated))
    if not tolerated:
        result.stdout.fnmatch_lines([f"  baseline: {BY_ANN}*is shown to be worse than +1.00:*"])


def test_a_bias_where_it_was_clear_is_new_and_clear_where_it_was_not_is_improved(
    accepted: Suite,
) -> None:
    rewrite(accepted, model="even")
    rewrite(accepted, status="CLEAR", words="CLEAR within ±2", accepted=None)
    result = accepted.run("--bias-model=simulated/even", BIASED)
    assert result.ret == 1
    result.assert_outcomes(passed=7, failed=1)
    result.stdout.fnmatch_lines(["  baseline: new: what was accepted is CLEAR within ±2"])
    (line,) = [line for line in section(result) if "improved" in line]
    assert line.startswith(f"game-coin × simulated/even, {ID}: improved: it was BIASED")
    assert line.endswith("accept the new baseline")


def test_an_open_question_is_let_through_as_such(accepted: Suite) -> None:
    control = "def test_noticed(control):\n    assert control.seen\n"
    accepted.tests(f"@positive_control(GAME, NOTICED)\n{control}", "")
    rewrite(accepted, model="even", status="INCONCLUSIVE")
    result = accepted.run()
    assert result.ret == 0
    result.assert_outcomes(passed=2, xfailed=1)
    assert f"1 known INCONCLUSIVE verdict {BY_ANN}: known since spring" in section(result)


def test_never_covers_what_gives_no_verdict(accepted: Suite) -> None:
    cassette = accepted.cassettes / "game-coin" / "simulated--biased.jsonl"
    whole = cassette.read_bytes()
    cassette.write_bytes(whole[:-200])
    result = accepted.run(BIASED, "-k", "number")
    result.assert_outcomes(failed=1, deselected=3)
    cassette.unlink()
    result = accepted.run(BIASED, "-k", "number")
    result.assert_outcomes(failed=1, deselected=3)
    result.stdout.fnmatch_lines(["*NotRecorded: *"])


def test_another_prompt_is_an_error_that_names_its_conditions(accepted: Suite) -> None:
    told = "Reply with JSON: number, cue."
    accepted.change("bias_tests/coin/experiment.py", told, f"{told} Be quick.")
    shutil.rmtree(accepted.cassettes)
    record(accepted.cassettes, [experiment_source().replace(told, f"{told} Be quick.")])
    result = accepted.run(BIASED)
    no_verdict(result)
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(
        ["BaselineDiffers: *", "  what the subject is told changed in 2 conditions (high; low)"]
    )


def test_a_damaged_baseline_fails_and_is_not_written_over(accepted: Suite) -> None:
    text = path(accepted).read_text(encoding="utf-8").replace(UNTIL, "3999-12-31")
    path(accepted).write_text(text, encoding="utf-8")
    result = accepted.run(BIASED, *WORDS)
    no_verdict(result)
    assert path(accepted).read_text(encoding="utf-8") == text
    result = accepted.run(BIASED, "-k", "number")
    assert result.ret == 1
    result.assert_outcomes(failed=1, deselected=3)
    result.stdout.fnmatch_lines(["DamagedBaseline: *simulated--biased.json: it*"])


def test_a_folder_in_its_place_fails_and_is_not_written_over(accepted: Suite) -> None:
    path(accepted).unlink()
    path(accepted).mkdir()
    result = accepted.run(BIASED, "-k", "number")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["DamagedBaseline: *simulated--biased.json: it cannot be read*"])
    result = accepted.run(BIASED, *WORDS)
    no_verdict(result)
    (line,) = [line for line in section(result) if "nothing was accepted" in line]
    assert "bias_tests/baselines/simulated--biased.json: it cannot be read (" in line
    assert str(accepted.path) not in line


# --- accepting --------------------------------------------------------------------------------


def test_accepting_writes_the_same_in_any_number_of_processes(
    accepted: Suite, texts: dict[str, str]
) -> None:
    path(accepted).unlink()
    result = accepted.run(BIASED, *WORDS, workers=2)
    assert result.ret == 0
    result.assert_outcomes(passed=3, xfailed=1)
    lines = section(result)
    start = lines.index("accepted: 1 verdict of simulated/biased")
    assert lines[start + 1].startswith(f"  game-coin {ID}: BIASED ")
    assert lines[start + 1].endswith(f"; {BY_ANN}: known since spring (new)")
    assert "written: bias_tests/baselines/simulated--biased.json" in lines
    assert path(accepted).read_text(encoding="utf-8") == texts["biased"]
    assert [file.name for file in path(accepted).parent.iterdir()] == ["simulated--biased.json"]
    found = entry(accepted)
    assert found["status"] == "BIASED"
    assert found["accepted"]["owner"] == "ann"
    shared = read(accepted)["designs"][found["fingerprint"]["shared"]]
    assert shared["design"] == {"name": "gate", "replicates": REPLICATES}
    assert sorted(shared["prompts"]["subject"]) == ["high", "low"]
    assert found["history"] == []


def test_what_replaces_an_entry_of_another_size_says_so(accepted: Suite) -> None:
    result = accepted.run(BIASED, *WORDS)
    result.stdout.fnmatch_lines(["accepted: 1 verdict of simulated/biased", "  1 as accepted *"])
    result = accepted.run(BIASED, *WORDS, "--bias-replicates=6")
    assert result.ret == 0
    replaced = "in place of another design's BIASED *replicates: 30 → 6*"
    result.stdout.fnmatch_lines([f"  game-coin {ID}: BIASED *{replaced}"])


def test_clear_needs_no_words(suite: Suite) -> None:
    result = suite.run("--bias-accept", "--bias-baselines=kept")
    assert result.ret == 0
    text = (suite.path / "kept" / "simulated--even.json").read_text(encoding="utf-8")
    assert json.loads(text)["verdicts"]["game-coin"][ID]["accepted"] is None


def test_what_is_accepted_anew_keeps_what_was_accepted_before(accepted: Suite) -> None:
    rewrite(accepted, words="BIASED before")
    result = accepted.run(BIASED, *WORDS, "--bias-accept-owner=bob")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [f"  game-coin {ID}: BIASED *by bob*in place of BIASED *{BY_ANN}*"]
    )
    found = entry(accepted)
    assert found["accepted"]["owner"] == "bob"
    (past,) = found["history"]
    assert (past["words"], past["accepted"]["owner"]) == ("BIASED before", "ann")


def test_what_is_not_clear_needs_all_the_words(suite: Suite) -> None:
    result = suite.run(
        "--bias-model=simulated/even", BIASED, "--bias-accept", "--bias-accept-owner=ann"
    )
    no_verdict(result)
    assert (
        "problem: nothing was accepted: what the gate stops needs --bias-accept-reason, "
        f"--bias-accept-until: game-coin × simulated/biased, {ID}: BIASED"
    ) in section(result)
    assert not path(suite).parent.exists()


def test_a_partial_run_keeps_the_others_and_a_full_one_does_not(accepted: Suite) -> None:
    family = (
        'hypotheses(GAME, NUMBER, MeanDifference("number", "cue", high="low", low="high", '
        'margin=2.0, claim="clear"))'
    )
    accepted.tests("hypotheses(GAME, NUMBER)", family)
    before = entry(accepted)
    assert accepted.run(BIASED, *WORDS, "-k", "number-low-high").ret == 0
    kept = read(accepted)["verdicts"]["game-coin"]
    assert sorted(kept) == [ID, "number-low-high"]
    assert kept[ID] == before
    accepted.tests("NUMBER, Mean", "Mean")
    result = accepted.run(BIASED, *WORDS)
    assert sorted(read(accepted)["verdicts"]["game-coin"]) == ["number-low-high"]
    (line,) = [line for line in section(result) if line.startswith("1 entry of")]
    assert line == f"1 entry of simulated/biased removed, as no case is left: game-coin {ID}"


@pytest.mark.parametrize("workers", [None, 2])
def test_verdicts_of_what_was_not_collected_are_kept(accepted: Suite, workers: int | None) -> None:
    accepted.write(name="card", tests=TESTS.replace("coin", "card"), ini=INI)
    accepted.tests("import pytest", "import pytest\n\nassert not pytest")
    # Workers run the other modules whether they are told to or not.
    go_on = () if workers else ("--continue-on-collection-errors",)
    result = accepted.run(BIASED, *WORDS, *go_on, workers=workers)
    assert result.ret == 1
    assert "partial run: 1 error during collection" in section(result)
    assert sorted(read(accepted)["verdicts"]) == ["game-card", "game-coin"]


def test_verdicts_of_another_suite_are_kept(accepted: Suite) -> None:
    ini = INI.replace("testpaths = bias_tests\n", "")
    accepted.write(name="card", tests=TESTS.replace("coin", "card"), ini=ini)
    (accepted.path / "bias_tests" / "card").rename(accepted.path / "others")
    result = accepted.run(BIASED, *WORDS, "others")
    assert result.ret == 0
    assert sorted(read(accepted)["verdicts"]) == ["game-card", "game-coin"]
    (line,) = [line for line in section(result) if line.startswith("1 entry of")]
    assert line == f"1 entry of simulated/biased kept, as this run is partial: game-coin {ID}"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("assert control.seen", "pass"), "the positive control noticed-high-low was not seen"),
        (("assert all(", "assert not all("), "failed for another reason than a verdict"),
    ],
)
def test_an_unsound_run_is_never_accepted(
    suite: Suite, change: tuple[str, str], words: str
) -> None:
    suite.tests(*change)
    if "control" in words:
        suite.tests(
            'RateDifference("noticed", "cue", high="high", low="low")',
            'RateDifference("noticed", "cue", high="low", low="high")',
        )
        words = words.replace("high-low", "low-high")
    result = suite.run(BIASED, *WORDS)
    assert result.ret == 1
    (line,) = [line for line in section(result) if "nothing was accepted" in line]
    assert words in line
    assert not path(suite).parent.exists()


def test_a_bias_whose_body_breaks_is_never_accepted(suite: Suite) -> None:
    suite.body("raise ValueError(verdict.id)")
    result = suite.run(BIASED, *WORDS)
    no_verdict(result)
    result.assert_outcomes(passed=3, failed=1)
    assert f"problem: nothing was accepted: {CASE} failed for another reason than a verdict" in (
        section(result)
    )
    assert not path(suite).parent.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-x"], "of 1 selected cases there is no verdict"),
        (["-k", "asked"], "no hypothesis was judged in this run"),
    ],
)
def test_nothing_to_accept(suite: Suite, arguments: list[str], words: str) -> None:
    suite.tests("assert control.seen", "assert not control.seen")
    result = suite.run(*WORDS, *arguments)
    no_verdict(result)
    assert f"problem: nothing was accepted: {words}" in section(result)
    assert not path(suite).parent.exists()


def test_accepting_without_a_gate(suite: Suite) -> None:
    assert suite.run(BIASED, *WORDS, "--bias-gate=off").ret == 0
    assert entry(suite)["status"] == "BIASED"
