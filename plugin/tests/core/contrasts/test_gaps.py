from __future__ import annotations

import numpy as np
import pytest

from pytest_bias.contrasts.groups import TotalGap
from pytest_bias.experiments.design import Factor, Trial
from pytest_bias.experiments.experiment import Experiment
from pytest_bias.experiments.records import Records

from ...helpers import there
from .designs import Floats, at, groups, items, level, recorded, study

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
