"""What a design gives a hypothesis: units and their words, how many, and what it lacks."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from pytest_bias.contrasts.declared import Hypothesis
from pytest_bias.contrasts.groups import GroupContrast, TotalGap
from pytest_bias.contrasts.interactions import Interaction
from pytest_bias.contrasts.pairs import MeanDifference, RateDifference, RateRatio
from pytest_bias.contrasts.selection import Selection
from pytest_bias.contrasts.units import REPLIES, Units
from pytest_bias.experiments.canonical import plain
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
UNITS: list[tuple[str, Hypothesis, tuple[str, int, str]]] = [
    # 20 names, 2 styles, 4 items and 3 replicates on each side
    ("fixed", MeanDifference("score", "tone", **TONES), ("independent", 480, "replies")),
    (
        "confined",
        MeanDifference("score", "tone", at={"style": "plain", "group": "white"}, **TONES),
        ("independent", 60, "replies"),
    ),
    ("rates", RateDifference("yes", "tone", **TONES), ("independent", 480, "replies")),
    ("ratio", RateRatio("yes", "group", **RACES), ("independent", 240, "replies")),
    (
        "items",
        MeanDifference("score", "seed", high="s0", low=("s1", "s2")),
        # 240 against 480 are as good as 320 against 320
        ("independent", 320, "replies"),
    ),
    (
        "crossed",
        MeanDifference("score", "tone", target="population", unit="seed", **TONES),
        ("paired", 4, "seed"),
    ),
    (
        "names",
        MeanDifference("score", "tone", target="population", unit="group", **TONES),
        ("paired", 20, "exemplar of group"),
    ),
    (
        "blocks",
        MeanDifference("score", "tone", target="population", unit=("seed", "style"), **TONES),
        ("paired", 8, "seed × style"),
    ),
    (
        "blocks of one style",
        MeanDifference(
            "score",
            "tone",
            target="population",
            unit=("seed", "style"),
            at={"style": "plain"},
            **TONES,
        ),
        ("paired", 4, "seed × style"),
    ),
    (
        "nested",
        MeanDifference("score", "group", target="population", **RACES),
        ("independent", 5, "exemplars of group"),
    ),
    (
        "rest",
        GroupContrast("score", "group", group="white", target="population"),
        # the mean of those of 5 and of 10 is as good as one of 13.3, and 5 against it as 7.3
        ("independent", 7, "exemplars of group"),
    ),
    (
        "interaction",
        Interaction("score", {"tone": ("high", "low"), "style": ("formal", "plain")}),
        # each of four means is of 240; as precise as a difference of two of 120
        ("independent", 120, "replies"),
    ),
    (
        "interaction of unequal sides",
        Interaction("score", {"tone": ("high", "low"), "group": ("white", "asian")}),
        # four means, of 120, 240, 120 and 240: 2 / (2 / 120 + 2 / 240)
        ("independent", 80, "replies"),
    ),
]


@pytest.mark.parametrize(
    ("question", "expected"), [case[1:] for case in UNITS], ids=[case[0] for case in UNITS]
)
def test_what_a_design_gives(question: Hypothesis, expected: tuple[str, int, str]) -> None:
    found = there(question.layout(OF, OF.design()))
    assert (found.shape, found.per_group, str(found.unit_name)) == expected


@pytest.mark.parametrize(
    ("question", "problem"),
    [
        (MeanDifference("score", "tone", **TONES), "documented design: one replicate has no var"),
        (RateDifference("yes", "tone", **TONES), ""),
        (MeanDifference("score", "group", target="population", **RACES), ""),
        (
            MeanDifference("score", "tone", target="population", unit="seed", **TONES),
            r"documented design: 4 units (seed) can give no verdict, 6 are needed",
        ),
        (
            MeanDifference(
                "score", "tone", target="population", unit="seed", claim="clear", margin=1, **TONES
            ),
            r"documented design: 4 units (seed) can clear nothing, 10 are needed",
        ),
    ],
    ids=str,
)
def test_what_the_documented_design_lacks_is_named(question: Hypothesis, problem: str) -> None:
    found = there(question.layout(OF, OF.design("documented")))
    assert found.problem.startswith(problem)
    assert bool(found.problem) == bool(problem)


def test_two_cells_of_many_replies_need_no_replicates_within_cells() -> None:
    of = study(factors=[TONE], replicates=30, designs={"one": Design(1)})
    question = MeanDifference("score", "tone", **TONES)
    for name in ("gate", "one"):
        found = there(question.layout(of, of.design(name)))
        assert found.problem == ""


def test_a_design_of_fewer_exemplars_has_fewer_units() -> None:
    of = study(
        factors=[groups({"white": 12, "black": 12}), TONE],
        items=items(4),
        designs={"half": Design(5, exemplars=6), "documented": Design(20, exemplars=1)},
    )
    named = MeanDifference("score", "group", target="population", **RACES)
    fixed = MeanDifference("score", "group", target="fixed", **RACES)
    expected = {"gate": (12, 480), "half": (6, 240), "documented": (1, 160)}
    for name, (exemplars, replies) in expected.items():
        found, all_replies = (each.layout(of, of.design(name)) for each in (named, fixed))
        assert found is not None
        assert all_replies is not None
        assert (found.per_group, all_replies.per_group) == (exemplars, replies)
        assert bool(found.problem) is (name == "documented")
        assert not all_replies.problem
    crossed = MeanDifference("score", "tone", target="population", unit="group", **TONES)
    sizes = [crossed.layout(of, of.design(name)) for name in expected]
    assert [size.per_group for size in sizes] == [24, 12, 2]


@pytest.mark.parametrize(
    "question",
    [
        GroupContrast("score", "group", claim="detect", target="population"),
        Interaction("score", {"tone": None, "group": None}, claim="detect"),
        TotalGap("score", "group", gaps=[("white", "black", 1)], claim="detect"),
        Selection("score", "yes", feature={"a": "x", "b": "y"}, group="x", claim="detect"),
    ],
    ids=lambda question: question.id,
)
def test_some_questions_have_no_power_to_compute(question: Hypothesis) -> None:
    assert question.layout(OF, OF.design()) is None


# units → text, of several, one per group, pair between models
TABLE: dict[Units, tuple[str, str, bool, bool]] = {
    REPLIES: ("replies", "replies", True, False),
    Units("pools"): ("pools", "pools", False, True),
    Units("units"): ("units", "units", False, True),
    Units("groups", ("group",)): ("exemplars of group", "exemplars of group", True, True),
    Units("exemplar", ("group",)): ("exemplar of group", "exemplars of group", False, True),
    Units("block", ("seed",)): ("seed", "seeds", False, True),
    Units("block", ("posts",)): ("posts", "posts", False, True),
    Units("block", ("cv", "style")): ("cv × style", "cv × style blocks", False, True),
}


@pytest.mark.parametrize(("units", "expected"), TABLE.items(), ids=map(str, TABLE))
def test_units_have_one_text_and_their_words(
    units: Units, expected: tuple[str, str, bool, bool]
) -> None:
    assert (str(units), units.several, units.in_groups, units.pair) == expected


@pytest.mark.parametrize("units", TABLE, ids=str)
def test_json_keeps_units_as_their_text(units: Units) -> None:
    kept = plain(units)
    assert kept == str(units)
    assert TypeAdapter(Units).validate_python(kept) == units


def test_only_a_single_name_is_an_exemplar_compared_with_itself() -> None:
    assert Units.within(["group"], exemplars=True) == Units("exemplar", ("group",))
    assert Units.within(["group"], exemplars=False) == Units("block", ("group",))
    assert Units.within(["group", "seed"], exemplars=True).kind == "block"
