from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, permutations, product
from typing import Literal

import numpy as np
import pytest
from pytest_bias.contrasts.estimation.groups import any_group

from pytest_bias.contrasts.groups import GroupContrast
from pytest_bias.contrasts.pairs import MeanDifference, RateDifference
from pytest_bias.errors import TooFewUnits
from pytest_bias.experiments.design import Trial
from pytest_bias.experiments.experiment import Experiment
from pytest_bias.experiments.records import Records
from pytest_bias.stats.anova import welch_one_way_p

from ...helpers import there
from .designs import TONE, Floats, at, cell, grid, groups, items, level, recorded, study

G = ("white", "black", "asian")


def normal(of: Experiment, seed: int, shift: float = 0.0, missing: float = 0.0) -> Records:
    """Replies around their exemplar's own level; the first group is shifted."""
    rng = np.random.default_rng(seed)
    own: dict[object, float] = {}

    def draw(trial: Trial) -> float | None:
        base = own.setdefault((trial.item, *trial.exemplars.values()), rng.normal(0, 0.5))
        if rng.random() < missing:
            return None
        value = base + shift * (level(trial, "group") == "white") + rng.normal(0, 0.5)
        return float(np.clip(value, -10, 10))

    return recorded(of, draw)


def contrast(group: str | None, **changes: object) -> GroupContrast:
    given: dict[str, object] = {"claim": "detect", "target": "population"}
    return GroupContrast("score", "group", group=group, **(given | changes))  # type: ignore[arg-type]  # by name


def divisions(n: int) -> Iterator[list[list[int]]]:
    """Every way to give three groups of ``n`` to 3n units."""
    everyone = set(range(3 * n))
    for first in combinations(sorted(everyone), n):
        rest = sorted(everyone - set(first))
        for second in combinations(rest, n):
            yield [list(first), list(second), sorted(set(rest) - set(second))]


def exemplar_means(of: Experiment, records: Records) -> list[list[float]]:
    return [
        [
            float(np.mean([at(records, who=who, tone=tone).mean() for tone in TONE.levels]))
            for who in of.factor("group").exemplars[group]
        ]
        for group in G
    ]


def t_against_rest(parts: Sequence[Floats], which: int) -> float:
    means = [part.mean() for part in parts]
    rest = [mean for i, mean in enumerate(means) if i != which]
    shares = [1 if i == which else 1 / len(rest) for i in range(len(parts))]
    se = np.sqrt(
        sum(s**2 * part.var(ddof=1) / len(part) for s, part in zip(shares, parts, strict=True))
    )
    return float((means[which] - np.mean(rest)) / se)


SMALL = study(factors=[groups(dict.fromkeys(G, 3)), TONE], replicates=2)


@pytest.mark.parametrize("seed", range(3))
def test_a_group_is_judged_by_all_divisions_of_the_exemplars(seed: int) -> None:
    records = normal(SMALL, seed, shift=0.5)
    values = np.concatenate([np.array(part) for part in exemplar_means(SMALL, records)])
    null = np.array(
        [
            [t_against_rest([values[part] for part in parts], i) for i in range(3)]
            for parts in divisions(3)
        ]
    )
    observed = null[0]
    assert len(null) == 1680
    largest = np.abs(null).max(axis=1)
    for i, group in enumerate(G):
        found = contrast(group).analyse(SMALL, records)
        assert found.p_alarm == pytest.approx(
            np.mean(np.abs(null[:, i]) >= abs(observed[i]) - 1e-9)
        )
        joint = np.mean(largest >= abs(observed[i]) - 1e-9)
        assert found.extras["p (max-T over groups)"] == pytest.approx(joint)
        assert found.estimate / (found.se or 0) == pytest.approx(observed[i], rel=1e-9)
        assert "exact" in found.method


def test_any_group_is_judged_by_all_divisions_too() -> None:
    records = normal(SMALL, 5, shift=0.8)
    values = np.concatenate([np.array(part) for part in exemplar_means(SMALL, records)])

    def between(parts: list[list[int]]) -> float:
        return float(sum(3 * values[part].mean() ** 2 for part in parts))

    null = np.array([between(parts) for parts in divisions(3)])
    found = contrast(None).analyse(SMALL, records)
    divided = np.mean(null >= null[0] - 1e-9)
    own = welch_one_way_p(exemplar_means(SMALL, records))
    assert found.p_alarm == pytest.approx(max(divided, own))
    means = [np.mean(part) for part in exemplar_means(SMALL, records)]
    assert found.estimate == pytest.approx(np.std(means, ddof=1))
    assert (found.contrast, found.quantity) == ("any group", "spread of groups")
    assert (found.interval, found.p_clear, found.settle) == (None, None, None)
    assert len(found.arms) == 3


def test_clearing_takes_the_own_variance_of_every_group() -> None:
    of = study(factors=[groups(dict.fromkeys(G, 10)), TONE], replicates=2)
    records = normal(of, 2)
    parts = [np.array(part) for part in exemplar_means(of, records)]
    found = contrast("black", margin=0.8, claim="clear").analyse(of, records)
    terms = np.array([part.var(ddof=1) for part in parts]) / 10
    terms *= [1 if group == "black" else 1 / 4 for group in G]
    assert found.df == pytest.approx(terms.sum() ** 2 / (terms**2 / 9).sum())
    assert found.se == pytest.approx(np.sqrt(terms.sum()))
    assert there(found.p_clear) < 0.05
    few = normal(SMALL, 2)
    assert contrast("black", margin=5, claim="clear").analyse(SMALL, few).p_clear == 1.0


def test_any_group_within_units_exchanges_their_means() -> None:
    of = study(factors=[groups(dict.fromkeys(G, 2)), TONE], items=items(3), replicates=2)
    records = normal(of, 4, shift=0.6)
    found = contrast(None, unit="seed").analyse(of, records)
    table = np.array(
        [
            [
                np.mean(
                    [
                        at(records, seed=f"s{i}", who=who, tone=tone).mean()
                        for who in of.factor("group").exemplars[group]
                        for tone in TONE.levels
                    ]
                )
                for group in G
            ]
            for i in range(3)
        ]
    )
    null = [
        np.var(
            [[row[j] for j in order] for row, order in zip(table, orders, strict=True)], axis=None
        )
        and sum(
            np.mean([row[order[k]] for row, order in zip(table, orders, strict=True)]) ** 2
            for k in range(3)
        )
        for orders in product(permutations(range(3)), repeat=3)
    ]
    centred = np.array(null) - 3 * table.mean() ** 2
    assert found.p_alarm == pytest.approx(np.mean(centred >= centred[0] - 1e-9))
    assert (found.units, str(found.unit_name)) == (3, "seed")
    assert found.estimate == pytest.approx(np.std(table.mean(axis=0), ddof=1))


def test_any_group_leaves_out_units_that_miss_one_and_says_so() -> None:
    of = study(factors=[groups(dict.fromkeys(G, 2)), TONE], items=items(7), replicates=1)
    rng = np.random.default_rng(0)
    records = recorded(
        of, lambda t: None if (t.item, t.exemplars["group"]) == ("s1", "black 0") else rng.normal()
    )
    found = contrast(None, unit="seed").analyse(of, records)
    assert (found.units, found.fewest) == (6, 6)
    assert any("1 seed left out" in note for note in found.notes)


def test_a_group_against_the_rest_within_units() -> None:
    of = study(factors=[groups(dict.fromkeys(G, 2)), TONE], items=items(12), replicates=2)
    records = normal(of, 6, shift=0.2)
    found = contrast("white", unit="seed", margin=0.5).analyse(of, records)
    d = [
        at(records, seed=f"s{i}", group="white").mean()
        - np.mean([at(records, seed=f"s{i}", group=g).mean() for g in G[1:]])
        for i in range(12)
    ]
    assert found.estimate == pytest.approx(np.mean(d), rel=1e-9)
    assert found.se == pytest.approx(np.std(d, ddof=1) / np.sqrt(12), rel=1e-9)


def test_in_a_fixed_set_every_cell_counts_alike() -> None:
    of = study(factors=[groups({"white": 2, "black": 3, "asian": 4}), TONE], replicates=9)
    records = normal(of, 3, shift=0.7, missing=0.2)
    found = contrast("white", target="fixed", margin=2, claim="clear").analyse(of, records)
    sides = {
        group: [
            at(records, who=who, tone=tone)
            for who in of.factor("group").exemplars[group]
            for tone in TONE.levels
        ]
        for group in G
    }
    means = {group: np.mean([c.mean() for c in cells]) for group, cells in sides.items()}
    assert found.estimate == pytest.approx(
        means["white"] - (means["black"] + means["asian"]) / 2, rel=1e-12
    )
    squares = sum(
        (share / len(sides[g])) ** 2 * c.var(ddof=1) / c.size
        for g, share in zip(G, (1, 0.5, 0.5), strict=True)
        for c in sides[g]
    )
    assert found.se == pytest.approx(np.sqrt(squares), rel=1e-9)
    assert found.null == "margin"
    assert [arm.level for arm in found.arms] == ["white", "rest"]


@pytest.mark.parametrize("target", ["fixed", "population"])
def test_a_group_that_alarms_is_no_measure_of_the_others(
    target: Literal["fixed", "population"],
) -> None:
    of = study(factors=[groups(dict.fromkeys(G, 12)), TONE], replicates=4)
    records = normal(of, 6, shift=3.0)
    shifted, one, other = G
    given = {"target": target, "margin": 1.2, "claim": "clear"}
    found = {group: contrast(group, **given).analyse(of, records) for group in G}
    means = {group: arm.mean for group, each in found.items() for arm in each.arms[:1]}
    assert found[shifted].contrast == f"{shifted} − rest"
    assert found[shifted].estimate == pytest.approx(
        means[shifted] - (means[one] + means[other]) / 2
    )
    assert found[shifted].notes == ()
    for group, rest in ((one, other), (other, one)):
        assert found[group].contrast == f"{group} − rest without {shifted}"
        assert found[group].estimate == pytest.approx(means[group] - means[rest])
        assert found[group].notes == ("rest: the 1 of 2 that do not alarm themselves",)
        assert (found[group].p_clear or 1) <= 0.05
        published = contrast(group, target=target, margin=50).analyse(of, records).published
        assert found[group].published == published  # it compares with all others


def test_rates_of_a_fixed_set_are_score_statistics() -> None:
    of = study(factors=[groups(dict.fromkeys(G, 2)), TONE], replicates=20)
    rng = np.random.default_rng(1)
    records = recorded(of, lambda _: bool(rng.random() < 0.4), "yes")
    one = GroupContrast("yes", "group", group="asian", margin=0.2, claim="clear")
    pair = RateDifference("yes", "group", high="asian", low=("white", "black"), margin=0.2)
    found, expected = one.analyse(of, records), pair.analyse(of, records)
    assert (found.estimate, found.p_alarm, found.p_clear, found.interval) == (
        expected.estimate,
        expected.p_alarm,
        expected.p_clear,
        expected.interval,
    )


def test_any_level_of_a_fixed_factor() -> None:
    """Three items, each a level: labels of replies are exchanged within tones."""
    of = study(factors=[TONE], items=items(3), replicates=2)
    records = recorded(of, lambda t: float(int(str(t.item)[1:]) == 2) + 0.01 * t.replicate)
    found = GroupContrast("score", "seed", claim="detect").analyse(of, records)
    # Of 90 divisions within each tone: 3 items can be the odd one, 6 divide the others.
    assert found.p_alarm == pytest.approx(3 * 6**2 / 90**2)


def test_each_is_one_hypothesis_a_group() -> None:
    asked = GroupContrast.each(
        "score",
        "group",
        over=[{"group": name} for name in G],
        among=G,
        margin=0.5,
        claim="clear",
        family="names",
    )
    assert [one.id for one in asked] == [f"score-{group}-rest" for group in G]
    assert {(one.family, one.margin, one.claim, one.among) for one in asked} == {
        ("names", 0.5, "clear", G)
    }
    records = normal(SMALL, 1)
    assert sum(one.analyse(SMALL, records).estimate for one in asked) == pytest.approx(0, abs=1e-9)


def test_each_of_a_mapping_is_named_by_its_keys() -> None:
    named = MeanDifference.each(
        "score",
        "group",
        over={"a-b": {"high": "asian", "low": "black"}, "a-w": {"high": "asian", "low": "white"}},
        margin=0.5,
        family="pairs",
    )
    assert [one.id for one in named] == ["score-a-b", "score-a-w"]
    assert [one.low for one in named] == ["black", "white"]
    assert {(one.margin, one.family) for one in named} == {(0.5, "pairs")}
    with pytest.raises(TypeError, match="hihg"):
        MeanDifference.each("score", "group", over=[{"hihg": "asian", "low": "black"}])


def test_only_those_among_the_groups_count() -> None:
    records = normal(SMALL, 1)
    found = contrast("white", among=("white", "black")).analyse(SMALL, records)
    pair = MeanDifference("score", "group", high="white", low="black", target="population")
    assert found.estimate == pytest.approx(pair.analyse(SMALL, records).estimate)
    assert found.units == 6


@pytest.mark.parametrize(
    "lost",
    [
        lambda t: level(t, "group") == "black",
        lambda t: t.exemplars["group"] != "black 0" and level(t, "group") == "black",
    ],
    ids=["no reply", "one exemplar left"],
)
def test_a_group_with_too_few_exemplars_is_named(lost: Callable[[Trial], bool]) -> None:
    rng = np.random.default_rng(0)
    records = recorded(SMALL, lambda t: None if lost(t) else float(rng.normal()))
    with pytest.raises(TooFewUnits, match="group=black"):
        contrast("white", among=("white", "black")).analyse(SMALL, records)


def test_a_few_exemplars_that_vary_more_are_no_group_that_differs() -> None:
    spread = {"a": [-0.7, 0.1, 1.0, 1.3, 1.1, 0.8]}
    spread |= dict.fromkeys("bc", [-0.4, -0.2, 0.0, 0.1, 0.2, 0.3] * 4)
    cells = (
        cell([value], f"{name}{place}", group=name)
        for name, values in spread.items()
        for place, value in enumerate(values)
    )
    found = any_group(grid(cells, bounds=None), "group", "abc", ["group"])
    assert found.p_alarm > 0.05
