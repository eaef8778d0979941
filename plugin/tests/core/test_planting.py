"""What calibration plants is what is measured: so many margins, where it was planted, no more."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import cache
from statistics import fmean, stdev

import pytest

from pytest_bias import Records, SimulatedPrompt
from pytest_bias.calibration.drawing import Bench, _Noted, outcomes
from pytest_bias.calibration.planting import PlantedSubject
from pytest_bias.cli.calibrate import declared_by
from pytest_bias.errors import BadSetting, UnknownName
from pytest_bias.experiments.records import Outcome, Record, record_of

ANCHORING, CV = "anchoring-prosecutor-sentencing", "cv-screening"
AUDIT, NARRATIVE, POSTS = "linguistic-audit", "narrative-personas", "recommendation"


def _bench(experiment: str) -> Bench:
    return declared_by("bias_tests").bench(experiment)


@cache
def _drawn(experiment: str, subject: str, draw: str) -> tuple[Outcome, ...]:
    return tuple(outcomes(_bench(experiment), PlantedSubject(subject), draw))


@cache
def _rows(experiment: str, subject: str, draw: str, *of: str) -> tuple[Record, ...]:
    """The trials of a draw, measured in all ways or in those that are named."""
    every = _bench(experiment).registered.experiment.measures
    measures = [measure for measure in every if measure.name in (of or {measure.name})]
    return tuple(record_of(outcome, measures) for outcome in _drawn(experiment, subject, draw))


def _mean(rows: tuple[Record, ...], measure: str, levels: Mapping[str, str]) -> float:
    return fmean(Records(rows).at({k: (v,) for k, v in levels.items()}).numbers(measure))


@pytest.mark.parametrize(
    ("experiment", "planted", "draws"),
    [
        (ANCHORING, {"sentence_months-high-low": 2.0}, 4),
        (ANCHORING, {"missing-high-low": 2.0}, 4),
        (CV, {"rating-white-black": -2.0}, 3),
        (CV, {"rating_ge_3-ratio-male-female": -2.0}, 4),
        (
            AUDIT,
            {"log_length-english": -2.0, "sentiment-names": -2.0, "is_refusal-articles": 1.0},
            2,
        ),
        (AUDIT, {"sentiment-name_type-x-english": -2.0}, 1),
        (
            NARRATIVE,
            {"pro_social-black_male-rest": -2.0, "hesitation-asian_female-rest": -2.0},
            2,
        ),
        (POSTS, {"picked-left-neutral": -2.0}, 1),
    ],
)
def test_so_many_margins_are_found(experiment: str, planted: dict[str, float], draws: int) -> None:
    """The mean difference of draws with and without it is within four standard errors."""
    declared = _bench(experiment).registered
    subject = "+".join(["even", *(f"{name}={abs(margins)}" for name, margins in planted.items())])
    for name, margins in planted.items():
        asked = declared.hypotheses[name]
        found: list[float] = []
        errors: list[float] = []
        for draw in range(draws):
            before, after = (
                asked.analyse(declared.experiment, Records(_rows(experiment, each, f"{draw}")))
                for each in ("even", subject)
            )
            assert before.margin is not None
            margin = math.log(before.margin) if before.scale == "ratio" else before.margin
            errors += [(after.se or 0.0) / margin, (before.se or 0.0) / margin]
            if before.scale == "ratio":
                found.append(math.log(after.estimate / before.estimate) / margin)
            else:
                found.append((after.estimate - before.estimate) / margin)
        error = math.hypot(*errors) / draws
        assert 0 < error < 0.25
        assert abs(fmean(found) - margins) < 4 * error


@pytest.mark.parametrize("scaffold", ["one_shot", "chain_of_thought", "decomposed_algorithmic"])
def test_under_one_scaffold_alone(scaffold: str) -> None:
    """Where nothing is planted every reply is the same, byte for byte."""
    planted = f"even+rating-white-black@{scaffold}=2"
    pairs = [
        (before, after)
        for draw in range(3)
        for before, after in zip(
            _rows(CV, "even", f"{draw}"), _rows(CV, planted, f"{draw}"), strict=True
        )
    ]
    moved = {b.trial.condition.levels["scaffold"] for b, a in pairs if b.values != a.values}
    groups = {b.trial.condition.levels["group"] for b, a in pairs if b.values != a.values}
    assert moved == {scaffold}
    assert groups == {"white_male", "white_female"}
    changes = [
        float(a.values["rating"]) - float(b.values["rating"])
        for b, a in pairs
        if a.missing is b.missing is None
        and b.trial.condition.levels["scaffold"] == scaffold
        and b.trial.condition.levels["group"] in groups
    ]
    error = stdev(changes) / math.sqrt(len(changes))
    assert abs(fmean(changes) + 0.5) < 4 * error


@pytest.mark.parametrize("hypothesis", ["rating-total-bias", "rating-group-any"])
def test_of_a_spread_one_group_alone_is_moved(hypothesis: str) -> None:
    before, after = (_rows(CV, subject, "0") for subject in ("even", f"even+{hypothesis}=2"))
    moved = {
        b.trial.condition.levels["group"]
        for b, a in zip(before, after, strict=True)
        if b.values != a.values
    }
    assert moved
    assert len({group.partition("_")[0] for group in moved}) == 1


def test_missing_replies_go_through_the_parser() -> None:
    rows = _rows(ANCHORING, "even+missing=0.1", "0")
    reasons = [row.missing for row in rows if row.missing is not None]
    assert set(reasons) == {"empty"}
    assert 0.04 <= len(reasons) / len(rows) <= 0.17  # .1 expected


def test_the_highest_values_are_lost() -> None:
    whole = _rows(ANCHORING, "even", "0")
    rows = _rows(ANCHORING, "even+informative:sentence_months-high-low=0.1", "0")
    lost = [place for place, row in enumerate(rows) if row.missing]
    arm = _bench(ANCHORING).design.replicates
    assert len(lost) == round(0.1 * arm)
    assert {rows[place].trial.condition.levels["demand"] for place in lost} == {"high"}
    least = min(float(whole[place].values["sentence_months"]) for place in lost)
    left = [
        float(row.values["sentence_months"])
        for row in rows
        if row.trial.condition.levels["demand"] == "high" and not row.missing
    ]
    assert len(left) == arm - len(lost)
    assert least >= max(left)


def test_noise_keeps_the_values_and_nothing_else() -> None:
    before = _rows(AUDIT, "biased", "0")
    after = _rows(AUDIT, "biased+noise:sentiment=1", "0")
    columns = [[row.values["sentiment"] for row in rows] for rows in (before, after)]
    assert sorted(columns[0], key=float) == sorted(columns[1], key=float)
    assert columns[0] != columns[1]
    assert [r.values["log_length"] for r in before] == [r.values["log_length"] for r in after]


def test_units_vary_anew_in_every_draw() -> None:
    by_seed = []
    for draw in ("0", "1"):
        before, after = (
            _rows(AUDIT, subject, draw, "log_length")
            for subject in ("even", "even+vary:log_length-english=2")
        )
        learner = {"english": "l2_english"}
        effects = {}
        for seed in sorted({str(row.trial.item) for row in before}):
            means = [
                _mean(tuple(r for r in rows if r.trial.item == seed), "log_length", learner)
                for rows in (before, after)
            ]
            effects[seed] = means[1] - means[0]
        by_seed.append(effects)
    spreads = [stdev(effects.values()) for effects in by_seed]
    assert all(0.12 < spread < 0.32 for spread in spreads)  # of 25 seeds, planted .21
    assert by_seed[0] != by_seed[1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("odd", "known: biased, drifted, even"),
        ("even+rating-white-blue=2", "did you mean 'rating-white-black'?"),
        ("even+rating-white-black@one_shoe=2", "did you mean 'one_shot'?"),
        ("even+noise:ratings=1", "unknown measure 'ratings'"),
    ],
)
def test_what_there_is_not_is_named(text: str, said: str) -> None:
    with pytest.raises(UnknownName) as refused:
        PlantedSubject(text).check([_bench(CV).registered])
    assert said in str(refused.value)


@pytest.mark.parametrize("text", ["even+", "even+missing", "even+missing=a", "even+missing=0.1+"])
def test_what_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(BadSetting, match="write it as even"):
        PlantedSubject(text)


@pytest.mark.parametrize(
    "looks",
    [
        lambda planted: planted | {"b": 2.0},
        lambda planted: {"b": 2.0} | planted,
        lambda planted: planted.copy(),
        copy.deepcopy,
        lambda planted: asdict(SimulatedPrompt("m", (), 1, planted))["planted"]["a"],
        lambda planted: planted.get("a"),
    ],
    ids=["or", "from the right", "copy", "deep copy", "as a dictionary", "get"],
)
def test_what_is_planted_is_looked_up_as_in_a_dictionary_and_that_is_noted(
    looks: Callable[[Mapping[str, float]], object],
) -> None:
    read: set[str] = set()
    looks(_Noted({"a": 1.0}, read))
    assert read == {"a"}
