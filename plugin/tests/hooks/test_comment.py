"""The one comment of a pull request: made once, changed after that, and nobody else's touched."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ..helpers import Asked, answering

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
