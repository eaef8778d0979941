from __future__ import annotations

import enum
import json
import math
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bias.errors import Unserialisable
from pytest_bias.experiments.canonical import compact, digest, dumps, plain

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


class Rank(enum.IntEnum):
    FIRST = 1


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


def test_order_of_keys_and_kind_of_container_do_not_matter() -> None:
    first = {"b": (1, 2), "a": Pair("x", None)}
    second = MappingProxyType({"a": {"right": None, "left": "x"}, "b": [1, 2]})
    assert dumps(first) == dumps(second) == '{"a":{"left":"x","right":null},"b":[1,2]}'


def test_a_lone_surrogate_survives_as_an_escape() -> None:
    text = dumps("half of a pair: \ud83d")
    assert text == '"half of a pair: \\ud83d"'
    assert text.encode("ascii")
    assert len(digest("\ud83d")) == 64


@pytest.mark.parametrize(
    ("value", "where", "kind"),
    [
        (Colour.RED, "value", "Colour"),
        (Rank.FIRST, "value", "Rank"),
        (np.float64(1.5), "value", "float64"),
        (np.int64(1), "value", "int64"),
        (np.bool_(True), "value", "bool"),  # noqa: FBT003  (numpy's own)
        (np.arange(3), "value", "ndarray"),
        ({1, 2}, "value", "set"),
        (b"bytes", "value", "bytes"),
        (Pair, "value", "type"),
        (math.nan, "value", "non-finite float (nan)"),
        (-math.inf, "value", "non-finite float (-inf)"),
        ({"a": [0, {"b": math.nan}]}, "value.a[1].b", "non-finite float (nan)"),
        ({"rows": [Pair(1, Colour.RED)]}, "value.rows[0].right", "Colour"),
        ({"a": {2: "x"}}, "a key of value.a", "int"),
        ({Colour.RED: 1}, "a key of value", "Colour"),
    ],
)
def test_anything_else_is_named_with_its_place(value: object, where: str, kind: str) -> None:
    with pytest.raises(Unserialisable) as caught:
        dumps(value)
    assert caught.value.where == where
    assert caught.value.kind == kind
    assert str(caught.value).startswith(f"{where} is a {kind}, which cannot be written as JSON")


def test_the_caller_names_what_it_writes() -> None:
    with pytest.raises(Unserialisable, match=r"^analysis\.p is a non-finite float"):
        plain({"p": math.inf}, "analysis")


def test_plain_gives_new_containers() -> None:
    inner = [1]
    found = plain({"a": inner})
    assert found == {"a": [1]}
    inner.append(2)
    assert found == {"a": [1]}


def test_compact_refuses_what_is_not_json() -> None:
    with pytest.raises(ValueError, match="JSON"):
        compact([math.nan])


def test_digests_are_those_of_sha_256() -> None:
    assert digest("abc") == digest(b"abc")
    assert digest("abc").startswith("ba7816bf8f01cfea414140de5dae2223")
