from __future__ import annotations

from functools import partial
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bias.errors import BadDesign, UnknownName, Unserialisable
from pytest_bias.experiments.design import Design, Factor, Items, Trial
from pytest_bias.experiments.experiment import (
    Experiment,
    plan,
    plan_all,
    plan_condition,
)
from pytest_bias.experiments.protocol import Subject

from .factories import ask_once, experiment


def test_metadata_must_be_json() -> None:
    with pytest.raises(Unserialisable, match=r"metadata of Experiment\('tiny'\)\.seen\[0\]"):
        experiment(metadata={"seen": [{1, 2}]})


def test_a_protocol_may_be_anything_that_gives_a_coroutine() -> None:
    class Callable_:  # noqa: N801  (an object whose call is async)
        async def __call__(self, trial: Trial, subject: Subject) -> object:
            return await ask_once(trial, subject)

    for protocol in (Callable_(), cast("Any", partial(ask_once))):
        assert experiment(protocol).id == "tiny"


def test_an_experiment_is_frozen_all_the_way_down() -> None:
    metadata = {"limits": [{"one": 1}]}
    designs = {"documented": Design(2)}
    tiny = experiment(metadata=metadata, designs=designs)
    metadata["limits"].append({})
    designs["more"] = Design(9)
    assert tiny.metadata == {"limits": ({"one": 1},)}
    assert set(tiny.designs) == {"documented"}
    assert isinstance(tiny.factors, tuple)
    assert isinstance(tiny.measures, tuple)
    with pytest.raises(AttributeError):
        tiny.replicates = 4  # type: ignore[misc]
    with pytest.raises(TypeError):
        tiny.metadata["new"] = 1  # type: ignore[index]


def test_designs() -> None:
    tiny = experiment(designs={"documented": Design(2, "whatever")})
    assert tiny.design() == tiny.design("gate") == Design(3, "gate")
    assert tiny.design("documented") == Design(2, "documented")
    assert tiny.design("documented", 2) == Design(2, "documented")
    assert tiny.design("gate", 5) == Design(5, "gate, 5 replicates")
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


@given(shapes, st.integers(1, 5), st.integers(1, 5))
def test_a_smaller_design_is_part_of_a_larger_one(of: Experiment, one: int, two: int) -> None:
    small, large = (plan(of, Design(n)) for n in sorted((one, two)))
    assert set(map(repr, small)) <= set(map(repr, large))
    assert len({trial.id for trial in large}) == len(large)
    assert plan(of, Design(one)) == plan(of, Design(one))
    whole = [t for c in of.conditions for t in plan_condition(of, Design(one), c)]
    assert tuple(whole) == plan(of, Design(one))


def test_declaring_calls_nothing() -> None:
    async def unwanted(_trial: Trial, _subject: Subject) -> None:
        raise AssertionError

    tiny = experiment(unwanted)
    plan(tiny, tiny.design())
    assert "unwanted" not in repr(tiny)


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


def test_another_number_of_replicates_keeps_the_exemplars() -> None:
    of = experiment(**CROSSED)
    asked = of.design("documented", 2)
    assert (asked.replicates, asked.exemplars, asked.name) == (2, 1, "documented, 2 replicates")
    assert of.design("documented", 10) == of.design("documented")
    assert of.design("documented").name == "documented"
