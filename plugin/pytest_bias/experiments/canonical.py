"""One JSON text for one value: the encoder of everything that is hashed, stored or sent on.

Sorted keys, no spaces, ASCII only (so that a lone surrogate in a model's reply survives as an
escape), no NaN or infinity, and nothing but JSON's own types and dataclasses of them: an enum or a
numpy scalar is an error that says where it stands, not something quietly converted.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ..errors import BadJSON

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Parsed = TypeVar("Parsed")
Read = TypeVar("Read")
Derived = TypeVar("Derived")

_SCALARS = (type(None), bool, int, str)
_AS_GIVEN, _SORTED = (  # made once: making one takes as long as a short text
    json.JSONEncoder(
        sort_keys=sort_keys, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )
    for sort_keys in (False, True)
)

KEPT = "kept"
"""Key of a field's metadata: where it is False, the field stands in no text."""


class TwiceNamed(ValueError):
    """An object of JSON has two values under one key, so that it does not say one thing."""


def once_each(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Make an object of JSON of its keys and values; TwiceNamed for a key that is there twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise TwiceNamed(next(name for name in names if names.count(name) > 1))
    return found


class TextValue:
    """A value that JSON keeps as its text; whoever reads it makes the value again."""

    __slots__ = ()


def plain(value: object, where: str = "value") -> object:
    """``value`` as dicts, lists and JSON scalars.

    Raises BadJSON for any other type, for non-finite floats and for keys that are not
    strings; the message names the place inside ``value``.
    """
    if type(value) in _SCALARS:
        return value
    if type(value) is float:
        if not math.isfinite(value):
            raise _no_json(where, f"non-finite float ({value})")
        return value
    if isinstance(value, dict | Mapping):  # a plain dict is told without asking the ABC
        for key in value:
            if type(key) is not str:
                raise _no_json("a key of " + where, type(key).__name__)
        return {key: plain(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        return [plain(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, TextValue):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(getattr(value, field.name), f"{where}.{field.name}")
            for field in fields(value)
            if field.metadata.get(KEPT, True)
        }
    raise _no_json(where, type(value).__name__)


def _no_json(path: str, kind: str) -> BadJSON:
    problem = (
        f"{path} is a {kind}, which cannot be written as JSON; "
        "give a str, int, finite float, bool, None, list, dict or dataclass of these"
    )
    return BadJSON(path="", problem=problem)


def dumps(value: object, where: str = "value") -> str:
    """Canonical JSON text of ``value``; see :func:`plain` for what is accepted."""
    return compact(plain(value, where), sort_keys=True)


def by_identity(function: Callable[[Read], Derived]) -> Callable[[Read], Derived]:
    """Keep what ``function`` makes of each object, by its identity.

    For objects that nobody changes and of which there are few, such as the schemas of replies.
    """
    kept: dict[int, tuple[Read, Derived]] = {}

    @wraps(function)
    def remembered(given: Read) -> Derived:
        if id(given) not in kept:  # as long as it is kept, no other object has its identity
            kept[id(given)] = (given, function(given))
        return kept[id(given)][1]

    return remembered


def compact(value: object, *, sort_keys: bool = False) -> str:
    """ASCII JSON without spaces of a value known to be plain already."""
    return (_SORTED if sort_keys else _AS_GIVEN).encode(value)


class Strict:
    """Values that are read as they were written, and refused with anything else."""

    __slots__ = ()
    __pydantic_config__: ClassVar[Mapping[str, object]] = {
        "extra": "forbid",
        "allow_inf_nan": False,
    }


def parsed_as(kind: type[Parsed], text: str | bytes, *, strict: bool = False) -> Parsed:
    """Return the value that JSON ``text`` is; BadJSON where it is none of ``kind``.

    ``strict`` takes nothing for another type, such as the text "1" for a number.
    """
    from pydantic import ValidationError  # noqa: PLC0415  (not where nothing is read)

    hashable: Any = kind
    try:
        value: Parsed = _adapter(hashable).validate_json(text, strict=strict or None)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        path = ".".join(map(str, first["loc"]))
        raise BadJSON(path=path, problem=first["msg"]) from None
    return value


@cache
def _adapter(kind: type) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter  # noqa: PLC0415  (building one takes a while)

    return TypeAdapter(kind)


def digest(text: str | bytes) -> str:
    """SHA-256 of ``text`` (UTF-8) as 64 hexadecimal digits."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()
