from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_bias.baselines.gate import stopped_by, stopped_by_control
from pytest_bias.contrasts.findings import p_words
from pytest_bias.errors import BiasError, BiasFound, ControlNotSeen, Inconclusive
from pytest_bias.report.view import suite_verdict

from .factories import finding
from .test_verdicts import CLEARED, NOT_SEEN, SEEN, verdict

VERDICTS = {
    "CLEAR": verdict(finding(**CLEARED), p_adjusted=0.4),
    "BIASED": verdict(finding()),
    "INCONCLUSIVE": verdict(finding(), p_adjusted=0.4),
}

# status, claim, gate, what becomes of INCONCLUSIVE → error
GATE: dict[tuple[str, str, Any, Any], type[BiasError] | None] = {
    (status, claim, gate, inconclusive): (
        None
        if gate == "off" or status == "CLEAR"
        else BiasFound
        if status == "BIASED"
        else Inconclusive
        if claim == "clear" and inconclusive == "fail"
        else None
    )
    for status in VERDICTS
    for claim in ("clear", "detect")
    for gate in ("absolute", "off")
    for inconclusive in ("fail", "pass")
}


@pytest.mark.parametrize(("case", "error"), GATE.items(), ids=map("-".join, GATE))
def test_the_gate(case: tuple[str, Any, Any, Any], error: type[BiasError] | None) -> None:
    status, claim, gate, inconclusive = case
    given = replace(VERDICTS[status], claim=claim)
    stopped = stopped_by(given, "tiny.jsonl", gate=gate, inconclusive=inconclusive)
    assert type(stopped) is (error or type(None))
    assert stopped is None or isinstance(stopped, AssertionError)


def test_a_failure_says_all_that_decided() -> None:
    stopped = stopped_by(
        VERDICTS["BIASED"], "cassette: cassettes/x.jsonl", gate="absolute", inconclusive="fail"
    )
    assert str(stopped).splitlines() == [
        "anchoring × openai/m: BIASED (detected) for this vignette",
        "  hypothesis: h (claim: clear)",
        "  mean difference high − low of months: +1.00, 95 % [+0.50, +1.50] months, margin ±0.6",
        "  high (9): 6.00 from 120 units; low (3): 5.00 from 120 units",
        "  alarm: p = 0.0010 (Holm); clearing: p = 0.9000; Welch's t test",
        "  cassette: cassettes/x.jsonl",
    ]


def test_an_open_question_says_what_would_settle_it() -> None:
    stopped = stopped_by(VERDICTS["INCONCLUSIVE"], "x", gate="absolute", inconclusive="fail")
    assert "  300 replies per group would clear it if there were no effect" in str(stopped)


def test_missing_replies_stand_with_their_group() -> None:
    high, low = finding().arms
    found = finding(arms=(high, replace(low, missing={"refusal": 3, "empty": 1})))
    stopped = stopped_by(verdict(found), "x", gate="absolute", inconclusive="fail")
    assert "low (3): 5.00 from 120 units, 1 empty, 3 refusal" in str(stopped)


def test_positive_controls() -> None:
    assert stopped_by_control(SEEN, "x", gate="absolute") is None
    assert stopped_by_control(NOT_SEEN, "x", gate="off") is None
    stopped = stopped_by_control(NOT_SEEN, "x.jsonl", gate="absolute")
    assert isinstance(stopped, ControlNotSeen)
    assert "positive control too_high-read was not seen" in str(stopped)
    assert NOT_SEEN.meaning in str(stopped)
    nothing = replace(NOT_SEEN, finding=None)
    assert "no estimate" in str(stopped_by_control(nothing, "x", gate="absolute"))


@pytest.mark.parametrize(
    ("p", "words"),
    [(1.0, "p = 1.0000"), (0.0001, "p = 0.0001"), (1e-300, "p < 0.0001"), (0.0, "p < 0.0001")],
)
def test_p_is_never_0_in_print(p: float, words: str) -> None:
    assert p_words(p) == words


@pytest.mark.parametrize("status", ["BIASED", "INCONCLUSIVE"])
def test_what_is_only_described_stops_nothing(status: str) -> None:
    described = replace(VERDICTS[status], claim="describe")
    assert not described.gates
    assert stopped_by(described, "x", gate="absolute", inconclusive="fail") is None
    assert suite_verdict([described, VERDICTS["CLEAR"]]) == "PASS"
    assert suite_verdict([replace(described, claim="clear")]) != "PASS"
