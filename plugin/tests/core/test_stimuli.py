"""Stimuli: templates, and the files they and other data stand in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import BaseModel, ConfigDict

from pytest_bias import Stimuli, Within
from pytest_bias.errors import BadData, InvalidReply
from pytest_bias.experiments.replies import accept_object, reply_schema
from pytest_bias.experiments.stimuli import PromptTemplate


def test_variables_are_filled_in() -> None:
    template = PromptTemplate("t", "$name owes $$5, ${name}: $n", {"name", "n"})
    assert template.fill(name="Ada", n=3) == "Ada owes $5, Ada: 3"
    assert template.variables == frozenset({"name", "n"})


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
    with pytest.raises(BadData) as caught:
        PromptTemplate("vignette", text, variables)
    assert str(caught.value).startswith("template 'vignette': ")
    assert problem in str(caught.value)


# --- files ---------------------------------------------------------------------------------------


@pytest.fixture
def stimuli(tmp_path: Path) -> Stimuli:
    (tmp_path / "stimuli").mkdir()
    return Stimuli(str(tmp_path / "experiment.py"))


def write(stimuli: Stimuli, name: str, content: str | bytes) -> None:
    data = content if isinstance(content, bytes) else content.encode()
    (stimuli.folder / name).write_bytes(data)


def test_json_is_read_as_the_type_that_is_asked_for(stimuli: Stimuli) -> None:
    write(stimuli, "a.json", '{"x": ["1", "2"]}')
    assert stimuli.json("a", dict[str, tuple[str, ...]]) == {"x": ("1", "2")}


def test_csv_is_read_by_line(stimuli: Stimuli) -> None:
    write(stimuli, "a.csv", '\ufeffid,text\r\n1,"two\nlines"\n\n2,x\n\n')
    assert stimuli.csv("a") == {2: {"id": "1", "text": "two\nlines"}, 5: {"id": "2", "text": "x"}}
    write(stimuli, "b.csv", "")
    assert stimuli.csv("b") == {}


def test_line_ends_that_git_converted_are_those_of_the_file(stimuli: Stimuli) -> None:
    """A return that no new line follows is the author's own."""
    write(stimuli, "a.txt", b"one\rtwo\nthree\n")
    write(stimuli, "b.txt", b"one\rtwo\r\nthree\r\n")
    assert stimuli.text("a") == stimuli.text("b") == "one\rtwo\nthree"
    write(stimuli, "c.csv", b'id,text\r\n1,"two\r\nlines"\r\n')
    assert stimuli.csv("c") == {2: {"id": "1", "text": "two\nlines"}}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"a\nb\xff", "a.txt, line 2: is not UTF-8"),
        (
            "a.txt",
            "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
            "a.txt: is what Git LFS left in its place; git lfs pull fetches it",
        ),
        ("a.json", '{"x":\n', "a.json, line 2: is no JSON"),
        ("a.json", '{"x": "1", "x": "2"}', "a.json: 'x' stands twice in one object"),
        ("a.json", '{"x": 1}', "a.json: x: Input should be a valid string"),
        ("a.json", "[]", "a.json: Input should be an object"),
        ("a.csv", "a,a\n", "a.csv, line 1: two columns have one name, 'a'"),
        ("a.csv", "a,b\n1,2\n3\n", "a.csv, line 3: has 1 values for 2 columns"),
        ("a.csv", 'a,b\n1,"2\n', "a.csv, line 2: unexpected end of data"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_place(
    stimuli: Stimuli, name: str, content: str | bytes, message: str
) -> None:
    write(stimuli, name, content)
    readers: dict[str, Callable[[str], object]] = {
        "txt": stimuli.text,
        "json": lambda file: stimuli.json(file, dict[str, str]),
        "csv": stimuli.csv,
    }
    with pytest.raises(BadData) as refused:
        readers[name[2:]]("a")
    assert str(refused.value).startswith(message)


# --- bounds that nobody is told ------------------------------------------------------------------


class _Rated(BaseModel):
    model_config = ConfigDict(extra="forbid")

    rating: Annotated[int, Within(1, 4)]


def test_bounds_are_kept_and_not_told() -> None:
    assert reply_schema(_Rated)["properties"] == {"rating": {"type": "integer"}}
    assert accept_object('{"rating": 4}', "stop", _Rated).rating == 4
    for rating in (0, 5):
        with pytest.raises(InvalidReply, match=r"^out_of_range: rating$"):
            accept_object(f'{{"rating": {rating}}}', "stop", _Rated)
    with pytest.raises(InvalidReply, match=r"^wrong_type"):
        accept_object('{"rating": 2.5}', "stop", _Rated)
