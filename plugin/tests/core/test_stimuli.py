from __future__ import annotations

import pytest

from pytest_bias.errors import BadTemplate
from pytest_bias.experiments.templates import PromptTemplate


def test_variables_are_filled_in() -> None:
    template = PromptTemplate("t", "$name owes $$5, ${name}: $n", {"name", "n"})
    assert template.fill(name="Ada", n=3) == "Ada owes $5, Ada: 3"
    assert template.variables == frozenset({"name", "n"})


def test_what_is_filled_in_is_not_expanded_again() -> None:
    assert PromptTemplate("t", "$a", {"a"}).fill(a="$b ${c} $$") == "$b ${c} $$"


def test_variables_may_be_called_anything() -> None:
    template = PromptTemplate("t", "$self $name $text", {"self", "name", "text"})
    assert template.fill(self=1, name=2, text=3) == "1 2 3"


BAD = {
    "unknown": ("$a and $b", {"a"}, "uses unknown variable(s) b"),
    "unused": ("$a", {"a", "b", "c"}, "does not use variable(s) b, c"),
    "both": ("$a", {"b"}, "uses unknown variable(s) a and does not use variable(s) b"),
    "lone dollar": ("costs 5 $", set(), "a lone dollar sign: write $$"),
    "open brace": ("${a", {"a"}, "a lone dollar sign"),
}


@pytest.mark.parametrize(("text", "variables", "problem"), BAD.values(), ids=BAD)
def test_variables_are_checked_when_a_template_is_made(
    text: str, variables: set[str], problem: str
) -> None:
    with pytest.raises(BadTemplate) as caught:
        PromptTemplate("vignette", text, variables)
    assert str(caught.value).startswith("template 'vignette' ")
    assert problem in str(caught.value)


@pytest.mark.parametrize("values", [{}, {"b": 1}, {"a": 1, "b": 2}], ids=repr)
def test_and_when_it_is_filled(values: dict[str, object]) -> None:
    with pytest.raises(BadTemplate):
        PromptTemplate("t", "$a", {"a"}).fill(**values)


def test_repr_shows_no_text() -> None:
    assert "secret" not in repr(PromptTemplate("t", "secret"))
