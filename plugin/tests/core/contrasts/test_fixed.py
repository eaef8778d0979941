from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.contrasts.estimation.cells import Grid, Weights, pairwise
from pytest_bias.contrasts.estimation.fixed import fixed_contrast
from pytest_bias.contrasts.estimation.units import crossed_contrast
from pytest_bias.contrasts.findings import Finding
from pytest_bias.contrasts.pairs import MeanDifference
from pytest_bias.errors import TooFewUnits
from pytest_bias.experiments.design import Trial
from pytest_bias.experiments.measures import Measure
from pytest_bias.experiments.records import Records

from ...helpers import there
from .designs import (
    STYLE,
    TONE,
    Floats,
    asked,
    at,
    cell,
    fewer_weightings,
    grid,
    groups,
    items,
    level,
    recorded,
    study,
)

SEEDS = ["s0", "s1", "s2"]
STYLES = list(STYLE.levels)
OF = study(items=items(3), replicates=8)


def uneven() -> Records:
    """Every factor has an effect, and replies are missing mostly where the mean is highest."""
    rng = np.random.default_rng(4)

    def draw(trial: Trial) -> float | None:
        high, formal = level(trial, "tone") == "high", level(trial, "style") == "formal"
        if rng.random() < (0.5 if high and formal else 0.1):
            return None
        shift = 0.6 * high + 3.0 * formal + 0.5 * int(str(trial.item)[1:])
        return float(np.clip(rng.normal(shift, 0.5 + formal), -10, 10))

    return recorded(OF, draw)


RECORDS = uneven()


def by_hand(plus: list[Floats], minus: list[Floats]) -> tuple[float, float, float]:
    """Estimate, standard error and df of mean(plus cells) − mean(minus cells), reply by reply."""
    estimate = sum(c.mean() for c in plus) / len(plus) - sum(c.mean() for c in minus) / len(minus)
    terms = [
        (np.sum((c - c.mean()) ** 2) / (c.size - 1) / c.size / len(side) ** 2, c.size - 1)
        for side in (plus, minus)
        for c in side
    ]
    total = sum(v for v, _ in terms)
    df = total**2 / sum(v**2 / (nu + 2) for v, nu in terms) - 2
    return float(estimate), math.sqrt(total), df


def agrees(found: Finding, hand: tuple[float, float, float], margin: float) -> None:
    estimate, se, df = hand
    assert found.estimate == pytest.approx(estimate, rel=1e-12)
    assert found.se == pytest.approx(se, rel=1e-9)
    assert found.df == pytest.approx(df, rel=1e-9)
    assert found.interval is not None
    half = stats.t.ppf(0.975, df) * se
    assert found.interval.low == pytest.approx(estimate - half, rel=1e-9)
    assert found.interval.high == pytest.approx(estimate + half, rel=1e-9)
    clear = max(
        stats.t.sf((estimate + margin) / se, df), stats.t.cdf((estimate - margin) / se, df)
    )
    assert there(found.equivalence).p == pytest.approx(clear, rel=1e-9)
    # Where replies are skewed within their cells, clearing needs more than the t tests.
    assert there(found.p_clear) >= clear * (1 - 1e-9)


def cells(tone: str, seeds: list[str] = SEEDS, styles: list[str] = STYLES) -> list[Floats]:
    return [at(RECORDS, tone=tone, seed=s, style=f) for f, s in product(styles, seeds)]


def test_cells_count_alike_however_many_replies_they_have() -> None:
    found = asked().analyse(OF, RECORDS)
    agrees(found, by_hand(cells("high"), cells("low")), 0.5)
    pooled = at(RECORDS, tone="high").mean() - at(RECORDS, tone="low").mean()
    assert abs(found.estimate - pooled) > 0.3  # the missing replies confound the pooled means
    assert found.p_alarm == pytest.approx(
        2 * stats.t.sf(abs(found.estimate / there(found.se)), found.df)
    )
    assert (str(found.unit_name), found.null, found.bootstrap) == ("replies", "zero", None)
    assert found.units == found.replies == at(RECORDS).size
    assert [arm.mean for arm in found.arms] == pytest.approx(
        [np.mean([c.mean() for c in cells(tone)]) for tone in ("high", "low")]
    )
    assert [arm.units for arm in found.arms] == [
        at(RECORDS, tone=tone).size for tone in ("high", "low")
    ]


def test_a_question_is_confined_to_some_levels() -> None:
    found = asked(at={"style": "plain", "seed": ["s0", "s2"]}).analyse(OF, RECORDS)
    sides = [cells(tone, ["s0", "s2"], ["plain"]) for tone in ("high", "low")]
    agrees(found, by_hand(*sides), 0.5)
    assert found.units == sum(c.size for side in sides for c in side)


def test_items_are_compared_like_levels() -> None:
    found = asked(factor="seed", high="s2", low=("s0", "s1"), called=("last", "first two"))
    finding = found.analyse(OF, RECORDS)
    sides = [
        [at(RECORDS, tone=t, style=f, seed=s) for t, f, s in product(TONE.levels, STYLES, names)]
        for names in (["s2"], ["s0", "s1"])
    ]
    agrees(finding, by_hand(*sides), 0.5)
    assert finding.contrast == "last − first two"
    assert [arm.level for arm in finding.arms] == ["last", "first two"]
    assert found.id == "score-s2-s0+s1"
    assert asked(factor="seed", high="s2", low=("s0", "s1"), name="order").id == "score-order"


NAMED = study(factors=[groups({"white": 3, "black": 3, "asian": 2}), TONE], replicates=6)


def of_names(shift: float, seed: int) -> Records:
    rng = np.random.default_rng(seed)
    return recorded(
        NAMED, lambda t: float(rng.normal(shift * (level(t, "group") == "white"), 0.6))
    )


def between(**changes: object) -> MeanDifference:
    return asked(factor="group", high="white", low=("black", "asian"), **changes)


def test_exemplars_are_cells_of_a_fixed_set() -> None:
    records = of_names(0.4, 1)
    found = between().analyse(NAMED, records)
    sides = [
        [
            at(records, group=group, who=who, tone=tone)
            for group in chosen
            for who in NAMED.factor("group").exemplars[group]
            for tone in TONE.levels
        ]
        for chosen in (["white"], ["black"], ["asian"])
    ]
    means = [[c.mean() for c in side] for side in sides]
    estimate = np.mean(means[0]) - (np.mean(means[1]) + np.mean(means[2])) / 2
    share = [1 / len(sides[0]), 1 / 2 / len(sides[1]), 1 / 2 / len(sides[2])]
    squares = sum(
        w**2 * c.var(ddof=1) / c.size for w, side in zip(share, sides, strict=True) for c in side
    )
    assert found.estimate == pytest.approx(estimate, rel=1e-12)
    assert found.se == pytest.approx(math.sqrt(squares), rel=1e-9)
    assert found.null == "margin"


def test_between_sets_of_names_an_alarm_is_an_interval_beyond_the_margin() -> None:
    alarms = set()
    for seed in range(12):
        found = between().analyse(NAMED, of_names(0.5 + 0.06 * seed, seed))
        beyond = max(abs(found.estimate) - 0.5, 0) / there(found.se)
        p = min(1.0, 2 * stats.t.sf(beyond, there(found.df)))
        assert found.p_alarm == pytest.approx(p, rel=1e-9)
        assert found.beyond(found.interval) == (found.p_alarm <= 0.05)
        alarms.add(found.p_alarm <= 0.05)
    assert alarms == {True, False}


@pytest.mark.parametrize(
    ("changes", "null"),
    [({}, "margin"), ({"null": "zero"}, "zero"), ({"margin": None, "claim": "detect"}, "zero")],
    ids=str,
)
def test_which_null_names_have(changes: dict[str, object], null: str) -> None:
    found = between(**changes).analyse(NAMED, of_names(0.2, 3))
    assert found.null == null
    if null == "zero":
        p = 2 * stats.t.sf(abs(found.estimate) / there(found.se), found.df)
        assert found.p_alarm == pytest.approx(p, rel=1e-9)


def test_without_any_replicates_there_is_no_variance_within_cells() -> None:
    of = study(replicates=1)
    records = recorded(of, lambda t: float(level(t, "tone") == "high"))
    with pytest.raises(TooFewUnits):
        asked().analyse(of, records)


def of_levels(*replies: list[list[float]]) -> tuple[Grid, Weights]:
    """One level against all others, each with its replies seed by seed."""
    names = [f"g{number}" for number in range(len(replies))]
    cells = (
        cell(each, g=name, seed=f"s{seed}")
        for name, of_seeds in zip(names, replies, strict=True)
        for seed, each in enumerate(of_seeds)
    )
    return grid(cells), pairwise("g", names[:1], names[1:])


RARE = [[3.0] * 57 + [12.0] * 3]
ONE_A_SEED = [
    [[3.0] * 7 + [12.0 if seed % 6 == level else 3.0] for seed in range(12)] for level in range(5)
]


@pytest.mark.parametrize(
    ("replies", "unit"),
    [
        ([[[3.0] * 60], *[RARE] * 5], []),
        ([[[3.0] * 12], [[3.0] * 55 + [12.0] * 5]], []),
        ([[[3.0] * 8] * 12, *ONE_A_SEED], ["seed"]),
    ],
    ids=["one level against five", "12 replies against 60", "within 12 units"],
)
def test_a_side_too_small_to_show_rare_replies_differs_from_none(
    replies: list[list[list[float]]], unit: list[str]
) -> None:
    """Its lack of them is no lack of spread: of identical levels that is what is seen often."""
    of, weights = of_levels(*replies)
    found = (
        crossed_contrast(of, weights, unit, margin=None)
        if unit
        else fixed_contrast(of, weights, margin=None, null="zero")
    )
    assert there(found.interval).excludes(0)
    assert found.p_alarm > 0.05
    assert "label permutation" in found.method


FAR = Measure("score", bounds=(0, 12))


def against_two(margin: float) -> MeanDifference:
    return MeanDifference("score", "group", high="w", low=["b", "a"], margin=margin)


def test_identical_replies_of_a_large_level_do_not_vouch_for_those_of_a_small_one() -> None:
    """Levels of a side weigh alike: 3 exemplars against 12 are as good as 3 against 3."""
    found = []
    for sizes in ({"w": 12, "b": 3, "a": 12}, {"w": 12, "b": 3, "a": 3}):
        of = study(factors=[groups(sizes)], measures=[FAR], replicates=6)
        found.append(against_two(0.6).analyse(of, recorded(of, lambda _: 0.0)))
    assert [each.fewest for each in found] == [36, 36]
    assert found[0].p_clear == found[1].p_clear


def test_at_the_margin_rare_replies_of_a_small_level_clear_seldom() -> None:
    """One reply in twenty of a level with five exemplars is at the far end; .15 were cleared."""
    sizes = {"w": 20, "b": 5, "a": 20}
    of = study(factors=[groups(sizes)], measures=[FAR], replicates=8)
    hypothesis = against_two(0.3)
    rng = np.random.default_rng(7)
    cleared = []
    with fewer_weightings():
        for _ in range(100):
            drawn = recorded(
                of, lambda t: 12.0 * (level(t, "group") == "b" and rng.random() < 0.05)
            )
            cleared.append((hypothesis.analyse(of, drawn).p_clear or 0) <= 0.05)
    assert np.mean(cleared) <= 0.05


def test_rare_replies_that_a_level_has_more_of_are_found() -> None:
    """However far the levels that it is held against lie apart themselves."""
    apart = [[[low] * 57 + [12.0] * 3] for low in (0.0, 6.0)]
    of, weights = of_levels([[3.0] * 45 + [12.0] * 15], *[RARE] * 3, *apart)
    assert fixed_contrast(of, weights, margin=None, null="zero").p_alarm < 0.001


def test_replies_missing_unequally_over_strata_hide_no_difference() -> None:
    """Temperature 0: one side is a minute above the other in each of four strata far apart."""
    cells = (
        cell(
            np.full(5 if (tone, low) in {("polite", 11.0), ("curt", 0.0)} else 6, low + by),
            tone=tone,
            egg=f"e{low}",
        )
        for tone, by in (("polite", 1.0), ("curt", 0.0))
        for low in (0.0, 1.0, 2.0, 11.0)
    )
    by_tone = pairwise("tone", ["polite"], ["curt"])
    found = fixed_contrast(grid(cells), by_tone, margin=0.25, null="zero")
    assert found.estimate == pytest.approx(1)
    assert found.p_alarm < 0.001
