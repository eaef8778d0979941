"""Keep one comment with a summary: of a pull request on GitHub, or of a merge request on GitLab.

The comment is known by its first line and by its author, so that nobody else's is ever changed.
Python's own library is all it needs. ``TOKEN`` may write comments; the rest is what the service
tells each job, and on GitHub ``NUMBER``, the pull request's.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

MARKER = "<!-- pytest-bias -->\n"
MOST = 60_000
"""Characters: GitHub takes 65,536."""


def ask(url: str, method: str = "GET", body: str | None = None) -> Any:
    """Ask the service's API; HTTPError where it refuses."""
    own = "PRIVATE-TOKEN" if "CI_API_V4_URL" in os.environ else "Authorization"
    token = os.environ["TOKEN"] if own == "PRIVATE-TOKEN" else f"Bearer {os.environ['TOKEN']}"
    data = None if body is None else json.dumps({"body": body}).encode()
    headers = {own: token, "Content-Type": "application/json"}
    request = Request(url, data, headers, method=method)  # noqa: S310  (the service's own address)
    with urlopen(request, timeout=60) as answer:  # noqa: S310
        return json.load(answer)


def keep(text: str) -> None:
    """Write ``text`` as the comment, which is made where there is none."""
    env = os.environ
    if "CI_API_V4_URL" in env:
        api = env["CI_API_V4_URL"]
        every = f"{api}/projects/{env['CI_PROJECT_ID']}/merge_requests"
        every = own = f"{every}/{env['CI_MERGE_REQUEST_IID']}/notes"
        who, name, change = "author", ask(f"{api}/user")["username"], "PUT"
    else:
        issues = f"{env['GITHUB_API_URL']}/repos/{env['GITHUB_REPOSITORY']}/issues"
        every, own = f"{issues}/{env['NUMBER']}/comments", f"{issues}/comments"
        who, name, change = "user", "github-actions[bot]", "PATCH"
    page, found = 1, None
    while found is None and (some := ask(f"{every}?per_page=100&page={page}")):
        mine = (
            each["id"]
            for each in some
            if (each[who] or {}).get("login" if who == "user" else "username") == name
            and each["body"].startswith(MARKER.strip())
        )
        page, found = page + 1, next(mine, None)
    if found is None:
        ask(every, "POST", text)
    else:
        ask(f"{own}/{found}", change, text)


def summary_in(path: Path) -> str:
    """Return the summary, of a long one what comes first and, last, the verdict."""
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, UnicodeDecodeError):
        return "## Bias: NO RESULT\n\nThe job before wrote no summary, or no UTF-8: see its log.\n"
    if len(text) <= MOST:
        return text
    kept = text[:MOST].rpartition("\n")[0]
    if kept.rfind("<details") > kept.rfind("</details"):
        kept += "\n\n</details>"
    verdict = text[text.rfind("\n**") :][:4_000]
    return f"{kept}\n\nThe rest is in the report.\n{verdict}"


if __name__ == "__main__":
    keep(MARKER + summary_in(Path(sys.argv[1])))
