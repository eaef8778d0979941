"""Outputs of an earlier run: none is left that would be taken for this one's."""

from __future__ import annotations

import pytest

from .suites import Suite

ENDS = ("os.execv('/bin/true', ['true'])", "__import__('posix')._exit(0)")


@pytest.mark.parametrize("ends", ENDS, ids=["exec", "exit"])
@pytest.mark.parametrize("workers", [None, 1])
def test_a_process_that_ends_without_python_leaves_no_old_results(
    suite: Suite, ends: str, workers: int | None
) -> None:
    page = "--bias-report=page.html"
    suite.check(page, 0)
    suite.conftest(f"import os\n\n\ndef pytest_sessionfinish():\n    {ends}\n")
    suite.run(page, workers=workers, process=True)
    assert not suite.results_path().exists()
    assert not (suite.path / "page.html").exists()
    (suite.path / "conftest.py").unlink()
    whole = suite.results_path()
    suite.check("-k low", 0)  # a part gives the earlier results their name again
    assert whole.exists()
    suite.check(page, 0)
    assert not list(suite.path.glob(".*.earlier"))


def test_what_a_part_writes_nothing_to_keeps_its_name(suite: Suite) -> None:
    suite.check("", 0)
    whole = suite.results_path().read_bytes()
    suite.check("-k low", 0, "1 passed")
    assert suite.results_path().read_bytes() == whole
    suite.check("--collect-only", 0)
    assert suite.results_path().read_bytes() == whole
    assert not list(suite.path.glob(".*.earlier"))


def test_a_name_that_was_typed_is_kept_by_a_part(suite: Suite) -> None:
    typed = "--bias-results=r.json --bias-report=p.html --bias-summary=s.md"
    suite.check(f"-k test_number {typed}", 0)
    names = {path.name for path in suite.path.iterdir()}
    assert {"r.json", "p.html", "s.md"} <= names
    assert not [name for name in names if ".partial" in name]
    for name in ("r.json", "p.html", "s.md"):
        assert "partial" in (suite.path / name).read_text("utf-8").lower()
