"""What a run tells the CI service it runs in, and how the parts of a suite become one run."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from pytest_bias.cli.entry import main

from .suites import Suite
from .test_fail_closed import BIASED

ACCEPT = (
    "--bias-accept",
    "--bias-accept-reason=known",
    "--bias-accept-owner=ann",
    "--bias-accept-until=2999-12-31",
)


EVEN = "--bias-model=simulated/even"


@pytest.fixture
def github(suite: Suite) -> Path:
    """The suite in a job of GitHub Actions; the path of the job's summary."""
    path = suite.path / "job-summary.md"
    suite.monkeypatch.setenv("GITHUB_ACTIONS", "true")
    suite.monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    suite.monkeypatch.setenv("GITHUB_WORKSPACE", str(suite.path.parent))
    return path


def commands(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if line.startswith("::")]


@pytest.mark.parametrize("workers", [None, 1])
def test_a_failing_hypothesis_is_annotated_once_where_it_stands(
    suite: Suite, github: Path, workers: int | None
) -> None:
    github.write_text("another step's", "utf-8")
    result = suite.run(BIASED, f"--bias-summary={github}", workers=workers)
    assert result.ret == 1
    module = "bias_tests/coin/test_coin.py"
    lines = (suite.path / module).read_text("utf-8").split("\n")
    line = lines.index("@hypotheses(GAME, NUMBER)") + 1
    (told,) = commands(result)
    title = "game-coin × simulated/biased%3A BIASED"
    start = f"::error file={suite.path.name}/{module},line={line},title={title}::"
    assert told.startswith(f"{start}number-high-low: BIASED (beyond the margin)")
    text = github.read_text("utf-8")
    assert text.startswith("another step's\n")
    assert text.count("## Bias: FAIL") == 1
    assert "1 of 1 hypothesis stops this run (1 BIASED)**" in text
    assert "`bias-results.json`" in text
    assert "programs that stand in for models" in text
    assert "The cue is" not in text


def test_outside_ci_nothing_is_annotated_and_no_summary_written(suite: Suite) -> None:
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        suite.monkeypatch.delenv(name, raising=False)
    result = suite.run(BIASED)
    assert commands(result) == []
    assert list(suite.path.glob("*.md")) == []


def test_both_can_be_turned_off(suite: Suite, github: Path) -> None:
    suite.change("pytest.ini", "bias_report = off", "bias_report = off\nbias_annotations = off")
    result = suite.run(BIASED, "--bias-summary=off")
    assert result.ret == 1
    assert commands(result) == []
    assert not github.exists()
    suite.change("pytest.ini", "bias_annotations = off", "bias_annotations = on")
    result = suite.run(BIASED)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*bias_annotations=on: must be one of auto, off"])


def test_a_summary_is_written_where_it_is_asked_for_and_added_to_the_jobs(
    suite: Suite, github: Path
) -> None:
    github.write_text("of another step\n", encoding="utf-8")
    result = suite.run("--bias-summary=deep/summary.md")
    assert result.ret == 0
    text = (suite.path / "deep/summary.md").read_text("utf-8")
    assert text.startswith("## Bias: PASS\n")
    assert github.read_text("utf-8") == f"of another step\n\n{text}\n"
    result.stdout.fnmatch_lines(["written: deep/summary.md"])


def test_a_summary_that_cannot_be_written_is_a_problem_only_where_it_was_asked_for(
    suite: Suite, github: Path
) -> None:
    github.mkdir()
    result = suite.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["the job's summary was not written: *"])
    result = suite.run("--bias-summary=job-summary.md")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["problem: the job's summary was not written: *", "NO VERDICT:*"])
    result = suite.run("--bias-summary=bias_tests")
    result.stdout.fnmatch_lines(["problem: bias_tests was not written: *", "NO VERDICT:*"])


# --- JUnit ------------------------------------------------------------------------------------


def test_numbers_and_baselines_reach_junit_whatever_the_outcome(two: Suite) -> None:
    two.run("bias_tests/coin", BIASED, *ACCEPT)
    for workers in (0, 1):
        two.run("--junitxml=junit.xml", EVEN, BIASED, "-k", "number", workers=workers)
        root = ET.fromstring((two.path / "junit.xml").read_text("utf-8"))  # noqa: S314  (our own)
        cases = [(case, told(case)) for case in root.iter("testcase")]
        by = {(found["bias_experiment"], found["bias_model"]): (c, found) for c, found in cases}
        passed, found = by["game-coin", "simulated/even"]
        assert [child.tag for child in passed] == ["properties"]
        assert found["bias_verdict"].startswith("CLEAR")
        failed, found = by["game-card", "simulated/biased"]
        assert failed.find("failure") is not None
        assert found["bias_verdict"].startswith("BIASED")
        assert found["bias_margin"] == "2.0"
        assert not found.get("bias_baseline", "").startswith("accepted")
        xfailed, found = by["game-coin", "simulated/biased"]
        skipped = xfailed.find("skipped")
        assert skipped is not None
        assert skipped.attrib["type"] == "pytest.xfail"
        assert found["bias_verdict"].startswith("BIASED")
        assert found["bias_baseline"].startswith("accepted by ann until 2999-12-31: known")


def told(case: ET.Element) -> dict[str, str]:
    return {p.attrib["name"]: p.attrib["value"] for p in case.iter("property")}


# --- parts of a suite -------------------------------------------------------------------------


@pytest.fixture
def two(suite: Suite) -> Suite:
    """A suite of two experiments."""
    for path in ("bias_tests/__init__.py", "pytest.ini"):
        (suite.path / path).unlink()
    (suite.path / "bias_tests").rename(suite.path / "first")
    suite.write(name="card")
    (suite.path / "first/coin").rename(suite.path / "bias_tests/coin")
    (suite.path / "first").rmdir()
    return suite


def merged(suite: Suite, *arguments: str) -> tuple[int, dict[str, object]]:
    suite.monkeypatch.chdir(suite.path)
    out = suite.path / "merged.json"
    found = sorted(str(path) for path in suite.path.glob("part-*.json"))
    status = main(["merge", *found, "--results", str(out), *arguments])
    return status, json.loads(out.read_text("utf-8"))


PARTS = {
    "keywords": (["-k", "number"], ["-k", "not number"]),
    "paths and nodes": (
        ["bias_tests/coin/test_coin.py::test_number", "bias_tests/card"],
        ["bias_tests/coin", "-k", "not number"],
    ),
}


def test_parts_of_a_suite_become_the_run_of_all_of_it(two: Suite) -> None:
    two.run()
    whole = json.loads(two.results_path().read_text("utf-8"))
    for parts in PARTS.values():
        for number, arguments in enumerate(parts):
            assert two.run(*arguments, f"--bias-results=part-{number}.json").ret == 0
        assert merged(two, "--shards", "2") == (0, whole)
        (two.path / "part-1.partial.json").unlink()
        status, found = merged(two)
        assert (status, found["suite"]) == (1, "NO VERDICT")


@pytest.mark.parametrize("testpaths", ["testpaths = bias_tests more\n", ""], ids=["two", "none"])
def test_a_module_of_a_second_suite_that_ran_in_no_part_leaves_no_verdict(
    two: Suite, testpaths: str
) -> None:
    two.change("pytest.ini", "testpaths = bias_tests\n", testpaths)
    (two.path / "bias_tests/card").rename(two.path / "more")
    two.file("more/test_ordinary.py", "def test_nothing(): ...")
    two.run("bias_tests", "--bias-results=part-0.json")
    status, found = merged(two)
    lacking = ["no part asked for more/test_card.py with simulated/even"] * bool(testpaths)
    assert (status, found["problems"]) == (len(lacking), lacking)
    two.run("more/test_ordinary.py", "more/test_card.py", "--bias-results=part-1.json")
    assert merged(two, "--shards", "2")[0] == 0
    two.file("more/test_late.py", "def test_nothing(): ...")
    two.run("more/test_ordinary.py", "more/test_card.py", "--bias-results=part-1.json")
    status, found = merged(two)
    lacking = ["no part asked for more/test_late.py with simulated/even"]
    assert (status, found["problems"]) == (1, lacking)


def test_what_was_accepted_and_no_test_path_asks_anymore_leaves_no_verdict(two: Suite) -> None:
    two.change("pytest.ini", "testpaths = bias_tests\n", "testpaths = bias_tests more\n")
    (two.path / "bias_tests/card").rename(two.path / "more")
    two.run("--bias-accept")
    tests = "from bias_tests.coin.experiment import GAME\nfrom pytest_bias import conditions\n"
    two.file("more/test_card.py", f"{tests}@conditions(GAME)\ndef test_more():\n    pass\n")
    assert two.run().ret == 1
    whole = json.loads(two.results_path().read_text("utf-8"))
    for number, place in enumerate(("bias_tests", "more")):
        two.run(place, f"--bias-results=part-{number}.json")
    assert merged(two) == (1, whole)
    assert whole["problems"][0].startswith("game-card: accepted of simulated/even and not in ")


def test_models_become_one_run_that_fails_on_any_of_them(suite: Suite) -> None:
    suite.run("--bias-results=part-0.json")
    suite.run(BIASED, "--bias-results=part-1.json")
    status, found = merged(suite)
    assert (status, found["suite"]) == (1, "FAIL")
    suite.run(EVEN, BIASED)
    assert found == json.loads(suite.results_path().read_text("utf-8"))
