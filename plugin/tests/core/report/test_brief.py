"""The section in brief: short, what stops first, and why a row of an upgrade stops it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from pytest_bias.baselines.table import Observed, UpgradeRow
from pytest_bias.contrasts.findings import Compared
from pytest_bias.report.brief import brief_lines
from pytest_bias.report.terminal import section_lines
from pytest_bias.report.upgrade import why_words
from pytest_bias.report.view import RunView
from pytest_bias.verdicts.verdict import DOUBTED

from ...helpers import there
from ..test_step_summary import NAMED, failing
from ..test_upgrade_words import ROW, SIDE
from .factory import cell, control

NOW = replace(SIDE, status="BIASED", words="BIASED", shown="+1.80, 95 % [+1.50, +2.10]")
BEFORE = replace(NOW, shown="+0.90, 95 % [+0.70, +1.10]")
HELD = Compared(
    how="independent", no_worse=False, worse=True, words="", bound=1.2, margin=1.0, units=0
)


@pytest.mark.parametrize(
    ("of", "verbosity", "lines"),
    [(failing(), -1, 7), (failing(), 0, 10), (replace(failing(), lost=("test_x",)), 0, 10)],
    ids=["quiet", "plain", "cut short"],
)
def test_what_stops_stands_first_also_where_there_is_no_verdict(
    of: RunView, verbosity: int, lines: int
) -> None:
    found = list(brief_lines(of, verbosity))
    assert found[0] == "FAIL  simulated/biased: 1 of 1 hypothesis stops this run (1 BIASED)"
    assert found[2] == "  anchoring"
    estimate = "+1.67, 95 % [+0.61, +2.72] months, allowed ±0.6"
    assert found[3] == f"    BIASED  {NAMED[2]}  {estimate}"
    assert len(found) == lines


def told(**changed: Any) -> list[str]:
    """The section of a run that fails, something of its analysis changed."""
    (analysis,) = failing().analyses
    return list(brief_lines(replace(failing(), analyses=(replace(analysis, **changed),))))


def test_a_condition_without_a_valid_reply_is_told_with_its_reasons() -> None:
    lost = cell("high", ok=0, missing={"refused": 8}, planned=8)
    lines = told(counts=(lost, cell("low", missing={"empty": 2})))
    said = "a condition has no valid trial: 10 missing: 8 refused, 2 empty"
    assert any(line.endswith(said) for line in lines)
    assert not any("no valid trial" in line for line in told(counts=()))


def test_why_an_interval_is_not_to_be_trusted_stands_beneath_it() -> None:
    (one,) = failing().verdicts
    note = "3 % of such replies could, by any amount, not be among these"
    doubted = replace(
        one,
        status="INCONCLUSIVE",
        reason=f"{DOUBTED}: see its notes",
        finding=replace(there(one.finding), notes=(note,)),
    )
    assert f"      {note}" in told(verdicts=(doubted,))
    (analysis,) = failing().analyses
    of = replace(failing(), analyses=(replace(analysis, verdicts=(doubted,)),))
    assert note in [line.strip() for line in section_lines(of)]


def test_a_control_that_is_not_seen_is_apart_from_what_that_means() -> None:
    few = "a group has 3 unit(s), at least 5 are needed"
    unseen = replace(control(), seen=False, meaning="it hears nothing", reason=few)
    (said,) = [line for line in told(controls=(unseen,)) if "control NOT SEEN: " in line]
    assert said.endswith(f" replies: {few}; it hears nothing")


def row(outcome: Any, before: Observed, now: Observed, **changed: Any) -> UpgradeRow:
    """A row of an upgrade whose comparison, and itself, are changed so."""
    held = {name: changed.pop(name) for name in ("bound", "margin", "no_worse") if name in changed}
    compared = replace(HELD, **held)
    return replace(ROW, outcome=outcome, before=before, now=now, compared=compared, **changed)


OPEN = replace(SIDE, status="INCONCLUSIVE", words="INCONCLUSIVE")
WORSE_CELL = "but in cv=a1 it is shown to be worse"
WHY = {
    "worse": (
        row("worse", BEFORE, NOW, stops=True),
        "+0.90 → +1.80  grew by up to 1.20, allowed 1",
    ),
    "large": (
        row("worse", BEFORE, NOW, bound=133_241.07, margin=3000.0),
        "+0.90 → +1.80  grew by up to 133241.07, allowed 3000 (does not stop it)",
    ),
    "a ratio": (
        row("known", BEFORE, NOW, bound=math.log(1.2499), margin=math.log(1.25), scale="ratio"),
        "+0.90 → +1.80  grew, if at all, by up to a factor of 1.2499, allowed 1.25",
    ),
    "clear by itself": (
        row("as before", SIDE, SIDE, bound=0.1014, margin=0.1, said=""),
        "+0.0 → +0.0  CLEAR before and now; may be larger by up to 0.101, allowed 0.1",
    ),
    "clear now": (
        row("improved", BEFORE, SIDE),
        "BIASED → CLEAR  +0.90 → +0.0  improved: it was BIASED",
    ),
    "new": (
        row("new", SIDE, NOW, stops=True),
        "CLEAR → BIASED  +1.80, 95 % [+1.50, +2.10], allowed ±1",
    ),
    "no longer clear": (
        row("new", SIDE, OPEN, bound=0.4, no_worse=True, stops=True),
        "CLEAR → INCONCLUSIVE  +0.0, allowed ±1, no longer shown to be clear",
    ),
    "a cell is worse": (
        row("worse", BEFORE, NOW, bound=0.4, no_worse=True, said=WORSE_CELL),
        f"+0.90 → +1.80  {WORSE_CELL} (does not stop it)",
    ),
}


@pytest.mark.parametrize(("of", "said"), WHY.values(), ids=WHY)
def test_a_row_says_why_it_stops(of: UpgradeRow, said: str) -> None:
    assert why_words(of) == said
