"""Findings of every kind of contrast for any data, and what must change them how.

Data at the edge come to named outcomes, and never to NaN, an infinity or p = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bias.contrasts.differences import MeanDifference, RateDifference, RateRatio
from pytest_bias.contrasts.estimate import Estimate
from pytest_bias.contrasts.groups import GroupContrast, Interaction, TotalGap
from pytest_bias.contrasts.selection import Selection
from pytest_bias.errors import NoFinding
from pytest_bias.experiments.design import Factor, Items, Trial
from pytest_bias.experiments.experiment import Experiment, plan
from pytest_bias.experiments.measures import Measure, MeasureValue
from pytest_bias.experiments.records import Record, Records
from pytest_bias.verdicts.decide import decide
from pytest_bias.verdicts.verdict import Reason, Verdict

from ...helpers import fewer
from ..factories import experiment
from ..stats.reference import assert_sound

Value = Callable[[Trial], MeasureValue | None]
Hypothesis = (
    MeanDifference
    | RateDifference
    | RateRatio
    | GroupContrast
    | Interaction
    | TotalGap
    | Selection
)
Case = tuple[Experiment, Hypothesis]

NUMBERS = [Measure("score", bounds=(0, 10))]
FLAGS = [Measure("score", kind="flag")]
TWO = Factor("group", {"a": 1, "b": 9})
THREE = Factor("group", {"a": 1, "b": 2, "c": 3})
NAMED = Factor(
    "group", {"a": 1, "b": 2, "c": 3}, exemplars={g: [f"{g}{i}" for i in range(5)] for g in "abc"}
)
STYLE = Factor("style", {"x": 1, "y": 2})
PAIRS = {"group": ("b", "a"), "style": ("y", "x")}
GAPS = [("a", "b", 1.0), ("b", "c", 0.5)]


def seeds(n: int) -> Items:
    return Items("seed", {f"s{i}": i for i in range(n)})


def design(*factors: Factor, measures: Sequence[Measure] = NUMBERS, **given: Any) -> Experiment:
    return experiment(factors=factors, measures=measures, **given)


def records_of(of: Experiment, value: Value) -> Records:
    """Every planned trial with its value; None is a refusal."""
    rows = []
    for trial in plan(of, of.design()):
        found = value(trial)
        values = {} if found is None else {"score": found}
        rows.append(Record(trial, values, "refusal" if found is None else None))
    return Records(tuple(rows))


def judged(found: Estimate | NoFinding) -> Verdict:
    """The decision on a finding that is a family by itself."""
    asked = Verdict(id="h", experiment="e", model="m", claim="clear", finding=None)
    if isinstance(found, NoFinding):
        asked = replace(asked, against={Reason.NO_ESTIMATE: str(found)})
    else:
        asked = replace(asked, finding=found)
    return decide([asked], scale=1.0)["h"]


def mean_difference(**changes: Any) -> MeanDifference:
    given: dict[str, Any] = {"high": "b", "low": "a", "margin": 0.6, "claim": "clear"}
    return MeanDifference("score", "group", **(given | changes))


def rate_difference(**changes: Any) -> RateDifference:
    given: dict[str, Any] = {"high": "b", "low": "a", "margin": 0.1, "claim": "clear"}
    return RateDifference("score", "group", **(given | changes))


def cases(measures: Sequence[Measure]) -> dict[str, Case]:
    """Every kind of hypothesis in small designs, for numbers or for flags."""
    rates = measures is FLAGS
    pair: Callable[..., Hypothesis] = rate_difference if rates else mean_difference
    group: dict[str, Any] = {"published": None}
    one = group | {"group": "b", "margin": 0.2, "claim": "clear"}
    whole = group | {"claim": "detect"}
    two = design(TWO, measures=measures, replicates=12)
    few = design(TWO, measures=measures, replicates=6)
    strata = design(TWO, STYLE, measures=measures, replicates=6)
    sown = design(TWO, measures=measures, items=seeds(11), replicates=2)
    threefold = design(THREE, measures=measures, replicates=6)
    three_sown = design(THREE, measures=measures, items=seeds(11), replicates=1)
    nested = design(NAMED, measures=measures, replicates=2)
    crossed = design(TWO, STYLE, measures=measures, items=seeds(9), replicates=1)
    profiles = design(NAMED, STYLE, measures=measures, replicates=1)
    of_pairs: dict[str, Any] = {"margin": 0.5, "claim": "detect"}
    of_all: dict[str, Any] = {"group": None, "style": None}
    population: dict[str, Any] = {"target": "population"}
    found: dict[str, Case] = {
        "two cells": (two, pair()),
        "two small cells": (few, pair()),
        "two cells without a margin": (few, pair(margin=None, claim="detect")),
        "strata": (strata, pair()),
        "items, fixed": (sown, pair()),
        "items": (sown, pair(target="population")),
        "exemplars, fixed": (nested, pair()),
        "exemplars": (nested, pair(target="population")),
        "several exemplars": (nested, pair(high=["b", "c"], target="population")),
        "several levels, fixed": (threefold, pair(high=["b", "c"])),
        "a group": (threefold, GroupContrast("score", "group", **one)),
        "a group over items": (three_sown, GroupContrast("score", "group", **one, **population)),
        "a group of exemplars": (nested, GroupContrast("score", "group", **one, **population)),
        "any group": (threefold, GroupContrast("score", "group", **whole)),
        "any group over items": (
            three_sown,
            GroupContrast("score", "group", **whole, **population),
        ),
        "any group of exemplars": (nested, GroupContrast("score", "group", **whole, **population)),
        "interaction": (strata, Interaction("score", PAIRS, **of_pairs)),
        "interaction over items": (crossed, Interaction("score", PAIRS, **of_pairs, **population)),
        "interaction of exemplars": (
            profiles,
            Interaction("score", PAIRS, **of_pairs, **population),
        ),
        "largest interaction": (strata, Interaction("score", of_all, claim="detect")),
        "largest interaction over items": (
            crossed,
            Interaction("score", of_all, claim="detect", **population),
        ),
        "largest interaction of exemplars": (
            profiles,
            Interaction("score", of_all, claim="detect", **population),
        ),
        "gaps": (threefold, TotalGap("score", "group", gaps=GAPS, claim="detect")),
        "gaps over items": (
            three_sown,
            TotalGap("score", "group", gaps=GAPS, claim="detect", **population),
        ),
    }
    if rates:
        ratio = RateRatio("score", "group", high="b", low="a", margin=1.25, claim="clear")
        found |= {"ratio": (two, ratio), "ratio in strata": (strata, ratio)}
    return found


NUMERIC = cases(NUMBERS)
RATES = cases(FLAGS)
EVERY: dict[str, Case] = {
    **{f"numbers, {name}": case for name, case in NUMERIC.items()},
    **{f"flags, {name}": case for name, case in RATES.items()},
}
SIDED = [n for n, (_, h) in EVERY.items() if isinstance(h, MeanDifference | RateDifference)]
JUDGEABLE = [n for n, (_, h) in EVERY.items() if h.margin is not None]
KINDS = ("constant", "by group", "nearly constant", "outlier", "anything", "one group constant")
GONE = ("none", "one", "some", "all but five", "a group", "a cell", "all")


def odd_numbers(kind: str, rng: np.random.Generator) -> Callable[[int, Trial], float]:
    level, other = (float(value) for value in rng.integers(0, 11, 2))
    jitter = 10.0 ** -int(rng.integers(6, 16))
    outlier = int(rng.integers(12))

    def value(number: int, trial: Trial) -> float:
        group = trial.condition.levels["group"]
        drawn = float(np.clip(rng.normal(5, 2), 0, 10))
        if kind == "nearly constant":
            return min(level + jitter * (number % 3), 10.0)
        if kind == "outlier":
            return other if number == outlier else level
        if kind == "anything" or (kind == "one group constant" and group != "a"):
            return drawn
        return other if kind == "by group" and group == "b" else level

    return value


def odd_records(
    of: Experiment, kind: str, gone: str, seed: int, take: Callable[[float], MeasureValue] = float
) -> Records:
    """Replies of an odd kind, some of them gone."""
    rng = np.random.default_rng(seed)
    number = odd_numbers(kind, rng)
    places = {id_: i for i, id_ in enumerate(t.id for t in plan(of, of.design()))}
    kept = set(rng.choice(len(places), 5, replace=False).tolist())

    def value(trial: Trial) -> MeasureValue | None:
        place = places[trial.id]
        lost = {
            "none": False,
            "one": place == seed % len(places),
            "some": bool(rng.random() < 0.2),
            "all but five": place not in kept,
            "a group": trial.condition.levels["group"] == "b",
            "a cell": trial.condition == of.conditions[-1],
            "all": True,
        }[gone]
        found = number(place, trial)
        return None if lost else take(found)

    return records_of(of, value)


odd = given(st.sampled_from(KINDS), st.sampled_from(GONE), st.integers(0, 10_000))


@pytest.mark.parametrize("name", EVERY)
@fewer(5)
@odd
def test_odd_data_give_a_sound_finding_or_none(name: str, kind: str, gone: str, seed: int) -> None:
    of, hypothesis = EVERY[name]
    take: Callable[[float], MeasureValue] = (lambda v: v > 4) if "flags" in name else float
    sound_or_none(of, hypothesis, odd_records(of, kind, gone, seed, take))


def sound_or_none(of: Experiment, hypothesis: Hypothesis, rows: Records) -> None:
    """A sound finding with a verdict, or an INCONCLUSIVE one that says why there is none."""
    found: Estimate | NoFinding
    try:
        found = hypothesis.analyse(of, rows)
    except NoFinding as none:
        found = none
    assert_sound(found)
    verdict = judged(found)
    if isinstance(found, NoFinding):
        assert (verdict.status, verdict.reason) == ("INCONCLUSIVE", Reason.NO_ESTIMATE)
        assert verdict.detail == str(found)
    else:
        assert found.interval is None or not found.interval.excludes(found.estimate)
        assert found.fewest >= 5 or verdict.status == "INCONCLUSIVE"


KIND_OF_POST = {f"i{j}": ("f" if j % 3 == 0 else "m") for j in range(12)}
POOLS = design(
    STYLE, measures=[Measure("recommended"), Measure("pool")], replicates=8
)  # sixteen pools
SELECTION = Selection(
    "recommended", "pool", feature=KIND_OF_POST, group="f", margin=1.25, claim="clear"
)


def pools_of(choose: Callable[[int], tuple[Sequence[str], Sequence[str]] | None]) -> Records:
    """A row per planned pool: the posts shown, and those recommended; None is a refusal."""
    rows = []
    for number, trial in enumerate(plan(POOLS, POOLS.design())):
        found = choose(number)
        if found is None:
            rows.append(Record(trial, {}, "refusal"))
        else:
            shown, taken = found
            values = {"pool": " ".join(shown), "recommended": " ".join(taken)}
            rows.append(Record(trial, values, None))
    return Records(tuple(rows))


def any_pools(rng: np.random.Generator, gone: float = 0.0, taken: int = 2) -> Records:
    def choose(_: int) -> tuple[Sequence[str], Sequence[str]] | None:
        shown = rng.choice(list(KIND_OF_POST), 6, replace=False).tolist()
        return None if rng.random() < gone else (shown, shown[:taken])

    return pools_of(choose)


@fewer(3)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.1, 0.5, 1.0]), st.integers(0, 6))
def test_odd_selections_give_a_sound_finding_or_none(seed: int, gone: float, taken: int) -> None:
    rng = np.random.default_rng(seed)
    sound_or_none(POOLS, SELECTION, any_pools(rng, gone, taken))


# --- what must not change a finding, and what must change it in a known way ----------------------

draws = st.integers(0, 10_000)
few = fewer(5)


def drawn(
    of: Experiment, seed: int, *, effect: float = 0.0, flags: bool = False, gone: float = 0.0
) -> Records:
    """Replies of every trial on a grid of eighths from 0 to 10, or events; some are missing."""
    rng = np.random.default_rng(seed)

    def value(trial: Trial) -> MeasureValue | None:
        shift = effect * (trial.condition.levels["group"] == "b")
        number = float(np.clip(round(8 * rng.normal(5 + shift, 1)), 0, 80)) / 8
        if rng.random() < gone:
            return None
        return number > 5 if flags else number

    return records_of(of, value)


def rows_of(name: str, seed: int, **given: Any) -> Records:
    return drawn(EVERY[name][0], seed, flags=name.startswith("flags"), **given)


def numbers(found: Estimate, *, sign: int = 1, unit: float = 1.0) -> list[float]:
    """Estimate, interval and p-values of a finding, of the other sign or in another unit."""
    ends = [] if found.interval is None else [found.interval.low, found.interval.high]
    scaled = sorted(sign * end / unit for end in ends)
    p_clear = [] if found.p_clear is None else [found.p_clear]
    return [sign * found.estimate / unit, *scaled, found.p_alarm, *p_clear]


def close(found: Sequence[float | None]) -> object:
    return pytest.approx(found, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", SIDED)
@few
@given(seed=draws, effect=st.sampled_from([0.0, 1.0, 4.0]))
def test_swapping_the_sides_negates(name: str, seed: int, effect: float) -> None:
    of, hypothesis = EVERY[name]
    assert isinstance(hypothesis, MeanDifference | RateDifference)
    rows = rows_of(name, seed, effect=effect)
    swapped = replace(hypothesis, high=hypothesis.low, low=hypothesis.high)
    back = swapped.analyse(of, rows)
    assert numbers(back, sign=-1) == close(numbers(hypothesis.analyse(of, rows)))


@pytest.mark.parametrize("name", EVERY)
@few
@given(seed=draws, effect=st.sampled_from([0.0, 3.0]))
def test_the_order_of_rows_does_not_matter(name: str, seed: int, effect: float) -> None:
    of, hypothesis = EVERY[name]
    rows = rows_of(name, seed, effect=effect)
    order = np.random.default_rng(seed).permutation(len(rows.rows)).tolist()
    found = hypothesis.analyse(of, rows)
    other = hypothesis.analyse(of, Records(tuple(rows.rows[i] for i in order)))
    assert numbers(other) == close(numbers(found))


@pytest.mark.parametrize("name", [*JUDGEABLE, "selection"])
@few
@given(seed=draws, small=st.booleans())
def test_a_larger_margin_never_clears_less(name: str, seed: int, *, small: bool) -> None:
    of, hypothesis = EVERY.get(name, (POOLS, SELECTION))
    rows = any_pools(np.random.default_rng(seed)) if of is POOLS else rows_of(name, seed)
    least = 0.1 if small else 0.3
    start = 1.0 if isinstance(hypothesis, RateRatio | Selection) else 0.0
    found = [
        replace(hypothesis, margin=start + least * times).analyse(of, rows)
        for times in (1, 1.5, 3)
    ]
    p = [one.p_clear for one in found if one.p_clear is not None]
    assert len(p) == 3
    assert p == sorted(p, reverse=True)
    alarms = [one.p_alarm for one in found]
    assert alarms == sorted(alarms)
    clear = [judged(one).status == "CLEAR" for one in found]
    assert clear == sorted(clear)
