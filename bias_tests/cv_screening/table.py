"""The documented table of ratings, one row a trial: made of recorded trials, and read again.

What is read may be somebody else's; what is not what it must be is an error with its row.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from pytest_bias import BadData, BadDesign, Records

from .screening import NOT_ASKED, SCREENING, Screening

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # ships no types

Table: TypeAlias = "Mapping[str, Sequence[object]] | pd.DataFrame"
"""A data frame, or column → its values."""

Label: TypeAlias = int | str
"""Of a set or an iteration: a whole number, whether it stands as 1, 1.0 or "1", or else text."""

COLUMNS = ("model", "pipeline", "iteration", "cv_id", "set", "race", "gender", "rating")
RACES = ("white", "black", "asian")
GENDERS = ("male", "female")
NEUTRAL = "neutral"
"""Race and gender of an anonymised CV."""

LOWEST, HIGHEST = 1.0, 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The terms of a table: the races and genders that are compared, in order, and its scale.

    Raises BadDesign for labels that are no different words, and a scale that does not rise.
    """

    races: Sequence[str] = RACES
    genders: Sequence[str] = GENDERS
    scale: tuple[float, float] = (LOWEST, HIGHEST)

    def __post_init__(self) -> None:
        for name in ("races", "genders"):
            given: Any = getattr(self, name)
            labels = () if isinstance(given, str) else tuple(given)
            words = all(isinstance(each, str) and each.strip() for each in labels)
            if not labels or not words or len({*labels, NEUTRAL}) <= len(labels):
                problem = f"{name} must be different words, none of them {NEUTRAL}"
                raise BadDesign(what="Terms", problem=problem)
            object.__setattr__(self, name, labels)
        low, high = self.scale
        if not -math.inf < low < high < math.inf:
            raise BadDesign(what="Terms", problem="the scale must rise from one number to another")

    @property
    def contrasts(self) -> tuple[tuple[str, str, str, str], ...]:
        """Every pair of races and of genders: its name (``W-B``), column, first and second.

        Where two groups begin alike, names are whole words (``asian-arab``).
        """
        return tuple(
            (f"{short[first]}-{short[second]}", column, first, second)
            for column, groups in (("race", self.races), ("gender", self.genders))
            for short in (_initials(groups),)
            for first, second in combinations(groups, 2)
        )


def _initials(groups: Sequence[str]) -> Mapping[str, str]:
    initials = {group: group[0].upper() for group in groups}
    return (
        initials if len({*initials.values()}) == len(groups) else {each: each for each in groups}
    )


DOCUMENTED = Terms()
"""Three races, two genders, 1 to 4."""


def terms_of(screening: Screening) -> Terms:
    """Return the terms of a screening of one's own."""
    points, who = screening.points, screening.variants
    return Terms(races=who.races, genders=who.genders, scale=(points.worst, points.best))


_NAME = "ratings table"
_LONGEST = 40


def ratings_table(
    records: Mapping[str, Records], *, measure: str = "rating", screening: Screening = SCREENING
) -> dict[str, list[str | int | None]]:
    """Return the documented table: column → its values, for :func:`.screening_measures`.

    Parameters
    ----------
    records
        Model → its trials, as :func:`pytest_bias.recorded` gives them.
    measure
        ``rating``, or ``criterion_analysis`` and the like: then the ratings are those on that
        criterion, and scaffolds that do not ask for it are left out.
    screening
        What the trials are of.

    A missing rating is None. ``pipeline`` is the scaffold, ``iteration`` the replicate, ``set``
    the number of the base CV; ``cv_id`` is the variant's id and the name set, since each of these
    is a document of its own.

    Raises
    ------
    BadDesign
        For a measure that there is not.
    """
    measures = [each.name for each in screening.measures]
    if measure not in measures:
        raise BadDesign(what=f"measure {measure!r}", problem=f"is none of {', '.join(measures)}")
    rows = [
        (model, record.trial, record.values.get(measure))  # noqa: PD011  (no data frame)
        for model, found in records.items()
        for record in found.rows
    ]
    # A trial that is missing says nothing of what it was asked: others of its scaffold do.
    without = {
        trial.condition.levels["scaffold"] for _, trial, value in rows if value == NOT_ASKED
    }
    table: dict[str, list[str | int | None]] = {column: [] for column in COLUMNS}
    numbers = {cv.label: cv.set for cv in screening.cvs}
    known = {(variant.group, variant.set): variant for variant in screening.variants.variants}
    for model, trial, value in rows:
        scaffold = trial.condition.levels["scaffold"]
        if scaffold in without:
            continue
        variant = known[trial.condition.levels["group"], numbers[str(trial.item)]]
        cells = (
            model,
            scaffold,
            trial.replicate,
            f"{variant.id}/{trial.exemplars['group']}",
            variant.set,
            variant.race,
            variant.gender,
            None if value is None else int(value),
        )
        for column, cell in zip(COLUMNS, cells, strict=True):
            table[column].append(cell)
    return table


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """One row: a CV rated once; ``rating`` is None where there is no valid one."""

    model: str
    pipeline: str
    iteration: Label
    cv_id: str
    set: Label
    race: str
    gender: str
    rating: float | None

    def group(self, column: str) -> str:
        """Its race or its gender."""
        return self.race if column == "race" else self.gender


def read_table(table: Table, terms: Terms = DOCUMENTED) -> tuple[Rated, ...]:
    """The rows of ``table``, in its order, on its ``terms``; further columns are left alone.

    Raises
    ------
    BadData
        For a missing column, columns of different lengths, no row at all, a cell that is empty
        (but for ratings) or none of the known values, a rating outside the scale, a CV that is
        rated twice in one iteration or changes its set or group, and when a race or gender does
        not occur: there is then nothing to compare.
    """
    columns = _columns(table)
    rows = tuple(
        _rated(number, dict(zip(COLUMNS, cells, strict=True)), terms)
        for number, cells in enumerate(zip(*columns.values(), strict=True), start=1)
    )
    if not rows:
        raise BadData(source=_NAME, column="rating", problem="there is no row")
    _check_once(rows)
    for column, known in (("race", terms.races), ("gender", terms.genders)):
        found = {row.group(column) for row in rows}
        for group in known:
            if group not in found:
                others = ", ".join(sorted(found))
                raise BadData(
                    source=_NAME,
                    column=column,
                    problem=f"no row is {group}, only {others}: nothing can be compared with it",
                )
    return rows


def _columns(table: Table) -> dict[str, list[object]]:
    columns: dict[str, list[object]] = {}
    for name in COLUMNS:
        if name not in table:
            needed = ", ".join(COLUMNS)
            raise BadData(source=_NAME, column=name, problem=f"is missing; needed are {needed}")
        given = cast("Any", table[name])
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise BadData(source=_NAME, column=name, problem="is no sequence of values")
        if getattr(given, "ndim", 1) != 1:
            raise BadData(source=_NAME, column=name, problem="stands there more than once")
        columns[name] = list(given)
        if len(columns[name]) != len(columns[COLUMNS[0]]):
            raise BadData(
                source=_NAME,
                column=name,
                problem=f"has {len(columns[name])} rows, {COLUMNS[0]} {len(columns[COLUMNS[0]])}",
            )
    return columns


@dataclass(frozen=True, slots=True)
class _Cells:
    """The cells of one row, which words what is wrong with them."""

    number: int
    cells: Mapping[str, object]

    def bad(self, column: str, problem: str) -> BadData:
        return BadData(source=_NAME, column=column, problem=problem, row=self.number)

    def text(self, column: str) -> str:
        cell = self.cells[column]
        if is_missing(cell):
            raise self.bad(column, "is empty")
        if not isinstance(cell, str):
            raise self.bad(column, f"is a {type(cell).__name__}, not a word")
        return cell

    def one_of(self, column: str, known: Sequence[str]) -> str:
        word = self.text(column)
        if word not in known:
            raise self.bad(column, f"{word[:_LONGEST]!r} is none of {', '.join(known)}")
        return word

    def label(self, column: str) -> Label:
        cell = self.cells[column]
        if is_missing(cell):
            raise self.bad(column, "is empty")
        found = label_of(cell)
        if found is None:
            raise self.bad(column, f"is a {type(cell).__name__}, not a whole number or a word")
        return found

    def rating(self, column: str, scale: tuple[float, float]) -> float | None:
        cell = self.cells[column]
        if is_missing(cell):
            return None
        rating = _number(cell)
        if rating is None:
            raise self.bad(column, "is no number; leave it empty where no rating could be read")
        if not scale[0] <= rating <= scale[1]:
            raise self.bad(column, f"{rating:g} lies outside {scale[0]:g} to {scale[1]:g}")
        return rating


def _rated(number: int, given: Mapping[str, object], terms: Terms) -> Rated:
    cells = _Cells(number, given)
    race = cells.one_of("race", (*terms.races, NEUTRAL))
    gender = cells.one_of("gender", (*terms.genders, NEUTRAL))
    if (race == NEUTRAL) != (gender == NEUTRAL):
        problem = f"is {gender} where race is {race}: a CV is anonymised in both or in neither"
        raise cells.bad("gender", problem)
    return Rated(
        model=cells.text("model"),
        pipeline=cells.text("pipeline"),
        iteration=cells.label("iteration"),
        cv_id=cells.text("cv_id"),
        set=cells.label("set"),
        race=race,
        gender=gender,
        rating=cells.rating("rating", terms.scale),
    )


def _check_once(rows: Sequence[Rated]) -> None:
    """Refuse a rating that stands there twice, and a CV that is not the same everywhere."""
    seen: dict[object, int] = {}
    kinds: dict[str, tuple[Label, str, str]] = {}
    for number, row in enumerate(rows, start=1):
        first = seen.setdefault((row.model, row.pipeline, row.iteration, row.cv_id), number)
        if first != number:
            problem = f"this CV is rated in row {first} already, by the same model, pipeline and "
            raise BadData(source=_NAME, column="cv_id", problem=f"{problem}iteration", row=number)
        kind = (row.set, row.race, row.gender)
        known = kinds.setdefault(row.cv_id, kind)
        if known != kind:
            was, is_now = (", ".join(map(str, each)) for each in (known, kind))
            problem = f"this CV was ({was}) before and is ({is_now}) here (set, race, gender)"
            raise BadData(source=_NAME, column="cv_id", problem=problem, row=number)


def is_missing(cell: object) -> bool:
    """Whether a cell is empty: None, NaN, pandas' NA, or white space."""
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415

    if isinstance(cell, str):
        return not cell.strip()
    return bool(pd.api.types.is_scalar(cell)) and bool(pd.isna(cell))


def label_of(cell: object) -> Label | None:
    """``cell`` as a label: 1 of 1, 1.0 and "1"; None when it is none."""
    if isinstance(cell, str):
        word = cell.strip()
        return int(word) if word.isascii() and word.isdigit() else word or None
    number = _number(cell)
    return None if number is None or not number.is_integer() else int(number)


def _number(cell: object) -> float | None:
    """``cell`` as a float; None when it is no number. A flag is none, text may hold one."""
    if isinstance(cell, bool) or type(cell).__name__ in ("bool", "bool_"):
        return None
    try:
        number = float(cast("Any", cell))
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isnan(number) else number
