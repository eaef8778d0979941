"""No pattern takes quadratic time: a reply or a table may be a megabyte of what suits it least."""

from __future__ import annotations

import importlib
import itertools
import pkgutil
import re
import time
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import pytest_bias

LENGTHS = (2_000, 12_000)
"""Characters of the shorter text, one after another until a pattern is slow."""
SLOW = 0.02
"""Seconds of processor time from which on the growth of a pattern counts: a linear one reads the
longest text in a tenth of it."""
RATIO = 3.0

UNITS = (
    *(" ", "a", "0", "-", "_", ".", ",", "`", "~", "\n", "\r", "/", ":", "&", "#", "<", "[", "("),
    *("{", '"', "'", "@", "*", "|", "=", "é", "\u200b", "a ", "0.", "a.", "a-", ": ", "://", "&#"),
    *("](", " \n", "<think>", "[1]", "sorry ", "not "),
)
BEFORE = ("", "```", "<")
AFTER = ("", "!")


Pattern: TypeAlias = re.Pattern[str] | re.Pattern[bytes]
Found: TypeAlias = tuple[str, Pattern]


@cache
def patterns() -> dict[str, Pattern]:
    """Every pattern of the package that a module or a class holds, by its name."""
    found: dict[str, Pattern] = {}
    for each in pkgutil.walk_packages(pytest_bias.__path__, "pytest_bias."):
        module = importlib.import_module(each.name)
        for name, pattern in _held(vars(module), module.__name__):
            found.setdefault(name, pattern)
    return found


def _held(names: Mapping[Any, Any], place: str, depth: int = 0) -> Iterator[Found]:
    for name, value in [*names.items()]:
        where = f"{place}.{name}"
        if isinstance(value, re.Pattern):
            yield where, value
        elif depth == 0 and isinstance(value, type) and value.__module__ == place:
            yield from _held(vars(value), where, 1)
        elif depth < 2 and isinstance(value, dict) and not str(name).startswith("__"):
            yield from _held(value, where, depth + 1)
        elif depth < 2 and isinstance(value, tuple | list | frozenset):
            yield from _held(dict(enumerate(value)), where, depth + 1)


@cache
def source() -> str:
    """The text of all modules of the package."""
    files = Path(pytest_bias.__path__[0]).rglob("*.py")
    return "\n".join(file.read_text("utf-8") for file in files)


def is_anchored(name: str) -> bool:
    """True if a pattern is only ever matched at one place of a text, and looked for in none."""
    uses = re.findall(rf"\b{name.rpartition('.')[2]}\b(?! = |:)(\.\w+)?", source())
    return bool(uses) and {*uses} <= {".match", ".fullmatch"}


def seconds(pattern: Pattern, text: str, *, anchored: bool = False) -> float:
    """Processor time of looking for a pattern everywhere in a text, the least of two."""
    subject: Any = text.encode() if isinstance(pattern.pattern, bytes) else text
    least = float("inf")
    for _ in range(2):
        began = time.process_time()
        for _found in () if anchored else pattern.finditer(subject):
            pass
        pattern.match(subject)
        pattern.fullmatch(subject)
        least = min(least, time.process_time() - began)
        if least < SLOW:
            break
    return least


def growth(
    pattern: Pattern, before: str, unit: str, after: str, *, anchored: bool = False
) -> float:
    """How much longer a text of twice the length takes; 1 where no text takes long."""
    for length in LENGTHS:
        pumped = unit * (length // len(unit))
        if (longer := seconds(pattern, before + pumped * 2 + after, anchored=anchored)) >= SLOW:
            return longer / seconds(pattern, before + pumped + after, anchored=anchored)
    return 1.0


@pytest.mark.parametrize("name", patterns())
def test_time_grows_with_the_text(name: str) -> None:
    pattern, anchored = patterns()[name], is_anchored(name)
    pumped = itertools.product(BEFORE, UNITS, AFTER)
    slow = [each for each in pumped if growth(pattern, *each, anchored=anchored) > RATIO]
    assert slow == []


def test_a_quadratic_pattern_is_seen() -> None:
    assert growth(re.compile(r"[ \t]*[\w.+-]*[ \t\r]*\n"), "", " ", "") > RATIO
