"""Total gaps, and the largest of several contrasts: by hand, and at their margins."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.contrasts.findings import ALPHA
from pytest_bias.contrasts.groups import GroupContrast, TotalGap
from pytest_bias.contrasts.interactions import Interaction
from pytest_bias.errors import BadDesign
from pytest_bias.experiments.design import Factor, Trial
from pytest_bias.experiments.experiment import Experiment
from pytest_bias.experiments.measures import Measure
from pytest_bias.experiments.records import Records

from ...helpers import there
from .designs import STYLE, Floats, at, groups, items, level, recorded, study

PEOPLE = [f"{race}_{sex}" for race in ("white", "black", "asian") for sex in ("male", "female")]
RACE = {race: (f"{race}_male", f"{race}_female") for race in ("white", "black", "asian")}
MEN, WOMEN = tuple(PEOPLE[::2]), tuple(PEOPLE[1::2])
GAPS = [
    (RACE["white"], RACE["black"], 1 / 3),
    (RACE["white"], RACE["asian"], 1 / 3),
    (RACE["black"], RACE["asian"], 1 / 3),
    (MEN, WOMEN, 1.0),
]
WHO = Factor("person", {person: person for person in PEOPLE})


def total(means: Floats) -> float:
    """The published score: the mean of three racial gaps, and the one of gender."""
    white, black, asian = means[:2].mean(), means[2:4].mean(), means[4:].mean()
    race = (abs(white - black) + abs(white - asian) + abs(black - asian)) / 3
    return float(race + abs(means[::2].mean() - means[1::2].mean()))


def asked(**changes: object) -> TotalGap:
    given: dict[str, object] = {"gaps": GAPS, "claim": "detect"}
    return TotalGap("score", "person", **(given | changes))  # type: ignore[arg-type]  # by name


def rated(of: Experiment, seed: int, white: float = 0.0) -> Records:
    rng = np.random.default_rng(seed)

    def draw(trial: Trial) -> float:
        shift = white * level(trial, "person").startswith("white")
        return float(2 + int(str(trial.item)[1:]) + shift + rng.normal(0, 0.5))

    return recorded(of, draw)


def by_item(of: Experiment, records: Records) -> Floats:
    return np.array(
        [[at(records, seed=i, person=p).mean() for p in PEOPLE] for i in there(of.items).items]
    )


def test_the_total_is_the_documented_one_beside_what_chance_makes_of_it() -> None:
    of = study(factors=[WHO], items=items(3), replicates=4)
    records = rated(of, 1, white=0.1)
    found = asked().analyse(of, records)
    means = by_item(of, records).mean(axis=0)
    assert found.estimate == pytest.approx(total(means), rel=1e-9)
    assert found.published is not None
    assert found.published.statistics["total"] == pytest.approx(found.estimate)
    gap = found.published.statistics["(white_male + white_female) − (black_male + black_female)"]
    assert gap == pytest.approx(means[:2].mean() - means[2:4].mean())
    rng = np.random.default_rng(2)
    replies = np.array(
        [np.concatenate([at(records, seed=f"s{i}", person=p) for p in PEOPLE]) for i in range(3)]
    )
    null = []
    for _ in range(4_000):
        shuffled = rng.permuted(replies, axis=1).reshape(3, 6, 4)
        null.append(total(shuffled.mean(axis=(0, 2))))
    share, error = np.mean(np.array(null) >= found.estimate), 0.5 / np.sqrt(4_000)
    assert abs(found.p_alarm - share) < 4 * error * np.sqrt(1.4)
    spread = np.std(null) / np.sqrt(4_000)
    assert abs(float(found.extras["mean without any difference"]) - np.mean(null)) < 5 * spread
    assert float(found.extras["its 95th centile"]) == pytest.approx(
        np.quantile(null, 0.95), rel=0.05
    )
    assert found.method.endswith("one-sided")
    assert (found.interval, found.margin, found.settle) == (None, None, None)


def test_only_a_large_total_counts() -> None:
    of = study(factors=[WHO], items=items(3), replicates=4)
    same = recorded(of, lambda t: float(t.replicate))
    assert asked().analyse(of, same).p_alarm == 1.0
    assert asked().analyse(of, rated(of, 1, white=2)).p_alarm < 0.001


def test_of_a_population_each_unit_has_one_value_a_level() -> None:
    """However many replies agree within a unit: they may all follow what is peculiar to it."""
    one = study(factors=[WHO], items=items(8), replicates=1)
    many = study(
        factors=[WHO, Factor("way", {"a": 1, "b": 2, "c": 3})], items=items(8), replicates=4
    )
    rng = np.random.default_rng(5)
    peculiar = {(f"s{i}", p): float(rng.normal()) for i in range(8) for p in PEOPLE}
    few, all_ = (
        asked(target="population", unit="seed").analyse(
            of, recorded(of, lambda t: peculiar[str(t.item), level(t, "person")])
        )
        for of in (one, many)
    )
    assert all_.estimate == pytest.approx(few.estimate, rel=1e-9)
    assert all_.p_alarm == pytest.approx(few.p_alarm, abs=1e-12)
    assert (all_.units, all_.fewest, str(all_.unit_name)) == (8, 8, "seed")


def test_exemplars_of_what_is_compared_are_exchanged() -> None:
    sizes = {"white": 6, "black": 6, "asian": 6}
    of = study(factors=[groups(sizes)], replicates=2)
    rng = np.random.default_rng(6)
    records = recorded(of, lambda t: float(rng.normal(0.9 * (level(t, "group") == "white"), 0.5)))
    question = TotalGap(
        "score",
        "group",
        gaps=[("white", "black", 1), ("white", "asian", 1)],
        claim="detect",
        target="population",
    )
    question.check(of)
    found = question.analyse(of, records)
    means = np.array(
        [[at(records, who=who).mean() for who in of.factor("group").exemplars[g]] for g in sizes]
    )

    def score(table: Floats) -> float:
        white, black, asian = table.mean(axis=1)
        return float(abs(white - black) + abs(white - asian))

    assert found.estimate == pytest.approx(score(means), rel=1e-9)
    assert str(found.unit_name) == "exemplars of group"
    null = [score(rng.permutation(means.ravel()).reshape(3, 6)) for _ in range(4_000)]
    share = np.mean(np.array(null) >= found.estimate)
    assert abs(found.p_alarm - share) < 4 * np.sqrt(0.02 / 2_800) + 0.001


def test_a_unit_that_misses_a_level_is_left_out() -> None:
    of = study(factors=[WHO], items=items(8), replicates=1)
    rng = np.random.default_rng(7)
    records = recorded(
        of, lambda t: None if t.item == "s3" and level(t, "person") == PEOPLE[2] else rng.normal()
    )
    found = asked(target="population", unit="seed").analyse(of, records)
    assert found.units == 7
    assert any("1 seed left out" in note for note in found.notes)


ONE_OF_FOUR = Factor("person", {name: name for name in ("a", "b", "c", "d")})
SCORE = Measure("score", unit="points", bounds=(-3, 3))
OF = study(factors=[ONE_OF_FOUR, STYLE], measures=[SCORE], replicates=16)
ONE, TWO = (("a", "b"), ("c", "d")), (("a", "c"), ("b", "d"))
MARGIN = 0.4

ASKED: dict[str, Any] = {
    "group": GroupContrast("score", "person", margin=MARGIN, claim="detect", null="margin"),
    "interaction": Interaction(
        "score", {"person": None, "style": None}, margin=MARGIN, claim="detect", null="margin"
    ),
    "total": TotalGap(
        "score",
        "person",
        gaps=[(*ONE, 1.0), (*TWO, 0.5)],
        margin=MARGIN,
        claim="detect",
        null="margin",
    ),
}

AT_MARGIN: dict[str, dict[str, list[float]]] = {
    "group": {
        "one": [MARGIN, -MARGIN / 3, -MARGIN / 3, -MARGIN / 3],
        "two": [MARGIN, -MARGIN, 0, 0],
    },
    "interaction": {
        "one": [MARGIN, -MARGIN / 3, -MARGIN / 3, -MARGIN / 3],
        "two": [MARGIN, -MARGIN, 0, 0],
    },
    "total": {
        "one": [MARGIN / 2, MARGIN / 2, -MARGIN / 2, -MARGIN / 2],
        "both": [MARGIN / 1.5, 0, 0, -MARGIN / 1.5],
    },
}
"""Means of the four (of an interaction opposite in the two styles); the largest is the margin."""


def drawn(kind: str, means: list[float], seed: int, lost: float = 0.0) -> Records:
    rng = np.random.default_rng(seed)

    def draw(trial: Trial) -> float | None:
        mean = means["abcd".index(level(trial, "person"))]
        turn = -1 if kind == "interaction" and level(trial, "style") == "plain" else 1
        value = float(turn * mean + rng.uniform(-0.85, 0.85))
        return None if level(trial, "person") == "a" and rng.random() < lost else value

    return recorded(OF, draw)


def contrasts(kind: str) -> list[np.ndarray[Any, Any]]:
    """The linear contrasts of the eight cell means, written down by hand."""
    if kind == "group":
        return [np.repeat(np.eye(4)[i] - 0.25, 2) / 2 for i in range(4)]
    if kind == "interaction":
        return [np.kron(np.eye(4)[i] - 0.25, [0.5, -0.5]) for i in range(4)]
    gaps = [np.repeat(gap, 2) / 4 for gap in ([1, 1, -1, -1], [1, -1, 1, -1])]
    return [gaps[0] + sign * 0.5 * gaps[1] for sign in (1, -1)]


@pytest.mark.parametrize("kind", ASKED)
def test_it_is_the_largest_of_its_contrasts_and_clear_where_each_is(kind: str) -> None:
    found = ASKED[kind].analyse(OF, records := drawn(kind, [0.25, 0, 0, -0.1], 3))
    cells = [at(records, person=w, style=s) for w, s in product(ONE_OF_FOUR.levels, STYLE.levels)]
    means, parts = (np.array([f(c) for c in cells]) for f in (np.mean, np.var))
    parts = parts * 16 / 15 / 16
    estimates, clearing, beyond = [], [], []
    for weights in contrasts(kind):
        estimate, terms = abs(weights @ means), weights**2 * parts
        se = np.sqrt(terms.sum())
        used = terms[terms > 0]
        df = min(used.sum() ** 2 / (used**2 / 17).sum() - 2, 15 * used.size)
        estimates.append(estimate)
        clearing.append(stats.t.sf((MARGIN - estimate) / se, df))
        beyond.append(2 * stats.t.sf(max(estimate - MARGIN, 0) / se, df))
    assert found.estimate == pytest.approx(max(estimates), rel=1e-9)
    assert found.p_clear == pytest.approx(max(clearing), rel=1e-6)
    assert found.p_alarm == pytest.approx(min(1, len(beyond) * min(beyond)), rel=1e-6)
    assert (there(found.at_level)(0.90).high <= MARGIN) == (found.p_clear <= ALPHA)
    assert found.interval is not None
    assert found.interval.low <= found.estimate <= found.interval.high


@pytest.mark.parametrize(
    ("kind", "means"),
    [(kind, means) for kind, each in AT_MARGIN.items() for means in each.values()],
)
def test_at_the_margin_it_is_seldom_clear_or_beyond_and_the_interval_covers_it(
    kind: str, means: list[float]
) -> None:
    n, clear, alarm, covered = 120, 0, 0, 0
    for seed in range(n):
        found = ASKED[kind].analyse(OF, drawn(kind, means, seed))
        clear += found.p_clear <= ALPHA
        alarm += found.p_alarm <= ALPHA
        covered += found.interval.low <= MARGIN <= found.interval.high
    error = np.sqrt(ALPHA * (1 - ALPHA) / n)
    assert clear / n <= ALPHA + 2 * error
    assert alarm / n <= ALPHA + 2 * error
    assert covered / n >= 0.95 - 2 * error


@pytest.mark.parametrize("kind", ASKED)
def test_two_margins_are_beyond_it_and_nothing_is_clear(kind: str) -> None:
    nothing = [ASKED[kind].analyse(OF, drawn(kind, [0.0] * 4, seed)) for seed in range(40)]
    assert np.mean([found.p_clear <= ALPHA for found in nothing]) >= 0.85
    assert max(found.p_alarm for found in nothing) == 1.0
    twice = [2 * mean for mean in AT_MARGIN[kind]["one"]]
    found = [ASKED[kind].analyse(OF, drawn(kind, twice, seed)) for seed in range(40)]
    assert np.mean([each.p_alarm <= ALPHA for each in found]) >= 0.85


@pytest.mark.parametrize("kind", ASKED)
def test_what_is_missing_is_bounded_where_it_is(kind: str) -> None:
    """A tenth of one group lost: five margins off it stays, at the margin nothing is decided."""
    far = [5 * mean for mean in AT_MARGIN[kind]["one"]]
    lost = there(ASKED[kind].analyse(OF, drawn(kind, far, 1, lost=0.1)).worst_case)
    assert lost.needed
    assert lost.p_alarm <= ALPHA
    near = ASKED[kind].analyse(OF, drawn(kind, [0.0] * 4, 2, lost=0.3))
    assert near.p_clear <= ALPHA
    assert near.worst_case.p_clear > ALPHA


def test_of_a_population_the_alarm_is_that_nothing_differs() -> None:
    of = study(factors=[ONE_OF_FOUR, STYLE], measures=[SCORE], items=items(12), replicates=2)
    rng = np.random.default_rng(1)
    records = recorded(
        of, lambda t: float(0.3 * (level(t, "person") == "a") + rng.uniform(-0.7, 0.7))
    )
    given: dict[str, Any] = {"claim": "detect", "target": "population"}
    without = GroupContrast("score", "person", **given).analyse(of, records)
    found = GroupContrast("score", "person", margin=1.0, **given).analyse(of, records)
    assert found.p_alarm == without.p_alarm
    assert found.contrast == "any person, largest at a"
    by_item = np.array(
        [[at(records, person=w, seed=s).mean() for w in "abcd"] for s in of.items.items]  # type: ignore[union-attr]
    )
    apart = by_item[:, 0] - by_item.mean(axis=1)
    assert found.estimate == pytest.approx(apart.mean(), rel=1e-9)
    t = stats.ttest_1samp(apart, 1.0, alternative="less")
    assert found.p_clear == pytest.approx(t.pvalue, rel=1e-6)


def test_too_many_gaps_for_a_margin_are_refused() -> None:
    gaps = [(a, b, 1.0) for a in "abcd" for b in "abcd" if a < b]
    TotalGap("score", "person", gaps=gaps, margin=1.0, claim="detect").check(OF)
    with pytest.raises(BadDesign, match="at most 6 gaps"):
        TotalGap("score", "person", gaps=[*gaps, gaps[0]], margin=1.0, claim="detect").check(OF)
