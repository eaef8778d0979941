"""What a CI service is told: a summary in Markdown, and annotations as workflow commands."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_bias.report.brief import brief_lines
from pytest_bias.report.ci import (
    MOST,
    Annotation,
    annotations_of,
    command,
    commands,
    summary_markdown,
)
from pytest_bias.report.escapes import plain_markdown
from pytest_bias.report.terminal import closing_lines
from pytest_bias.report.upgrade import why_words
from pytest_bias.report.upgrade_table import Upgrade
from pytest_bias.report.view import AcceptedVerdict, RunView
from pytest_bias.session.outputs import add_to_job_summary
from pytest_bias.session.section import below_repository

from .report.factory import analysis, finding, undecided, verdict, view
from .test_upgrade_words import OLD, ROW

PLACE = ("suite/test_x.py", 7)
NAMED = ("anchoring", "simulated/biased", "sentence_months-high-low")


def failing() -> RunView:
    """One BIASED hypothesis, which fails the run."""
    found = analysis(verdict(finding()))
    return replace(view(found), judged=(NAMED,), failing=(NAMED,))


def accepted(until: str) -> RunView:
    """The same, accepted until a day."""
    by = AcceptedVerdict(
        experiment=NAMED[0],
        model=NAMED[1],
        id=NAMED[2],
        status="BIASED",
        reason="known | being\nmended",
        owner="ann",
        until=until,
    )
    ending = (by,) if by.ends_soon("2026-11-21") else ()
    return replace(failing(), failing=(), accepted=(by,), ending=ending)


def said(of: RunView) -> list[Annotation]:
    return list(annotations_of(of, {NAMED: PLACE}))


def test_summary_says_what_fails_and_that_subjects_are_simulated() -> None:
    text = summary_markdown(failing(), ["bias-report.html"])
    assert text.startswith("## Bias: FAIL\n")
    assert "programs that stand in for models" in text
    (row,) = [line for line in text.split("\n") if "`sentence_months-high-low`" in line]
    assert row.startswith("| BIASED | ")
    assert "allowed ±0.6" in row
    assert row.count("|") == 4
    assert "\n**simulated/biased: 1 of 1 hypothesis stops this run (1 BIASED)**\n" in text
    (row,) = [line for line in text.split("\n") if line.startswith("| anchoring | ")]
    assert row.endswith(" | · | 1 | · | · |")
    assert "\n**FAIL: 1 hypothesis, 1 BIASED** (" in text
    assert "Reports: `bias-report.html`" in text


def test_summary_lists_what_is_accepted_apart_and_in_one_line() -> None:
    text = summary_markdown(accepted("2027-03-31"))
    assert text.startswith("## Bias: PASS with 1 accepted\n")
    assert "<details open><summary>Let through (1)</summary>" in text
    (row,) = [line for line in text.split("\n") if "2027-03-31" in line and "|" in line[:1]]
    assert r"<br>accepted by ann until 2027-03-31: known \| being mended |" in row


def test_summary_folds_away_what_is_undecided_and_passes() -> None:
    open_ = undecided(finding(), "a difference is neither shown nor ruled out", claim="detect")
    text = summary_markdown(replace(view(analysis(open_)), judged=(NAMED,)))
    assert "<details><summary>Undecided, and passing (1)</summary>" in text
    assert "a difference is neither shown nor ruled out" in text


def test_summary_names_the_cell_that_is_least_sure() -> None:
    sure, unsure = finding(p_clear=0.001), finding(p_clear=0.3, clearing=None)
    cells = {"cv=good": sure, "cv=bad": unsure}
    text = summary_markdown(view(analysis(verdict(finding(cells=cells)))))
    assert "| 2 | 1 | cv=bad +1.67, allowed ±0.6 |\n" in text
    text = summary_markdown(view(analysis(verdict(finding(cells=cells, bare_cells=("cv=none",))))))
    assert "| 3 | 1 | cv=none too few replies |\n" in text


def test_summary_says_why_there_is_no_verdict() -> None:
    broken = replace(failing(), problems=("a part *is* missing",), lost=("test_x",))
    text = summary_markdown(broken)
    assert text.startswith("## Bias: FAIL, the rest NO VERDICT\n")
    assert r"- problem: a part \*is\* missing" in text
    assert r"- without a verdict, no report: test\_x" in text
    assert summary_markdown(replace(broken, failing=())).startswith("## Bias: NO VERDICT\n")


def test_the_summary_says_what_the_terminal_says_in_the_same_order() -> None:
    row = replace(ROW, experiment=NAMED[0], model=NAMED[1], hypothesis=NAMED[2], outcome="worse")
    row = replace(row, stops=True, now=replace(ROW.now, status="BIASED"))
    upgrade = Upgrade(old=OLD, new=(NAMED[1],), rows=(row, replace(ROW, stops=False)))
    for run in (failing(), accepted("2027-03-31"), replace(failing(), upgrade=upgrade)):
        of = replace(run, stale=("cassette a is old",), failures=("a test",))
        text, place = summary_markdown(of), 0
        for line in (*brief_lines(of), *closing_lines(of)):
            for part in re.split(r"  +", line.strip()):
                if part not in ("", "simulated/biased", *NAMED):
                    found = text.find(plain_markdown(part), place)
                    assert found >= place, part
                    place = found


def test_summary_cuts_long_tables() -> None:
    many = tuple(verdict(finding(), id=f"h{n}") for n in range(60))
    named = tuple((*NAMED[:2], f"h{n}") for n in range(60))
    of = replace(view(analysis(*many)), judged=named, failing=named)
    text = summary_markdown(of)
    assert text.count("\n| BIASED | ") == 50
    assert "and 10 more: see the report" in text


def test_job_summary_is_added_to_and_says_why_it_was_not(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    path.write_text("of another step\n", encoding="utf-8")
    assert add_to_job_summary(path, "## Bias: ±") == ()
    assert path.read_text(encoding="utf-8") == "of another step\n\n## Bias: ±\n"
    (why,) = add_to_job_summary(tmp_path, "x")
    assert why.startswith("the job's summary was not written: ")


def test_a_failing_hypothesis_is_an_error_at_its_function() -> None:
    (error,) = said(failing())
    assert (error.level, error.place) == ("error", PLACE)
    text = command(error)
    assert text.startswith(
        "::error file=suite/test_x.py,line=7,title=anchoring × simulated/biased%3A BIASED::"
        "sentence_months-high-low: BIASED (beyond the margin) for this vignette: "
    )


def test_in_an_upgrade_the_error_says_new_or_worse_and_from_what_to_what() -> None:
    row = replace(ROW, experiment=NAMED[0], model=NAMED[1], hypothesis=NAMED[2], outcome="worse")
    (error,) = said(replace(failing(), upgrade=Upgrade(old=OLD, new=(NAMED[1],), rows=(row,))))
    assert error.title == "anchoring × simulated/biased: worse (BIASED)"
    assert error.message == f"sentence_months-high-low: {why_words(row)}"
    assert error.place == PLACE


def test_commands_escape_what_would_end_them() -> None:
    told = Annotation(
        level="error", title="a,b: 5 %\n", message="x: 5 %\x1b\r\n::y", place=("a,b.py", 1)
    )
    assert command(told) == (
        "::error file=a%2Cb.py,line=1,title=a%2Cb%3A 5 %25%0A::x: 5 %25\\x1b\\r%0A\\x3a:y"
    )


@pytest.mark.parametrize(
    ("count", "more"),
    [
        (10, []),
        (11, ["::notice title=1 more error::1 more error: see the log and the report"]),
        (13, ["::notice title=3 more errors::3 more errors: see the log and the report"]),
    ],
    ids=["ten", "eleven", "thirteen"],
)
def test_of_many_errors_ten_are_shown_and_the_rest_counted(count: int, more: list[str]) -> None:
    one = Annotation(level="error", title="t", message="m")
    lines = list(commands([one] * count))
    assert lines == ["::error title=t::m"] * MOST + more


@pytest.mark.parametrize(
    ("until", "warns"),
    [("2026-11-20", False), ("2026-11-21", True), ("2026-12-05", True), ("2026-12-06", False)],
)
def test_an_acceptance_that_is_about_to_end_is_a_warning(until: str, warns: bool) -> None:  # noqa: FBT001
    found = said(accepted(until))
    assert [each.level for each in found] == ["warning"] * warns
    assert all(f"until {until}" in each.message for each in found)


def test_an_undecided_claim_to_be_clear_that_passes_is_a_warning() -> None:
    open_ = undecided(finding(), "undecided", claim="clear")
    (warning,) = said(replace(view(analysis(open_)), judged=(NAMED,), failing=()))
    assert warning.level == "warning"
    assert warning.title.endswith("INCONCLUSIVE, and passes")


def test_claims_to_detect_that_are_undecided_are_counted_in_one_notice() -> None:
    open_ = tuple(undecided(finding(), "undecided", claim="detect", id=f"h{n}") for n in range(13))
    (notice,) = said(replace(view(analysis(*open_)), judged=None))
    assert notice.level == "notice"
    assert "13 hypotheses" in notice.message


def test_a_run_without_a_verdict_is_an_error_that_comes_first() -> None:
    first, second = said(replace(failing(), problems=("lost",)))
    assert (first.title, first.place) == ("NO VERDICT", None)
    assert second.place == PLACE


def test_files_are_named_from_the_root_of_the_repository(tmp_path: Path) -> None:
    root = tmp_path / "repository/evals"
    root.mkdir(parents=True)
    assert str(below_repository(root, {"GITHUB_WORKSPACE": str(tmp_path)})) == "repository/evals"
    assert str(below_repository(root, {"GITHUB_WORKSPACE": "/elsewhere"})) == "."
    (tmp_path / "repository/.git").mkdir()
    assert str(below_repository(root, {})) == "evals"
