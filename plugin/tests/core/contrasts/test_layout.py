"""What a design gives a hypothesis: units and their words, how many, and what it lacks."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_bias.contrasts.declared import Hypothesis
from pytest_bias.contrasts.differences import MeanDifference, RateDifference
from pytest_bias.contrasts.groups import GroupContrast, Interaction
from pytest_bias.experiments.design import Design

from ...helpers import there
from .designs import SCALE, STYLE, TONE, YES, groups, items, study

OF = study(
    factors=[groups({"white": 5, "black": 5, "asian": 10}), TONE, STYLE],
    items=items(4),
    measures=[SCALE, YES],
    replicates=3,
    designs={"documented": Design(1)},
)
TONES: dict[str, Any] = {"high": "high", "low": "low"}
RACES: dict[str, Any] = {"high": "white", "low": "black"}
UNITS: dict[str, tuple[Hypothesis, tuple[int, ...], str]] = {
    # 20 names, 2 styles, 4 items and 3 replicates on each side
    "fixed": (MeanDifference("score", "tone", **TONES), (480, 480), "replies"),
    "rates": (RateDifference("yes", "tone", **TONES), (480, 480), "replies"),
    "items": (MeanDifference("score", "seed", high="s0", low=("s1", "s2")), (240, 480), "replies"),
    "unequal levels": (
        # the mean of those of 240 and of 480 replies is as good as one of 640
        MeanDifference("score", "group", high="white", low=("black", "asian")),
        (240, 640),
        "replies",
    ),
    "crossed": (
        MeanDifference("score", "tone", target="population", unit="seed", **TONES),
        (4,),
        "seed",
    ),
    "blocks": (
        MeanDifference("score", "tone", target="population", unit=("seed", "style"), **TONES),
        (8,),
        "seed × style",
    ),
    "nested": (
        MeanDifference("score", "group", target="population", **RACES),
        (5, 5),
        "exemplars of group",
    ),
    "rest": (
        # the mean of those of 5 and of 10 is as good as one of 13.3
        GroupContrast("score", "group", group="white", target="population"),
        (5, 13),
        "exemplars of group",
    ),
    "interaction of unequal sides": (
        # of 120 and of 240 replies, with equal weights
        Interaction("score", {"tone": ("high", "low"), "group": ("white", "asian")}),
        (320, 320),
        "replies",
    ),
    "any group": (
        # one group less the mean of all, of 240, 240 and 480 replies
        GroupContrast("score", "group", claim="detect", target="fixed", margin=1),
        (240, 640),
        "replies",
    ),
}


@pytest.mark.parametrize(("question", "sides", "unit"), UNITS.values(), ids=UNITS)
def test_what_a_design_gives(question: Hypothesis, sides: tuple[int, ...], unit: str) -> None:
    found = there(question.layout(OF, OF.design()))
    assert (tuple(int(n + 1e-9) for _, n in found.sides), str(found.unit_name)) == (sides, unit)


def test_a_design_of_fewer_exemplars_has_fewer_units() -> None:
    of = study(
        factors=[groups({"white": 12, "black": 12}), TONE],
        items=items(4),
        designs={"half": Design(5, exemplars=6), "documented": Design(20, exemplars=1)},
    )
    named = MeanDifference("score", "group", target="population", **RACES)
    fixed = MeanDifference("score", "group", target="fixed", **RACES)
    crossed = MeanDifference("score", "tone", target="population", unit="group", **TONES)
    expected = {"gate": (12, 480, 24), "half": (6, 240, 12), "documented": (1, 160, 2)}
    for name, fewest in expected.items():
        found = [there(each.layout(of, of.design(name))) for each in (named, fixed, crossed)]
        assert tuple(each.fewest for each in found) == fewest
        assert bool(found[0].problem) is (name == "documented")
        assert not found[1].problem
