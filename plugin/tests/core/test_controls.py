"""Positive controls: what they license, and the levels and items that only they know."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pytest_bias import (
    Design,
    Experiment,
    Factor,
    Items,
    MeanDifference,
    Measure,
    PositiveControl,
    RateDifference,
    hypotheses,
    positive_control,
)
from pytest_bias.baselines.gate import stopped_by_control
from pytest_bias.contrasts.cases import Registry
from pytest_bias.contrasts.register import ATTRIBUTE
from pytest_bias.errors import BadDesign
from pytest_bias.experiments.experiment import plan
from pytest_bias.experiments.messages import Place, trial_seed
from pytest_bias.experiments.records import Outcome
from pytest_bias.report.wording import control_lines
from pytest_bias.stats.results import Interval
from pytest_bias.verdicts.analysis import Analysis, analyse
from pytest_bias.verdicts.controls import judged_control, validation_of, with_needed
from pytest_bias.verdicts.verdict import Control

from .factories import experiment, finding, recording

SEEDS = [f"s{number:02}" for number in range(24)]
BOUNDED: Mapping[str, Any] = {"bounds": (-6, 6)}


def study(**changes: Any) -> Experiment:
    """Two measures of replies to twelve seeds in two styles, and two control items."""
    given: dict[str, Any] = {
        "factors": [Factor("style", ["plain", "odd"])],
        "items": Items("seed", SEEDS, controls=["glad", "sorry"]),
        "measures": [
            Measure("length", lambda reply: reply["length"], **BOUNDED),
            Measure("warmth", lambda reply: reply["warmth"], **BOUNDED),
        ],
        "replicates": 2,
        "controls": 6,
    }
    return experiment(**(given | changes))


STUDY = study()


def asked(measure: str, **changes: Any) -> MeanDifference:
    given: dict[str, Any] = {"margin": 2.5, "claim": "clear", "family": measure}
    given |= {"target": "population", "unit": "seed"}
    return MeanDifference(measure, "style", high="odd", low="plain", **(given | changes))


def seen_by(measure: str, **changes: Any) -> PositiveControl:
    contrast = MeanDifference(measure, "seed", high="glad", low="sorry")
    return PositiveControl(contrast, **changes)


CONTROLS = [seen_by("length"), seen_by("warmth")]


def replies(seed: int, noise: str = "") -> list[Outcome]:
    """All alike but for the control items, whose replies lie 3 apart; one measure may be noise."""
    rng = np.random.default_rng(seed)
    found = []
    for trial in plan(STUDY, STUDY.design()):
        told = {"glad": 1.5, "sorry": -1.5}.get(str(trial.item), 0.0)
        reply = {
            name: float(rng.normal(0.0 if name == noise else told))
            for name in ("length", "warmth")
        }
        found.append(Outcome(trial, reply, None, invalid=(), interactions=1, prompts=()))
    return found


def drawn(seed: int, noise: str = "") -> Analysis:
    return analysed(STUDY, replies(seed, noise), CONTROLS)


def analysed(of: Experiment, outcomes: list[Outcome], controls: list[PositiveControl]) -> Analysis:
    return analyse(
        *(of, of.design(), "openai/tiny", outcomes),
        hypotheses=[asked("length"), asked("warmth")],
        controls=controls,
        recording=recording(interactions=1),
    )


# --- a control per measure -----------------------------------------------------------------------


def test_a_measure_of_noise_is_not_cleared_and_the_other_is() -> None:
    """CLEAR of noise in at most .05 of draws, with two Monte Carlo standard errors."""
    draws = 60
    statuses: Counter[str] = Counter()
    for number in range(draws):
        found = drawn(number, noise="warmth")
        for verdict in found.verdicts:
            assert verdict.finding is not None
            assert (verdict.finding.p_clear or 1) <= 0.05  # by the data alone both are clear
            statuses[f"{verdict.finding.measure} {verdict.status}"] += 1
    error = math.sqrt(0.05 * 0.95 / draws)
    assert statuses["warmth CLEAR"] / draws <= 0.05 + 2 * error
    assert statuses["length CLEAR"] == draws


def test_what_it_means_is_said_where_a_control_is_not_seen() -> None:
    found = drawn(1, noise="warmth")
    (unseen,) = found.not_seen
    assert unseen.licenses == ("warmth",)
    means = "is not shown to differ, so that warmth is alike elsewhere says nothing"
    assert unseen.meaning == f"warmth glad − sorry {means}"
    assert list(control_lines(unseen))[1] == f"  {unseen.meaning}"
    reason = found.verdict("warmth-odd-plain").reason_text
    assert reason.startswith("no assay sensitivity: the positive control warmth-glad-sorry was")


def control(
    measure: str, low: float, high: float, *, licenses: str = "months", asked: bool = True
) -> Control:
    declared = PositiveControl(
        RateDifference(measure, "x", high="a", low="b"),
        licenses=[licenses],
        if_not_seen="nothing is",
    )
    interval = Interval(low=low, high=high, level=0.95)
    p = 0.2 if low < 0 else 0.01
    found = finding(measure=measure, margin=None, p_clear=None, p_alarm=p, interval=interval)
    return judged_control(declared, found, asked=asked)


OWN, SMALL, TOO_SMALL = (
    control("months", 1, 2),
    control("months", 0.2, 2),
    control("months", 0.1, 0.5),
)
UNSEEN, ORDINAL = control("months", -1, 2), control("ordinal", 0.1, 2)
UNSEEN_ORDINAL = replace(control("ordinal", -1, 2), licenses=("ordinal", "months"))
NOT_ASKED = control("months", 1, 2, asked=False)
OTHER = control("months", 1, 2, licenses="years")

# controls, why not to be cleared, what is to be known
LICENCES: dict[str, tuple[list[Control], str, str]] = {
    "none": ([], "no positive control of months was recorded", ""),
    "of another measure alone": ([OTHER], "no positive control of months was recorded", ""),
    "its own": ([OWN], "", ""),
    "not seen": ([UNSEEN], "the positive control months-a-b was not seen", ""),
    "one of its own is enough": ([UNSEEN, OWN], "", ""),
    "another's": ([ORDINAL], "", "licensed by ordinal-a-b alone"),
    "another's where its own was not recorded": (
        [NOT_ASKED, ORDINAL],
        "",
        "licensed by ordinal-a-b alone, as months-a-b was not recorded",
    ),
    "its own decides alone": ([UNSEEN, ORDINAL], "months-a-b was not seen", ""),
    "not shown to be as large as the margin": (
        [SMALL],
        "",
        "its positive control months-a-b is seen, but not shown to be as large as the margin",
    ),
    "shown to be smaller than the margin": ([TOO_SMALL], "seen, but smaller than the margin", ""),
    "the larger of two": ([TOO_SMALL, OWN], "", ""),
}


@pytest.mark.parametrize(("controls", "why", "note"), LICENCES.values(), ids=LICENCES)
def test_what_controls_license(controls: list[Control], why: str, note: str) -> None:
    """Of a claim within ±.6 months."""
    insensitive, licence = validation_of("months", finding(), controls)
    assert why in insensitive
    assert bool(insensitive) == bool(why)
    assert licence == note


@pytest.mark.parametrize(
    ("controls", "measures", "needed"),
    [
        ([UNSEEN, OWN], {"months"}, False),
        ([UNSEEN, ORDINAL], {"months"}, True),  # its own decides alone
        ([UNSEEN_ORDINAL, OWN], {"months"}, False),
        ([UNSEEN_ORDINAL, OWN], {"months", "ordinal"}, True),
        ([UNSEEN_ORDINAL, NOT_ASKED], {"months"}, True),
        ([UNSEEN, OWN], {"years"}, True),  # no claim is about what it licenses
    ],
)
def test_one_that_is_not_seen_is_needed_where_no_other_is_seen(
    controls: list[Control], measures: set[str], *, needed: bool
) -> None:
    unseen = with_needed(controls, measures)[0]
    assert unseen.needed == needed
    assert (unseen.meaning == f"not needed, as {controls[1].id} is seen") == (not needed)
    assert (stopped_by_control(unseen, "x", gate="absolute") is None) == (not needed)
    assert with_needed(controls, measures)[1] == controls[1]


def test_one_that_this_design_has_no_trials_for_is_not_held_against_the_model() -> None:
    assert (NOT_ASKED.seen, NOT_ASKED.meaning) == (True, "")
    design = Design(2, controls=0)
    (declared,) = [c for c in CONTROLS if c.licenses == ("length",)]
    assert not declared.is_in(STUDY, design)
    assert PositiveControl(asked("length")).is_in(STUDY, design)


# --- before anything is recorded -----------------------------------------------------------------


def registered(*controls: PositiveControl) -> Registry:
    registry = Registry()

    def test_asked() -> None: ...
    def test_seen() -> None: ...

    for function in (
        hypotheses(STUDY, asked("length"), asked("warmth"))(test_asked),
        *([positive_control(STUDY, *controls)(test_seen)] if controls else []),
    ):
        registry.add(getattr(function, ATTRIBUTE))
    return registry


def test_a_claim_of_a_measure_without_a_control_is_refused_and_named() -> None:
    entry = registered(seen_by("length"))[STUDY.id]
    with pytest.raises(BadDesign) as refused:
        entry.check_control()
    assert "warmth-odd-plain claims to be clear" in str(refused.value)
    assert "without a positive control of warmth nothing" in str(refused.value)
    registered(*CONTROLS)[STUDY.id].check_control()
    registered(seen_by("length", licenses=["length", "warmth"]))[STUDY.id].check_control()


def test_a_design_that_asks_no_control_is_recorded_and_clears_nothing() -> None:
    entry, small = registered(*CONTROLS)[STUDY.id], Design(2, "small")
    entry.check_control()
    assert not any(entry.licensed(each, small) for each in entry.hypotheses.values())
    assert all(entry.licensed(each, STUDY.design()) for each in entry.hypotheses.values())


# --- control levels and items --------------------------------------------------------------------


def test_what_was_recorded_keeps_its_keys_and_controls_come_on_top() -> None:
    """Shipped recordings are completed: trials and their seeds are those of before."""
    before = study(items=Items("seed", SEEDS), controls=0)
    trials = {trial.id: trial for trial in plan(STUDY, STUDY.design())}
    for trial in plan(before, before.design()):
        same = trials.pop(trial.id)
        assert same.identity == trial.identity
        at = Place((), 1, 1)
        assert trial_seed(STUDY.id, same, at) == trial_seed(before.id, trial, at)
    assert Counter(trial.item for trial in trials.values()) == {"glad": 12, "sorry": 12}


def test_a_contrast_that_names_no_control_is_what_it_would_be_without() -> None:
    """Means, figures and summaries of the study are those of its own seeds."""
    found = drawn(5)
    without = [o for o in replies(5) if o.trial.item in SEEDS]
    before = study(items=Items("seed", SEEDS), controls=0)
    again = analysed(before, without, [])
    assert [v.finding for v in found.verdicts] == [v.finding for v in again.verdicts]
    assert found.numbers == again.numbers
    assert [count.planned for count in found.counts] == [24 * 2 + 2 * 6] * 2


REFUSED: dict[str, tuple[Any, str]] = {
    "a label twice": (lambda: Factor("f", ["a", "b"], controls=["a"]), "'a' is also a control's"),
    "an item twice": (lambda: Items("i", ["a"], controls=["a"]), "'a' is also a control's"),
    "no label": (lambda: Items("i", ["a"], controls=["A b"]), "'A b' is not a label"),
    "beside exemplars": (
        lambda: Factor("f", ["a", "b"], exemplars={"a": ["x"], "b": ["y"]}, controls=["c"]),
        "have no control levels beside them",
    ),
    "less than none": (lambda: Design(1, controls=-1), "controls must be at least 0"),
    "no contrast": (lambda: PositiveControl("x"), "contrast must be a contrast"),  # type: ignore[arg-type]
    "no measure": (
        lambda: positive_control(STUDY, seen_by("length", licenses=["height"])),
        "unknown measure 'height'",
    ),
}


@pytest.mark.parametrize(("make", "problem"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_control_is_refused(make: Any, problem: str) -> None:
    with pytest.raises(Exception, match=problem):
        make()
