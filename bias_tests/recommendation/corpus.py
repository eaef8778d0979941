"""Corpora of posts: read from CSV or Parquet, checked, and the pools that trials draw."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, cast, get_args

from pytest_bias import BadData, Stimuli

FeatureType = Literal["numerical", "categorical", "binary"]
Value = float | str | bool

_NEEDED = ("id", "author", "text")
_ID = re.compile(r"[A-Za-z0-9_.:-]+")
_NAME = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*")
_BINARY = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}


@dataclass(frozen=True, slots=True)
class Feature:
    """What kind of values a column holds; ``categories`` are those it may have, empty for any."""

    type: FeatureType
    categories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Post:
    """A post: its id, the author line and text that a subject is shown, and its features."""

    id: str
    author: str = field(repr=False)
    text: str = field(repr=False)
    features: Mapping[str, Value] = field(repr=False)

    @property
    def shown(self) -> str:
        """The post as a subject reads it."""
        return f"[{self.id}] {self.author}\n{self.text}"


@dataclass(frozen=True, slots=True)
class Corpus:
    """Posts by id, and the features they all have; ``name`` is the level it becomes."""

    name: str
    posts: Mapping[str, Post] = field(repr=False)
    features: Mapping[str, Feature] = field(repr=False)

    def pool(self, replicate: int, size: int) -> tuple[str, ...]:
        """The ids of a pool in the order in which they are shown.

        They are those of the ``size`` posts whose SHA-256 of ``<corpus>/<replicate>/<id>`` is
        smallest, smallest first: a random sample in random order, which depends on nothing else.
        So all styles and models meet the same pools, and each replicate meets a fresh one.

        Raises
        ------
        BadData
            When the corpus has fewer posts than that.
        """
        if len(self.posts) < size:
            problem = f"has {len(self.posts)} posts, a pool has {size}"
            raise BadData(source=f"corpus {self.name!r}", problem=problem)
        start = hashlib.sha256(f"{self.name}/{replicate}/".encode())
        posts: dict[bytes, str] = {}
        for post in self.posts:
            digest = start.copy()
            digest.update(post.encode())
            posts[digest.digest()] = post
        return tuple(posts[digest] for digest in sorted(posts)[:size])


def declared(types: Mapping[str, object] | Path) -> Mapping[str, Feature]:
    """A declaration of features: column → its type, from a mapping or a JSON file.

    A type is ``"numerical"``, ``"categorical"`` or ``"binary"``; a list of texts says categorical,
    with these categories and no others.

    Raises
    ------
    BadData
        For a file that is not there or no JSON object, for another type, for a column that is
        declared twice, and for one that every corpus has anyway.
    """
    source = types.name if isinstance(types, Path) else "declaration of features"
    given: object = types
    if isinstance(types, Path):
        given = Stimuli(types.parent).json(types.name, dict[str, object])
    if not isinstance(given, Mapping):
        problem = f"is {given!r}; give a mapping of columns to types, or the Path of a JSON file"
        raise BadData(source=source, problem=problem)
    features: dict[str, Feature] = {}
    for column, kind in given.items():
        if not isinstance(column, str):
            raise BadData(source=source, problem=f"{column!r} is no name of a column")
        if column in _NEEDED:
            raise BadData(source=source, column=column, problem="is no feature")
        if isinstance(kind, str) and kind in get_args(FeatureType):
            features[column] = Feature(cast("FeatureType", kind))
        elif _is_texts(kind):
            features[column] = Feature("categorical", tuple(cast("Sequence[str]", kind)))
        else:
            known = ", ".join(get_args(FeatureType))
            problem = f"{kind!r} is no type; give {known}, or a list of the categories"
            raise BadData(source=source, column=column, problem=problem)
    if not features:
        raise BadData(source=source, problem="declares no feature")
    return MappingProxyType(features)


def read_corpus(name: str, path: Path, types: Mapping[str, object] | Path) -> Corpus:
    """The corpus in a ``.csv`` (UTF-8, with a header) or ``.parquet`` file.

    Parameters
    ----------
    name
        What it is called: lower-case letters and digits, joined by ``_``.
    path
        The file. It has the columns ``id``, ``author``, ``text`` and those declared; others are
        left out. Lines of a CSV count from 1, its header included; rows of a Parquet file from 1.
        A category may be a text, a number or a truth, and is kept as a text.
    types
        The features; see :func:`declared`. Binary values are true and false, or 1 and 0.

    Raises
    ------
    BadData
        For a name of another form, anything that is missing, unknown, twice there or of another
        type, and a Parquet file where pyarrow is not installed.
    """
    if not _NAME.fullmatch(name):
        problem = "is no name: lower-case letters and digits, joined by _"
        raise BadData(source=f"corpus {name!r}", problem=problem)
    features = declared(types)
    path = Path(path)  # whoever gives a text means a path
    posts: dict[str, Post] = {}
    known: dict[tuple[str, object], Value] = {}
    for line, row in _rows(path):
        if not posts:
            _check_columns(path.name, row, features)
        post = _post(path.name, line, row, features, known)
        if post.id in posts:
            raise BadData(
                source=path.name, line=line, column="id", problem=f"{post.id!r} stands twice"
            )
        posts[post.id] = post
    if not posts:
        raise BadData(source=path.name, problem="holds no post")
    return Corpus(name, MappingProxyType(posts), features)


def _rows(path: Path) -> Iterable[tuple[int, Mapping[str, object]]]:
    """Return line or row, counted from 1 → column → value."""
    kind = path.suffix.lower()
    if kind not in {".csv", ".parquet"}:
        problem = "is neither .csv nor .parquet; save it as one of these"
        raise BadData(source=path.name, problem=problem)
    if kind == ".csv":
        return Stimuli(path.parent).csv(path.name).items()
    if find_spec("pyarrow") is None:
        problem = "needs pyarrow; install it with: pip install 'pytest-bias[dataset]'"
        raise BadData(source=path.name, problem=problem)
    pa, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")  # they have no types
    if not path.is_file():
        raise BadData(source=path.name, problem=f"there is no such file: {path}")
    try:
        rows: list[dict[str, object]] = parquet.read_table(path).to_pylist()
    except (pa.ArrowException, OSError):
        raise BadData(source=path.name, problem="is no Parquet file, or damaged") from None
    return enumerate(rows, start=1)


def _post(
    source: str,
    line: int,
    row: Mapping[str, object],
    features: Mapping[str, Feature],
    known: dict[tuple[str, object], Value],
) -> Post:
    """Return a row's post; ``known`` are the values of columns and texts that came before."""
    for column in _NEEDED:
        value = row[column]
        if not isinstance(value, str) or not value.strip():
            raise BadData(source=source, line=line, column=column, problem="is no text")
    name = cast("str", row["id"])
    if not _ID.fullmatch(name):
        problem = f"{name!r} is no id (letters, digits and _ . : - only)"
        raise BadData(source=source, line=line, column="id", problem=problem)
    values: dict[str, Value] = {}
    for column, feature in features.items():
        given = row[column]
        is_text = isinstance(given, str)  # of others 1 and True, which differ, would be one key
        if is_text and (column, given) in known:
            values[column] = known[column, given]
            continue
        try:
            values[column] = _value(given, feature)
        except _Unfit as unfit:
            raise BadData(source=source, line=line, column=column, problem=unfit.problem) from None
        if is_text:
            known[column, given] = values[column]
    return Post(
        name, cast("str", row["author"]), cast("str", row["text"]), MappingProxyType(values)
    )


class _Unfit(Exception):
    """A value is not of its column's type."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


def _value(given: object, feature: Feature) -> Value:
    if _is_empty(given):
        problem = "has no value; give unknown ones a category of their own, or leave the post out"
        raise _Unfit(problem)
    match feature.type:
        case "numerical":
            return _number(given)
        case "binary":
            truth = _BINARY.get(str(given).lower())
            if truth is None:
                problem = f"{given!r} is neither true nor false, and neither 1 nor 0"
                raise _Unfit(problem)
            return truth
        case "categorical":
            if isinstance(given, bytes | list | dict):
                problem = f"a value of type {type(given).__name__} is no category; give a text"
                raise _Unfit(problem)
            category = str(given).lower() if isinstance(given, bool) else str(given)
            if feature.categories and category not in feature.categories:
                known = ", ".join(feature.categories)
                problem = f"{category!r} is an unknown category; there are: {known}"
                raise _Unfit(problem)
            return category


def _is_empty(given: object) -> bool:
    """None, white space, and the NaN that a Parquet file may hold in place of a category."""
    if isinstance(given, str):
        return not given.strip()
    return given is None or (isinstance(given, float) and math.isnan(given))


def _number(given: object) -> float:
    try:
        number = math.nan if isinstance(given, bool) else float(cast("Any", given))
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        problem = f"{given!r} is no finite number"
        raise _Unfit(problem)
    return number


def _check_columns(
    source: str, row: Mapping[str, object], features: Mapping[str, Feature]
) -> None:
    missing = [column for column in (*_NEEDED, *features) if column not in row]
    if missing:
        problem = f"lacks the column(s) {', '.join(missing)}; it has {', '.join(map(repr, row))}"
        if len(row) == 1:
            problem += ": are values separated by commas?"
        raise BadData(source=source, problem=problem)


def _is_texts(kind: object) -> bool:
    if not isinstance(kind, list | tuple):
        return False
    texts = all(isinstance(each, str) for each in kind)
    return texts and bool(kind) and len(set(kind)) == len(kind)
