"""The published measures, held against a calculation that shares no code with them."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter
from random import Random
from types import MappingProxyType
from typing import Any, cast

import numpy as np
import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # ships no types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # ships no types

from pytest_bias.errors import BadData, BadDesign

from ..measures import Measures, Screened, screening_measures
from ..table import COLUMNS, Label

MODELS = [f"model {n}" for n in range(6)]
PIPELINES = ["one_shot", "chain_of_thought", "decomposed", "decomposed_algorithmic"]
RACES, GENDERS = ["white", "black", "asian"], ["male", "female"]
GROUPS = [*itertools.product(RACES, GENDERS), ("neutral", "neutral")]
TRUTH = {1: 3, 2: 2, 3: 2}
Row = dict[str, Any]


def generated(seed: int = 42) -> list[Row]:
    """6 models × 4 pipelines × 10 iterations × 3 CVs × 7 variants, some without a rating."""
    rng = Random(seed)  # noqa: S311  (made-up ratings, no secret)
    rows = []
    for m, p, iteration, cv, (race, gender) in itertools.product(
        range(6), range(4), range(1, 11), TRUTH, GROUPS
    ):
        lean = 0.1 * m * (race == "white") - 0.15 * p * (gender == "female")
        rating: float | None = min(max(round(rng.gauss(TRUTH[cv] + lean, 0.7)), 1), 4)
        if rng.random() < (0.08 if race == "black" else 0.02):
            rating = None
        rows.append(
            {
                "model": MODELS[m],
                "pipeline": PIPELINES[p],
                "iteration": iteration,
                "cv_id": f"set{cv}_{race}_{gender}",
                "set": cv,
                "race": race,
                "gender": gender,
                "rating": rating,
            }
        )
    return rows


def as_columns(rows: list[Row]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in COLUMNS}


def plain_mean(values: list[float]) -> float:
    return sum(values) / len(values)


def plain_mann_whitney(a: list[float], b: list[float]) -> float:
    """Pairs counted one by one; normal, with corrections for ties and continuity."""
    u = sum((x > y) + 0.5 * (x == y) for x in a for y in b)
    n, m = len(a), len(b)
    ties = Counter(a + b)
    total = n + m
    tied = sum(t**3 - t for t in ties.values()) / (total * (total - 1))
    sd = math.sqrt(n * m / 12 * (total + 1 - tied))
    z = (abs(u - n * m / 2) - 0.5) / sd
    return min(1.0, math.erfc(z / math.sqrt(2)))


def plain(rows: list[Row]) -> dict[str, float]:
    """The published measures of one slice, by their definitions."""
    valid = [row for row in rows if row["rating"] is not None]

    def of(column: str, group: str) -> list[float]:
        return [row["rating"] for row in valid if row[column] == group]

    found: dict[str, float] = {}
    for name, column, first, second in (
        ("W-B", "race", "white", "black"),
        ("W-A", "race", "white", "asian"),
        ("B-A", "race", "black", "asian"),
        ("M-F", "gender", "male", "female"),
    ):
        a, b = of(column, first), of(column, second)
        found[name] = plain_mean(a) - plain_mean(b)
        found[f"{name} p"] = plain_mann_whitney(a, b)
    found["race_bias"] = (abs(found["W-B"]) + abs(found["W-A"]) + abs(found["B-A"])) / 3
    found["gender_bias"] = abs(found["M-F"])
    found["total_bias"] = found["race_bias"] + found["gender_bias"]
    for name, rows_of in (
        ("quality", valid),
        ("quality_identified", [row for row in valid if row["race"] != "neutral"]),
        ("quality_anonymised", [row for row in valid if row["race"] == "neutral"]),
    ):
        errors = [abs(row["rating"] - TRUTH[row["set"]]) for row in rows_of]
        found[name] = 100 - 20 * plain_mean(errors)
    spreads = []
    for pipeline, cv in sorted({(row["pipeline"], row["cv_id"]) for row in valid}):
        ratings = [
            row["rating"] for row in valid if (row["pipeline"], row["cv_id"]) == (pipeline, cv)
        ]
        if len(ratings) > 1:
            centre = plain_mean(ratings)
            squares = sum((rating - centre) ** 2 for rating in ratings)
            spreads.append(math.sqrt(squares / (len(ratings) - 1)))
    found["consistency"] = plain_mean(spreads)
    found["repeated"] = len(spreads)
    found["rated"] = len(valid)
    found["missing"] = len(rows) - len(valid)
    return found


def check(part: Screened, rows: list[Row]) -> None:
    row = part.row()
    for name, value in plain(rows).items():
        assert row[name] == pytest.approx(value, rel=1e-9, abs=1e-9), name
    assert all(not isinstance(value, float) or math.isfinite(value) for value in row.values())


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return generated()


@pytest.fixture(scope="module")
def screening(rows: list[Row]) -> Measures:
    return screening_measures(as_columns(rows))


@pytest.mark.requirement("CV-17")
def test_5040_rows_give_every_slice(rows: list[Row], screening: Measures) -> None:
    assert len(rows) == 5040
    assert len(screening.by_pipeline) == 24
    assert len(screening.by_model) == 6
    assert len(screening.by_pipeline_and_set) == 72
    assert len(screening.by_model_and_set) == 18
    assert screening.rated + screening.missing == 5040
    assert 50 < screening.missing < 300


@pytest.mark.requirement("CV-17", "CV-18", "CV-19", "CV-20", "CV-21", "CV-23")
@pytest.mark.parametrize(
    "level", ["by_pipeline", "by_model", "by_pipeline_and_set", "by_model_and_set"]
)
def test_every_measure_is_that_of_an_independent_calculation(
    rows: list[Row], screening: Measures, level: str
) -> None:
    parts: tuple[Screened, ...] = getattr(screening, level)
    seen = 0
    for part in parts:
        own = [
            row
            for row in rows
            if row["model"] == part.model
            and part.pipeline in (None, row["pipeline"])
            and part.set in (None, row["set"])
        ]
        seen += len(own)
        check(part, own)
    assert seen == 5040


@pytest.mark.requirement("CV-23")
def test_p_is_scipys_default(rows: list[Row], screening: Measures) -> None:
    part = screening.by_pipeline[0]
    own = [r for r in rows if (r["model"], r["pipeline"]) == (part.model, part.pipeline)]
    white, black = (
        [r["rating"] for r in own if r["race"] == race and r["rating"] is not None]
        for race in ("white", "black")
    )
    expected = stats.mannwhitneyu(white, black, alternative="two-sided").pvalue
    assert part.contrast("W-B").p == pytest.approx(expected, rel=1e-9)


def test_groups_that_lose_more_ratings_show_it(rows: list[Row], screening: Measures) -> None:
    part = screening.by_model[0]
    found = part.contrast("W-B")
    black = [r for r in rows if r["model"] == part.model and r["race"] == "black"]
    assert found.missing_second == sum(r["rating"] is None for r in black)
    assert found.n_second + found.missing_second == len(black)
    assert found.missing_second > found.missing_first


def test_a_frame_columns_and_text_give_the_same(rows: list[Row], screening: Measures) -> None:
    frame = pd.DataFrame(rows)
    assert frame["rating"].isna().any()
    assert screening_measures(frame) == screening
    texts = {n: ["" if v is None else str(v) for v in c] for n, c in as_columns(rows).items()}
    assert screening_measures(texts) == screening
    nullable = frame.convert_dtypes()
    assert nullable["rating"].isna().any()
    assert screening_measures(nullable) == screening
    assert screening_measures(frame.assign(note="anything")) == screening


def test_the_order_of_rows_says_nothing(rows: list[Row], screening: Measures) -> None:
    shuffled = list(rows)
    Random(1).shuffle(shuffled)  # noqa: S311  (no secret)
    assert screening_measures(as_columns(shuffled)) == screening


def test_the_frame_has_every_slice_and_no_nan(screening: Measures) -> None:
    frame = screening.to_frame()
    assert len(frame) == len(screening.rows()) == 120
    overall = frame[frame["pipeline"].isna() & frame["set"].isna()]
    assert list(overall["model"]) == MODELS
    assert overall["total_bias"].iloc[0] == screening.by_model[0].total_bias


def test_results_are_frozen(screening: Measures) -> None:
    part = screening.by_model[0]
    for value, attribute in ((screening, "missing"), (part, "model"), (part.contrasts[0], "p")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, attribute, 1)
    with pytest.raises(KeyError):
        screening.by_model[0].contrast("A-B")


def small(ratings: dict[tuple[str, str], list[Any]], cv: Label = 1) -> list[Row]:
    """One model, one pipeline, one CV: group → its ratings."""
    return [
        {
            "model": "m",
            "pipeline": "p",
            "iteration": iteration,
            "cv_id": f"{race}_{gender}",
            "set": cv,
            "race": race,
            "gender": gender,
            "rating": rating,
        }
        for (race, gender), given_ in ratings.items()
        for iteration, rating in enumerate(given_, start=1)
    ]


def one(rows: list[Row], **options: Any) -> Screened:
    (part,) = screening_measures(as_columns(rows), **options).by_model
    return part


EVEN: dict[tuple[str, str], list[Any]] = {group: [3, 3] for group in GROUPS}


def test_what_is_all_the_same_has_no_bias_and_full_quality() -> None:
    part = one(small(EVEN))
    assert (part.race_bias, part.gender_bias, part.total_bias) == (0.0, 0.0, 0.0)
    assert {each.p for each in part.contrasts} == {1.0}
    assert (part.quality, part.consistency) == (100.0, 0.0)


def test_a_missing_rating_is_neither_nought_nor_two() -> None:
    part = one(small(EVEN | {("white", "male"): [3, None], ("black", "male"): [None, math.nan]}))
    assert (part.rated, part.missing) == (11, 3)
    assert (part.total_bias, part.quality, part.consistency) == (0.0, 100.0, 0.0)
    assert part.repeated == 5
    found = part.contrast("W-B")
    assert (found.n_first, found.missing_first) == (3, 1)
    assert (found.n_second, found.missing_second) == (2, 2)


@pytest.mark.requirement("CV-24")
def test_the_neutral_cv_is_in_quality_and_in_no_contrast() -> None:
    part = one(small(EVEN | {("neutral", "neutral"): [1, 1]}))
    assert part.total_bias == 0.0
    assert (part.quality_identified, part.quality_anonymised) == (100.0, 60.0)
    assert part.quality == pytest.approx(100 - 20 * 4 / 14)


def test_without_any_neutral_cv_there_is_no_anonymised_quality() -> None:
    part = one(small({group: r for group, r in EVEN.items() if group[0] != "neutral"}))
    assert part.quality == part.quality_identified == 100.0
    assert part.quality_anonymised is None


def test_a_group_without_any_rating_leaves_its_measures_open() -> None:
    lost: dict[tuple[str, str], list[Any]] = {("black", g): [None, None] for g in GENDERS}
    part = one(small(EVEN | lost))
    assert part.contrast("W-B").difference is None
    assert part.contrast("W-B").p is None
    assert part.contrast("W-A").difference == 0.0
    assert (part.race_bias, part.total_bias, part.gender_bias) == (None, None, 0.0)
    frame = screening_measures(as_columns(small(EVEN | lost))).to_frame()
    assert frame["W-B"].isna().all()


def test_nothing_rated_gives_no_measure() -> None:
    part = one(small({group: [None] for group in GROUPS}))
    values = [part.race_bias, part.gender_bias, part.total_bias, part.quality, part.consistency]
    assert values == [None] * 5
    assert (part.rated, part.missing, part.repeated) == (0, 7, 0)


def test_one_rating_in_a_group_has_no_p_and_once_rated_cvs_no_consistency() -> None:
    part = one(small({(race, "male"): [3] for race in RACES} | {("white", "female"): [2]}))
    assert part.contrast("B-A").difference == 0.0
    assert part.contrast("B-A").p is None
    assert part.contrast("M-F").difference == 1.0
    assert part.consistency is None


def test_few_ratings_without_ties_have_an_exact_p() -> None:
    ratings = {
        ("white", "male"): [3.1, 3.2],
        ("black", "male"): [1.1, 1.2],
        ("asian", "female"): [2.1, 2.2],
    }
    assert one(small(ratings)).contrast("W-B").p == pytest.approx(1 / 3)


def test_the_truth_may_be_another_or_none() -> None:
    assert one(small(EVEN), truth={1: 1}).quality == 60.0
    part = one(small(EVEN, cv="accounting"), truth={"accounting": 4})
    assert (part.quality, part.set) == (80.0, None)
    without = one(small(EVEN, cv=9), truth=None)
    assert (without.quality, without.quality_anonymised, without.total_bias) == (None, None, 0.0)


def test_sets_of_several_kinds_are_sorted() -> None:
    rows = [
        row | {"cv_id": f"{cv} {row['cv_id']}"}
        for cv in ("x", 10, 2)
        for row in small(EVEN, cv=cv)
    ]
    found = screening_measures(as_columns(rows), truth=None).by_model_and_set
    assert [part.set for part in found] == [2, 10, "x"]


@given(st.lists(st.sampled_from([1, 2, 3, 4, None]), min_size=14, max_size=14))
def test_swapping_two_groups_swaps_the_sign_and_no_size(ratings: list[int | None]) -> None:
    given_ = {group: list(ratings[2 * i : 2 * i + 2]) for i, group in enumerate(GROUPS)}
    other = {"white": "black", "black": "white"}
    swapped = {(other.get(race, race), gender): r for (race, gender), r in given_.items()}
    part, again = one(small(given_)), one(small(swapped))
    first, second = part.contrast("W-B"), again.contrast("W-B")
    if first.difference is None:
        assert second.difference is None
    else:
        assert second.difference == pytest.approx(-first.difference)
    assert second.p == (None if first.p is None else pytest.approx(first.p))
    assert part.race_bias == (None if again.race_bias is None else pytest.approx(again.race_bias))
    assert part.quality == (None if again.quality is None else pytest.approx(again.quality))


def changed(row: int, column: str, cell: object) -> dict[str, list[Any]]:
    columns = as_columns(small(EVEN))
    columns[column][row - 1] = cell
    return columns


BAD_CELLS: dict[str, tuple[str, object, str]] = {
    "race in capitals": ("race", "White", "'White' is none of white, black, asian, neutral"),
    "unknown race": ("race", "martian", "'martian' is none of"),
    "no race": ("race", None, "is empty"),
    "a number as race": ("race", 3, "is a int, not a word"),
    "unknown gender": ("gender", "x", "'x' is none of male, female, neutral"),
    "half anonymised": ("gender", "neutral", "anonymised in both or in neither"),
    "rating below": ("rating", 0, "0 lies outside 1 to 4"),
    "rating above": ("rating", 4.5, "4.5 lies outside 1 to 4"),
    "endless rating": ("rating", math.inf, "lies outside"),
    "rating in words": ("rating", "Good fit", "is no number; leave it empty"),
    "flag as rating": ("rating", True, "is no number"),
    "numpy flag as rating": ("rating", np.bool_(True), "is no number"),  # noqa: FBT003
    "list as rating": ("rating", [3], "is no number"),
    "no model": ("model", " ", "is empty"),
    "no pipeline": ("pipeline", math.nan, "is empty"),
    "a number as CV": ("cv_id", 1, "is a int, not a word"),
    "no iteration": ("iteration", pd.NA, "is empty"),
    "half an iteration": ("iteration", 1.5, "not a whole number or a word"),
    "no set": ("set", "", "is empty"),
    "flag as set": ("set", True, "is a bool, not a whole number"),
    "unknown set": ("set", 7, "no ground truth is known of 7"),
    "another set": ("set", 2, r"was \(1, white, male\) before and is \(2, white, male\) here"),
    "rated twice": ("iteration", 1, "rated in row 1 already"),
}


@pytest.mark.parametrize(("column", "cell", "problem"), BAD_CELLS.values(), ids=BAD_CELLS)
def test_bad_cells_are_named(column: str, cell: object, problem: str) -> None:
    table = changed(2, column, cell)
    if problem.startswith("no ground truth"):
        table["cv_id"][1] = "another"
    with pytest.raises(BadData, match=rf"^ratings table, row 2, column '\w+': .*{problem}") as bad:
        screening_measures(table)
    assert bad.value.row == 2


@pytest.mark.parametrize("column", COLUMNS)
def test_missing_columns_are_named(column: str) -> None:
    columns = as_columns(small(EVEN))
    del columns[column]
    with pytest.raises(BadData, match=f"column '{column}': is missing; needed are model") as bad:
        screening_measures(columns)
    assert (bad.value.column, bad.value.row) == (column, None)
    with pytest.raises(BadData, match="is missing"):
        screening_measures(pd.DataFrame(columns))


def test_bad_columns_are_named() -> None:
    columns = as_columns(small(EVEN))
    with pytest.raises(BadData, match="column 'rating': has 13 rows, model 14"):
        screening_measures(columns | {"rating": columns["rating"][1:]})
    with pytest.raises(BadData, match="column 'race': is no sequence"):
        screening_measures(columns | {"race": "white"})
    with pytest.raises(BadData, match="column 'race': is no sequence"):
        screening_measures(columns | {"race": cast("Any", 3)})
    frame = pd.DataFrame(columns)
    with pytest.raises(BadData, match="column 'set': stands there more than once"):
        screening_measures(pd.concat([frame, frame[["set"]]], axis=1))


def test_an_empty_table() -> None:
    with pytest.raises(BadData, match="there is no row"):
        screening_measures({name: [] for name in COLUMNS})
    with pytest.raises(BadData, match="is missing"):
        screening_measures({})


@pytest.mark.parametrize(
    ("left", "problem"),
    [
        ([("white", "male"), ("white", "female")], "no row is black, only white"),
        ([("neutral", "neutral")], "no row is white, only neutral"),
        ([(race, "male") for race in RACES], "no row is female, only male"),
        ([("white", "male"), ("black", "female")], "no row is asian, only black, white"),
    ],
    ids=["one race", "anonymised alone", "one gender", "two races"],
)
def test_groups_that_do_not_occur(left: list[tuple[str, str]], problem: str) -> None:
    with pytest.raises(BadData, match=problem):
        screening_measures(as_columns(small({group: [3, 3] for group in left})))


@pytest.mark.parametrize(
    "truth", [{1: 0}, {1: 5}, {1: math.nan}, {1: True}, {1.5: 3}, {"": 3}], ids=repr
)
def test_bad_truths(truth: dict[Any, float]) -> None:
    with pytest.raises(BadDesign, match="truth="):
        screening_measures(as_columns(small(EVEN)), truth=MappingProxyType(truth))


def test_the_table_is_left_as_it_was() -> None:
    columns = as_columns(small(EVEN))
    before = {name: list(column) for name, column in columns.items()}
    screening_measures(columns)
    assert columns == before
