"""A new model held against the old one: known biases pass, new and worse ones do not."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from pytest_bias.cassettes.store import Cassette, write_cassette

from .suites import Suite, section
from .test_baselines import BY_ANN, WORDS
from .upgrade_games import EVEN, FIXED, FRESH, KNOWN, NEW, OLD, WORSE


@pytest.fixture(scope="module")
def kept() -> dict[str, str]:
    """The baseline that is accepted of the old model, written by the first test that asks."""
    return {}


@pytest.fixture
def accepted(many: Suite, kept: dict[str, str]) -> Suite:
    """The suite with the old model's verdicts accepted."""
    if not kept:
        assert many.run(f"--bias-model={OLD}", *WORDS).ret == 0
        kept["text"] = path(many).read_text(encoding="utf-8")
    path(many).parent.mkdir(exist_ok=True)
    path(many).write_text(kept["text"], encoding="utf-8")
    return many


def path(suite: Suite) -> Path:
    return suite.path / "bias_tests" / "baselines" / "simulated--biased.json"


def upgrade(suite: Suite) -> dict[str, Any]:
    return cast("dict[str, Any]", suite.results()["upgrade"])


def outcomes(suite: Suite) -> dict[str, str]:
    return {row["hypothesis"]: row["outcome"] for row in upgrade(suite)["rows"]}


# --- what passes and what does not ------------------------------------------------------------


def test_the_old_model_passes_against_what_was_accepted_with_its_biases_named(
    accepted: Suite,
) -> None:
    result = accepted.run(f"--bias-model={OLD}", f"--bias-baseline={path(accepted)}")
    assert result.ret == 0
    result.assert_outcomes(passed=2, xfailed=3)
    for name in (KNOWN, WORSE, FIXED):
        result.stdout.fnmatch_lines([f"XFAIL *{OLD}-{name}* - {BY_ANN}: known since spring*"])
    head, last = (line for line in section(result) if line.startswith("MAY SHIP"))
    assert head.startswith(f"MAY SHIP  {OLD} for {OLD}, as accepted: ")
    assert last == "MAY SHIP: nothing new or worse stops it; 3 known, 1 as before"


@pytest.mark.parametrize("file", [True, False])
def test_a_drifted_model_is_stopped_by_exactly_what_is_worse_and_what_is_new(
    accepted: Suite, *, file: bool
) -> None:
    old = str(path(accepted)) if file else OLD
    whose = f"{BY_ANN}: known since spring" if file else f"{OLD} is BIASED"
    found = []
    for workers in (None,) if file else (None, 2):
        result = accepted.run("-v", f"--bias-baseline={old}", workers=workers)
        assert result.ret == 1
        result.assert_outcomes(passed=2, xfailed=1, failed=2)
        assert outcomes(accepted) == {
            WORSE: "worse",
            FRESH: "new",
            KNOWN: "known",
            FIXED: "improved",
        }
        failed = [
            line.split("[")[1].split("]")[0]
            for line in result.outlines
            if line.startswith("FAILED ")
        ]
        assert sorted(failed) == [f"{NEW}-{FRESH}", f"{NEW}-{WORSE}"]
        result.stdout.fnmatch_lines([f"XFAIL *{NEW}-{KNOWN}* - {whose}*"])
        lines = section(result)
        for_ = f"{NEW} for {OLD}{', as accepted' if file else ''}"
        start = lines.index(f"DO NOT SHIP  {for_}: 2 hypotheses stop this upgrade")
        told = [line.split() for line in lines[start + 2 : start + 7]]
        assert [line[0] for line in told] == ["game-many", "worse", "new", "known", "improved"]
        assert [line[1] for line in told[1:]] == [WORSE, FRESH, KNOWN, FIXED]
        assert "DO NOT SHIP: 1 worse, 1 new" in lines
        found.append(accepted.results_path().read_bytes())
    assert len(set(found)) == 1


def test_an_xfail_of_ones_own_ships_nothing_that_is_worse_or_new(many: Suite) -> None:
    tests = "bias_tests/many/test_many.py"
    many.change(tests, "from pytest_bias", "import pytest\nfrom pytest_bias")
    many.change(tests, "@hypotheses(", "@pytest.mark.xfail\n@hypotheses(")
    result = many.run(f"--bias-baseline={OLD}")
    result.assert_outcomes(passed=1, xfailed=3, xpassed=1)
    assert result.ret == 1
    assert "DO NOT SHIP: 1 worse, 1 new" in section(result)
    failing = [name for _, _, name in many.results()["failing"]]
    assert failing == sorted([FRESH, WORSE])
    assert not [line for line in section(result) if "accepted by xfail" in line]
    assert many.run().ret == 0


@pytest.mark.parametrize(("file", "workers"), [(True, None), (False, 2)])
def test_an_even_model_passes_with_what_is_improved_named(
    accepted: Suite, workers: int | None, *, file: bool
) -> None:
    old = str(path(accepted)) if file else OLD
    arguments = (f"--bias-model={EVEN}", f"--bias-baseline={old}", "--bias-report=report.html")
    result = accepted.run("-v", *arguments, workers=workers)
    assert result.ret == 0
    result.assert_outcomes(passed=5)
    improved = [line for line in section(result) if line.startswith("    improved  ")]
    assert [line.split()[1] for line in improved] == [FIXED, KNOWN, WORSE]
    lines = section(result)
    assert "MAY SHIP: nothing new or worse stops it; 3 improved, 1 as before" in lines
    page = (accepted.path / "report.html").read_text(encoding="utf-8")
    assert f"May {EVEN} replace {OLD}" in page
    assert "Nothing stops this upgrade." in page


def test_what_fails_a_session_when_it_finishes_keeps_an_upgrade_from_shipping(
    accepted: Suite,
) -> None:
    accepted.conftest("def pytest_sessionfinish(session):\n    session.exitstatus = 1\n")
    arguments = (f"--bias-model={EVEN}", f"--bias-baseline={OLD}", "--bias-summary=summary.md")
    result = accepted.run(*arguments)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*No hypothesis stops *, but the run ended with exit status 1"])
    result.stdout.no_fnmatch_line("MAY SHIP*")


def ask_less(suite: Suite) -> None:
    tests = "bias_tests/many/test_many.py"
    suite.change(tests, "for name in NAMES\n", 'for name in NAMES if name != "worse"\n')
    suite.change(tests, "import (\n    MeanDifference", "import (\n    conditions, MeanDifference")
    with (suite.path / tests).open("a", encoding="utf-8") as file:
        file.write("\n\n@conditions(GAME)\ndef test_asked():\n    pass\n")


def test_who_asks_less_than_the_old_file_has_gets_no_verdict(accepted: Suite) -> None:
    said = f"game-many: accepted of {OLD} and not in this suite: {WORSE}. Nothing shows*"
    arguments = (f"--bias-model={EVEN}", f"--bias-baseline={path(accepted)}")
    ask_less(accepted)
    as_model = f"--bias-baseline={OLD}"  # which has that very file
    for more, workers in (((), 2), ((as_model, "bias_tests"), None), (("--bias-gate=off",), None)):
        result = accepted.run(*arguments, *more, workers=workers)
        assert result.ret == 1
        result.stdout.fnmatch_lines([f"*{said}", "NO VERDICT*"])
    for part_of in (["bias_tests/many"], ["-k", "fresh or noticed"]):
        part = accepted.run(*arguments, *part_of)
        assert part.ret == 0
        part.stdout.no_fnmatch_line(f"*{said}")
    # Nobody knows what else there is where no folder of tests is named: what is tested counts.
    accepted.change("pytest.ini", "testpaths = bias_tests\n", "")
    result = accepted.run(*arguments, "bias_tests")
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"*{said}", "NO VERDICT*"])


def test_an_experiment_that_is_recorded_and_not_there_leaves_no_verdict(many: Suite) -> None:
    shutil.copytree(many.cassettes / "game-many", many.cassettes / "game-gone")
    arguments = (f"--bias-model={EVEN}", f"--bias-baseline={OLD}")
    said = f"problem: game-gone: recorded of {OLD} and not in this suite. Nothing shows*elsewhere"
    for workers in (None, 2):
        result = many.run(*arguments, workers=workers)
        assert result.ret == 1
        result.stdout.fnmatch_lines([said, "NO VERDICT*"])
        result.stdout.no_fnmatch_line("MAY SHIP*")
    part = many.run(*arguments, "-k", "fresh or noticed")
    assert part.ret == 0
    part.stdout.no_fnmatch_line(said)


def test_only_what_the_old_model_shows_is_a_pass_that_says_so(many: Suite) -> None:
    result = many.run(f"--bias-baseline={OLD}", "-k", "known or fixed")
    assert result.ret == 0
    result.assert_outcomes(passed=1, xfailed=1, deselected=3)
    assert many.results(partial=True)["standing"] == "PASS with 1 known"
    assert many.results(partial=True)["suite"] == "FAIL"
    result = many.run(f"--bias-baseline={OLD}", "-k", "known", "--runxfail")
    assert result.ret == 1


# --- what is not there ------------------------------------------------------------------------


def test_what_is_neither_a_file_nor_a_recorded_model_is_named_as_both(many: Suite) -> None:
    for written in ("--bias-baseline", "bias_baseline"):
        result = many.run(*["--bias-baseline=lost.json"] * written.startswith("-"))
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        said = "\n".join([*result.errlines, *result.outlines])
        assert f"ERROR: {written}=lost.json: is no baseline file (a file that exists" in said
        assert "no model of which anything is recorded" in said
        ini = many.path / "pytest.ini"
        ini.write_text(f"{ini.read_text()}bias_baseline = lost.json\n", encoding="utf-8")


def test_the_new_model_can_be_recorded_in_the_same_run(many: Suite) -> None:
    (many.cassettes / "game-many" / "simulated--drifted.jsonl").unlink()
    result = many.run(f"--bias-baseline={OLD}", "--bias-record=missing")
    assert result.ret == 1
    assert outcomes(many)[WORSE] == "worse"
    assert (many.cassettes / "game-many" / "simulated--drifted.jsonl").exists()


# --- what cannot be compared --------------------------------------------------------------------


def recorded_of_old(suite: Suite) -> Path:
    return suite.cassettes / "game-many" / "simulated--biased.jsonl"


def test_what_was_never_recorded_of_the_old_model_is_judged_by_itself(many: Suite) -> None:
    elsewhere = many.cassettes / "game-other" / "simulated--biased.jsonl"
    elsewhere.parent.mkdir()
    recorded_of_old(many).rename(elsewhere)
    result = many.run(f"--bias-model={EVEN}", f"--bias-baseline={OLD}")
    note = f"{OLD} has no recordings of game-many: its hypotheses are judged by themselves"
    assert f"  {note}" in section(result)
    assert "NO VERDICT: see the problems above" in section(result)
    result.stdout.fnmatch_lines(["problem: nothing could be compared: *"])
    assert set(outcomes(many).values()) == {"not in the baseline"}


def halved(place: Path) -> None:
    cassette = Cassette(place)
    for key in list(cassette._lines)[:3]:
        del cassette._lines[key]
    write_cassette(cassette, "game-many", OLD, cassette.provenance)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (halved, f"3 of 120 trials of game-many with {OLD} are not recorded"),
        (
            lambda place: place.write_bytes(place.read_bytes()[:-300]),
            "simulated--biased.jsonl",
        ),
    ],
)
def test_half_a_recording_of_the_old_model_or_a_damaged_one_is_no_recording(
    many: Suite, spoil: Callable[[Path], object], words: str
) -> None:
    spoil(recorded_of_old(many))
    result = many.run(f"--bias-baseline={OLD}")
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"*{words}*"])
