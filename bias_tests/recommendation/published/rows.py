"""The rows of the published table, and the reading of somebody else's."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from pytest_bias import BadData

from .features import FEATURES, Kind

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # ships no types

ALPHA = 0.05
"""A row is significant where its p-value is below."""

COLUMNS = (
    "feature",
    "dataset",
    "provider",
    "prompt_style",
    "bias",
    "p_value",
    "metric",
    "significant",
)
"""The documented columns, in the documented order."""

INSUFFICIENT = "insufficient_data"
COHENS_D, CRAMERS_V = "Cohen's d", "Cramér's V"
NO_VARIANCE = " (no variance)"
_ERROR = " (error: "

_NAME = "bias rows"
_KINDS = {feature.name: feature.kind for feature in FEATURES}
_FLAGS = {"true": True, "false": False, "1": True, "0": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class BiasRow:
    """One feature under one condition: pool against recommended, as published.

    ``bias`` is Cohen's d, recommended − pool, in pooled standard deviations, or Cramér's V from 0
    to 1; ``p_value`` is Welch's or that of chi-square. Both are what the document prints: 0 and 1
    where nothing could be computed. ``failed`` then says why, and is empty otherwise.

    The other fields are ours, and None where they do not apply or were not in the table: how many
    posts had the feature, how many lacked it, the smallest expected count of the chi-square, and
    of a 2 × 2 table φ with and without Yates' correction, with its p. ``bias`` of a 2 × 2 table
    is with it: that is what the document's implementation notes compute.
    """

    feature: str
    dataset: str
    provider: str
    prompt_style: str
    bias: float
    p_value: float
    metric: str
    failed: str = ""
    kind: Kind | None = None
    n_pool: int | None = None
    n_recommended: int | None = None
    missing_pool: int | None = None
    missing_recommended: int | None = None
    smallest_expected: float | None = None
    phi: float | None = None
    phi_p: float | None = None
    phi_yates: float | None = None
    phi_yates_p: float | None = None

    @property
    def significant(self) -> bool:
        """Whether the p-value is below .05."""
        return self.p_value < ALPHA

    @property
    def condition(self) -> tuple[str, str, str]:
        """Its dataset, provider and prompt style."""
        return self.dataset, self.provider, self.prompt_style

    @property
    def is_mean(self) -> bool:
        """Whether means are compared (Cohen's d), not categories."""
        if self.metric == INSUFFICIENT or self.failed:
            return (self.kind or _KINDS.get(self.feature)) == "numerical"
        return self.metric.startswith(COHENS_D)


BiasRows: TypeAlias = "Iterable[BiasRow | Mapping[str, object]] | pd.DataFrame"
"""Rows of ours, or rows or a data frame with the documented columns."""


def bias_rows(rows: BiasRows) -> tuple[BiasRow, ...]:
    """Rows of ours as they are; mappings and data frames of the documented columns as such rows.

    Further columns are left alone. What a metric's words say could not be computed is marked as
    failed. A p-value of 0, which others' programs print where one underflows, becomes the
    smallest positive number.

    Raises
    ------
    BadData
        For a missing column, an empty label, a bias that is no finite number, a p-value outside
        0 to 1, and a ``significant`` that is not what its p-value says.
    """
    given = cast("Any", rows)
    records = given.to_dict("records") if hasattr(given, "columns") else given
    return tuple(
        row if isinstance(row, BiasRow) else _row(number, row)
        for number, row in enumerate(records, start=1)
    )


def failure_in(metric: str) -> str:
    """What the metric's words say went wrong; empty where nothing did."""
    if metric == INSUFFICIENT:
        return "insufficient data"
    if metric.endswith(NO_VARIANCE):
        return "no variance"
    before, found, message = metric.partition(_ERROR)
    return f"error: {message.removesuffix(')')}" if before and found else ""


def error_metric(message: str) -> str:
    """The metric the document prints for an exception, whatever the feature's type."""
    return f"{CRAMERS_V}{_ERROR}{message})"


def _row(number: int, row: object) -> BiasRow:
    if not isinstance(row, Mapping):
        problem = f"is a {type(row).__name__}, not a mapping of column to value"
        raise BadData(source=_NAME, column="feature", problem=problem, row=number)
    for name in COLUMNS:
        if name not in row:
            problem = f"is missing; needed are {', '.join(COLUMNS)}"
            raise BadData(source=_NAME, column=name, problem=problem, row=number)
    words = {name: _word(number, row, name) for name in (*COLUMNS[:4], "metric")}
    p = _number(number, row, "p_value")
    if not 0 <= p <= 1:
        raise BadData(source=_NAME, column="p_value", problem="lies outside 0 to 1", row=number)
    flag = _FLAGS.get(str(row["significant"]).strip().lower())
    if flag is None or flag != (p < ALPHA):
        problem = f"is {row['significant']} where p is {p:g}; it must be True below {ALPHA} only"
        raise BadData(source=_NAME, column="significant", problem=problem, row=number)
    return BiasRow(
        feature=words["feature"],
        dataset=words["dataset"],
        provider=words["provider"],
        prompt_style=words["prompt_style"],
        bias=_number(number, row, "bias"),
        p_value=max(p, sys.float_info.min),
        metric=words["metric"],
        failed=failure_in(words["metric"]),
        kind=_KINDS.get(words["feature"]),
    )


def _word(number: int, row: Mapping[str, object], name: str) -> str:
    value = row[name]
    if not isinstance(value, str) or not value.strip():
        raise BadData(source=_NAME, column=name, problem="must be a word", row=number)
    return value


def _number(number: int, row: Mapping[str, object], name: str) -> float:
    try:
        value = float(cast("Any", row[name]))
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise BadData(source=_NAME, column=name, problem="is no finite number", row=number)
    return value
