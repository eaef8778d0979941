"""Measures: what is taken from a trial's result (dependent variables)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from .design import check_label
from .errors import BadDesign, InvalidReply

MeasureValue = float | str | bool

MISSING = "missing"
"""A measure every experiment has: whether a trial gave no valid reply (mostly a refusal)."""

LONGEST_REASON = 40
"""Characters of a reason for which a trial is missing, where no text may be kept."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A number, category or flag taken from the result of a trial.

    Parameters
    ----------
    name
        Label of the measure, its column in the records.
    take
        From the protocol's result to the value; by default its attribute called ``name``. It may
        raise ``InvalidReply(reason)`` where the reply has none: the trial is missing then. Any
        other error of it, NaN, and a value of another type stay errors, for it is to blame.
    unit
        Unit in print ("months on probation").
    bounds
        Smallest and largest possible value of a numeric measure. Worst cases for missing replies
        and statements about deterministic replies need them. A trial whose value lies outside is
        missing, as ``out_of_bounds_<name>``, and is not asked again; put limits into the reply's
        schema or ``check=`` where it should be.
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
        """The value of this measure in ``result``.

        Raises
        ------
        InvalidReply
            When it lies outside the bounds, or is a whole number too large for any.
        BadDesign
            When it is no value at all.
        """
        value = self._taken(result)
        if isinstance(value, bool):
            return value
        if isinstance(value, str):
            return str.__str__(value)  # of an enum its value, and no enum travels on
        self.check_bounds(value)
        number = finite_number(value)
        if number is not None:
            return number
        if isinstance(value, int):
            raise self._outside()
        raise BadDesign(
            what=f"Measure({self.name!r})",
            problem=f"gave a {type(value).__name__}; a finite number, str or bool is needed",
        )

    def check_bounds(self, value: object) -> None:
        """Raise InvalidReply for a number outside the bounds; NaN is on neither side of them."""
        if self.bounds is None or isinstance(value, bool) or not isinstance(value, int | float):
            return
        if value < self.bounds[0] or value > self.bounds[1]:
            raise self._outside()

    def _outside(self) -> InvalidReply:
        return InvalidReply(f"out_of_bounds_{self.name}"[:LONGEST_REASON].rstrip("_"))

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


def finite_number(value: object) -> float | None:
    """``value`` as a float when it is a finite number, else None."""
    if not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
