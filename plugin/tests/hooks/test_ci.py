"""What a run tells the CI service it runs in, in comment and log, where nothing is obeyed."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ..helpers import Asked, answering, saying
from .suites import ACCEPT, Scenario, Suite, scenarios, section
from .test_fail_closed import BIASED

SUMMARY = "job-summary.md"


@pytest.fixture
def github(suite: Suite) -> Path:
    """The suite in a job of GitHub Actions; the path of the job's summary."""
    path = suite.path / SUMMARY
    suite.monkeypatch.setenv("GITHUB_ACTIONS", "true")
    suite.monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    suite.monkeypatch.setenv("GITHUB_WORKSPACE", str(suite.path.parent))
    return path


def outside(suite: Suite) -> None:
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        suite.monkeypatch.delenv(name, raising=False)


def folder(suite: Suite) -> None:
    (suite.path / SUMMARY).mkdir()


NOT_WRITTEN = "the job's summary was not written: "
SUMMARIES = {
    "outside": Scenario(outside, BIASED, 1),
    "off": Scenario(None, f"{BIASED} --bias-summary=off", 1),
    "a folder": Scenario(folder, "", 0, "", NOT_WRITTEN),
    "a folder that is asked for": Scenario(
        folder, f"--bias-summary={SUMMARY}", 1, "", f"problem: {NOT_WRITTEN}", "NO RESULT:"
    ),
}


@scenarios(SUMMARIES)
def test_where_no_summary_is_written(suite: Suite, github: Path, scenario: Scenario) -> None:
    scenario.check(suite)
    assert github.is_file() == scenario.options.endswith("bias_tests")


@pytest.mark.parametrize("workers", [None, 1])
def test_a_summary_is_written_where_it_is_asked_for_and_added_to_the_jobs(
    suite: Suite, github: Path, workers: int | None
) -> None:
    github.write_text("of another step\n", encoding="utf-8")
    written = "written: deep/summary.md"
    suite.check(f"{BIASED} --bias-summary=deep/summary.md", 1, "", written, workers=workers)
    text = (suite.path / "deep/summary.md").read_text("utf-8")
    assert text.startswith("## Bias: BIAS FOUND\n")
    assert "The cue is" not in text
    assert github.read_text("utf-8") == f"of another step\n\n{text}\n"


SCRIPT = Path(__file__).parents[3] / "docs/ci/bias-comment/comment.py"
OTHERS = [
    {"id": n, "who": "ann" if n else None, "body": "<!-- pytest-bias -->\nmine"}
    for n in range(100)
]
FOLD, VERDICT = "<details><summary>Let through</summary>\n", "\n**BIAS FOUND: 9 hypotheses**\n"
ROWS = "| row |\n" * 9_000
LONG = f"## Bias: BIAS FOUND\n{FOLD}\n{ROWS}\n</details>\n{VERDICT}"
BEGUN = LONG[: LONG.rindex("\n", 0, 60_000)]
CUT = f"{BEGUN}\n\n</details>\n\nThe rest is in the report.\n{VERDICT}"
MISSING = "## Bias: NO RESULT\n\nThe job before wrote no summary, or no UTF-8: see its log.\n"


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
    """Nothing in it is a command, to a terminal or to the CI service."""
    said = result.stdout.str() + result.stderr.str()
    for line in said.split("\n"):
        assert line.isprintable()
        assert not line.startswith("PASS: 89")
        assert "##[" not in line
        assert not line.lstrip().startswith("::")
    return said


@pytest.mark.usefixtures("github")
@pytest.mark.parametrize("options", ["", "-q -rA --tb=long", "-o log_cli=true"])
def test_what_an_endpoint_says_is_shown_and_not_obeyed(suite: Suite, options: str) -> None:
    suite.monkeypatch.setenv("THE_KEY", "none")
    body = json.dumps({"error": {"message": HOSTILE, "code": HOSTILE}}).encode()
    with answering(saying(400, {}, body)) as (url, asked):
        roster = f'[endpoints.mine]\nwire = "openai-chat"\nbase_url = "{url}/v1"\n'
        suite.file("bias_models.toml", f'{roster}api_key_env = "THE_KEY"\n')
        named = "--bias-model=mine/any --bias-record=missing --bias-record-in-ci"
        said = check_the_log(suite.check(f"{named} {options}", 1))
    assert asked
    assert f"HTTP 400: {SHOWN} ::error::pwned ::set-output" in said


@pytest.mark.usefixtures("github")
@pytest.mark.parametrize("option", ["--bias-record=none", "--bias-plan"])
@pytest.mark.parametrize("model", ["mine/mo\x1bdel\r::error::x", "mine/a\n::error::p", HOSTILE])
def test_a_models_name_is_shown_and_not_obeyed(suite: Suite, model: str, option: str) -> None:
    check_the_log(suite.run(f"--bias-model={model}", option))


@pytest.mark.usefixtures("github")
def test_a_unit_a_reason_and_an_owner_are_shown_and_not_obeyed(suite: Suite) -> None:
    experiment = "bias_tests/coin/experiment.py"
    suite.change(experiment, 'Measure("number"', f'Measure("number", unit={HOSTILE!r}')
    hostile = (f"--bias-accept-owner=ann {HOSTILE}", f"--bias-accept-reason=x {HOSTILE}")
    check_the_log(suite.run(BIASED, *shlex.split(ACCEPT), *hostile))
    for arguments in ("", "-rA", "-rx --tb=long", "--bias-baselines=off -rA"):
        result = suite.run(BIASED, *arguments.split())
        check_the_log(result)
        assert [line for line in section(result) if SHOWN in line]
