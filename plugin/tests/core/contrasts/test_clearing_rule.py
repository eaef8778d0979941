"""The clearing rule as properties: more alike is never worse, and false CLEAR stays bounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]

from pytest_bias import (
    GroupContrast,
    Interaction,
    MeanDifference,
    RateDifference,
    RateRatio,
    TotalGap,
)
from pytest_bias.contrasts.declared import Hypothesis
from pytest_bias.contrasts.estimate import ALPHA, Estimate
from pytest_bias.experiments.design import Factor, Trial
from pytest_bias.experiments.measures import Measure
from pytest_bias.stats.equivalence import SideSummary, clearing_p, further_of, sides_of
from pytest_bias.verdicts.decide import clears

from .designs import groups, items, level, recorded, study

SCORE = Measure("score", bounds=(0, 10))
FIXED = study(
    factors=[Factor("group", {"a": 1, "b": 2, "c": 3}), Factor("tone", {"x": 1, "y": 2})],
    measures=[SCORE, Measure("yes", kind="flag")],
    replicates=45,
)
PAIRED = study(
    factors=[Factor("group", {"a": 1, "b": 2, "c": 3}), Factor("tone", {"x": 1, "y": 2})],
    measures=[SCORE, Measure("yes", kind="flag")],
    items=items(64),
    replicates=2,
)
NAMED = study(
    factors=[groups({"a": 62, "b": 62, "c": 62}), Factor("tone", {"x": 1, "y": 2})],
    measures=[SCORE, Measure("yes", kind="flag")],
    replicates=2,
)
POPULATION: Mapping[str, Any] = {"target": "population"}

KINDS: dict[str, tuple[Any, str, Callable[..., Hypothesis]]] = {
    "mean": (FIXED, "score", lambda **k: MeanDifference("score", "group", high="a", low="b", **k)),
    "rate": (FIXED, "yes", lambda **k: RateDifference("yes", "group", high="a", low="b", **k)),
    "ratio": (FIXED, "yes", lambda **k: RateRatio("yes", "group", high="a", low="b", **k)),
    "group": (FIXED, "score", lambda **k: GroupContrast("score", "group", group="a", **k)),
    "group of rates": (FIXED, "yes", lambda **k: GroupContrast("yes", "group", group="a", **k)),
    "largest": (FIXED, "score", lambda **k: GroupContrast("score", "group", **k)),
    "interaction": (
        FIXED,
        "score",
        lambda **k: Interaction("score", {"group": ("a", "b"), "tone": ("x", "y")}, **k),
    ),
    "largest interaction": (
        FIXED,
        "score",
        lambda **k: Interaction("score", {"group": None, "tone": None}, **k),
    ),
    "sum of gaps": (
        FIXED,
        "score",
        lambda **k: TotalGap("score", "group", gaps=[("a", "b", 0.5), ("a", "c", 0.5)], **k),
    ),
    "mean of items": (
        PAIRED,
        "score",
        lambda **k: MeanDifference("score", "group", high="a", low="b", **POPULATION, **k),
    ),
    "rate of items": (
        PAIRED,
        "yes",
        lambda **k: RateDifference("yes", "group", high="a", low="b", **POPULATION, **k),
    ),
    "group of names": (
        NAMED,
        "score",
        lambda **k: GroupContrast("score", "group", group="a", **POPULATION, **k),
    ),
}
MARGINS = {"score": (0.5, 1.0, 2.0), "yes": (0.1, 0.2)}


def analysed(kind: str, draw: Callable[[Trial], float | bool], margin: float) -> Estimate:
    of, measure, declare = KINDS[kind]
    margin = 1 / (1 - margin) if kind == "ratio" else margin
    question = declare(margin=margin, claim="detect")
    return question.analyse(of, recorded(of, draw, measure))


@pytest.mark.parametrize("kind", KINDS)
def test_more_alike_is_never_worse(kind: str) -> None:
    """What some data of this size clear, both sides clear that are one and the same."""
    _, measure, _ = KINDS[kind]
    rng = np.random.default_rng(20261128)
    cleared = 0
    for margin in MARGINS[measure]:
        for spread in (0.0, 0.1, 0.5, 1.0):
            if measure == "yes":
                of_all = 1 - 0.1 * spread if kind == "ratio" else 0.3 * spread
                noisy = analysed(kind, lambda _, p=of_all: bool(rng.random() < p), margin)  # type: ignore[misc]
                same = analysed(kind, lambda _: kind == "ratio", margin)
            else:

                def drawn(_: Trial, sd: float = spread) -> float:
                    return float(np.clip(5 + rng.normal(0, sd), 0, 10))

                noisy = analysed(kind, drawn, margin)
                same = analysed(kind, lambda _: 5.0, margin)
            assert clears(same) >= clears(noisy), (margin, spread)
            cleared += clears(noisy)
    assert cleared, "no draw was cleared: this says nothing"


@pytest.mark.parametrize("kind", ["rate", "group of rates"])
@pytest.mark.parametrize("base", [0, 3, 20, 45, 70, 87, 90])
def test_fewer_events_of_the_side_ahead_never_undo_a_clear(kind: str, base: int) -> None:
    """A side has 90 replies; those of ``a`` go down one by one until both sides are alike."""
    before = False
    for events in range(min(90, base + 14), base - 1, -1):

        def draw(trial: Trial, events: int = events) -> bool:
            own = events if level(trial, "group") == "a" else base
            tone = level(trial, "tone") == "y"
            return 2 * (trial.replicate - 1) + tone < own

        found = analysed(kind, draw, 0.1)
        assert clears(found) >= before, events
        before = clears(found)


@pytest.mark.parametrize("kind", KINDS)
def test_the_interval_lies_within_the_margin_exactly_where_it_is_clear(kind: str) -> None:
    _, measure, _ = KINDS[kind]
    rng = np.random.default_rng(7)
    seen = set()
    for margin in (*MARGINS[measure], 0.15 if measure == "yes" else 0.25):
        for shift in (0.0, 0.4, 0.8):

            def draw(trial: Trial, shift: float = shift) -> float | bool:
                up = shift * (level(trial, "group") == "a")
                if measure == "yes":
                    return bool(rng.random() < (0.9 - up / 2 if kind == "ratio" else 0.3 + up / 4))
                return float(np.clip(5 + up + rng.normal(0, 0.8), 0, 10))

            found = analysed(kind, draw, margin)
            if found.fewest >= found.needed and found.clearing is not None:
                assert found.inside(found.clearing) == clears(found), (margin, shift)
                seen.add(clears(found))
    assert seen == {True, False}


def false_clear(n: int, base: float, margin: float) -> float:
    """The exact probability that two rates that differ by the margin are cleared."""
    ks = np.arange(n + 1)
    sides = [
        SideSummary(
            weight=weight, mean=k / n, variance=k / n * (1 - k / n) * n / (n - 1), n=n,
            low=0, high=1,
        )
        for weight in (1.0, -1.0)
        for k in ks
    ]  # fmt: skip
    chances = stats.binom.pmf(ks, n, base + margin), stats.binom.pmf(ks, n, base)
    total = 0.0
    for a in ks[chances[0] > 1e-7]:
        for b in ks[chances[1] > 1e-7]:
            further = further_of([sides[a], sides[n + 1 + b]])
            p = clearing_p(further, low=-margin, high=margin, df=2 * n - 2)
            total += chances[0][a] * chances[1][b] * (p <= ALPHA)
    return total


@pytest.mark.parametrize(
    ("n", "margin", "most"),
    [(29, 0.1, 0.051), (43, 0.1, 0.063), (60, 0.1, 0.055), (86, 0.05, 0.068), (120, 0.08, 0.05)],
)
@pytest.mark.parametrize("base", [0.0, 0.01, 0.03, 0.1, 0.4])
def test_false_clear_of_rates_by_enumeration(
    n: int, margin: float, most: float, base: float
) -> None:
    assert false_clear(n, base, margin) <= most


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1, 0.3])
@pytest.mark.parametrize("n", [60, 156])
def test_false_clear_of_means_with_rare_replies_far_away(n: int, share: float) -> None:
    """Replies of 5 on 0 to 12, a share of which lies so far up that the means differ by .6."""
    far = min(12.0, 5 + 0.6 / share)
    share = 0.6 / (far - 5)
    rng = np.random.default_rng(11)
    clear = 0
    draws = 1500
    for _ in range(draws):
        base = 5 + rng.choice([-0.5, 0.0, 0.5], (2, n))
        a = np.where(rng.random(n) < share, far, base[0])
        sides, df = sides_of([a, base[1]], [1.0, -1.0], low=0, high=12)
        clear += clearing_p(further_of(sides), low=-0.6, high=0.6, df=df) <= ALPHA
    assert clear / draws <= ALPHA + 2 * math.sqrt(ALPHA * (1 - ALPHA) / draws)
