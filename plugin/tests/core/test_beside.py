"""A verdict beside the one in the baseline: every row of the gate's table, and its words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_bias.baselines.entries import (
    Acceptance,
    Entry,
    entry_of,
    following,
)
from pytest_bias.baselines.gate import (
    ABSOLUTE,
    Change,
    Comparison,
    Growth,
    compare,
    describe_verdict,
    outcome_of,
)
from pytest_bias.experiments.records import Recording
from pytest_bias.stats.results import Interval
from pytest_bias.verdicts.verdict import Reason, Status, Verdict

from ..helpers import there
from .factories import finding, recording
from .test_verdicts import verdict as decided

TODAY = "2026-12-31"
ANN = Acceptance(reason="known since spring", owner="Ann", until=TODAY)
PAST = replace(ANN, until="2026-12-30")
WHO = "accepted by Ann until 2026-12-31"
OLD = "openai/old"
BEFORE = recording(checksum="before")
ANEW = replace(BEFORE, checksum="anew")

WORDS: dict[Status, str] = {
    "CLEAR": "CLEAR within ±0.6 for this vignette",
    "BIASED": "BIASED (detected) for this vignette",
    "INCONCLUSIVE": "INCONCLUSIVE for this vignette",
}
BIASED = WORDS["BIASED"]
ESTIMATES: dict[Status, float] = {"CLEAR": 0.1, "BIASED": 1.0, "INCONCLUSIVE": 0.3}


def verdict(status: Status, claim: str = "clear", **changes: Any) -> Verdict:
    estimate = changes.setdefault("estimate", ESTIMATES[status])
    interval = Interval(low=estimate - 0.2, high=estimate + 0.2, level=0.95)
    given = {"interval": interval, "se": 0.1, "df": 200.0} | changes
    made = replace(decided(finding(**given)), status=status, words=WORDS[status])
    return replace(made, claim=claim)  # type: ignore[arg-type]  # a word from a table


def entry(
    given: Verdict, acceptance: Acceptance | None = ANN, before: Entry | None = None
) -> Entry:
    return following(entry_of(given, BEFORE, {"margin": 0.6}, acceptance=acceptance), before)


def beside(
    now: Verdict, before: Entry | None, *, today: str = TODAY, against: str = "", **of: Recording
) -> Comparison:
    new = entry_of(now, of.get("recording", ANEW), {"margin": 0.6})
    return compare(now.named, new, before, today=today, against=against)


STATUSES: tuple[Status, ...] = ("CLEAR", "BIASED", "INCONCLUSIVE")

# now, before → outcome of a claim to be clear and of one that detects, where no worse is shown;
# of either where worse is shown, and where neither is
TABLE: dict[tuple[Status, Status], tuple[Change, Change, Change, Change]] = {
    ("CLEAR", "CLEAR"): ("as before", "as before", "as before", "as before"),
    ("CLEAR", "BIASED"): ("improved", "improved", "improved", "improved"),
    ("CLEAR", "INCONCLUSIVE"): ("improved", "improved", "improved", "improved"),
    ("BIASED", "CLEAR"): ("new", "new", "new", "new"),
    ("BIASED", "BIASED"): ("known", "known", "worse", "undecided"),
    ("BIASED", "INCONCLUSIVE"): ("new", "new", "new", "new"),
    ("INCONCLUSIVE", "CLEAR"): ("known", "as before", "worse", "undecided"),
    ("INCONCLUSIVE", "BIASED"): ("known", "improved", "worse", "undecided"),
    ("INCONCLUSIVE", "INCONCLUSIVE"): ("known", "as before", "worse", "undecided"),
}


@pytest.mark.parametrize(("now", "before"), TABLE)
@pytest.mark.parametrize("claim", ["clear", "detect"])
def test_the_table(now: Status, before: Status, claim: Any) -> None:
    clear, detect, worse, neither = TABLE[now, before]
    expected = {"no worse": clear if claim == "clear" else detect}
    expected |= {"worse": worse, "neither": neither}
    shown: dict[Growth, Change] = {
        "no worse": outcome_of(claim, before, now, "no worse"),
        "worse": outcome_of(claim, before, now, "worse"),
        "neither": outcome_of(claim, before, now, "neither"),
    }
    assert shown == expected
    for against, accepted in (("", ANN), (OLD, None)):
        found = beside(
            verdict(now, claim), entry(verdict(before, claim), accepted), against=against
        )
        assert found.outcome == expected["no worse"]
        assert found.tolerated == (found.outcome == "known")
        by_ann = found.tolerated and before != "CLEAR" and not against
        assert (found.accepted is not None) == by_ann
        assert found.compared is not None
        assert (found.compared.how, found.compared.margin) == ("independent", 0.6)


WIDE: dict[str, Any] = {"se": 0.4, "interval": Interval(low=0.2, high=1.8, level=0.95)}


@pytest.mark.parametrize(
    ("claim", "now", "before", "tolerated"),
    [
        ("clear", "BIASED", "BIASED", True),
        ("clear", "INCONCLUSIVE", "BIASED", True),
        ("clear", "INCONCLUSIVE", "CLEAR", False),
        ("clear", "INCONCLUSIVE", "INCONCLUSIVE", True),
        ("detect", "BIASED", "BIASED", True),
        ("detect", "INCONCLUSIVE", "BIASED", False),
        ("detect", "INCONCLUSIVE", "CLEAR", False),
        ("detect", "INCONCLUSIVE", "INCONCLUSIVE", False),
    ],
)
def test_undecided_stops_claims_to_be_clear_that_were_not_accepted(
    claim: str, now: Status, before: Status, *, tolerated: bool
) -> None:
    found = beside(
        verdict(now, claim, estimate=1.0, **WIDE), entry(verdict(before, claim, **WIDE))
    )
    assert found.outcome == "undecided"
    assert found.tolerated == tolerated
    assert "is open: " in found.words
    if claim == "detect":
        known = entry(verdict("BIASED", claim, **WIDE), PAST)
        assert beside(verdict("BIASED", claim, **WIDE), known).outcome == "expired"


CELLS = ("scaffold=one-shot", "scaffold=agent", "cv=good")


def in_cells(status: Status, *estimates: float, se: float = 0.1) -> Verdict:
    """A verdict whose average is well within its margin, in cells with a margin of .5."""
    cells = {}
    for name, estimate in zip(CELLS, estimates, strict=True):
        half = 1.645 * se
        cells[name] = finding(
            margin=0.5,
            estimate=estimate,
            se=se,
            df=1e6,
            p_clear=0.01 if abs(estimate) + half < 0.5 else 0.4,
            p_alarm=1.0,
        )
    # The average is known too vaguely to be paired with anything: its own margin clears it.
    given: dict[str, Any] = {"estimate": 0.0, "se": 0.25, "p_clear": 0.02, "interval": None}
    return verdict(status, cells=cells, **given)


@pytest.mark.parametrize(
    ("now", "outcome", "words"),
    [
        ((0.7, 0.0, 0.0), "known", ""),
        ((0.9, 0.0, 0.1), "known", ""),  # +.2 at a standard error of .14 is not shown
        ((0.7, -0.37, 0.0), "worse", f"it was CLEAR in {CELLS[1]} and is shown to be worse"),
        ((0.7, 0.0, 0.6), "worse", f"it was CLEAR in {CELLS[2]} and is shown to be worse"),
        ((1.2, 0.0, 0.0), "worse", f"in {CELLS[0]} it is shown to be worse: it is larger by"),
    ],
)
def test_of_a_claim_that_was_not_clear_worse_must_be_shown_of_a_cell(
    now: tuple[float, ...], outcome: Change, words: str
) -> None:
    then = entry(in_cells("INCONCLUSIVE", 0.7, 0.0, 0.0))
    found = beside(in_cells("INCONCLUSIVE", *now), then)
    assert (found.outcome, found.tolerated) == (outcome, outcome == "known")
    assert words in found.words


def test_a_claim_that_was_clear_in_every_cell_is_stopped_by_one() -> None:
    then = entry(in_cells("CLEAR", 0.0, 0.1, 0.0))
    for estimate, outcome in ((0.45, "worse"), (0.36, "undecided")):
        found = beside(in_cells("INCONCLUSIVE", 0.0, estimate, 0.0), then)
        assert (found.outcome, found.tolerated) == (outcome, False)
    assert beside(in_cells("CLEAR", 0.0, 0.2, 0.0), then).outcome == "as before"


def test_accepted_verdicts_share_the_error_rate_of_being_called_worse() -> None:
    """+1.0 to +1.9 at a standard error of .42: p = .034 alone, and .05 / 3 among three."""
    usual: dict[str, Any] = {"se": 0.3, "interval": None}
    now = verdict("BIASED", "detect", estimate=1.9, **usual)
    then = entry(verdict("BIASED", "detect", **usual))
    new = entry_of(now, ANEW, {"margin": 0.6})
    outcomes = [
        compare(now.named, new, then, today=TODAY, known=known).outcome for known in (1, 3)
    ]
    assert outcomes == ["worse", "undecided"]


@pytest.mark.parametrize("status", STATUSES)
def test_what_is_only_described_or_not_in_the_baseline_is_held_against_nothing(
    status: Status,
) -> None:
    assert beside(verdict(status, "describe"), entry(verdict("CLEAR"))) == ABSOLUTE
    found = beside(verdict(status), None)
    assert (found.outcome, found.tolerated) == ("not in the baseline", False)
    assert found.words == "this hypothesis is not in the baseline"
    assert found.compared is None


@pytest.mark.parametrize("then", ["BIASED", "INCONCLUSIVE"])
def test_an_acceptance_holds_to_the_end_of_its_day(then: Status) -> None:
    assert beside(verdict(then), entry(verdict(then))).tolerated
    past = beside(verdict(then), entry(verdict(then), PAST))
    assert (past.outcome, past.tolerated, past.expired) == ("expired", False, PAST)
    assert past.words == ("accepted by Ann until 2026-12-30 (known since spring), which is past")
    assert beside(verdict("CLEAR"), entry(verdict(then), PAST)).outcome == "improved"


@pytest.mark.parametrize("now", ["BIASED", "INCONCLUSIVE"])
def test_a_larger_effect_is_worse_where_bias_was_accepted(now: Status) -> None:
    found = beside(verdict(now, estimate=1.9), entry(verdict("BIASED")))
    assert (found.outcome, found.tolerated) == ("worse", False)
    assert found.words.startswith(
        f"{WHO} (known since spring), but +1.90 is shown to be worse than +1.00: "
        "it is larger by 0.62"
    )
    assert found.words.endswith(", margin 0.6")
    assert "  baseline: " + found.words in describe_verdict(verdict(now), "x", found)


def test_the_very_same_replies_are_known_whatever_was_accepted_before() -> None:
    known = entry(verdict("BIASED", estimate=3.0), before=entry(verdict("BIASED")))
    assert [each.estimate for each in known.versions] == [1.0, 3.0]
    same = beside(verdict("BIASED", estimate=3.0), known, recording=BEFORE)
    assert same.outcome == "known"
    assert there(same.compared).how == "same replies"
    other = beside(verdict("BIASED", estimate=3.0), known)
    assert other.outcome == "worse"
    assert "worse than +3.00 and what was accepted before (2 versions): it is" in other.words


def test_a_larger_effect_that_was_accepted_makes_no_room_for_the_next() -> None:
    """Three versions at 1 and one at 2, each known to .1: the next is held beside about 1."""
    known = entry(verdict("BIASED"))
    for estimate in (1.01, 0.99, 2.0):
        known = entry(verdict("BIASED", estimate=estimate), before=known)
    assert beside(verdict("BIASED", estimate=2.0), known).outcome == "worse"
    assert beside(verdict("BIASED", estimate=1.1), known).outcome == "known"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"margin": None}, "larger by 1.11, there is no margin"),
        ({"se": None, "df": None}, "it may be larger by"),
        ({"se": None, "df": None, "interval": None}, "there is no standard error of both"),
        ({"scale": "ratio", "estimate": 2.0, "margin": 1.5}, "it may be larger by a factor of"),
    ],
)
def test_what_cannot_be_shown_is_undecided_and_says_why(
    changes: dict[str, Any], words: str
) -> None:
    usual: dict[str, Any] = {"interval": Interval(low=0.5, high=3.5, level=0.95), "se": 0.4}
    given = usual | changes
    found = beside(verdict("BIASED", **given), entry(verdict("BIASED", **given)))
    assert found.outcome == "undecided"
    assert found.tolerated == ("interval" not in changes)  # neither that nor a standard error
    assert words in found.words
    again = beside(verdict("BIASED", **given), entry(verdict("BIASED", **given)), recording=BEFORE)
    assert again.outcome == "known"


def test_a_bias_is_not_known_where_its_judge_does_not_agree_or_units_are_few() -> None:
    reason = "the judge does not agree with itself"
    held = replace(verdict("INCONCLUSIVE"), reason=Reason.UNRELIABLE, reason_text=reason)
    few = replace(verdict("INCONCLUSIVE", fewest=4), reason_text="too few replies: 4 a side")
    for now in (held, few):
        for then in ("BIASED", "INCONCLUSIVE"):
            found = beside(now, entry(verdict(then), None), against=OLD)
            assert (found.outcome, found.tolerated) == ("undecided", False)
            assert found.words.endswith(f"but now nothing can be decided: {now.reason_text}")
        assert beside(now, entry(few)).outcome == "known"  # nor could it be before


@pytest.mark.parametrize(
    ("before", "now"),
    [("BIASED", "BIASED"), ("BIASED", "INCONCLUSIVE"), ("INCONCLUSIVE", "BIASED")],
)
def test_replies_that_a_limit_cut_off_are_no_worse_in_nothing(before: Status, now: Status) -> None:
    """A lower limit makes all replies look alike: it must not pass for an improvement."""
    cut = replace(verdict(now, estimate=0.1), cut="the limit on tokens ended 100 of 100 replies")
    found = beside(cut, entry(verdict(before)))
    assert not found.tolerated
    if (before, now) != ("INCONCLUSIVE", "BIASED"):
        assert found.words.endswith(f"but now nothing can be decided: {cut.cut}")
    assert beside(cut, entry(cut), recording=BEFORE).outcome == "known"
