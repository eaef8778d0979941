from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from pytest_bias.contrasts.estimation.interactions import Table, largest_interaction
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.contrasts.interactions import Interaction
from pytest_bias.errors import BadDesign
from pytest_bias.experiments.design import Factor, Trial
from pytest_bias.experiments.experiment import Experiment
from pytest_bias.experiments.records import Records

from ...helpers import there
from .designs import TONE, Floats, at, cell, grid, groups, items, level, recorded, study

PAIRS = {"tone": ("high", "low"), "style": ("formal", "plain")}
SIGN = {("high", "formal"): 1, ("low", "plain"): 1, ("high", "plain"): -1, ("low", "formal"): -1}


def asked(**changes: object) -> Interaction:
    given: dict[str, object] = {"margin": 0.6, "claim": "clear"}
    factors = changes.pop("factors", PAIRS)
    return Interaction("score", factors, **(given | changes))  # type: ignore[arg-type]  # by name


def main_effects(of: Experiment, seed: int, planted: float = 0.0, missing: float = 0.0) -> Records:
    """Effects of both factors and of the unit, none of them in combination but the planted one."""
    rng = np.random.default_rng(seed)
    own: dict[object, float] = {}

    def draw(trial: Trial) -> float | None:
        labels = trial.condition.levels.values()
        base = own.setdefault((trial.item, *trial.exemplars.values()), rng.normal(0, 1))
        if rng.random() < missing:
            return None
        value = base + 0.8 * ("high" in labels) - 0.5 * ("formal" in labels)
        value += planted * ("high" in labels and ("formal" in labels or "black" in labels))
        return float(np.clip(value + rng.normal(0, 0.4), -10, 10))

    return recorded(of, draw)


def test_in_a_fixed_set_it_is_the_difference_of_differences() -> None:
    of = study(items=items(2), replicates=9)
    records = main_effects(of, 1, planted=0.5, missing=0.15)
    found = asked().analyse(of, records)
    cells = [
        (sign / 2, at(records, tone=tone, style=style, seed=seed))
        for (tone, style), sign in SIGN.items()
        for seed in ("s0", "s1")
    ]
    estimate = sum(w * c.mean() for w, c in cells)
    squares = sum(w**2 * c.var(ddof=1) / c.size for w, c in cells)
    assert found.estimate == pytest.approx(estimate, rel=1e-12)
    assert found.se == pytest.approx(np.sqrt(squares), rel=1e-9)
    assert found.p_alarm == pytest.approx(
        2 * stats.t.sf(abs(estimate) / np.sqrt(squares), found.df), rel=1e-9
    )
    assert found.contrast == "(high − low) at formal − at plain"
    assert [arm.level for arm in found.arms] == [
        "high × formal",
        "high × plain",
        "low × formal",
        "low × plain",
    ]
    assert sum(arm.units for arm in found.arms) == found.units


def double(records: Records, **unit: str) -> float:
    return sum(
        sign * float(at(records, tone=tone, style=style, **unit).mean())
        for (tone, style), sign in SIGN.items()
    )


def test_items_that_meet_all_four_are_units() -> None:
    of = study(items=items(14), replicates=2)
    records = main_effects(of, 2, planted=0.4)
    found = asked(target="population").analyse(of, records)
    d = [double(records, seed=f"s{i}") for i in range(14)]
    expected = stats.ttest_1samp(d, 0)
    assert found.estimate == pytest.approx(np.mean(d), rel=1e-9)
    assert found.p_alarm == pytest.approx(expected.pvalue, rel=1e-9)
    assert str(found.unit_name) == "seed"


def test_exemplars_are_compared_by_their_own_differences() -> None:
    of = study(factors=[groups({"white": 11, "black": 12}), TONE], replicates=2)
    records = main_effects(of, 3, planted=0.4)
    found = asked(
        factors={"group": ("black", "white"), "tone": ("high", "low")}, target="population"
    ).analyse(of, records)
    slopes = {
        group: [
            at(records, who=who, tone="high").mean() - at(records, who=who, tone="low").mean()
            for who in of.factor("group").exemplars[group]
        ]
        for group in ("black", "white")
    }
    expected = stats.ttest_ind(slopes["black"], slopes["white"], equal_var=False)
    interval = expected.confidence_interval()
    assert found.estimate == pytest.approx(
        np.mean(slopes["black"]) - np.mean(slopes["white"]), rel=1e-9
    )
    assert found.p_alarm == pytest.approx(expected.pvalue, rel=1e-9)
    assert there(found.interval).low == pytest.approx(interval.low, rel=1e-9)
    assert (str(found.unit_name), found.fewest) == ("exemplars of group", 11)


def test_identical_exemplars_hide_no_more_than_the_scale_allows() -> None:
    of = study(factors=[groups({"white": 11, "black": 12}), TONE], replicates=2)
    records = recorded(of, lambda t: float(level(t, "tone") == "high"))
    found = asked(
        factors={"group": ("black", "white"), "tone": ("high", "low")},
        target="population",
        margin=8.0,
    ).analyse(of, records)
    assert found.deterministic
    # A difference of two differences: either may be anything from -20 to 20, width 40.
    assert found.p_clear == pytest.approx((1 - 8 / 40) ** 11)


TONES = Factor("tone", {"low": 1, "middle": 2, "high": 3})
G = ("white", "black", "asian", "hispanic")
ALL = {"tone": None, "group": None}


def departures(table: Floats) -> Floats:
    """Each combination's mean less what its row and column do on their own."""
    rows, columns = table.mean(axis=1, keepdims=True), table.mean(axis=0, keepdims=True)
    return np.asarray(table - rows - columns + table.mean())


def largest(of: Experiment, records: Records, **changes: object) -> tuple[object, Floats, Floats]:
    """The finding, and of each combination the estimate and adjusted p that it tells."""
    found = asked(factors=ALL, margin=None, claim="detect", **changes).analyse(of, records)
    told = [
        str(found.extras[f"{tone} × {group}"]).split(", p ")
        for tone, group in product(TONES.levels, G)
    ]
    return found, np.array([float(e) for e, _ in told]), np.array([float(p[2:]) for _, p in told])


TARGETS = {
    "fixed": (study(factors=[TONES, Factor("group", {g: g for g in G})], replicates=7), {}),
    "crossed": (
        study(factors=[TONES, Factor("group", {g: g for g in G})], items=items(9), replicates=1),
        {"target": "population"},
    ),
    "nested": (
        study(factors=[TONES, groups(dict.fromkeys(G, 6))], replicates=2),
        {"target": "population"},
    ),
}


@pytest.mark.requirement("NARR-26", "NARR-27")
@pytest.mark.parametrize("target", TARGETS)
def test_what_each_combination_does_beyond_its_levels(target: str) -> None:
    of, changes = TARGETS[target]
    records = main_effects(of, 4, planted=1.2)
    found, estimates, adjusted = largest(of, records, **changes)
    table = np.array(
        [[at(records, tone=tone, group=group).mean() for group in G] for tone in TONES.levels]
    )
    assert estimates == pytest.approx(departures(table).ravel(), abs=0.00051)
    assert found.estimate == pytest.approx(departures(table)[2, 1], rel=1e-9)  # type: ignore[attr-defined]
    assert found.extras["clearest at"] == "high × black"  # type: ignore[attr-defined]
    assert found.p_alarm <= 0.05  # type: ignore[attr-defined]
    assert found.p_alarm == pytest.approx(adjusted.min(), abs=0.00006)  # type: ignore[attr-defined]


def test_adjusted_for_looking_at_all_no_p_is_smaller() -> None:
    of, _ = TARGETS["fixed"]
    records = main_effects(of, 6)
    _, estimates, adjusted = largest(of, records)
    cells = [[at(records, tone=t, group=g) for g in G] for t in TONES.levels]
    weights = [
        np.outer(np.eye(3)[i] - 1 / 3, np.eye(4)[j] - 1 / 4) for i in range(3) for j in range(4)
    ]
    variances = np.array([[c.var(ddof=1) / c.size for c in row] for row in cells])
    ses = np.sqrt([(w**2 * variances).sum() for w in weights])
    df = sum(c.size - 1 for row in cells for c in row)
    alone = 2 * stats.t.sf(np.abs(estimates) / ses, df)
    assert (adjusted >= alone - 0.002).all()
    assert (adjusted <= np.minimum(1, 12 * alone) + 0.01).all()  # Bonferroni bounds it above
    crossed, changes = TARGETS["crossed"]
    records = main_effects(crossed, 6)
    _, _, adjusted = largest(crossed, records, **changes)
    rows = np.array(
        [
            departures(
                np.array(
                    [
                        [at(records, tone=t, group=g, seed=f"s{i}").mean() for g in G]
                        for t in TONES.levels
                    ]
                )
            ).ravel()
            for i in range(9)
        ]
    )
    signs = np.array(list(product((1, -1), repeat=9)))
    scaled = rows / np.sqrt((rows**2).sum(axis=0))
    null = np.abs(signs @ scaled)
    single = (null >= null[0] - 1e-9).mean(axis=0)
    joint = (null.max(axis=1)[:, None] >= null[0] - 1e-9).mean(axis=0)
    assert (adjusted >= single - 0.00006).all()
    assert adjusted == pytest.approx(joint, abs=0.00006)


@pytest.mark.parametrize("target", TARGETS)
def test_main_effects_alone_are_no_interaction(target: str) -> None:
    """15 runs; more than 4 alarms at .05 come in 1 of 1,600 such series."""
    of, changes = TARGETS[target]
    alarms = 0
    for seed in range(15):
        question = asked(factors=ALL, margin=None, claim="detect", **changes)
        alarms += question.analyse(of, main_effects(of, 100 + seed)).p_alarm <= 0.05
    assert alarms <= 4


def test_sides_are_called_what_their_author_calls_them() -> None:
    of = study(items=items(12))
    records = main_effects(of, 3)
    called = {"tone": ("Loud", "Soft")}
    found = asked(called=called).analyse(of, records)
    assert found.contrast == "(Loud − Soft) at formal − at plain"
    assert found.arms[0].level == "Loud × formal"
    with pytest.raises(BadDesign, match="called='seed' names no two sides"):
        asked(called={"seed": ("a", "b")}).check(of)


def test_the_largest_has_no_more_degrees_of_freedom_than_its_own_cells_leave() -> None:
    """All contrasts of two by two levels are one and the same, whose p Welch's method has."""
    table = Table(("x", "y"), (("a", "b"), ("c", "d")))
    rng = np.random.default_rng(2)
    values = {
        place: rng.normal(6 * (place == ("a", "c")), 2.0 if place == ("a", "c") else 0.1, 5)
        for place in table.places
    }
    cells = (cell(each, x=x, y=y) for (x, y), each in values.items())
    found = largest_interaction(grid(cells, bounds=None), table, None)
    variances = np.array([each.var(ddof=1) / 5 for each in values.values()])
    t = 4 * found.estimate / math.sqrt(variances.sum())
    df = variances.sum() ** 2 / (variances**2 / 4).sum()
    assert found.p_alarm == pytest.approx(2 * stats.t.sf(abs(t), df), rel=0.1)
