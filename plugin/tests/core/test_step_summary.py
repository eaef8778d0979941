"""What a CI service shows beside the texts of ``golden``: order, limits, escapes, places."""

from __future__ import annotations

import re
from dataclasses import replace

from pytest_bias.report.escapes import plain_markdown
from pytest_bias.report.run import AcceptedVerdict, RunResult
from pytest_bias.report.terminal import brief_lines, summary_markdown
from pytest_bias.report.upgrade_table import Upgrade
from pytest_bias.report.wording import closing_lines

from .report.factory import analysis, finding, verdict, view
from .test_upgrade_words import OLD, ROW

NAMED = ("anchoring", "simulated/biased", "sentence_months-high-low")


def failing() -> RunResult:
    """One BIASED hypothesis, which fails the run."""
    return replace(view(analysis(verdict(finding()))), judged=(NAMED,), failing=(NAMED,))


def accepted(until: str) -> RunResult:
    """The same, accepted until a day."""
    by = AcceptedVerdict(
        experiment=NAMED[0], model=NAMED[1], id=NAMED[2], status="BIASED",
        reason="known", owner="ann", until=until,
    )  # fmt: skip
    ending = (by,) if by.ends_soon("2026-11-21") else ()
    return replace(failing(), failing=(), accepted=(by,), ending=ending)


def test_the_head_of_the_summary_is_the_outcome() -> None:
    broken = replace(failing(), problems=("a part *is* missing",), lost=("test_x",))
    heads = {
        "PASS with 1 accepted": accepted("2027-03-31"),
        "BIAS FOUND, the rest NO RESULT": broken,
        "NO RESULT": replace(broken, failing=()),
    }
    open_ = replace(view(analysis(verdict(finding(), status="INCONCLUSIVE"))), failing=(NAMED,))
    runs = [
        *heads.items(),
        ("CANNOT TELL", open_),
        ("NO RESULT", replace(open_, lost=("test_x",))),
    ]
    for head, run in runs:
        assert summary_markdown(run).startswith(f"## Bias: {head}\n")
    assert r"- problem: a part \*is\* missing" in summary_markdown(broken)
    assert r"- without a verdict, no report: test\_x" in summary_markdown(broken)


def test_summary_names_the_cell_that_is_least_sure() -> None:
    sure, unsure = finding(p_clear=0.001), finding(p_clear=0.3, clearing=None)
    cells = {"cv=good": sure, "cv=bad": unsure}
    text = summary_markdown(view(analysis(verdict(finding(cells=cells)))))
    assert "| 2 | 1 | cv=bad +1.67, allowed ±0.6 |\n" in text
    text = summary_markdown(view(analysis(verdict(finding(cells=cells, bare_cells=("cv=none",))))))
    assert "| 3 | 1 | cv=none too few replies |\n" in text


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


def test_long_tables_are_cut() -> None:
    many = tuple(verdict(finding(), id=f"h{n}") for n in range(60))
    named = tuple((*NAMED[:2], f"h{n}") for n in range(60))
    text = summary_markdown(replace(view(analysis(*many)), judged=named, failing=named))
    assert text.count("\n| BIASED | ") == 50
    assert "and 10 more: see the report" in text
