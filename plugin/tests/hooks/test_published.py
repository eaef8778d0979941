"""Published replies and own tables in whole runs: judged, gated and compared like recordings."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from importlib import import_module
from random import Random
from typing import Any

import pytest

from ..core.report.reading import inflated
from ..runs import command
from .suites import ACCEPT, Scenario, Suite, scenarios

pq = import_module("pyarrow.parquet")  # it has no types

ROSTER = """\
[published.coins]
path = "tables/coins.csv"
experiment = "game-coin"
model = "who"
source = "a paper"
licence = "CC-BY-4.0"

[published.coins.columns]
collected_at = "at"
missing = "why"
"""
SIZES = {"calm": (40, 25), "even": (60, 60), "moved": (30, 45), "worse": (30, 30)}
"""Rows of each model of the table after the low cue and the high one."""
EFFECT = {"calm": 0, "even": 0, "moved": 6, "worse": 9}
CALM, EVEN, MOVED, WORSE = (f"--bias-model=published/{name}" for name in SIZES)
OLD = "--bias-baseline=published/moved"


def lines() -> list[str]:
    """The table: numbers around 10, some missing."""
    rng = Random(7)  # noqa: S311  (numbers of a test, no secret)
    found = ["who,cue,number,noticed,why,at"]
    for name, sizes in SIZES.items():
        for cue, size in zip(("low", "high"), sizes, strict=True):
            pull = EFFECT[name] * (0.5 if cue == "high" else -0.5)
            noticed = "true" if cue == "high" else "false"
            found += [
                f"{name},{cue},{round(rng.gauss(10, 1)) + pull},{noticed},,2026-02-0{day}T00:00Z"
                for day in (1 + number % 8 for number in range(size))
            ]
    found.append("calm,low,,,refusal,2026-02-09T00:00Z")
    return found


@pytest.fixture
def told(suite: Suite) -> Suite:
    """The suite of the coin with a table, and a case that reads prompts where they are known."""
    suite.tests("all(condition[", "all(outcome.published or condition[")
    suite.file("bias_models.toml", ROSTER)
    return table(suite, lines())


def table(suite: Suite, rows: Sequence[str]) -> Suite:
    return suite.file("tables/coins.csv", "\n".join(rows))


def analysis(suite: Suite) -> dict[str, Any]:
    (found,) = suite.results()["analyses"]
    assert isinstance(found, dict)
    return found


def outcomes(suite: Suite) -> dict[str, str]:
    return {row["hypothesis"]: row["outcome"] for row in suite.results()["upgrade"]["rows"]}


def text(suite: Suite, name: str) -> str:
    return (suite.path / name).read_text(encoding="utf-8")


# --- judged --------------------------------------------------------------------------------------


def no_cassettes(suite: Suite) -> None:
    for path in suite.cassettes.rglob("*.jsonl"):
        path.write_text("not one", encoding="utf-8")


def another_game(suite: Suite) -> None:
    suite.change("bias_models.toml", "game-coin", "game-card")


def without_high(suite: Suite) -> None:
    table(suite, [row for row in lines() if not row.startswith("calm,high")])


def of_team(roster: str) -> Callable[[Suite], object]:
    """The rows of ``calm``, as a team may hold them."""

    def change(suite: Suite) -> None:
        rows = [row.split(",") for row in lines() if row.startswith("calm")]
        objects: list[dict[str, object]] = [
            {"cue": cue, "result": {"number": float(number)}, "noticed": noticed == "true"}
            if number
            else {"cue": cue, "missing": why}
            for _, cue, number, noticed, why, _ in rows
        ]
        suite.file("bias_models.toml", roster)
        suite.file("tables/pilot.jsonl", "\n".join(map(json.dumps, objects)))

    return change


OWN = """\
[table.pilot]
path = "tables/pilot.jsonl"
experiment = "game-coin"
collected_by = "the evaluation team"
collected_at = "2026-02-01"
served = "gpt-4o-2024-08-06"

[table.pilot.columns]
number = "result.number"
"""
SERVED = f'{OWN}\n[models."table/pilot"]\nserved = ["gpt-4o-2024-08-06"]\n'
NOBODY = OWN.replace('collected_by = "the evaluation team"\n', "")
PILOT = "--bias-model=table/pilot"
OLDEST = "the oldest reply that counts was recorded on 2026-02-01, more"
ONLY_READ = "published/calm is a table of what was recorded: nobody can be asked"
UNKNOWN = "unknown published subject 'published/other'"
CHANGED = "BaselineDiffers", "what the subject is told changed in 2"
COVERED = "NotRecorded: published/calm has no replies to"
JUDGED = {
    "gated": Scenario(None, MOVED, 1, "", "  table: tables/coins.csv ([published.coins])"),
    "no cassette": Scenario(no_cassettes, CALM, 0, "4 passed"),
    "old": Scenario(None, f"{CALM} --bias-max-age=7", 1, "", OLDEST, "!To record it anew"),
    "recorded": Scenario(None, f"--bias-model=simulated/biased {OLD}", 1, "", *CHANGED),
    "asked": Scenario(None, f"{CALM} --bias-record=missing", 4, "", ONLY_READ),
    "planned": Scenario(None, f"{CALM} --bias-plan", 4, "", ONLY_READ),
    "unknown": Scenario(None, "--bias-model=published/other", 4, "", f"{UNKNOWN}; known:"),
    "another game": Scenario(another_game, CALM, 1, "", f"{COVERED} game-coin", "!Traceback"),
    "another model": Scenario(
        of_team(OWN), PILOT, 1, "", "gpt-4o-2024-08-06 answered where table/pilot was asked for"
    ),
    "by nobody": Scenario(of_team(NOBODY), PILOT, 4, "", "[table.pilot] collected_by: is needed"),
}


@scenarios(JUDGED)
def test_a_table_is_judged_or_refused(told: Suite, scenario: Scenario) -> None:
    before = sorted(told.cassettes.rglob("*"))
    scenario.check(told)
    assert {*told.cassettes.rglob("*")} == {*before}


def test_a_condition_without_rows_fails_its_case_and_nothing_is_cleared(told: Suite) -> None:
    without_high(told)
    told.check(CALM, 1, "", f"{COVERED} condition high of game-coin: its table has those to low")
    (verdict,) = analysis(told)["verdicts"]
    assert verdict["status"] == "INCONCLUSIVE"


@pytest.mark.parametrize("workers", [None, 1])
def test_what_is_not_known_and_a_note_stand_in_every_report(
    told: Suite, workers: int | None
) -> None:
    note = "rows of <five> temperatures"
    declared = 'licence = "CC-BY-4.0"\n'
    told.change("bias_models.toml", declared, f'{declared}notes = {{ calm = "{note}" }}\n')
    options = "-v --bias-report=page.html --bias-dataset=data"
    told.check(
        f"{CALM} {options}", 0, "", "65 of 66 trials valid", f"note: {note}", workers=workers
    )
    found = analysis(told)
    assert [(c["condition"], c["planned"]) for c in found["counts"]] == [("low", 41), ("high", 25)]
    recording = found["recording"]
    assert (recording["cassette"], found["simulated"]) == ("tables/coins.csv", False)
    assert recording["published"]["note"] == note
    page = inflated(text(told, "page.html"))
    for words in (
        "a paper (not recorded by this suite)",
        "CC-BY-4.0",
        "rows of &lt;five&gt; temp",
    ):
        assert words in page, words
    readme = text(told, "data/game-coin/README.md")
    assert "Collected: 2026-02-01T00:00Z to 2026-02-09T00:00Z" in readme
    assert "temperatures" in readme
    rows = pq.read_table(told.path / "data/game-coin/published--calm.parquet").to_pylist()
    assert {(row["interactions"], row["invalid_replies"]) for row in rows} == {(None, None)}
    assert [row["replicate"] for row in rows] == [*range(1, 42), *range(1, 26)]
    told.check(f"{EVEN} {options}", 0, "", "!note:", workers=workers)
    assert analysis(told)["recording"]["published"]["note"] == ""


# --- compared ------------------------------------------------------------------------------------


def test_one_published_model_is_held_against_another_and_against_what_was_accepted(
    told: Suite,
) -> None:
    told.check(f"{WORSE} {OLD}", 1)
    assert outcomes(told) == {"number-high-low": "worse"}
    told.check(f"{CALM} {OLD}", 0, "", "SHIP  published/calm for published/moved")
    assert outcomes(told) == {"number-high-low": "improved"}
    told.check(f"{MOVED} {ACCEPT}", 0)
    told.check(MOVED, 0, "", "accepted")
    kept = "bias_tests/baselines/published--moved.json"
    told.check(f"--bias-baseline={kept} {WORSE}", 1)
    assert outcomes(told) == {"number-high-low": "worse"}
    worse = [row.replace("worse,", "moved,") for row in lines() if not row.startswith("moved")]
    table(told, worse).check(MOVED, 1)


def test_a_baseline_is_held_by_what_a_table_is_of_and_not_by_its_name(told: Suite) -> None:
    told.check(f"{MOVED} {ACCEPT}", 0)
    told.file("bias_models.toml", ROSTER.replace("[published.coins", "[published.renamed"))
    told.check(MOVED, 0, "", "accepted")
    told.change("bias_models.toml", "a paper", "another paper")
    told.check(MOVED, 1, "", *CHANGED)


@pytest.mark.parametrize("workers", [None, 1])
def test_a_wrong_table_is_refused_once_with_all_that_is_wrong(
    told: Suite, workers: int | None
) -> None:
    rows = lines()
    rows[1] = rows[1].replace("low", "lwo")
    rows[5] = rows[5].replace(",false,", ",maybe,")
    rows[-2] = "worse,high,99,true,,"
    result = table(told, rows).check(CALM, 4, workers=workers)
    errors = [*result.outlines, *result.errlines]
    assert sum("3 problems, and no row is used before they are mended:" in e for e in errors) == 1
    wrong = [e.strip().partition(":")[0] for e in errors if e.startswith("  line")]
    places = ("line 2, column 'cue'", "line 6, column 'noticed'")
    assert wrong == [*places, f"line {len(rows) - 1}, column 'number'"]


def test_a_command_analyses_all_subjects_of_a_table_by_its_name_in_the_roster(told: Suite) -> None:
    def analyzed(name: str) -> tuple[str, str]:
        done = command(told.path, "analyze", "game-coin", "--table", name, "--json")
        return done.stdout, done.stderr

    found = json.loads(analyzed("coins")[0])["analyses"]
    assert sorted(each["model"] for each in found) == [f"published/{name}" for name in SIZES]
    assert "1 problem, and no row is used" in analyzed("./coins")[1]
    other = ROSTER.replace("published.", "table.").replace("source", "collected_by")
    told.file("bias_models.toml", other.replace("game-coin", "game-card"))
    assert "[table.coins] is of game-card, not of game-coin" in analyzed("coins")[1]
    told.file("bias_models.toml", ROSTER + other)
    assert "[published.coins] and [table.coins] have this name" in analyzed("coins")[1]


@pytest.mark.parametrize("workers", [None, 1])
def test_a_table_of_ones_own_is_judged_as_the_same_replies_published(
    told: Suite, workers: int | None
) -> None:
    told.check(CALM, 0, workers=workers)
    published = analysis(told)
    of_team(SERVED)(told)
    shown = (
        "65 of 66 trials valid",
        "answered by gpt-4o-2024-08-06",
        "  table: 55 of the 60 trials",
    )
    options = f"-v {PILOT} --bias-report=page.html"
    told.check(options, 0, "", *shown, workers=workers)
    (now,), (then,) = analysis(told)["verdicts"], published["verdicts"]
    assert (now.pop("model"), then.pop("model")) == ("table/pilot", "published/calm")
    assert now == then
    page = inflated(text(told, "page.html"))
    for words in (">from a table<", "the evaluation team", "tables/pilot.jsonl ([table.pilot] of"):
        assert words in page, words
