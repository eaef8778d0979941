"""The rule that decides, its words, and what the gate makes of a verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.baselines.gate import stopped_by
from pytest_bias.contrasts.declared import PositiveControl
from pytest_bias.contrasts.differences import RateDifference
from pytest_bias.contrasts.estimate import Estimate
from pytest_bias.errors import BiasError, BiasFound, Inconclusive, TooFewUnits
from pytest_bias.report.run import suite_verdict
from pytest_bias.stats.results import Interval
from pytest_bias.verdicts.analysis import worded
from pytest_bias.verdicts.controls import judged_control
from pytest_bias.verdicts.decide import decide, is_seen
from pytest_bias.verdicts.verdict import Verdict
from pytest_bias.verdicts.wording import range_text

from .factories import finding
from .report.factory import between

READ = PositiveControl(
    RateDifference("too_high", "demand", high="high", low="low", name="read"),
    licenses=("months",),
    if_not_seen="it does not read the demand",
)


CLEARED = {
    "p_clear": 0.05,
    "p_alarm": 0.4,
    "estimate": 0.1,
    "interval": between(-0.1, 0.3),
    "clearing": between(-0.05, 0.25, 0.9),
}


def verdict(found: Estimate, *, times: float = 1.0) -> Verdict:
    """The verdict of a finding whose alarm is one of ``times`` as many."""
    asked = Verdict(id="h", experiment="anchoring", model="openai/m", claim="clear", finding=found)
    return worded(decide([asked], scale=1 / times)["h"])


CONTROLS: dict[str, tuple[Estimate | TooFewUnits, bool, str]] = {
    "seen": (finding(p_alarm=0.05), True, ""),
    "not shown": (finding(p_alarm=0.051), False, "p = 0.051 is above .05"),
    "the other way": (finding(estimate=-1.5), False, "its estimate is not above 0"),
    "too few units": (finding(fewest=4), False, "too few replies: 4"),
    "none": (
        TooFewUnits(group="demand=low", found=0, needed=1),
        False,
        "demand=low: no valid reply",
    ),
}


@pytest.mark.parametrize(("found", "seen", "reason"), CONTROLS.values(), ids=CONTROLS)
def test_controls(found: Estimate | TooFewUnits, seen: bool, reason: str) -> None:  # noqa: FBT001
    control = judged_control(READ, found)
    assert control.seen is seen
    assert reason in control.reason
    assert bool(control.reason) is not seen
    assert not isinstance(found, Estimate) or is_seen(found) is seen


def by_t(
    estimate: float, se: float, df: float, margin: float, null: Literal["zero", "margin"]
) -> Estimate:
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
        clearing=at_level(0.9),
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
    result = verdict(found, times=times)
    if result.status == "CLEAR":
        assert result.shown[0].level == 0.9
        assert result.shown[0].within(margin)
    elif result.status == "BIASED":
        assert result.shown[0].level == pytest.approx(1 - 0.05 / times)
        shown = found.beyond(result.shown[0])
        assert shown if null == "margin" else result.shown[0].excludes(0)
        assert ("beyond the margin" in result.words) == shown
    else:
        clearing, alarm = result.shown
        assert result.status == "INCONCLUSIVE"
        assert not clearing.within(margin)
        assert not (found.beyond(alarm) if null == "margin" else alarm.excludes(0))


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
    assert range_text(margin, "ratio") == words


VERDICTS = {
    "CLEAR": verdict(finding(**CLEARED)),
    "BIASED": verdict(finding()),
    "INCONCLUSIVE": verdict(finding(p_alarm=0.4)),
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


@pytest.mark.parametrize("status", ["BIASED", "INCONCLUSIVE"])
def test_what_is_only_described_stops_nothing(status: str) -> None:
    described = replace(VERDICTS[status], claim="describe")
    assert not described.gates
    assert stopped_by(described, "x", gate="absolute", inconclusive="fail") is None
    assert suite_verdict([described, VERDICTS["CLEAR"]]) == "PASS"
    assert suite_verdict([replace(described, claim="clear")]) != "PASS"
