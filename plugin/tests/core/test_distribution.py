"""Which worker is sent which cases; what cases find, and errors, travel as they are."""

from __future__ import annotations

import copy
import json
import pickle
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_bias.baselines.entries import Acceptance
from pytest_bias.baselines.gate import Comparison
from pytest_bias.errors import (
    BadDesign,
    BadJSON,
    BiasError,
    BiasFound,
    NotRecorded,
    TooFewUnits,
)
from pytest_bias.session.options import (
    DISTRIBUTED,
    note_distribution,
)
from pytest_bias.session.state import CASE, RESULT, ReportedCases
from pytest_bias.session.workspace import CaseReport, case_report


@pytest.mark.parametrize(
    ("dist", "distload", "chosen"),
    [("no", False, False), ("load", False, True), ("loadfile", False, True), ("no", True, True)],
)
def test_who_says_how_to_distribute_is_asked_before_xdist_does(
    dist: str, *, distload: bool, chosen: bool
) -> None:
    option = SimpleNamespace(dist=dist, distload=distload, numprocesses=8)
    config = cast("Any", SimpleNamespace(option=option, stash=pytest.Stash()))
    note_distribution(config)
    assert config.stash[DISTRIBUTED] is chosen


FOUND = CaseReport(
    kind="hypothesis",
    experiment="coin",
    model="simulated/even",
    stopped=True,
    id="number",
    status="BIASED",
    analysis="0" * 64,
    stale="too old",
    comparison=Comparison(
        outcome="known",
        acceptance=Acceptance(reason="known", owner="ann", until="2999-12-31"),
        tolerated=True,
        fingerprint={"hypothesis": {"margin": 0.5, "arms": ["a", "b"]}},
        old="1" * 64,
    ),
)


def test_what_was_sent_arrives() -> None:
    assert case_report(FOUND.to_json()) == FOUND
    assert FOUND.known
    condition = CaseReport(kind="condition", experiment="coin", model="a/b", stopped=False)
    assert case_report(condition.to_json()) == condition
    assert not condition.known


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        *((text, "") for text in ("", "{", "[]", "7", "{}")),
        ({"stopped": "perhaps"}, "stopped: "),
        ({"kind": "verdict"}, "kind: "),
        ({"more": 1}, "more: "),
    ],
)
def test_another_version_and_damage_are_refused(
    changed: str | dict[str, object], words: str
) -> None:
    if isinstance(changed, dict):
        changed = json.dumps({**json.loads(FOUND.to_json()), **changed})
    with pytest.raises(BadJSON) as refused:
        case_report(changed)
    assert str(refused.value).startswith(words)


def reported(result: str) -> pytest.TestReport:
    properties = [(CASE, "a"), (RESULT, result)]
    return pytest.TestReport(
        "a", ("test_a.py", 0, "a"), {}, "passed", None, "call", user_properties=properties
    )


def test_what_cannot_be_read_is_missing_until_it_can() -> None:
    cases = ReportedCases(selected=["a"])
    cases.add(reported("{}"))
    assert "All processes of a run need the same" in cases.damaged["a"]
    assert cases.damaged["a"].startswith("what it found cannot be read: ")
    assert list(cases.lost) == ["a"]
    cases.add(reported(FOUND.to_json()))
    assert not cases.damaged
    assert not cases.lost
    assert list(cases.stopped) == ["a"]


EXAMPLES = (
    BadDesign(what="Experiment('x')", problem="needs at least one factor"),
    TooFewUnits(group="demand=high", found=1, needed=5),
    NotRecorded("nothing is recorded", "nothing is recorded: run pytest again"),
    BiasFound("anchoring × openai/m: BIASED"),
)


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_errors_can_be_pickled_and_copied(error: BiasError) -> None:
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301  (our own)
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert vars(again) == vars(error)
