"""The independent observations of a contrast, as values: what they are, and how many there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..experiments.canonical import TextValue

if TYPE_CHECKING:
    from pydantic_core import CoreSchema


UnitKind = Literal["units", "replies", "pools", "groups", "exemplar", "block"]

_NAMELESS: tuple[UnitKind, ...] = ("units", "replies", "pools")
_GROUPS, _EXEMPLAR, _CROSSED = "exemplars of ", "exemplar of ", " × "

Shape = Literal["independent", "paired"]


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
        """The units that a text of :meth:`__str__` names."""
        for kind in _NAMELESS:
            if text == kind:
                return cls(kind)
        if text.startswith(_GROUPS):
            return cls("groups", (text.removeprefix(_GROUPS),))
        if text.startswith(_EXEMPLAR):
            return cls("exemplar", (text.removeprefix(_EXEMPLAR),))
        return cls("block", tuple(text.split(_CROSSED)))

    @property
    def pair(self) -> bool:
        """Whether a unit of one model has its like with another; a reply never has."""
        return self.kind != "replies"

    @property
    def in_groups(self) -> bool:
        """Whether different units stand on the sides, so that their number is one per group."""
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
class Layout:
    """The observations a design gives a contrast.

    ``shape`` is whether units are compared with each other or with themselves; ``per_group`` the
    units on a side (for unequal sides, or levels in them, the number that equal ones would need),
    ``unit_name`` what they are. ``problem`` says why no verdict is possible.
    ``equal`` is whether the sides are two of that very size, ``clears`` whether there are units
    enough for anything to be cleared; ``sizes`` are the replies of the two sides, where these are
    the units, in so many ``strata``. ``least_p`` is the smallest p of units that are few, 0 where
    it is as small as may be.
    """

    shape: Shape
    per_group: int
    unit_name: Units
    problem: str = ""
    equal: bool = True
    clears: bool = True
    sizes: tuple[int, int] = (0, 0)
    strata: int = 1
    least_p: float = 0.0

    @property
    def fewest(self) -> int:
        """Replies of the smaller side, 0 where these are no units."""
        return min(self.sizes)
