"""Measures: what is taken from a trial's result (dependent variables)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from .design import check_label
from .errors import BadDesign

MeasureValue = float | str | bool

MISSING = "missing"
"""A measure every experiment has: whether a trial gave no valid reply (mostly a refusal)."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A number, category or flag taken from the result of a trial.

    Parameters
    ----------
    name
        Label of the measure, its column in the records.
    take
        From the protocol's result to the value; by default its attribute called ``name``.
    unit
        Unit in print ("months on probation").
    bounds
        Smallest and largest possible value of a numeric measure. Worst cases for missing replies
        and statements about deterministic replies need them.
    version
        Raise it when ``take`` comes to measure something else: recordings that keep only measures
        cannot be measured again, and are then not taken for what they no longer are.
    meaning
        What it is, in words, for the data dictionary of a published data set.
    """

    name: str
    take: Callable[[Any], MeasureValue] | None = field(default=None, repr=False)
    unit: str = ""
    bounds: tuple[float, float] | None = None
    version: int = 1
    meaning: str = ""

    def __post_init__(self) -> None:
        what = f"Measure({self.name!r})"
        check_label(self.name, what)
        if self.name == MISSING:
            raise BadDesign(what=what, problem="every experiment has a measure of this name")
        if self.bounds is not None:
            low, high = self.bounds
            if not (math.isfinite(low) and math.isfinite(high) and low < high):
                raise BadDesign(what=what, problem="bounds must be two finite numbers, rising")

    def of(self, result: object) -> MeasureValue:
        """The value of this measure in ``result``."""
        value = self._taken(result)
        if isinstance(value, bool):
            return value
        if isinstance(value, str):
            return str.__str__(value)  # of an enum its value, and no enum travels on
        number = _finite(value)
        if number is not None:
            if self.bounds is not None and not self.bounds[0] <= number <= self.bounds[1]:
                raise BadDesign(
                    what=f"Measure({self.name!r})",
                    problem=f"a value lies outside its bounds {self.bounds}",
                )
            return number
        raise BadDesign(
            what=f"Measure({self.name!r})",
            problem=f"gave a {type(value).__name__}; a finite number, str or bool is needed",
        )

    def _taken(self, result: object) -> object:
        if self.take is not None:
            return self.take(result)
        try:
            return cast("object", getattr(result, self.name))
        except AttributeError:
            raise BadDesign(
                what=f"Measure({self.name!r})",
                problem=(
                    f"the protocol's result, a {type(result).__name__}, has no attribute of this "
                    "name; give take="
                ),
            ) from None


def _finite(value: object) -> float | None:
    """``value`` as a float when it is a finite number, else None."""
    if not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
