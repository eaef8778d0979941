from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.contrasts import estimator
from pytest_bias.contrasts.declared import PositiveControl
from pytest_bias.contrasts.differences import MeanDifference, RateDifference
from pytest_bias.contrasts.people import Human
from pytest_bias.experiments.canonical import dumps
from pytest_bias.experiments.design import Design, Factor
from pytest_bias.experiments.experiment import Experiment, plan
from pytest_bias.experiments.measures import Measure
from pytest_bias.experiments.records import Exchange, Outcome
from pytest_bias.stats.resampling import bootstrap_difference
from pytest_bias.stats.results import Allocation
from pytest_bias.verdicts.analysis import Analysis, analyse

from ..helpers import there
from .contrasts.designs import items
from .factories import Score, experiment, recording

RECORDING = recording(interactions=1)
PEOPLE = Human.tested(low=4, high=6.05, t=2.1, df=37, n=39, similar_within=0.5, citation="2006")
MEASURES = [
    Measure("score", bounds=(0, 12)),
    Measure("word", lambda score: ("low", "middle", "high")[min(score.score // 5, 2)]),
    Measure("much", lambda score: score.score > 5, kind="flag"),
]
TINY = experiment(
    factors=[Factor("demand", {"low": 3, "high": 9, "none": 0})],
    measures=MEASURES,
    metadata={"limits": ["one"]},
)
CONTROL = PositiveControl(
    RateDifference("much", "demand", high="high", low="low"), licenses=("score",)
)
ADAPTER = TypeAdapter(Analysis)


@pytest.fixture(scope="module", autouse=True)
def _fewer_resamples() -> Iterator[None]:
    """What resampling finds is tested elsewhere; here a hundred analyses must not take long."""
    fewer = partial(bootstrap_difference, iterations=200)
    with mock.patch.object(estimator, "bootstrap_difference", fewer):
        yield


def mean(high: str = "high", low: str = "low", **changes: Any) -> MeanDifference:
    given: dict[str, Any] = {"margin": 0.6, "claim": "clear", "human": PEOPLE}
    return MeanDifference("score", "demand", high=high, low=low, **(given | changes))


def outcomes(of: Experiment, scores: dict[str, Sequence[int | None]]) -> list[Outcome]:
    result = []
    for condition in of.conditions:
        given = scores.get(condition.id, [])
        trials = plan_of(of, condition.id, len(given))
        for trial, score in zip(trials, given, strict=True):
            reply, missing = (None, "refusal") if score is None else (Score(score=score), None)
            result.append(Outcome(trial, reply, missing, ("refusal",) * (score is None), 1, ()))
    return result


def plan_of(of: Experiment, condition: str, replicates: int) -> list[Any]:
    if not replicates:
        return []
    return [t for t in plan(of, Design(replicates)) if t.condition.id == condition]


def analysis(
    scores: dict[str, Sequence[int | None]], *hypotheses: Any, allocation: Allocation | None = None
) -> Analysis:
    found = outcomes(TINY, scores)
    return analysed(TINY, found, hypotheses or (mean(),), [CONTROL], allocation=allocation)


def analysed(
    of: Experiment,
    found: list[Outcome],
    hypotheses: Sequence[Any] = (),
    controls: Sequence[PositiveControl] = (),
    **given: Any,
) -> Analysis:
    asked: dict[str, Any] = {"hypotheses": hypotheses, "controls": controls}
    return analyse(of, of.design(), "openai/tiny", found, recording=RECORDING, **(asked | given))


SCORES: dict[str, Sequence[int | None]] = {
    "low": [4, 5, 6, 5, 4, 6, 5, None] * 5,
    "high": [8, 9, 7, 8, 9, 7, 8, 8] * 5,
    "none": [5, 5, 4, 6] * 5,
}


@pytest.mark.requirement("ANCHOR-20", "ANCHOR-21", "ANCHOR-22")
def test_all_that_it_gives() -> None:
    found = analysis(SCORES)
    assert (found.trials, found.design, found.replicates) == (100, "gate", 3)
    assert [(c.condition, c.planned, c.ok, dict(c.missing)) for c in found.counts] == [
        ("low", 40, 35, {"refusal": 5}),
        ("high", 40, 40, {}),
        ("none", 20, 20, {}),
    ]
    assert [(n.measure, n.condition) for n in found.numbers] == [
        ("score", "low"),
        ("score", "high"),
        ("score", "none"),
    ]
    low = found.numbers[0]
    assert low.values[:7] == (4, 5, 6, 5, 4, 6, 5)
    assert low.description is not None
    assert (low.description.n, low.description.mean, low.description.median) == (35, 5, 5)
    assert [(c.measure, c.condition, dict(c.counts)) for c in found.categories[:3]] == [
        ("word", "low", {"low": 10, "middle": 25}),
        ("word", "high", {"middle": 40}),
        ("word", "none", {"low": 5, "middle": 15}),
    ]
    assert dict(found.categories[3].counts) == {"no": 25, "yes": 10}
    assert [control.seen for control in found.controls] == [True]
    verdict = found.verdict("score-high-low")
    assert verdict.status == "BIASED"
    assert verdict.p_adjusted == verdict.finding.p_alarm  # type: ignore[union-attr]
    with pytest.raises(KeyError):
        found.verdict("other")


@pytest.mark.requirement("ANCHOR-27")
def test_the_same_every_time() -> None:
    assert dumps(analysis(SCORES)) == dumps(analysis(SCORES))


def test_an_alarm_is_held_against_the_share_its_experiment_has() -> None:
    share = Allocation(share=1 / 6, families=("primary",))
    whole = analysis(SCORES, mean()).verdicts[0]
    found = analysis(SCORES, mean(), allocation=share)
    (verdict,) = found.verdicts
    assert verdict.finding is not None
    assert verdict.p_adjusted == pytest.approx(6 * whole.finding.p_alarm)  # type: ignore[union-attr]
    assert verdict.share == pytest.approx(1 / 6)
    assert whole.share == 1
    assert found.allocation == share
    # A t interval at the level of the alarm: 1 - .05 / 6.
    assert verdict.shown[0].level == pytest.approx(1 - 0.05 / 6)
    low, high = stats.t.interval(
        1 - 0.05 / 6, verdict.finding.df, verdict.finding.estimate, verdict.finding.se
    )
    assert (verdict.shown[0].low, verdict.shown[0].high) == pytest.approx((low, high))


def test_a_hypothesis_without_data_still_counts_in_its_family() -> None:
    found = analysis(SCORES | {"none": [None] * 5}, mean(), mean("high", "none"))
    assert found.verdict("score-high-none").status == "INCONCLUSIVE"
    assert found.verdict("score-high-none").p_adjusted is None
    whole = found.verdict("score-high-low")
    assert whole.p_adjusted == pytest.approx(2 * there(whole.finding).p_alarm)


WHOLE = experiment(
    factors=TINY.factors, measures=[replace(MEASURES[0], complete=True), *MEASURES[1:]]
)


def test_replicates_do_not_decide_a_claim_about_a_population() -> None:
    demand = Factor("demand", {"low": 3, "high": 9})
    of = experiment(factors=[demand], items=items(25), measures=MEASURES[:1])
    found = [
        Outcome(trial, Score(score=4 + number % 3), None, (), 1, ())
        for number, trial in enumerate(plan(of, of.design()))
    ]
    claim = mean(target="population", human=None)
    verdict = analysed(of, found, [claim]).verdict("score-high-low")
    assert (verdict.reason, verdict.replicates, verdict.next_step) == (
        "too few units to clear",
        None,
        "add seeds: replicates only narrow the effect of each, and the claim is about others",
    )


@pytest.mark.parametrize(("cut", "said"), [(1, "CLEAR"), (2, "INCONCLUSIVE")])
def test_of_replies_that_a_limit_ended_no_measure_of_whole_ones_is_cleared(
    cut: int, said: str
) -> None:
    """One in twenty of a condition may be cut off; what differs differs, a control is seen."""
    scores: dict[str, Sequence[int | None]] = {
        name: [score for score in given if score is not None] for name, given in SCORES.items()
    }
    found = outcomes(WHOLE, scores)  # 95 of them
    cut_off = (Exchange(to="subject", finish="length"),)
    found[:cut] = [replace(each, exchanges=cut_off) for each in found[:cut]]
    found[cut] = replace(found[cut], exchanges=cut_off, invalid=("truncated",))  # tried again
    same = mean("low", "none", margin=2.0, family="same")
    given = analysed(WHOLE, found, [mean(), same], [PositiveControl(mean())])
    assert [count.cut for count in given.counts] == [cut, 0, 0]
    assert [control.seen for control in given.controls] == [True]
    assert given.verdict("score-high-low").status == "BIASED"
    verdict = given.verdict("score-low-none")
    assert verdict.status == said
    assert ("the limit on tokens ended 2 of 95 replies" in verdict.reason_text) == (cut == 2)


def numbers_in(value: object) -> list[float]:
    if isinstance(value, dict):
        return [n for item in value.values() for n in numbers_in(item)]
    if isinstance(value, list):
        return [n for item in value for n in numbers_in(item)]
    return [value] if isinstance(value, float) else []


def ps_in(value: object) -> list[object]:
    if isinstance(value, dict):
        own = [item for name, item in value.items() if name == "p" or name.startswith("p_")]
        return own + [p for item in value.values() for p in ps_in(item)]
    if isinstance(value, list):
        return [p for item in value for p in ps_in(item)]
    return []


cells = st.lists(st.none() | st.integers(0, 12), max_size=12) | st.builds(
    lambda value, n, missing: [value] * n + [None] * missing,
    st.integers(0, 12),
    st.integers(0, 150),
    st.integers(0, 9),
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.fixed_dictionaries({"low": cells, "high": cells, "none": cells}))
def test_never_nan_infinity_or_p_0(scores: dict[str, Sequence[int | None]]) -> None:
    found = analysis(scores, mean(), mean("none", "low"), mean("high", "none", claim="detect"))
    text = dumps(found)  # refuses NaN and infinity
    plain = json.loads(text)
    assert "NaN" not in text
    for p in ps_in(plain):
        assert p is None or (isinstance(p, float) and 0 < p <= 1)
    for verdict in found.verdicts:
        few = any(
            sum(score is not None for score in scores[level]) < 5
            for level in verdict.id.removeprefix("score-").split("-")
        )
        if few:
            assert verdict.status == "INCONCLUSIVE"
        if verdict.finding is not None:
            interval = there(verdict.finding.interval)
            assert interval.low <= verdict.finding.estimate <= interval.high
    assert dumps(ADAPTER.validate_json(text)) == text
