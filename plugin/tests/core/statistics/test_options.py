"""Options that are words: whatever is none of the known ones is refused with a list of them."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bias import statistics
from pytest_bias.errors import BadStatisticInput

PLAN: dict[str, object] = {"n": 20, "margin": 0.5, "paired": True}
SPREAD: dict[str, object] = {"sd": 1.0, "margin": 0.5}

VALID: dict[str, tuple[tuple[object, ...], dict[str, object]]] = {
    "agreement.krippendorff_alpha": (([[1, 2, 1], [1, 2, 2]],), {}),
    "anova.factorial_anova": (([1, 2, 3, 5], {"a": list("xxyy")}), {}),
    "noninferiority_power.largest_sd_to_pass": ((), PLAN),
    "noninferiority_power.power_to_pass": ((), {**PLAN, "sd": 1.0, "effect": 0.0}),
    "power.checked_plan": ((), {"n": 20}),
    "power.largest_sd_to_clear": ((), {"n": 20, "margin": 0.5}),
    "power.power_plan": ((), {"n": 20}),
    "power.units_to_clear": ((), SPREAD),
    "power.verdict_chances": ((), {**SPREAD, "n": 20, "difference": 0.1}),
    "score.p_of_z": ((1.0,), {}),
    "score.score_difference_p": ((3, 20, 5, 20), {"null": 0.1}),
    "score.score_ratio_p": ((3, 20, 5, 20), {"null": 1.1}),
}
"""What each function that has such options can be called with, besides them."""


def options() -> Iterator[tuple[str, Callable[..., object], str, tuple[object, ...]]]:
    """Every public function with an option that is one of several words, and these."""
    for found in pkgutil.iter_modules(statistics.__path__):
        module = importlib.import_module(f"{statistics.__name__}.{found.name}")
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if name.startswith("_") or function.__module__ != module.__name__:
                continue
            for argument, hint in get_type_hints(function).items():
                words = [
                    word
                    for each in (hint, *get_args(hint))
                    if get_origin(each) is Literal
                    for word in get_args(each)
                ]
                if words and argument != "return":
                    yield f"{found.name}.{name}", function, argument, tuple(words)


OPTIONS = list(options())


def call(name: str, function: Callable[..., Any], argument: str, word: object) -> object:
    arguments, named = VALID[name]
    needed = {
        other: words[0]
        for at, _, other, words in OPTIONS
        if at == name
        and inspect.signature(function).parameters[other].default is inspect.Parameter.empty
    }
    return function(*arguments, **{**named, **needed, argument: word})


def test_every_function_with_such_an_option_is_here() -> None:
    assert {name for name, *_ in OPTIONS} == set(VALID)


@pytest.mark.parametrize(
    ("name", "function", "argument", "words"), OPTIONS, ids=[f"{o[0]}-{o[2]}" for o in OPTIONS]
)
@given(other=st.text() | st.none() | st.integers(4))
def test_another_word_is_refused_with_those_there_are(
    name: str,
    function: Callable[..., object],
    argument: str,
    words: tuple[object, ...],
    other: object,
) -> None:
    for word in words:
        assert call(name, function, argument, word) is not None
    default = inspect.signature(function).parameters[argument].default
    if other in words or other is default:
        return
    with pytest.raises(BadStatisticInput) as refusal:
        call(name, function, argument, other)
    assert refusal.value.argument == argument
    for word in words:
        assert str(word) in refusal.value.problem
