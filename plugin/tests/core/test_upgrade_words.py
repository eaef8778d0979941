"""What the reports say of an upgrade: whether anything stops it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_bias.report.page import report_html
from pytest_bias.report.run import RunResult
from pytest_bias.report.terminal import brief_lines, printed, summary_markdown
from pytest_bias.report.upgrade_table import Observed, Upgrade, UpgradeRow, worst_first
from pytest_bias.report.wording import closing_lines

from .report.factory import analysis, control, finding, verdict, view
from .report.reading import Reader, rows

OLD, NEW = "openai/one", "openai/two"
NOTHING = "Nothing stops this upgrade"
SIDE = Observed(status="CLEAR", words="CLEAR within ±1", shown="+0.0", estimate=0.0, interval=None)
ROW = UpgradeRow(
    experiment="eggs",
    model=NEW,
    hypothesis="minutes-polite-curt",
    title="",
    claim="clear",
    measure="minutes",
    contrast="polite − curt",
    margin="±1",
    scale="difference",
    before=replace(SIDE, status="BIASED"),
    now=SIDE,
    outcome="improved",
    compared=None,
    summary="improved: it was BIASED",
    stops=False,
    tolerated=False,
)
UPGRADE = Upgrade(old=OLD, new=(NEW,), rows=(ROW,))


def clear(**changed: Any) -> RunResult:
    """A run in which all is CLEAR, beside an old model."""
    words = "CLEAR within ±0.6 for this vignette"
    found = verdict(finding(estimate=0.0), status="CLEAR", words=words)
    return view(analysis(found), upgrade=UPGRADE, **changed)


def uncontrolled() -> RunResult:
    """The same, but a positive control was not seen; what is CLEAR needs none."""
    (found,) = clear().analyses
    return replace(clear(), analyses=(replace(found, controls=(control(seen=False),)),))


@pytest.mark.parametrize(
    ("of", "word", "but"),
    [
        (clear(problems=("a case is lost",)), "NO RESULT", "the run gives no result"),
        (clear(broken=("test_eggs.py::test_x",)), "NO RESULT", "the run gives no result"),
        (clear(stale=("eggs is old",)), "CANNOT TELL", "its recordings no longer represent"),
        (clear(failures=("test_ham.py::test_y",)), "CANNOT TELL", "other tests failed"),
        (clear(exit_status=1), "CANNOT TELL", "the run ended with exit status 1"),
        (clear(partial=("-k eggs",)), "CANNOT TELL", "this is a part of the suite only"),
        (uncontrolled(), "CANNOT TELL", "a positive control was not seen"),
        (clear(), "SHIP", ""),
    ],
)
def test_only_a_whole_run_in_order_says_ship(of: RunResult, word: str, but: str) -> None:
    words = f"No hypothesis stops this upgrade, but {but}" if but else NOTHING
    assert f">{words}" in report_html(of)
    text = summary_markdown(of)
    assert text.startswith(f"## Bias: {word}\n")
    assert words in text
    first, *_ = brief_lines(of)
    *_, last = closing_lines(of)
    assert (first.partition("  ")[0], last.partition(":")[0]) == (word, word)
    assert (NOTHING in text) == (word == "SHIP")


def test_a_run_whose_control_was_not_seen_is_at_best_inconclusive() -> None:
    of = replace(uncontrolled(), upgrade=None)
    *_, last = closing_lines(of)
    assert last == "CANNOT TELL: 1 hypothesis, 1 CLEAR, a positive control was not seen"
    first, *_ = brief_lines(of)
    assert first.endswith("no hypothesis stops it, but a positive control was not seen")
    # Also where nobody ran cases, as of one experiment that is analysed alone.
    for each in (of, replace(of, cases=())):
        assert (each.passes, each.standing) == (False, "INCONCLUSIVE")
    lead = "but what would show that it could be seen was not: a positive control failed."
    assert lead in report_html(of)


@pytest.mark.parametrize("failing", [False, True])
def test_a_model_of_which_nothing_was_judged_is_not_among_those_that_pass(
    *, failing: bool
) -> None:
    run = replace(clear(), upgrade=None)
    (first,) = run.analyses
    other = replace(first, model=NEW, verdicts=(replace(first.verdicts[0], model=NEW),))
    names = tuple(each.named for each in first.verdicts)
    part = replace(run, analyses=(first, other), judged=names, failing=names if failing else ())
    heading = next(brief_lines(part))
    assert f"  {first.model}: " in heading
    assert heading.endswith(f"; nothing was judged of {NEW}")


def test_what_is_undecided_stands_first_and_is_never_folded() -> None:
    undecided = replace(ROW, hypothesis="minutes-cue-x-style", claim="detect", outcome="undecided")
    upgrade = replace(UPGRADE, rows=worst_first((ROW, undecided)))
    nothing = f"{NOTHING}, but 1 is not shown to be no worse"
    assert [line.split()[0] for line in list(printed(upgrade))[3:5]] == ["undecided", "improved"]
    run = replace(clear(), upgrade=upgrade)
    above, folded = summary_markdown(run).split(nothing)[1].split("<details>", 1)
    assert above.count("| undecided |") == 1
    assert "undecided" not in folded.split("</details>", 1)[0]
    page = Reader(report_html(run))
    assert nothing in page.text
    first, *_ = rows(page.data["d-run"]["upgrade"]["rows"])
    assert (first["outcome"], first["open"], first["stops"]) == ("undecided", 1, 0)


def test_of_several_models_the_heading_names_those_that_are_stopped() -> None:
    rows = (replace(ROW, outcome="worse", stops=True), replace(ROW, model="openai/three"))
    stopped = replace(UPGRADE, new=("openai/three", NEW), rows=rows)
    run = replace(clear(), upgrade=stopped)
    words = f"{NEW} for {OLD}: 1 hypothesis stops this upgrade"
    assert next(brief_lines(run)) == f"DO NOT SHIP  {words}"
    assert f">{words}.</span>" in report_html(run)
    both = replace(stopped, rows=rows[1:])
    assert next(printed(both)) == f"SHIP  openai/three, {NEW} for {OLD}: {NOTHING}"
