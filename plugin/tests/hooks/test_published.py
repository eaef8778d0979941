"""Published replies and own tables in whole runs: judged, gated and compared like recordings."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ..core.report.reading import inflated
from ..runs import command
from .suites import Suite, section
from .test_baselines import WORDS

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
MEND = (
    "if it stands for a reply that could not be read, leave the cell empty and say why (missing)"
)
SIZES = {"calm": (40, 25), "even": (60, 60), "moved": (30, 45), "worse": (30, 30)}
"""Rows of each model of the table after the low cue and the high one."""
EFFECT = {"calm": 0, "even": 0, "moved": 6, "worse": 9}
CASES = "bias_tests/coin/test_coin.py"
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


# --- judged --------------------------------------------------------------------------------------


def test_a_published_subject_is_gated_and_its_failure_names_the_table(told: Suite) -> None:
    result = told.run(MOVED)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["  table: tables/coins.csv ([[]published.coins[]])"])
    assert not any("cassette:" in line for line in result.outlines)
    assert told.run(MOVED, "--bias-gate=off", workers=1).ret == 0


def test_no_cassette_is_written_or_read(told: Suite) -> None:
    before = sorted(told.cassettes.rglob("*"))
    for path in before:
        if path.is_file():
            path.write_text("not one", encoding="utf-8")
    assert told.run(CALM).ret == 0
    assert sorted(told.cassettes.rglob("*")) == before


@pytest.mark.parametrize("workers", [None, 1])
def test_what_is_not_known_and_a_note_stand_in_every_report(
    told: Suite, workers: int | None
) -> None:
    note = "rows of <five> temperatures"
    declared = 'licence = "CC-BY-4.0"\n'
    told.change("bias_models.toml", declared, f'{declared}notes = {{ calm = "{note}" }}\n')
    options = ("-v", "--bias-report=page.html", "--bias-dataset=data")
    result = told.run(CALM, *options, workers=workers)
    assert result.ret == 0
    heading = [line for line in section(result) if line.startswith(("game-coin ×", "  note: "))]
    trials = "65 of 66 trials valid, 1 missing: 1 refusal"
    told_of = f"game-coin × published/calm (replies that others published, {trials})"
    assert heading == [told_of, f"  note: {note}"]
    found = analysis(told)
    assert [(c["condition"], c["planned"]) for c in found["counts"]] == [("low", 41), ("high", 25)]
    assert found["recording"]["cassette"] == "tables/coins.csv"
    assert found["recording"]["published"]["note"] == note
    assert not found["simulated"]
    page = inflated((told.path / "page.html").read_text(encoding="utf-8"))
    for words in (
        "not known: the source's own, in its own words",
        "the source's own: 66 trials (low 41, high 25)",
        "a paper (not recorded by this suite)",
        "2026-02-01T00:00Z to 2026-02-09T00:00Z",
        "CC-BY-4.0",
        "rows of &lt;five&gt; temperatures",
    ):
        assert words in page, words
    folder = told.path / "data" / "game-coin"
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert "subject: model, as others recorded it" in readme
    assert "Collected: 2026-02-01T00:00Z to 2026-02-09T00:00Z" in readme
    assert "Creative Commons Attribution 4.0" in readme
    assert "temperatures" in readme
    rows = pq.read_table(folder / "published--calm.parquet").to_pylist()
    assert len(rows) == 66
    assert {(row["interactions"], row["invalid_replies"]) for row in rows} == {(None, None)}
    assert [row["replicate"] for row in rows] == [*range(1, 42), *range(1, 26)]
    result = told.run(EVEN, *options, workers=workers)
    assert "note:" not in result.stdout.str()
    assert analysis(told)["recording"]["published"]["note"] == ""
    page = inflated((told.path / "page.html").read_text(encoding="utf-8"))
    assert ">published by others<" in page


def test_the_licence_of_a_data_set_is_the_sources(told: Suite) -> None:
    told.change("bias_models.toml", "CC-BY-4.0", "the source's own terms")
    assert told.run(CALM, "--bias-dataset=data", "-o", "bias_dataset_license=CC0-1.0").ret == 0
    readme = (told.path / "data" / "game-coin" / "README.md").read_text(encoding="utf-8")
    assert "This data set is licensed under `the source's own terms`." in readme
    assert "CC0" not in readme


def test_age_is_that_of_the_dates_the_source_gives(told: Suite) -> None:
    result = told.run(CALM, "--bias-max-age=7")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["*the oldest reply that counts was recorded on 2026-02-01, more*"]
    )
    words = "the replies of published/calm to game-coin, as their table has them, no longer repre"
    result.stdout.fnmatch_lines([f"*{words}sent this model*"])
    assert "recordings of game-coin" not in result.stdout.str()
    assert "To record it anew" not in result.stdout.str()
    told.change("bias_models.toml", 'collected_at = "at"', "")
    result = told.run(CALM, "--bias-max-age=7", "-k", "number")
    result.stdout.fnmatch_lines(["*66 replies do not say when they were recorded*"])


def test_sizes_are_the_sources_whatever_design_is_asked_for(told: Suite) -> None:
    assert told.run(CALM, "--bias-replicates=3").ret == 0
    (found,) = told.results(partial=True)["analyses"]
    assert (found["trials"], found["design"]) == (66, "published")


# --- compared ------------------------------------------------------------------------------------


def test_one_published_model_is_held_against_another(told: Suite) -> None:
    result = told.run(WORSE, OLD)
    assert result.ret == 1
    assert outcomes(told) == {"number-high-low": "worse"}
    result = told.run(CALM, OLD)
    assert result.ret == 0
    assert outcomes(told) == {"number-high-low": "improved"}
    nothing = "MAY SHIP  published/calm for published/moved: Nothing stops this upgrade"
    result.stdout.fnmatch_lines([nothing, "  1 improved, 0 as before*"])


def test_an_accepted_baseline_is_held_and_not_by_rows_that_changed(told: Suite) -> None:
    assert told.run(MOVED, *WORDS).ret == 0
    kept = told.path / "bias_tests" / "baselines" / "published--moved.json"
    assert kept.exists()
    result = told.run(MOVED)
    assert result.ret == 0
    assert "accepted" in result.stdout.str()
    assert told.run(f"--bias-baseline={kept}", WORSE).ret == 1
    assert outcomes(told) == {"number-high-low": "worse"}
    worse = [row.replace("worse,", "moved,") for row in lines() if not row.startswith("moved")]
    assert table(told, worse).run(MOVED).ret == 1


def test_a_baseline_is_held_by_what_a_table_is_of_and_not_by_its_name(told: Suite) -> None:
    assert told.run(MOVED, *WORDS).ret == 0
    told.change("bias_models.toml", "[published.coins]", "[published.renamed]")
    told.change("bias_models.toml", "[published.coins.columns]", "[published.renamed.columns]")
    result = told.run(MOVED)
    assert result.ret == 0
    assert "accepted" in result.stdout.str()
    told.change("bias_models.toml", "a paper", "another paper")
    result = told.run(MOVED)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*BaselineDiffers*", "*what the subject is told changed in 2*"])


def test_a_recording_is_no_upgrade_of_what_was_asked_in_words_nobody_knows(told: Suite) -> None:
    result = told.run("--bias-model=simulated/biased", OLD)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*BaselineDiffers*", "*what the subject is told changed in 2*"])


# --- refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [None, 1])
def test_a_wrong_table_is_refused_once_with_all_that_is_wrong(
    told: Suite, workers: int | None
) -> None:
    rows = lines()
    rows[1] = rows[1].replace("low", "lwo")
    rows[5] = rows[5].replace(",false,", ",maybe,")
    rows[-2] = "worse,high,99,true,,"
    result = table(told, rows).run(CALM, workers=workers)
    assert result.ret == 4
    errors = [*result.outlines, *result.errlines]
    assert sum("3 problems, and no row is used before they are mended:" in e for e in errors) == 1
    assert [e.strip() for e in errors if e.startswith("  line")] == [
        "line 2, column 'cue': 'lwo' is no level of cue: low, high",
        "line 6, column 'noticed': 'maybe' is neither true nor false",
        f"line {len(rows) - 1}, column 'number': '99' is not within 2 to 18; {MEND}",
    ]


ONLY_READ = "published/calm is a table of what was recorded: nobody can be asked"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((CALM, "--bias-record=missing"), f"--bias-record=missing: {ONLY_READ}"),
        ((CALM, "--bias-plan"), f"--bias-plan: {ONLY_READ}"),
        (("--bias-model=published/other",), "unknown published subject 'published/other'; known:"),
        (("--bias-baseline=published/other",), "unknown published subject 'published/other'"),
    ],
)
def test_what_asks_nobody_or_is_of_no_table_is_a_usage_error(
    told: Suite, arguments: tuple[str, ...], words: str
) -> None:
    result = told.run(*arguments)
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*{words}*"])


def test_another_experiment_fails_its_cases_and_says_which_is_covered(told: Suite) -> None:
    told.change("bias_models.toml", "game-coin", "game-card")
    result = told.run(CALM)
    assert result.ret == 1
    words = "published/calm has no replies to game-coin: its table has those to game-card"
    result.stdout.fnmatch_lines([f"NotCovered: {words}", f"{words}. Nobody can be asked*"])
    assert "Traceback" not in result.stdout.str()


def test_a_condition_without_rows_fails_its_case_and_nothing_is_cleared(told: Suite) -> None:
    rows = [row for row in lines() if not row.startswith("calm,high")]
    result = table(told, rows).run(CALM)
    assert result.ret == 1
    words = "to condition high of game-coin: its table has those to low"
    result.stdout.fnmatch_lines([f"NotCovered: published/calm has no replies {words}"])
    (verdict,) = analysis(told)["verdicts"]
    assert verdict["status"] == "INCONCLUSIVE"


def test_the_example_of_the_documentation_is_a_roster_and_covers_the_shipped_table(
    told: Suite,
) -> None:
    page = Path(__file__).parents[3] / "docs" / "tables.md"
    example = page.read_text(encoding="utf-8").partition("```toml\n")[2].partition("```")[0]
    shipped = page.parents[1] / "bias_tests" / "anchoring" / "published" / "anchoring_replies.csv"
    copied = told.path / "bias_tests" / "anchoring" / "published" / shipped.name
    copied.parent.mkdir(parents=True)
    copied.write_bytes(shipped.read_bytes())
    told.file("bias_models.toml", example)
    result = told.run("--bias-model=published/gpt-4o")
    wanted = "*has no replies to game-coin: its table has those to anchoring-prosecutor-sent*"
    result.stdout.fnmatch_lines([wanted])


def test_a_command_analyses_all_subjects_of_a_table_by_its_name_in_the_roster(told: Suite) -> None:
    def analyzed(name: str) -> subprocess.CompletedProcess[str]:
        return command(told.path, "analyze", "game-coin", "--table", name, "--json")

    found = json.loads(analyzed("coins").stdout)["analyses"]
    assert sorted(each["model"] for each in found) == [f"published/{name}" for name in SIZES]
    lacking = "pytest-bias: replies=coins: 1 problem, and no row is used before they are mended:"
    assert lacking in analyzed("./coins").stderr
    other = ROSTER.replace("published.", "table.").replace("game-coin", "game-card")
    told.file("bias_models.toml", other.replace("source", "collected_by"))
    wrong = "pytest-bias: --table=coins: [table.coins] is of game-card, not of game-coin\n"
    assert analyzed("coins").stderr == wrong
    told.file("bias_models.toml", ROSTER + other.replace("source", "collected_by"))
    both = "=coins: [published.coins] and [table.coins] have this name; rename one\n"
    assert analyzed("coins").stderr.endswith(both)


__all__ = ["told"]  # a fixture

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
SERVED = f"""{OWN}
[models."table/pilot"]
served = ["gpt-4o-2024-08-06"]
"""


def pilot(suite: Suite, roster: str) -> Suite:
    """The suite of the coin with the rows of ``calm``, as a team may hold them."""
    rows = [row.split(",") for row in lines() if row.startswith("calm")]
    objects: list[dict[str, object]] = [
        {"cue": cue, "result": {"number": float(number)}, "noticed": noticed == "true"}
        if number
        else {"cue": cue, "missing": why}
        for _, cue, number, noticed, why, _ in rows
    ]
    suite.file("bias_models.toml", roster)
    return suite.file("tables/pilot.jsonl", "\n".join(map(json.dumps, objects)))


@pytest.mark.parametrize("workers", [None, 1])
def test_a_table_of_ones_own_is_judged_as_the_same_replies_published(
    told: Suite, workers: int | None
) -> None:
    assert told.run(CALM, workers=workers).ret == 0
    published = analysis(told)
    page = "--bias-report=page.html"
    result = pilot(told, SERVED).run("-v", "--bias-model=table/pilot", page, workers=workers)
    assert result.ret == 0
    (now,), (then,) = analysis(told)["verdicts"], published["verdicts"]
    assert now.pop("model") == "table/pilot"
    assert then.pop("model") == "published/calm"
    assert now == then
    said = "\n".join(section(result))
    assert "game-coin × table/pilot (replies of a table, 65 of 66 trials valid, 1 missing" in said
    assert "answered by gpt-4o-2024-08-06" in said
    assert "\n  table: 55 of the 60 trials of the gate design are there; its 2 cells are" in said
    shown = inflated((told.path / "page.html").read_text(encoding="utf-8"))
    for words in (
        ">from a table<",
        "the evaluation team (not recorded by this suite)",
        "gpt-4o-2024-08-06, as the source says",
        "tables/pilot.jsonl ([table.pilot] of the roster)",
    ):
        assert words in shown, words


def test_another_model_that_answered_gives_no_verdict_until_it_is_allowed(told: Suite) -> None:
    result = pilot(told, OWN).run("--bias-model=table/pilot")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*gpt-4o-2024-08-06 answered where table/pilot was asked for*"])


def test_a_table_that_nobody_declared_is_no_subject_and_none_is_recorded(told: Suite) -> None:
    result = pilot(told, SERVED).run("--bias-model=table/other")
    assert result.ret == 4
    wanted = "*unknown subject of a table 'table/other'; known: table/pilot; did you mean*"
    result.stderr.fnmatch_lines([wanted])
    assert told.run("--bias-model=table/pilot", "--bias-record=missing").ret == 4
    missing = OWN.replace('collected_by = "the evaluation team"\n', "")
    result = pilot(told, missing).run("--bias-model=table/pilot")
    result.stderr.fnmatch_lines(["*[[]table.pilot[]] collected_by: is needed*"])
