"""Tables of posts: read column by column, by position and never by an index."""

from __future__ import annotations

import numbers
import operator
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from pytest_bias import BadData

from .features import FEATURES, Feature

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # ships no types
    from numpy.typing import NDArray

Table: TypeAlias = "Mapping[str, Sequence[object]] | Sequence[Mapping[str, object]] | pd.DataFrame"
"""A data frame, column → its values, or rows of column → value."""

Columns: TypeAlias = dict[str, list[object]]

_NAME = "table of posts"
_NO_VALUE = {"NAType", "NaTType"}  # pandas', told by name: it need not be installed


@dataclass(frozen=True, slots=True)
class PoolTrial:
    """One trial: the posts shown, in the order shown, and the places of those picked, from 0.

    Raises BadData for a trial without a pick, and for a pick that is there twice or was not
    shown.
    """

    pool: Table = field(repr=False)
    picks: Sequence[int]

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "picks", tuple(map(operator.index, self.picks)))
        except TypeError:
            problem = "must be whole numbers: the places of the posts picked"
            raise BadData(source="trial", column="picks", problem=problem) from None
        size = length(self.pool)
        problem = ""
        if not self.picks:
            problem = "is empty: leave a trial without a valid reply out, and count it"
        elif len(set(self.picks)) < len(self.picks):
            problem = "names a post twice"
        elif not all(0 <= pick < size for pick in self.picks):
            problem = f"names a post outside the {size} that were shown"
        if problem:
            raise BadData(source="trial", column="picks", problem=problem)

    @classmethod
    def of(
        cls,
        shown: Sequence[str],
        picked: Iterable[str],
        corpus: Mapping[str, Mapping[str, object]],
    ) -> PoolTrial:
        """A trial of ids, with the features of each post in ``corpus``.

        Raises BadData for an id that was picked but not shown, or is shown twice, or not in the
        corpus.
        """
        places = {post: place for place, post in enumerate(shown)}
        unknown = [post for post in shown if post not in corpus]
        strange = [post for post in picked if post not in places]
        if unknown or strange or len(places) < len(shown):
            problem = "names a post twice"
            if unknown:
                problem = f"{unknown[0]!r} is not in the corpus"
            elif strange:
                problem = f"{strange[0]!r} was picked, but not shown"
            raise BadData(source="trial", column="shown", problem=problem)
        return cls([dict(corpus[post]) for post in shown], [places[post] for post in picked])


def length(table: Table) -> int:
    """How many posts a table has."""
    if hasattr(table, "columns"):
        return len(table)
    if isinstance(table, Mapping):
        return len(next(iter(table.values()), ()))
    return len(table)


def columns_of(table: Table, features: Sequence[Feature], *, what: str = _NAME) -> Columns:
    """The columns of ``features``, by position: an index a data frame may have says nothing.

    Raises BadData for a missing column and for columns of different lengths.
    """
    given = cast("Any", table)
    columns: Columns = {}
    for feature in features:
        name = feature.name
        if isinstance(given, Mapping) or hasattr(given, "columns"):
            if name not in given:
                raise BadData(source=what, column=name, problem="is missing")
            if getattr(given[name], "ndim", 1) != 1:
                raise BadData(source=what, column=name, problem="stands there more than once")
            values = given[name]
            # Plain values instead of numpy's, whose flags are no numbers.
            columns[name] = values.tolist() if hasattr(values, "tolist") else list(values)
        else:
            # A dict is told at once; what else there may be takes ten times as long to ask.
            columns[name] = [
                row[name] if type(row) is dict and name in row else _cell(row, name, place, what)
                for place, row in enumerate(given, 1)
            ]
        first = features[0].name
        if len(columns[name]) != len(columns[first]):
            problem = f"has {len(columns[name])} rows, {first} {len(columns[first])}"
            raise BadData(source=what, column=name, problem=problem)
    return columns


def stacked(
    trials: Sequence[PoolTrial],
    features: Sequence[Feature] = FEATURES,
    *,
    not_recommended: bool = False,
) -> tuple[Columns, Columns]:
    """All pools under each other, and all picks under each other: what the document compares.

    A post shown in several trials is there several times, as in the document. Of the pools all
    posts are there, as its text says, or those ``not_recommended`` alone, as its program has it.
    """
    pool: Columns = {feature.name: [] for feature in features}
    recommended: Columns = {feature.name: [] for feature in features}
    for trial in trials:
        columns = columns_of(trial.pool, features)
        picks = set(trial.picks) if not_recommended else set()
        for name, values in columns.items():
            pool[name] += [each for place, each in enumerate(values) if place not in picks]
            recommended[name] += [values[pick] for pick in trial.picks]
    return pool, recommended


def is_missing(value: object) -> bool:
    """Whether a cell is empty: None, NaN, pandas' NA and NaT, or white space."""
    if isinstance(value, str):
        return not value.strip()
    if value is None or type(value).__name__ in _NO_VALUE:
        return True
    return isinstance(value, numbers.Number) and bool(value != value)  # noqa: PLR0124  (NaN)


def numbers_of(values: Sequence[object]) -> tuple[NDArray[np.float64], int]:
    """The values as numbers, and how many were missing.

    Raises ValueError or TypeError for a value that is no number.
    """
    import numpy as np  # noqa: PLC0415  (declaring an experiment needs no arrays)

    try:
        every = np.asarray(values, dtype=np.float64)  # None becomes NaN
    except (TypeError, ValueError):
        every = np.asarray([v for v in values if not is_missing(v)], dtype=np.float64)
    kept = every[~np.isnan(every)]
    return kept, len(values) - kept.size


def counts_of(values: Sequence[object]) -> tuple[Counter[Hashable], int]:
    """How often each category occurs, and how many values were missing.

    Raises TypeError for a value that cannot be a category, such as a list.
    """
    counts: Counter[Hashable] = Counter(values)
    empty = [value for value in counts if is_missing(value)]
    return counts, sum(counts.pop(value) for value in empty)


def in_order(categories: Iterable[Hashable]) -> list[Hashable]:
    """Categories in an order of their own, whatever their types."""
    return sorted(categories, key=lambda value: (isinstance(value, str), _rank(value)))


def _rank(value: object) -> tuple[float, str]:
    """Numbers and flags by size, everything else by its words."""
    if isinstance(value, numbers.Real):
        return float(value), ""
    return 0.0, str(value)


def category_words(value: object) -> str:
    """A category in print: 1, 1.0 and True are one category, and so is its name."""
    if isinstance(value, str) or not isinstance(value, numbers.Real):
        return str(value)
    return f"{float(value):g}"


def _cell(row: object, name: str, place: int, what: str) -> object:
    if not isinstance(row, Mapping):
        problem = f"is a {type(row).__name__}, not a mapping of column to value"
        raise BadData(source=what, column=name, problem=problem, row=place)
    if name not in row:
        raise BadData(source=what, column=name, problem="is missing", row=place)
    return row[name]
