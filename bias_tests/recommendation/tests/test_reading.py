"""A user's own corpus: CSV and Parquet, and errors that say file, line and column."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from pytest_bias import BadData

from ..corpus import Corpus, Feature, declared, read_corpus

pa, pq = import_module("pyarrow"), import_module("pyarrow.parquet")  # they have no types

TYPES = {"words": "numerical", "group": ["a", "b"], "topic": "categorical", "link": "binary"}
HEADER = "id,author,text,words,group,topic,link,more\n"
LINES = 'p1,Ann: baker,Bread!,1,a,food,true,x\np2,Bo,"Two\nlines, here",2.5,b,art,0,y\n'


def read(tmp_path: Path, text: str, types: Any = TYPES) -> Corpus:
    path = tmp_path / "posts.csv"
    path.write_bytes(text.encode())
    return read_corpus("posts", path, types)


def said(tmp_path: Path, text: str, types: Any = TYPES) -> str:
    with pytest.raises(BadData) as raised:
        read(tmp_path, text, types)
    return str(raised.value)


def test_a_csv_is_read_with_the_types_declared(tmp_path: Path) -> None:
    corpus = read(tmp_path, HEADER + LINES)
    assert list(corpus.posts) == ["p1", "p2"]
    one, two = corpus.posts.values()
    assert dict(one.features) == {"words": 1.0, "group": "a", "topic": "food", "link": True}
    assert dict(two.features) == {"words": 2.5, "group": "b", "topic": "art", "link": False}
    assert two.text == "Two\nlines, here"
    assert two.shown == "[p2] Bo\nTwo\nlines, here"


def test_a_byte_order_mark_and_windows_lines_change_nothing(tmp_path: Path) -> None:
    plain = read(tmp_path, HEADER + LINES)
    marked = read(tmp_path, "\ufeff" + HEADER.replace("\n", "\r\n") + LINES)
    assert marked == plain


def test_empty_lines_and_capitals_in_a_suffix_change_nothing(tmp_path: Path) -> None:
    plain = read(tmp_path, HEADER + LINES)
    assert read(tmp_path, "\n" + HEADER + LINES.replace("p2,", "\np2,") + "\n\n") == plain
    (tmp_path / "POSTS.CSV").write_text(HEADER + LINES, encoding="utf-8")
    assert read_corpus("posts", tmp_path / "POSTS.CSV", TYPES) == plain


def test_an_empty_line_counts_as_a_line(tmp_path: Path) -> None:
    found = said(tmp_path, HEADER + "\np1,A,t,many,a,x,1,z\n")
    assert found.startswith("posts.csv, line 3, column 'words'")


def test_parquet_gives_the_same_corpus(tmp_path: Path) -> None:
    columns = {
        "id": ["p1", "p2"],
        "author": ["Ann: baker", "Bo"],
        "text": ["Bread!", "Two\nlines, here"],
        "words": [1.0, 2.5],
        "group": ["a", "b"],
        "topic": ["food", "art"],
        "link": [True, False],
    }
    pq.write_table(pa.table(columns), tmp_path / "posts.parquet")
    read_back = read_corpus("posts", tmp_path / "posts.parquet", TYPES)
    assert read_back == read(tmp_path, HEADER + LINES)


def test_a_missing_value_in_parquet_is_an_error(tmp_path: Path) -> None:
    columns = {"id": ["p1"], "author": ["A"], "text": ["t"], "words": pa.array([None], "float64")}
    pq.write_table(pa.table(columns), tmp_path / "posts.parquet")
    with pytest.raises(BadData, match=r"posts.parquet, line 1, column 'words': has no value"):
        read_corpus("posts", tmp_path / "posts.parquet", {"words": "numerical"})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (pa.array([float("nan")], "float64"), "has no value"),
        ([" "], "has no value"),
        ([["a", "b"]], "a value of type list is no category"),
        ([b"a"], "a value of type bytes is no category"),
    ],
)
def test_what_is_no_category_is_refused(tmp_path: Path, values: Any, message: str) -> None:
    columns = {"id": ["p1"], "author": ["A"], "text": ["t"], "topic": values}
    pq.write_table(pa.table(columns), tmp_path / "posts.parquet")
    with pytest.raises(BadData, match=f"line 1, column 'topic': {message}"):
        read_corpus("posts", tmp_path / "posts.parquet", {"topic": "categorical"})


def test_binary_values_may_be_numbers_with_a_point(tmp_path: Path) -> None:
    columns = {"id": ["p1", "p2"], "author": ["A", "B"], "text": ["t", "u"], "link": [1.0, 0.0]}
    pq.write_table(pa.table(columns), tmp_path / "posts.parquet")
    corpus = read_corpus("posts", tmp_path / "posts.parquet", {"link": "binary"})
    assert [post.features["link"] for post in corpus.posts.values()] == [True, False]


@pytest.mark.parametrize("name", ["posts.csv", "posts.parquet", "types.json"])
def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path: Path, name: str) -> None:
    (tmp_path / "here.csv").write_text(HEADER + LINES, encoding="utf-8")
    given = ("here.csv", tmp_path / name) if name == "types.json" else (name, TYPES)
    with pytest.raises(BadData, match=f"^{name}: there is no such file: .*{name}$"):
        read_corpus("posts", tmp_path / given[0], given[1])


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "posts.csv").mkdir()
    with pytest.raises(BadData, match=r"^posts.csv: cannot be read"):
        read_corpus("posts", tmp_path / "posts.csv", TYPES)


def test_a_corpus_is_called_by_a_label(tmp_path: Path) -> None:
    (tmp_path / "posts.csv").write_text(HEADER + LINES, encoding="utf-8")
    with pytest.raises(BadData, match="'My posts': is no name"):
        read_corpus("My posts", tmp_path / "posts.csv", TYPES)


def test_a_declaration_may_stand_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "types.json"
    path.write_text(json.dumps(TYPES), encoding="utf-8")
    assert read(tmp_path, HEADER + LINES, path) == read(tmp_path, HEADER + LINES)
    assert declared(path)["group"] == Feature("categorical", ("a", "b"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,author,text,words,group,topic\n" + "p1,A,t,1,a,x\n", "lacks the column(s) link"),
        (HEADER + LINES + "p1,C,t,1,a,x,1,z\n", "line 5, column 'id': 'p1' stands twice"),
        (HEADER + "p1,A,t,1,c,x,1,z\n", "line 2, column 'group': 'c' is an unknown category"),
        (HEADER + "p1,A,t,many,a,x,1,z\n", "column 'words': 'many' is no finite number"),
        (HEADER + "p1,A,t,nan,a,x,1,z\n", "column 'words': 'nan' is no finite number"),
        (HEADER + "p1,A,t,1,a,x,maybe,z\n", "column 'link': 'maybe' is neither true nor false"),
        (HEADER + "p1,A,t,1,a,,1,z\n", "column 'topic': has no value"),
        (HEADER + "p1,A,t,1,a, ,1,z\n", "column 'topic': has no value"),
        (HEADER + "p1,A,t,1,a,x,yes,z\n", "'yes' is neither true nor false, and neither 1 nor 0"),
        ("id;author;text\np1;A;t\n", "it has 'id;author;text': are values separated by commas?"),
        (HEADER + f"p1,A,{'t' * 140_000},1,a,x,1,z\n", "none is longer than 131,072 characters"),
        (HEADER + "p 1,A,t,1,a,x,1,z\n", "column 'id': 'p 1' is no id"),
        (HEADER + "p1,A, ,1,a,x,1,z\n", "column 'text': is no text"),
        (HEADER + "p1,,t,1,a,x,1,z\n", "column 'author': is no text"),
        (HEADER + "p1,A,t,1\n", "line 2: has 4 values for 8 columns"),
        (HEADER, "holds no post"),
        ("", "holds no post"),
        ("id,id\n1,2\n", "line 1: two columns have one name"),
        (HEADER + 'p1,A,"open\n', "line 2"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    found = said(tmp_path, text)
    assert found.startswith("posts.csv")
    assert message in found


def test_other_bytes_and_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "posts.csv").write_bytes(HEADER.encode() + b"p1,\xff,t,1,a,x,1,z\n")
    with pytest.raises(BadData, match=r"posts.csv, line 2: is not UTF-8"):
        read_corpus("posts", tmp_path / "posts.csv", TYPES)
    with pytest.raises(BadData, match=r"posts.xlsx: is neither .csv nor .parquet"):
        read_corpus("posts", tmp_path / "posts.xlsx", TYPES)
    (tmp_path / "posts.parquet").write_bytes(b"PAR")
    with pytest.raises(BadData, match="is no Parquet file"):
        read_corpus("posts", tmp_path / "posts.parquet", TYPES)


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ({"words": "number"}, "column 'words': 'number' is no type; give numerical"),
        ({"words": []}, "is no type"),
        ({"id": "categorical"}, "column 'id': is no feature"),
        ({}, "declares no feature"),
        ({"group": ["a", "a"]}, "is no type"),
        ({1: "numerical"}, "1 is no name of a column"),
        (["words"], "give a mapping of columns to types, or the Path of a JSON file"),
        ("types.json", "give a mapping of columns to types, or the Path of a JSON file"),
    ],
)
def test_a_declaration_is_checked(types: Any, message: str) -> None:
    with pytest.raises(BadData, match=message):
        declared(types)


def test_a_declaration_that_is_no_object_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "types.json"
    twice = '{"words": "numerical", "words": "binary"}'
    for text, message in (
        ("[]", "Input should be an object"),
        ("{", "is no JSON"),
        (twice, "'words' stands twice in one object"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(BadData, match=f"types.json.*: {message}"):
            declared(path)


def test_a_pool_larger_than_its_corpus_is_refused(tmp_path: Path) -> None:
    corpus = read(tmp_path, HEADER + LINES)
    assert sorted(corpus.pool(1, 2)) == ["p1", "p2"]
    with pytest.raises(BadData, match="corpus 'posts': has 2 posts, a pool has 3"):
        corpus.pool(1, 3)
