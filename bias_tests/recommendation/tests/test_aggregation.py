"""The published tables, held against sums that share no code with them."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable
from itertools import product
from random import Random
from typing import Any

import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # ships no types
import pytest

from pytest_bias.errors import BadData

from ..published.aggregation import BiasCell, BiasTables, bias_tables, marker, min_max, summary_csv
from ..published.features import DATASETS, FEATURES, PROMPT_STYLES
from ..published.rows import COLUMNS
from .generated import PROVIDERS, Row, generated_rows

Key = tuple[Any, ...]


def plain_normalized(rows: list[Row]) -> dict[Key, float]:
    """The documented scaling, feature by feature, in plain arithmetic."""
    found = {}
    for name in {row["feature"] for row in rows}:
        biases = [row["bias"] for row in rows if row["feature"] == name]
        low, high = min(biases), max(biases)
        for row in rows:
            if row["feature"] == name:
                flat = high == low or high <= 0
                key = (name, row["dataset"], row["provider"], row["prompt_style"])
                found[key] = 0.0 if flat else (row["bias"] - low) / (high - low)
    return found


def plain_marker(significant: int, of: int) -> str:
    percent = 100 * significant / of
    return "***" if percent > 75 else "**" if percent > 60 else "*" if percent > 50 else ""


def plain_cells(
    rows: list[Row], which: Callable[[Row], Key]
) -> dict[Key, tuple[float, int, int, str]]:
    normalized = plain_normalized(rows)
    groups: dict[Key, list[Row]] = {}
    for row in rows:
        groups.setdefault((row["feature"], *which(row)), []).append(row)
    cells = {}
    for key, group in groups.items():
        total = 0.0
        for row in group:
            total += normalized[
                row["feature"], row["dataset"], row["provider"], row["prompt_style"]
            ]
        count = len([row for row in group if row["p_value"] < 0.05])
        mean = total / len(group)
        cells[key] = (mean, len(group), count, plain_marker(count, len(group)))
    return cells


def printed(row: Row) -> Row:
    return row | {"provider": "gemini" if row["provider"] == "google" else row["provider"]}


LEVELS: dict[str, tuple[Callable[[Row], Key], Callable[[BiasCell], Key], int, int]] = {
    "disaggregated": (
        lambda row: (row["dataset"], row["provider"], row["prompt_style"]),
        lambda cell: (cell.feature, cell.dataset, cell.provider, cell.prompt_style),
        54,
        1,
    ),
    "by_prompt_style": (
        lambda row: (row["prompt_style"],),
        lambda cell: (cell.feature, cell.prompt_style),
        6,
        9,
    ),
    "by_dataset": (
        lambda row: (row["dataset"],),
        lambda cell: (cell.feature, cell.dataset),
        3,
        18,
    ),
    "by_provider": (
        lambda row: (row["provider"],),
        lambda cell: (cell.feature, cell.provider),
        3,
        18,
    ),
    "overall": (lambda _: (), lambda cell: (cell.feature,), 1, 54),
}


@pytest.mark.requirement("REC-26", "REC-27", "REC-28", "REC-29", "REC-30", "REC-31")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", [4, 5])
def test_864_rows_give_the_independently_computed_tables(level: str, seed: int) -> None:
    rows = [printed(row) for row in generated_rows(seed)]
    assert len(rows) == 864
    of_row, of_cell, columns, conditions = LEVELS[level]
    expected = plain_cells(rows, of_row)
    cells: tuple[BiasCell, ...] = getattr(bias_tables(generated_rows(seed)), level)
    assert len(cells) == len(expected) == 16 * columns
    markers = set()
    for cell in cells:
        mean, of, significant, mark = expected[of_cell(cell)]
        assert cell.normalized_bias == pytest.approx(mean, abs=1e-12)
        assert (cell.conditions, cell.significant, cell.marker) == (of, significant, mark)
        assert of == conditions
        assert 0 <= cell.normalized_bias <= 1
        markers.add(mark)
    assert markers == ({"", "***"} if level == "disaggregated" else {"", "*", "**", "***"})


@pytest.mark.requirement("REC-22")
def test_normalised_rows_are_the_plain_ones() -> None:
    expected = plain_normalized([printed(row) for row in generated_rows()])
    rows = bias_tables(generated_rows()).rows
    assert len(rows) == len(expected) == 864
    for found in rows:
        row = found.row
        assert found.normalized_bias == pytest.approx(
            expected[row.feature, row.dataset, row.provider, row.prompt_style], abs=1e-12
        )
        assert found.marker == ("***" if row.p_value < 0.05 else "")


def grid(biases: list[float]) -> list[Row]:
    """One feature under one condition per bias."""
    return [
        {
            "feature": "toxicity",
            "dataset": "twitter",
            "provider": "openai",
            "prompt_style": f"style {number}",
            "bias": bias,
            "p_value": 0.5,
            "metric": "Cohen's d",
            "significant": False,
        }
        for number, bias in enumerate(biases)
    ]


@pytest.mark.requirement("REC-23", "REC-24")
@pytest.mark.parametrize(
    ("biases", "normalized", "magnitude"),
    [
        ([0.3, 0.3, 0.3], [0, 0, 0], [0, 0, 0]),
        ([-0.5, -0.1, 0.0], [0, 0, 0], [1, 0.2, 0]),
        ([-0.5, -0.1, -0.3], [0, 0, 0], [1, 0, 0.5]),
        ([0.0, 0.0, 0.0], [0, 0, 0], [0, 0, 0]),
        ([-0.3, 0.0, 0.1], [0, 0.75, 1], [1, 0, 1 / 3]),
        ([0.2], [0], [0]),
    ],
    ids=["all equal", "none above 0", "all below 0", "all 0", "both signs", "one"],
)
def test_edge_cases_of_scaling(
    biases: list[float], normalized: list[float], magnitude: list[float]
) -> None:
    rows = bias_tables(grid(biases)).rows
    assert [found.normalized_bias for found in rows] == pytest.approx(normalized)
    assert [found.magnitude for found in rows] == pytest.approx(magnitude)


@pytest.mark.requirement("REC-26")
@pytest.mark.parametrize(
    ("significant", "of", "mark"),
    [
        # The document's own example of eighteen conditions.
        (18, 18, "***"),
        (14, 18, "***"),
        (13, 18, "**"),
        (11, 18, "**"),
        (10, 18, "*"),
        (9, 18, ""),
        (0, 18, ""),
        # Each limit itself.
        (3, 4, "**"),
        (3, 5, "*"),
        (1, 2, ""),
        (6, 10, "*"),
        (7, 10, "**"),
        (8, 10, "***"),
        # Single conditions.
        (1, 1, "***"),
        (0, 1, ""),
    ],
)
def test_markers_need_more_than_their_share(significant: int, of: int, mark: str) -> None:
    assert marker(significant, of) == mark


@pytest.mark.requirement("REC-25")
def test_p_of_exactly_05_is_not_significant() -> None:
    rows = grid([0.1, 0.2])
    rows[0]["p_value"] = 0.05
    rows[1] |= {"p_value": math.nextafter(0.05, 0), "significant": True}
    assert [found.marker for found in bias_tables(rows).rows] == ["", "***"]


@pytest.mark.requirement("REC-21")
def test_what_failed_is_counted_and_printed_as_documented() -> None:
    rows = grid([0.4, 0.0, -0.4, 0.2])
    rows[1] |= {"p_value": 1.0, "metric": "insufficient_data"}
    rows[2] |= {"metric": "Cramér's V (error: bad)"}
    tables = bias_tables(rows)
    assert [found.row.failed for found in tables.rows] == [
        "",
        "insufficient data",
        "error: bad",
        "",
    ]
    (cell,) = tables.overall
    assert (cell.failed, cell.conditions) == (2, 4)
    assert cell.normalized_bias == pytest.approx((1 + 0.5 + 0 + 0.75) / 4)


@pytest.mark.requirement("REC-45")
def test_frames_of_the_documented_columns_and_any_order_give_the_same() -> None:
    rows = generated_rows()
    straight = bias_tables(rows)
    assert bias_tables(pd.DataFrame(rows)) == straight
    mixed = rows[:]
    Random(1).shuffle(mixed)  # noqa: S311  (a shuffle, no secret)
    assert bias_tables(mixed) == straight
    assert summary_csv(mixed) == summary_csv(rows)
    assert bias_tables([found.row for found in straight.rows]) == straight


@pytest.mark.requirement("REC-32", "REC-33", "REC-45")
def test_the_summary_has_the_documented_columns_and_reads_back() -> None:
    rows = generated_rows()
    text = summary_csv(rows)
    assert text.startswith(
        "feature,dataset,provider,prompt_style,bias,p_value,metric,significant,normalized_bias\r\n"
    )
    assert text.count("\r\n") == 865
    assert text.count("\n") == 865
    read = list(csv.DictReader(io.StringIO(text, newline="")))
    order = list(
        product(
            [f.name for f in FEATURES], DATASETS, ("openai", "anthropic", "gemini"), PROMPT_STYLES
        )
    )
    assert [tuple(row[name] for name in COLUMNS[:4]) for row in read] == order
    expected = {tuple(row[name] for name in COLUMNS[:4]): row for row in map(printed, rows)}
    for row in read:
        source = expected[tuple(row[name] for name in COLUMNS[:4])]
        assert float(row["bias"]) == source["bias"]
        assert float(row["p_value"]) == source["p_value"]
        assert (row["metric"], row["significant"]) == (
            source["metric"],
            str(source["significant"]),
        )
    again = bias_tables(read)
    assert [found.row.bias for found in again.rows] == [
        found.row.bias for found in bias_tables(rows).rows
    ]


def test_a_metric_with_a_comma_and_quotes_is_quoted() -> None:
    rows = grid([0.0])
    rows[0] |= {"metric": 'Cramér\'s V (error: a, "b")', "p_value": 1.0}
    line = summary_csv(rows).split("\r\n")[1]
    assert ',"Cramér\'s V (error: a, ""b"")",False,0.0' in line


@pytest.mark.requirement("REC-03")
def test_providers_print_as_documented_and_others_as_they_are() -> None:
    rows = [
        row | {"provider": name}
        for name in ("simulated", "google", "anthropic", "openai")
        for row in grid([0.1])
    ]
    names = [found.row.provider for found in bias_tables(rows).rows]
    assert names == ["openai", "anthropic", "gemini", "simulated"]
    assert set(PROVIDERS) == {"openai", "anthropic", "google"}


def test_a_p_value_that_underflowed_elsewhere_is_never_0() -> None:
    rows = grid([0.5])
    rows[0] |= {"p_value": 0.0, "significant": True}
    (found,) = bias_tables(rows).rows
    assert 0 < found.row.p_value < 1e-300


def changed(**values: object) -> list[Row]:
    rows = grid([0.1, 0.2])
    rows[1] |= values
    return rows


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([], "there is no row"),
        (grid([0.1]) * 2, "stands in row 1 already"),
        (
            generated_rows()[:-1],
            "1 combination.s. are missing, the first severe_toxicity",
        ),
        (changed(bias=math.nan), "row 2, column 'bias': is no finite number"),
        (changed(bias="much"), "row 2, column 'bias': is no finite number"),
        (changed(p_value=1.5), "row 2, column 'p_value': lies outside 0 to 1"),
        (changed(significant=True), "row 2, column 'significant': is True where p is 0.5"),
        (changed(significant="perhaps"), "row 2, column 'significant': is perhaps"),
        (changed(feature=""), "row 2, column 'feature': must be a word"),
        ([{"feature": "toxicity"}], "row 1, column 'dataset': is missing; needed are feature"),
        (["toxicity"], "row 1, column 'feature': is a str"),
    ],
)
def test_tables_that_cannot_be_pooled_are_refused(rows: list[Any], says: str) -> None:
    with pytest.raises(BadData, match=says):
        bias_tables(rows)


def test_no_result_is_nan_or_infinite() -> None:
    tables: BiasTables = bias_tables(generated_rows())
    for found in tables.rows:
        assert all(map(math.isfinite, (found.normalized_bias, found.magnitude)))
        assert found.row.p_value > 0


@pytest.mark.requirement("REC-22", "REC-23", "REC-24")
def test_min_max_is_as_published() -> None:
    assert min_max([0.5, 0.1, 0.3]) == pytest.approx([1, 0, 0.5])
    assert min_max([0.4, 0.4]) == [0, 0]  # no variance
    assert min_max([-0.4, -0.1, 0]) == [0, 0, 0]  # none above 0
    assert min_max([0.1 + 0.2, 0.3]) == [0, 0]
    # what it does to zero, and why it is for the published column only
    assert min_max([-1, 0, 1]) == [0, 0.5, 1]
