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
from pytest_bias.experiments.measures import Measure
from pytest_bias.experiments.records import Records

from ...helpers import there
from .designs import STYLE, at, items, level, recorded, study

WHO = Factor("person", {name: name for name in ("a", "b", "c", "d")})
SCORE = Measure("score", unit="points", bounds=(-3, 3))
OF = study(factors=[WHO, STYLE], measures=[SCORE], replicates=16)
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
    cells = [at(records, person=w, style=s) for w, s in product(WHO.levels, STYLE.levels)]
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
    of = study(factors=[WHO, STYLE], measures=[SCORE], items=items(12), replicates=2)
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
