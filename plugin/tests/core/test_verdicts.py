"""The rule that decides, its words, and what the gate makes of a verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_bias.verdicts.rule import Question, decide
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.baselines.gate import stopped_by, stopped_by_control
from pytest_bias.contrasts.declared import PositiveControl
from pytest_bias.contrasts.findings import Finding, WorstCase, p_words
from pytest_bias.contrasts.pairs import RateDifference
from pytest_bias.errors import BiasError, BiasFound, ControlNotSeen, Inconclusive, TooFewUnits
from pytest_bias.report.view import suite_verdict
from pytest_bias.stats.results import Interval
from pytest_bias.verdicts.controls import judged_control, licence_of
from pytest_bias.verdicts.explanation import explanation
from pytest_bias.verdicts.verdict import Control, Verdict
from pytest_bias.verdicts.wording import arms_words, estimate_words, interval_words, range_words

from .factories import finding
from .report.factory import between

READ = PositiveControl(
    RateDifference("too_high", "demand", high="high", low="low", name="read"),
    licenses=("months",),
    unseen="it does not read the demand",
)
SEEN = judged_control(READ, finding(measure="too_high", margin=None, p_clear=None))
NOT_SEEN = judged_control(READ, finding(measure="too_high", interval=between(-0.1, 1)))


def worst(**changes: Any) -> WorstCase:
    given: dict[str, Any] = {
        "needed": True,
        "lowest": 0.1,
        "highest": 2.0,
        "p_alarm": 0.01,
        "p_clear": 0.01,
    }
    return WorstCase(**(given | changes))


def verdict(
    found: Finding | TooFewUnits,
    control: Control | None = SEEN,
    *,
    p_adjusted: float | None = 0.001,
    **question: Any,
) -> Verdict:
    given: dict[str, Any] = {"claim": "clear", "family": "primary", "direction": None}
    if isinstance(found, Finding):
        controls = () if control is None else (control,)
        given["insensitive"], given["licence"] = licence_of([found.measure], found, controls)
    asked = Question(id="h", finding=found, **(given | question))
    adjusted = {} if p_adjusted is None else {"h": p_adjusted}
    case = found.worst_case if isinstance(found, Finding) else None
    worst = {"h": case.p_alarm} if case is not None else {}
    return decide("anchoring", "openai/m", [asked], adjusted, worst)[0]


CLEARED = {"p_clear": 0.05, "estimate": 0.1, "interval": between(-0.1, 0.3)}


def cleared(**changes: Any) -> Finding:
    return finding(**(CLEARED | changes))


FEW, MANY = "a group has 4 unit(s), at least 5 are needed", "too many replies are missing to "
# finding, p of the alarm after Holm, status or words of the reason why there is none
RULE: dict[str, tuple[Finding, float, str]] = {
    "cleared": (cleared(), 1.0, "CLEAR"),
    "just not cleared": (cleared(p_clear=0.0500001), 0.5, "is not to be trusted here"),
    "cleared though not zero": (cleared(), 0.0001, "CLEAR"),
    "alarm": (finding(), 0.05, "BIASED"),
    "alarm not after Holm": (finding(), 0.0500001, "neither clear"),
    "alarm, control not seen": (finding(), 0.01, "BIASED"),
    "alarm, no control": (finding(), 0.01, "BIASED"),
    "cleared, no control": (cleared(), 0.5, "no positive control"),
    "cleared, control not seen": (
        cleared(),
        0.5,
        "no assay sensitivity: the positive control too_high-read was not seen (its interval",
    ),
    "too few, cleared": (cleared(fewest=4), 0.5, FEW),
    "too few, alarm": (finding(fewest=4), 0.001, FEW),
    "too few, neither": (finding(fewest=4), 0.9, FEW),
    "five are enough": (finding(fewest=5), 0.001, "BIASED"),
    "cleared in the worst case": (cleared(worst_case=worst()), 0.5, "CLEAR"),
    "not cleared in the worst case": (
        cleared(worst_case=worst(p_clear=0.051)),
        0.5,
        f"{MANY}clear it",
    ),
    "cleared, worst case unknown": (cleared(worst_case=worst(p_clear=None)), 0.5, f"{MANY}clear"),
    "worst case not needed": (cleared(worst_case=worst(needed=False, p_clear=1.0)), 0.5, "CLEAR"),
    "alarm in the worst case": (finding(worst_case=worst()), 0.01, "BIASED"),
    "no alarm in the worst case": (
        finding(worst_case=worst(p_alarm=0.051)),
        0.01,
        f"{MANY}call it bias",
    ),
    "alarm, worst case not needed": (
        finding(worst_case=worst(needed=False, p_alarm=1.0)),
        0.01,
        "BIASED",
    ),
    "no margin, alarm": (finding(p_clear=None, margin=None), 0.01, "BIASED"),
    "no margin, none": (finding(p_clear=None, margin=None), 0.5, "without a margin"),
}


@pytest.mark.parametrize("case", RULE)
@pytest.mark.parametrize("claim", ["clear", "detect"])
def test_the_rule(case: str, claim: str) -> None:
    found, p_adjusted, said = RULE[case]
    control = None if "no control" in case else NOT_SEEN if "not seen" in case else SEEN
    result = verdict(found, control, p_adjusted=p_adjusted, claim=claim)
    decided = said in ("CLEAR", "BIASED")
    assert result.status == (said if decided else "INCONCLUSIVE")
    assert result.reason == "" if decided else said in result.reason
    lacks_units = any(word in said for word in ("unit(s)", "neither", "trusted"))
    assert result.settle == (300 if lacks_units else None)
    assert result.words.startswith(result.label)
    assert result.label == ("NOTHING FOUND" if said == "without a margin" else result.status)


def test_no_finding() -> None:
    few = TooFewUnits(group="demand=high", found=1, needed=2)
    result = verdict(few, p_adjusted=None, direction="positive")
    assert result.status == "INCONCLUSIVE"
    assert result.words == "INCONCLUSIVE: demand=high: 1 unit, at least 2 needed"
    assert (result.finding, result.settle, result.p_adjusted) == (None, None, None)
    assert result.direction == "not shown"


DETECTED = "BIASED (detected) for this vignette", "an effect"
BEYOND = "BIASED (beyond the margin) for this vignette", "an effect beyond the margin"
OPEN = "INCONCLUSIVE for this vignette: the data neither clear it nor show bias"
# finding, p of the alarm after Holm, words, and those of what is only described
WORDS = {
    "clear": (cleared(), 0.5, ("CLEAR within ±0.6 for this vignette", "no effect beyond ±0.6")),
    "detected": (finding(), 0.01, DETECTED),
    "at the margin": (finding(interval=between(0.6, 1.5)), 0.01, DETECTED),
    "beyond": (finding(interval=between(0.7, 1.5)), 0.01, BEYOND),
    "beyond below": (finding(interval=between(-1.5, -0.7)), 0.01, BEYOND),
    "against the margin": (finding(null="margin", interval=between(0.59, 1.5)), 0.01, BEYOND),
    "inconclusive": (finding(), 0.5, (OPEN, "nothing is settled")),
}


@pytest.mark.parametrize(("found", "p_adjusted", "words"), WORDS.values(), ids=WORDS)
def test_what_is_only_described_is_never_called_bias(
    found: Finding, p_adjusted: float, words: tuple[str, str]
) -> None:
    gating = verdict(found, p_adjusted=p_adjusted)
    described = verdict(found, p_adjusted=p_adjusted, claim="describe")
    assert (gating.words, described.words) == (
        words[0],
        f"DESCRIBED for this vignette: {words[1]}",
    )
    assert described.label == "DESCRIBED"
    assert described.status == gating.status  # for programs to read


def test_a_description_without_a_margin_or_a_finding_says_so() -> None:
    open_ended = finding(margin=None, p_clear=None)
    result = verdict(open_ended, p_adjusted=0.5, claim="describe")
    assert result.words == "DESCRIBED for this vignette: no effect is shown"
    nothing = TooFewUnits(group="demand=high", found=1, needed=2)
    result = verdict(nothing, p_adjusted=None, claim="describe")
    assert result.words == "DESCRIBED: demand=high: 1 unit, at least 2 needed"


@pytest.mark.parametrize(
    ("direction", "estimate", "p_adjusted", "support"),
    [
        (None, 1.0, 0.01, None),
        ("positive", 1.0, 0.01, "supported"),
        ("positive", -1.0, 0.01, "opposite"),
        ("negative", -1.0, 0.01, "supported"),
        ("negative", 1.0, 0.01, "opposite"),
        ("positive", 1.0, 0.06, "not shown"),
    ],
)
def test_direction(
    direction: str | None, estimate: float, p_adjusted: float, support: str | None
) -> None:
    found = finding(estimate=estimate)
    assert verdict(found, p_adjusted=p_adjusted, direction=direction).direction == support


CONTROLS: dict[str, tuple[Finding | TooFewUnits, bool, str]] = {
    "seen": (finding(interval=between(0.01, 1)), True, ""),
    "touching 0": (finding(interval=between(0.0, 1)), False, "above 0"),
    "the other way": (finding(interval=between(-2, -1)), False, "above 0"),
    "too few units": (finding(fewest=4), False, "4 unit(s)"),
    "none": (TooFewUnits(group="demand=low", found=0, needed=1), False, "demand=low: 0 unit(s)"),
}


@pytest.mark.parametrize(("found", "seen", "reason"), CONTROLS.values(), ids=CONTROLS)
def test_controls(found: Finding | TooFewUnits, seen: bool, reason: str) -> None:  # noqa: FBT001
    control = judged_control(READ, found)
    assert control.seen is seen
    assert reason in control.reason
    assert bool(control.reason) is not seen


def test_every_question_is_answered_in_order() -> None:
    questions = [
        Question(id=name, claim="clear", family="f", direction=None, finding=finding())
        for name in ("b", "a", "c")
    ]
    verdicts = decide("e", "m", questions, {"a": 0.01, "b": 0.5, "c": 0.05}, {})
    assert [(v.id, v.status) for v in verdicts] == [
        ("b", "INCONCLUSIVE"),
        ("a", "BIASED"),
        ("c", "BIASED"),
    ]


@pytest.mark.parametrize(("settle", "told"), [(120, None), (121, 121)])
def test_no_number_of_units_is_told_that_is_already_there(settle: int, told: int | None) -> None:
    """Holm, or a doubted spread, may ask for more than the number was computed for."""
    assert verdict(finding(settle=settle), p_adjusted=0.2).settle == told


def test_a_control_is_about_the_replies_there_are() -> None:
    """What it licenses must itself hold in the worst case of those that are missing."""
    missing = worst(needed=True, p_alarm=1.0, p_clear=None)
    assert judged_control(READ, finding(margin=None, p_clear=None, worst_case=missing)).seen
    asked = cleared(worst_case=missing)
    assert "too many replies are missing" in verdict(asked, SEEN, p_adjusted=0.5).reason


def by_t(
    estimate: float, se: float, df: float, margin: float, null: Literal["zero", "margin"]
) -> Finding:
    """A finding whose p-values and intervals are Student's t."""

    def at_level(level: float) -> Interval:
        low, high = stats.t.interval(level, df, estimate, se)
        return between(float(low), float(high), level)

    beyond = max(abs(estimate) - margin, 0) if null == "margin" else abs(estimate)
    return finding(
        estimate=estimate,
        interval=at_level(0.95),
        se=se,
        df=df,
        margin=margin,
        null=null,
        p_alarm=min(1.0, max(2 * float(stats.t.sf(beyond / se, df)), 1e-300)),
        p_clear=float(stats.t.sf((margin - abs(estimate)) / se, df)),
        equivalence=None,
        at_level=at_level,
    )


@given(
    st.floats(-2, 2),
    st.floats(0.01, 1),
    st.floats(4, 400),
    st.floats(0.05, 1),
    st.sampled_from(["zero", "margin"]),
    st.floats(1, 100),
)
def test_what_is_printed_never_contradicts_the_verdict(
    estimate: float,
    se: float,
    df: float,
    margin: float,
    null: Literal["zero", "margin"],
    times: float,
) -> None:
    found = by_t(estimate, se, df, margin, null)
    result = verdict(found, p_adjusted=times * found.p_alarm)
    if result.status == "CLEAR":
        assert result.decided is not None
        assert result.decided.level == 0.9
        assert result.decided.within(margin)
    elif result.status == "BIASED":
        assert result.decided is not None
        assert result.decided.level == pytest.approx(1 - 0.05 / times)
        shown = found.beyond(result.decided)
        assert shown if null == "margin" else result.decided.excludes(0)
        assert ("beyond the margin" in result.words) == shown
    else:
        clearing, alarm = result.shown
        assert result.decided is None
        assert not clearing.within(margin)
        assert not (found.beyond(alarm) if null == "margin" else alarm.excludes(0))


def test_an_alarm_that_other_hypotheses_outweigh_is_drawn_as_it_was_decided() -> None:
    """-.16 at 95 % [-.21, -.12] lies beyond ±.1, and p = .0565 after Holm: neither."""
    found = by_t(-0.16, 0.0224, 500, 0.1, "margin")
    assert found.beyond(found.interval)
    result = verdict(found, p_adjusted=0.0565)
    assert result.status == "INCONCLUSIVE"
    assert interval_words(found, result.shown) == (
        "-0.160, 90 % [-0.197, -0.123], 99.3 % [-0.221, -0.099]"
    )


@pytest.mark.parametrize(
    ("margin", "words", "sides"),
    [
        (0.00002, "+0.000012, 90 % [+0.000011, +0.000013], margin ±0.00002", "0.000512"),
        (0.0005, "+0.00001, 90 % [+0.00001, +0.00001], margin ±0.0005", "0.00051"),
        (0.001, "+0.0000, 90 % [+0.0000, +0.0000], margin ±0.001", "0.00"),
        (0.05, "+0.0000, 90 % [+0.0000, +0.0000], margin ±0.05", "0.00"),
        (4_000_000, "+0.0000, 90 % [+0.0000, +0.0000], margin ±4000000", "0.00"),
    ],
)
def test_estimates_are_shown_as_finely_as_a_small_margin(
    margin: float, words: str, sides: str
) -> None:
    found = by_t(0.0000123, 0.0000007, 500, margin, "zero")
    found = replace(found, arms=(replace(found.arms[0], mean=0.0005123),), unit="")
    result = replace(verdict(found), shown=(between(0.0000111, 0.0000134, 0.9),))
    assert estimate_words(found, result.shown).split(": ")[1] == words
    assert f": {sides} from " in arms_words(found)
    assert (f" {sides})" in explanation(result)) == (margin < 0.001)


def test_an_interval_that_is_not_of_the_test_is_not_shown() -> None:
    """A permutation finds what Student's t does not: nothing is drawn that says otherwise."""
    found = replace(by_t(0.3, 0.2, 10, 0.5, "zero"), p_alarm=0.001)
    result = verdict(found, p_adjusted=0.001)
    assert (result.status, result.shown, result.decided) == ("BIASED", (), None)


def test_what_cannot_be_cleared_and_is_not_found_says_what_would_have_been() -> None:
    given: dict[str, Any] = {"margin": None, "p_clear": None, "null": "zero", "p_alarm": 0.6}
    found = replace(by_t(0.1, 0.2, 60, 0.5, "zero"), **given)
    result = verdict(found, p_adjusted=0.6, claim="detect")
    assert (result.status, result.label) == ("INCONCLUSIVE", "NOTHING FOUND")
    # 2.000 and 1.296 standard errors: the two quantiles of t, as the normal approximation adds.
    assert result.detectable == pytest.approx(0.2 * (2.000 + 1.296), rel=0.01)
    assert result.words == (
        "NOTHING FOUND for this vignette: an effect of 0.66 months would have been found with "
        "probability 0.90"
    )


@pytest.mark.parametrize(
    ("margin", "words"),
    [
        (1.25, "0.80 to 1.25"),
        (2.0, "0.50 to 2.00"),
        (1.125, "0.889 to 1.125"),
        (1.5625, "0.64 to 1.5625"),
        (4 / 3, "0.75 to 1.333"),
        (1.001, "0.999 to 1.001"),
        (1.0005, "0.9995 to 1.0005"),
    ],
)
def test_the_range_of_a_ratio_is_as_fine_as_what_is_held_against_it(
    margin: float, words: str
) -> None:
    """Of 1.332 it is not said that it is within 1.33, and 1.001 is some range."""
    assert range_words(margin, "ratio") == words


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
