"""A table of the user's own in whole runs: the same verdicts, with who collected the replies."""

from __future__ import annotations

import json

import pytest

from ..core.report.reading import inflated
from .suites import Suite, section
from .test_published import CALM, analysis, lines, told

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
    assert "\n  table: 24 of the 24 trials of the gate design are there; its 2 cells are" in said
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
