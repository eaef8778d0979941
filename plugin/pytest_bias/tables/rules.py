"""What the cells of a table may hold: a rule for each of our columns."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import Field, TypeAdapter, ValidationError

from ..experiments.design import LABEL
from ..experiments.measures import LONGEST_REASON, Measure, MeasureValue, kind_of
from ..experiments.messages import end_of
from ..settings.table_entry import REPLY, cell_text

if TYPE_CHECKING:
    from ..experiments.experiment import Experiment

Rule = Callable[[object], MeasureValue]
"""Reads a cell; ValueError with what is wrong with it."""


def label_rules(experiment: Experiment) -> dict[str, Rule]:
    """Return the rules of the columns that place a row in the design."""

    def listed(labels: Iterable[str], what: str) -> Rule:
        known = tuple(dict.fromkeys(labels))
        problem = f"is no {what}: {', '.join(known)}"
        return lambda cell: _text(cell_text(cell) in known, cell, problem)

    factors, items = experiment.factors, experiment.items
    rules = {f.name: listed((*f.levels, *f.controls), f"level of {f.name}") for f in factors}
    rules |= {f"{factor.name}_exemplar": cell_text for factor in factors if factor.exemplars}
    return rules | ({"item": listed((*items.items, *items.controls), items.name)} if items else {})


def _text(good: object, cell: object, problem: str) -> str:
    if not good:
        raise ValueError(problem)
    return cell_text(cell)


def _model(cell: object) -> str:
    text = cell_text(cell)
    return _text(text and text == text.strip() and text.isprintable(), cell, "names no model")


def _time(cell: object) -> str:
    if text := cell_text(cell):
        try:
            datetime.fromisoformat(text)
        except ValueError:
            return _text(None, cell, "is no time as 2026-02-05T13:51:23Z")
    return text


def _reason(cell: object) -> str:
    text = cell_text(cell)
    problem = (
        "is true or false: it has to be a reason such as refusal, and empty where there is a "
        "reply (values may translate it)"
    )
    _text(text.lower() not in ("true", "false"), cell, problem)
    is_label = len(text) <= LONGEST_REASON and LABEL.fullmatch(text)
    problem = "is no label (lower-case letters and digits, joined by '_')"
    return _text(not text or is_label, cell, problem)


RULES: Mapping[str, Rule] = {
    "model": _model,
    REPLY: lambda c: c if isinstance(c, str) else "" if c is None else json.dumps(c),
    "finish": lambda cell: end_of(cell_text(cell)),
    "missing": _reason,
    "collected_at": _time,
    "experiment": cell_text,
    "replicate": cell_text,
    "served": cell_text,
}
"""Rules of columns that any experiment has; but for the model, cells may be empty."""


def measure_rule(measure: Measure, experiment: Experiment, *, strict: bool) -> Rule:
    """Return the rule of a measure, by what the protocol states, or else the measure's bounds."""
    if measure.categories:
        problem = f"is no {measure.name}: {', '.join(measure.listed)}"
        return lambda cell: _text(measure.declares(cell_text(cell)), cell, problem)
    kind = kind_of(measure, experiment.protocol)
    number = Annotated[float, Field(allow_inf_nan=False, multiple_of=1 if kind is int else None)]
    free = kind not in (bool, int, float) and measure.bounds is None
    adapter = TypeAdapter[Any](number | bool if free else bool if kind is bool else number)
    low, high = measure.bounds or (-math.inf, math.inf)
    unit = f" {measure.unit}" if measure.unit else ""
    outside = (
        f"is not within {low:g} to {high:g}{unit}; if it stands for a reply that could not be "
        "read, leave the cell empty and say why (missing)"
    )

    def read(cell: object) -> MeasureValue:
        try:
            value = cast("float | bool", adapter.validate_python(cell, strict=strict))
        except ValidationError as error:
            first = error.errors()[0]
            whole = first["type"] == "multiple_of"
            problem = "is no whole number" if whole else first["msg"].removeprefix("Input ")
            raise ValueError(problem) from None
        _text(low <= value <= high, cell, outside)
        return value

    return read
