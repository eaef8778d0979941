"""What a run tells the CI service it runs in, in comment and log, where nothing is obeyed."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from ..helpers import Asked, answering, saying
from .suites import Suite, section
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


def test_the_summary_of_the_job_can_be_turned_off(suite: Suite, github: Path) -> None:
    assert suite.run(BIASED, "--bias-summary=off").ret == 1
    assert not github.exists()


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


SCRIPT = Path(__file__).parents[3] / "docs/ci/bias-comment/comment.py"
OTHERS = [
    {"id": n, "who": "ann" if n else None, "body": "<!-- pytest-bias -->\nmine"}
    for n in range(100)
]
FOLD, VERDICT = "<details><summary>Let through</summary>\n", "\n**FAIL: 9 hypotheses**\n"
ROWS = "| row |\n" * 9_000
LONG = f"## Bias: FAIL\n{FOLD}\n{ROWS}\n</details>\n{VERDICT}"
BEGUN = LONG[: LONG.rindex("\n", 0, 60_000)]
CUT = f"{BEGUN}\n\n</details>\n\nThe rest is in the report.\n{VERDICT}"
MISSING = "## Bias: NO VERDICT\n\nThe job before wrote no summary, or no UTF-8: see its log.\n"


class Forge:
    """A service's comments, two pages of them; someone else's begin with the same line."""

    def __init__(self, *, gitlab: bool) -> None:
        self.notes: list[dict[str, Any]] = list(OTHERS)
        self.gitlab = gitlab
        self.own = "bias-bot" if gitlab else "github-actions[bot]"

    def answer(self, asked: Asked) -> None:
        """Give a page of comments, or write one as asked."""
        token = asked.headers["PRIVATE-TOKEN" if self.gitlab else "Authorization"]
        assert token == ("sesame" if self.gitlab else "Bearer sesame")
        told: Any = {"username": self.own}
        if asked.command != "GET":
            body = json.loads(asked.body)["body"]
            if asked.command == "POST":
                self.notes.append({"id": len(self.notes), "who": self.own, "body": body})
            else:
                assert asked.command == ("PUT" if self.gitlab else "PATCH")
                self.notes[int(asked.path.rpartition("/")[2])]["body"] = body
        elif not asked.path.endswith("/user"):
            page = int(asked.path.rpartition("page=")[2]) - 1
            who, name = ("author", "username") if self.gitlab else ("user", "login")
            told = [
                {"id": each["id"], "body": each["body"], who: each["who"] and {name: each["who"]}}
                for each in self.notes[100 * page : 100 * page + 100]
            ]
        data = json.dumps(told).encode()
        asked.send_response(200)
        asked.send_header("Content-Length", str(len(data)))
        asked.end_headers()
        asked.wfile.write(data)


@pytest.mark.parametrize("gitlab", [False, True], ids=["github", "gitlab"])
def test_there_is_one_comment_however_often_it_runs(tmp_path: Path, *, gitlab: bool) -> None:
    forge, summary = Forge(gitlab=gitlab), tmp_path / "bias-summary.md"
    with answering(forge.answer) as (url, asked):
        where = {"GITHUB_API_URL": url, "GITHUB_REPOSITORY": "a/b", "NUMBER": "7"}
        if gitlab:
            where = {"CI_API_V4_URL": url, "CI_PROJECT_ID": "5", "CI_MERGE_REQUEST_IID": "7"}
        command = [sys.executable, str(SCRIPT), str(summary)]
        for text in (None, "## Bias: PASS ±", LONG, None):
            if text is not None:
                summary.write_text(text, encoding="utf-8")
            elif summary.exists():
                summary.write_text("## Bias: PASS ±", encoding="utf-16")
            subprocess.run(command, env={**where, "TOKEN": "sesame"}, check=True)  # noqa: S603
            *others, own = forge.notes
            assert others == OTHERS
            shown = {None: MISSING, LONG: CUT}.get(text, text)
            assert own["body"] == f"<!-- pytest-bias -->\n{shown}"
            assert len(own["body"]) < 65_536
    start = "/projects/5/merge_requests/7/notes" if gitlab else "/repos/a/b/issues/7/comments"
    assert {path.partition("?")[0] for path in asked if "page=" in path} == {start}


HOSTILE = (
    "\x1b[2K\x07\x9b31m\u202e##[error]x\r\n::error::pwned\r\n::set-output name=a::b\n\rPASS: 89"
)
SHOWN = r"\x1b[2K\x07\x9b31m\u202e\x23#[error]x"


def check_the_log(result: pytest.RunResult) -> str:
    """Nothing in it is a command, to a terminal or to the CI service, but what is meant as one."""
    said = result.stdout.str() + result.stderr.str()
    for line in said.split("\n"):
        assert line.isprintable()
        assert not line.startswith("PASS: 89")
        assert "##[" not in line
        if line.lstrip().startswith("::"):
            assert line.startswith(("::error title=NO VERDICT::", "::error file=", "::warning "))
            assert "pwned" not in line.partition("::")[0]
    return said


@pytest.mark.parametrize("options", [(), ("-q", "-rA", "--tb=long"), ("-o", "log_cli=true")])
def test_what_an_endpoint_says_is_shown_and_not_obeyed(
    suite: Suite, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("THE_KEY", "none")
    body = json.dumps({"error": {"message": HOSTILE, "code": HOSTILE}}).encode()
    with answering(saying(400, {}, body)) as (url, asked):
        roster = f'[endpoints.mine]\nwire = "openai-chat"\nbase_url = "{url}/v1"\n'
        (suite.path / "bias_models.toml").write_text(f'{roster}api_key_env = "THE_KEY"\n', "utf-8")
        named = ("--bias-model=mine/any", "--bias-record=missing", "--bias-record-in-ci")
        result = suite.run(*named, *options)
    assert asked
    assert result.ret == 1
    said = check_the_log(result)
    assert f"HTTP 400: {SHOWN} ::error::pwned ::set-output" in said


@pytest.mark.parametrize(
    ("model", "option"),
    [
        ("mine/mo\x1bdel\r::error::x", "--bias-record=none"),
        ("mine/a\n::error::pwned", "--bias-plan"),
        *((HOSTILE, option) for option in ("--bias-record=none", "--bias-plan")),
    ],
)
def test_a_models_name_is_shown_and_not_obeyed(
    suite: Suite, monkeypatch: pytest.MonkeyPatch, model: str, option: str
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    check_the_log(suite.run(f"--bias-model={model}", option))


def test_a_unit_a_reason_and_an_owner_are_shown_and_not_obeyed(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    experiment = "bias_tests/coin/experiment.py"
    suite.change(experiment, 'Measure("number"', f'Measure("number", unit={HOSTILE!r}')
    given = ("--bias-model=simulated/biased", f"--bias-accept-owner=ann {HOSTILE}")
    accepted = suite.run(
        *given,
        "--bias-accept",
        f"--bias-accept-reason=x {HOSTILE}",
        "--bias-accept-until=2999-01-01",
    )
    check_the_log(accepted)
    for arguments in ((), ("-rA",), ("-rx", "--tb=long"), ("--bias-baselines=off", "-rA")):
        result = suite.run("--bias-model=simulated/biased", *arguments)
        check_the_log(result)
        assert [line for line in section(result) if SHOWN in line]
