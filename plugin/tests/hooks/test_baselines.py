"""Accepted verdicts in whole runs: what they let through, what they never do, how they come."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from pytest_bias.baselines.entries import baseline_from, baseline_text
from pytest_bias.baselines.noninferiority import Effect

from .suites import (
    ACCEPT,
    BY_ANN,
    INI,
    REPLICATES,
    TESTS,
    UNTIL,
    WORDS,
    Scenario,
    Suite,
    experiment_source,
    record,
    scenarios,
)
from .test_fail_closed import BIASED, no_verdict

CASE = "bias_tests/coin/test_coin.py::test_number[simulated/biased]"
ID = "number-high-low"
MORE = (
    'hypotheses(GAME, NUMBER, MeanDifference("number", "cue", high="low", low="high", '
    'margin=2.0, claim="clear"))'
)


def path(suite: Suite, model: str = "biased") -> Path:
    return suite.path / "bias_tests" / "baselines" / f"simulated--{model}.json"


def read(suite: Suite) -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads(path(suite).read_text(encoding="utf-8")))


def entry(suite: Suite) -> dict[str, Any]:
    found: dict[str, Any] = read(suite)["verdicts"]["game-coin"][ID]
    return found


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """What the first run that accepted has written; every such run writes the same."""
    return {}


@pytest.fixture
def accepted(suite: Suite, texts: dict[str, str]) -> Suite:
    """The suite with the verdict of ``simulated/biased`` accepted."""
    if not texts:
        suite.check(f"{BIASED} {ACCEPT}", 0)
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


def was(suite: Suite, estimate: float) -> None:
    """Have the effect of other replies accepted."""
    bounds: dict[str, Any] = {"interval": None, "se": 0.3, "df": 20.0, "margin": 2.0}
    of = Effect(estimate=estimate, scale="difference", clears=False, cassette="other", **bounds)
    rewrite(suite, effect=of, cassette="other")


def today(suite: Suite, day: str) -> None:
    suite.monkeypatch.setattr("pytest_bias.settings.given.today", lambda: day)


def uncontrolled(suite: Suite) -> None:
    control = "def test_noticed(control):\n    assert control.seen\n"
    suite.tests(f"@positive_control(GAME, NOTICED)\n{control}", "")
    rewrite(suite, model="even", status="INCONCLUSIVE")


def clear_before(suite: Suite) -> None:
    rewrite(suite, model="even")
    rewrite(suite, status="CLEAR", words="CLEAR within ±2", accepted=None)


def other_prompt(suite: Suite) -> None:
    told = "Reply with JSON: number, cue."
    suite.change("bias_tests/coin/experiment.py", told, f"{told} Be quick.")
    shutil.rmtree(suite.cassettes)
    record(suite.cassettes, [experiment_source().replace(told, f"{told} Be quick.")])


def cassette(suite: Suite) -> Path:
    return suite.cassettes / "game-coin" / "simulated--biased.jsonl"


FAILED = "3 passed, 1 failed"
NUMBER = f"{BIASED} -k number"
HELD = {
    "runxfail": Scenario(None, f"{BIASED} --runxfail", 1, FAILED),
    "off": Scenario(None, f"{BIASED} --bias-baselines=off", 1, FAILED),
    "another model's": Scenario(
        lambda suite: path(suite).rename(path(suite, "even")),
        *("", 1, FAILED, "NotReadable: … belongs at simulated--"),
    ),
    "past": Scenario(
        lambda suite: today(suite, "3000-01-01"),
        *(BIASED, 1, FAILED, f"baseline: {BY_ANN} … is past", f"expired: 1 known bias {BY_ANN}"),
    ),
    "ending": Scenario(
        lambda suite: today(suite, "2999-12-20"),
        *(BIASED, 0, "3 passed, 1 xfailed", f"warning: within 14 days … {BY_ANN}"),
    ),
    "no worse": Scenario(lambda suite: was(suite, 6.0), BIASED, 0, "3 passed, 1 xfailed"),
    "worse": Scenario(
        lambda suite: was(suite, 1.0), BIASED, 1, FAILED, f"{BY_ANN} … to be worse than +1.00:"
    ),
    "new and improved": Scenario(
        clear_before,
        *(f"--bias-model=simulated/even {BIASED}", 1, "7 passed, 1 failed"),
        *("baseline: new: ", f"{ID}: improved: … accept the new baseline"),
    ),
    "open": Scenario(
        uncontrolled, "", 0, "2 passed, 1 xfailed", f"1 known INCONCLUSIVE verdict {BY_ANN}"
    ),
    "damaged": Scenario(
        lambda suite: cassette(suite).write_bytes(cassette(suite).read_bytes()[:-200]),
        *(NUMBER, 1, "1 failed"),
    ),
    "not recorded": Scenario(
        lambda suite: cassette(suite).unlink(), NUMBER, 1, "1 failed", "NotRecorded: "
    ),
    "another prompt": Scenario(
        other_prompt, BIASED, 1, FAILED, "BaselineDiffers: ", "2 conditions (high; low)"
    ),
}


@pytest.mark.fail_closed
@scenarios(HELD)
def test_what_is_let_through(accepted: Suite, scenario: Scenario) -> None:
    result = scenario.check(accepted)
    if scenario.change is other_prompt:
        no_verdict(result)


@pytest.mark.parametrize(("workers", "strict"), [(None, "strict = true\n"), (1, "")])
def test_a_known_bias_is_an_expected_failure(
    accepted: Suite, workers: int | None, strict: str
) -> None:
    accepted.change("pytest.ini", "addopts", f"{strict}addopts")
    known = f"1 known bias {BY_ANN}", "PASS with 1 accepted: ", "!accepted by xfail"
    options = f"{BIASED} --junitxml=junit.xml"
    accepted.check(options, 0, "3 passed, 1 xfailed", *known, workers=workers)
    found = accepted.results()
    assert (found["suite"], found["standing"]) == ("FAIL", "PASS with 1 accepted")
    assert found["cases"][CASE] == "xfailed"
    (told,) = found["accepted"]
    assert (told["id"], told["owner"], told["until"]) == (ID, "ann", UNTIL)
    junit = (accepted.path / "junit.xml").read_text(encoding="utf-8")
    assert 'type="pytest.xfail"' in junit
    assert f'name="bias_baseline" value="{BY_ANN}: known' in junit


@pytest.mark.parametrize("folder", [False, True])
def test_a_damaged_baseline_fails_and_is_not_written_over(
    accepted: Suite, *, folder: bool
) -> None:
    text = path(accepted).read_text(encoding="utf-8").replace(UNTIL, "3999-12-31")
    path(accepted).unlink()
    if folder:
        path(accepted).mkdir()
    else:
        path(accepted).write_text(text, encoding="utf-8")
    accepted.check(NUMBER, 1, "1 failed", "NotReadable: … simulated--biased.json: it")
    no_verdict(accepted.check(f"{BIASED} {ACCEPT}", 1))
    assert path(accepted).is_dir() if folder else path(accepted).read_text("utf-8") == text
    assert str(accepted.path) not in " ".join(accepted.results(partial=True)["problems"])


# --- accepting --------------------------------------------------------------------------------


def test_accepting_writes_the_same_in_any_number_of_processes(
    accepted: Suite, texts: dict[str, str]
) -> None:
    path(accepted).unlink()
    told = "accepted: 1 verdict", f"  game-coin {ID}: BIASED … {BY_ANN} … (new)"
    accepted.check(f"{BIASED} {ACCEPT}", 0, "3 passed, 1 xfailed", *told, workers=2)
    assert path(accepted).read_text(encoding="utf-8") == texts["biased"]
    assert [file.name for file in path(accepted).parent.iterdir()] == ["simulated--biased.json"]
    found = entry(accepted)
    assert (found["status"], found["history"]) == ("BIASED", [])
    assert found["accepted"]["owner"] == "ann"
    shared = read(accepted)["designs"][found["fingerprint"]["shared"]]
    assert shared["design"] == {"name": "gate", "replicates": REPLICATES}
    assert sorted(shared["prompts"]["subject"]) == ["high", "low"]


def test_what_replaces_an_entry_keeps_what_was_accepted_before(accepted: Suite) -> None:
    accepted.check(f"{BIASED} {ACCEPT}", 0, "", "  1 as accepted ")
    rewrite(accepted, words="BIASED before")
    by_bob = f"{BIASED} {ACCEPT} --bias-accept-owner=bob"
    accepted.check(by_bob, 0, "", f"{ID}: BIASED … by bob … in place of BIASED … {BY_ANN}")
    found = entry(accepted)
    assert found["accepted"]["owner"] == "bob"
    assert [(past["words"], past["accepted"]["owner"]) for past in found["history"]] == [
        ("BIASED before", "ann")
    ]
    smaller = f"{BIASED} {ACCEPT} --bias-replicates=6"
    accepted.check(smaller, 0, "", f"{ID}: BIASED … another design's BIASED … replicates: 30 → 6")


def test_a_partial_run_keeps_the_others_and_a_full_one_does_not(accepted: Suite) -> None:
    accepted.tests("hypotheses(GAME, NUMBER)", MORE)
    before = entry(accepted)
    accepted.check(f"{BIASED} {ACCEPT} -k number-low-high", 0)
    kept = read(accepted)["verdicts"]["game-coin"]
    assert sorted(kept) == [ID, "number-low-high"]
    assert kept[ID] == before
    accepted.tests("NUMBER, Mean", "Mean")
    accepted.run(BIASED, *WORDS)
    assert sorted(read(accepted)["verdicts"]["game-coin"]) == ["number-low-high"]


def broken(suite: Suite) -> None:
    suite.write(name="card", tests=TESTS.replace("coin", "card"), ini=INI)
    suite.tests("import pytest", "import pytest\n\nassert not pytest")


def elsewhere(suite: Suite) -> None:
    ini = INI.replace("testpaths = bias_tests\n", "")
    suite.write(name="card", tests=TESTS.replace("coin", "card"), ini=ini)
    (suite.path / "bias_tests" / "card").rename(suite.path / "others")


ALL = f"{BIASED} {ACCEPT}"
ERRORS = "partial run: 1 error during collection"
PARTIAL = {
    "error": Scenario(broken, f"{ALL} --continue-on-collection-errors", 1, "", ERRORS),
    "error with workers": Scenario(broken, ALL, 1, "", ERRORS, workers=2),
    "another suite": Scenario(elsewhere, f"{ALL} others", 0, "", "1 entry … kept … partial"),
}


@scenarios(PARTIAL)
def test_verdicts_of_what_was_not_collected_are_kept(accepted: Suite, scenario: Scenario) -> None:
    scenario.check(accepted)
    assert sorted(read(accepted)["verdicts"]) == ["game-card", "game-coin"]


def unseen(suite: Suite) -> None:
    suite.tests("assert control.seen", "pass")
    right = '"noticed", "cue", high="high", low="low"'
    suite.tests(right, '"noticed", "cue", high="low", low="high"')


NEVER = {
    "no control": (unseen, "", "noticed-low-high was not seen"),
    "asked": (lambda s: s.tests("assert all(", "assert not all("), "", "another reason"),
    "body": (lambda s: s.body("raise ValueError(verdict.id)"), "", "another reason"),
    "stopped": (lambda s: s.tests("assert control", "assert not control"), "-x", "no verdict"),
    "none": (lambda s: s.path, "-k asked", "no hypothesis was judged"),
}


@pytest.mark.parametrize("name", NEVER)
def test_an_unsound_run_is_never_accepted(suite: Suite, name: str) -> None:
    change, options, why = NEVER[name]
    change(suite)
    suite.check(f"{BIASED} {ACCEPT} {options}", 1, "", f"problem: nothing was accepted: … {why}")
    assert not path(suite).parent.exists()


def test_what_is_not_clear_needs_all_the_words(suite: Suite) -> None:
    options = f"--bias-model=simulated/even {BIASED} --bias-accept --bias-accept-owner=ann"
    needs = f"--bias-accept-reason, --bias-accept-until: … simulated/biased, {ID}: BIASED"
    no_verdict(suite.check(options, 1, "", f"nothing was accepted: … {needs}"))
    assert not path(suite).parent.exists()
