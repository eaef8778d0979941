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
OTHERS = [{"id": n, "who": "ann", "body": "<!-- pytest-bias -->\nmine"} for n in range(100)]


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
                {"id": each["id"], "body": each["body"], who: {name: each["who"]}}
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
        for text in ("## Bias: PASS ±", "## Bias: FAIL", "x" * 70_000):
            summary.write_text(text, encoding="utf-8")
            command = [sys.executable, str(SCRIPT), str(summary)]
            subprocess.run(command, env={**where, "TOKEN": "sesame"}, check=True)  # noqa: S603
            *others, own = forge.notes
            assert others == OTHERS
            assert own["body"].startswith(f"<!-- pytest-bias -->\n{text[:60_000]}")
            assert len(own["body"]) < 65_536
    start = "/projects/5/merge_requests/7/notes" if gitlab else "/repos/a/b/issues/7/comments"
    assert {path.partition("?")[0] for path in asked if "page=" in path} == {start}
