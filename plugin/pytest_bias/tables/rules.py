"""What the cells of a table may hold: a rule for each of our columns."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import Field, TypeAdapter, ValidationError

from ..experiments.design import LABEL
from ..experiments.measures import LONGEST_REASON, Measure, MeasureValue, kind_of
from ..experiments.messages import end_of
from ..settings.table_entry import cell_text

if TYPE_CHECKING:
    from ..experiments.experiment import Experiment

Rule = Callable[[object], MeasureValue]
"""Reads a cell; ValueError with what is wrong with it."""


def label_rules(experiment: Experiment) -> dict[str, Rule]:
    """Return the rules of the columns that place a row in the design."""

    def rule(labels: Iterable[str], what: str) -> Rule:
        known = tuple(dict.fromkeys(labels))

        def read(cell: object) -> str:
            if (text := cell_text(cell)) not in known:
                problem = f"is no {what}: {', '.join(known)}"
                raise ValueError(problem)
            return text

        return read

    factors, items = experiment.factors, experiment.items
    rules = {f.name: rule((*f.levels, *f.controls), f"level of {f.name}") for f in factors}
    rules |= {f"{factor.name}_exemplar": cell_text for factor in factors if factor.exemplars}
    if items is not None:
        rules["item"] = rule((*items.items, *items.controls), items.name)
    return rules


def model_rule(cell: object) -> str:
    """Read who answered."""
    if not (text := cell_text(cell)) or text != text.strip() or not text.isprintable():
        problem = "names no model"
        raise ValueError(problem)
    return text


def reply_rule(cell: object) -> str:
    """Read a reply's text; what is typed as JSON is the text of it."""
    return cell if isinstance(cell, str) else "" if cell is None else json.dumps(cell)


def finish_rule(cell: object) -> str:
    """Read how a reply ended, by the source's word; it may be empty."""
    return end_of(cell_text(cell))


def time_rule(cell: object) -> str:
    """Read when it was answered (ISO 8601); it may be empty."""
    if text := cell_text(cell):
        try:
            datetime.fromisoformat(text)
        except ValueError:
            problem = "is no time as 2026-02-05T13:51:23Z"
            raise ValueError(problem) from None
    return text


def reason_rule(cell: object) -> str:
    """Read why a trial is missing, as a label; empty where it is not."""
    text = cell_text(cell)
    if text.lower() in ("true", "false"):
        problem = (
            "is true or false: it has to be a reason such as refusal, and empty where there is a "
            "reply (values may translate it)"
        )
        raise ValueError(problem)
    if text and (len(text) > LONGEST_REASON or not LABEL.fullmatch(text)):
        problem = "is no label (lower-case letters and digits, joined by '_')"
        raise ValueError(problem)
    return text


def measure_rule(measure: Measure, experiment: Experiment, *, strict: bool) -> Rule:
    """Return the rule of a measure, by what the protocol states, or else the measure's bounds."""
    kind = kind_of(measure, experiment.protocol)
    number = Annotated[float, Field(allow_inf_nan=False, multiple_of=1 if kind is int else None)]
    free = kind not in (bool, int, float) and measure.bounds is None
    adapter = TypeAdapter[Any](number | bool if free else bool if kind is bool else number)
    low, high = measure.bounds or (-math.inf, math.inf)
    unit = f" {measure.unit}" if measure.unit else ""

    def read(cell: object) -> MeasureValue:
        problem = ""
        if measure.categories:
            if measure.declares(text := cell_text(cell)):
                return text
            problem = f"is no {measure.name}: {', '.join(measure.listed)}"
        else:
            try:
                value = cast("float | bool", adapter.validate_python(cell, strict=strict))
            except ValidationError as error:
                first = error.errors()[0]
                whole = first["type"] == "multiple_of"
                problem = "is no whole number" if whole else first["msg"].removeprefix("Input ")
            else:
                if low <= value <= high:
                    return value
                problem = (
                    f"is not within {low:g} to {high:g}{unit}; if it stands for a reply that "
                    "could not be read, leave the cell empty and say why (missing)"
                )
        raise ValueError(problem)

    return read
