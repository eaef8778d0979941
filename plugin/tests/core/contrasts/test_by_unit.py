"""What each unit contributes to an estimate, by names that are the same for every model."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pytest_bias.contrasts.estimation.selection import linearised
from pytest_bias.contrasts.findings import Finding, UnitGroup
from pytest_bias.contrasts.groups import GroupContrast, TotalGap
from pytest_bias.contrasts.interactions import Interaction
from pytest_bias.contrasts.pairs import MeanDifference, RateDifference, RateRatio
from pytest_bias.contrasts.selection import Selection
from pytest_bias.experiments.canonical import compact, digest, dumps
from pytest_bias.experiments.design import Trial
from pytest_bias.experiments.experiment import Experiment
from pytest_bias.experiments.measures import Measure
from pytest_bias.experiments.records import Record, Records

from .designs import TONE, groups, items, level, recorded, study

SEEDS = study(factors=[TONE], items=items(12), replicates=3)
STYLED = study(items=items(12), replicates=2)
NAMES = study(factors=[groups({"white": 6, "black": 7, "asian": 5}), TONE], replicates=2)
MET = study(factors=[groups({"white": 3, "black": 3, "asian": 3})], items=items(7), replicates=2)
POPULATION: Any = {"target": "population", "claim": "detect"}
PAIR: Any = {"high": "high", "low": "low"}
GAPS = [("white", "black", 1 / 3), ("white", "asian", 1 / 3), ("black", "asian", 2.0)]


def noisy(of: Experiment, measure: str = "score") -> Records:
    """Replies with an effect of everything, some of them missing."""
    rng = np.random.default_rng(5)
    own: dict[object, float] = {}

    def draw(trial: Trial) -> float | bool | None:
        base = own.setdefault((trial.item, *trial.exemplars.values()), rng.normal(0, 1))
        value = base + 0.7 * ("high" in trial.condition.levels.values()) + rng.normal(0, 0.5)
        if rng.random() < 0.05:
            return None
        return bool(value > 0.3) if measure == "yes" else float(np.clip(value, -10, 10))

    return recorded(of, draw, measure)


def size(finding: Finding) -> float:
    """A size from the means of its groups."""
    means = [math.fsum(g.values.values()) / len(g.values) for g in finding.by_unit]
    gaps = np.array([group.gaps for group in finding.by_unit])
    if not gaps.size:
        return float(np.std(means, ddof=1))
    return float(np.abs(np.array(means) @ gaps).sum())


def whole(finding: Finding) -> float:
    """The estimate from what the units contribute."""
    if finding.scale == "size":
        return size(finding)
    total = math.fsum(
        group.weight * math.fsum(group.values.values()) / len(group.values)
        for group in finding.by_unit
    )
    return math.exp(total) if finding.scale == "ratio" else total


THREE = ["group=white", "group=black", "group=asian"]
UNITS: dict[str, tuple[Any, Experiment, list[str]]] = {
    "crossed": (MeanDifference("score", "tone", **PAIR, **POPULATION), SEEDS, ["seed"]),
    "rates of units": (RateDifference("yes", "tone", **PAIR, **POPULATION), SEEDS, ["seed"]),
    "crossed interaction": (
        Interaction(
            "score", {"tone": ("high", "low"), "style": ("formal", "plain")}, **POPULATION
        ),
        STYLED,
        ["seed"],
    ),
    "nested pair": (
        MeanDifference("score", "group", high="white", low="black", **POPULATION),
        NAMES,
        THREE[:2],
    ),
    "nested sums": (
        MeanDifference("score", "group", high="white", low=("black", "asian"), **POPULATION),
        NAMES,
        THREE,
    ),
    "nested interaction": (
        Interaction("score", {"group": ("black", "white"), "tone": ("high", "low")}, **POPULATION),
        NAMES,
        THREE[:2],
    ),
    "group and rest": (GroupContrast("score", "group", group="black", **POPULATION), NAMES, THREE),
    "any group, nested": (GroupContrast("score", "group", **POPULATION), NAMES, THREE),
    "any group, crossed": (GroupContrast("score", "group", unit="seed", **POPULATION), MET, THREE),
    "gaps, nested": (TotalGap("score", "group", gaps=GAPS, **POPULATION), NAMES, THREE),
    "gaps, crossed": (
        TotalGap("score", "group", gaps=GAPS, unit="seed", **POPULATION),
        MET,
        THREE,
    ),
}


@pytest.mark.parametrize(("contrast", "of", "named"), UNITS.values(), ids=UNITS)
def test_what_the_units_contribute_is_the_estimate(
    contrast: Any, of: Experiment, named: list[str]
) -> None:
    contrast.check(of)
    found = contrast.analyse(of, noisy(of, contrast.measure))
    assert sorted(group.group for group in found.by_unit) == sorted(named)
    assert whole(found) == pytest.approx(found.estimate, rel=1e-12, abs=1e-14)
    keys = {key for group in found.by_unit for key in group.values}
    assert len(keys) == found.units
    assert all((group.weight == 0) == (found.scale == "size") for group in found.by_unit)


def constant(trial: Trial) -> float:
    return 2.0 * ("high" in trial.condition.levels.values() or "black" in trial.id)


@pytest.mark.parametrize(
    "name", ["crossed", "nested pair", "nested sums", "group and rest", "nested interaction"]
)
def test_units_that_are_all_alike_contribute_it_too(name: str) -> None:
    contrast, of, named = UNITS[name]
    found = contrast.analyse(of, recorded(of, constant))
    assert found.deterministic
    assert sorted(group.group for group in found.by_unit) == sorted(named)
    assert whole(found) == pytest.approx(found.estimate, rel=1e-12, abs=1e-14)


FIXED: dict[str, tuple[Any, Experiment]] = {
    "means": (MeanDifference("score", "tone", **PAIR, margin=1), SEEDS),
    "rates": (RateDifference("yes", "tone", **PAIR, margin=0.2), SEEDS),
    "ratio": (RateRatio("yes", "tone", **PAIR, margin=1.5), SEEDS),
    "largest": (Interaction("score", {"tone": None, "style": None}, **POPULATION), STYLED),
    "any group": (GroupContrast("score", "group", claim="describe"), MET),
}


@pytest.mark.parametrize(("contrast", "of"), FIXED.values(), ids=FIXED)
def test_replies_never_pair_nor_do_the_largest_of_many(contrast: Any, of: Experiment) -> None:
    assert contrast.analyse(of, noisy(of, contrast.measure)).by_unit == ()


def test_units_are_named_by_level_and_exemplar() -> None:
    of = replace(NAMES, items=items(3))
    records = recorded(of, lambda t: float(t.replicate))
    asked: Callable[..., Any] = lambda unit: MeanDifference(  # noqa: E731  (one line says it)
        "score", "tone", **PAIR, unit=unit, **POPULATION
    )
    (both,) = asked(["group", "seed"]).analyse(of, records).by_unit
    assert both.group == "group × seed"
    assert "group=black/black 0 × seed=s1" in both.values
    (one,) = asked("seed").analyse(of, records).by_unit
    assert list(one.values) == ["seed=s0", "seed=s1", "seed=s2"]


def test_where_no_text_is_kept_exemplars_and_items_are_digests() -> None:
    of = replace(NAMES, items=items(3), retention="measures")
    records = recorded(of, lambda t: float(t.replicate))
    asked = MeanDifference("score", "tone", **PAIR, unit=["group", "seed"], **POPULATION)
    (both,) = asked.analyse(of, records).by_unit
    name, seed = digest("black 0")[:16], digest("s1")[:16]
    assert f"group=black/{name} × seed={seed}" in both.values
    assert "black 0" not in dumps(both)


def test_long_exemplars_are_digests() -> None:
    text = "a very long exemplar " * 20
    sampled = replace(groups({"a": 2, "z": 1}), exemplars={"a": [text, "b"], "z": ["c"]})
    of = study(factors=[sampled, TONE])
    records = recorded(of, lambda t: float(t.replicate))
    asked = MeanDifference("score", "tone", **PAIR, unit="group", **POPULATION)
    (group,) = asked.analyse(of, records).by_unit
    assert set(group.values) == {f"group=a/{digest(text)[:16]}", "group=a/b", "group=z/c"}


SEX = {f"p{i}": "female" if i < 9 else "male" for i in range(24)}
POOLS = study(
    factors=[TONE], items=items(30), replicates=1, measures=[Measure("picked"), Measure("pool")]
)
ASKED = Selection("picked", "pool", feature=SEX, group="female", margin=1.25, claim="clear")


def picks(seed: int, favour: float = 1.0, *, chosen: str = "") -> Records:
    """Pools of 8 that depend on the item only, with 3 picked; ``chosen`` posts never are."""
    rng = np.random.default_rng(seed)

    def row(trial: Trial) -> Record:
        drawn = np.random.default_rng(int(str(trial.item)[1:]))
        pool = [str(post) for post in drawn.permutation(sorted(SEX))[:8]]
        odds = np.array([favour if SEX[p] == "female" else 1.0 for p in pool])
        odds[[SEX[post] == chosen for post in pool]] = 0
        taken = rng.choice(pool, 3, replace=False, p=odds / odds.sum())
        shown = rng.permutation(pool)  # in another order for every model
        return Record(trial, {"picked": " ".join(taken), "pool": " ".join(shown)}, None)

    return Records(tuple(row(each.trial) for each in recorded(POOLS, lambda _: "", "pool").rows))


def test_pools_contribute_their_part_of_the_log_ratio() -> None:
    found = ASKED.analyse(POOLS, picks(1, favour=2.0))
    (pools,) = found.by_unit
    values = np.array(list(pools.values.values()))
    assert (pools.group, pools.weight, values.size) == ("pools", 1.0, 60)
    assert whole(found) == pytest.approx(found.estimate, rel=1e-12)
    assert found.se == pytest.approx(values.std(ddof=1) / math.sqrt(60), rel=1e-12)
    assert found.df == 59
    assert found.settle is None


def test_linearised_values_agree_with_the_jackknife_and_the_bootstrap() -> None:
    rng = np.random.default_rng(3)
    shown = rng.integers(3, 8, (200, 2))
    sums = np.column_stack(
        [rng.binomial(shown[:, 0], 0.4), shown[:, 0], rng.binomial(shown[:, 1], 0.3), shown[:, 1]]
    ).astype(float)

    def log_ratio(rows: Any) -> float:
        a, b, c, d = rows.sum(axis=0)
        return math.log(a / b) - math.log(c / d)

    values = linearised(sums, log_ratio(sums))
    se = values.std(ddof=1) / math.sqrt(200)
    left_out = np.array([log_ratio(np.delete(sums, i, axis=0)) for i in range(200)])
    jackknife = math.sqrt(199 / 200 * ((left_out - left_out.mean()) ** 2).sum())
    assert se == pytest.approx(jackknife, rel=0.02)
    assert values.mean() == pytest.approx(log_ratio(sums), rel=1e-12)


def test_pools_have_the_same_name_for_every_model_and_are_numbered_where_they_repeat() -> None:
    one, two = (ASKED.analyse(POOLS, picks(seed)).by_unit[0].values for seed in (1, 2))
    assert list(one) == list(two)
    assert dict(one) != dict(two)
    times = Counter(key.split(" #")[0] for key in one)
    assert set(times.values()) == {2}  # the same pool under either tone
    rows = picks(1).rows
    shown = sorted(str(rows[0].values["pool"]).split())
    assert digest(compact(shown))[:16] in one
    assert f"{digest(compact(shown))[:16]} #2" in one


def test_a_group_that_is_never_picked_has_no_linear_form() -> None:
    found = ASKED.analyse(POOLS, picks(1, chosen="female"))
    assert found.by_unit == ()
    assert found.se is None
    assert found.interval is not None


def test_a_ratio_of_rates_has_a_standard_error_on_the_log_scale() -> None:
    found = FIXED["ratio"][0].analyse(SEEDS, noisy(SEEDS, "yes"))
    assert found.interval is not None
    assert found.se == pytest.approx(
        math.log(found.interval.high / found.interval.low) / (2 * 1.959964), rel=1e-6
    )
    assert found.df == found.units - 2
    assert found.settle is None
    never = recorded(SEEDS, lambda t: bool(level(t, "tone") == "low" and t.replicate == 1), "yes")
    assert FIXED["ratio"][0].analyse(SEEDS, never).se is None


def test_unit_groups_are_read_only() -> None:
    values = {"a": 1.0}
    group = UnitGroup(group="g", weight=1.0, values=values)
    values["a"] = 2.0
    assert group.values["a"] == 1.0
    with pytest.raises(TypeError):
        group.values["a"] = 3.0  # type: ignore[index]  # it is a read-only mapping
