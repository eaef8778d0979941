"""The published tables: normalisation per feature, five levels of aggregation, and markers."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from pytest_bias import BadData, csv_text

from .features import (
    DATASETS,
    FEATURES,
    PROMPT_STYLES,
    PROVIDERS,
    by_place,
    printed_provider,
)
from .rows import COLUMNS, BiasRow, BiasRows, bias_rows

_NAME = "bias rows"
_ROUNDING, _SMALLEST = 1e-12, 1e-100
_KNOWN = {
    "feature": [feature.name for feature in FEATURES],
    "dataset": DATASETS,
    "provider": PROVIDERS,
    "prompt_style": PROMPT_STYLES,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalizedRow:
    """A published row with its bias on the scales of heatmaps, all per feature over conditions.

    ``normalized_bias``, from 0 to 1, is the documented min–max scaling, in which 0 is the lowest
    bias there is and says nothing of no bias. ``magnitude`` scales |bias| the same way. ``marker``
    is ``***`` where p is below .05, and else empty.
    """

    row: BiasRow
    normalized_bias: float
    magnitude: float
    marker: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BiasCell:
    """One feature over some conditions; what they are pooled over is None.

    ``normalized_bias`` is the mean of the documented normalised bias over the ``conditions``, the
    ``failed`` ones among them as 0 before scaling, as documented; ``magnitude`` that of |bias|.
    ``significant`` counts conditions with p below .05.
    """

    feature: str
    dataset: str | None = None
    provider: str | None = None
    prompt_style: str | None = None
    normalized_bias: float
    magnitude: float
    conditions: int
    significant: int
    failed: int
    marker: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BiasTables:
    """The five documented levels, each sorted: documented names in their order, then others."""

    rows: tuple[NormalizedRow, ...]
    disaggregated: tuple[BiasCell, ...]
    by_prompt_style: tuple[BiasCell, ...]
    by_dataset: tuple[BiasCell, ...]
    by_provider: tuple[BiasCell, ...]
    overall: tuple[BiasCell, ...]


def bias_tables(rows: BiasRows) -> BiasTables:
    """Normalise and aggregate rows as published.

    ``rows`` are those of :func:`.pool_vs_recommended` over all conditions, or any table of the
    documented columns (the document has 16 features × 3 datasets × 3 providers × 6 prompt styles
    = 864), in any order. ``google`` is printed as ``gemini``. Per feature, normalised bias is
    (bias − smallest) / (largest − smallest) over all conditions; 0 where all are the same or none
    is above 0. Aggregates are plain means of it.

    Markers count conditions with p < .05: ``***`` above 75 %, ``**`` above 60 %, ``*`` above 50 %.

    Raises
    ------
    BadData
        Without a row, for a combination of the levels found that is there twice or missing, and
        for rows :func:`.bias_rows` refuses. What failed is not missing: it has a row.

    Source: the recommendation audit's methodology, sections 3 to 5.
    """
    read = [replace(row, provider=printed_provider(row.provider)) for row in bias_rows(rows)]
    _check_grid(read)
    ordered = sorted(read, key=_place)
    of_feature: defaultdict[str, list[BiasRow]] = defaultdict(list)
    for row in ordered:
        of_feature[row.feature].append(row)
    normalized = tuple(found for group in of_feature.values() for found in _normalized(group))
    return BiasTables(
        rows=normalized,
        disaggregated=_cells(normalized, "dataset", "provider", "prompt_style"),
        by_prompt_style=_cells(normalized, "prompt_style"),
        by_dataset=_cells(normalized, "dataset"),
        by_provider=_cells(normalized, "provider"),
        overall=_cells(normalized),
    )


def marker(significant: int, conditions: int) -> str:
    """The documented marker of so many significant conditions; each limit itself is below it."""
    # In whole numbers: a share such as 0.6 has no exact float.
    if 100 * significant > 75 * conditions:
        return "***"
    if 100 * significant > 60 * conditions:
        return "**"
    return "*" if 100 * significant > 50 * conditions else ""


def summary_csv(rows: BiasRows) -> str:
    """``pool_vs_recommended_summary.csv``: the eight documented columns, then normalized_bias.

    As :func:`.csv_text` has it, sorted like :func:`bias_tables`, whose errors it raises. Rows that
    failed print what the document prints.
    """
    lines = [
        [*(getattr(found.row, name) for name in COLUMNS), found.normalized_bias]
        for found in bias_tables(rows).rows
    ]
    return csv_text([[*COLUMNS, "normalized_bias"], *lines])


def min_max(values: ArrayLike) -> list[float]:
    """Return (value − smallest) / (largest − smallest): the documented scaling, from 0 to 1.

    All are 0 where all are the same up to rounding, or none is above 0.
    """
    array = np.asarray(values, dtype=float)
    spread = np.ptp(array)
    if array.max() <= 0 or spread <= max(_ROUNDING * np.abs(array).max(), _SMALLEST):
        return [0.0] * array.size
    scaled: list[float] = ((array - array.min()) / spread).tolist()
    return scaled


def _place(row: BiasRow) -> tuple[tuple[int, str], ...]:
    return tuple(by_place(known)(getattr(row, name)) for name, known in _KNOWN.items())


def _check_grid(rows: Sequence[BiasRow]) -> None:
    """Refuse an aggregate over other conditions here than there."""
    if not rows:
        raise BadData(source=_NAME, column="feature", problem="there is no row")
    seen: dict[tuple[str, ...], int] = {}
    for number, row in enumerate(rows, start=1):
        key = (row.feature, *row.condition)
        first = seen.setdefault(key, number)
        if first != number:
            problem = f"{' × '.join(key)} stands in row {first} already"
            raise BadData(source=_NAME, column="feature", problem=problem, row=number)
    levels = [sorted({key[place] for key in seen}) for place in range(len(_KNOWN))]
    if len(seen) < math.prod(map(len, levels)):
        lost = next(key for key in product(*levels) if key not in seen)
        count = math.prod(map(len, levels)) - len(seen)
        problem = (
            f"{count} combination(s) are missing, the first {' × '.join(lost)}: give each a row "
            "(pool_vs_recommended gives one even where there are no posts)"
        )
        raise BadData(source=_NAME, column="feature", problem=problem)


def _normalized(rows: Sequence[BiasRow]) -> list[NormalizedRow]:
    biases = np.array([row.bias for row in rows])
    scaled = zip(min_max(biases), min_max(np.abs(biases)), strict=True)
    return [
        NormalizedRow(
            row=row,
            normalized_bias=bias,
            magnitude=magnitude,
            marker=marker(int(row.significant), 1),
        )
        for row, (bias, magnitude) in zip(rows, scaled, strict=True)
    ]


def _cells(rows: Sequence[NormalizedRow], *kept: str) -> tuple[BiasCell, ...]:
    groups: defaultdict[tuple[str, ...], list[NormalizedRow]] = defaultdict(list)
    for found in rows:
        key = (found.row.feature, *(getattr(found.row, name) for name in kept))
        groups[key].append(found)
    cells = []
    for (feature, *labels), group in groups.items():
        significant = sum(found.row.significant for found in group)
        cells.append(
            BiasCell(
                feature=feature,
                **dict(zip(kept, labels, strict=True)),
                normalized_bias=_mean([found.normalized_bias for found in group]),
                magnitude=_mean([found.magnitude for found in group]),
                conditions=len(group),
                significant=significant,
                failed=sum(bool(found.row.failed) for found in group),
                marker=marker(significant, len(group)),
            )
        )
    return tuple(cells)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
