from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from pytest_bias.contrasts.declared import Hypothesis
from pytest_bias.contrasts.differences import MeanDifference, RateDifference, RateRatio
from pytest_bias.contrasts.groups import GroupContrast, Interaction, TotalGap
from pytest_bias.contrasts.selection import Selection
from pytest_bias.errors import BadDesign, UnknownName
from pytest_bias.experiments.design import Factor
from pytest_bias.experiments.measures import Measure

from .designs import SCALE, STYLE, TONE, YES, groups, items, study

MANY = study(
    factors=[groups({"white": 6, "black": 6, "asian": 6}), TONE, STYLE],
    items=items(8),
    measures=[SCALE, YES, Measure("free", kind="number")],
)
FEW = study(factors=[groups({"white": 4, "black": 6, "asian": 6}), TONE], items=items(5))
FEATURE = {"p1": "female", "p2": "male", "p3": "male"}

Maker = Callable[..., Hypothesis]


def pair(kind: type[Any], measure: str, margin: float) -> Callable[..., Any]:
    """Make a contrast of two groups; what it is asked of may be changed by name."""

    def make(**changes: Any) -> Any:
        given = {"high": "white", "low": "black", "margin": margin, "claim": "clear"} | changes
        return kind(given.pop("measure", measure), given.pop("factor", "group"), **given)

    return make


mean = pair(MeanDifference, "score", 0.5)
rate = pair(RateDifference, "yes", 0.1)
ratio = pair(RateRatio, "yes", 1.25)


def one_group(**changes: Any) -> GroupContrast:
    given: dict[str, Any] = {"group": "white", "margin": 0.5, "claim": "clear"}
    given |= changes
    return GroupContrast(given.pop("measure", "score"), given.pop("factor", "group"), **given)


def interaction(**changes: Any) -> Interaction:
    pairs = {"group": ("white", "black"), "tone": ("high", "low")}
    given: dict[str, Any] = {"factors": pairs, "margin": 0.5, "claim": "clear"} | changes
    return Interaction(given.pop("measure", "score"), given.pop("factors"), **given)


def gap(**changes: Any) -> TotalGap:
    given: dict[str, Any] = {"gaps": [("white", "black", 1)], "claim": "detect"}
    given |= {"target": "population"} | changes
    return TotalGap(given.pop("measure", "score"), given.pop("factor", "group"), **given)


def selection(**changes: Any) -> Selection:
    given: dict[str, Any] = {"feature": FEATURE, "group": "female", "claim": "clear"}
    given |= {"margin": 1.25} | changes
    return Selection(given.pop("selected", "score"), given.pop("shown", "yes"), **given)


ALL: dict[str, Maker] = {
    "mean": mean,
    "rate": rate,
    "ratio": ratio,
    "group": one_group,
    "interaction": interaction,
    "gap": gap,
    "selection": selection,
}
OPEN = ("mean", "rate", "group", "interaction", "gap")
"""Kinds that may be of a population."""


@pytest.mark.parametrize("kind", ALL)
def test_what_the_experiment_can_answer_passes(kind: str) -> None:
    ALL[kind]().check(MANY)


@pytest.mark.parametrize("kind", OPEN)
@pytest.mark.parametrize("unit", [None, "group", "seed", ("seed", "style")], ids=str)
def test_populations_that_pass(kind: str, unit: Any) -> None:
    ALL[kind](target="population", unit=unit, claim="detect").check(MANY)


@pytest.mark.parametrize("kind", ["mean", "group"])
def test_six_names_a_group_can_clear_nothing(kind: str) -> None:
    with pytest.raises(BadDesign, match=r"it needs .* exemplars of group a side, and has 6"):
        ALL[kind](target="population", claim="clear").check(MANY)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"claim": "maybe"}, "claim must be"),
        ({"target": "everyone"}, "target must be"),
        ({"direction": "up"}, "direction must be"),
        ({"null": "none"}, "null must be"),
        ({"margin": 0}, "margin must be"),
        ({"margin": float("inf")}, "margin must be"),
        ({"margin": None, "claim": "clear"}, "claim='clear' needs a margin"),
        ({"margin": None, "claim": "detect", "null": "margin"}, "null='margin' needs a margin"),
        ({"within": {"tone": 0.4}}, "within='tone' must be no narrower than the margin"),
        ({"margin": None, "claim": None, "within": {"tone": 1}}, "within= needs a margin"),
        ({"name": "Not a label"}, "is not lower-case words"),
    ],
    ids=str,
)
def test_no_hypothesis_is_declared_so(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadDesign, match=problem):
        mean(**changes)


LEVEL = "'pink' is no level of 'group'"
CERTAIN = "between fixed sets of exemplars some difference is certain"
NO_LEVEL = "a side has no level"
ITSELF = "compares a level with itself"
MANY_FLAWS: list[tuple[str, dict[str, Any], str]] = [
    ("mean", {"high": "pink"}, LEVEL),
    ("interaction", {"factors": {"group": ("pink", "black"), "tone": None}}, LEVEL),
    ("mean", {"low": ("black", "white")}, ITSELF),
    ("mean", {"high": ()}, NO_LEVEL),
    ("mean", {"measure": "free"}, "declares no bounds"),
    ("rate", {"margin": 1.0}, "margin is a share, below 1"),
    ("ratio", {"margin": 0.8}, "larger limit of a ratio, above 1"),
    ("ratio", {"target": "population"}, "a ratio is of a fixed set"),
    ("group", {"among": ("white", "black")}, "three groups or more"),
    ("group", {"group": None, "margin": None, "claim": "detect"}, CERTAIN),
    ("interaction", {"factors": {"group": ("white", "black")}}, "is of two factors"),
    ("gap", {"direction": "positive"}, "has no direction"),
    ("gap", {"gaps": []}, "names no gap"),
    ("gap", {"gaps": [("white", "white", 1)]}, "two sides and a weight above 0"),
    ("selection", {"group": "other"}, "no item has 'other'"),
    ("selection", {"group": ("female", "male")}, "there are no other items"),
    ("selection", {"target": "population"}, "its units are pools"),
    ("mean", {"at": {"group": "white"}}, "at='group' is what it compares"),
    ("mean", {"within": {"group": 1}}, "within='group' is nothing it is averaged over"),
    ("mean", {"target": "fixed", "unit": "seed"}, "unit= is of a population"),
    ("mean", {"target": "population", "unit": ("group", "seed")}, "units by themselves"),
    (
        "interaction",
        {"target": "population", "unit": "tone"},
        "unit='tone' is compared and has no exemplars",
    ),
]


@pytest.mark.parametrize(("kind", "changes", "problem"), MANY_FLAWS, ids=str)
def test_what_no_reply_could_answer_is_refused(
    kind: str, changes: dict[str, Any], problem: str
) -> None:
    with pytest.raises(BadDesign, match=problem):
        ALL[kind](**changes).check(MANY)


def happened(_: object) -> bool:
    return False


@pytest.mark.parametrize(
    ("kind", "share"),
    [
        (partial(GroupContrast, "yes", "group", group="a"), 1.0),
        (partial(GroupContrast, "yes", "group"), 0.67),
        (partial(Interaction, "yes", {"group": ("a", "b"), "tone": ("x", "y")}), 2.0),
    ],
)
def test_a_margin_that_no_rates_reach_is_refused(kind: Callable[..., Any], share: float) -> None:
    of = study(
        factors=[Factor("group", {"a": 1, "b": 2, "c": 3}), Factor("tone", {"x": 1, "y": 2})],
        measures=[Measure("yes", take=happened)],
        replicates=12,
    )
    kind(margin=share - 0.01, claim="detect").check(of)
    with pytest.raises(BadDesign, match=r"^yes-.*margin is a share, below"):
        kind(margin=share, claim="detect").check(of)


def test_a_population_too_small_for_any_verdict_is_refused() -> None:
    with pytest.raises(BadDesign, match="4 exemplars of group on a side can give no verdict"):
        mean(target="population", claim="detect").check(FEW)
    crossed = mean(target="population", unit="seed", claim="detect")
    with pytest.raises(BadDesign, match="5 seeds can give no verdict, 6 are needed"):
        crossed.check(FEW)


@pytest.mark.parametrize(
    ("kind", "changes", "name"),
    [
        ("mean", {"measure": "other"}, "measure 'other'"),
        ("selection", {"selected": "other"}, "measure 'other'"),
        ("selection", {"shown": "other"}, "measure 'other'"),
        ("mean", {"factor": "other"}, "factor 'other'"),
        ("group", {"factor": "other"}, "factor 'other'"),
        ("interaction", {"factors": {"other": ("a", "b"), "tone": ("high", "low")}}, "'other'"),
        ("mean", {"at": {"other": "a"}}, "factor 'other'"),
        ("mean", {"target": "population", "unit": "other"}, "factor 'other'"),
    ],
    ids=str,
)
def test_unknown_names_are_refused(kind: str, changes: dict[str, Any], name: str) -> None:
    with pytest.raises(UnknownName, match=f"unknown {name}|unknown factor {name}"):
        ALL[kind](**changes).check(MANY)
