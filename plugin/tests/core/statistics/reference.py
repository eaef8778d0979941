"""Worked examples computed in R, with their public data sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

REFERENCE: dict[str, Any] = json.loads(
    Path(__file__).with_name("reference_values.json").read_text(encoding="utf-8")
)


def values(example: str) -> dict[str, float]:
    """Return the results R gives for an example."""
    found: dict[str, float] = REFERENCE["examples"][example]["values"]
    return found


def split(data: str, value: str, factor: str, level: object) -> list[float]:
    """Return the values of one level of a factor."""
    table = REFERENCE["data"][data]
    return [v for v, f in zip(table[value], table[factor], strict=True) if f == level]


SLEEP = (split("sleep", "extra", "group", 1.0), split("sleep", "extra", "group", 2.0))
TOOTH_GROWTH = (
    split("ToothGrowth", "len", "supp", "OJ"),
    split("ToothGrowth", "len", "supp", "VC"),
)


def line_of(case: object) -> str:
    """Return what tells a parametrized call from others: the line it stands on."""
    return f"line-{code.co_firstlineno}" if (code := getattr(case, "__code__", None)) else ""
