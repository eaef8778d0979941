"""The independent observations a design gives a contrast, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .units import Units

Shape = Literal["independent", "paired"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The observations a design gives a contrast.

    ``shape`` is whether units are compared with each other or with themselves; ``per_group`` the
    units on a side (for unequal sides the number that equal ones would need), ``unit_name`` what
    they are; ``replies`` all replies that are used. ``problem`` says why no verdict is possible.
    ``equal`` is whether the sides are two of that very size, ``clears`` whether there are units
    enough for anything to be cleared.
    """

    shape: Shape
    per_group: int
    unit_name: Units
    replies: int
    problem: str = ""
    equal: bool = True
    clears: bool = True
