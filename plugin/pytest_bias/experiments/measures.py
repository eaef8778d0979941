"""Measures: what is taken from a trial's result (dependent variables)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

from ..errors import BadDesign, InvalidReply
from .design import check_label
from .fields import is_pair, need, need_function, need_number, need_text, shortly, wrong

MeasureValue = float | str | bool

MISSING = "missing"
"""A measure every experiment has: whether a trial gave no valid reply (mostly a refusal)."""

LONGEST_REASON = 40
"""Characters of a reason for which a trial is missing, where no text may be kept."""

LONGEST_CATEGORY = 80
"""Characters of the longest category: what is longer may be a reply's text."""


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
    whole
        Whether it says nothing of a reply that the limit on tokens ended, such as its length:
        where that is more than one reply in twenty, nothing on it is decided.
    categories
        The closed set of a measure that is text: a value is one of these, or several with a space
        between. Where no text is kept, and in published data sets, there is no other text.
    """

    name: str
    take: Callable[[Any], MeasureValue] | None = field(default=None, repr=False)
    unit: str = ""
    bounds: tuple[float, float] | None = None
    version: int = 1
    meaning: str = ""
    categories: Iterable[str] = field(default=(), repr=False)
    whole: bool = False

    def __post_init__(self) -> None:
        what = f"Measure({shortly(self.name)})"
        check_label(self.name, what)
        need_function(what, "take", self.take)
        need_text(what, unit=self.unit, meaning=self.meaning)
        need(what, "whole", self.whole, bool, "True or False")
        if type(self.version) is not int:
            raise wrong(what, "version", self.version, "a whole number")
        if self.name == MISSING:
            raise BadDesign(what=what, problem="every experiment has a measure of this name")
        if self.bounds is not None:
            bounds: object = self.bounds
            ends = self.bounds if is_pair(bounds) else (0.0, 0.0)
            low, high = (need_number(what, "each of bounds", end) for end in ends)
            if not low < high:
                raise wrong(what, "bounds", bounds, "two finite numbers, rising")
        listed: object = self.categories
        several = isinstance(listed, Iterable) and not isinstance(listed, str)
        given = tuple(self.categories) if several else ()
        if (listed and not given) or not all(map(_is_category, given)):
            problem = f"texts of one line, {LONGEST_CATEGORY} characters at most"
            raise wrong(what, "categories", listed, problem)
        object.__setattr__(self, "categories", frozenset(given))

    def of(self, result: object) -> MeasureValue:
        """The value of this measure in ``result``.

        Raises
        ------
        InvalidReply
            When it lies outside the bounds, is a whole number too large for any, or a text that
            is no category.
        BadDesign
            When it is no value at all.
        """
        value = self._taken(result)
        if isinstance(value, bool):
            return value
        if isinstance(value, str):
            text = str.__str__(value)  # of an enum its value, and no enum travels on
            self.check_range(text)
            return text
        self.check_range(value)
        number = finite_number(value)
        if number is not None:
            return number
        if isinstance(value, int):
            raise self._outside()
        raise BadDesign(
            what=f"Measure({self.name!r})",
            problem=f"gave a {type(value).__name__}; a finite number, str or bool is needed",
        )

    def check_range(self, value: object) -> None:
        """Raise InvalidReply for a number outside the bounds, and for a text that is no category.

        NaN is on neither side of any bounds.
        """
        if isinstance(value, str) and self.categories and not self.declares(value):
            raise self._outside("undeclared")
        if self.bounds is None or isinstance(value, bool) or not isinstance(value, int | float):
            return
        if value < self.bounds[0] or value > self.bounds[1]:
            raise self._outside()

    def _outside(self, how: str = "out_of_bounds") -> InvalidReply:
        return InvalidReply(f"{how}_{self.name}"[:LONGEST_REASON].rstrip("_"))

    def declares(self, text: str) -> bool:
        """Return whether ``text`` is one of the categories, or several of them."""
        known = cast("frozenset[str]", self.categories)
        return text in known or known.issuperset(text.split(" "))

    @property
    def undeclared(self) -> BadDesign:
        """Return the error for text that would be kept or published, and may be a reply's."""
        problem = "gives text, and of text only declared categories are kept or published: say "
        return BadDesign(what=f"Measure({self.name!r})", problem=f"{problem}categories=[…]")

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


def check_kept(measures: Iterable[Measure], values: Mapping[str, MeasureValue]) -> None:
    """Raise BadDesign where a value is text that its measure does not declare."""
    for measure in measures:
        value = values.get(measure.name)
        if isinstance(value, str) and not measure.declares(value):
            raise measure.undeclared


def check_declared(measures: Iterable[Measure], protocol: Callable[..., object]) -> None:
    """Raise BadDesign for a measure that is text without categories, as far as annotations say."""
    for measure in measures:
        if not measure.categories and _is_text(kind_of(measure, protocol)):
            raise measure.undeclared


def kind_of(measure: Measure, protocol: Callable[..., object]) -> object:
    """Return the type of a measure's value, as far as annotations say; None where they do not."""
    take = measure.take
    if take is not None:
        return str if take is str else _hints(take).get("return")
    return _hints(_hints(protocol).get("return")).get(measure.name)


def _hints(of: object) -> Mapping[str, object]:
    try:
        return get_type_hints(of)
    except (AttributeError, NameError, TypeError):  # nothing annotated, or by names not known here
        return {}


def _is_text(kind: object) -> bool:
    """Return whether a type is, or may be, text: ``str``, an enum or ``Literal`` of texts."""
    if isinstance(kind, type):
        return issubclass(kind, str)
    parts = get_args(kind)
    if get_origin(kind) is Literal:
        return any(isinstance(part, str) for part in parts)
    return any(map(_is_text, parts))


def _is_category(given: object) -> bool:
    return isinstance(given, str) and given.isprintable() and 0 < len(given) <= LONGEST_CATEGORY
