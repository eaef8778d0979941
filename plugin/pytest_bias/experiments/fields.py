"""Checks of an author's declarations, where they are declared, each refused in one line.

Each function takes ``what`` is declared and the name of the ``field``, and raises BadDesign in one
line for a value of another kind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

from ..errors import BadDesign

T = TypeVar("T")

_OURS = __file__.rpartition("experiments")[0]
_LONGEST = 60


def one_line(text: str) -> str:
    """``text`` in one short line."""
    return _cut(" ".join(text.split()))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def shortened(value: object) -> str:
    """``value`` as it is written, in one short line; a text with every blank it has."""
    if isinstance(value, str):
        return _cut(repr(value))
    return one_line(value.__name__ if isinstance(value, type) else repr(value))


def wrong(what: str, field: str, value: object, expected: str) -> BadDesign:
    """The error for a ``value`` that is not what is ``expected``."""
    return BadDesign(what=what, problem=f"{field} must be {expected}; it is {shortened(value)}")


def forbid(what: str, wrong: object, problem: str) -> None:
    """Raise BadDesign with the ``problem`` where something is ``wrong``."""
    if wrong:
        raise BadDesign(what=what, problem=problem)


def need(
    what: str, field: str, value: object, kind: type | tuple[type, ...], expected: str
) -> None:
    """``value`` is of ``kind``."""
    if not isinstance(value, kind):
        raise wrong(what, field, value, expected)


def need_text(what: str, **fields: object) -> None:
    """Each is text, which may be empty."""
    for name, value in fields.items():
        need(what, name, value, str, "text")


def need_number(what: str, field: str, value: object, expected: str = "a finite number") -> float:
    """``value`` as a float."""
    try:
        number = math.nan if isinstance(value, bool | str) else float(cast("float", value))
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise wrong(what, field, value, expected)
    return number


def need_mapping(what: str, field: str, value: object, expected: str) -> None:
    """``value`` is a mapping."""
    need(what, field, value, Mapping, expected)


def need_function(what: str, field: str, value: object) -> None:
    """``value`` can be called, or is None."""
    if value is not None and not callable(value):
        raise wrong(what, field, value, "a function")


def need_several(
    what: str, field: str, value: Iterable[T], kind: type | tuple[type, ...], expected: str
) -> tuple[T, ...]:
    """``value`` as a tuple: a list (no set, which has no order) of nothing but ``kind``."""
    given: object = value
    if not isinstance(given, Iterable) or isinstance(given, str | Mapping | set | frozenset):
        raise wrong(what, field, given, f"a list of {expected}")
    several = tuple(cast("Iterable[T]", given))
    for each in several:
        problem = f"{field} must be a list of {expected}; {shortened(each)} is none"
        forbid(what, not isinstance(each, kind), problem)
    return several


def need_labelled(what: str, field: str, value: object) -> Mapping[str, object]:
    """Label → value; of a list of labels each is its own value."""
    if isinstance(value, Mapping):
        return value
    if not isinstance(value, list | tuple) or not all(type(each) is str for each in value):
        raise wrong(what, field, value, "a mapping, label → value, or a list of labels")
    forbid(what, len(set(value)) < len(value), f"{field} name one twice: {shortened(value)}")
    return {label: label for label in value}


def is_pair(value: object) -> bool:
    """Return whether ``value`` is two things, in a list or tuple."""
    return isinstance(value, tuple | list) and len(value) == 2  # noqa: PLR2004


def takes(function: Callable[..., Any], count: int) -> bool:
    """Return whether ``function`` takes ``count`` arguments; True where nobody can tell."""
    from inspect import signature  # noqa: PLC0415  (not where nothing is declared)

    try:
        signature(function).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:  # a function without a signature
        return True
    return True


def author_line(error: BaseException) -> str:
    """``file.py:12``: the innermost line of the author's own code that led to ``error``."""
    found, step = "", error.__traceback__
    while step is not None:
        file = step.tb_frame.f_code.co_filename
        if not file.startswith((_OURS, "<")):
            found = f"{file}:{step.tb_lineno}"
        step = step.tb_next
    return found
