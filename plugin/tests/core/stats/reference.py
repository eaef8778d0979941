"""What the tests of statistics share: worked examples computed in R, and what is sound."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

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


def assert_sound(value: object, name: str = "") -> None:
    """No NaN, no infinity and no p-value outside (0, 1], however deep."""
    if is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            assert_sound(getattr(value, field.name), field.name)
    elif isinstance(value, Mapping):
        for key, part in value.items():
            assert_sound(part, str(key))
    elif isinstance(value, list | tuple):
        for part in value:
            assert_sound(part, name)
    elif isinstance(value, float | np.generic):
        assert type(value) is float, name
        assert math.isfinite(value), name
        if name == "p" or name.startswith(("p_", "p ")):
            assert 0 < value <= 1, name
