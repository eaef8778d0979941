from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

import pytest_bias
from pytest_bias.contrasts.cases import (
    Declaration,
    Registry,
    cases_of,
    conditions,
    hypotheses,
    judging,
    positive_control,
)
from pytest_bias.contrasts.declared import PositiveControl
from pytest_bias.contrasts.differences import MeanDifference, RateDifference
from pytest_bias.contrasts.register import ATTRIBUTE
from pytest_bias.errors import BadDesign, NotJudged, UnknownName
from pytest_bias.experiments.measures import Measure

from .factories import experiment

TINY = experiment(
    measures=[Measure("score", bounds=(0, 10)), Measure("hit", kind="flag")], replicates=30
)
MODELS = ["openai/one", "openai/two"]


def mean(high: str = "b", low: str = "a") -> MeanDifference:
    return MeanDifference("score", "group", high=high, low=low, margin=1, claim="clear")


CONTROL = RateDifference("hit", "group", high="b", low="a")


def function() -> None:
    """A test."""


def generator() -> Iterator[None]:
    """No test."""
    yield


def declared(decorate: Callable[[Any], Any], module: str = "test_one") -> Declaration:
    def test() -> None:
        """A test."""

    test.__module__ = module
    found: Declaration = getattr(decorate(test), ATTRIBUTE)
    return found


@contextmanager
def not_judged(words: str | None = None) -> Iterator[None]:
    """Expect that a call is refused, and take what is kept of it for whoever catches that."""
    with pytest.raises(NotJudged, match=words) as refused:
        yield
    assert pytest_bias._refusals.pop() == f"NotJudged: {refused.value}"


def test_a_decorated_function_runs_only_where_its_case_is_judged() -> None:
    def test(verdict: object) -> object:
        """Say it."""
        return verdict

    guarded = hypotheses(TINY, mean())(test)
    assert (guarded.__name__, guarded.__doc__) == ("test", "Say it.")
    with not_judged(r"test was called without .* functools\.wraps"):
        guarded("v")
    (case,) = cases_of(getattr(guarded, ATTRIBUTE), MODELS[:1], TINY.design())
    (other,) = cases_of(declared(hypotheses(TINY, mean())), MODELS[:1], TINY.design())
    with judging(case):
        assert guarded("v") == "v"
        with judging(other), not_judged():
            guarded("v")
    with not_judged():
        guarded("v")


def test_a_decorated_coroutine_stays_one() -> None:
    async def test() -> str:
        return "v"

    guarded = conditions(TINY)(test)
    assert inspect.iscoroutinefunction(guarded)
    with not_judged():
        guarded().send(None)
    case, _ = cases_of(getattr(guarded, ATTRIBUTE), MODELS[:1], TINY.design())
    with judging(case), pytest.raises(StopIteration, match="v"):
        guarded().send(None)


def test_conditions_by_models() -> None:
    cases = cases_of(declared(conditions(TINY)), MODELS, TINY.design())
    assert [case.id for case in cases] == [
        "openai/one-a",
        "openai/one-b",
        "openai/two-a",
        "openai/two-b",
    ]
    assert [trial.id for trial in cases[1].trials()] == [f"b#{n}" for n in range(1, 31)]
    assert cases == cases_of(declared(conditions(TINY)), MODELS, TINY.design())


def test_a_hypothesis_asserts_what_it_says_or_its_function_does() -> None:
    def shown() -> None:
        """Nothing moves the score.

        More about it.
        """

    def silent() -> None:
        pass

    contrast = mean()
    own = replace(contrast, title="Its own sentence.")
    for function, given, title in (
        (shown, contrast, "Nothing moves the score."),
        (shown, own, "Its own sentence."),
        (silent, contrast, ""),
    ):
        decorated: Any = hypotheses(TINY, given)(function)
        (found,) = getattr(decorated, ATTRIBUTE).contrasts
        assert (found.title, found.id) == (title, contrast.id)
        assert found == contrast  # a title is no part of what is asked


BAD: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "no hypothesis": (lambda: hypotheses(TINY), BadDesign, "none is given for tiny"),
    "a control that does not fit": (
        lambda: positive_control(TINY, RateDifference("x", "group", high="b", low="a")),
        UnknownName,
        "unknown measure",
    ),
    "no function": (
        lambda: conditions(TINY)(staticmethod(function)),
        BadDesign,
        "stands on a plain function",
    ),
    "a generator": (lambda: conditions(TINY)(generator), BadDesign, "does not yield"),
    "two decorators": (
        lambda: conditions(TINY)(hypotheses(TINY, mean())(lambda: None)),
        BadDesign,
        "one function is one kind of case",
    ),
}


@pytest.mark.parametrize(("make", "error", "problem"), BAD.values(), ids=BAD)
def test_bad_declarations(
    make: Callable[[], object], error: type[Exception], problem: str
) -> None:
    with pytest.raises(error, match=problem):
        make()


def registry(*given: Declaration) -> Registry:
    filled = Registry()
    for each in given:
        filled.add(each)
    return filled


def test_what_is_declared_is_known_by_experiment() -> None:
    filled = registry(
        declared(conditions(TINY), "elsewhere"),
        declared(hypotheses(TINY, mean())),
        declared(hypotheses(TINY, mean("a", "b"))),
        declared(positive_control(TINY, CONTROL)),
    )
    entry = filled["tiny"]
    assert list(filled) == [entry]
    assert list(entry.hypotheses) == ["score-b-a", "score-a-b"]
    assert list(entry.controls.values()) == [PositiveControl(CONTROL)]
    assert (entry.experiment, entry.module) == (TINY, "test_one")


CONFLICTS: dict[str, tuple[Callable[[], Registry], str]] = {
    "two experiments": (
        lambda: registry(declared(conditions(TINY)), declared(conditions(experiment()))),
        "two experiments have this id",
    ),
    "two controls": (
        lambda: registry(
            declared(positive_control(TINY, CONTROL)), declared(positive_control(TINY, CONTROL))
        ),
        "positive controls: two have the id 'hit-b-a'",
    ),
    "two modules": (
        lambda: registry(
            declared(hypotheses(TINY, mean())),
            declared(hypotheses(TINY, mean("a", "b")), "test_two"),
        ),
        "test_one and test_two; keep them in one module",
    ),
}


@pytest.mark.parametrize(("fill", "problem"), CONFLICTS.values(), ids=CONFLICTS)
def test_conflicts(fill: Callable[[], Registry], problem: str) -> None:
    with pytest.raises(BadDesign, match=problem):
        fill()
