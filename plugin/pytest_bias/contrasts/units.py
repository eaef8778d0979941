"""Independent observations of a contrast, as values: what they are, and how many there are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..experiments.canonical import TextValue
from ..stats.results import Matters

if TYPE_CHECKING:
    from pydantic_core import CoreSchema


UnitKind = Literal["units", "replies", "pools", "groups", "exemplar", "block"]

_NAMELESS: tuple[UnitKind, ...] = ("units", "replies", "pools")
_GROUPS, _EXEMPLAR, _CROSSED = "exemplars of ", "exemplar of ", " × "


@dataclass(frozen=True, slots=True)
class Units(TextValue):
    """Independent observations by their kind, and by what they are named after.

    ``groups`` are exemplars of one factor that stand on different sides, ``exemplar`` is one that
    is compared with itself; ``block`` is an item, or a combination of several ``names``.
    ``units`` are those of which no more is known. As text, which is what JSON keeps, they are
    ``replies``, ``exemplars of group``, ``exemplar of group``, ``seed`` or ``cv × style``.
    """

    kind: UnitKind
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        start = {"groups": _GROUPS, "exemplar": _EXEMPLAR}.get(self.kind, "")
        return f"{start}{_CROSSED.join(self.names)}" if self.names else self.kind

    @classmethod
    def within(cls, names: Sequence[str], *, exemplars: bool) -> Units:
        """Units that are compared with themselves; ``exemplars``: a single name has some."""
        return cls("exemplar" if exemplars and len(names) == 1 else "block", tuple(names))

    @classmethod
    def of_text(cls, text: str) -> Units:
        """Return the units that a text of :meth:`__str__` names."""
        for kind in _NAMELESS:
            if text == kind:
                return cls(kind)
        if text.startswith(_GROUPS):
            return cls("groups", (text.removeprefix(_GROUPS),))
        if text.startswith(_EXEMPLAR):
            return cls("exemplar", (text.removeprefix(_EXEMPLAR),))
        return cls("block", tuple(text.split(_CROSSED)))

    @property
    def in_groups(self) -> bool:
        """True where different units stand on the sides, so that their number is one per group."""
        return self.kind in ("replies", "groups")

    @property
    def several(self) -> str:
        """Their name in print, of several: ``seeds``, ``cv × style blocks``."""
        if self.kind == "exemplar":
            return f"{_GROUPS}{self.names[0]}"
        if len(self.names) > 1:
            return f"{self} blocks"
        return str(self) if self.kind != "block" or str(self).endswith("s") else f"{self}s"

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> CoreSchema:
        """Read from text; :func:`~pytest_bias.experiments.canonical.plain` writes it."""
        from pydantic_core import core_schema  # noqa: PLC0415  (only to read results)

        return core_schema.no_info_after_validator_function(cls.of_text, core_schema.str_schema())


REPLIES = Units("replies")
"""Every reply a unit of its own, within its cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Units of one level, or combination of levels, that is compared.

    Their mean has this ``weight`` in the contrast; they stand in ``cells`` of one ``size``.
    """

    weight: float
    cells: int
    size: int

    @property
    def variance(self) -> float:
        """Variance of its part of the contrast, in variances of a unit."""
        return self.weight**2 / (self.cells * self.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Units a design gives a contrast before any reply, their scale, and how many it needs.

    ``low`` and ``high`` are the ends of a unit's scale, infinite where it has none. ``event`` is
    whether units are events, ``ratio`` whether the contrast is a logarithm, ``largest`` whether it
    is the largest of several like it. ``number`` is what a mean is compared with, 0 for a
    difference, and ``matters`` on which side of it. Fewer than ``needed`` units on a side clear
    nothing at any spread; ``problem`` says why no verdict is possible.
    """

    groups: tuple[Group, ...]
    unit_name: Units
    low: float = -math.inf
    high: float = math.inf
    event: bool = False
    ratio: bool = False
    largest: bool = False
    number: float = 0.0
    matters: Matters = "either"
    needed: int = 0
    problem: str = ""

    @property
    def sides(self) -> tuple[tuple[float, float], ...]:
        """Weight and units of each side, the higher first; one where units are paired.

        The units are so many of one group that their mean is as precise as the side's.
        """
        found = []
        for sign in (1, -1):
            groups = [group for group in self.groups if sign * group.weight > 0]
            if groups:
                weight = math.fsum(group.weight for group in groups)
                variance = math.fsum(group.variance for group in groups)
                found.append((weight, weight**2 / variance))
        return tuple(found)

    @property
    def fewest(self) -> int:
        """Units of the smaller side."""
        return int(min(units for _, units in self.sides) + 1e-9)

    @property
    def df(self) -> float:
        """Degrees of freedom of the contrast's standard error where all units vary alike."""
        import numpy as np  # noqa: PLC0415

        from ..stats.equivalence import df_of  # noqa: PLC0415

        cells = [group.cells for group in self.groups]
        variances = [group.variance / group.cells for group in self.groups]
        freedom = [max(group.size - 1, 1) for group in self.groups]
        return df_of(np.repeat(variances, cells), np.repeat(freedom, cells), cells=sum(cells))
