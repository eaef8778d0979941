from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pytest_bias.contrasts.selection import Selection
from pytest_bias.errors import BadDesign
from pytest_bias.experiments.design import Trial
from pytest_bias.experiments.experiment import Experiment
from pytest_bias.experiments.measures import Measure
from pytest_bias.experiments.records import Record, Records
from pytest_bias.verdicts.decide import clears

from .designs import TONE, items, level, recorded, study

SEX = {f"p{i}": ("female" if i < 8 else "male" if i < 18 else "unknown") for i in range(24)}
OF = study(
    factors=[TONE], items=items(10), replicates=2, measures=[Measure("picked"), Measure("pool")]
)


def asked(**changes: object) -> Selection:
    given: dict[str, object] = {
        "feature": SEX,
        "group": "female",
        "margin": 1.25,
        "claim": "clear",
    }
    return Selection("picked", "pool", **(given | changes))  # type: ignore[arg-type]  # by name


def picked(
    favour: float = 1.0, seed: int = 0, of: Experiment = OF, lost: tuple[str, ...] = ()
) -> Records:
    """Six of 24 posts are shown, two of them picked, women's with ``favour`` times the odds."""
    rng = np.random.default_rng(seed)

    def row(trial: Trial) -> Record:
        pool = list(rng.permutation(sorted(SEX))[:6])
        odds = np.array([favour if SEX[post] == "female" else 1.0 for post in pool])
        chosen = rng.choice(pool, 2, replace=False, p=odds / odds.sum())
        if trial.id in lost:
            return Record(trial, {}, "refusal")
        return Record(trial, {"picked": " ".join(chosen), "pool": " ".join(pool)}, None)

    blank = recorded(of, lambda _: "", "pool")
    return Records(tuple(row(each.trial) for each in blank.rows))


def counts(records: Records) -> tuple[dict[str, int], dict[str, int]]:
    shown, selected = dict.fromkeys(SEX, 0), dict.fromkeys(SEX, 0)
    for row in records.rows:
        if row.missing is None:
            for post in str(row.values["pool"]).split():
                shown[post] += 1
            for post in str(row.values["picked"]).split():
                selected[post] += 1
    return shown, selected


def ratio(shown: dict[str, int], selected: dict[str, int], members: set[str]) -> float:
    inside = sum(selected[p] for p in members) / sum(shown[p] for p in members)
    others = set(SEX) - members
    return inside / (sum(selected[p] for p in others) / sum(shown[p] for p in others))


def test_the_ratio_and_a_permutation_of_the_labels() -> None:
    records = picked(favour=1.6)
    found = asked().analyse(OF, records)
    shown, selected = counts(records)
    women = {post for post, sex in SEX.items() if sex == "female"}
    observed = ratio(shown, selected, women)
    assert found.estimate == pytest.approx(observed, rel=1e-12)
    rng = np.random.default_rng(1)
    posts = sorted(SEX)
    null = np.array(
        [ratio(shown, selected, set(rng.permutation(posts)[:8])) for _ in range(4_000)]
    )
    tail = min(np.mean(null >= observed - 1e-9), np.mean(null <= observed + 1e-9))
    error = np.sqrt(tail * (1 - tail) * (1 / 4_000 + 1 / 10_000))
    assert abs(found.p_alarm / 2 - tail) < 4 * error + 1e-4
    assert 0.002 < found.p_alarm < 0.5  # so that this says something
    assert (found.units, found.fewest, str(found.unit_name)) == (40, 40, "pools")
    assert found.interval is not None
    assert found.interval.low < observed < found.interval.high
    assert [arm.mean for arm in found.arms] == [
        pytest.approx(sum(selected[p] for p in side) / sum(shown[p] for p in side))
        for side in (women, set(SEX) - women)
    ]
    assert (found.contrast, found.scale) == ("female / others", "ratio")


def test_the_interval_is_about_that_of_a_bootstrap_of_pools() -> None:
    records = picked(favour=1.5, seed=3)
    found = asked().analyse(OF, records)
    sums = np.array(
        [
            [
                sum(SEX[p] == "female" for p in str(row.values["picked"]).split()),
                sum(SEX[p] == "female" for p in str(row.values["pool"]).split()),
                sum(SEX[p] != "female" for p in str(row.values["picked"]).split()),
                sum(SEX[p] != "female" for p in str(row.values["pool"]).split()),
            ]
            for row in records.rows
        ],
        dtype=float,
    )
    rng = np.random.default_rng(9)
    drawn = sums[rng.integers(0, len(sums), (8_000, len(sums)))].sum(axis=1)
    logs = np.log(drawn[:, 0] / drawn[:, 1] / (drawn[:, 2] / drawn[:, 3]))
    assert found.se == pytest.approx(np.std(logs), rel=0.1)
    assert found.interval is not None
    low, high = np.log([found.interval.low, found.interval.high])
    least, most = np.quantile(logs, [0.025, 0.975])
    # One further pool at the worse end makes it wider, by half at most.
    assert least - (most - least) / 4 < low < least
    assert most < high < most + (most - least) / 4


def test_what_is_missing_is_counted_once() -> None:
    trials = [row.trial.id for row in picked().rows]
    found = asked().analyse(OF, picked(lost=tuple(trials[:9])))
    assert (found.missing, found.units) == (9, 31)
    assert found.lost is not None
    assert found.lost.shares == (9 / 40,)
    assert found.lost.too_many
    assert found.lost.p_beyond > 0.05  # both sides are of the same trials
    assert asked().analyse(OF, picked()).lost is None


def test_a_group_that_is_never_selected_is_the_largest_bias_there_is() -> None:
    records = picked()
    none = {post for post, sex in SEX.items() if sex == "female"}
    rows = []
    for row in records.rows:
        shown = str(row.values["pool"]).split()
        taken = [post for post in shown if post not in none][:3]
        rows.append(replace(row, values={**row.values, "picked": " ".join(taken)}))
    found = asked().analyse(OF, Records(tuple(rows)))
    assert found.estimate < 0.05
    assert found.p_alarm < 0.001
    assert not clears(found)


@pytest.mark.parametrize(
    "at", [{"tone": "high"}, {"seed": ["s1", "s4", "s5", "s6", "s7"]}], ids=str
)
def test_it_is_confined_to_some_levels_or_items(at: dict[str, str | list[str]]) -> None:
    records = picked(seed=5)
    question = asked(at=at, claim="detect")
    question.check(OF)
    kept = Records(
        tuple(
            row
            for row in records.rows
            if level(row.trial, "tone") in at.get("tone", TONE.levels)
            and row.trial.item in at.get("seed", [row.trial.item])
        )
    )
    found = question.analyse(OF, records)
    women = {post for post, sex in SEX.items() if sex == "female"}
    assert found.units == len(kept.rows) == 20
    assert found.estimate == pytest.approx(ratio(*counts(kept), women))


@pytest.mark.parametrize(
    ("picked_words", "pool_words"), [("p1 px", "p1 p2 px"), ("p3", "p1 p2")], ids=str
)
def test_posts_without_a_group_or_that_were_not_shown_are_refused(
    picked_words: str, pool_words: str
) -> None:
    rows = list(picked().rows)
    rows[5] = Record(rows[5].trial, {"picked": picked_words, "pool": pool_words}, None)
    with pytest.raises(BadDesign, match=r"s2#2: .* was not shown, or has no group"):
        asked().analyse(OF, Records(tuple(rows)))
