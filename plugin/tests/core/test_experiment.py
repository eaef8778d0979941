"""Experiments, their conditions and their trials: frozen, in order, each once."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bias.errors import BadDesign, BadSetting, UnknownName
from pytest_bias.experiments.design import (
    Design,
    Factor,
    Items,
    cross,
    trials_of,
)
from pytest_bias.experiments.experiment import (
    Experiment,
    plan,
    plan_all,
    plan_condition,
)

from ..helpers import fewer
from .factories import experiment


def test_designs() -> None:
    tiny = experiment(designs={"documented": Design(2, "whatever")})
    assert tiny.design() == tiny.design("gate") == Design(3, "gate")
    assert tiny.design("documented") == Design(2, "documented")
    assert tiny.design("documented", 2) == Design(2, "documented")
    assert tiny.design("gate", 5) == Design(5, "gate, 5 replicates")
    with pytest.raises(BadSetting, match=r"makes .* trials of tiny; .* replicates are the most"):
        tiny.design("gate", 10**7)
    with pytest.raises(UnknownName, match=r"design of tiny 'x'; known: documented, gate"):
        tiny.design("x")
    with pytest.raises(BadDesign):
        tiny.design("gate", 0)


shapes = st.builds(
    lambda groups, seeds, members: experiment(
        factors=[
            Factor("group", dict.fromkeys(groups, 0)),
            Factor("style", {"x": 1, "y": 2}, exemplars={"x": members, "y": members[:1]}),
        ],
        items=Items("seed", dict.fromkeys(seeds)) if seeds else None,
        replicates=4,
    ),
    st.lists(st.sampled_from("abcdef"), min_size=2, max_size=4, unique=True),
    st.lists(st.sampled_from(["one", "two", "three"]), max_size=3, unique=True),
    st.lists(st.text(min_size=1, max_size=3), min_size=1, max_size=3, unique=True),
)


@fewer(3)
@given(shapes, st.integers(1, 5), st.integers(1, 5))
def test_a_smaller_design_is_part_of_a_larger_one(of: Experiment, one: int, two: int) -> None:
    small, large = (plan(of, Design(n)) for n in sorted((one, two)))
    assert set(map(repr, small)) <= set(map(repr, large))
    assert len({trial.id for trial in large}) == len(large)
    assert plan(of, Design(one)) == plan(of, Design(one))
    whole = [t for c in of.conditions for t in plan_condition(of, Design(one), c)]
    assert tuple(whole) == plan(of, Design(one))


NAMED = Factor("group", {"a": 1, "b": 2}, exemplars={"a": ["Ada", "Eve", "Ida"], "b": ["Bob"]})
CROSSED: dict[str, Any] = {
    "factors": [NAMED],
    "replicates": 4,
    "designs": {"documented": Design(10, exemplars=1)},
}


def test_a_design_may_have_fewer_exemplars_and_more_replicates_than_the_gate() -> None:
    of = experiment(**CROSSED)
    gate, documented = (plan(of, of.design(name)) for name in ("gate", "documented"))
    assert (len(gate), len(documented)) == (16, 20)
    assert {trial["group"] for trial in documented} == {"Ada", "Bob"}
    both = {trial.id for trial in gate} & {trial.id for trial in documented}
    assert both == {f"{name}#{n}" for name in ("a/Ada", "b/Bob") for n in range(1, 5)}
    assert documented[0] == gate[0]


def test_the_trials_of_all_designs_are_each_listed_once() -> None:
    of = experiment(**CROSSED)
    every = [trial.id for trial in plan_all(of)]
    assert len(every) == len(set(every)) == 16 + 12
    assert [trial.id for trial in plan_all(of, Design(2))] == every
    assert len(plan_all(of, Design(5))) == 28 + 2


GROUP = Factor("group", {"f": 1, "m": 2}, exemplars={"f": ["Ada", "Eve"], "m": ["Bob", "Tom"]})
STYLE = Factor("style", {"plain": "p", "formal": "f", "slang": "s"})
SEEDS = Items("seed", {"one": "first", "two": "second"})


def test_trials_of_a_condition_are_exemplars_by_items_by_replicates() -> None:
    condition = cross([GROUP, STYLE])[0]
    trials = list(trials_of(condition, [GROUP, STYLE], SEEDS, Design(2)))
    assert [trial.id for trial in trials] == [
        f"f-plain/{name}/{item}#{n}"
        for name in ("Ada", "Eve")
        for item in SEEDS.items
        for n in (1, 2)
    ]
    assert trials[2].item_value == "second"
    assert trials[0]["group"] == "Ada"
    assert trials[0]["style"] == "p"
    assert trials[0].identity == {
        "condition": {"group": "f", "style": "plain"},
        "exemplars": {"group": "Ada"},
        "item": "one",
        "replicate": 1,
    }


def test_a_design_meets_the_first_exemplars_of_every_level() -> None:
    factor = Factor(
        "group", {"f": 1, "n": 2}, exemplars={"f": ["Ada", "Eve", "Ida"], "n": ["[X]"]}
    )
    first, second = cross([factor])
    for number, expected in ((1, "Ada"), (2, "Ada Eve"), (3, "Ada Eve Ida"), (9, "Ada Eve Ida")):
        design = Design(2, exemplars=number)
        trials = list(trials_of(first, [factor], None, design))
        assert [trial["group"] for trial in trials[::2]] == expected.split()
        assert [trial["group"] for trial in trials_of(second, [factor], None, design)] == [
            "[X]"
        ] * 2
        assert design.members(factor, "f") == tuple(expected.split())
    assert Design(2).members(factor, "f") == ("Ada", "Eve", "Ida")
    assert Design(2, exemplars=1).members(STYLE, "plain") == ()


names = st.text(st.sampled_from("ab/#%é \ud800"), min_size=1, max_size=4)


@given(st.lists(names, min_size=1, max_size=4, unique=True), st.integers(1, 3))
def test_no_two_trials_share_an_id(members: list[str], replicates: int) -> None:
    factors = [
        Factor(name, {"x": 0, "y": 1}, exemplars={"x": members, "y": members})
        for name in ("one", "two")
    ]
    ids = [t.id for c in cross(factors) for t in trials_of(c, factors, None, Design(replicates))]
    assert len(ids) == 4 * len(members) ** 2 * replicates
    assert len(set(ids)) == len(ids)


def test_values_are_frozen_all_the_way_down() -> None:
    mine: dict[str, Any] = {"a": {"list": [1, {"x": {1}}]}, "b": [2]}
    exemplars = {"a": ["x"], "b": ["y"]}
    factor = Factor("group", mine, exemplars=exemplars)
    items = Items("seed", {"one": ["first"]})
    mine["a"]["list"].append(3)
    exemplars["a"].append("z")
    assert factor.levels == {"a": {"list": (1, {"x": frozenset({1})})}, "b": (2,)}
    assert factor.exemplars == {"a": ("x",), "b": ("y",)}
    assert items.items == {"one": ("first",)}
    condition = cross([factor])[0]
    trial = next(trials_of(condition, [factor], items, Design(1)))
    for mapping in (
        factor.levels,
        factor.levels["a"],
        factor.exemplars,
        items.items,
        condition.levels,
        condition.values,
        trial.exemplars,
    ):
        assert isinstance(mapping, MappingProxyType)
        with pytest.raises(TypeError):
            mapping["new"] = 1  # type: ignore[index]
