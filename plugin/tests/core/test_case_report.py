"""What a case found arrives as it was sent, or is said not to."""

from __future__ import annotations

import json

import pytest

from pytest_bias.baselines.case_report import AgainstOld, CaseReport, Standing, case_report
from pytest_bias.baselines.entries import Acceptance
from pytest_bias.errors import DamagedReport
from pytest_bias.session.state import CASE, RESULT, Ledger

FOUND = CaseReport(
    kind="hypothesis",
    experiment="coin",
    model="simulated/even",
    stopped=True,
    id="number",
    status="BIASED",
    analysis="0" * 64,
    stale="too old",
    standing=Standing(
        accepted=Acceptance(reason="known", owner="ann", until="2999-12-31"),
        improved="better",
        fingerprint={"hypothesis": {"margin": 0.5, "arms": ["a", "b"]}},
        upgrade=AgainstOld(digest="1" * 64),
    ),
)


def test_what_was_sent_arrives() -> None:
    assert case_report(FOUND.to_json()) == FOUND
    assert FOUND.known
    condition = CaseReport(kind="condition", experiment="coin", model="a/b", stopped=False)
    sent = condition.to_json()
    assert case_report(sent) is condition  # of this process
    assert case_report(f"{sent} ") == condition  # as another reads it
    assert not condition.known


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"format": 0}, "its format is 0, this version reads 1"),
        ({"format": None}, "its format is None, this version reads 1"),
        ({"stopped": "perhaps"}, "stopped: "),
        ({"kind": "verdict"}, "kind: "),
        ({"more": 1}, "more: "),
    ],
)
def test_another_version_and_damage_are_said(changed: dict[str, object], words: str) -> None:
    with pytest.raises(DamagedReport, match="All processes of a run need the same") as raised:
        case_report(json.dumps({**json.loads(FOUND.to_json()), **changed}))
    assert raised.value.problem.startswith(words)


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "{}"])
def test_what_is_no_report_is_said(text: str) -> None:
    with pytest.raises(DamagedReport):
        case_report(text)


def test_the_books_keep_what_cannot_be_read_until_it_can() -> None:
    ledger = Ledger()
    ledger.select(["a"], unselected=())
    ledger.report([(CASE, "a"), (RESULT, "{}")], "call", "passed")
    assert ledger.damaged["a"].startswith("what it found cannot be read: its format is None")
    assert list(ledger.lost) == ["a"]
    ledger.report([(CASE, "a"), (RESULT, FOUND.to_json())], "call", "passed")
    assert not ledger.damaged
    assert not ledger.lost
    assert list(ledger.stopped) == ["a"]
