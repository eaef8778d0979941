"""Keys and seeds, and the one way of writing JSON that they are digests of."""

from __future__ import annotations

import enum
import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bias.errors import BadJSON
from pytest_bias.experiments.canonical import dumps
from pytest_bias.experiments.design import Condition, Factor, Items, Trial
from pytest_bias.experiments.experiment import plan
from pytest_bias.experiments.messages import (
    Message,
    Parameters,
    Place,
    Request,
    interaction_key,
    trial_seed,
)

from .factories import experiment

CONDITION = Condition({"demand": "high"}, {"demand": 9})
TRIAL = Trial(CONDITION, {"name": "Ada"}, "one", "first", 3)
PLACE = Place((2, 1), 4, 1)
REQUEST = Request(
    (Message("system", "Be brief."), Message("user", "How long?")),
    Parameters(temperature=1.0, max_output_tokens=400),
    "Ruling",
    {"type": "object"},
)


def key(
    *,
    experiment_id: str = "anchoring",
    trial: Trial = TRIAL,
    place: Place = PLACE,
    model: str = "openai/gpt-5.1",
    request: Request = REQUEST,
) -> str:
    return interaction_key(experiment_id, trial, place, model, request)


def test_keys_never_change() -> None:
    """A change here makes every cassette in the world stale: it needs a new format version."""
    assert key() == "f1f5468730877532e8e5cfa34a7f5dd5f70bf4978f5064416731f8b1c1538359"
    assert trial_seed("anchoring", TRIAL, PLACE) == 674122073234154811


def changed(**parts: Any) -> Request:
    given: dict[str, Any] = {
        "messages": REQUEST.messages,
        "parameters": REQUEST.parameters,
        "schema_name": REQUEST.schema_name,
        "schema": REQUEST.schema,
    }
    return Request(**(given | parts))


OTHERS: dict[str, dict[str, Any]] = {
    "experiment": {"experiment_id": "other"},
    "condition": {"trial": Trial(Condition({"demand": "low"}, {}), {"name": "Ada"}, "one", "", 3)},
    "factor": {"trial": Trial(Condition({"plea": "high"}, {}), {"name": "Ada"}, "one", "", 3)},
    "exemplar": {"trial": Trial(CONDITION, {"name": "Eve"}, "one", "first", 3)},
    "no exemplar": {"trial": Trial(CONDITION, {}, "one", "first", 3)},
    "item": {"trial": Trial(CONDITION, {"name": "Ada"}, "two", "first", 3)},
    "no item": {"trial": Trial(CONDITION, {"name": "Ada"}, None, "first", 3)},
    "replicate": {"trial": Trial(CONDITION, {"name": "Ada"}, "one", "first", 4)},
    "branch": {"place": Place((2, 2), 4, 1)},
    "turn": {"place": Place((2, 1), 5, 1)},
    "attempt": {"place": Place((2, 1), 4, 2)},
    "model": {"model": "openai/gpt-5.2"},
    "text": {"request": changed(messages=(Message("user", "How long?"),))},
    "role": {
        "request": changed(messages=(Message("user", "Be brief."), Message("user", "How long?")))
    },
    "order": {"request": changed(messages=REQUEST.messages[::-1])},
    "temperature": {"request": changed(parameters=Parameters(0.9, 400))},
    "temperature of the provider": {"request": changed(parameters=Parameters(None, 400))},
    "limit": {"request": changed(parameters=Parameters(1.0, 401))},
    "schema": {"request": changed(schema={"type": "object", "title": "x"})},
    "no schema": {"request": changed(schema=None)},
}


def test_every_component_makes_another_key() -> None:
    keys = {"none": key()} | {name: key(**change) for name, change in OTHERS.items()}
    assert len({*keys.values()}) == len(OTHERS) + 1, keys


SAME: dict[str, dict[str, Any]] = {
    "value of the level": {
        "trial": Trial(
            Condition({"demand": "high"}, {"demand": 8}), {"name": "Ada"}, "one", "x", 3
        )
    },
    "name of the schema": {"request": changed(schema_name="Other")},
    "temperature as a whole number": {"request": changed(parameters=Parameters(1, 400))},
}


@pytest.mark.parametrize("change", SAME.values(), ids=SAME)
def test_what_the_subject_does_not_see_leaves_the_key_alone(change: dict[str, Any]) -> None:
    assert key(**change) == key()


@given(
    st.lists(st.text(min_size=1, max_size=2), min_size=1, max_size=3, unique=True),
    st.integers(0, 2),
    st.integers(1, 4),
)
def test_no_two_trials_of_a_plan_share_a_key_or_a_seed(
    members: list[str], items: int, replicates: int
) -> None:
    of = experiment(
        factors=[
            Factor("group", {"a": 1, "b": 1}, exemplars={"a": members, "b": members}),
            Factor("style", {"a": 1, "b": 1}),
        ],
        items=Items("seed", {f"s{n}": "same" for n in range(items)}) if items else None,
        replicates=replicates,
    )
    trials = plan(of, of.design())
    place = Place((), 1, 1)
    assert len({key(trial=trial, place=place) for trial in trials}) == len(trials)
    seeds = {trial_seed(of.id, trial, place) for trial in trials}
    assert len(seeds) == len(trials)
    assert all(0 <= seed < 2**60 for seed in seeds)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    # any text, halves of surrogate pairs included
    | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


class Colour(enum.StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Pair:
    left: object
    right: object


@given(json_values)
def test_json_values_come_back(value: object) -> None:
    text = dumps(value)
    assert json.loads(text) == value
    assert text.isascii()
    assert dumps(json.loads(text)) == text


@pytest.mark.parametrize(
    ("value", "where", "kind"),
    [
        (Colour.RED, "value", "Colour"),
        (np.float64(1.5), "value", "float64"),
        (np.arange(3), "value", "ndarray"),
        ({1, 2}, "value", "set"),
        (Pair, "value", "type"),
        (math.nan, "value", "non-finite float (nan)"),
        ({"a": [0, {"b": math.nan}]}, "value.a[1].b", "non-finite float (nan)"),
        ({"rows": [Pair(1, Colour.RED)]}, "value.rows[0].right", "Colour"),
        ({"a": {2: "x"}}, "a key of value.a", "int"),
        ({Colour.RED: 1}, "a key of value", "Colour"),
    ],
)
def test_anything_else_is_named_with_its_place(value: object, where: str, kind: str) -> None:
    with pytest.raises(BadJSON) as caught:
        dumps(value)
    assert str(caught.value).startswith(f"{where} is a {kind}, which cannot be written as JSON")
